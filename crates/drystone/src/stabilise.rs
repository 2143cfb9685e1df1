//! Post-stabilisation: overlaps are removed by a position problem of their own, after the step and apart from
//! the velocities [TasoraAnitescu2011, eq. 55-57; ClinePai2003]:
//!
//! ```text
//!     M Δq = Σ β_n D_n,      0 ≤ Φ + ∇Φᵀ Δq  ⊥  β_n ≥ 0
//! ```
//!
//! the same cone problem with μ = 0, v_free = 0 and the gap as bias, so the same solvers solve it. It is
//! repeated with recomputed gaps, because ∇Φ is only the tangent. Velocities are not touched: no energy of
//! motion is made. (Except in the position-based limit, where the velocity problem gets no iterations: see
//! `integrate.rs`.)
//!
//! Only the neighbourhood of what is to be corrected is posed (`region.rs`). It falls into islands, each of
//! which is solved to its own tolerance and moved as far as its own contacts were looked for: what becomes of
//! one does not depend on another.

pub(crate) mod needs_correction;
mod region;
pub(crate) mod stage;

use drystone_solve::memory;
use drystone_solve::parallel;
use drystone_solve::problem::Bodies;
use drystone_solve::problem::islands::{Extract, Islands};
use drystone_solve::solver::{Solver, Status, Stop};
use drystone_solve::{Malformed, Problem};
use glam::DVec3;

use crate::answer::whole;
use crate::body::Motion;
use crate::collide::{Detector, Envelope, Velocities};
use crate::contact::{Gap, Touch};
use crate::formulation::rows::{Purpose, SIZE, TIGHTER, Wanted};
use crate::formulation::{Assembler, Row};
use crate::islands::Islands as Groups;
use crate::model::{Model, NOBODY};
use crate::motion::rotate;
use crate::state::State;
use region::Region;

/// Bodies that one thread moves in a row.
const BODIES_PER_TASK: usize = 4096;

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Correction {
    /// Overlap that is left alone, over the pair's size.
    pub tolerance: f64,
    /// Overlap at which a second round is not worth it, over the pair's size.
    pub accept: f64,
    /// Largest correction of one contact in one step, over the pair's size.
    pub reach: f64,
    /// Largest number of position problems.
    pub rounds: usize,
    /// Sweeps in each.
    pub iterations: usize,
    /// Contacts up to this gap take part, at least.
    pub envelope: Envelope<'static>,
    /// The step that the positions are the end of, s.
    pub h: f64,
    /// Whether it is to be known how far each body was moved.
    pub keep: bool,
}

/// Whose positions are corrected, and what that takes.
pub(crate) struct Work<'a> {
    pub model: &'a Model,
    pub state: &'a mut State,
    pub detector: &'a mut Detector,
    /// Its contents may be lost, and so may be the solver's.
    pub assembler: &'a mut Assembler,
    pub how: Correction,
    /// How fast bodies are on their way.
    pub v: &'a Velocities,
    /// Those that sleep stay where they are.
    pub asleep: &'a [bool],
}

/// What is corrected is at rest.
const REST: &Velocities = &[];

/// How far ahead contacts are looked for, over the largest error of an island: overlaps add up along a stack,
/// whose far end moves by more than any one of them; joints have levers, and a correction that is cut short
/// leaves them open.
const LOOKAHEAD: f64 = 4.0;
const JOINT_LOOKAHEAD: f64 = 16.0;

/// Rings of neighbours that move with what is to be corrected, in the first problem, and by how much more in
/// the next ones.
const RINGS: u8 = 2;
const RING_GROWTH: u8 = 4;

/// Buffers of the position problem. Its arrays over contacts are the velocity problem's, which is done with
/// by then.
#[derive(Default)]
pub(crate) struct Stabiliser {
    /// All contacts, when they were last looked at.
    contacts: Vec<Gap>,
    /// Those of the region.
    near: Vec<Gap>,
    region: Region,
    /// How many contacts there were when all were last looked at.
    known: usize,
    /// By body slot: whether it stays where it is.
    held: Vec<bool>,
    /// By body slot: how much further its contacts are looked for, m.
    more: Vec<f64>,
    groups: Groups,
    islands: Islands,
    island: Extract,
    parts: Vec<Part>,
    gamma: Vec<f64>,
    /// Whether the contacts are those of where the bodies are.
    looked: bool,
    /// How far the last run moved and turned each body, m and rad, world axes; empty unless it was asked for.
    pub total: Vec<[f64; 6]>,
}

/// An island of the position problem.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The smallest size of a contact or a joint, m, and that which solutions are measured by.
    smallest: f64,
    finest: f64,
    /// The largest error over its size.
    worst: f64,
    /// The furthest that a point of a body would move, m.
    way: f64,
    /// The share of the correction that is taken: nobody moves by more than half of the distance up to which
    /// its contacts were looked for, so that no pair without a contact comes to overlap.
    share: f64,
    solved: bool,
}

impl Part {
    const EMPTY: Self = Self {
        smallest: f64::INFINITY,
        finest: f64::INFINITY,
        worst: 0.0,
        way: 0.0,
        share: 1.0,
        solved: false,
    };

    /// Whether there is no need to look again: what the tangent leaves is of second order, and that is
    /// nothing.
    fn is_done(&self, how: &Correction) -> bool {
        self.solved
            && self.share == 1.0
            && self.worst <= how.reach / how.rounds as f64
            && self.way * self.way <= 0.25 * how.accept * self.smallest * self.smallest
    }
}

/// Finds contacts to correct of bodies that are not `held`: an overlap of compliant ones is how they push.
fn find(work: &mut Work, envelope: Envelope, held: &[bool], to: &mut Vec<Gap>) {
    work.detector.find(work.model, work.state, REST, 0.0, envelope, held, to);
    if !parallel::all(to.len(), |i| !to[i].is_soft()) {
        to.retain(|c| !c.is_soft());
    }
}

/// Lets rest satisfy all blocks but these, which are in rising order: the biases that the others had.
fn rest(assembler: &mut Assembler, own: &[u32]) -> Vec<(u32, f64)> {
    let blocks = assembler.problem.blocks() as u32;
    let Problem::Bodies(p) = &mut assembler.problem else { return Vec::new() };
    let mut own = own.iter().peekable();
    let mut others = Vec::new();
    for i in 0..blocks {
        if own.next_if(|block| **block == i).is_none() {
            others.push((i, std::mem::take(bias(p, i))));
        }
    }
    others
}

/// Gives blocks their biases back.
fn put_back(assembler: &mut Assembler, others: Vec<(u32, f64)>) {
    let Problem::Bodies(p) = &mut assembler.problem else { return };
    others.into_iter().for_each(|(i, own)| *bias(p, i) = own);
}

/// The bias of a block of a position problem: of a contact along its normal, of a joint that of its row.
fn bias(p: &mut Bodies, block: u32) -> &mut f64 {
    match (block as usize).checked_sub(p.points.len()) {
        None => &mut p.points.bias[block as usize],
        Some(row) => &mut p.general.bias[row],
    }
}

/// By how much a contact overlaps, over its size.
fn overlap(c: &Gap) -> f64 {
    -c.gap() / c.size()
}

impl Stabiliser {
    /// Looks at all contacts where the bodies are, for a run that follows.
    pub fn look(&mut self, work: &mut Work) -> &[Gap] {
        self.contacts.clear();
        // As many as last time and a few more: memory that grows is there twice meanwhile.
        memory::reserve(&mut self.contacts, self.known + self.known / 32);
        find(work, work.how.envelope, work.asleep, &mut self.contacts);
        self.known = self.contacts.len();
        self.looked = true;
        &self.contacts
    }

    /// Bodies were moved since.
    pub fn look_again(&mut self) {
        self.looked = false;
    }

    /// Memory over contacts, bytes.
    pub fn bytes(&self) -> usize {
        self.known * size_of::<Gap>() + size_of_val(self.near.as_slice())
    }

    /// Gives its memory back.
    pub fn release(&mut self) {
        *self = Self { known: self.known, total: std::mem::take(&mut self.total), ..Self::default() };
    }

    /// Corrects positions; returns the number of position problems posed.
    pub fn run(&mut self, mut work: Work, solver: &mut dyn Solver) -> Result<usize, Malformed> {
        let (how, n) = (work.how, work.model.bodies.len());
        self.total.clear();
        self.total.resize(if how.keep { n } else { 0 }, [0.0; 6]);
        if !std::mem::take(&mut self.looked) {
            self.look(&mut work);
            self.looked = false;
        }
        let elsewhere = work.assembler.rows.elsewhere.clone();
        // Where bodies are many, what is over contacts is not there twice.
        let many = n >= memory::MANY_BODIES;
        let mut rings = RINGS;
        let mut rounds = 0;
        for round in 0..how.rounds {
            work.assembler.rows.elsewhere.clone_from(&elsewhere);
            if round > 0 {
                find(&mut work, how.envelope, &self.held, &mut self.near);
            }
            if !self.choose(&mut work, round, rings) {
                break;
            }
            self.gather(&mut work, round, many);
            self.formulate(&mut work);
            self.solve(&mut work, solver, many)?;
            rounds += 1;
            let open = self.shift(&mut work);
            if many && work.model.joint_slots().next().is_none() {
                work.assembler.release();
                self.island = Extract::default();
            }
            if !open {
                break;
            }
            rings = rings.saturating_mul(RING_GROWTH);
        }
        work.assembler.rows.elsewhere = elsewhere;
        Ok(rounds)
    }

    /// Draws the region around errors that are due: `held` says who is not in it. False if there are none.
    fn choose(&mut self, work: &mut Work, round: usize, rings: u8) -> bool {
        let Work { model, state, assembler, how, asleep, .. } = work;
        let enough = if round == 0 { how.tolerance } else { how.accept };
        let seen = if round == 0 { &self.contacts } else { &self.near };
        let joints = model.joint_slots().next().is_some();
        self.region.begin(model, seen, |c| overlap(c) > enough);
        if joints {
            let purpose = Purpose::Position { h: how.h, share: self.share(how), wanted: Wanted::Errors };
            assembler.stage_rows(model, state, REST, purpose);
            // All of a mechanism moves, or nothing of it.
            self.groups.run(model, std::iter::empty(), |_| true);
            for j in model.joint_slots() {
                if TIGHTER * assembler.rows.error(j) > enough {
                    self.region.add(model, model.joints[j].bodies);
                }
            }
        }
        let groups = joints.then_some(&mut self.groups);
        let ways = if self.contacts.is_empty() { &self.near } else { &self.contacts };
        if !self.region.grow(model, ways, rings, groups) {
            return false;
        }
        self.region.others(asleep, &mut self.held);
        true
    }

    /// Finds the contacts of the region, as far ahead as each of its islands may take a body.
    fn gather(&mut self, work: &mut Work, round: usize, many: bool) {
        let (model, how) = (work.model, work.how);
        let share = self.share(&how);
        let seen = if round == 0 { &self.contacts } else { &self.near };
        let moves = |b: u32| self.held.get(b as usize) == Some(&false);
        let inside = || seen.iter().filter(|c| c.bodies().into_iter().any(moves));
        let pairs = inside().map(Touch::bodies).filter(|pair| pair.iter().all(|b| moves(*b)));
        self.groups.run(model, pairs, |_| true);
        // By the first body of an island: its largest error, m.
        let mut deepest = vec![0.0f64; model.bodies.len()];
        for c in inside().filter(|c| c.gap() < 0.0) {
            for b in c.bodies().into_iter().filter(|b| moves(*b)) {
                let root = self.groups.root(b) as usize;
                deepest[root] = deepest[root].max((-c.gap()).min(share * c.size()));
            }
        }
        let mut levers = vec![LOOKAHEAD; deepest.len()];
        for j in model.joint_slots() {
            for b in model.joints[j].bodies.into_iter().filter(|b| moves(*b)) {
                let root = self.groups.root(b) as usize;
                let error = work.assembler.rows.error(j) * SIZE * model.joints[j].length;
                (deepest[root], levers[root]) = (deepest[root].max(error), JOINT_LOOKAHEAD);
            }
        }
        self.more.clear();
        self.more.resize(deepest.len(), 0.0);
        let mut further = false;
        for b in (0..deepest.len()).filter(|b| moves(*b as u32)) {
            let root = self.groups.root(b as u32) as usize;
            let ahead = levers[root] * deepest[root];
            if ahead > how.envelope.base {
                (self.more[b], further) = (ahead, true);
            }
        }
        if !further {
            self.more = Vec::new();
        }
        let envelope = Envelope { more: &self.more, ..how.envelope };
        if further {
            // With room for the next step's ways: the pairs can be its own then.
            work.detector.find_pairs(model, work.state, work.v, how.h, envelope);
        }
        if further || round > 0 {
            if many {
                self.contacts = Vec::new();
            }
            find(work, envelope, &self.held, &mut self.near);
        } else if parallel::all(self.contacts.len(), |i| self.region.holds(&self.contacts[i])) {
            std::mem::swap(&mut self.contacts, &mut self.near);
            self.contacts.clear();
        } else {
            self.region.pick(&self.contacts, &mut self.near);
            if many {
                self.contacts = Vec::new();
            }
        }
    }

    /// Poses the problem of the region.
    fn formulate(&mut self, work: &mut Work) {
        let Work { model, state, assembler, how, .. } = work;
        let share = self.share(how);
        assembler.build(model, state, &self.near, REST, &self.held, |_, c| Row {
            bias: c.gap().max(-share * c.size()),
            ..Row::default()
        });
        let rows = &mut assembler.rows;
        rows.elsewhere.resize(model.joints.len(), false);
        for j in model.joint_slots() {
            let held = model.joints[j].bodies.iter().all(|b| self.held.get(*b as usize) != Some(&false));
            rows.elsewhere[j] |= held;
        }
        let purpose = Purpose::Position { h: how.h, share, wanted: Wanted::Rows };
        assembler.stage_rows(model, state, REST, purpose);
        assembler.build_rows(&state.order);
    }

    /// Solves each island of the posed problem by itself.
    fn solve(&mut self, work: &mut Work, solver: &mut dyn Solver, many: bool) -> Result<(), Malformed> {
        let Work { model, assembler, how, .. } = work;
        let Problem::Bodies(p) = &assembler.problem else { return Ok(()) };
        self.islands.find(p);
        self.parts = (0..self.islands.len()).map(|k| self.measure(model, assembler, k)).collect();
        if many {
            self.near = Vec::new();
        }
        let (count, blocks) = (assembler.problem.rows(), assembler.problem.blocks());
        let alike = assembler.order.len() == blocks;
        self.gamma = Vec::new();
        for k in 0..self.islands.len() {
            let tolerance = 0.25 * how.tolerance * self.parts[k].finest.min(f64::MAX);
            let stop = Stop { tolerance, iterations: how.iterations, ..Stop::default() };
            let own = self.islands.blocks(k);
            // What is most of the problem is not copied out of it, unless others' joints would be there for
            // the solver to see.
            let (solution, rows) = if own.len() == blocks || alike && 2 * own.len() > blocks {
                let others = rest(assembler, own);
                let solution = whole(solver, &assembler.problem, None, &stop)?;
                put_back(assembler, others);
                (solution, None)
            } else {
                let Problem::Bodies(p) = &assembler.problem else { return Ok(()) };
                self.islands.extract(p, k, &mut self.island);
                (whole(solver, &self.island.problem, None, &stop)?, Some(&self.island.rows))
            };
            if solution.status == Status::Diverged {
                let text = "the position problem diverged: its corrections are not finite";
                return Err(Malformed(text.into()));
            }
            self.parts[k].solved = solution.status == Status::Converged;
            if self.islands.len() > 1 {
                self.gamma.resize(count, 0.0);
            }
            match rows {
                Some(rows) => {
                    rows.iter().zip(solution.gamma).for_each(|(row, x)| self.gamma[*row as usize] = x);
                }
                None if self.islands.len() == 1 => self.gamma = solution.gamma,
                None => {
                    let rows = own.iter().flat_map(|i| assembler.problem.block(*i as usize));
                    rows.for_each(|row| self.gamma[row] = solution.gamma[row]);
                }
            }
        }
        Ok(())
    }

    /// The sizes and errors of island `k` of the posed problem.
    fn measure(&self, model: &Model, assembler: &Assembler, k: usize) -> Part {
        let mut part = Part::EMPTY;
        for block in self.islands.blocks(k).iter().map(|b| *b as usize) {
            if let Some(c) = assembler.order.get(block) {
                let c = &self.near[*c as usize];
                part.smallest = part.smallest.min(c.size());
                part.finest = part.finest.min(c.size());
                part.worst = part.worst.max(overlap(c));
            } else if let Some(j) = assembler.rows.joint_of(block - assembler.order.len()) {
                let size = SIZE * model.joints[j as usize].length;
                part.smallest = part.smallest.min(size);
                part.finest = part.finest.min(size / TIGHTER);
                part.worst = part.worst.max(assembler.rows.error(j as usize));
            }
        }
        part
    }

    /// Moves the bodies, each island by its share; false if nobody has to look at it again. `held` is then
    /// all who have not been moved or are done.
    fn shift(&mut self, work: &mut Work) -> bool {
        let Self { total, gamma, islands, parts, held, .. } = self;
        let Work { model, state, assembler, how, .. } = work;
        let (model, n) = (*model, model.bodies.len());
        let moved = assembler.sorted_velocities(gamma);
        assert!(moved.len() == n, "a correction for each body");
        for c in model.colliders.iter().filter(|c| c.body != NOBODY && c.radius.is_finite()) {
            let rank = state.order.rank(c.body);
            let Some(k) = islands.of(rank) else { continue };
            let d = &moved[rank as usize];
            let way =
                DVec3::new(d[0], d[1], d[2]).length() + c.radius * DVec3::new(d[3], d[4], d[5]).length();
            let envelope = Envelope { more: &self.more, ..how.envelope };
            let reach = envelope.of_pair(c.shape.inner_radius(), [c.body; 2]);
            parts[k].way = parts[k].way.max(way);
            if way > 0.5 * reach {
                parts[k].share = parts[k].share.min(0.5 * reach / way);
            }
        }
        assert!(state.position.len() == n && state.rotation.len() == n, "a place for each body");
        let total = (total.len() == n).then_some(&mut total[..]);
        let (rest, order) = (&state.rest, &state.order);
        let columns = (&mut state.position[..], &mut state.rotation[..], total);
        parallel::for_each_run(n, columns, BODIES_PER_TASK, |first, (position, rotation, mut total)| {
            for (j, (x, q)) in position.iter_mut().zip(rotation).enumerate() {
                let i = first + j;
                let body = &model.bodies[i];
                let rank = order.rank(i as u32);
                // What a sleeper is pushed by wakes it in the next step.
                let d = &moved[rank as usize];
                if !(body.alive && body.motion == Motion::Dynamic) || rest.is_asleep(i) || *d == [0.0; 6] {
                    continue;
                }
                let share = islands.of(rank).map_or(1.0, |k| parts[k].share);
                let d = d.map(|x| share * x);
                if let Some(total) = &mut total {
                    (0..6).for_each(|k| total[j][k] += d[k]);
                }
                *x += DVec3::new(d[0], d[1], d[2]);
                let mut turn = DVec3::new(d[3], d[4], d[5]);
                if let Some(plane) = &body.planar {
                    *x = plane.nearest(*x);
                    turn = plane.about(turn);
                }
                let turn = q.conjugate() * turn;
                if turn != DVec3::ZERO {
                    *q = rotate(*q, turn, 1.0);
                }
            }
        });
        let mut open = false;
        for (i, held) in held.iter_mut().enumerate() {
            let part = islands.of(order.rank(i as u32)).map(|k| &parts[k]);
            *held = part.is_none_or(|part| part.is_done(how));
            open |= !*held;
        }
        open
    }

    /// Largest correction of one contact in one problem, over the pair's size.
    fn share(&self, how: &Correction) -> f64 {
        how.reach / how.rounds as f64
    }
}
