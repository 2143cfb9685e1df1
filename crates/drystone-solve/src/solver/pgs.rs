//! Projected Gauss-Seidel: Algorithm 2 of [TasoraAnitescu2011]. Each block sees the velocities left by the blocks before
//! it. Blocks are visited colour by colour, so that lanes and threads can share a sweep without changing its result.

use super::fixed_point::{ETA, FixedPoint, LAMBDA, OMEGA, SAFEGUARD, Scheme};
use super::{BadSpec, Info, Malformed, Problem, Solution, Solver, Spec, Stop};

struct Pgs(FixedPoint);

pub(super) static INFO: Info = Info {
    name: "pgs",
    title: "projected Gauss-Seidel, Algorithm 2",
    use_when: "the robust default: cheap sweeps, monotone, best with warm starting; slow on tall stacks",
    models: &["ccp"],
    unit: "sweep",
    citation: "TasoraAnitescu2011, Algorithm 2",
    params: &[OMEGA, LAMBDA, ETA, SAFEGUARD],
    make,
};

fn make(spec: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    Ok(Box::new(Pgs(FixedPoint::new(Scheme::Forward, spec, 1.0)?)))
}

impl Solver for Pgs {
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
