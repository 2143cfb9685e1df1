//! The end of a step: who has been at rest for long enough.

use glam::DVec3;

use super::Sleepers;
use crate::contact::Contact;
use crate::setup::Setup;
use crate::state::State;
use crate::workspace::Substeps;

impl Sleepers {
    /// Counts how long bodies have been at rest, and lets islands fall asleep; with the contacts of those
    /// awake, after the last thing that could undo the step.
    pub fn fall_asleep(
        &mut self,
        setup: Setup,
        state: &mut State,
        contacts: &[Contact],
        substeps: &Substeps,
    ) {
        let Setup { model, settings, .. } = setup;
        let Some(sleep) = settings.sleep else {
            if !state.rest.island.is_empty() {
                state.rest = Default::default();
                self.forget();
            }
            return;
        };
        let Substeps { saved, before, .. } = substeps;
        let start = |i: usize| before.as_ref().map_or_else(|| saved.position(i), |s| s.position[i]);
        std::mem::swap(&mut state.rest.load, &mut self.load);
        self.measure(model, settings, &sleep);
        let s = self;
        let needed = (sleep.time / settings.h).ceil().clamp(1.0, f64::from(u32::MAX)) as u32;
        let mut some = false;
        for i in model.dynamic() {
            if state.rest.is_asleep(i) {
                continue;
            }
            // Corrections move bodies too, beside their velocities.
            let way = (state.position[i] - start(i)).length() / settings.h;
            let speed = state.velocity[i].length().max(way) + s.reach[i] * state.omega[i].length();
            let steps = &mut state.rest.steps[i];
            *steps = if speed < s.speeds[i] && !s.disturbed[i] { (*steps + 1).min(needed) } else { 0 };
            some |= *steps == needed;
        }
        if !some {
            return;
        }
        let rest = &mut state.rest;
        s.islands.run(model, contacts.iter().map(|c| c.bodies), |i| {
            rest.island[i] != 0 || rest.steps[i] == needed
        });
        for i in model.dynamic() {
            if rest.island[i] == 0
                && let Some(lowest) = s.islands.ready(i)
            {
                rest.island[i] = lowest + 1;
                rest.asleep += 1;
                (state.velocity[i], state.omega[i]) = (DVec3::ZERO, DVec3::ZERO);
            }
        }
    }
}
