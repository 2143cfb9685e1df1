//! Stages 2 and 3: contacts, where the motion of the step leads, and who takes part in it.

use crate::contact::remember;
use crate::integrate::foretell::foretell;
use crate::joint::Joint;
use crate::model::Model;
use crate::report::{Clock, Stage};
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
