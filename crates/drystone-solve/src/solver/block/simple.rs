//! Blocks that need no iteration: bilateral rows, limits, intervals, and contacts without friction.

use crate::cone::Set;

use super::{One, Vector};

/// Solves such a block; false if it is not one.
pub(super) fn solve(one: &One, gamma: &mut Vector) -> bool {
    let (lo, hi) = match one.set {
        Set::Free => (f64::NEG_INFINITY, f64::INFINITY),
        Set::NonNegative => (0.0, f64::INFINITY),
        Set::Interval { lo, hi } => (lo, hi),
        Set::Friction2 { mu: 0.0 } | Set::Friction3 { mu: 0.0 } => (0.0, f64::INFINITY),
        Set::Friction2 { .. } | Set::Friction3 { .. } | Set::Rolling5 { .. } => return false,
    };
    gamma[1..].fill(0.0);
    if one.w[0][0] > 0.0 {
        gamma[0] = (-one.b[0] / one.w[0][0]).clamp(lo, hi);
    }
    true
}

/// A contact that opens or sticks: γ = 0 where b is in the dual cone, γ = -W⁻¹ b where that is in the cone;
/// the same in both laws, because nothing slides. False if it is neither.
pub(super) fn sticks(one: &One, gamma: &mut Vector) -> bool {
    let Set::Friction3 { mu } = one.set else { return false };
    let slip = |x: &Vector| (x[1] * x[1] + x[2] * x[2]).sqrt();
    if mu * slip(&one.b) <= one.b[0] {
        gamma.fill(0.0);
        return true;
    }
    let w = &one.w;
    let cofactor = |i: usize, j: usize| {
        let (a, b, c, d) = ((i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3);
        w[a][c] * w[b][d] - w[a][d] * w[b][c]
    };
    let determinant: f64 = (0..3).map(|j| w[0][j] * cofactor(0, j)).sum();
    // Far below what three independent rows have: the multipliers that stick are not unique, or not there.
    if !(determinant > 1e-10 * one.g * one.g * one.g) {
        return false;
    }
    let mut x = [0.0; crate::cone::MAX_ROWS];
    for i in 0..3 {
        x[i] = -(0..3).map(|j| cofactor(j, i) * one.b[j]).sum::<f64>() / determinant;
    }
    let holds = slip(&x) <= mu * x[0];
    if holds {
        *gamma = x;
    }
    holds
}
