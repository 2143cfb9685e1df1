//! Islands that are built alike, eight at a time: a row of trucks, a row of robots. An island that is like no
//! other is taken by itself, to the same bits.
//!
//! What `island` does for one, with one island in each lane of a vector: every number below stands for eight,
//! no lane looks at another, and none of the work is lost to short rows. Islands are alike when their
//! mechanisms have the same joints in the same order and their contacts are between the same bodies of it. An
//! island that takes long, or that is not one for plain sweeps, is left to `island`.

mod articulated;
mod groups;
mod reduce;
mod sweep;

use crate::cone::{MAX_ROWS, Set};
use crate::problem::{Bodies, Problem, WORLD, cross};
use crate::simd::{F64Lanes, Kernel, Simd};

use super::super::{Status, Stop};
use super::f64x8::{On, WIDTH};
use super::island::{Ended, counted};
use super::kinematic_tree::KinematicTree;
use super::tree::{SIZE, Tree};
use articulated::Branch;
pub(super) use groups::Groups;

/// Most islands at once.
pub(super) const LANES: usize = WIDTH;
/// One number of each of `W` islands: of [`LANES`], or of one.
type Lane<const W: usize> = [f64; W];
/// Columns that are worked on together: the rows of a contact.
const FEW: usize = 3;

/// What kind of rows a block has.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sort {
    Friction,
    /// Of a contact without friction: its first row counts, as a single one.
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

fn bodies_of(p: &Bodies, block: usize) -> [u32; 2] {
    match block.checked_sub(p.points.len()) {
        None => [p.points.a[block], p.points.b[block]],
        Some(g) => [p.general.a[g], p.general.b[g]],
    }
}

/// A block in every lane.
struct Block<const W: usize> {
    sort: Sort,
    first: usize,
    rows: usize,
    /// Places among the islands' bodies.
    bodies: [u32; 2],
    /// The interval, or the coefficient of friction in the first.
    bounds: [Lane<W>; 2],
    /// Mean diagonal before elimination, and after it.
    g: Lane<W>,
    own: Lane<W>,
    /// The inverse of its own part of N', row by row; no numbers in lanes where there is none.
    inverse: [Lane<W>; 9],
}

/// `W` islands.
pub(super) struct IslandBatch<const W: usize> {
    /// Bodies by place, in each lane.
    bodies: Vec<[u32; W]>,
    inv_mass: Vec<Lane<W>>,
    inv_inertia: Vec<[Lane<W>; 6]>,
    v_free: Vec<[Lane<W>; 6]>,
    /// Bilateral rows, six for each node: Jacobian, M⁻¹Jᵀ; S = LLᵀ by slots (`[earlier row][later row]`, as
    /// in `factor`); one over L's diagonal, zero for rows that depend on others.
    jacobian: Vec<[Lane<W>; 12]>,
    effect: Vec<[Lane<W>; 12]>,
    slots: Vec<[[Lane<W>; SIZE]; SIZE]>,
    over: Vec<[Lane<W>; SIZE]>,
    /// The other blocks, their rows' Jacobian and M⁻¹Jᵀ.
    blocks: Vec<Block<W>>,
    row: Vec<[Lane<W>; 12]>,
    row_effect: Vec<[Lane<W>; 12]>,
    rows: usize,
    /// Columns of `y` in memory: the rows', the right-hand side's, and some that are zero.
    columns: usize,
    /// L⁻¹ N_EU, row by row, and which nodes each few columns of it reach, by bits: the rest is zero and not
    /// written.
    y: Vec<Lane<W>>,
    reach: Vec<u64>,
    /// N', row by row, and r'.
    n: Vec<Lane<W>>,
    /// The diagonal of N_UU.
    diagonal: Vec<Lane<W>>,
    rhs: Vec<Lane<W>>,
    gamma: Vec<Lane<W>>,
    u: Vec<Lane<W>>,
    marked: [Vec<Lane<W>>; 2],
    way: [Vec<Lane<W>>; 2],
    x: Vec<Lane<W>>,
    /// Where the bodies form a tree.
    branch: Branch<W>,
    /// How it ended; None for islands that are left to others.
    pub ended: [Option<Ended>; W],
}

impl<const W: usize> Default for IslandBatch<W> {
    fn default() -> Self {
        Self {
            bodies: Vec::new(),
            inv_mass: Vec::new(),
            inv_inertia: Vec::new(),
            v_free: Vec::new(),
            jacobian: Vec::new(),
            effect: Vec::new(),
            slots: Vec::new(),
            over: Vec::new(),
            blocks: Vec::new(),
            row: Vec::new(),
            row_effect: Vec::new(),
            rows: 0,
            columns: 0,
            y: Vec::new(),
            reach: Vec::new(),
            n: Vec::new(),
            diagonal: Vec::new(),
            rhs: Vec::new(),
            gamma: Vec::new(),
            u: Vec::new(),
            marked: Default::default(),
            way: Default::default(),
            x: Vec::new(),
            branch: Branch::default(),
            ended: std::array::from_fn(|_| None),
        }
    }
}

impl<const W: usize> IslandBatch<W> {
    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        let lanes =
            self.y.len() + self.n.len() + 36 * self.slots.len() + 24 * (self.row.len() + self.jacobian.len());
        size_of::<Lane<W>>() * lanes
    }
}

/// Up to `W` islands that are alike.
pub(super) struct SolveBatch<'a, const W: usize> {
    pub problem: &'a Problem,
    pub p: &'a Bodies,
    pub tree: &'a Tree,
    pub work: &'a mut IslandBatch<W>,
    /// Their numbers, and all islands.
    pub which: &'a [u32],
    pub islands: &'a [(Vec<u32>, Vec<u32>)],
    pub groups: &'a Groups,
    /// The guess.
    pub gamma: &'a [f64],
    pub stop: &'a Stop,
}

impl<const W: usize> Kernel for SolveBatch<'_, W> {
    type Out = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Self { problem, p, tree, work, which, islands, groups, gamma, stop } = self;
        // Lanes that are left over repeat the first.
        let of_lane: [u32; W] = std::array::from_fn(|l| which[if l < which.len() { l } else { 0 }]);
        let lanes = of_lane.map(|island| &islands[island as usize]);
        let on = On::<S::F64>::new();
        work.take_bodies(p, of_lane.map(|island| groups.bodies(island)));
        let m = lanes[0].1[0] as usize;
        let kinematic = tree.kinematic[tree.shape[m] as usize].as_ref();
        let kinematic = kinematic.filter(|kinematic| work.has_masses(kinematic));
        let dropped = match kinematic {
            Some(kinematic) => work.backward_pass(on, p, tree, &lanes, kinematic),
            None => work.factor(on, p, tree, &lanes),
        };
        work.take_blocks(on, problem, p, tree, &lanes);
        match kinematic {
            Some(kinematic) => work.reduce(on, kinematic),
            None => work.eliminate(on, tree, m),
        }
        work.own(on, problem, p, &lanes, kinematic);
        work.finish(on, problem, &lanes, gamma);
        // One island by itself takes one lane: the same bits, without the work for seven others.
        let mut ended = match W {
            1 => work.solve::<f64>(problem.model(), stop, which.len()),
            _ => work.solve::<S::F64>(problem.model(), stop, which.len()),
        };
        ended[which.len()..].fill(None);
        match kinematic {
            Some(kinematic) => work.forward_pass(on, kinematic),
            None => work.bilateral(on, tree, m),
        }
        for l in 0..W {
            let status = Status::Converged;
            work.ended[l] = ended[l].map(|sweeps| Ended { status, sweeps, dropped: dropped[l] });
        }
    }
}

#[inline(always)]
fn plus<const W: usize>(to: &mut Lane<W>, x: &Lane<W>) {
    for l in 0..W {
        to[l] += x[l];
    }
}

/// The first few.
#[inline(always)]
fn few<const W: usize>(from: &[Lane<W>]) -> [Lane<W>; FEW] {
    let mut out = [[0.0; W]; FEW];
    out.copy_from_slice(&from[..FEW]);
    out
}

#[inline(always)]
fn lanes<const W: usize>(f: impl Fn(usize) -> f64) -> Lane<W> {
    std::array::from_fn(f)
}

type Lists<'a, const W: usize> = [&'a (Vec<u32>, Vec<u32>); W];

impl<const W: usize> IslandBatch<W> {
    #[inline(always)]
    fn take_bodies(&mut self, p: &Bodies, lists: [&[u32]; W]) {
        self.bodies.clear();
        self.inv_mass.clear();
        self.inv_inertia.clear();
        self.v_free.clear();
        for k in 0..lists[0].len() {
            let (mut mass, mut inertia, mut free) = ([0.0; W], [[0.0; W]; 6], [[0.0; W]; 6]);
            let mut bodies = [WORLD; W];
            for l in 0..W {
                bodies[l] = lists[l][k];
                let b = bodies[l] as usize;
                mass[l] = p.inv_mass[b];
                let numbers = (&p.inv_inertia[b], &p.v_free[b]);
                for x in 0..6 {
                    (inertia[x][l], free[x][l]) = (numbers.0[x], numbers.1[x]);
                }
            }
            self.bodies.push(bodies);
            self.inv_mass.push(mass);
            self.inv_inertia.push(inertia);
            self.v_free.push(free);
        }
    }

    /// M⁻¹Jᵀ of a row between two of the bodies.
    #[inline(always)]
    fn effect<V: F64Lanes>(&self, on: On<V>, row: &[Lane<W>; 12], bodies: [u32; 2]) -> [Lane<W>; 12] {
        let mut out = [[0.0; W]; 12];
        for (side, body) in bodies.into_iter().enumerate().filter(|(_, b)| *b != WORLD) {
            let (s, m, i) = (6 * side, &self.inv_mass[body as usize], &self.inv_inertia[body as usize]);
            let turn = [[0, 3, 4], [3, 1, 5], [4, 5, 2]];
            for k in 0..3 {
                on.add(&mut out[s + k], m, &row[s + k]);
                for c in 0..3 {
                    on.add(&mut out[s + 3 + k], &i[turn[k][c]], &row[s + 3 + c]);
                }
            }
        }
        out
    }

    /// J v_free.
    #[inline(always)]
    fn approach<V: F64Lanes>(&self, on: On<V>, row: &[Lane<W>; 12], bodies: [u32; 2]) -> Lane<W> {
        let mut out = [0.0; W];
        for (side, body) in bodies.into_iter().enumerate().filter(|(_, b)| *b != WORLD) {
            for k in 0..6 {
                on.add(&mut out, &row[6 * side + k], &self.v_free[body as usize][k]);
            }
        }
        out
    }

    /// The other blocks' rows.
    #[inline(always)]
    fn take_blocks<V: F64Lanes>(
        &mut self,
        on: On<V>,
        problem: &Problem,
        p: &Bodies,
        tree: &Tree,
        lists: &Lists<'_, W>,
    ) {
        self.blocks.clear();
        self.row.clear();
        self.row_effect.clear();
        let m = lists[0].1[0];
        let own = tree.bodies[m as usize].len();
        for (at, block) in lists[0].0.iter().enumerate() {
            let i = *block as usize;
            let ids: [usize; W] = std::array::from_fn(|l| lists[l].0[at] as usize);
            let bodies = bodies_of(p, i).map(|b| match b {
                WORLD => WORLD,
                b if tree.mechanism_of[b as usize] == m => tree.local[b as usize],
                b => (own + self.bodies[own..].iter().position(|x| x[0] == b).unwrap_or(0)) as u32,
            });
            let first = self.row.len();
            let (rows, set) = counted(problem, i);
            if i < p.points.len() {
                let mut three = [[[0.0; W]; 12]; 3];
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
                self.row.extend(&three[..rows]);
            } else {
                let row = |l: usize| p.general.first_row[ids[l] - p.points.len()] as usize;
                let mut one: [Lane<W>; 12] =
                    std::array::from_fn(|k| lanes(|l| p.general.jacobian[row(l)][k]));
                if bodies[1] == WORLD {
                    one[6..].fill([0.0; W]);
                }
                self.row.push(one);
            }
            for r in first..self.row.len() {
                let effect = self.effect(on, &self.row[r], bodies);
                self.row_effect.push(effect);
            }
            let mut bounds = [[0.0; W]; 2];
            for l in 0..W {
                [bounds[0][l], bounds[1][l]] = match problem.set(ids[l]) {
                    Set::Interval { lo, hi } => [lo, hi],
                    Set::Friction3 { mu } if mu > 0.0 => [mu, 0.0],
                    _ => [0.0, f64::INFINITY],
                };
            }
            self.blocks.push(Block {
                sort: Sort::of(set).unwrap_or(Sort::Single),
                first,
                rows,
                bodies,
                bounds,
                g: [0.0; W],
                own: [0.0; W],
                inverse: [[0.0; W]; 9],
            });
        }
        self.rows = self.row.len();
        self.columns = (self.rows + 1).next_multiple_of(FEW);
    }

    /// Adds N_UU, on and right of the diagonal, and r_U. What pushes inner bodies has been counted.
    #[inline(always)]
    fn own<V: F64Lanes>(
        &mut self,
        on: On<V>,
        problem: &Problem,
        p: &Bodies,
        lists: &Lists<'_, W>,
        kinematic: Option<&KinematicTree>,
    ) {
        let (rows, columns) = (self.rows, self.columns);
        let counted = |body: u32| {
            let tree_body = kinematic.and_then(|kinematic| {
                Some(kinematic.bodies[*kinematic.of_body.get(body as usize)? as usize])
            });
            tree_body.is_some_and(|tree_body| tree_body.inner)
        };
        self.diagonal.clear();
        self.diagonal.resize(rows, [0.0; W]);
        for (x, a) in self.blocks.iter().enumerate() {
            for b in &self.blocks[..=x] {
                for (i, body) in a.bodies.iter().enumerate().filter(|(_, body)| **body != WORLD) {
                    let counted = counted(*body);
                    if counted && a.first != b.first {
                        continue;
                    }
                    for (j, _) in b.bodies.iter().enumerate().filter(|(_, other)| *other == body) {
                        for c in b.first..b.first + b.rows {
                            for r in a.first..a.first + a.rows {
                                let mut sum = [0.0; W];
                                for k in 0..6 {
                                    on.add(&mut sum, &self.row_effect[r][6 * i + k], &self.row[c][6 * j + k]);
                                }
                                if !counted {
                                    plus(&mut self.n[c * columns + r], &sum);
                                }
                                if c == r {
                                    plus(&mut self.diagonal[r], &sum);
                                }
                            }
                        }
                    }
                }
            }
        }
        let soft = !p.points.compliance[0].is_empty() || !p.general.compliance.is_empty();
        for at in 0..self.blocks.len() {
            let Block { first, rows: own, bodies, .. } = self.blocks[at];
            let mut trace = [[0.0; W]; MAX_ROWS];
            let mut bias = [[0.0; MAX_ROWS]; W];
            for l in 0..W {
                problem.block_bias(lists[l].0[at] as usize, &mut bias[l]);
            }
            for r in 0..own {
                let i = first + r;
                let mut approach = self.approach(on, &self.row[i], bodies);
                for l in 0..W {
                    approach[l] += bias[l][r];
                    if soft {
                        let block = lists[l].0[at] as usize;
                        let give = problem.compliance(block, problem.block(block).start + r);
                        self.n[i * columns + i][l] += give;
                        self.diagonal[i][l] += give;
                    }
                }
                plus(&mut self.n[i * columns + rows], &approach);
                trace[r] = self.diagonal[i];
            }
            self.blocks[at].g = lanes(|l| trace[..own].iter().map(|t| t[l]).sum::<f64>() / own as f64);
        }
    }

    /// The other half of N', r', each block's own part, the guess, and u = N'γ + r'.
    #[inline(always)]
    fn finish<V: F64Lanes>(&mut self, on: On<V>, problem: &Problem, lists: &Lists<'_, W>, gamma: &[f64]) {
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
            if b.rows == 1 {
                let w = at(0, 0);
                b.inverse[0] = lanes(|l| 1.0 / w[l]);
                continue;
            }
            let w = [
                [at(0, 0), at(0, 1), at(0, 2)],
                [at(1, 0), at(1, 1), at(1, 2)],
                [at(2, 0), at(2, 1), at(2, 2)],
            ];
            let mut cofactor = [[[0.0; W]; 3]; 3];
            for i in 0..3 {
                for j in 0..3 {
                    let (a, b, c, d) = ((i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3);
                    cofactor[i][j] = on.times(&w[a][c], &w[b][d]);
                    on.take(&mut cofactor[i][j], &w[a][d], &w[b][c]);
                }
            }
            let mut determinant = on.times(&w[0][0], &cofactor[0][0]);
            on.add(&mut determinant, &w[0][1], &cofactor[0][1]);
            on.add(&mut determinant, &w[0][2], &cofactor[0][2]);
            let mut over = [0.0; W];
            for l in 0..W {
                let g = b.own[l];
                // As in `sticks`: far below what three independent rows have.
                over[l] = if determinant[l] > 1e-10 * g * g * g { 1.0 / determinant[l] } else { f64::NAN };
            }
            for r in 0..3 {
                for c in 0..3 {
                    b.inverse[3 * r + c] = on.times(&cofactor[c][r], &over);
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
                on.add(u, gamma, n);
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
