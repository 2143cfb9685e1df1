//! Islands of a few contacts: Gauss-Seidel sweeps with momentum, and nothing else.
//!
//! A pour of grains has thousands of islands of one to ten contacts, each of which takes a sweep or a few tens of them; a matrix or lanes
//! would cost more to set up than to do without. The sweeps are those of `apgs`.

use crate::cone::{AdmissibleSet, MAX_ROWS};
use crate::model::{Model, slip_term};
use crate::problem::Problem;
use crate::solver::apgs::{beta, largest_eigenvalue};

/// Most blocks of a small island.
pub(super) const BLOCKS: usize = 12;
/// Sweeps after which an island is one for others.
const SWEEPS: usize = 60;
/// Share of the tolerance that is asked for where a guess is not within the tolerance itself: sweeps over few contacts converge fast, and what comes to rest then
/// needs none in the next step.
const DIGITS: f64 = 1e-3;

/// Buffers.
#[derive(Debug, Default)]
pub(super) struct Small {
    /// By block: its mean diagonal, which residuals are measured with, and its largest eigenvalue, which steps are one over.
    g: Vec<[f64; 2]>,
    /// Velocities of what is swept, and of the result of the sweep before.
    v: Vec<[f64; 6]>,
    v_last: Vec<[f64; 6]>,
    /// Results of the last sweep, and of the one before.
    now: Vec<f64>,
    last: Vec<f64>,
}

impl Small {
    /// Sweeps over `problem` from `gamma`, which is in its sets, until it is within a share of `tolerance`, or `cap` sweeps; not at all if it is
    /// within the tolerance. Returns whether it is, and how many sweeps that took.
    pub fn sweep(
        &mut self,
        problem: &Problem,
        gamma: &mut [f64],
        tolerance: f64,
        cap: usize,
    ) -> (bool, usize) {
        self.g.clear();
        self.g.extend((0..problem.blocks()).map(|i| [problem.block_diagonal(i)[0], 0.0]));
        problem.velocities(gamma, &mut self.v);
        let mut residual = self.residual(problem, gamma);
        if residual <= tolerance {
            return (true, 0);
        }
        let most = cap.min(SWEEPS);
        let aim = DIGITS * tolerance;
        self.g.iter_mut().enumerate().for_each(|(i, g)| g[1] = largest_eigenvalue(problem, i));
        let (mut sweeps, mut k) = (0, 0);
        self.last.clear();
        self.last.extend_from_slice(gamma);
        self.v_last.clone_from(&self.v);
        while residual > aim && sweeps < most {
            // y = γ + β (γ - γ_last): its velocities are as linear.
            self.now.clear();
            self.now.extend_from_slice(gamma);
            let b = beta(k);
            if b > 0.0 {
                gamma.iter_mut().zip(&self.last).for_each(|(x, last)| *x += b * (*x - last));
            }
            for (v, last) in self.v.iter_mut().zip(&mut self.v_last) {
                let here = *v;
                (0..6).for_each(|j| v[j] += b * (v[j] - last[j]));
                *last = here;
            }
            std::mem::swap(&mut self.last, &mut self.now);
            let (seen, along) = self.pass(problem, gamma);
            k = if along < 0.0 { 0 } else { k + 1 };
            sweeps += 1;
            // What a sweep sees of a block is stale by its end: ask again where that decides.
            residual = if seen <= aim || sweeps == most { self.residual(problem, gamma) } else { seen };
        }
        (residual <= tolerance, sweeps)
    }

    /// γ_i ← P(γ_i - u_i / λ_i), block after block: the largest change, m/s, and Σ λ_i ⟨change of γ_i, its change since the sweep before⟩.
    fn pass(&mut self, problem: &Problem, gamma: &mut [f64]) -> (f64, f64) {
        let (mut u, mut x) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
        let (mut worst, mut along) = (0.0f64, 0.0);
        for (i, [_, bound]) in self.g.iter().enumerate().filter(|(_, g)| g[1] > 0.0) {
            let rows = problem.block(i);
            let n = rows.len();
            step(problem, i, *bound, &self.v, gamma, &mut u, &mut x);
            let (own, last) = (&mut gamma[rows.clone()], &self.last[rows]);
            let square: f64 = x[..n].iter().map(|x| x * x).sum();
            worst = worst.max(bound * square.sqrt());
            if square > 0.0 {
                for k in 0..n {
                    own[k] += x[k];
                    along += bound * x[k] * (own[k] - last[k]);
                }
                problem.move_block(i, &x[..n], &mut self.v);
            }
        }
        (worst, along)
    }

    /// The largest natural-map residual, m/s.
    fn residual(&self, problem: &Problem, gamma: &[f64]) -> f64 {
        let (mut u, mut x) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
        let mut worst = 0.0f64;
        for (i, [g, _]) in self.g.iter().enumerate().filter(|(_, g)| g[0] > 0.0) {
            let n = step(problem, i, *g, &self.v, gamma, &mut u, &mut x);
            worst = worst.max(g * x[..n].iter().map(|x| x * x).sum::<f64>().sqrt());
        }
        worst
    }
}

/// x = P(γ_i - u_i / g) - γ_i of block `i`, and its number of rows.
fn step(
    problem: &Problem,
    i: usize,
    g: f64,
    v: &[[f64; 6]],
    gamma: &[f64],
    u: &mut [f64; MAX_ROWS],
    x: &mut [f64; MAX_ROWS],
) -> usize {
    let (rows, set) = (problem.block(i), problem.set(i));
    let n = rows.len();
    problem.block_velocity(i, v, gamma, u);
    if problem.model() == Model::Coulomb {
        u[0] += slip_term(set, u);
    }
    let own = &gamma[rows];
    (0..n).for_each(|k| x[k] = own[k] - u[k] / g);
    set.project(&mut x[..n]);
    (0..n).for_each(|k| x[k] -= own[k]);
    n
}
