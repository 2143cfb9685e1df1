//! Projected symmetric over-relaxation: forward and backward sweeps in turn, steps 5 to 8 of the algorithm in
//! [TasoraAnitescu2008]. Every sweep, forward or backward, counts as one iteration.

use super::fixed_point::{ETA, FixedPoint, LAMBDA, OMEGA, SAFEGUARD, Scheme};
use super::sphere_contacts::PRECISION;
use super::{BadSpec, Info, Solver, Spec};

pub(super) static INFO: Info = Info {
    name: "pssor",
    title: "projected symmetric SOR, forward and backward sweeps in turn",
    use_when: "chains and stacks in which information must travel both ways",
    models: &["ccp", "coulomb"],
    unit: "sweep",
    citation: "TasoraAnitescu2008, section 2",
    params: &[OMEGA, LAMBDA, ETA, SAFEGUARD, PRECISION],
    make,
};

fn make(spec: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    Ok(Box::new(FixedPoint::new(&INFO, Scheme::Symmetric, spec, 1.0)?))
}
