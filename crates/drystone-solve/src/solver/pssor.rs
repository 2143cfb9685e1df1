//! Projected symmetric over-relaxation: forward and backward sweeps in turn, steps 5 to 8 of the algorithm in
//! [TasoraAnitescu2008]. Every sweep, forward or backward, counts as one iteration.

use super::fixed_point::{ETA, FixedPoint, LAMBDA, OMEGA, SAFEGUARD, Scheme};
use super::{BadSpec, Info, Malformed, Problem, Solution, Solver, Spec, Stop};

struct Pssor(FixedPoint);

pub(super) static INFO: Info = Info {
    name: "pssor",
    title: "projected symmetric SOR, forward and backward sweeps in turn",
    use_when: "chains and stacks in which information must travel both ways",
    models: &["ccp"],
    unit: "sweep",
    citation: "TasoraAnitescu2008, section 2",
    params: &[OMEGA, LAMBDA, ETA, SAFEGUARD],
    make,
};

fn make(spec: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    Ok(Box::new(Pssor(FixedPoint::new(Scheme::Symmetric, spec, 1.0)?)))
}

impl Solver for Pssor {
    fn info(&self) -> &'static Info {
        &INFO
    }
    fn bytes(&self) -> usize {
        self.0.bytes()
    }
    fn solve(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        self.0.solve(problem, guess, stop)
    }
}
