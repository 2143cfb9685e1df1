//! Point on plane: the origin of B stays in the plane z = 0 of A; B turns freely.
//!
//! ```text
//!     a₃·d = 0;     ∂Ψ/∂t = 0
//!     free: the displacements a₁·d and a₂·d
//! ```

use super::equation::{Placed, Sink};

#[inline(always)]
pub(super) fn equations(p: &Placed, out: &mut impl Sink) {
    out.push(p.along(p.a(2)));
    out.leave(|| p.slide(p.a(0)));
    out.leave(|| p.slide(p.a(1)));
}
