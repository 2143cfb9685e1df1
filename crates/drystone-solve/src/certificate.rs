//! The judge: how well given multipliers solve a problem, whoever computed them. In f64, and independent of
//! every solver.
//!
//! With u = N γ + r + C γ, and η_i = 1 / g_i from [TasoraAnitescu2011, eq. 48]:
//!
//! ```text
//!     residual             e_i = |γ_i - P_i(γ_i - η_i u_i)| / η_i        natural map, m/s
//!     constraint violation ε_v = max dist(u_i, K_i*)                     the papers' violation at speed level, m/s
//!     cone violation       max |γ_i - P_i(γ_i)|                          N s
//!     complementarity      Σ |⟨γ_i, u_i⟩ + σ_i(-u_i)|, σ = 0 for cones   J
//!     dual objective       f(γ) = ½ γᵀ(N + C)γ + rᵀγ                     J, to be minimised over K
//!     primal objective     F(v) = ½ |v - v_free|²_M + Σ h_i(Dᵢᵀv + bᵢ)   J
//! ```
//!
//! where h_i(u) = sup over γ in K_i of -⟨u, γ⟩ - ½ ⟨γ, C_i γ⟩: zero or infinite for a rigid cone, finite for every
//! bounded or compliant set. Where it is finite F(v) + f(γ) ≥ 0 is the duality gap, and since F is strongly convex,
//! ½ |v - v*|²_M ≤ gap: a bound on the velocity error.
//!
//! Under exact Coulomb (see [`crate::model`]) the residual, both violations and the complementarity are those of
//! u + s(u) e_n; no objective belongs to that law, so there is no gap and no bound, and f is the relaxed problem's.
//!
//! Growing multipliers prove a problem infeasible: if some v satisfies all (rigid) constraints, Dᵀv + b ∈ K*, then for
//! every γ in K
//!
//! ```text
//!     0 ≤ ⟨γ, Dᵀv + b⟩ ≤ |Dγ|_{M⁻¹} |v|_M + bᵀγ,     so     |v|_M ≥ -bᵀγ / √(γᵀNγ)
//! ```
//!
//! a lower bound on the speed that any solution must have. In a wedged problem γ runs off along a ray with Dγ → 0 and
//! bᵀγ < 0, and the bound grows beyond anything that could be meant.

use serde::Serialize;

use crate::cone::{AdmissibleSet, MAX_ROWS, Set, norm};
use crate::model::Model;
use crate::problem::Problem;

/// What the judge found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Certificate {
    /// Largest natural-map residual, m/s.
    pub residual_max: f64,
    /// Root mean square of the residual over blocks, m/s.
    pub residual_rms: f64,
    /// The block with the largest residual.
    pub worst_block: Option<usize>,
    /// The papers' ε_v: largest distance of a block's velocity from its dual cone, m/s.
    pub constraint_violation: f64,
    /// Largest distance of a block's multipliers from its set, N s.
    pub cone_violation: f64,
    /// Σ |⟨γ_i, u_i⟩| over cones, and its like |⟨γ_i, u_i⟩ + σ_i(-u_i)| over bounded sets, J.
    pub complementarity: f64,
    /// f(γ), J.
    pub dual_objective: f64,
    /// F(v), J, where finite.
    pub primal_objective: Option<f64>,
    /// F(v) + f(γ), J, where defined: γ admissible and F finite.
    pub duality_gap: Option<f64>,
    /// Any v that satisfies the constraints has at least this |v|_M = √(Σ vᵀMv), √J; None where C or an explicit matrix
    /// leave no such bound.
    pub least_feasible_norm: Option<f64>,
    /// |γ|, N s.
    pub multipliers: f64,
    /// γᵀ(N + C)γ, J.
    pub curvature: f64,
    /// v = 0 satisfies every constraint: the problem cannot be infeasible.
    pub rest_is_feasible: bool,
}

impl Certificate {
    /// Any velocity that satisfies the constraints has at least this mass-weighted rms, m/s: absurd values mean that the
    /// constraints contradict each other.
    pub fn least_feasible_speed(&self, total_mass: f64) -> Option<f64> {
        (total_mass > 0.0).then_some(self.least_feasible_norm? / total_mass.sqrt())
    }

    /// A guaranteed bound on the mass-weighted rms of v - v*, sqrt(Σ m |Δv|² / Σ m), m/s: where the gap is defined.
    pub fn velocity_error_bound(&self, total_mass: f64) -> Option<f64> {
        let gap = self.duality_gap?;
        (total_mass > 0.0).then(|| (2.0 * gap.max(0.0) / total_mass).sqrt())
    }
}

/// Buffers of the judge, kept from call to call.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    v: Vec<[f64; 6]>,
}

/// Judges `gamma` once.
pub fn certificate(problem: &Problem, gamma: &[f64]) -> Certificate {
    Judge::default().judge(problem, gamma)
}

impl Judge {
    /// Judges `gamma`.
    ///
    /// # Panics
    /// When `gamma` has not one entry per row.
    pub fn judge(&mut self, problem: &Problem, gamma: &[f64]) -> Certificate {
        assert_eq!(gamma.len(), problem.rows(), "one multiplier per row");
        problem.velocities(gamma, &mut self.v);
        let mut c = Certificate { rest_is_feasible: problem.rest_is_feasible(), ..Certificate::default() };
        let (mut squares, mut twice_dual, mut multipliers, mut curvature) = (0.0, 0.0, 0.0, 0.0);
        // Σ ½ γᵀ N γ, the kinetic part of F, and Σ h_i; None once some h_i is infinite or unknown.
        let (mut twice_kinetic, mut penalties) = (0.0, Some(0.0));
        let mut bias_work = Some(0.0);
        let convex = problem.model() == Model::Ccp;
        for i in 0..problem.blocks() {
            let rows = problem.block(i);
            let (mut u, mut r) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
            problem.block_velocity(i, &self.v, gamma, &mut u);
            problem.block_rhs(i, &mut r);
            let set = problem.set(i);
            let mut law = u;
            problem.model().correct(set, &mut law[..rows.len()]);
            let (g, u, r) = (&gamma[rows.clone()], &u[..rows.len()], &r[..rows.len()]);
            let law = &law[..rows.len()];
            let residual = natural_residual(set, g, law, problem.block_diagonal(i)[0]);
            squares += residual * residual;
            if residual > c.residual_max || c.worst_block.is_none() {
                c.residual_max = residual;
                c.worst_block = Some(i);
            }
            c.constraint_violation = c.constraint_violation.max(violation(set, law, residual));
            let mut p = [0.0; MAX_ROWS];
            let p = &mut p[..g.len()];
            p.copy_from_slice(g);
            set.project(p);
            p.iter_mut().zip(g).for_each(|(p, g)| *p -= g);
            c.cone_violation = c.cone_violation.max(norm(p));
            let mut work = 0.0;
            let mut rigid = [0.0; MAX_ROWS];
            let mut compliance = [0.0; MAX_ROWS];
            for (k, row) in rows.enumerate() {
                compliance[k] = problem.compliance(i, row);
                rigid[k] = u[k] - compliance[k] * g[k];
                work += g[k] * law[k];
                twice_dual += g[k] * (u[k] + r[k]);
                curvature += g[k] * (u[k] - r[k]);
                twice_kinetic += g[k] * (rigid[k] - r[k]);
                multipliers += g[k] * g[k];
            }
            c.complementarity +=
                if set.is_cone() { work.abs() } else { (work + support_of_minus(set, law)).abs() };
            let n = g.len();
            let mut b = [0.0; MAX_ROWS];
            let rigid_cone = set.is_cone() && compliance == [0.0; MAX_ROWS];
            bias_work = bias_work
                .filter(|_| convex && rigid_cone && problem.block_bias(i, &mut b))
                .map(|sum| sum + (0..n).map(|k| b[k] * g[k]).sum::<f64>());
            penalties = penalties
                .filter(|_| convex)
                .and_then(|sum| Some(sum + penalty(set, &rigid[..n], &compliance[..n])?));
        }
        let n = problem.blocks().max(1) as f64;
        c.residual_rms = (squares / n).sqrt();
        c.dual_objective = 0.5 * twice_dual;
        c.multipliers = multipliers.sqrt();
        c.curvature = curvature;
        c.least_feasible_norm = bias_work.map(|work: f64| match work < 0.0 {
            // Dγ = 0 exactly: no velocity at all will do. The largest number, because reports know no infinity.
            true if twice_kinetic <= 0.0 => f64::MAX,
            true => -work / twice_kinetic.sqrt(),
            false => 0.0,
        });
        c.primal_objective = penalties.map(|h| 0.5 * twice_kinetic + h);
        if c.cone_violation <= 1e-12 * c.multipliers.max(f64::MIN_POSITIVE) {
            c.duality_gap = c.primal_objective.map(|f| f + c.dual_objective);
        }
        c
    }
}

/// |γ - P(γ - η u)| / η with η = 1 / g; zero where nothing can move.
pub(crate) fn natural_residual(set: Set, gamma: &[f64], u: &[f64], g: f64) -> f64 {
    if g <= 0.0 {
        return 0.0;
    }
    let mut p = [0.0; MAX_ROWS];
    let p = &mut p[..gamma.len()];
    for k in 0..gamma.len() {
        p[k] = gamma[k] - u[k] / g;
    }
    set.project(p);
    for k in 0..gamma.len() {
        p[k] = gamma[k] - p[k];
    }
    norm(p) * g
}

/// dist(u, K*) = |P_K(-u)| for a cone; a set that is no cone has no velocity constraint of its own, so the
/// residual stands in.
fn violation(set: Set, u: &[f64], residual: f64) -> f64 {
    if !set.is_cone() {
        return residual;
    }
    let mut p = [0.0; MAX_ROWS];
    let p = &mut p[..u.len()];
    for k in 0..u.len() {
        p[k] = -u[k];
    }
    set.project(p);
    norm(p)
}

fn support_of_minus(set: Set, u: &[f64]) -> f64 {
    let mut p = [0.0; MAX_ROWS];
    let p = &mut p[..u.len()];
    for k in 0..u.len() {
        p[k] = -u[k];
    }
    set.support(p)
}

/// h(u) = sup over K of -⟨u, γ⟩ - ½ ⟨γ, C γ⟩; None where infinite, or where C differs within a block of several rows.
fn penalty(set: Set, u: &[f64], compliance: &[f64]) -> Option<f64> {
    let c = compliance[0];
    if compliance.iter().any(|x| *x != c) {
        return None;
    }
    if c == 0.0 {
        return Some(support_of_minus(set, u)).filter(|x| x.is_finite());
    }
    let mut p = [0.0; MAX_ROWS];
    let p = &mut p[..u.len()];
    for k in 0..u.len() {
        p[k] = -u[k] / c;
    }
    set.project(p);
    Some(p.iter().zip(u).map(|(g, u)| -u * g - 0.5 * c * g * g).sum())
}
