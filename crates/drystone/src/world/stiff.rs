//! Stiff forces.

use super::World;
use crate::error::WorldError;
use crate::model::BodyId;
use crate::stiff::force::{MOST_BODIES, StiffForce};

impl World {
    /// Adds a force on several bodies that is taken implicitly. It goes when one of its bodies does.
    ///
    /// ```
    /// use drystone::{BodyDef, Settings, Shape, StiffForce, World};
    /// use glam::DVec3;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut world = World::new(Settings { h: 0.01, ..Settings::default() })?;
    /// let ball = world.add_body(BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 2.0))?;
    /// // A cubic spring to the origin: 1e9 N/m³.
    /// world.add_stiff_force(StiffForce::by_differences("cubic", &[ball], |bodies, _, out| {
    ///     let x = bodies[0].position;
    ///     out[0].force = -1e9 * x.length_squared() * x;
    /// }))?;
    /// for _ in 0..2000 {
    ///     world.step()?;
    /// }
    /// let sag = (2.0 * 9.81 / 1e9_f64).cbrt();
    /// assert!((world.position(ball)?.z + sag).abs() < 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    pub fn add_stiff_force(&mut self, force: StiffForce) -> Result<(), WorldError> {
        let bad = |text: String| Err(WorldError::Field(format!("stiff force ({}): {text}", force.name)));
        if force.bodies.is_empty() || force.bodies.len() > MOST_BODIES {
            return bad(format!(
                "must act on one to {MOST_BODIES} bodies, got {}; what is larger is a sum of several",
                force.bodies.len()
            ));
        }
        for (k, id) in force.bodies.iter().enumerate() {
            if !self.model.contains(*id) {
                return bad(WorldError::NoBody(*id).to_string());
            }
            if force.bodies[..k].contains(id) {
                return bad(format!("names {} twice", self.model.describe(id.slot)));
            }
        }
        let dynamic = |id: &&BodyId| self.model.bodies[id.slot as usize].inv_mass > 0.0;
        let locked = |id: &&BodyId| self.model.bodies[id.slot as usize].planar.is_some();
        match force.bodies.iter().filter(dynamic).count() {
            0 => return bad("at least one of its bodies must be dynamic".into()),
            1 | 2 => {}
            _ => {
                if let Some(id) = force.bodies.iter().find(locked) {
                    let who = self.model.describe(id.slot);
                    return bad(format!(
                        "{who} is locked to a plane, which forces on three or more bodies cannot take yet"
                    ));
                }
            }
        }
        self.stiff.push(force);
        Ok(())
    }

    /// The stiff forces, in the order in which they were added.
    pub fn stiff_forces(&self) -> &[StiffForce] {
        &self.stiff
    }

    /// Takes all stiff forces away.
    pub fn clear_stiff_forces(&mut self) {
        self.stiff.clear();
    }
}
