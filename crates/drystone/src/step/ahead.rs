//! Contacts of bodies that turn fast, taken where the turn leads.
//!
//! The lowest point of an egg that spins on a table moves over its surface. A step that takes it where it was when the step began lets
//! the egg sink in, in second order, and corrections lift it again: work against gravity that nobody does, step after step. Its
//! lever is the wrong one, too, by the angle that the body turns in a step. So such a body is turned as far as it would turn by
//! itself, R' = R e^{h ω}, and its contacts and their velocities are those of there; the gap as seen from the start is
//!
//! ```text
//!     Φ = Φ' - h n·(ω' × r'),      so that  Φ + h Dᵀ v  is Φ' where it turns as foretold
//! ```
//!
//! An implicit rule as [TasoraAnitescu2011, eq. 47] has for positions, with D at the end of the step: it loses energy of spin where the explicit one
//! gains it. What rolls or rocks loses by both, and by this one more. So it is for debtors alone: a body that touches nothing but what stands
//! still, and has more energy after a step than before it, has to return that ([`State::gained`]), and is turned ahead until it has.
//!
//! A thin body may turn right into another, from where nobody knows the way out. Pairs whose normals there are others than at the
//! start, or that are deep in each other, keep their bodies as they were. So do joints: they have arcs of their own. Where overlaps are not
//! corrected, or by the velocities, the scheme is the papers'.

use std::collections::HashMap;
use std::ops::Range;

use drystone_solve::crew;
use glam::{DQuat, DVec3};

use super::report::Overlap;
use super::turns_freely;
use crate::body::{MassProperties, Motion};
use crate::contact::{Contact, Touch};
use crate::joint::WORLD_BODY;
use crate::model::{ColliderSlot, Model};
use crate::motion::rotated;
use crate::settings::{Settings, Stabilisation};
use crate::shape::Shape;
use crate::state::State;
use crate::world::World;

/// Turns of a step that matter, rad.
const TURN: f64 = 0.01;
/// Turns that are no guide to where contacts will be, rad.
const FAR: f64 = 1.0;
/// The cosine between normals at the start and at the end is at least this.
const SAME: f64 = 0.7;
/// Overlap at the end that is no more than being on the way, over the size of the pair.
const DEEP: f64 = 0.5;

/// Gains that are none, over the energy of motion: rounding,
const ROUNDING: f64 = 1e-12;
/// and debts that are let be: coarse steps of what rocks gain so much on the way down, and lose more on the way up.
const LET_BE: f64 = 0.02;
/// Both that and the energy's part by phase are for slow turns, rad: what spins gains as much, and friction would pay for it.
const SLOW: f64 = 0.1;

/// Bodies that are turned ahead, and buffers.
#[derive(Default)]
pub(crate) struct Ahead {
    /// Who, and the other rotation: while they are turned, that at the start of the step.
    turned: Vec<(usize, DQuat)>,
    contacts: Vec<Contact>,
    /// By body: whether it stays as it is.
    stays: Vec<bool>,
}

impl Ahead {
    /// Whether a contact has a body that is turned.
    fn moves(&self, c: &Contact) -> bool {
        c.bodies.iter().any(|b| !self.stays[*b as usize])
    }
}

/// Turns bodies ahead whose contacts move over them, and takes the contacts of there. To be called when contacts have been found and nothing has
/// been made of them yet. Says how much overlaps at the start, if it does.
pub(super) fn turn(w: &mut World, envelope: f64) -> Option<Overlap> {
    if !applies(&w.settings) || !pick(w) {
        return None;
    }
    let closing = |c: &Contact| w.ahead.moves(c) && c.gap + w.settings.h * opening(w, c, Part::All) < 0.0;
    let hits: Vec<Contact> = w.contacts.iter().filter(|c| closing(c)).copied().collect();
    swap(w);
    let World { detector, model, state, v_free, ahead, contacts, settings, .. } = w;
    detector.find(model, state, v_free, settings.h, envelope, &ahead.stays, &mut ahead.contacts);
    leave_lost(model, contacts, &hits, ahead);
    let Ahead { turned, stays, .. } = ahead;
    for (i, start) in turned.iter_mut().filter(|(i, _)| stays[*i]) {
        turn_one(state, v_free, *i, start);
    }
    turned.retain(|(i, _)| !stays[*i]);
    if turned.is_empty() {
        return None;
    }
    let overlap = Overlap::of(w);
    let mut there = std::mem::take(&mut w.ahead.contacts);
    there.retain(|c| w.ahead.moves(c));
    there.iter_mut().for_each(|c| c.gap -= w.settings.h * opening(w, c, Part::Turns));
    let World { model, state, contacts, ahead, .. } = w;
    contacts.retain(|c| !ahead.moves(c));
    contacts.append(&mut there);
    ahead.contacts = there;
    contacts.sort_unstable_by_key(|c| (state.order.place(model, c.key.colliders), c.key.feature));
    Some(overlap)
}

/// Whether the scheme is not one that the papers give as it is.
fn applies(settings: &Settings) -> bool {
    let lifts = matches!(settings.stabilisation, Stabilisation::Post { .. });
    lifts && settings.integrator.theta() == 1.0 && settings.iterations > 0
}

/// Puts bodies as they were at the start of the step, their velocities with them.
pub(super) fn turn_back(w: &mut World) {
    swap(w);
    w.ahead.turned.clear();
}

/// From one of the two rotations to the other.
fn swap(w: &mut World) {
    let World { state, v_free, ahead, .. } = w;
    ahead.turned.iter_mut().for_each(|(i, other)| turn_one(state, v_free, *i, other));
}

/// Velocities are known in body axes: those in world axes turn with the body.
fn turn_one(state: &mut State, v: &mut [[f64; 6]], i: usize, other: &mut DQuat) {
    let q = &mut state.rotation[i];
    std::mem::swap(q, other);
    let omega = *q * (other.conjugate() * spin(&v[i]));
    [v[i][3], v[i][4], v[i][5]] = omega.to_array();
}

fn spin(v: &[f64; 6]) -> DVec3 {
    DVec3::new(v[3], v[4], v[5])
}

/// Which part of the motion.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    All,
    /// The spin of those who are turned.
    Turns,
}

/// How fast a contact opens by a part of the free motion, m/s.
fn opening(w: &World, c: &Contact, part: Part) -> f64 {
    let images = c.images(&w.model);
    let [a, b] = [0, 1].map(|k| {
        let i = c.bodies[k] as usize;
        let v = &w.v_free[i];
        let turn = || spin(v).cross(c.point - w.state.position[i] - images[k]);
        match part {
            Part::All => DVec3::new(v[0], v[1], v[2]) + turn(),
            Part::Turns if w.ahead.stays[i] => DVec3::ZERO,
            Part::Turns => turn(),
        }
    });
    c.normal.dot(a - b)
}

/// Whether a collider is one whose contacts move over it, by its body's angular velocity.
fn rolls_on(model: &Model, c: &ColliderSlot, omega: DVec3, h: f64) -> bool {
    let angle = h * h * omega.length_squared();
    angle > TURN * TURN
        && angle < FAR * FAR
        && !(matches!(c.shape, Shape::Sphere { .. }) && c.local.is_none())
        && model.bodies.get(c.body as usize).is_some_and(|b| b.alive && b.motion == Motion::Dynamic)
}

/// Who is to be turned, and by how much; whether there is anybody.
fn pick(w: &mut World) -> bool {
    let World { model, state, v_free, free, ahead, contacts, settings, .. } = w;
    if state.gained.is_empty() {
        return false;
    }
    let (h, gained) = (settings.h, &state.gained);
    let too_much = |i: usize, debt: f64| {
        let share = slowness(h, state.omega[i]) * LET_BE;
        debt > share * kinetic(model, i, state.velocity[i], state.omega[i])
    };
    let owes = |body: u32| {
        let at = gained.binary_search_by_key(&body, |g| g.0);
        at.is_ok_and(|at| too_much(body as usize, gained[at].1))
    };
    let Ahead { turned, stays, .. } = ahead;
    stays.clear();
    stays.resize(model.bodies.len(), true);
    for c in contacts.iter().flat_map(|c| c.key.colliders).map(|k| &model.colliders[k as usize]) {
        if owes(c.body) && rolls_on(model, c, spin(&v_free[c.body as usize]), h) {
            stays[c.body as usize] = false;
        }
    }
    for b in model.joint_slots().flat_map(|j| model.joints[j].bodies).filter(|b| *b != WORLD_BODY) {
        stays[b as usize] = true;
    }
    turned.clear();
    turned.extend((0..stays.len()).filter(|i| !stays[*i]).map(|i| {
        let q = state.rotation[i];
        let there = match free.get(i) {
            Some((_, turn)) if turns_freely(&model.bodies[i]) => q * *turn,
            _ => rotated(q, q.conjugate() * spin(&v_free[i]), h),
        };
        (i, there.normalize())
    }));
    !turned.is_empty()
}

/// From 1 for what does not turn to 0 for what turns by [`SLOW`] in a step.
fn slowness(h: f64, omega: DVec3) -> f64 {
    (1.0 - h * omega.length() / SLOW).max(0.0)
}

/// The energy of a body's motion.
fn kinetic(model: &Model, i: usize, v: DVec3, omega: DVec3) -> f64 {
    let MassProperties { mass, inertia, .. } = *model.bodies[i].mass;
    0.5 * (mass * v.length_squared() + omega.dot(inertia * omega))
}

/// Books what bodies have gained in a step whose positions are corrected: those that turn fast and touch nothing but what stands still.
pub(super) fn book(w: &mut World) {
    let World { model, state, saved, contacts, settings, fields, .. } = w;
    let h = settings.h;
    let rolls = |k: usize| {
        let c = &model.colliders[k];
        state.omega.get(c.body as usize).is_some_and(|omega| rolls_on(model, c, *omega, h))
    };
    if !applies(settings) || !fields.is_empty() || crew::all(model.colliders.len(), |k| !rolls(k)) {
        state.gained.clear();
        return;
    }
    let mut alone: Vec<bool> = vec![false; model.bodies.len()];
    (0..model.colliders.len())
        .filter(|k| rolls(*k))
        .for_each(|k| alone[model.colliders[k].body as usize] = true);
    let stands = |k: u32| {
        let c = &model.colliders[k as usize];
        c.belt() == DVec3::ZERO
            && model.bodies.get(c.body as usize).is_some_and(|b| b.motion == Motion::Static)
    };
    for c in contacts.iter() {
        if !c.key.colliders.iter().any(|k| stands(*k)) {
            c.bodies.iter().for_each(|b| alone[*b as usize] = false);
        }
    }
    for b in model.joint_slots().flat_map(|j| model.joints[j].bodies).filter(|b| *b != WORLD_BODY) {
        alone[b as usize] = false;
    }
    // The energy that the scheme keeps in smooth motion: with x alone that of what rocks swings by ½ h dV/dt with its phase.
    let energy = |i: usize, x: DVec3, v: DVec3, omega: DVec3| {
        let weight = model.bodies[i].mass.mass * settings.gravity;
        kinetic(model, i, v, omega) - weight.dot(x - slowness(h, saved.omega(i)) * 0.5 * h * v)
    };
    let gain = |i: usize| {
        let before = energy(i, DVec3::ZERO, saved.velocity(i), saved.omega(i));
        energy(i, state.position[i] - saved.position(i), state.velocity[i], state.omega[i]) - before
    };
    let owed = |i: u32| state.gained.binary_search_by_key(&i, |g| g.0).map_or(0.0, |at| state.gained[at].1);
    let owes = |i: usize| {
        let debt = owed(i as u32) + gain(i);
        let least = ROUNDING * kinetic(model, i, saved.velocity(i), saved.omega(i));
        (debt > least).then_some((i as u32, debt))
    };
    state.gained = (0..alone.len()).filter(|i| alone[*i]).filter_map(owes).collect();
}

/// Marks bodies as staying that are not to be turned after all: they would be lost in another there, or have passed it, or touch one that stays
/// as well. `hits` are those of the contacts at the start that are going to close.
fn leave_lost(model: &Model, start: &[Contact], hits: &[Contact], ahead: &mut Ahead) {
    let alike = |of: &[Contact], c: &Contact| of.iter().any(|d| d.normal.dot(c.normal) >= SAME);
    let (before, after) = (by_pair(start), by_pair(&ahead.contacts));
    let lost = |c: &&Contact| {
        let [a, b] = c.key.colliders;
        // Nobody comes out of a half-space on its other side.
        let endless = [a, b].iter().any(|k| matches!(model.colliders[*k as usize].shape, Shape::HalfSpace));
        (!endless && -c.gap > DEEP * model.pair_size(a, b))
            || before.get(&[a, b]).is_some_and(|at| !alike(&start[at.clone()], c))
    };
    let passed =
        |c: &&Contact| after.get(&c.key.colliders).is_none_or(|at| !alike(&ahead.contacts[at.clone()], c));
    let bad = ahead.contacts.iter().filter(|c| ahead.moves(c)).filter(lost).chain(hits.iter().filter(passed));
    let stay: Vec<u32> = bad.flat_map(|c| c.bodies).collect();
    stay.into_iter().for_each(|b| ahead.stays[b as usize] = true);
    // One that stays is not where the others would find it.
    let Ahead { turned, contacts: there, stays, .. } = ahead;
    let would = |b: u32| turned.binary_search_by_key(&(b as usize), |t| t.0).is_ok();
    let mut torn = true;
    while std::mem::take(&mut torn) {
        for [a, b] in there.iter().chain(start).map(|c| c.bodies) {
            if stays[a as usize] != stays[b as usize] && would(a) && would(b) {
                (stays[a as usize], stays[b as usize], torn) = (true, true, true);
            }
        }
    }
}

/// Where the contacts of each pair of colliders are in a list that has them in one piece.
fn by_pair(contacts: &[Contact]) -> HashMap<[u32; 2], Range<usize>> {
    let mut at = 0;
    let runs = contacts.chunk_by(|a, b| a.key.colliders == b.key.colliders);
    runs.map(|run| {
        at += run.len();
        (run[0].key.colliders, at - run.len()..at)
    })
    .collect()
}
