//! Sleep.

use super::World;
use crate::error::WorldError;
use crate::model::{BodyId, NOBODY};

impl World {
    /// How many bodies sleep.
    pub fn asleep(&self) -> usize {
        self.state.rest.asleep()
    }

    /// Whether a body sleeps.
    pub fn is_asleep(&self, id: BodyId) -> Result<bool, WorldError> {
        if !self.model.contains(id) {
            return Err(WorldError::NoBody(id));
        }
        Ok(self.state.rest.is_asleep(id.slot as usize))
    }

    /// Wakes a body and its island: for what a world cannot know by itself, as a contact hook that changes
    /// its mind.
    pub fn wake(&mut self, id: BodyId) -> Result<(), WorldError> {
        if !self.model.contains(id) {
            return Err(WorldError::NoBody(id));
        }
        self.wake_slot(id.slot);
        Ok(())
    }

    /// Wakes everything.
    pub fn wake_all(&mut self) {
        if self.state.rest.asleep > 0 {
            self.state.rest.island.fill(0);
            self.state.rest.steps.fill(0);
            self.state.rest.asleep = 0;
            self.work.collision.sleepers.forget();
        }
    }

    /// Wakes the island of a slot, if it is one's.
    pub(crate) fn wake_slot(&mut self, slot: u32) {
        if self.state.rest.wake(slot as usize) {
            self.work.collision.sleepers.drop_awake(&self.state.rest, &self.model);
        }
    }

    /// Wakes these bodies and all that they touch.
    pub(crate) fn wake_around(&mut self, slots: &[u32]) {
        if self.state.rest.asleep == 0 {
            return;
        }
        let n = self.model.bodies.len();
        self.state.rest.fit(n);
        let (s, rest) = (&mut self.work.collision.sleepers, &mut self.state.rest);
        s.rousing.clear();
        s.rousing.resize(n + 1, false);
        s.disturbed.clear();
        s.disturbed.resize(n, false);
        for &slot in slots {
            s.disturbed[slot as usize] = true;
            s.rousing[rest.island[slot as usize] as usize] = true;
        }
        for m in &self.state.multipliers {
            let [a, b] =
                m.key.colliders.map(|k| self.model.colliders.get(k as usize).map_or(NOBODY, |c| c.body));
            for (one, other) in [(a, b), (b, a)] {
                if other != NOBODY && s.disturbed.get(one as usize) == Some(&true) {
                    s.rousing[rest.island[other as usize] as usize] = true;
                }
            }
        }
        s.wake_rousing(&self.model, rest);
    }
}
