//! Keeps steps within their time by capping iterations, not time: a cap is an input like others, and a run
//! that is done again with the same caps gives the same bits on any machine.

/// Fewest iterations that are allowed.
const FEWEST: usize = 4;
/// Steps between two changes: each makes the solver anew.
const PATIENCE: u32 = 8;

/// Share of the time for iterations that they are to fill: what is left is for steps with more contacts.
const AIM: f64 = 0.95;
/// A cap is raised by this factor, or not at all.
const WORTH: f64 = 1.08;

/// Watches how long steps take.
#[derive(Clone, Debug)]
pub struct Governor {
    /// Allowed where there is time enough.
    most: usize,
    cap: usize,
    /// Time of a step, and of that what is proportional to iterations, smoothed, s.
    mean: f64,
    solve: f64,
    /// Iterations of a step, smoothed.
    iterations: f64,
    since: u32,
}

impl Governor {
    /// For a run that allows so many iterations by itself.
    pub fn new(most: usize) -> Self {
        Self { most, cap: most, mean: 0.0, solve: 0.0, iterations: 0.0, since: 0 }
    }

    /// Iterations allowed now.
    pub fn cap(&self) -> usize {
        self.cap
    }

    /// A step took so long, of which so long to solve (s), with so many iterations, and had this much time:
    /// the new cap, if it changes.
    pub fn step(&mut self, took: f64, solve: f64, budget: f64, iterations: usize) -> Option<usize> {
        // A single slow step says little: the first ones are such.
        let weight = if self.since == 0 { 1.0 } else { 0.25 };
        self.mean += weight * (took - self.mean);
        self.solve += weight * (solve - self.solve);
        self.iterations += weight * (iterations as f64 - self.iterations);
        self.since += 1;
        if self.since < PATIENCE {
            return None;
        }
        // Iterations in the time that is left beside the rest of the step, over those now.
        let now = self.iterations.min(self.cap as f64);
        let room = (budget - (self.mean - self.solve)).max(0.1 * budget);
        let share = AIM * room / self.solve.max(1e-9);
        let wanted = if self.mean > budget {
            // Only the solve becomes faster this way, and by a quarter of it at least, or it is not worth it.
            if share < 0.75 || now > 0.9 * self.cap as f64 {
                ((now * share.min(0.95)) as usize).max(FEWEST).min(self.cap)
            } else {
                self.cap
            }
        } else if self.cap < self.most && self.iterations > 0.7 * self.cap as f64 && share > WORTH {
            (self.cap as f64 * share.min(1.5)).ceil() as usize
        } else if self.cap < self.most && self.mean < 0.3 * budget {
            self.cap.saturating_mul(4)
        } else {
            self.cap
        };
        let wanted = wanted.min(self.most);
        if wanted == self.cap {
            return None;
        }
        (self.cap, self.since) = (wanted, 0);
        Some(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A solver that takes 10 µs an iteration on top of 1 ms, and would like `need` of them.
    fn settle(governor: &mut Governor, need: usize, steps: usize) -> (f64, usize) {
        let (mut took, mut changes) = (0.0, 0);
        for _ in 0..steps {
            let n = need.min(governor.cap());
            took = 1e-3 + 1e-5 * n as f64;
            changes += usize::from(governor.step(took, 1e-5 * n as f64, 8e-3, n).is_some());
        }
        (took, changes)
    }

    #[test]
    fn it_holds_the_time_and_gives_back_what_is_there() {
        let mut governor = Governor::new(20_000);
        assert_eq!(settle(&mut governor, 300, 100).1, 0, "what is in time is left alone");
        let (took, _) = settle(&mut governor, 5000, 300);
        assert!((4e-3..8.5e-3).contains(&took), "{took}");
        let (took, changes) = settle(&mut governor, 5000, 300);
        assert!(
            (7e-3..8.5e-3).contains(&took) && changes < 5,
            "what there is of it is used: {took} {changes}"
        );
        settle(&mut governor, 20, 400);
        assert_eq!(governor.cap(), 20_000, "a calm world has all of them again");
    }

    #[test]
    fn what_does_not_iterate_is_let_go() {
        let mut governor = Governor::new(100);
        for _ in 0..100 {
            governor.step(1.0, 1e-4, 1e-3, 3);
        }
        assert_eq!(governor.cap(), 100, "fewer iterations would not help");
    }
}
