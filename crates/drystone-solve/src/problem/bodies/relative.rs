//! Relative velocities: u = Dᵀ v + b, block by block.

use crate::cone::MAX_ROWS;
use crate::problem::algebra::{cross, dot};

use super::points::at;
use super::{Bodies, WORLD};

impl Bodies {
    fn is_compliant(&self) -> bool {
        !self.points.compliance[0].is_empty() || !self.general.compliance.is_empty()
    }

    /// u = Dᵀ v + b of contact point `i` as a world vector, m/s.
    pub(crate) fn point_relative(&self, i: usize, v: &[[f64; 6]]) -> [f64; 3] {
        let half = |v: &[f64; 6]| ([v[0], v[1], v[2]], [v[3], v[4], v[5]]);
        let p = &self.points;
        let mut w = p.world_bias(i);
        let (va, wa) = half(&v[p.a[i] as usize]);
        let ca = cross(wa, at(&p.arm_a, i));
        for k in 0..3 {
            w[k] += va[k] + ca[k];
        }
        if p.b[i] != WORLD {
            let (vb, wb) = half(&v[p.b[i] as usize]);
            let cb = cross(wb, at(&p.arm_b, i));
            for k in 0..3 {
                w[k] -= vb[k] + cb[k];
            }
        }
        w
    }

    /// u = Dᵀ v + b of one block for given velocities.
    pub fn block_relative(&self, block: usize, v: &[[f64; 6]], u: &mut [f64; MAX_ROWS]) {
        let Some(i) = block.checked_sub(self.points.len()) else {
            let w = self.point_relative(block, v);
            let frame = self.points.frame(block);
            for k in 0..3 {
                u[k] = dot(frame[k], w);
            }
            return;
        };
        let g = &self.general;
        for (k, j) in (g.first_row[i] as usize..g.first_row[i + 1] as usize).enumerate() {
            let row = &g.jacobian[j];
            let mut sum = g.bias[j];
            for (body, part) in [(g.a[i], 0), (g.b[i], 6)] {
                if body != WORLD {
                    for (c, x) in row[part..part + 6].iter().zip(&v[body as usize]) {
                        sum += c * x;
                    }
                }
            }
            u[k] = sum;
        }
    }

    /// b of one block, m/s.
    pub(crate) fn block_bias(&self, block: usize, b: &mut [f64; MAX_ROWS]) {
        match block.checked_sub(self.points.len()) {
            None => {
                let world = self.points.world_bias(block);
                for (k, axis) in self.points.frame(block).into_iter().enumerate() {
                    b[k] = dot(axis, world);
                }
            }
            Some(i) => {
                let rows = self.general.first_row[i] as usize..self.general.first_row[i + 1] as usize;
                b[..rows.len()].copy_from_slice(&self.general.bias[rows]);
            }
        }
    }

    /// u = Dᵀ v + b + C γ of block `i`, m/s.
    pub(in crate::problem) fn block_velocity(
        &self,
        i: usize,
        v: &[[f64; 6]],
        gamma: &[f64],
        u: &mut [f64; MAX_ROWS],
    ) {
        self.block_relative(i, v, u);
        if self.is_compliant() {
            for (k, row) in self.block(i).enumerate() {
                u[k] += self.compliance(i, row) * gamma[row];
            }
        }
    }
}
