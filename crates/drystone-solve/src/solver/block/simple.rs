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
