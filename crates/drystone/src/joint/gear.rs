//! Gear: B turns by the ratio i times what A turns, each about its own axis z, which bearings must hold in
//! the world.
//!
//! ```text
//!     θ_B - i θ_A = 0;     ∂Ψ/∂t = 0
//!     θ_K = atan2(r₂·k₁, r₁·k₁),  θ̇_K = ω_K·(k₁ × (r₁·k₁ r₂ - r₂·k₁ r₁))/((r₁·k₁)² + (r₂·k₁)²)
//! ```
//!
//! with r the axes of frame K when the joint was made: angles are from there on, turns counted. Wheels that
//! mesh from outside have axes of one direction and a negative ratio.

use super::equation::{Placed, Row, Sink, jacobian, unwrap};
use glam::{DMat3, DVec3};

#[inline(always)]
pub(super) fn equations(ratio: f64, p: &Placed, out: &mut impl Sink) {
    let [a, b] = [0, 1].map(|k| turned(p, k));
    out.remember(0, a.0);
    out.remember(1, b.0);
    let l = p.length;
    let jacobian = jacobian(DVec3::ZERO, -l * ratio * a.1, DVec3::ZERO, l * b.1);
    out.push(Row { jacobian, error: l * (b.0 - ratio * a.0), angular: true, ..Row::default() });
}

/// The angle of frame `k` from its first place, and its gradient by ω_K.
pub(super) fn turned(p: &Placed, k: usize) -> (f64, DVec3) {
    let now = p.axes[k].x_axis;
    let then = DMat3::from_quat(p.reference[k].rotation);
    let (x, y) = (then.x_axis.dot(now), then.y_axis.dot(now));
    let gradient = now.cross(x * then.y_axis - y * then.x_axis) / (x * x + y * y).max(f64::MIN_POSITIVE);
    (unwrap(y.atan2(x), p.angle[k]), gradient)
}
