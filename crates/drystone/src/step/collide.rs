//! Stages 2 and 3: contacts, where the motion of the step leads, and who takes part in it.

use drystone_solve::parallel;

use crate::contact::{Contact, remember};
use crate::integrate::foretell::foretell;
use crate::joint::Joint;
use crate::model::Model;
use crate::report::{Clock, DeepOverlap, Stage, StepReport};
use crate::settings::Stabilisation;
use crate::setup::Setup;
use crate::state::State;
use crate::workspace::{Collision, FreeMotion, Substeps, Velocity};

/// Finds the step's contacts, with the multipliers they had; in a step of the `whole` world those who are
/// touched wake.
pub(super) fn collide(
    setup: Setup,
    state: &mut State,
    free: &FreeMotion,
    to: &mut Collision,
    whole: bool,
    clock: &mut Clock,
) {
    let (model, h, envelope) = (setup.model, setup.settings.h, setup.envelope());
    let Collision { detector, contacts, sleepers, .. } = to;
    if whole {
        sleepers.rouse(setup, state, free);
    }
    clock.stage(Stage::Assemble);
    detector.find_pairs(model, state, &free.v, h, envelope);
    clock.stage(Stage::Broadphase);
    loop {
        detector.find(model, state, &free.v, h, envelope, &sleepers.known, contacts);
        if !(whole && sleepers.rouse_touched(setup, &mut state.rest, &free.v, contacts)) {
            break;
        }
    }
    if setup.settings.stabilisation == Stabilisation::Moreau {
        contacts.retain(|c| c.gap <= 0.0);
    }
    remember(contacts, &state.multipliers, |c| state.order.place(model, c));
    foretell(setup, state, free, to);
}

/// Leaves out the contacts of islands that sleep; the others get their laws.
pub(super) fn take_part(setup: Setup, state: &State, to: &mut Collision, whole: bool) {
    if whole {
        to.sleepers.set_aside(setup.model, state, &mut to.contacts);
    }
    to.laws.begin(setup.model, state, setup.settings, &mut to.contacts);
}

/// Marks the joints of sleepers, and of those who take no part in a substep, as somebody else's.
pub(super) fn leave_joints(model: &Model, state: &State, substeps: &Substeps, to: &mut Velocity) {
    let elsewhere = &mut to.assembler.rows.elsewhere;
    elsewhere.clear();
    if state.rest.asleep() == 0 && substeps.absent.is_empty() {
        return;
    }
    let out = |b: &u32| state.rest.is_asleep(*b as usize) || substeps.is_absent(*b as usize);
    let is_left = |j: &Joint| j.alive && j.bodies.iter().any(out);
    if model.joints.iter().any(is_left) {
        elsewhere.extend(model.joints.iter().map(is_left));
    }
}

/// Notes how the contacts overlap.
pub(crate) fn note_overlaps(report: &mut StepReport, model: &Model, found: &Collision) {
    let (contacts, mut parts) = (&found.contacts, Vec::new());
    let predictor = &found.predictor;
    let gap = |c: &Contact| predictor.gap(c);
    parallel::map_ranges(contacts.len(), 4096, &mut parts, |range| overlaps(&contacts[range], gap));
    parts.push(overlaps(found.sleepers.contacts(), |c| c.gap));
    let (touching, max, sum) =
        parts.into_iter().fold((0, 0.0f64, 0.0), |a, b| (a.0 + b.0, a.1.max(b.1), a.2 + b.2));
    report.deep =
        if max > 0.5 * model.facts().smallest { DeepOverlap::of(model, contacts, gap) } else { None };
    (report.touching, report.penetration_max) = (touching, max);
    report.penetration_mean = if touching > 0 { sum / touching as f64 } else { 0.0 };
}

/// How many contacts touch; their largest overlap and the sum of all, m.
fn overlaps(contacts: &[Contact], gap: impl Fn(&Contact) -> f64) -> (usize, f64, f64) {
    let touching = contacts.iter().map(gap).filter(|gap| *gap <= 0.0);
    touching.fold((0, 0.0, 0.0), |(n, max, sum), gap| (n + 1, f64::max(max, -gap), sum - gap))
}
