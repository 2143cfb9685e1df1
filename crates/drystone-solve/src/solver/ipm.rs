//! Primal-dual interior point on the cones' own geometry: the referee.
//!
//! The relaxed problem min ½ γᵀ(N + C)γ + rᵀγ over K, with s = G γ + g ∈ S of [`cones`], has the optimality
//! conditions
//!
//! ```text
//!     (N + C) γ + r = Gᵀ z,      s = G γ + g,      s ∘ z = 0,      s, z ∈ S
//! ```
//!
//! which are followed along s ∘ z = σμ e → 0 with Nesterov-Todd scaling and Mehrotra's correction
//! \[Vandenberghe2010, §6\]:
//!
//! 1. W, λ at (s, z); factor N + C + Gᵀ W⁻² G.
//! 2. Predict: (N + C + GᵀW⁻²G) Δγ = -((N + C)γ + r), Δs = G Δγ, Δz = -z - W⁻² Δs; α the longest step.
//! 3. σ = (1 - α)³; correct: d = -λ∘λ - (W⁻¹Δs)∘(WΔz) + σμ e,
//!    (N + C + GᵀW⁻²G) Δγ = -(1 - σ)((N + C)γ + r - Gᵀz) + Gᵀ W⁻¹ (λ \ d), Δz = W⁻¹ (λ \ d - W⁻¹ Δs).
//! 4. A step of 0.99 of what the cones allow, the same for γ and z.
//!
//! γ is inside K from the first iterate to the last. The factor is that of [`System`], with a hair of
//! compliance where a bilateral row has none; conjugate gradients on the true matrix take out what this and
//! rounding cost. An iteration is one factorisation. Warm starts do not help an interior method: a guess is
//! used only if it is good enough already.
//!
//! Rounding keeps s = G γ from coming nearer to the boundary than 1e-16 |γ|, which leaves residuals of 1e-7
//! to 1e-9 m/s where a contact slides. What is left below that is taken off by Newton steps of
//! [`super::prox`] from there (a crossover), counted as iterations like all others.
//!
//! **The bias of the interior.** Inside both cones every contact separates, u_n > 0, by a little: errors of
//! one sign, which a simulation adds up step after step, however small they are. A pile that is held together
//! by friction comes apart in this way: once its contacts are open the true solution slides. So what is
//! within the tolerance is taken to the boundary by a few Newton steps of [`super::prox`], which leave closed
//! contacts closed to rounding.
//!
//! **Exact Coulomb.** There u + s(u) e_n takes the place of u \[DeSaxce1998\], s = Σ μ |z₁| over the cones of
//! a block: the velocities' tangential parts are those of z. The slip is one more unknown of the same Newton
//! step, eliminated at once: with B y = Gᵀ y - Σ μ ⟨z₁, y₁⟩/|z₁| e_n, which has B z = Gᵀ z - s e_n, every Gᵀ
//! above becomes B. The matrix N + C + B W⁻² G is not symmetric and is factored by LU; the rest is the same.
//! The law is not convex: it may have several solutions, and nothing promises convergence. A pile that can
//! rest may also have a solution in which it slides, and the path with the slip leads there as readily. So
//! the first try has no slip, which is the relaxed problem: where that rests it solves the exact law too, and
//! where it nearly does, the last digits are those of [`polish`] from there. Only then comes the slip, at
//! once and, where there is no progress, in further tries gradually; what is left after that is left to a
//! fixed point on the slip ([`super::outer`]).

mod cones;
mod linear;
mod polish;

use std::time::Instant;

use crate::certificate::Judge;
use crate::cone::AdmissibleSet;
use crate::friction_law::FrictionLaw;
use crate::problem::{Malformed, Problem};

use super::growth::Growth;
use super::outer::Outer;
use super::prox::Prox;
use super::system::small::Small;
use super::system::{System, record};
use super::{BadSpec, Info, Solution, Solver, Spec, Status, Stop, first_order};
use cones::Cone;
use polish::Polish;

pub(super) static INFO: Info = Info {
    name: "ipm",
    title: "primal-dual interior point with Nesterov-Todd scaling, sparse Cholesky or LU",
    use_when: "a reference: 1e-9 m/s in 10 to 40 factorisations, up to about 1e4 contacts; exact Coulomb where much slides; no warm start",
    models: &["ccp", "coulomb"],
    unit: "factorisation",
    citation: "Vandenberghe2010, §6",
    params: &[],
    make,
};

fn make(_: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    Ok(Box::new(Ipm { crossover: Prox::new(1e-6), ..Ipm::default() }))
}

/// Where a bilateral row has no compliance, the factor has this share of its diagonal.
const HAIR: f64 = 1e-9;
/// Under the exact law: the share of the longest step that is taken, where the prediction was poor and where
/// it was good.
const SHY: f64 = 0.9;
const BOLD: f64 = 0.999;
/// Iterations without progress after which the path is taken to be lost.
const PATIENCE: usize = 5;
/// How much of the slip each try lets in more in each iteration: what sticks in the end is found more easily
/// without it. The first lets in none: see the module.
const GROWTHS: &[f64] = &[0.0, 1.0, 0.2, 1.0 / 15.0];
/// Share of the first residual from which Newton's method is tried, and how many of its steps.
const NEAR: f64 = 0.03;
/// Share of the tolerance that the relaxed problem is solved to, where that goes quickly.
const DIGITS: f64 = 1e-3;
/// Iterations that the relaxed problem has at least.
const RELAXED: usize = 6;
const NEWTON: usize = 50;
/// Share of the tolerance to which contacts are closed in the end, m/s below which that is rounding, and the
/// factorisations for it.
const CLOSED: f64 = 1e-6;
const ROUNDING: f64 = 1e-13;
const CLOSING: usize = 4;

#[derive(Default)]
struct Ipm {
    system: System,
    judge: Judge,
    cones: Vec<Cone>,
    fixed: Vec<bool>,
    gamma: Vec<f64>,
    best: Vec<f64>,
    /// (N + C)γ + r.
    u: Vec<f64>,
    /// Gᵀ W⁻² G by block; left out where `clean` says that one cone alone makes the block.
    barrier: Vec<Small>,
    clean: Vec<bool>,
    t: Vec<Small>,
    rhs: Vec<f64>,
    step: Vec<f64>,
    cg: Conjugate,
    crossover: Prox,
    /// Coulomb's law rather than its relaxation.
    exact: bool,
    /// Most operations of one factorisation; None: any.
    most: Option<f64>,
    right: Vec<Small>,
    polish: Polish,
    fallback: Option<Outer>,
    /// How much of the slip counts, and by how much that grows in an iteration.
    share: f64,
    growth: f64,
    proof: Growth,
}

/// Vectors of the conjugate gradients.
#[derive(Default)]
struct Conjugate {
    r: Vec<f64>,
    y: Vec<f64>,
    p: Vec<f64>,
    ap: Vec<f64>,
}

impl Solver for Ipm {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn bytes(&self) -> usize {
        self.system.bytes()
            + self.crossover.bytes()
            + size_of_val(self.cones.as_slice())
            + 2 * size_of_val(self.barrier.as_slice())
            + 9 * size_of_val(self.gamma.as_slice())
    }

    fn limit_operations(&mut self, most: f64) {
        self.most = Some(most);
    }

    fn solve(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        first_order::check(problem, guess)?;
        let begun = Instant::now();
        let mut out = Solution::start(problem, guess);
        let start = self.judge.judge(problem, &out.gamma);
        let mut best = start.residual_max;
        if best <= stop.tolerance || problem.rows() == 0 {
            out.status = Status::Converged;
            return Ok(out);
        }
        self.exact = problem.model() == FrictionLaw::Coulomb;
        match self.exact {
            true => self.system.load_whole(problem),
            false => drop(self.system.load(problem)),
        }
        if self.most.is_some_and(|most| self.system.flops() > most) {
            return Ok(out);
        }
        let wedgeable = !problem.rest_is_feasible();
        let size = start.residual_max;
        self.best.clone_from(&out.gamma);
        let mut last: Option<Vec<f64>> = None;
        // Whether what was found is a solution without slip.
        let mut relaxed = true;
        let growths: &[f64] = if self.exact { GROWTHS } else { &[1.0] };
        'all: for (attempt, &growth) in growths.iter().enumerate() {
            (self.share, self.growth) = (0.0, growth);
            relaxed = !self.exact || growth == 0.0;
            let centre = self.start(problem);
            // Iterations since the best, and since one that was much better than the one before it: many of
            // them, late, mean that rounding has the upper hand, or that the path is lost.
            let (mut stale, mut idle, mut here) = (0, 0, f64::INFINITY);
            while out.iterations < stop.iterations {
                let late = match growth {
                    _ if !self.exact => stale >= 4 && out.iterations >= 15,
                    0.0 => stale >= 3 && out.iterations >= RELAXED,
                    _ => idle > PATIENCE,
                };
                if late {
                    break;
                }
                // The first iteration is cut short by an interrupt only.
                let more = || !(stop.is_interrupted() || out.iterations > 0 && stop.is_late(begun));
                let moved = more() && self.iterate(centre, &more);
                if !moved && !more() {
                    out.status = Status::Budget;
                    break 'all;
                }
                if !moved {
                    break;
                }
                out.iterations += 1;
                let c = self.judge.judge(problem, &self.gamma);
                if stop.history {
                    out.history.push(record(&c, last.as_deref().unwrap_or(&out.gamma), &self.gamma));
                    last = Some(self.gamma.clone());
                }
                stale += 1;
                idle += 1;
                if c.residual_max < 0.9 * here || self.share < 1.0 {
                    (here, idle) = (c.residual_max.min(here), 0);
                }
                if c.residual_max < best {
                    best = c.residual_max;
                    self.best.clone_from(&self.gamma);
                    stale = 0;
                }
                // Without the slip a few iterations more leave no slip that is only an error.
                let settled =
                    !(self.exact && growth == 0.0) || stale > 0 || c.residual_max <= DIGITS * stop.tolerance;
                if stop.tolerance > 0.0 && best <= stop.tolerance && settled {
                    out.status = Status::Converged;
                    break 'all;
                }
                let Self { proof, judge, gamma, system, u, exact, .. } = &mut *self;
                if wedgeable
                    && !*exact
                    && system.proves_contradiction(gamma, u)
                    && proof.is_proof(problem, judge, gamma)
                {
                    out.status = Status::Wedged;
                    self.best.clone_from(&self.gamma);
                    break 'all;
                }
            }
            // A path that ends before its goal may have run off along the ray that proves why.
            let Self { proof, judge, gamma, .. } = &mut *self;
            if wedgeable && proof.is_proof(problem, judge, gamma) {
                out.status = Status::Wedged;
                self.best.clone_from(&self.gamma);
                break 'all;
            }
            // Near enough for Newton's method, or nothing else left to try.
            if self.exact && (best <= NEAR * size || attempt + 1 == growths.len()) {
                let within = || !stop.is_late(begun);
                let most = (stop.iterations - out.iterations).min(NEWTON);
                out.gamma.clone_from(&self.best);
                let Self { polish, system, judge, .. } = self;
                let (done, residual) =
                    polish.run(problem, system, judge, &mut out.gamma, best, stop.tolerance, most, &within);
                out.iterations += done;
                if stop.history {
                    let c = judge.judge(problem, &out.gamma);
                    let all = record(&c, &self.best, &out.gamma);
                    out.history.extend(std::iter::repeat_n(all, done));
                }
                self.best.clone_from(&out.gamma);
                best = residual;
                if residual <= stop.tolerance {
                    out.status = Status::Converged;
                    break;
                }
            }
        }
        out.gamma.clone_from(&self.best);
        if out.iterations > 0 && stop.is_late(begun) {
            if out.status == Status::Iterations {
                out.status = Status::Budget;
            }
            return Ok(out);
        }
        if out.status == Status::Converged && relaxed && out.iterations < stop.iterations {
            let few = Stop {
                tolerance: (CLOSED * stop.tolerance).max(ROUNDING),
                iterations: (stop.iterations - out.iterations).min(CLOSING),
                budget: stop.time_left(begun),
                interrupt: stop.interrupt.clone(),
                history: stop.history,
            };
            let guess = Some(out.gamma.as_slice());
            let closed = match self.exact {
                // Where nothing slides; elsewhere the judge refuses it.
                true => self.fallback().solve_relaxed(problem, guess, &few)?,
                false => self.fallback().solve(problem, guess, &few)?,
            };
            out.iterations += closed.iterations;
            out.history.extend(closed.history);
            if self.judge.judge(problem, &closed.gamma).residual_max <= best {
                out.gamma = closed.gamma;
            }
        }
        if out.status == Status::Iterations && out.iterations < stop.iterations {
            let left = Stop {
                iterations: stop.iterations - out.iterations,
                budget: stop.time_left(begun),
                ..stop.clone()
            };
            let polished = match self.exact {
                true => self.fallback().solve(problem, Some(&out.gamma), &left)?,
                false if best <= NEAR * size => self.crossover.solve(problem, Some(&self.best), &left)?,
                // Lost, or without a solution: from the beginning, by someone who finds the proof of that.
                false => self.fallback().solve(problem, None, &left)?,
            };
            out.iterations += polished.iterations;
            out.history.extend(polished.history);
            out.gamma = polished.gamma;
            out.status = polished.status;
        }
        Ok(out)
    }
}

impl Ipm {
    /// Where the path was lost: a fixed point on the slip.
    fn fallback(&mut self) -> &mut Outer {
        self.fallback.get_or_insert_with(|| Outer::new(Box::new(Prox::new(1e-3))))
    }

    /// γ inside K and z = μ s⁻¹ for a μ that is the same for all. Returns μ.
    fn start(&mut self, problem: &Problem) -> f64 {
        let rows = problem.rows();
        self.gamma.clear();
        self.gamma.resize(rows, 0.0);
        self.fixed.clear();
        self.fixed.resize(rows, false);
        self.cones.clear();
        let mut size = 0.0f64;
        for i in 0..problem.blocks() {
            let (g, rows) = (self.system.diagonal[i], problem.block(i));
            let before = self.cones.len();
            Cone::of(i, problem.set(i), rows.start, &mut self.fixed, &mut self.gamma, &mut self.cones);
            if g <= 0.0 {
                // Nothing here can move: any admissible multiplier will do.
                self.cones.truncate(before);
                self.fixed[rows.clone()].fill(true);
                let gamma = &mut self.gamma[rows.clone()];
                gamma.fill(0.0);
                problem.set(i).project(gamma);
                continue;
            }
            size = rows.map(|j| self.system.r[j].abs() / g.sqrt()).fold(size, f64::max);
        }
        for k in 0..self.cones.len() {
            let block = self.cones[k].block;
            let alone = |k: usize| self.cones.get(k).is_none_or(|c| c.block != block);
            let lone = alone(k + 1) && alone(k.wrapping_sub(1));
            let much = size / self.system.diagonal[block].sqrt();
            self.cones[k].interior(much, &mut self.gamma, lone);
        }
        let centre = size * size;
        for c in &mut self.cones {
            c.s = c.image(&self.gamma, true);
            c.z = c.centred(centre);
        }
        self.u.resize(rows, 0.0);
        self.step.resize(rows, 0.0);
        self.velocity();
        centre
    }

    fn velocity(&mut self) {
        let mut u = std::mem::take(&mut self.u);
        match self.exact {
            true => self.system.apply_whole(&self.gamma, &mut u),
            false => self.system.apply(&self.gamma, &mut u),
        }
        u.iter_mut().zip(&self.system.r).for_each(|(u, r)| *u += r);
        self.u = u;
    }

    /// One iteration; false where rounding lets nothing more be gained, or `more` cut it short.
    fn iterate(&mut self, centre: f64, more: &dyn Fn() -> bool) -> bool {
        let degree = self.cones.len().max(1) as f64;
        let mu = self.cones.iter().map(|c| cones::dot(&c.s, &c.z)).sum::<f64>() / degree;
        if !mu.is_finite() || (!self.cones.is_empty() && mu <= 1e-30 * centre) {
            return false;
        }
        if self.exact {
            self.share = (self.share + self.growth).min(1.0);
            self.cones.iter_mut().for_each(|c| c.turn(self.share));
        }
        // 1.
        if !self.cones.iter_mut().all(Cone::scale) {
            return false;
        }
        if !self.factorise(more) {
            return false;
        }
        // 2.
        self.rhs.clear();
        self.rhs.extend(self.u.iter().map(|u| -u));
        self.solve();
        let mut alpha = 1.0f64;
        for c in &self.cones {
            let ds = c.over_w(&c.image(&self.step, false));
            let dz = std::array::from_fn(|k| -c.lambda[k] - ds[k]);
            alpha = alpha.min(c.longest(&ds)).min(c.longest(&dz));
        }
        // 3.
        let sigma = (1.0 - alpha).powi(3);
        let keenness = alpha.powi(4);
        let targets: Vec<cones::Vector> = self
            .cones
            .iter()
            .map(|c| {
                let ds = c.over_w(&c.image(&self.step, false));
                let dz = std::array::from_fn(|k| -c.lambda[k] - ds[k]);
                let (square, correction) = (Cone::product(&c.lambda, &c.lambda), Cone::product(&ds, &dz));
                let mut d: cones::Vector = std::array::from_fn(|k| -square[k] - correction[k]);
                d[0] += sigma * mu;
                c.divide(&d)
            })
            .collect();
        self.rhs.iter_mut().zip(&self.u).for_each(|(b, u)| *b = -(1.0 - sigma) * u);
        for (c, x) in self.cones.iter().zip(&targets) {
            let y = c.over_w(x);
            let sum = std::array::from_fn(|k| (1.0 - sigma) * c.z[k] + y[k]);
            c.transpose(&sum, &mut self.rhs);
        }
        self.solve();
        // 4.
        let mut longest = f64::INFINITY;
        let mut scaled = Vec::with_capacity(self.cones.len());
        for (c, x) in self.cones.iter().zip(&targets) {
            let ds = c.over_w(&c.image(&self.step, false));
            let dz: cones::Vector = std::array::from_fn(|k| x[k] - ds[k]);
            longest = longest.min(c.longest(&ds)).min(c.longest(&dz));
            scaled.push(dz);
        }
        let shy = if self.exact { SHY + (BOLD - SHY) * keenness } else { 0.99 };
        let alpha = (shy * longest).min(1.0);
        if !(alpha > 1e-10) || self.step.iter().any(|x| !x.is_finite()) {
            return false;
        }
        self.gamma.iter_mut().zip(&self.step).for_each(|(g, d)| *g += alpha * d);
        for (c, dz) in self.cones.iter_mut().zip(&scaled) {
            let d = c.over_w(dz);
            (0..3).for_each(|k| c.z[k] += alpha * d[k]);
            c.s = c.image(&self.gamma, true);
        }
        self.velocity();
        true
    }
}
