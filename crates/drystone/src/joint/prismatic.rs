//! Prismatic (slider): B slides along the common axis z and does not turn.
//!
//! ```text
//!     a₁·d = 0,  a₂·d = 0;     a₁·b₃ = 0,  a₂·b₃ = 0,  a₁·b₂ = 0;     ∂Ψ/∂t = 0
//!     free: the displacement s = a₃·d
//! ```

use super::equation::{Placed, Sink};

#[inline(always)]
pub(super) fn equations(p: &Placed, out: &mut impl Sink) {
    super::point_on_line::across(p, out);
    p.parallel(true, out);
    out.leave(|| p.slide(p.a(2)));
}
