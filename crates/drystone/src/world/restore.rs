//! Restoring states.

use super::World;
use crate::body::Motion;
use crate::error::WorldError;
use crate::state::State;
use glam::DVec3;

impl World {
    /// Goes back (or on) to a state of these same bodies: of this world, of one that it was loaded or copied
    /// from, or of one made in the same way. Bodies that came and went since do not matter. Positions,
    /// velocities, applied forces, warm starts, time and random numbers are the state's; settings, masses,
    /// shapes, motors and materials stay as they are now, and so do bodies that are static by now: they have
    /// no velocity.
    ///
    /// # Errors
    /// For a state of other bodies: where some came or went, got shapes of other kinds or sizes, other joints
    /// or another centre of mass, and for states of other worlds. The world stays as it was.
    pub fn restore(&mut self, mut state: State) -> Result<(), WorldError> {
        self.check_state(&state)?;
        state.fit(self.model.bodies.len(), self.model.joints.len());
        state.whose = self.model.whose();
        for i in self.model.slots().filter(|i| self.model.bodies[*i].motion == Motion::Static) {
            (state.velocity[i], state.omega[i]) = (DVec3::ZERO, DVec3::ZERO);
        }
        self.loose = state.step == 0;
        self.state = state;
        self.moved();
        self.work.collision.sleepers.forget();
        self.fit_flow();
        self.recall_events();
        Ok(())
    }

    /// Whether [`World::restore`] would take this state, without going there.
    ///
    /// # Errors
    /// As [`World::restore`].
    pub fn check_state(&self, state: &State) -> Result<(), WorldError> {
        let (bodies, joints) = (self.model.bodies.len(), self.model.joints.len());
        let own = self.model.whose();
        let (known, alike) = (state.whose.is_known(), state.whose.0 == own.0);
        let [x, j] = [state.position.len(), state.joints.len()];
        // Empty slots of the world are nobody: who came and went is no other number of bodies.
        let alive = [self.model.slots().count(), self.model.joint_slots().count()];
        let wrong = |n: usize, slots: usize, alive: usize| match (known, alike) {
            (false, _) => n != slots,
            (true, true) => n > slots,
            (true, false) => n != slots && alive == slots,
        };
        if wrong(x, bodies, alive[0]) {
            return Err(WorldError::StateSize { state: x, world: bodies });
        }
        if wrong(j, joints, alive[1]) {
            return Err(WorldError::Joint(format!("the state has {j} joints, the world {joints}")));
        }
        if known && !alike {
            return Err(WorldError::Body(
                "the state is of other bodies: since it was saved bodies or joints came or went, or one got \
                 other shapes (kind or size) or another centre of mass; or it is another world's"
                    .into(),
            ));
        }
        if !state.order.is_sound(x) {
            return Err(WorldError::Body(
                "the state's order has a place twice, or one that no body has".into(),
            ));
        }
        Ok(())
    }

    /// To be said after every change of bodies, their shapes and their centres that adds nothing.
    pub(crate) fn renamed(&mut self) {
        self.state.whose = self.model.whose();
    }
}
