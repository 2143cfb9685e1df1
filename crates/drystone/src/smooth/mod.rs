//! Steps of mechanisms that nothing touches: RATTLE on rotations, and a composition of it of fourth order.
//!
//! Without contacts, active limits and dry friction a step has only equations and smooth forces, and the half-implicit scheme
//! (first order, and joints that lose energy) is more modest than it has to be. One part of the step, of length τ, is
//! \[Andersen1983\] with the free motion of rigid bodies as its drift [DullweberLeimkuhlerMcLachlan1997]:
//!
//! ```text
//!     v½  = v + M⁻¹ (½τ f(q, v, t) + J(q)ᵀ λ)                         half a kick
//!     q⁺, v½⁺ = free motion of q, v½ over τ                           positions straight on, rotations by Euler's equations
//!     0   = Ψ(q⁺, t + τ)                                              decides λ
//!     v⁺  = v½⁺ + M⁻¹ (½τ f(q⁺, v⁺, t + τ) + J(q⁺)ᵀ μ)                the other half
//!     0   = J(q⁺) v⁺ + ∂Ψ/∂t                                          decides μ
//! ```
//!
//! Symmetric, of second order, and symplectic where forces have a potential (as far as the drift is exact: it is of fourth
//! order): energy stays near where it began, for as long as the run is. Equations about velocities alone are held in the
//! middle of the drift, τ J(q½) v½ = 0, which is symmetric too [McLachlanPerlmutter2006]; a motor that imposes a speed holds its
//! coordinate to the integral of its command. Five such parts of lengths s, s, 1 - 4s, s, s with s = 1/(4 - ∛4) are of fourth
//! order \[Suzuki1990\].
//!
//! λ comes from a quasi-Newton method that starts from the matrix J M⁻¹ Jᵀ at q, iterated until rounding stops it; positions then fit the joints as
//! well as numbers can say it, and no position problem follows. Springs, dampers and motors that impose a force are forces f. A
//! step in which a spring or damper is too stiff for that, in which something unilateral is or would become active, or in which
//! Broyden's method does not arrive, is not taken: the half-implicit scheme takes it instead.

mod gather;
mod islands;

use drystone_solve::Certificate;
use drystone_solve::problem::WORLD;
use drystone_solve::solver::Direct;
use glam::DVec3;

use crate::body;
use crate::field::{Acting, Field, Placed};
use crate::joint::equation::MOST_ROWS;
use crate::joint::slot::LAW_ROWS;
use crate::joint::{JointState, Reaction, WORLD_BODY};
use crate::model::Model;
use crate::motion::{free_rotation_cut, is_ball, rotate};
use crate::settings::Integrator;
use crate::world::World;
use gather::{Found, Gathered, Goal, Motion, walk, way};
use islands::Islands;

/// (hω)² of the fastest spring, and h times the fastest rate of a damper, that a step resolves.
const RESOLVED: f64 = 0.25;
/// Multiplications of one factor beyond which a step would take too long.
const LARGE: f64 = 2e9;
/// Errors at which Broyden's method stops, over the size of the mechanism, and at which it may where it gets no further.
const DONE: f64 = 1e-14;
const ARRIVED: f64 = 1e-11;
const ROUNDS: usize = 60;
/// Times that islands are left out for what would become active, before all is left to the other scheme.
const TRIES: usize = 3;
/// Steps of Broyden's method that are remembered.
const MEMORY: usize = 20;
/// Most angle of a piece of free rotation, rad.
const PIECE: f64 = 0.1;

/// Errors of joints at the start of a step, over their lengths, beyond which they are not undone by a kick.
const OFF: f64 = 0.01;

/// Lengths of the parts of a step.
fn parts(order: u8) -> &'static [f64] {
    const S: f64 = 0.414_490_771_794_375_74;
    if order == 2 { &[1.0] } else { &[S, S, 1.0 - 4.0 * S, S, S] }
}

/// What such a step came to.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    /// Rounds of Broyden's method, all parts together.
    pub iterations: usize,
    /// How well the new velocities fit the joints.
    pub certificate: Certificate,
    /// Whether it is the step of all bodies.
    pub whole: bool,
}

/// Buffers.
#[derive(Debug, Default)]
pub(crate) struct Smooth {
    islands: Islands,
    now: Motion,
    /// After the first half of the kick, and before the second.
    start: Motion,
    middle: Motion,
    rows: Gathered,
    direct: Direct,
    sizes: Vec<u32>,
    ends: Vec<[u32; 2]>,
    memory: Vec<JointState>,
    lambda: Vec<f64>,
    weights: Vec<f64>,
    steps: Vec<f64>,
    best: Vec<f64>,
    error: Vec<f64>,
    target: Vec<f64>,
    pushed: Vec<f64>,
    pieces: Vec<f64>,
    strain: Vec<[f64; 2]>,
    /// Joints at each body.
    degrees: Vec<usize>,
    /// Slacks at the start of the step.
    before: Vec<[f64; 2]>,
    reactions: Vec<Reaction>,
    rolls: bool,
    size: f64,
    fields: Acting,
}

/// One part of a step.
#[derive(Clone, Copy)]
struct Part {
    from: f64,
    to: f64,
    dt: f64,
    /// The step as a whole.
    h: f64,
}

/// Works out the step, if it is one of this kind; [`write_back`] takes it.
pub(crate) fn advance(w: &mut World, order: u8) -> Option<Taken> {
    let mut s = std::mem::take(&mut w.smooth);
    let taken = s.run(w, order);
    w.smooth = s;
    taken
}

/// Whether [`advance`] worked out the step of this body.
#[inline]
pub(crate) fn took(smooth: &Smooth, slot: usize) -> bool {
    smooth.islands.bodies[slot]
}

/// How many bodies [`advance`] took.
pub(crate) fn taken_bodies(w: &World) -> usize {
    w.smooth.islands.moving.len()
}

/// Which joints [`advance`] took, by slot.
pub(crate) fn joints(w: &World) -> &[bool] {
    &w.smooth.islands.joints
}

/// Puts what [`advance`] worked out into the world, after the other bodies have had their step.
pub(crate) fn write_back(w: &mut World) {
    let s = std::mem::take(&mut w.smooth);
    s.write_back(w);
    w.smooth = s;
}

impl Smooth {
    fn run(&mut self, w: &World, order: u8) -> Option<Taken> {
        let asleep = |i: usize| w.state.rest.is_asleep(i);
        let free = w.settings.integrator != Integrator::Auto;
        if !self.islands.choose(&w.model, &w.contacts, free, asleep) {
            return None;
        }
        self.begin(w);
        self.resolve(&w.model, w.settings.h);
        for _ in 0..TRIES {
            // Forces of pairs are those between bodies of one scheme.
            let pairs = w.fields.iter().any(|f| matches!(f, Field::Pair(_)));
            if !self.islands.whole && (pairs || !self.islands.settle(&w.model)) {
                return None;
            }
            self.begin(w);
            let iterations = self.try_step(w, order)?;
            if self.stays_slack(&w.model, w.settings.h) {
                let whole = self.islands.whole;
                return Some(Taken { iterations, certificate: self.certify(&w.model), whole });
            }
        }
        None
    }

    /// Everything as it is at the start of the step.
    fn begin(&mut self, w: &World) {
        let s = &w.state;
        self.now.x.clone_from(&s.position);
        self.now.q.clone_from(&s.rotation);
        self.now.v.clone_from(&s.velocity);
        self.now.w.clone_from(&s.omega);
        self.memory.clone_from(&s.joints);
        self.memory.iter_mut().for_each(|m| m.impulse.fill(0.0));
        self.reactions.clear();
        self.reactions.resize(w.model.joints.len(), Reaction::default());
        self.lead(w, s.time);
        self.rows.at(&w.model, &self.islands.joints, &self.now, &mut self.memory, s.time);
    }

    /// All parts of the step; None if there is no factor of bearable size, or Broyden's method does not arrive.
    fn try_step(&mut self, w: &World, order: u8) -> Option<usize> {
        let (h, t0) = (w.settings.h, w.state.time);
        self.act(w, t0);
        if !self.arrange(&w.model) {
            return None;
        }
        self.before.clone_from(&self.rows.slacks);
        self.direct.factor(&self.rows.rows, &self.rows.weighted);
        let (mut iterations, mut done) = (0, 0.0);
        let parts = parts(order);
        for (k, share) in parts.iter().enumerate() {
            let from = t0 + done * h;
            done += share;
            let to = if k + 1 == parts.len() { t0 + h } else { t0 + done * h };
            iterations += self.part(w, Part { from, to, dt: share * h, h })?;
        }
        Some(iterations)
    }

    /// Whether what is unilateral is still far from being active; the islands where it is not are left out. Within reach of one
    /// step's acceleration everything is left to the other scheme: what comes to rest on its limit is not thrown about
    /// between the two.
    fn stays_slack(&mut self, model: &Model, h: f64) -> bool {
        let mut all = true;
        for ((s, before), j) in self.rows.slacks.iter().zip(&self.before).zip(&self.rows.slack_joints) {
            if !(s[0] >= 2.0 * h * (s[1] - before[1]).abs()) {
                self.islands.leave_out_joint(model, *j as usize);
                all = false;
            }
        }
        all
    }

    /// Which blocks the factor has: the joints with equations. Whether there is a factor of bearable size.
    fn arrange(&mut self, model: &Model) -> bool {
        self.sizes.clear();
        self.ends.clear();
        self.degrees.clear();
        self.degrees.resize(model.bodies.len(), 0);
        for block in self.rows.equations.chunk_by(|a, b| a.joint == b.joint) {
            self.sizes.push(block.len() as u32);
            let dynamic = |slot: u32| model.bodies.get(slot as usize).is_some_and(|b| b.inv_mass > 0.0);
            let ends = model.joints[block[0].joint as usize].bodies;
            let ends = ends.map(|b| if dynamic(b) { b } else { WORLD });
            ends.iter().filter(|b| **b != WORLD).for_each(|b| self.degrees[*b as usize] += 1);
            self.ends.push(ends);
        }
        if self.degrees.iter().map(|d| (d * d) as f64).sum::<f64>() > 0.001 * LARGE {
            return false;
        }
        self.direct.arrange(&self.sizes, &self.ends);
        self.rolls = self.rows.equations.iter().any(|e| e.goal == Goal::Rolling);
        let reach = |i: &u32| self.now.x[*i as usize].abs().max_element();
        let far = self.islands.moving.iter().map(reach).fold(0.0, f64::max);
        let long = model.joint_slots().map(|j| model.joints[j].length).fold(0.0, f64::max);
        self.size = far + long;
        self.direct.flops() <= LARGE
    }

    /// Leaves out the islands that something asks for, those whose joints are off by much (corrections of positions take that away without a
    /// speed), and those whose springs and dampers the step is too long for as forces:
    /// with a = M^-½ Jᵀ the largest eigenvalue of Σ k a aᵀ is at most twice the largest sum Σ k |a|² over the springs of one
    /// body.
    fn resolve(&mut self, model: &Model, h: f64) {
        self.strain.clear();
        self.strain.resize(model.bodies.len(), [0.0; 2]);
        for (p, moved) in self.rows.pushes.iter().zip(&self.rows.moved) {
            for (side, slot) in model.joints[p.joint as usize].bodies.into_iter().enumerate() {
                let Some(strain) = self.strain.get_mut(slot as usize) else { continue };
                let gives: f64 = (6 * side..6 * side + 6).map(|k| p.jacobian[k] * moved[k]).sum();
                strain[0] += p.stiffness * gives;
                strain[1] += p.damping * gives;
            }
        }
        for j in &self.rows.stops {
            self.islands.leave_out_joint(model, *j as usize);
        }
        for e in &self.rows.equations {
            let own = e.goal == Goal::Place && usize::from(e.place) < MOST_ROWS;
            if own && e.error.abs() > OFF * model.joints[e.joint as usize].length {
                self.islands.leave_out_joint(model, e.joint as usize);
            }
        }
        for (i, s) in self.strain.iter().enumerate() {
            if !(2.0 * h * h * s[0] <= RESOLVED && 2.0 * h * s[1] <= RESOLVED) {
                self.islands.leave_out(i as u32);
            }
        }
    }

    /// One part; None if Broyden's method does not arrive.
    fn part(&mut self, w: &World, part: Part) -> Option<usize> {
        let half = 0.5 * part.dt;
        self.damped_pushes(&w.model, half);
        self.push(w, half);
        self.record(w, part.h, false);
        self.pieces.clear();
        self.pieces.extend(self.now.w.iter().map(|w| (w.length() * part.dt.abs() / PIECE).max(1.0)));
        self.start.copy(&self.now);
        self.lead(w, part.to);
        self.target.clear();
        for e in &self.rows.equations {
            self.target.push(match e.goal {
                Goal::Speed { k } => e.error + way(&w.model.joints[e.joint as usize], k, part.from, part.to),
                _ => 0.0,
            });
        }
        let rounds = self.meet_positions(w, part)?;
        self.record(w, part.h, true);

        self.rows.at(&w.model, &self.islands.joints, &self.now, &mut self.memory, part.to);
        self.act(w, part.to);
        self.direct.factor(&self.rows.rows, &self.rows.weighted);
        self.start.copy(&self.now);
        let by_speed = w.fields.iter().any(|f| matches!(f, Field::Callback { .. }));
        let damped = by_speed || self.rows.pushes.iter().any(|p| p.damping > 0.0);
        for round in 0..40 {
            self.damped_pushes(&w.model, half);
            if by_speed && round > 0 {
                self.act(w, part.to);
            }
            self.middle.copy(&self.now);
            self.now.copy(&self.start);
            self.push(w, half);
            self.meet_velocities(&w.model);
            if !damped || self.is_settled(1e-15) {
                break;
            }
        }
        // Dampers are known to be slow enough; a function of the user's is not.
        if by_speed && !self.is_settled(1e-10) {
            return None;
        }
        self.record(w, part.h, false);
        self.record(w, part.h, true);
        Some(rounds)
    }

    /// λ with Ψ(q⁺) = 0; `now` becomes q⁺ and v½⁺. Broyden's method from the factor of J M⁻¹ Jᵀ, in the form that keeps the steps
    /// alone [Kelley1995, §7.3]: the matrix J(q⁺) M⁻¹ J(q)ᵀ that it stands for is neither symmetric nor, where a mechanism
    /// passes a singular position, of the same sign.
    fn meet_positions(&mut self, w: &World, part: Part) -> Option<usize> {
        let n = self.rows.equations.len();
        self.lambda.clear();
        self.lambda.resize(n, 0.0);
        self.weights.clear();
        let mobility = |(row, weighted): (&[f64; 12], &[f64; 12])| {
            row.iter().zip(weighted).map(|(a, b)| a * b).sum::<f64>()
        };
        self.weights.extend(self.rows.rows.iter().zip(&self.rows.weighted).map(mobility));
        self.steps.clear();
        let (mut best, mut stuck, mut rounds) = (f64::INFINITY, 0, 0);
        loop {
            self.drift(&w.model, part.dt);
            if n == 0 {
                return Some(0);
            }
            self.errors(&w.model, part);
            let worst = self
                .error
                .iter()
                .fold(0.0, |a: f64, e| if a.is_nan() || e.is_nan() { f64::NAN } else { a.max(e.abs()) });
            if worst <= DONE * self.size {
                return Some(rounds);
            }
            // Not monotone: only twice without progress means that rounding, or a singular position, lets no more through.
            stuck = if worst < 0.5 * best { 0 } else { stuck + 1 };
            if worst < best {
                best = worst;
                self.best.clone_from(&self.lambda);
            }
            if (stuck > 1 || rounds == ROUNDS) && best <= ARRIVED * self.size {
                self.lambda.clone_from(&self.best);
                self.drift(&w.model, part.dt);
                return Some(rounds);
            }
            if !worst.is_finite() || rounds == ROUNDS {
                return None;
            }
            rounds += 1;
            if self.steps.len() == MEMORY * n {
                self.steps.clear();
            }
            self.direct.solve(&mut self.error);
            self.error.iter_mut().for_each(|e| *e /= -part.dt);
            self.improve(n);
            self.lambda.iter_mut().zip(&self.error).for_each(|(l, e)| *l += e);
            self.steps.extend_from_slice(&self.error);
        }
    }

    /// Makes the step in `error`, which the factor gave, Broyden's.
    fn improve(&mut self, n: usize) {
        let Self { error: z, steps, weights, .. } = self;
        let dot =
            |a: &[f64], b: &[f64]| a.iter().zip(b).zip(&*weights).map(|((a, b), w)| w * a * b).sum::<f64>();
        let mut before: Option<&[f64]> = None;
        for step in steps.chunks(n) {
            if let Some(before) = before {
                let much = dot(before, z) / dot(before, before).max(f64::MIN_POSITIVE);
                z.iter_mut().zip(step).for_each(|(z, s)| *z += much * s);
            }
            before = Some(step);
        }
        if let Some(last) = before {
            let left = 1.0 - dot(last, z) / dot(last, last).max(f64::MIN_POSITIVE);
            // A secant that is nearly level says nothing.
            if left.abs() > 0.05 {
                z.iter_mut().for_each(|z| *z /= left);
            }
        }
    }

    /// From `start` with λ to the end of the part.
    fn drift(&mut self, model: &Model, dt: f64) {
        let Self { now, start, rows, lambda, islands, .. } = self;
        for i in islands.moving.iter().map(|i| *i as usize) {
            (now.x[i], now.q[i]) = (start.x[i], start.q[i]);
            (now.v[i], now.w[i]) = (start.v[i], start.w[i]);
        }
        for ((e, weighted), l) in rows.equations.iter().zip(&rows.weighted).zip(&*lambda) {
            kick(model, now, e.joint, weighted, *l);
        }
        if self.rolls {
            self.middle.copy(now);
            fly(model, &islands.moving, &mut self.middle, &self.pieces, 0.5 * dt);
        }
        fly(model, &islands.moving, now, &self.pieces, dt);
    }

    /// How far the equations are from being met at the end of the drift, m.
    fn errors(&mut self, model: &Model, part: Part) {
        self.error.clear();
        let Self { now, middle, error, target, memory, islands, .. } = self;
        for (j, joint) in model.joints.iter().enumerate().filter(|(j, _)| islands.joints[*j]) {
            let e = now.equations(joint, &memory[j], part.to);
            let halfway = 0.5 * (part.from + part.to);
            walk(j, joint, &e, part.to, |found| {
                let Found::Equation(e) = found else { return };
                let off = match e.goal {
                    Goal::Rolling => {
                        let there = middle.equations(joint, &memory[j], halfway);
                        let row = &there.rows()[e.place as usize].jacobian;
                        part.dt * joint.rate(row, |i| middle.twist(i))
                    }
                    _ => e.error - target[error.len()],
                };
                error.push(off);
            });
        }
    }

    /// μ with J v⁺ + ∂Ψ/∂t = 0.
    fn meet_velocities(&mut self, model: &Model) {
        self.lambda.clear();
        self.lambda.resize(self.rows.equations.len(), 0.0);
        let mut last = f64::INFINITY;
        for _ in 0..6 {
            let worst = self.speeds(model);
            if !(worst < 0.5 * last) {
                return;
            }
            last = worst;
            self.direct.solve(&mut self.error);
            for (k, (e, weighted)) in self.rows.equations.iter().zip(&self.rows.weighted).enumerate() {
                kick(model, &mut self.now, e.joint, weighted, -self.error[k]);
                self.lambda[k] -= self.error[k];
            }
        }
    }

    /// J v + ∂Ψ/∂t by row, into `error`; the largest of them.
    fn speeds(&mut self, model: &Model) -> f64 {
        self.error.clear();
        let mut worst = 0.0f64;
        for e in &self.rows.equations {
            let joint = &model.joints[e.joint as usize];
            let u = joint.rate(&e.jacobian, |i| self.now.twist(i)) + e.rate;
            worst = worst.max(u.abs());
            self.error.push(u);
        }
        worst
    }

    /// Whether a round changed velocities by nothing that counts.
    fn is_settled(&self, share: f64) -> bool {
        let most = share * share;
        let same = |a: &[DVec3], b: &[DVec3]| {
            a.iter().zip(b).all(|(a, b)| (*a - *b).length_squared() <= most * (1e-6 + a.length_squared()))
        };
        same(&self.now.v, &self.middle.v) && same(&self.now.w, &self.middle.w)
    }

    /// Impulses of springs, dampers and motors over `dt` at the present velocities.
    fn damped_pushes(&mut self, model: &Model, dt: f64) {
        self.pushed.clear();
        for p in &self.rows.pushes {
            let mut force = p.value;
            if p.damping > 0.0 {
                let joint = &model.joints[p.joint as usize];
                force -= p.damping * joint.rate(&p.jacobian, |i| self.now.twist(i));
            }
            self.pushed.push(dt * force);
        }
    }

    /// What the fields do where the bodies are.
    fn act(&mut self, w: &World, time: f64) {
        let now = &self.now;
        let placed = Placed { x: &now.x, q: &now.q, v: &now.v, w: &now.w, time };
        self.fields.at(&w.fields, &w.model, placed);
    }

    /// Weight, applied forces, fields, and the impulses of [`Smooth::damped_pushes`].
    fn push(&mut self, w: &World, dt: f64) {
        let (now, s) = (&mut self.now, &w.state);
        for i in self.islands.moving.iter().map(|i| *i as usize) {
            let body = &w.model.bodies[i];
            let field = self.fields.on(i);
            let dv = dt * (w.settings.gravity + body.inv_mass * (s.force[i] + field.force));
            now.v[i] += body.planar.as_ref().map_or(dv, |plane| plane.within(dv));
            now.w[i] += dt * (*body.inv_inertia * (now.q[i].conjugate() * (s.torque[i] + field.torque)));
        }
        for ((p, moved), impulse) in self.rows.pushes.iter().zip(&self.rows.moved).zip(&self.pushed) {
            kick(&w.model, now, p.joint, moved, *impulse);
        }
    }

    /// Where bodies that are not dynamic are at `time`, and how fast.
    fn lead(&mut self, w: &World, time: f64) {
        let (now, s) = (&mut self.now, &w.state);
        for i in w.model.slots().filter(|&i| w.model.bodies[i].motion == body::Motion::Kinematic) {
            if let Some(guided) = &w.model.bodies[i].guide {
                (now.x[i], now.q[i]) = guided.pose(time);
                let (v, turn) = guided.twist(time);
                (now.v[i], now.w[i]) = (v, now.q[i].conjugate() * turn);
            } else {
                let since = time - s.time;
                now.x[i] = s.position[i] + since * s.velocity[i];
                now.q[i] = rotate(s.rotation[i], s.omega[i], since);
            }
        }
    }

    /// Adds impulses (of the equations, λ; or of the pushes) to what the joints did.
    fn record(&mut self, w: &World, h: f64, equations: bool) {
        let Self { rows, lambda, pushed, reactions, memory, .. } = self;
        let mut add = |joint: u32, place: u8, jacobian: &[f64; 12], x: f64| {
            let (j, row) = (joint as usize, place as usize);
            memory[j].impulse[row] += x;
            let (r, slot) = (&mut reactions[j], &w.model.joints[j]);
            let force = DVec3::from_slice(&jacobian[6..9]) * (x / h);
            r.force += force;
            r.torque += DVec3::from_slice(&jacobian[9..12]) * (x / h) - rows.arms[j].cross(force);
            match row.checked_sub(MOST_ROWS) {
                None => {
                    let angular = jacobian[..3] == [0.0; 3] && jacobian[6..9] == [0.0; 3];
                    r.equations[row] += x / h * if angular { slot.length } else { 1.0 };
                }
                Some(law) => {
                    let (k, what) = (law / LAW_ROWS, law % LAW_ROWS);
                    let scale = if slot.kind.coordinates()[k] { slot.length } else { 1.0 };
                    [&mut r.motor, &mut r.limit, &mut r.friction, &mut r.spring][what][k] += x / h * scale;
                }
            }
        };
        if equations {
            rows.equations.iter().zip(lambda).for_each(|(e, l)| add(e.joint, e.place, &e.jacobian, *l));
        } else {
            rows.pushes.iter().zip(pushed).for_each(|(p, x)| add(p.joint, p.place, &p.jacobian, *x));
        }
    }

    /// The natural-map residual of a bilateral row is |u|: all that is left to judge.
    fn certify(&mut self, model: &Model) -> Certificate {
        let worst = self.speeds(model);
        let n = self.error.len().max(1) as f64;
        let squares: f64 = self.error.iter().map(|u| u * u).sum();
        Certificate {
            residual_max: worst,
            residual_rms: (squares / n).sqrt(),
            constraint_violation: worst,
            backward_error: worst,
            ..Certificate::default()
        }
    }

    fn write_back(&self, w: &mut World) {
        let (s, now) = (&mut w.state, &self.now);
        for i in w.model.slots() {
            let body = &w.model.bodies[i];
            // In part of a world what is led is led by the other scheme.
            let led = self.islands.whole && body.motion == body::Motion::Kinematic;
            if !(led || self.islands.bodies[i]) {
                continue;
            }
            (s.position[i], s.rotation[i]) = (now.x[i], now.q[i]);
            (s.velocity[i], s.omega[i]) = (now.v[i], now.w[i]);
            if let Some(plane) = &body.planar {
                s.position[i] = plane.nearest(s.position[i]);
                s.velocity[i] = plane.within(s.velocity[i]);
                s.omega[i] = s.rotation[i].conjugate() * plane.about(s.rotation[i] * s.omega[i]);
            }
        }
        let rows = &mut w.assembler.rows;
        if self.islands.whole {
            rows.next.clone_from(&self.memory);
            rows.reactions.clone_from(&self.reactions);
            return;
        }
        for j in (0..self.memory.len()).filter(|j| self.islands.joints[*j]) {
            (rows.next[j], rows.reactions[j]) = (self.memory[j], self.reactions[j]);
        }
    }
}

/// v += M⁻¹ Jᵀ x.
fn kick(model: &Model, m: &mut Motion, joint: u32, weighted: &[f64; 12], x: f64) {
    for (side, slot) in model.joints[joint as usize].bodies.into_iter().enumerate() {
        if slot == WORLD_BODY || model.bodies[slot as usize].inv_mass == 0.0 {
            continue;
        }
        let (i, at) = (slot as usize, 6 * side);
        m.v[i] += x * DVec3::from_slice(&weighted[at..at + 3]);
        m.w[i] += x * (m.q[i].conjugate() * DVec3::from_slice(&weighted[at + 3..at + 6]));
    }
}

/// Free motion.
fn fly(model: &Model, moving: &[u32], m: &mut Motion, pieces: &[f64], dt: f64) {
    for i in moving.iter().map(|i| *i as usize) {
        let body = &model.bodies[i];
        m.x[i] += dt * m.v[i];
        if body.planar.is_some() || is_ball(&body.mass.inertia) {
            m.q[i] = rotate(m.q[i], m.w[i], dt);
        } else {
            let (w, turn) = free_rotation_cut(&body.mass.inertia, m.w[i], dt, pieces[i]);
            (m.q[i], m.w[i]) = ((m.q[i] * turn).normalize(), w);
        }
    }
}
