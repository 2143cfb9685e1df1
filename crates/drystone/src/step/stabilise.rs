//! Stage 8: islands that the step did not resolve are put back, and positions of the others corrected.

use drystone_solve::solver::make;

use super::check::bad_contact;
use super::integrate::take_velocities_from_positions;
use super::{StepError, StepReport, needs_correction, resolve};
use crate::settings::Stabilisation;
use crate::stabilise::{Correction, Work};
use crate::world::World;

/// Looks at where a step has brought the bodies: see the module. `smooth`: whether mechanisms took a smooth one.
pub(super) fn stabilise(
    w: &mut World,
    smooth: bool,
    halvings: u32,
    report: &mut StepReport,
) -> Result<(), StepError> {
    let may = |how: &Correction| smooth || needs_correction::may(w, report.status, how.tolerance);
    let Some(how) = correction(w).filter(may) else { return Ok(()) };
    // A blow sends a body where nobody looked for pairs; where none was dealt, the pairs are still those.
    w.detector.find_pairs(&w.model, &w.state, &w.v_free, how.h, how.envelope);
    if resolve::applies(w) {
        let World { stabiliser, model, state, detector, assembler, sleepers, v_free, .. } = w;
        let asleep = &sleepers.known;
        let mut stabiliser = std::mem::take(stabiliser);
        let ends = stabiliser.look(&mut Work { model, state, detector, assembler, how, v: v_free, asleep });
        let most = w.settings.max_substeps.ilog2();
        report.unresolved = resolve::put_back(w, ends, how.reach, most.saturating_sub(halvings));
        if !w.pending.is_empty() {
            // Those who took the step do so without them.
            stabiliser.look_again();
            let left = (0..w.pending.len()).map(|i| w.pending[i] || w.absent.get(i) == Some(&true));
            w.detector.absent = left.collect();
            report.worst_contact = None;
        }
        w.stabiliser = stabiliser;
    }
    report.position_rounds = correct(w, how)?;
    if w.settings.iterations == 0 {
        take_velocities_from_positions(w);
    }
    Ok(())
}

/// How positions are corrected, where they are.
pub(super) fn correction(w: &World) -> Option<Correction> {
    let Stabilisation::Post { tolerance, accept, reach, rounds } = w.settings.stabilisation else {
        return None;
    };
    Some(Correction {
        tolerance,
        accept,
        reach,
        rounds,
        iterations: w.settings.position_iterations,
        envelope: w.envelope(),
        h: w.settings.h,
        keep: w.settings.iterations == 0,
    })
}

/// q ← q ⊕ Δq; how many position problems that took.
pub(super) fn correct(w: &mut World, how: Correction) -> Result<usize, StepError> {
    // Errors of joints are for elimination: few sweeps leave them, and a step's velocities are off by that much more.
    let jointed = w.settings.iterations > 0 && w.model.joint_slots().next().is_some();
    let World {
        stabiliser, model, state, detector, assembler, solver, places, saved, sleepers, v_free, ..
    } = w;
    let work = Work { model, state, detector, assembler, how, v: v_free, asleep: &sleepers.known };
    let places = if jointed { places.get_or_insert_with(|| make("auto").ok()).as_mut() } else { None };
    let solver = match (solver.for_positions(), places.and_then(|places| places.for_positions())) {
        (Some(other), _) | (None, Some(other)) => other,
        (None, None) => solver.as_mut(),
    };
    let done = stabiliser.run(work, solver);
    done.inspect_err(|_| saved.restore(state)).map_err(|e| bad_contact(w, w.state.step + 1, &e))
}
