//! The pieces of a surface as the narrow phase knows them: a half-space for a face, a segment for an edge.

use glam::{DQuat, DVec3};

use crate::collide::narrowphase::{ContactPoint, Manifold, contacts};
use crate::shape::{Pose, Shape};

/// A convex shape (A) against the half-space below a plane (B).
pub(super) fn plane_contacts(
    shape: &Shape,
    pose: &Pose,
    origin: DVec3,
    normal: DVec3,
    reach: f64,
    out: &mut Manifold,
) {
    if let Shape::Sphere { radius } = shape {
        out.clear();
        let height = (pose.position - origin).dot(normal);
        if height - radius <= reach {
            out.push(ContactPoint {
                on_a: pose.position - normal * *radius,
                on_b: pose.position - normal * height,
                normal,
                gap: height - radius,
                feature: 0,
            });
        }
        return;
    }
    let plane = Pose::new(origin, DQuat::from_rotation_arc(DVec3::Z, normal));
    contacts(shape, pose, &Shape::HalfSpace, &plane, reach, out);
}

/// A convex shape (A) against a segment (B).
pub(super) fn segment_contacts(shape: &Shape, pose: &Pose, ends: [DVec3; 2], reach: f64, out: &mut Manifold) {
    let along = ends[1] - ends[0];
    if let Shape::Sphere { radius } = shape {
        out.clear();
        let place = (pose.position - ends[0]).dot(along) / along.length_squared();
        let foot = ends[0] + along * place.clamp(0.0, 1.0);
        let away = pose.position - foot;
        let distance = away.length();
        // A centre on the edge is inside the solid, and not the edge's concern.
        if distance - radius <= reach && distance > 1e-12 * radius {
            let normal = away / distance;
            let (on_a, gap) = (pose.position - normal * *radius, distance - radius);
            out.push(ContactPoint { on_a, on_b: foot, normal, gap, feature: 0 });
        }
        return;
    }
    let length = along.length();
    let segment = Shape::Capsule { radius: 0.0, half_length: 0.5 * length };
    let place = Pose::new(0.5 * (ends[0] + ends[1]), DQuat::from_rotation_arc(DVec3::Z, along / length));
    contacts(shape, pose, &segment, &place, reach, out);
}

/// A point well inside a convex shape.
pub(crate) fn middle(shape: &Shape) -> DVec3 {
    match shape {
        Shape::Hull(hull) => hull.moments().centroid,
        Shape::Rounded { core, .. } => middle(core),
        _ => DVec3::ZERO,
    }
}

/// How round a convex shape is everywhere: the radius of a ball that rolls inside it and touches all of its
/// surface, m.
pub(super) fn roundness(shape: &Shape) -> f64 {
    match shape {
        Shape::Sphere { radius } | Shape::Capsule { radius, .. } | Shape::Rounded { radius, .. } => *radius,
        _ => 0.0,
    }
}

/// How far a convex shape reaches from its origin along the unit vector `d` in its frame, m.
pub(super) fn reach_along(shape: &Shape, d: DVec3) -> f64 {
    match shape {
        Shape::Sphere { radius } => *radius,
        Shape::Box { half } => half.dot(d.abs()),
        Shape::Capsule { radius, half_length } => radius + half_length * d.z.abs(),
        Shape::Cylinder { radius, half_length } => {
            radius * (d.x * d.x + d.y * d.y).sqrt() + half_length * d.z.abs()
        }
        Shape::Ellipsoid { half } => (*half * d).length(),
        Shape::Rounded { core, radius } => reach_along(core, d) + radius,
        _ => shape.support(d).dot(d),
    }
}
