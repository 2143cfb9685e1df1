//! Block splitting, also called nonsmooth Gauss-Seidel: contact after contact, the problem of that contact
//! alone is solved with all others held [RenoufAcary2006, eq. 6]:
//!
//! ```text
//!     u_i = W_ii γ_i + b_i,     b_i = u_i - W_ii γ_i of the moment,     law(γ_i, u_i)
//! ```
//!
//! W_ii is a few rows; how it is solved is what tells these solvers apart: see [`Local`]. (Projected
//! Gauss-Seidel does one projection in place of that solve.) One iteration is one sweep over all blocks in
//! the problem's order, on one thread.

mod newton;
mod polyhedral;
mod projection;
mod simple;
mod sphere;

use std::time::Instant;

use crate::certificate::Judge;
use crate::cone::{AdmissibleSet, MAX_ROWS, Set, norm};
use crate::friction_law::FrictionLaw;
use crate::problem::{Malformed, Problem};

use super::growth::Growth;
use super::{Info, Record, Solution, Solver, Status, Stop, first_order};

pub(super) use newton::{INFO as AC, Newton, cone, disc};
pub(super) use polyhedral::{CONE, FACETS, LEMKE, QP, parse as facets_of};
pub(super) use projection::INFO as PROJECTION;
pub(super) use sphere::INFO as SPHERE;

/// Small square matrices, in the first rows and columns.
pub(super) type Matrix = [[f64; MAX_ROWS]; MAX_ROWS];
/// Rows of one block, in the first entries.
pub(super) type Vector = [f64; MAX_ROWS];

/// The problem of one block, all others held.
#[derive(Clone, Copy, Debug)]
pub(super) struct One {
    pub rows: usize,
    pub w: Matrix,
    pub b: Vector,
    pub set: Set,
    pub model: FrictionLaw,
    /// Mean of W's diagonal.
    pub g: f64,
}

impl One {
    /// W γ + b.
    fn velocity(&self, gamma: &Vector) -> Vector {
        let mut u = self.b;
        for r in 0..self.rows {
            for c in 0..self.rows {
                u[r] += self.w[r][c] * gamma[c];
            }
        }
        u
    }

    /// u + s(u) e_n for Coulomb's law, u for the relaxed one.
    fn law(&self, gamma: &Vector) -> Vector {
        let mut u = self.velocity(gamma);
        self.model.correct(self.set, &mut u[..self.rows]);
        u
    }

    /// P(γ - ρ law(γ)).
    fn step(&self, gamma: &Vector, law: &Vector, rho: f64) -> Vector {
        let mut x = *gamma;
        for k in 0..self.rows {
            x[k] -= rho * law[k];
        }
        self.set.project(&mut x[..self.rows]);
        x
    }

    /// |γ - P(γ - law(γ)/g)|, N s.
    fn residual(&self, gamma: &Vector) -> f64 {
        let p = self.step(gamma, &self.law(gamma), 1.0 / self.g);
        let d: Vector = std::array::from_fn(|k| gamma[k] - p[k]);
        norm(&d[..self.rows])
    }
}

/// How the problem of one block is solved.
trait Local: Send {
    /// Improves `gamma`, which is admissible on return.
    fn solve(&mut self, one: &One, gamma: &mut Vector);
}

/// Solves the problem of one block: at once where that is possible, by Newton's method otherwise.
pub(super) fn local(one: &One, newton: &mut Newton, gamma: &mut Vector) {
    if !simple::solve(one, gamma) && !simple::sticks(one, gamma) {
        newton.solve(one, gamma);
    }
}

/// Share of the tolerance: what a sweep on facets changes when it has settled.
const SETTLED: f64 = 0.01;

/// The sweeps around a local solver.
struct BlockSplitting {
    info: &'static Info,
    local: Box<dyn Local>,
    matrices: Vec<Matrix>,
    scales: Vec<f64>,
    gamma: Vec<f64>,
    v: Vec<[f64; 6]>,
    judge: Judge,
    growth: Growth,
    best: Vec<f64>,
}

impl BlockSplitting {
    fn new(info: &'static Info, local: Box<dyn Local>) -> Self {
        Self {
            info,
            local,
            matrices: Vec::new(),
            scales: Vec::new(),
            gamma: Vec::new(),
            v: Vec::new(),
            judge: Judge::default(),
            growth: Growth::default(),
            best: Vec::new(),
        }
    }

    fn start(&mut self, problem: &Problem, guess: Option<&[f64]>) {
        self.gamma.clear();
        match guess {
            None => self.gamma.resize(problem.rows(), 0.0),
            Some(g) => self.gamma.extend_from_slice(g),
        }
        self.matrices.clear();
        self.scales.clear();
        for i in 0..problem.blocks() {
            problem.set(i).project(&mut self.gamma[problem.block(i)]);
            self.matrices.push(problem.block_matrix(i));
            self.scales.push(problem.block_diagonal(i)[0]);
        }
        problem.velocities(&self.gamma, &mut self.v);
    }

    /// One sweep; the largest |Δγ_i| g_i, m/s, and |Δγ|².
    fn sweep(&mut self, problem: &Problem) -> [f64; 2] {
        let (mut worst, mut sum) = (0.0f64, 0.0);
        for i in 0..problem.blocks() {
            let g = self.scales[i];
            if g <= 0.0 {
                continue;
            }
            let rows = problem.block(i);
            let mut one = One {
                rows: rows.len(),
                w: self.matrices[i],
                b: [0.0; MAX_ROWS],
                set: problem.set(i),
                model: problem.model(),
                g,
            };
            problem.block_velocity(i, &self.v, &self.gamma, &mut one.b);
            let mut gamma = [0.0; MAX_ROWS];
            gamma[..one.rows].copy_from_slice(&self.gamma[rows.clone()]);
            for r in 0..one.rows {
                for c in 0..one.rows {
                    one.b[r] -= one.w[r][c] * gamma[c];
                }
            }
            if !simple::solve(&one, &mut gamma) {
                self.local.solve(&one, &mut gamma);
            }
            let mut delta = [0.0; MAX_ROWS];
            for (k, row) in rows.clone().enumerate() {
                delta[k] = gamma[k] - self.gamma[row];
                self.gamma[row] = gamma[k];
            }
            let delta = &delta[..rows.len()];
            let size = norm(delta);
            worst = if size * g <= worst { worst } else { size * g };
            sum += size * size;
            if size > 0.0 {
                problem.move_block(i, delta, &mut self.v);
            }
        }
        [worst, sum]
    }
}

impl Solver for BlockSplitting {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn bytes(&self) -> usize {
        size_of_val(self.matrices.as_slice())
            + [&self.scales, &self.gamma, &self.best].iter().map(|v| size_of_val(v.as_slice())).sum::<usize>()
    }

    fn solve(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        first_order::check(problem, guess)?;
        let begun = Instant::now();
        self.start(problem, guess);
        let mut out = Solution::none();
        let may_wedge = !problem.rest_is_feasible();
        self.growth.restart();
        let mut least = self.judge.judge(problem, &self.gamma).residual_max;
        self.best.clone_from(&self.gamma);
        if stop.tolerance > 0.0 && least <= stop.tolerance {
            out.status = Status::Converged;
            out.gamma = self.best.clone();
            return Ok(out);
        }
        let (mut look_below, mut look_at) = (stop.tolerance, 8);
        for k in 1..=stop.iterations {
            let [measure, sum] = self.sweep(problem);
            out.iterations = k;
            if !sum.is_finite() {
                out.status = Status::Diverged;
                break;
            }
            let spent = stop.is_late(begun);
            let grows = may_wedge && Growth::due(k);
            let end = k == stop.iterations || spent;
            if measure <= look_below || k >= look_at || end || grows || stop.history {
                let c = self.judge.judge(problem, &self.gamma);
                if stop.history {
                    out.history.push(Record {
                        residual: c.residual_max,
                        constraint_violation: c.constraint_violation,
                        delta_gamma: sum.sqrt(),
                        objective: c.dual_objective,
                    });
                }
                if c.residual_max <= least || k == 1 {
                    least = c.residual_max;
                    self.best.clone_from(&self.gamma);
                }
                if stop.tolerance > 0.0 && c.residual_max <= stop.tolerance {
                    out.status = Status::Converged;
                    break;
                }
                if measure <= look_below {
                    look_below = (measure * stop.tolerance / c.residual_max).min(0.9 * measure);
                }
                look_at = k + k / 4 + 8;
                if grows && self.growth.tell(problem, &mut self.judge, &self.gamma, c.residual_max) {
                    out.status = Status::Wedged;
                    break;
                }
            }
            if spent {
                out.status = Status::Budget;
                break;
            }
            // On facets the round cone's residual stays; sweeps that change nothing have found what there is
            // to find.
            if !self.info.is_exact() && measure <= SETTLED * stop.tolerance {
                break;
            }
        }
        // Multipliers that grow for ever are the proof that they do; and on facets the round cone's residual
        // does not tell which of two sweeps is the better one.
        let last = out.status == Status::Wedged || (!self.info.is_exact() && out.status != Status::Diverged);
        out.gamma = if last { self.gamma.clone() } else { self.best.clone() };
        Ok(out)
    }
}
