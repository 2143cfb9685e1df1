//! One mechanism: its bodies and joints, and its step.

use drystone_solve::problem::WORLD;
use drystone_solve::solver::Direct;
use glam::DVec3;

use super::gather::{Gathered, Goal, Link, Motion};
use super::impact::Watched;
use super::{Around, led};
use crate::body;
use crate::field::{Acting, Placed};
use crate::formulation::rows::Rows;
use crate::joint::equation::MOST_ROWS;
use crate::joint::{JointState, Kind, Reaction};
use crate::model::Model;
use crate::settings::Integrator;
use crate::state::State;

/// (hω)² of the fastest spring, and h times the fastest rate of a damper, that a step resolves.
const RESOLVED_STIFFNESS: f64 = 0.25;
/// Multiplications of one factor beyond which a step would take too long.
const MAX_FACTOR_OPERATIONS: f64 = 2e9;
/// Errors of joints at the start of a step, over their lengths, beyond which they are not undone by a kick.
const MAX_JOINT_ERROR: f64 = 0.01;
/// What turns a joint's lever or axis in a substep, rad: beyond it the fourth order is not yet to be seen.
const MAX_TURN: f64 = 0.15;
/// Most substeps of a segment, and most rebounds of a step.
const MAX_SUBSTEPS: usize = 256;
const MAX_REBOUNDS: usize = 16;

/// Lengths of the parts of a substep.
fn parts(order: u8) -> &'static [f64] {
    const S: f64 = 0.414_490_771_794_375_74;
    if order == 2 { &[1.0] } else { &[S, S, 1.0 - 4.0 * S, S, S] }
}

/// One part of a step.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub from: f64,
    pub to: f64,
    pub dt: f64,
}

/// A mechanism at one instant.
#[derive(Debug, Default)]
struct Kept {
    motion: Motion,
    memory: Vec<JointState>,
    reactions: Vec<Reaction>,
    substeps: usize,
}

/// What hangs together by joints. Bodies and joints have places of their own here.
#[derive(Debug, Default)]
pub(super) struct Mechanism {
    /// Slots of the bodies: first those that are dynamic, in rising order, then those that they hang on.
    pub(super) slots: Vec<u32>,
    /// How many of them are dynamic.
    pub(super) count: usize,
    pub(super) links: Vec<Link>,
    /// Whether it takes the step.
    pub taken: bool,
    /// Rounds of Broyden's method of the step, and its substeps.
    pub iterations: usize,
    pub substeps: usize,
    /// Rebounds from limits within the step.
    pub rebounds: usize,
    /// The largest error of a joint's velocity, m/s, and the sum of their squares.
    pub worst: f64,
    pub squares: f64,
    pub(super) now: Motion,
    /// After the first half of the kick, and before the second.
    pub(super) start: Motion,
    pub(super) middle: Motion,
    pub(super) rows: Gathered,
    pub(super) direct: Direct,
    pub(super) memory: Vec<JointState>,
    pub(super) lambda: Vec<f64>,
    pub(super) weights: Vec<f64>,
    pub(super) steps: Vec<f64>,
    pub(super) best: Vec<f64>,
    pub(super) error: Vec<f64>,
    pub(super) target: Vec<f64>,
    pub(super) pushed: Vec<f64>,
    /// Into how many pieces the free rotation of each body is cut.
    pub(super) pieces: Vec<f64>,
    /// What became of the slacks during the step.
    pub(super) watched: Vec<Watched>,
    /// Where the segment began.
    kept: Kept,
    pub(super) reactions: Vec<Reaction>,
    /// Whether equations about velocities alone are among the rows.
    pub(super) rolls: bool,
    /// m
    pub(super) size: f64,
    pub(super) fields: Acting,
}

impl Mechanism {
    pub fn new(model: &Model, bodies: Vec<u32>, joints: &[u32]) -> Self {
        let count = bodies.len();
        let mut slots = bodies;
        let ends = |j: u32| model.joints[j as usize].bodies.into_iter();
        let mut held: Vec<u32> = joints.iter().flat_map(|j| ends(*j)).collect();
        held.retain(|b| model.bodies.get(*b as usize).is_some_and(|b| b.inv_mass <= 0.0));
        held.sort_unstable();
        held.dedup();
        slots.extend(held);
        let place = |slot: u32| {
            let (own, others) = slots.split_at(count);
            let there = own.binary_search(&slot).ok();
            there.or_else(|| others.binary_search(&slot).ok().map(|k| count + k)).unwrap_or(usize::MAX)
        };
        let links = joints
            .iter()
            .map(|&slot| Link { slot, ends: model.joints[slot as usize].bodies.map(place) })
            .collect();
        Self { links, slots, count, ..Self::default() }
    }

    /// Slots of the bodies that are dynamic.
    pub fn moving(&self) -> &[u32] {
        &self.slots[..self.count]
    }

    /// Calls with the slot of each body and the mean velocity of its step of `h` from `state`.
    pub fn ways(&self, state: &State, h: f64, mut to: impl FnMut(usize, [f64; 6])) {
        for (k, i) in self.moving().iter().map(|i| *i as usize).enumerate() {
            let way = (self.now.x[k] - state.position[i]) / h;
            let turn = (self.now.q[k] * state.rotation[i].conjugate()).to_scaled_axis() / h;
            to(i, [way.x, way.y, way.z, turn.x, turn.y, turn.z]);
        }
    }

    /// Slots of its joints.
    pub fn joints(&self) -> impl Iterator<Item = usize> {
        self.links.iter().map(|link| link.slot as usize)
    }

    /// Number of equations.
    pub fn rows(&self) -> usize {
        self.rows.equations.len()
    }

    /// Works out the step; None if it is none of this kind.
    pub fn step(&mut self, w: Around, order: u8) -> Option<()> {
        let h = w.settings.h;
        self.begin(w);
        if !self.is_resolved(w.model, h) || !self.arrange(w.model) {
            return None;
        }
        self.watch();
        self.iterations = 0;
        self.substeps = 0;
        let (mut from, end) = (w.state.time, w.state.time + h);
        self.rebounds = 0;
        loop {
            self.segment(w, order, from, end)?;
            if self.rows.slacks.iter().all(|s| s.gap > 0.0) {
                break;
            }
            if self.rebounds == MAX_REBOUNDS {
                return None;
            }
            self.rebounds += 1;
            from = self.impact(w, order, from, end)?;
        }
        if !self.stays_slack(h) {
            return None;
        }
        self.worst = self.speeds(w.model);
        self.squares = self.error.iter().map(|u| u * u).sum();
        Some(())
    }

    /// Everything as it is at the start of the step.
    fn begin(&mut self, w: Around) {
        let s = w.state;
        let Self { now, slots, memory, links, reactions, .. } = self;
        now.take(slots, s);
        memory.clear();
        memory.extend(links.iter().map(|link| {
            let mut memory = s.joints[link.slot as usize];
            memory.impulse.fill(0.0);
            memory
        }));
        reactions.clear();
        reactions.resize(links.len(), Reaction::default());
        self.lead(w, s.time);
        self.rows.at(w.model, &self.links, self.count, &self.now, &mut self.memory, s.time);
    }

    /// From one instant to another, in as many substeps as that needs; None if Broyden's method does not
    /// arrive.
    pub(super) fn segment(&mut self, w: Around, order: u8, from: f64, to: f64) -> Option<()> {
        // The scheme by name is the papers', and cuts nothing.
        let most = if w.settings.integrator == Integrator::Auto { MAX_SUBSTEPS } else { 1 };
        self.kept.motion.copy(&self.now);
        self.kept.memory.clone_from(&self.memory);
        self.kept.reactions.clone_from(&self.reactions);
        self.kept.substeps = self.substeps;
        let mut n = self.needed(w, to - from).min(most);
        loop {
            let done = self.cut(w, order, n, [from, to]);
            // As many as it needs where it begins and where it ends: the way back would have as many, so that
            // energy does not drift.
            let needed = if done.is_some() { self.needed(w, to - from) } else { 2 * n };
            if done.is_some() && needed <= n || n == most {
                self.iterations += done?;
                self.substeps += n;
                return Some(());
            }
            n = needed.max(2 * n).min(most);
            self.go_back(w, from);
        }
    }

    /// To where the last segment began.
    pub(super) fn go_back(&mut self, w: Around, from: f64) {
        self.now.copy(&self.kept.motion);
        self.memory.clone_from(&self.kept.memory);
        self.reactions.clone_from(&self.kept.reactions);
        self.substeps = self.kept.substeps;
        self.rows.at(w.model, &self.links, self.count, &self.now, &mut self.memory, from);
    }

    /// A segment in n equal substeps; None if Broyden's method does not arrive.
    fn cut(&mut self, w: Around, order: u8, n: usize, [t0, t1]: [f64; 2]) -> Option<usize> {
        self.act(w, t0);
        self.direct.factor(&self.rows.rows, &self.rows.weighted);
        let shares = (0..n).flat_map(|_| parts(order)).map(|share| share / n as f64);
        let (mut iterations, mut done, last) = (0, 0.0, n * parts(order).len() - 1);
        for (k, share) in shares.enumerate() {
            let from = t0 + done * (t1 - t0);
            done += share;
            let to = if k == last { t1 } else { t0 + done * (t1 - t0) };
            iterations += self.part(w, Part { from, to, dt: share * (t1 - t0) })?;
        }
        Some(iterations)
    }

    /// Substeps for which no joint's lever or axis turns by more than [`MAX_TURN`], in powers of two, so that
    /// their number seldom changes: every change costs a little energy, or gives it. What a joint turns about
    /// stays where it is.
    fn needed(&self, w: Around, h: f64) -> usize {
        let mut fastest = 0.0f64;
        for link in &self.links {
            let joint = &w.model.joints[link.slot as usize];
            for (frame, end) in joint.frames.iter().zip(link.ends).filter(|(_, end)| *end < self.count) {
                let omega = self.now.w[end];
                let lever = omega.cross(frame.position.normalize_or_zero()).length();
                let axis = || omega.cross(frame.rotation * DVec3::Z).length();
                fastest = fastest.max(match joint.kind {
                    Kind::Ball => lever,
                    Kind::Revolute | Kind::Cylindrical | Kind::Prismatic => lever.max(axis()),
                    _ => omega.length(),
                });
            }
        }
        ((h * fastest / MAX_TURN).ceil().min(MAX_SUBSTEPS as f64) as usize).next_power_of_two()
    }

    /// Which blocks the factor has: the joints with equations. Whether it is of bearable size.
    fn arrange(&mut self, model: &Model) -> bool {
        let (mut sizes, mut ends, mut degrees) = (Vec::new(), Vec::new(), vec![0usize; self.count]);
        for block in self.rows.equations.chunk_by(|a, b| a.joint == b.joint) {
            sizes.push(block.len() as u32);
            let held = self.links[block[0].joint as usize]
                .ends
                .map(|b| if b < self.count { b as u32 } else { WORLD });
            held.iter().filter(|b| **b != WORLD).for_each(|b| degrees[*b as usize] += 1);
            ends.push(held);
        }
        if degrees.iter().map(|d| (d * d) as f64).sum::<f64>() > 0.001 * MAX_FACTOR_OPERATIONS {
            return false;
        }
        self.direct.arrange(&sizes, &ends);
        self.rolls = self.rows.equations.iter().any(|e| e.goal == Goal::Rolling);
        let far = self.now.x[..self.count].iter().map(|x| x.abs().max_element()).fold(0.0, f64::max);
        let long = self.joints().map(|j| model.joints[j].length).fold(0.0, f64::max);
        self.size = far + long;
        self.direct.flops() <= MAX_FACTOR_OPERATIONS
    }

    /// Whether a smooth step is to be had: nothing asks for the other scheme, joints are not off by much
    /// (corrections of positions take that away without a speed), and the step is short enough for its
    /// springs and dampers as forces: with a = M^-½ Jᵀ the largest eigenvalue of Σ k a aᵀ is at most twice
    /// the largest sum Σ k |a|² over the springs of one body.
    fn is_resolved(&self, model: &Model, h: f64) -> bool {
        if self.rows.stops {
            return false;
        }
        let off = self.rows.equations.iter().any(|e| {
            let own = e.goal == Goal::Place && usize::from(e.place) < MOST_ROWS;
            own && e.error.abs()
                > MAX_JOINT_ERROR * model.joints[self.links[e.joint as usize].slot as usize].length
        });
        if off {
            return false;
        }
        let mut strain = vec![[0.0; 2]; if self.rows.pushes.is_empty() { 0 } else { self.count }];
        for (p, moved) in self.rows.pushes.iter().zip(&self.rows.moved) {
            for (side, end) in self.links[p.joint as usize].ends.into_iter().enumerate() {
                let Some(strain) = strain.get_mut(end) else { continue };
                let gives: f64 = (6 * side..6 * side + 6).map(|k| p.jacobian[k] * moved[k]).sum();
                strain[0] += p.stiffness * gives;
                strain[1] += p.damping * gives;
            }
        }
        strain
            .iter()
            .all(|s| 2.0 * h * h * s[0] <= RESOLVED_STIFFNESS && 2.0 * h * s[1] <= RESOLVED_STIFFNESS)
    }

    /// Where the bodies that are not dynamic are at `time`, and how fast.
    pub(super) fn lead(&mut self, w: Around, time: f64) {
        for (k, slot) in self.slots.iter().enumerate().skip(self.count) {
            let i = *slot as usize;
            if w.model.bodies[i].motion == body::Motion::Kinematic {
                let now = &mut self.now;
                (now.x[k], now.q[k], now.v[k], now.w[k]) = led(w.model, w.state, i, time);
            }
        }
    }

    /// What the fields do where the bodies are.
    pub(super) fn act(&mut self, w: Around, time: f64) {
        let now = &self.now;
        let placed = Placed { x: &now.x, q: &now.q, v: &now.v, w: &now.w, time };
        self.fields.on_some(w.fields, w.model, w.state, &self.slots, placed);
    }

    /// Puts what a step came to into the state.
    pub fn write_back(&self, model: &Model, s: &mut State, rows: &mut Rows) {
        let now = &self.now;
        for (k, i) in self.moving().iter().map(|i| *i as usize).enumerate() {
            (s.position[i], s.rotation[i]) = (now.x[k], now.q[k]);
            (s.velocity[i], s.omega[i]) = (now.v[k], now.w[k]);
            if let Some(plane) = &model.bodies[i].planar {
                s.position[i] = plane.nearest(s.position[i]);
                s.velocity[i] = plane.within(s.velocity[i]);
                s.omega[i] = s.rotation[i].conjugate() * plane.about(s.rotation[i] * s.omega[i]);
            }
        }
        for (k, j) in self.joints().enumerate() {
            (rows.next[j], rows.reactions[j]) = (self.memory[k], self.reactions[k]);
        }
    }
}
