//! Solvers: one file each, one registry, one interface.
//!
//! A solver turns a [`Problem`] and a guess into a [`Solution`]. Not converging is a [`Status`], not an
//! error; the only error is a malformed problem.

mod admm;
mod apgd;
mod apgs;
mod auto;
mod bb;
mod block;
mod contact;
mod coupled;
mod cpg;
mod direct;
mod first_order;
mod fixed_point;
mod growth;
mod ipm;
mod island_batch;
mod lemke;
mod nncg;
mod outer;
mod outlook;
mod pgj;
mod pgs;
mod positions;
mod prox;
mod pssor;
mod schur;
mod settle;
mod sparse;
mod spec;
mod sphere_contacts;
mod sweep;
mod sweep_explicit;
mod system;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::certificate::{Certificate, Judge};
use crate::cone::{AdmissibleSet, Set};
use crate::parallel;
use crate::problem::{Checked, Malformed, Problem};
use outer::Outer;

pub use coupled::{Coupled, Element};
pub use direct::Direct;
pub use growth::{Growth, Strikes};
pub use positions::Positions;
pub use spec::{BadSpec, Param, Spec, nearest};
#[doc(hidden)]
pub use sphere_contacts::{Ball, BallContact, BallSweeps, Seen, Units};

/// When to stop.
#[derive(Clone, Debug)]
pub struct Stop {
    /// Largest natural-map residual to accept, m/s; 0 runs all iterations [default: the scene's own, 1e-4].
    pub tolerance: f64,
    /// Cap on iterations (in the solver's own unit).
    pub iterations: usize,
    /// Cap on wall-clock time.
    pub budget: Option<Duration>,
    /// Once another thread has set it, the solve ends as it does at the time cap.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Record residual, violation, |Δγ| and objective after every iteration (costs two to three times as
    /// much).
    pub history: bool,
}

impl Default for Stop {
    fn default() -> Self {
        Self { tolerance: 1e-4, iterations: 200, budget: None, interrupt: None, history: false }
    }
}

impl Stop {
    /// Whether a solve that has `begun` then has had its time, or was interrupted.
    pub fn is_late(&self, begun: Instant) -> bool {
        self.is_interrupted() || self.budget.is_some_and(|budget| begun.elapsed() >= budget)
    }

    /// Whether it was interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.as_ref().is_some_and(|raised| raised.load(Ordering::Relaxed))
    }

    /// What is left of the cap on wall-clock time for a part of a solve that has `begun` then.
    pub fn time_left(&self, begun: Instant) -> Option<Duration> {
        self.budget.map(|budget| budget.saturating_sub(begun.elapsed()))
    }
}

/// How a solve ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The residual is within the tolerance.
    #[default]
    Converged,
    /// The iteration cap was reached first.
    Iterations,
    /// The time cap was reached first, or the solve was interrupted.
    Budget,
    /// The constraints contradict each other: the multipliers run off along a ray that proves it.
    Wedged,
    /// The multipliers left the range of finite numbers; those returned are the last finite ones.
    Diverged,
}

impl Status {
    /// How bad it is, from 0 for what converged.
    pub(crate) fn badness(self) -> u8 {
        match self {
            Status::Converged => 0,
            Status::Iterations => 1,
            Status::Budget => 2,
            Status::Wedged => 3,
            Status::Diverged => 4,
        }
    }
}

/// One iteration's record.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Record {
    /// Largest natural-map residual, m/s.
    pub residual: f64,
    /// ε_v, m/s.
    pub constraint_violation: f64,
    /// |γ_new - γ_old|, N s.
    pub delta_gamma: f64,
    /// ½ γᵀNγ + rᵀγ, J.
    pub objective: f64,
}

/// What one of the solvers that [`auto`](self) tried did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Attempt {
    /// Its name.
    pub solver: &'static str,
    /// What one iteration is.
    pub unit: &'static str,
    /// Iterations done.
    pub iterations: usize,
    /// How it ended.
    pub status: Status,
}

/// What a solver returns.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Multipliers, in the problem's row order, N s.
    pub gamma: Vec<f64>,
    /// How it ended.
    pub status: Status,
    /// Iterations done.
    pub iterations: usize,
    /// One record per iteration, if asked for.
    pub history: Vec<Record>,
    /// Relaxation factor in force at the end (after halvings).
    pub omega: f64,
    /// Iterations rejected because assumption A3 failed.
    pub rejected: usize,
    /// Who did it, in order, where a solver handed the problem on to others; empty otherwise.
    pub attempts: Vec<Attempt>,
    /// The judge's word on `gamma`, where the solver asked for it.
    pub certificate: Option<Certificate>,
    /// Multipliers grew and the residual did not fall. A problem that contradicts itself looks like this, but
    /// slow ones may, too: [`Status::Wedged`] is said only where there is a proof. Gradient methods alone
    /// look for it.
    pub grows: bool,
}

impl Solution {
    /// Multipliers (N s, in the problem's row order), how the solve ended, and after how many iterations.
    pub fn new(gamma: Vec<f64>, status: Status, iterations: usize) -> Self {
        Self { gamma, status, iterations, ..Self::none() }
    }

    /// Before the first iteration: the guess with every block projected on its set, or zeros.
    fn start(problem: &Problem, guess: Option<&[f64]>) -> Self {
        let mut gamma = guess.map_or_else(|| vec![0.0; problem.rows()], <[f64]>::to_vec);
        // Zero is in every set of a step's problem, but not in every interval.
        let bilateral = |i: usize| match problem {
            Problem::Bodies(p) => i >= p.points.len() && p.general.set[i - p.points.len()] == Set::Free,
            Problem::Explicit(_) => false,
        };
        for i in (0..problem.blocks()).filter(|i| !bilateral(*i)) {
            let set = problem.set(i);
            if set != Set::Free {
                set.project(&mut gamma[problem.block(i)]);
            }
        }
        Self { gamma, ..Self::none() }
    }

    /// Of no multipliers yet.
    fn none() -> Self {
        Self {
            gamma: Vec::new(),
            status: Status::Iterations,
            iterations: 0,
            history: Vec::new(),
            omega: 1.0,
            rejected: 0,
            attempts: Vec::new(),
            certificate: None,
            grows: false,
        }
    }
}

/// A solver with its parameters and buffers.
pub trait Solver: Send {
    /// What it is.
    fn info(&self) -> &'static Info;

    /// Memory held for the last problem, bytes.
    fn bytes(&self) -> usize;

    /// Solves `problem` from `guess` (zero multipliers if none).
    fn solve(&mut self, problem: &Problem, guess: Option<&[f64]>, stop: &Stop)
    -> Result<Solution, Malformed>;

    /// The same without looking the problem over again: for solvers that hand problems on to each other.
    fn solve_checked(
        &mut self,
        problem: Checked,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        self.solve(&problem, guess, stop)
    }

    /// From now on returns problems untouched for which one factorisation takes more operations than this.
    /// Those that factor nothing take no notice.
    fn limit_operations(&mut self, _most: f64) {}

    /// From now on ends where it is not expected to arrive within this many iterations; `usize::MAX` is any
    /// number. Those that do not look ahead take no notice.
    fn expect_within(&mut self, _iterations: usize) {}

    /// v = v_free + M⁻¹ D γ of the solution returned last, in the order of the problem's bodies, where the
    /// solver has it at hand.
    fn velocities(&self) -> Option<&[[f64; 6]]> {
        None
    }

    /// Begins the next solve with nothing kept from the last: a penalty that had been fitted to it, say.
    fn forget(&mut self) {}

    /// Its judge, if it has one: who asks it for a word on the solution needs no memory of their own.
    fn judge(&mut self) -> Option<&mut Judge> {
        None
    }

    /// Whether it solves position problems, too, where it is named: one that has its data on a device does.
    /// What corrects positions is otherwise the same for every solver, [`Positions`].
    fn corrects_positions(&self) -> bool {
        false
    }
}

/// A registry entry: what a solver is, for people and for `drystone solvers`.
#[derive(Debug, Serialize)]
pub struct Info {
    /// Name on the command line.
    pub name: &'static str,
    /// One line.
    pub title: &'static str,
    /// When to use it.
    pub use_when: &'static str,
    /// Models it solves by itself. One that knows the relaxed problem alone solves Coulomb's by outer
    /// iterations on the slip.
    pub models: &'static [&'static str],
    /// What one iteration is: "sweep", "multiplication", "factorisation", "solve" (with a factor that is
    /// kept), or "iteration" of whatever solver was picked.
    pub unit: &'static str,
    /// Key in REFERENCES.bib and place.
    pub citation: &'static str,
    /// Parameters with defaults.
    pub params: &'static [Param],
    /// Makes one from its parameters, which are known to be among [`Info::params`].
    #[serde(skip)]
    pub make: fn(&Spec) -> Result<Box<dyn Solver>, BadSpec>,
}

impl Info {
    /// Whether it solves the laws themselves. (Otherwise it solves them for a cone of facets.)
    pub fn is_exact(&self) -> bool {
        !self.models.contains(&"polyhedral")
    }

    /// Models that it solves by outer iterations on the slip around its own.
    pub fn models_by_outer_iteration(&self) -> &'static [&'static str] {
        if self.models.contains(&"coulomb") || !self.is_exact() { &[] } else { &["coulomb"] }
    }
}

/// Every solver.
pub const REGISTRY: &[&Info] = &[
    &auto::INFO,
    &pgj::INFO,
    &pgs::INFO,
    &pssor::INFO,
    &apgd::INFO,
    &bb::INFO,
    &nncg::INFO,
    &apgs::INFO,
    &cpg::INFO,
    &block::AC,
    &block::PROJECTION,
    &block::LEMKE,
    &block::QP,
    &lemke::INFO,
    &block::SPHERE,
    &admm::INFO,
    &prox::INFO,
    &schur::INFO,
    &ipm::INFO,
];

/// Solvers of other crates.
static INSTALLED: RwLock<Vec<&'static Info>> = RwLock::new(Vec::new());

/// Makes a solver of another crate known by its name. One that is known already is left.
pub fn install(info: &'static Info) {
    let mut installed = INSTALLED.write().unwrap_or_else(|e| e.into_inner());
    if !installed.iter().any(|i| i.name == info.name) {
        installed.push(info);
    }
}

/// Every solver that can be made: those of [`REGISTRY`] and those of other crates.
pub fn known() -> Vec<&'static Info> {
    let installed = INSTALLED.read().unwrap_or_else(|e| e.into_inner());
    REGISTRY.iter().copied().chain(installed.iter().copied()).collect()
}

/// The solver of this name.
pub fn find(name: &str) -> Option<&'static Info> {
    known().into_iter().find(|i| i.name == name)
}

/// Makes a solver from a text such as `pgs:omega=0.6,lambda=0.9`.
pub fn make(text: &str) -> Result<Box<dyn Solver>, BadSpec> {
    make_with(text, Outer::in_rounds)
}

/// The same with this kind of outer iterations on the slip, where there are any.
fn make_with(text: &str, outer: fn(Box<dyn Solver>) -> Outer) -> Result<Box<dyn Solver>, BadSpec> {
    let spec = Spec::parse(text)?;
    let info = find(&spec.name).ok_or_else(|| {
        let names: Vec<&str> = known().iter().map(|i| i.name).collect();
        BadSpec::unknown("solver", &spec.name, &names)
    })?;
    spec.check(info.params)?;
    let solver = (info.make)(&spec)?;
    Ok(match info.models_by_outer_iteration().is_empty() {
        true => solver,
        false => Box::new(outer(solver)),
    })
}

/// A solver of the relaxed problem that solves Coulomb's as well, by outer iterations on the slip.
pub fn with_slip(inner: Box<dyn Solver>) -> Box<dyn Solver> {
    Box::new(Outer::in_rounds(inner))
}

/// Blocks that one thread projects in a row.
const PIECE: usize = 2048;

/// Every block of `gamma` projected on its set, into `to`.
fn project(problem: &Problem, gamma: &[f64], to: &mut Vec<f64>) {
    to.clear();
    to.extend_from_slice(gamma);
    let blocks = problem.blocks();
    let run = |k: usize| k * PIECE..blocks.min((k + 1) * PIECE);
    let ends = (0..blocks.div_ceil(PIECE)).map(|k| problem.block(run(k).end - 1).end);
    parallel::for_each_part(ends, &mut to[..], |k, rows| {
        let first = problem.block(run(k).start).start;
        for i in run(k) {
            let Range { start, end } = problem.block(i);
            problem.set(i).project(&mut rows[start - first..end - first]);
        }
    });
}
