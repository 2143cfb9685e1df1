//! How far a body reaches: ghosts are those whose reach meets that of a rank's own bodies.

use drystone::{Motion, World};
use glam::DVec3;

/// Room around a body beyond its reach when ghosts are chosen, over its radius.
const SKIN: f64 = 0.1;
/// The same, over what it moves in a step.
const AHEAD: f64 = 4.0;

/// By body of the whole world: the radius that holds it, and how far it may have contacts.
pub struct Reach {
    radius: Vec<f64>,
    /// The largest inner radius of a shape of it, m.
    inner: Vec<f64>,
    mu: f64,
    base: f64,
    share: f64,
    h: f64,
}

impl Reach {
    pub fn new(whole: &World) -> Self {
        let model = whole.model();
        let n = model.bodies.len();
        let mu = model.colliders.iter().fold(0.0f64, |mu, c| mu.max(c.mu));
        let (radius, inner) = (vec![0.0; n], vec![0.0; n]);
        let mut out = Self { radius, inner, mu: model.materials.most(mu), base: 0.0, share: 0.0, h: 0.0 };
        for c in &model.colliders {
            let i = c.body as usize;
            if model.bodies.get(i).is_some_and(|b| b.alive && b.motion == Motion::Dynamic) {
                out.radius[i] = out.radius[i].max(c.radius);
                out.inner[i] = out.inner[i].max(c.shape.inner_radius());
            }
        }
        out.step(whole);
        out
    }

    /// Takes the step and the envelope of a world's settings.
    pub fn step(&mut self, world: &World) {
        let envelope = world.envelope();
        (self.base, self.share, self.h) = (envelope.base, envelope.share, world.settings().h);
    }

    /// The radius that holds a body, m.
    pub fn radius(&self, slot: u32) -> f64 {
        self.radius[slot as usize]
    }

    /// How far beyond its radius a body may have contacts in a step at velocity `v`, m: two have one only
    /// where both reaches meet.
    pub fn of(&self, slot: u32, v: &[f64; 6]) -> f64 {
        let (radius, inner) = (self.radius[slot as usize], self.inner[slot as usize]);
        let (speed, turn) = (DVec3::new(v[0], v[1], v[2]).length(), DVec3::new(v[3], v[4], v[5]).length());
        let way = self.h * (speed + turn * radius);
        let near = 0.5 * self.base + self.share * inner;
        (near + way + (self.mu * way).min(radius)) * (1.0 + 1e-9)
    }

    /// The reach for which ghosts of a body are chosen, m.
    pub fn with_skin(&self, slot: u32, v: &[f64; 6], more: f64) -> f64 {
        let speed = DVec3::new(v[0], v[1], v[2]).length();
        self.of(slot, v) + more + SKIN * self.radius(slot) + AHEAD * self.h * speed
    }
}
