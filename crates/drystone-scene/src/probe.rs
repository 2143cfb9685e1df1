//! Measurements that several scenes share.

use std::collections::BTreeMap;

use drystone::World;
use glam::DVec3;
use serde_json::{Value, json};

use crate::{Memory, Probe};

/// Results by name.
pub(crate) type Results = BTreeMap<String, Value>;

/// A number, or null where it is not finite: JSON has no word for it.
pub(crate) fn number(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { Value::Null }
}

/// `floor_force_over_weight`, for anything that may come to rest on something.
pub(crate) fn support(world: &World, results: &mut Results) {
    if let Some(share) = world.support_over_weight() {
        results.insert("floor_force_over_weight".into(), number(share));
    }
}

/// For scenes without a question of their own: what the floor carries.
pub(crate) struct Support {
    /// Whether anything could carry.
    pub on: bool,
}

impl Probe for Support {
    fn memory(&mut self, _: &mut Memory) {}

    fn observes(&self) -> bool {
        false
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        if self.on {
            support(world, &mut results);
        }
        results
    }
}

/// Where each of the first bodies stood, and how large it is.
pub(crate) struct Places {
    start: Vec<DVec3>,
    sizes: Vec<f64>,
}

impl Places {
    /// Of bodies at `start`, `sizes` being their smallest extents, m.
    pub fn new(start: Vec<DVec3>, sizes: Vec<f64>) -> Self {
        Self { start, sizes }
    }

    /// `standing`: no body is further than a tenth of its own size from its place; and the largest such
    /// distance.
    pub fn report(&self, world: &World, results: &mut Results) {
        let now = &world.state().position;
        let away = |i: usize| (now[i] - self.start[i]).length();
        let furthest = (0..self.start.len()).map(away).fold(0.0, f64::max);
        let standing = (0..self.start.len()).all(|i| away(i) <= 0.1 * self.sizes[i]);
        results.insert("standing".into(), json!(standing));
        results.insert("largest_displacement_m".into(), number(furthest));
    }
}
