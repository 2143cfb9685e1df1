//! Bilateral rows alone: a direct factor of N = D M⁻¹ Dᵀ over the rows of joints, whose equations may repeat
//! each other.
//!
//! ```text
//!     (N + ε diag N) x = b,      ε = 1e-7
//! ```
//!
//! is positive definite whatever the rank of N. Where N x = b has solutions, a few rounds of refinement with
//! this factor reach one of them to rounding, and from x = 0 the one with (nearly) the least Σ n_ii x_i²:
//! multipliers of equations that repeat each other stay bounded. One node of the sparse factor is one block
//! (a joint), two are neighbours where they share a body.

use super::sparse::{Factor, Pattern, Symbolic};
use crate::problem::WORLD;

/// ε.
const REGULAR: f64 = 1e-7;

/// Blocks of rows, which bodies they act on, and a factor of their N.
#[derive(Debug, Default)]
pub struct Direct {
    sizes: Vec<u32>,
    ends: Vec<[u32; 2]>,
    /// First row of each block, and the number of rows at the end.
    first: Vec<usize>,
    /// What meets at bodies: two blocks, the place of the body in each, and where their part of the matrix
    /// begins.
    meetings: Vec<Meeting>,
    pattern: Pattern,
    symbolic: Symbolic,
    values: Vec<f64>,
    factor: Factor,
}

#[derive(Clone, Copy, Debug)]
struct Meeting {
    blocks: [u32; 2],
    ends: [u8; 2],
    start: usize,
}

impl Direct {
    /// Says which blocks there are: rows of each, and the bodies it acts on ([`WORLD`] where there is none or
    /// one that does not move). The analysis is kept as long as this stays the same.
    pub fn arrange(&mut self, sizes: &[u32], ends: &[[u32; 2]]) {
        if self.sizes == sizes && self.ends == ends {
            return;
        }
        self.sizes = sizes.to_vec();
        self.ends = ends.to_vec();
        self.first.clear();
        self.first.push(0);
        for s in sizes {
            self.first.push(self.first[self.first.len() - 1] + *s as usize);
        }
        let bodies =
            ends.iter().flatten().filter(|b| **b != WORLD).map(|b| *b as usize + 1).max().unwrap_or(0);
        let mut at_body: Vec<Vec<(u32, u8)>> = vec![Vec::new(); bodies];
        for (i, ends) in ends.iter().enumerate() {
            for (k, b) in ends.iter().enumerate().filter(|(_, b)| **b != WORLD) {
                at_body[*b as usize].push((i as u32, k as u8));
            }
        }
        let mut pairs = Vec::new();
        for here in &at_body {
            for (n, (i, _)) in here.iter().enumerate() {
                pairs.extend(here[n + 1..].iter().map(|(j, _)| (*i, *j)));
            }
        }
        self.pattern = Pattern::new(self.sizes.clone(), pairs);
        self.symbolic = Symbolic::new(&self.pattern);
        self.meetings.clear();
        for here in &at_body {
            for (n, (i, a)) in here.iter().enumerate() {
                for (j, b) in &here[n..] {
                    let start =
                        if i == j { self.pattern.start[*i as usize] } else { self.pattern.pair(*i, *j) };
                    self.meetings.push(Meeting { blocks: [*i, *j], ends: [*a, *b], start });
                }
            }
        }
    }

    /// How much work a factor is, in multiplications.
    pub fn flops(&self) -> f64 {
        self.symbolic.flops()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.first.last().copied().unwrap_or(0)
    }

    /// Factors N for these rows of D, and M⁻¹ Dᵀ: each has six numbers for each of the two bodies of its
    /// block.
    pub fn factor(&mut self, rows: &[[f64; 12]], weighted: &[[f64; 12]]) {
        self.values.clear();
        self.values.resize(self.pattern.values(), 0.0);
        for m in &self.meetings {
            let [i, j] = m.blocks.map(|b| b as usize);
            let [a, b] = m.ends.map(|e| 6 * e as usize);
            let columns = self.sizes[j] as usize;
            for r in 0..self.sizes[i] as usize {
                let row = &rows[self.first[i] + r][a..a + 6];
                for c in 0..columns {
                    let weighted = &weighted[self.first[j] + c][b..b + 6];
                    let sum: f64 = (0..6).map(|k| row[k] * weighted[k]).sum();
                    self.values[m.start + r * columns + c] += sum;
                }
            }
        }
        for (i, size) in self.sizes.iter().enumerate() {
            for k in 0..*size as usize {
                self.values[self.pattern.start[i] + k * (*size as usize + 1)] *= 1.0 + REGULAR;
            }
        }
        // Rows that move nothing (of bodies locked to a plane) have a diagonal of rounding errors: they drop
        // out.
        let diagonal =
            |i: usize, k: usize| self.values[self.pattern.start[i] + k * (self.sizes[i] as usize + 1)];
        let all = (0..self.sizes.len()).flat_map(|i| (0..self.sizes[i] as usize).map(move |k| (i, k)));
        let most = all.map(|(i, k)| diagonal(i, k)).fold(0.0, f64::max);
        self.factor.compute(&self.symbolic, &self.values, 1e-20 * most, &|| true);
    }

    /// Replaces `x` by the solution of (N + ε diag N) x = x, with the last factor.
    pub fn solve(&mut self, x: &mut [f64]) {
        self.factor.solve(&self.symbolic, x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two bodies in a row and one joint given twice: a solution, and the two share the load.
    #[test]
    fn repeated_equations_share() {
        let masses = [2.0, 5.0];
        let ends = [[0, WORLD], [0, 1], [0, 1]];
        let unit = |k: usize, sign: f64| {
            std::array::from_fn(|i| if i % 6 == k { if i < 6 { 1.0 } else { sign } } else { 0.0 })
        };
        let (mut rows, mut weighted): (Vec<[f64; 12]>, Vec<[f64; 12]>) = (Vec::new(), Vec::new());
        for (n, end) in ends.iter().enumerate() {
            for k in 0..3 {
                let mut row = unit(k, -1.0);
                let mut w = row;
                for (side, body) in end.iter().enumerate() {
                    for x in 6 * side..6 * side + 6 {
                        if *body == WORLD {
                            row[x] = 0.0;
                        }
                        w[x] = row[x] / masses.get(*body as usize).unwrap_or(&1.0);
                    }
                }
                assert!(n < 3);
                rows.push(row);
                weighted.push(w);
            }
        }
        let mut direct = Direct::default();
        direct.arrange(&[3, 3, 3], &ends);
        direct.factor(&rows, &weighted);
        let image = |x: &[f64]| -> Vec<f64> {
            let mut v = [[0.0; 6]; 2];
            for (r, x) in x.iter().enumerate() {
                for (side, body) in ends[r / 3].iter().enumerate().filter(|(_, b)| **b != WORLD) {
                    (0..6).for_each(|k| v[*body as usize][k] += weighted[r][6 * side + k] * x);
                }
            }
            let dot = |r: usize| -> f64 {
                let sides = ends[r / 3].iter().enumerate().filter(|(_, b)| **b != WORLD);
                sides.map(|(s, b)| (0..6).map(|k| rows[r][6 * s + k] * v[*b as usize][k]).sum::<f64>()).sum()
            };
            (0..x.len()).map(dot).collect()
        };
        let wanted = [0.3, -1.0, 2.0, 0.7, 0.1, -0.4, 0.7, 0.1, -0.4];
        let mut x = vec![0.0; 9];
        for _ in 0..3 {
            let mut step: Vec<f64> = wanted.iter().zip(image(&x)).map(|(b, n)| b - n).collect();
            direct.solve(&mut step);
            x.iter_mut().zip(step).for_each(|(x, s)| *x += s);
        }
        for (b, n) in wanted.iter().zip(image(&x)) {
            assert!((b - n).abs() < 1e-14, "{b} {n}");
        }
        (0..3).for_each(|k| assert!((x[3 + k] - x[6 + k]).abs() < 1e-6 && x[3 + k].abs() > 0.01));
    }
}
