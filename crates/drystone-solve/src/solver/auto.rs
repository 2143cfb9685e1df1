//! The default: looks at the problem, picks a solver, asks the certificate, and hands on to another where it says no.
//!
//! ```text
//!     1   what the problem is like (see `look`) decides in which order solvers are tried, and with how many iterations
//!     2   the next solver goes on from the best multipliers so far
//!     3   the judge: within the tolerance, done. Wedged or out of time: said so. Else 2
//! ```
//!
//! No decision depends on a clock unless a time cap was given, and nothing is kept from call to call, so that a run can
//! be resumed to the bit. Solvers with factors converge so fast in the end that further digits cost next to nothing: they
//! are asked for a thousandth of the tolerance (where that is not very small itself), those that eliminate joints for a tenth,
//! and the tolerance decides. With a tolerance of zero all iterations are asked for and no word of the judge could end them:
//! those are sweeps.

mod look;

use std::time::Instant;

use crate::certificate::{Certificate, Judge};
use crate::crew;
use crate::model::Model;
use crate::problem::{Malformed, Problem};

use super::outer::Outer;
use super::prox::Prox;
use super::schur::Schur;
use super::{Attempt, BadSpec, Info, Solution, Solver, Spec, Status, Stop, first_order};

use look::{Pick, Turn};

pub(super) static INFO: Info = Info {
    name: "auto",
    title: "picks a solver by the problem and falls back on others where the certificate says so",
    use_when: "the default: elimination for mechanisms, factors for walls and few bodies, sweeps for grains, gradients for the rest",
    models: &["ccp", "coulomb"],
    unit: "iteration",
    citation: "docs/decisions/0014-auto.md",
    params: &[],
    make,
};

/// Share of the tolerance that solvers with factors are asked for, and those that eliminate joints.
const DIGITS: f64 = 1e-3;
const SOME_DIGITS: f64 = 0.1;
/// Below this, m/s, they are asked for the tolerance itself: further digits may be those of rounding.
const COARSE: f64 = 1e-5;

fn make(_: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    Ok(Box::new(Auto {
        places: Places { elimination: Schur::default(), sweeps: super::make("pgs")? },
        elimination: Schur::default(),
        interior: super::make("ipm")?,
        factors: Outer::new(Box::new(Prox::new(1e-3))),
        gradients: super::make_with("apgd", Outer::new)?,
        conjugate: super::make("nncg")?,
        splitting: super::make_with("admm", Outer::new)?,
        blocks: super::make("nsgs-ac")?,
        judge: Judge::default(),
        judged: false,
        eliminated: false,
        pairs: Vec::new(),
    }))
}

/// Position problems: mechanisms by elimination, unless they contradict themselves; everything else by sweeps, which do not mind.
struct Places {
    elimination: Schur,
    sweeps: Box<dyn Solver>,
}

impl Solver for Places {
    fn info(&self) -> &'static Info {
        self.sweeps.info()
    }

    fn bytes(&self) -> usize {
        self.elimination.bytes() + self.sweeps.bytes()
    }

    fn solve(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        if look::is_mechanism(problem) {
            let solution = self.elimination.solve(problem, guess, stop)?;
            // After any number of sweeps its joints hold.
            let some = solution.status == Status::Iterations && solution.iterations > 0;
            if some || solution.status == Status::Converged {
                return Ok(solution);
            }
        }
        self.sweeps.solve(problem, guess, stop)
    }
}

struct Auto {
    places: Places,
    /// What it knows of a mechanism is not what is asked of the same mechanism's positions.
    elimination: Schur,
    interior: Box<dyn Solver>,
    factors: Outer,
    gradients: Box<dyn Solver>,
    conjugate: Box<dyn Solver>,
    splitting: Box<dyn Solver>,
    blocks: Box<dyn Solver>,
    judge: Judge,
    /// Whether what was judged last is what was returned.
    judged: bool,
    /// Whether elimination was the last to try.
    eliminated: bool,
    pairs: Vec<u64>,
}

impl Auto {
    fn solver(&mut self, pick: Pick) -> &mut dyn Solver {
        match pick {
            Pick::Elimination => &mut self.elimination,
            Pick::Factors | Pick::Relaxed => &mut self.factors,
            Pick::Interior => self.interior.as_mut(),
            Pick::Gradients => self.gradients.as_mut(),
            Pick::Conjugate => self.conjugate.as_mut(),
            Pick::Splitting => self.splitting.as_mut(),
            Pick::Sweeps => self.places.sweeps.as_mut(),
            Pick::Blocks => self.blocks.as_mut(),
        }
    }
}

impl Auto {
    /// Under the exact law nothing must fall from iterate to iterate: where a guess is better than what came of it, in its worst block
    /// and on the whole, it is the solution.
    fn back_to_the_guess(&mut self, problem: &Problem, guess: Option<&[f64]>, out: &mut Option<Solution>) {
        let Some(found) = out.as_ref().filter(|s| matches!(s.status, Status::Iterations | Status::Budget))
        else {
            return;
        };
        let Some(g) = guess.filter(|g| g.iter().any(|x| *x != 0.0)) else { return };
        let start = Solution { status: found.status, ..Solution::start(problem, Some(g)) };
        let c = self.judge.judge(problem, &start.gamma);
        self.judged = false;
        let better = |f: &Certificate| c.residual_max < f.residual_max && c.residual_rms < f.residual_rms;
        if found.certificate.as_ref().is_none_or(better) {
            *out = Some(Solution { certificate: Some(c), ..start });
        }
    }
}

/// What tolerance to ask for.
fn aim(pick: Pick, problem: &Problem, tolerance: f64) -> f64 {
    let share = match pick {
        _ if tolerance < COARSE || matches!(problem, Problem::Explicit(_)) => 1.0,
        Pick::Relaxed => DIGITS,
        // The exact law may have no solution near by with more digits than were asked for, and another one far away.
        Pick::Factors | Pick::Interior if problem.model() == Model::Coulomb => 1.0,
        Pick::Factors | Pick::Interior => DIGITS,
        Pick::Elimination => SOME_DIGITS,
        _ => 1.0,
    };
    share * tolerance
}

impl Solver for Auto {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn bytes(&self) -> usize {
        let all = [&self.interior, &self.gradients, &self.conjugate, &self.splitting, &self.blocks];
        let all =
            all.iter().map(|s| s.bytes()).sum::<usize>() + self.places.bytes() + self.elimination.bytes();
        all + self.factors.bytes() + size_of_val(self.pairs.as_slice())
    }

    fn judge(&mut self) -> Option<&mut Judge> {
        self.judged = false;
        Some(&mut self.judge)
    }

    fn velocities(&self) -> Option<&[[f64; 6]]> {
        self.judged.then(|| self.judge.velocities())
    }

    fn keeps_factors(&self) -> bool {
        self.eliminated && self.elimination.keeps_factors()
    }

    fn solve_again(&mut self, problem: &Problem, stop: &Stop) -> Option<Solution> {
        if self.keeps_factors() { self.elimination.solve_again(problem, stop) } else { None }
    }

    fn for_positions(&mut self) -> Option<&mut dyn Solver> {
        Some(&mut self.places)
    }

    fn solve(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        if let Some(done) = crew::call(problem.blocks(), || self.solve(problem, guess, stop)) {
            return done;
        }
        (self.judged, self.eliminated) = (false, false);
        // Elimination goes over the rows of joints once, as a look for numbers that are not finite does: the judge sees those, too.
        let jointed = matches!(problem, Problem::Bodies(p) if !p.general.a.is_empty());
        if jointed { problem.check_form() } else { problem.check() }?;
        first_order::check_guess(problem, guess)?;
        let begun = Instant::now();
        let model = problem.model();
        let judged = stop.tolerance > 0.0 && stop.iterations > 0;
        let turns = if judged { look::turns(problem, stop, &mut self.pairs) } else { look::ALL_SWEEPS };
        let mut looked = !jointed;
        if jointed && turns[0].pick != Pick::Elimination {
            problem.check()?;
            looked = true;
        }
        let mut out: Option<Solution> = None;
        let mut least = f64::INFINITY;
        let (mut used, mut rejected, mut attempts, mut history) = (0, 0, Vec::new(), Vec::new());
        // Of the cap, in sweeps.
        let mut spent = 0.0;
        for Turn { pick, share, most } in turns {
            let left = stop.iterations as f64 - spent;
            let part = left.min(share * stop.iterations as f64).min(*most);
            let iterations = ((part / pick.weight(model)) as usize).max(1).min(stop.iterations - used);
            let asked = Stop {
                tolerance: aim(*pick, problem, stop.tolerance),
                iterations,
                budget: stop.budget.map(|b| b.saturating_sub(begun.elapsed())),
                history: stop.history,
            };
            if matches!(pick, Pick::Factors | Pick::Relaxed | Pick::Interior | Pick::Splitting) {
                let most = look::operations(problem, stop);
                let solver = self.solver(*pick);
                solver.limit_operations(most);
                solver.forget();
            }
            // An interior point has no use for a guess that is not good enough by itself, but would measure its progress by it.
            let start =
                out.as_ref().map(|s| s.gamma.as_slice()).or(guess).filter(|_| *pick != Pick::Interior);
            // Most look at the problem once more by themselves.
            let mut s = match pick {
                Pick::Elimination => self.elimination.solve_checked(problem, start, &asked)?,
                Pick::Relaxed => self.factors.solve_relaxed(problem, start, &asked)?,
                Pick::Gradients if looked => self.gradients.solve_checked(problem, start, &asked)?,
                _ => self.solver(*pick).solve(problem, start, &asked)?,
            };
            self.eliminated = *pick == Pick::Elimination;
            used += s.iterations;
            spent += pick.weight(model) * s.iterations as f64;
            rejected += s.rejected;
            history.append(&mut s.history);
            let judges = stop.tolerance > 0.0 && s.status != Status::Diverged;
            s.certificate = judges.then(|| self.judge.judge(problem, &s.gamma));
            if !looked && !s.certificate.as_ref().is_some_and(|c| c.dual_objective.is_finite()) {
                problem.check()?;
                looked = true;
            }
            let residual = s.certificate.as_ref().map_or(f64::INFINITY, |c| c.residual_max);
            if residual <= stop.tolerance {
                s.status = Status::Converged;
            } else if *pick == Pick::Relaxed && s.status != Status::Budget {
                // Of the law that was asked for this says nothing.
                s.status = Status::Iterations;
            }
            let info = self.solver(*pick).info();
            attempts.push(Attempt {
                solver: info.name,
                unit: info.unit,
                iterations: s.iterations,
                status: s.status,
            });
            let done = matches!(s.status, Status::Converged | Status::Wedged | Status::Budget);
            self.judged = false;
            if residual <= least || done || out.is_none() {
                least = residual;
                self.judged = s.certificate.is_some() && matches!(problem, Problem::Bodies(_));
                out = Some(s);
            }
            // What slides in one step slides in the next: a guess may know more about that than the relaxed problem.
            if *pick == Pick::Relaxed && !done {
                self.back_to_the_guess(problem, guess, &mut out);
                least = out.as_ref().and_then(|s| s.certificate.as_ref()).map_or(least, |c| c.residual_max);
            }
            if done || spent + pick.weight(model) > stop.iterations as f64 {
                break;
            }
        }
        if problem.has_many_bodies() {
            self.pairs = Vec::new();
        }
        if judged && model == Model::Coulomb {
            self.back_to_the_guess(problem, guess, &mut out);
        }
        let mut out = out.unwrap_or_else(|| Solution::start(problem, guess));
        // Nobody left the judge a number to go by.
        if judged && !least.is_finite() {
            out.status = Status::Diverged;
        }
        (out.iterations, out.rejected) = (used, rejected);
        (out.attempts, out.history) = (attempts, history);
        Ok(out)
    }
}
