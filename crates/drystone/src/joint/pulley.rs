//! Pulley: a rope over two points P_A and P_B of the world; with a block and tackle the side of B counts i
//! times.
//!
//! ```text
//!     |o_A - P_A| + i |o_B - P_B| - ℓ = 0;     ∂Ψ/∂t = 0
//!     Ψ̇ = n_A·(v_A + ω_A × r_A) + i n_B·(v_B + ω_B × r_B),     n_K = (o_K - P_K)/|o_K - P_K|
//! ```

use super::equation::{Placed, Row, Sink, jacobian};
use glam::DVec3;

#[inline(always)]
pub(super) fn equations(points: [DVec3; 2], ratio: f64, length: f64, p: &Placed, out: &mut impl Sink) {
    let side = [0, 1].map(|k| p.origin[k] - points[k]);
    let [na, nb] = side.map(|s| s.try_normalize().unwrap_or(DVec3::NEG_Z));
    let jacobian = jacobian(na, p.arm[0].cross(na), ratio * nb, ratio * p.arm[1].cross(nb));
    let error = side[0].length() + ratio * side[1].length() - length;
    out.push(Row { jacobian, error, ..Row::default() });
}
