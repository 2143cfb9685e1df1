//! Rays and distances for shapes of many parts: compounds, meshes, height fields. No allocation once warm.

use std::cell::RefCell;

use glam::DVec3;

use super::convex_mesh::{Workspace, touches};
use super::expand::relative;
use super::find::is_ground;
use super::pieces::{middle, plane_contacts, segment_contacts};
use super::proxy::Visitor;
use super::surface::{Nearest, Surface, closest_point, ray_triangle};
use crate::collide::Aabb;
use crate::collide::narrowphase::Manifold;
use crate::collide::query::{self, Projection, RayHit};
use crate::shape::{Compound, HeightField, Pose, Shape, TriMesh};

/// Where a ray first meets a compound, mesh or height field, as [`query::ray`] says; nothing for other
/// shapes.
///
/// A closed mesh is solid. An open one is hit from either side.
pub(crate) fn ray(
    shape: &Shape,
    pose: &Pose,
    origin: DVec3,
    direction: DVec3,
    max_distance: f64,
) -> Option<RayHit> {
    let o = pose.inverse_point(origin);
    let d = pose.rotation.conjugate() * direction;
    let (distance, normal) = match shape {
        Shape::Compound(compound) => {
            let mut best: Option<RayHit> = None;
            compound.bvh().ray(o, d, max_distance, |k, max| {
                let (local, part) = &compound.parts()[k as usize];
                match query::ray(part, local, o, d, max) {
                    Some(hit) if best.is_none_or(|b| hit.distance < b.distance) => {
                        best = Some(hit);
                        hit.distance
                    }
                    _ => max,
                }
            });
            best.map(|hit| (hit.distance, hit.normal))
        }
        Shape::Mesh(mesh) => ray_mesh(mesh, o, d, max_distance),
        Shape::HeightField(field) => ray_field(field, o, d, max_distance),
        _ => None,
    }?;
    Some(RayHit { distance, point: origin + direction * distance, normal: pose.rotation * normal })
}

fn ray_mesh(mesh: &TriMesh, o: DVec3, d: DVec3, max_distance: f64) -> Option<(f64, DVec3)> {
    let mut best: Option<(f64, f64, u32)> = None;
    mesh.bvh().ray(o, d, max_distance, |k, max| {
        let distance = ray_triangle(mesh.triangle(k as usize), o, d);
        if distance > max {
            return max;
        }
        // Where triangles share the point, the one that faces the ray most squarely knows from which side it
        // comes.
        let facing = -d.dot(mesh.normal(k as usize));
        let better = |(least, most, first): (f64, f64, u32)| {
            let sharper = facing.abs() > most.abs() || facing.abs() == most.abs() && k < first;
            distance < least * (1.0 - 1e-12) || distance <= least * (1.0 + 1e-12) && sharper
        };
        if best.is_none_or(better) {
            best = Some((distance, facing, k));
        }
        max.min(distance * (1.0 + 1e-12))
    });
    let (distance, facing, k) = best?;
    let normal = mesh.normal(k as usize);
    if facing >= 0.0 {
        Some((distance, normal))
    } else if mesh.is_closed() && mesh.is_oriented() {
        Some((0.0, -d))
    } else {
        Some((distance, -normal))
    }
}

/// Column by column along the axis on which the ray makes most way, and in each only the cells that it
/// crosses.
fn ray_field(field: &HeightField, o: DVec3, d: DVec3, max_distance: f64) -> Option<(f64, DVec3)> {
    if field.height_at(o.x, o.y).is_some_and(|z| o.z <= z) {
        return Some((0.0, -d));
    }
    let corner = field.point(0, 0).truncate();
    let half = -corner;
    let (mut from, mut to, mut side) = (0.0, max_distance, DVec3::ZERO);
    for k in 0..2 {
        if d[k] == 0.0 {
            if o[k].abs() > half[k] {
                return None;
            }
            continue;
        }
        let (near, far) = ((-half[k].copysign(d[k]) - o[k]) / d[k], (half[k].copysign(d[k]) - o[k]) / d[k]);
        if near > from {
            from = near;
            side = DVec3::ZERO;
            side[k] = -d[k].signum();
        }
        to = to.min(far);
    }
    if from > to {
        return None;
    }
    if side != DVec3::ZERO {
        // Through the side, below the surface.
        let p = o + d * from;
        let inside = |k: usize| p[k].clamp(-half[k], half[k]);
        if field.height_at(inside(0), inside(1)).is_some_and(|z| p.z <= z) {
            return Some((from, side));
        }
    }
    let main = usize::from(d.y.abs() * field.spacing()[0] > d.x.abs() * field.spacing()[1]);
    let other = 1 - main;
    let place = |t: f64, k: usize| (o[k] + d[k] * t - corner[k]) / field.spacing()[k];
    let cells = [field.columns() - 1, field.rows() - 1];
    let index = |x: f64, k: usize| (x.max(0.0) as usize).min(cells[k] - 1);
    let (mut at, last) = (index(place(from, main), main), index(place(to, main), main));
    let forward = d[main] >= 0.0;
    let mut start = from;
    loop {
        let edge = corner[main] + (at + usize::from(forward)) as f64 * field.spacing()[main];
        let end =
            if at == last || d[main] == 0.0 { to } else { ((edge - o[main]) / d[main]).clamp(start, to) };
        let (a, b) = (place(start, other), place(end, other));
        // A ray along a grid line belongs to the cells on both sides of it.
        let slack = 1e-9;
        let mut best: Option<(f64, u32)> = None;
        for across in index(a.min(b) - slack, other)..=index(a.max(b) + slack, other) {
            let (i, j) = if main == 0 { (at, across) } else { (across, at) };
            for k in [0, 1].map(|k| (2 * (j * cells[0] + i) + k) as u32) {
                let distance = ray_triangle(field.triangle(k as usize), o, d);
                if distance <= max_distance && best.is_none_or(|b| (distance, k) < b) {
                    best = Some((distance, k));
                }
            }
        }
        if let Some((distance, k)) = best {
            return Some((distance, field.normal(k as usize)));
        }
        if at == last {
            return None;
        }
        at = if forward { at + 1 } else { at - 1 };
        start = end;
    }
}

/// Signed distance as [`query::distance`] says, where one of the shapes is a compound, mesh or height field.
///
/// Where a body overlaps a surface it is minus what the deepest contact says.
pub(crate) fn distance(shape_a: &Shape, pose_a: &Pose, shape_b: &Shape, pose_b: &Pose) -> f64 {
    match (shape_a, shape_b) {
        (Shape::Compound(a), _) => to_compound(a, pose_a, shape_b, pose_b),
        (_, Shape::Compound(b)) => to_compound(b, pose_b, shape_a, pose_a),
        // Ground against ground is nobody's question.
        _ if is_ground(shape_a) && is_ground(shape_b) => f64::INFINITY,
        (_, Shape::Mesh(mesh)) => to_surface(mesh.as_ref(), pose_b, shape_a, pose_a),
        (_, Shape::HeightField(field)) => to_surface(field.as_ref(), pose_b, shape_a, pose_a),
        (Shape::Mesh(mesh), _) => to_surface(mesh.as_ref(), pose_a, shape_b, pose_b),
        (Shape::HeightField(field), _) => to_surface(field.as_ref(), pose_a, shape_b, pose_b),
        _ => query::distance(shape_a, pose_a, shape_b, pose_b),
    }
}

fn to_compound(compound: &Compound, pose: &Pose, other: &Shape, other_pose: &Pose) -> f64 {
    let place = relative(pose, other_pose);
    let mut least = f64::INFINITY;
    let mut offer = |k: u32| {
        let (local, part) = &compound.parts()[k as usize];
        least = least.min(query::distance(part, local, other, &place));
        least
    };
    match other {
        Shape::HalfSpace | Shape::HeightField(_) => {
            (0..compound.parts().len() as u32).for_each(|k| {
                offer(k);
            });
        }
        _ => {
            let bounds = other.aabb(&place);
            let apart = |b: &Aabb| {
                let beyond = (b.min - bounds.max).max(bounds.min - b.max).max(DVec3::ZERO);
                // Boxes that overlap say nothing about how deep their parts may.
                if beyond == DVec3::ZERO { f64::NEG_INFINITY } else { beyond.length() }
            };
            compound.bvh().nearest(apart, f64::INFINITY, |k, _| offer(k));
        }
    }
    least
}

fn to_surface<S: Ground>(surface: &S, frame: &Pose, shape: &Shape, pose: &Pose) -> f64 {
    thread_local! {
        static WORK: RefCell<Workspace> = RefCell::default();
    }
    // The middle belongs to the shape: the distance is at most its own.
    let place = relative(frame, pose);
    let most = surface.away(place.point(middle(shape)));
    let visitor = Visitor::at_rest(shape, pose, frame, most * (1.0 + 1e-9));
    let depth = if surface.is_solid() { f64::INFINITY } else { visitor.depth };
    let least = WORK.with_borrow_mut(|work| {
        touches(surface, &Visitor { exact: true, depth, ..visitor }, work);
        work.found.iter().map(|t| t.point.gap).fold(f64::INFINITY, f64::min)
    });
    if least < f64::INFINITY { least } else { surface.behind(shape, &place, most) }
}

/// What distances need to know of a surface besides.
trait Ground: Surface {
    /// How far a point is from the surface, at most.
    fn away(&self, point: DVec3) -> f64;
    /// Whether what is behind a triangle is inside, however far.
    fn is_solid(&self) -> bool;
    /// The distance of a shape at `place` that no triangle sees in front of it, at most `most`.
    fn behind(&self, shape: &Shape, place: &Pose, most: f64) -> f64;
}

impl Ground for TriMesh {
    fn away(&self, point: DVec3) -> f64 {
        let mut nearest = Nearest::new();
        let bound = |b: &Aabb| point.distance(point.clamp(b.min, b.max));
        self.bvh().nearest(bound, f64::INFINITY, |k, _| {
            nearest.offer(self, k, point);
            nearest.distance
        });
        nearest.distance
    }

    fn is_solid(&self) -> bool {
        self.is_closed() && self.is_oriented()
    }

    /// Apart from a triangle, a shape is nearest to an edge of it, or from behind to the face with its
    /// foremost point.
    fn behind(&self, shape: &Shape, place: &Pose, most: f64) -> f64 {
        let bounds = shape.aabb(place);
        let apart = |b: &Aabb| (b.min - bounds.max).max(bounds.min - b.max).max(DVec3::ZERO).length();
        let mut least = most;
        let mut manifold = Manifold::default();
        self.bvh().nearest(apart, most, |k, limit| {
            let (corners, back) = (self.triangle(k as usize), -TriMesh::normal(self, k as usize));
            plane_contacts(shape, place, corners[0], back, limit, &mut manifold);
            for p in manifold.points() {
                let within = |e: usize| {
                    (corners[(e + 1) % 3] - corners[e]).cross(p.on_b - corners[e]).dot(back) <= 0.0
                };
                if (0..3).all(within) {
                    least = least.min(p.gap);
                }
            }
            for e in 0..3 {
                segment_contacts(shape, place, [corners[e], corners[(e + 1) % 3]], limit, &mut manifold);
                least = manifold.points().iter().map(|p| p.gap).fold(least, f64::min);
            }
            least
        });
        least
    }
}

impl Ground for HeightField {
    fn away(&self, point: DVec3) -> f64 {
        let half = -self.point(0, 0).truncate();
        let over = point.truncate().clamp(-half, half);
        let z = self.height_at(over.x, over.y).unwrap_or(0.0);
        point.distance(over.extend(z))
    }

    fn is_solid(&self) -> bool {
        true
    }

    /// Beside the field and below its rim, the nearest is its side. (Off a corner, the bounds of the shape
    /// have to do.)
    fn behind(&self, shape: &Shape, place: &Pose, most: f64) -> f64 {
        let half = -self.point(0, 0);
        let bounds = shape.aabb(place);
        let beyond = (bounds.min - half).max(-half - bounds.max).max(DVec3::ZERO);
        beyond.truncate().length().min(most)
    }
}

/// The point of a mesh nearest to a point, in the frame of the mesh. Inside is what a closed mesh encloses.
pub(crate) fn nearest_on_mesh(mesh: &TriMesh, p: DVec3) -> Projection {
    let mut nearest = Nearest::new();
    let bound = |b: &Aabb| p.distance(p.clamp(b.min, b.max));
    mesh.bvh().nearest(bound, f64::INFINITY, |k, limit| {
        nearest.offer(mesh, k, p);
        limit.min(nearest.distance * (1.0 + 1e-9))
    });
    projected(mesh, &nearest, p, mesh.is_closed() && mesh.is_oriented())
}

/// The point of a height field nearest to a point, in the frame of the field.
pub(crate) fn nearest_on_field(field: &HeightField, p: DVec3) -> Projection {
    let mut nearest = Nearest::new();
    let near = Aabb::around(p, DVec3::splat(field.away(p) * (1.0 + 1e-9)));
    field.triangles_in(&near, |k| nearest.offer(field, k, p));
    projected(field, &nearest, p, true)
}

fn projected<S: Surface>(surface: &S, nearest: &Nearest, p: DVec3, solid: bool) -> Projection {
    if nearest.triangle == u32::MAX {
        return Projection { distance: f64::INFINITY, point: p, normal: DVec3::Z };
    }
    let face = surface.normal(nearest.triangle);
    let point = closest_point(surface.corners(nearest.triangle), p);
    let inside = solid && nearest.height < 0.0;
    let outward = if inside { point - p } else { p - point };
    let normal = outward.try_normalize().unwrap_or(face);
    Projection { distance: if inside { -nearest.distance } else { nearest.distance }, point, normal }
}
