//! Mechanisms that nothing touches: their steps are smooth, and taken by RATTLE.

use super::{Smooth, Taken};
use crate::formulation::velocity::{Asks, formulate};
use crate::hooks::Hooks;
use crate::report::StepReport;
use crate::settings::Integrator;
use crate::setup::Setup;
use crate::state::{Motion, State};
use crate::workspace::{Collision, FreeMotion, Velocity};

/// The steps of mechanisms that nothing touches, where the settings ask for them and they can be had: see
/// `rattle`. If they are not those of the whole world, their joints are left out of what is posed for the
/// rest.
pub(crate) fn smooth_step(
    setup: Setup,
    state: &State,
    free: &FreeMotion,
    collision: &mut Collision,
    smooth: &mut Smooth,
    velocity: &mut Velocity,
) -> Option<Taken> {
    let order = setup.settings.integrator.smooth(setup.model.joint_slots().next().is_some())?;
    if setup.settings.iterations == 0 || !setup.stiff.is_empty() {
        return None;
    }
    let Collision { contacts, detector, .. } = collision;
    let taken = smooth.advance(setup, state, &free.v, contacts, detector, order)?;
    if !taken.whole {
        let elsewhere = &mut velocity.assembler.rows.elsewhere;
        elsewhere.resize(setup.model.joints.len(), false);
        elsewhere.iter_mut().zip(smooth.joints()).for_each(|(there, taken)| *there |= taken);
    }
    Some(taken)
}

/// Shows who wants to see it the velocity problem that the half-implicit scheme would have had.
pub(crate) fn show_problem(
    setup: Setup,
    state: &State,
    free: &FreeMotion,
    collision: &Collision,
    velocity: &mut Velocity,
    hooks: &mut Hooks,
) {
    // Without stiff forces nothing about the problem can be wrong.
    if hooks.want_problem() && formulate(setup, state, &free.v, collision, velocity, Asks::All, None).is_ok()
    {
        hooks.show_problem(velocity);
    }
}

/// Takes a smooth step of the whole world.
pub(crate) fn smooth_done(
    setup: Setup,
    state: &mut State,
    taken: &Taken,
    smooth: &Smooth,
    velocity: &mut Velocity,
    saved: &mut Motion,
    report: &mut StepReport,
) {
    saved.save(state);
    smooth.write_back(setup, state, &mut velocity.assembler.rows);
    if velocity.kept.is_some() {
        velocity.keep_solutions(true); // There was none.
    }
    report.integrator = Integrator::Rattle { order: taken.order };
    report.iterations = taken.iterations;
    report.substeps = taken.substeps;
    report.certificate = taken.certificate.clone();
    report.smooth_bodies = setup.model.dynamic().count();
}

/// Takes smooth steps of some mechanisms, after the other bodies have had theirs.
pub(crate) fn smooth_in_part(
    setup: Setup,
    state: &mut State,
    taken: &Taken,
    smooth: &Smooth,
    velocity: &mut Velocity,
    report: &mut StepReport,
) {
    smooth.write_back(setup, state, &mut velocity.assembler.rows);
    let worst = report.certificate.residual_max.max(taken.certificate.residual_max);
    report.certificate.residual_max = worst;
    report.smooth_bodies = smooth.taken_bodies();
    report.substeps = report.substeps.max(taken.substeps);
}
