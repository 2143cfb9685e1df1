//! Nonsmooth nonlinear conjugate gradient over Gauss-Seidel sweeps [SilcowitzHansen2010, Algorithm 2].
//!
//! A sweep maps γ to S(γ), and γ - S(γ) vanishes at a solution: it takes the place of the gradient in the
//! method of Fletcher and Reeves,
//!
//! ```text
//!     Δ = S(γ) - γ,    β = |Δ|² / |Δ_before|²,
//!     β > 1:       γ ← S(γ),          p ← 0        restart
//!     otherwise:   γ ← S(γ) + β p,    p ← β p + Δ
//! ```
//!
//! An iteration is one sweep and a few passes over the multipliers. Declared deviations: |Δ|² is Σ |Δ_i|² /
//! (ωη_i), an energy, so that masses of any ratio weigh alike; what is returned is always the result of a
//! sweep, hence inside the cones: the last one, or the best by the sweeps' own measure if that is better, and
//! (relaxed law) never one with a higher objective than the start. Sweeps know the exact law, so that S may
//! be theirs: then |Δ|² is all that tells a restart.

use crate::problem::Problem;

use super::fixed_point::{ETA, FixedPoint, LAMBDA, OMEGA, PassStats, SAFEGUARD, Scheme, Sweeper};
use super::sphere_contacts::PRECISION;
use super::{BadSpec, Info, Solver, Spec, apgs};

pub(super) static INFO: Info = Info {
    name: "nncg",
    title: "nonsmooth nonlinear conjugate gradient over Gauss-Seidel sweeps",
    use_when: "few iterations, as in interactive use: the best of all below about 50",
    models: &["ccp", "coulomb"],
    unit: "sweep",
    citation: "SilcowitzHansen2010, Algorithm 2",
    params: &[OMEGA, LAMBDA, ETA, SAFEGUARD, PRECISION],
    make,
};

fn make(spec: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    Ok(Box::new(FixedPoint::new(&INFO, Scheme::Forward, spec, 1.0)?.with_momentum(Momentum::FletcherReeves)))
}

/// What is added to the result of a sweep before the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Momentum {
    /// β p, see the module.
    FletcherReeves,
    /// β times what the last sweep changed, see `apgs`.
    Nesterov,
}

/// Residual over the least so far with which Nesterov's momentum has led away: one that converges stays below
/// a tenth of that.
const AWAY: f64 = 1e3;

/// What the method remembers between sweeps.
#[derive(Clone, Debug)]
pub(super) struct Conjugation {
    momentum: Momentum,
    /// Sweeps since the last restart of Nesterov's momentum, and the most before the next one.
    run: u32,
    longest: u32,
    /// |Δ|² of the last sweep and of the one before, J.
    last: Option<f64>,
    before: Option<f64>,
    /// The least of the sweeps' own residuals, and the last one, m/s.
    best: f64,
    measure: f64,
    /// f of the start, J.
    start: f64,
}

impl Conjugation {
    /// At the start, whose objective is `objective`.
    pub fn new(momentum: Momentum, objective: f64) -> Self {
        Self {
            momentum,
            run: 0,
            longest: u32::MAX,
            last: None,
            before: None,
            best: f64::INFINITY,
            measure: f64::INFINITY,
            start: objective,
        }
    }

    /// Before a sweep: moves from the last sweep's result along p.
    pub fn before(&self, sweeper: &mut dyn Sweeper) {
        if self.momentum == Momentum::Nesterov {
            return match self.run {
                0 => sweeper.mark(true),
                k => sweeper.extrapolate(apgs::beta(k)),
            };
        }
        match (self.last, self.before) {
            (None, _) => sweeper.mark(true),
            (Some(_), None) => {
                sweeper.conjugate(0.0);
                sweeper.mark(false);
            }
            (Some(last), Some(before)) if last > before => sweeper.mark(true),
            (Some(last), Some(before)) => {
                sweeper.conjugate(if before > 0.0 { last / before } else { 0.0 });
                sweeper.mark(false);
            }
        }
    }

    /// After a sweep.
    pub fn after(&mut self, problem: &Problem, sweeper: &mut dyn Sweeper, stats: &PassStats) {
        if self.momentum == Momentum::Nesterov && self.run > 0 && !(stats.residual <= AWAY * self.best) {
            // Momentum led away. Without it sweeps cannot: runs of half the length, and in the end none.
            sweeper.restore(problem);
            sweeper.keep();
            (self.longest, self.run, self.measure) = (self.run / 2, 0, self.best);
            return;
        }
        (self.before, self.last) = (self.last, Some(stats.weighted));
        self.run = if stats.turn < 0.0 || self.run >= self.longest { 0 } else { self.run + 1 };
        self.measure = stats.residual;
        if self.measure <= self.best {
            self.best = self.measure;
            sweeper.keep();
        }
    }

    /// Whether the next sweep starts without momentum.
    pub fn restarted(&self) -> bool {
        self.momentum == Momentum::Nesterov && self.run == 0
    }

    /// At the end, without having converged: brings back the best sweep's result, if it is not the last.
    /// False if even that has a higher objective than the start.
    pub fn choose(&self, problem: &Problem, sweeper: &mut dyn Sweeper) -> bool {
        // A measure that is not a number is not the best either.
        let last_is_best = self.measure <= self.best;
        if self.best < f64::INFINITY && !last_is_best {
            sweeper.restore(problem);
        }
        sweeper.objective(problem) <= self.start + sweeper.rounding() * self.start.abs()
    }

    /// Another sweeper has taken over where the last one was: that is the best it knows of.
    pub fn handed_over(&mut self, sweeper: &mut dyn Sweeper) {
        (self.before, self.last, self.run) = (None, None, 0);
        self.best = f64::INFINITY;
        sweeper.keep();
    }
}
