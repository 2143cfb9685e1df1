//! Closed forms for the simple solids of revolution and the ellipsoid.

use std::f64::consts::PI;

use glam::DVec3;

use super::Moments;

pub(super) fn capsule(r: f64, l: f64) -> Moments {
    let volume = PI * r * r * (2.0 * l + 4.0 / 3.0 * r);
    let i = capsule_inertia(r, l, volume);
    Moments::centred(volume, DVec3::new(0.5 * i.z, 0.5 * i.z, i.x - 0.5 * i.z))
}

/// A cylinder of length 2 l and two half balls, each with its own share of the mass.
pub(super) fn capsule_inertia(r: f64, l: f64, mass: f64) -> DVec3 {
    let (cylinder, balls) = (2.0 * l, 4.0 / 3.0 * r);
    let m_c = mass * cylinder / (cylinder + balls);
    let m_s = mass * balls / (cylinder + balls);
    let axial = 0.5 * m_c * r * r + 0.4 * m_s * r * r;
    let across = m_c * (r * r / 4.0 + l * l / 3.0) + m_s * (0.4 * r * r + l * l + 0.75 * l * r);
    DVec3::new(across, across, axial)
}

pub(super) fn cylinder(r: f64, l: f64) -> Moments {
    let volume = PI * r * r * 2.0 * l;
    Moments::centred(volume, volume * DVec3::new(0.25 * r * r, 0.25 * r * r, l * l / 3.0))
}

pub(super) fn cone(r: f64, h: f64) -> Moments {
    let volume = PI * r * r * h / 3.0;
    Moments::centred(volume, volume * DVec3::new(0.15 * r * r, 0.15 * r * r, 0.0375 * h * h))
}

/// The nearer of the base and the side.
pub(super) fn cone_inner_radius(r: f64, h: f64) -> f64 {
    (0.25 * h).min(0.75 * h * r / r.hypot(h))
}

pub(super) fn ellipsoid(half: DVec3) -> Moments {
    let volume = 4.0 / 3.0 * PI * half.x * half.y * half.z;
    Moments::centred(volume, 0.2 * volume * half * half)
}

/// How far a disc across the unit vector `axis` reaches along the coordinate axes: r √(1 − a_k²), from the
/// other two components of the axis where 1 − a_k² would cancel.
pub(super) fn disc_reach(axis: DVec3, radius: f64) -> DVec3 {
    let s = axis * axis;
    radius * DVec3::new(s.y + s.z, s.x + s.z, s.x + s.y).map(f64::sqrt)
}

/// The point of a circle about the z axis furthest along a direction; its centre if the direction is along z.
pub(super) fn rim(radius: f64, direction: DVec3) -> DVec3 {
    (radius * direction.truncate().normalize_or_zero()).extend(0.0)
}
