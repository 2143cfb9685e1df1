//! Joints, and what acts along their free coordinates, become scalar rows of the cone complementarity problem.
//!
//! In the velocity problem a bilateral row is [TasoraAnitescu2011, eq. 16; Negrut2017, eq. 5c]
//!
//! ```text
//!     ∇Ψᵀ v + β(Ψ)/h + (Ψ(q, t + h) - Ψ(q, t))/h = 0
//! ```
//!
//! with β by the kind of stabilisation: nothing, a share of Ψ, or Ψ within a bound. To this comes what the tangent leaves out,
//!
//! ```text
//!     (Ψ(q ⊕ h v, t + h) - Ψ(q, t + h))/h - ∇Ψᵀ v      with v at the start of the step,
//! ```
//!
//! ½ h v·∇²Ψ·v and smaller, and Ψ/h where Ψ is so small that corrections of positions would leave it. Without it the velocity of a body on a circle points along the tangent at the start of the step;
//! the next step takes the part away that is across the new tangent, and (hω)² of the energy with it. With it the velocity is
//! the secant, as in the scheme of \[Ryckaert1977\] (leapfrog steps with Ψ(q⁺) = 0), whose energy stays, and positions need
//! hardly any correction. Where the new position follows a mean of old and new velocity (θ < 1), the Jacobian is that at
//! q ⊕ (1-θ) h v and acts on the same mean: with θ = ½ joints do no work at all. In the position problem it is
//! Ψ + ∇Ψᵀ Δq = 0, as the contacts' rows are there. What is elastic enters as a compliant row and only in the velocity
//! problem: see [`crate::joint::law`].
//!
//! Joints are coloured, in the order of their slots, and the rows put into the problem by colour: the same for any number of
//! threads. A mechanism stays what it is from step to step, so rows are staged in the order of the last problem: then they are in
//! their places already.

mod curvature;

use drystone_solve::colour::{Colouring, Span};
use drystone_solve::cone::Set;
use drystone_solve::problem::{Bodies, General, WORLD};
use drystone_solve::room;
use glam::DVec3;

use crate::collide::{Velocities, velocity};
use crate::joint::equation::{Coordinate, MOST_COORDINATES, MOST_ROWS};
use crate::joint::law::{Command, Law};
use crate::joint::slot::{LAW_ROWS, ROWS};
use crate::joint::{Equations, Joint, JointState, Reaction, Row, Sort, WORLD_BODY};
use crate::model::{Model, Planar};
use crate::order::Order;
use crate::settings::Stabilisation;
use crate::stabilise::TIGHTER;
use crate::state::State;
use curvature::{Ahead, curvature, is_curved};

/// Which problem the rows are for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// The step's velocities.
    Velocity {
        /// s
        h: f64,
        /// What becomes of position errors.
        stabilisation: Stabilisation,
        /// With motors, limits, friction and springs; without them the problem is about an instant, not about a step.
        laws: bool,
        /// Weight of the new velocity in the new position.
        theta: f64,
        /// With what the tangent leaves out.
        bends: bool,
        /// Share of the restitution of limits.
        bounce: f64,
    },
    /// Corrections of positions at the end of the step.
    Position {
        /// s
        h: f64,
        /// Largest correction of one row, over the joint's length.
        share: f64,
        /// What of the rows.
        wanted: Wanted,
    },
}

/// What is wanted of the rows of a position problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wanted {
    /// How large errors are, no rows.
    Errors,
    /// All.
    Rows,
}

/// One scalar row before colouring, all but what the problem takes over as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Staged {
    pub(crate) pair: (u32, u32),
    compliance: f64,
    /// Joint slot, or NONE for the lock of a planar body.
    pub(crate) joint: u32,
    /// Which of the joint's multipliers.
    pub(crate) row: u8,
    /// Whether the joint's second body comes first.
    turned: bool,
    /// The upper end of a limit: shares its place with the lower one, with the opposite sign.
    upper: bool,
    /// It turns and does not shift: its multiplier is divided by the joint's length.
    angular: bool,
}

/// A compliant row of a stiff force: bodies by slot, the second may be [`WORLD`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elastic {
    pub bodies: [u32; 2],
    pub jacobian: [f64; 12],
    pub bias: f64,
    pub compliance: f64,
}

const NONE: u32 = u32::MAX;
/// How many joints ahead what they have is asked for, and twice that the joints themselves.
const AHEAD: usize = 3;
/// As many joints are in the cache anyway.
const CACHED: usize = 128;
/// Joints are kept ten times as tight as contacts between bodies of their length.
pub(crate) const SIZE: f64 = 0.1;

/// Buffers, and the way back from rows to joints.
#[derive(Debug, Default)]
pub struct Rows {
    staged: Vec<Staged>,
    /// Of what is staged; lost to the problem by [`Rows::finish`].
    jacobians: Vec<[f64; 12]>,
    sets: Vec<Set>,
    biases: Vec<f64>,
    /// Of each staged row, the part of its bias that is the scheme's own: arcs and bounces, m/s; NaN for rows that are forces.
    schemes: Vec<f64>,
    /// Whether some staged row gives.
    soft: bool,
    /// Joint slots in the order of the last problem, those without rows at the end; empty: as they are.
    visits: Vec<u32>,
    /// Rows of stiff forces, for problems about a whole step.
    pub(crate) elastic: Vec<Elastic>,
    /// Joints whose step is taken by others, by slot; empty if there are none.
    pub(crate) elsewhere: Vec<bool>,
    colouring: Colouring,
    /// What was coloured: the number of bodies, and joints with their bodies' ranks in the order of the problem.
    coloured: (usize, Vec<(u32, (u32, u32))>),
    /// First staged row of each joint; staged rows in the order of the problem, empty if that is the order they are in; first
    /// row there of each joint, and the end.
    runs: Vec<u32>,
    order: Vec<u32>,
    places: Vec<u32>,
    /// Whether some joint's errors change by more than rotation and what is solved for: lengths, and what follows time.
    pub(crate) curved: bool,
    /// Whether some joint's limits have restitution.
    pub(crate) bounces: bool,
    /// The largest of what the tangents leave out, m/s.
    pub(crate) bent: f64,
    /// The largest error of a rigid row over its joint's size, of all joints and by joint slot.
    pub(crate) worst: f64,
    errors: Vec<f64>,
    /// What the joints will carry to the next step, by slot.
    pub(crate) next: Vec<JointState>,
    /// What they did, by slot.
    pub(crate) reactions: Vec<Reaction>,
    /// By joint slot: from the centre of mass of its second body to its place there, and its length, m.
    arms: Vec<(DVec3, f64)>,
    ahead: Ahead,
    kept: Vec<(Reaction, [f64; ROWS])>,
}

impl Rows {
    /// A new joint has done nothing yet.
    pub(crate) fn forget(&mut self, slot: u32) {
        if let Some(r) = self.reactions.get_mut(slot as usize) {
            *r = Reaction::default();
        }
    }

    /// The largest error of a joint's rigid rows over its size ([`SIZE`] times its length), when rows were last staged.
    pub(crate) fn error(&self, joint: usize) -> f64 {
        self.errors.get(joint).copied().unwrap_or(0.0)
    }

    /// Works out all rows for `purpose` from positions, and errors on the way. `v` are the velocities of what is not
    /// dynamic; `p` has the masses.
    pub(crate) fn stage(
        &mut self,
        model: &Model,
        state: &State,
        v: &Velocities,
        p: &Bodies,
        purpose: Purpose,
    ) {
        self.worst = 0.0;
        self.errors.clear();
        self.errors.resize(model.joints.len(), 0.0);
        let wanted = match purpose {
            Purpose::Velocity { .. } => Wanted::Rows,
            Purpose::Position { wanted, .. } => wanted,
        };
        self.staged.clear();
        self.runs.clear();
        self.jacobians.clear();
        self.sets.clear();
        self.biases.clear();
        self.schemes.clear();
        self.order.clear();
        self.soft = false;
        (self.curved, self.bounces, self.bent) = (false, false, 0.0);
        self.lock_planes(model);
        if let Purpose::Velocity { laws: true, .. } = purpose {
            for k in 0..self.elastic.len() {
                let Elastic { bodies, jacobian, bias, compliance } = self.elastic[k];
                let row = Staged { compliance, ..of_no_joint(bodies) };
                self.push(row, Set::Free, &jacobian, bias, f64::NAN);
            }
        }
        if model.joints.is_empty() {
            return;
        }
        let velocity_problem = matches!(purpose, Purpose::Velocity { .. });
        if velocity_problem {
            // Angles are written here, impulses by `hand_back`.
            self.next.resize(state.joints.len(), JointState::default());
            self.arms.resize(model.joints.len(), (DVec3::ZERO, 0.0));
        }
        let (Purpose::Velocity { h, .. } | Purpose::Position { h, .. }) = purpose;
        let time = if velocity_problem { [state.time, state.time + h] } else { [state.time + h; 2] };
        let laws = !matches!(purpose, Purpose::Velocity { laws: false, .. });
        let [mut e, mut then] = [Equations::default(); 2];
        let mut ahead = std::mem::take(&mut self.ahead);
        ahead.begin(model.bodies.len());
        if self.visits.len() != model.joints.len() {
            self.visits.clear();
            self.visits.extend(0..model.joints.len() as u32);
        }
        let mut next = std::mem::take(&mut self.next);
        for at in 0..self.visits.len() {
            if self.visits.len() > CACHED {
                self.look_ahead(at, model, state, &next);
            }
            let j = self.visits[at] as usize;
            let joint = &model.joints[j];
            if !joint.alive || self.elsewhere.get(j) == Some(&true) {
                if velocity_problem {
                    next[j] = state.joints[j];
                }
                continue;
            }
            let memory = if velocity_problem { &state.joints[j] } else { &next[j] };
            let placed = joint.place(state, memory, time);
            match wanted {
                Wanted::Errors => {
                    joint.kind.errors_into(&placed, joint.laws.iter().any(Law::is_about_positions), &mut e);
                }
                Wanted::Rows => joint.kind.equations_into(&placed, &mut e),
            }
            let mut bend = [0.0; MOST_ROWS];
            if let Purpose::Velocity { theta, bends, .. } = purpose
                && laws
            {
                curvature(joint, state, &mut ahead, memory, [h, theta], [&mut e, &mut then], &mut bend);
                bend = if bends { bend } else { [0.0; MOST_ROWS] };
                self.bent = bend.iter().fold(self.bent, |most, x| most.max(x.abs()));
            }
            let moves = joint.bodies.map(|b| b != WORLD_BODY && model.bodies[b as usize].inv_mass > 0.0);
            let largest = None;
            let mut stage =
                Stage { state, v, p, j, joint, moves, purpose, laws, rows: self, time, memory, largest };
            if velocity_problem {
                stage.rows.arms[j] = (placed.arm[1], joint.length);
                stage.rows.curved |= is_curved(&joint.kind) || joint.kind.is_led();
            }
            let planes = joint.bodies.map(|b| model.bodies.get(b as usize).and_then(|b| b.planar.as_deref()));
            for (k, row) in e.rows().iter().enumerate() {
                if planes.iter().any(Option::is_some) && is_locked(&row.jacobian, moves, planes) {
                    continue;
                }
                stage.equation(k, row, bend[k]);
            }
            for (k, (c, law)) in e.coordinates().iter().zip(&joint.laws).enumerate() {
                if laws && !law.is_empty() {
                    stage.law(k, c, law);
                }
            }
            stage.finish();
            if velocity_problem {
                next[j].angle = e.angles();
            }
        }
        (self.ahead, self.next) = (ahead, next);
    }

    /// Joints are visited by colour, which is not how they lie in memory.
    #[inline(always)]
    fn look_ahead(&self, at: usize, model: &Model, state: &State, next: &[JointState]) {
        if let Some(j) = self.visits.get(at + 2 * AHEAD).map(|j| *j as usize) {
            room::ahead(&model.joints, j);
            room::ahead(&state.joints, j);
            room::ahead(next, j);
        }
        if let Some(joint) = self.visits.get(at + AHEAD).and_then(|j| model.joints.get(*j as usize)) {
            room::ahead(&joint.laws, 0);
            for b in joint.bodies.map(|b| b as usize) {
                room::ahead(&model.bodies, b);
                room::ahead(&state.position, b);
                room::ahead(&state.rotation, b);
                room::ahead(&state.velocity, b);
                room::ahead(&state.omega, b);
            }
        }
    }

    /// Stages a row.
    #[inline(always)]
    fn push(&mut self, row: Staged, set: Set, jacobian: &[f64; 12], bias: f64, scheme: f64) {
        self.soft |= row.compliance > 0.0;
        let goes_on = row.joint != NONE && self.staged.last().is_some_and(|before| before.joint == row.joint);
        if !goes_on {
            self.runs.push(self.staged.len() as u32);
        }
        self.jacobians.push(*jacobian);
        self.sets.push(set);
        self.biases.push(bias);
        self.schemes.push(scheme);
        self.staged.push(row);
    }

    /// Whether a row of the problem, which has these biases, asks for a motion along an arc and for nothing else.
    pub(crate) fn is_arc(&self, of_problem: usize) -> bool {
        let Some(s) = self.row(of_problem) else { return false };
        usize::from(s.row) < MOST_ROWS
            && s.joint != NONE
            && self.scheme(of_problem) != 0.0
            && !self.scheme(of_problem).is_nan()
    }

    /// Whether a row of the problem is a limit that bounces.
    pub(crate) fn is_bounce(&self, of_problem: usize) -> bool {
        let Some(s) = self.row(of_problem) else { return false };
        usize::from(s.row) >= MOST_ROWS && self.scheme(of_problem) < 0.0
    }

    /// The part of the bias of a row of the problem that is the scheme's own, m/s; NaN for rows that are forces.
    pub(crate) fn scheme(&self, of_problem: usize) -> f64 {
        let i = if self.order.is_empty() {
            Some(of_problem)
        } else {
            self.order.get(of_problem).map(|i| *i as usize)
        };
        i.and_then(|i| self.schemes.get(i)).copied().unwrap_or(0.0)
    }

    /// One bilateral row for each body locked to a plane: no velocity across it. (That it does not tilt is in its inertia.)
    fn lock_planes(&mut self, model: &Model) {
        if model.facts().planar == 0 {
            return;
        }
        for i in model.dynamic() {
            if let Some(plane) = &model.bodies[i].planar {
                let mut jacobian = [0.0; 12];
                jacobian[..3].copy_from_slice(&plane.normal.to_array());
                self.push(of_no_joint([i as u32, WORLD]), Set::Free, &jacobian, 0.0, 0.0);
            }
        }
    }

    /// The bilateral rows that have no compliance, with their Jacobians; before they are put into a problem.
    pub(crate) fn rigid(&self) -> impl Iterator<Item = (&Staged, &[f64; 12])> {
        let free = self.sets.iter().map(|set| *set == Set::Free);
        let all = self.staged.iter().zip(&self.jacobians).zip(free);
        all.filter(|((s, _), free)| *free && s.compliance == 0.0).map(|(row, _)| row)
    }

    /// The staged row behind a row of the problem.
    fn row(&self, of_problem: usize) -> Option<&Staged> {
        let i = if self.order.is_empty() { of_problem } else { *self.order.get(of_problem)? as usize };
        self.staged.get(i)
    }

    /// The joint of a block of the problem, counted from the first general one.
    pub(crate) fn joint_of(&self, block: usize) -> Option<u32> {
        Some(self.row(block)?.joint).filter(|j| *j != NONE)
    }

    /// Colours the joints and puts their staged rows into the problem, those of one joint one behind the other: solvers may
    /// take the bilateral ones together. The colours are runs to be visited in order, because rows of a joint share bodies.
    /// Bodies of a problem are numbered by rank, those of staged rows by slot.
    pub(crate) fn finish(&mut self, ranks: &Order, bodies: usize, general: &mut General) {
        general.clear();
        let rank = |b: u32| if b == WORLD { b } else { ranks.rank(b) };
        let named = |s: &Staged| (s.joint, (rank(s.pair.0), rank(s.pair.1)));
        let runs = self.runs.iter().map(|&i| named(&self.staged[i as usize]));
        if bodies == self.coloured.0 && self.coloured.1.iter().copied().eq(runs) {
            self.places.clone_from(&self.runs);
            self.places.push(self.staged.len() as u32);
        } else {
            self.colour(named, bodies);
        }
        // One row a block, all of a run between the same bodies.
        for (run, (_, (a, b))) in self.places.windows(2).zip(&self.coloured.1) {
            general.a.resize(run[1] as usize, *a);
            general.b.resize(run[1] as usize, *b);
        }
        let n = self.staged.len();
        if self.order.is_empty() {
            std::mem::swap(&mut general.jacobian, &mut self.jacobians);
            std::mem::swap(&mut general.set, &mut self.sets);
            std::mem::swap(&mut general.bias, &mut self.biases);
        } else {
            let order = || self.order.iter().map(|i| *i as usize);
            general.jacobian.extend(order().map(|i| self.jacobians[i]));
            general.set.extend(order().map(|i| self.sets[i]));
            general.bias.extend(order().map(|i| self.biases[i]));
        }
        if n > 0 {
            general.first_row.extend(0..=n as u32);
        }
        if self.soft {
            general.compliance.extend((0..n).map_while(|k| Some(self.row(k)?.compliance)));
        }
        let row = |run: u32| self.places[run as usize];
        general.spans.extend(self.colouring.spans.iter().map(|s| {
            let (start, two_end, end) = (row(s.start), row(s.two_end), row(s.end));
            Span { start, two_end, end, serial: s.serial || end - start > s.end - s.start }
        }));
    }

    /// Colours the joints, in the order of their slots, and sorts the staged rows by colour.
    fn colour(&mut self, named: impl Fn(&Staged) -> (u32, (u32, u32)), bodies: usize) {
        // Rows of no joint come first, as they were staged.
        let mut by_slot: Vec<u32> = (0..self.runs.len() as u32).collect();
        let joint = |run: u32| self.staged[self.runs[run as usize] as usize].joint;
        by_slot.sort_by_key(|run| joint(*run).wrapping_add(1));
        let runs = by_slot.iter().map(|&run| named(&self.staged[self.runs[run as usize] as usize]));
        self.colouring.run(bodies, runs.map(|(_, pair)| pair));
        self.coloured.0 = bodies;
        self.coloured.1.clear();
        self.places.clear();
        for &at in &self.colouring.order {
            let run = by_slot[at as usize] as usize;
            let end = self.runs.get(run + 1).copied().unwrap_or(self.staged.len() as u32);
            self.places.push(self.order.len() as u32);
            self.order.extend(self.runs[run]..end);
            self.coloured.1.push(named(&self.staged[self.runs[run] as usize]));
        }
        self.places.push(self.order.len() as u32);
        // Only joints can be staged in another order.
        let mut left = vec![true; self.visits.len()];
        self.visits.clear();
        for (joint, _) in self.coloured.1.iter().filter(|(joint, _)| *joint != NONE) {
            self.visits.push(*joint);
            left[*joint as usize] = false;
        }
        self.visits.extend((0..left.len() as u32).filter(|j| left[*j as usize]));
    }

    /// Fills the guess for the general rows, which are `guess` and have these `sets`.
    pub(crate) fn warm_start(&self, joints: &[JointState], sets: &[Set], guess: &mut [f64]) {
        for (at, run) in self.places.windows(2).enumerate() {
            if let Some((j, _)) = self.coloured.1.get(at + 2 * AHEAD) {
                room::ahead(joints, *j as usize);
            }
            for k in run[0] as usize..run[1] as usize {
                let Some(s) = self.row(k).filter(|s| s.joint != NONE) else { continue };
                let kept = joints[s.joint as usize].impulse[s.row as usize];
                guess[k] = match sets[k] {
                    Set::NonNegative => (if s.upper { -kept } else { kept }).max(0.0),
                    // A force motor's is known beforehand.
                    Set::Interval { lo, hi } => kept.clamp(lo, hi),
                    _ => kept,
                };
            }
        }
    }

    /// Hands back the first of two solutions of a step: the second is added to it.
    pub(crate) fn keep(&mut self, general: &General, gamma: &[f64], h: f64) {
        self.hand_back(general, gamma, h);
        self.kept.clear();
        self.kept.extend(self.reactions.iter().copied().zip(self.next.iter().map(|n| n.impulse)));
    }

    /// Hands multipliers of the general rows, which are these, back to the joints.
    pub(crate) fn hand_back(&mut self, general: &General, gamma: &[f64], h: f64) {
        self.reactions.resize(self.next.len(), Reaction::default());
        // What has rows is written below.
        let with_rows = self.coloured.1.iter().filter(|(joint, _)| *joint != NONE).count();
        for j in 0..if with_rows < self.next.len() { self.next.len() } else { 0 } {
            // What sleeps keeps what held it; the others that are elsewhere say it themselves.
            if self.elsewhere.get(j) != Some(&true) {
                self.next[j].impulse.fill(0.0);
                self.reactions[j] = Reaction::default();
            }
        }
        let over = 1.0 / h;
        for (at, run) in self.places.windows(2).enumerate() {
            if let Some((j, _)) = self.coloured.1.get(at + 2 * AHEAD) {
                room::ahead(&self.next, *j as usize);
                room::ahead(&self.reactions, *j as usize);
                room::ahead(&self.arms, *j as usize);
            }
            let rows = run[0] as usize..run[1] as usize;
            let Some(j) = self.row(rows.start).map(|s| s.joint).filter(|j| *j != NONE) else { continue };
            let (arm, length) = self.arms[j as usize];
            let (mut next, mut r) = ([0.0; ROWS], Reaction::default());
            let mut sum = [0.0; 6];
            for k in rows {
                let Some(s) = self.row(k) else { break };
                let (x, row, jacobian) = (gamma[k], s.row as usize, &general.jacobian[k]);
                next[row] += if s.upper { -x } else { x };
                let pull = x * over;
                let side = if s.turned { 0 } else { 6 };
                (0..6).for_each(|i| sum[i] += jacobian[side + i] * pull);
                let scale = if s.angular { length } else { 1.0 };
                match row.checked_sub(MOST_ROWS) {
                    None => r.equations[row] = pull * scale,
                    Some(law) => {
                        let (k, what) = (law / LAW_ROWS, law % LAW_ROWS);
                        let force = pull * scale * if s.upper { -1.0 } else { 1.0 };
                        [&mut r.motor, &mut r.limit, &mut r.friction, &mut r.spring][what][k] += force;
                    }
                }
            }
            r.force += DVec3::new(sum[0], sum[1], sum[2]);
            r.torque += DVec3::new(sum[3], sum[4], sum[5]) - arm.cross(r.force);
            self.next[j as usize].impulse = next;
            self.reactions[j as usize] = r;
        }
        for (j, (first, impulse)) in self.kept.drain(..).enumerate() {
            if self.elsewhere.get(j) == Some(&true) {
                continue;
            }
            self.reactions[j].add(&first);
            self.next[j].impulse.iter_mut().zip(impulse).for_each(|(x, first)| *x += first);
        }
    }
}

/// Whether a row is about motions alone that planar bodies do not have: along the normals of their planes, and turns across those.
fn is_locked(jacobian: &[f64; 12], moves: [bool; 2], planes: [Option<&Planar>; 2]) -> bool {
    (0..2).filter(|k| moves[*k]).all(|k| {
        let [linear, angular] = [0, 3].map(|at| DVec3::from_slice(&jacobian[6 * k + at..6 * k + at + 3]));
        let free = match planes[k] {
            Some(plane) => plane.within(linear).length() + plane.about(angular).length(),
            None => linear.length() + angular.length(),
        };
        free <= 1e-9 * (linear.length() + angular.length())
    })
}

const MOTOR: usize = 0;
const LIMIT: usize = 1;
const FRICTION: usize = 2;
const SPRING: usize = 3;

/// One joint being staged.
struct Stage<'a> {
    state: &'a State,
    v: &'a Velocities,
    p: &'a Bodies,
    j: usize,
    joint: &'a Joint,
    /// Which of its bodies are dynamic.
    moves: [bool; 2],
    purpose: Purpose,
    laws: bool,
    rows: &'a mut Rows,
    time: [f64; 2],
    memory: &'a JointState,
    /// Largest error of a rigid row, m.
    largest: Option<f64>,
}

impl Stage<'_> {
    /// Puts a row in its place: a dynamic body first, and what is not dynamic folded into the bias.
    #[inline]
    fn push(
        &mut self,
        row: usize,
        set: Set,
        jacobian: &[f64; 12],
        (bias, scheme): (f64, f64),
        compliance: f64,
        upper: bool,
    ) {
        if matches!(self.purpose, Purpose::Position { wanted: Wanted::Errors, .. }) {
            return;
        }
        let [a, b] = self.joint.bodies;
        let (mut bias, mut jacobian) = (bias, jacobian);
        let (mut pair, mut turned) = ((a, b), false);
        let mut other_first;
        if self.moves != [true; 2] {
            for (k, body) in [a, b].into_iter().enumerate() {
                if body != WORLD_BODY && !self.moves[k] {
                    let v = velocity(self.v, body);
                    bias += (0..6).map(|i| jacobian[6 * k + i] * v[i]).sum::<f64>();
                }
            }
            turned = !self.moves[0];
            if turned {
                other_first = *jacobian;
                other_first.rotate_left(6);
                jacobian = &other_first;
            }
            pair = (if turned { b } else { a }, WORLD);
        }
        let (joint, row) = (self.j as u32, row as u8);
        let angular = jacobian[..3] == [0.0; 3] && jacobian[6..9] == [0.0; 3];
        let row = Staged { pair, compliance, joint, row, turned, upper, angular };
        self.rows.push(row, set, jacobian, bias, scheme);
    }

    /// Whether a joint's error is one that corrections would leave alone: the step's own motion takes it away.
    fn is_small(&self, error: f64) -> bool {
        match self.purpose {
            Purpose::Velocity {
                stabilisation: Stabilisation::Post { tolerance, .. },
                laws: true,
                theta: 1.0,
                bends: true,
                ..
            } => TIGHTER * error.abs() <= 2.0 * tolerance * SIZE * self.joint.length,
            _ => false,
        }
    }

    /// Notes the error of a rigid row.
    #[inline(always)]
    fn note(&mut self, error: f64) {
        self.largest = Some(self.largest.map_or(error, |largest| largest.max(error)));
    }

    /// What was noted.
    fn finish(self) {
        let Some(error) = self.largest else { return };
        let size = SIZE * self.joint.length;
        self.rows.worst = self.rows.worst.max(error / size);
        self.rows.errors[self.j] = error / size;
    }

    fn equation(&mut self, k: usize, row: &Row, bend: f64) {
        let soft = self.joint.compliance[row.angular as usize];
        match self.purpose {
            Purpose::Velocity { h, stabilisation, .. } => match row.sort {
                Sort::Elastic { .. } if !self.laws => {}
                Sort::Elastic { stiffness, damping } => {
                    self.elastic(k, &row.jacobian, row.error, stiffness, damping)
                }
                Sort::Holonomic | Sort::Nonholonomic if soft > 0.0 => {
                    let scale = if row.angular { self.joint.length * self.joint.length } else { 1.0 };
                    let bias = row.error / h + row.rate;
                    self.push(k, Set::Free, &row.jacobian, (bias, f64::NAN), soft * scale / (h * h), false);
                }
                Sort::Holonomic | Sort::Nonholonomic => {
                    if row.sort == Sort::Holonomic {
                        self.note(row.error.abs());
                    }
                    let mut scheme = bend;
                    if row.sort == Sort::Holonomic && self.is_small(row.error) {
                        scheme += row.error / h;
                    }
                    let bias = stabilisation.bilateral_bias(row.error, h) + row.rate + scheme;
                    self.push(k, Set::Free, &row.jacobian, (bias, scheme), 0.0, false);
                }
                Sort::Unilateral => {
                    self.note((-row.error).max(0.0));
                    let own = stabilisation.bias(row.error, h);
                    let bias = own + row.rate + bend;
                    self.push(k, Set::NonNegative, &row.jacobian, (bias, own.max(0.0) + bend), 0.0, false);
                }
            },
            Purpose::Position { share, .. } if soft == 0.0 => {
                let most = share * self.joint.length;
                match row.sort {
                    Sort::Holonomic => {
                        self.note(row.error.abs());
                        let error = row.error.clamp(-most, most);
                        self.push(k, Set::Free, &row.jacobian, (error, 0.0), 0.0, false);
                    }
                    Sort::Unilateral => {
                        self.note((-row.error).max(0.0));
                        self.push(
                            k,
                            Set::NonNegative,
                            &row.jacobian,
                            (row.error.max(-most), 0.0),
                            0.0,
                            false,
                        );
                    }
                    Sort::Nonholonomic | Sort::Elastic { .. } => {}
                }
            }
            Purpose::Position { .. } => {}
        }
    }

    /// f = -k (Ψ + h u) - c u as the compliant row u + kΨ/(hk + c) + γ/(h(hk + c)) = 0.
    fn elastic(&mut self, row: usize, jacobian: &[f64; 12], error: f64, stiffness: f64, damping: f64) {
        let Purpose::Velocity { h, .. } = self.purpose else { return };
        let resistance = h * stiffness + damping;
        if resistance > 0.0 {
            self.push(
                row,
                Set::Free,
                jacobian,
                (stiffness * error / resistance, f64::NAN),
                1.0 / (h * resistance),
                false,
            );
        }
    }

    /// All that acts along free coordinate `k`. Rows of angles are multiplied by L, their forces divided by it.
    fn law(&mut self, k: usize, c: &Coordinate, law: &Law) {
        let scale = if c.angular { self.joint.length } else { 1.0 };
        let jacobian = c.jacobian.map(|x| scale * x);
        let place = MOST_ROWS + k * LAW_ROWS;
        debug_assert!(k < MOST_COORDINATES);
        match self.purpose {
            Purpose::Velocity { h, stabilisation, bounce, .. } => {
                self.motor(place + MOTOR, c, law, scale, &jacobian, h);
                if let Some(limits) = &law.limits {
                    self.rows.bounces |= limits.restitution > 0.0;
                    for (gap, upper) in [(c.value - limits.lower, false), (limits.upper - c.value, true)] {
                        if gap == f64::INFINITY {
                            continue;
                        }
                        self.note((-scale * gap).max(0.0));
                        let sign = if upper { -scale } else { scale };
                        let jacobian = c.jacobian.map(|x| sign * x);
                        let own = stabilisation.bias(scale * gap, h);
                        let mut bias = own;
                        let before = self.joint.rate(&jacobian, |i| self.state.twist(i));
                        if limits.restitution > 0.0 && scale * gap + h * before <= 0.0 {
                            bias = bias.min(bounce * limits.restitution * before);
                        }
                        let both = (bias, bias - own.min(0.0));
                        self.push(place + LIMIT, Set::NonNegative, &jacobian, both, 0.0, upper);
                    }
                }
                if law.friction > 0.0 {
                    let most = law.friction * h / scale;
                    let set = Set::Interval { lo: -most, hi: most };
                    self.push(place + FRICTION, set, &jacobian, (0.0, f64::NAN), 0.0, false);
                }
                if let Some(s) = &law.spring {
                    let (stiffness, damping) = (s.stiffness / (scale * scale), s.damping / (scale * scale));
                    self.elastic(place + SPRING, &jacobian, scale * (c.value - s.rest), stiffness, damping);
                }
            }
            Purpose::Position { share, h, .. } => {
                let most = share * self.joint.length;
                if let Some(motor) = law.motor.as_ref().filter(|m| m.commands_motion()) {
                    let holds =
                        self.memory.impulse[place + MOTOR].abs() < motor.limit * h / scale * (1.0 - 1e-9);
                    let error = match &motor.command {
                        Command::Position(f) if motor.is_rigid() => scale * (c.value - f.value(self.time[1])),
                        _ => 0.0,
                    };
                    if holds {
                        self.note(error.abs());
                        let error = error.clamp(-most, most);
                        self.push(place + MOTOR, Set::Free, &jacobian, (error, 0.0), 0.0, false);
                    }
                }
                if let Some(limits) = &law.limits {
                    for (gap, upper) in [(c.value - limits.lower, false), (limits.upper - c.value, true)] {
                        if gap == f64::INFINITY {
                            continue;
                        }
                        self.note((-scale * gap).max(0.0));
                        let sign = if upper { -scale } else { scale };
                        let jacobian = c.jacobian.map(|x| sign * x);
                        let bias = ((scale * gap).max(-most), 0.0);
                        self.push(place + LIMIT, Set::NonNegative, &jacobian, bias, 0.0, upper);
                    }
                }
            }
        }
    }

    fn motor(&mut self, row: usize, c: &Coordinate, law: &Law, scale: f64, jacobian: &[f64; 12], h: f64) {
        let Some(motor) = &law.motor else { return };
        let end = self.time[1];
        let most = motor.limit * h / scale;
        let set = if most == f64::INFINITY { Set::Free } else { Set::Interval { lo: -most, hi: most } };
        match &motor.command {
            Command::Speed(f) => self.push(row, set, jacobian, (-scale * f.value(end), f64::NAN), 0.0, false),
            Command::Position(f) => {
                if self.memory.impulse[row].abs() < most * (1.0 - 1e-9) && motor.is_rigid() {
                    self.note((scale * (c.value - f.value(self.time[0]))).abs());
                }
                let way = scale * (f.value(end) - c.value);
                let mut speed = way / h;
                if motor.limit.is_finite() {
                    let brakes = (0.25 * motor.limit / scale * self.mobility(jacobian) * way.abs()).sqrt();
                    // The command's own motion comes on top: following it is not a matter of braking.
                    let own = (scale * f.derivative(end)).abs();
                    speed = speed.clamp(-brakes - own, brakes + own);
                }
                self.push(row, set, jacobian, (-speed, f64::NAN), 0.0, false);
            }
            Command::Force(f) => {
                let x = (f.value(end) * h / scale).clamp(-most, most);
                let set = Set::Interval { lo: x, hi: x };
                self.push(row, set, jacobian, (0.0, f64::NAN), 0.0, false);
            }
        }
    }

    /// J M⁻¹ Jᵀ of a row.
    fn mobility(&self, jacobian: &[f64; 12]) -> f64 {
        let mut sum = 0.0;
        for (body, part) in self.joint.bodies.into_iter().zip([0, 6]) {
            if body == WORLD_BODY {
                continue;
            }
            let rank = self.state.order.rank(body) as usize;
            let (m, i) = (self.p.inv_mass[rank], &self.p.inv_inertia[rank]);
            let row = &jacobian[part..part + 6];
            let (x, y, z) = (row[3], row[4], row[5]);
            sum += m * (row[0] * row[0] + row[1] * row[1] + row[2] * row[2])
                + i[0] * x * x
                + i[1] * y * y
                + i[2] * z * z
                + 2.0 * (i[3] * x * y + i[4] * x * z + i[5] * y * z);
        }
        sum
    }
}

/// A row between two bodies, or of one, that is no joint's.
fn of_no_joint(bodies: [u32; 2]) -> Staged {
    let pair = (bodies[0], bodies[1]);
    Staged { pair, compliance: 0.0, joint: NONE, row: 0, turned: false, upper: false, angular: false }
}
