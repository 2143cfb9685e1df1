//! The velocity problem of a step: posed, solved, softened where it contradicts itself, posed again where things expand.

use drystone_solve::Malformed;
use drystone_solve::certificate::Certificate;
use drystone_solve::solver::{Solution, Status, Stop};

use super::energy::{Limit, Straightened, bounces, hold_back, quiet, spare, straighten, tame};
use super::wedge::{Seen, is_doubtful, look};
use crate::assemble::Row;
use crate::assemble::rows::Purpose;
use crate::world::World;

/// What the velocity problem, or the two of a step with Poisson's restitution, came to.
pub(super) struct Solved {
    pub solution: Solution,
    /// Wedged, where the constraints contradict each other.
    pub status: Status,
    /// What was seen where that was not solved.
    pub seen: Seen,
    /// Of the first of two problems.
    pub compression: Option<Certificate>,
    /// Whether the solver's first word was the last: what it has at hand is of the problem that is posed.
    pub plain: bool,
}

/// Solves the posed problem; softens it where it contradicts itself, and lets what was compressed expand.
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
    let mut seen = Seen::default();
    let mut plain = true;
    let unsolved = |w: &mut World, s: &Solution, speeds| {
        s.status != Status::Converged || is_doubtful(w, s, &stop, speeds)
    };
    if stop.iterations > 0 {
        let Straightened { straight, judged, speeds } = straighten(w, &mut solution, &stop, warm)?;
        let posed = if straight { Posed::Straight } else { Posed::Whole };
        if let Some(tamed) = tame(w, posed, &mut solution, &stop, warm, speeds)? {
            (seen, plain) = (tamed, false);
        } else if solution.status == Status::Converged && !bounces(w) {
            // Before it gives way because it is fast beyond belief.
            plain = !hold_back(w, &mut solution, &stop, warm, &mut seen, speeds)?;
        }
        if !seen.replaced() && unsolved(w, &solution, speeds) {
            plain = false;
            // Where the solver has its velocities at hand, what it judged last is this solution.
            let own = w.solver.velocities().and(solution.certificate.clone()).filter(|_| !straight);
            seen = look(w, posed, &mut solution, &stop, warm, judged.or(own))?;
            forget_velocities(w);
        }
        seen.straight = straight;
        match (seen.softened, seen.exact) {
            (true, _) => quiet(w, posed, &mut solution, &stop, warm)?,
            (false, false) => seen.bounce = spare(w, posed, &mut solution, &stop, warm)?,
            (false, true) => {}
        }
        // With bounces, which may be what gives energy, and where it gave way or is not solved.
        if seen.bounce.is_none() && !seen.exact && (bounces(w) || !plain) {
            plain &= !hold_back(w, &mut solution, &stop, warm, &mut seen, None)?;
        }
    }
    // What was compressed because nobody had room must not expand.
    let compressed = w.laws.expands() && solution.status != Status::Diverged && !seen.softened;
    let compression = if compressed {
        let judged = match solution.certificate.take() {
            Some(c) => c,
            None => w.judge.judge(w.stiffness.posed(&w.assembler), &solution.gamma),
        };
        let limit = Limit::of(w, &stop);
        let compressed = solution.status;
        solution = expand(w, &solution, &stop)?;
        let bounce = limit.hold(w, &mut solution, &stop)?.or(seen.bounce);
        seen.bounce = bounce;
        if stop.iterations > 0 && unsolved(w, &solution, None) {
            let second = look(w, Posed::Expansion, &mut solution, &stop, true, None)?;
            forget_velocities(w);
            seen = Seen { straight: seen.straight, exact: seen.exact, bounce, ..second };
        }
        if solution.status == Status::Converged {
            solution.status = compressed;
        }
        Some(judged)
    } else {
        None
    };
    let status = match solution.status {
        Status::Diverged => Status::Diverged,
        _ if seen.contradiction => Status::Wedged,
        // What was solved is not what was posed.
        Status::Converged if seen.softened => Status::Iterations,
        status => status,
    };
    plain &= compression.is_none() && !seen.replaced();
    Ok(Solved { solution, status, seen, compression, plain })
}

/// A second look may take another's solution: what the solver has at hand is not its velocities then. Lending the judge says so.
fn forget_velocities(w: &mut World) {
    let _ = w.solver.judge();
}

/// Which velocity problem is posed.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Posed {
    /// The step's own.
    Whole,
    /// The same with joints along their tangents, as in [TasoraAnitescu2011, eq. 16].
    Straight,
    /// The same with this share of every speed of separation.
    Bounce(f64),
    /// Nothing asks for a speed of separation, joints go along their tangents: overlaps are left alone, nothing bounces.
    Softened,
    /// The second one of a step with Poisson's restitution: see `law/expansion.rs`.
    Expansion,
}

/// Poses the velocity problem and its warm start.
pub(super) fn build(w: &mut World, posed: Posed) -> Result<(), Malformed> {
    let (h, stabilisation, laws) = (w.settings.h, w.settings.stabilisation, &w.laws);
    let theta = w.settings.integrator.theta();
    let bounce = match posed {
        Posed::Bounce(share) => share,
        Posed::Softened => 0.0,
        Posed::Whole | Posed::Straight | Posed::Expansion => 1.0,
    };
    w.assembler.build(&w.model, &w.state, &w.contacts, &w.v_free, &[], |i, c| {
        let row = match laws.on() {
            true => laws.get(i),
            false => Row { bias: stabilisation.bias(c.gap, h), mu: c.mu, ..Row::default() },
        };
        Row { bias: if row.bias < 0.0 { bounce * row.bias } else { row.bias }, ..row }
    });
    w.assembler.stage_rows(
        &w.model,
        &w.state,
        &w.v_free,
        Purpose::Velocity {
            h,
            stabilisation,
            laws: posed != Posed::Expansion,
            theta,
            bends: posed == Posed::Whole,
            bounce,
        },
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
    w.assembler.keep_rows(&compression.gamma, w.settings.h);
    w.laws.expand(&w.model, &w.state, &mut w.contacts, &mut w.v_free);
    build(w, Posed::Expansion)?;
    let mut solution = w.solver.solve(&w.assembler.problem, Some(&w.assembler.guess), stop)?;
    solution.iterations += compression.iterations;
    solution.rejected += compression.rejected;
    solution.attempts.splice(..0, compression.attempts.iter().copied());
    Ok(solution)
}
