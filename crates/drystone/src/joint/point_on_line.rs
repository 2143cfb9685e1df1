//! Point on line: the origin of B stays on the axis z of A; B turns freely.
//!
//! ```text
//!     a₁·d = 0,  a₂·d = 0;     ∂Ψ/∂t = 0
//!     free: the displacement s = a₃·d
//! ```

use super::equation::{Placed, Sink};

/// The two equations without the coordinate.
#[inline(always)]
pub(super) fn across(p: &Placed, out: &mut impl Sink) {
    out.push(p.along(p.a(0)));
    out.push(p.along(p.a(1)));
}

#[inline(always)]
pub(super) fn equations(p: &Placed, out: &mut impl Sink) {
    across(p, out);
    out.leave(|| p.slide(p.a(2)));
}
