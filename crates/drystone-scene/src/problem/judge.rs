//! A bare contact problem solved to a tolerance, and what is to be said of the solution.

use std::time::Instant;

use drystone_solve::certificate::certificate;
use drystone_solve::cone::{AdmissibleSet, MAX_ROWS};
use drystone_solve::friction_law::slip_term;
use drystone_solve::solver::{Attempt, Solver, Status, Stop};
use drystone_solve::{FrictionLaw, Malformed, Problem};
use serde::Serialize;

use super::{ContactProblem, Kind};

/// u this far outside the dual cone, over |q|, counts as inside where less was asked for.
const FEASIBLE: f64 = 1e-6;

/// What `drystone solve` says of a problem.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Report {
    pub name: String,
    pub kind: Kind,
    pub contacts: usize,
    pub rows: usize,
    pub model: &'static str,
    pub solver: String,
    pub unit: &'static str,
    /// "solved", or why not.
    pub status: &'static str,
    pub tolerance: f64,
    pub iterations: usize,
    /// Who did it, in order, where auto picked.
    pub attempts: Vec<Attempt>,
    pub wall_s: f64,
    pub cpu_s: f64,
    /// ½ rᵀWr + qᵀr with the symmetric part of W; null for Coulomb's law, which minimises nothing.
    pub objective: Option<f64>,
    /// |r - P(r - u)| / |q|, with u + mu |u_T| e_N for u under Coulomb's law; null where q = 0.
    pub residual_over_q: Option<f64>,
    /// max |r_i - P_i(r_i - η_i u_i)| / η_i, in the units of u.
    pub residual_scaled: f64,
    /// Largest distance of a contact's r from its cone.
    pub cone_violation: f64,
    /// Largest distance of a contact's u (corrected, under Coulomb's law) from the dual cone. A motor with a
    /// limit to either side allows every u.
    pub dual_cone_violation: f64,
    /// |rᵀu + Σ σ_i(-u_i)| / |objective| with the support function σ_i of each set: 0 for cones, the limits' share for motors.
    /// Null where u is not dual feasible (to the tolerance, or 1e-6 |q|), where the objective is 0 and the
    /// gap is not, and under Coulomb's law.
    pub duality_gap_rel: Option<f64>,
    /// |W - Wᵀ| / |W|: above rounding, the relaxed problem is that of the symmetric part.
    pub asymmetry: f64,
    /// The first contact that W lets nothing move, where q asks for it: then there is no solution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cannot_move: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub u: Option<Vec<f64>>,
}

impl Report {
    /// From a problem whose q was divided by `unit` to that of the file.
    pub fn in_units_of(&mut self, unit: f64) {
        let vectors = self.r.iter_mut().chain(&mut self.u).flatten();
        let numbers = [&mut self.residual_scaled, &mut self.cone_violation, &mut self.dual_cone_violation];
        vectors.chain(numbers).for_each(|x| *x *= unit);
        self.objective = self.objective.map(|x| x * unit * unit).filter(|x| x.is_finite());
    }
}

/// What came out, whoever counts.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Outcome {
    pub r: Vec<f64>,
    pub u: Vec<f64>,
    pub status: Status,
    pub iterations: usize,
    pub attempts: Vec<Attempt>,
    /// |r - P(r - u)|.
    pub natural: f64,
}

/// Solves until |r - P(r - u)| is at most the `tolerance` of `asked`. A solver stops by the certificate's
/// residual, which has another scale for each contact: where it stopped too early it goes on from there with
/// a smaller tolerance.
pub fn reach(
    file: &ContactProblem,
    problem: &Problem,
    solver: &mut dyn Solver,
    asked: &Stop,
) -> Result<Outcome, Malformed> {
    let (goal, iterations) = (asked.tolerance, asked.iterations);
    let begun = Instant::now();
    let mut out = Outcome {
        r: vec![0.0; problem.rows()],
        u: Vec::new(),
        status: Status::Iterations,
        iterations: 0,
        attempts: Vec::new(),
        natural: f64::INFINITY,
    };
    // Nothing to do: zero is the solution.
    problem.rhs(&mut out.u);
    out.natural = file.natural_map(problem.model(), &out.r, &out.u);
    if out.natural == 0.0 {
        return Ok(out);
    }
    if file.cannot_move(problem.model()).is_some() {
        out.status = Status::Wedged;
        return Ok(out);
    }
    let mut tolerance = goal;
    loop {
        let stop = Stop {
            tolerance,
            iterations: iterations - out.iterations,
            budget: asked.time_left(begun),
            ..asked.clone()
        };
        let guess = (out.iterations > 0).then_some(out.r.as_slice());
        let s = match solver.solve(problem, guess, &stop) {
            Ok(s) if s.gamma.iter().all(|x| x.is_finite()) => s,
            Err(e) if !e.is_about_guess() => return Err(e),
            // Beyond all numbers, here or on its way from one method to the next: W is not positive
            // semidefinite, or next to nothing. What was there before is all there is.
            _ => {
                out.status = Status::Diverged;
                problem.apply(&out.r, &mut out.u);
                out.natural = file.natural_map(problem.model(), &out.r, &out.u);
                return Ok(out);
            }
        };
        out.iterations += s.iterations;
        out.attempts.extend(s.attempts);
        out.status = s.status;
        out.r = s.gamma;
        problem.apply(&out.r, &mut out.u);
        out.natural = file.natural_map(problem.model(), &out.r, &out.u);
        // Below the smallest positive number there is nothing to ask for.
        let next = tolerance * (0.3 * goal / out.natural).min(0.3);
        if s.status != Status::Converged || out.natural <= goal || out.iterations >= iterations || next <= 0.0
        {
            return Ok(out);
        }
        tolerance = next;
    }
}

/// The report on what a solver made of a problem to a `tolerance` over |q|; `[wall_s, cpu_s]` are the times
/// it took.
pub fn judge(
    file: &ContactProblem,
    problem: &Problem,
    tolerance: f64,
    solver: &dyn Solver,
    out: &Outcome,
    [wall_s, cpu_s]: [f64; 2],
) -> Report {
    let solved = out.natural <= tolerance * file.scale();
    let c = certificate(problem, &out.r);
    let convex = problem.model() == FrictionLaw::Ccp;
    let held = file.cannot_move(problem.model());
    let (gap, outside) = duality_gap(problem, &out.r, &out.u);
    // It is a gap only where u belongs to a feasible velocity. A solution to the tolerance is as close as
    // that.
    let feasible = outside <= tolerance.max(FEASIBLE) * file.scale();
    let ratio = |x: f64, y: f64| if x == 0.0 { Some(0.0) } else { Some(x / y).filter(|z| z.is_finite()) };
    Report {
        name: file.name.clone(),
        kind: file.kind,
        contacts: file.contacts(),
        rows: problem.rows(),
        model: problem.model().name(),
        solver: solver.info().name.into(),
        unit: solver.info().unit,
        status: match out.status {
            _ if solved => "solved",
            Status::Converged | Status::Iterations => "iterations",
            Status::Budget => "budget",
            Status::Wedged => "wedged",
            Status::Diverged => "diverged",
        },
        tolerance,
        iterations: out.iterations,
        attempts: out.attempts.clone(),
        wall_s,
        cpu_s,
        objective: convex.then_some(c.dual_objective),
        residual_over_q: ratio(out.natural, file.scale()),
        residual_scaled: c.residual_max,
        cone_violation: c.cone_violation,
        dual_cone_violation: outside,
        duality_gap_rel: ratio(gap, c.dual_objective.abs()).filter(|_| convex && feasible && held.is_none()),
        asymmetry: file.asymmetry(),
        cannot_move: held,
        r: Some(out.r.clone()),
        u: Some(out.u.clone()),
    }
}

/// |Σ ⟨r_i, u_i⟩ + σ_i(-u_i)|, the difference of both objectives where u is dual feasible, and how far it is from that.
fn duality_gap(problem: &Problem, r: &[f64], u: &[f64]) -> (f64, f64) {
    let (mut gap, mut outside) = (0.0, 0.0f64);
    for i in 0..problem.blocks() {
        let (set, rows) = (problem.set(i), problem.block(i));
        let (r, u) = (&r[rows.clone()], &u[rows]);
        let mut law = [0.0; MAX_ROWS];
        let law = &mut law[..u.len()];
        law.copy_from_slice(u);
        if problem.model() == FrictionLaw::Coulomb {
            law[0] += slip_term(set, u);
        }
        // The nearest u that costs no infinite amount.
        let mut near = [0.0; MAX_ROWS];
        let near = &mut near[..u.len()];
        near.copy_from_slice(law);
        set.project_dual(near);
        outside = outside.max(law.iter().zip(near.iter()).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt());
        gap += r.iter().zip(u).map(|(r, u)| r * u).sum::<f64>();
        if !set.is_cone() {
            near.iter_mut().for_each(|x| *x = -*x);
            gap += set.support(near);
        }
    }
    (gap.abs(), outside)
}
