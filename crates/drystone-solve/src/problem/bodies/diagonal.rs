//! Diagonal blocks of N + C: the whole block, the mean of its diagonal and a bound on its largest eigenvalue.

use crate::cone::AdmissibleSet;
use crate::problem::algebra::{cross, dot, symmetric, trace_and_bound};

use super::points::at;
use super::{Bodies, WORLD};

impl Bodies {
    /// The diagonal block of a contact between bodies with the same inertia about every axis, where no
    /// products of inertia need to be worked out: Σ (1/m + (|r|² 1 - r rᵀ)/I), whose largest eigenvalue is at
    /// most Σ (1/m + |r|²/I).
    fn ball_diagonal(&self, i: usize) -> Option<[f64; 2]> {
        let p = &self.points;
        let (mut mean, mut bound, mut normal) = (0.0, 0.0, 0.0);
        let mut side = |body: u32, arm: [f64; 3]| {
            let [xx, yy, zz, xy, xz, yz] = self.inv_inertia[body as usize];
            let m = self.inv_mass[body as usize];
            let square = dot(arm, arm);
            let along = dot(arm, at(&p.normal, i));
            mean += m + 2.0 / 3.0 * xx * square;
            bound += m + xx * square;
            normal += m + xx * (square - along * along).max(0.0);
            xx == yy && yy == zz && xy == 0.0 && xz == 0.0 && yz == 0.0
        };
        let balls = side(p.a[i], at(&p.arm_a, i)) && (p.b[i] == WORLD || side(p.b[i], at(&p.arm_b, i)));
        if !balls || !p.compliance[0].is_empty() {
            return None;
        }
        Some(if p.mu[i] == 0.0 { [normal; 2] } else { [mean, bound] })
    }

    /// Mean of the diagonal of a block of N + C, and a bound on its largest eigenvalue.
    pub(in crate::problem) fn block_diagonal(&self, block: usize) -> [f64; 2] {
        if let Some(i) = block.checked_sub(self.points.len()) {
            return match self.general.set[i].rows() {
                1 => [self.row_diagonal(i); 2],
                rows => trace_and_bound(rows, &self.block_matrix(block)),
            };
        }
        if let Some(g) = self.ball_diagonal(block) {
            return g;
        }
        let g = self.block_matrix(block);
        // Without friction only the normal row moves, and its own diagonal is the right scale.
        if self.points.mu[block] == 0.0 { [g[0][0]; 2] } else { trace_and_bound(3, &g) }
    }

    /// Of a general block with one row.
    fn row_diagonal(&self, i: usize) -> f64 {
        let g = &self.general;
        let row = g.first_row[i] as usize;
        let j = &g.jacobian[row];
        let mut sum = 0.0;
        for (body, s) in [(g.a[i], 0), (g.b[i], 6)].into_iter().filter(|(body, _)| *body != WORLD) {
            let (force, turn) = ([j[s], j[s + 1], j[s + 2]], [j[s + 3], j[s + 4], j[s + 5]]);
            sum += self.inv_mass[body as usize] * dot(force, force)
                + dot(turn, symmetric(&self.inv_inertia[body as usize], turn));
        }
        sum + g.compliance.get(row).copied().unwrap_or(0.0)
    }

    /// The block's own part of N + C.
    pub(in crate::problem) fn block_matrix(&self, block: usize) -> [[f64; 5]; 5] {
        let mut g = [[0.0; 5]; 5];
        let p = &self.points;
        let Some(i) = block.checked_sub(p.len()) else {
            let i = block;
            let axes = p.frame(i);
            let mut side = |body: u32, arm: [f64; 3]| {
                let (m, inertia) = (self.inv_mass[body as usize], &self.inv_inertia[body as usize]);
                let torques = axes.map(|axis| cross(arm, axis));
                let turns = torques.map(|t| symmetric(inertia, t));
                for r in 0..3 {
                    g[r][r] += m;
                    for c in 0..3 {
                        g[r][c] += dot(torques[r], turns[c]);
                    }
                }
            };
            side(p.a[i], at(&p.arm_a, i));
            if p.b[i] != WORLD {
                side(p.b[i], at(&p.arm_b, i));
            }
            let c = p.compliance_of(i);
            for k in 0..3 {
                g[k][k] += c[k];
            }
            return g;
        };
        let b = &self.general;
        let rows = b.first_row[i] as usize..b.first_row[i + 1] as usize;
        for (r, jr) in rows.clone().enumerate() {
            for (c, jc) in rows.clone().enumerate() {
                for (body, part) in [(b.a[i], 0), (b.b[i], 6)] {
                    if body == WORLD {
                        continue;
                    }
                    let three = |j: usize, k: usize| -> [f64; 3] {
                        std::array::from_fn(|x| b.jacobian[j][part + k + x])
                    };
                    let k = body as usize;
                    g[r][c] += self.inv_mass[k] * dot(three(jr, 0), three(jc, 0))
                        + dot(three(jr, 3), symmetric(&self.inv_inertia[k], three(jc, 3)));
                }
            }
            g[r][r] += b.compliance.get(jr).copied().unwrap_or(0.0);
        }
        g
    }
}
