//! What a core turns towards a contact: a face, a long edge or just a point.
//!
//! Features count as looking along a direction up to 2°. The corners of all faces run counter-clockwise, seen
//! from outside.

use glam::DVec3;

use super::convex::{Convex, Kind};
use super::{ALONG_COS, ALONG_SIN};
use crate::shape::Hull;

/// A feature, in the frame of its shape.
#[derive(Clone, Copy, Debug)]
pub(super) enum Feature {
    Point,
    /// A straight line of the core's surface, or the axis of the cylinder of radius `round` that is its
    /// surface there.
    Segment {
        ends: [DVec3; 2],
        round: f64,
    },
    /// A flat face with corners, by its number.
    Face {
        index: u32,
        normal: DVec3,
    },
    /// A flat circular face.
    Disc {
        centre: DVec3,
        normal: DVec3,
        radius: f64,
    },
}

impl Convex<'_> {
    /// The feature that looks along the unit vector `direction`, where `piece` holds the furthest point,
    /// nearest to `point` where there are several.
    pub(super) fn feature(&self, direction: DVec3, piece: u32, point: DVec3) -> Feature {
        match self.kind {
            Kind::Point | Kind::Ellipsoid { .. } => Feature::Point,
            Kind::Segment { half } => {
                if direction.z.abs() < ALONG_SIN && half > 0.0 {
                    Feature::Segment { ends: [DVec3::Z * -half, DVec3::Z * half], round: 0.0 }
                } else {
                    Feature::Point
                }
            }
            Kind::Box { half } => box_feature(half, direction),
            Kind::Cylinder { radius, half } => {
                if direction.z.abs() > ALONG_COS {
                    let normal = DVec3::Z * super::sign(direction.z);
                    Feature::Disc { centre: normal * half, normal, radius }
                } else if direction.z.abs() < ALONG_SIN {
                    Feature::Segment { ends: [DVec3::Z * -half, DVec3::Z * half], round: radius }
                } else {
                    Feature::Point
                }
            }
            Kind::Cone { radius, apex, base } => {
                if direction.z < -ALONG_COS {
                    return Feature::Disc { centre: DVec3::Z * base, normal: DVec3::NEG_Z, radius };
                }
                let ends = [self.piece_support(1, direction), DVec3::Z * apex];
                if is_along(direction, ends[1] - ends[0]) {
                    Feature::Segment { ends, round: 0.0 }
                } else {
                    Feature::Point
                }
            }
            Kind::Hull(hull) => hull_feature(hull, direction, piece, point),
        }
    }

    /// The number of corners of a face.
    pub(super) fn face_len(&self, face: u32) -> usize {
        match self.kind {
            Kind::Hull(hull) => hull.face_vertices(face as usize).len(),
            _ => 4,
        }
    }

    /// Corner `k` of a face, and its number in the shape.
    pub(super) fn face_corner(&self, face: u32, k: usize) -> (DVec3, u32) {
        match self.kind {
            Kind::Hull(hull) => {
                let v = hull.face_vertices(face as usize)[k];
                (hull.vertices()[v as usize], v)
            }
            Kind::Box { half } => {
                let (axis, up) = (face as usize / 2, face % 2 == 1);
                let (mut k1, mut k2) = ((axis + 1) % 3, (axis + 2) % 3);
                if !up {
                    std::mem::swap(&mut k1, &mut k2);
                }
                let bits =
                    u32::from(up) << axis | u32::from(k == 1 || k == 2) << k1 | u32::from(k >= 2) << k2;
                (self.piece_support(bits, half), bits)
            }
            _ => (DVec3::ZERO, 0),
        }
    }
}

fn is_along(direction: DVec3, edge: DVec3) -> bool {
    direction.dot(edge).powi(2) < (ALONG_SIN * ALONG_SIN) * edge.length_squared()
}

fn box_feature(half: DVec3, direction: DVec3) -> Feature {
    let (mut steepest, mut flattest) = (0, 0);
    for k in 1..3 {
        if direction[k].abs() > direction[steepest].abs() {
            steepest = k;
        }
        if direction[k].abs() < direction[flattest].abs() {
            flattest = k;
        }
    }
    if direction[steepest].abs() > ALONG_COS {
        let up = direction[steepest] >= 0.0;
        let normal = DVec3::AXES[steepest] * if up { 1.0 } else { -1.0 };
        return Feature::Face { index: 2 * steepest as u32 + u32::from(up), normal };
    }
    if direction[flattest].abs() >= ALONG_SIN {
        return Feature::Point;
    }
    let mut middle = DVec3::new(
        half.x * super::sign(direction.x),
        half.y * super::sign(direction.y),
        half.z * super::sign(direction.z),
    );
    middle[flattest] = 0.0;
    let along = DVec3::AXES[flattest] * half[flattest];
    Feature::Segment { ends: [middle - along, middle + along], round: 0.0 }
}

/// The best of the faces around the furthest vertex, else the edge there that lies along and is nearest to
/// the point.
fn hull_feature(hull: &Hull, direction: DVec3, vertex: u32, point: DVec3) -> Feature {
    let mut best = (ALONG_COS, None);
    for &f in hull.faces_around(vertex as usize) {
        let cosine = hull.faces()[f as usize].normal.dot(direction);
        if cosine > best.0 {
            best = (cosine, Some(f));
        }
    }
    if let Some(index) = best.1 {
        return Feature::Face { index, normal: hull.faces()[index as usize].normal };
    }
    let from = hull.vertices()[vertex as usize];
    let mut nearest = (f64::INFINITY, Feature::Point);
    for &k in hull.neighbours(vertex as usize) {
        let to = hull.vertices()[k as usize];
        let edge = to - from;
        if !is_along(direction, edge) {
            continue;
        }
        let t = ((point - from).dot(edge) / edge.length_squared()).clamp(0.0, 1.0);
        let distance = (point - from - edge * t).length_squared();
        if distance < nearest.0 {
            // In the order of their numbers, so that the ends keep their names whichever is further.
            let ends = if vertex < k { [from, to] } else { [to, from] };
            nearest = (distance, Feature::Segment { ends, round: 0.0 });
        }
    }
    nearest.1
}
