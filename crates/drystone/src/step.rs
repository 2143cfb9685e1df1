//! The step, on one page. Each of its eight stages has a file of its own.

mod certify;
mod collide;
mod finish;
mod resolve;
mod solve;
mod stabilise;

use crate::check::{bad_contact, check_joints};
use crate::formulation::velocity::{Asks, forces, formulate};
use crate::hooks::Hooks;
use crate::integrate::free_velocities::free_velocities;
use crate::integrate::integrate;
use crate::rattle::stage as rattle;
use crate::report::{Clock, DeepOverlap, Stage, StepError, StepReport};
use crate::setup::Setup;
use crate::state::State;
use crate::workspace::Workspace;
pub(crate) use resolve::{RESOLVED_ARC, RESOLVED_OVERLAP};

/// The step as a whole: with substeps of islands that need them, and as if nothing had happened where it
/// fails.
pub(crate) fn take(
    setup: Setup,
    state: &mut State,
    work: &mut Workspace,
    hooks: &mut Hooks,
) -> Result<StepReport, StepError> {
    work.collision.sleepers.keep(setup.settings, &state.rest);
    if state.sort(setup.model) {
        work.collision.sleepers.sort(setup.model, state);
    }
    let report = resolve::advance(setup, state, work, hooks, 0)
        .and_then(|report| finish::finish(setup, state, work, report));
    let before = work.substeps.before.take();
    if report.is_err() {
        work.substeps.absent.clear();
        work.collision.detector.absent.clear();
        if let Some(before) = before {
            *state = *before;
        }
        work.collision.sleepers.restore(setup.settings, &mut state.rest);
    }
    work.velocity.assembler.rows.elsewhere.clear();
    report
}

/// Takes the step of all who are not absent, except for islands that are to take it in halves: those are left
/// as they were, and pending.
fn attempt(
    setup: Setup,
    state: &mut State,
    work: &mut Workspace,
    hooks: &mut Hooks,
    halvings: u32,
) -> Result<StepReport, StepError> {
    let (mut clock, mut report) = (Clock::start(), StepReport::begin(setup.settings, state.step + 1));
    let Workspace { free, collision, smooth, velocity, substeps, .. } = work;
    let (step, whole) = (report.step, substeps.absent.is_empty());
    velocity.loads.begin(setup.settings);
    // 1 predict: v_free = v + h M⁻¹ f
    free_velocities(setup, state, free)?;
    // 2 collide: broad and narrow phase, arcs of bodies that turn
    collide::collide(setup, state, free, collision, whole, &mut clock);
    (report.touching, report.penetration_max, report.penetration_mean) = collision.overlaps();
    report.deep = DeepOverlap::of(setup.model, &collision.contacts, report.penetration_max, |c| {
        collision.predictor.gap(c)
    });
    // 3 islands: those that sleep are left out, mechanisms that nothing touches take a smooth step
    collide::take_part(setup, state, collision, whole);
    hooks.show_contacts(setup.model, state, &mut collision.contacts, step)?;
    collide::leave_joints(setup.model, state, substeps, velocity);
    clock.stage(Stage::Narrowphase);
    let taken =
        if whole { rattle::smooth_step(setup, state, free, collision, smooth, velocity) } else { None };
    if let Some(taken) = taken.as_ref().filter(|taken| taken.whole) {
        rattle::show_problem(setup, state, free, collision, velocity, hooks);
        rattle::smooth_done(setup, state, taken, smooth, velocity, &mut substeps.saved, &mut report);
    } else {
        // 4 formulate: rows, targets, compliance, cones, warm start
        forces(setup, state, free, collision, velocity)
            .map_err(|text| StepError::NonFinite { step, text })?;
        let asks = if velocity.loads.wanted() { Asks::Loads } else { Asks::All };
        formulate(setup, state, &free.v, collision, velocity, asks, None)
            .map_err(|e| bad_contact(setup.model, collision, step, &e))?;
        report.apart = check_joints(setup, state, &velocity.assembler.rows, step)?;
        clock.stage(Stage::Assemble);
        // 5 solve: each island by its policy, held to the energy that it has
        let solved = solve::solve(setup, state, free, collision, velocity, hooks)
            .map_err(|e| bad_contact(setup.model, collision, step, &e))?;
        clock.stage(Stage::Solve);
        // 6 certify: v = v_free + M⁻¹ D γ, and the judge's word on it
        certify::certify(setup, state, free, collision, velocity, solved, &mut report)?;
        clock.stage(Stage::Certificate);
        // 7 integrate: q ← Λ(q, v, h)
        substeps.saved.save(state);
        let took = |i: usize| taken.is_some() && smooth.took(i);
        integrate(setup, state, free, |i| took(i) || substeps.is_absent(i));
        if let Some(taken) = &taken {
            rattle::smooth_in_part(setup, state, taken, smooth, velocity, &mut report);
        }
        clock.stage(Stage::Integrate);
        // 8 stabilise: islands that the step did not resolve are put back, positions of the others corrected
        stabilise::stabilise(setup, state, work, taken.is_some(), halvings, &mut report)?;
    }
    finish::close(setup.model, state, work);
    clock.stage(Stage::Correct);
    report.contacts = work.collision.contacts.len();
    report.spans = clock.spans;
    Ok(report)
}
