//! Stages 2 and 3: contacts, where the motion of the step leads, and who takes part in it.

use super::predictor;
use super::report::{Clock, Stage, StepReport};
use crate::contact::remember;
use crate::world::World;

/// Finds the step's contacts, with the multipliers they had.
pub(super) fn collide(w: &mut World, clock: &mut Clock, report: &mut StepReport) {
    let (h, envelope, whole) = (w.settings.h, w.envelope(), w.absent.is_empty());
    if whole {
        w.rouse();
    }
    clock.stage(Stage::Assemble);
    w.detector.find_pairs(&w.model, &w.state, &w.v_free, h, envelope);
    clock.stage(Stage::Broadphase);
    loop {
        let World { detector, model, state, v_free, sleepers, contacts, .. } = &mut *w;
        detector.find(model, state, v_free, h, envelope, &sleepers.known, contacts);
        if !(whole && w.rouse_touched()) {
            break;
        }
    }
    report.note_overlaps(w);
    remember(&mut w.contacts, &w.state.multipliers, |c| w.state.order.place(&w.model, c));
    predictor::foretell(w, envelope);
}

/// Leaves out islands that sleep, and the joints of all who take no part; contacts get their laws.
pub(super) fn take_part(w: &mut World) {
    if w.absent.is_empty() {
        w.set_aside();
    }
    w.laws.begin(&w.model, &w.state, &w.settings, &mut w.contacts);
    w.call_contact_hook();
    w.leave_joints();
}
