//! Mechanisms without loops, body by body from the leaves to the root; eight islands at once.
//!
//! With the velocities kept as unknowns nothing fills in, however many joints a body has. A body c, with all
//! that hangs on it, has the mass M = L Lᵀ and hangs on p by the node J_c v_c + J_p v_p + r + C λ = 0. Then,
//! with g what pushes it (the right-hand side is a push of zero),
//!
//! ```text
//!     z = L⁻¹ g,   E = L⁻¹ J_cᵀ,   S = EᵀE + C = K Kᵀ,   y = K⁻¹ (Eᵀ z + r),   W = K⁻¹ J_p
//!     M_p ← M_p + Wᵀ W,   g_p ← g_p - Wᵀ y,   N'_ij = Σ z_i·z_j - Σ y_i·y_j
//! ```
//!
//! and from the root back: λ = -K⁻ᵀ(y + W v_p), v_c = L⁻ᵀ(z + E λ). Of a leaf z is not needed: M⁻¹ is known,
//! and z_i·z_j is its part of N_UU. Rows that depend on others of their node get no multiplier.

use crate::problem::{Bodies, WORLD};
use crate::simd::F64Lanes;

use super::super::f64x8::On;
use super::super::factor::NOTHING;
use super::super::kinematic_tree::{KinematicTree, Link, TreeBody};
use super::super::tree::{SIZE, Tree};
use super::{FEW, IslandBatch, Lane, Lists, few, lanes};

/// An inertia whose eigenvalues differ by more has no inverse to be relied on: the cube of their share.
const FLAT: f64 = 1e-18;

/// Six by six.
type Square<const W: usize> = [[Lane<W>; SIZE]; SIZE];

/// By body.
#[derive(Default)]
pub(super) struct Branch<const W: usize> {
    /// M and then L of inner bodies, below and on the diagonal; one over L's diagonal.
    mass: Vec<Square<W>>,
    mass_over: Vec<[Lane<W>; SIZE]>,
    /// K of the node, one over its diagonal (zero for rows that depend on others), E, K⁻¹Eᵀ (of a leaf K⁻¹
    /// J_c M⁻¹), W, K⁻¹r.
    node: Vec<Square<W>>,
    node_over: Vec<[Lane<W>; SIZE]>,
    reach: Vec<Square<W>>,
    pull: Vec<Square<W>>,
    lead: Vec<Square<W>>,
    rhs: Vec<[Lane<W>; SIZE]>,
    /// Of the node in work: its own body's side, one.
    jacobian: Vec<Square<W>>,
    /// First row of `y`: six of z for inner bodies, then as many as the node has.
    first: Vec<usize>,
    /// What pushes each body, a few columns at a time.
    push: Vec<[[Lane<W>; FEW]; SIZE]>,
    /// z and y of the solution; velocities of inner bodies.
    total: Vec<Lane<W>>,
    velocity: Vec<[Lane<W>; SIZE]>,
}

/// The Cholesky factor of the first `n` rows, below and on the diagonal, and one over its diagonal: zero
/// where nothing is left.
#[inline(always)]
fn cholesky<V: F64Lanes, const W: usize>(on: On<V>, a: &mut Square<W>, n: usize) -> [Lane<W>; SIZE] {
    let mut over = [[0.0; W]; SIZE];
    let whole: [Lane<W>; SIZE] = std::array::from_fn(|r| a[r][r]);
    for j in 0..n {
        let pivot = a[j][j];
        over[j] = lanes(|l| {
            let enough = pivot[l] > NOTHING * whole[j][l].max(f64::MIN_POSITIVE);
            if enough { 1.0 / pivot[l].sqrt() } else { 0.0 }
        });
        for i in j + 1..n {
            a[i][j] = on.times(&a[i][j], &over[j]);
        }
        for i in j + 1..n {
            for t in j + 1..=i {
                let (x, y) = (a[i][j], a[t][j]);
                on.take(&mut a[i][t], &x, &y);
            }
        }
    }
    over
}

/// x ← L⁻¹ x for the first `n` of several columns.
#[inline(always)]
fn lower<V: F64Lanes, const W: usize, const N: usize>(
    on: On<V>,
    l: &Square<W>,
    over: &[Lane<W>; SIZE],
    x: &mut [[Lane<W>; N]; SIZE],
    n: usize,
) {
    for t in 0..n {
        let mut sum = x[t];
        for c in 0..t {
            for k in 0..N {
                on.take(&mut sum[k], &l[t][c], &x[c][k]);
            }
        }
        for k in 0..N {
            x[t][k] = on.times(&sum[k], &over[t]);
        }
    }
}

/// x ← L⁻ᵀ x.
#[inline(always)]
fn upper<V: F64Lanes, const W: usize>(
    on: On<V>,
    l: &Square<W>,
    over: &[Lane<W>; SIZE],
    x: &mut [Lane<W>; SIZE],
    n: usize,
) {
    for t in (0..n).rev() {
        let mut sum = x[t];
        for i in t + 1..n {
            on.take(&mut sum, &l[i][t], &x[i]);
        }
        x[t] = on.times(&sum, &over[t]);
    }
}

/// The inverse of a symmetric 3 x 3 matrix (xx, yy, zz, xy, xz, yz).
fn inverse(i: [f64; 6]) -> [f64; 6] {
    let [xx, yy, zz, xy, xz, yz] = i;
    let (a, b, c) = (yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy);
    let over = 1.0 / (xx * a + xy * b + xz * c);
    [a, xx * zz - xz * xz, xx * yy - xy * xy, b, c, xy * xz - xx * yz].map(|x| over * x)
}

impl<const W: usize> IslandBatch<W> {
    /// Whether inner bodies have a mass: bodies that are locked to a plane have no inertia across it, or all
    /// of it.
    #[inline(always)]
    pub(super) fn has_masses(&self, kinematic: &KinematicTree) -> bool {
        kinematic.bodies.iter().filter(|tree_body| tree_body.inner).all(|tree_body| {
            let (m, i) =
                (&self.inv_mass[tree_body.body as usize], &self.inv_inertia[tree_body.body as usize]);
            (0..W).all(|l| {
                let [xx, yy, zz, xy, xz, yz] = i.map(|x| x[l]);
                let mean = (xx + yy + zz) / 3.0;
                let determinant =
                    xx * (yy * zz - yz * yz) - xy * (xy * zz - xz * yz) + xz * (xy * yz - xz * yy);
                m[l] > 0.0 && determinant > FLAT * mean * mean * mean
            })
        })
    }

    /// Masses and nodes from the leaves on; how many rows depended on others.
    #[inline(always)]
    pub(super) fn backward_pass<V: F64Lanes>(
        &mut self,
        on: On<V>,
        p: &Bodies,
        tree: &Tree,
        lists: &Lists<'_, W>,
        kinematic: &KinematicTree,
    ) -> [usize; W] {
        let mut b = std::mem::take(&mut self.branch);
        let count = kinematic.bodies.len();
        for matrices in [&mut b.mass, &mut b.node, &mut b.reach, &mut b.pull, &mut b.lead] {
            matrices.resize(count, [[[0.0; W]; SIZE]; SIZE]);
        }
        b.jacobian.resize(1, [[[0.0; W]; SIZE]; SIZE]);
        for vectors in [&mut b.mass_over, &mut b.node_over, &mut b.rhs, &mut b.velocity] {
            vectors.resize(count, [[0.0; W]; SIZE]);
        }
        for (k, tree_body) in kinematic.bodies.iter().enumerate().filter(|(_, tree_body)| tree_body.inner) {
            let (m, i) =
                (&self.inv_mass[tree_body.body as usize], &self.inv_inertia[tree_body.body as usize]);
            b.mass[k] = [[[0.0; W]; SIZE]; SIZE];
            for l in 0..W {
                let [xx, yy, zz, xy, xz, yz] = inverse(i.map(|x| x[l]));
                for r in 0..3 {
                    b.mass[k][r][r][l] = 1.0 / m[l];
                }
                (b.mass[k][3][3][l], b.mass[k][4][4][l], b.mass[k][5][5][l]) = (xx, yy, zz);
                (b.mass[k][4][3][l], b.mass[k][5][3][l], b.mass[k][5][4][l]) = (xy, xz, yz);
            }
        }
        b.first.clear();
        let (mut first, mut dropped) = (0, [0; W]);
        for (k, tree_body) in kinematic.bodies.iter().enumerate() {
            b.first.push(first);
            if tree_body.inner {
                b.mass_over[k] = cholesky(on, &mut b.mass[k], SIZE);
                first += SIZE;
            }
            if let Some(link) = tree_body.link {
                self.take_node(on, p, tree, lists, &mut b, [k, link.node as usize], tree_body, &link);
                for over in &b.node_over[k][..link.rows as usize] {
                    (0..W).for_each(|l| dropped[l] += usize::from(over[l] == 0.0));
                }
                first += link.rows as usize;
            }
        }
        b.first.push(first);
        self.x.clear();
        self.x.resize(SIZE * (count - usize::from(kinematic.bodies[count - 1].link.is_none())), [0.0; W]);
        self.branch = b;
        dropped
    }

    /// The node of body `k`, and what the body that it hangs on carries.
    #[inline(always)]
    fn take_node<V: F64Lanes>(
        &self,
        on: On<V>,
        p: &Bodies,
        tree: &Tree,
        lists: &Lists<'_, W>,
        b: &mut Branch<W>,
        [k, node]: [usize; 2],
        tree_body: &TreeBody,
        link: &Link,
    ) {
        let (g, rows) = (&p.general, link.rows as usize);
        let named = tree.nodes[tree.mechanisms[lists[0].1[0] as usize].start + node].bodies;
        let bodies = named.map(|b| if b == WORLD { WORLD } else { tree.local[b as usize] });
        let (own, other) = (6 * link.side as usize, 6 - 6 * link.side as usize);
        let (jacobian, reach, lead, rhs) =
            (&mut b.jacobian[0], &mut b.reach[k], &mut b.lead[k], &mut b.rhs[k]);
        let start: [usize; W] = std::array::from_fn(|l| {
            let node = tree.nodes[tree.mechanisms[lists[l].1[0] as usize].start + node];
            g.first_row[node.first as usize] as usize
        });
        for r in 0..rows {
            let row = on.turned(std::array::from_fn(|l| &g.jacobian[start[l] + r]));
            rhs[r] = self.approach(on, &row, bodies);
            (0..W).for_each(|l| rhs[r][l] += g.bias[start[l] + r]);
            jacobian[r].copy_from_slice(&row[own..own + SIZE]);
            lead[r].copy_from_slice(&row[other..other + SIZE]);
        }
        for r in 0..rows {
            reach[r] = jacobian[r];
            if tree_body.inner {
                for t in 0..SIZE {
                    let mut sum = reach[r][t];
                    for c in 0..t {
                        on.take(&mut sum, &b.mass[k][t][c], &reach[r][c]);
                    }
                    reach[r][t] = on.times(&sum, &b.mass_over[k][t]);
                }
            } else {
                let (m, i) =
                    (&self.inv_mass[tree_body.body as usize], &self.inv_inertia[tree_body.body as usize]);
                let turn = [[0, 3, 4], [3, 1, 5], [4, 5, 2]];
                for c in 0..3 {
                    reach[r][c] = on.times(m, &jacobian[r][c]);
                    let mut sum = on.times(&i[turn[c][0]], &jacobian[r][3]);
                    on.add(&mut sum, &i[turn[c][1]], &jacobian[r][4]);
                    on.add(&mut sum, &i[turn[c][2]], &jacobian[r][5]);
                    reach[r][3 + c] = sum;
                }
            }
            let with = if tree_body.inner { &*reach } else { &*jacobian };
            for c in 0..=r {
                let mut sum = [0.0; W];
                for t in 0..SIZE {
                    on.add(&mut sum, &reach[r][t], &with[c][t]);
                }
                b.node[k][r][c] = sum;
            }
            if !g.compliance.is_empty() {
                (0..W).for_each(|l| b.node[k][r][r][l] += g.compliance[start[l] + r]);
            }
        }
        b.node_over[k] = cholesky(on, &mut b.node[k], rows);
        let (node, over) = (&b.node[k], &b.node_over[k]);
        b.pull[k][..rows].copy_from_slice(&reach[..rows]);
        lower(on, node, over, &mut b.pull[k], rows);
        for t in 0..rows {
            let mut sum = rhs[t];
            for c in 0..t {
                on.take(&mut sum, &node[t][c], &rhs[c]);
            }
            rhs[t] = on.times(&sum, &over[t]);
        }
        if link.parent == WORLD {
            return;
        }
        lower(on, node, over, lead, rows);
        let mass = &mut b.mass[link.parent as usize];
        for i in 0..SIZE {
            for j in 0..=i {
                let mut sum = mass[i][j];
                for row in &lead[..rows] {
                    on.add(&mut sum, &row[i], &row[j]);
                }
                mass[i][j] = sum;
            }
        }
    }

    /// z and y of all columns, and what they make of N', on and right of the diagonal.
    #[inline(always)]
    pub(super) fn reduce<V: F64Lanes>(&mut self, on: On<V>, kinematic: &KinematicTree) {
        let (rows, columns) = (self.rows, self.columns);
        self.find_bodies(kinematic);
        let Self { branch: b, y, reach, blocks, row, n, .. } = self;
        // What is not reached is never read.
        y.resize(b.first[kinematic.bodies.len()] * columns, [0.0; W]);
        b.push.resize(kinematic.bodies.len(), [[[0.0; W]; FEW]; SIZE]);
        let mut at = 0;
        for tile in 0..reach.len() {
            let (from, reach) = (FEW * tile, reach[tile]);
            // Bodies that something pushes already; the others' numbers are from before.
            let mut pushed = 0u64;
            while at < blocks.len() && blocks[at].first + blocks[at].rows <= from {
                at += 1;
            }
            for block in blocks[at..].iter().take_while(|b| b.first < from + FEW) {
                let some = block.first.max(from)..(block.first + block.rows).min(from + FEW);
                for (side, body) in block.bodies.iter().enumerate() {
                    let Some(tree_body) = kinematic.of_body.get(*body as usize) else { continue };
                    let push = &mut b.push[*tree_body as usize];
                    if pushed >> tree_body & 1 == 0 {
                        pushed |= 1 << tree_body;
                        if some.len() == FEW {
                            for x in 0..SIZE {
                                for c in 0..FEW {
                                    push[x][c] = row[from + c][6 * side + x];
                                }
                            }
                            continue;
                        }
                        *push = [[[0.0; W]; FEW]; SIZE];
                    }
                    for c in some.clone() {
                        for x in 0..SIZE {
                            super::plus(&mut push[x][c - from], &row[c][6 * side + x]);
                        }
                    }
                }
            }
            for (k, tree_body) in kinematic.bodies.iter().enumerate().filter(|(k, _)| reach >> k & 1 == 1) {
                let (before, after) = b.push.split_at_mut(k + 1);
                let own = &mut before[k];
                if pushed >> k & 1 == 0 {
                    *own = [[[0.0; W]; FEW]; SIZE];
                }
                let mut to = b.first[k];
                if tree_body.inner {
                    lower(on, &b.mass[k], &b.mass_over[k], own, SIZE);
                    for z in own.iter() {
                        y[to * columns + from..][..FEW].copy_from_slice(z);
                        to += 1;
                    }
                }
                let parent = tree_body.link.map(|link| link.parent).filter(|parent| *parent != WORLD);
                if let Some(parent) = parent.filter(|parent| pushed >> parent & 1 == 0) {
                    pushed |= 1 << parent;
                    after[parent as usize - k - 1] = [[[0.0; W]; FEW]; SIZE];
                }
                let Some(link) = tree_body.link else { continue };
                for r in 0..link.rows as usize {
                    let mut sum = [[0.0; W]; FEW];
                    if (from..from + FEW).contains(&rows) {
                        sum[rows - from] = b.rhs[k][r];
                    }
                    for t in 0..SIZE {
                        for c in 0..FEW {
                            on.add(&mut sum[c], &b.pull[k][r][t], &own[t][c]);
                        }
                    }
                    y[to * columns + from..][..FEW].copy_from_slice(&sum);
                    to += 1;
                    if link.parent == WORLD {
                        continue;
                    }
                    let (push, lead) = (&mut after[link.parent as usize - k - 1], &b.lead[k][r]);
                    for t in 0..SIZE {
                        for c in 0..FEW {
                            on.take(&mut push[t][c], &lead[t], &sum[c]);
                        }
                    }
                }
            }
        }
        n.resize(rows * columns, [0.0; W]);
        for i in 0..reach.len() {
            for j in i..reach.len() {
                let mut both = reach[i] & reach[j];
                let mut sum = [[[0.0; W]; FEW]; FEW];
                while both != 0 {
                    let k = both.trailing_zeros() as usize;
                    both &= both - 1;
                    let middle = b.first[k] + if kinematic.bodies[k].inner { SIZE } else { 0 };
                    for row in y[b.first[k] * columns..middle * columns].chunks_exact(columns) {
                        let (x, y) = (few(&row[FEW * i..]), few(&row[FEW * j..]));
                        for r in 0..FEW {
                            for c in 0..FEW {
                                on.add(&mut sum[r][c], &x[r], &y[c]);
                            }
                        }
                    }
                    for row in y[middle * columns..b.first[k + 1] * columns].chunks_exact(columns) {
                        let (x, y) = (few(&row[FEW * i..]), few(&row[FEW * j..]));
                        for r in 0..FEW {
                            for c in 0..FEW {
                                on.take(&mut sum[r][c], &x[r], &y[c]);
                            }
                        }
                    }
                }
                for r in 0..FEW.min(rows - FEW * i) {
                    n[(FEW * i + r) * columns + FEW * j..][..FEW].copy_from_slice(&sum[r]);
                }
            }
        }
    }

    /// Which bodies each few columns reach: those of their bodies, and what these hang on.
    #[inline(always)]
    fn find_bodies(&mut self, kinematic: &KinematicTree) {
        self.reach.clear();
        self.reach.resize(self.columns / FEW, 0);
        for block in &self.blocks {
            for body in block.bodies {
                let Some(tree_body) = kinematic.of_body.get(body as usize) else { continue };
                for c in block.first..block.first + block.rows {
                    self.reach[c / FEW] |= 1 << tree_body;
                }
            }
        }
        // The right-hand side is everywhere.
        self.reach[self.rows / FEW] = u64::MAX >> (64 - kinematic.bodies.len());
        for reach in &mut self.reach {
            for (k, tree_body) in kinematic.bodies.iter().enumerate() {
                if let Some(link) = tree_body.link.filter(|link| *reach >> k & 1 == 1 && link.parent != WORLD)
                {
                    *reach |= 1 << link.parent;
                }
            }
        }
    }

    /// The joints' multipliers, from the root on.
    #[inline(always)]
    pub(super) fn forward_pass<V: F64Lanes>(&mut self, on: On<V>, kinematic: &KinematicTree) {
        let (rows, columns) = (self.rows, self.columns);
        let Self { branch: b, y, reach, gamma, x, .. } = self;
        b.total.clear();
        for k in 0..kinematic.bodies.len() {
            for row in y[b.first[k] * columns..b.first[k + 1] * columns].chunks_exact(columns) {
                let mut sum = row[rows];
                for (i, gamma) in gamma.iter().enumerate() {
                    if reach[i / FEW] >> k & 1 == 1 {
                        on.add(&mut sum, &row[i], gamma);
                    }
                }
                b.total.push(sum);
            }
        }
        for (k, tree_body) in kinematic.bodies.iter().enumerate().rev() {
            let mut at = b.first[k];
            let mut v = [[0.0; W]; SIZE];
            if tree_body.inner {
                v.copy_from_slice(&b.total[at..at + SIZE]);
                at += SIZE;
            }
            if let Some(link) = tree_body.link {
                let n = link.rows as usize;
                let mut lambda = [[0.0; W]; SIZE];
                for r in 0..n {
                    on.take(&mut lambda[r], &b.total[at + r], &[1.0; W]);
                    if link.parent != WORLD {
                        for t in 0..SIZE {
                            on.take(&mut lambda[r], &b.lead[k][r][t], &b.velocity[link.parent as usize][t]);
                        }
                    }
                }
                upper(on, &b.node[k], &b.node_over[k], &mut lambda, n);
                x[SIZE * link.node as usize..][..n].copy_from_slice(&lambda[..n]);
                for r in 0..if tree_body.inner { n } else { 0 } {
                    for t in 0..SIZE {
                        on.add(&mut v[t], &b.reach[k][r][t], &lambda[r]);
                    }
                }
            }
            if tree_body.inner {
                upper(on, &b.mass[k], &b.mass_over[k], &mut v, SIZE);
                b.velocity[k] = v;
            }
        }
    }
}
