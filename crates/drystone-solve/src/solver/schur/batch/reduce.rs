//! Joints eliminated: S = LLᵀ, Y = L⁻¹ N_EU, N' = N_UU - YᵀY, and back to the joints' multipliers; eight
//! islands at once.

use crate::problem::{Bodies, WORLD};
use crate::simd::F64Lanes;

use super::super::f64x8::On;
use super::super::factor::NOTHING;
use super::super::tree::{SIZE, Tree};
use super::{FEW, IslandBatch, Lists, few, lanes};

impl<const W: usize> IslandBatch<W> {
    /// The bilateral rows and L; how many rows depended on others.
    #[inline(always)]
    pub(super) fn factor<V: F64Lanes>(
        &mut self,
        on: On<V>,
        p: &Bodies,
        tree: &Tree,
        lists: &Lists<'_, W>,
    ) -> [usize; W] {
        let (m, g) = (lists[0].1[0] as usize, &p.general);
        let nodes = tree.mechanisms[m].clone();
        let first: [usize; W] = std::array::from_fn(|l| tree.mechanisms[lists[l].1[0] as usize].start);
        let count = nodes.len();
        self.jacobian.clear();
        self.effect.clear();
        self.x.clear();
        self.slots.clear();
        self.slots.resize(tree.slots[m], [[[0.0; W]; SIZE]; SIZE]);
        self.over.clear();
        for k in 0..count {
            let node = tree.nodes[nodes.start + k];
            let bodies = node.bodies.map(|b| if b == WORLD { WORLD } else { tree.local[b as usize] });
            for r in 0..SIZE {
                if r >= node.rows as usize {
                    self.jacobian.push([[0.0; W]; 12]);
                    self.effect.push([[0.0; W]; 12]);
                    self.x.push([0.0; W]);
                    self.slots[k][r][r] = [1.0; W];
                    continue;
                }
                let at: [usize; W] = std::array::from_fn(|l| {
                    g.first_row[tree.nodes[first[l] + k].first as usize] as usize + r
                });
                let row = on.turned(std::array::from_fn(|l| &g.jacobian[at[l]]));
                let mut rhs = self.approach(on, &row, bodies);
                (0..W).for_each(|l| rhs[l] += g.bias[at[l]]);
                if !g.compliance.is_empty() {
                    self.slots[k][r][r] = lanes(|l| g.compliance[at[l]]);
                }
                let effect = self.effect(on, &row, bodies);
                self.effect.push(effect);
                self.jacobian.push(row);
                self.x.push(rhs);
            }
        }
        for (slot, [(i, si), (j, sj)]) in &tree.joins[tree.joins_of[m].clone()] {
            let (i, j, si, sj) = (*i as usize, *j as usize, 6 * *si as usize, 6 * *sj as usize);
            let (later, earlier) = (tree.nodes[nodes.start + i].rows, tree.nodes[nodes.start + j].rows);
            for c in 0..earlier as usize {
                let column = &self.jacobian[SIZE * j + c];
                for r in 0..later as usize {
                    let row = &self.effect[SIZE * i + r];
                    let mut sum = self.slots[*slot as usize][c][r];
                    for k in 0..6 {
                        on.add(&mut sum, &column[sj + k], &row[si + k]);
                    }
                    self.slots[*slot as usize][c][r] = sum;
                }
            }
        }
        let mut dropped = [0; W];
        // Until a node is reached, what its diagonal was at first.
        for k in 0..count {
            self.over.push(std::array::from_fn(|r| self.slots[k][r][r]));
        }
        for k in 0..count {
            let mut a = self.slots[k];
            let mut over = [[0.0; W]; SIZE];
            for j in 0..SIZE {
                let (pivot, whole) = (a[j][j], self.over[k][j]);
                over[j] = lanes(|l| {
                    let enough = pivot[l] > NOTHING * whole[l].max(f64::MIN_POSITIVE);
                    if enough { 1.0 / pivot[l].sqrt() } else { 0.0 }
                });
                (0..W).for_each(|l| dropped[l] += usize::from(over[j][l] == 0.0));
                for i in j + 1..SIZE {
                    a[j][i] = on.times(&a[j][i], &over[j]);
                }
                for i in j + 1..SIZE {
                    for t in i..SIZE {
                        let (x, y) = (a[j][i], a[j][t]);
                        on.take(&mut a[i][t], &x, &y);
                    }
                }
            }
            self.slots[k] = a;
            self.over[k] = over;
            for (_, slot) in &tree.below[nodes.start + k] {
                let x = &mut self.slots[*slot as usize];
                for t in 0..SIZE {
                    for r in 0..SIZE {
                        let mut sum = x[t][r];
                        for c in 0..t {
                            on.take(&mut sum, &a[c][t], &x[c][r]);
                        }
                        x[t][r] = on.times(&sum, &over[t]);
                    }
                }
            }
            for [target, ik, jk] in &tree.updates[nodes.start + k] {
                let (target, ik, jk) = (*target as usize, *ik as usize, *jk as usize);
                for c in 0..SIZE {
                    // Of a diagonal block the half above is enough.
                    for r in if target < count { c } else { 0 }..SIZE {
                        let mut sum = self.slots[target][c][r];
                        for t in 0..SIZE {
                            on.take(&mut sum, &self.slots[jk][t][c], &self.slots[ik][t][r]);
                        }
                        self.slots[target][c][r] = sum;
                    }
                }
            }
        }
        dropped
    }

    /// Y, and -YᵀY on and right of the diagonal.
    #[inline(always)]
    pub(super) fn eliminate<V: F64Lanes>(&mut self, on: On<V>, tree: &Tree, m: usize) {
        let (rows, columns) = (self.rows, self.columns);
        let nodes = tree.mechanisms[m].clone();
        self.find_reach(tree, m);
        // What is not reached is never read.
        self.y.resize(SIZE * nodes.len() * columns, [0.0; W]);
        for block in &self.blocks {
            let mut met = 0u64;
            for (side, body) in block.bodies.iter().enumerate() {
                if *body as usize >= tree.bodies[m].len() {
                    continue;
                }
                for (node, end) in &tree.at_body[tree.bodies[m][*body as usize] as usize] {
                    let k = *node as usize - nodes.start;
                    let again = met >> k & 1 == 1;
                    met |= 1 << k;
                    for r in 0..SIZE {
                        let effect = &self.effect[SIZE * k + r];
                        for c in block.first..block.first + block.rows {
                            let to = &mut self.y[(SIZE * k + r) * columns + c];
                            let mut sum = if again { *to } else { [0.0; W] };
                            for x in 0..6 {
                                on.add(&mut sum, &self.row[c][6 * side + x], &effect[6 * *end as usize + x]);
                            }
                            *to = sum;
                        }
                    }
                }
            }
            for c in block.first..block.first + block.rows {
                let left = self.reach[c / FEW] & !met;
                for k in (0..nodes.len()).filter(|k| left >> k & 1 == 1) {
                    (0..SIZE).for_each(|r| self.y[(SIZE * k + r) * columns + c] = [0.0; W]);
                }
            }
        }
        for (row, rhs) in self.y.chunks_exact_mut(columns).zip(&self.x) {
            row[rows] = *rhs;
            row[rows + 1..].fill([0.0; W]);
        }
        for k in 0..nodes.len() {
            let (a, over) = (&self.slots[k], &self.over[k]);
            let (done, rest) = self.y.split_at_mut(SIZE * (k + 1) * columns);
            let own = &mut done[SIZE * k * columns..];
            for tile in 0..self.reach.len() {
                if self.reach[tile] >> k & 1 == 0 {
                    continue;
                }
                let from = FEW * tile;
                let mut part = [[[0.0; W]; FEW]; SIZE];
                for t in 0..SIZE {
                    let mut sum = few(&own[t * columns + from..]);
                    for c in 0..t {
                        for x in 0..FEW {
                            on.take(&mut sum[x], &a[c][t], &part[c][x]);
                        }
                    }
                    for x in 0..FEW {
                        part[t][x] = on.times(&sum[x], &over[t]);
                        own[t * columns + from + x] = part[t][x];
                    }
                }
                for (i, slot) in &tree.below[nodes.start + k] {
                    let x = &self.slots[*slot as usize];
                    let target = &mut rest[SIZE * (*i as usize - k - 1) * columns..];
                    for r in 0..SIZE {
                        let mut sum = few(&target[r * columns + from..]);
                        for t in 0..SIZE {
                            for c in 0..FEW {
                                on.take(&mut sum[c], &x[t][r], &part[t][c]);
                            }
                        }
                        target[r * columns + from..][..FEW].copy_from_slice(&sum);
                    }
                }
            }
        }
        self.n.resize(rows * columns, [0.0; W]);
        for i in 0..self.reach.len() {
            for j in i..self.reach.len() {
                let mut both = self.reach[i] & self.reach[j];
                let mut sum = [[[0.0; W]; FEW]; FEW];
                while both != 0 {
                    let k = both.trailing_zeros() as usize;
                    both &= both - 1;
                    for row in self.y[SIZE * k * columns..SIZE * (k + 1) * columns].chunks_exact(columns) {
                        let (x, y) = (few(&row[FEW * i..]), few(&row[FEW * j..]));
                        for r in 0..FEW {
                            for c in 0..FEW {
                                on.add(&mut sum[r][c], &x[r], &y[c]);
                            }
                        }
                    }
                }
                for r in 0..FEW.min(rows - FEW * i) {
                    let to = &mut self.n[(FEW * i + r) * columns + FEW * j..][..FEW];
                    for c in 0..FEW {
                        for l in 0..W {
                            to[c][l] = -sum[r][c][l];
                        }
                    }
                }
            }
        }
    }

    /// Which nodes each few columns reach: those at their bodies, and what is eliminated after these and
    /// touches them.
    #[inline(always)]
    fn find_reach(&mut self, tree: &Tree, m: usize) {
        let nodes = tree.mechanisms[m].clone();
        self.reach.clear();
        self.reach.resize(self.columns / FEW, 0);
        for block in &self.blocks {
            for body in block.bodies.iter().filter(|b| (**b as usize) < tree.bodies[m].len()) {
                for (node, _) in &tree.at_body[tree.bodies[m][*body as usize] as usize] {
                    for c in block.first..block.first + block.rows {
                        self.reach[c / FEW] |= 1 << (*node as usize - nodes.start);
                    }
                }
            }
        }
        for reach in &mut self.reach {
            for k in 0..nodes.len() {
                if *reach >> k & 1 == 1 {
                    tree.below[nodes.start + k].iter().for_each(|(i, _)| *reach |= 1 << i);
                }
            }
        }
        // The right-hand side is everywhere.
        self.reach[self.rows / FEW] = (1 << nodes.len()) - 1;
    }

    /// γ_E = -L⁻ᵀ(L⁻¹ r_E + Y γ_U).
    #[inline(always)]
    pub(super) fn bilateral<V: F64Lanes>(&mut self, on: On<V>, tree: &Tree, m: usize) {
        let (rows, columns) = (self.rows, self.columns);
        let nodes = tree.mechanisms[m].clone();
        for (k, (x, row)) in self.x.iter_mut().zip(self.y.chunks_exact(columns)).enumerate() {
            let mut sum = [0.0; W];
            on.take(&mut sum, &row[rows], &[1.0; W]);
            for (i, gamma) in self.gamma.iter().enumerate() {
                if self.reach[i / FEW] >> (k / SIZE) & 1 == 1 {
                    on.take(&mut sum, &row[i], gamma);
                }
            }
            *x = sum;
        }
        for k in (0..nodes.len()).rev() {
            for (i, slot) in &tree.below[nodes.start + k] {
                for t in 0..SIZE {
                    let mut sum = self.x[SIZE * k + t];
                    for r in 0..SIZE {
                        on.take(&mut sum, &self.slots[*slot as usize][t][r], &self.x[SIZE * *i as usize + r]);
                    }
                    self.x[SIZE * k + t] = sum;
                }
            }
            for t in (0..SIZE).rev() {
                let mut sum = self.x[SIZE * k + t];
                for i in t + 1..SIZE {
                    on.take(&mut sum, &self.slots[k][t][i], &self.x[SIZE * k + i]);
                }
                self.x[SIZE * k + t] = on.times(&sum, &self.over[k][t]);
            }
        }
    }
}
