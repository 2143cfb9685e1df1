//! Planar: B stays in the plane z = 0 of A and turns about its normal only.
//!
//! ```text
//!     a₃·d = 0;     a₁·b₃ = 0,  a₂·b₃ = 0;     ∂Ψ/∂t = 0
//!     free: the displacements a₁·d and a₂·d, and the angle θ = atan2(a₂·b₁, a₁·b₁)
//! ```

use super::equation::{Placed, Sink};

#[inline(always)]
pub(super) fn equations(p: &Placed, out: &mut impl Sink) {
    out.push(p.along(p.a(2)));
    p.parallel(false, out);
    out.leave(|| p.slide(p.a(0)));
    out.leave(|| p.slide(p.a(1)));
    out.leave(|| p.angle_about_z(2));
}
