//! Substeps of islands whose motion a step does not resolve.
//!
//! Contacts are those of one instant, and go along tangents. A small body that is hit off its middle turns by radians in a step; one that is thrown by a wall comes to
//! bodies that it had no contact with. Neither is seen by the velocity problem. So the end of a step is compared with what was foretold: an island is not
//! resolved if
//!
//! ```text
//!     Φ⁺ < -s r  and  Φ⁺ < Φ + h u_n - ½ s r        an overlap beyond a share s of the smaller inner radius r that nobody foretold
//!     Σ ½ (h ω)² R > r / 2                           an arc so far from its tangent that a body may have passed another one
//! ```
//!
//! with R the lever of a shape about its body's centre. Such an island is put back to where it was and takes the step in two halves, each of which may be
//! halved again. All other islands have taken theirs: islands do not meet within a step, because whatever may come near within it has a contact.

use std::collections::HashMap;

use glam::DVec3;

use super::parts::joined;
use super::{StepError, StepReport, attempt};
use crate::body::Motion;
use crate::contact::{Contact, Gap, Touch};
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
    let mut report = attempt(w, halvings)?;
    if w.pending.is_empty() {
        return Ok(report);
    }
    let pending = std::mem::take(&mut w.pending);
    let (h, time) = (w.settings.h, w.state.time);
    let led = take_back(w);
    let rest = (0..pending.len()).map(|i| w.model.bodies[i].inv_mass > 0.0 && !pending[i]).collect();
    let others = std::mem::replace(&mut w.absent, rest);
    w.detector.absent.clone_from(&w.absent);
    let kept = std::mem::take(&mut w.contacts);
    w.state.multipliers.iter_mut().for_each(|m| m.impulse *= 0.5);
    scale_joints(w, 0.5);
    w.settings.h = 0.5 * h;
    let mut substeps = 0;
    for half in 0..2 {
        w.state.time = time + f64::from(half) * 0.5 * h;
        let taken = advance(w, halvings + 1);
        w.settings.h = 0.5 * h;
        match taken {
            Ok(taken) => {
                substeps += taken.substeps;
                report = joined(report, taken);
            }
            Err(e) => {
                w.settings.h = h;
                return Err(e);
            }
        }
        if half == 0 {
            w.remember_contacts();
        }
    }
    w.settings.h = h;
    w.state.time = time;
    report.substeps = substeps;
    scale_joints(w, 2.0);
    w.absent = others;
    w.detector.absent.clone_from(&w.absent);
    // Impulses over h again, for who reads them and for the next step's start.
    w.contacts.iter_mut().for_each(|c| c.impulse *= 2.0);
    w.contacts.extend(kept);
    let (order, model) = (&w.state.order, &w.model);
    w.contacts.sort_unstable_by_key(|c| (order.place(model, c.key.colliders), c.key.feature));
    for (i, x, q, v, omega) in led {
        (w.state.position[i], w.state.rotation[i], w.state.velocity[i], w.state.omega[i]) = (x, q, v, omega);
    }
    Ok(report)
}

/// Puts bodies that are led back to the start of the step; where they came to.
fn take_back(w: &mut World) -> Vec<(usize, DVec3, glam::DQuat, DVec3, DVec3)> {
    let s = &mut w.state;
    let led = w.model.slots().filter(|i| w.model.bodies[*i].motion == Motion::Kinematic);
    let led = led.map(|i| (i, s.position[i], s.rotation[i], s.velocity[i], s.omega[i])).collect::<Vec<_>>();
    led.iter().for_each(|body| w.saved.put_back(s, body.0));
    led
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
pub(super) fn put_back(w: &mut World, ends: &[Gap], halvings: u32) -> Option<[u32; 2]> {
    let mut bad: Vec<([u32; 2], f64)> = Vec::new();
    deep(w, ends, &mut bad);
    arcs(w, &mut bad);
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
    islands.run(&w.model, &w.contacts, |i| good[i]);
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
fn deep(w: &World, ends: &[Gap], bad: &mut Vec<([u32; 2], f64)>) {
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
        if c.gap() < foretold[&c.bodies()] - 0.5 * OVERLAP * c.size() {
            bad.push((c.bodies(), depth(c)));
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
    let smallest = w.model.facts().smallest;
    let most = |c: &ColliderSlot| 0.5 * (h * w.turn(c)).powi(2) * lever(c);
    if !w.model.colliders.iter().any(|c| c.body != NOBODY && most(c) > ARC * smallest) {
        return;
    }
    for c in &w.contacts {
        let [i, j] = c.key.colliders;
        let size = w.model.pair_size(i, j);
        let off = [i, j].map(|k| most(&w.model.colliders[k as usize])).iter().sum::<f64>();
        if off > ARC * size && c.gap + h * opening(w, c) < off {
            bad.push((c.bodies, off / size));
        }
    }
}

/// How fast a contact opens, m/s.
fn opening(w: &World, c: &Contact) -> f64 {
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
