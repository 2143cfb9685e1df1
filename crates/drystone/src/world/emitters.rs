//! Emitters and sinks.

use super::World;
use crate::body::BodyDef;
use crate::emitter::{Emitter, Flow, Sink, TRIES};
use crate::error::WorldError;
use crate::shape::Pose;
use glam::{DQuat, DVec3};

impl World {
    /// Adds an emitter; returns its number.
    pub fn add_emitter(&mut self, emitter: Emitter) -> Result<usize, WorldError> {
        emitter.check().map_err(WorldError::Body)?;
        self.flow.emitters.push(emitter);
        self.fit_flow();
        Ok(self.flow.emitters.len() - 1)
    }

    /// Adds a sink; returns its number.
    pub fn add_sink(&mut self, sink: Sink) -> Result<usize, WorldError> {
        sink.check().map_err(WorldError::Body)?;
        self.flow.sinks.push(sink);
        self.fit_flow();
        Ok(self.flow.sinks.len() - 1)
    }

    /// A place in the state for each emitter and sink.
    pub(crate) fn fit_flow(&mut self) {
        let (emitters, sinks) = (self.flow.emitters.len(), self.flow.sinks.len());
        self.state.emitted.resize(emitters, 0);
        self.state.emitted_mass.resize(emitters, 0.0);
        self.state.sunk.resize(sinks, 0);
        self.state.sunk_mass.resize(sinks, 0.0);
    }

    /// How many bodies each emitter has added.
    pub fn emitted(&self) -> &[u64] {
        &self.state.emitted
    }

    /// How many bodies each sink has taken.
    pub fn sunk(&self) -> &[u64] {
        &self.state.sunk
    }

    /// Mass that each emitter has added, kg.
    pub fn emitted_mass(&self) -> &[f64] {
        &self.state.emitted_mass
    }

    /// Mass that each sink has taken, kg.
    pub fn sunk_mass(&self) -> &[f64] {
        &self.state.sunk_mass
    }

    /// Its emitters and sinks.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// Adds what is due, as far as there is room.
    pub(crate) fn emit(&mut self) {
        if !self.flow.emitters.is_empty() {
            self.emit_where(|world, body| world.has_room(body));
        }
    }

    /// Adds what is due, each body where `has_room` is true of it; returns the slots.
    pub fn emit_where(&mut self, mut has_room: impl FnMut(&World, &BodyDef) -> bool) -> Vec<u32> {
        let flow = std::mem::take(&mut self.flow);
        let mut slots = Vec::new();
        for (k, emitter) in flow.emitters.iter().enumerate() {
            while self.state.emitted[k] < emitter.due(self.state.time) {
                let number = self.state.emitted[k] as usize;
                let body = &emitter.bodies[number % emitter.bodies.len()];
                let mut found = None;
                for _ in 0..TRIES {
                    let placed = self.draw(emitter, body);
                    if has_room(self, &placed) {
                        found = Some(placed);
                        break;
                    }
                }
                let Some(body) = found else { break };
                // The emitter was checked; a body that still does not fit (a periodic box) is passed over.
                let mass = body.mass.mass;
                if let Ok(id) = self.add_body(body) {
                    self.state.emitted_mass[k] += mass;
                    slots.push(id.slot);
                }
                self.state.emitted[k] += 1;
            }
        }
        self.flow = flow;
        slots
    }

    /// A copy of a body somewhere in the emitter's box.
    fn draw(&mut self, emitter: &Emitter, body: &BodyDef) -> BodyDef {
        let position = self.state.random.in_box(emitter.min, emitter.max);
        let turn = if emitter.turned { self.state.random.rotation() } else { DQuat::IDENTITY };
        body.clone().at(position).turned(turn * body.rotation)
    }

    /// Whether a body would overlap nothing where it is.
    pub fn has_room(&self, body: &BodyDef) -> bool {
        body.colliders.iter().all(|c| {
            let (local, turn) = (c.local, body.rotation);
            let pose = Pose::new(body.position + turn * local.position, turn * local.rotation);
            self.overlaps(&c.shape, &pose).is_empty()
        })
    }

    /// Takes out what is in a sink.
    pub(crate) fn drain(&mut self) {
        let all = self.model.dynamic().map(|i| (i as u32, self.state.position[i])).collect();
        let gone = self.sinking(all);
        self.drain_bodies(&gone);
    }

    /// Of some bodies (slots and places) those that sinks may take when they know of all others, too.
    pub fn near_sinks(&self, bodies: &[(u32, DVec3)]) -> Vec<(u32, DVec3)> {
        let (mut out, mut most, mut left) = (Vec::new(), 0usize, bodies.to_vec());
        for (k, sink) in self.flow.sinks.iter().enumerate() {
            let due = sink.due(self.state.time, self.state.sunk[k]);
            if due == 0 {
                continue;
            }
            let mut inside: Vec<_> = left.iter().copied().filter(|(_, x)| sink.contains(*x)).collect();
            if due == usize::MAX {
                left.retain(|(_, x)| !sink.contains(*x));
            } else {
                // A body that an earlier sink is given leaves room for one more.
                most = most.saturating_add(due);
                self.keep_lowest(&mut inside, most);
            }
            out.append(&mut inside);
        }
        out.sort_unstable_by_key(|(slot, _)| *slot);
        out.dedup_by_key(|(slot, _)| *slot);
        out
    }

    /// Which of these bodies (slots and places) sinks take now, and which sink each, by rising slots: each
    /// sink in turn, of those that are left.
    pub fn sinking(&self, mut left: Vec<(u32, DVec3)>) -> Vec<(u32, usize)> {
        let mut gone = Vec::new();
        for (k, sink) in self.flow.sinks.iter().enumerate() {
            let due = sink.due(self.state.time, self.state.sunk[k]);
            if due == 0 {
                continue;
            }
            let mut inside: Vec<_> = left.iter().copied().filter(|(_, x)| sink.contains(*x)).collect();
            self.keep_lowest(&mut inside, due);
            if inside.is_empty() {
                continue;
            }
            inside.sort_unstable_by_key(|(slot, _)| *slot);
            left.retain(|(slot, _)| inside.binary_search_by_key(slot, |(slot, _)| *slot).is_err());
            gone.extend(inside.iter().map(|(slot, _)| (*slot, k)));
        }
        gone.sort_unstable();
        gone
    }

    /// Keeps the lowest bodies along gravity, so many of them at most.
    fn keep_lowest(&self, bodies: &mut Vec<(u32, DVec3)>, most: usize) {
        if bodies.len() <= most {
            return;
        }
        let down = self.settings.gravity.try_normalize().unwrap_or(DVec3::NEG_Z);
        let lower =
            |a: &(u32, DVec3), b: &(u32, DVec3)| b.1.dot(down).total_cmp(&a.1.dot(down)).then(a.0.cmp(&b.0));
        if most > 0 {
            bodies.select_nth_unstable_by(most - 1, lower);
        }
        bodies.truncate(most);
    }

    /// Takes out bodies by their slots, in rising order, each by a sink.
    pub fn drain_bodies(&mut self, gone: &[(u32, usize)]) {
        let ids: Vec<_> = gone.iter().filter_map(|(slot, _)| self.model.id(*slot)).collect();
        for k in 0..self.flow.sinks.len() {
            let mine = gone.iter().filter(|(_, sink)| *sink == k);
            let masses = mine.map(|(slot, _)| self.model.bodies[*slot as usize].mass.mass);
            self.state.sunk[k] += masses.clone().count() as u64;
            self.state.sunk_mass[k] += masses.sum::<f64>();
        }
        if !ids.is_empty() {
            // They were there a moment ago.
            let _ = self.remove_bodies(&ids);
        }
    }
}
