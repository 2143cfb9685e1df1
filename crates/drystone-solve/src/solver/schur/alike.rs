//! Islands that are built alike, eight at a time: a fleet of trucks, a row of robots.
//!
//! What `island` does for one, with one island in each lane of a vector: every number below stands for eight, no lane looks at
//! another, and none of the work is lost to short rows. Islands are alike when their mechanisms have the same joints
//! in the same order and their contacts are between the same bodies of it. An island that takes long, or that is not one for
//! plain sweeps, is left to `island`.

use crate::cone::{MAX_ROWS, Set};
use crate::model::Model;
use crate::problem::{Bodies, Problem, WORLD, cross};

use super::super::block::{Newton, One, local};
use super::super::first_order::Kernel;
use super::super::sweep::vector::Vector;
use super::super::{Status, Stop};
use super::factor::NOTHING;
use super::island::Ended;
use super::tree::{SIZE, Tree};

/// Islands at once.
pub(super) const LANES: usize = 8;
/// One number of each.
type Lane = [f64; LANES];
const NONE: Lane = [0.0; LANES];
/// Columns that are worked on together.
const FEW: usize = 4;
/// More sweeps than this are another's, who looks for contradictions from then on (`Growth` takes three looks).
const SWEEPS: usize = 127;
/// Most rows that are no joint's, and most nodes: what is larger fills vectors by itself.
const MOST_ROWS: usize = 96;
const MOST_NODES: usize = 48;

/// What kind of rows a block has.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sort {
    Friction,
    /// Of a contact without friction: its first row counts.
    Smooth,
    Single,
}

impl Sort {
    fn of(set: Set) -> Option<Self> {
        match set {
            Set::Friction3 { mu: 0.0 } => Some(Sort::Smooth),
            Set::Friction3 { .. } => Some(Sort::Friction),
            Set::NonNegative | Set::Interval { .. } => Some(Sort::Single),
            Set::Free | Set::Friction2 { .. } | Set::Rolling5 { .. } => None,
        }
    }
}

/// Which islands are alike.
#[derive(Default)]
pub(super) struct Groups {
    /// How each island is built: shape of its mechanism, then sort and bodies of every block; and a sum of that.
    words: Vec<u32>,
    ranges: Vec<(u64, u32, std::ops::Range<u32>)>,
    /// Bodies beyond the mechanism's own.
    others: Vec<u32>,
    /// Islands, those that are alike one behind the other, and the length of each such run.
    pub order: Vec<u32>,
    pub runs: Vec<u32>,
}

impl Groups {
    /// Sorts the islands; those that are not for this file are runs of one.
    pub fn find(&mut self, problem: &Problem, p: &Bodies, tree: &Tree, islands: &[(Vec<u32>, Vec<u32>)]) {
        self.words.clear();
        self.ranges.clear();
        for (i, (blocks, mechanisms)) in islands.iter().enumerate() {
            let from = self.words.len();
            let mine =
                if let [m] = mechanisms[..] { self.describe(problem, p, tree, blocks, m) } else { false };
            if !mine {
                // Like no other.
                self.words.truncate(from);
                self.words.extend([WORLD, i as u32]);
            }
            let mut sum = 0xcbf2_9ce4_8422_2325u64;
            for w in &self.words[from..] {
                sum = (sum ^ u64::from(*w)).wrapping_mul(0x0100_0000_01b3);
            }
            self.ranges.push((sum, i as u32, from as u32..self.words.len() as u32));
        }
        self.ranges.sort_unstable_by_key(|r| (r.0, r.1));
        let words = |k: usize| {
            let range = &self.ranges[k].2;
            &self.words[range.start as usize..range.end as usize]
        };
        self.order.clear();
        self.order.extend(self.ranges.iter().map(|r| r.1));
        self.runs.clear();
        for k in 0..self.ranges.len() {
            match self.runs.last_mut() {
                Some(run) if words(k - 1) == words(k) => *run += 1,
                _ => self.runs.push(1),
            }
        }
    }

    fn describe(&mut self, problem: &Problem, p: &Bodies, tree: &Tree, blocks: &[u32], m: u32) -> bool {
        self.words.push(tree.shape[m as usize]);
        let own = tree.bodies[m as usize].len() as u32;
        self.others.clear();
        let mut rows = 0;
        for block in blocks {
            let i = *block as usize;
            let Some(sort) = Sort::of(problem.set(i)) else { return false };
            rows += problem.block(i).len();
            let bodies = bodies_of(p, i).map(|b| {
                if b == WORLD {
                    return WORLD;
                }
                if tree.mechanism_of[b as usize] == m {
                    return tree.local[b as usize];
                }
                let at = self.others.iter().position(|x| *x == b).unwrap_or(self.others.len());
                if at == self.others.len() {
                    self.others.push(b);
                }
                own + at as u32
            });
            self.words.extend([sort as u32, bodies[0], bodies[1]]);
        }
        rows <= MOST_ROWS && tree.mechanisms[m as usize].len() <= MOST_NODES
    }
}

fn bodies_of(p: &Bodies, block: usize) -> [u32; 2] {
    match block.checked_sub(p.points.len()) {
        None => [p.points.a[block], p.points.b[block]],
        Some(g) => [p.general.a[g], p.general.b[g]],
    }
}

/// A block in every lane.
struct Block {
    sort: Sort,
    first: usize,
    rows: usize,
    /// Places among the islands' bodies.
    bodies: [u32; 2],
    /// The interval, or the coefficient of friction in the first.
    bounds: [Lane; 2],
    /// Mean diagonal before elimination, and after it.
    g: Lane,
    own: Lane,
    /// The inverse of its own part of N', row by row; no numbers in lanes where there is none.
    inverse: [Lane; 9],
}

/// Eight islands.
#[derive(Default)]
pub(super) struct Alike {
    /// Bodies by place, in each lane.
    bodies: Vec<[u32; LANES]>,
    inv_mass: Vec<Lane>,
    inv_inertia: Vec<[Lane; 6]>,
    v_free: Vec<[Lane; 6]>,
    /// Bilateral rows, six for each node: Jacobian, M⁻¹Jᵀ; S = LLᵀ by slots (`[earlier row][later row]`, as in `factor`);
    /// one over L's diagonal, zero for rows that depend on others.
    jacobian: Vec<[Lane; 12]>,
    effect: Vec<[Lane; 12]>,
    slots: Vec<[[Lane; SIZE]; SIZE]>,
    over: Vec<[Lane; SIZE]>,
    /// The other blocks, their rows' Jacobian and M⁻¹Jᵀ.
    blocks: Vec<Block>,
    row: Vec<[Lane; 12]>,
    row_effect: Vec<[Lane; 12]>,
    rows: usize,
    /// Columns of `y` in memory: the rows', the right-hand side's, and some that are zero.
    columns: usize,
    /// L⁻¹ N_EU, row by row.
    y: Vec<Lane>,
    /// N', row by row, and r'.
    n: Vec<Lane>,
    rhs: Vec<Lane>,
    gamma: Vec<Lane>,
    u: Vec<Lane>,
    marked: [Vec<Lane>; 2],
    way: [Vec<Lane>; 2],
    x: Vec<Lane>,
    /// How it ended; None for islands that are left to others.
    pub ended: [Option<Ended>; LANES],
}

impl Alike {
    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        let lanes =
            self.y.len() + self.n.len() + 36 * self.slots.len() + 24 * (self.row.len() + self.jacobian.len());
        size_of::<Lane>() * lanes
    }
}

/// Up to eight islands that are alike.
pub(super) struct SolveAlike<'a> {
    pub problem: &'a Problem,
    pub p: &'a Bodies,
    pub tree: &'a Tree,
    pub work: &'a mut Alike,
    /// Their numbers, and all islands.
    pub which: &'a [u32],
    pub islands: &'a [(Vec<u32>, Vec<u32>)],
    /// The guess.
    pub gamma: &'a [f64],
    pub stop: &'a Stop,
}

impl Kernel for SolveAlike<'_> {
    type Out = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let Self { problem, p, tree, work, which, islands, gamma, stop } = self;
        // Lanes that are left over repeat the first.
        let lanes: [&(Vec<u32>, Vec<u32>); LANES] =
            std::array::from_fn(|l| &islands[which[if l < which.len() { l } else { 0 }] as usize]);
        work.take_bodies(p, tree, &lanes);
        let dropped = work.factor(p, tree, &lanes);
        work.take_blocks(problem, p, tree, &lanes);
        work.own(problem, p, &lanes);
        work.eliminate(tree, lanes[0].1[0] as usize);
        work.finish(problem, &lanes, gamma);
        // SAFETY: the machine has the instructions of `V`, as the caller knows.
        let mut ended = unsafe { work.solve::<V>(problem.model(), stop, which.len()) };
        ended[which.len()..].fill(None);
        work.bilateral(tree, lanes[0].1[0] as usize);
        for l in 0..LANES {
            let status = Status::Converged;
            work.ended[l] = ended[l].map(|sweeps| Ended { status, sweeps, dropped: dropped[l] });
        }
    }
}

#[inline(always)]
fn add(to: &mut Lane, x: &Lane, y: &Lane) {
    for l in 0..LANES {
        to[l] += x[l] * y[l];
    }
}

#[inline(always)]
fn take(to: &mut Lane, x: &Lane, y: &Lane) {
    for l in 0..LANES {
        to[l] -= x[l] * y[l];
    }
}

#[inline(always)]
fn times(x: &Lane, y: &Lane) -> Lane {
    let mut out = NONE;
    for l in 0..LANES {
        out[l] = x[l] * y[l];
    }
    out
}

/// The first few.
#[inline(always)]
fn few(from: &[Lane]) -> [Lane; FEW] {
    let mut out = [NONE; FEW];
    out.copy_from_slice(&from[..FEW]);
    out
}

#[inline(always)]
fn lanes(f: impl Fn(usize) -> f64) -> Lane {
    std::array::from_fn(f)
}

type Lists<'a> = [&'a (Vec<u32>, Vec<u32>); LANES];

impl Alike {
    #[inline(always)]
    fn take_bodies(&mut self, p: &Bodies, tree: &Tree, lists: &Lists) {
        let own = tree.bodies[lists[0].1[0] as usize].len();
        self.bodies.clear();
        self.bodies.resize(own, [WORLD; LANES]);
        for (l, (blocks, mechanisms)) in lists.iter().enumerate() {
            let m = mechanisms[0];
            for (k, b) in tree.bodies[m as usize].iter().enumerate() {
                self.bodies[k][l] = *b;
            }
            let mut others = own;
            for block in blocks {
                for b in bodies_of(p, *block as usize) {
                    if b == WORLD || tree.mechanism_of[b as usize] == m {
                        continue;
                    }
                    if !self.bodies[own..others].iter().any(|x| x[l] == b) {
                        if others == self.bodies.len() {
                            self.bodies.push([WORLD; LANES]);
                        }
                        self.bodies[others][l] = b;
                        others += 1;
                    }
                }
            }
        }
        self.inv_mass.clear();
        self.inv_inertia.clear();
        self.v_free.clear();
        for b in &self.bodies {
            self.inv_mass.push(lanes(|l| p.inv_mass[b[l] as usize]));
            self.inv_inertia.push(std::array::from_fn(|k| lanes(|l| p.inv_inertia[b[l] as usize][k])));
            self.v_free.push(std::array::from_fn(|k| lanes(|l| p.v_free[b[l] as usize][k])));
        }
    }

    /// M⁻¹Jᵀ of a row between two of the bodies.
    #[inline(always)]
    fn effect(&self, row: &[Lane; 12], bodies: [u32; 2]) -> [Lane; 12] {
        let mut out = [NONE; 12];
        for (side, body) in bodies.into_iter().enumerate().filter(|(_, b)| *b != WORLD) {
            let (s, m, i) = (6 * side, &self.inv_mass[body as usize], &self.inv_inertia[body as usize]);
            let turn = [[0, 3, 4], [3, 1, 5], [4, 5, 2]];
            for k in 0..3 {
                add(&mut out[s + k], m, &row[s + k]);
                for c in 0..3 {
                    add(&mut out[s + 3 + k], &i[turn[k][c]], &row[s + 3 + c]);
                }
            }
        }
        out
    }

    /// J v_free.
    #[inline(always)]
    fn approach(&self, row: &[Lane; 12], bodies: [u32; 2]) -> Lane {
        let mut out = NONE;
        for (side, body) in bodies.into_iter().enumerate().filter(|(_, b)| *b != WORLD) {
            for k in 0..6 {
                add(&mut out, &row[6 * side + k], &self.v_free[body as usize][k]);
            }
        }
        out
    }

    /// The bilateral rows and L; how many rows depended on others.
    #[inline(always)]
    fn factor(&mut self, p: &Bodies, tree: &Tree, lists: &Lists) -> [usize; LANES] {
        let (m, g) = (lists[0].1[0] as usize, &p.general);
        let nodes = tree.mechanisms[m].clone();
        let first: [usize; LANES] = std::array::from_fn(|l| tree.mechanisms[lists[l].1[0] as usize].start);
        let count = nodes.len();
        self.jacobian.clear();
        self.effect.clear();
        self.x.clear();
        self.slots.clear();
        self.slots.resize(tree.slots[m], [[NONE; SIZE]; SIZE]);
        self.over.clear();
        for k in 0..count {
            let node = tree.nodes[nodes.start + k];
            let bodies = node.bodies.map(|b| if b == WORLD { WORLD } else { tree.local[b as usize] });
            for r in 0..SIZE {
                if r >= node.rows as usize {
                    self.jacobian.push([NONE; 12]);
                    self.effect.push([NONE; 12]);
                    self.x.push(NONE);
                    self.slots[k][r][r] = [1.0; LANES];
                    continue;
                }
                let at: [usize; LANES] = std::array::from_fn(|l| {
                    g.first_row[tree.nodes[first[l] + k].first as usize] as usize + r
                });
                let row: [Lane; 12] = std::array::from_fn(|c| lanes(|l| g.jacobian[at[l]][c]));
                let mut rhs = self.approach(&row, bodies);
                (0..LANES).for_each(|l| rhs[l] += g.bias[at[l]]);
                if !g.compliance.is_empty() {
                    self.slots[k][r][r] = lanes(|l| g.compliance[at[l]]);
                }
                let effect = self.effect(&row, bodies);
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
                        add(&mut sum, &column[sj + k], &row[si + k]);
                    }
                    self.slots[*slot as usize][c][r] = sum;
                }
            }
        }
        let mut dropped = [0; LANES];
        // Until a node is reached, what its diagonal was at first.
        for k in 0..count {
            self.over.push(std::array::from_fn(|r| self.slots[k][r][r]));
        }
        for k in 0..count {
            let mut a = self.slots[k];
            let mut over = [NONE; SIZE];
            for j in 0..SIZE {
                let (pivot, whole) = (a[j][j], self.over[k][j]);
                over[j] = lanes(|l| {
                    let enough = pivot[l] > NOTHING * whole[l].max(f64::MIN_POSITIVE);
                    if enough { 1.0 / pivot[l].sqrt() } else { 0.0 }
                });
                (0..LANES).for_each(|l| dropped[l] += usize::from(over[j][l] == 0.0));
                for i in j + 1..SIZE {
                    a[j][i] = times(&a[j][i], &over[j]);
                }
                for i in j + 1..SIZE {
                    for t in i..SIZE {
                        let (x, y) = (a[j][i], a[j][t]);
                        take(&mut a[i][t], &x, &y);
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
                            take(&mut sum, &a[c][t], &x[c][r]);
                        }
                        x[t][r] = times(&sum, &over[t]);
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
                            take(&mut sum, &self.slots[jk][t][c], &self.slots[ik][t][r]);
                        }
                        self.slots[target][c][r] = sum;
                    }
                }
            }
        }
        dropped
    }

    /// The other blocks' rows.
    #[inline(always)]
    fn take_blocks(&mut self, problem: &Problem, p: &Bodies, tree: &Tree, lists: &Lists) {
        self.blocks.clear();
        self.row.clear();
        self.row_effect.clear();
        let m = lists[0].1[0];
        let own = tree.bodies[m as usize].len();
        for (at, block) in lists[0].0.iter().enumerate() {
            let i = *block as usize;
            let ids: [usize; LANES] = std::array::from_fn(|l| lists[l].0[at] as usize);
            let bodies = bodies_of(p, i).map(|b| match b {
                WORLD => WORLD,
                b if tree.mechanism_of[b as usize] == m => tree.local[b as usize],
                b => (own + self.bodies[own..].iter().position(|x| x[0] == b).unwrap_or(0)) as u32,
            });
            let first = self.row.len();
            let rows = problem.block(i).len();
            if i < p.points.len() {
                let mut three = [[NONE; 12]; 3];
                for (l, i) in ids.into_iter().enumerate() {
                    let at = |f: &[Vec<f64>; 3]| [f[0][i], f[1][i], f[2][i]];
                    let (arm_a, arm_b) = (at(&p.points.arm_a), at(&p.points.arm_b));
                    for (row, axis) in three.iter_mut().zip(p.points.frame(i)) {
                        let turn_a = cross(arm_a, axis);
                        for k in 0..3 {
                            (row[k][l], row[3 + k][l]) = (axis[k], turn_a[k]);
                        }
                        if bodies[1] != WORLD {
                            let turn_b = cross(arm_b, axis);
                            for k in 0..3 {
                                (row[6 + k][l], row[9 + k][l]) = (-axis[k], -turn_b[k]);
                            }
                        }
                    }
                }
                self.row.extend(three);
            } else {
                let row = |l: usize| p.general.first_row[ids[l] - p.points.len()] as usize;
                let mut one: [Lane; 12] = std::array::from_fn(|k| lanes(|l| p.general.jacobian[row(l)][k]));
                if bodies[1] == WORLD {
                    one[6..].fill(NONE);
                }
                self.row.push(one);
            }
            for r in first..self.row.len() {
                let effect = self.effect(&self.row[r], bodies);
                self.row_effect.push(effect);
            }
            let mut bounds = [NONE; 2];
            for l in 0..LANES {
                [bounds[0][l], bounds[1][l]] = match problem.set(ids[l]) {
                    Set::Interval { lo, hi } => [lo, hi],
                    Set::Friction3 { mu } if mu > 0.0 => [mu, 0.0],
                    _ => [0.0, f64::INFINITY],
                };
            }
            self.blocks.push(Block {
                sort: Sort::of(problem.set(i)).unwrap_or(Sort::Single),
                first,
                rows,
                bodies,
                bounds,
                g: NONE,
                own: NONE,
                inverse: [NONE; 9],
            });
        }
        self.rows = self.row.len();
        self.columns = (self.rows + 1).next_multiple_of(FEW);
    }

    /// N_UU on and right of the diagonal, and r_U.
    #[inline(always)]
    fn own(&mut self, problem: &Problem, p: &Bodies, lists: &Lists) {
        let (rows, columns) = (self.rows, self.columns);
        self.n.clear();
        self.n.resize(rows * columns, NONE);
        for (x, a) in self.blocks.iter().enumerate() {
            for b in &self.blocks[..=x] {
                for (i, body) in a.bodies.iter().enumerate().filter(|(_, body)| **body != WORLD) {
                    for (j, _) in b.bodies.iter().enumerate().filter(|(_, other)| *other == body) {
                        for c in b.first..b.first + b.rows {
                            for r in a.first..a.first + a.rows {
                                let mut sum = self.n[c * columns + r];
                                for k in 0..6 {
                                    add(&mut sum, &self.row_effect[r][6 * i + k], &self.row[c][6 * j + k]);
                                }
                                self.n[c * columns + r] = sum;
                            }
                        }
                    }
                }
            }
        }
        let soft = !p.points.compliance[0].is_empty() || !p.general.compliance.is_empty();
        for at in 0..self.blocks.len() {
            let Block { first, rows: own, bodies, sort, .. } = self.blocks[at];
            let mut trace = [NONE; MAX_ROWS];
            let mut bias = [[0.0; MAX_ROWS]; LANES];
            for l in 0..LANES {
                problem.block_bias(lists[l].0[at] as usize, &mut bias[l]);
            }
            for r in 0..own {
                let i = first + r;
                let approach = self.approach(&self.row[i], bodies);
                self.n[i * columns + rows] = lanes(|l| approach[l] + bias[l][r]);
                if soft {
                    for l in 0..LANES {
                        let block = lists[l].0[at] as usize;
                        self.n[i * columns + i][l] +=
                            problem.compliance(block, problem.block(block).start + r);
                    }
                }
                trace[r] = self.n[i * columns + i];
            }
            // Without friction the normal row alone counts, as for the judge.
            let counted = if sort == Sort::Smooth { 1 } else { own };
            self.blocks[at].g =
                lanes(|l| trace[..counted].iter().map(|t| t[l]).sum::<f64>() / counted as f64);
        }
    }

    /// Y, and what N' loses by it.
    #[inline(always)]
    fn eliminate(&mut self, tree: &Tree, m: usize) {
        let (rows, columns) = (self.rows, self.columns);
        let nodes = tree.mechanisms[m].clone();
        let height = SIZE * nodes.len();
        self.y.clear();
        self.y.resize(height * columns, NONE);
        for (row, rhs) in self.y.chunks_exact_mut(columns).zip(&self.x) {
            row[rows] = *rhs;
        }
        for block in &self.blocks {
            for (side, body) in block.bodies.iter().enumerate() {
                if *body as usize >= tree.bodies[m].len() {
                    continue;
                }
                for (node, end) in &tree.at_body[tree.bodies[m][*body as usize] as usize] {
                    let k = *node as usize - nodes.start;
                    for r in 0..tree.nodes[*node as usize].rows as usize {
                        let effect = &self.effect[SIZE * k + r];
                        for c in block.first..block.first + block.rows {
                            let mut sum = self.y[(SIZE * k + r) * columns + c];
                            for x in 0..6 {
                                add(&mut sum, &self.row[c][6 * side + x], &effect[6 * *end as usize + x]);
                            }
                            self.y[(SIZE * k + r) * columns + c] = sum;
                        }
                    }
                }
            }
        }
        for k in 0..nodes.len() {
            let (a, over) = (&self.slots[k], &self.over[k]);
            let (done, rest) = self.y.split_at_mut(SIZE * (k + 1) * columns);
            let own = &mut done[SIZE * k * columns..];
            for from in (0..columns).step_by(FEW) {
                let mut part = [[NONE; FEW]; SIZE];
                for t in 0..SIZE {
                    let mut sum = few(&own[t * columns + from..]);
                    for c in 0..t {
                        for x in 0..FEW {
                            take(&mut sum[x], &a[c][t], &part[c][x]);
                        }
                    }
                    for x in 0..FEW {
                        part[t][x] = times(&sum[x], &over[t]);
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
                                take(&mut sum[c], &x[t][r], &part[t][c]);
                            }
                        }
                        target[r * columns + from..][..FEW].copy_from_slice(&sum);
                    }
                }
            }
        }
        for i in 0..rows {
            for from in (i - i % FEW..columns).step_by(FEW) {
                let mut sum = few(&self.n[i * columns + from..]);
                for row in self.y.chunks_exact(columns) {
                    for c in 0..FEW {
                        take(&mut sum[c], &row[i], &row[from + c]);
                    }
                }
                self.n[i * columns + from..][..FEW].copy_from_slice(&sum);
            }
        }
    }

    /// The other half of N', r', each block's own part, the guess, and u = N'γ + r'.
    #[inline(always)]
    fn finish(&mut self, problem: &Problem, lists: &Lists, gamma: &[f64]) {
        let (rows, columns) = (self.rows, self.columns);
        self.rhs.clear();
        for i in 0..rows {
            for j in 0..i {
                self.n[i * columns + j] = self.n[j * columns + i];
            }
            self.rhs.push(self.n[i * columns + rows]);
        }
        for b in &mut self.blocks {
            let at = |r: usize, c: usize| self.n[(b.first + r) * columns + b.first + c];
            b.own = lanes(|l| (0..b.rows).map(|r| at(r, r)[l]).sum::<f64>() / b.rows as f64);
            if b.rows == 1 || b.sort == Sort::Smooth {
                let w = at(0, 0);
                b.inverse[0] = lanes(|l| 1.0 / w[l]);
                continue;
            }
            let w = [
                [at(0, 0), at(0, 1), at(0, 2)],
                [at(1, 0), at(1, 1), at(1, 2)],
                [at(2, 0), at(2, 1), at(2, 2)],
            ];
            let mut cofactor = [[NONE; 3]; 3];
            for i in 0..3 {
                for j in 0..3 {
                    let (a, b, c, d) = ((i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3);
                    cofactor[i][j] = times(&w[a][c], &w[b][d]);
                    take(&mut cofactor[i][j], &w[a][d], &w[b][c]);
                }
            }
            let mut determinant = times(&w[0][0], &cofactor[0][0]);
            add(&mut determinant, &w[0][1], &cofactor[0][1]);
            add(&mut determinant, &w[0][2], &cofactor[0][2]);
            let mut over = NONE;
            for l in 0..LANES {
                let g = b.own[l];
                // As in `sticks`: far below what three independent rows have.
                over[l] = if determinant[l] > 1e-10 * g * g * g { 1.0 / determinant[l] } else { f64::NAN };
            }
            for r in 0..3 {
                for c in 0..3 {
                    b.inverse[3 * r + c] = times(&cofactor[c][r], &over);
                }
            }
        }
        self.gamma.clear();
        for (at, b) in self.blocks.iter().enumerate() {
            for r in 0..b.rows {
                self.gamma.push(lanes(|l| gamma[problem.block(lists[l].0[at] as usize).start + r]));
            }
        }
        self.u.clone_from(&self.rhs);
        for (row, gamma) in self.n.chunks_exact(columns).zip(&self.gamma) {
            for (u, n) in self.u.iter_mut().zip(row) {
                add(u, gamma, n);
            }
        }
    }

    /// Sweeps until all of the first `count` lanes are done or too many; how many each took.
    #[inline(always)]
    unsafe fn solve<V: Vector>(&mut self, model: Model, stop: &Stop, count: usize) -> [Option<usize>; LANES] {
        let mut done = [None; LANES];
        for l in count..LANES {
            done[l] = Some(0);
        }
        // SAFETY: the machine has the instructions of `V`, as the caller knows; so below.
        let mut begins = unsafe { self.residual::<V>(model) };
        for l in 0..count {
            if self.rows == 0 {
                begins[l] = 0.0;
            }
            if begins[l] <= stop.tolerance {
                done[l] = Some(0);
            }
        }
        let mut newton = Newton::default();
        let (mut last, mut before) = ([f64::NAN; LANES], [f64::NAN; LANES]);
        for k in 1..=stop.iterations.min(SWEEPS) {
            if done.iter().all(Option::is_some) {
                break;
            }
            if model == Model::Ccp {
                self.conjugate(k, &last, &before, &done);
            }
            let mut active = NONE;
            for l in 0..LANES {
                active[l] = if done[l].is_none() { 1.0 } else { 0.0 };
            }
            let (worst, energy) = unsafe { self.sweep::<V>(model, &mut newton, &active) };
            (before, last) = (last, energy);
            let close = |l: usize| done[l].is_none() && (worst[l] <= 10.0 * stop.tolerance);
            if (0..count).any(close) {
                let residual = unsafe { self.residual::<V>(model) };
                let there = std::array::from_fn::<_, LANES, _>(|l| close(l) && residual[l] <= stop.tolerance);
                for l in 0..count {
                    if there[l] {
                        done[l] = Some(k);
                    }
                }
            }
        }
        done
    }

    /// As `Island::conjugate`; lanes that are done stay where they are.
    #[inline(always)]
    fn conjugate(&mut self, k: usize, last: &Lane, before: &Lane, done: &[Option<usize>; LANES]) {
        let (mut beta, mut keep) = (NONE, NONE);
        for l in 0..LANES {
            let falls = last[l] <= before[l] && before[l] > 0.0;
            if done[l].is_none() && (k == 2 || falls) {
                beta[l] = if falls { last[l] / before[l] } else { 0.0 };
                keep[l] = 1.0;
            }
        }
        let both = [&mut self.gamma, &mut self.u];
        for ((x, marked), p) in both.into_iter().zip(&mut self.marked).zip(&mut self.way) {
            if k == 1 {
                p.clear();
                p.resize(x.len(), NONE);
                marked.clone_from(x);
                continue;
            }
            for i in 0..x.len() {
                for l in 0..LANES {
                    let (delta, along) = (x[i][l] - marked[i][l], beta[l] * p[i][l]);
                    x[i][l] += along;
                    p[i][l] = along + keep[l] * delta;
                }
            }
            marked.clone_from(x);
        }
    }

    /// The largest natural-map residual, m/s.
    #[inline(always)]
    unsafe fn residual<V: Vector>(&self, model: Model) -> Lane {
        let mut worst = NONE;
        for at in (0..LANES).step_by(V::L) {
            // SAFETY: all loads and stores are of V::L of the eight numbers of a lane, which begin at `at`.
            unsafe {
                let get = |x: &Lane| V::load(x.as_ptr().add(at));
                let (zero, one) = (V::splat(0.0), V::splat(1.0));
                let mut most = zero;
                for b in &self.blocks {
                    let (i, g) = (b.first, get(&b.g));
                    let over = g.select_le(zero, one, one.div(g));
                    let e = if b.sort == Sort::Friction {
                        let mu = get(&b.bounds[0]);
                        let gamma = [get(&self.gamma[i]), get(&self.gamma[i + 1]), get(&self.gamma[i + 2])];
                        let mut u = [get(&self.u[i]), get(&self.u[i + 1]), get(&self.u[i + 2])];
                        if model == Model::Coulomb {
                            u[0] = u[0].add(mu.mul(u[1].mul(u[1]).add(u[2].mul(u[2])).sqrt()));
                        }
                        let mut x = gamma;
                        for k in 0..3 {
                            x[k] = x[k].sub(u[k].mul(over));
                        }
                        // The projection on the cone.
                        let across = x[1].mul(x[1]).add(x[2].mul(x[2])).sqrt();
                        let edge = x[0].add(mu.mul(across)).div(one.add(mu.mul(mu)));
                        let edge = edge.select_le(zero, zero, edge);
                        let some = across.select_le(zero, one, across);
                        let n = across.select_le(mu.mul(x[0]), x[0], edge);
                        let t = across.select_le(mu.mul(x[0]), one, mu.mul(edge).div(some));
                        let d = [gamma[0].sub(n), gamma[1].sub(t.mul(x[1])), gamma[2].sub(t.mul(x[2]))];
                        d[0].mul(d[0]).add(d[1].mul(d[1])).add(d[2].mul(d[2])).sqrt()
                    } else {
                        let (gamma, lo, hi) = (get(&self.gamma[i]), get(&b.bounds[0]), get(&b.bounds[1]));
                        let x = gamma.sub(get(&self.u[i]).mul(over));
                        let x = x.select_le(lo, lo, x);
                        let d = gamma.sub(hi.select_le(x, hi, x));
                        d.select_le(zero, zero.sub(d), d)
                    };
                    let e = g.select_le(zero, zero, e.mul(g));
                    most = e.select_le(most, most, e);
                }
                most.store(worst.as_mut_ptr().add(at));
            }
        }
        worst
    }

    /// One sweep: the largest |Δγ| g, m/s, and Σ |Δγ|² g, J. Lanes that are not `active` stay as they are.
    #[inline(always)]
    unsafe fn sweep<V: Vector>(&mut self, model: Model, newton: &mut Newton, active: &Lane) -> (Lane, Lane) {
        let (mut worst, mut energy) = (NONE, NONE);
        for at in (0..LANES).step_by(V::L) {
            // SAFETY: the machine has the instructions of `V`, as the caller knows.
            unsafe { self.sweep_some::<V>(at, model, newton, active, &mut worst, &mut energy) };
        }
        (worst, energy)
    }

    /// The same for as many lanes as the machine takes at once, from lane `at` on.
    #[inline(always)]
    unsafe fn sweep_some<V: Vector>(
        &mut self,
        at: usize,
        model: Model,
        newton: &mut Newton,
        active: &Lane,
        worst: &mut Lane,
        energy: &mut Lane,
    ) {
        let (columns, rows) = (self.columns, self.rows);
        // SAFETY: all loads and stores are of V::L of the eight numbers of a lane, which begin at `at`.
        unsafe {
            let get = |x: &Lane| V::load(x.as_ptr().add(at));
            let put = |v: V, x: &mut Lane| v.store(x.as_mut_ptr().add(at));
            let (zero, one) = (V::splat(0.0), V::splat(1.0));
            let active = get(active);
            let (mut most, mut sum) = (get(worst), get(energy));
            for b in &self.blocks {
                let (g, own) = (get(&b.g), get(&b.own));
                // What its joints hold altogether does not move, whatever pushes it.
                let moves = own.select_le(V::splat(1e-12).mul(g), zero, g.select_le(zero, zero, active));
                let old: [V; 3] = [
                    get(&self.gamma[b.first]),
                    if b.rows > 1 { get(&self.gamma[b.first + 1]) } else { zero },
                    if b.rows > 1 { get(&self.gamma[b.first + 2]) } else { zero },
                ];
                let counted = if b.sort == Sort::Friction { 3 } else { 1 };
                let mut rhs = [zero; 3];
                for r in 0..counted {
                    rhs[r] = get(&self.u[b.first + r]);
                    for c in 0..counted {
                        rhs[r] = rhs[r].sub(get(&self.n[(b.first + r) * columns + b.first + c]).mul(old[c]));
                    }
                }
                let mut new = [zero; 3];
                if b.sort != Sort::Friction {
                    let x = zero.sub(rhs[0].mul(get(&b.inverse[0])));
                    let (lo, hi) = (get(&b.bounds[0]), get(&b.bounds[1]));
                    let x = x.select_le(lo, lo, x);
                    new[0] = hi.select_le(x, hi, x);
                } else {
                    let mu = get(&b.bounds[0]);
                    let mut stick = [zero; 3];
                    for r in 0..3 {
                        for c in 0..3 {
                            stick[r] = stick[r].sub(get(&b.inverse[3 * r + c]).mul(rhs[c]));
                        }
                    }
                    let drift = rhs[1].mul(rhs[1]).add(rhs[2].mul(rhs[2])).sqrt();
                    let pull = stick[1].mul(stick[1]).add(stick[2].mul(stick[2])).sqrt();
                    // Open, or held; else it slides. (Where W has no inverse `pull` is no number.)
                    for r in 0..3 {
                        new[r] = mu.mul(drift).select_le(rhs[0], zero, stick[r]);
                    }
                    let slides = pull.select_le(mu.mul(stick[0]), zero, moves);
                    let slides = mu.mul(drift).select_le(rhs[0], zero, slides);
                    let mut which = NONE;
                    put(slides, &mut which);
                    if which != NONE {
                        let (mut out, mut from, mut left) = ([NONE; 3], [NONE; 3], [NONE; 3]);
                        for r in 0..3 {
                            put(new[r], &mut out[r]);
                            put(old[r], &mut from[r]);
                            put(rhs[r], &mut left[r]);
                        }
                        for l in (at..at + V::L).filter(|l| which[*l] > 0.0) {
                            let mut one = One {
                                rows: 3,
                                w: [[0.0; MAX_ROWS]; MAX_ROWS],
                                b: [0.0; MAX_ROWS],
                                set: Set::Friction3 { mu: b.bounds[0][l] },
                                model,
                                g: b.own[l],
                            };
                            let mut gamma = [0.0; MAX_ROWS];
                            for r in 0..3 {
                                for c in 0..3 {
                                    one.w[r][c] = self.n[(b.first + r) * columns + b.first + c][l];
                                }
                                (one.b[r], gamma[r]) = (left[r][l], from[r][l]);
                            }
                            local(&one, newton, &mut gamma);
                            for r in 0..3 {
                                out[r][l] = gamma[r];
                            }
                        }
                        for r in 0..3 {
                            new[r] = get(&out[r]);
                        }
                    }
                }
                let mut change = [zero; 3];
                for r in 0..counted {
                    let d = one.select_le(moves, new[r].sub(old[r]), zero);
                    change[r] = d;
                    let size = d.mul(g);
                    let size = size.select_le(zero, zero.sub(size), size);
                    most = size.select_le(most, most, size);
                    sum = sum.add(d.mul(d).mul(own));
                    put(old[r].add(d), &mut self.gamma[b.first + r]);
                }
                let n = &self.n[b.first * columns..];
                if counted == 3 {
                    for i in 0..rows {
                        let mut u = get(&self.u[i]);
                        for r in 0..3 {
                            u = u.add(change[r].mul(get(&n[r * columns + i])));
                        }
                        put(u, &mut self.u[i]);
                    }
                } else {
                    for i in 0..rows {
                        put(get(&self.u[i]).add(change[0].mul(get(&n[i]))), &mut self.u[i]);
                    }
                }
            }
            put(most, worst);
            put(sum, energy);
        }
    }

    /// γ_E = -L⁻ᵀ(L⁻¹ r_E + Y γ_U).
    #[inline(always)]
    fn bilateral(&mut self, tree: &Tree, m: usize) {
        let (rows, columns) = (self.rows, self.columns);
        let nodes = tree.mechanisms[m].clone();
        for (x, row) in self.x.iter_mut().zip(self.y.chunks_exact(columns)) {
            let mut sum = lanes(|l| -row[rows][l]);
            for (y, gamma) in row.iter().zip(&self.gamma) {
                take(&mut sum, y, gamma);
            }
            *x = sum;
        }
        for k in (0..nodes.len()).rev() {
            for (i, slot) in &tree.below[nodes.start + k] {
                for t in 0..SIZE {
                    let mut sum = self.x[SIZE * k + t];
                    for r in 0..SIZE {
                        take(&mut sum, &self.slots[*slot as usize][t][r], &self.x[SIZE * *i as usize + r]);
                    }
                    self.x[SIZE * k + t] = sum;
                }
            }
            for t in (0..SIZE).rev() {
                let mut sum = self.x[SIZE * k + t];
                for i in t + 1..SIZE {
                    take(&mut sum, &self.slots[k][t][i], &self.x[SIZE * k + i]);
                }
                self.x[SIZE * k + t] = times(&sum, &self.over[k][t]);
            }
        }
    }

    /// The multipliers of the islands `which`, as far as they are done.
    pub fn hand_back(
        &self,
        problem: &Problem,
        p: &Bodies,
        tree: &Tree,
        which: &[u32],
        islands: &[(Vec<u32>, Vec<u32>)],
        gamma: &mut [f64],
    ) {
        let base = 3 * p.points.len();
        for (l, island) in which.iter().enumerate().filter(|(l, _)| self.ended[*l].is_some()) {
            let (blocks, mechanisms) = &islands[*island as usize];
            for (b, block) in self.blocks.iter().zip(blocks) {
                let start = problem.block(*block as usize).start;
                (0..b.rows).for_each(|r| gamma[start + r] = self.gamma[b.first + r][l]);
            }
            for (k, node) in tree.nodes[tree.mechanisms[mechanisms[0] as usize].clone()].iter().enumerate() {
                let first = base + p.general.first_row[node.first as usize] as usize;
                (0..node.rows as usize).for_each(|r| gamma[first + r] = self.x[SIZE * k + r][l]);
            }
        }
    }
}
