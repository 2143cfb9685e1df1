//! Who sleeps: the part of the state that is about sleep.

use serde::{Deserialize, Serialize};

/// Who sleeps, and how long the others have been at rest: the part of the state that is about sleep. By body
/// slot; empty in worlds without.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rest {
    /// One more than the lowest slot of the island that sleeps, 0 for what is awake.
    pub(crate) island: Vec<u32>,
    /// Steps at rest, up to falling asleep.
    pub(crate) steps: Vec<u32>,
    /// Force and torque of the last step, N and N m.
    pub(crate) load: Vec<[f64; 6]>,
    /// How many sleep.
    pub(crate) asleep: u32,
}

impl Rest {
    /// Whether the body in a slot sleeps.
    #[inline]
    pub fn is_asleep(&self, slot: usize) -> bool {
        self.asleep > 0 && self.island.get(slot).is_some_and(|label| *label != 0)
    }

    /// How many sleep.
    pub fn asleep(&self) -> usize {
        self.asleep as usize
    }

    pub(crate) fn fit(&mut self, bodies: usize) {
        self.island.resize(bodies, 0);
        self.steps.resize(bodies, 0);
        self.load.resize(bodies, [0.0; 6]);
    }

    /// A slot has a new body.
    pub(crate) fn forget(&mut self, slot: usize) {
        if slot < self.island.len() {
            self.asleep -= u32::from(self.island[slot] != 0);
            (self.island[slot], self.steps[slot], self.load[slot]) = (0, 0, [0.0; 6]);
        }
    }

    /// Wakes the island that a body belongs to. False if it was awake.
    pub(crate) fn wake(&mut self, slot: usize) -> bool {
        let label = self.island.get(slot).copied().unwrap_or(0);
        if label == 0 {
            return false;
        }
        for i in 0..self.island.len() {
            if self.island[i] == label {
                (self.island[i], self.steps[i]) = (0, 0);
                self.asleep -= 1;
            }
        }
        true
    }
}
