//! The default solver: each island by itself, with methods that its own contents decide.
//!
//! ```text
//!     1   islands: bodies that blocks join (`problem::islands`)
//!     2   mechanisms by elimination, all at once: `schur` takes islands one by one, or eight that are alike in lanes
//!     3   the others, and what elimination left, one by one: a few contacts by sweeps (`small`), all others by the stages of
//!         the policy (`policy`) until one is within the tolerance, each going on from the best multipliers so far
//!     4   the judge's word on the whole
//! ```
//!
//! What is done for an island depends on that island alone: neither on others, nor on their number, nor on a
//! clock unless a time cap was given, nor on earlier calls. Small islands are shared among threads; large
//! ones use all threads inside. The iterations of a solution are the most that any island took, and the cap
//! holds for each of them. With a tolerance of zero all iterations are asked for and no word of the judge
//! could end them: those are sweeps over everything.

mod methods;
mod policy;
mod small;

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::certificate::Judge;
use crate::parallel::{self, Shared};
use crate::problem::islands::{Extract, Islands};
use crate::problem::{Bodies, Checked, Malformed, Problem};

use super::{Attempt, BadSpec, Info, Solution, Solver, Spec, Status, Stop, first_order};
use methods::Methods;
use policy::{Guess, Method};
use small::Small;

pub(super) static INFO: Info = Info {
    name: "auto",
    title: "each island by methods that it decides, and by others where the certificate says no",
    use_when: "the default: elimination for mechanisms, factors for what rests, gradients for what moves",
    models: &["ccp", "coulomb"],
    unit: "iteration",
    citation: "docs/decisions/0021-islands-and-policy.md",
    params: &[],
    make,
};

/// Islands of at least so many blocks are solved one after the other, by all threads, and where they lie if
/// nothing else is there.
const LARGE: usize = 8192;
/// Small islands that a thread takes at a time.
const RUN: usize = 16;

fn make(_: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    Ok(Box::new(Auto {
        workers: vec![Box::new(Worker::new()?)],
        islands: Islands::default(),
        together: Extract::default(),
        judge: Judge::default(),
        judged: false,
    }))
}

/// Whether there are joints to eliminate.
pub(super) fn is_mechanism(problem: &Problem) -> bool {
    matches!(problem, Problem::Bodies(p) if p.general.set.contains(&crate::cone::Set::Free))
}

/// Who solves one island at a time.
struct Worker {
    methods: Methods,
    island: Extract,
    small: Small,
    guess: Vec<f64>,
    pairs: Vec<u64>,
}

impl Worker {
    fn new() -> Result<Self, BadSpec> {
        Ok(Self {
            methods: Methods::new()?,
            island: Extract::default(),
            small: Small::default(),
            guess: Vec::new(),
            pairs: Vec::new(),
        })
    }

    /// Solves a problem by the policy's stages.
    fn by_stages(
        &mut self,
        problem: Checked,
        guess: Option<&[f64]>,
        stop: &Stop,
        begun: Instant,
    ) -> Result<Solution, Malformed> {
        let again = || self.by_stages(problem, guess, stop, begun);
        if let Some(done) = parallel::as_suits(problem.blocks(), again) {
            return done;
        }
        let stages = match problem.problem() {
            Problem::Bodies(p) => {
                let guess = guess.filter(|gamma| gamma.iter().any(|x| *x != 0.0));
                let of = |gamma| self.methods.residual(&problem, gamma) / stop.tolerance;
                let residual = || guess.map_or(f64::INFINITY, of);
                policy::stages(p, &mut self.pairs, Guess { is_cold: guess.is_none(), residual })
            }
            Problem::Explicit(e) => policy::file_stages(&problem, e, stop.iterations),
        };
        self.methods.solve(problem, guess, stop, &stages, begun)
    }

    /// Solves island `k` of `p` from its rows of `gamma`, which is in its sets; `warm`: whether that is a
    /// guess.
    fn solve_island(&mut self, whole: &Whole, k: usize, gamma: &Shared<f64>) -> Result<Ended, Malformed> {
        let mut island = std::mem::take(&mut self.island);
        let mut guess = std::mem::take(&mut self.guess);
        whole.islands.extract(whole.p, k, &mut island);
        guess.clear();
        // SAFETY: these rows are this island's alone, of which one task at a time is in charge.
        let own = |row: &u32| unsafe { &mut *gamma.at(*row as usize) };
        guess.extend(island.rows.iter().map(|row| *own(row)));
        // SAFETY: islands of a problem that was looked over are in form.
        let ended = self.solve_rows(whole, unsafe { Checked::known(&island.problem) }, &mut guess);
        island.rows.iter().zip(&guess).for_each(|(row, x)| *own(row) = *x);
        (self.island, self.guess) = (island, guess);
        ended
    }

    /// Solves an island's problem from `gamma`, and leaves the solution there.
    fn solve_rows(
        &mut self,
        whole: &Whole,
        island: Checked,
        gamma: &mut Vec<f64>,
    ) -> Result<Ended, Malformed> {
        let stop = whole.stop;
        let few = match island.problem() {
            Problem::Bodies(p) if p.blocks() <= small::BLOCKS && p.general.a.is_empty() => Some(p),
            _ => None,
        };
        if let Some(p) = few.filter(|_| !stop.history) {
            let (solved, sweeps) = self.small.sweep(&island, p, gamma, stop.tolerance, stop.iterations);
            if solved || sweeps >= stop.iterations {
                let status = if solved { Status::Converged } else { Status::Iterations };
                return Ok(Ended { iterations: sweeps, status, attempts: Vec::new(), rejected: 0 });
            }
        }
        let warm = whole.warm || few.is_some();
        let solution = self.by_stages(island, warm.then_some(gamma.as_slice()), stop, whole.begun)?;
        let Solution { gamma: found, status, iterations, attempts, rejected, .. } = solution;
        if status != Status::Diverged {
            *gamma = found;
        }
        Ok(Ended { iterations, status, attempts, rejected })
    }
}

/// What islands are parts of.
struct Whole<'a> {
    p: &'a Bodies,
    islands: &'a Islands,
    stop: &'a Stop,
    warm: bool,
    begun: Instant,
}

/// How an island ended.
#[derive(Default)]
struct Ended {
    status: Status,
    iterations: usize,
    rejected: usize,
    attempts: Vec<Attempt>,
}

struct Auto {
    /// One for each thread that ever worked at the same time. They are large, and change hands.
    workers: Vec<Box<Worker>>,
    islands: Islands,
    together: Extract,
    judge: Judge,
    /// Whether what was judged last is what was returned.
    judged: bool,
}

impl Auto {
    /// The first worker: there is one.
    fn worker(&mut self) -> &mut Worker {
        &mut self.workers[0]
    }

    /// Mechanisms by elimination, all of them at once: what the policy's first stage is for each of them, to
    /// the bit. Returns the islands that are still to be solved, from where they were.
    fn eliminate(
        &mut self,
        problem: Checked,
        p: &Bodies,
        stop: &Stop,
        out: &mut Solution,
    ) -> Result<Vec<usize>, Malformed> {
        let all = 0..self.islands.len();
        let mechanisms = all.clone().filter(|k| self.islands.is_mechanism(*k)).count();
        if mechanisms < 2 {
            return Ok(all.collect());
        }
        let whole = mechanisms == self.islands.len();
        let mut together = std::mem::take(&mut self.together);
        if !whole {
            self.islands.extract_mechanisms(p, &mut together);
        }
        // SAFETY: islands of a problem that was looked over are in form.
        let posed = if whole { problem } else { unsafe { Checked::known(&together.problem) } };
        let guess: Option<Vec<f64>> =
            (!whole).then(|| together.rows.iter().map(|row| out.gamma[*row as usize]).collect());
        let asked = Stop {
            tolerance: methods::aim(Method::Elimination, false, &posed, stop.tolerance),
            iterations: policy::ELIMINATION.min(stop.iterations),
            ..stop.clone()
        };
        let worker = &mut self.workers[0];
        let start = guess.as_deref().unwrap_or(&out.gamma);
        let s = worker.methods.elimination.solve_checked(posed, Some(start), &asked)?;
        if s.status == Status::Diverged {
            self.together = together;
            return Ok(all.collect());
        }
        let solved = worker.methods.residual(&posed, &s.gamma) <= stop.tolerance;
        let info = worker.methods.elimination.info();
        let status = if solved { Status::Converged } else { s.status };
        let attempt = Attempt { solver: info.name, unit: info.unit, iterations: s.iterations, status };
        let before = std::mem::take(&mut out.gamma);
        if whole {
            out.gamma = s.gamma;
        } else {
            out.gamma.clone_from(&before);
            together.rows.iter().zip(&s.gamma).for_each(|(row, x)| out.gamma[*row as usize] = *x);
        }
        self.together = together;
        let mut left = Vec::new();
        for k in all {
            if self.islands.is_mechanism(k) {
                if solved {
                    continue;
                }
                self.islands.extract(p, k, &mut worker.island);
                let Extract { problem: island, rows, .. } = &worker.island;
                let own: Vec<f64> = rows.iter().map(|row| out.gamma[*row as usize]).collect();
                if worker.methods.residual(island, &own) <= stop.tolerance {
                    continue;
                }
                rows.iter().for_each(|row| out.gamma[*row as usize] = before[*row as usize]);
            }
            left.push(k);
        }
        out.iterations = s.iterations;
        out.attempts.push(attempt);
        Ok(left)
    }

    /// Solves these islands, each by itself.
    fn solve_islands(
        &mut self,
        p: &Bodies,
        which: &[usize],
        stop: &Stop,
        warm: bool,
        begun: Instant,
        out: &mut Solution,
    ) -> Result<(), Malformed> {
        let Self { workers, islands, .. } = self;
        let whole = Whole { p, islands, stop, warm, begun };
        let gamma = Shared(out.gamma.as_mut_ptr());
        let (large, little): (Vec<usize>, Vec<usize>) =
            which.iter().partition(|k| islands.blocks(**k).len() >= LARGE);
        let mut ended: Vec<Result<Ended, Malformed>> = Vec::new();
        for k in large {
            ended.push(workers[0].solve_island(&whole, k, &gamma));
        }
        let runs = little.len().div_ceil(RUN);
        if runs < 2 {
            ended.extend(little.iter().map(|k| workers[0].solve_island(&whole, *k, &gamma)));
        } else {
            let pool = Mutex::new(std::mem::take(workers));
            let mut parts: Vec<Vec<Result<Ended, Malformed>>> = Vec::new();
            parallel::map_ranges(little.len(), RUN, &mut parts, |range| {
                let known = pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let mut worker = match known.map_or_else(|| Worker::new().map(Box::new), Ok) {
                    Ok(worker) => worker,
                    Err(e) => return vec![Err(Malformed(e.0))],
                };
                let ended = range.map(|i| worker.solve_island(&whole, little[i], &gamma)).collect();
                pool.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
                ended
            });
            *workers = pool.into_inner().unwrap_or_else(PoisonError::into_inner);
            ended.extend(parts.into_iter().flatten());
        }
        for one in ended {
            out.join(one?);
        }
        Ok(())
    }
}

impl Solution {
    /// Adds what an island came to: the most of its iterations, by solver, and the worst of its states.
    fn join(&mut self, ended: Ended) {
        self.iterations = self.iterations.max(ended.iterations);
        self.rejected += ended.rejected;
        if ended.status.badness() > self.status.badness() {
            self.status = ended.status;
        }
        for a in ended.attempts {
            match self.attempts.iter_mut().find(|known| known.solver == a.solver) {
                Some(known) => {
                    known.iterations = known.iterations.max(a.iterations);
                    if a.status.badness() > known.status.badness() {
                        known.status = a.status;
                    }
                }
                None => self.attempts.push(a),
            }
        }
    }
}

impl Solver for Auto {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn bytes(&self) -> usize {
        let workers = self.workers.iter().map(|w| w.methods.bytes()).sum::<usize>();
        workers + self.islands.bytes()
    }

    fn judge(&mut self) -> Option<&mut Judge> {
        self.judged = false;
        Some(&mut self.judge)
    }

    fn velocities(&self) -> Option<&[[f64; 6]]> {
        self.judged.then(|| self.judge.velocities())
    }

    fn solve(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        if let Some(done) = parallel::with_team_for(problem.blocks(), || self.solve(problem, guess, stop)) {
            return done;
        }
        self.judged = false;
        let checked = problem.checked()?;
        first_order::check_guess(problem, guess)?;
        let begun = Instant::now();
        if stop.tolerance <= 0.0 || stop.iterations == 0 {
            return self.worker().methods.sweeps.solve(problem, guess, stop);
        }
        let Problem::Bodies(p) = problem else {
            return self.worker().by_stages(checked, guess, stop, begun);
        };
        self.islands.find(p);
        let one = self.islands.len() == 1;
        if stop.history || (one && (problem.blocks() >= LARGE || self.islands.is_mechanism(0))) {
            // One problem as it is.
            let mut s = self.worker().by_stages(checked, guess, stop, begun)?;
            self.finish(problem, stop, &mut s);
            return Ok(s);
        }
        let mut out = Solution { status: Status::Converged, ..Solution::start(problem, guess) };
        let left = self.eliminate(checked, p, stop, &mut out)?;
        self.solve_islands(p, &left, stop, guess.is_some(), begun, &mut out)?;
        self.finish(problem, stop, &mut out);
        Ok(out)
    }
}

impl Auto {
    /// The judge's word on the whole.
    fn finish(&mut self, problem: &Problem, stop: &Stop, out: &mut Solution) {
        if problem.has_many_bodies() {
            self.islands = Islands::default();
            self.together = Extract::default();
        }
        if out.status == Status::Diverged {
            return;
        }
        let c = self.judge.judge(problem, &out.gamma);
        if c.residual_max <= stop.tolerance {
            out.status = Status::Converged;
        } else if !c.residual_max.is_finite() {
            out.status = Status::Diverged;
        } else if out.status == Status::Converged {
            out.status = Status::Iterations;
        }
        out.certificate = Some(c);
        self.judged = true;
    }
}
