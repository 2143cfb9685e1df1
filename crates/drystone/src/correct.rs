//! Post-stabilisation: overlaps are removed by a position problem of their own, after the step and apart from the
//! velocities [TasoraAnitescu2011, eq. 55-57; ClinePai2003]:
//!
//! ```text
//!     M Δq = Σ β_n D_n,      0 ≤ Φ + ∇Φᵀ Δq  ⊥  β_n ≥ 0
//! ```
//!
//! the same cone problem with μ = 0, v_free = 0 and the gap as bias, so the same solvers solve it. It is repeated with
//! recomputed gaps, because ∇Φ is only the tangent. Velocities are not touched: no energy of motion is made. (Except in
//! the position-based limit, where the velocity problem gets no iterations: see `step.rs`.)
//!
//! Where few contacts overlap by more than is left alone, only their neighbourhood is posed (`region.rs`). Where the velocity problem
//! was solved by factors that are still there, they serve once more (`chord.rs`).

mod chord;
mod region;

use drystone_solve::Malformed;
use drystone_solve::crew::{self, Shared};
use drystone_solve::room;
use drystone_solve::solver::{Solver, Status, Stop};
use glam::DVec3;

use crate::assemble::rows::{Purpose, Wanted};
use crate::assemble::{Assembler, Row};
use crate::body::Motion;
use crate::collide::{Detector, Velocities};
use crate::contact::{Gap, Touch};
use crate::model::{ColliderSlot, Model};
use crate::motion::rotate;
use crate::state::State;
use region::Region;

/// Contacts, or colliders, that one thread looks at in a row.
const PIECE: usize = 4096;

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Correction {
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
    /// Contacts up to this gap take part, at least, m.
    pub envelope: f64,
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

/// Errors of joints are corrected when they are that much smaller than overlaps that are.
pub(crate) const TIGHTER: f64 = 10.0;

/// How far ahead contacts are looked for, over the largest error to correct; joints have levers, and a correction that is cut short
/// leaves them open.
const AHEAD: f64 = 4.0;
const LEVERS: f64 = 16.0;

/// Rings of neighbours that move with what is to be corrected, in the first problem.
const RINGS: u8 = 2;
/// They double from problem to problem, up to this.
const MOST_RINGS: u8 = 64;
/// Larger shares of the contacts than this are posed as the whole.
const PART: f64 = 0.5;
/// Where more than this many contacts to each that is due will be due soon, having half of the overlap, a correction of all of
/// them now saves many of parts: so it is in a heap that settles.
const SOON: usize = 4;

/// Buffers of the position problem. Its arrays over contacts are the velocity problem's, which is done with by then.
#[derive(Default)]
pub struct Corrector {
    /// All contacts, when they were last looked at.
    contacts: Vec<Gap>,
    /// Those of the region, where there is one.
    near: Vec<Gap>,
    region: Region,
    gaps: Vec<f64>,
    /// How many contacts there were when all were last looked at.
    known: usize,
    /// Bodies that are not in the region.
    held: Vec<bool>,
    /// Whether the contacts are those of where the bodies are.
    looked: bool,
    /// Whether the last run found something to correct.
    expected: bool,
    /// How far the last run moved and turned each body, m and rad, world axes; empty unless it was asked for.
    pub total: Vec<[f64; 6]>,
}

/// Where contacts are looked for.
struct Place<'a> {
    model: &'a Model,
    detector: &'a mut Detector,
    reach: f64,
}

impl Place<'_> {
    /// The contacts to correct of bodies that are not `held`: an overlap of compliant ones is how they push.
    fn find(&mut self, state: &State, held: &[bool], to: &mut Vec<Gap>) {
        self.detector.find(self.model, state, REST, 0.0, self.reach, held, to);
        if !crew::all(to.len(), |i| !to[i].is_soft()) {
            to.retain(|c| !c.is_soft());
        }
    }
}

/// The largest, over contacts, of what `of` says, or `start`.
fn largest(contacts: &[Gap], start: f64, of: impl Fn(&Gap) -> f64 + Sync) -> f64 {
    let mut parts = Vec::new();
    crew::ranges(contacts.len(), PIECE, &mut parts, |range| {
        contacts[range].iter().map(&of).fold(start, f64::max)
    });
    parts.into_iter().fold(start, f64::max)
}

/// How many contacts are as `wanted`.
fn count(contacts: &[Gap], wanted: impl Fn(&Gap) -> bool + Sync) -> usize {
    let mut parts = Vec::new();
    crew::ranges(contacts.len(), PIECE, &mut parts, |range| {
        contacts[range].iter().filter(|c| wanted(c)).count()
    });
    parts.into_iter().sum()
}

impl Corrector {
    /// The furthest that any point of a body would move, m. A correction is cut so that this is at most half of the
    /// distance up to which contacts were looked for: then no pair without a contact can come to overlap.
    fn longest_way(&self, model: &Model, state: &State, moved: &Velocities) -> f64 {
        let way = |c: &ColliderSlot| match moved.get(state.order.rank(c.body) as usize) {
            Some(d) if c.radius.is_finite() => {
                DVec3::new(d[0], d[1], d[2]).length() + c.radius * DVec3::new(d[3], d[4], d[5]).length()
            }
            _ => 0.0,
        };
        let mut parts = Vec::new();
        crew::ranges(model.colliders.len(), PIECE, &mut parts, |range| {
            model.colliders[range].iter().map(way).fold(f64::MIN_POSITIVE, f64::max)
        });
        parts.into_iter().fold(f64::MIN_POSITIVE, f64::max)
    }

    /// Moves the bodies by `scale` times what was found, which is in their order.
    fn shift(&mut self, model: &Model, state: &mut State, moved: &Velocities, scale: f64) {
        let n = model.bodies.len();
        assert!(moved.len() == n, "a correction for each body");
        let adds = self.total.len() == n;
        assert!(state.position.len() == n && state.rotation.len() == n, "a place for each body");
        let (rest, order) = (&state.rest, &state.order);
        let total = Shared(self.total.as_mut_ptr());
        let (position, rotation) = (Shared(state.position.as_mut_ptr()), Shared(state.rotation.as_mut_ptr()));
        crew::many(n, |i| {
            let body = &model.bodies[i];
            // What a sleeper is pushed by wakes it in the next step.
            let d = &moved[order.rank(i as u32) as usize];
            if !(body.alive && body.motion == Motion::Dynamic) || rest.is_asleep(i) || *d == [0.0; 6] {
                return;
            }
            // SAFETY: each body once, and all of these are as long as there are bodies.
            let (x, q) = unsafe { (&mut *position.at(i), &mut *rotation.at(i)) };
            let d = d.map(|x| scale * x);
            if adds {
                // SAFETY: as above.
                let total = unsafe { &mut *total.at(i) };
                (0..6).for_each(|k| total[k] += d[k]);
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
        });
    }

    /// Looks at all contacts.
    fn find_all(&mut self, place: &mut Place, state: &State, asleep: &[bool]) {
        self.contacts.clear();
        // As many as last time and a few more: memory that grows is there twice meanwhile.
        room::more(&mut self.contacts, self.known + self.known / 32);
        place.find(state, asleep, &mut self.contacts);
        self.known = self.contacts.len();
    }

    /// Looks at all contacts where the bodies are, for a run that follows.
    pub(crate) fn look(&mut self, work: &mut Work) -> &[Gap] {
        let Work { model, state, detector, how, asleep, .. } = work;
        self.find_all(&mut Place { model, detector, reach: how.envelope }, state, asleep);
        self.looked = true;
        &self.contacts
    }

    /// Bodies were moved since.
    pub(crate) fn look_again(&mut self) {
        self.looked = false;
    }

    /// Memory over contacts, bytes.
    pub fn bytes(&self) -> usize {
        self.known * size_of::<Gap>() + size_of_val(self.near.as_slice())
    }

    /// Gives its memory back, except for what is known of the last run.
    pub fn release(&mut self) {
        let Self { known, expected, .. } = *self;
        *self = Self { known, expected, total: std::mem::take(&mut self.total), ..Self::default() };
    }

    /// Corrects positions; returns the number of position problems solved.
    pub(crate) fn run(&mut self, work: Work, solver: &mut dyn Solver) -> Result<usize, Malformed> {
        let Work { model, state, detector, assembler, how, v, asleep } = work;
        self.total.clear();
        self.total.resize(if how.keep { model.bodies.len() } else { 0 }, [0.0; 6]);
        let share = how.reach / how.rounds as f64;
        let mut place = Place { model, detector, reach: how.envelope };
        let jointed = model.joint_slots().next().is_some();
        let many = model.bodies.len() >= room::MANY;
        let mut last = f64::INFINITY;
        // Rings around what is to be corrected; whether that part alone was posed, so that nothing has changed elsewhere.
        let (mut rings, mut part) = (RINGS, false);
        for round in 0..how.rounds {
            if part {
                place.find(state, &self.held, &mut self.near);
            } else if !std::mem::take(&mut self.looked) {
                self.find_all(&mut place, state, asleep);
            }
            let seen = if part { &self.near } else { &self.contacts };
            // Errors alone come for less; where the last step's had to be corrected, these will be too.
            let expected = self.expected || round > 0;
            let wanted = if expected { Wanted::Rows } else { Wanted::Errors };
            let purpose = Purpose::Position { h: how.h, share, wanted };
            assembler.stage_rows(model, state, REST, purpose);
            let joints = assembler.rows.worst;
            let worst = largest(seen, joints, |c| -c.gap() / c.size());
            let enough = if round == 0 { how.tolerance } else { how.accept };
            let strict = if round == 0 { worst.max(TIGHTER * joints) } else { worst };
            if round == 0 {
                self.expected = strict > enough;
            }
            // Done, or stuck: the last round did not do a tenth of what it was asked to.
            let stuck = last - worst < 0.1 * last.min(share);
            if strict <= enough || (stuck && !part) {
                return Ok(round);
            }
            last = worst;
            // Overlaps add up along a stack: its far end moves by more than any one of them. Look as far ahead as that
            // may take a body, so that it is not pushed into a neighbour that has no contact yet.
            let deepest = largest(seen, assembler.rows.deepest, |c| (-c.gap()).min(share * c.size()));
            let ahead = if jointed { LEVERS } else { AHEAD } * deepest;
            let further = ahead > place.reach;
            let again = part || further;
            if further {
                place.reach = ahead;
                // With room for the next step's ways: the pairs can be its own then.
                place.detector.find_pairs(model, state, v, how.h, place.reach);
            }
            let over = |share: f64| count(seen, |c| -c.gap() > share * enough * c.size());
            // What does not die out near by is left to all in the end. Mechanisms are not cut up.
            let whole = jointed || (stuck && round + 1 == how.rounds);
            part = !whole && (round > 0 || over(0.5) <= SOON * over(1.0)) && {
                self.region.begin(model, seen, |c| -c.gap() > enough * c.size());
                self.region.grow(model, &self.contacts, rings);
                let near = count(&self.contacts, |c| self.region.holds(c));
                (near as f64) < PART * self.contacts.len() as f64
            };
            if part {
                self.region.others(asleep, &mut self.held);
                if again {
                    place.find(state, &self.held, &mut self.near);
                } else {
                    self.region.pick(&self.contacts, &mut self.near);
                }
            } else {
                self.held.clear();
                if again {
                    self.find_all(&mut place, state, asleep);
                }
            }
            rings = MOST_RINGS.min(2 * rings);
            let posed = if part { &self.near } else { &self.contacts };
            let smallest = -largest(posed, -assembler.rows.smallest, |c| -c.size());
            let finest = smallest.min(assembler.rows.smallest / TIGHTER);
            assembler.build(model, state, posed, REST, &self.held, |_, c| Row {
                bias: c.gap().max(-share * c.size()),
                ..Row::default()
            });
            if !expected {
                let purpose = Purpose::Position { h: how.h, share, wanted: Wanted::Rows };
                assembler.stage_rows(model, state, REST, purpose);
            }
            assembler.build_rows(&state.order);
            if many && !part {
                self.contacts = Vec::new(); // The next round finds its own.
            }
            let stop = Stop {
                tolerance: 0.25 * how.tolerance * finest,
                iterations: how.iterations,
                ..Stop::default()
            };
            let solution = solver.solve(&assembler.problem, None, &stop)?;
            if solution.status == Status::Diverged {
                return Err(Malformed(
                    "the position problem diverged: its corrections are not finite".into(),
                ));
            }
            let moved = assembler.sorted_velocities(&solution.gamma);
            let way = self.longest_way(model, state, moved);
            let scale = (0.5 * place.reach / way).min(1.0);
            self.shift(model, state, moved, scale);
            // What the tangent leaves is of second order: if that is nothing, there is no need to look again.
            if solution.status == Status::Converged
                && scale == 1.0
                && worst <= share
                && way * way <= 0.25 * how.accept * smallest * smallest
            {
                return Ok(round + 1);
            }
            if many && !jointed {
                assembler.release();
            }
        }
        Ok(how.rounds)
    }
}
