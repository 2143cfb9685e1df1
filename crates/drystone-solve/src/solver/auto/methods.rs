//! The methods of the policy, and one problem's way through them: an island's, or a file's.

use std::time::Instant;

use crate::certificate::{Certificate, Judge};
use crate::friction_law::FrictionLaw;
use crate::problem::{Checked, Malformed, Problem};
use crate::solver::outer::Outer;
use crate::solver::prox::Prox;
use crate::solver::schur::Schur;
use crate::solver::{Attempt, BadSpec, Solution, Solver, Status, Stop, make, make_with};

use super::policy::{Method, Stage};
use super::small::BLOCKS;

/// Share of the tolerance that solvers with factors are asked for, and those that eliminate joints: further
/// digits cost them next to nothing.
const DIGITS: f64 = 1e-3;
const SOME_DIGITS: f64 = 0.1;
/// Below this, m/s, they are asked for the tolerance itself: further digits may be those of rounding.
const COARSE: f64 = 1e-5;

/// One of each. Nothing that they keep from call to call changes a result.
pub(super) struct Methods {
    pub elimination: Schur,
    factors: Outer,
    interior: Box<dyn Solver>,
    momentum: Box<dyn Solver>,
    gradients: Box<dyn Solver>,
    conjugate: Box<dyn Solver>,
    splitting: Box<dyn Solver>,
    pub sweeps: Box<dyn Solver>,
    blocks: Box<dyn Solver>,
    judge: Judge,
}

/// What tolerance to ask for. Of a few contacts that sweeps did not solve (uneven masses) factors are asked
/// for digits once they have solved them: these may be beyond rounding.
pub(super) fn aim(method: Method, polishes: bool, problem: &Problem, tolerance: f64) -> f64 {
    let share = match method {
        _ if tolerance < COARSE || matches!(problem, Problem::Explicit(_)) => 1.0,
        Method::Relaxed => DIGITS,
        // The exact law may have no solution near by with more digits than were asked for, and another one
        // far away.
        Method::Factors | Method::Interior if problem.model() == FrictionLaw::Coulomb => 1.0,
        Method::Factors if !polishes && problem.blocks() <= BLOCKS => 1.0,
        Method::Factors | Method::Interior => DIGITS,
        Method::Elimination => SOME_DIGITS,
        _ => 1.0,
    };
    share * tolerance
}

impl Methods {
    pub fn new() -> Result<Self, BadSpec> {
        Ok(Self {
            elimination: Schur::default(),
            factors: Outer::new(Box::new(Prox::new(1e-3))),
            interior: make("ipm")?,
            momentum: make("apgs")?,
            gradients: make_with("apgd", Outer::new)?,
            conjugate: make("nncg")?,
            splitting: make_with("admm", Outer::new)?,
            sweeps: make("pgs")?,
            blocks: make("nsgs-ac")?,
            judge: Judge::default(),
        })
    }

    pub fn bytes(&self) -> usize {
        let all = [
            &self.interior,
            &self.momentum,
            &self.gradients,
            &self.conjugate,
            &self.splitting,
            &self.sweeps,
            &self.blocks,
        ];
        all.iter().map(|s| s.bytes()).sum::<usize>() + self.elimination.bytes() + self.factors.bytes()
    }

    fn get(&mut self, method: Method) -> &mut dyn Solver {
        match method {
            Method::Elimination => &mut self.elimination,
            Method::Factors | Method::Relaxed => &mut self.factors,
            Method::Interior => self.interior.as_mut(),
            Method::Momentum => self.momentum.as_mut(),
            Method::Gradients => self.gradients.as_mut(),
            Method::Conjugate => self.conjugate.as_mut(),
            Method::Splitting => self.splitting.as_mut(),
            Method::Sweeps => self.sweeps.as_mut(),
            Method::Blocks => self.blocks.as_mut(),
        }
    }

    /// Solves a problem that was looked over, by these stages, until one of them is within the tolerance. The
    /// solution has the judge's word.
    pub fn solve(
        &mut self,
        checked: Checked,
        guess: Option<&[f64]>,
        stop: &Stop,
        stages: &[Stage],
        begun: Instant,
    ) -> Result<Solution, Malformed> {
        let problem = checked.problem();
        let mut best: Option<Solution> = None;
        let (mut used, mut rejected, mut attempts, mut history) = (0, 0, Vec::new(), Vec::new());
        for (number, stage) in stages.iter().enumerate() {
            let method = stage.method;
            let solved = best.as_ref().is_some_and(|b| b.status == Status::Converged);
            if stage.polishes && !solved {
                continue;
            }
            // Digits beyond the tolerance may cost as much as those before.
            let most = if stage.polishes { used } else { usize::MAX };
            let asked = Stop {
                tolerance: aim(method, stage.polishes, problem, stop.tolerance),
                iterations: stage.iterations.min(stop.iterations - used).min(most),
                budget: stop.time_left(begun),
                interrupt: stop.interrupt.clone(),
                history: stop.history,
            };
            if asked.iterations == 0 {
                break;
            }
            if method.factors() {
                let solver = self.get(method);
                solver.limit_operations(stage.operations);
                solver.forget();
            }
            let within = if stage.looks_ahead { stage.iterations } else { usize::MAX };
            self.get(method).expect_within(within);
            // An interior point has no use for a guess that is not good enough by itself, but would measure
            // its progress by it.
            let start = best.as_ref().map(|s| s.gamma.as_slice()).or(guess);
            let start = start.filter(|_| method != Method::Interior);
            let mut s = match method {
                Method::Elimination => self.elimination.solve_checked(checked, start, &asked)?,
                Method::Relaxed => self.factors.solve_relaxed(problem, start, &asked)?,
                Method::Gradients => self.gradients.solve_checked(checked, start, &asked)?,
                _ => self.get(method).solve(problem, start, &asked)?,
            };
            used += s.iterations;
            rejected += s.rejected;
            history.append(&mut s.history);
            if s.status != Status::Diverged {
                s.certificate = Some(self.judge.judge(problem, &s.gamma));
            }
            let residual = residual(&s);
            if residual <= stop.tolerance {
                s.status = Status::Converged;
            } else if s.status == Status::Converged
                || (method == Method::Relaxed && s.status != Status::Budget)
            {
                s.status = Status::Iterations;
            }
            if let Some(last) = attempts.last_mut().filter(|_: &&mut Attempt| stage.polishes) {
                last.iterations += s.iterations;
            } else if s.iterations > 0 || s.status == Status::Converged {
                let info = self.get(method).info();
                attempts.push(Attempt {
                    solver: info.name,
                    unit: info.unit,
                    iterations: s.iterations,
                    status: s.status,
                });
            }
            let done = matches!(s.status, Status::Converged | Status::Wedged | Status::Budget);
            let converged = s.status == Status::Converged;
            let next = stages.get(number + 1).filter(|next| next.polishes);
            let coarse = next.is_some_and(|next| residual > aim(next.method, true, problem, stop.tolerance));
            if (done && !solved) || best.as_ref().is_none_or(|b| residual <= self::residual(b)) {
                best = Some(s);
            }
            // What slides in one step slides in the next: a guess may know more about that than the relaxed
            // problem.
            if method == Method::Relaxed && !done {
                self.back_to_the_guess(problem, guess, &mut best);
            }
            if (done || solved) && !(converged && coarse) {
                break;
            }
        }
        if problem.model() == FrictionLaw::Coulomb {
            self.back_to_the_guess(problem, guess, &mut best);
        }
        let mut out = best.unwrap_or_else(|| Solution::start(problem, guess));
        // Nobody left the judge a number to go by.
        if out.certificate.is_some() && !residual(&out).is_finite() {
            out.status = Status::Diverged;
        }
        (out.iterations, out.rejected) = (used, rejected);
        (out.attempts, out.history) = (attempts, history);
        Ok(out)
    }

    /// Under the exact law nothing must fall from iterate to iterate: where a guess is better than what came
    /// of it, in its worst block and on the whole, it is the solution.
    fn back_to_the_guess(&mut self, problem: &Problem, guess: Option<&[f64]>, out: &mut Option<Solution>) {
        let Some(found) = out.as_ref().filter(|s| matches!(s.status, Status::Iterations | Status::Budget))
        else {
            return;
        };
        let Some(g) = guess.filter(|g| g.iter().any(|x| *x != 0.0)) else { return };
        let start = Solution { status: found.status, ..Solution::start(problem, Some(g)) };
        let c = self.judge.judge(problem, &start.gamma);
        let better = |f: &Certificate| c.residual_max < f.residual_max && c.residual_rms < f.residual_rms;
        if found.certificate.as_ref().is_none_or(better) {
            *out = Some(Solution { certificate: Some(c), ..start });
        }
    }

    /// The largest residual of `gamma`, m/s.
    pub fn residual(&mut self, problem: &Problem, gamma: &[f64]) -> f64 {
        self.judge.judge(problem, gamma).residual_max
    }
}

fn residual(s: &Solution) -> f64 {
    s.certificate.as_ref().map_or(f64::INFINITY, |c| c.residual_max)
}
