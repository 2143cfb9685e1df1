//! The factor of one mechanism: S = L Lᵀ in blocks of six by six, one block column after the other.
//!
//! Block (i, k) of L is kept as X = L_ikᵀ, so that every inner loop runs along the later node's rows; of a
//! diagonal block the inverse of its Cholesky factor is kept. A row of which nothing is left depends on those
//! before it: its multiplier is zero.

use crate::problem::{Bodies, WORLD};
use crate::simd::F64Lanes;

use super::f64x8::{F64x8, On, WIDTH};
use super::tree::{Join, Node, SIZE, Tree};

/// A block, row by row; rows, and those of all that is multiplied with it, are padded to whole vectors.
pub(super) type Block = [F64x8; SIZE];
const ZERO: Block = [[0.0; WIDTH]; SIZE];
/// Jacobian rows of a node, padded with zeros.
type Rows = [[f64; 12]; SIZE];

/// A pivot that small a share of its diagonal is rounding.
pub(super) const NOTHING: f64 = 1e-11;

#[derive(Debug, Default)]
pub(super) struct Factor {
    blocks: Vec<Block>,
    inverse: Vec<Block>,
    jacobian: Vec<Rows>,
    /// The same, number by number.
    turned: Vec<[F64x8; 12]>,
    /// M⁻¹ Jᵀ: (v_A, ω_A, v_B, ω_B) by row of J.
    pub effect: Vec<[[f64; WIDTH]; 12]>,
    /// J v_free + b of every row.
    pub rhs: Vec<F64x8>,
    /// The diagonal of S: what pivots are compared with.
    whole: Vec<[f64; SIZE]>,
    /// Rows that depended on others.
    pub dropped: usize,
}

impl Factor {
    /// Rows and factor of mechanism `m`; nodes are named from its first one.
    #[inline(always)]
    pub fn compute<V: F64Lanes>(&mut self, on: On<V>, p: &Bodies, tree: &Tree, m: usize) {
        let nodes = &tree.nodes[tree.mechanisms[m].clone()];
        self.take_rows(on, p, nodes);
        self.blocks.resize(tree.slots[m], ZERO);
        // What is filled in by elimination alone has no joins, and comes between those that have some.
        let mut next = 0;
        for joins in tree.joins[tree.joins_of[m].clone()].chunk_by(|a, b| a.0 == b.0) {
            let slot = joins[0].0 as usize;
            self.blocks[next..slot].fill(ZERO);
            next = slot + 1;
            // All of a slot are between the same two nodes.
            self.blocks[slot] = match nodes[joins[0].1[1].0 as usize].rows {
                1 => self.joined::<V, 1>(on, joins),
                2 => self.joined::<V, 2>(on, joins),
                3 => self.joined::<V, 3>(on, joins),
                4 => self.joined::<V, 4>(on, joins),
                5 => self.joined::<V, 5>(on, joins),
                _ => self.joined::<V, SIZE>(on, joins),
            };
        }
        self.blocks[next..].fill(ZERO);
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
        for (k, node) in nodes.iter().enumerate() {
            // What pads a node's rows is zero, and takes no time.
            match node.rows {
                1 => self.take_out::<V, 1>(on, tree, base, k),
                2 => self.take_out::<V, 2>(on, tree, base, k),
                3 => self.take_out::<V, 3>(on, tree, base, k),
                4 => self.take_out::<V, 4>(on, tree, base, k),
                5 => self.take_out::<V, 5>(on, tree, base, k),
                _ => self.take_out::<V, SIZE>(on, tree, base, k),
            }
        }
    }

    /// A block of S; the earlier node has N rows.
    #[inline(always)]
    fn joined<V: F64Lanes, const N: usize>(&self, on: On<V>, joins: &[Join]) -> Block {
        let mut sum = ZERO;
        for (_, [(i, si), (j, sj)]) in joins {
            let (rows, columns) = (&self.effect[*i as usize], &self.jacobian[*j as usize]);
            let (si, sj) = (6 * *si as usize, 6 * *sj as usize);
            // Sums side by side: none waits for another.
            for k in 0..6 {
                for c in 0..N {
                    on.add_all(&mut sum[c], columns[c][sj + k], &rows[si + k]);
                }
            }
        }
        sum
    }

    /// Column k of L, of N rows, and what is left of those after it.
    #[inline(always)]
    fn take_out<V: F64Lanes, const N: usize>(&mut self, on: On<V>, tree: &Tree, base: usize, k: usize) {
        let inverse = self.diagonal::<V, N>(on, k);
        for (_, slot) in &tree.below[base + k] {
            lower::<V, N>(on, &inverse, &mut self.blocks[*slot as usize]);
        }
        for [target, ik, jk] in &tree.updates[base + k] {
            let mut sum = self.blocks[*target as usize];
            let (xi, xj) = (&self.blocks[*ik as usize], &self.blocks[*jk as usize]);
            for t in 0..N {
                for c in 0..SIZE {
                    on.take_all(&mut sum[c], xj[t][c], &xi[t]);
                }
            }
            self.blocks[*target as usize] = sum;
        }
        self.inverse.push(inverse);
    }

    #[inline(always)]
    fn take_rows<V: F64Lanes>(&mut self, on: On<V>, p: &Bodies, nodes: &[Node]) {
        let g = &p.general;
        self.jacobian.resize(nodes.len(), [[0.0; 12]; SIZE]);
        self.turned.resize(nodes.len(), [[0.0; WIDTH]; 12]);
        self.effect.resize(nodes.len(), [[0.0; WIDTH]; 12]);
        let kept = self.jacobian.iter_mut().zip(&mut self.turned).zip(&mut self.effect);
        for (node, ((jacobian, turned), effect)) in nodes.iter().zip(kept) {
            let first = g.first_row[node.first as usize] as usize;
            let rows = &g.jacobian[first..first + node.rows as usize];
            jacobian[..rows.len()].copy_from_slice(rows);
            jacobian[rows.len()..].fill([0.0; 12]);
            // Read from where they were written long ago: what has just been copied would be waited for.
            let row = |r: usize| rows.get(r).unwrap_or(&[0.0; 12]);
            *turned = on.turned([row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)]);
            if node.bodies[1] == WORLD {
                jacobian.iter_mut().for_each(|row| row[6..].fill(0.0));
                turned[6..].fill([0.0; WIDTH]);
            }
            for (side, body) in node.bodies.iter().enumerate() {
                let s = 6 * side;
                if *body == WORLD {
                    effect[s..s + 6].fill([0.0; WIDTH]);
                    continue;
                }
                let (m, i) = (p.inv_mass[*body as usize], &p.inv_inertia[*body as usize]);
                let about = [&turned[s + 3], &turned[s + 4], &turned[s + 5]];
                for (k, [x, y, z]) in [[0, 3, 4], [3, 1, 5], [4, 5, 2]].into_iter().enumerate() {
                    effect[s + k] = on.scaled(&turned[s + k], m);
                    let two = on.plus(&on.scaled(about[0], i[x]), &on.scaled(about[1], i[y]));
                    effect[s + 3 + k] = on.plus(&two, &on.scaled(about[2], i[z]));
                }
            }
        }
        self.take_rhs(on, p, nodes);
    }

    /// The right-hand side, of the Jacobians that there are.
    #[inline(always)]
    pub fn take_rhs<V: F64Lanes>(&mut self, on: On<V>, p: &Bodies, nodes: &[Node]) {
        let g = &p.general;
        self.rhs.clear();
        for (node, turned) in nodes.iter().zip(&self.turned) {
            let (first, rows) = (g.first_row[node.first as usize] as usize, node.rows as usize);
            let mut halves = [[0.0; WIDTH]; 2];
            for (side, body) in node.bodies.iter().enumerate().filter(|(_, body)| **body != WORLD) {
                let (half, v) = (&turned[6 * side..6 * side + 6], &p.v_free[*body as usize]);
                let mut sum = on.scaled(&half[0], v[0]);
                for k in 1..6 {
                    sum = on.plus(&sum, &on.scaled(&half[k], v[k]));
                }
                halves[side] = sum;
            }
            let mut rhs = [0.0; WIDTH];
            for (r, bias) in g.bias[first..first + rows].iter().enumerate() {
                rhs[r] = bias + halves[0][r] + halves[1][r];
            }
            self.rhs.push(rhs);
        }
    }

    /// The inverse of the Cholesky factor of a diagonal block. Row j of what is left of the block, over the
    /// root of its pivot, is column j of L.
    #[inline(always)]
    fn diagonal<V: F64Lanes, const N: usize>(&mut self, on: On<V>, k: usize) -> Block {
        let mut l = self.blocks[k];
        let mut over = [1.0; SIZE];
        for j in 0..N {
            let pivot = l[j][j];
            // What is left is compared with what there was.
            if pivot > NOTHING * self.whole[k][j].max(f64::MIN_POSITIVE) {
                over[j] = 1.0 / pivot.sqrt();
            } else {
                over[j] = 0.0;
                self.dropped += 1;
            }
            let column = on.scaled(&l[j], over[j]);
            for i in j + 1..N {
                on.take_all(&mut l[i], column[i], &column);
            }
            l[j] = column;
        }
        // Rows and columns of those that were left out are zero.
        let mut inverse = ZERO;
        (N..SIZE).for_each(|r| inverse[r][r] = 1.0);
        for r in 0..N {
            let mut row = [0.0; WIDTH];
            row[r] = 1.0;
            for t in 0..r {
                on.take_all(&mut row, l[t][r], &inverse[t]);
            }
            inverse[r] = on.scaled(&row, over[r]);
        }
        inverse
    }

    /// Y ← L⁻¹ Y for eight columns of Y: rows are those of the nodes, six each.
    #[inline(always)]
    pub fn forward<V: F64Lanes>(&self, on: On<V>, tree: &Tree, m: usize, y: &mut [F64x8]) {
        let base = tree.mechanisms[m].start;
        let (y, _) = y.as_chunks_mut::<SIZE>();
        for k in 0..self.inverse.len() {
            let rows = tree.nodes[base + k].rows as usize;
            let mut own = y[k];
            // What these columns do not reach.
            if own.as_flattened().iter().fold(0, |bits, x| bits | x.to_bits()) == 0 {
                continue;
            }
            lower::<V, SIZE>(on, &self.inverse[k], &mut own);
            y[k] = own;
            for (i, slot) in &tree.below[base + k] {
                let x = &self.blocks[*slot as usize];
                let target = &mut y[*i as usize];
                let mut sum = *target;
                for (x, own) in x.iter().zip(&own).take(rows) {
                    for r in 0..SIZE {
                        on.take_all(&mut sum[r], x[r], own);
                    }
                }
                *target = sum;
            }
        }
    }

    /// x ← L⁻ᵀ x.
    #[inline(always)]
    pub fn backward<V: F64Lanes>(&self, on: On<V>, tree: &Tree, m: usize, x: &mut [F64x8]) {
        let base = tree.mechanisms[m].start;
        for k in (0..self.inverse.len()).rev() {
            let mut w = [[0.0; WIDTH]; SIZE];
            for (i, slot) in &tree.below[base + k] {
                let (block, other) = (&self.blocks[*slot as usize], &x[*i as usize]);
                for t in 0..SIZE {
                    on.take(&mut w[t], &block[t], other);
                }
            }
            let own = x[k];
            let (mut sum, later) = ([0.0; WIDTH], on.across(&w));
            for t in 0..SIZE {
                on.add_all(&mut sum, own[t] + later[t], &self.inverse[k][t]);
            }
            x[k] = sum;
        }
    }
}

/// x ← L⁻¹ x with a lower triangular inverse, N rows of it.
#[inline(always)]
fn lower<V: F64Lanes, const N: usize>(on: On<V>, inverse: &Block, x: &mut Block) {
    for t in (0..N).rev() {
        let mut row = x[t].map(|x| inverse[t][t] * x);
        for c in 0..t {
            on.add_all(&mut row, inverse[t][c], &x[c]);
        }
        x[t] = row;
    }
}
