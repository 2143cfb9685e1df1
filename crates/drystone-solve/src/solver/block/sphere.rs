//! The contact of two spheres, or of a sphere with a wall, in closed form [RenoufAcary2006, section 4.5].
//! There the arms lie along the normal, so that W has no coupling and no preferred tangent: W = diag(w_n,
//! w_t, w_t).
//!
//! ```text
//!     coulomb     γ_n = max(0, -b_n / w_n),    γ_T = -b_T / w_t, cut to |γ_T| ≤ μ γ_n
//!     ccp         sticking as above if that is in the cone; nothing if μ |b_T| ≤ b_n; else
//!                 γ_n = (μ |b_T| - b_n) / (w_n + μ² w_t),    γ_T = -μ γ_n b_T / |b_T|
//! ```
//!
//! Contacts of other shapes are left to the Newton method of `nsgs-ac`.

use super::newton::Newton;
use super::{BlockSplitting, Local, One, Vector};
use crate::cone::{Set, norm};
use crate::friction_law::FrictionLaw;
use crate::solver::{BadSpec, Info, Solver, Spec};

pub(in crate::solver) static INFO: Info = Info {
    name: "nsgs-sphere",
    title: "block splitting, contacts of spheres in closed form, others as nsgs-ac",
    use_when: "packings of spheres to high accuracy: the cheapest exact local solve",
    models: &["ccp", "coulomb"],
    unit: "sweep",
    citation: "RenoufAcary2006, section 4.5",
    params: &[],
    make,
};

fn make(_: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    Ok(Box::new(BlockSplitting::new(&INFO, Box::new(Sphere { other: Newton::default() }))))
}

struct Sphere {
    other: Newton,
}

impl Local for Sphere {
    fn solve(&mut self, one: &One, gamma: &mut Vector) {
        if !closed_form(one, gamma) {
            self.other.solve(one, gamma);
        }
    }
}

/// False if W is not of that kind.
fn closed_form(one: &One, gamma: &mut Vector) -> bool {
    let mu = match one.set {
        Set::Friction2 { mu } | Set::Friction3 { mu } => mu,
        _ => return false,
    };
    let (n, w, small) = (one.rows, &one.w, 1e-12 * one.g);
    let coupled = (0..n).any(|r| (0..n).any(|c| r != c && w[r][c].abs() > small));
    if coupled || (n == 3 && (w[1][1] - w[2][2]).abs() > small) || w[0][0] <= 0.0 || w[1][1] <= 0.0 {
        return false;
    }
    let (wn, wt, b) = (w[0][0], w[1][1], &one.b);
    let slip = norm(&b[1..n]);
    let normal = (-b[0] / wn).max(0.0);
    let sticks = slip <= mu * normal * wt;
    gamma[0] = match one.model {
        _ if sticks => normal,
        FrictionLaw::Coulomb => normal,
        FrictionLaw::Ccp => ((mu * slip - b[0]) / (wn + mu * mu * wt)).max(0.0),
    };
    for k in 1..n {
        gamma[k] = if sticks { -b[k] / wt } else { -mu * gamma[0] * b[k] / slip };
    }
    true
}
