//! The local problem by Newton's method [RenoufAcary2006, section 4.4], safeguarded.
//!
//! Coulomb, with x = γ - ρ u and the disc of radius μ x_n⁺ [AlartCurnier1991]:
//!
//! ```text
//!     Φ_n = γ_n - x_n⁺,      Φ_T = γ_T - P(x_T; μ x_n⁺),      ρ_n = 1/W_nn,  ρ_T = 1/max W_tt
//! ```
//!
//! Relaxed: the natural map Φ = γ - P_K(γ - ρ u), ρ = 1/g. Both are piecewise smooth, and with u = W γ + b
//! the only unknown is γ: Φ' = 1 - P'(x) (1 - ρ W), a matrix of two or three rows.
//!
//! Steps are halved until |Φ| falls. Where that fails, or the end is not better than the start by the natural
//! map, or where the block has five rows, projections take over (see `projection`).

use super::projection::extragradient;
use super::{BlockSplitting, Local, Matrix, One, Vector};
use crate::cone::{MAX_ROWS, Set, norm};
use crate::friction_law::FrictionLaw;
use crate::solver::{BadSpec, Info, Solver, Spec};

pub(in crate::solver) static INFO: Info = Info {
    name: "nsgs-ac",
    title: "block splitting, each contact by Newton's method on the function of Alart and Curnier",
    use_when: "exact Coulomb to high accuracy; piles and walls whose contacts are strongly coupled inside",
    models: &["ccp", "coulomb"],
    unit: "sweep",
    citation: "RenoufAcary2006, section 4.4; AlartCurnier1991",
    params: &[],
    make,
};

fn make(_: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    Ok(Box::new(BlockSplitting::new(&INFO, Box::new(Newton::default()))))
}

const STEPS: usize = 30;
const HALVINGS: usize = 8;
/// |Φ| over the multipliers at which it ends: below this steps are rounding, and are halved in vain.
const PRECISE: f64 = 1e-14;
/// A residual, over the multipliers, that needs no other method.
const ENOUGH: f64 = 1e-13;

/// See the module.
#[derive(Debug, Default)]
pub(in crate::solver) struct Newton {}

impl Local for Newton {
    fn solve(&mut self, one: &One, gamma: &mut Vector) {
        let mu = match one.set {
            Set::Friction2 { mu } | Set::Friction3 { mu } => mu,
            _ => return extragradient(one, gamma, 100, 1e-4),
        };
        let start = *gamma;
        let before = one.residual(&start);
        if before == 0.0 {
            return;
        }
        match one.rows {
            3 => iterate::<3>(one, mu, gamma),
            _ => iterate::<2>(one, mu, gamma),
        }
        one.set_admissible(gamma);
        let after = one.residual(gamma);
        // `!(<=)` so that a NaN counts as worse.
        if !(after <= 1e-3 * before)
            && !(after <= ENOUGH * (norm(&gamma[..one.rows]) + norm(&start[..one.rows])))
        {
            if !(after <= before) {
                *gamma = start;
            }
            extragradient(one, gamma, 100, 1e-4);
        }
    }
}

/// With as many rows as the block has: loops of known length.
fn iterate<const N: usize>(one: &One, mu: f64, gamma: &mut Vector) {
    let n = N;
    let (mut phi, mut slope) = function::<N>(one, mu, gamma);
    let mut size = norm(&phi[..n]);
    for _ in 0..STEPS {
        let scale = norm(&gamma[..n]) + norm(&one.b[..n]) / one.g;
        if !(size > PRECISE * scale) {
            return;
        }
        let Some(step) = linear_solve(n, slope, phi) else { return };
        let mut length = 1.0;
        let mut found = false;
        for _ in 0..HALVINGS {
            let trial: Vector = std::array::from_fn(|k| gamma[k] - length * step[k]);
            let (f, s) = function::<N>(one, mu, &trial);
            let new = norm(&f[..n]);
            if new < (1.0 - 1e-4 * length) * size {
                (*gamma, phi, slope, size) = (trial, f, s, new);
                found = true;
                break;
            }
            length *= 0.5;
        }
        if !found {
            return;
        }
    }
}

/// Φ and its derivative.
#[inline(always)]
fn function<const N: usize>(one: &One, mu: f64, gamma: &Vector) -> (Vector, Matrix) {
    let n = N;
    let u = one.velocity(gamma);
    let tangent = (1..n).map(|k| one.w[k][k]).fold(0.0, f64::max);
    let rho: Vector = std::array::from_fn(|k| match (one.model, k) {
        (FrictionLaw::Ccp, _) => 1.0 / one.g,
        (FrictionLaw::Coulomb, 0) => 1.0 / one.w[0][0].max(f64::MIN_POSITIVE),
        (FrictionLaw::Coulomb, _) => 1.0 / tangent.max(f64::MIN_POSITIVE),
    });
    let x: Vector = std::array::from_fn(|k| if k < n { gamma[k] - rho[k] * u[k] } else { 0.0 });
    let (p, dp) = match one.model {
        FrictionLaw::Ccp => cone(n, mu, &x),
        FrictionLaw::Coulomb => disc(n, mu, &x),
    };
    let mut phi = [0.0; MAX_ROWS];
    let mut slope = [[0.0; MAX_ROWS]; MAX_ROWS];
    for r in 0..n {
        phi[r] = gamma[r] - p[r];
        for c in 0..n {
            // dx_k/dγ_c = δ_kc - ρ_k W_kc
            let chain: f64 = (0..n).map(|k| dp[r][k] * (f64::from(k == c) - rho[k] * one.w[k][c])).sum();
            slope[r][c] = f64::from(r == c) - chain;
        }
    }
    (phi, slope)
}

/// (x_n⁺, P(x_T; μ x_n⁺)) and one of its derivatives.
#[inline(always)]
pub(in crate::solver) fn disc(n: usize, mu: f64, x: &Vector) -> (Vector, Matrix) {
    let (mut p, mut d) = ([0.0; MAX_ROWS], [[0.0; MAX_ROWS]; MAX_ROWS]);
    if x[0] <= 0.0 {
        return (p, d);
    }
    (p[0], d[0][0]) = (x[0], 1.0);
    let (t, radius) = (norm(&x[1..n]), mu * x[0]);
    for k in 1..n {
        if t <= radius {
            (p[k], d[k][k]) = (x[k], 1.0);
            continue;
        }
        let e = x[k] / t;
        p[k] = radius * e;
        d[k][0] = mu * e;
        for c in 1..n {
            d[k][c] = radius / t * (f64::from(k == c) - e * x[c] / t);
        }
    }
    (p, d)
}

/// The projection on the friction cone and one of its derivatives.
#[inline(always)]
pub(in crate::solver) fn cone(n: usize, mu: f64, x: &Vector) -> (Vector, Matrix) {
    let (mut p, mut d) = ([0.0; MAX_ROWS], [[0.0; MAX_ROWS]; MAX_ROWS]);
    let t = norm(&x[1..n]);
    if mu * t <= -x[0] {
        return (p, d);
    }
    if t <= mu * x[0] {
        for k in 0..n {
            (p[k], d[k][k]) = (x[k], 1.0);
        }
        return (p, d);
    }
    let c = 1.0 / (1.0 + mu * mu);
    let normal = (mu * t + x[0]) * c;
    (p[0], d[0][0]) = (normal, c);
    for k in 1..n {
        let e = x[k] / t;
        p[k] = mu * normal * e;
        d[0][k] = c * mu * e;
        d[k][0] = c * mu * e;
        for j in 1..n {
            let f = x[j] / t;
            d[k][j] = c * mu * mu * e * f + mu * normal / t * (f64::from(k == j) - e * f);
        }
    }
    (p, d)
}

/// a x = b with row exchanges; None for a singular matrix.
#[inline]
pub(super) fn linear_solve(n: usize, mut a: Matrix, mut b: Vector) -> Option<Vector> {
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs()))?;
        if !(a[pivot][k].abs() > 1e-14) {
            return None;
        }
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..n {
            let f = a[i][k] / a[k][k];
            for j in k..n {
                a[i][j] -= f * a[k][j];
            }
            b[i] -= f * b[k];
        }
    }
    for i in (0..n).rev() {
        for j in i + 1..n {
            b[i] -= a[i][j] * b[j];
        }
        b[i] /= a[i][i];
    }
    Some(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Both derivatives against differences.
        #[test]
        fn derivatives_match_differences(x in prop::array::uniform3(-1.0..1.0f64), mu in 0.05..1.5f64, relaxed: bool) {
            let part = |x: &Vector| if relaxed { cone(3, mu, x) } else { disc(3, mu, x) };
            let x = [x[0], x[1], x[2], 0.0, 0.0];
            let (p, d) = part(&x);
            for c in 0..3 {
                let mut y = x;
                y[c] += 1e-6;
                let mut z = x;
                z[c] -= 1e-6;
                let (q, e) = part(&y);
                let (o, f) = part(&z);
                // Away from the joints of two pieces.
                prop_assume!((0..3).all(|r| (e[r][c] - d[r][c]).abs() + (f[r][c] - d[r][c]).abs() < 1e-3));
                for r in 0..3 {
                    prop_assert!(((q[r] - o[r]) / 2e-6 - d[r][c]).abs() < 1e-4, "{p:?}");
                }
            }
        }
    }
}
