//! The factor of one mechanism: S = L Lᵀ in blocks of six by six, one block column after the other.
//!
//! Block (i, k) of L is kept as X = L_ikᵀ, so that every inner loop runs along the later node's rows; of a diagonal block the
//! inverse of its Cholesky factor is kept. A row of which nothing is left depends on those before it: its multiplier is zero.

use crate::problem::{Bodies, WORLD, symmetric};

use super::super::sweep::vector::Vector;
use super::tree::{SIZE, Tree};
use super::wide::{On, WIDE, Wide};

/// A block, row by row; rows, and those of all that is multiplied with it, are padded to whole vectors.
pub(super) type Block = [Wide; SIZE];
const ZERO: Block = [[0.0; WIDE]; SIZE];
/// Jacobian rows of a node, padded with zeros.
type Rows = [[f64; 12]; SIZE];

/// A pivot that small a share of its diagonal is rounding.
pub(super) const NOTHING: f64 = 1e-11;

#[derive(Debug, Default)]
pub(super) struct Factor {
    blocks: Vec<Block>,
    inverse: Vec<Block>,
    jacobian: Vec<Rows>,
    /// M⁻¹ Jᵀ: (v_A, ω_A, v_B, ω_B) by row of J.
    pub effect: Vec<[[f64; WIDE]; 12]>,
    /// J v_free + b of every row.
    pub rhs: Vec<[f64; SIZE]>,
    /// The diagonal of S: what pivots are compared with.
    whole: Vec<[f64; SIZE]>,
    /// Rows that depended on others.
    pub dropped: usize,
}

impl Factor {
    /// Rows and factor of mechanism `m`; nodes are named from its first one.
    #[inline(always)]
    pub fn compute<V: Vector>(&mut self, on: On<V>, p: &Bodies, tree: &Tree, m: usize) {
        let nodes = &tree.nodes[tree.mechanisms[m].clone()];
        self.take_rows(p, nodes);
        self.blocks.clear();
        self.blocks.resize(tree.slots[m], ZERO);
        for (slot, [(i, si), (j, sj)]) in &tree.joins[tree.joins_of[m].clone()] {
            let (rows, columns) = (&self.effect[*i as usize], &self.jacobian[*j as usize]);
            let (si, sj) = (6 * *si as usize, 6 * *sj as usize);
            let rows: [Wide; 6] = std::array::from_fn(|k| rows[si + k]);
            let block = &mut self.blocks[*slot as usize];
            for c in 0..SIZE {
                let mut sum = block[c];
                for k in 0..6 {
                    on.add_all(&mut sum, columns[c][sj + k], &rows[k]);
                }
                block[c] = sum;
            }
        }
        let g = &p.general;
        self.whole.clear();
        for (k, node) in nodes.iter().enumerate() {
            let (first, rows) = (g.first_row[node.first as usize] as usize, node.rows as usize);
            for r in 0..SIZE {
                let soft = if r < rows { g.compliance.get(first + r).copied().unwrap_or(0.0) } else { 1.0 };
                self.blocks[k][r][r] += soft;
            }
            self.whole.push(std::array::from_fn(|r| self.blocks[k][r][r]));
        }
        let base = tree.mechanisms[m].start;
        self.inverse.clear();
        for k in 0..nodes.len() {
            let inverse = self.diagonal(k);
            for (_, slot) in &tree.below[base + k] {
                lower(on, &inverse, &mut self.blocks[*slot as usize]);
            }
            for [target, ik, jk] in &tree.updates[base + k] {
                let (xi, xj) = (self.blocks[*ik as usize], self.blocks[*jk as usize]);
                let block = &mut self.blocks[*target as usize];
                for c in 0..SIZE {
                    let mut sum = block[c];
                    for t in 0..SIZE {
                        on.add_all(&mut sum, -xj[t][c], &xi[t]);
                    }
                    block[c] = sum;
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
            // What is left is compared with what there was.
            if !(pivot > NOTHING * self.whole[k][j].max(f64::MIN_POSITIVE)) {
                self.dropped += 1;
                continue;
            }
            let over = 1.0 / pivot.sqrt();
            inverse[j][j] = over;
            for i in j + 1..SIZE {
                l[i][j] = (a[j][i] - (0..j).map(|t| l[i][t] * l[j][t]).sum::<f64>()) * over;
            }
        }
        // Rows and columns of those that were left out stay zero.
        for c in 0..SIZE {
            for r in c + 1..SIZE {
                let sum: f64 = (c..r).map(|t| l[r][t] * inverse[t][c]).sum();
                inverse[r][c] = -sum * inverse[r][r];
            }
        }
        inverse
    }

    /// Y ← L⁻¹ Y for eight columns of Y: rows are those of the nodes, six each.
    #[inline(always)]
    pub fn forward<V: Vector>(&self, on: On<V>, tree: &Tree, m: usize, y: &mut [Wide]) {
        let base = tree.mechanisms[m].start;
        let (y, _) = y.as_chunks_mut::<SIZE>();
        for k in 0..self.inverse.len() {
            let mut own = y[k];
            lower(on, &self.inverse[k], &mut own);
            y[k] = own;
            for (i, slot) in &tree.below[base + k] {
                let x = &self.blocks[*slot as usize];
                let target = &mut y[*i as usize];
                for r in 0..SIZE {
                    let mut sum = target[r];
                    for t in 0..SIZE {
                        on.add_all(&mut sum, -x[t][r], &own[t]);
                    }
                    target[r] = sum;
                }
            }
        }
    }

    /// x ← L⁻ᵀ x.
    #[inline(always)]
    pub fn backward(&self, tree: &Tree, m: usize, x: &mut [[f64; SIZE]]) {
        let base = tree.mechanisms[m].start;
        for k in (0..self.inverse.len()).rev() {
            let mut w = [[0.0; WIDE]; SIZE];
            for t in 0..SIZE {
                w[t][0] = x[k][t];
            }
            for (i, slot) in &tree.below[base + k] {
                let (block, other) = (&self.blocks[*slot as usize], &x[*i as usize]);
                for t in 0..SIZE {
                    for r in 0..SIZE {
                        w[t][r] -= block[t][r] * other[r];
                    }
                }
            }
            let w = w.map(|w| w.iter().sum::<f64>());
            let inverse = &self.inverse[k];
            for c in 0..SIZE {
                x[k][c] = (c..SIZE).map(|t| inverse[t][c] * w[t]).sum();
            }
        }
    }
}

/// x ← L⁻¹ x with a lower triangular inverse.
#[inline(always)]
fn lower<V: Vector>(on: On<V>, inverse: &Block, x: &mut Block) {
    for t in (0..SIZE).rev() {
        let mut row = x[t].map(|x| inverse[t][t] * x);
        for c in 0..t {
            on.add_all(&mut row, inverse[t][c], &x[c]);
        }
        x[t] = row;
    }
}
