//! Watches over a first-order method: counts its multiplications, remembers the best multipliers, and says
//! when and how it ended. The same for all of them, so that their statuses mean the same.
//!
//! Best is what has the least residual, as the step that led there measured it, for nothing: max |z - y| /
//! (tη), which for t ≤ 1 is at least the natural-map residual at y (usually the two are equal to three
//! digits). The true residual is computed where a decision hangs on it. The start is beaten only by
//! multipliers with a lower objective (or the same, and a lower residual), and nothing with a higher
//! objective than the start is ever returned: since ½ |v - v*|²_M ≤ f(γ) - f*, that would be worse
//! velocities.

use std::time::Instant;

use crate::certificate::Judge;
use crate::problem::Problem;
use crate::solver::growth::{Growth, Strikes};
use crate::solver::{Record, Solution, Status, Stop};

use super::Walk;

/// Fewer multiplications without a smaller residual mean nothing.
const MANY: usize = 400;

/// What a watch needs and a solver keeps from call to call.
#[derive(Debug, Default)]
pub(in crate::solver) struct Notebook {
    judge: Judge,
    growth: Growth,
    rows: Vec<f64>,
}

/// See the module.
pub(in crate::solver) struct Watch<'a> {
    problem: &'a Problem,
    stop: &'a Stop,
    notebook: &'a mut Notebook,
    begun: Instant,
    /// Multiplications by N so far.
    used: usize,
    status: Status,
    start_objective: f64,
    best: f64,
    best_is_start: bool,
    /// Whether the certificate has had its chance with the last γ.
    looked: bool,
    /// Whether the last γ was compared with the best.
    offered: bool,
    looks: usize,
    doubts: bool,
    /// A residual, and how many multiplications there had been when it was reached: the next is set by one
    /// that is a tenth smaller.
    mark: f64,
    beaten: usize,
    /// Below this the certificate is asked: the tolerance, less what rounding has cost.
    threshold: f64,
    growth_due: usize,
    strikes: Strikes,
    grows: bool,
    history: Vec<Record>,
}

impl<'a> Watch<'a> {
    /// Begins with what `space` started from, for which `multiplications` were needed. True if that is good
    /// enough.
    pub fn start(
        problem: &'a Problem,
        stop: &'a Stop,
        notebook: &'a mut Notebook,
        begun: Instant,
        space: &mut dyn Walk,
        multiplications: usize,
    ) -> (Self, bool) {
        let residual = space.residual(problem);
        space.keep();
        notebook.growth.restart();
        let mut watch = Self {
            problem,
            stop,
            notebook,
            begun,
            used: multiplications,
            status: Status::Iterations,
            start_objective: space.objective(),
            best: residual,
            best_is_start: true,
            looked: true,
            offered: true,
            looks: 0,
            doubts: false,
            mark: residual,
            beaten: multiplications,
            threshold: stop.tolerance,
            strikes: Strikes::default(),
            grows: false,
            growth_due: if problem.rest_is_feasible() { usize::MAX } else { 32 },
            history: Vec::new(),
        };
        let done = watch.good_enough(space, residual);
        (watch, done)
    }

    /// Whether the caps forbid another multiplication.
    pub fn spent(&mut self) -> bool {
        if self.used >= self.stop.iterations {
            self.status = Status::Iterations;
            return true;
        }
        if self.used > 0 && self.stop.is_late(self.begun) {
            self.status = Status::Budget;
            return true;
        }
        false
    }

    /// Counts a multiplication.
    pub fn count(&mut self) {
        self.used += 1;
        if self.stop.history
            && let Some(last) = self.history.last().copied()
        {
            self.history.push(Record { delta_gamma: 0.0, ..last });
        }
    }

    /// Told that γ has changed.
    pub fn moved(&mut self) {
        self.looked = false;
        self.offered = false;
    }

    /// Told that the residual of γ is about `measure`, or less. True when it is time to stop.
    pub fn assess(&mut self, space: &mut dyn Walk, measure: f64) -> bool {
        self.offer(space, measure);
        // The measure overstates the residual by up to three at times: below that, look now and then.
        self.looks += 1;
        let near = measure <= 3.0 * self.threshold && self.looks.is_multiple_of(4);
        if (near || measure <= self.threshold) && self.look(space).1 {
            return true;
        }
        if self.stop.history {
            self.record(space);
        }
        self.used >= self.growth_due && self.wedged(space)
    }

    fn offer(&mut self, space: &mut dyn Walk, measure: f64) {
        self.offered = true;
        let objective = space.objective();
        let slack = space.rounding() * (objective.abs() + self.start_objective.abs());
        let better = if objective > self.start_objective + slack {
            false
        } else if self.best_is_start {
            objective < self.start_objective - slack || measure < self.best
        } else {
            measure <= self.best
        };
        if better {
            self.best = measure;
            self.best_is_start = false;
            space.keep();
        }
        if measure < 0.9 * self.mark {
            (self.mark, self.beaten) = (measure, self.used);
        }
    }

    /// Whether the space's arithmetic is at its end: the certificate has said no, by far, where it said yes,
    /// or the residual has not fallen by a tenth for as many multiplications as it took to get there, and
    /// more than a few.
    pub fn doubts(&self) -> bool {
        self.doubts || self.used > (2 * self.beaten).max(MANY)
    }

    /// Told that another space has taken over where the last one was.
    pub fn handed_over(&mut self, space: &mut dyn Walk) {
        // Rounding in the first space must not make the second's best look worse than the start.
        self.start_objective = self.start_objective.max(space.objective());
        self.best = space.residual(self.problem);
        (self.best_is_start, self.threshold, self.doubts) = (false, self.stop.tolerance, false);
        (self.mark, self.beaten) = (self.best, self.used);
        space.keep();
    }

    /// γ in the problem's rows.
    pub fn rows(&mut self, space: &dyn Walk) -> &[f64] {
        space.rows(self.problem, false, &mut self.notebook.rows);
        &self.notebook.rows
    }

    /// Ends the run because a number overflowed.
    pub fn diverged(&mut self) {
        self.status = Status::Diverged;
    }

    fn look(&mut self, space: &mut dyn Walk) -> (f64, bool) {
        self.looked = true;
        let residual = space.residual(self.problem);
        (residual, self.good_enough(space, residual))
    }

    /// Asks the certificate once the residual is small enough.
    fn good_enough(&mut self, space: &dyn Walk, residual: f64) -> bool {
        if self.stop.tolerance <= 0.0 || residual > self.threshold {
            return false;
        }
        space.rows(self.problem, false, &mut self.notebook.rows);
        let judged = self.notebook.judge.judge(self.problem, &self.notebook.rows).residual_max;
        if judged <= self.stop.tolerance {
            self.status = Status::Converged;
            return true;
        }
        self.doubts |= judged > 2.0 * residual;
        self.threshold = residual * (self.stop.tolerance / judged).min(0.9);
        false
    }

    fn wedged(&mut self, space: &mut dyn Walk) -> bool {
        while self.growth_due <= self.used {
            self.growth_due *= 2;
        }
        space.rows(self.problem, false, &mut self.notebook.rows);
        let Notebook { judge, growth, rows } = &mut *self.notebook;
        let c = judge.judge(self.problem, rows);
        self.grows |= self.strikes.tell(c.multipliers, c.curvature, c.residual_max);
        if growth.tell(self.problem, judge, rows, c.residual_max) {
            self.status = Status::Wedged;
            return true;
        }
        false
    }

    /// What would be returned if this were the end.
    fn record(&mut self, space: &dyn Walk) {
        let before = std::mem::take(&mut self.notebook.rows);
        let rows = &mut self.notebook.rows;
        space.rows(self.problem, true, rows);
        let c = self.notebook.judge.judge(self.problem, rows);
        let change = match before.len() == rows.len() {
            true => rows.iter().zip(&before).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt(),
            false => c.multipliers,
        };
        let record = Record {
            residual: c.residual_max,
            constraint_violation: c.constraint_violation,
            delta_gamma: change,
            objective: c.dual_objective,
        };
        // One record for every multiplication, also for those before the first step and those of line
        // searches.
        let missing = self.used - self.history.len().min(self.used);
        match self.history.last_mut() {
            Some(last) if missing == 0 => *last = record,
            _ => self.history.extend(std::iter::repeat_n(record, missing)),
        }
    }

    /// The solution: the best multipliers, or, where they grow for ever, the last ones if they are about as
    /// good: they are the proof.
    pub fn finish(mut self, space: &mut dyn Walk) -> Solution {
        let undecided = matches!(self.status, Status::Iterations | Status::Budget);
        if undecided && !self.looked {
            let (residual, _) = self.look(space);
            if !self.offered {
                self.offer(space, residual);
            }
        }
        let take_last = match self.status {
            Status::Converged => true,
            Status::Wedged => true,
            _ if self.grows => space.residual(self.problem) <= 1.1 * self.best,
            _ => false,
        };
        let mut gamma = Vec::new();
        space.rows(self.problem, !take_last, &mut gamma);
        if self.stop.history {
            self.record(space);
        }
        Solution {
            gamma,
            status: self.status,
            iterations: self.used,
            history: self.history,
            omega: 1.0,
            rejected: 0,
            attempts: Vec::new(),
            certificate: None,
            grows: self.grows,
        }
    }
}
