//! The papers' fixed-point iteration, of which PGJ, PGS and SSOR are three readings
//! [TasoraAnitescu2011, eq. 44]:
//!
//! ```text
//!     γ ← λ Π(γ - ω B (N γ + r + K (γ_new - γ))) + (1 - λ) γ
//! ```
//!
//! B = diag(η_i I), η_i = 1 / g_i from the trace (eq. 48) or one ξ for all blocks; K = 0 (Jacobi), or the
//! strictly lower (upper) blocks of N (forward, backward Gauss-Seidel).
//!
//! Assumption A3 asks Δγᵀ((λωB)⁻¹ + K - N/2)Δγ ≥ β|Δγ|². For Jacobi it is checked after every iteration;
//! where it fails the iteration is rejected and ω halved [TasoraAnitescu2011, §4.1]. For Gauss-Seidel, with N
//! = L + G + Lᵀ and K = L, the off-diagonal parts cancel (xᵀLx = xᵀLᵀx) and A3 is Σ Δγ_iᵀ(1/(λωη_i) -
//! N_ii/2)Δγ_i ≥ β|Δγ|²: a condition on each block alone, met for every Δγ when λωη_i times the largest
//! eigenvalue of N_ii is below 2. It is therefore ensured before the first sweep, by halving ω in just those
//! blocks where it fails (B may differ from block to block), and no sweep is ever rejected.

use std::time::Instant;

use crate::certificate::Judge;
use crate::friction_law::FrictionLaw;
use crate::parallel;
use crate::problem::{Malformed, Problem};

use super::growth::Growth;
use super::island_batch::BatchSweeper;
use super::nncg::{Conjugation, Momentum};
use super::outlook::Outlook;
use super::settle::Settle;
use super::sphere_contacts::{self, Form, SphereSweeper};
use super::sweep::BodySweeper;
use super::sweep_explicit::ExplicitSweeper;
use super::{BadSpec, Info, Param, Record, Solution, Solver, Spec, Status, Stop, apgs, project};

/// Which K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Jacobi,
    Forward,
    /// Forward and backward in turn; each counts as one iteration [TasoraAnitescu2008, steps 5-8].
    Symmetric,
}

/// One pass over all blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Jacobi,
    Forward,
    Backward,
    /// Changes nothing: what every block would be asked to do now.
    Measure,
}

/// What a pass saw.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PassStats {
    /// max |Δγ_i| / (λ ω_i η_i): the residual each block had when it was visited, m/s.
    pub residual: f64,
    /// Σ |Δγ_i|², (N s)².
    pub delta_sq: f64,
    /// Σ |Δγ_i|² / (λ ω_i η_i), J: the first term of A3.
    pub weighted: f64,
    /// Δγᵀ N Δγ, J: the last term of A3; Jacobi passes only.
    pub curvature: f64,
    /// Σ of the squares of what [`Self::residual`] is the largest of, (m/s)²; sweeps of balls in f32 after
    /// [`Sweeper::extrapolate`].
    pub squares: f64,
    /// Σ ⟨Δγ_i, γ_i - γ_last,i⟩ / (λ ω_i η_i), J, after [`Sweeper::extrapolate`]: negative where the momentum
    /// led away.
    pub turn: f64,
}

/// The iteration over one form of the problem.
pub(super) trait Sweeper {
    /// Takes the problem, the guess, and ω_i η_i of every block.
    fn start(&mut self, problem: &Problem, guess: Option<&[f64]>, step: Vec<f64>);
    /// One pass.
    fn pass(&mut self, problem: &Problem, pass: Pass, lambda: f64) -> PassStats;
    /// Undoes the last (Jacobi) pass.
    fn reject(&mut self);
    /// Multiplies every step ω_i η_i by `factor`.
    fn rescale(&mut self, factor: f64);
    /// γ in the problem's rows.
    fn gamma(&mut self, problem: &Problem, out: &mut Vec<f64>);
    /// Remembers γ (and its velocities) as the place from which the next pass starts, and forgets p if
    /// `restart`.
    fn mark(&mut self, restart: bool);
    /// With Δ = γ - the place marked: γ ← γ + β p, then p ← β p + Δ.
    fn conjugate(&mut self, beta: f64);
    /// γ ← γ + β (γ - γ_last), where γ_last is what was marked, or was γ at the last call; then γ_last is
    /// what was γ.
    fn extrapolate(&mut self, beta: f64);
    /// Remembers γ (and its velocities) as the best so far.
    fn keep(&mut self);
    /// Takes the best so far for γ.
    fn restore(&mut self, problem: &Problem);
    /// f(γ) = ½ ⟨γ, u + r⟩, J.
    fn objective(&self, problem: &Problem) -> f64;
    /// What rounding may do to f, as a share of it.
    fn rounding(&self) -> f64 {
        1e-13
    }
    /// Takes velocities from γ anew, where they were carried on from pass to pass and rounding may have led
    /// them astray.
    fn refresh(&mut self, _problem: &Problem) {}
    /// A residual, m/s, below which its arithmetic has nothing to say.
    fn floor(&self) -> f64 {
        0.0
    }
}

/// Where η comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Eta {
    Trace,
    /// One value for all blocks: the smallest of the trace values, or the number given.
    Uniform(Option<f64>),
}

pub(super) const OMEGA: Param = Param { name: "omega", default: "1", help: "relaxation factor, above 0" };
pub(super) const LAMBDA: Param = Param { name: "lambda", default: "1", help: "smoothing factor, in (0, 1]" };
pub(super) const ETA: Param = Param {
    name: "eta",
    default: "trace",
    help: "step per block: trace (eq. 48), uniform, or a number in kg",
};
pub(super) const SAFEGUARD: Param =
    Param { name: "safeguard", default: "on", help: "on: halve omega where assumption A3 fails; off: never" };

/// The solver behind all three names.
pub(super) struct FixedPoint {
    info: &'static Info,
    scheme: Scheme,
    omega: f64,
    lambda: f64,
    eta: Eta,
    safeguard: bool,
    single: bool,
    momentum: Option<Momentum>,
    /// Whether contacts of spheres may have two steps, along the normal and across.
    cone: bool,
    /// The guess, projected.
    admissible: Vec<f64>,
    /// Multipliers on the way.
    finite: Vec<f64>,
    spheres: SphereSweeper,
    bodies: BodySweeper,
    explicit: ExplicitSweeper,
    batch: BatchSweeper,
    /// Solves since the sweeps in f64 were of use.
    idle: u32,
    /// What the last problem took, bytes.
    held: usize,
    judge: Judge,
    growth: Growth,
    settle: Settle,
    /// Iterations within which it must be expected to arrive, if any.
    worth: Option<usize>,
}

/// Under Nesterov's momentum the residual is looked at below so many tolerances, after every so many sweeps.
const NEAR: f64 = 3.0;
const EVERY: usize = 4;
/// It leaves f32 where the residual has not fallen by a tenth for as many sweeps as it took to get there, and
/// more than these.
const STALLED: usize = 300;
/// After so many solves without use the memory of sweeps in f64 is given back.
const IDLE: u32 = 16;

impl FixedPoint {
    pub fn new(info: &'static Info, scheme: Scheme, spec: &Spec, omega: f64) -> Result<Self, BadSpec> {
        let eta = match spec.text("eta") {
            None | Some("trace") => Eta::Trace,
            Some("uniform") => Eta::Uniform(None),
            Some(_) => Eta::Uniform(Some(spec.positive("eta", 1.0, f64::INFINITY)?)),
        };
        let safeguard = match spec.text("safeguard") {
            None | Some("on") => true,
            Some("off") => false,
            Some(other) => return Err(BadSpec::unknown("safeguard", other, &["on", "off"])),
        };
        let plain = Self::plain(info, scheme, omega);
        Ok(Self {
            omega: spec.positive("omega", omega, f64::INFINITY)?,
            lambda: spec.positive("lambda", 1.0, 1.0)?,
            eta,
            safeguard,
            single: sphere_contacts::may_be_single(spec)?,
            ..plain
        })
    }

    /// With every parameter at its default.
    pub fn plain(info: &'static Info, scheme: Scheme, omega: f64) -> Self {
        Self {
            info,
            scheme,
            omega,
            lambda: 1.0,
            eta: Eta::Trace,
            safeguard: true,
            single: true,
            momentum: None,
            cone: false,
            admissible: Vec::new(),
            finite: Vec::new(),
            spheres: SphereSweeper::default(),
            bodies: BodySweeper::default(),
            explicit: ExplicitSweeper::default(),
            batch: BatchSweeper::default(),
            idle: 0,
            held: 0,
            judge: Judge::default(),
            growth: Growth::default(),
            settle: Settle::default(),
            worth: None,
        }
    }

    /// The same with a momentum over the sweeps.
    pub fn with_momentum(self, momentum: Momentum) -> Self {
        Self { momentum: Some(momentum), ..self }
    }

    /// The same with two steps for contacts of spheres in f32, if `cone`.
    pub fn with_cone(self, cone: bool) -> Self {
        Self { cone, ..self }
    }

    /// Whether f32 may do part of the work.
    fn may_be_single(&self) -> bool {
        self.single && self.scheme != Scheme::Jacobi && self.eta == Eta::Trace
    }

    /// What the compact form is asked for.
    fn grain_steps(&self, problem: &Problem) -> Form {
        Form {
            beyond: self.momentum == Some(Momentum::Nesterov),
            cone: self.cone && problem.rest_is_feasible(),
        }
    }

    /// ω_i η_i for every block, with A3 ensured for the Gauss-Seidel schemes. Returns the smallest ω_i.
    fn steps(&self, problem: &Problem, step: &mut Vec<f64>) -> f64 {
        let uniform = match self.eta {
            Eta::Trace => None,
            Eta::Uniform(Some(x)) => Some(x),
            Eta::Uniform(None) => {
                let most = (0..problem.blocks()).map(|i| problem.block_diagonal(i)[0]).fold(0.0, f64::max);
                Some(if most > 0.0 { 1.0 / most } else { 0.0 })
            }
        };
        step.resize(problem.blocks(), 0.0);
        if self.momentum == Some(Momentum::Nesterov) {
            // A momentum does not bear sweeps that ask a block for more than solves it.
            parallel::map_chunks(step, 2048, &mut Vec::new(), |first, run| {
                for (i, step) in (first..).zip(run) {
                    let most = apgs::largest_eigenvalue(problem, i);
                    *step = if most > 0.0 { 1.0 / most } else { 0.0 };
                }
            });
            return 1.0;
        }
        let mut parts = Vec::new();
        parallel::map_chunks(step, 2048, &mut parts, |first, run| {
            let mut least = self.omega;
            for (i, step) in (first..).zip(run) {
                let [g, bound] = problem.block_diagonal(i);
                let eta = if g > 0.0 { uniform.unwrap_or(1.0 / g) } else { 0.0 };
                let mut omega = self.omega;
                while self.safeguard
                    && self.scheme != Scheme::Jacobi
                    && self.lambda * omega * eta * bound >= 2.0
                {
                    omega *= 0.5;
                }
                least = least.min(omega);
                *step = omega * eta;
            }
            least
        });
        parts.into_iter().fold(self.omega, f64::min)
    }
}

impl Solver for FixedPoint {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn bytes(&self) -> usize {
        self.held
    }

    fn judge(&mut self) -> Option<&mut Judge> {
        Some(&mut self.judge)
    }

    fn expect_within(&mut self, iterations: usize) {
        self.worth = (iterations < usize::MAX).then_some(iterations);
    }

    fn solve(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        if let Some(done) = parallel::as_suits(problem.blocks(), || self.solve(problem, guess, stop)) {
            return done;
        }
        problem.check()?;
        if let Some(g) = guess
            && (g.len() != problem.rows() || !parallel::all(g.len(), |i| g[i].is_finite()))
        {
            return Err(Malformed::guess(problem.rows()));
        }
        let begun = Instant::now();
        let mut solution = Solution {
            gamma: Vec::new(),
            status: Status::Iterations,
            iterations: 0,
            history: Vec::new(),
            omega: self.omega,
            rejected: 0,
            attempts: Vec::new(),
            certificate: None,
            grows: false,
        };
        // Multipliers outside the cones may have any objective: what must not rise is that of admissible
        // ones.
        let guess = match guess {
            Some(g) if self.momentum.is_some() => {
                project(problem, g, &mut self.admissible);
                Some(self.admissible.as_slice())
            }
            as_given => as_given,
        };
        let omegas = [self.omega, self.lambda];
        let mut single = self.may_be_single()
            && self.spheres.begin(problem, guess, omegas, self.safeguard, self.grain_steps(problem));
        let batch = self.scheme == Scheme::Jacobi
            && self.eta == Eta::Trace
            && self.batch.begin(problem, guess, omegas, stop.iterations);
        let mut omega = if batch { self.omega } else { self.spheres.omega() };
        if !single && !batch {
            let mut step = match problem {
                Problem::Bodies(_) => std::mem::take(&mut self.bodies.step),
                Problem::Explicit(_) => std::mem::take(&mut self.explicit.step),
            };
            omega = self.steps(problem, &mut step);
            match problem {
                Problem::Bodies(_) => self.bodies.start(problem, guess, step),
                Problem::Explicit(_) => self.explicit.start(problem, guess, step),
            }
        }
        let mut sweeper: &mut dyn Sweeper = match problem {
            _ if single => &mut self.spheres,
            _ if batch => &mut self.batch,
            Problem::Bodies(_) => &mut self.bodies,
            Problem::Explicit(_) => &mut self.explicit,
        };
        let convex = problem.model() == FrictionLaw::Ccp;
        // The exact law has no objective that could rise.
        let start = |s: &dyn Sweeper| if convex { s.objective(problem) } else { f64::INFINITY };
        let mut conjugation = self.momentum.map(|m| Conjugation::new(m, start(sweeper)));
        self.growth.restart();
        self.settle.restart();
        let may_wedge = !problem.rest_is_feasible();
        // A sweep sees each block before its neighbours have moved on; what all of them see at its end takes
        // a pass of its own. After a look that was not good enough, look again once the sweeps' own measure
        // has fallen by as much as was still missing, or after a quarter more sweeps. Only the judge's word
        // ends the iteration.
        let (mut look_below, mut look_at) = (stop.tolerance, 0);
        let often = self.momentum == Some(Momentum::Nesterov);
        let mut finite = std::mem::take(&mut self.finite);
        finite.clear();
        let (mut floor, mut refreshed) = (sweeper.floor(), false);
        // The exact law has nothing that falls while blocks are solved one by one.
        let (settles, mut settled) = (single && often && convex, false);
        // A residual, and the sweep that reached it: the next is set by one that is a tenth smaller. That of
        // the worst of many blocks comes and goes: where all are known, their root mean square.
        let (mut mark, mut beaten) = (f64::INFINITY, 0);
        let mut outlook = Outlook::default();
        for k in 1..=stop.iterations {
            let pass = match self.scheme {
                Scheme::Jacobi => Pass::Jacobi,
                Scheme::Symmetric if k % 2 == 0 => Pass::Backward,
                _ => Pass::Forward,
            };
            if let Some(c) = &mut conjugation {
                c.before(sweeper);
            }
            let stats = sweeper.pass(problem, pass, self.lambda);
            solution.iterations = k;
            if let Some(c) = &mut conjugation {
                c.after(problem, sweeper, &stats);
            }
            let recovers = conjugation.as_ref().is_some_and(Conjugation::restarted);
            if !stats.delta_sq.is_finite() && !recovers {
                solution.status = Status::Diverged;
                break;
            }
            if pass == Pass::Jacobi && self.safeguard && stats.weighted < 0.5 * stats.curvature {
                sweeper.reject();
                sweeper.rescale(0.5);
                omega *= 0.5;
                solution.rejected += 1;
            }
            if stop.history {
                sweeper.gamma(problem, &mut solution.gamma);
                let c = self.judge.judge(problem, &solution.gamma);
                solution.history.push(Record {
                    residual: c.residual_max,
                    constraint_violation: c.constraint_violation,
                    delta_gamma: stats.delta_sq.sqrt(),
                    objective: c.dual_objective,
                });
            }
            if settles && self.settle.is_due(k, &stats, problem.blocks(), stop.tolerance) {
                sweeper.gamma(problem, &mut solution.gamma);
                settled = self.settle.run(problem, &mut self.judge, &mut solution.gamma, stop.tolerance);
                if settled {
                    solution.status = Status::Converged;
                    break;
                }
            }
            // From where a momentum led a sweep sees more than it leaves: below three times the tolerance,
            // look now and then.
            let near = often && stats.residual <= NEAR * stop.tolerance && k % EVERY == 0;
            let due =
                near || stats.residual <= look_below || (stats.residual <= stop.tolerance && k >= look_at);
            if stop.tolerance > 0.0 && (due || k == stop.iterations) {
                let mut residual = sweeper.pass(problem, Pass::Measure, self.lambda).residual;
                if residual <= stop.tolerance {
                    let measured = residual;
                    sweeper.gamma(problem, &mut solution.gamma);
                    residual = self.judge.judge(problem, &solution.gamma).residual_max;
                    if residual <= stop.tolerance {
                        solution.status = Status::Converged;
                        break;
                    }
                    if residual > 2.0 * measured {
                        // Velocities that were carried on for long are made anew once; then f32 is at its
                        // end.
                        match often && !refreshed {
                            true => sweeper.refresh(problem),
                            false => floor = f64::INFINITY,
                        }
                        refreshed = true;
                    }
                }
                look_below = (stats.residual * stop.tolerance / residual).min(0.9 * stats.residual);
                look_at = k + k / 4 + 8;
            }
            if may_wedge && Growth::due(k) {
                let residual = sweeper.pass(problem, Pass::Measure, self.lambda).residual;
                sweeper.gamma(problem, &mut finite);
                if self.growth.tell(problem, &mut self.judge, &finite, residual) {
                    solution.status = Status::Wedged;
                    break;
                }
            }
            if stop.is_late(begun) {
                solution.status = Status::Budget;
                break;
            }
            if single && Growth::due(k) {
                floor = floor.max(sweeper.floor());
            }
            let seen = if stats.squares > 0.0 { stats.squares.sqrt() } else { stats.residual };
            if seen < 0.9 * mark {
                (mark, beaten) = (seen, k);
            }
            if self.worth.is_some_and(|worth| outlook.tell(k, stats.residual / stop.tolerance) > worth as f64)
            {
                break;
            }
            let stalled = often && k > (2 * beaten).max(STALLED);
            if single && (stats.residual <= floor || stalled) {
                // f32 has said what it can: on in f64 from there.
                sweeper.gamma(problem, &mut finite);
                let mut step = std::mem::take(&mut self.bodies.step);
                self.steps(problem, &mut step);
                self.bodies.start(problem, Some(&finite), step);
                (sweeper, single) = (&mut self.bodies, false);
                if let Some(c) = &mut conjugation {
                    c.handed_over(sweeper);
                }
                (look_below, look_at) = (stop.tolerance, 0);
            }
        }
        solution.omega = omega;
        self.idle = if single { self.idle + 1 } else { 0 };
        let mut improved = true;
        if let Some(c) = conjugation
            && !matches!(solution.status, Status::Converged | Status::Wedged)
        {
            improved = c.choose(problem, sweeper);
        }
        match settled {
            true => self.settle.record(problem, &mut self.judge, &mut solution),
            false => sweeper.gamma(problem, &mut solution.gamma),
        }
        if !improved {
            solution.gamma = guess.map_or_else(|| vec![0.0; problem.rows()], <[f64]>::to_vec);
        }
        if self.idle == IDLE {
            self.bodies = BodySweeper::default();
        }
        // Without the safeguard an iteration can run away long before it overflows. Zero multipliers have
        // objective 0: what ends above that, and above the guess, is worse than doing nothing.
        if convex && !self.safeguard && solution.status != Status::Converged {
            let reached = self.judge.judge(problem, &solution.gamma).dual_objective;
            let start = guess.map_or(0.0, |g| self.judge.judge(problem, g).dual_objective.max(0.0));
            if reached > start + 1e-9 * start.abs() + f64::MIN_POSITIVE {
                solution.status = Status::Diverged;
            }
        }
        if !parallel::all(solution.gamma.len(), |i| solution.gamma[i].is_finite()) {
            solution.status = Status::Diverged;
            solution.gamma = if finite.iter().all(|x| x.is_finite()) && finite.len() == problem.rows() {
                std::mem::take(&mut finite)
            } else {
                guess.map_or_else(|| vec![0.0; problem.rows()], <[f64]>::to_vec)
            };
        }
        self.held = self.spheres.bytes()
            + self.bodies.bytes()
            + self.explicit.bytes()
            + self.batch.bytes()
            + self.settle.bytes();
        if problem.has_many_bodies() {
            (self.spheres, self.bodies) = (SphereSweeper::default(), BodySweeper::default());
            self.settle = Settle::default();
            self.admissible = Vec::new();
        } else {
            self.finite = finite;
        }
        Ok(solution)
    }
}
