//! Poisson's hypothesis for any number of contacts at once, in two problems \[AnitescuPotra1997\].
//!
//! Compression: every contact that is hit comes to rest, u_n ≥ 0 ⊥ γ_c ≥ 0. Expansion: its bodies are given e
//! γ_c along the normal, and the problem is solved again from there, so that the whole expansion impulse is
//! at least e γ_c.
//!
//! Friction acts on the given impulse too where the contact still slides after the compression: μ e γ_c
//! against the slip, but no more than what would end it (by the inertia of the two bodies alone). The problem
//! of the expansion has cones for what comes on top.

use glam::DVec3;

use super::formulation::{Laws, arms, halves, push, relative};
use crate::collide::Velocities;
use crate::contact::Contact;
use crate::model::Model;
use crate::state::State;

impl Laws {
    /// Whether a contact of this step is hit and will expand.
    pub fn expands(&self) -> bool {
        self.rows.iter().any(|r| r.expansion > 0.0)
    }

    /// After a compression to velocities `v`, with its impulses in the contacts: adds what the expansion
    /// gives to `v`. The contacts' impulses are the guess for the second problem then.
    pub fn expand(&mut self, model: &Model, state: &State, contacts: &mut [Contact], v: &mut Velocities) {
        self.compression.clear();
        self.compression.extend(contacts.iter().map(|c| c.impulse));
        self.given.clear();
        for (c, row) in contacts.iter().zip(&self.rows) {
            let normal = row.expansion * c.normal_impulse().max(0.0);
            let mut given = normal * c.normal;
            if normal > 0.0 && c.mu > 0.0 {
                let arms = arms(model, state, c);
                let u = relative(&arms, |side| halves(&v[c.bodies[side] as usize])) + row.drift;
                let slip = u - u.dot(c.normal) * c.normal;
                if let Some(way) = slip.try_normalize() {
                    let most = slip.length() / mobility(model, state, c, &arms, way);
                    given -= (c.mu * normal).min(most) * way;
                }
            }
            self.given.push(given);
        }
        contacts.iter_mut().for_each(|c| c.impulse = DVec3::ZERO);
        self.give(model, state, contacts, v);
    }

    /// Adds what the expansion gives to the velocities.
    fn give(&mut self, model: &Model, state: &State, contacts: &[Contact], v: &mut Velocities) {
        for ((c, given), kept) in contacts.iter().zip(&self.given).zip(&mut self.compression) {
            if *given != DVec3::ZERO {
                let (given, arms) = (*given, arms(model, state, c));
                *kept += given;
                push(model, state, c.bodies[0] as usize, given, arms[0].cross(given), v);
                push(model, state, c.bodies[1] as usize, -given, arms[1].cross(-given), v);
            }
        }
    }

    /// Of what the expansion gave, leaves this share to each contact.
    pub fn scale_expansion(&mut self, contacts: &[Contact], share: impl Fn(&Contact) -> f64) {
        for ((c, given), kept) in contacts.iter().zip(&self.given).zip(&mut self.compression) {
            *kept -= (1.0 - share(c)) * *given;
        }
    }

    /// Adds what compression and expansion gave to what the second problem found.
    pub fn add_compression(&mut self, contacts: &mut [Contact]) {
        for (c, impulse) in contacts.iter_mut().zip(self.compression.drain(..)) {
            c.impulse += impulse;
        }
    }
}

/// Relative velocity along `way` per impulse along it, 1/kg.
fn mobility(model: &Model, state: &State, c: &Contact, arms: &[DVec3; 2], way: DVec3) -> f64 {
    let side = |k: usize| {
        let (body, q) = (&model.bodies[c.bodies[k] as usize], state.rotation[c.bodies[k] as usize]);
        let torque = q.conjugate() * arms[k].cross(way);
        body.inv_mass + torque.dot(*body.inv_inertia * torque)
    };
    side(0) + side(1)
}
