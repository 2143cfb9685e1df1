//! Islands of a few contacts: Gauss-Seidel sweeps over their matrix, and nothing else.
//!
//! A pour of grains has thousands of islands of one to ten contacts, each of which takes a sweep or a few
//! tens of them; factors, lanes or accelerated steps would cost more to set up than to do without. The
//! relative velocities u = (N + C) γ + b are kept up to date with N entry by entry, which for so few contacts
//! is less work than the way through the bodies.
//!
//! A contact has two scales (docs/decisions/0019-two-scales-for-a-cone.md), g_n = N_nn and g_t, the larger
//! eigenvalue of its tangential part:
//!
//! ```text
//!     d_n = γ_n - u_n / g_n,   d_t = γ_t - u_t / g_t,   γ ← P(d) in the metric of (g_n, g_t, g_t)
//! ```
//!
//! Contacts of balls are solved exactly by that. For all others G⁻¹ N_ii has no eigenvalue of 2 or more, so
//! that every step lowers the objective.

use crate::cone::{AdmissibleSet, Friction3, MAX_ROWS, Set};
use crate::friction_law::{FrictionLaw, slip_term};
use crate::problem::{Bodies, Problem};

/// Most blocks of a small island.
pub(super) const BLOCKS: usize = 12;
/// Sweeps after which an island is one for others.
const SWEEPS: usize = 60;
/// Sweeps that take as long as it takes to make the matrix.
const MATRIX: usize = 10;
/// Share of the tolerance that is asked for: most sweeps over few contacts converge fast, and what rests then
/// needs none in the next step.
const DIGITS: f64 = 1e-3;

/// Buffers.
#[derive(Debug, Default)]
pub(super) struct Small {
    v: Vec<[f64; 6]>,
    /// Means of the diagonals of blocks, which residuals are measured by.
    g: Vec<f64>,
    /// g_n and g_t of blocks.
    scales: Vec<[f64; 2]>,
    /// u = (N + C) γ + b, m/s.
    u: Vec<f64>,
    /// N + C by columns.
    matrix: Vec<f64>,
}

impl Small {
    /// Sweeps over the contact points of `problem` from `gamma`, which is in its sets, until it is within a
    /// share of `tolerance`, or `cap` sweeps. Returns whether it is within the tolerance itself, and how many
    /// sweeps that took.
    pub fn sweep(
        &mut self,
        problem: &Problem,
        p: &Bodies,
        gamma: &mut [f64],
        tolerance: f64,
        cap: usize,
    ) -> (bool, usize) {
        self.g.clear();
        self.g.extend((0..p.points.len()).map(|i| problem.block_diagonal(i)[0]));
        problem.velocities(gamma, &mut self.v);
        self.u.clear();
        for i in 0..p.points.len() {
            let mut u = [0.0; MAX_ROWS];
            problem.block_velocity(i, &self.v, gamma, &mut u);
            self.u.extend_from_slice(&u[..3]);
        }
        let most = cap.min(SWEEPS);
        let mut residual = self.residual(p, gamma);
        if residual <= tolerance || most == 0 {
            return (residual <= tolerance, 0);
        }
        p.points_matrix(&mut self.matrix);
        self.find_scales();
        // Digits beyond the tolerance are asked for as long as they cost no more than those before, and the
        // matrix.
        let (aim, mut sweeps, mut last) = (DIGITS * tolerance, 0, most);
        while residual > aim && sweeps < last {
            let seen = self.pass(p, gamma);
            sweeps += 1;
            // What a sweep sees of a block is stale by its end: ask again where that decides.
            let ask = seen <= aim || sweeps == last || (last == most && seen <= tolerance);
            residual = if ask { self.residual(p, gamma) } else { seen };
            if last == most && ask && residual <= tolerance {
                last = most.min(2 * sweeps + MATRIX);
            }
        }
        (residual <= tolerance, sweeps)
    }

    fn find_scales(&mut self) {
        let rows = self.u.len();
        let at = |r: usize, c: usize| self.matrix[r + c * rows];
        self.scales.clear();
        self.scales.extend((0..rows).step_by(3).map(|i| {
            let (x, y, z) = (at(i + 1, i + 1), at(i + 1, i + 2), at(i + 2, i + 2));
            [at(i, i), 0.5 * (x + z + ((x - z) * (x - z) + 4.0 * y * y).sqrt())]
        }));
    }

    /// The relative velocity of point `i` under its law, m/s.
    #[inline]
    fn velocity(&self, p: &Bodies, i: usize) -> [f64; 3] {
        let mut u = [self.u[3 * i], self.u[3 * i + 1], self.u[3 * i + 2]];
        if p.model == FrictionLaw::Coulomb {
            u[0] += slip_term(Set::Friction3 { mu: p.points.mu[i] }, &u);
        }
        u
    }

    /// The largest residual of the natural map, m/s.
    fn residual(&self, p: &Bodies, gamma: &[f64]) -> f64 {
        let (blocks, _) = gamma.as_chunks::<3>();
        let mut worst = 0.0f64;
        for (i, (own, g)) in blocks.iter().zip(&self.g).enumerate().filter(|(_, (_, g))| **g > 0.0) {
            let u = self.velocity(p, i);
            let mut x: [f64; 3] = std::array::from_fn(|k| own[k] - u[k] / g);
            Friction3 { mu: p.points.mu[i] }.project(&mut x);
            let square: f64 = (0..3).map(|k| (x[k] - own[k]).powi(2)).sum();
            worst = worst.max(g * square.sqrt());
        }
        worst
    }

    /// A sweep; the largest step of a block, m/s.
    fn pass(&mut self, p: &Bodies, gamma: &mut [f64]) -> f64 {
        let (rows, mut worst) = (self.u.len(), 0.0f64);
        let (blocks, _) = gamma.as_chunks_mut::<3>();
        for (i, own) in blocks.iter_mut().enumerate().filter(|(i, _)| self.g[*i] > 0.0) {
            let u = self.velocity(p, i);
            let [n, t] = self.scales[i];
            let x = [own[0] - u[0] / n, own[1] - u[1] / t, own[2] - u[2] / t];
            let x = project(p.points.mu[i], t / n, x);
            let x: [f64; 3] = std::array::from_fn(|k| x[k] - own[k]);
            let across = x[1] * x[1] + x[2] * x[2];
            let square = n * n * x[0] * x[0] + t * t * across;
            if square == 0.0 {
                continue;
            }
            worst = worst.max(square.sqrt());
            (0..3).for_each(|k| own[k] += x[k]);
            let columns = &self.matrix[3 * i * rows..3 * (i + 1) * rows];
            let (first, rest) = columns.split_at(rows);
            let (second, third) = rest.split_at(rows);
            for (((u, a), b), c) in self.u.iter_mut().zip(first).zip(second).zip(third) {
                *u += a * x[0] + b * x[1] + c * x[2];
            }
        }
        worst
    }
}

/// The point of the round cone that is next to `d` in the metric (1, κ, κ).
#[inline]
fn project(mu: f64, kappa: f64, d: [f64; 3]) -> [f64; 3] {
    let r = (d[1] * d[1] + d[2] * d[2]).sqrt();
    if kappa * mu * r <= -d[0] {
        return [0.0; 3];
    }
    if r <= mu * d[0] {
        return d;
    }
    let n = (d[0] + kappa * mu * r) / (1.0 + kappa * mu * mu);
    let scale = if r > 0.0 { mu * n / r } else { 0.0 };
    [n, scale * d[1], scale * d[2]]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The projection is optimal: no point of the cone is nearer in the metric.
    #[test]
    fn is_the_nearest_in_its_metric() {
        let mut seed = 1u64;
        let mut next = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
        };
        for _ in 0..500 {
            let (mu, kappa) = (1.0 + next(), 2.6 + 2.5 * next());
            let d = [next(), next(), next()];
            let p = project(mu, kappa, d);
            let far =
                |x: [f64; 3]| (x[0] - d[0]).powi(2) + kappa * ((x[1] - d[1]).powi(2) + (x[2] - d[2]).powi(2));
            assert!((p[1] * p[1] + p[2] * p[2]).sqrt() <= mu * p[0] + 1e-12);
            for _ in 0..20 {
                let n = p[0] + 0.1 * next();
                let mut x = [n, p[1] + 0.1 * next(), p[2] + 0.1 * next()];
                let r = (x[1] * x[1] + x[2] * x[2]).sqrt();
                if n < 0.0 {
                    continue;
                }
                if r > mu * n {
                    (x[1], x[2]) = (x[1] * mu * n / r, x[2] * mu * n / r);
                }
                assert!(far(x) >= far(p) - 1e-12, "{mu} {kappa} {d:?}: {p:?} {x:?}");
            }
        }
    }
}
