//! Questions about single shapes and pairs: rays, signed distance, overlap. Exact up to rounding, no
//! allocation.

mod cast;
mod closest;
mod ray;
pub(crate) mod tree;

pub use cast::{CastHit, cast};
pub use closest::{ClosestPoints, closest_points, project};

use glam::DVec3;

use self::ray::Hit;
use super::midphase;
use super::narrowphase::{Manifold, box_box_distance, contacts, convex_distance};
use crate::shape::{Pose, Shape};

/// Where a ray meets a shape, in world coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RayHit {
    /// From the origin of the ray, m.
    pub distance: f64,
    /// The point hit, m.
    pub point: DVec3,
    /// Unit outward normal of the surface; against the ray where it starts inside.
    pub normal: DVec3,
}

/// Where a shape is nearest to a point, in world coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Projection {
    /// Signed distance of the point from the surface, m; negative inside.
    pub distance: f64,
    /// The nearest point of the surface, m.
    pub point: DVec3,
    /// Unit outward normal there.
    pub normal: DVec3,
}

/// Where the ray from `origin` along the unit vector `direction` first meets the shape, within
/// `max_distance`.
///
/// Shapes are solid and closed: a ray that starts inside or on the surface hits at distance 0, with the
/// normal against it. Of meshes, closed ones are solid; open ones are hit from either side.
pub fn ray(shape: &Shape, pose: &Pose, origin: DVec3, direction: DVec3, max_distance: f64) -> Option<RayHit> {
    // What is missed is met at infinity: that is no hit, however far a ray goes. (A NaN stays one.)
    let max_distance = max_distance.clamp(f64::NEG_INFINITY, f64::MAX);
    if !shape.is_convex() {
        return midphase::query::ray(shape, pose, origin, direction, max_distance);
    }
    if let Shape::Sphere { radius } = shape {
        // However it is turned.
        let (distance, normal) = match ray::ball(origin - pose.position, direction, *radius) {
            Hit::Miss => return None,
            Hit::Inside => (0.0, -direction),
            Hit::Surface(distance, normal) => (distance, normal),
        };
        let point = origin + direction * distance;
        return (distance <= max_distance).then_some(RayHit { distance, point, normal });
    }
    let o = pose.inverse_point(origin);
    let d = pose.rotation.conjugate() * direction;
    let (distance, normal) = match ray::cast(shape, o, d) {
        Hit::Miss => return None,
        Hit::Inside => (0.0, -direction),
        Hit::Surface(distance, normal) => (distance, pose.rotation * normal),
    };
    (distance <= max_distance).then(|| RayHit { distance, point: origin + direction * distance, normal })
}

/// Signed distance of two shapes, m: negative by the depth of the shortest way apart where they overlap. Two
/// half-spaces share points however far apart, unless exactly opposed: they count as overlapping without
/// bound. The overlap with a mesh or height field is that of the deepest contact; between two of them there
/// is no distance (infinite).
pub fn distance(shape_a: &Shape, pose_a: &Pose, shape_b: &Shape, pose_b: &Pose) -> f64 {
    if !(shape_a.is_convex() && shape_b.is_convex()) {
        return midphase::query::distance(shape_a, pose_a, shape_b, pose_b);
    }
    if let (Shape::Box { half: ha }, Shape::Box { half: hb }) = (shape_a, shape_b) {
        // Contact patches of boxes trade the last digits of the gap for points that stay.
        return box_box_distance(*ha, pose_a, *hb, pose_b);
    }
    if let (Shape::HalfSpace, Shape::HalfSpace) = (shape_a, shape_b) {
        return f64::NEG_INFINITY;
    }
    let written_out = |s: &Shape| matches!(s, Shape::Box { .. } | Shape::Capsule { .. });
    let simple = |s: &Shape| matches!(s, Shape::Sphere { .. } | Shape::HalfSpace);
    let convex = |s: &Shape| !simple(s) && s.is_convex();
    if convex(shape_a) && convex(shape_b) && !(written_out(shape_a) && written_out(shape_b)) {
        // Without the patch around the closest points.
        return convex_distance(shape_a, pose_a, shape_b, pose_b);
    }
    let mut manifold = Manifold::default();
    contacts(shape_a, pose_a, shape_b, pose_b, f64::INFINITY, &mut manifold);
    manifold.points().iter().map(|p| p.gap).fold(f64::INFINITY, f64::min)
}

/// Whether two shapes share a point (touching counts).
pub fn overlap(shape_a: &Shape, pose_a: &Pose, shape_b: &Shape, pose_b: &Pose) -> bool {
    distance(shape_a, pose_a, shape_b, pose_b) <= 0.0
}
