//! Stage 6: new velocities, multipliers handed back, and the judge's word on them.

use drystone_solve::solver::Status;

use super::check::{check_finite, names, worst_contact};
use super::report::{StepError, StepReport};
use super::velocity::Solved;
use crate::world::World;

/// Takes the velocities of a solution, which is done with afterwards.
pub(super) fn certify(w: &mut World, solved: Solved, report: &mut StepReport) -> Result<(), StepError> {
    let Solved { mut solution, compression, bounce, missed } = solved;
    let step = report.step;
    if solution.status == Status::Diverged {
        let text = worst_contact(w, &solution.gamma);
        return Err(StepError::Diverged { step, iterations: solution.iterations, text });
    }
    if solution.status == Status::Wedged && w.settings.compliance == 0.0 {
        return Err(StepError::Infeasible { step, text: names(w, &missed) });
    }
    report.velocity_problems = 1 + usize::from(compression.is_some());
    if w.kept_solution.is_some() {
        w.keep_solutions(true);
    }
    // Of two, one after the other, a bound on the last would be none on the step; nor would be one on another problem's solution.
    let one = report.velocity_problems == 1 && bounce.is_none();
    if let Some(kept) = w.kept_solution.as_mut().filter(|_| one) {
        *kept = (w.stiffness.posed(&w.assembler).clone(), solution.gamma.clone());
    }
    w.velocities(&solution.gamma); // v = v_free + M⁻¹ D γ
    check_finite(w, step)?;
    w.assembler.hand_back(&solution.gamma, &mut w.contacts);
    w.laws.add_compression(&mut w.contacts);
    w.laws.finish(&mut w.contacts);
    w.assembler.hand_back_rows(&solution.gamma, w.settings.h);
    let mut certificate = match solution.certificate.take() {
        Some(c) => c,
        None => {
            let judge = w.solver.judge().unwrap_or(&mut w.judge);
            judge.judge(w.stiffness.posed(&w.assembler), &solution.gamma)
        }
    };
    if let Some(first) = compression.filter(|first| first.residual_max > certificate.residual_max) {
        certificate = first; // Two problems were posed: the word is on the worse one.
    }
    if !one {
        certificate.has_no_bound();
    }
    report.worst_contact = certificate.worst_block.and_then(|b| w.assembler.contact_of(b));
    (report.status, report.iterations) = (solution.status, solution.iterations);
    (report.omega, report.rejected) = (solution.omega, solution.rejected);
    (report.attempts, report.certificate) = (solution.attempts, certificate);
    (report.bounce, report.contradiction) = (bounce, missed);
    w.leave_velocities();
    Ok(())
}
