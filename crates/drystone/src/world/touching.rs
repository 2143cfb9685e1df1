//! Contacts of bodies, reactions and accelerations.

use super::World;
use crate::contact::Contact;
use crate::error::WorldError;
use crate::joint::JointId;
use crate::model::BodyId;
use crate::touching::{Accelerations, ContactInfo, seen_from};
use glam::DVec3;

impl World {
    /// A contact in ids, as its body A sees it. None if it is older than one of its bodies.
    pub fn contact_info(&self, c: &Contact) -> Option<ContactInfo> {
        let mut colliders = c.key.colliders;
        if self.model.colliders.get(colliders[0] as usize)?.body != c.bodies[0] {
            colliders.reverse();
        }
        Some(ContactInfo {
            bodies: [self.model.id(c.bodies[0])?, self.model.id(c.bodies[1])?],
            colliders: [self.model.collider_id(colliders[0])?, self.model.collider_id(colliders[1])?],
            point: c.point,
            normal: c.normal,
            gap: c.gap,
            mu: c.mu,
            impulse: c.impulse,
            force: c.impulse / self.settings.h,
        })
    }

    /// The contacts of a body in the last step, seen from it. Looks at all contacts of the world.
    pub fn contacts_of(&self, id: BodyId) -> Result<Vec<ContactInfo>, WorldError> {
        let slot = self.slot(id)? as u32;
        let own = self.work.collision.contacts.iter().filter(|c| c.bodies.contains(&slot));
        Ok(own.filter_map(|c| Some(seen_from(self.contact_info(c)?, id))).collect())
    }

    /// The contacts between two bodies in the last step, seen from the first.
    pub fn contacts_between(&self, a: BodyId, b: BodyId) -> Result<Vec<ContactInfo>, WorldError> {
        self.slot(b)?;
        Ok(self.contacts_of(a)?.into_iter().filter(|c| c.bodies[1] == b).collect())
    }

    /// Force (N) and torque about the centre of mass (N m) that contacts put on a body in the last step,
    /// world axes. The arms are those to where the body is now.
    pub fn contact_force(&self, id: BodyId) -> Result<(DVec3, DVec3), WorldError> {
        let centre = self.state.position[self.slot(id)?];
        let all = self.contacts_of(id)?;
        let force = all.iter().map(|c| c.force).sum();
        Ok((force, all.iter().map(|c| (c.point - centre).cross(c.force)).sum()))
    }

    /// Force of the second body on the first by contacts in the last step, N, world axes.
    pub fn force_between(&self, a: BodyId, b: BodyId) -> Result<DVec3, WorldError> {
        Ok(self.contacts_between(a, b)?.iter().map(|c| c.force).sum())
    }

    /// Keeps the velocities from before every step from now on, so that [`World::acceleration`] has something
    /// to compare with; or no longer.
    pub fn record_accelerations(&mut self, on: bool) {
        self.accelerations = Accelerations { on, ..Accelerations::default() };
    }

    pub(crate) fn keep_velocities(&mut self) {
        let a = &mut self.accelerations;
        a.velocity.clone_from(&self.state.velocity);
        a.omega.clear();
        a.omega.extend((0..self.state.omega.len()).map(|i| self.state.world_omega(i)));
        a.generations.clear();
        a.generations.extend(self.model.bodies.iter().map(|b| b.generation));
        a.h = self.settings.h;
    }

    /// Mean acceleration of the centre of mass (m/s²) and mean angular acceleration (rad/s², world axes) in
    /// the last step. None where they were not recorded, or before the body's first step.
    pub fn acceleration(&self, id: BodyId) -> Result<Option<(DVec3, DVec3)>, WorldError> {
        let (i, a) = (self.slot(id)?, &self.accelerations);
        if a.generations.get(i) != Some(&id.generation) {
            return Ok(None);
        }
        let linear = (self.state.velocity[i] - a.velocity[i]) / a.h;
        Ok(Some((linear, (self.state.world_omega(i) - a.omega[i]) / a.h)))
    }

    /// The Jacobian of a joint's free coordinates now: a row each, coefficients of (v_A, ω_A, v_B, ω_B), m or
    /// rad per s. Of the world's side they act on nothing.
    pub fn joint_jacobian(&self, id: JointId) -> Result<Vec<[f64; 12]>, WorldError> {
        let joint = self.joint(id)?;
        let memory = &self.state.joints[id.slot as usize];
        let e = joint.equations(&self.state, memory, [self.state.time; 2]);
        Ok(e.coordinates().iter().map(|c| c.jacobian).collect())
    }
}
