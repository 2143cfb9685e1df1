//! Keeps steps within their time by capping iterations, not time: a cap is an input like others, and a run
//! that is done again with the same caps gives the same bits on any machine.

use std::collections::VecDeque;

/// Fewest iterations that are allowed. With fewer, velocities are so wrong that the correction of positions
/// takes more time than what is left out.
const FEWEST: usize = 20;
/// Steps between two changes: each makes the solver anew.
const CHANGE_INTERVAL: usize = 8;
/// Steps that are remembered.
const REMEMBERED: usize = 15;

/// Share of the time for iterations that they are to fill: what is left is for steps with more contacts.
const AIM: f64 = 0.95;
/// A cap is raised by this factor, or not at all.
const WORTH: f64 = 1.08;
/// A cut to this share or less must make steps shorter, or it is undone, and none is tried for so many steps.
const DEEP_CUT: f64 = 0.75;
const HOLD: usize = 60;
/// Steps that take so many times their budget are cut at once as far as it seems right.
const FAR_OVER: f64 = 4.0;

/// Watches how long steps take. What counts is the mean of the last ones without the slowest fifth: a machine
/// that does something else for a moment makes single steps several times as long, and caps that followed
/// these would go down with each and leave the scene unsolved for a second.
#[derive(Clone, Debug)]
pub struct Governor {
    /// Allowed where there is time enough.
    most: usize,
    cap: usize,
    /// Of the last steps under this cap.
    steps: VecDeque<Step>,
    /// The last cut: the cap before, and how long steps took with it, s.
    cut: Option<(usize, f64)>,
    /// No cap below this is tried for so many steps.
    floor: (usize, usize),
}

#[derive(Clone, Copy, Debug)]
struct Step {
    /// s
    took: f64,
    /// Of that, what is proportional to iterations, s.
    solve: f64,
    iterations: f64,
}

impl Governor {
    /// For a run that allows so many iterations by itself.
    pub fn new(most: usize) -> Self {
        let steps = VecDeque::with_capacity(REMEMBERED);
        Self { most, cap: most, steps, cut: None, floor: (0, 0) }
    }

    /// Iterations allowed now.
    pub fn cap(&self) -> usize {
        self.cap
    }

    /// The mean without the largest fifth.
    fn usual(&self, of: impl Fn(&Step) -> f64) -> f64 {
        let mut all: Vec<f64> = self.steps.iter().map(of).collect();
        all.sort_unstable_by(f64::total_cmp);
        all.truncate(all.len() - all.len() / 5);
        all.iter().sum::<f64>() / all.len() as f64
    }

    /// A step took so long, of which so long to solve (s), with so many iterations, and had this much time:
    /// the new cap, if it changes.
    pub fn step(&mut self, took: f64, solve: f64, budget: f64, iterations: usize) -> Option<usize> {
        if self.steps.len() == REMEMBERED {
            self.steps.pop_front();
        }
        self.steps.push_back(Step { took, solve, iterations: iterations as f64 });
        self.floor.1 = self.floor.1.saturating_sub(1);
        if self.steps.len() < CHANGE_INTERVAL {
            return None;
        }
        let (took, iterations) = (self.usual(|s| s.took), self.usual(|s| s.iterations));
        if let Some((before, slow)) = self.cut.take()
            && took > slow
        {
            self.floor = (before, HOLD);
            return self.change(before);
        }
        // Iterations in the time that is left beside the rest of the step, over those now.
        let now = iterations.min(self.cap as f64);
        let room = (budget - self.usual(|s| s.took - s.solve)).max(0.1 * budget);
        let each = self.usual(|s| s.solve / s.iterations.max(1.0));
        let share = AIM * room / (each * now.max(1.0)).max(1e-9);
        let wanted = if took > budget {
            // Only the solve becomes faster this way, and by a quarter of it at least, or it is not worth it.
            if share < 0.75 || now > 0.9 * self.cap as f64 {
                let floor = if self.floor.1 > 0 { self.floor.0 } else { FEWEST };
                // In small strides, unless there is far to go: the least time may lie between.
                let stride = if took < FAR_OVER * budget { 0.5 } else { 0.0 };
                let fewer = ((now * share.clamp(stride, 0.95)) as usize).max(floor);
                // What steps do not reach does not make them faster.
                if (fewer as f64) < now { fewer.min(self.cap) } else { self.cap }
            } else {
                self.cap
            }
        } else if self.cap < self.most && iterations > 0.7 * self.cap as f64 && share > WORTH {
            (self.cap as f64 * share.min(1.5)).ceil() as usize
        } else if self.cap < self.most && took < 0.3 * budget {
            self.cap.saturating_mul(4)
        } else {
            self.cap
        };
        if (wanted as f64) <= DEEP_CUT * now {
            // Twice of what they needed: those are not all alike.
            self.cut = Some((self.cap.min(2 * now.ceil() as usize), took));
        }
        self.change(wanted.min(self.most))
    }

    fn change(&mut self, cap: usize) -> Option<usize> {
        if cap == self.cap {
            return None;
        }
        self.cap = cap;
        self.steps.clear();
        Some(cap)
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

    /// Every fifth step takes four times as long, because the machine does something else.
    #[test]
    fn single_slow_steps_do_not_count() {
        let mut governor = Governor::new(20_000);
        settle(&mut governor, 5000, 300);
        let before = governor.cap();
        for k in 0..300 {
            let n = governor.cap().min(5000);
            let slow = if k % 5 == 0 { 4.0 } else { 1.0 };
            governor.step(slow * (1e-3 + 1e-5 * n as f64), slow * 1e-5 * n as f64, 8e-3, n);
            assert!(governor.cap() as f64 > 0.9 * before as f64, "{} of {before}", governor.cap());
        }
    }

    /// A step that is solved less well has more to correct: with 1000 balls, 4 iterations take longer than
    /// 160.
    #[test]
    fn what_makes_steps_slower_is_undone() {
        let mut governor = Governor::new(20_000);
        let mut all = 0.0;
        for k in 0..1000 {
            let n = governor.cap().min(300);
            let correct = 0.2 / n as f64;
            let took = 3e-3 + 4e-5 * n as f64 + correct;
            governor.step(took, 4e-5 * n as f64, 5e-3, n);
            all += if k < 100 { 0.0 } else { took / 900.0 };
        }
        // The shortest step takes 8.7 ms, with 71 iterations; one with 20 takes 13.8.
        assert!(all < 9e-3, "{all}");
    }

    #[test]
    fn what_does_not_iterate_is_let_go() {
        let mut governor = Governor::new(100);
        for _ in 0..100 {
            governor.step(1.0, 1e-4, 1e-3, 3);
        }
        assert_eq!(governor.cap(), 100, "fewer iterations would not help");
        // A few that take all of the time are not iterations as others are: factorisations, say.
        for _ in 0..100 {
            governor.step(1.0, 0.99, 1e-3, 3);
        }
        assert_eq!(governor.cap(), 100, "there are no fewer");
    }
}
