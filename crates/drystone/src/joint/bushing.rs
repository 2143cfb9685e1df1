//! Bushing: springs and dampers along and about the axes of A, instead of equations.
//!
//! ```text
//!     f_k = -k_k a_k·d - c_k (a_k·d)˙,  k = 1, 2, 3
//!     τ   = -κ φ - χ φ̇,     φ = (-a₂·b₃, a₁·b₃, -a₁·b₂)     the small angles about the axes of A
//! ```
//!
//! The torques follow from the potential ½ Σ κ_k φ_k²: they conserve energy at any angle, but are those of a
//! linear spring only while sin φ ≈ φ.

use super::equation::{Placed, Sink, Sort};
use crate::limits::{STIFFEST, up_to};
use glam::DVec3;

/// Stiffness and damping of a bushing along and about three axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bushing {
    /// N/m
    pub stiffness: DVec3,
    /// N s/m
    pub damping: DVec3,
    /// N m/rad
    pub angular_stiffness: DVec3,
    /// N m s/rad
    pub angular_damping: DVec3,
}

impl Bushing {
    #[inline(always)]
    pub(super) fn equations(&self, p: &Placed, out: &mut impl Sink) {
        for k in 0..3 {
            let sort = Sort::Elastic { stiffness: self.stiffness[k], damping: self.damping[k] };
            out.push(super::Row { sort, ..p.along(p.a(k)) });
        }
        // Rows of angles are in m: L φ.
        let scale = 1.0 / (p.length * p.length);
        for (axis, row) in
            [(0, p.align(p.a(1), p.b(2))), (1, p.align(p.a(0), p.b(2))), (2, p.align(p.a(0), p.b(1)))]
        {
            let (stiffness, damping) = (self.angular_stiffness[axis], self.angular_damping[axis]);
            let sort = Sort::Elastic { stiffness: scale * stiffness, damping: scale * damping };
            out.push(super::Row { sort, ..row });
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let all = [
            ("stiffness", self.stiffness),
            ("damping", self.damping),
            ("angular_stiffness", self.angular_stiffness),
            ("angular_damping", self.angular_damping),
        ];
        if let Some((name, v)) = all.iter().find(|(_, v)| !(v.is_finite() && v.min_element() >= 0.0)) {
            return Err(format!("{name} must be finite and not negative, got {v}"));
        }
        let unit = "(N, m, rad, s)";
        all.iter().try_for_each(|(name, v)| up_to(name, v.max_element(), STIFFEST, unit))
    }
}
