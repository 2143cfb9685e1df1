//! The part of a world that a correction is about.
//!
//! In a heap that has come to rest a few contacts in a thousand overlap by more than is left alone. What
//! removes their overlaps moves them and their neighbours, and dies out further off, because every contact
//! may keep some overlap: so only bodies up to a number of rings of neighbours away are moved, all others
//! stay where they are, and only the contacts of those that move are posed, and looked at afterwards.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use drystone_solve::parallel;

use crate::contact::{Gap, Touch};
use crate::islands::Islands;
use crate::model::Model;

/// Contacts that one thread looks at in a row.
const CONTACTS_PER_TASK: usize = 4096;

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
        parallel::for_each_small(self.ring.len(), |b| self.ring[b].store(0, Relaxed));
        self.visit(contacts, |c| {
            if wanted(c) {
                self.mark(model, c.bodies(), 1);
            }
        });
    }

    /// Starts from these bodies, too.
    pub fn add(&self, model: &Model, bodies: [u32; 2]) {
        self.mark(model, bodies, 1);
    }

    /// Goes on to the neighbours of the neighbours, `rings` times. The ways are those of `contacts`; the
    /// ground is on none. Who is of one of the `groups` takes all of it along. False if there is nowhere to
    /// start from.
    pub fn grow(&self, model: &Model, contacts: &[Gap], rings: u8, mut groups: Option<&mut Islands>) -> bool {
        let whole = |groups: &mut Option<&mut Islands>, ring: u8| {
            if let Some(groups) = groups {
                self.complete(model, groups, ring);
            }
        };
        if parallel::all(self.ring.len(), |b| self.ring[b].load(Relaxed) == 0) {
            return false;
        }
        whole(&mut groups, 1);
        for r in 1..=rings {
            // Whether another thread has been there makes no difference: it marks what this one would.
            self.visit(contacts, |c| {
                let bodies = c.bodies();
                if bodies.iter().any(|b| self.ring[*b as usize].load(Relaxed) == r) {
                    self.mark(model, bodies, r + 1);
                }
            });
            whole(&mut groups, r + 1);
        }
        true
    }

    /// Marks all of the groups that have a body in `ring`.
    fn complete(&self, model: &Model, groups: &mut Islands, ring: u8) {
        let mut there = vec![false; self.ring.len()];
        let in_ring = |b: usize| self.ring[b].load(Relaxed) == ring;
        for b in model.dynamic().filter(|b| in_ring(*b)) {
            there[groups.root(b as u32) as usize] = true;
        }
        for b in model.dynamic().filter(|b| there[groups.root(*b as u32) as usize]) {
            self.mark(model, [b as u32; 2], ring);
        }
    }

    fn visit(&self, contacts: &[Gap], visit: impl Fn(&Gap) + Sync) {
        parallel::for_each(contacts.len().div_ceil(CONTACTS_PER_TASK), |t| {
            let end = contacts.len().min((t + 1) * CONTACTS_PER_TASK);
            contacts[t * CONTACTS_PER_TASK..end].iter().for_each(&visit);
        });
    }

    fn mark(&self, model: &Model, bodies: [u32; 2], ring: u8) {
        for b in bodies.map(|b| b as usize) {
            if model.bodies.get(b).is_some_and(|b| b.inv_mass > 0.0) && self.ring[b].load(Relaxed) == 0 {
                self.ring[b].store(ring, Relaxed);
            }
        }
    }

    /// Whether one of the contact's bodies is in it.
    pub fn holds(&self, c: &Gap) -> bool {
        c.bodies().iter().any(|b| self.ring[*b as usize].load(Relaxed) > 0)
    }

    /// Those of `contacts` that it holds, in their order.
    pub fn pick(&self, contacts: &[Gap], to: &mut Vec<Gap>) {
        let mut counts = Vec::new();
        parallel::map_ranges(contacts.len(), CONTACTS_PER_TASK, &mut counts, |range| {
            contacts[range].iter().filter(|c| self.holds(c)).count()
        });
        to.clear();
        parallel::append(to, &counts, |t| {
            let run = &contacts[t * CONTACTS_PER_TASK..contacts.len().min((t + 1) * CONTACTS_PER_TASK)];
            run.iter().filter(|c| self.holds(c)).copied()
        });
    }

    /// Says of each body whether it is not in it, or `asleep`.
    pub fn others(&self, asleep: &[bool], to: &mut Vec<bool>) {
        to.resize(self.ring.len(), false);
        parallel::map_chunks(to, CONTACTS_PER_TASK, &mut Vec::<()>::new(), |first, run| {
            for (b, held) in (first..).zip(run) {
                let outside = self.ring[b].load(Relaxed) == 0;
                *held = outside || asleep.get(b).copied().unwrap_or_default();
            }
        });
    }
}
