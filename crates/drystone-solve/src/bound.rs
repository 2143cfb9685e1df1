//! Bounds on the velocity error that cost more than a judgement: a sharp one through a better solution, and
//! one where nothing is compliant through a velocity that satisfies every constraint.
//!
//! **Sharp.** The judge's bound √(2 gap) of γ loosens like 1/√C: what a stiff spring costs in the primal
//! objective is the square of the velocity it resists, over C. But the distance to any other γ' is known
//! exactly, and the gap of a γ' that is solved further is small:
//!
//! ```text
//!     | |v(γ) - v*|_M - |v(γ) - v(γ')|_M |  ≤  |v(γ') - v*|_M  ≤  √(2 gap(γ'))
//! ```
//!
//! (and the same for the translational part of the norm on the left): a bound from above and one from below.
//! γ' is solved for until the right side is half of the distance: then the upper bound is at most three times
//! the error, whatever the stiffness, and whoever computed γ'.
//!
//! **Feasible.** For a rigid problem F(v) = ½ |v - v_free|²_M where Dᵀv + b ∈ K*, and infinite elsewhere: the
//! velocities of approximate multipliers violate something, and the gap at hand is no number. Any feasible v'
//! gives one, because f(γ) + F(v') ≥ f(γ) - f* ≥ ½ |v(γ) - v*|²_M. A feasible v' is looked for by asking for
//! more than is needed: the constraints are tightened by δ (u_n ≥ μ |u_T| + δ), that problem is solved
//! roughly from γ on, and if what it gives violates the tightened constraints by no more than δ, it satisfies
//! the given ones exactly. It costs some δ Σ γ_n in F, so δ is what γ itself violates, and grows where that
//! does not do. A problem that no velocity satisfies with room to spare (bilateral rows, a jammed packing)
//! has no such v', and no bound.

use crate::certificate::Judge;
use crate::cone::Set;
use crate::friction_law::FrictionLaw;
use crate::problem::{Bodies, Malformed, Problem};
use crate::solver::{Stop, make};

/// Bounds from both sides and how they were found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharpBound {
    /// The mass-weighted rms of v - v*, √(Σ m |Δv|² / Σ m), is at most this, m/s.
    pub upper: f64,
    /// And at least this, m/s; 0 where γ' is not better enough to tell.
    pub lower: f64,
    /// The duality gap of the better multipliers, J.
    pub gap: f64,
    /// Multiplications by N that this took.
    pub multiplications: usize,
    /// Factorisations, where multiplications did not do.
    pub factorisations: usize,
}

/// Share of the distance at which the rest no longer matters.
const REST: f64 = 0.5;
/// Operations of a multiplication for each row, roughly.
const OPERATIONS: f64 = 50.0;
/// Factorisations that may take as long together as the multiplications did.
const FACTORISATIONS: usize = 40;
/// Residual at which an interior point has done its best, m/s.
const EXACT: f64 = 1e-13;

/// Bounds the error of the velocities that `gamma` gives, from both sides, within about `multiplications`
/// multiplications by N and then, where that did not do, forty factorisations that take no longer together.
/// None where there is no gap (a row without compliance in a set that is not bounded) and for an explicit
/// matrix, which knows no masses.
pub fn sharp_bound(
    problem: &Problem,
    gamma: &[f64],
    multiplications: usize,
) -> Result<Option<SharpBound>, Malformed> {
    let Problem::Bodies(bodies) = problem else { return Ok(None) };
    let mass: f64 = bodies.inv_mass.iter().filter(|m| **m > 0.0).map(|m| 1.0 / m).sum();
    let mut judge = Judge::default();
    let Some(gap) = judge.judge(problem, gamma).duality_gap.filter(|_| mass > 0.0) else { return Ok(None) };
    let rms = |square: f64| (square.max(0.0) / mass).sqrt();
    // Without any better γ': the judge's own.
    let mut bound =
        SharpBound { upper: rms(2.0 * gap), lower: 0.0, gap, multiplications: 0, factorisations: 0 };
    let mut guess = gamma.to_vec();
    let mut better = |guess: &[f64], gap: f64| {
        let distance = bodies.rms_distance(gamma, guess, mass);
        let rest = rms(2.0 * gap);
        if distance + rest <= bound.upper {
            (bound.upper, bound.gap) = (distance + rest, gap);
        }
        bound.lower = bound.lower.max(distance - rest);
        rest <= REST * distance
    };
    let (mut used, mut share, mut sharp) = (0, 16, false);
    let mut solver = make("apgd:precision=double").map_err(|e| Malformed(e.0))?;
    while used < multiplications && !sharp {
        share = share.min(multiplications - used);
        let stop = Stop { tolerance: 0.0, iterations: share, ..Stop::default() };
        guess = solver.solve(problem, Some(&guess), &stop)?.gamma;
        used += share;
        let Some(gap) = judge.judge(problem, &guess).duality_gap else { break };
        sharp = better(&guess, gap);
        share *= 2;
    }
    let mut factorisations = 0;
    if !sharp && used >= multiplications {
        // Where gradients stall, an interior point does not: it has no use for a guess, and its gap falls by
        // a digit in each step.
        let mut solver = make("ipm").map_err(|e| Malformed(e.0))?;
        let all = OPERATIONS * problem.rows() as f64 * multiplications as f64;
        solver.limit_operations(all / FACTORISATIONS as f64);
        let stop = Stop { tolerance: EXACT, iterations: FACTORISATIONS, ..Stop::default() };
        let s = solver.solve(problem, None, &stop)?;
        factorisations = s.iterations;
        if let Some(gap) = judge.judge(problem, &s.gamma).duality_gap.filter(|_| s.iterations > 0) {
            better(&s.gamma, gap);
        }
    }
    (bound.multiplications, bound.factorisations) = (used, factorisations);
    Ok(Some(bound))
}

/// The best bound that about `multiplications` multiplications by N can find: [`sharp_bound`] where there is
/// a gap, else the same with [`feasible_bound`] in place of the gap. None where neither is to be had, and
/// under exact Coulomb.
pub fn velocity_error(
    problem: &Problem,
    gamma: &[f64],
    multiplications: usize,
) -> Result<Option<SharpBound>, Malformed> {
    let sharp = sharp_bound(problem, gamma, multiplications)?;
    let Problem::Bodies(bodies) = problem else { return Ok(None) };
    if sharp.is_some() || problem.model() == FrictionLaw::Coulomb || problem.rows() == 0 {
        return Ok(sharp);
    }
    let mass: f64 = bodies.inv_mass.iter().filter(|m| **m > 0.0).map(|m| 1.0 / m).sum();
    let half = multiplications / 2;
    let stop = Stop { tolerance: 0.0, iterations: half, ..Stop::default() };
    let better = make("apgd").map_err(|e| Malformed(e.0))?.solve(problem, Some(gamma), &stop)?.gamma;
    let Some(found) = feasible_bound(problem, &better, multiplications - half)? else { return Ok(None) };
    let Some(rest) = found.velocity_error_bound(mass) else { return Ok(None) };
    let distance = bodies.rms_distance(gamma, &better, mass);
    Ok(Some(SharpBound {
        upper: distance + rest,
        lower: (distance - rest).max(0.0),
        gap: found.gap,
        multiplications: half + found.multiplications,
        factorisations: 0,
    }))
}

impl Bodies {
    /// The mass-weighted rms of v(γ) - v(γ'), m/s.
    fn rms_distance(&self, one: &[f64], other: &[f64], mass: f64) -> f64 {
        let (mut v, mut w) = (Vec::new(), Vec::new());
        self.velocities(one, &mut v);
        self.velocities(other, &mut w);
        let way = |i: usize| (0..3).map(|k| (v[i][k] - w[i][k]).powi(2)).sum::<f64>();
        let moving = (0..v.len()).filter(|&i| self.inv_mass[i] > 0.0);
        (moving.map(|i| way(i) / self.inv_mass[i]).sum::<f64>() / mass).sqrt()
    }
}

/// A bound and how it was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeasibleBound {
    /// f(γ) + F(v'), J.
    pub gap: f64,
    /// By how much the constraints were tightened, m/s.
    pub margin: f64,
    /// Multiplications by N that this took.
    pub multiplications: usize,
}

impl FeasibleBound {
    /// The bound on the mass-weighted rms of v - v*, m/s.
    pub fn velocity_error_bound(&self, total_mass: f64) -> Option<f64> {
        (total_mass > 0.0).then(|| (2.0 * self.gap.max(0.0) / total_mass).sqrt())
    }
}

/// Looks for a feasible velocity within about `multiplications` multiplications by N. None where none was
/// found, and for an explicit matrix, which does not know b.
pub fn feasible_bound(
    problem: &Problem,
    gamma: &[f64],
    multiplications: usize,
) -> Result<Option<FeasibleBound>, Malformed> {
    let Problem::Bodies(given) = problem else { return Ok(None) };
    let held =
        |i: usize| problem.set(i) == Set::Free && problem.block(i).all(|j| problem.compliance(i, j) == 0.0);
    if (0..problem.blocks()).any(held) {
        return Ok(None);
    }
    let mut judge = Judge::default();
    let at = judge.judge(problem, gamma);
    let mut tightened = given.clone();
    let mut solver = make("apgd").map_err(|e| Malformed(e.0))?;
    let (mut used, mut guess) = (0, gamma.to_vec());
    let mut margin = at.constraint_violation.max(1e-12);
    while used < multiplications {
        for (t, b) in tightened.points.bias.iter_mut().zip(&given.points.bias) {
            *t = b - margin;
        }
        for i in 0..given.general.a.len() {
            // The first row is the normal one; a bounded set asks nothing of velocities, one that is open
            // below that u ≤ 0.
            let more = match given.general.set[i] {
                Set::Interval { lo, hi } if lo.is_finite() && hi.is_finite() => 0.0,
                Set::Interval { lo: f64::NEG_INFINITY, .. } => margin,
                _ => -margin,
            };
            let row = given.general.first_row[i] as usize;
            tightened.general.bias[row] = given.general.bias[row] + more;
        }
        let tight = Problem::Bodies(tightened);
        let share = (multiplications - used).min(multiplications / 4 + 1);
        let stop = Stop { tolerance: 0.3 * margin, iterations: share, ..Stop::default() };
        let s = solver.solve(&tight, Some(&guess), &stop)?;
        used += s.iterations.max(1);
        // F at the velocities of these multipliers, under the constraints as given.
        let found = judge.judge(problem, &s.gamma);
        if let Some(primal) = found.primal_objective {
            return Ok(Some(FeasibleBound {
                gap: at.dual_objective + primal,
                margin,
                multiplications: used,
            }));
        }
        guess = s.gamma;
        margin *= 2.0;
        let Problem::Bodies(back) = tight else { return Ok(None) };
        tightened = back;
    }
    Ok(None)
}
