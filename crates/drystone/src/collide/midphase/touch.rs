//! A convex body against a surface of triangles: the outside of a solid.
//!
//! The contacts are those of the body with the faces of the surface (all triangles in one plane that hang together), and
//! with the edges and vertices where it is convex:
//!
//! 1. A face is a half-space as far as it reaches: of the points that the narrow phase finds between body and half-space
//!    those stay that lie over one of its triangles. On flat ground these are all, so that a body slides over a thousand
//!    triangles exactly as over a plane.
//! 2. An edge is a segment to the narrow phase. Its points stay where the direction of the contact is one in which the
//!    surface can push there ([`super::cone`]); at the ends of the segment that is the cone of the vertex. Flat and
//!    concave edges are left out: their faces say everything.
//! 3. A body whose middle is inside the solid leaves along the normal of the face through which its middle leaves soonest.
//!
//! A body that comes fast is looked at where it arrives: a face counts if the body's point meets its plane over one of
//! the triangles within the step, an edge if the body comes near it, and then with the direction it has there. The gap
//! is always the present one along that direction.

use glam::DVec3;

use super::cone;
use super::pieces::{middle, plane_contacts, roundness, segment_contacts};
use super::reduce::reduce;
use super::skin::Crease;
use super::surface::Surface;
use crate::collide::Aabb;
use crate::collide::narrowphase::{ContactPoint, Manifold};
use crate::shape::{Pose, Shape};

/// Features of contacts with edges have this bit, below it two bits the edge (3: a vertex, then the corner).
const EDGE: u32 = 1 << 18;
const EDGE_SHIFT: u32 = 16;

/// An overlap of more than this part of the body's size has to show that it is one: the body's middle must see the
/// surface before the point that overlaps.
const DEEP: f64 = 0.1;

/// Points closer together than this part of the body's size, with one normal, are one.
const CLOSE: f64 = 1e-3;

/// Part of the length of an edge by which a point may lie beyond it and still count as over the triangle.
const RIM: f64 = 1e-9;

/// A convex body on its way, in the frame of the surface.
pub(crate) struct Visitor<'a> {
    pub shape: &'a Shape,
    pub pose: Pose,
    /// What it moves during the step relative to the surface, m.
    pub way: DVec3,
    /// A point p that moves with it moves by `drift + turn × p`, m.
    pub drift: DVec3,
    pub turn: DVec3,
    /// Gap up to which a contact exists wherever the body goes, m. What rotation may add to the way is part of it.
    pub near: f64,
    /// Its inner radius, m.
    pub size: f64,
}

/// A contact between a body (A) and a surface (B), in the frame of the surface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    /// The region of a face, or a triangle at an edge or vertex.
    pub part: u32,
    pub point: ContactPoint,
}

impl Touch {
    /// Faces before edges.
    fn rank(&self) -> (bool, u32, u32) {
        (self.point.feature & EDGE != 0, self.part, self.point.feature)
    }
}

/// Memory that is kept from one use to the next.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    /// (region, triangle), sorted.
    triangles: Vec<(u32, u32)>,
    marks: Vec<u32>,
    /// What was found, faces before edges.
    pub found: Vec<Touch>,
}

/// Finds the contacts of a visitor with a surface. Returns how many triangles it looked at.
pub(crate) fn touches<S: Surface>(surface: &S, visitor: &Visitor, work: &mut Workspace) -> usize {
    work.found.clear();
    work.triangles.clear();
    let still = visitor.shape.aabb(&visitor.pose);
    let swept =
        Aabb { min: still.min.min(still.min + visitor.way), max: still.max.max(still.max + visitor.way) };
    let bounds = swept.grown(visitor.near);
    surface.visit_near(&bounds, |k| work.triangles.push((surface.skin().region(k), k)));
    let looked = work.triangles.len();
    work.triangles.sort_unstable();
    let middle = visitor.pose.point(middle(visitor.shape));
    let slack = if let Shape::Sphere { .. } = visitor.shape { cone::ROUNDING } else { cone::ALONG };
    let radius = roundness(visitor.shape);
    let mut visit =
        Visit { surface, visitor, bounds, middle, radius, slack, behind: looked == 0, inside: None };
    for face in work.triangles.chunk_by(|a, b| a.0 == b.0) {
        visit.face(face, &mut work.found);
    }
    for &(_, k) in &work.triangles {
        if surface.skin().has_ridge(k) {
            visit.edges(k, &mut work.found);
        }
    }
    if visit.behind && work.found.is_empty() {
        visit.is_inside();
    }
    if let Some(Some(out)) = visit.inside {
        visit.leave(out, &mut work.found);
        return looked;
    }
    work.found.sort_unstable_by_key(Touch::rank);
    reduce(&mut work.found, &mut work.marks, CLOSE * visitor.size);
    looked
}

struct Visit<'a, S> {
    surface: &'a S,
    visitor: &'a Visitor<'a>,
    /// Around all that the visitor may reach.
    bounds: Aabb,
    /// A point well inside the visitor.
    middle: DVec3,
    /// Of the ball that the visitor is round by.
    radius: f64,
    /// Up to which a direction counts as within a cone.
    slack: f64,
    /// Whether the middle lies behind some triangle nearby, or may do so because there is none.
    behind: bool,
    /// Once it was asked: the triangle through which the middle leaves the solid, if it is in there.
    inside: Option<Option<u32>>,
}

impl<S: Surface> Visit<'_, S> {
    fn is_inside(&mut self) -> bool {
        let (surface, v) = (self.surface, self.visitor);
        let depth = v.shape.bounding_radius();
        self.inside.get_or_insert_with(|| surface.way_out(self.middle, depth)).is_some()
    }

    /// The triangles of one region.
    fn face(&mut self, triangles: &[(u32, u32)], found: &mut Vec<Touch>) {
        let (region, v) = (triangles[0].0, self.visitor);
        let (origin, normal) = (self.surface.corners(region)[0], self.surface.normal(region));
        self.behind |= (self.middle - origin).dot(normal) < 0.0;
        let mut manifold = Manifold::default();
        let reach = v.near + (-v.way.dot(normal)).max(0.0);
        plane_contacts(v.shape, &v.pose, origin, normal, reach, &mut manifold);
        for p in manifold.points() {
            // What is round lies over a triangle if the middle of its roundness does.
            let (core, height) = (p.on_a + normal * self.radius, p.gap + self.radius);
            let over = || triangles.iter().any(|&(_, k)| self.is_over(k, core, height));
            if !(p.gap <= v.near && over() || self.arrives_over(triangles, core, p)) {
                continue;
            }
            if (self.middle - origin).dot(normal) < 0.0 {
                if !self.is_inside() {
                    continue;
                }
            } else if -p.gap > DEEP * v.size && !self.surface.entered(self.middle, p.on_a) {
                continue;
            }
            found.push(Touch { part: region, point: ContactPoint { feature: p.feature % EDGE, ..*p } });
        }
    }

    /// Whether a point of the body meets the plane of the face over one of the triangles, or comes nearest there. Where
    /// the body is round, the middle of its roundness moves as the body's outline does.
    fn arrives_over(&self, triangles: &[(u32, u32)], core: DVec3, p: &ContactPoint) -> bool {
        let v = self.visitor;
        let moves = v.drift + v.turn.cross(core);
        let approach = -moves.dot(p.normal);
        if p.gap <= 0.0 || approach <= 0.0 {
            return false;
        }
        let at = core + moves * (p.gap / approach).min(1.0);
        triangles.iter().any(|&(_, k)| self.is_over(k, at, 0.0))
    }

    /// Whether a point lies over a triangle, or with negative `height` in the part of the solid below it. At a convex
    /// edge that part ends half-way between the faces. Behind a concave one a point may be below both.
    fn is_over(&self, k: u32, p: DVec3, height: f64) -> bool {
        let s = self.surface;
        let (corners, normal) = (s.corners(k), s.normal(k));
        (0..3).all(|edge| {
            let from = p - corners[edge];
            let along = corners[(edge + 1) % 3] - corners[edge];
            let least = -RIM * along.length_squared();
            if from.dot(normal.cross(along)) >= least
                && (height >= 0.0 || s.skin().crease(k, edge) != Crease::Convex)
            {
                return true;
            }
            if height >= 0.0 {
                return false;
            }
            let Some(next) = s.neighbour(k, edge) else { return false };
            match s.skin().crease(k, edge) {
                Crease::Convex => from.dot((normal + s.normal(next)).cross(along)) >= least,
                Crease::Concave => from.dot(s.normal(next)) <= 0.0,
                Crease::Flat | Crease::Open => false,
            }
        })
    }

    fn edges(&self, k: u32, found: &mut Vec<Touch>) {
        let corners = self.surface.corners(k);
        for edge in 0..3 {
            let owned = match self.surface.skin().crease(k, edge) {
                Crease::Flat | Crease::Concave => false,
                Crease::Open => true,
                Crease::Convex => self.surface.neighbour(k, edge).is_none_or(|next| k < next),
            };
            let (a, b) = (corners[edge], corners[(edge + 1) % 3]);
            if owned && (Aabb { min: a.min(b), max: a.max(b) }).overlaps(&self.bounds) {
                self.edge(k, edge, [a, b], found);
            }
        }
    }

    fn edge(&self, k: u32, edge: usize, ends: [DVec3; 2], found: &mut Vec<Touch>) {
        let v = self.visitor;
        let mut manifold = Manifold::default();
        let Some(shift) = self.arrival(ends, &mut manifold) else { return };
        for p in manifold.points() {
            // Back to where the body is now.
            let p = ContactPoint { on_a: p.on_a - shift, gap: p.gap - shift.dot(p.normal), ..*p };
            if (self.middle - p.on_b).dot(p.normal) < 0.0 {
                continue;
            }
            let along = ends[1] - ends[0];
            let place = (p.on_b - ends[0]).dot(along) / along.length_squared();
            let named = |normal: DVec3, part: u32, feature: u32| {
                let gap = p.gap * normal.dot(p.normal);
                Touch { part, point: ContactPoint { normal, gap, feature: EDGE | feature, ..p } }
            };
            let end = if place < 1e-6 {
                Some(edge)
            } else if place > 1.0 - 1e-6 {
                Some((edge + 1) % 3)
            } else {
                None
            };
            let touch = match end {
                Some(corner) => cone::at_vertex(self.surface, k, corner, p.normal, self.slack)
                    .map(|(normal, (first, corner))| named(normal, first, 3 << EDGE_SHIFT | corner as u32)),
                None => cone::at_edge(self.surface, k, edge, p.normal, self.slack).map(|normal| {
                    named(normal, k, (edge as u32) << EDGE_SHIFT | p.feature & ((1 << EDGE_SHIFT) - 1))
                }),
            };
            if let Some(touch) = touch.filter(|t| t.point.gap <= v.near + v.way.length()) {
                found.push(touch);
            }
        }
    }

    /// The part of its way after which the body is near the segment, with the contacts there; None if it passes.
    /// Conservative advancement: from distance d the body may safely move on by d.
    fn arrival(&self, ends: [DVec3; 2], manifold: &mut Manifold) -> Option<DVec3> {
        let v = self.visitor;
        let length = v.way.length();
        let mut pose = v.pose;
        let mut gone = 0.0;
        for _ in 0..32 {
            segment_contacts(v.shape, &pose, ends, v.near + length - gone, manifold);
            let gap = manifold.points().iter().map(|p| p.gap).fold(f64::INFINITY, f64::min);
            if gap == f64::INFINITY {
                return None;
            }
            if gap <= v.near + 1e-3 * v.size {
                break;
            }
            gone += gap - v.near;
            if gone >= length {
                return None;
            }
            pose.position = v.pose.position + v.way * (gone / length);
        }
        Some(pose.position - v.pose.position)
    }

    /// The middle of the body is inside the solid.
    fn leave(&self, out: u32, found: &mut Vec<Touch>) {
        found.clear();
        let v = self.visitor;
        let mut manifold = Manifold::default();
        let (origin, normal) = (self.surface.corners(out)[0], self.surface.normal(out));
        plane_contacts(v.shape, &v.pose, origin, normal, v.near, &mut manifold);
        let part = self.surface.skin().region(out);
        found.extend(
            manifold
                .points()
                .iter()
                .map(|p| Touch { part, point: ContactPoint { feature: p.feature % EDGE, ..*p } }),
        );
        found.sort_unstable_by_key(Touch::rank);
    }
}
