//! A step in parts: N steps of h/N, each with its own contacts and a share of the iterations, told as one.
//!
//! With plain sweeps many short steps of one sweep each are more accurate than one long step of many
//! [Macklin2019]. With solvers that accelerate, and with overlaps corrected apart, that is not so:
//! `docs/benchmarks/steps.md` has both measured. Parts are for motion that h does not resolve. Contacts start
//! warm in each of them, and the pairs of the broad phase last for many.

use drystone_solve::parallel;

use super::World;
use crate::report::{StepError, StepReport};
use crate::setup::Setup;
use crate::state::State;
use crate::step::take;

/// Fewer bodies are not worth calling all threads for.
const MIN_PARALLEL_BODIES: usize = 4096;

/// Advances `w` by one step of the half-implicit scheme [TasoraAnitescu2011, eq. 47a-c].
pub(crate) fn whole_step(w: &mut World) -> Result<StepReport, StepError> {
    if w.loose {
        let step = w.state.step + 1;
        w.assemble_joints().map_err(|e| StepError::Assembly { step, text: e.to_string() })?;
    }
    let World { model, settings, fields, stiff, state, work, hooks, .. } = w;
    let setup = Setup { model, settings, fields, stiff };
    if model.facts().dynamic < MIN_PARALLEL_BODIES {
        take(setup, state, work, hooks)
    } else {
        parallel::with_team(|| take(setup, state, work, hooks))
    }
}

/// One step of `w`, in as many parts as its settings say. After an error the state is the one before the
/// first of them.
pub(super) fn step(w: &mut World) -> Result<StepReport, StepError> {
    let parts = w.settings.substeps;
    if parts <= 1 {
        return whole_step(w);
    }
    let mut before = std::mem::replace(&mut w.whole, State::new(0));
    before.clone_from(&w.state);
    let (h, iterations, budget) = (w.settings.h, w.settings.iterations, w.settings.budget);
    w.settings.h = h / parts as f64;
    w.settings.iterations = iterations.div_ceil(parts);
    w.settings.budget = budget.map(|b| b / parts as u32);
    let mut told: Option<StepReport> = None;
    let mut failed = None;
    for part in 0..parts {
        if part > 0 {
            // Applied forces are those of the whole step.
            w.state.force.clone_from(&before.force);
            w.state.torque.clone_from(&before.torque);
            w.state.step = before.step;
        }
        match whole_step(w) {
            Ok(r) => {
                told = Some(match told.take() {
                    Some(all) => {
                        let last = (r.contacts, r.touching, r.asleep);
                        let mut all = all.joined(r);
                        (all.contacts, all.touching, all.asleep) = last;
                        all
                    }
                    None => r,
                })
            }
            Err(e) => {
                failed = Some(e);
                break;
            }
        }
    }
    (w.settings.h, w.settings.iterations, w.settings.budget) = (h, iterations, budget);
    let result = match (failed, told) {
        (None, Some(report)) => {
            // N times h/N is not always h.
            w.state.time = before.time + h;
            if w.work.velocity.kept.is_some() {
                w.keep_solutions(true); // That of a part is not that of the step.
            }
            // Forces are impulses over h to whoever reads them; the multipliers of the next warm start stay
            // those of a part.
            w.work.collision.contacts.iter_mut().for_each(|c| c.impulse *= parts as f64);
            Ok(report)
        }
        (Some(e), _) => {
            w.state.clone_from(&before);
            w.work.collision.sleepers.forget();
            Err(e)
        }
        (None, None) => unreachable!("there is a part"),
    };
    w.whole = before;
    result
}
