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
//! where h_i(u) = sup over γ in K_i of -⟨u, γ⟩ - ½ ⟨γ, C_i γ⟩: zero or infinite for a rigid cone, finite for
//! every bounded or compliant set (see `penalty`). Where it is finite F(v) + f(γ) is the duality gap, a sum
//! of one term for each block, none of them negative:
//!
//! ```text
//!     gap = Σ h_i(Dᵢᵀv + bᵢ) + ⟨γ_i, Dᵢᵀv + bᵢ⟩ + ½ ⟨γ_i, C_i γ_i⟩,      ½ |v - v*|²_M ≤ f(γ) - f* ≤ gap
//! ```
//!
//! because F is strongly convex: a bound on the velocity error. (A natural-map residual is none: it says how
//! little must be changed in each block alone for the block to be right, and a pile passes such changes on
//! and adds them up.) Where nothing is compliant the bound needs a velocity that satisfies every constraint:
//! see [`crate::bound`]. Without either there is the backward error: γ solves exactly a problem whose b
//! differs by at most
//!
//! ```text
//!     backward error   max dist(u_i, { w ∈ K_i* : ⟨γ_i, w⟩ = 0 })        m/s; times h, gaps in m
//! ```
//!
//! Under exact Coulomb (see [`crate::friction_law`]) the residual, both violations, the complementarity and
//! the backward error are those of u + s(u) e_n; no objective belongs to that law, so there is no gap and no
//! bound, and f is the relaxed problem's.
//!
//! Growing multipliers prove a problem infeasible: if some v satisfies all (rigid) constraints, Dᵀv + b ∈ K*,
//! then for every γ in K
//!
//! ```text
//!     0 ≤ ⟨γ, Dᵀv + b⟩ ≤ |Dγ|_{M⁻¹} |v|_M + bᵀγ,     so     |v|_M ≥ -bᵀγ / √(γᵀNγ)
//! ```
//!
//! a lower bound on the speed that any solution must have. In a wedged problem γ runs off along a ray with Dγ
//! → 0 and bᵀγ < 0, and the bound grows beyond anything that could be meant.

mod free;
mod penalty;
mod points;

use serde::Serialize;

use crate::cone::{AdmissibleSet, MAX_ROWS, Set, norm};
use crate::friction_law::FrictionLaw;
use crate::parallel;
use crate::problem::{Bodies, Explicit, Problem, symmetric};

use penalty::{penalty, support_within};

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
    /// γ solves exactly a problem whose b differs by at most this in each block, m/s.
    pub backward_error: f64,
    /// Any v that satisfies the constraints has at least this |v|_M = √(Σ vᵀMv), √J; None where C or an
    /// explicit matrix leave no such bound.
    pub least_feasible_norm: Option<f64>,
    /// |γ|, N s.
    pub multipliers: f64,
    /// γᵀ(N + C)γ, J.
    pub curvature: f64,
    /// v = 0 satisfies every constraint: the problem cannot be infeasible.
    pub rest_is_feasible: bool,
}

impl Certificate {
    /// Any velocity that satisfies the constraints has at least this mass-weighted rms, m/s: absurd values
    /// mean that the constraints contradict each other.
    pub fn least_feasible_speed(&self, total_mass: f64) -> Option<f64> {
        (total_mass > 0.0).then_some(self.least_feasible_norm? / total_mass.sqrt())
    }

    /// Forgets the gap, and with it the bound: the problem was one of several that a step was taken by.
    pub fn has_no_bound(&mut self) {
        (self.primal_objective, self.duality_gap) = (None, None);
    }

    /// A guaranteed bound on the mass-weighted rms of v - v*, sqrt(Σ m |Δv|² / Σ m), m/s: where the gap is
    /// defined.
    pub fn velocity_error_bound(&self, total_mass: f64) -> Option<f64> {
        let gap = self.duality_gap?;
        (total_mass > 0.0).then(|| (2.0 * gap.max(0.0) / total_mass).sqrt())
    }
}

/// Buffers of the judge, kept from call to call.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    /// D γ by body, N s and N m s, and then v.
    v: Vec<[f64; 6]>,
    parts: Vec<Tally>,
    /// ⟨v_free, Dγ⟩ and ⟨Dγ, M⁻¹Dγ⟩ of runs of bodies, J.
    energies: Vec<[f64; 2]>,
}

/// Contact points that one thread judges at a time.
const PIECE: usize = 4096;

/// Judges `gamma` once.
pub fn certificate(problem: &Problem, gamma: &[f64]) -> Certificate {
    Judge::default().judge(problem, gamma)
}

/// What the blocks add up to.
#[derive(Clone, Debug, Default)]
struct Tally {
    c: Certificate,
    model: FrictionLaw,
    /// Blocks so far.
    blocks: usize,
    /// Σ e_i².
    squares: f64,
    /// |γ|².
    multipliers: f64,
    /// γᵀNγ, rᵀγ, γᵀCγ.
    kinetic: f64,
    rhs: f64,
    soft: f64,
    /// Σ h_i, and the gap's terms; None once some h_i is infinite or unknown.
    penalties: Option<f64>,
    gap: f64,
    /// bᵀγ; None where some set is no rigid cone.
    bias: Option<f64>,
}

/// One block, as the judge sees it.
struct Block<'a> {
    set: Set,
    gamma: &'a [f64],
    /// Dᵀv + b + Cγ.
    u: &'a [f64],
    compliance: &'a [f64],
    /// Mean diagonal.
    g: f64,
    /// ⟨b, γ⟩, where known.
    bias: Option<f64>,
}

impl Judge {
    /// The velocities that belong to what was judged last, by body; of an explicit matrix there are none.
    pub fn velocities(&self) -> &[[f64; 6]] {
        &self.v
    }

    /// Gives its memory back.
    pub fn release(&mut self) {
        *self = Self::default();
    }

    /// Judges `gamma`.
    ///
    /// # Panics
    /// When `gamma` has not one entry per row.
    pub fn judge(&mut self, problem: &Problem, gamma: &[f64]) -> Certificate {
        assert_eq!(gamma.len(), problem.rows(), "one multiplier per row");
        let rest = problem.rest_is_feasible();
        let model = problem.model();
        let mut t = Tally::new(model);
        t.c.rest_is_feasible = rest;
        match problem {
            Problem::Bodies(p) => self.bodies(problem, p, gamma, &mut t),
            Problem::Explicit(p) => matrix(problem, p, gamma, &mut t),
        }
        t.finish()
    }

    /// The residual of every block by itself, m/s: what [`Certificate::residual_max`] is the largest of.
    ///
    /// # Panics
    /// When `gamma` has not one entry per row.
    pub fn residuals(&mut self, problem: &Problem, gamma: &[f64]) -> Vec<f64> {
        self.judge(problem, gamma);
        let model = problem.model();
        let bias = matches!(problem, Problem::Bodies(_)).then_some(0.0);
        let one = |i: usize| {
            let rows = problem.block(i);
            let (mut u, mut c) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
            problem.block_velocity(i, &self.v, gamma, &mut u);
            rows.clone().enumerate().for_each(|(k, row)| c[k] = problem.compliance(i, row));
            let mut t = Tally::new(model);
            t.add(&Block {
                set: problem.set(i),
                gamma: &gamma[rows.clone()],
                u: &u[..rows.len()],
                compliance: &c[..rows.len()],
                g: problem.block_diagonal(i)[0],
                bias,
            });
            t.c.residual_max
        };
        (0..problem.blocks()).map(one).collect()
    }

    /// Over bodies: D γ once, M⁻¹ once for each body, and every block once.
    fn bodies(&mut self, problem: &Problem, p: &Bodies, gamma: &[f64], t: &mut Tally) {
        parallel::fill(&mut self.v, p.bodies(), [0.0; 6]);
        p.push_points(gamma, &mut self.v);
        let general = &p.general;
        p.push_general(&gamma[3 * p.points.len()..], &mut self.v);
        parallel::map_chunks(&mut self.v, PIECE, &mut self.energies, |first, run| {
            let mut sums = [0.0; 2];
            for (i, v) in (first..).zip(run) {
                let (f, free) = (*v, &p.v_free[i]);
                let turn = symmetric(&p.inv_inertia[i], [f[3], f[4], f[5]]);
                for k in 0..3 {
                    let change = [p.inv_mass[i] * f[k], turn[k]];
                    sums[0] += free[k] * f[k] + free[3 + k] * f[3 + k];
                    sums[1] += change[0] * f[k] + change[1] * f[3 + k];
                    v[k] = free[k] + change[0];
                    v[3 + k] = free[3 + k] + change[1];
                }
            }
            sums
        });
        for sums in &self.energies {
            t.rhs += sums[0];
            t.kinetic += sums[1];
        }
        self.points(p, gamma, t);
        let mut next = p.points.len();
        while next < problem.blocks() {
            let i = next;
            if general.set[i - p.points.len()] == Set::Free {
                let rows = &gamma[3 * p.points.len()..];
                next = p.points.len() + free::judge(p, i - p.points.len(), rows, &self.v, t);
                continue;
            }
            next += 1;
            let block = i - p.points.len();
            let rows = general.first_row[block] as usize..general.first_row[block + 1] as usize;
            if rows.len() == 1 {
                let x = gamma[3 * p.points.len() + rows.start];
                let [u, soft, g] = free::single(p, block, x, &self.v);
                let bias = general.bias[rows.start] * x;
                t.rhs += bias;
                let set = general.set[block];
                t.add(&Block { set, gamma: &[x], u: &[u], compliance: &[soft], g, bias: Some(bias) });
                continue;
            }
            let rows = problem.block(i);
            let (mut u, mut b, mut c) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS], [0.0; MAX_ROWS]);
            problem.block_velocity(i, &self.v, gamma, &mut u);
            problem.block_bias(i, &mut b);
            rows.clone().enumerate().for_each(|(k, row)| c[k] = problem.compliance(i, row));
            let gamma = &gamma[rows.clone()];
            let bias = gamma.iter().zip(&b).map(|(g, b)| g * b).sum::<f64>();
            t.rhs += bias;
            t.add(&Block {
                set: problem.set(i),
                gamma,
                u: &u[..rows.len()],
                compliance: &c[..rows.len()],
                g: problem.block_diagonal(i)[0],
                bias: Some(bias),
            });
        }
    }
}

impl Judge {
    /// Every contact point. Many are judged by several threads; pieces and the order in which they are added
    /// up are the same for any number of them.
    fn points(&mut self, p: &Bodies, gamma: &[f64], t: &mut Tally) {
        let Self { v, parts, .. } = self;
        let n = p.points.len();
        if n <= PIECE {
            return points::judge(p, 0..n, gamma, v, t);
        }
        parts.clear();
        parts.resize(n.div_ceil(PIECE), Tally::new(t.model));
        parallel::map_chunks(parts, 1, &mut Vec::<()>::new(), |k, part| {
            points::judge(p, k * PIECE..n.min((k + 1) * PIECE), gamma, v, &mut part[0]);
        });
        parts.drain(..).for_each(|part| t.merge(part));
    }
}

/// Over an explicit matrix.
fn matrix(problem: &Problem, p: &Explicit, gamma: &[f64], t: &mut Tally) {
    for i in 0..problem.blocks() {
        let rows = problem.block(i);
        let (mut u, mut c) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
        problem.block_velocity(i, &[], gamma, &mut u);
        for (k, row) in rows.clone().enumerate() {
            c[k] = problem.compliance(i, row);
            t.rhs += p.q[row] * gamma[row];
            t.kinetic += gamma[row] * (u[k] - c[k] * gamma[row] - p.q[row]);
        }
        t.add(&Block {
            set: problem.set(i),
            gamma: &gamma[rows.clone()],
            u: &u[..rows.len()],
            compliance: &c[..rows.len()],
            g: problem.block_diagonal(i)[0],
            bias: None,
        });
    }
}

/// What the judge has to say of one block by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlockErrors {
    /// Natural map, m/s.
    pub residual: f64,
    /// Distance of its velocity from what its set allows, m/s.
    pub violation: f64,
    /// Distance of its multipliers from its set, N s.
    pub outside: f64,
    /// |⟨γ, u⟩ + σ(-u)|, J.
    pub complementarity: f64,
    /// Distance of its velocity from those that its multipliers allow, m/s.
    pub backward: f64,
}

/// Judges one block under a law of friction: multipliers `gamma` in `set`, velocities `u` with compliance,
/// and the mean diagonal `g`, 1/kg.
pub fn judge_block(
    law: FrictionLaw,
    set: Set,
    gamma: &[f64],
    u: &[f64],
    compliance: &[f64],
    g: f64,
) -> BlockErrors {
    let mut t = Tally::new(law);
    t.add(&Block { set, gamma, u, compliance, g, bias: Some(0.0) });
    BlockErrors {
        residual: t.c.residual_max,
        violation: t.c.constraint_violation,
        outside: t.c.cone_violation,
        complementarity: t.c.complementarity,
        backward: t.c.backward_error,
    }
}

impl Tally {
    /// Of no blocks yet.
    fn new(model: FrictionLaw) -> Self {
        // Only the relaxed problem has an objective, and a theorem about growing multipliers.
        let convex = (model == FrictionLaw::Ccp).then_some(0.0);
        Self { model, penalties: convex, bias: convex, ..Self::default() }
    }

    /// Adds the blocks that come next.
    fn merge(&mut self, next: Self) {
        let (c, n) = (&mut self.c, next.c);
        if n.residual_max > c.residual_max || c.worst_block.is_none() {
            c.residual_max = n.residual_max;
            c.worst_block = n.worst_block.map(|b| self.blocks + b);
        }
        c.constraint_violation = c.constraint_violation.max(n.constraint_violation);
        c.cone_violation = c.cone_violation.max(n.cone_violation);
        c.backward_error = c.backward_error.max(n.backward_error);
        c.complementarity += n.complementarity;
        self.blocks += next.blocks;
        self.squares += next.squares;
        self.multipliers += next.multipliers;
        self.kinetic += next.kinetic;
        self.rhs += next.rhs;
        self.soft += next.soft;
        self.gap += next.gap;
        self.penalties = self.penalties.zip(next.penalties).map(|(a, b)| a + b);
        self.bias = self.bias.zip(next.bias).map(|(a, b)| a + b);
    }

    fn residual(&mut self, e: f64) {
        self.squares += e * e;
        if e > self.c.residual_max || self.c.worst_block.is_none() {
            self.c.residual_max = e;
            self.c.worst_block = Some(self.blocks);
        }
        self.blocks += 1;
    }

    fn add(&mut self, b: &Block) {
        let n = b.gamma.len();
        let mut law = [0.0; MAX_ROWS];
        let law = &mut law[..n];
        law.copy_from_slice(b.u);
        self.model.correct(b.set, law);
        let cone = b.set.is_cone();
        // Bodies that cannot move have been let touch; in a matrix such a block has no solution but its own
        // q.
        let approach = self.model.approach(b.set.opening(), b.u[0]);
        let apart = if cone { dual_distance(b.set, law).max(approach) } else { 0.0 };
        let residual = match b.g > 0.0 {
            true => natural_residual(b.set, b.gamma, law, b.g).max(apart).max(unknown(b.g, norm(b.gamma))),
            false if b.bias.is_some() || !cone => 0.0,
            false => apart,
        };
        self.residual(residual);
        let violation = if cone { apart } else { residual };
        self.c.constraint_violation = self.c.constraint_violation.max(violation);
        let mut p = [0.0; MAX_ROWS];
        let p = &mut p[..n];
        p.copy_from_slice(b.gamma);
        b.set.project(p);
        p.iter_mut().zip(b.gamma).for_each(|(p, g)| *p -= g);
        self.c.cone_violation = self.c.cone_violation.max(norm(p));
        let mut rigid = [0.0; MAX_ROWS];
        let (mut work, mut soft) = (0.0, 0.0);
        for k in 0..n {
            rigid[k] = b.u[k] - b.compliance[k] * b.gamma[k];
            work += b.gamma[k] * law[k];
            soft += b.compliance[k] * b.gamma[k] * b.gamma[k];
            self.multipliers += b.gamma[k] * b.gamma[k];
        }
        self.soft += soft;
        self.c.complementarity += if cone { work.abs() } else { (work + support_within(b.set, law)).abs() };
        let back = backward_error(b.set, b.gamma, law);
        self.c.backward_error = self.c.backward_error.max(if b.g > 0.0 { back } else { 0.0 });
        let hard = cone && soft == 0.0 && b.compliance.iter().all(|c| *c == 0.0);
        self.bias = self.bias.filter(|_| hard).and_then(|sum| Some(sum + b.bias?));
        self.cost(penalty(b.set, &rigid[..n], b.compliance), work - 0.5 * soft);
    }

    /// A block's h and the rest of its term of the gap, ⟨γ, u⟩ - ½⟨γ, Cγ⟩ with the compliant u.
    fn cost(&mut self, h: Option<f64>, rest: f64) {
        self.penalties = self.penalties.and_then(|sum| Some(sum + h?));
        // Rounding aside no term is negative.
        self.gap += h.map_or(0.0, |h| (h + rest).max(0.0));
    }

    fn finish(self) -> Certificate {
        let mut c = self.c;
        c.residual_rms = (self.squares / self.blocks.max(1) as f64).sqrt();
        c.curvature = self.kinetic + self.soft;
        c.dual_objective = 0.5 * c.curvature + self.rhs;
        c.multipliers = self.multipliers.sqrt();
        c.least_feasible_norm = self.bias.map(|work| match work < 0.0 {
            // Dγ = 0 exactly: no velocity at all will do. The largest number, because reports know no
            // infinity.
            true if self.kinetic <= 0.0 => f64::MAX,
            true => -work / self.kinetic.sqrt(),
            false => 0.0,
        });
        c.primal_objective = self.penalties.map(|h| 0.5 * self.kinetic + h);
        if c.cone_violation <= 1e-12 * c.multipliers.max(f64::MIN_POSITIVE) {
            // What rounding may have taken from the sum of terms that cancel each other.
            let terms = self.kinetic + self.soft + self.rhs.abs() + self.penalties.unwrap_or(0.0);
            c.duality_gap = c.primal_objective.map(|_| self.gap + ROUNDING * f64::EPSILON * terms);
        }
        c
    }
}

/// Roundings that the gap may have lost, over the size of its terms.
const ROUNDING: f64 = 1.0;

/// What rounding leaves unknown of the velocity of a block with diagonal `g` under multipliers of this size,
/// m/s: less than that is no residual. γ - η u is γ where they are far apart in size, and the natural map
/// would vanish whatever u is.
#[inline(always)]
fn unknown(g: f64, multipliers: f64) -> f64 {
    f64::EPSILON * g * multipliers
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

/// dist(u, K*) = |P_K(-u)| for a cone.
fn dual_distance(set: Set, u: &[f64]) -> f64 {
    let mut p = [0.0; MAX_ROWS];
    let p = &mut p[..u.len()];
    for k in 0..u.len() {
        p[k] = -u[k];
    }
    set.project(p);
    norm(p)
}

/// dist(u, { w ∈ K* : ⟨γ, w⟩ = 0 }), or its like for a bounded set: -w must be a normal of K at γ. That cone
/// of normals is the polar of the tangent cone T, so that the distance is |P_T(-u)|.
fn backward_error(set: Set, gamma: &[f64], u: &[f64]) -> f64 {
    let mut p = [0.0; MAX_ROWS];
    let p = &mut p[..u.len()];
    for k in 0..u.len() {
        p[k] = -u[k];
    }
    set.project_tangent(gamma, p);
    norm(p)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points between pairs of twenty bodies, with multipliers that solve nothing.
    fn heap(n: usize, model: FrictionLaw) -> (Problem, Vec<f64>) {
        let mut p = Bodies { model, ..Bodies::default() };
        p.inv_mass = vec![0.5; 20];
        p.inv_inertia = vec![[1.0, 2.0, 3.0, 0.1, 0.2, 0.3]; 20];
        p.v_free = (0..20).map(|i| std::array::from_fn(|k| ((7 * i + k) as f64).sin())).collect();
        let some = |i: usize, k: usize| ((13 * i + 5 * k) as f64).sin();
        for i in 0..n {
            let n = [some(i, 0), some(i, 1), 2.0]
                .map(|x| x / (4.0 + some(i, 0).powi(2) + some(i, 1).powi(2)).sqrt());
            let arm = |k: usize| std::array::from_fn(|x| some(i, k + x));
            // Worse and worse towards the end.
            let bias = n.map(|x| some(i, 9) * i as f64 * x);
            p.points.push((i as u32 % 20, (i as u32 + 7) % 20), n, arm(2), arm(5), bias, 0.4);
        }
        let gamma = (0..3 * n).map(|k| if k % 3 == 0 { 1.0 } else { 0.2 * some(k, 3) }).collect();
        (Problem::Bodies(p), gamma)
    }

    #[test]
    fn pieces_add_up() {
        for model in [FrictionLaw::Ccp, FrictionLaw::Coulomb] {
            let (problem, gamma) = heap(2 * PIECE + 77, model);
            let mut judge = Judge::default();
            let c = judge.judge(&problem, &gamma);
            let Problem::Bodies(p) = &problem else { unreachable!() };
            let mut whole = Tally::new(model);
            points::judge(p, 0..p.points.len(), &gamma, &judge.v, &mut whole);
            let one = whole.finish();
            assert_eq!((c.residual_max, c.worst_block), (one.residual_max, one.worst_block));
            assert!(c.worst_block > Some(PIECE), "{:?}: the worst is not in the first piece", c.worst_block);
            assert_eq!(c.constraint_violation, one.constraint_violation);
            assert_eq!(c.backward_error, one.backward_error);
            assert_eq!(c.primal_objective.is_some(), one.primal_objective.is_some());
            for (a, b) in [
                (c.residual_rms, one.residual_rms),
                (c.complementarity, one.complementarity),
                (c.multipliers, one.multipliers),
            ] {
                assert!((a - b).abs() <= 1e-12 * b, "{a} {b}");
            }
        }
    }

    #[test]
    fn residuals_of_blocks_are_those_of_the_whole() {
        for model in [FrictionLaw::Ccp, FrictionLaw::Coulomb] {
            let (problem, gamma) = heap(150, model);
            let c = certificate(&problem, &gamma);
            let all = Judge::default().residuals(&problem, &gamma);
            let largest = all.iter().copied().fold(0.0, f64::max);
            assert!((largest - c.residual_max).abs() <= 1e-12 * largest, "{largest} {}", c.residual_max);
            assert_eq!(all.iter().position(|e| *e == largest), c.worst_block);
            let rms = (all.iter().map(|e| e * e).sum::<f64>() / 150.0).sqrt();
            assert!((rms - c.residual_rms).abs() <= 1e-12 * rms);
        }
    }
}
