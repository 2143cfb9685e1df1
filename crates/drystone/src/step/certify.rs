//! Stage 6: new velocities, multipliers handed back, and the judge's word on them.

use drystone_solve::solver::Status;

use super::solve::Solved;
use crate::check::{check_finite, names, worst_contact};
use crate::contact;
use crate::kept::Kept;
use crate::report::{StepError, StepReport};
use crate::setup::Setup;
use crate::state::State;
use crate::workspace::{Collision, FreeMotion, Velocity};

/// Takes the velocities of a solution, which is done with afterwards.
pub(super) fn certify(
    setup: Setup,
    state: &State,
    free: &mut FreeMotion,
    collision: &mut Collision,
    from: &mut Velocity,
    solved: Solved,
    report: &mut StepReport,
) -> Result<(), StepError> {
    let Solved { mut solution, compression, bounce, missed } = solved;
    let (step, h) = (report.step, setup.settings.h);
    if solution.status == Status::Diverged {
        let text = worst_contact(setup.model, &collision.contacts, from, &solution.gamma);
        return Err(StepError::Diverged { step, iterations: solution.iterations, text });
    }
    if solution.status == Status::Wedged && setup.settings.compliance == 0.0 {
        return Err(StepError::Infeasible { step, text: names(setup.model, &missed) });
    }
    report.velocity_problems = 1 + usize::from(compression.is_some());
    // Of two, one after the other, a bound on the last would be none on the step; nor would be one on another
    // problem's solution.
    let one = report.velocity_problems == 1 && bounce.is_none();
    if from.kept.is_some() {
        from.keep_solutions(true);
        if one {
            from.kept = Some(Kept::new(from.posed(), &solution.gamma, &from.assembler));
        }
    }
    from.velocities(state, &solution.gamma, &mut free.v); // v = v_free + M⁻¹ D γ
    check_finite(setup.model, &collision.contacts, &free.v, step)?;
    let Collision { contacts, laws, .. } = collision;
    if from.loads.wanted() {
        from.assembler.hand_back(&from.loads.gamma, contacts);
        laws.finish(contacts);
        contact::keep(contacts, &mut from.loads.contacts);
    }
    from.assembler.hand_back(&solution.gamma, contacts);
    laws.add_compression(contacts);
    laws.finish(contacts);
    from.assembler.hand_back_rows(&solution.gamma, h, &from.asks);
    if from.loads.wanted() {
        from.assembler.hand_back_loads(&from.loads.gamma);
    }
    let mut certificate = match solution.certificate.take() {
        Some(c) => c,
        None => {
            let Velocity { assembler, stiffness, solver, judge, .. } = from;
            solver.judge().unwrap_or(judge).judge(stiffness.posed(assembler), &solution.gamma)
        }
    };
    if let Some(first) = compression.filter(|first| first.residual_max > certificate.residual_max) {
        certificate = first; // Two problems were posed: the word is on the worse one.
    }
    if !one {
        certificate.has_no_bound();
    }
    report.worst_contact = certificate.worst_block.and_then(|b| from.assembler.contact_of(b));
    (report.status, report.iterations) = (solution.status, solution.iterations);
    (report.omega, report.rejected) = (solution.omega, solution.rejected);
    (report.attempts, report.certificate) = (solution.attempts, certificate);
    (report.bounce, report.contradiction) = (bounce, missed);
    from.release(setup);
    Ok(())
}
