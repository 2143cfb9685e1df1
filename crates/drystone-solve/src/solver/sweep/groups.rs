//! Runs of bilateral rows between the same two bodies (the equations of a joint) are visited as one block and
//! solved exactly:
//!
//! ```text
//!     G = J M⁻¹ Jᵀ + C,      Δγ = -λω G⁻¹ u
//! ```
//!
//! with G⁻¹ of at most six rows, instead of one row after the other with η = 1/G_jj. Nothing is projected,
//! since all of R is admissible, so that this is the block Gauss-Seidel (or Jacobi) step of
//! [TasoraAnitescu2011, eq. 44] with the full block of N in the place of B⁻¹. Assumption A3 for such a block
//! is λω < 2. The rows of a joint away from the centres of mass are far from orthogonal, and sweeps over
//! single rows spend most of their iterations on that alone.

use crate::cone::Set;
use crate::problem::{Bodies, WORLD, symmetric};

/// Most rows of a run.
pub(in crate::solver) const MOST: usize = 6;

/// A run of general blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// First block (and, all blocks having one row here, its row in `first_row`).
    pub first: u32,
    /// Number of blocks; 1 is a block on its own, of any set.
    pub count: u32,
    /// Where its inverse is, if it is a run.
    pub inverse: u32,
}

/// All runs, in the order of the blocks.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub list: Vec<Group>,
    /// ω G⁻¹, row by row (or, being symmetric, column by column).
    pub inverse: Vec<[f64; MOST * MOST]>,
}

impl Groups {
    /// Finds the runs of a problem; `step` are ω_i η_i of its general blocks.
    pub fn fill(&mut self, p: &Bodies, step: &[f64]) {
        self.list.clear();
        self.inverse.clear();
        let g = &p.general;
        let mut at = 0;
        while at < g.a.len() {
            let joins =
                |i: usize| g.set[i] == Set::Free && (g.a[i], g.b[i]) == (g.a[at], g.b[at]) && step[i] > 0.0;
            let count = (at..g.a.len()).take(MOST).take_while(|&i| joins(i)).count();
            if count < 2 {
                self.list.push(Group { first: at as u32, count: 1, inverse: 0 });
                at += 1;
                continue;
            }
            self.list.push(Group {
                first: at as u32,
                count: count as u32,
                inverse: self.inverse.len() as u32,
            });
            let inverse = inverse(p, at, count, step);
            self.inverse.push(inverse);
            at += count;
        }
    }

    pub fn rescale(&mut self, factor: f64) {
        self.inverse.iter_mut().flatten().for_each(|x| *x *= factor);
    }

    pub fn bytes(&self) -> usize {
        size_of_val(self.list.as_slice()) + size_of_val(self.inverse.as_slice())
    }
}

/// ω G⁻¹ of one run.
fn inverse(p: &Bodies, first: usize, count: usize, step: &[f64]) -> [f64; MOST * MOST] {
    let g = &p.general;
    let row = |i: usize| g.first_row[first + i] as usize;
    let mut block = [[0.0; MOST]; MOST];
    for i in 0..count {
        let j = row(i);
        let jacobian = &g.jacobian[j];
        let mut effect = [0.0; 12];
        for (body, part) in [(g.a[first], 0), (g.b[first], 6)] {
            if body == WORLD {
                continue;
            }
            let (m, inertia) = (p.inv_mass[body as usize], &p.inv_inertia[body as usize]);
            let turn = symmetric(inertia, [jacobian[part + 3], jacobian[part + 4], jacobian[part + 5]]);
            for k in 0..3 {
                effect[part + k] = m * jacobian[part + k];
                effect[part + 3 + k] = turn[k];
            }
        }
        // Entries for WORLD are zero in the effect and do not count.
        for k in 0..=i {
            let other = &g.jacobian[row(k)];
            let sum = (0..12).map(|x| effect[x] * other[x]).sum::<f64>();
            block[i][k] = sum;
            block[k][i] = sum;
        }
        block[i][i] += g.compliance.get(j).copied().unwrap_or(0.0);
    }
    // The least ω of its rows holds for the run.
    let omega = (0..count).map(|i| step[first + i] * block[i][i]).fold(f64::INFINITY, f64::min);
    invert(&mut block, count);
    let mut out = [0.0; MOST * MOST];
    for i in 0..count {
        for k in 0..count {
            out[i * MOST + k] = omega * block[i][k];
        }
    }
    out
}

/// The inverse of a symmetric positive matrix by Gauss-Jordan elimination. A row of which nothing is left
/// depends on those before it: its row and column become zero, and its multiplier stays as it is.
fn invert(a: &mut [[f64; MOST]; MOST], n: usize) {
    let diagonal: [f64; MOST] = std::array::from_fn(|i| a[i][i]);
    let mut dead = [false; MOST];
    for p in 0..n {
        if a[p][p] <= 1e-11 * diagonal[p] {
            dead[p] = true;
            continue;
        }
        let pivot = 1.0 / a[p][p];
        a[p][p] = 1.0;
        for k in 0..n {
            a[p][k] *= pivot;
        }
        for i in 0..n {
            if i == p {
                continue;
            }
            let factor = a[i][p];
            a[i][p] = 0.0;
            for k in 0..n {
                a[i][k] -= factor * a[p][k];
            }
        }
    }
    for i in 0..n {
        if dead[i] {
            for k in 0..n {
                a[i][k] = 0.0;
                a[k][i] = 0.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_are_inverses_and_dependent_rows_are_left_out() {
        // B Bᵀ with rows of B: three independent ones, one their sum, one more.
        let b = [
            [1.0, 0.5, 0.0, 0.2],
            [0.0, 2.0, 0.3, 0.0],
            [0.4, 0.0, 1.5, 0.1],
            [1.4, 2.5, 1.8, 0.3],
            [0.1, -0.2, 0.3, 1.0],
        ];
        let mut a = [[0.0; MOST]; MOST];
        for i in 0..5 {
            for k in 0..5 {
                a[i][k] = (0..4).map(|x| b[i][x] * b[k][x]).sum();
            }
        }
        let full = a;
        invert(&mut a, 5);
        assert!(a[3].iter().all(|x| *x == 0.0));
        for i in [0, 1, 2, 4] {
            for k in [0, 1, 2, 4] {
                let sum: f64 = (0..5).map(|x| a[i][x] * full[x][k]).sum();
                assert!((sum - f64::from(i == k)).abs() < 1e-12, "{i} {k} {sum}");
            }
        }
    }
}
