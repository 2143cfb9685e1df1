//! What contacts do to a body or to several.

use drystone::{BodyId, World};
use glam::DVec3;

use crate::Memory;

/// Adds up the impulses of the contacts of some bodies with all others.
pub(crate) struct Force {
    pub bodies: Vec<BodyId>,
    /// The point that torques are about, m; the centre of mass of the first body if there is none.
    pub about: Option<DVec3>,
    /// N s
    pub impulse: [f64; 3],
    /// N m s
    pub angular: [f64; 3],
}

impl Force {
    pub fn new(bodies: Vec<BodyId>, about: Option<DVec3>) -> Self {
        Self { bodies, about, impulse: [0.0; 3], angular: [0.0; 3] }
    }

    pub fn memory(&mut self, memory: &mut Memory) {
        memory.keep("impulse", &mut self.impulse);
        memory.keep("angular", &mut self.angular);
    }

    pub fn observe(&mut self, world: &World) {
        let mut is_one = vec![false; world.model().bodies.len()];
        for id in self.bodies.iter().filter(|id| world.model().contains(**id)) {
            is_one[id.slot as usize] = true;
        }
        let first = self.bodies.first().and_then(|id| world.position(*id).ok());
        let Some(about) = self.about.or(first) else { return };
        let (mut impulse, mut angular) = (DVec3::ZERO, DVec3::ZERO);
        for c in world.contacts() {
            let [a, b] = c.bodies.map(|k| is_one[k as usize]);
            // Between two of them nothing comes from outside.
            let on = match (a, b) {
                (true, false) => c.impulse,
                (false, true) => -c.impulse,
                _ => continue,
            };
            impulse += on;
            angular += (c.point - about).cross(on);
        }
        self.impulse = (DVec3::from_array(self.impulse) + impulse).to_array();
        self.angular = (DVec3::from_array(self.angular) + angular).to_array();
    }
}
