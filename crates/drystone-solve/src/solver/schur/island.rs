//! The dense problem of one island, joints eliminated: made and handed back.

use std::time::Instant;

use crate::cone::{AdmissibleSet, MAX_ROWS, Set, norm};
use crate::friction_law::FrictionLaw;
use crate::problem::{Bodies, Problem, WORLD, cross, symmetric};
use crate::simd::{F64Lanes, Kernel, Simd};

use super::super::block::One;
use super::super::{Status, Stop};
use super::f64x8::{F64x8, On, WIDTH};
use super::factor::Factor;
use super::newton::Slope;
use super::tree::{SIZE, Tree};

/// One block that is no joint's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Its number in the problem.
    pub number: u32,
    /// First row within its island.
    pub first: u32,
    pub bodies: [u32; 2],
    /// Mean diagonal of the whole problem's block: what its residual is measured with.
    pub g: f64,
    /// The problem of this block alone, joints eliminated.
    pub one: One,
    pub jacobian: [[f64; 12]; MAX_ROWS],
    pub effect: [[f64; 12]; MAX_ROWS],
}

impl Block {
    /// What its joints hold altogether does not move, whatever pushes it.
    pub fn holds_still(&self) -> bool {
        self.g <= 0.0 || self.one.g <= 1e-12 * self.g
    }
}

/// The dense problem of one island. Its columns, and then the right-hand side's, are taken eight at a time: a
/// panel.
#[derive(Default)]
pub(super) struct Island {
    pub blocks: Vec<Block>,
    pub rows: usize,
    /// Panels of a row.
    pub panels: usize,
    /// N', row by row.
    pub n: Vec<F64x8>,
    /// r'.
    pub rhs: Vec<f64>,
    /// Y by mechanism.
    pub y: Vec<Panels>,
    /// These have whole panels, zeros at the end.
    pub gamma: Vec<f64>,
    pub u: Vec<f64>,
    /// Of the conjugate gradient, for γ and u: where the last sweep began, and the way from there.
    pub marked: [Vec<f64>; 2],
    pub way: [Vec<f64>; 2],
    pub best: Vec<f64>,
    /// Six rows of each node.
    pub x: Vec<F64x8>,
    pub slope: Slope,
}

/// How many rows of a block count, and in which set: of a contact without friction the normal one alone. The
/// others of a guess are zero.
pub(super) fn counted(problem: &Problem, i: usize) -> (usize, Set) {
    match problem.set(i) {
        Set::Friction3 { mu: 0.0 } => (1, Set::NonNegative),
        set => (problem.block(i).len(), set),
    }
}

/// Those panels of Y = L⁻¹ N_EU of one mechanism that are not zero.
#[derive(Default)]
pub(super) struct Panels {
    /// Which of the island's, in order; the last one, with the right-hand side, is always there.
    pub which: Vec<u32>,
    /// Rows of each.
    pub height: usize,
    /// Panel by panel, row by row.
    pub y: Vec<F64x8>,
}

impl Panels {
    pub fn of(&self, at: usize) -> &[F64x8] {
        &self.y[at * self.height..(at + 1) * self.height]
    }
}

/// One island, from its rows to its multipliers.
pub(super) struct Solve<'a> {
    pub problem: &'a Problem,
    pub p: &'a Bodies,
    pub tree: &'a Tree,
    pub factors: &'a mut [Factor],
    pub work: &'a mut Island,
    pub blocks: &'a [u32],
    pub mechanisms: &'a [u32],
    /// The guess, and then the solution.
    pub gamma: &'a mut [f64],
    pub stop: &'a Stop,
    pub begun: Instant,
}

/// How it ended, after how many sweeps, and how many bilateral rows depended on others.
#[derive(Clone, Copy)]
pub(super) struct Ended {
    pub status: Status,
    pub sweeps: usize,
    pub dropped: usize,
}

impl Kernel for Solve<'_> {
    type Out = Ended;

    #[inline(always)]
    fn run<S: Simd>(self) -> Ended {
        let Solve { problem, p, tree, factors, work, blocks, mechanisms, gamma, stop, begun } = self;
        let on = On::<S::F64>::new();
        let dropped = work.reduce(on, problem, p, tree, factors, [blocks, mechanisms], gamma);
        let (status, sweeps) = work.solve(on, problem, stop, begun);
        work.hand_back(on, problem, p, tree, factors, mechanisms, gamma);
        Ended { status, sweeps, dropped }
    }
}

impl Island {
    /// Makes the dense problem; returns how many rows depended on others.
    #[inline(always)]
    fn reduce<V: F64Lanes>(
        &mut self,
        on: On<V>,
        problem: &Problem,
        p: &Bodies,
        tree: &Tree,
        factors: &mut [Factor],
        [blocks, mechanisms]: [&[u32]; 2],
        gamma: &[f64],
    ) -> usize {
        let work = self;
        work.take_blocks(problem, p, blocks);
        work.own(problem, p);
        if work.y.len() < mechanisms.len() {
            work.y.resize_with(mechanisms.len(), Panels::default);
        }
        let mut dropped = 0;
        for (at, m) in mechanisms.iter().enumerate() {
            let factor = &mut factors[at];
            factor.dropped = 0;
            factor.compute(on, p, tree, *m as usize);
            dropped += factor.dropped;
            let Island { n, y, blocks, rows, panels, .. } = &mut *work;
            eliminate(on, tree, *m as usize, factor, blocks, [*rows, *panels], &mut y[at], n);
        }
        work.finish();
        work.gamma.clear();
        for block in &work.blocks {
            let at = problem.block(block.number as usize).start;
            work.gamma.extend_from_slice(&gamma[at..at + block.one.rows]);
        }
        work.gamma.resize(WIDTH * work.panels, 0.0);
        work.velocities(on);
        dropped
    }

    /// u = N' γ + r'.
    #[inline(always)]
    pub(super) fn velocities<V: F64Lanes>(&mut self, on: On<V>) {
        self.u.clone_from(&self.rhs);
        let (u, _) = self.u.as_chunks_mut::<WIDTH>();
        for (row, gamma) in self.n.chunks_exact(self.panels).zip(&self.gamma) {
            if *gamma != 0.0 {
                u.iter_mut().zip(row).for_each(|(u, n)| on.add_all(u, *gamma, n));
            }
        }
    }
}

/// Y = L⁻¹ N_EU of a mechanism, and what N' loses by it, on and right of its diagonal tiles.
#[inline(always)]
fn eliminate<V: F64Lanes>(
    on: On<V>,
    tree: &Tree,
    m: usize,
    factor: &Factor,
    blocks: &[Block],
    [rows, panels]: [usize; 2],
    own: &mut Panels,
    n: &mut [F64x8],
) {
    let nodes = tree.mechanisms[m].clone();
    let touches = |body: u32| body != WORLD && tree.mechanism_of[body as usize] == m as u32;
    own.which.clear();
    for block in blocks.iter().filter(|b| b.bodies.into_iter().any(touches)) {
        let columns = block.first as usize..block.first as usize + block.one.rows;
        for panel in columns.start / WIDTH..=(columns.end - 1) / WIDTH {
            if own.which.last().is_none_or(|last| (*last as usize) < panel) {
                own.which.push(panel as u32);
            }
        }
    }
    if own.which.last().is_none_or(|last| (*last as usize) < rows / WIDTH) {
        own.which.push((rows / WIDTH) as u32);
    }
    own.height = SIZE * nodes.len();
    own.y.clear();
    own.y.resize(own.height * own.which.len(), [0.0; WIDTH]);
    let last = (own.which.len() - 1) * own.height;
    for (row, rhs) in own.y[last..].iter_mut().zip(factor.rhs.iter().flat_map(|rhs| &rhs[..SIZE])) {
        row[rows % WIDTH] = *rhs;
    }
    let mut panel = 0;
    for block in blocks {
        for (side, body) in block.bodies.iter().enumerate().filter(|(_, body)| touches(**body)) {
            for (node, end) in &tree.at_body[*body as usize] {
                let k = *node as usize - nodes.start;
                let effect: &[F64x8; 6] = if *end == 0 {
                    &factor.effect[k].as_chunks().0[0]
                } else {
                    &factor.effect[k].as_chunks().0[1]
                };
                for c in 0..block.one.rows {
                    let mut column = [0.0; WIDTH];
                    for x in 0..6 {
                        on.add_all(&mut column, block.jacobian[c][6 * side + x], &effect[x]);
                    }
                    let at = block.first as usize + c;
                    while own.which[panel] as usize > at / WIDTH {
                        panel -= 1;
                    }
                    while (own.which[panel] as usize) < at / WIDTH {
                        panel += 1;
                    }
                    let rows = &mut own.y[panel * own.height + SIZE * k..][..SIZE];
                    rows.iter_mut().zip(column).for_each(|(row, x)| row[at % WIDTH] += x);
                }
            }
        }
    }
    for panel in own.y.chunks_exact_mut(own.height) {
        factor.forward(on, tree, m, panel);
    }
    for (a, first) in own.which.iter().enumerate() {
        for (b, second) in own.which.iter().enumerate().skip(a) {
            let (left, right) = (own.of(a), own.of(b));
            // Four rows of N' at a time stay in registers.
            for four in [0, 4] {
                let mut sum = [[0.0; WIDTH]; 4];
                for (x, y) in left.iter().zip(right) {
                    for r in 0..4 {
                        on.add_all(&mut sum[r], x[four + r], y);
                    }
                }
                for r in 0..4 {
                    let row = WIDTH * *first as usize + four + r;
                    if row < rows {
                        let to = &mut n[row * panels + *second as usize];
                        (0..WIDTH).for_each(|k| to[k] -= sum[r][k]);
                    }
                }
            }
        }
    }
}

impl Island {
    /// Jacobians of the blocks.
    #[inline(always)]
    fn take_blocks(&mut self, problem: &Problem, p: &Bodies, blocks: &[u32]) {
        self.blocks.clear();
        let mut first = 0;
        for &number in blocks {
            let i = number as usize;
            let (rows, set) = counted(problem, i);
            let mut jacobian = [[0.0; 12]; MAX_ROWS];
            let bodies = match i.checked_sub(p.points.len()) {
                None => {
                    let at = |f: &[Vec<f64>; 3]| [f[0][i], f[1][i], f[2][i]];
                    let (arm_a, arm_b) = (at(&p.points.arm_a), at(&p.points.arm_b));
                    for (row, axis) in jacobian.iter_mut().zip(p.points.frame(i)) {
                        let (turn_a, turn_b) = (cross(arm_a, axis), cross(arm_b, axis));
                        for k in 0..3 {
                            (row[k], row[3 + k]) = (axis[k], turn_a[k]);
                            (row[6 + k], row[9 + k]) = (-axis[k], -turn_b[k]);
                        }
                    }
                    [p.points.a[i], p.points.b[i]]
                }
                Some(g) => {
                    let from = p.general.first_row[g] as usize;
                    jacobian[..rows].copy_from_slice(&p.general.jacobian[from..from + rows]);
                    [p.general.a[g], p.general.b[g]]
                }
            };
            let mut effect = [[0.0; 12]; MAX_ROWS];
            for (side, body) in bodies.iter().enumerate() {
                let s = 6 * side;
                for r in 0..rows {
                    if *body == WORLD {
                        jacobian[r][s..s + 6].fill(0.0);
                        continue;
                    }
                    let row = &jacobian[r];
                    let b = *body as usize;
                    let turn = symmetric(&p.inv_inertia[b], [row[s + 3], row[s + 4], row[s + 5]]);
                    for k in 0..3 {
                        effect[r][s + k] = p.inv_mass[b] * row[s + k];
                        effect[r][s + 3 + k] = turn[k];
                    }
                }
            }
            let model = problem.model();
            let one = One { rows, w: [[0.0; MAX_ROWS]; MAX_ROWS], b: [0.0; MAX_ROWS], set, model, g: 0.0 };
            self.blocks.push(Block { number, first, bodies, g: 0.0, one, jacobian, effect });
            first += rows as u32;
        }
        self.rows = first as usize;
        self.panels = (self.rows + 1).div_ceil(WIDTH);
    }

    /// N_UU and r_U, on and right of the diagonal.
    #[inline(always)]
    fn own(&mut self, problem: &Problem, p: &Bodies) {
        let (rows, panels) = (self.rows, self.panels);
        self.n.clear();
        self.n.resize(rows * panels, [0.0; WIDTH]);
        let n = self.n.as_flattened_mut();
        for (x, a) in self.blocks.iter().enumerate() {
            for b in &self.blocks[..=x] {
                for (i, body) in a.bodies.iter().enumerate().filter(|(_, body)| **body != WORLD) {
                    for (j, _) in b.bodies.iter().enumerate().filter(|(_, other)| *other == body) {
                        for r in 0..a.one.rows {
                            for c in 0..b.one.rows {
                                let mut sum = 0.0;
                                for k in 0..6 {
                                    sum += a.effect[r][6 * i + k] * b.jacobian[c][6 * j + k];
                                }
                                n[(b.first as usize + c) * WIDTH * panels + a.first as usize + r] += sum;
                            }
                        }
                    }
                }
            }
        }
        let mut u = [0.0; MAX_ROWS];
        for a in &mut self.blocks {
            p.block_relative(a.number as usize, &p.v_free, &mut u);
            let mut trace = [0.0; MAX_ROWS];
            for r in 0..a.one.rows {
                let i = a.first as usize + r;
                n[i * WIDTH * panels + rows] = u[r];
                let row = problem.block(a.number as usize).start + r;
                let diagonal = &mut n[i * WIDTH * panels + i];
                *diagonal += problem.compliance(a.number as usize, row);
                trace[r] = *diagonal;
            }
            a.g = trace[..a.one.rows].iter().sum::<f64>() / a.one.rows as f64;
        }
    }

    /// Mirrors what is right of the diagonal, and takes right-hand side and diagonal blocks out.
    #[inline(always)]
    fn finish(&mut self) {
        let stride = WIDTH * self.panels;
        let n = self.n.as_flattened_mut();
        self.rhs.clear();
        for i in 0..self.rows {
            for j in 0..i {
                n[i * stride + j] = n[j * stride + i];
            }
            self.rhs.push(std::mem::take(&mut n[i * stride + self.rows]));
        }
        self.rhs.resize(stride, 0.0);
        for b in &mut self.blocks {
            let (first, rows) = (b.first as usize, b.one.rows);
            b.one.g = 0.0;
            for r in 0..rows {
                let from = (first + r) * stride + first;
                b.one.w[r][..rows].copy_from_slice(&n[from..from + rows]);
                b.one.g += b.one.w[r][r] / rows as f64;
            }
        }
    }

    /// The largest natural-map residual, m/s, with the whole problem's scale.
    #[inline(always)]
    pub fn residual(&self, model: FrictionLaw) -> f64 {
        let mut worst = 0.0f64;
        for b in self.blocks.iter().filter(|b| b.g > 0.0) {
            let (first, rows) = (b.first as usize, b.one.rows);
            let mut u = [0.0; MAX_ROWS];
            u[..rows].copy_from_slice(&self.u[first..first + rows]);
            model.correct(b.one.set, &mut u[..rows]);
            let mut x = [0.0; MAX_ROWS];
            for k in 0..rows {
                x[k] = self.gamma[first + k] - u[k] / b.g;
            }
            b.one.set.project(&mut x[..rows]);
            for k in 0..rows {
                x[k] -= self.gamma[first + k];
            }
            let approach = model.approach(b.one.set.opening(), self.u[first]);
            let e = (norm(&x[..rows]) * b.g).max(approach);
            worst = if e <= worst { worst } else { e };
        }
        worst
    }

    /// γ_U as it is, and γ_E = -L⁻ᵀ(L⁻¹ r_E + Y γ_U).
    #[inline(always)]
    fn hand_back<V: F64Lanes>(
        &mut self,
        on: On<V>,
        problem: &Problem,
        p: &Bodies,
        tree: &Tree,
        factors: &[Factor],
        mechanisms: &[u32],
        gamma: &mut [f64],
    ) {
        for b in &self.blocks {
            let (first, rows) = (b.first as usize, b.one.rows);
            let at = problem.block(b.number as usize).start;
            gamma[at..at + rows].copy_from_slice(&self.gamma[first..first + rows]);
        }
        let base = 3 * p.points.len();
        for (at, m) in mechanisms.iter().enumerate() {
            let m = *m as usize;
            let nodes = tree.mechanisms[m].clone();
            self.x.clear();
            self.x.resize(nodes.len(), [0.0; WIDTH]);
            // The right-hand side counts once.
            self.gamma[self.rows] = 1.0;
            let (known, _) = self.gamma.as_chunks::<WIDTH>();
            let own = &self.y[at];
            let alone = self.gamma[..self.rows].iter().all(|x| *x == 0.0);
            for ((k, x), node) in self.x.iter_mut().enumerate().zip(&tree.nodes[nodes.clone()]) {
                // What pads a node's rows stays zero.
                let count = node.rows as usize;
                if alone {
                    let last = &own.of(own.which.len() - 1)[SIZE * k..];
                    x.iter_mut().zip(last).take(count).for_each(|(x, y)| *x = -y[self.rows % WIDTH]);
                    continue;
                }
                let mut sums = [[0.0; WIDTH]; SIZE];
                for (panel, which) in own.which.iter().enumerate() {
                    let rows = &own.of(panel)[SIZE * k..][..SIZE];
                    for (sum, y) in sums.iter_mut().zip(rows) {
                        on.take(sum, y, &known[*which as usize]);
                    }
                }
                x[..count].copy_from_slice(&on.across(&sums)[..count]);
            }
            factors[at].backward(on, tree, m, &mut self.x);
            for (node, x) in tree.nodes[nodes].iter().zip(&self.x) {
                let first = base + p.general.first_row[node.first as usize] as usize;
                gamma[first..first + node.rows as usize].copy_from_slice(&x[..node.rows as usize]);
            }
        }
    }
}
