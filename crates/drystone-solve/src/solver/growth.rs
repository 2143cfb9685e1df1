//! Tells problems that contradict themselves (wedged ones) from those that are only slow.
//!
//! The dual objective of an infeasible problem has no lower bound: multipliers run off along a ray d of K
//! with N d = 0 and ⟨r, d⟩ < 0. Growth by itself proves nothing: a heavy ball on light ones, or a narrow
//! wedge, lets γ grow for thousands of sweeps on its way to a solution. The ray does. Whatever v satisfies
//! the constraints, Dᵀv + b ∈ K*, has
//!
//! ```text
//!     0 ≤ ⟨d, Dᵀv + b⟩ = ⟨d, Dᵀ(v - v_free)⟩ + ⟨d, r⟩,     so     |v - v_free|_M ≥ -⟨r, d⟩ / √⟨d, Nd⟩
//! ```
//!
//! for every d in K (Farkas' lemma with a number to it). "Wedged" is said where that speed exceeds [`ABSURD`]
//! times √Σ|r_i|²/g_i, what it would take to stop every block by itself.
//!
//! How far is too far? Masses may take a solution far away and leave it a solution: below a ball of 1e10 kg
//! on light ones the ratio is 1e5, and the solution's own γ has Nγ ≈ 0 beside its size, as a ray has. But a
//! solution has ⟨γ, Nγ⟩ = -⟨r, γ⟩, so that its γ is larger than what stops the blocks by the square of that
//! ratio. Beyond 1/√ε_machine no multipliers in double precision have a velocity with a correct digit: what
//! is further away than that is no solution in these numbers, and what is nearer is never called wedged. For
//! the same reason Nd counts as no smaller than what rounding makes of it.
//!
//! d is what γ has changed by since the iteration count was half of what it is: the part of γ that has
//! settled drops out [Banjac2019]. What is left of other motions in it is swept out by Gauss-Seidel on ½⟨d,
//! Nd⟩, which leaves a ray as it is; any d of K may be asked, so that no sweep can make a sound problem look
//! wedged.
//!
//! Under the exact law u_n ≥ 0 is all that is asked of velocities, so that rays have normal parts alone.

use crate::certificate::Judge;
use crate::cone::{AdmissibleSet, MAX_ROWS, Set, norm};
use crate::friction_law::FrictionLaw;
use crate::parallel;
use crate::problem::{Explicit, Problem};

/// 1/√ε_machine; see the module.
pub(super) const ABSURD: f64 = 67_108_864.0;
/// What is left of Nd where it vanishes, over the size of its terms: they are sums of a few numbers.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// Growth of |γ| while the iteration count doubles that is worth a closer look.
const GROWS: f64 = 1.2;
/// Share of the residual that must be left for it to count as no progress.
const STAYS: f64 = 0.5;
/// Share of a direction that is left of it if it is a ray, by far.
const VANISHED: f64 = 1e-4;
/// Parts of a direction below this share of the largest are left out of it at the second try.
const SMALL: f64 = 1e-2;
/// Sweeps that the ray is given.
const SWEEPS: usize = 64;
/// Multipliers that one thread adds up at a time.
const PIECE: usize = 8192;

/// What growth looks like, which is no proof: |γ| grows by a third or more in both of two successive
/// doublings of the iteration count, while the residual keeps nine tenths of its size and ⟨γ, Nγ⟩ / |γ|²
/// loses a quarter of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strikes {
    last: Option<(f64, f64, f64)>,
    strikes: u32,
}

impl Strikes {
    /// Tells |γ|, ⟨γ, Nγ⟩ and the residual at a due iteration.
    pub fn tell(&mut self, multipliers: f64, curvature: f64, residual: f64) -> bool {
        let stiffness = curvature.max(0.0) / (multipliers * multipliers);
        if let Some((m, s, r)) = self.last {
            let grows = multipliers >= 1.33 * m && residual >= 0.9 * r && stiffness <= 0.75 * s;
            self.strikes = if grows { self.strikes + 1 } else { 0 };
        }
        self.last = Some((multipliers, stiffness, residual));
        self.strikes >= 2
    }
}

/// Watches |γ|, and keeps what the last look saw.
#[derive(Clone, Debug, Default)]
pub struct Growth {
    /// |γ| and the residual at the last look.
    last: Option<(f64, f64)>,
    before: Vec<f64>,
    ray: Ray,
}

impl Growth {
    /// Whether iteration `k` (counted from 1) is one to look at.
    pub fn due(k: usize) -> bool {
        k >= 32 && k.is_power_of_two()
    }

    /// A new solve.
    pub fn restart(&mut self) {
        self.last = None;
    }

    /// Tells γ and its residual at a due iteration. True where what it has changed by proves that the problem
    /// contradicts itself.
    pub fn tell(&mut self, problem: &Problem, judge: &mut Judge, gamma: &[f64], residual: f64) -> bool {
        self.suspects(gamma, residual) && self.ray.proves(problem, judge)
    }

    /// The first half of that: whether γ has grown, with no progress to show for it.
    pub fn suspects(&mut self, gamma: &[f64], residual: f64) -> bool {
        let mut squares = Vec::new();
        parallel::map_ranges(gamma.len(), PIECE, &mut squares, |run| {
            gamma[run].iter().map(|x| x * x).sum::<f64>()
        });
        let size = squares.iter().sum::<f64>().sqrt();
        let grows = self.last.is_some_and(|(m, r)| size >= GROWS * m && residual >= STAYS * r);
        let Self { before, ray, .. } = self;
        if grows {
            ray.d.clear();
            ray.d.extend(gamma.iter().zip(&*before).map(|(x, y)| x - y));
        }
        parallel::copy(before, gamma);
        self.last = Some((size, residual));
        grows
    }

    /// The second half: whether the last change, or what sweeps make of it, is a proof.
    pub fn proves(&mut self, problem: &Problem, judge: &mut Judge) -> bool {
        self.ray.proves(problem, judge)
    }

    /// Whether γ itself, or what sweeps make of it, is a proof.
    pub fn is_proof(&mut self, problem: &Problem, judge: &mut Judge, gamma: &[f64]) -> bool {
        self.ray.d.clear();
        self.ray.d.extend_from_slice(gamma);
        self.ray.proves(problem, judge)
    }
}

/// A direction of K.
#[derive(Clone, Debug, Default)]
struct Ray {
    d: Vec<f64>,
    /// M⁻¹ D d.
    v: Vec<[f64; 6]>,
}

impl Ray {
    fn proves(&mut self, problem: &Problem, judge: &mut Judge) -> bool {
        if problem.rest_is_feasible() {
            return false;
        }
        let model = problem.model();
        for i in 0..problem.blocks() {
            recession(problem.set(i), model, &mut self.d[problem.block(i)]);
        }
        let alone = stopping(problem);
        // Contacts that are only slow have small parts in d, which take long to sweep out: without them, too.
        self.swept_proves(problem, judge, alone)
            || (self.cut(problem) && self.swept_proves(problem, judge, alone))
    }

    /// Leaves nothing but the blocks with large parts; false where there are no others.
    fn cut(&mut self, problem: &Problem) -> bool {
        let part = |d: &[f64], i: usize| {
            problem.block_diagonal(i)[0] * d[problem.block(i)].iter().map(|x| x * x).sum::<f64>()
        };
        let most = (0..problem.blocks()).map(|i| part(&self.d, i)).fold(0.0, f64::max);
        let mut any = false;
        for i in 0..problem.blocks() {
            let small = part(&self.d, i);
            if small > 0.0 && small < SMALL * SMALL * most {
                self.d[problem.block(i)].fill(0.0);
                any = true;
            }
        }
        any
    }

    /// Whether d, or what sweeps make of it, is a proof.
    fn swept_proves(&mut self, problem: &Problem, judge: &mut Judge, alone: f64) -> bool {
        let size = norm(&self.d);
        for round in 0..=SWEEPS / 8 {
            let ratio = self.ratio(problem, judge, alone);
            // What sweeps take away altogether was no ray.
            if !(ratio > 0.0) || norm(&self.d) < VANISHED * size {
                return false;
            }
            if ratio >= ABSURD {
                return true;
            }
            if round < SWEEPS / 8 {
                self.begin(problem);
                (0..8).for_each(|_| self.sweep(problem));
            }
        }
        false
    }

    /// The speed that d proves necessary, over that of the blocks by themselves.
    fn ratio(&self, problem: &Problem, judge: &mut Judge, alone: f64) -> f64 {
        let [work, curvature] = match problem {
            Problem::Bodies(_) => {
                let c = judge.judge(problem, &self.d);
                [c.dual_objective - 0.5 * c.curvature, c.curvature]
            }
            Problem::Explicit(p) => self.pull(p),
        };
        let curvature = curvature.max(0.0) + self.rounding(problem);
        if work < 0.0 && work.is_finite() { -work / (curvature.sqrt() * alone) } else { 0.0 }
    }

    /// The least ⟨d, Nd⟩ that can be told from zero.
    fn rounding(&self, problem: &Problem) -> f64 {
        let size = |i: usize| {
            problem.block_diagonal(i)[0] * self.d[problem.block(i)].iter().map(|x| x * x).sum::<f64>()
        };
        ROUNDING * ROUNDING * (0..problem.blocks()).map(size).sum::<f64>()
    }

    /// ⟨q, d⟩, and the larger one of ⟨d, Wd⟩ and Σ |(Wd)_i|²/g_i, which is about as small if d is a ray. A
    /// file's matrix may have digits missing, or be no symmetric one, so that the first vanishes where Wd
    /// does not.
    fn pull(&self, p: &Explicit) -> [f64; 2] {
        let (mut work, mut curvature, mut squares) = (0.0, 0.0, 0.0);
        for (i, rows) in p.first_row.windows(2).enumerate() {
            let g = p.block_diagonal(i)[0];
            for j in rows[0] as usize..rows[1] as usize {
                let d = self.d[j];
                let pull = p.w.row_dot(j, &self.d) + p.compliance.get(j).map_or(0.0, |c| c * d);
                work += p.q[j] * d;
                curvature += d * pull;
                squares += if g > 0.0 { pull * pull / g } else { 0.0 };
            }
        }
        [work, curvature.max(squares)]
    }

    /// v of d.
    fn begin(&mut self, problem: &Problem) {
        problem.velocities(&self.d, &mut self.v);
        if let Problem::Bodies(p) = problem {
            for (v, free) in self.v.iter_mut().zip(&p.v_free) {
                (0..6).for_each(|k| v[k] -= free[k]);
            }
        }
    }

    /// One pass of d_i ← P(d_i - (Nd)_i / λ_i), with λ_i no less than the block's largest eigenvalue.
    fn sweep(&mut self, problem: &Problem) {
        let model = problem.model();
        let (mut u, mut b, mut delta) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS], [0.0; MAX_ROWS]);
        for i in 0..problem.blocks() {
            let [g, bound] = problem.block_diagonal(i);
            if !(g > 0.0 && bound > 0.0) {
                continue;
            }
            let rows = problem.block(i);
            problem.block_velocity(i, &self.v, &self.d, &mut u);
            if !problem.block_bias(i, &mut b) {
                problem.block_rhs(i, &mut b);
            }
            let n = rows.len();
            let mut x = [0.0; MAX_ROWS];
            for (k, row) in rows.clone().enumerate() {
                x[k] = self.d[row] - (u[k] - b[k]) / bound;
            }
            recession(problem.set(i), model, &mut x[..n]);
            for (k, row) in rows.enumerate() {
                delta[k] = x[k] - self.d[row];
                self.d[row] = x[k];
            }
            if delta[..n].iter().any(|x| *x != 0.0) {
                problem.move_block(i, &delta[..n], &mut self.v);
            }
        }
    }
}

/// √Σ|r_i|²/g_i: |v - v_free|_M if every block were stopped by itself. Under the exact law only normal rows
/// ask for anything.
fn stopping(problem: &Problem) -> f64 {
    let mut r = [0.0; MAX_ROWS];
    let mut sum = 0.0;
    for i in 0..problem.blocks() {
        let g = problem.block_diagonal(i)[0];
        if g > 0.0 {
            problem.block_rhs(i, &mut r);
            sum += r[..problem.block(i).len()].iter().map(|x| x * x).sum::<f64>() / g;
        }
    }
    sum.sqrt()
}

/// The nearest direction in which the set goes on for ever; under the exact law, one that normal velocities
/// answer for.
pub(super) fn recession(set: Set, model: FrictionLaw, x: &mut [f64]) {
    match set {
        Set::Interval { lo, hi } => {
            let (least, most) =
                (if lo == f64::NEG_INFINITY { lo } else { 0.0 }, if hi == f64::INFINITY { hi } else { 0.0 });
            x[0] = x[0].clamp(least, most);
        }
        Set::Friction2 { .. } | Set::Friction3 { .. } | Set::Rolling5 { .. }
            if model == FrictionLaw::Coulomb =>
        {
            x[0] = x[0].max(0.0);
            x[1..].fill(0.0);
        }
        _ => set.project(x),
    }
}

#[cfg(test)]
mod tests {
    use super::Strikes;

    #[test]
    fn growth_needs_two_doublings_without_progress() {
        let mut g = Strikes::default();
        assert!(!g.tell(1.0, 3.0, 0.2));
        assert!(!g.tell(2.0, 3.1, 0.2));
        assert!(g.tell(4.0, 3.2, 0.2));
        let mut g = Strikes::default();
        for k in 0..8 {
            // A slow but sound convergence: |γ| doubles while the residual halves.
            assert!(!g.tell(2f64.powi(k), 1.0, 0.5f64.powi(k)));
        }
        let mut g = Strikes::default();
        for k in 0..8 {
            // Steps that are far too short: |γ| doubles, the residual stays, and Nγ doubles as well.
            assert!(!g.tell(2f64.powi(k), 4f64.powi(k), 0.2));
        }
    }
}
