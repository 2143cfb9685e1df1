//! Joints by elimination, contacts by sweeps.
//!
//! Bilateral rows E need no projection: their multipliers follow from those of all other rows U. With S = N_EE,
//!
//! ```text
//!     γ_E = -S⁻¹ (r_E + N_EU γ_U)
//!     N' = N_UU - N_UE S⁻¹ N_EU,      r' = r_U - N_UE S⁻¹ r_E,        K ∋ γ_U ⊥ N' γ_U + r' ∈ K*
//! ```
//!
//! which is the problem that is left when every mechanism moves as its joints let it. S falls apart into mechanisms, each of
//! which is factored on its own (`tree`, `factor`): S = L Lᵀ, Y = L⁻¹ N_EU, N' = N_UU - YᵀY. N' falls apart into islands:
//! mechanisms and bodies that touch each other. It is small and dense there, and solved by block splitting
//! [RenoufAcary2006, eq. 6], contact after contact, each exactly. A sweep over N' knows what a joint passes on: a wheel
//! carries its truck at once, where sweeps over all rows pass the weight on from row to row.
//!
//! Where an island has too many rows for a dense matrix (a pile), and for matrices from files, another solver does the work.

mod factor;
mod tree;

use std::time::Instant;

use crate::certificate::Judge;
use crate::cone::{AdmissibleSet, MAX_ROWS, Set, norm};
use crate::model::Model;
use crate::problem::{Bodies, Malformed, Problem, WORLD, cross, symmetric};

use super::block::{Newton, One, Vector as Few, local};
use super::first_order::{Kernel, widest};
use super::growth::Growth;
use super::sweep::vector::Vector;
use super::{BadSpec, Info, Record, Solution, Solver, Spec, Status, Stop, first_order};
use factor::{Factor, add};
use tree::{SIZE, Tree, find, join};

pub(super) static INFO: Info = Info {
    name: "schur",
    title: "joints by elimination, contacts by block splitting on what is left",
    use_when: "mechanisms: trucks, robots, linkages, with up to about a hundred contacts each",
    models: &["ccp", "coulomb"],
    unit: "sweep",
    citation: "RenoufAcary2006, eq. 6; SilcowitzHansen2010, Algorithm 2",
    params: &[],
    make,
};

fn make(_: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    let other = super::nncg::INFO.name;
    Ok(Box::new(Schur {
        relaxed: Some(super::make(other)?),
        coulomb: Some(super::make(super::block::AC.name)?),
        ..Schur::default()
    }))
}

/// Most rows of an island's dense matrix.
const MOST: usize = 384;

/// One block that is no joint's.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Its number in the problem.
    number: u32,
    /// First row within its island.
    first: u32,
    bodies: [u32; 2],
    /// Mean diagonal of the whole problem's block: what its residual is measured with.
    g: f64,
    /// The problem of this block alone, joints eliminated.
    one: One,
    jacobian: [[f64; 12]; MAX_ROWS],
    effect: [[f64; 12]; MAX_ROWS],
}

#[derive(Default)]
struct Schur {
    tree: Tree,
    factors: Vec<Factor>,
    parent: Vec<u32>,
    /// Island of each root; islands in the order in which they are met.
    island_of: Vec<u32>,
    /// By island: its blocks' numbers, and its mechanisms.
    islands: Vec<(Vec<u32>, Vec<u32>)>,
    used: usize,
    work: Island,
    relaxed: Option<Box<dyn Solver>>,
    coulomb: Option<Box<dyn Solver>>,
    judge: Judge,
}

/// The dense problem of one island.
#[derive(Default)]
struct Island {
    blocks: Vec<Block>,
    rows: usize,
    /// Length of a row in memory: the rows, then the right-hand side, then nothing.
    stride: usize,
    n: Vec<f64>,
    /// Y by mechanism.
    y: Vec<Vec<f64>>,
    gamma: Vec<f64>,
    u: Vec<f64>,
    /// Of the conjugate gradient, for γ and u: where the last sweep began, and the way from there.
    marked: [Vec<f64>; 2],
    way: [Vec<f64>; 2],
    best: Vec<f64>,
    x: Vec<[f64; SIZE]>,
}

impl Solver for Schur {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn bytes(&self) -> usize {
        let others = self.relaxed.iter().chain(&self.coulomb).map(|s| s.bytes()).sum::<usize>();
        8 * (self.work.n.len() + self.work.y.iter().map(Vec::len).sum::<usize>()) + others
    }

    fn solve(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        first_order::check(problem, guess)?;
        let fits = match problem {
            Problem::Bodies(p) => {
                self.tree.load(p);
                self.find_islands(problem, p)
            }
            Problem::Explicit(_) => false,
        };
        let Problem::Bodies(p) = problem else { return self.hand_over(problem, guess, stop) };
        if !fits {
            return self.hand_over(problem, guess, stop);
        }
        if !stop.history {
            return Ok(self.run(problem, p, guess, stop));
        }
        // Islands are done one after the other: what all of them have after k sweeps takes a solve of its own.
        let mut history = Vec::new();
        let mut before = Solution::start(problem, guess).gamma;
        loop {
            let cap =
                Stop { iterations: (history.len() + 1).min(stop.iterations), history: false, ..stop.clone() };
            let mut out = self.run(problem, p, guess, &cap);
            let c = self.judge.judge(problem, &out.gamma);
            let change = out.gamma.iter().zip(&before).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
            if stop.iterations > 0 {
                history.push(Record {
                    residual: c.residual_max,
                    constraint_violation: c.constraint_violation,
                    delta_gamma: change,
                    objective: c.dual_objective,
                });
            }
            if history.len() >= stop.iterations || out.status != Status::Iterations {
                out.iterations = history.len();
                out.history = history;
                return Ok(out);
            }
            before.clone_from(&out.gamma);
        }
    }
}

impl Schur {
    fn hand_over(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        let other = if problem.model() == Model::Ccp { &mut self.relaxed } else { &mut self.coulomb };
        match other {
            Some(solver) => solver.solve(problem, guess, stop),
            None => Err(Malformed("no solver for a problem without mechanisms".into())),
        }
    }

    /// Which mechanisms and blocks belong together; false if some island is too large.
    fn find_islands(&mut self, problem: &Problem, p: &Bodies) -> bool {
        let (points, general) = (&p.points, &p.general);
        self.parent.clear();
        self.parent.extend(0..p.bodies() as u32);
        for node in self.tree.nodes.iter().filter(|n| n.bodies[1] != WORLD) {
            join(&mut self.parent, node.bodies[0], node.bodies[1]);
        }
        for i in 0..points.len() {
            if points.b[i] != WORLD {
                join(&mut self.parent, points.a[i], points.b[i]);
            }
        }
        for i in 0..general.a.len() {
            if general.b[i] != WORLD {
                join(&mut self.parent, general.a[i], general.b[i]);
            }
        }
        self.island_of.clear();
        self.island_of.resize(p.bodies(), WORLD);
        self.used = 0;
        for m in 0..self.tree.mechanisms.len() {
            let body = self.tree.nodes[self.tree.mechanisms[m].start].bodies[0];
            let island = self.island(body);
            self.islands[island].1.push(m as u32);
        }
        for i in 0..points.len() {
            let island = self.island(points.a[i]);
            self.islands[island].0.push(i as u32);
        }
        for i in (0..general.a.len()).filter(|i| general.set[*i] != Set::Free) {
            let island = self.island(general.a[i]);
            self.islands[island].0.push((points.len() + i) as u32);
        }
        let rows = |island: &(Vec<u32>, Vec<u32>)| {
            island.0.iter().map(|i| problem.block(*i as usize).len()).sum::<usize>()
        };
        self.islands[..self.used].iter().all(|island| rows(island) <= MOST)
    }

    /// The island of a body, a new one if need be.
    fn island(&mut self, body: u32) -> usize {
        let root = find(&mut self.parent, body) as usize;
        if self.island_of[root] == WORLD {
            self.island_of[root] = self.used as u32;
            if self.used == self.islands.len() {
                self.islands.push(Default::default());
            }
            self.islands[self.used].0.clear();
            self.islands[self.used].1.clear();
            self.used += 1;
        }
        self.island_of[root] as usize
    }

    fn run(&mut self, problem: &Problem, p: &Bodies, guess: Option<&[f64]>, stop: &Stop) -> Solution {
        let mut out = Solution::start(problem, guess);
        out.status = Status::Converged;
        let begun = Instant::now();
        let mut dropped = 0;
        for k in 0..self.used {
            let Self { tree, factors, islands, work, .. } = self;
            let (blocks, mechanisms) = &islands[k];
            if factors.len() < mechanisms.len() {
                factors.resize_with(mechanisms.len(), Factor::default);
            }
            let reduce = Reduce { problem, p, tree, factors, work, blocks, mechanisms, gamma: &out.gamma };
            dropped += widest(reduce);
            let sweep = Sweep { work, problem, stop, begun };
            let (status, sweeps) = widest(sweep);
            out.iterations = out.iterations.max(sweeps);
            // The worst of all islands is the word on the whole.
            let grave = |s: Status| match s {
                Status::Converged => 0,
                Status::Iterations => 1,
                Status::Budget => 2,
                Status::Wedged => 3,
                Status::Diverged => 4,
            };
            if grave(status) > grave(out.status) {
                out.status = status;
            }
            work.hand_back(problem, p, tree, factors, mechanisms, &mut out.gamma);
        }
        if out.gamma.iter().any(|x| !x.is_finite()) {
            out = Solution {
                status: Status::Diverged,
                iterations: out.iterations,
                ..Solution::start(problem, guess)
            };
        }
        // Rows that repeat others hold if those do, unless they contradict each other.
        if dropped > 0 && out.status == Status::Converged && stop.tolerance > 0.0 {
            let residual = self.judge.judge(problem, &out.gamma).residual_max;
            if !(residual <= stop.tolerance) {
                out.status = Status::Iterations;
            }
        }
        out
    }
}

/// Makes the dense problem of an island; returns how many rows depended on others.
struct Reduce<'a> {
    problem: &'a Problem,
    p: &'a Bodies,
    tree: &'a Tree,
    factors: &'a mut [Factor],
    work: &'a mut Island,
    blocks: &'a [u32],
    mechanisms: &'a [u32],
    gamma: &'a [f64],
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
    fn hand_back(
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
struct Sweep<'a> {
    work: &'a mut Island,
    problem: &'a Problem,
    stop: &'a Stop,
    begun: Instant,
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
        let may_wedge = !problem.rest_is_feasible();
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
            if may_wedge && Growth::due(k) {
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
