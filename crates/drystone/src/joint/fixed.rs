//! Fixed (weld): frame B is frame A.
//!
//! ```text
//!     a_k·d = 0, k = 1, 2, 3;     a₁·b₃ = 0,  a₂·b₃ = 0,  a₁·b₂ = 0;     ∂Ψ/∂t = 0
//! ```

use super::equation::{Placed, Sink};

#[inline(always)]
pub(super) fn equations(p: &Placed, out: &mut impl Sink) {
    super::ball::equations(p, out);
    p.parallel(true, out);
}
