//! One body on a plane: how it moves along it, slips on it and hovers over it.

use drystone::World;
use glam::DVec3;

use crate::probe::{Results, number};

/// Follows body 0 over the plane that is body 1.
pub(super) struct Track {
    /// Unit vector along which it moves.
    pub along: DVec3,
    /// Unit normal of the plane.
    pub normal: DVec3,
    /// From the centre to the plane when they touch, m.
    pub height: f64,
    /// Centre at the start, m.
    pub start: DVec3,
    /// (time, speed) after every step.
    history: Vec<(f64, f64)>,
}

impl Track {
    pub fn new(along: DVec3, normal: DVec3, height: f64, start: DVec3) -> Self {
        Self { along, normal, height, start, history: Vec::new() }
    }

    pub fn speed(&self, world: &World) -> f64 {
        world.state().velocity[0].dot(self.along)
    }

    pub fn distance(&self, world: &World) -> f64 {
        (world.state().position[0] - self.start).dot(self.along)
    }

    /// Speed of the lowest point against the plane, m/s.
    pub fn slip(&self, world: &World) -> f64 {
        let state = world.state();
        state.velocity_at(0, state.position[0] - self.height * self.normal).dot(self.along)
    }

    pub fn memory(&mut self, memory: &mut crate::Memory) {
        memory.keep("history", &mut self.history);
    }

    pub fn observe(&mut self, world: &World) {
        self.history.push((world.state().time, self.speed(world)));
    }

    /// Mean over the second half of the run, m/s²: the first steps only bring the body to its hovering
    /// height.
    fn acceleration(&self) -> Option<f64> {
        let (t0, v0) = *self.history.get(self.history.len() / 2)?;
        let (t1, v1) = *self.history.last()?;
        (t1 > t0).then(|| (v1 - v0) / (t1 - t0))
    }

    /// What all such scenes report. A body that slides at v_t under the relaxed model hovers at μ h |v_t|
    /// [TasoraAnitescu2011, §2.7]: beside the gap stands what this makes now.
    pub fn report(&self, world: &World, mu: f64, results: &mut Results) {
        let model = world.model();
        let gap = match (model.id(0), model.id(1)) {
            (Some(body), Some(plane)) => world.distance(body, plane).unwrap_or(f64::NAN),
            _ => f64::NAN,
        };
        results.insert("hover_gap_m".into(), number(gap));
        results
            .insert("relaxed_hover_gap_m".into(), number(mu * world.settings().h * self.slip(world).abs()));
        results.insert("distance_m".into(), number(self.distance(world)));
        results.insert("speed_m_s".into(), number(self.speed(world)));
    }

    /// For bodies whose acceleration is one number.
    pub fn report_acceleration(&self, expected: f64, results: &mut Results) {
        let acceleration = self.acceleration().unwrap_or(f64::NAN);
        results.insert("acceleration_m_s2".into(), number(acceleration));
        results.insert("expected_acceleration_m_s2".into(), number(expected));
    }
}
