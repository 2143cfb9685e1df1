//! Revolute (hinge): B turns about the common axis z through the common origin.
//!
//! ```text
//!     a_k·d = 0, k = 1, 2, 3;     a₁·b₃ = 0,  a₂·b₃ = 0;     ∂Ψ/∂t = 0
//!     free: the angle θ = atan2(a₂·b₁, a₁·b₁),  θ̇ = a₃·ω
//! ```

use super::equation::{Placed, Sink};

#[inline(always)]
pub(super) fn equations(p: &Placed, out: &mut impl Sink) {
    super::ball::equations(p, out);
    p.parallel(false, out);
    out.leave(|| p.angle_about_z(0));
}
