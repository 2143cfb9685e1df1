//! The velocity problem of a step: solved, held to the energy that there is, solved again where things
//! expand.

use drystone_solve::Malformed;
use drystone_solve::certificate::Certificate;
use drystone_solve::solver::{Solution, Status};

use crate::answer::whole;
use crate::contradiction;
use crate::energy::{Budget, limit};
use crate::formulation::velocity::{Asks, formulate, rest, solve_loads, solve_posed, stop};
use crate::hooks::Hooks;
use crate::report::Party;
use crate::setup::Setup;
use crate::state::State;
use crate::workspace::{Collision, FreeMotion, Velocity};

/// What the velocity problem, or the two of a step with Poisson's restitution, came to.
pub(super) struct Solved {
    pub solution: Solution,
    /// Of the first of two problems.
    pub compression: Option<Certificate>,
    /// The least share of what the scheme asks for that an island took, where one took less than all of it.
    pub bounce: Option<f64>,
    /// Rows that missed what they asked for, those that press hardest first.
    pub missed: Vec<Party>,
}

/// Solves the posed problem.
pub(super) fn solve(
    setup: Setup,
    state: &State,
    free: &mut FreeMotion,
    collision: &mut Collision,
    to: &mut Velocity,
    hooks: &mut Hooks,
) -> Result<Solved, Malformed> {
    if to.loads.wanted() {
        solve_loads(setup, state, &free.v, collision, to)?;
    }
    let stop = stop(setup.settings);
    let mut driven = None;
    if stop.iterations > 0 && (collision.laws.hits() || to.assembler.rows.bounces) {
        let rest = rest(setup, state, &free.v, collision, to)?;
        formulate(setup, state, &free.v, collision, to, Asks::All, Some(&rest.gamma))?;
        driven = Some(rest);
    }
    hooks.show_problem(to);
    let mut solution = solve_posed(setup.settings, to)?;
    solution.iterations += to.loads.iterations;
    let (mut bounce, mut compression) = (None, None);
    if stop.iterations > 0 && solution.status != Status::Diverged {
        bounce = limit(setup, state, free, collision, to, &mut solution, driven)?;
        if collision.laws.expands() {
            let judged = match solution.certificate.take() {
                Some(c) => c,
                None => to.judge.judge(to.stiffness.posed(&to.assembler), &solution.gamma),
            };
            let (first, budget) =
                (solution.status, Budget::of_expansion(setup, state, free, collision, to, &solution));
            solution = expand(setup, state, free, collision, to, &solution)?;
            let share = budget.hold_expansion(state, &mut free.v, collision, to, &mut solution);
            bounce = bounce.or(share);
            if solution.status == Status::Converged {
                solution.status = first;
            }
            compression = Some(judged);
        }
    }
    let missed = contradiction::parties(setup, collision, to, &solution, bounce.is_some());
    to.contradicted = contradiction::stuck_pairs(setup, collision, to, &solution);
    Ok(Solved { solution, compression, bounce, missed })
}

/// The second problem of a step in which contacts give back a share of their compression; see
/// `law/expansion.rs`.
fn expand(
    setup: Setup,
    state: &State,
    free: &mut FreeMotion,
    collision: &mut Collision,
    to: &mut Velocity,
    compression: &Solution,
) -> Result<Solution, Malformed> {
    to.velocities(state, &compression.gamma, &mut free.v);
    to.assembler.hand_back(&compression.gamma, &mut collision.contacts);
    // What springs, motors and friction of joints do in a step they have done.
    to.assembler.keep_rows(&compression.gamma, setup.settings.h);
    collision.laws.expand(setup.model, state, &mut collision.contacts, &mut free.v);
    formulate(setup, state, &free.v, collision, to, Asks::Expansion, None)?;
    let stop = stop(setup.settings);
    let Velocity { assembler, solver, .. } = to;
    let mut solution = whole(solver.as_mut(), &assembler.problem, Some(&assembler.guess), &stop)?;
    solution.iterations += compression.iterations;
    solution.rejected += compression.rejected;
    solution.attempts.splice(..0, compression.attempts.iter().copied());
    Ok(solution)
}
