//! Projected Gauss-Seidel sweeps with Nesterov's momentum, restarted where it leads away.
//!
//! A sweep maps γ to S(γ). Sweeps start beyond the last result, as the steps of accelerated gradient methods
//! do [Nesterov1983]:
//!
//! ```text
//!     y_k = γ_k + β_k (γ_k - γ_k-1),     γ_k+1 = S(y_k),     β_k = k / (k + 3)
//!     ⟨γ_k+1 - y_k, γ_k+1 - γ_k⟩ < 0:    k ← 0               restart
//! ```
//!
//! The test is the gradient scheme of [ODonoghueCandes2015] with what the sweep did, y_k - S(y_k), in place
//! of the gradient, in the metric Σ ⟨., .⟩ / (ωη_i). It costs nothing beside the sweep. As long as the same
//! contacts stick and slide, S is affine, the iteration that of a preconditioned gradient, and Gauss-Seidel
//! the preconditioner: about two thirds of the iterations of `apgd`, at about half the price each
//! (`docs/decisions/0020-fewer-multiplications.md`). There is no proof of convergence: what is returned is
//! the result of a sweep that the certificate accepts (relaxed law, contacts of spheres in f32: after the few
//! of them that were above the tolerance have been solved by themselves, see `settle`), or the best one by
//! the sweeps' own measure, and (relaxed law) never one with a higher objective than the start.
//!
//! The step of a block is one over a bound of its largest eigenvalue, not over its mean diagonal as in `pgs`:
//! momentum and sweeps that ask a block for more than solves it do not go together (with steps 1.3 times as
//! long one step of fifty of 220 spheres never ends). Contacts of spheres have two steps in f32, η_n along
//! the normal and η_t across, with which a sweep solves each contact exactly
//! (`docs/decisions/0019-two-scales-for-a-cone.md`): where all could rest, unless `scaling=trace`. Sweeps
//! know the exact law, so that S may be theirs.

use super::first_order::{CONE_SCALING, Scaling};
use super::fixed_point::{FixedPoint, Scheme};
use super::nncg::Momentum;
use super::sphere_contacts::PRECISION;
use super::{BadSpec, Info, Param, Solver, Spec};
use crate::problem::Problem;

pub(super) static INFO: Info = Info {
    name: "apgs",
    title: "projected Gauss-Seidel sweeps with Nesterov's momentum and restart",
    use_when: "heaps and piles to the default tolerance: the least time of all that factor nothing",
    models: &["ccp", "coulomb"],
    unit: "sweep",
    citation: "Nesterov1983; ODonoghueCandes2015, gradient scheme",
    params: &[SCALING, PRECISION],
    make,
};

const SCALING: Param = Param {
    help: "cone: two steps for each contact of spheres in f32, along its normal and across, where all could rest, else trace; trace: one step for each block",
    ..CONE_SCALING
};

fn make(spec: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    let scaling = Scaling::parse_cone(spec)?;
    if scaling == Scaling::None {
        return Err(BadSpec::unknown("scaling", "none", &["cone", "trace"]));
    }
    let sweeps = FixedPoint::new(&INFO, Scheme::Forward, spec, 1.0)?;
    Ok(Box::new(sweeps.with_momentum(Momentum::Nesterov).with_cone(scaling == Scaling::Cone)))
}

/// β after `k` sweeps without a restart.
pub(super) fn beta(k: u32) -> f64 {
    f64::from(k) / (f64::from(k) + 3.0)
}

/// A bound of the largest eigenvalue of block `i`, at most 1.1 times that with three rows: the Frobenius norm
/// of the eighth power, whose root that is. Zero where nothing can move.
pub(super) fn largest_eigenvalue(problem: &Problem, i: usize) -> f64 {
    let [g, bound] = problem.block_diagonal(i);
    // Equal where only one row counts.
    if !(bound > g) {
        return bound;
    }
    let n = problem.block(i).len();
    let mut m = problem.block_matrix(i);
    m.as_flattened_mut().iter_mut().for_each(|x| *x /= bound);
    for _ in 0..3 {
        let half = m;
        for r in 0..n {
            for c in 0..n {
                m[r][c] = (0..n).map(|k| half[r][k] * half[k][c]).sum();
            }
        }
    }
    let norm = m[..n].iter().flat_map(|row| &row[..n]).map(|x| x * x).sum::<f64>().sqrt();
    bound * norm.powf(0.125).min(1.0)
}
