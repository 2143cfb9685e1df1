//! Rolling disc: a thin disc of radius ρ about the axis z of B rolls without slip on the plane z = 0 of A.
//!
//! ```text
//!     n = a₃,  s = √(1 - (n·b₃)²),  e = (n - (n·b₃) b₃)/s,  c = o_B - ρ e        the lowest point of the disc
//!     n·d - ρ s = 0                                      holonomic: it touches
//!     a_k·(v_B + ω_B × (c - x_B) - v_A - ω_A × (c - x_A)) = 0,  k = 1, 2         nonholonomic: it does not slip
//! ```
//!
//! The derivative of the first is n·(velocity of c), so that all three have one form.

use super::equation::{Placed, Row, Sink, Sort, jacobian};

#[inline(always)]
pub(super) fn equations(radius: f64, p: &Placed, out: &mut impl Sink) {
    let (n, axis) = (p.a(2), p.b(2));
    // A disc that lies flat has no lowest point: any direction stands for it.
    let s = (1.0 - n.dot(axis).powi(2)).max(1e-12).sqrt();
    let down = -radius / s * (n - n.dot(axis) * axis);
    let (arm_a, arm_b) = (p.arm[0] + p.between() + down, p.arm[1] + down);
    for k in [2, 0, 1] {
        let t = p.a(k);
        let jacobian = jacobian(-t, -arm_a.cross(t), t, arm_b.cross(t));
        let touches = k == 2;
        out.push(Row {
            jacobian,
            error: if touches { n.dot(p.between()) - radius * s } else { 0.0 },
            sort: if touches { Sort::Holonomic } else { Sort::Nonholonomic },
            ..Row::default()
        });
    }
}
