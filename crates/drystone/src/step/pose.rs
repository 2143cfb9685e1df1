//! The velocity problem of a step: posed, solved, softened where it contradicts itself, posed again where things expand.

use drystone_solve::Malformed;
use drystone_solve::certificate::Certificate;
use drystone_solve::solver::{Solution, Status, Stop, make};

use crate::assemble::Row;
use crate::assemble::rows::Purpose;
use crate::world::World;

/// What the velocity problem, or the two of a step with Poisson's restitution, came to.
pub(super) struct Solved {
    pub solution: Solution,
    /// Wedged, where the contacts contradict each other.
    pub status: Status,
    /// A problem without overlaps was solved instead.
    pub softened: bool,
    /// Of the first of two problems.
    pub compression: Option<Certificate>,
}

/// Solves the posed problem; softens it where its contacts contradict each other, and lets what was compressed expand.
pub(super) fn solve(w: &mut World) -> Result<Solved, Malformed> {
    let stop = Stop {
        tolerance: w.settings.tolerance,
        iterations: w.settings.iterations,
        budget: w.settings.budget,
        history: false,
    };
    // Without iterations a guess would be the solution.
    let warm = w.settings.warm_start && w.settings.iterations > 0;
    let guess = warm.then_some(w.assembler.guess.as_slice());
    let mut solution = w.solver.solve(w.stiffness.posed(&w.assembler), guess, &stop)?;
    let (mut status, mut softened) = (solution.status, false);
    if matches!(status, Status::Wedged | Status::Iterations) && asks_for_separation(w) {
        let certificate = w.judge.judge(w.stiffness.posed(&w.assembler), &solution.gamma);
        let mut hopeless = wedged(w, status, &certificate);
        if !hopeless && contradicts(w, &certificate)? {
            status = Status::Wedged;
            // Further off than overlaps that are left alone.
            hopeless = certificate.residual_max > 2.0 * w.laws.asked(&w.settings, &w.contacts);
        }
        if hopeless {
            // Softened: rest satisfies what is left, so that it cannot contradict itself. The overlaps stay for later steps.
            (status, softened) = (Status::Wedged, true);
            let (before, attempts) = (solution.iterations, solution.attempts);
            build(w, Posed::Softened)?;
            let guess = warm.then_some(w.assembler.guess.as_slice());
            solution = w.solver.solve(w.stiffness.posed(&w.assembler), guess, &stop)?;
            solution.iterations += before;
            solution.attempts.splice(..0, attempts);
        }
    }
    let compressed = w.laws.expands() && solution.status != Status::Diverged;
    let compression = if compressed {
        let judged = w.judge.judge(w.stiffness.posed(&w.assembler), &solution.gamma);
        solution = expand(w, &solution, &stop)?;
        if status != Status::Wedged {
            status = solution.status;
        }
        Some(judged)
    } else {
        None
    };
    Ok(Solved { solution, status, softened, compression })
}

/// Which velocity problem is posed.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Posed {
    /// The step's own.
    Whole,
    /// Nothing asks for a speed of separation: overlaps are left alone.
    Softened,
    /// The second one of a step with Poisson's restitution: see `law/expansion.rs`.
    Expansion,
}

/// Poses the velocity problem and its warm start.
pub(super) fn build(w: &mut World, posed: Posed) -> Result<(), Malformed> {
    let (h, stabilisation, laws) = (w.settings.h, w.settings.stabilisation, &w.laws);
    let theta = w.settings.integrator.theta();
    w.assembler.build(&w.model, &w.state, &w.contacts, &w.v_free, &[], |i, c| {
        let row = match laws.on() {
            true => laws.get(i),
            false => Row { bias: stabilisation.bias(c.gap, h), mu: c.mu, ..Row::default() },
        };
        Row { bias: if posed == Posed::Softened { row.bias.max(0.0) } else { row.bias }, ..row }
    });
    w.assembler.stage_rows(
        &w.model,
        &w.state,
        &w.v_free,
        Purpose::Velocity { h, stabilisation, laws: posed != Posed::Expansion, theta },
    );
    w.assembler.build_rows(&w.state.order);
    w.assembler.problem.set_model(w.settings.model);
    w.assembler.warm_start(&w.contacts, &w.state.joints);
    w.stiffness.condense(&w.assembler, &w.state.order, posed != Posed::Expansion)
}

/// The second problem of a step in which contacts give back a share of their compression; see `law/expansion.rs`.
pub(super) fn expand(w: &mut World, compression: &Solution, stop: &Stop) -> Result<Solution, Malformed> {
    w.velocities(&compression.gamma);
    w.assembler.hand_back(&compression.gamma, &mut w.contacts);
    // What springs, motors and friction of joints do in a step they have done.
    w.assembler.rows.keep(&w.model, &compression.gamma[3 * w.assembler.order.len()..], w.settings.h);
    w.laws.begin_compression(w.contacts.len());
    w.laws.expand(&w.model, &w.state, &mut w.contacts, &mut w.v_free);
    build(w, Posed::Expansion)?;
    let mut solution = w.solver.solve(&w.assembler.problem, Some(&w.assembler.guess), stop)?;
    solution.iterations += compression.iterations;
    solution.rejected += compression.rejected;
    solution.attempts.splice(..0, compression.attempts.iter().copied());
    if solution.status == Status::Converged {
        solution.status = compression.status;
    }
    Ok(solution)
}

/// Whether some contact asks for a speed in this step: only then can contacts contradict each other.
pub(super) fn asks_for_separation(w: &World) -> bool {
    w.laws.asked(&w.settings, &w.contacts) > 0.0
}

/// The solver's own word, or multipliers that grow from step to step, warm start after warm start, as told by the speed
/// that any solution would need. In a free column of n bodies the last has to move at n times the speed that each contact
/// asks for: twice as much as that means that the contacts contradict each other.
pub(super) fn wedged(w: &World, status: Status, certificate: &Certificate) -> bool {
    let asked = w.laws.asked(&w.settings, &w.contacts);
    status == Status::Wedged
        || certificate
            .least_feasible_speed(w.total_mass())
            .is_some_and(|needed| needed > 2.0 * asked * w.model.dynamic().count() as f64)
}

/// Multiplications of a second opinion: enough for growth to be told from slowness.
const OPINION: usize = 160;
/// Growth is taken for a contradiction where the multipliers prove that any solution would need a mean speed of more than so many
/// times what the contacts ask for: two or three bodies never need as much. (A proof without doubt takes many more iterations.)
const FAR: f64 = 3.0;
/// Residuals below this share of the speed that contacts ask for are no sign of contradictions.
const SIGN: f64 = 0.02;

/// A second opinion on a problem that was not solved: many solvers stop at their cap with multipliers that have not begun to grow
/// (sweeps), or grow in their own way (interior points), and could not tell. Accelerated gradients can: whoever solved, it
/// is they who are asked. A solver says "wedged" where it has a proof; here strong signs are enough, since all that
/// hangs on it is a warning, and a step that leaves overlaps for later.
fn contradicts(w: &mut World, certificate: &Certificate) -> Result<bool, Malformed> {
    let asked = w.laws.asked(&w.settings, &w.contacts);
    let may_be = asked > w.settings.tolerance
        && certificate.residual_max > w.settings.tolerance.max(SIGN * asked)
        && w.settings.budget.is_none()
        && w.settings.iterations > 0;
    if !may_be {
        return Ok(false);
    }
    let stop = Stop { tolerance: w.settings.tolerance, iterations: OPINION, budget: None, history: false };
    let World { opinion, stiffness, assembler, settings, .. } = w;
    let Some(opinion) = opinion.get_or_insert_with(|| make("apgd").ok()) else { return Ok(false) };
    let guess = settings.warm_start.then_some(assembler.guess.as_slice());
    let solution = opinion.solve(stiffness.posed(assembler), guess, &stop)?;
    if solution.status == Status::Wedged || !solution.grows {
        return Ok(solution.status == Status::Wedged);
    }
    let certificate = w.judge.judge(w.stiffness.posed(&w.assembler), &solution.gamma);
    let needed = certificate.least_feasible_speed(w.total_mass());
    Ok(needed.is_none_or(|needed| needed > FAR * asked))
}
