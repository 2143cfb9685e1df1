//! How full a box is.

use drystone::World;
use drystone::collide::query::project;
use glam::DVec3;

use super::Which;

/// Points along each side of the box around a shape that is cut by a face of the region.
const POINTS: usize = 16;

/// An upright box.
pub(crate) struct Region {
    pub min: DVec3,
    pub max: DVec3,
    pub which: Which,
}

impl Region {
    /// Solid volume over the volume of the box; bodies whose centres are in it; these over all; their mass
    /// (kg).
    pub fn read(&self, world: &World) -> [f64; 4] {
        let (model, s) = (world.model(), world.state());
        let (mut inside, mut all, mut mass) = (0u64, 0u64, 0.0);
        let mut counts = vec![false; model.bodies.len()];
        for i in model.dynamic().filter(|i| self.which.has(world, *i)) {
            counts[i] = true;
            all += 1;
            if self.min.cmple(s.position[i]).all() && s.position[i].cmple(self.max).all() {
                inside += 1;
                mass += model.bodies[i].mass.mass;
            }
        }
        let mut volume = 0.0;
        for (k, c) in model.colliders.iter().enumerate() {
            if counts.get(c.body as usize) == Some(&true) && !model.is_sensor(k as u32) {
                volume += self.volume(world, k);
            }
        }
        let fraction = if all > 0 { inside as f64 / all as f64 } else { f64::NAN };
        [volume / (self.max - self.min).element_product(), inside as f64, fraction, mass]
    }

    /// Of a shape, as far as it is in the box, m³: exact if all of it is, by points of a lattice if a face
    /// cuts it.
    fn volume(&self, world: &World, collider: usize) -> f64 {
        let (model, s) = (world.model(), world.state());
        let bounds = model.collider_aabb(s, collider);
        let (low, high) = (bounds.min.max(self.min), bounds.max.min(self.max));
        if !low.cmplt(high).all() {
            return 0.0;
        }
        let shape = &model.colliders[collider].shape;
        if low == bounds.min && high == bounds.max {
            return shape.volume();
        }
        let Some(pose) = model.collider_pose(s, collider) else { return 0.0 };
        let cell = (high - low) / POINTS as f64;
        let mut count = 0;
        for k in 0..POINTS.pow(3) {
            let index = [k % POINTS, k / POINTS % POINTS, k / (POINTS * POINTS)];
            let point = low + cell * DVec3::from_array(index.map(|i| i as f64 + 0.5));
            count += usize::from(project(shape, &pose, point).distance <= 0.0);
        }
        count as f64 * cell.element_product()
    }
}
