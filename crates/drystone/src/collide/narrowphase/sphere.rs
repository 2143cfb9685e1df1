//! A sphere against any bounded convex shape: always exactly one point.

use glam::DVec3;

use super::convex::Convex;
use super::{ContactPoint, Core, Cuboid, sign};
use crate::shape::Pose;

/// Squared lengths below this lose digits to underflow: the direction they belong to is not trusted.
const VANISHING: f64 = 1e-280;

/// Squared distance, at things of the given size, below which rounding decides the direction.
pub(super) fn vanishing(size: f64) -> f64 {
    (1e-13 * size).powi(2).max(VANISHING)
}

/// The contact of two spheres, A at `ca` and B at `cb`, at any distance. Coincident centres: normal +z for
/// the larger.
#[inline]
pub fn sphere_sphere(ca: DVec3, ra: f64, cb: DVec3, rb: f64) -> ContactPoint {
    round(ca, ra, cb, rb, VANISHING, if ra < rb { DVec3::NEG_Z } else { DVec3::Z })
}

/// The contact of the ball about `pa` with the ball about `pb`; `fallback` is the normal when the squared
/// distance of their centres is at most `vanishing`.
#[inline]
pub(super) fn round(pa: DVec3, ra: f64, pb: DVec3, rb: f64, vanishing: f64, fallback: DVec3) -> ContactPoint {
    let b_to_a = pa - pb;
    let squared = b_to_a.length_squared();
    let distance = squared.sqrt();
    let normal = if squared > vanishing { b_to_a / distance } else { fallback };
    ContactPoint {
        on_a: pa - normal * ra,
        on_b: pb + normal * rb,
        normal,
        gap: distance - (ra + rb),
        feature: 0,
    }
}

/// A is the sphere. With the centre on the core, any direction across the axis is a shortest way out.
pub(super) fn sphere_capsule(centre: DVec3, radius: f64, capsule: &Core) -> ContactPoint {
    let along = (centre - capsule.centre).dot(capsule.axis).clamp(-capsule.half_length, capsule.half_length);
    let on_core = capsule.centre + capsule.axis * along;
    let across = capsule.axis.any_orthonormal_vector();
    round(centre, radius, on_core, capsule.radius, vanishing(radius + capsule.radius), across)
}

/// A is the sphere. With the centre inside the box, the way out is through the nearest face.
pub(super) fn sphere_box(centre: DVec3, radius: f64, cuboid: &Cuboid) -> ContactPoint {
    let p = cuboid.inward(centre - cuboid.centre);
    let mut beyond = [0.0; 3];
    let mut nearest = [0.0; 3];
    for k in 0..3 {
        nearest[k] = p[k].clamp(-cuboid.half[k], cuboid.half[k]);
        beyond[k] = p[k] - nearest[k];
    }
    let squared = beyond[0] * beyond[0] + beyond[1] * beyond[1] + beyond[2] * beyond[2];
    let (normal, distance);
    if squared > VANISHING {
        distance = squared.sqrt();
        normal = cuboid.outward(beyond) / distance;
    } else {
        let height = |k: usize| p[k].abs() - cuboid.half[k];
        let mut face = 0;
        for k in 1..3 {
            if height(k) > height(face) {
                face = k;
            }
        }
        distance = height(face);
        normal = cuboid.axes[face] * sign(p[face]);
        nearest[face] = cuboid.half[face] * sign(p[face]);
    }
    ContactPoint {
        on_a: centre - normal * radius,
        on_b: cuboid.centre + cuboid.outward(nearest),
        normal,
        gap: distance - radius,
        feature: 0,
    }
}

/// A is the sphere. The contact is that of its centre with the surface of B, a radius further out.
pub(super) fn sphere_convex(centre: DVec3, radius: f64, core: &Convex, pose: &Pose) -> ContactPoint {
    let nearest = core.project(pose.inverse_point(centre));
    let normal = pose.rotation * nearest.normal;
    ContactPoint {
        on_a: centre - normal * radius,
        on_b: centre - normal * nearest.distance,
        normal,
        gap: nearest.distance - radius,
        feature: 0,
    }
}
