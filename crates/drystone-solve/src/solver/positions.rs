//! The solver of position problems: mechanisms by elimination, unless they contradict themselves; everything
//! else by sweeps, which do not mind.
//!
//! It is the same for every solver of velocities. An accurate solution is not what is asked for here: it
//! would lift a whole pile to open every overlap at once, further than contacts were looked for, and be cut
//! short. Sweeps part neighbours first.

use super::auto::is_mechanism;
use super::fixed_point::{FixedPoint, Scheme};
use super::schur::Schur;
use super::{Info, Solution, Solver, Status, Stop};
use crate::problem::{Malformed, Problem};

/// Corrects positions.
pub struct Positions {
    elimination: Schur,
    sweeps: FixedPoint,
    /// What the last sweeps took, bytes.
    held: usize,
}

fn sweeps() -> FixedPoint {
    FixedPoint::plain(&super::pgs::INFO, Scheme::Forward, 1.0)
}

impl Default for Positions {
    fn default() -> Self {
        Self { elimination: Schur::default(), sweeps: sweeps(), held: 0 }
    }
}

impl Solver for Positions {
    fn info(&self) -> &'static Info {
        self.sweeps.info()
    }

    fn bytes(&self) -> usize {
        self.elimination.bytes() + self.held
    }

    fn solve(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        if is_mechanism(problem) {
            let solution = self.elimination.solve(problem, guess, stop)?;
            // After any number of sweeps its joints hold.
            let some = solution.status == Status::Iterations && solution.iterations > 0;
            if some || solution.status == Status::Converged {
                return Ok(solution);
            }
        }
        let solution = self.sweeps.solve(problem, guess, stop);
        self.held = self.sweeps.bytes();
        if problem.has_many_bodies() {
            self.sweeps = sweeps();
        }
        solution
    }
}
