//! Where errors of positions are corrected by velocities (`Stabilisation::Scaled` and
//! `Stabilisation::Clamped`), the multipliers of a step are loads and corrections. The next step is to
//! start from the loads alone.
//!
//! Take one mode of N in which sweeps remove the share θ of what is missing. Its velocity v, its error x =
//! Ψ/h, and the velocity L that the guess gives it follow
//!
//! ```text
//!     from all          L ← L - θ (v + L + K x),   v ← (1 - θ)(v + L) - θ K x,    x ← x + v
//!     from zero         L = 0,                     v ← (1 - θ) v - θ K x,         x ← x + v
//!     from the loads    L ← L - θ (v + L),         v ← (1 - θ)(v + L) - θ K x,    x ← x + v
//! ```
//!
//! (L on the right of v is the new one in the last line.) The first is unstable where θ is less than about K.
//! The second is stable, but what bears a load f gives way by h² f/(θ K). The third is stable for every θ and
//! K in (0, 1], and nothing gives way for long. A guess with the corrections in it is an integral of the
//! error over all steps, which a double integrator does not bear; modes that converge slowly, those of long
//! chains and of heavy loads on light links, come apart by it. So such a step solves twice, each time with
//! all of the iterations: for the loads, with nothing to correct, from the last step's loads; then all of it,
//! from there. A load that comes at once is then missed by the share (1 - θ)² of itself; with half of the
//! iterations for each it would be 1 - θ, as from zero.

use crate::contact::Remembered;
use crate::settings::Settings;

/// What the next step starts from, where that is not the solution.
#[derive(Default)]
pub(crate) struct Loads {
    wanted: bool,
    /// Multipliers of the problem without corrections, N s; empty until it is solved.
    pub gamma: Vec<f64>,
    /// Iterations that they took.
    pub iterations: usize,
    /// The same by contact, in world axes.
    pub contacts: Vec<Remembered>,
}

impl Loads {
    /// Forgets the last step's.
    pub fn begin(&mut self, settings: &Settings) {
        self.wanted =
            settings.warm_start && settings.iterations > 0 && settings.stabilisation.is_in_velocities();
        self.iterations = 0;
        self.gamma.clear();
        self.contacts.clear();
    }

    /// Whether this step has any.
    pub fn wanted(&self) -> bool {
        self.wanted
    }

    /// Makes them the guess, where there are any.
    pub fn start_from(&self, guess: &mut [f64]) {
        if self.gamma.len() == guess.len() {
            guess.copy_from_slice(&self.gamma);
        }
    }

    /// Leaves them to the contacts. Those of `kept` that took no part in the step keep what they had.
    pub fn leave(&mut self, kept: &mut [Remembered]) {
        let mut mine = self.contacts.drain(..).peekable();
        for m in kept {
            if let Some(load) = mine.next_if(|load| load.key == m.key) {
                m.impulse = load.impulse;
            }
        }
        self.wanted = false;
    }
}
