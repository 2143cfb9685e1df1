//! The whole problem of an island as one linear complementarity problem on cones of facets, by Lemke's
//! method [StewartTrinkle1996; Anitescu2005]: what the hard-constraint papers did in every step, in place
//! of cones.
//!
//! Each island is cut into facets (`lcp::polyhedral`), formed as a dense matrix and solved by pivots; under
//! the relaxed law the convex form, under Coulomb's the one of Stewart and Trinkle. `Converged` says that
//! every island's LCP is solved to rounding, by its own residual max |min(z, w)|; on the round cones a
//! residual of about μ (π/ν)² of the sliding speed stays, which the certificate shows.
//!
//! The pivots begin from the basis that a first-order solution suggests (`lcp::crash`): conjugate sweeps and
//! what `auto` does on the round cones, then sweeps on the facets. `crash=off` begins at w, as the textbook
//! does.
//!
//! Where the pivots or the time run out, or the path ends on a ray, sweeps over the same facets (`nsgs-qp`)
//! go on from the guess, one at least, and the status says that it is no solution.

use std::time::Instant;

use crate::friction_law::FrictionLaw;
use crate::lcp::{Facets, Form, LcpStatus, Lemke, Near, Polyhedral, polyhedral_while};
use crate::problem::islands::{Extract, Islands};
use crate::problem::{Malformed, Problem};

use super::block::facets_of;
use super::{Attempt, BadSpec, Info, Param, Solution, Solver, Spec, Status, Stop};

pub(super) static INFO: Info = Info {
    name: "lemke",
    title: "each island as one linear complementarity problem on cones of facets, by Lemke's method",
    use_when: "comparisons with LCP time stepping; a few hundred contacts an island, no joints",
    models: &["polyhedral"],
    unit: "pivot",
    citation: "Anitescu2005; CottlePangStone1992, algorithm 4.4.5; DirkseFerris1997",
    params: &[super::block::FACETS, super::block::CONE, CRASH],
    make,
};

const CRASH: Param = Param {
    name: "crash",
    default: "on",
    help: "on: pivots begin at the basis of a first-order solution; off: at that of w",
};

/// Sweeps over the facets of an island that pivots did not solve.
const SWEEPS: usize = 500;
/// The basis is guessed from so many conjugate sweeps on the round cones; if they do not reach the tolerance,
/// m/s over the largest speed without multipliers, from so many iterations of any method; and then from so
/// many sweeps on the facets.
const SWEPT: usize = 5000;
const ANY: usize = 1000;
const REACH: f64 = 1e-9;
const FACETED: usize = 100;

struct Pivots {
    facets: Facets,
    lemke: Lemke,
    islands: Islands,
    island: Extract,
    /// On the facets, for the guess and for what pivots leave.
    sweeps: Box<dyn Solver>,
    /// On the round cones, for the guess, one after the other until one is within the tolerance; none for
    /// `crash=off`.
    round: Vec<(Box<dyn Solver>, usize)>,
}

fn make(spec: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    let facets = facets_of(spec)?;
    let cone = if facets.outer { "outer" } else { "inner" };
    let sweeps = super::make(&format!("nsgs-qp:facets={},cone={cone}", facets.count))?;
    let round = match spec.text("crash") {
        None | Some("on") => vec![(super::make("nncg")?, SWEPT), (super::make("auto")?, ANY)],
        Some("off") => Vec::new(),
        Some(other) => return Err(BadSpec::unknown("crash", other, &["on", "off"])),
    };
    Ok(Box::new(Pivots {
        facets,
        lemke: Lemke::default(),
        islands: Islands::default(),
        island: Extract::default(),
        sweeps,
        round,
    }))
}

impl Pivots {
    /// Where the pivots begin, from the multipliers of a guess; None: at w.
    fn near(
        &mut self,
        cut: &Polyhedral,
        problem: &Problem,
        gamma: &[f64],
        stop: &Stop,
        begun: Instant,
    ) -> Result<Option<Near>, Malformed> {
        if self.round.is_empty() {
            return Ok(None);
        }
        let mut r = Vec::new();
        problem.rhs(&mut r);
        let largest = r.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let mut at = gamma.to_vec();
        let mut go_on = |solver: &mut dyn Solver, iterations, tolerance| -> Result<Status, Malformed> {
            let budget = stop.time_left(begun);
            let stop =
                Stop { tolerance, iterations, budget, interrupt: stop.interrupt.clone(), history: false };
            let s = solver.solve(problem, Some(&at), &stop)?;
            if s.status != Status::Diverged && s.gamma.iter().all(|x| x.is_finite()) {
                at = s.gamma;
            }
            Ok(s.status)
        };
        for (solver, iterations) in &mut self.round {
            if go_on(solver.as_mut(), *iterations, REACH * largest)? == Status::Converged {
                break;
            }
        }
        go_on(self.sweeps.as_mut(), FACETED, 0.0)?;
        Ok(Some(cut.near(problem, &at)))
    }

    /// Solves one island from the multipliers in `gamma`, and leaves the solution there. Its pivots,
    /// whether they solved it, and the sweeps.
    fn island(
        &mut self,
        problem: &Problem,
        gamma: &mut [f64],
        stop: &Stop,
        begun: Instant,
    ) -> Result<(usize, bool, usize), Malformed> {
        let form = if problem.model() == FrictionLaw::Ccp { Form::Convex } else { Form::StewartTrinkle };
        let more = || !stop.is_late(begun);
        let cut = polyhedral_while(problem, form, self.facets, &more)?;
        let mut pivots = 0;
        // Late here, it may have been late before the last column.
        if more() {
            let near = self.near(&cut, problem, gamma, stop, begun)?;
            let found = match &near {
                Some(near) => self.lemke.solve_near_while(&cut.lcp, near, stop.iterations, &more)?,
                None => self.lemke.solve_while(&cut.lcp, stop.iterations, &more)?,
            };
            pivots = found.iterations;
            if found.status == LcpStatus::Solved {
                gamma.copy_from_slice(&cut.multipliers(&found.z));
                return Ok((pivots, true, 0));
            }
        }
        let (iterations, budget) = (SWEEPS.min(stop.iterations), stop.time_left(begun));
        let stop = Stop { iterations, budget, ..stop.clone() };
        let s = self.sweeps.solve(problem, Some(gamma), &stop)?;
        if s.status != Status::Diverged {
            gamma.copy_from_slice(&s.gamma);
        }
        Ok((pivots, false, s.iterations))
    }
}

impl Solver for Pivots {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn bytes(&self) -> usize {
        self.islands.bytes() + self.sweeps.bytes() + self.round.iter().map(|(s, _)| s.bytes()).sum::<usize>()
    }

    fn solve(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        problem.check()?;
        let begun = Instant::now();
        let mut out = Solution::start(problem, guess);
        let (mut solved, mut pivots, mut sweeps) = (true, 0, 0);
        if let Problem::Bodies(p) = problem {
            let mut islands = std::mem::take(&mut self.islands);
            islands.find(p);
            let mut island = std::mem::take(&mut self.island);
            for k in 0..islands.len() {
                islands.extract(p, k, &mut island);
                let mut gamma: Vec<f64> = island.rows.iter().map(|row| out.gamma[*row as usize]).collect();
                let (done, well, more) = self.island(&island.problem, &mut gamma, stop, begun)?;
                island.rows.iter().zip(gamma).for_each(|(row, x)| out.gamma[*row as usize] = x);
                (pivots, solved, sweeps) = (pivots.max(done), solved & well, sweeps.max(more));
            }
            (self.islands, self.island) = (islands, island);
        } else {
            (pivots, solved, sweeps) = self.island(problem, &mut out.gamma, stop, begun)?;
        }
        out.iterations = pivots;
        out.status = match solved {
            true => Status::Converged,
            false if stop.is_late(begun) => Status::Budget,
            false => Status::Iterations,
        };
        if !solved {
            let status = out.status;
            let attempt = |solver, unit, iterations| Attempt { solver, unit, iterations, status };
            out.attempts = vec![attempt("lemke", "pivot", pivots), attempt("nsgs-qp", "sweep", sweeps)];
        }
        Ok(out)
    }
}
