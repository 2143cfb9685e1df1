//! The step, on one page. Each of its eight stages has a file of its own.

mod certify;
mod check;
mod collide;
mod energy;
mod finish;
mod formulate;
mod integrate;
mod lean;
mod needs_correction;
pub(crate) mod parts;
mod predict;
mod predictor;
mod rattle;
mod report;
mod resolve;
mod stabilise;
mod velocity;

use drystone_solve::crew;

use crate::smooth;
use crate::world::World;
pub use check::Apart;
use check::{bad_contact, check_joints};
use formulate::{Asks, formulate};
pub(crate) use predictor::Predictor;
use report::Clock;
pub use report::{Deep, Stage, StepError, StepReport};
pub use velocity::Party;

/// Fewer bodies are not worth calling all threads for.
const FEW: usize = 4096;

/// Advances `w` by one step of the half-implicit scheme [TasoraAnitescu2011, eq. 47a-c].
pub(crate) fn step(w: &mut World) -> Result<StepReport, StepError> {
    w.keep_rest();
    let report = if w.model.facts().dynamic < FEW { take(w) } else { crew::with(|| take(w)) };
    let before = w.before_halves.take();
    if report.is_err() {
        w.absent.clear();
        w.detector.absent.clear();
        if let Some(before) = before {
            w.state = *before;
        }
        w.sleep_as_before();
    }
    w.assembler.rows.elsewhere.clear();
    report
}

fn take(w: &mut World) -> Result<StepReport, StepError> {
    if w.loose {
        let step = w.state.step + 1;
        w.assemble_joints().map_err(|e| StepError::Assembly { step, text: e.to_string() })?;
    }
    if w.state.sort(&w.model) {
        w.sort_sleepers();
    }
    let report = resolve::advance(w, 0)?;
    finish::finish(w, report)
}

/// Takes the step of all who are not absent, except for islands that are to take it in halves: those are left as they were, and pending.
fn attempt(w: &mut World, halvings: u32) -> Result<StepReport, StepError> {
    let (mut clock, mut report) = (Clock::start(), StepReport::begin(w));
    let step = report.step;
    // 1 predict: v_free = v + h M⁻¹ f
    predict::free_velocities(w)?;
    // 2 collide: broad and narrow phase, arcs of bodies that turn
    collide::collide(w, &mut clock, &mut report);
    // 3 islands: those that sleep are left out, mechanisms that nothing touches take a smooth step
    collide::take_part(w);
    clock.stage(Stage::Narrowphase);
    let smooth = if w.absent.is_empty() { rattle::smooth_step(w) } else { None };
    if let Some((order, taken)) = smooth.as_ref().filter(|(_, taken)| taken.whole) {
        rattle::smooth_done(w, *order, taken, &mut report);
    } else {
        // 4 formulate: rows, targets, compliance, cones, warm start
        w.linearise().map_err(|text| StepError::NonFinite { step, text })?;
        w.laws.pose(&w.model, &w.state, &w.settings, &mut w.contacts, &mut w.v_free);
        formulate(w, Asks::All, None).map_err(|e| bad_contact(w, step, &e))?;
        report.apart = check_joints(w, step)?;
        clock.stage(Stage::Assemble);
        // 5 solve: each island by its policy, held to the energy that it has
        let solved = velocity::solve(w).map_err(|e| bad_contact(w, step, &e))?;
        clock.stage(Stage::Solve);
        // 6 certify: v = v_free + M⁻¹ D γ, and the judge's word on it
        certify::certify(w, solved, &mut report)?;
        clock.stage(Stage::Certificate);
        // 7 integrate: q ← Λ(q, v, h)
        w.saved.save(&w.state);
        integrate::integrate(w, smooth.is_some());
        if let Some((_, taken)) = &smooth {
            smooth::write_back(w);
            let worst = report.certificate.residual_max.max(taken.certificate.residual_max);
            report.certificate.residual_max = worst;
            report.smooth_bodies = smooth::taken_bodies(w);
            report.substeps = report.substeps.max(taken.substeps);
        }
        clock.stage(Stage::Integrate);
        // 8 stabilise: islands that the step did not resolve are put back, positions of the others corrected
        stabilise::stabilise(w, smooth.is_some(), halvings, &mut report)?;
    }
    finish::close(w);
    clock.stage(Stage::Correct);
    report.contacts = w.contacts.len();
    report.spans = clock.spans;
    Ok(report)
}
