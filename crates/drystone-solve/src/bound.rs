//! A bound on the velocity error where nothing is compliant, through a velocity that satisfies every constraint.
//!
//! For a rigid problem F(v) = ½ |v - v_free|²_M where Dᵀv + b ∈ K*, and infinite elsewhere: the velocities of approximate
//! multipliers violate something, and the gap at hand is no number. Any feasible v' gives one, because f(γ) + F(v') ≥
//! f(γ) - f* ≥ ½ |v(γ) - v*|²_M. A feasible v' is looked for by asking for more than is needed: the constraints are
//! tightened by δ (u_n ≥ μ |u_T| + δ), that problem is solved roughly from γ on, and if what it gives violates the tightened
//! constraints by no more than δ, it satisfies the given ones exactly. It costs some δ Σ γ_n in F, so δ is what γ itself
//! violates, and grows where that does not do. A problem that no velocity satisfies with room to spare (bilateral rows,
//! a jammed packing) has no such v', and no bound.

use crate::certificate::Judge;
use crate::cone::Set;
use crate::problem::{Malformed, Problem};
use crate::solver::{Stop, make};

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

/// Looks for a feasible velocity within about `multiplications` multiplications by N. None where none was found, and for
/// an explicit matrix, which does not know b.
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
            // The first row is the normal one; a bounded set asks nothing of velocities.
            let row = given.general.first_row[i] as usize;
            tightened.general.bias[row] = given.general.bias[row] - margin;
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
