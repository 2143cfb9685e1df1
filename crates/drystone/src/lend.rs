//! Memory of the state that is shown to others: they keep it as it was, the world goes on with a copy.

use std::mem::replace;

use glam::{DQuat, DVec3};

use crate::contact::Contact;
use crate::world::World;

/// Who shows a column of the state (the Python package: arrays that are not copied) takes it over, at its
/// place, before the world changes it.
impl World {
    /// Positions of the centres of mass, by body slot.
    #[doc(hidden)]
    pub fn part_with_positions(&mut self) -> Vec<DVec3> {
        part_with(&mut self.state.position)
    }

    /// Rotations, by body slot.
    #[doc(hidden)]
    pub fn part_with_rotations(&mut self) -> Vec<DQuat> {
        part_with(&mut self.state.rotation)
    }

    /// Velocities of the centres of mass, by body slot.
    #[doc(hidden)]
    pub fn part_with_velocities(&mut self) -> Vec<DVec3> {
        part_with(&mut self.state.velocity)
    }

    /// Angular velocities in the axes of the bodies, by body slot.
    #[doc(hidden)]
    pub fn part_with_angular_velocities(&mut self) -> Vec<DVec3> {
        part_with(&mut self.state.omega)
    }

    /// The contacts of the last step.
    #[doc(hidden)]
    pub fn part_with_contacts(&mut self) -> Vec<Contact> {
        part_with(&mut self.work.collision.contacts)
    }
}

fn part_with<T: Clone>(own: &mut Vec<T>) -> Vec<T> {
    let copy = own.clone();
    replace(own, copy)
}
