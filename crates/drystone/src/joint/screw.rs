//! Screw: B turns about the common axis z and advances along it by the pitch p in every turn.
//!
//! ```text
//!     a₁·d = 0,  a₂·d = 0,  a₁·b₃ = 0,  a₂·b₃ = 0,  a₃·d - p θ/2π = 0;     ∂Ψ/∂t = 0
//!     free: the angle θ = atan2(a₂·b₁, a₁·b₁), turns counted
//! ```

use std::f64::consts::TAU;

use super::equation::{Placed, Row, Sink};

#[inline(always)]
pub(super) fn equations(pitch: f64, p: &Placed, out: &mut impl Sink) {
    super::point_on_line::across(p, out);
    p.parallel(false, out);
    let (turn, lift) = (p.angle_about_z(0), pitch / TAU);
    let along = p.along(p.a(2));
    let jacobian = std::array::from_fn(|k| along.jacobian[k] - lift * turn.jacobian[k]);
    out.push(Row { jacobian, error: along.error - lift * turn.value, ..Row::default() });
    out.leave(|| turn);
}
