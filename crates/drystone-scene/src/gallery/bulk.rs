//! The inside of a pile: solid fraction and contacts away from walls, floor and surface.

use drystone::{Model, Shape, State, World};
use glam::DVec3;

/// A box aligned with the axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub lo: DVec3,
    pub hi: DVec3,
}

impl Region {
    pub fn is_empty(&self) -> bool {
        self.hi.cmple(self.lo).any()
    }

    pub fn holds(&self, p: DVec3) -> bool {
        p.cmpge(self.lo).all() && p.cmple(self.hi).all()
    }
}

/// Sample points across the region and a body: errors of the fraction stay below a thousandth from some tens
/// of bodies.
const POINTS_A_RADIUS: f64 = 8.0;

/// Volume of the dynamic bodies inside the region over the region's volume, by counting the points of a cubic
/// lattice that lie in them; a point in an overlap of two bodies counts twice.
pub(super) fn solid_fraction(world: &World, region: &Region, size: f64) -> Option<f64> {
    if region.is_empty() {
        return None;
    }
    let (model, state) = (world.model(), world.state());
    let extent = region.hi - region.lo;
    let count = (extent * (POINTS_A_RADIUS / size)).ceil().max(DVec3::splat(8.0));
    let step = extent / count;
    let mut inside = 0u64;
    for (k, c) in model.colliders.iter().enumerate() {
        let dynamic = model.bodies.get(c.body as usize).is_some_and(|b| b.inv_mass > 0.0);
        let Some(pose) = model.collider_pose(state, k).filter(|_| dynamic) else { continue };
        let bounds = c.shape.aabb(&pose);
        // Point i lies at lo + (i + 1/2) step.
        let first = ((bounds.min - region.lo) / step - 0.5).ceil().max(DVec3::ZERO);
        let last = ((bounds.max - region.lo) / step - 0.5).floor().min(count - 1.0);
        if last.cmplt(first).any() {
            continue;
        }
        let range = |axis: usize| first[axis] as u64..=last[axis] as u64;
        for i in range(0) {
            for j in range(1) {
                for k in range(2) {
                    let at = DVec3::new(i as f64 + 0.5, j as f64 + 0.5, k as f64 + 0.5);
                    inside += contains(&c.shape, pose.inverse_point(region.lo + at * step)) as u64;
                }
            }
        }
    }
    Some(inside as f64 / (count.x * count.y * count.z))
}

fn contains(shape: &Shape, p: DVec3) -> bool {
    match shape {
        Shape::Sphere { radius } => p.length_squared() <= radius * radius,
        Shape::HalfSpace => p.z <= 0.0,
        Shape::Box { half } => p.abs().cmple(*half).all(),
        Shape::Capsule { radius, half_length } => {
            let z = p.z - p.z.clamp(-half_length, *half_length);
            p.with_z(z).length_squared() <= radius * radius
        }
        Shape::Hull(hull) => hull.faces().iter().all(|f| f.normal.dot(p) <= f.offset),
        // Shapes that no scene packs.
        _ => false,
    }
}

/// Mean number of neighbours, walls included, that a dynamic body chosen by `counts` touches: a pair touches
/// when a contact between them carries more than a millionth of the lighter one's weight. None if no body is
/// chosen.
pub(super) fn mean_contacts(world: &World, counts: impl Fn(DVec3) -> bool) -> Option<(f64, usize)> {
    let (model, state): (&Model, &State) = (world.model(), world.state());
    let settings = world.settings();
    let least = 1e-6 * settings.gravity.length() * settings.h;
    let mut pairs: Vec<[u32; 2]> = world
        .contacts()
        .iter()
        .filter(|c| {
            let masses = c.bodies.map(|b| model.bodies[b as usize].inv_mass);
            c.normal_impulse() * masses[0].max(masses[1]) > least
        })
        .map(|c| c.bodies)
        .collect();
    pairs.iter_mut().for_each(|p| p.sort_unstable());
    pairs.sort_unstable();
    pairs.dedup();
    let mut degree = vec![0u32; model.bodies.len()];
    for body in pairs.iter().flatten() {
        degree[*body as usize] += 1;
    }
    let chosen: Vec<usize> = model.dynamic().filter(|&i| counts(state.position[i])).collect();
    let sum: u64 = chosen.iter().map(|&i| degree[i] as u64).sum();
    (!chosen.is_empty()).then(|| (sum as f64 / chosen.len() as f64, chosen.len()))
}
