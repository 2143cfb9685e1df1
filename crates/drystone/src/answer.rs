//! Answers of solvers, which may be of the user's own.

use drystone_solve::solver::{Solution, Solver, Stop};
use drystone_solve::{Malformed, Problem};

/// Solves a problem; what answers with another number of multipliers, as a solver of the user's own may, is
/// refused.
pub(crate) fn whole(
    solver: &mut dyn Solver,
    problem: &Problem,
    guess: Option<&[f64]>,
    stop: &Stop,
) -> Result<Solution, Malformed> {
    let solution = solver.solve(problem, guess, stop)?;
    let (found, rows) = (solution.gamma.len(), problem.rows());
    if found == rows {
        return Ok(solution);
    }
    let name = solver.info().name;
    Err(Malformed(format!("the solver '{name}' returned {found} multipliers, the problem has {rows} rows")))
}
