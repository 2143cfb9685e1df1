//! Exact Coulomb for solvers of the relaxed problem: a fixed point on the correction s of
//! [`crate::friction_law`] [Acary2011, section 4].
//!
//! ```text
//!     1   s_i = s(u_i) of a guess that is nearly good enough, 0 otherwise
//!     2   γ solves the relaxed problem with s_i added to the bias of normal row i, warm-started
//!     3   stop if γ solves Coulomb's problem: the certificate's residual with s(u(γ))
//!     4   s ← (1 - θ) s + θ s(u(γ)), and 2
//! ```
//!
//! The exact law may have several solutions: a pile that can rest may have another one in which it slides,
//! and a large s leads there. With s = 0 the first problem is the relaxed one. Where that rests, it solves
//! the exact law, and is the answer.
//!
//! Every relaxed problem is convex, so any solver serves. Its tolerance falls with the residual of step 3:
//! the first ones need not be good. A fixed point need not contract: where the residual has not fallen for
//! three rounds θ is halved, and what is returned is the γ with the least residual of all rounds.
//!
//! A W that is not symmetric has no objective either: its skew part is treated like s, as a bias from the
//! last γ.

use std::time::Instant;

use crate::certificate::Judge;
use crate::cone::MAX_ROWS;
use crate::friction_law::{FrictionLaw, slip_term};
use crate::problem::{Bodies, Checked, Csr, Malformed, Problem};

use super::growth::Growth;
use super::{Info, Record, Solution, Solver, Status, Stop};

/// Inner problems are solved to this share of the last residual.
const SHARE: f64 = 0.1;
/// Residual of a guess whose slip is worth having, over the tolerance.
const NEAR: f64 = 10.0;
/// θ is halved after so many rounds without progress.
const PATIENCE: usize = 3;
/// A round takes at most one in so many of all iterations, the first one half of them: under a small cap slip
/// must have its rounds, too.
const ROUNDS: usize = 10;
/// From this cap on it is not small.
const MANY: usize = 1000;
/// Smallest θ.
const LEAST: f64 = 1.0 / 16.0;

/// A solver of the relaxed problem that solves Coulomb's as well.
pub(super) struct Outer {
    inner: Box<dyn Solver>,
    /// Nobody comes after it if a round takes all iterations.
    in_rounds: bool,
    relaxed: Problem,
    judge: Judge,
    v: Vec<[f64; 6]>,
    /// s of the inner problem, and its change.
    slip: Vec<f64>,
    change: Vec<f64>,
    gamma: Vec<f64>,
    best: Vec<f64>,
    growth: Growth,
}

impl Outer {
    pub fn new(inner: Box<dyn Solver>) -> Self {
        Self {
            inner,
            in_rounds: false,
            relaxed: Problem::Bodies(Bodies::default()),
            judge: Judge::default(),
            v: Vec::new(),
            slip: Vec::new(),
            change: Vec::new(),
            gamma: Vec::new(),
            best: Vec::new(),
            growth: Growth::default(),
        }
    }

    /// The same for a solver that is asked by name.
    pub fn in_rounds(inner: Box<dyn Solver>) -> Self {
        Self { in_rounds: true, ..Self::new(inner) }
    }

    /// The relaxed problem alone, without any outer iteration: where nothing slides its solution obeys the
    /// exact law too.
    pub fn solve_relaxed(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        self.relaxed.copy_from(problem);
        self.relaxed.set_model(FrictionLaw::Ccp);
        self.inner.solve(&self.relaxed, guess, stop)
    }

    /// Moves s by θ towards s(u(γ)), and the inner problem with it.
    fn move_slip(&mut self, problem: &Problem, theta: f64) {
        problem.velocities(&self.gamma, &mut self.v);
        self.change.clear();
        let mut u = [0.0; MAX_ROWS];
        for (i, slip) in self.slip.iter_mut().enumerate() {
            problem.block_velocity(i, &self.v, &self.gamma, &mut u);
            let change = theta * (slip_term(problem.set(i), &u) - *slip);
            *slip += change;
            self.change.push(change);
        }
        self.relaxed.shift_normal_bias(&self.change);
    }
}

/// W - ½ (W + Wᵀ), or None for a matrix that is symmetric up to rounding, or no matrix at all.
fn split_skew(problem: &mut Problem) -> Option<Csr> {
    let Problem::Explicit(p) = problem else { return None };
    let symmetric = p.w.symmetric_part();
    let scale = p.w.data.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let skew = p.w.minus(&symmetric);
    if skew.data.iter().all(|x| x.abs() <= 1e-14 * scale) {
        return None;
    }
    p.w = symmetric;
    Some(skew)
}

impl Solver for Outer {
    fn info(&self) -> &'static Info {
        self.inner.info()
    }

    fn bytes(&self) -> usize {
        let kept = match &self.relaxed {
            Problem::Bodies(b) => b.points.bytes(),
            Problem::Explicit(e) => size_of_val(e.w.data.as_slice()),
        };
        let vectors = [&self.slip, &self.change, &self.gamma, &self.best];
        self.inner.bytes() + kept + vectors.iter().map(|v| size_of_val(v.as_slice())).sum::<usize>()
    }

    fn limit_operations(&mut self, most: f64) {
        self.inner.limit_operations(most);
    }

    fn forget(&mut self) {
        self.inner.forget();
    }

    fn judge(&mut self) -> Option<&mut Judge> {
        self.inner.judge()
    }

    fn solve_checked(
        &mut self,
        problem: Checked,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        match problem.model() {
            FrictionLaw::Ccp => self.inner.solve_checked(problem, guess, stop),
            FrictionLaw::Coulomb => self.solve(&problem, guess, stop),
        }
    }

    fn solve(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        if problem.model() == FrictionLaw::Ccp {
            return self.inner.solve(problem, guess, stop);
        }
        super::first_order::check(problem, guess)?;
        let begun = Instant::now();
        self.relaxed.copy_from(problem);
        self.relaxed.set_model(FrictionLaw::Ccp);
        let skew = split_skew(&mut self.relaxed);
        self.slip.clear();
        self.slip.resize(problem.blocks(), 0.0);
        self.gamma.clear();
        self.gamma.resize(problem.rows(), 0.0);
        let (mut residual, mut start_rms) = (f64::INFINITY, f64::INFINITY);
        if let Some(g) = guess {
            self.gamma.copy_from_slice(g);
            let c = self.judge.judge(problem, g);
            (residual, start_rms) = (c.residual_max, c.residual_rms);
            if residual <= NEAR * stop.tolerance {
                self.move_slip(problem, 1.0);
            }
        }
        self.best.clone_from(&self.gamma);
        let mut out = Solution::none();
        let mut least = residual;
        let (mut theta, mut idle, mut start, mut first) = (1.0f64, 0, guess.is_some(), true);
        if stop.tolerance > 0.0 && residual <= stop.tolerance {
            out.status = Status::Converged;
            out.gamma = self.best.clone();
            return Ok(out);
        }
        let mut skewed: Vec<f64> = vec![0.0; if skew.is_some() { problem.rows() } else { 0 }];
        while out.iterations < stop.iterations {
            if let (Some(k), Problem::Explicit(p)) = (&skew, &mut self.relaxed) {
                for (j, old) in skewed.iter_mut().enumerate() {
                    let new = k.row_dot(j, &self.gamma);
                    p.q[j] += new - *old;
                    *old = new;
                }
            }
            let left = stop.iterations - out.iterations;
            let most = match self.in_rounds && stop.iterations < MANY {
                true if first => left.div_ceil(2),
                true => left.min((stop.iterations / ROUNDS).max(1)),
                false => left,
            };
            let tolerance = match first {
                false => (SHARE * residual).max(0.5 * stop.tolerance),
                // As good as the relaxed problem's own solution would be: errors would pass for slip.
                true => 0.5 * stop.tolerance,
            };
            first = false;
            // All iterations are asked for: rounds of a fixed size.
            let (tolerance, iterations) =
                if stop.tolerance > 0.0 { (tolerance, most) } else { (0.0, left.min(20)) };
            let inner = Stop {
                tolerance,
                iterations,
                budget: stop.time_left(begun),
                interrupt: stop.interrupt.clone(),
                history: false,
            };
            let s = self.inner.solve(&self.relaxed, start.then_some(self.gamma.as_slice()), &inner)?;
            start = true;
            // A round that had nothing to do must not make an endless loop.
            let spent = s.iterations.max(1).min(left);
            out.iterations += spent;
            out.rejected += s.rejected;
            out.omega = s.omega;
            out.grows |= s.grows;
            let before = std::mem::replace(&mut self.gamma, s.gamma);
            let c = self.judge.judge(problem, &self.gamma);
            residual = c.residual_max;
            if stop.history {
                let change = self.gamma.iter().zip(&before).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
                let record = Record {
                    residual,
                    constraint_violation: c.constraint_violation,
                    delta_gamma: change,
                    objective: c.dual_objective,
                };
                out.history.extend(std::iter::repeat_n(record, spent));
            }
            idle = if residual <= 0.9 * least { 0 } else { idle + 1 };
            // The start is also beaten by what is better on the whole.
            if residual <= least || c.residual_rms < start_rms {
                (least, start_rms) = (residual, 0.0);
                self.best.clone_from(&self.gamma);
            }
            if stop.tolerance > 0.0 && residual <= stop.tolerance {
                out.status = Status::Converged;
                break;
            }
            // It would not do anything another time either.
            if s.iterations == 0 && s.status == Status::Iterations {
                out.iterations -= spent;
                break;
            }
            if matches!(s.status, Status::Wedged | Status::Diverged | Status::Budget) {
                out.status = s.status;
                // That was the relaxed problem, of some slip: the law itself may ask for less.
                if s.status == Status::Wedged && !self.growth.is_proof(problem, &mut self.judge, &self.gamma)
                {
                    out.status = Status::Iterations;
                }
                break;
            }
            if stop.is_late(begun) {
                out.status = Status::Budget;
                break;
            }
            if idle >= PATIENCE {
                theta = (0.5 * theta).max(LEAST);
                idle = 0;
            }
            self.move_slip(problem, theta);
        }
        out.gamma = self.best.clone();
        Ok(out)
    }
}
