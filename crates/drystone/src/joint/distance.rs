//! Distance: the origins stay ℓ apart (a massless rod with ball joints), or no further than ℓ (a rope), or
//! are drawn together by a spring with a damper.
//!
//! ```text
//!     rod      |d| - ℓ = 0;          rope     ℓ - |d| ≥ 0;          spring     f = -k (|d| - ℓ) - c |d|˙
//!     ∂Ψ/∂t = 0;     free: |d| (not of the rod)
//! ```

use super::equation::{Coordinate, Placed, Row, Sink, Sort, scaled};

#[inline(always)]
pub(super) fn rod(length: f64, p: &Placed, out: &mut impl Sink) {
    out.push(Row { jacobian: p.length_row(), error: p.between().length() - length, ..Row::default() });
}

#[inline(always)]
pub(super) fn rope(length: f64, p: &Placed, out: &mut impl Sink) {
    let jacobian = scaled(p.length_row(), -1.0);
    let error = length - p.between().length();
    out.push(Row { jacobian, error, sort: Sort::Unilateral, ..Row::default() });
    leave(p, out);
}

#[inline(always)]
pub(super) fn spring(length: f64, stiffness: f64, damping: f64, p: &Placed, out: &mut impl Sink) {
    let error = p.between().length() - length;
    let sort = Sort::Elastic { stiffness, damping };
    out.push(Row { jacobian: p.length_row(), error, sort, ..Row::default() });
    leave(p, out);
}

#[inline(always)]
fn leave(p: &Placed, out: &mut impl Sink) {
    out.leave(|| Coordinate { jacobian: p.length_row(), value: p.between().length(), angular: false });
}
