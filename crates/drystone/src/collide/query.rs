//! Questions about single shapes and pairs: rays, signed distance, overlap. Exact up to rounding, no allocation.

use glam::DVec3;

use super::narrowphase::{Manifold, box_box_distance, contacts};
use crate::shape::{Pose, Shape};

/// Where a ray meets a shape, in world coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayHit {
    /// From the origin of the ray, m.
    pub distance: f64,
    /// The point hit, m.
    pub point: DVec3,
    /// Unit outward normal of the surface; against the ray where it starts inside.
    pub normal: DVec3,
}

/// Where the ray from `origin` along the unit vector `direction` first meets the shape, within `max_distance`.
///
/// Shapes are solid and closed: a ray that starts inside or on the surface hits at distance 0, with the normal against it.
pub fn ray(shape: &Shape, pose: &Pose, origin: DVec3, direction: DVec3, max_distance: f64) -> Option<RayHit> {
    let o = pose.inverse_point(origin);
    let d = pose.rotation.conjugate() * direction;
    let hit = match shape {
        Shape::Sphere { radius } => ball(o, d, *radius),
        Shape::HalfSpace => half_space(o, d),
        Shape::Box { half } => cuboid(o, d, *half),
        Shape::Capsule { radius, half_length } => capsule(o, d, *radius, *half_length),
        _ => Hit::Miss,
    };
    let (distance, normal) = match hit {
        Hit::Miss => return None,
        Hit::Inside => (0.0, -direction),
        Hit::Surface(distance, normal) => (distance, pose.rotation * normal),
    };
    (distance <= max_distance).then(|| RayHit { distance, point: origin + direction * distance, normal })
}

/// Signed distance of two shapes, m: negative by the depth of the shortest way apart where they overlap.
/// Two half-spaces share points however far apart, unless exactly opposed: they count as overlapping without bound.
pub fn distance(shape_a: &Shape, pose_a: &Pose, shape_b: &Shape, pose_b: &Pose) -> f64 {
    if let (Shape::Box { half: ha }, Shape::Box { half: hb }) = (shape_a, shape_b) {
        // Contact patches of boxes trade the last digits of the gap for points that stay.
        return box_box_distance(*ha, pose_a, *hb, pose_b);
    }
    if let (Shape::HalfSpace, Shape::HalfSpace) = (shape_a, shape_b) {
        return f64::NEG_INFINITY;
    }
    let mut manifold = Manifold::default();
    contacts(shape_a, pose_a, shape_b, pose_b, f64::INFINITY, &mut manifold);
    manifold.points().iter().map(|p| p.gap).fold(f64::INFINITY, f64::min)
}

/// Whether two shapes share a point (touching counts).
pub fn overlap(shape_a: &Shape, pose_a: &Pose, shape_b: &Shape, pose_b: &Pose) -> bool {
    distance(shape_a, pose_a, shape_b, pose_b) <= 0.0
}

/// What a ray does in the frame of the shape.
enum Hit {
    Miss,
    Inside,
    /// Distance and outward normal.
    Surface(f64, DVec3),
}

/// Where the line enters the ball about the origin. The foot of the perpendicular keeps the digits that the usual
/// b² - 4ac loses when the ray starts far away.
fn entry(o: DVec3, d: DVec3, radius: f64) -> Option<f64> {
    let towards = -o.dot(d);
    let room = radius * radius - (o + d * towards).length_squared();
    (room >= 0.0 && towards >= 0.0).then(|| towards - room.sqrt())
}

fn ball(o: DVec3, d: DVec3, radius: f64) -> Hit {
    if o.length_squared() <= radius * radius {
        return Hit::Inside;
    }
    match entry(o, d, radius) {
        Some(t) => Hit::Surface(t.max(0.0), ((o + d * t) / radius).normalize_or(-d)),
        None => Hit::Miss,
    }
}

fn half_space(o: DVec3, d: DVec3) -> Hit {
    if o.z <= 0.0 {
        Hit::Inside
    } else if d.z < 0.0 {
        Hit::Surface(-o.z / d.z, DVec3::Z)
    } else {
        Hit::Miss
    }
}

fn cuboid(o: DVec3, d: DVec3, half: DVec3) -> Hit {
    let (mut enter, mut leave) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut normal = DVec3::ZERO;
    for k in 0..3 {
        if d[k] == 0.0 {
            if o[k].abs() > half[k] {
                return Hit::Miss;
            }
            continue;
        }
        let side = -d[k].signum();
        let near = (side * half[k] - o[k]) / d[k];
        let far = (-side * half[k] - o[k]) / d[k];
        if near > enter {
            enter = near;
            normal = DVec3::ZERO;
            normal[k] = side;
        }
        leave = leave.min(far);
    }
    if enter > leave || leave < 0.0 {
        Hit::Miss
    } else if enter <= 0.0 {
        Hit::Inside
    } else {
        Hit::Surface(enter, normal)
    }
}

/// The side wall where it is hit between the ends of the core, else the ball at the end that the ray meets first.
fn capsule(o: DVec3, d: DVec3, radius: f64, half_length: f64) -> Hit {
    let from_core = |p: DVec3| p - DVec3::Z * p.z.clamp(-half_length, half_length);
    if from_core(o).length_squared() <= radius * radius {
        return Hit::Inside;
    }
    let across = DVec3::new(d.x, d.y, 0.0);
    let speed = across.length();
    let mut first = f64::INFINITY;
    if speed > 0.0
        && let Some(t) = entry(DVec3::new(o.x, o.y, 0.0), across / speed, radius)
        && t >= 0.0
        && (o.z + d.z * (t / speed)).abs() <= half_length
    {
        first = t / speed;
    }
    for end in [-half_length, half_length] {
        if let Some(t) = entry(o - DVec3::Z * end, d, radius).filter(|t| *t >= 0.0) {
            first = first.min(t);
        }
    }
    if first.is_finite() { Hit::Surface(first, from_core(o + d * first).normalize_or(-d)) } else { Hit::Miss }
}
