//! Knife edge: the origin of B does not move across the blade, which lies along the axis x of B; seen from A.
//! Nonholonomic: it restricts velocities, not places. A skate, or a thin wheel seen from above.
//!
//! ```text
//!     b₂·(v_B + ω_B × r_B - v_A - ω_A × (r_A + d)) = 0
//! ```

use super::equation::{Placed, Row, Sink, Sort};

#[inline(always)]
pub(super) fn equations(p: &Placed, out: &mut impl Sink) {
    let jacobian = p.along_row(p.b(1));
    out.push(Row { jacobian, sort: Sort::Nonholonomic, ..Row::default() });
}
