//! Projected Gauss-Seidel: Algorithm 2 of [TasoraAnitescu2011]. Each block sees the velocities left by the
//! blocks before it. Blocks are visited colour by colour, so that lanes and threads can share a sweep without
//! changing its result.

use super::fixed_point::{ETA, FixedPoint, LAMBDA, OMEGA, SAFEGUARD, Scheme};
use super::sphere_contacts::PRECISION;
use super::{BadSpec, Info, Solver, Spec};

pub(super) static INFO: Info = Info {
    name: "pgs",
    title: "projected Gauss-Seidel, Algorithm 2",
    use_when: "the robust default: cheap sweeps, monotone, best with warm starting; slow on tall stacks",
    models: &["ccp", "coulomb"],
    unit: "sweep",
    citation: "TasoraAnitescu2011, Algorithm 2",
    params: &[OMEGA, LAMBDA, ETA, SAFEGUARD, PRECISION],
    make,
};

fn make(spec: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    Ok(Box::new(FixedPoint::new(&INFO, Scheme::Forward, spec, 1.0)?))
}
