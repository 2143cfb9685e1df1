//! Trajectory: the origin of B follows given functions of time in A, and so do its axes, if they are given
//! too.
//!
//! ```text
//!     a_k·d - f_k(t) = 0, k = 1, 2, 3;     ∂Ψ/∂t = -ḟ_k
//!     t₁·b₃ = 0,  t₂·b₃ = 0,  t₁·b₂ = 0    with the axes t = R_A exp(φ(t)), φ the rotation vector in the axes of A
//! ```

use super::equation::{Placed, Sink};
use crate::function::Function;
use crate::limits::FARTHEST;
use glam::{DMat3, DQuat, DVec3};

/// The way of a point or a frame.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trajectory {
    /// Of the origin of B along the axes of A, m.
    pub position: [Function; 3],
    /// Rotation vector of B in the axes of A, rad; None leaves it free to turn.
    #[serde(default)]
    pub rotation: Option<[Function; 3]>,
}

impl Trajectory {
    #[inline(always)]
    pub(super) fn equations(&self, p: &Placed, out: &mut impl Sink) {
        let [start, end] = p.time;
        // What a function adds between start and end of the step, per s.
        let slope = |from: f64, to: f64| if end > start { (to - from) / (end - start) } else { 0.0 };
        for k in 0..3 {
            let (from, to) = (self.position[k].value(start), self.position[k].value(end));
            let mut row = p.along(p.a(k));
            row.error -= from;
            row.rate = -slope(from, to);
            out.push(row);
        }
        let Some(rotation) = &self.rotation else { return };
        let target = |t: f64| {
            let phi = DVec3::from_array([0, 1, 2].map(|k| rotation[k].value(t)));
            p.axes[0] * DMat3::from_quat(DQuat::from_scaled_axis(phi))
        };
        let (now, then) = (target(start), target(end));
        for (k, m) in [(0, 2), (1, 2), (0, 1)] {
            let mut row = p.align(now.col(k), p.b(m));
            row.rate = slope(row.error, p.length * then.col(k).dot(p.b(m)));
            out.push(row);
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let mut all = self.position.iter().chain(self.rotation.iter().flatten());
        all.try_for_each(|f| {
            f.check()?;
            f.check_size(FARTHEST, "m or rad").map_err(|e| format!("a function of time {e}"))
        })
    }
}
