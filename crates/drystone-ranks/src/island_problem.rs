//! The problem of the islands that a rank solves, built in the global order of bodies, contacts and joints'
//! rows.

use drystone_solve::colour::{Colouring, Span};
use drystone_solve::cone::Set;
use drystone_solve::problem::islands::{Extract, Islands};
use drystone_solve::problem::{Bodies, WORLD};
use drystone_solve::solver::{self, Status};
use drystone_solve::{FrictionLaw, Malformed, Problem};

use crate::message::{Reader, Writer};
use crate::methods::{Ended, Plan, Stop};
use crate::posed::Posed;
use crate::touch::NOBODY;

/// Where a contact stands among all: its bodies' places in the global order with their colliders, and its
/// feature.
pub type PointKey = [u64; 3];
/// Where a row of a joint stands: joint, row, and the first body.
pub type RowKey = [u64; 2];

/// Numbers of a contact: normal, both arms, drift, bias, friction, two compliances, and three multipliers.
const NUMBERS: usize = 19;

/// A body.
#[derive(Clone, Copy)]
pub struct Member {
    /// Its place in the global order, and the rank that owns it.
    order: u32,
    owner: u32,
    inv_mass: f64,
    inv_inertia: [f64; 6],
    v_free: [f64; 6],
}

/// A contact, between bodies by their places in the global order.
#[derive(Clone, Copy)]
pub struct PointRows {
    key: PointKey,
    bodies: [u32; 2],
    numbers: [f64; NUMBERS],
}

/// A row of a joint.
#[derive(Clone, Copy)]
pub struct JointRow {
    key: RowKey,
    bodies: [u32; 2],
    set: Set,
    jacobian: [f64; 12],
    bias: f64,
    soft: f64,
    guess: f64,
}

impl Member {
    /// Own body `k`, by its place among the movers.
    pub fn take(posed: &Posed, k: usize) -> Self {
        let (p, slot) = (posed.staged.problem, posed.movers.slots[k] as usize);
        let owner = posed.comm.rank() as u32;
        let (inv_inertia, v_free) = (p.inv_inertia[slot], p.v_free[slot]);
        Self { order: posed.orders[k], owner, inv_mass: p.inv_mass[slot], inv_inertia, v_free }
    }
}

impl PointRows {
    /// Contact `i`, between movers `pair`.
    pub fn take(posed: &Posed, i: usize, pair: [u32; 2], key: PointKey) -> Self {
        let (points, k) = (&posed.staged.problem.points, posed.blocks[i] as usize);
        let mut numbers = [0.0; NUMBERS];
        let vectors = [&points.normal, &points.arm_a, &points.arm_b, &points.drift];
        for (j, field) in vectors.into_iter().flatten().enumerate().filter(|(_, field)| !field.is_empty()) {
            numbers[j] = field[k];
        }
        (numbers[12], numbers[13]) = (points.bias[k], points.mu[k]);
        for (j, soft) in points.compliance.iter().enumerate().filter(|(_, soft)| !soft.is_empty()) {
            numbers[14 + j] = soft[k];
        }
        if let Some(guess) = posed.guess {
            numbers[16..].copy_from_slice(&guess[3 * k..3 * k + 3]);
        }
        Self { key, bodies: posed.in_order(pair), numbers }
    }
}

impl JointRow {
    /// Row `i` of those of joints, between movers `pair`.
    pub fn take(posed: &Posed, i: usize, pair: [u32; 2], key: RowKey) -> Self {
        let g = &posed.staged.problem.general;
        let soft = g.compliance.get(i).copied().unwrap_or(0.0);
        let guess = posed.guess.map_or(0.0, |guess| guess[3 * posed.blocks.len() + i]);
        let bodies = posed.in_order(pair);
        Self { key, bodies, set: g.set[i], jacobian: g.jacobian[i], bias: g.bias[i], soft, guess }
    }
}

/// Islands that one rank solves.
#[derive(Default)]
pub struct IslandProblem {
    pub bodies: Vec<Member>,
    pub points: Vec<PointRows>,
    pub rows: Vec<JointRow>,
}

impl IslandProblem {
    /// For the rank that solves them.
    pub fn letter(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.word(self.bodies.len() as u64);
        for b in &self.bodies {
            to.pair([b.order, b.owner]);
            to.numbers(&[b.inv_mass]);
            to.numbers(&b.inv_inertia);
            to.numbers(&b.v_free);
        }
        to.word(self.points.len() as u64);
        for p in &self.points {
            p.key.iter().for_each(|word| to.word(*word));
            to.pair(p.bodies);
            to.numbers(&p.numbers);
        }
        for r in &self.rows {
            r.key.iter().for_each(|word| to.word(*word));
            to.pair(r.bodies);
            to.set(r.set);
            to.numbers(&r.jacobian);
            to.numbers(&[r.bias, r.soft, r.guess]);
        }
        to.0
    }

    /// Adds what another rank knows.
    pub fn add(&mut self, letter: &[u8]) {
        let mut from = Reader(letter);
        for _ in 0..from.word() {
            let [order, owner] = from.pair();
            let [inv_mass] = from.list();
            self.bodies.push(Member {
                order,
                owner,
                inv_mass,
                inv_inertia: from.list(),
                v_free: from.list(),
            });
        }
        for _ in 0..from.word() {
            let key = std::array::from_fn(|_| from.word());
            self.points.push(PointRows { key, bodies: from.pair(), numbers: from.list() });
        }
        while !from.is_empty() {
            let key = std::array::from_fn(|_| from.word());
            let (bodies, set, jacobian) = (from.pair(), from.set(), from.list());
            let [bias, soft, guess] = from.list();
            self.rows.push(JointRow { key, bodies, set, jacobian, bias, soft, guess });
        }
    }

    /// Brings everything into the global order, and bodies to their numbers in it.
    fn sort(&mut self) {
        let Self { bodies, points, rows } = self;
        bodies.sort_unstable_by_key(|b| b.order);
        points.sort_unstable_by_key(|p| p.key);
        rows.sort_unstable_by_key(|r| r.key);
        let number = |order: u32| match order {
            NOBODY => WORLD,
            _ => bodies.partition_point(|b| b.order < order) as u32,
        };
        points.iter_mut().for_each(|p| p.bodies = p.bodies.map(number));
        rows.iter_mut().for_each(|r| r.bodies = r.bodies.map(number));
    }

    /// The problem, its warm start, and by block which contact or row it is.
    fn pose(&self, law: FrictionLaw) -> (Problem, Vec<f64>, Vec<u32>) {
        let mut p = Bodies { model: law, ..Bodies::default() };
        for b in &self.bodies {
            p.inv_mass.push(b.inv_mass);
            p.inv_inertia.push(b.inv_inertia);
            p.v_free.push(b.v_free);
        }
        let mut colouring = Colouring::default();
        colouring.run(self.bodies.len(), self.points.iter().map(|c| (c.bodies[0], c.bodies[1])));
        let mut guess = Vec::new();
        // Columns that are zero are left out.
        let any = |from: usize, to: usize| {
            self.points.iter().any(|c| c.numbers[from..to].iter().any(|x| *x != 0.0))
        };
        let (slides, gives) = (any(9, 12), any(14, 16));
        for c in colouring.order.iter().map(|i| &self.points[*i as usize]) {
            p.points.a.push(c.bodies[0]);
            p.points.b.push(c.bodies[1]);
            let fields =
                [&mut p.points.normal, &mut p.points.arm_a, &mut p.points.arm_b, &mut p.points.drift];
            for (j, field) in fields.into_iter().flatten().enumerate().filter(|(j, _)| *j < 9 || slides) {
                field.push(c.numbers[j]);
            }
            p.points.bias.push(c.numbers[12]);
            p.points.mu.push(c.numbers[13]);
            if gives {
                p.points.compliance.iter_mut().zip(&c.numbers[14..]).for_each(|(to, x)| to.push(*x));
            }
            guess.extend_from_slice(&c.numbers[16..]);
        }
        p.points.spans = std::mem::take(&mut colouring.spans);
        let mut order = std::mem::take(&mut colouring.order);
        // A joint's rows stay together.
        let same = |a: &JointRow, b: &JointRow| (a.key[0] >> 32, a.bodies) == (b.key[0] >> 32, b.bodies);
        let joints: Vec<&[JointRow]> = self.rows.chunk_by(same).collect();
        let mut starts = vec![0u32];
        joints.iter().for_each(|j| starts.push(starts[starts.len() - 1] + j.len() as u32));
        colouring.run(self.bodies.len(), joints.iter().map(|j| (j[0].bodies[0], j[0].bodies[1])));
        let mut places = vec![0u32];
        let soft = self.rows.iter().any(|r| r.soft != 0.0);
        for k in colouring.order.iter().map(|k| *k as usize) {
            for (r, i) in joints[k].iter().zip(starts[k]..) {
                p.general.push((r.bodies[0], r.bodies[1]), r.set, &[r.jacobian], &[r.bias]);
                if soft {
                    p.general.compliance.push(r.soft);
                }
                guess.push(r.guess);
                order.push(i);
            }
            places.push(p.general.a.len() as u32);
        }
        let span = |s: &Span| {
            let [start, two_end, end] = [s.start, s.two_end, s.end].map(|k| places[k as usize]);
            Span { start, two_end, end, serial: s.serial || end - start > s.end - s.start }
        };
        p.general.spans = colouring.spans.iter().map(span).collect();
        (Problem::Bodies(p), guess, order)
    }

    /// Solves them under a law; `warm`: from the multipliers that they had.
    pub fn solve(
        mut self,
        plan: &mut Plan,
        law: FrictionLaw,
        warm: bool,
        stop: &Stop,
    ) -> Result<(Ended, Answers), Malformed> {
        self.sort();
        let (problem, guess, order) = self.pose(law);
        let mut ended = Ended::default();
        let mut gamma = guess;
        let stop = solver::Stop {
            tolerance: stop.tolerance,
            iterations: stop.iterations,
            ..solver::Stop::default()
        };
        let Some(solver) = plan.solver.as_mut().filter(|_| !gamma.is_empty()) else {
            return Ok((ended, Answers::default()));
        };
        let start = |gamma: &[f64]| warm.then(|| gamma.to_vec());
        if plan.by_islands && stop.tolerance > 0.0 {
            // It takes islands one by one by itself, but where all iterations are asked for.
            let s = solver.solve(&problem, start(&gamma).as_deref(), &stop)?;
            ended.join(&Ended::of(&s));
            gamma = s.gamma;
        } else if let Problem::Bodies(p) = &problem {
            let (mut islands, mut island) = (Islands::default(), Extract::default());
            islands.find(p);
            for k in 0..islands.len() {
                islands.extract(p, k, &mut island);
                let own: Vec<f64> = island.rows.iter().map(|row| gamma[*row as usize]).collect();
                let s = solver.solve(&island.problem, start(&own).as_deref(), &stop)?;
                ended.join(&Ended::of(&s));
                island.rows.iter().zip(s.gamma).for_each(|(row, x)| gamma[*row as usize] = x);
            }
        }
        Ok((ended, Answers::new(&self, &order, &gamma)))
    }
}

/// Multipliers of islands.
#[derive(Default)]
pub struct Answers {
    /// Sorted, with the owners of both bodies.
    points: Vec<(PointKey, [u32; 2], [f64; 3])>,
    rows: Vec<(RowKey, [u32; 2], f64)>,
}

impl Answers {
    fn new(of: &IslandProblem, order: &[u32], gamma: &[f64]) -> Self {
        let owners = |bodies: [u32; 2]| bodies.map(|b| of.bodies.get(b as usize).map_or(NOBODY, |b| b.owner));
        let (points, rows) = order.split_at(of.points.len());
        let (at_points, at_rows) = gamma.split_at(3 * points.len());
        let mut out = Self::default();
        for (i, x) in points.iter().zip(at_points.chunks(3)) {
            let c = &of.points[*i as usize];
            out.points.push((c.key, owners(c.bodies), [x[0], x[1], x[2]]));
        }
        for (i, x) in rows.iter().zip(at_rows) {
            let r = &of.rows[*i as usize];
            out.rows.push((r.key, owners(r.bodies), *x));
        }
        out.sort();
        out
    }

    fn sort(&mut self) {
        self.points.sort_unstable_by_key(|c| c.0);
        self.rows.sort_unstable_by_key(|r| r.0);
    }

    /// What is about bodies of a rank, for that rank; empty if nothing is.
    pub fn letter(&self, rank: u32) -> Vec<u8> {
        let mut to = Writer::default();
        let points: Vec<_> = self.points.iter().filter(|c| c.1.contains(&rank)).collect();
        let rows: Vec<_> = self.rows.iter().filter(|r| r.1.contains(&rank)).collect();
        if points.is_empty() && rows.is_empty() {
            return to.0;
        }
        to.word(points.len() as u64);
        for (key, _, gamma) in points {
            key.iter().for_each(|word| to.word(*word));
            to.numbers(gamma);
        }
        for (key, _, gamma) in rows {
            key.iter().for_each(|word| to.word(*word));
            to.numbers(&[*gamma]);
        }
        to.0
    }

    /// Adds what another rank has solved.
    pub fn add(&mut self, letter: &[u8]) {
        let mut from = Reader(letter);
        for _ in 0..from.word() {
            let key = std::array::from_fn(|_| from.word());
            self.points.push((key, [NOBODY; 2], from.list()));
        }
        while !from.is_empty() {
            let key = std::array::from_fn(|_| from.word());
            let [gamma] = from.list();
            self.rows.push((key, [NOBODY; 2], gamma));
        }
        self.sort();
    }

    /// The multipliers of a contact.
    pub fn point(&self, key: PointKey) -> [f64; 3] {
        let at = self.points.binary_search_by_key(&key, |c| c.0);
        self.points[at.expect("a contact of an island that was solved")].2
    }

    /// The multiplier of a joint's row.
    pub fn row(&self, key: RowKey) -> f64 {
        let at = self.rows.binary_search_by_key(&key, |r| r.0);
        self.rows[at.expect("a row of an island that was solved")].2
    }
}

impl Ended {
    fn of(s: &solver::Solution) -> Self {
        let residual = s.certificate.as_ref().map_or(0.0, |c| c.residual_max);
        Self { status: s.status, iterations: s.iterations, omega: s.omega, rejected: s.rejected, residual }
    }

    /// The worse of two, and the most of what they took.
    pub fn join(&mut self, other: &Ended) {
        if badness(other.status) > badness(self.status) {
            self.status = other.status;
        }
        self.iterations = self.iterations.max(other.iterations);
        self.rejected = self.rejected.max(other.rejected);
        self.omega = self.omega.min(other.omega);
        self.residual = self.residual.max(other.residual);
    }
}

/// How islands end, from good to bad.
pub const STATES: [Status; 5] =
    [Status::Converged, Status::Iterations, Status::Budget, Status::Wedged, Status::Diverged];

/// A status by its place in [`STATES`].
pub fn badness(status: Status) -> usize {
    STATES.iter().position(|s| *s == status).unwrap_or(STATES.len() - 1)
}
