//! Spheres, boxes and capsules (A) against a half-space (B): the normal is always that of the plane.

use glam::DVec3;

use super::{ContactPoint, Core, Cuboid, MAX_POINTS, Manifold, sign};
use crate::shape::Pose;

/// The plane of the half-space.
struct Plane {
    origin: DVec3,
    normal: DVec3,
}

impl Plane {
    fn new(pose: &Pose) -> Self {
        Self { origin: pose.position, normal: pose.rotation * DVec3::Z }
    }

    fn height(&self, point: DVec3) -> f64 {
        (point - self.origin).dot(self.normal)
    }

    /// The contact below the ball of the given radius about `centre`.
    fn below(&self, centre: DVec3, radius: f64, feature: u32) -> ContactPoint {
        let height = self.height(centre);
        ContactPoint {
            on_a: centre - self.normal * radius,
            on_b: centre - self.normal * height,
            normal: self.normal,
            gap: height - radius,
            feature,
        }
    }
}

pub(super) fn sphere(radius: f64, pose: &Pose, half_space: &Pose, reach: f64, out: &mut Manifold) {
    out.push_within(reach, Plane::new(half_space).below(pose.position, radius, 0));
}

/// Both ends of the core, so that a lying capsule does not rock. Features: 0 at -z, 1 at +z of the capsule.
pub(super) fn capsule(capsule: &Core, half_space: &Pose, reach: f64, out: &mut Manifold) {
    let plane = Plane::new(half_space);
    if capsule.half_length == 0.0 {
        out.push_within(reach, plane.below(capsule.centre, capsule.radius, 0));
        return;
    }
    out.push_within(reach, plane.below(capsule.centre - capsule.half_vector(), capsule.radius, 0));
    out.push_within(reach, plane.below(capsule.centre + capsule.half_vector(), capsule.radius, 1));
}

/// The corners within reach. More than four: those of the face that looks at the plane most squarely. It holds the
/// deepest corner and is spread widest; the four deepest corners of a tilted thin plate would leave one end bare.
/// The feature is the corner: bit k is set where the local coordinate k is positive.
pub(super) fn cuboid(cuboid: &Cuboid, half_space: &Pose, reach: f64, out: &mut Manifold) {
    let plane = Plane::new(half_space);
    let centre_height = plane.height(cuboid.centre);
    let tilt = cuboid.inward(plane.normal);
    let lift = [tilt[0] * cuboid.half[0], tilt[1] * cuboid.half[1], tilt[2] * cuboid.half[2]];
    if centre_height - lift[0].abs() - lift[1].abs() - lift[2].abs() > reach {
        return;
    }
    let side = |corner: u32, k: usize| if corner >> k & 1 == 1 { 1.0 } else { -1.0 };
    let gap = |c: u32| centre_height + side(c, 0) * lift[0] + side(c, 1) * lift[1] + side(c, 2) * lift[2];
    let within = (0..8).filter(|&c| gap(c) <= reach).count();
    let mut face = 0;
    for k in 1..3 {
        if tilt[k].abs() > tilt[face].abs() {
            face = k;
        }
    }
    for c in 0..8 {
        let kept = within <= MAX_POINTS || side(c, face) == -sign(tilt[face]);
        if kept && gap(c) <= reach {
            let h = cuboid.half;
            let on_a =
                cuboid.centre + cuboid.outward([side(c, 0) * h[0], side(c, 1) * h[1], side(c, 2) * h[2]]);
            let gap = gap(c);
            out.push(ContactPoint {
                on_a,
                on_b: on_a - plane.normal * gap,
                normal: plane.normal,
                gap,
                feature: c,
            });
        }
    }
}
