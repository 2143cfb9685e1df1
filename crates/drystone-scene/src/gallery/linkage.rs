//! What scenes of linkages share: bars to look at, and times at which something passes zero.

use drystone::{BodyDef, BodyId, Collider, Filter, Pose, Shape};
use glam::{DQuat, DVec3};

/// The id of a body of a scene.
pub(super) fn body(i: usize) -> BodyId {
    BodyId { slot: i as u32, generation: 0 }
}

/// Shapes of mechanisms are there to be seen, not to collide.
const SEEN: Filter = Filter { layers: 0, mask: 0 };

/// A body that nothing touches.
pub(super) fn seen(mut def: BodyDef) -> BodyDef {
    def.colliders.iter_mut().for_each(|c| c.filter = SEEN);
    def
}

/// A round bar between two points of the body's frame.
pub(super) fn bar(from: DVec3, to: DVec3, radius: f64) -> Collider {
    let along = to - from;
    let shape = Shape::Capsule { radius, half_length: 0.5 * along.length() };
    let turn = DQuat::from_rotation_arc(DVec3::Z, along.normalize_or(DVec3::Z));
    Collider { local: Pose::new(0.5 * (from + to), turn), filter: SEEN, ..Collider::new(shape, 0.0) }
}

/// A pin that marks a point of the ground.
pub(super) fn pin(at: DVec3, radius: f64, name: &str) -> BodyDef {
    seen(BodyDef::fixed(Shape::Sphere { radius })).at(at).named(name)
}

/// Times at which a quantity passes zero upwards, from its value and rate at the steps (cubic between them).
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Passes {
    last: Option<[f64; 3]>,
    pub times: Vec<f64>,
}

impl Passes {
    pub fn observe(&mut self, time: f64, value: f64, rate: f64) {
        if let Some([t0, x0, r0]) = self.last.replace([time, value, rate])
            && x0 < 0.0
            && value >= 0.0
        {
            let h = time - t0;
            let cubic = |s: f64| {
                let (a, b) = (2.0 * s.powi(3) - 3.0 * s * s + 1.0, s.powi(3) - 2.0 * s * s + s);
                let (c, d) = (-2.0 * s.powi(3) + 3.0 * s * s, s.powi(3) - s * s);
                a * x0 + b * h * r0 + c * value + d * h * rate
            };
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..50 {
                let middle = 0.5 * (low + high);
                if cubic(middle) < 0.0 { low = middle } else { high = middle }
            }
            self.times.push(t0 + 0.5 * (low + high) * h);
        }
    }

    /// Mean time between passes, s.
    pub fn period(&self) -> f64 {
        match self.times[..] {
            [first, .., last] => (last - first) / (self.times.len() - 1) as f64,
            _ => f64::NAN,
        }
    }
}

/// How far the energy of a run got from where it began, J.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(super) struct EnergyWatch {
    pub first: Option<f64>,
    pub furthest: f64,
}

impl EnergyWatch {
    /// With the energy at the start, J.
    pub fn from(first: f64) -> Self {
        Self { first: Some(first), furthest: 0.0 }
    }

    pub fn observe(&mut self, energy: f64) {
        let first = *self.first.get_or_insert(energy);
        self.furthest = self.furthest.max((energy - first).abs());
    }
}
