//! Closest points of two shapes, and of a shape and a point.

use glam::DVec3;

use super::Projection;
use crate::collide::Aabb;
use crate::collide::midphase::query::{nearest_on_field, nearest_on_mesh};
use crate::collide::midphase::{Finder, relative};
use crate::collide::narrowphase::{self, Convex};
use crate::shape::{Compound, Pose, Shape};

/// Where two shapes are nearest to each other, in world coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClosestPoints {
    /// Signed distance, m; negative where the shapes overlap.
    pub distance: f64,
    /// On the surface of A, m.
    pub on_a: DVec3,
    /// On the surface of B, m.
    pub on_b: DVec3,
    /// Unit, from B to A: `on_a - on_b` is `distance` times it.
    pub normal: DVec3,
}

impl ClosestPoints {
    fn turned(self) -> Self {
        Self { on_a: self.on_b, on_b: self.on_a, normal: -self.normal, ..self }
    }
}

/// The closest points of two shapes, or where they overlap the points that are to come apart. Nothing between
/// shapes that have no distance: two half-spaces, or two of half-space, mesh and height field. Beside a mesh
/// or a height field, overlaps are those of the deepest contact.
pub fn closest_points(
    shape_a: &Shape,
    pose_a: &Pose,
    shape_b: &Shape,
    pose_b: &Pose,
) -> Option<ClosestPoints> {
    match (shape_a, shape_b) {
        (Shape::Compound(a), _) => to_compound(a, pose_a, shape_b, pose_b),
        (_, Shape::Compound(b)) => Some(to_compound(b, pose_b, shape_a, pose_a)?.turned()),
        (Shape::HalfSpace, Shape::HalfSpace) => None,
        (_, Shape::HalfSpace) if shape_a.is_convex() => {
            let up = pose_b.rotation * DVec3::Z;
            let on_a = pose_a.point(shape_a.support(pose_a.rotation.conjugate() * -up));
            let distance = up.dot(on_a - pose_b.position);
            Some(ClosestPoints { distance, on_a, on_b: on_a - distance * up, normal: up })
        }
        (Shape::HalfSpace, _) if shape_b.is_convex() => {
            Some(closest_points(shape_b, pose_b, shape_a, pose_a)?.turned())
        }
        _ if shape_a.is_convex() && shape_b.is_convex() => {
            let p = narrowphase::closest_points(shape_a, pose_a, shape_b, pose_b)?;
            Some(ClosestPoints { distance: p.gap, on_a: p.on_a, on_b: p.on_b, normal: p.normal })
        }
        _ => beside_surface(shape_a, pose_a, shape_b, pose_b),
    }
}

/// Visits parts of the compound in the order of a lower bound of their distance.
fn to_compound(compound: &Compound, pose: &Pose, other: &Shape, other_pose: &Pose) -> Option<ClosestPoints> {
    let bounds = other.aabb(&relative(pose, other_pose));
    let apart = |b: &Aabb| {
        let beyond = (b.min - bounds.max).max(bounds.min - b.max).max(DVec3::ZERO);
        // Boxes that overlap say nothing about how deep their parts may.
        if beyond == DVec3::ZERO { f64::NEG_INFINITY } else { beyond.length() }
    };
    let mut best: Option<ClosestPoints> = None;
    compound.bvh().nearest(apart, f64::INFINITY, |k, limit| {
        let (local, part) = &compound.parts()[k as usize];
        let found = closest_points(part, &pose.compose(local), other, other_pose);
        if let Some(p) = found.filter(|p| best.is_none_or(|b| p.distance < b.distance)) {
            best = Some(p);
        }
        best.map_or(limit, |b| b.distance.min(limit))
    });
    best
}

/// A convex shape against a mesh or a height field: the contact with the least gap within the distance.
fn beside_surface(a: &Shape, pose_a: &Pose, b: &Shape, pose_b: &Pose) -> Option<ClosestPoints> {
    let distance = super::distance(a, pose_a, b, pose_b);
    if !distance.is_finite() {
        return None;
    }
    let size = [a, b].map(Shape::inner_radius).into_iter().fold(f64::INFINITY, f64::min);
    // Contacts keep gaps to about 6e-4 of them; the distance is exact.
    let reach = distance.max(0.0) * (1.0 + 2e-3) + 1e-9 * size;
    let mut finder = Finder::default();
    let found = finder.find(a, pose_a, b, pose_b, reach);
    let p = found.iter().map(|c| c.point).min_by(|p, q| p.gap.total_cmp(&q.gap))?;
    let middle = 0.5 * (p.on_a + p.on_b);
    let half = 0.5 * distance * p.normal;
    Some(ClosestPoints { distance, on_a: middle + half, on_b: middle - half, normal: p.normal })
}

/// The point of a shape's surface nearest to `point`. A closed mesh is solid, an open one has no inside.
/// Inside a compound, the surface of the part that `point` is deepest in.
pub fn project(shape: &Shape, pose: &Pose, point: DVec3) -> Projection {
    let p = pose.inverse_point(point);
    let local = match shape {
        Shape::HalfSpace => Projection { distance: p.z, point: p.with_z(0.0), normal: DVec3::Z },
        Shape::Mesh(mesh) => nearest_on_mesh(mesh, p),
        Shape::HeightField(field) => nearest_on_field(field, p),
        Shape::Compound(compound) => on_compound(compound, p),
        _ => match Convex::of(shape) {
            Some(core) => {
                let found = core.project(p);
                Projection { distance: found.distance, point: found.point, normal: found.normal }
            }
            None => Projection { distance: f64::NAN, point: p, normal: DVec3::Z },
        },
    };
    Projection { point: pose.point(local.point), normal: pose.rotation * local.normal, ..local }
}

fn on_compound(compound: &Compound, p: DVec3) -> Projection {
    let mut best = Projection { distance: f64::INFINITY, point: p, normal: DVec3::Z };
    let apart = |b: &Aabb| {
        let beyond = p.distance(p.clamp(b.min, b.max));
        if beyond == 0.0 { f64::NEG_INFINITY } else { beyond }
    };
    compound.bvh().nearest(apart, f64::INFINITY, |k, limit| {
        let (local, part) = &compound.parts()[k as usize];
        let found = project(part, local, p);
        if found.distance < best.distance {
            best = found;
        }
        limit.min(best.distance)
    });
    best
}
