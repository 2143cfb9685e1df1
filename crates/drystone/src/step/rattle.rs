//! Mechanisms that nothing touches: their steps are smooth, and taken by RATTLE.

use super::formulate::{Asks, formulate};
use super::report::StepReport;
use crate::settings::Integrator;
use crate::smooth;
use crate::world::World;

/// The steps of mechanisms that nothing touches, where the settings ask for them and they can be had: see `smooth`. The order,
/// and what they came to. If they are not those of the whole world, the joints are left out of what is posed for the rest.
pub(super) fn smooth_step(w: &mut World) -> Option<(u8, smooth::Taken)> {
    let order = w.settings.integrator.smooth(w.model.joint_slots().next().is_some())?;
    if w.settings.iterations == 0 || !w.stiff.is_empty() {
        return None;
    }
    let taken = smooth::advance(w, order)?;
    if !taken.whole {
        let mut elsewhere = std::mem::take(&mut w.assembler.rows.elsewhere);
        elsewhere.resize(w.model.joints.len(), false);
        elsewhere.iter_mut().zip(smooth::joints(w)).for_each(|(there, taken)| *there |= taken);
        w.assembler.rows.elsewhere = elsewhere;
    }
    Some((order, taken))
}

/// Takes a smooth step of the whole world.
pub(super) fn smooth_done(w: &mut World, order: u8, taken: &smooth::Taken, report: &mut StepReport) {
    // Without stiff forces nothing about the problem can be wrong.
    if w.shows_problem() && formulate(w, Asks::All, None).is_ok() {
        w.call_problem_hook();
    }
    w.saved.save(&w.state);
    smooth::write_back(w);
    if w.kept_solution.is_some() {
        w.keep_solutions(true); // There was none.
    }
    report.integrator = Integrator::Rattle { order };
    report.iterations = taken.iterations;
    report.substeps = taken.substeps;
    report.certificate = taken.certificate.clone();
    report.smooth_bodies = w.model.dynamic().count();
}
