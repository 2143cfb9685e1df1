//! Cylindrical: B slides along the common axis z and turns about it.
//!
//! ```text
//!     a₁·d = 0,  a₂·d = 0;     a₁·b₃ = 0,  a₂·b₃ = 0;     ∂Ψ/∂t = 0
//!     free: the displacement s = a₃·d and the angle θ = atan2(a₂·b₁, a₁·b₁)
//! ```

use super::equation::{Placed, Sink};

#[inline(always)]
pub(super) fn equations(p: &Placed, out: &mut impl Sink) {
    super::point_on_line::across(p, out);
    p.parallel(false, out);
    out.leave(|| p.slide(p.a(2)));
    out.leave(|| p.angle_about_z(1));
}
