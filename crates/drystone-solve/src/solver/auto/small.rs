//! Islands of a few contacts: Gauss-Seidel sweeps, and nothing else.
//!
//! A pour of grains has thousands of islands of one to ten contacts, each of which takes a sweep or a few tens of them; a matrix, lanes or
//! accelerated steps would cost more to set up than to do without.

use crate::cone::{AdmissibleSet, MAX_ROWS};
use crate::model::{Model, slip_term};
use crate::problem::Problem;

/// Most blocks of a small island.
pub(super) const BLOCKS: usize = 12;
/// Sweeps after which an island is one for others.
const SWEEPS: usize = 60;
/// Share of the tolerance that is asked for: sweeps over few contacts converge fast, and what rests then needs none in the next step.
const DIGITS: f64 = 1e-3;

/// Buffers.
#[derive(Debug, Default)]
pub(super) struct Small {
    v: Vec<[f64; 6]>,
    g: Vec<f64>,
}

impl Small {
    /// Sweeps over `problem` from `gamma`, which is in its sets, until it is within a share of `tolerance`, or `cap` sweeps. Returns
    /// whether it is within the tolerance itself, and how many sweeps that took.
    pub fn sweep(
        &mut self,
        problem: &Problem,
        gamma: &mut [f64],
        tolerance: f64,
        cap: usize,
    ) -> (bool, usize) {
        self.g.clear();
        self.g.extend((0..problem.blocks()).map(|i| problem.block_diagonal(i)[0]));
        problem.velocities(gamma, &mut self.v);
        let most = cap.min(SWEEPS);
        let mut residual = self.pass(problem, gamma, false);
        let aim = if residual <= tolerance { tolerance } else { DIGITS * tolerance };
        let mut sweeps = 0;
        while residual > aim && sweeps < most {
            let seen = self.pass(problem, gamma, true);
            sweeps += 1;
            // What a sweep sees of a block is stale by its end: ask again where that decides.
            residual = if seen <= aim || sweeps == most { self.pass(problem, gamma, false) } else { seen };
        }
        (residual <= tolerance, sweeps)
    }

    /// γ_i ← P(γ_i - u_i / g_i), block after block, or only a look at it. The largest natural-map residual, m/s.
    fn pass(&mut self, problem: &Problem, gamma: &mut [f64], moves: bool) -> f64 {
        let exact = problem.model() == Model::Coulomb;
        let (mut u, mut x) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
        let mut worst = 0.0f64;
        for (i, g) in self.g.iter().enumerate().filter(|(_, g)| **g > 0.0) {
            let (rows, set) = (problem.block(i), problem.set(i));
            let n = rows.len();
            problem.block_velocity(i, &self.v, gamma, &mut u);
            if exact {
                u[0] += slip_term(set, &u);
            }
            let own = &mut gamma[rows];
            (0..n).for_each(|k| x[k] = own[k] - u[k] / g);
            set.project(&mut x[..n]);
            (0..n).for_each(|k| x[k] -= own[k]);
            let square: f64 = x[..n].iter().map(|x| x * x).sum();
            worst = worst.max(g * square.sqrt());
            if moves && square > 0.0 {
                (0..n).for_each(|k| own[k] += x[k]);
                problem.move_block(i, &x[..n], &mut self.v);
            }
        }
        worst
    }
}
