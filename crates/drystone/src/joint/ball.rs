//! Ball (spherical): the origins coincide, B turns freely.
//!
//! ```text
//!     a_k·d = 0, k = 1, 2, 3;     ∂Ψ/∂t = 0
//! ```

use super::equation::{Placed, Sink};

#[inline(always)]
pub(super) fn equations(p: &Placed, out: &mut impl Sink) {
    (0..3).for_each(|k| out.push(p.along(p.a(k))));
}
