//! Contacts and forces of a body, of a pair, in ids; accelerations; Jacobians of joints.

use glam::DVec3;

use crate::collider::ColliderId;
use crate::model::BodyId;

/// A contact of the last step, seen from one of its bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ContactInfo {
    /// The body that it is seen from, and the other.
    pub bodies: [BodyId; 2],
    /// Their colliders.
    pub colliders: [ColliderId; 2],
    /// Half-way between the two surfaces, m, world.
    pub point: DVec3,
    /// Unit, from the other body to this one.
    pub normal: DVec3,
    /// Signed distance at the start of the step, m.
    pub gap: f64,
    /// Coefficient of friction.
    pub mu: f64,
    /// Impulse on this body during the step, N s, world axes.
    pub impulse: DVec3,
    /// The same over the step, N.
    pub force: DVec3,
}

/// What changes the velocities of bodies in a step, kept from before it where it is asked for.
#[derive(Default)]
pub(crate) struct Accelerations {
    pub on: bool,
    pub velocity: Vec<DVec3>,
    pub omega: Vec<DVec3>,
    pub generations: Vec<u32>,
    pub h: f64,
}

pub(crate) fn seen_from(c: ContactInfo, id: BodyId) -> ContactInfo {
    if c.bodies[0] == id {
        return c;
    }
    let ([a, b], [i, j]) = (c.bodies, c.colliders);
    ContactInfo {
        bodies: [b, a],
        colliders: [j, i],
        normal: -c.normal,
        impulse: -c.impulse,
        force: -c.force,
        ..c
    }
}
