//! Substeps of islands whose motion a step does not resolve.
//!
//! Contacts are those of one instant, and go along tangents. A small body that is hit off its middle turns by radians in a step; one that is thrown by a wall comes to
//! bodies that it had no contact with. Neither is seen by the velocity problem. So the end of a step is compared with what was foretold: an island is not
//! resolved if
//!
//! ```text
//!     Φ⁺ < -s r  and  Φ⁺ < Φ + h u_n + κ - ½ s r    an overlap beyond a share s of the smaller inner radius r that its contact did not foretell,
//!                                                    or, without a contact, beyond what corrections of positions reach in a step
//!     Σ ½ (h ω)² R > r / 2                           an arc so far from its tangent that a body may have passed another one
//!     h |v - v_free| > r  and  Φ + h u_n < -s r      a way that the free motion did not lead, through a body without a contact
//! ```
//!
//! with R the lever of a shape about its body's centre. Such an island is put back to where it was and takes the step in two halves, each of which may be
//! halved again. All other islands have taken theirs: islands do not meet within a step, because whatever may come near within it has a contact.

use std::collections::HashMap;

use glam::{DQuat, DVec3};

use super::parts::joined;
use super::stabilise::{correct, correction};
use super::{StepError, StepReport, attempt};
use crate::body::Motion;
use crate::contact::{Contact, Gap, Remembered, Touch};
use crate::joint::JointState;
use crate::model::{ColliderSlot, NOBODY};
use crate::settings::Stabilisation;
use crate::shape::Shape;
use crate::world::World;

/// s: overlap after a step that is let be, over the smaller inner radius.
const OVERLAP: f64 = 0.05;
/// What an arc may be off its tangent, over the smaller inner radius.
const ARC: f64 = 0.5;

/// Takes a step of the settings' h of all who are not absent.
pub(super) fn advance(w: &mut World, halvings: u32) -> Result<StepReport, StepError> {
    let report = attempt(w, halvings)?;
    if w.pending.is_empty() {
        return Ok(report);
    }
    // As it was when the step began: joints of those who took it were put aside by it.
    let start = Start {
        motion: w.saved.clone(),
        joints: w.assembler.rows.next.clone(),
        multipliers: w.state.multipliers.clone(),
        led: take_led(w),
        time: w.state.time,
    };
    let mut pending = std::mem::take(&mut w.pending);
    let mut kept = std::mem::take(&mut w.contacts);
    loop {
        let taken = halves(w, &start, &pending, halvings)?;
        let Met { deep, over } = meet(w, &kept, &mut pending);
        if !deep {
            let mut report = report;
            report.substeps = taken.substeps;
            if let Some(how) = correction(w).filter(|_| over) {
                report.position_rounds += correct(w, how)?;
            }
            w.contacts.append(&mut kept);
            let (order, model) = (&w.state.order, &w.model);
            w.contacts.sort_unstable_by_key(|c| (order.place(model, c.key.colliders), c.key.feature));
            return Ok(joined(report, taken));
        }
        kept.retain(|c| !c.bodies.iter().any(|b| pending[*b as usize]));
    }
}

/// A step's beginning.
struct Start {
    motion: crate::state::Motion,
    joints: Vec<JointState>,
    multipliers: Vec<Remembered>,
    /// Bodies that are led, and where the step takes them.
    led: Vec<Led>,
    time: f64,
}

type Led = (usize, DVec3, DQuat, DVec3, DVec3);

/// Those who are pending take the step in two halves from its start, the others being absent.
fn halves(w: &mut World, start: &Start, pending: &[bool], halvings: u32) -> Result<StepReport, StepError> {
    let h = w.settings.h;
    for i in (0..pending.len()).filter(|i| pending[*i]) {
        start.motion.put_back(&mut w.state, i);
    }
    start.led.iter().for_each(|body| start.motion.put_back(&mut w.state, body.0));
    let rest = (0..pending.len()).map(|i| w.model.bodies[i].inv_mass > 0.0 && !pending[i]).collect();
    let others = std::mem::replace(&mut w.absent, rest);
    w.detector.absent.clone_from(&w.absent);
    w.state.multipliers.clone_from(&start.multipliers);
    w.state.multipliers.iter_mut().for_each(|m| m.impulse *= 0.5);
    for j in w.model.joint_slots() {
        if !w.is_joint_absent(j) {
            w.state.joints[j] = start.joints[j];
        }
    }
    scale_joints(w, 0.5);
    w.settings.h = 0.5 * h;
    let first = advance(w, halvings + 1);
    let both = first.and_then(|first| {
        w.remember_contacts();
        w.state.time = start.time + 0.5 * h;
        let second = advance(w, halvings + 1)?;
        let substeps = first.substeps + second.substeps;
        let mut both = joined(first, second);
        both.substeps = substeps;
        Ok(both)
    });
    w.settings.h = h;
    w.state.time = start.time;
    scale_joints(w, 2.0);
    w.absent = others;
    w.detector.absent.clone_from(&w.absent);
    // Impulses over h again, for who reads them and for the next step's start.
    w.contacts.iter_mut().for_each(|c| c.impulse *= 2.0);
    for (i, x, q, v, omega) in &start.led {
        let i = *i;
        (w.state.position[i], w.state.rotation[i], w.state.velocity[i], w.state.omega[i]) =
            (*x, *q, *v, *omega);
    }
    both
}

/// How those who were pending came to others who were not.
struct Met {
    /// Some are deep in each other.
    deep: bool,
    /// Some overlap by more than is left alone.
    over: bool,
}

/// Looks whether those who were pending came to others who were not. If they are deep in them, those are pending from now on, too.
fn meet(w: &mut World, kept: &[Contact], pending: &mut [bool]) -> Met {
    let (h, envelope) = (w.settings.h, w.envelope());
    let World { detector, model, state, v_free, sleepers, .. } = w;
    detector.find_pairs(model, state, v_free, h, envelope);
    let mut ends: Vec<Gap> = Vec::new();
    detector.find(model, state, &[], 0.0, 0.0.into(), &sleepers.known, &mut ends);
    let mut good = vec![true; pending.len()];
    let left = correction(w).map_or(OVERLAP, |how| how.tolerance);
    let (mut some, mut over) = (false, false);
    for c in ends.iter().filter(|c| !c.is_soft() && -c.gap() > left * c.size()) {
        let [a, b] = c.bodies().map(|b| b as usize);
        let dynamic = |i: usize| w.model.bodies[i].inv_mass > 0.0 && !w.state.rest.is_asleep(i);
        if dynamic(a) && dynamic(b) && pending[a] != pending[b] {
            over = true;
            if -c.gap() > OVERLAP * c.size() {
                (good[a], good[b], some) = (pending[a], pending[b], true);
            }
        }
    }
    if some {
        let mut islands = std::mem::take(&mut w.graph);
        islands.run(&w.model, kept.iter().map(|c| c.bodies), |i| good[i]);
        for i in w.model.dynamic().filter(|i| !w.state.rest.is_asleep(*i)) {
            pending[i] |= w.absent.get(i) != Some(&true) && islands.ready(i).is_none();
        }
        w.graph = islands;
    }
    Met { deep: some, over }
}

/// Bodies that are led, where they are now.
fn take_led(w: &World) -> Vec<Led> {
    let s = &w.state;
    let led = w.model.slots().filter(|i| w.model.bodies[*i].motion == Motion::Kinematic);
    led.map(|i| (i, s.position[i], s.rotation[i], s.velocity[i], s.omega[i])).collect()
}

/// Multipliers of the joints of those who are not absent, for a step of another length.
fn scale_joints(w: &mut World, scale: f64) {
    for j in w.model.joint_slots() {
        if !w.is_joint_absent(j) {
            w.state.joints[j].impulse.iter_mut().for_each(|x| *x *= scale);
        }
    }
}

impl World {
    /// Whether a joint is one of bodies that take no part in this substep.
    pub(crate) fn is_joint_absent(&self, joint: usize) -> bool {
        self.model.joints[joint].bodies.iter().any(|b| self.absent.get(*b as usize) == Some(&true))
    }
}

/// Whether the scheme is not one that the papers give as it is.
pub(super) fn applies(w: &World) -> bool {
    matches!(w.settings.stabilisation, Stabilisation::Post { .. }) && w.settings.iterations > 0
}

/// Puts islands that are not resolved back to where the step began: `pending` says of whom they are; nobody, if it is empty. `ends` are the contacts where it
/// ended. Without `halvings` left they stay, and the two bodies that are worst are told.
pub(super) fn put_back(w: &mut World, ends: &[Gap], reach: f64, halvings: u32) -> Option<[u32; 2]> {
    let mut bad: Vec<([u32; 2], f64)> = Vec::new();
    deep(w, ends, reach, &mut bad);
    arcs(w, &mut bad);
    passed(w, &mut bad);
    let worst = bad.iter().max_by(|a, b| a.1.total_cmp(&b.1))?.0;
    if halvings == 0 {
        return Some(worst);
    }
    if w.before_halves.is_none() {
        let mut before = w.state.clone();
        w.saved.restore(&mut before);
        w.before_halves = Some(Box::new(before));
    }
    let n = w.model.bodies.len();
    let mut good = vec![true; n];
    bad.iter().flat_map(|(bodies, _)| bodies).for_each(|b| good[*b as usize] = false);
    let together = !w.stiff.is_empty() || !w.fields.is_empty();
    let mut islands = std::mem::take(&mut w.graph);
    islands.run(&w.model, w.contacts.iter().map(|c| c.bodies), |i| good[i]);
    let present = |i: usize| {
        let body = &w.model.bodies[i];
        let awake = body.alive && body.inv_mass > 0.0 && !w.state.rest.is_asleep(i);
        awake && w.absent.get(i) != Some(&true)
    };
    let mut pending = vec![false; n];
    for i in (0..n).filter(|i| present(*i)) {
        pending[i] = together || islands.ready(i).is_none();
    }
    w.graph = islands;
    for i in (0..n).filter(|i| pending[*i]) {
        w.saved.put_back(&mut w.state, i);
    }
    w.contacts.retain(|c| !c.bodies.iter().any(|b| pending[*b as usize]));
    w.pending = pending;
    None
}

/// Overlaps that nobody foretold.
fn deep(w: &World, ends: &[Gap], reach: f64, bad: &mut Vec<([u32; 2], f64)>) {
    let depth = |c: &Gap| -c.gap() / c.size();
    let mut foretold: HashMap<[u32; 2], f64> = HashMap::new();
    for c in ends.iter().filter(|c| depth(c) > OVERLAP) {
        foretold.insert(c.bodies(), f64::INFINITY);
    }
    if foretold.is_empty() {
        return;
    }
    for c in &w.contacts {
        if let Some(gap) = foretold.get_mut(&c.bodies) {
            *gap = gap.min(c.gap + w.settings.h * opening(w, c) + w.predictor.arc(&c.key));
        }
    }
    for c in ends.iter().filter(|c| depth(c) > OVERLAP) {
        // What had no contact is put right by corrections as far as those reach.
        let gap = foretold[&c.bodies()];
        let least = if gap == f64::INFINITY { reach.max(OVERLAP) } else { OVERLAP };
        if depth(c) > least && c.gap() < gap - 0.5 * OVERLAP * c.size() {
            bad.push((c.bodies(), depth(c)));
        }
    }
}

/// Bodies that were thrown through others, which their free motion had not led them to: they may be past them at the end, and overlap nobody.
fn passed(w: &mut World, bad: &mut Vec<([u32; 2], f64)>) {
    let (h, mut small) = (w.settings.h, vec![f64::INFINITY; w.model.bodies.len()]);
    for c in w.model.colliders.iter().filter(|c| c.body != NOBODY) {
        let size = &mut small[c.body as usize];
        *size = size.min(c.shape.inner_radius());
    }
    let is_thrown = |i: usize| {
        let v = &w.v_free[i];
        let foreseen = w.saved.velocity(i) + h * w.settings.gravity;
        let body = &w.model.bodies[i];
        body.alive
            && body.inv_mass > 0.0
            && w.absent.get(i) != Some(&true)
            && h * (DVec3::new(v[0], v[1], v[2]) - foreseen).length() > small[i]
    };
    let others: Vec<bool> = (0..small.len()).map(|i| !is_thrown(i)).collect();
    if others.iter().all(|other| *other) {
        return;
    }
    let (mut here, mut met, envelope) =
        (crate::state::Motion::default(), Vec::<Contact>::new(), w.envelope());
    let World { detector, model, state, v_free, saved, .. } = w;
    here.save(state);
    saved.restore(state);
    detector.find_pairs(model, state, v_free, h, envelope);
    detector.find(model, state, v_free, h, envelope, &others, &mut met);
    here.restore(state);
    // Of a pair that has contacts, another side: the far wall of a box.
    let known = |c: &Contact| {
        w.contacts.iter().any(|k| k.key.colliders == c.key.colliders && k.normal.dot(c.normal) > 0.5)
    };
    for c in &met {
        let size = w.model.pair_size(c.key.colliders[0], c.key.colliders[1]);
        let depth = -(c.gap + h * opening(w, c)) / size;
        if depth > OVERLAP && !known(c) {
            bad.push((c.bodies, depth));
        }
    }
}

/// Arcs that are far from their tangents, of bodies that come near each other.
fn arcs(w: &World, bad: &mut Vec<([u32; 2], f64)>) {
    let h = w.settings.h;
    for c in w.contacts.iter().filter(|c| c.impulse != DVec3::ZERO && w.predictor.is_bent()) {
        let off = w.predictor.arc(&c.key).abs() / w.model.pair_size(c.key.colliders[0], c.key.colliders[1]);
        if off > OVERLAP {
            bad.push((c.bodies, off));
        }
    }
    let bend = |c: &ColliderSlot, lever: f64| 0.5 * (h * w.turn(c)).powi(2) * lever;
    let smallest = w.model.facts().smallest;
    if !w.model.colliders.iter().any(|c| c.body != NOBODY && bend(c, lever(c)) > ARC * smallest) {
        return;
    }
    for c in &w.contacts {
        let [i, j] = c.key.colliders;
        let (size, images) = (w.model.pair_size(i, j), c.images(&w.model));
        let off = [i, j].map(|k| {
            let slot = &w.model.colliders[k as usize];
            // Of what has no end, the part that is near.
            let side = usize::from(c.bodies[0] != slot.body);
            let centre = w.saved.position(slot.body as usize) + images[side];
            bend(slot, lever(slot).min(c.point.distance(centre) + size))
        });
        let off = off[0] + off[1];
        if off > ARC * size && c.gap + h * opening(w, c) < off {
            bad.push((c.bodies, off / size));
        }
    }
}

/// How fast a contact opens, m/s.
pub(super) fn opening(w: &World, c: &Contact) -> f64 {
    let images = c.images(&w.model);
    let [a, b] = [0, 1].map(|k| {
        let i = c.bodies[k] as usize;
        let v = &w.v_free[i];
        let turn = DVec3::new(v[3], v[4], v[5]);
        DVec3::new(v[0], v[1], v[2]) + turn.cross(c.point - w.saved.position(i) - images[k])
    });
    c.normal.dot(a - b)
}

/// The distance from its body's centre of what of a shape is not round about it, m.
fn lever(c: &ColliderSlot) -> f64 {
    match c.shape {
        Shape::Sphere { .. } => c.local.as_ref().map_or(0.0, |local| local.position.length()),
        _ => c.radius,
    }
}

impl World {
    /// How fast the collider turns, without what it turns about an axis of symmetry, rad/s: the faster of before and after the solve.
    fn turn(&self, c: &ColliderSlot) -> f64 {
        let i = c.body as usize;
        if self.absent.get(i) == Some(&true) {
            return 0.0;
        }
        let v = &self.v_free[i];
        let now = self.saved.rotation(i).conjugate() * DVec3::new(v[3], v[4], v[5]);
        let about = |omega: DVec3| {
            let place = c.place();
            let axis = match c.shape {
                Shape::Capsule { .. } | Shape::Cylinder { .. } | Shape::Cone { .. } => {
                    place.rotation * DVec3::Z
                }
                _ => return omega.length(),
            };
            // Only if the body's centre is on it.
            let off = place.position - axis * axis.dot(place.position);
            if off.length() > 1e-9 * c.radius { omega.length() } else { omega.cross(axis).length() }
        };
        about(now).max(about(self.saved.omega(i)))
    }
}
