//! Mass that passes a plane.

use drystone::World;
use glam::DVec3;

use super::Which;
use crate::Memory;

/// Counts bodies whose centres pass a plane, against the normal as less than none.
pub(crate) struct Passing {
    pub point: DVec3,
    /// Unit.
    pub normal: DVec3,
    /// How far from the point a body may pass, m.
    pub radius: f64,
    pub which: Which,
    /// kg
    pub mass: f64,
    pub bodies: i64,
    /// Where each body was, periods that it was taken back included; with its generation, by slot.
    before: Vec<Option<(u32, [f64; 3])>>,
}

impl Passing {
    pub fn new(point: DVec3, normal: DVec3, radius: f64, which: Which) -> Self {
        Self { point, normal, radius, which, mass: 0.0, bodies: 0, before: Vec::new() }
    }

    pub fn memory(&mut self, memory: &mut Memory) {
        memory.keep("mass", &mut self.mass);
        memory.keep("bodies", &mut self.bodies);
        memory.keep("before", &mut self.before);
    }

    pub fn observe(&mut self, world: &World) {
        let (model, s) = (world.model(), world.state());
        let mut now = vec![None; model.bodies.len()];
        for i in model.dynamic() {
            if !self.which.has(world, i) {
                continue;
            }
            let taken = s.crossings.get(i).copied().unwrap_or_default();
            let periods = DVec3::from_array(taken.map(f64::from));
            let box_size = world.settings().periodic.as_ref().map_or(DVec3::ZERO, |p| p.max - p.min);
            // Along axes that do not repeat nothing is taken back, and sizes may be infinite.
            let shift = DVec3::select(periods.cmpeq(DVec3::ZERO), DVec3::ZERO, periods * box_size);
            let (x, b) = (s.position[i], &model.bodies[i]);
            let way = x + shift;
            now[i] = Some((b.generation, way.to_array()));
            let Some((generation, before)) = self.before.get(i).copied().flatten() else { continue };
            if generation != b.generation {
                continue;
            }
            let moved = way - DVec3::from_array(before);
            let [was, is] = [x - moved, x].map(|x| (x - self.point).dot(self.normal));
            if (was < 0.0) == (is < 0.0) {
                continue;
            }
            let through = x - moved * (is / (is - was));
            if through.distance(self.point) > self.radius {
                continue;
            }
            let sign = if is < 0.0 { -1 } else { 1 };
            self.bodies += sign;
            self.mass += sign as f64 * b.mass.mass;
        }
        self.before = now;
    }
}
