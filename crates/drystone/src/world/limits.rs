//! Whether bodies are where steps may come to.

use super::World;
use crate::check::beyond;
use crate::limits;
use crate::report::StepError;

impl World {
    /// Whether all bodies are where steps may come to: to be asked of one that was stepped elsewhere.
    #[doc(hidden)]
    pub fn check_limits(&self) -> Result<(), StepError> {
        let s = &self.state;
        let out = |i: &usize| {
            self.model.bodies[*i].alive && !limits::holds(s.position[*i], s.velocity[*i], s.omega[*i])
        };
        match (0..s.position.len()).find(out) {
            Some(i) => {
                let body = self.model.describe(i as u32);
                Err(beyond(s.step, &body, s.position[i], s.velocity[i], s.omega[i]))
            }
            None => Ok(()),
        }
    }
}
