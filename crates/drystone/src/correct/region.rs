//! The part of a world that a correction is about.
//!
//! In a heap that has come to rest a few contacts in a thousand overlap by more than is left alone. What removes their
//! overlaps moves them and their neighbours, and dies out further off, because every contact may keep some overlap: so only
//! bodies up to a number of rings of neighbours away are moved, all others stay where they are, and only the contacts of those
//! that move are posed, and looked at afterwards.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use drystone_solve::crew;

use super::PIECE;
use crate::contact::{Gap, Touch};
use crate::model::Model;

/// Bodies by their distance from the contacts that overlap, counted in contacts.
#[derive(Default)]
pub(super) struct Region {
    /// 1 more than the distance, by body slot; 0 for those further off than was asked for.
    ring: Vec<AtomicU8>,
}

impl Region {
    /// Starts from the bodies of those contacts that are `wanted`.
    pub fn begin(&mut self, model: &Model, contacts: &[Gap], wanted: impl Fn(&Gap) -> bool + Sync) {
        self.ring.resize_with(model.bodies.len(), AtomicU8::default);
        self.ring.iter_mut().for_each(|r| *r.get_mut() = 0);
        self.visit(contacts, |c| {
            if wanted(c) {
                self.mark(model, c.bodies(), 1);
            }
        });
    }

    /// Goes on to the neighbours of the neighbours, `rings` times. The ways are those of `contacts`; the ground is on none.
    pub fn grow(&self, model: &Model, contacts: &[Gap], rings: u8) {
        for r in 1..=rings {
            // Whether another thread has been there makes no difference: it marks what this one would.
            self.visit(contacts, |c| {
                let bodies = c.bodies();
                if bodies.iter().any(|b| self.ring[*b as usize].load(Relaxed) == r) {
                    self.mark(model, bodies, r + 1);
                }
            });
        }
    }

    fn visit(&self, contacts: &[Gap], visit: impl Fn(&Gap) + Sync) {
        crew::each(contacts.len().div_ceil(PIECE), |t| {
            let end = contacts.len().min((t + 1) * PIECE);
            contacts[t * PIECE..end].iter().for_each(&visit);
        });
    }

    fn mark(&self, model: &Model, bodies: [u32; 2], ring: u8) {
        for b in bodies.map(|b| b as usize) {
            if model.bodies[b].inv_mass > 0.0 && self.ring[b].load(Relaxed) == 0 {
                self.ring[b].store(ring, Relaxed);
            }
        }
    }

    /// Whether one of the contact's bodies is in it.
    pub fn holds(&self, c: &Gap) -> bool {
        c.bodies().iter().any(|b| self.ring[*b as usize].load(Relaxed) > 0)
    }

    /// Says of each body whether it is not in it, or `asleep`.
    pub fn others(&self, asleep: &[bool], to: &mut Vec<bool>) {
        to.clear();
        to.extend(
            self.ring
                .iter()
                .enumerate()
                .map(|(b, r)| r.load(Relaxed) == 0 || asleep.get(b).copied().unwrap_or_default()),
        );
    }
}
