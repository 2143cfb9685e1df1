//! Bodies that had to be moved before the first step because joints did not fit.

use drystone::World;
use drystone::joint::WORLD_BODY;
use glam::DVec3;

/// The share of a body's size up to which a drawing may be off without a word.
const SLIGHT: f64 = 0.01;

/// What putting joints together has moved.
#[derive(Clone, Debug, PartialEq)]
pub struct Assembled {
    /// How far, at most, m.
    pub distance: f64,
    /// The body that was moved farthest: its slot.
    pub body: u32,
    /// In words, with the joint's name.
    pub text: String,
}

/// The largest move of a body from where it was before, if it is more than slight.
pub(super) fn of(world: &World, before: &[DVec3]) -> Option<Assembled> {
    let (model, now) = (world.model(), &world.state().position);
    let moved = |i: u32| now[i as usize].distance(before[i as usize]);
    let mut size = vec![0.0f64; model.bodies.len()];
    for c in &model.colliders {
        let r = c.place().position.length() + c.shape.bounding_radius();
        size[c.body as usize] = size[c.body as usize].max(if r.is_finite() { r } else { 0.0 });
    }
    let mut all: Vec<(f64, u32, u32)> = Vec::new();
    for id in world.joints() {
        let Ok(joint) = world.joint(id) else { continue };
        let ends = joint.bodies.iter().zip(&joint.frames).filter(|(b, _)| **b != WORLD_BODY);
        // A body without a shape is as large as its joint is far from its centre.
        let off = ends.filter(|(b, f)| {
            let own = size[**b as usize];
            moved(**b) > SLIGHT * if own > 0.0 { own } else { f.position.length().max(joint.length) }
        });
        let farthest = off.map(|(b, _)| (moved(*b), *b)).max_by(|x, y| x.0.total_cmp(&y.0));
        all.extend(farthest.map(|(d, b)| (d, b, id.slot)));
    }
    let &(distance, body, joint) = all.iter().max_by(|x, y| x.0.total_cmp(&y.0))?;
    let others = match all.len() - 1 {
        0 => String::new(),
        1 => ", as those of one other joint were".into(),
        n => format!(", as those of {n} other joints were"),
    };
    let (joint, what) = (model.describe_joint(joint), model.describe(body));
    let text =
        format!("{joint} did not fit: {what} was moved by {distance:.3e} m to put it together{others}");
    Some(Assembled { distance, body, text })
}
