//! The dense problem of one island, joints eliminated: made, swept, and handed back.

use std::time::Instant;

use crate::cone::{AdmissibleSet, MAX_ROWS, norm};
use crate::model::Model;
use crate::problem::{Bodies, Problem, WORLD, cross, symmetric};

use super::super::block::{Newton, One, Vector as Few, local};
use super::super::first_order::Kernel;
use super::super::growth::Growth;
use super::super::sweep::vector::Vector;
use super::super::{Status, Stop};
use super::factor::{Factor, add};
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

/// The dense problem of one island.
#[derive(Default)]
pub(super) struct Island {
    pub blocks: Vec<Block>,
    pub rows: usize,
    /// Length of a row in memory: the rows, then the right-hand side, then nothing.
    pub stride: usize,
    pub n: Vec<f64>,
    /// Y by mechanism.
    pub y: Vec<Vec<f64>>,
    pub gamma: Vec<f64>,
    pub u: Vec<f64>,
    /// Of the conjugate gradient, for γ and u: where the last sweep began, and the way from there.
    pub marked: [Vec<f64>; 2],
    pub way: [Vec<f64>; 2],
    pub best: Vec<f64>,
    pub x: Vec<[f64; SIZE]>,
}

/// Makes the dense problem of an island; returns how many rows depended on others.
pub(super) struct Reduce<'a> {
    pub problem: &'a Problem,
    pub p: &'a Bodies,
    pub tree: &'a Tree,
    pub factors: &'a mut [Factor],
    pub work: &'a mut Island,
    pub blocks: &'a [u32],
    pub mechanisms: &'a [u32],
    pub gamma: &'a [f64],
}

impl Kernel for Reduce<'_> {
    type Out = usize;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> usize {
        let Reduce { problem, p, tree, factors, work, blocks, mechanisms, gamma } = self;
        work.take_blocks(problem, p, blocks);
        let (rows, stride) = (work.rows, work.stride);
        work.own(problem, p);
        if work.y.len() < mechanisms.len() {
            work.y.resize_with(mechanisms.len(), Vec::new);
        }
        let mut dropped = 0;
        for (at, m) in mechanisms.iter().enumerate() {
            let (m, factor) = (*m as usize, &mut factors[at]);
            factor.dropped = 0;
            factor.compute(p, tree, m);
            dropped += factor.dropped;
            let nodes = tree.mechanisms[m].clone();
            let y = &mut work.y[at];
            y.clear();
            y.resize(SIZE * nodes.len() * stride, 0.0);
            for (k, rhs) in factor.rhs.iter().enumerate() {
                for r in 0..SIZE {
                    y[(SIZE * k + r) * stride + rows] = rhs[r];
                }
            }
            for block in &work.blocks {
                for (side, body) in block.bodies.iter().enumerate() {
                    if *body == WORLD || tree.mechanism_of[*body as usize] != m as u32 {
                        continue;
                    }
                    for (node, end) in &tree.at_body[*body as usize] {
                        let k = *node as usize - nodes.start;
                        let effect = &factor.effect[k];
                        for c in 0..block.one.rows {
                            let mut column = [0.0; 8];
                            for x in 0..6 {
                                let j = block.jacobian[c][6 * side + x];
                                for r in 0..8 {
                                    column[r] += j * effect[6 * *end as usize + x][r];
                                }
                            }
                            for r in 0..SIZE {
                                y[(SIZE * k + r) * stride + block.first as usize + c] += column[r];
                            }
                        }
                    }
                }
            }
            factor.forward(tree, m, y, stride);
            for row in y.chunks_exact(stride) {
                // From the diagonal on; the other half is filled in below.
                for i in 0..rows {
                    if row[i] != 0.0 {
                        let from = i - i % 8;
                        add(&mut work.n[i * stride + from..(i + 1) * stride], -row[i], &row[from..]);
                    }
                }
            }
        }
        work.finish();
        // u = N' γ + r'.
        work.gamma.clear();
        for block in &work.blocks {
            let at = problem.block(block.number as usize);
            work.gamma.extend_from_slice(&gamma[at]);
        }
        work.u.clear();
        for i in 0..rows {
            let row = &work.n[i * stride..(i + 1) * stride];
            work.u.push(row[rows] + row[..rows].iter().zip(&work.gamma).map(|(n, g)| n * g).sum::<f64>());
        }
        dropped
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
            let rows = problem.block(i).len();
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
            let (g, set, model) = (problem.block_diagonal(i)[0], problem.set(i), problem.model());
            let one = One { rows, w: [[0.0; MAX_ROWS]; MAX_ROWS], b: [0.0; MAX_ROWS], set, model, g: 0.0 };
            self.blocks.push(Block { number, first, bodies, g, one, jacobian, effect });
            first += rows as u32;
        }
        self.rows = first as usize;
        self.stride = (self.rows + 1).next_multiple_of(8);
    }

    /// N_UU and r_U.
    #[inline(always)]
    fn own(&mut self, problem: &Problem, p: &Bodies) {
        let (rows, stride) = (self.rows, self.stride);
        self.n.clear();
        self.n.resize(rows * stride, 0.0);
        for (x, a) in self.blocks.iter().enumerate() {
            for b in &self.blocks[..=x] {
                for (i, body) in a.bodies.iter().enumerate().filter(|(_, body)| **body != WORLD) {
                    for (j, _) in b.bodies.iter().enumerate().filter(|(_, other)| *other == body) {
                        for r in 0..a.one.rows {
                            for c in 0..b.one.rows {
                                let sum: f64 =
                                    (0..6).map(|k| a.effect[r][6 * i + k] * b.jacobian[c][6 * j + k]).sum();
                                self.n[(b.first as usize + c) * stride + a.first as usize + r] += sum;
                            }
                        }
                    }
                }
            }
        }
        let mut u = [0.0; MAX_ROWS];
        for a in &self.blocks {
            p.block_relative(a.number as usize, &p.v_free, &mut u);
            for r in 0..a.one.rows {
                let i = a.first as usize + r;
                self.n[i * stride + rows] = u[r];
                let row = problem.block(a.number as usize).start + r;
                self.n[i * stride + i] += problem.compliance(a.number as usize, row);
            }
        }
    }

    /// Mirrors what is right of the diagonal, and takes the diagonal blocks out.
    #[inline(always)]
    fn finish(&mut self) {
        let stride = self.stride;
        for i in 0..self.rows {
            for j in 0..i {
                self.n[i * stride + j] = self.n[j * stride + i];
            }
        }
        for b in &mut self.blocks {
            let (first, rows) = (b.first as usize, b.one.rows);
            b.one.g = 0.0;
            for r in 0..rows {
                let from = (first + r) * stride + first;
                b.one.w[r][..rows].copy_from_slice(&self.n[from..from + rows]);
                b.one.g += b.one.w[r][r] / rows as f64;
            }
        }
    }

    /// The largest natural-map residual, m/s, with the whole problem's scale.
    #[inline(always)]
    fn residual(&self, model: Model) -> f64 {
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
            let e = norm(&x[..rows]) * b.g;
            worst = if e <= worst { worst } else { e };
        }
        worst
    }

    /// γ_U as it is, and γ_E = -L⁻ᵀ(L⁻¹ r_E + Y γ_U).
    pub fn hand_back(
        &mut self,
        problem: &Problem,
        p: &Bodies,
        tree: &Tree,
        factors: &[Factor],
        mechanisms: &[u32],
        gamma: &mut [f64],
    ) {
        for b in &self.blocks {
            let (first, rows) = (b.first as usize, b.one.rows);
            gamma[problem.block(b.number as usize)].copy_from_slice(&self.gamma[first..first + rows]);
        }
        let base = 3 * p.points.len();
        for (at, m) in mechanisms.iter().enumerate() {
            let m = *m as usize;
            let nodes = tree.mechanisms[m].clone();
            self.x.clear();
            self.x.resize(nodes.len(), [0.0; SIZE]);
            for (k, row) in self.y[at].chunks_exact(self.stride).enumerate() {
                let sum: f64 = row[..self.rows].iter().zip(&self.gamma).map(|(y, g)| y * g).sum();
                self.x[k / SIZE][k % SIZE] = -(row[self.rows] + sum);
            }
            factors[at].backward(tree, m, &mut self.x);
            for (node, x) in tree.nodes[nodes].iter().zip(&self.x) {
                let first = base + p.general.first_row[node.first as usize] as usize;
                gamma[first..first + node.rows as usize].copy_from_slice(&x[..node.rows as usize]);
            }
        }
    }
}

/// Block splitting on the dense problem; how it ended, and the number of sweeps. For the relaxed law with the conjugate
/// gradient over sweeps of [SilcowitzHansen2010, Algorithm 2], as in `nncg`: contacts of one box with one floor share the
/// load in many ways, and sweeps alone are slow to settle it.
pub(super) struct Sweep<'a> {
    pub work: &'a mut Island,
    pub problem: &'a Problem,
    pub stop: &'a Stop,
    pub begun: Instant,
}

impl Kernel for Sweep<'_> {
    type Out = (Status, usize);

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> (Status, usize) {
        let Sweep { work, problem, stop, begun } = self;
        let model = problem.model();
        let within = |residual: f64| residual <= stop.tolerance && (stop.tolerance > 0.0 || residual == 0.0);
        if work.rows == 0 || within(work.residual(model)) {
            return (Status::Converged, 0);
        }
        let mut newton = Newton::default();
        let mut growth = Growth::default();
        let (mut last, mut before) = (None, None);
        let mut least = f64::INFINITY;
        let mut worst = f64::INFINITY;
        for k in 1..=stop.iterations {
            if model == Model::Ccp {
                work.conjugate(last, before);
            }
            let energy;
            [worst, energy] = work.sweep(&mut newton);
            (before, last) = (last, Some(energy));
            if !energy.is_finite() {
                return (Status::Diverged, k);
            }
            if (worst <= 10.0 * stop.tolerance || worst == 0.0) && within(work.residual(model)) {
                return (Status::Converged, k);
            }
            if worst <= least {
                least = worst;
                work.best.clone_from(&work.gamma);
            }
            // The question is about the whole problem: not one to ask in every island.
            if Growth::due(k) && !problem.rest_is_feasible() {
                let [size, curvature] = work.size();
                if growth.tell(size, curvature, work.residual(model)) {
                    return (Status::Wedged, k);
                }
            }
            if stop.budget.is_some_and(|b| begun.elapsed() >= b) {
                return (Status::Budget, k);
            }
        }
        if !(worst <= least) {
            work.gamma.clone_from(&work.best);
        }
        (Status::Iterations, stop.iterations)
    }
}

impl Island {
    /// With Δ = γ - the place marked: γ ← γ + β p, p ← β p + Δ; then marks the place. `u` follows.
    #[inline(always)]
    fn conjugate(&mut self, last: Option<f64>, before: Option<f64>) {
        let beta = match (last, before) {
            (Some(last), Some(before)) if last <= before && before > 0.0 => Some(last / before),
            (Some(_), None) => Some(0.0),
            _ => None,
        };
        let both = [&mut self.gamma, &mut self.u];
        for ((x, marked), p) in both.into_iter().zip(&mut self.marked).zip(&mut self.way) {
            match beta {
                Some(beta) => {
                    for i in 0..x.len() {
                        let (delta, along) = (x[i] - marked[i], beta * p[i]);
                        x[i] += along;
                        p[i] = along + delta;
                    }
                }
                None => {
                    p.clear();
                    p.resize(x.len(), 0.0);
                }
            }
            marked.clone_from(x);
        }
    }

    /// |γ| and ⟨γ, N' γ⟩.
    fn size(&self) -> [f64; 2] {
        let pull = |i: usize| self.gamma[i] * (self.u[i] - self.n[i * self.stride + self.rows]);
        [norm(&self.gamma), (0..self.rows).map(pull).sum()]
    }

    /// One sweep: the largest |Δγ| g, m/s, and Σ |Δγ|² g, J.
    #[inline(always)]
    fn sweep(&mut self, newton: &mut Newton) -> [f64; 2] {
        let (stride, mut worst, mut energy) = (self.stride, 0.0f64, 0.0);
        for b in &mut self.blocks {
            let (first, rows) = (b.first as usize, b.one.rows);
            // What its joints hold altogether does not move, whatever pushes it.
            if b.g <= 0.0 || b.one.g <= 1e-12 * b.g {
                continue;
            }
            let mut gamma: Few = [0.0; MAX_ROWS];
            gamma[..rows].copy_from_slice(&self.gamma[first..first + rows]);
            for r in 0..rows {
                let own: f64 = (0..rows).map(|c| b.one.w[r][c] * gamma[c]).sum();
                b.one.b[r] = self.u[first + r] - own;
            }
            local(&b.one, newton, &mut gamma);
            for r in 0..rows {
                let d = gamma[r] - self.gamma[first + r];
                worst = if (d * b.g).abs() <= worst { worst } else { (d * b.g).abs() };
                energy += d * d * b.one.g;
                if d != 0.0 {
                    self.gamma[first + r] = gamma[r];
                    add(&mut self.u, d, &self.n[(first + r) * stride..(first + r + 1) * stride]);
                }
            }
        }
        [worst, energy]
    }
}
