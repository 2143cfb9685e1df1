//! Projected Gauss-Jacobi: Algorithm 1 of [TasoraAnitescu2011]. All blocks are updated from the same
//! velocities, so the iteration is parallel as it stands, but it needs a small ω (the paper: 0.2).

use super::fixed_point::{ETA, FixedPoint, LAMBDA, SAFEGUARD, Scheme};
use super::{BadSpec, Info, Param, Solver, Spec};

pub(super) static INFO: Info = Info {
    name: "pgj",
    title: "projected Gauss-Jacobi, Algorithm 1",
    use_when: "comparisons with the papers; one sweep is fully parallel, but many more are needed than with pgs",
    models: &["ccp"],
    unit: "sweep",
    citation: "TasoraAnitescu2011, Algorithm 1",
    params: &[
        Param {
            name: "omega",
            default: "0.2",
            help: "relaxation factor, above 0; halved when assumption A3 fails",
        },
        LAMBDA,
        ETA,
        SAFEGUARD,
    ],
    make,
};

fn make(spec: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    Ok(Box::new(FixedPoint::new(&INFO, Scheme::Jacobi, spec, 0.2)?))
}
