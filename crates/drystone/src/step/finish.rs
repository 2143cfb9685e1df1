//! The end of a step: where bodies came to, who falls asleep, what the next step starts from.

use drystone_solve::solver::Status;
use glam::DVec3;

use super::check::{check_bounds, check_positions};
use super::report::{Clock, Stage, StepError, StepReport};
use crate::settings::Stabilisation;
use crate::world::World;

/// Looks at where the bodies came to, and closes the step.
pub(super) fn finish(w: &mut World, mut report: StepReport) -> Result<StepReport, StepError> {
    let mut clock = Clock::start();
    let number = w.state.step + 1;
    check_positions(w, number)?;
    report.left = check_bounds(w, number)?;
    report.contacts = w.contacts.len();
    w.fall_asleep();
    w.put_back(&mut report.worst_contact);
    report.asleep = w.asleep();
    w.leave_positions();
    w.remember_contacts();
    if matches!(w.settings.stabilisation, Stabilisation::Scaled { .. } | Stabilisation::Clamped { .. })
        && report.status != Status::Converged
    {
        // Corrections are among these multipliers; where the solve stopped short of a solution, they would add up from step to step.
        w.state.multipliers.iter_mut().for_each(|m| m.impulse = DVec3::ZERO);
        w.state.joints.iter_mut().for_each(|j| j.impulse.fill(0.0));
    }
    let forces = [&mut w.state.force, &mut w.state.torque];
    forces.into_iter().for_each(|column| column.fill(DVec3::ZERO));
    w.state.step = number;
    w.state.time += w.settings.h;
    clock.stage(Stage::Correct);
    for (sum, span) in report.spans.iter_mut().zip(clock.spans) {
        *sum += span;
    }
    Ok(report)
}

/// Closes a substep: joints carry what it made of them, except for those of islands that are to take it in halves.
pub(super) fn close(w: &mut World) {
    if w.model.periodic.is_some() {
        (0..w.model.bodies.len()).for_each(|i| w.state.wrap(&w.model, i));
    }
    // What is put aside is overwritten by the next problem.
    std::mem::swap(&mut w.state.joints, &mut w.assembler.rows.next);
    if w.pending.is_empty() {
        return;
    }
    for j in w.model.joint_slots() {
        if w.model.joints[j].bodies.iter().any(|b| w.pending.get(*b as usize) == Some(&true)) {
            w.state.joints[j] = w.assembler.rows.next[j];
        }
    }
}
