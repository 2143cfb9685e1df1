//! Corrections of a step's end: how the settings want them, and with which solver.

use drystone_solve::solver::Solver;

use super::{Correction, Work};
use crate::check::bad_contact;
use crate::report::StepError;
use crate::settings::{Settings, Stabilisation};
use crate::setup::Setup;
use crate::state::State;
use crate::workspace::{Collision, Position, Velocity, Workspace};

/// How positions are corrected, where they are.
pub(crate) fn correction(s: &Settings) -> Option<Correction> {
    let Stabilisation::Post { tolerance, accept, reach, rounds } = s.stabilisation else {
        return None;
    };
    Some(Correction {
        tolerance,
        accept,
        reach,
        rounds,
        iterations: s.position_iterations,
        envelope: crate::setup::envelope(s),
        h: s.h,
        keep: s.iterations == 0,
    })
}

/// q ← q ⊕ Δq; how many position problems that took.
pub(crate) fn correct(
    setup: Setup,
    state: &mut State,
    work: &mut Workspace,
    how: Correction,
) -> Result<usize, StepError> {
    let model = setup.model;
    let Workspace { free, collision, velocity, substeps, position, .. } = work;
    let Collision { detector, sleepers, .. } = collision;
    let Velocity { assembler, solver, .. } = velocity;
    let Position { stabiliser, solver: positions } = position;
    // Without a velocity problem all is left to this one, and to the solver that was named.
    let solver = match setup.settings.iterations == 0 || solver.corrects_positions() {
        true => solver.as_mut(),
        false => positions as &mut dyn Solver,
    };
    let asleep = &sleepers.known;
    let done = stabiliser.run(Work { model, state, detector, assembler, how, v: &free.v, asleep }, solver);
    done.inspect_err(|_| substeps.saved.restore(state))
        .map_err(|e| bad_contact(model, collision, state.step + 1, &e))
}
