//! Universal (Cardan): the origins coincide, and the axis x of A stays at a right angle to the axis y of B: a
//! cross turns about x in A, and B turns about y on the cross.
//!
//! ```text
//!     a_k·d = 0, k = 1, 2, 3;     a₁·b₂ = 0;     ∂Ψ/∂t = 0
//!     free: the angle α of the cross about a₁ and the angle β of B about b₂; with c = a₁ × b₂
//!           α = atan2(a₃·b₂, a₂·b₂),  α̇ = a₁·ω          β = atan2(-c·b₁, a₁·b₁),  β̇ = b₂·ω
//! ```

use super::equation::{Coordinate, Placed, Sink, unwrap};

#[inline(always)]
pub(super) fn equations(p: &Placed, out: &mut impl Sink) {
    super::ball::equations(p, out);
    let (x, y) = (p.a(0), p.b(1));
    out.push(p.align(x, y));
    let alpha = p.a(2).dot(y).atan2(p.a(1).dot(y));
    let beta = (-x.cross(y).dot(p.b(0))).atan2(x.dot(p.b(0)));
    for (k, (axis, turn)) in [(x, alpha), (y, beta)].into_iter().enumerate() {
        let value = unwrap(turn, p.angle[k]);
        out.leave(|| Coordinate { jacobian: p.spin_row(axis), value, angular: true });
    }
}
