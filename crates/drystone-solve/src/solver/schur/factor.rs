//! The factor of one mechanism: S = L Lᵀ in blocks of six by six, one block column after the other.
//!
//! Block (i, k) of L is kept as X = L_ikᵀ, so that every inner loop runs along the later node's rows; of a diagonal block the
//! inverse of its Cholesky factor is kept. A row of which nothing is left depends on those before it: its multiplier is zero.

use crate::problem::{Bodies, WORLD, symmetric};

use super::tree::{SIZE, Tree};

/// Rows of a block are padded to a whole vector.
const WIDE: usize = 8;
/// A block, row by row.
pub(super) type Block = [[f64; WIDE]; SIZE];
const ZERO: Block = [[0.0; WIDE]; SIZE];
/// Jacobian rows of a node, padded with zeros.
type Rows = [[f64; 12]; SIZE];

/// A pivot that small a share of its diagonal is rounding.
const NOTHING: f64 = 1e-11;

#[derive(Debug, Default)]
pub(super) struct Factor {
    blocks: Vec<Block>,
    inverse: Vec<Block>,
    jacobian: Vec<Rows>,
    /// M⁻¹ Jᵀ: (v_A, ω_A, v_B, ω_B) by row of J.
    pub effect: Vec<[[f64; WIDE]; 12]>,
    /// J v_free + b of every row.
    pub rhs: Vec<[f64; SIZE]>,
    /// Rows that depended on others.
    pub dropped: usize,
}

impl Factor {
    /// Rows and factor of mechanism `m`; nodes are named from its first one.
    #[inline(always)]
    pub fn compute(&mut self, p: &Bodies, tree: &Tree, m: usize) {
        let nodes = &tree.nodes[tree.mechanisms[m].clone()];
        self.take_rows(p, nodes);
        self.blocks.clear();
        self.blocks.resize(tree.slots[m], ZERO);
        for (slot, [(i, si), (j, sj)]) in &tree.joins[tree.joins_of[m].clone()] {
            let (rows, columns) = (&self.effect[*i as usize], &self.jacobian[*j as usize]);
            let (si, sj) = (6 * *si as usize, 6 * *sj as usize);
            let block = &mut self.blocks[*slot as usize];
            for c in 0..SIZE {
                for k in 0..6 {
                    let x = columns[c][sj + k];
                    for r in 0..WIDE {
                        block[c][r] += x * rows[si + k][r];
                    }
                }
            }
        }
        let g = &p.general;
        for (k, node) in nodes.iter().enumerate() {
            let (first, rows) = (g.first_row[node.first as usize] as usize, node.rows as usize);
            for r in 0..SIZE {
                let soft = if r < rows { g.compliance.get(first + r).copied().unwrap_or(0.0) } else { 1.0 };
                self.blocks[k][r][r] += soft;
            }
        }
        let base = tree.mechanisms[m].start;
        self.inverse.clear();
        for k in 0..nodes.len() {
            let inverse = self.diagonal(k);
            for (_, slot) in &tree.below[base + k] {
                let block = self.blocks[*slot as usize];
                let x = &mut self.blocks[*slot as usize];
                for t in 0..SIZE {
                    let mut row = [0.0; WIDE];
                    for c in 0..=t {
                        for r in 0..WIDE {
                            row[r] += inverse[t][c] * block[c][r];
                        }
                    }
                    x[t] = row;
                }
            }
            for [target, ik, jk] in &tree.updates[base + k] {
                let (xi, xj) = (self.blocks[*ik as usize], self.blocks[*jk as usize]);
                let block = &mut self.blocks[*target as usize];
                for c in 0..SIZE {
                    for t in 0..SIZE {
                        for r in 0..WIDE {
                            block[c][r] -= xj[t][c] * xi[t][r];
                        }
                    }
                }
            }
            self.inverse.push(inverse);
        }
    }

    #[inline(always)]
    fn take_rows(&mut self, p: &Bodies, nodes: &[super::tree::Node]) {
        let g = &p.general;
        self.jacobian.clear();
        self.effect.clear();
        self.rhs.clear();
        for node in nodes {
            let first = g.first_row[node.first as usize] as usize;
            let (mut jacobian, mut effect, mut rhs) = ([[0.0; 12]; SIZE], [[0.0; WIDE]; 12], [0.0; SIZE]);
            for r in 0..node.rows as usize {
                let row = &g.jacobian[first + r];
                rhs[r] = g.bias[first + r];
                for (side, body) in node.bodies.iter().enumerate() {
                    if *body == WORLD {
                        continue;
                    }
                    let (b, s) = (*body as usize, 6 * side);
                    let turn = symmetric(&p.inv_inertia[b], [row[s + 3], row[s + 4], row[s + 5]]);
                    for k in 0..3 {
                        effect[s + k][r] = p.inv_mass[b] * row[s + k];
                        effect[s + 3 + k][r] = turn[k];
                    }
                    jacobian[r][s..s + 6].copy_from_slice(&row[s..s + 6]);
                    rhs[r] += (0..6).map(|k| row[s + k] * p.v_free[b][k]).sum::<f64>();
                }
            }
            self.jacobian.push(jacobian);
            self.effect.push(effect);
            self.rhs.push(rhs);
        }
    }

    /// The inverse of the Cholesky factor of a diagonal block.
    #[inline(always)]
    fn diagonal(&mut self, k: usize) -> Block {
        let a = &self.blocks[k];
        let (mut l, mut inverse) = (ZERO, ZERO);
        for j in 0..SIZE {
            let pivot = a[j][j] - (0..j).map(|t| l[j][t] * l[j][t]).sum::<f64>();
            // What is left is compared with what there was: the sum of what has been taken away and what is left.
            let whole: f64 = self.jacobian[k][j].iter().zip(&self.effect[k]).map(|(x, y)| x * y[j]).sum();
            if !(pivot > NOTHING * whole.max(f64::MIN_POSITIVE)) {
                self.dropped += 1;
                continue;
            }
            let root = pivot.sqrt();
            l[j][j] = root;
            for i in j + 1..SIZE {
                l[i][j] = (a[j][i] - (0..j).map(|t| l[i][t] * l[j][t]).sum::<f64>()) / root;
            }
        }
        for c in 0..SIZE {
            if l[c][c] == 0.0 {
                continue;
            }
            inverse[c][c] = 1.0 / l[c][c];
            for r in c + 1..SIZE {
                if l[r][r] != 0.0 {
                    let sum: f64 = (c..r).map(|t| l[r][t] * inverse[t][c]).sum();
                    inverse[r][c] = -sum / l[r][r];
                }
            }
        }
        inverse
    }

    /// Y ← L⁻¹ Y: rows of `y` are those of the nodes, six each, `stride` long.
    #[inline(always)]
    pub fn forward(&self, tree: &Tree, m: usize, y: &mut [f64], stride: usize) {
        let base = tree.mechanisms[m].start;
        for k in 0..self.inverse.len() {
            let (done, rest) = y.split_at_mut(SIZE * (k + 1) * stride);
            let own = &mut done[SIZE * k * stride..];
            let inverse = &self.inverse[k];
            for t in (0..SIZE).rev() {
                let (above, row) = own.split_at_mut(t * stride);
                let row = &mut row[..stride];
                for x in row.iter_mut() {
                    *x *= inverse[t][t];
                }
                for c in 0..t {
                    add(row, inverse[t][c], &above[c * stride..(c + 1) * stride]);
                }
            }
            for (i, slot) in &tree.below[base + k] {
                let x = &self.blocks[*slot as usize];
                let target = &mut rest[SIZE * (*i as usize - k - 1) * stride..][..SIZE * stride];
                for t in 0..SIZE {
                    let from = &own[t * stride..(t + 1) * stride];
                    for r in 0..SIZE {
                        if x[t][r] != 0.0 {
                            add(&mut target[r * stride..(r + 1) * stride], -x[t][r], from);
                        }
                    }
                }
            }
        }
    }

    /// x ← L⁻ᵀ x.
    #[inline(always)]
    pub fn backward(&self, tree: &Tree, m: usize, x: &mut [[f64; SIZE]]) {
        let base = tree.mechanisms[m].start;
        for k in (0..self.inverse.len()).rev() {
            let mut w = x[k];
            for (i, slot) in &tree.below[base + k] {
                let (block, other) = (&self.blocks[*slot as usize], &x[*i as usize]);
                for t in 0..SIZE {
                    w[t] -= (0..SIZE).map(|r| block[t][r] * other[r]).sum::<f64>();
                }
            }
            let inverse = &self.inverse[k];
            for c in 0..SIZE {
                x[k][c] = (c..SIZE).map(|t| inverse[t][c] * w[t]).sum();
            }
        }
    }
}

/// to += factor from.
#[inline(always)]
pub(super) fn add(to: &mut [f64], factor: f64, from: &[f64]) {
    for (x, y) in to.iter_mut().zip(from) {
        *x += factor * y;
    }
}
