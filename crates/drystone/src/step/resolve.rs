//! Substeps of islands whose motion a step does not resolve.
//!
//! Contacts are those of one instant, and go along tangents. A small body that is hit off its middle turns by
//! radians in a step; one that is thrown by a wall comes to bodies that it had no contact with. Neither is
//! seen by the velocity problem; and a wall that hits many bodies through one gives way. So the end of a step
//! is looked at: an island is not resolved if
//!
//! ```text
//!     Φ⁺ < -s r  and  Φ⁺ < Φ - ½ s r                 an overlap beyond a share s of the smaller inner radius r that the step has made larger
//!                                                    (by more than was foretold, where contacts contradict each other), or, without a contact, beyond what corrections of positions reach in a step
//!     Σ ½ (h ω)² R > r / 2                           an arc so far from its tangent that a body may have passed another one
//!     h |v - v_free| > r  and  Φ + h u_n < -s r      a way that the free motion did not lead, through a body without a contact
//!     |Ψ⁺| > ρ  and  |Ψ⁺| > |Ψ| + ½ ρ                a joint that the step has taken further apart than the ρ that corrections reach
//! ```
//!
//! with R the lever of a shape about its body's centre. Such an island is put back to where it was and takes
//! the step in two halves, each of which may be halved again. All other islands have taken theirs: islands do
//! not meet within a step, because whatever may come near within it has a contact.

use std::collections::HashMap;

use glam::DVec3;

use super::attempt;
use crate::body::Motion;
use crate::contact::{self, Contact, Gap, Remembered, Touch};
use crate::formulation::rows::{Rows, SIZE};
use crate::hooks::Hooks;
use crate::integrate::moved::Moved;
use crate::joint::{Equations, JointState, WORLD_BODY, error_at};
use crate::model::{ColliderSlot, NOBODY};
use crate::report::{StepError, StepReport};
use crate::settings::{Settings, Stabilisation};
use crate::setup::Setup;
use crate::shape::Shape;
use crate::stabilise::stage::{correct, correction};
use crate::state::{self, State};
use crate::workspace::{Collision, FreeMotion, Substeps, Workspace};

/// s: overlap after a step that is let be, over the smaller inner radius.
pub(crate) const RESOLVED_OVERLAP: f64 = 0.05;
/// What an arc may be off its tangent, over the smaller inner radius.
pub(crate) const RESOLVED_ARC: f64 = 0.5;

/// Takes a step of the settings' h of all who are not absent.
pub(super) fn advance(
    setup: Setup,
    state: &mut State,
    work: &mut Workspace,
    hooks: &mut Hooks,
    halvings: u32,
) -> Result<StepReport, StepError> {
    let mut report = attempt(setup, state, work, hooks, halvings)?;
    if work.substeps.pending.is_empty() {
        return Ok(report);
    }
    // As it was when the step began: joints of those who took it were put aside by it.
    let start = Start {
        motion: work.substeps.saved.clone(),
        joints: work.velocity.assembler.rows.next.clone(),
        multipliers: state.multipliers.clone(),
        ends: state::Motion::of(state),
        time: state.time,
    };
    let mut pending = std::mem::take(&mut work.substeps.pending);
    let mut kept = std::mem::take(&mut work.collision.contacts);
    loop {
        let taken = halves(setup, state, work, hooks, &start, &pending, halvings)?;
        let Met { deep, over } = meet(setup, state, work, &kept, &mut pending);
        if !deep {
            report.substeps = taken.substeps;
            if let Some(how) = correction(setup.settings).filter(|_| over) {
                report.position_rounds += correct(setup, state, work, how)?;
            }
            let contacts = &mut work.collision.contacts;
            contacts.append(&mut kept);
            contacts
                .sort_unstable_by_key(|c| (state.order.place(setup.model, c.key.colliders), c.key.feature));
            if work.velocity.kept.is_some() {
                work.velocity.keep_solutions(true); // That of a part is not that of the step.
            }
            return Ok(report.joined(taken));
        }
        kept.retain(|c| !c.bodies.iter().any(|b| pending[*b as usize]));
    }
}

/// A step's beginning.
struct Start {
    motion: state::Motion,
    joints: Vec<JointState>,
    multipliers: Vec<Remembered>,
    /// Where the step takes bodies that are led.
    ends: state::Motion,
    time: f64,
}

/// Those who are pending take the step in two halves from its start, the others being absent.
fn halves(
    setup: Setup,
    state: &mut State,
    work: &mut Workspace,
    hooks: &mut Hooks,
    start: &Start,
    pending: &[bool],
    halvings: u32,
) -> Result<StepReport, StepError> {
    let model = setup.model;
    let led = |i: &usize| model.bodies[*i].motion == Motion::Kinematic;
    for i in (0..pending.len()).filter(|i| pending[*i] || led(i)) {
        start.motion.put_back(state, i);
    }
    let rest = (0..pending.len()).map(|i| model.bodies[i].inv_mass > 0.0 && !pending[i]).collect();
    let others = std::mem::replace(&mut work.substeps.absent, rest);
    work.collision.detector.absent.clone_from(&work.substeps.absent);
    state.multipliers.clone_from(&start.multipliers);
    state.multipliers.iter_mut().for_each(|m| m.impulse *= 0.5);
    let joints: Vec<usize> =
        model.joint_slots().filter(|j| !work.substeps.is_joint_absent(model, *j)).collect();
    let scale = |state: &mut State, by: f64| {
        joints.iter().for_each(|j| state.joints[*j].impulse.iter_mut().for_each(|x| *x *= by));
    };
    joints.iter().for_each(|j| state.joints[*j] = start.joints[*j]);
    scale(state, 0.5);
    let half = Settings { h: 0.5 * setup.settings.h, ..setup.settings.clone() };
    let inner = Setup { settings: &half, ..setup };
    let first = advance(inner, state, work, hooks, halvings + 1);
    let both = first.and_then(|first| {
        contact::keep(&work.collision.contacts, &mut state.multipliers);
        state.time = start.time + half.h;
        let second = advance(inner, state, work, hooks, halvings + 1)?;
        let substeps = first.substeps + second.substeps;
        let mut both = first.joined(second);
        both.substeps = substeps;
        Ok(both)
    });
    state.time = start.time;
    scale(state, 2.0);
    work.substeps.absent = others;
    work.collision.detector.absent.clone_from(&work.substeps.absent);
    // Impulses over h again, for who reads them and for the next step's start.
    work.collision.contacts.iter_mut().for_each(|c| c.impulse *= 2.0);
    model.slots().filter(led).for_each(|i| start.ends.put_back(state, i));
    both
}

/// How those who were pending came to others who were not.
struct Met {
    /// Some are deep in each other.
    deep: bool,
    /// Some overlap by more than is left alone.
    over: bool,
}

/// Looks whether those who were pending came to others who were not. If they are deep in them, those are
/// pending from now on, too.
fn meet(setup: Setup, state: &State, work: &mut Workspace, kept: &[Contact], pending: &mut [bool]) -> Met {
    let (model, h, envelope) = (setup.model, setup.settings.h, setup.envelope());
    let Collision { detector, sleepers, .. } = &mut work.collision;
    detector.find_pairs(model, state, &work.free.v, h, envelope);
    let mut ends: Vec<Gap> = Vec::new();
    detector.find(model, state, &[], 0.0, 0.0.into(), &sleepers.known, &mut ends);
    let mut good = vec![true; pending.len()];
    let left = correction(setup.settings).map_or(RESOLVED_OVERLAP, |how| how.tolerance);
    let (mut some, mut over) = (false, false);
    for c in ends.iter().filter(|c| !c.is_soft() && -c.gap() > left * c.size()) {
        let [a, b] = c.bodies().map(|b| b as usize);
        let dynamic = |i: usize| model.bodies[i].inv_mass > 0.0 && !state.rest.is_asleep(i);
        if dynamic(a) && dynamic(b) && pending[a] != pending[b] {
            over = true;
            if -c.gap() > RESOLVED_OVERLAP * c.size() {
                (good[a], good[b], some) = (pending[a], pending[b], true);
            }
        }
    }
    if some {
        let Substeps { graph, absent, .. } = &mut work.substeps;
        graph.run(model, kept.iter().map(|c| c.bodies), |i| good[i]);
        for i in model.dynamic().filter(|i| !state.rest.is_asleep(*i)) {
            pending[i] |= absent.get(i) != Some(&true) && graph.ready(i).is_none();
        }
    }
    Met { deep: some, over }
}

/// Whether the scheme is not one that the papers give as it is.
pub(super) fn applies(settings: &Settings) -> bool {
    matches!(settings.stabilisation, Stabilisation::Post { .. }) && settings.iterations > 0
}

/// Where a step ended.
pub(super) struct Ends<'a> {
    pub contacts: &'a [Gap],
    /// Pairs whose contacts contradict others, in rising order.
    pub contradicted: &'a [[u32; 2]],
    /// How far corrections reach, over the size of a pair.
    pub reach: f64,
    /// The rows of the velocity problem, with the errors that joints had when the step began.
    pub rows: &'a Rows,
    /// Whether that was solved, and all of its arcs were taken.
    pub solved: bool,
}

/// Puts islands that are not resolved back to where the step began: `pending` says of whom they are; nobody,
/// if it is empty. Without `halvings` left they stay, and the two bodies that are worst are told.
pub(super) fn put_back(
    setup: Setup,
    state: &mut State,
    free: &FreeMotion,
    collision: &mut Collision,
    to: &mut Substeps,
    ends: Ends,
    halvings: u32,
) -> Option<[u32; 2]> {
    let model = setup.model;
    let mut bad: Vec<([u32; 2], f64)> = Vec::new();
    let step = Moved { setup, collision, v: &free.v, saved: &to.saved };
    step.deep(&ends, &mut bad);
    step.arcs(to, &mut bad);
    step.torn(state, to, &ends, &mut bad);
    let thrown = step.thrown(to);
    if thrown.contains(&true) {
        let met = meet_on_the_way(setup, state, free, collision, &to.saved, &thrown);
        Moved { setup, collision, v: &free.v, saved: &to.saved }.passed(&met, &mut bad);
    }
    let worst = bad.iter().max_by(|a, b| a.1.total_cmp(&b.1))?.0;
    if halvings == 0 {
        return Some(worst);
    }
    if to.before.is_none() {
        let mut before = state.clone();
        to.saved.restore(&mut before);
        to.before = Some(Box::new(before));
    }
    let n = model.bodies.len();
    let mut good = vec![true; n];
    bad.iter().flat_map(|(bodies, _)| bodies).for_each(|b| good[*b as usize] = false);
    let together = !setup.stiff.is_empty() || !setup.fields.is_empty();
    to.graph.run(model, collision.contacts.iter().map(|c| c.bodies), |i| good[i]);
    let mut pending = vec![false; n];
    for i in 0..n {
        let body = &model.bodies[i];
        let awake = body.alive && body.inv_mass > 0.0 && !state.rest.is_asleep(i);
        if awake && !to.is_absent(i) {
            pending[i] = together || to.graph.ready(i).is_none();
        }
    }
    for i in (0..n).filter(|i| pending[*i]) {
        to.saved.put_back(state, i);
    }
    collision.contacts.retain(|c| !c.bodies.iter().any(|b| pending[*b as usize]));
    to.pending = pending;
    None
}

/// The contacts that bodies who were thrown have along their new ways.
fn meet_on_the_way(
    setup: Setup,
    state: &mut State,
    free: &FreeMotion,
    collision: &mut Collision,
    saved: &state::Motion,
    thrown: &[bool],
) -> Vec<Contact> {
    let (model, h, envelope) = (setup.model, setup.settings.h, setup.envelope());
    let (here, mut met) = (state::Motion::of(state), Vec::new());
    let others: Vec<bool> = thrown.iter().map(|thrown| !thrown).collect();
    saved.restore(state);
    collision.detector.find_pairs(model, state, &free.v, h, envelope);
    collision.detector.find(model, state, &free.v, h, envelope, &others, &mut met);
    here.restore(state);
    met
}

impl Moved<'_> {
    /// Overlaps that the step has brought about.
    fn deep(&self, ends: &Ends, bad: &mut Vec<([u32; 2], f64)>) {
        let depth = |c: &Gap| -c.gap() / c.size();
        let mut before: HashMap<[u32; 2], f64> = HashMap::new();
        for c in ends.contacts.iter().filter(|c| depth(c) > RESOLVED_OVERLAP) {
            before.insert(c.bodies(), f64::INFINITY);
        }
        if before.is_empty() {
            return;
        }
        for c in &self.collision.contacts {
            if let Some(gap) = before.get_mut(&c.bodies) {
                // Shorter steps do not end a contradiction: what it leads to is let be.
                let foretold = match ends.contradicted.binary_search(&c.bodies) {
                    Ok(_) => self.setup.settings.h * self.opening(c) + self.collision.predictor.arc(&c.key),
                    Err(_) => 0.0,
                };
                *gap = gap.min(self.collision.predictor.gap(c) + foretold);
            }
        }
        for c in ends.contacts.iter().filter(|c| depth(c) > RESOLVED_OVERLAP) {
            // What had no contact is put right by corrections as far as those reach.
            let gap = before[&c.bodies()];
            let least =
                if gap == f64::INFINITY { ends.reach.max(RESOLVED_OVERLAP) } else { RESOLVED_OVERLAP };
            if depth(c) > least && c.gap() < gap - 0.5 * RESOLVED_OVERLAP * c.size() {
                bad.push((c.bodies(), depth(c)));
            }
        }
    }

    /// By slot: bodies that were thrown where their free motion does not lead.
    fn thrown(&self, substeps: &Substeps) -> Vec<bool> {
        let Setup { model, settings, .. } = self.setup;
        let mut small = vec![f64::INFINITY; model.bodies.len()];
        for c in model.colliders.iter().filter(|c| c.body != NOBODY) {
            let size = &mut small[c.body as usize];
            *size = size.min(c.shape.inner_radius());
        }
        let is_thrown = |i: usize| {
            let body = &model.bodies[i];
            body.alive
                && body.inv_mass > 0.0
                && !substeps.is_absent(i)
                && settings.h * self.led_away(i) > small[i]
        };
        (0..small.len()).map(is_thrown).collect()
    }

    /// Bodies that were thrown through others, which they `met` on their ways: they may be past them at the
    /// end, and overlap nobody.
    fn passed(&self, met: &[Contact], bad: &mut Vec<([u32; 2], f64)>) {
        let (model, h) = (self.setup.model, self.setup.settings.h);
        // Of a pair that has contacts, another side: the far wall of a box.
        let known = |c: &Contact| {
            self.collision
                .contacts
                .iter()
                .any(|k| k.key.colliders == c.key.colliders && k.normal.dot(c.normal) > 0.5)
        };
        for c in met {
            let size = model.pair_size(c.key.colliders[0], c.key.colliders[1]);
            let depth = -(c.gap + h * self.opening(c)) / size;
            if depth > RESOLVED_OVERLAP && !known(c) {
                bad.push((c.bodies, depth));
            }
        }
    }

    /// Arcs that are far from their tangents, of bodies that come near each other.
    fn arcs(&self, substeps: &Substeps, bad: &mut Vec<([u32; 2], f64)>) {
        let Collision { contacts, predictor, .. } = self.collision;
        let (model, h) = (self.setup.model, self.setup.settings.h);
        for c in contacts.iter().filter(|c| c.impulse != DVec3::ZERO && predictor.is_bent()) {
            let off = predictor.arc(&c.key).abs() / model.pair_size(c.key.colliders[0], c.key.colliders[1]);
            if off > RESOLVED_OVERLAP {
                bad.push((c.bodies, off));
            }
        }
        // By collider: how far a point may be from its tangent for each metre of its lever, and at most.
        let bends: Vec<[f64; 2]> = model
            .colliders
            .iter()
            .map(|c| {
                let turns = c.body != NOBODY && !substeps.is_absent(c.body as usize);
                let bend = if turns { 0.5 * (h * self.turn(c)).powi(2) } else { 0.0 };
                [bend, if bend > 0.0 { bend * lever(c) } else { 0.0 }]
            })
            .collect();
        for c in contacts {
            let pair = c.key.colliders;
            let size = model.pair_size(pair[0], pair[1]);
            if pair.iter().map(|k| bends[*k as usize][1]).sum::<f64>() <= RESOLVED_ARC * size {
                continue;
            }
            let images = c.images(model);
            let off = pair.map(|k| {
                let slot = &model.colliders[k as usize];
                // Of what has no end, the part that is near.
                let side = usize::from(c.bodies[0] != slot.body);
                let centre = self.saved.position(slot.body as usize) + images[side];
                bends[k as usize][0] * lever(slot).min(c.point.distance(centre) + size)
            });
            let off = off[0] + off[1];
            if off > RESOLVED_ARC * size && c.gap + h * self.opening(c) < off {
                bad.push((c.bodies, off / size));
            }
        }
    }

    /// Joints that the step has taken further apart than corrections reach.
    fn torn(&self, state: &State, substeps: &Substeps, ends: &Ends, bad: &mut Vec<([u32; 2], f64)>) {
        let (model, end) = (self.setup.model, state.time + self.setup.settings.h);
        let mut equations = Equations::default();
        for j in model.joint_slots().filter(|j| !substeps.is_joint_absent(model, *j)) {
            let joint = &model.joints[j];
            let size = SIZE * joint.length;
            // Half of what would be told for each side.
            let few = (0.25 * ends.reach * size).powi(2);
            let held = |k: usize| joint.bodies[k] == WORLD_BODY || self.unforetold(state, joint, k) <= few;
            if ends.solved && held(0) && held(1) {
                continue;
            }
            let off = error_at(model, state, j, end, &mut equations).position / size;
            if off > ends.reach && off > ends.rows.error(j) + 0.5 * ends.reach {
                let [a, b] = joint.bodies;
                bad.push(([if a == WORLD_BODY { b } else { a }, if b == WORLD_BODY { a } else { b }], off));
            }
        }
    }

    /// How fast the collider turns, without what it turns about an axis of symmetry, rad/s: the faster of
    /// before and after the solve.
    fn turn(&self, c: &ColliderSlot) -> f64 {
        let i = c.body as usize;
        let v = &self.v[i];
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

/// The distance from its body's centre of what of a shape is not round about it, m.
fn lever(c: &ColliderSlot) -> f64 {
    match c.shape {
        Shape::Sphere { .. } => c.local.as_ref().map_or(0.0, |local| local.position.length()),
        _ => c.radius,
    }
}
