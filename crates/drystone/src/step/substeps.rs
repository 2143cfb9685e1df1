//! A step in parts: N steps of h/N, each with its own contacts and a share of the iterations, told as one.
//!
//! With plain sweeps many short steps of one sweep each are more accurate than one long step of many
//! [Macklin2019]. With solvers that accelerate, and with overlaps corrected apart, that is not so:
//! `docs/benchmarks/steps.md` has both measured. Parts are for motion that h does not resolve. Contacts start
//! warm in each of them, and the pairs of the broad phase last for many.

use drystone_solve::solver::Status;

use super::{StepError, StepReport};
use crate::state::State;
use crate::world::World;

/// One step of `w`, in as many parts as its settings say. After an error the state is the one before the
/// first of them.
pub(crate) fn step(w: &mut World) -> Result<StepReport, StepError> {
    let parts = w.settings.substeps;
    if parts <= 1 {
        return super::step(w);
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
        match super::step(w) {
            Ok(r) => {
                told = Some(match told.take() {
                    Some(all) => {
                        let last = (r.contacts, r.touching, r.asleep);
                        let mut all = joined(all, r);
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

/// Two reports as one: sums of work, the worst of what went wrong, the last of what is.
pub(super) fn joined(mut all: StepReport, last: StepReport) -> StepReport {
    all.integrator = last.integrator;
    all.smooth_bodies = last.smooth_bodies;
    all.penetration_max = all.penetration_max.max(last.penetration_max);
    all.penetration_mean = all.penetration_mean.max(last.penetration_mean);
    all.deep = all.deep.or(last.deep);
    if badness(last.status) >= badness(all.status) {
        all.status = last.status;
    }
    all.bounce = match (all.bounce, last.bounce) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    for party in last.contradiction {
        if !all.contradiction.contains(&party) {
            all.contradiction.push(party);
        }
    }
    all.apart = all.apart.or(last.apart);
    all.substeps = all.substeps.max(last.substeps);
    all.unresolved = all.unresolved.or(last.unresolved);
    all.iterations += last.iterations;
    all.omega = all.omega.min(last.omega);
    all.rejected += last.rejected;
    all.attempts.extend(last.attempts);
    all.position_rounds += last.position_rounds;
    // Contacts of earlier parts cannot be pointed at any more.
    all.worst_contact = None;
    if !(last.certificate.residual_max < all.certificate.residual_max) {
        all.certificate = last.certificate;
        all.worst_contact = last.worst_contact;
    }
    all.velocity_problems += last.velocity_problems;
    all.certificate.has_no_bound();
    all.left.extend(last.left);
    for (sum, span) in all.spans.iter_mut().zip(last.spans) {
        *sum += span;
    }
    all
}

fn badness(status: Status) -> u8 {
    match status {
        Status::Converged => 0,
        Status::Wedged => 2,
        Status::Diverged => 3,
        _ => 1,
    }
}
