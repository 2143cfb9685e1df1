//! The end of a step: where bodies came to, who falls asleep, what the next step starts from.

use glam::DVec3;

use crate::check::{check_bounds, check_positions};
use crate::contact;
use crate::model::Model;
use crate::report::{Clock, Stage, StepError, StepReport};
use crate::setup::Setup;
use crate::state::State;
use crate::workspace::{Collision, Workspace};

/// Looks at where the bodies came to, and closes the step.
pub(super) fn finish(
    setup: Setup,
    state: &mut State,
    work: &mut Workspace,
    mut report: StepReport,
) -> Result<StepReport, StepError> {
    let mut clock = Clock::start();
    let Setup { model, settings, .. } = setup;
    let Workspace { collision, substeps, .. } = work;
    let number = state.step + 1;
    check_positions(model, state, &substeps.saved, number)?;
    report.left = check_bounds(setup, state, &substeps.saved, number)?;
    let Collision { contacts, sleepers, .. } = collision;
    report.contacts = contacts.len();
    sleepers.fall_asleep(setup, state, contacts, substeps);
    sleepers.put_back(model, state, contacts, &mut report.worst_contact);
    report.asleep = state.rest.asleep();
    contact::keep(contacts, &mut state.multipliers);
    work.velocity.loads.leave(&mut state.multipliers);
    work.release(setup);
    let forces = [&mut state.force, &mut state.torque];
    forces.into_iter().for_each(|column| column.fill(DVec3::ZERO));
    state.step = number;
    state.time += settings.h;
    clock.stage(Stage::Correct);
    for (sum, span) in report.spans.iter_mut().zip(clock.spans) {
        *sum += span;
    }
    Ok(report)
}

/// Closes a substep: joints carry what it made of them, except for those of islands that are to take it in
/// halves.
pub(super) fn close(model: &Model, state: &mut State, work: &mut Workspace) {
    if model.periodic.is_some() {
        (0..model.bodies.len()).for_each(|i| state.wrap(model, i));
    }
    // What is put aside is overwritten by the next problem.
    let (next, pending) = (&mut work.velocity.assembler.rows.next, &work.substeps.pending);
    std::mem::swap(&mut state.joints, next);
    if pending.is_empty() {
        return;
    }
    for j in model.joint_slots() {
        if model.joints[j].bodies.iter().any(|b| pending.get(*b as usize) == Some(&true)) {
            state.joints[j] = next[j];
        }
    }
}
