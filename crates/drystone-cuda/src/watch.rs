//! Watches over an iteration that runs on the device, with the words of `drystone-solve`'s first-order
//! methods: when the certificate is asked, what is returned, and how a problem that contradicts itself is
//! told.

use std::time::Instant;

use drystone_solve::certificate::{Certificate, Judge};
use drystone_solve::solver::{Growth, Record, Strikes};
use drystone_solve::{Problem, Status, Stop};

/// What is kept from solve to solve.
#[derive(Default)]
pub(crate) struct Notebook {
    pub judge: Judge,
    pub growth: Growth,
}

/// See the module.
pub(crate) struct Watch<'a> {
    pub problem: &'a Problem,
    pub stop: &'a Stop,
    begun: Instant,
    pub status: Status,
    /// Below this residual the certificate is asked: the tolerance, less what rounding has cost. Negative:
    /// never.
    pub threshold: f64,
    growth_due: usize,
    strikes: Strikes,
    pub grows: bool,
    pub history: Vec<Record>,
    last: Vec<f64>,
}

impl<'a> Watch<'a> {
    pub fn new(problem: &'a Problem, stop: &'a Stop, notebook: &mut Notebook, begun: Instant) -> Self {
        notebook.growth.restart();
        Self {
            problem,
            stop,
            begun,
            status: Status::Iterations,
            threshold: if stop.tolerance > 0.0 { stop.tolerance } else { -1.0 },
            growth_due: if problem.rest_is_feasible() { usize::MAX } else { 32 },
            strikes: Strikes::default(),
            grows: false,
            history: Vec::new(),
            last: Vec::new(),
        }
    }

    /// The iteration at which the device must wait.
    pub fn limit(&self, used: usize) -> u32 {
        let next = self.stop.iterations.min(self.growth_due);
        let next = if self.stop.history { next.min(used + 1) } else { next };
        next.min(u32::MAX as usize) as u32
    }

    /// Whether the time is over.
    pub fn is_late(&mut self, used: usize) -> bool {
        let late = used > 0 && self.stop.is_late(self.begun);
        if late {
            self.status = Status::Budget;
        }
        late
    }

    /// Whether a residual is small enough to ask the certificate.
    pub fn is_near(&self, residual: f64) -> bool {
        residual <= self.threshold
    }

    /// Asks the certificate about γ whose residual on the device is `residual`.
    pub fn ask(&mut self, judge: &mut Judge, rows: &[f64], residual: f64) -> Option<Certificate> {
        let found = judge.judge(self.problem, rows);
        if found.residual_max <= self.stop.tolerance {
            self.status = Status::Converged;
            return Some(found);
        }
        self.threshold = residual * (self.stop.tolerance / found.residual_max).min(0.9);
        None
    }

    /// Whether it is time to look for growing multipliers.
    pub fn is_growth_due(&self, used: usize) -> bool {
        used >= self.growth_due
    }

    /// Looks for them. True where the problem is proved to contradict itself.
    pub fn is_wedged(&mut self, notebook: &mut Notebook, rows: &[f64], used: usize) -> bool {
        while self.growth_due <= used {
            self.growth_due *= 2;
        }
        let Notebook { judge, growth } = notebook;
        let c = judge.judge(self.problem, rows);
        self.grows |= self.strikes.tell(c.multipliers, c.curvature, c.residual_max);
        if growth.tell(self.problem, judge, rows, c.residual_max) {
            self.status = Status::Wedged;
            return true;
        }
        false
    }

    /// Records γ after `used` iterations.
    pub fn record(&mut self, judge: &mut Judge, rows: &[f64], used: usize) {
        let c = judge.judge(self.problem, rows);
        let change = match self.last.len() == rows.len() {
            true => rows.iter().zip(&self.last).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt(),
            false => c.multipliers,
        };
        self.last.clear();
        self.last.extend_from_slice(rows);
        let record = Record {
            residual: c.residual_max,
            constraint_violation: c.constraint_violation,
            delta_gamma: change,
            objective: c.dual_objective,
        };
        let missing = used.saturating_sub(self.history.len());
        self.history.extend(std::iter::repeat_n(record, missing));
    }
}
