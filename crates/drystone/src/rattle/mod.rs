//! Steps of mechanisms that nothing touches: RATTLE on rotations, and a composition of it of fourth order.
//!
//! Without contacts, active limits and dry friction a step has only equations and smooth forces, and the
//! half-implicit scheme (first order, and joints that lose energy) is more modest than it has to be. One part
//! of the step, of length τ, is \[Andersen1983\] with the free motion of rigid bodies as its drift
//! [DullweberLeimkuhlerMcLachlan1997]:
//!
//! ```text
//!     v½  = v + M⁻¹ (½τ f(q, v, t) + J(q)ᵀ λ)                         half a kick
//!     q⁺, v½⁺ = free motion of q, v½ over τ                           positions straight on, rotations by Euler's equations
//!     0   = Ψ(q⁺, t + τ)                                              decides λ
//!     v⁺  = v½⁺ + M⁻¹ (½τ f(q⁺, v⁺, t + τ) + J(q⁺)ᵀ μ)                the other half
//!     0   = J(q⁺) v⁺ + ∂Ψ/∂t                                          decides μ
//! ```
//!
//! Symmetric, of second order, and symplectic where forces have a potential (as far as the drift is exact: it
//! is of fourth order): energy stays near where it began, for as long as the run is. Equations about
//! velocities alone are held in the middle of the drift, τ J(q½) v½ = 0, which is symmetric too
//! [McLachlanPerlmutter2006]; a motor that imposes a speed holds its coordinate to the integral of its
//! command. Five such parts of lengths s, s, 1 - 4s, s, s with s = 1/(4 - ∛4) are of fourth order
//! \[Suzuki1990\]. A mechanism whose joints turn far in a step takes it in as many equal substeps as that
//! needs.
//!
//! λ comes from a quasi-Newton method that starts from the matrix J M⁻¹ Jᵀ at q, iterated until rounding
//! stops it; positions then fit the joints as well as numbers can say it, and no position problem follows.
//! Springs, dampers and motors that impose a force are forces f. A step in which a spring or damper is too
//! stiff for that, in which something unilateral is or would become active, or in which Broyden's method does
//! not arrive, is not taken: the half-implicit scheme takes it instead. Only a rebound from a limit is part
//! of a smooth step: it happens at the instant at which the limit is met (`impact.rs`).
//!
//! What hangs together by joints is a mechanism, and each of them is stepped by itself: taken, cut into
//! substeps or left to the other scheme whatever others do. Where the scheme was named, bodies without joints
//! are mechanisms too. Forces between pairs of bodies make one mechanism of all. The two schemes do not meet
//! within a step: a body that could reach another one has a contact with it.

mod broyden;
mod gather;
mod impact;
mod mechanism;
mod part;
pub(crate) mod stage;

use drystone_solve::Certificate;
use drystone_solve::disjoint::DisjointSets;
use rayon::prelude::*;

use crate::body;
use crate::collide::Detector;
use crate::contact::Contact;
use crate::field::Field;
use crate::formulation::rows::Rows;
use crate::joint::Reaction;
use crate::model::Model;
use crate::motion::rotate;
use crate::settings::{Integrator, Settings};
use crate::setup::Setup;
use crate::state::State;
use mechanism::Mechanism;

/// What such a step came to.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    /// Of the scheme.
    pub order: u8,
    /// Rounds of Broyden's method, all parts of all mechanisms together.
    pub iterations: usize,
    /// Substeps of the mechanism that needed most.
    pub substeps: usize,
    /// How well the new velocities fit the joints.
    pub certificate: Certificate,
    /// Whether it is the step of all bodies.
    pub whole: bool,
}

/// What mechanisms read of the world.
#[derive(Clone, Copy)]
struct Around<'a> {
    model: &'a Model,
    state: &'a State,
    settings: &'a Settings,
    fields: &'a [Field],
}

/// The mechanisms of a world, and which of them took the last step.
#[derive(Debug, Default)]
pub(crate) struct Smooth {
    mechanisms: Vec<Mechanism>,
    /// What they were drawn up for: the model's revision, with bodies without joints or not, all as one or
    /// not.
    known: (u64, bool, bool),
    /// Whether every dynamic body is in one.
    all: bool,
    /// By body slot: has a contact, or sleeps.
    out: Vec<bool>,
    /// By slot, whether a body or joint was taken.
    bodies: Vec<bool>,
    joints: Vec<bool>,
    whole: bool,
}

impl Smooth {
    /// Works out the step, if it is one of this kind; [`Smooth::write_back`] takes it.
    pub fn advance(
        &mut self,
        setup: Setup,
        state: &State,
        v_free: &[[f64; 6]],
        contacts: &[Contact],
        detector: &mut Detector,
        order: u8,
    ) -> Option<Taken> {
        let mut taken = self.run(setup, state, contacts, order);
        if taken.is_some() && self.leave_out_who_meet_others(setup, state, v_free, detector) {
            taken = self.mechanisms.iter().any(|m| m.taken).then(|| self.list(setup.model, order));
        }
        taken
    }

    /// Whether [`Smooth::advance`] worked out the step of this body.
    #[inline]
    pub fn took(&self, slot: usize) -> bool {
        self.bodies[slot]
    }

    /// How many bodies [`Smooth::advance`] took.
    pub fn taken_bodies(&self) -> usize {
        self.bodies.iter().filter(|taken| **taken).count()
    }

    /// Which joints [`Smooth::advance`] took, by slot.
    pub fn joints(&self) -> &[bool] {
        &self.joints
    }

    fn run(&mut self, setup: Setup, state: &State, contacts: &[Contact], order: u8) -> Option<Taken> {
        let Setup { model, settings, fields, .. } = setup;
        let pairs = fields.iter().any(|f| matches!(f, Field::Pair(_)));
        self.draw_up(model, settings.integrator != Integrator::Auto, pairs);
        self.out.clear();
        self.out.extend((0..model.bodies.len()).map(|i| state.rest.is_asleep(i)));
        contacts.iter().flat_map(|c| c.bodies).for_each(|b| {
            if let Some(out) = self.out.get_mut(b as usize) {
                *out = true;
            }
        });
        let Self { mechanisms, out, .. } = self;
        mechanisms.iter_mut().for_each(|m| m.taken = !m.moving().iter().any(|i| out[*i as usize]));
        // Forces of pairs are those between bodies of one scheme.
        if pairs && !(self.all && mechanisms.iter().all(|m| m.taken)) {
            return None;
        }
        let around = Around { model, state, settings, fields };
        let step = |m: &mut Mechanism| m.taken = m.taken && m.step(around, order).is_some();
        match mechanisms.as_mut_slice() {
            [only] => step(only),
            many => many.par_iter_mut().with_min_len(4).for_each(step),
        }
        self.mechanisms.iter().any(|m| m.taken).then(|| self.list(model, order))
    }

    /// Contacts were looked for where the free motion leads. A rebound leads elsewhere: a mechanism that
    /// comes to others by it is left to the other scheme. Whether there is one.
    fn leave_out_who_meet_others(
        &mut self,
        setup: Setup,
        state: &State,
        v_free: &[[f64; 6]],
        detector: &mut Detector,
    ) -> bool {
        if !self.mechanisms.iter().any(|m| m.taken && m.rebounds > 0) {
            return false;
        }
        let (h, envelope, model) = (setup.settings.h, setup.envelope(), setup.model);
        let (mut v, mut others) = (v_free.to_vec(), vec![true; model.bodies.len()]);
        let mut met = Vec::<Contact>::new();
        for m in self.mechanisms.iter().filter(|m| m.taken && m.rebounds > 0) {
            m.ways(state, h, |i, way| (v[i], others[i]) = (way, false));
        }
        detector.find_pairs(model, state, &v, h, envelope);
        detector.find(model, state, &v, h, envelope, &others, &mut met);
        let met = |i: &u32| met.iter().any(|c| c.bodies.contains(i));
        let mut some = false;
        for m in self.mechanisms.iter_mut().filter(|m| m.taken && m.rebounds > 0) {
            m.taken = !m.moving().iter().any(met);
            some |= !m.taken;
        }
        some
    }

    /// Lists who was taken, and says what all of them came to.
    fn list(&mut self, model: &Model, order: u8) -> Taken {
        self.bodies.clear();
        self.bodies.resize(model.bodies.len(), false);
        self.joints.clear();
        self.joints.resize(model.joints.len(), false);
        for m in self.mechanisms.iter().filter(|m| m.taken) {
            m.moving().iter().for_each(|i| self.bodies[*i as usize] = true);
            m.joints().for_each(|j| self.joints[j] = true);
        }
        self.whole = self.all && self.mechanisms.iter().all(|m| m.taken);
        let taken = || self.mechanisms.iter().filter(|m| m.taken);
        let worst = taken().map(|m| m.worst).fold(0.0, f64::max);
        let rows = taken().map(Mechanism::rows).sum::<usize>().max(1) as f64;
        Taken {
            order,
            iterations: taken().map(|m| m.iterations).sum(),
            substeps: taken().map(|m| m.substeps).max().unwrap_or(1),
            // The natural-map residual of a bilateral row is |u|: all that is left to judge.
            certificate: Certificate {
                residual_max: worst,
                residual_rms: (taken().map(|m| m.squares).sum::<f64>() / rows).sqrt(),
                constraint_violation: worst,
                backward_error: worst,
                ..Certificate::default()
            },
            whole: self.whole,
        }
    }

    /// Finds the mechanisms: what hangs together by joints, bodies without joints if `free`, or everything as
    /// one if `together`.
    fn draw_up(&mut self, model: &Model, free: bool, together: bool) {
        let known = (model.revision(), free, together);
        if known.0 != 0 && known == self.known {
            return;
        }
        self.known = known;
        let dynamic = |slot: u32| model.bodies.get(slot as usize).is_some_and(|b| b.inv_mass > 0.0);
        let mut sets = DisjointSets::new(model.bodies.len());
        let mut member = vec![free; model.bodies.len()];
        for j in model.joint_slots() {
            let ends = model.joints[j].bodies;
            ends.into_iter().filter(|b| dynamic(*b)).for_each(|b| member[b as usize] = true);
            if ends.into_iter().all(dynamic) {
                sets.join(ends[0], ends[1]);
            }
        }
        self.all = model.dynamic().all(|i| member[i]);
        let mut which = vec![usize::MAX; model.bodies.len()];
        let mut parts: Vec<(Vec<u32>, Vec<u32>)> = Vec::new();
        for i in model.dynamic().filter(|i| member[*i]) {
            let head = if together { 0 } else { sets.root(i as u32) as usize };
            if which[head] == usize::MAX {
                which[head] = parts.len();
                parts.push(Default::default());
            }
            parts[which[head]].0.push(i as u32);
        }
        for j in model.joint_slots() {
            let Some(body) = model.joints[j].bodies.into_iter().find(|b| dynamic(*b)) else { continue };
            let head = if together { 0 } else { sets.root(body) as usize };
            parts[which[head]].1.push(j as u32);
        }
        self.mechanisms.clear();
        self.mechanisms
            .extend(parts.into_iter().map(|(bodies, joints)| Mechanism::new(model, bodies, &joints)));
    }

    /// Puts what [`Smooth::advance`] worked out into the state, after the other bodies have had their step.
    pub fn write_back(&self, setup: Setup, state: &mut State, rows: &mut Rows) {
        let model = setup.model;
        if self.whole {
            rows.next.clone_from(&state.joints);
            rows.reactions.clear();
            rows.reactions.resize(model.joints.len(), Reaction::default());
        }
        self.mechanisms.iter().filter(|m| m.taken).for_each(|m| m.write_back(model, state, rows));
        // In part of a world what is led is led by the other scheme.
        if self.whole {
            let time = state.time + setup.settings.h;
            for i in model.slots().filter(|&i| model.bodies[i].motion == body::Motion::Kinematic) {
                let (x, q, v, omega) = led(model, state, i, time);
                let s = &mut *state;
                (s.position[i], s.rotation[i], s.velocity[i], s.omega[i]) = (x, q, v, omega);
            }
        }
    }
}

/// Where a kinematic body is at `time`, and how fast; angular velocity in its own axes.
fn led(
    model: &Model,
    s: &State,
    i: usize,
    time: f64,
) -> (glam::DVec3, glam::DQuat, glam::DVec3, glam::DVec3) {
    if let Some(guided) = &model.bodies[i].guide {
        let ((x, q), (v, turn)) = (guided.pose(time), guided.twist(time));
        return (x, q, v, q.conjugate() * turn);
    }
    let since = time - s.time;
    let turned = rotate(s.rotation[i], s.omega[i], since);
    (s.position[i] + since * s.velocity[i], turned, s.velocity[i], s.omega[i])
}
