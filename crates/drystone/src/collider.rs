//! Colliders of living bodies: ids of their own, adding, removing, changing.
//!
//! A body's mass, centre of mass and inertia are its own and do not follow from its shapes:
//! [`crate::World::set_mass`] changes them.

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::body::Motion;
use crate::model::{Model, NOBODY};

/// Names a collider for as long as it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ColliderId {
    /// Index into [`Model::colliders`].
    pub slot: u32,
    /// How often the slot was given away before.
    pub generation: u32,
}

impl Model {
    pub(crate) fn generation(&self, collider: u32) -> u32 {
        self.reused.get(&collider).copied().unwrap_or(0)
    }

    /// The id of the collider in a slot, if there is one.
    pub fn collider_id(&self, slot: u32) -> Option<ColliderId> {
        let there = self.colliders.get(slot as usize).is_some_and(|c| c.body != NOBODY);
        there.then(|| ColliderId { slot, generation: self.generation(slot) })
    }

    /// Whether the id still names a collider.
    pub fn contains_collider(&self, id: ColliderId) -> bool {
        self.collider_id(id.slot) == Some(id)
    }

    /// Whether a collider reports and does not push.
    #[inline]
    pub fn is_sensor(&self, slot: u32) -> bool {
        !self.sensors.is_empty() && self.sensors.binary_search(&slot).is_ok()
    }

    pub(crate) fn set_sensor(&mut self, slot: u32, sensor: bool) {
        match (self.sensors.binary_search(&slot), sensor) {
            (Ok(at), false) => {
                self.sensors.remove(at);
            }
            (Err(at), true) => self.sensors.insert(at, slot),
            _ => {}
        }
    }

    /// The body's centre of mass in its own frame, from which colliders are placed, m.
    pub(crate) fn centre(&self, body: usize) -> DVec3 {
        let b = &self.bodies[body];
        if b.motion == Motion::Dynamic { b.mass.centre } else { DVec3::ZERO }
    }
}
