//! Stage 8: islands that the step did not resolve are put back, and positions of the others corrected.

use drystone_solve::solver::Status;

use super::resolve::{self, Ends};
use crate::integrate::moved::Moved;
use crate::integrate::take_velocities_from_positions;
use crate::report::{StepError, StepReport};
use crate::setup::Setup;
use crate::stabilise::stage::{correct, correction};
use crate::stabilise::{Work, needs_correction};
use crate::state::State;
use crate::workspace::{Collision, Workspace};

/// Looks at where a step has brought the bodies: see the module. `smooth`: whether mechanisms took a smooth
/// one.
pub(super) fn stabilise(
    setup: Setup,
    state: &mut State,
    work: &mut Workspace,
    smooth: bool,
    halvings: u32,
    report: &mut StepReport,
) -> Result<(), StepError> {
    let Some(how) = correction(setup.settings) else { return Ok(()) };
    let Workspace { free, collision, velocity, substeps, position, .. } = work;
    let step = Moved { setup, collision, v: &free.v, saved: &substeps.saved };
    if !(smooth
        || needs_correction::may(&step, state, &velocity.assembler.rows, report.status, how.tolerance))
    {
        return Ok(());
    }
    let Collision { detector, sleepers, .. } = collision;
    // A blow sends a body where nobody looked for pairs; where none was dealt, the pairs are still those.
    detector.find_pairs(setup.model, state, &free.v, how.h, how.envelope);
    if resolve::applies(setup.settings) {
        let (model, asleep, assembler) = (setup.model, &sleepers.known, &mut velocity.assembler);
        let stabiliser = &mut position.stabiliser;
        let contacts =
            stabiliser.look(&mut Work { model, state, detector, assembler, how, v: &free.v, asleep });
        let most = setup.settings.max_substeps.ilog2().saturating_sub(halvings);
        report.unresolved = resolve::put_back(
            setup,
            state,
            free,
            collision,
            substeps,
            Ends {
                contacts,
                contradicted: &velocity.contradicted,
                reach: how.reach,
                rows: &velocity.assembler.rows,
                solved: report.status == Status::Converged && report.bounce.is_none(),
            },
            most,
        );
        if !substeps.pending.is_empty() {
            // Those who took the step do so without them.
            stabiliser.look_again();
            let left = (0..substeps.pending.len()).map(|i| substeps.pending[i] || substeps.is_absent(i));
            collision.detector.absent = left.collect();
            report.worst_contact = None;
        }
    }
    report.position_rounds = correct(setup, state, work, how)?;
    if setup.settings.iterations == 0 {
        take_velocities_from_positions(setup, state, &work.position.stabiliser.total);
    }
    Ok(())
}
