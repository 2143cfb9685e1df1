//! Bodies that come and go: emitters and sinks. Every rank knows all bodies' definitions, adds and removes the
//! same ones, and their owners have their motions.

use drystone::BodyMotion;

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
        let own = self.movers.slots[..self.movers.own].iter().map(|slot| self.part.motion(*slot as usize));
        let gone: Vec<BodyMotion> = own.filter(|m| self.whole.sink_at(m.position).is_some()).collect();
        let mut any = [gone.len() as f64];
        comm.most(&mut any);
        if any[0] == 0.0 {
            return Ok(());
        }
        // A slot that nobody has keeps where its last body was, everywhere.
        let mut to = Writer::default();
        gone.iter().for_each(|m| to.motion(m));
        let mut gone = Vec::new();
        for letter in comm.swap(vec![to.0; comm.size()]).iter() {
            let mut from = Reader(letter);
            while !from.is_empty() {
                gone.push(from.motion());
            }
        }
        gone.sort_unstable_by_key(|m| m.slot);
        let state = self.part.world.state();
        self.whole.take_parts(state.time, state.step, &gone, &[]);
        let sink = |m: &BodyMotion| (m.slot, self.whole.sink_at(m.position).unwrap_or_default());
        let all: Vec<(u32, usize)> = gone.iter().map(sink).collect();
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
