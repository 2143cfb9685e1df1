//! The end of a step: who has been at rest for long enough.

use glam::DVec3;

use crate::world::World;

impl World {
    /// Counts how long bodies have been at rest, and lets islands fall asleep; with the contacts of those awake, after the
    /// last thing that could undo the step.
    pub(crate) fn fall_asleep(&mut self) {
        let Some(sleep) = self.settings.sleep else {
            if !self.state.rest.island.is_empty() {
                self.state.rest = Default::default();
                self.sleepers.forget();
            }
            return;
        };
        let World { sleepers: s, state, model, settings, saved, contacts, before_halves, .. } = self;
        let start = |i: usize| before_halves.as_ref().map_or_else(|| saved.position(i), |s| s.position[i]);
        std::mem::swap(&mut state.rest.load, &mut s.load);
        s.measure(model, settings, &sleep);
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
