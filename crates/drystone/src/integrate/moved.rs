//! What a step has done to the bodies, as far as its contacts and joints can be asked.

use glam::DVec3;

use crate::contact::{Contact, Touch};
use crate::joint::Joint;
use crate::setup::Setup;
use crate::state::{self, State};
use crate::workspace::Collision;

/// A step that was taken: from where, by which velocities, with which contacts.
pub(crate) struct Moved<'a> {
    pub setup: Setup<'a>,
    pub collision: &'a Collision,
    /// The new velocities, by slot.
    pub v: &'a [[f64; 6]],
    /// Where it began.
    pub saved: &'a state::Motion,
}

impl Moved<'_> {
    /// The square of how far side `k` of a joint, a body, may be from where its curvature was foretold, m²:
    /// what is of second order with nothing left out is 2 √((b² + c²) c² 2 (r² + 4 L²)) h² at most, which
    /// needs no roots.
    pub(crate) fn unforetold(&self, state: &State, joint: &Joint, k: usize) -> f64 {
        let (h, i) = (self.setup.settings.h, joint.bodies[k] as usize);
        let (b, r) = (self.saved.omega(i), joint.frames[k].position);
        let c = state.omega[i] - b;
        let squares = (b.length_squared() + c.length_squared()) * c.length_squared();
        let reach = r.length_squared() + 4.0 * joint.length * joint.length;
        4.0 * squares * reach * (h * h) * (h * h)
    }

    /// How far from its free motion a body's velocity is, m/s. Gravity is in the free motion; what holds a
    /// body takes it back, whole or in part, and leads it nowhere.
    pub(crate) fn led_away(&self, i: usize) -> f64 {
        let v = &self.v[i];
        let fall = self.setup.settings.h * self.setup.settings.gravity;
        let change = DVec3::new(v[0], v[1], v[2]) - (self.saved.velocity(i) + fall);
        let held = -change.dot(fall) / fall.length_squared().max(f64::MIN_POSITIVE);
        (change + held.clamp(0.0, 1.0) * fall).length()
    }

    /// How fast a contact opens, m/s.
    pub(crate) fn opening(&self, c: &Contact) -> f64 {
        let images = c.images(self.setup.model);
        let [a, b] = [0, 1].map(|k| {
            let i = c.bodies[k] as usize;
            let v = &self.v[i];
            let turn = DVec3::new(v[3], v[4], v[5]);
            DVec3::new(v[0], v[1], v[2]) + turn.cross(c.point - self.saved.position(i) - images[k])
        });
        c.normal.dot(a - b)
    }
}
