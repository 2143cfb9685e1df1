//! The start of a step: who does not sleep any longer.

use drystone_solve::crew::{self, Shared};
use drystone_solve::room;

use crate::contact::{Contact, Remembered};
use crate::joint::Joint;
use crate::joint::WORLD_BODY;
use crate::joint::law::Command;
use crate::model::Model;
use crate::world::World;

impl World {
    /// Notes who sleeps before a step.
    pub(crate) fn keep_rest(&mut self) {
        if self.settings.sleep.is_some() {
            self.sleepers.before.clone_from(&self.state.rest);
        }
    }

    /// Wakes those whose forces, drives or velocities are not what they were; once free velocities are known.
    pub(crate) fn rouse(&mut self) {
        if self.settings.sleep.is_none() {
            return;
        }
        let n = self.model.bodies.len();
        self.state.rest.fit(n);
        let s = &mut self.sleepers;
        s.disturbed.clear();
        s.disturbed.resize(n, false);
        s.load.clear();
        for i in 0..n {
            let field = self.acting.on(i);
            let (f, t) = (self.state.force[i] + field.force, self.state.torque[i] + field.torque);
            s.load.push([f.x, f.y, f.z, t.x, t.y, t.z]);
            s.disturbed[i] = s.load[i] != self.state.rest.load[i];
        }
        for force in &self.stiff {
            force.bodies.iter().for_each(|id| s.disturbed[id.slot as usize] = true);
        }
        for j in self.model.joint_slots() {
            let joint = &self.model.joints[j];
            if !steady(self, j, joint) {
                let ends = joint.bodies.into_iter().filter(|b| *b != WORLD_BODY);
                ends.for_each(|b| self.sleepers.disturbed[b as usize] = true);
            }
        }
        if self.state.rest.asleep == 0 {
            return;
        }
        let s = &mut self.sleepers;
        s.rousing.clear();
        s.rousing.resize(n + 1, false);
        for i in 0..n {
            let moves =
                self.state.velocity[i] != glam::DVec3::ZERO || self.state.omega[i] != glam::DVec3::ZERO;
            if s.disturbed[i] || moves {
                s.rousing[self.state.rest.island[i] as usize] = true;
            }
        }
        self.wake_rousing();
    }

    /// Wakes the islands whose labels are marked. False if there are none.
    pub(super) fn wake_rousing(&mut self) -> bool {
        let (s, rest) = (&mut self.sleepers, &mut self.state.rest);
        s.rousing[0] = false;
        if !s.rousing.iter().any(|x| *x) {
            return false;
        }
        for i in 0..rest.island.len() {
            if s.rousing[rest.island[i] as usize] {
                (rest.island[i], rest.steps[i]) = (0, 0);
                rest.asleep -= 1;
            }
        }
        s.drop_awake(rest, &self.model);
        s.rousing.fill(false);
        true
    }

    /// Wakes what the step's contacts disturb. True if that is anybody: their own contacts have to be looked for.
    pub(crate) fn rouse_touched(&mut self) -> bool {
        if self.settings.sleep.is_none() {
            return false;
        }
        let (s, rest, model) = (&mut self.sleepers, &self.state.rest, &self.model);
        for c in &self.contacts {
            let [a, b] = c.bodies.map(|b| b as usize);
            // Contacts have a dynamic body first.
            if model.bodies[b].inv_mass == 0.0 {
                if self.v_free[b] != [0.0; 6] {
                    s.disturbed[a] = true;
                    s.rousing.resize(rest.island.len() + 1, false);
                    s.rousing[rest.island[a] as usize] = true;
                }
            } else if rest.asleep > 0 && rest.is_asleep(a) != rest.is_asleep(b) {
                s.rousing[rest.island[a].max(rest.island[b]) as usize] = true;
            }
        }
        rest.asleep > 0 && self.wake_rousing()
    }

    /// Takes the contacts of those who sleep out of the step's, and keeps them.
    pub(crate) fn set_aside(&mut self) {
        if self.state.rest.asleep == 0 {
            return;
        }
        let (s, rest) = (&mut self.sleepers, &self.state.rest);
        let asleep = |c: &Contact| c.bodies.iter().any(|b| rest.is_asleep(*b as usize));
        let before = s.contacts.len();
        s.contacts.extend(self.contacts.iter().filter(|c| asleep(c)));
        if s.contacts.len() > before {
            self.contacts.retain(|c| !asleep(c));
            let (order, model) = (&self.state.order, &self.model);
            s.contacts.sort_unstable_by_key(|c| (order.place(model, c.key.colliders), c.key.feature));
        }
        s.known.clear();
        s.known.extend((0..self.model.bodies.len()).map(|i| rest.is_asleep(i)));
    }

    /// The order of bodies has changed.
    pub(crate) fn sort_sleepers(&mut self) {
        let (order, model) = (&self.state.order, &self.model);
        self.sleepers.contacts.sort_unstable_by_key(|c| (order.place(model, c.key.colliders), c.key.feature));
    }

    /// Marks the joints of sleepers, and of those who take no part in a substep, as somebody else's.
    pub(crate) fn leave_joints(&mut self) {
        self.assembler.rows.elsewhere.clear();
        if self.state.rest.asleep == 0 && self.absent.is_empty() {
            return;
        }
        let (rest, model, absent) = (&self.state.rest, &self.model, &self.absent);
        let out = |b: &u32| rest.is_asleep(*b as usize) || absent.get(*b as usize) == Some(&true);
        let sleeps = |j: &Joint| j.alive && j.bodies.iter().any(out);
        if model.joints.iter().any(sleeps) {
            let elsewhere = &mut self.assembler.rows.elsewhere;
            elsewhere.clear();
            elsewhere.extend(model.joints.iter().map(sleeps));
        }
    }

    /// Puts the contacts of sleepers back among the others, for all to see and for the step in which they wake; `index` is
    /// a contact that is kept in sight.
    pub(crate) fn put_back(&mut self, index: &mut Option<usize>) {
        if self.sleepers.contacts.is_empty() {
            return;
        }
        let (order, model) = (&self.state.order, &self.model);
        let place = |c: &Contact| (order.place(model, c.key.colliders), c.key.feature);
        let (s, awake) = (&mut self.sleepers, &self.contacts);
        s.merged.clear();
        let (mut i, mut k) = (0, 0);
        while i < awake.len() || k < s.contacts.len() {
            let first = k == s.contacts.len() || i < awake.len() && place(&awake[i]) < place(&s.contacts[k]);
            if first {
                s.merged.push(awake[i]);
                i += 1;
            } else {
                s.merged.push(s.contacts[k]);
                k += 1;
            }
        }
        *index = index.map(|i| {
            let here = place(&awake[i]);
            i + s.contacts.partition_point(|c| place(c) < here)
        });
        std::mem::swap(&mut self.contacts, &mut s.merged);
    }

    /// After a step that failed: as it was before.
    pub(crate) fn sleep_as_before(&mut self) {
        if self.settings.sleep.is_some() {
            self.state.rest.clone_from(&self.sleepers.before);
            self.sleepers.forget();
        }
    }

    /// What the next step starts from: impulses of all contacts, those of sleepers among them.
    pub(crate) fn remember_contacts(&mut self) {
        let (contacts, kept) = (&self.contacts, &mut self.state.multipliers);
        kept.clear();
        room::more(kept, contacts.len());
        let to = Shared(kept.as_mut_ptr());
        // SAFETY: there is room for all, and each is written once.
        unsafe {
            crew::many(contacts.len(), |i| {
                let c = &contacts[i];
                to.at(i).write(Remembered { key: c.key, impulse: c.impulse });
            });
            kept.set_len(contacts.len());
        }
    }
}

/// Whether nothing that time decides about a joint changes during the step.
fn steady(w: &World, j: usize, joint: &Joint) -> bool {
    let (t, h) = (w.state.time, w.settings.h);
    let led = |b: &u32| *b != WORLD_BODY && not_dynamic(&w.model, *b) && w.v_free[*b as usize] != [0.0; 6];
    if joint.bodies.iter().any(led) {
        return false;
    }
    let one_sleeps = |b: &u32| *b != WORLD_BODY && w.state.rest.is_asleep(*b as usize);
    let one_wakes = |b: &u32| *b != WORLD_BODY && !not_dynamic(&w.model, *b) && !one_sleeps(b);
    if joint.bodies.iter().any(one_sleeps) && joint.bodies.iter().any(one_wakes) {
        return false; // It was added, or the other end was disturbed.
    }
    let commands = joint.laws.iter().filter_map(|law| law.motor.as_ref());
    let changes = |command: &Command| match command {
        Command::Position(f) | Command::Speed(f) | Command::Force(f) => f.value(t) != f.value(t + h),
    };
    if commands.map(|m| &m.command).any(changes) {
        return false;
    }
    let e = joint.equations(&w.state, &w.state.joints[j], [t, t + h]);
    e.rows().iter().all(|row| row.rate == 0.0)
}

fn not_dynamic(model: &Model, slot: u32) -> bool {
    model.bodies[slot as usize].inv_mass == 0.0
}
