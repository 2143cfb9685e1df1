//! The stages of a step one by one, for whoever solves its problems elsewhere: over ranks, say, each of which
//! has a part of the world ([`World::part`]).
//!
//! Whoever calls them decides what follows what. The order is that of `step.rs`: [`World::stage_predict`],
//! [`World::stage_contacts`], [`World::stage_pose`], a solution of [`World::staged`], [`World::stage_take`],
//! [`World::stage_integrate`], position problems from [`World::stage_gaps`] to [`World::stage_shift`], and
//! [`World::stage_end`].
//!
//! Nothing in a stage depends on a body or contact that is not its own: a pair of bodies with the same bits
//! has the same contacts, with the same rows, in every part of a world that both of them are in. For that
//! contacts go along their tangents here (no arcs are foretold).

use drystone_solve::problem::Bodies;
use drystone_solve::{Malformed, Problem};
use glam::DVec3;

use crate::body::Motion;
use crate::collide::{Envelope, Velocities};
use crate::contact::{self, Contact};
use crate::formulation::Row;
use crate::formulation::rows::{Purpose, SIZE, TIGHTER, Wanted};
use crate::formulation::velocity::regularise;
use crate::integrate::free_velocities::free_velocities;
use crate::integrate::integrate;
use crate::motion::rotate;
use crate::report::StepError;
use crate::setup::Setup;
use crate::stabilise::stage::correction;
use crate::workspace::Workspace;
use crate::world::World;

/// Drift across a contact that is no more than rounding, m/s.
const ROUNDING: f64 = 1e-12;

/// What is corrected is at rest.
const REST: &Velocities = &[];

/// A problem that waits for its solution.
pub struct Staged<'a> {
    /// Bodies by slot, and one block of three rows for each contact; then one of one row for each of the
    /// joints' rows.
    pub problem: &'a Bodies,
    /// By block: the place of its contact among [`World::contacts`], or among those of
    /// [`World::stage_pose_gaps`].
    pub order: &'a [u32],
    /// By row of the joints: where it stands among those of its bodies, in every part that both of them are
    /// in.
    pub keys: Vec<u64>,
    /// What to start from, row by row; empty for a position problem.
    pub guess: &'a [f64],
}

/// How far a joint is from where it holds its bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointError {
    /// Slots of bodies; one that there is not stands for the world.
    pub bodies: [u32; 2],
    /// Over the size of the joint.
    pub error: f64,
    /// How many times that counts beside overlaps: joints are kept tighter.
    pub urgency: f64,
    /// The size that errors are measured by, m.
    pub size: f64,
}

/// How overlaps are removed: [`crate::Stabilisation::Post`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Removal {
    /// Overlap that is left alone, over the pair's size.
    pub tolerance: f64,
    /// Overlap at which a second round is not worth it, over the pair's size.
    pub accept: f64,
    /// Largest correction of one contact in one step, over the pair's size.
    pub reach: f64,
    /// Largest number of position problems.
    pub rounds: usize,
    /// Iterations in each.
    pub iterations: usize,
}

impl World {
    /// Takes its stages with this step from now on, s.
    pub fn set_stage_step(&mut self, h: f64) {
        self.settings.h = h;
    }

    /// How overlaps are removed, where they are.
    pub fn removal(&self) -> Option<Removal> {
        let how = correction(&self.settings)?;
        let (tolerance, accept, reach) = (how.tolerance, how.accept, how.reach);
        Some(Removal { tolerance, accept, reach, rounds: how.rounds, iterations: how.iterations })
    }

    /// Stage 1: free velocities by body slot, m/s and rad/s in world axes.
    pub fn stage_predict(&mut self) -> Result<&[[f64; 6]], StepError> {
        let World { model, settings, fields, stiff, state, work, .. } = self;
        free_velocities(Setup { model, settings, fields, stiff }, state, &mut work.free)?;
        Ok(work.free.v.as_slice())
    }

    /// Free velocities until a solution is taken, and the new ones from then on, by body slot.
    pub fn stage_velocities(&self) -> &[[f64; 6]] {
        &self.work.free.v
    }

    /// Stages 2 and 3: the contacts of the step that are `wanted` (asked with their two body slots), in the
    /// order of their colliders, with the impulses that they had.
    pub fn stage_contacts(&mut self, wanted: impl Fn([u32; 2]) -> bool) {
        let World { model, settings, state, work, .. } = self;
        let (h, envelope) = (settings.h, crate::setup::envelope(settings));
        let Workspace { free, collision, .. } = &mut **work;
        collision.detector.find_pairs(model, state, &free.v, h, envelope);
        collision.detector.find(model, state, &free.v, h, envelope, &[], &mut collision.contacts);
        collision.contacts.retain(|c| wanted(c.bodies));
        contact::remember(&mut collision.contacts, &state.multipliers, |c| state.order.place(model, c));
        collision.laws.begin(model, state, settings, &mut collision.contacts);
    }

    /// Stage 4: the velocity problem of these contacts, which are rigid and rub, and of the joints.
    pub fn stage_pose(&mut self) -> Result<(), Malformed> {
        let World { model, settings, state, work, .. } = self;
        let Workspace { free, collision, velocity, .. } = &mut **work;
        let (h, stabilisation) = (settings.h, settings.stabilisation);
        velocity.assembler.build(model, state, &collision.contacts, &free.v, &[], |_, c: &Contact| {
            let bias = stabilisation.bias(c.gap, h);
            let drift = match collision.laws.on() {
                true => model.belt(state, c.key.colliders, c.bodies[0]),
                false => DVec3::ZERO,
            };
            let drift = drift - drift.dot(c.normal) * c.normal;
            Row { bias, resting: bias, drift, mu: c.mu, ..Row::default() }
        });
        let purpose = Purpose::Velocity {
            h,
            stabilisation,
            follow: stabilisation.motor_share(),
            laws: true,
            theta: settings.integrator.theta(),
            bends: true,
            bounce: None,
        };
        velocity.assembler.stage_rows(model, state, &free.v, purpose);
        velocity.assembler.build_rows(&state.order);
        let Problem::Bodies(p) = &mut velocity.assembler.problem else { return Ok(()) };
        without_dust(p);
        velocity.assembler.problem.set_model(settings.model);
        velocity.assembler.warm_start(&collision.contacts, &state.joints);
        regularise(settings, state, &collision.laws, velocity, None);
        velocity.assembler.problem.check()
    }

    /// The problem that was posed last.
    pub fn staged(&self) -> Staged<'_> {
        let assembler = &self.work.velocity.assembler;
        let keys = assembler.rows.keys().collect();
        Staged { problem: assembler.bodies(), order: &assembler.order, keys, guess: &assembler.guess }
    }

    /// Stage 6: takes the solution of the velocity problem, multipliers row by row and velocities by body
    /// slot. The next step starts from these multipliers.
    pub fn stage_take(&mut self, gamma: &[f64], v: &[[f64; 6]]) {
        let Workspace { free, collision, velocity, .. } = &mut *self.work;
        velocity.assembler.hand_back(gamma, &mut collision.contacts);
        if !self.model.joints.is_empty() {
            velocity.assembler.hand_back_rows(gamma, self.settings.h, &velocity.asks);
            self.state.joints.clone_from(&velocity.assembler.rows.next);
        }
        for (to, v) in free.v.iter_mut().zip(v) {
            *to = *v;
        }
        contact::keep(&collision.contacts, &mut self.state.multipliers);
    }

    /// Stage 7: positions follow velocities.
    pub fn stage_integrate(&mut self) {
        let World { model, settings, fields, stiff, state, work, .. } = self;
        integrate(Setup { model, settings, fields, stiff }, state, &work.free, |_| false);
    }

    /// Contacts where the bodies are now that are `wanted`, without those among bodies that are `held`, up to
    /// `more` beyond the envelope, m (both by body slot, or empty).
    pub fn stage_gaps(
        &mut self,
        held: &[bool],
        more: &[f64],
        wanted: impl Fn([u32; 2]) -> bool,
        out: &mut Vec<Contact>,
    ) {
        let World { model, settings, state, work, .. } = self;
        let envelope = Envelope { more, ..crate::setup::envelope(settings) };
        let Workspace { free, collision, .. } = &mut **work;
        collision.detector.find_pairs(model, state, &free.v, settings.h, envelope);
        collision.detector.find(model, state, REST, 0.0, envelope, held, out);
        out.retain(|c| wanted(c.bodies));
    }

    /// Errors of joints where the bodies are now; `share` of a joint's length is what is removed at once, at
    /// most.
    pub fn stage_joint_errors(&mut self, share: f64) -> Vec<JointError> {
        let World { model, settings, state, work, .. } = self;
        let rows = &mut work.velocity.assembler;
        if model.joints.is_empty() {
            return Vec::new();
        }
        rows.stage_rows(
            model,
            state,
            REST,
            Purpose::Position { h: settings.h, share, wanted: Wanted::Errors },
        );
        let error = |j: usize| {
            let joint = &model.joints[j];
            let (error, size) = (rows.rows.error(j), SIZE * joint.length);
            JointError { bodies: joint.bodies, error, urgency: TIGHTER, size }
        };
        model.joint_slots().map(error).collect()
    }

    /// Poses the position problem of `contacts` and of the joints of bodies that are not `held` (by body
    /// slot); `share` of the size of a pair, or of a joint's length, is what is removed at once, at most.
    pub fn stage_pose_gaps(&mut self, contacts: &[Contact], held: &[bool], share: f64) {
        let World { model, settings, state, work, .. } = self;
        let row = |_: usize, c: &Contact| {
            let size = model.pair_size(c.key.colliders[0], c.key.colliders[1]);
            Row { bias: c.gap.max(-share * size), ..Row::default() }
        };
        let assembler = &mut work.velocity.assembler;
        assembler.build(model, state, contacts, REST, held, row);
        let elsewhere = assembler.rows.elsewhere.clone();
        assembler.rows.elsewhere.resize(model.joints.len(), false);
        for j in model.joint_slots() {
            let stays = |b: &u32| held.get(*b as usize) != Some(&false);
            assembler.rows.elsewhere[j] |= model.joints[j].bodies.iter().all(stays);
        }
        let purpose = Purpose::Position { h: settings.h, share, wanted: Wanted::Rows };
        assembler.stage_rows(model, state, REST, purpose);
        assembler.build_rows(&state.order);
        assembler.rows.elsewhere = elsewhere;
    }

    /// Moves and turns the dynamic bodies, m and rad in world axes, by body slot.
    pub fn stage_shift(&mut self, moved: &[[f64; 6]]) {
        let World { model, state, .. } = self;
        for (i, d) in moved.iter().enumerate() {
            let body = &model.bodies[i];
            if body.motion != Motion::Dynamic || *d == [0.0; 6] {
                continue;
            }
            state.position[i] += DVec3::new(d[0], d[1], d[2]);
            let mut turn = DVec3::new(d[3], d[4], d[5]);
            if let Some(plane) = &body.planar {
                state.position[i] = plane.nearest(state.position[i]);
                turn = plane.about(turn);
            }
            let turn = state.rotation[i].conjugate() * turn;
            if turn != DVec3::ZERO {
                state.rotation[i] = rotate(state.rotation[i], turn, 1.0);
            }
        }
    }

    /// Time goes on by a step.
    pub fn stage_end(&mut self) {
        self.state.time += self.settings.h;
    }

    /// Counts a step, however many parts it was taken in.
    pub fn stage_count(&mut self) {
        self.state.step += 1;
    }

    /// Impulses of contacts and joints, and those that the next step starts from, times a factor.
    pub fn stage_scale(&mut self, by: f64) {
        self.work.collision.contacts.iter_mut().for_each(|c| c.impulse *= by);
        self.state.multipliers.iter_mut().for_each(|m| m.impulse *= by);
        self.state.joints.iter_mut().flat_map(|j| &mut j.impulse).for_each(|x| *x *= by);
    }
}

/// Velocities across contacts that are rounding are none, whatever other contacts there are.
fn without_dust(p: &mut Bodies) {
    let [x, y, z] = &mut p.points.drift;
    for i in 0..x.len() {
        if [x[i], y[i], z[i]].iter().all(|d| d.abs() <= ROUNDING) {
            (x[i], y[i], z[i]) = (0.0, 0.0, 0.0);
        }
    }
}
