//! Sleep: what has come to rest is left out of the steps until something disturbs it. Only where
//! [`Settings::sleep`] asks.
//!
//! What hangs together by contacts and joints is an island, and an island sleeps as a whole or not at all.
//! Its bodies fall asleep when all of them have been slower than a speed for a time; from then on positions
//! do not change by a bit, velocities are zero, and contacts, with the impulses that warm-start the step in
//! which they wake, are kept as they were.
//!
//! A sleeper wakes, with its island, at the start of the step in which
//!
//! - a body that is awake has a contact with it, however slow,
//! - a kinematic body that moves, however slowly, has a contact or a joint with it,
//! - what a motor or another function of time in one of its joints asks for changes,
//! - force or torque on it, applied or by fields, is not what it was when it fell asleep,
//! - a body it touches or is joined to, a joint, a material, a law or a setting was changed or removed, or a
//!   body that is not dynamic was added anywhere.
//!
//! All of these compare numbers exactly: the two thresholds say when sleep begins, and nothing else is one.
//! Bodies of [`crate::StiffForce`]s, which may depend on time in any way, do not sleep.
//!
//! With nothing asleep a step is bit for bit the one without this option.

mod falling;
pub(crate) mod rest;
pub(crate) mod rule;
mod waking;

use crate::contact::Contact;
use crate::islands::Islands;
use crate::model::{Model, NOBODY};
use crate::settings::Settings;
use rest::Rest;
use rule::Sleep;

/// The default speed, over √(g r).
pub(crate) const SPEED: f64 = 0.01;

/// What a world keeps about its sleepers beside the state: all of it follows from the state.
#[derive(Default)]
pub(crate) struct Sleepers {
    /// The contacts among sleepers and with bodies that are not dynamic, in the order of all contacts.
    pub contacts: Vec<Contact>,
    /// By body slot, whether it sleeps and its contacts are among those: nobody has to look for them.
    pub known: Vec<bool>,
    /// By body slot, whether this step's forces, drives or neighbours keep it from rest.
    pub disturbed: Vec<bool>,
    /// This step's forces and torques, by body slot.
    load: Vec<[f64; 6]>,
    /// The labels of islands to be woken.
    pub rousing: Vec<bool>,
    /// As it was before the step.
    before: Rest,
    /// Below which speed a body rests, m/s, by body slot, and for which model, gravity and setting that was
    /// worked out.
    speeds: Vec<f64>,
    reach: Vec<f64>,
    speeds_for: Option<(u64, usize, [f64; 4])>,
    islands: Islands,
    merged: Vec<Contact>,
}

impl Sleepers {
    /// The contacts of sleepers.
    pub fn contacts(&self) -> &[Contact] {
        &self.contacts
    }

    /// Nothing is known any more about the contacts of sleepers: they are looked for again in the next step.
    pub fn forget(&mut self) {
        self.contacts.clear();
        self.known.clear();
    }

    /// Brings the lists in line with who is awake.
    pub(crate) fn drop_awake(&mut self, rest: &Rest, model: &Model) {
        for (i, known) in self.known.iter_mut().enumerate() {
            *known &= rest.is_asleep(i);
        }
        let awake = |b: &u32| {
            let b = *b as usize;
            model.bodies[b].inv_mass > 0.0 && !rest.is_asleep(b)
        };
        self.contacts.retain(|c| !c.bodies.iter().any(awake));
    }

    /// The speeds below which bodies rest and the radii about their centres that hold them; `model` says for
    /// which bodies.
    fn measure(&mut self, model: &Model, settings: &Settings, sleep: &Sleep) {
        let asked = [settings.gravity.x, settings.gravity.y, settings.gravity.z, sleep.speed.unwrap_or(-1.0)];
        let now = (model.revision(), model.bodies.len(), asked);
        if model.revision() != 0 && self.speeds_for == Some(now) {
            return;
        }
        self.speeds_for = Some(now);
        let inner = &mut self.speeds;
        inner.clear();
        inner.resize(model.bodies.len(), f64::INFINITY);
        self.reach.clear();
        self.reach.resize(model.bodies.len(), 0.0);
        for c in model.colliders.iter().filter(|c| c.body != NOBODY && c.radius.is_finite()) {
            let i = c.body as usize;
            inner[i] = inner[i].min(c.shape.inner_radius());
            self.reach[i] = self.reach[i].max(c.radius);
        }
        let g = settings.gravity.length();
        for (r, body) in inner.iter_mut().zip(&model.bodies) {
            // A body without a shape is as large as its mass is spread.
            let r_i = if r.is_finite() {
                *r
            } else {
                let [a, b, c] =
                    [body.mass.inertia.x_axis.x, body.mass.inertia.y_axis.y, body.mass.inertia.z_axis.z];
                ((a + b + c) / (2.0 * body.mass.mass)).sqrt()
            };
            *r = sleep.speed.unwrap_or(SPEED * (g * r_i).sqrt());
        }
    }
}
