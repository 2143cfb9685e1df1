//! Rack and pinion: the rack B moves along its axis z by the radius r times the angle of the pinion A about
//! its own axis z. Bearings and guides must hold both axes in the world.
//!
//! ```text
//!     r₃·(o_B - o_B0) - r θ_A = 0;     ∂Ψ/∂t = 0
//! ```
//!
//! with r₃ and o_B0 the axis and origin of frame B when the joint was made, and θ_A as for gears.

use super::equation::{Placed, Row, Sink, jacobian};
use glam::DVec3;

#[inline(always)]
pub(super) fn equations(radius: f64, p: &Placed, out: &mut impl Sink) {
    let (angle, gradient) = super::gear::turned(p, 0);
    out.remember(0, angle);
    let from = &p.reference[1];
    let along = from.rotation * DVec3::Z;
    let jacobian = jacobian(DVec3::ZERO, -radius * gradient, along, p.arm[1].cross(along));
    let error = along.dot(p.origin[1] - from.position) - radius * angle;
    out.push(Row { jacobian, error, ..Row::default() });
}
