//! The start of a step: who does not sleep any longer.

use glam::DVec3;

use super::Sleepers;
use super::rest::Rest;
use crate::contact::Contact;
use crate::joint::Joint;
use crate::joint::WORLD_BODY;
use crate::joint::law::Command;
use crate::model::Model;
use crate::settings::Settings;
use crate::setup::Setup;
use crate::state::State;
use crate::workspace::FreeMotion;

impl Sleepers {
    /// Notes who sleeps before a step.
    pub fn keep(&mut self, settings: &Settings, rest: &Rest) {
        if settings.sleep.is_some() {
            self.before.clone_from(rest);
        }
    }

    /// After a step that failed: as it was before.
    pub fn restore(&mut self, settings: &Settings, rest: &mut Rest) {
        if settings.sleep.is_some() {
            rest.clone_from(&self.before);
            self.forget();
        }
    }

    /// Wakes those whose forces, drives or velocities are not what they were; once free velocities are known.
    pub fn rouse(&mut self, setup: Setup, state: &mut State, free: &FreeMotion) {
        if setup.settings.sleep.is_none() {
            return;
        }
        let model = setup.model;
        let n = model.bodies.len();
        state.rest.fit(n);
        self.disturbed.clear();
        self.disturbed.resize(n, false);
        self.load.clear();
        for i in 0..n {
            let field = free.acting.on(i);
            let (f, t) = (state.force[i] + field.force, state.torque[i] + field.torque);
            self.load.push([f.x, f.y, f.z, t.x, t.y, t.z]);
            self.disturbed[i] = self.load[i] != state.rest.load[i];
        }
        for force in setup.stiff {
            force.bodies.iter().for_each(|id| self.disturbed[id.slot as usize] = true);
        }
        for j in model.joint_slots() {
            let joint = &model.joints[j];
            if !steady(setup, state, &free.v, j, joint) {
                let ends = joint.bodies.into_iter().filter(|b| *b != WORLD_BODY);
                ends.for_each(|b| self.disturbed[b as usize] = true);
            }
        }
        if state.rest.asleep == 0 {
            return;
        }
        self.rousing.clear();
        self.rousing.resize(n + 1, false);
        for i in 0..n {
            let moves = state.velocity[i] != DVec3::ZERO || state.omega[i] != DVec3::ZERO;
            if self.disturbed[i] || moves {
                self.rousing[state.rest.island[i] as usize] = true;
            }
        }
        self.wake_rousing(model, &mut state.rest);
    }

    /// Wakes the islands whose labels are marked. False if there are none.
    pub(crate) fn wake_rousing(&mut self, model: &Model, rest: &mut Rest) -> bool {
        self.rousing[0] = false;
        if !self.rousing.iter().any(|x| *x) {
            return false;
        }
        for i in 0..rest.island.len() {
            if self.rousing[rest.island[i] as usize] {
                (rest.island[i], rest.steps[i]) = (0, 0);
                rest.asleep -= 1;
            }
        }
        self.drop_awake(rest, model);
        self.rousing.fill(false);
        true
    }

    /// Wakes what the step's contacts disturb. True if that is anybody: their own contacts have to be looked
    /// for.
    pub fn rouse_touched(
        &mut self,
        setup: Setup,
        rest: &mut Rest,
        v: &[[f64; 6]],
        contacts: &[Contact],
    ) -> bool {
        if setup.settings.sleep.is_none() {
            return false;
        }
        for c in contacts {
            let [a, b] = c.bodies.map(|b| b as usize);
            // Contacts have a dynamic body first.
            if setup.model.bodies[b].inv_mass == 0.0 {
                if v[b] != [0.0; 6] {
                    self.disturbed[a] = true;
                    self.rousing.resize(rest.island.len() + 1, false);
                    self.rousing[rest.island[a] as usize] = true;
                }
            } else if rest.asleep > 0 && rest.is_asleep(a) != rest.is_asleep(b) {
                self.rousing[rest.island[a].max(rest.island[b]) as usize] = true;
            }
        }
        rest.asleep > 0 && self.wake_rousing(setup.model, rest)
    }

    /// Takes the contacts of those who sleep out of the step's, and keeps them.
    pub fn set_aside(&mut self, model: &Model, state: &State, contacts: &mut Vec<Contact>) {
        let rest = &state.rest;
        if rest.asleep == 0 {
            return;
        }
        let asleep = |c: &Contact| c.bodies.iter().any(|b| rest.is_asleep(*b as usize));
        let before = self.contacts.len();
        self.contacts.extend(contacts.iter().filter(|c| asleep(c)));
        if self.contacts.len() > before {
            contacts.retain(|c| !asleep(c));
            self.sort(model, state);
        }
        self.known.clear();
        self.known.extend((0..model.bodies.len()).map(|i| rest.is_asleep(i)));
    }

    /// Sorts the contacts by the order of bodies.
    pub fn sort(&mut self, model: &Model, state: &State) {
        let place = |c: &Contact| (state.order.place(model, c.key.colliders), c.key.feature);
        self.contacts.sort_unstable_by_key(place);
    }

    /// Puts the contacts of sleepers back among the others, for all to see and for the step in which they
    /// wake; `index` is a contact that is kept in sight.
    pub fn put_back(
        &mut self,
        model: &Model,
        state: &State,
        contacts: &mut Vec<Contact>,
        index: &mut Option<usize>,
    ) {
        if self.contacts.is_empty() {
            return;
        }
        let place = |c: &Contact| (state.order.place(model, c.key.colliders), c.key.feature);
        self.merged.clear();
        let (mut i, mut k) = (0, 0);
        while i < contacts.len() || k < self.contacts.len() {
            let first = k == self.contacts.len()
                || i < contacts.len() && place(&contacts[i]) < place(&self.contacts[k]);
            if first {
                self.merged.push(contacts[i]);
                i += 1;
            } else {
                self.merged.push(self.contacts[k]);
                k += 1;
            }
        }
        *index = index.map(|i| {
            let here = place(&contacts[i]);
            i + self.contacts.partition_point(|c| place(c) < here)
        });
        std::mem::swap(contacts, &mut self.merged);
    }
}

/// Whether nothing that time decides about a joint changes during the step.
fn steady(setup: Setup, state: &State, v: &[[f64; 6]], j: usize, joint: &Joint) -> bool {
    let (t, h, model) = (state.time, setup.settings.h, setup.model);
    let led = |b: &u32| *b != WORLD_BODY && not_dynamic(model, *b) && v[*b as usize] != [0.0; 6];
    if joint.bodies.iter().any(led) {
        return false;
    }
    let one_sleeps = |b: &u32| *b != WORLD_BODY && state.rest.is_asleep(*b as usize);
    let one_wakes = |b: &u32| *b != WORLD_BODY && !not_dynamic(model, *b) && !one_sleeps(b);
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
    let e = joint.equations(state, &state.joints[j], [t, t + h]);
    e.rows().iter().all(|row| row.rate == 0.0)
}

fn not_dynamic(model: &Model, slot: u32) -> bool {
    model.bodies[slot as usize].inv_mass == 0.0
}
