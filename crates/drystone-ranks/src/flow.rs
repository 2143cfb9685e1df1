//! Bodies that come and go: emitters and sinks. Every rank knows all bodies' definitions, adds and removes
//! the same ones, and their owners have their motions.

use std::collections::HashSet;

use drystone::BodyMotion;
use glam::DVec3;

use crate::comm::Comm;
use crate::domain::{Domain, Kept};
use crate::message::{Reader, Writer};
use crate::run::RanksError;

impl Domain {
    /// Adds what emitters have due: where no rank knows a body that is in the way.
    pub fn emit(&mut self, comm: &dyn Comm) -> Result<(), RanksError> {
        let Self { whole, part, .. } = self;
        if whole.flow().emitters.is_empty() {
            return Ok(());
        }
        let state = part.world.state();
        whole.set_stage_time(state.time, state.step);
        let new = whole.emit_where(|_, body| {
            let mut taken = [f64::from(u8::from(!part.world.has_room(body)))];
            comm.most(&mut taken);
            let free = taken[0] == 0.0;
            if free {
                // In the way of the next one; the part is made anew in a moment.
                let _ = part.world.add_body(body.clone());
            }
            free
        });
        if new.is_empty() {
            return Ok(());
        }
        let mut kept = self.keep();
        for slot in new {
            let m = self.whole.body_motion(slot);
            if self.owns(comm, m.position) {
                kept.bodies.push(m);
            }
        }
        self.renew(comm, kept)
    }

    /// Takes out what is in sinks.
    pub fn drain(&mut self, comm: &dyn Comm) -> Result<(), RanksError> {
        if self.whole.flow().sinks.is_empty() {
            return Ok(());
        }
        let state = self.part.world.state();
        self.whole.set_stage_time(state.time, state.step);
        let own = self.movers.slots[..self.movers.own].iter();
        let own: Vec<(u32, DVec3)> =
            own.map(|k| (self.part.bodies[*k as usize], state.position[*k as usize])).collect();
        // Of each rank's bodies those that might be taken; which are, all ranks find alike.
        let near: HashSet<u32> = self.whole.near_sinks(&own).iter().map(|(slot, _)| *slot).collect();
        let mut any = [near.len() as f64];
        comm.most(&mut any);
        if any[0] == 0.0 {
            return Ok(());
        }
        let own = self.movers.slots[..self.movers.own].iter().map(|slot| self.part.motion(*slot as usize));
        let near: Vec<BodyMotion> = own.filter(|m| near.contains(&m.slot)).collect();
        // A slot that nobody has keeps where its last body was, everywhere.
        let mut to = Writer::default();
        near.iter().for_each(|m| to.motion(m));
        let mut near = Vec::new();
        for letter in comm.swap(vec![to.0; comm.size()]).iter() {
            let mut from = Reader(letter);
            while !from.is_empty() {
                near.push(from.motion());
            }
        }
        near.sort_unstable_by_key(|m| m.slot);
        let all = self.whole.sinking(near.iter().map(|m| (m.slot, m.position)).collect());
        if all.is_empty() {
            return Ok(());
        }
        near.retain(|m| all.binary_search_by_key(&m.slot, |(slot, _)| *slot).is_ok());
        let state = self.part.world.state();
        self.whole.take_parts(state.time, state.step, &near, &[]);
        let mut kept = self.keep();
        kept.bodies.retain(|m| all.binary_search_by_key(&m.slot, |(slot, _)| *slot).is_err());
        self.whole.drain_bodies(&all);
        let model = self.whole.model();
        kept.joints.retain(|j| model.joints[j.motion.slot as usize].alive);
        self.renew(comm, kept)
    }

    /// Makes everything anew that is known by body of the whole world, and the part of this rank.
    fn renew(&mut self, comm: &dyn Comm, kept: Kept) -> Result<(), RanksError> {
        self.take_bodies();
        self.settle(comm, kept, 0.0, None)
    }
}
