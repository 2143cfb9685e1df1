//! A convex body against a surface of triangles: the outside of a solid.
//!
//! The contacts are those of the body with the faces of the surface (all triangles in one plane that hang
//! together), and with the edges and vertices where it is convex:
//!
//! 1. A face is a half-space as far as it reaches: of the points that the narrow phase finds between body and
//!    half-space those stay that lie over one of its triangles. On flat ground these are all, so that a body
//!    slides over a thousand triangles exactly as over a plane.
//! 2. An edge is a segment to the narrow phase. Its points stay where the direction of the contact is one in
//!    which the surface can push there ([`super::cone`]); at the ends of the segment that is the cone of the
//!    vertex. Flat and concave edges are left out: their faces say everything.
//! 3. A body whose middle is inside the solid leaves along the normal of the face through which its middle
//!    leaves soonest.
//!
//! A body that comes fast is looked at where it arrives: a face counts if the body's point meets its plane
//! over one of the triangles within the step, an edge if the body comes near it, and then with the direction
//! it has there. The gap is always the present one along that direction.

use glam::DVec3;

use super::cone;
use super::edge_topology::Crease;
use super::feature_edges::Asked;
use super::proxy::{Outline, Sight, Visitor};
use super::reduce::Groups;
use super::surface::Surface;
use crate::collide::narrowphase::{ContactPoint, Manifold};
use crate::shape::{Pose, Shape};

/// Names of contacts with edges and vertices have this bit, those with faces do not.
pub(super) const EDGE: u32 = 1 << 18;

/// An overlap of more than this part of the body's size has to show that it is one: the body's middle must
/// see the surface before the point that overlaps.
const DEEP_OVERLAP: f64 = 0.1;

/// Points closer together than this part of the body's size, with one normal, are one.
const MERGE_DISTANCE: f64 = 1e-3;

/// Part of the length of an edge by which a point may lie beyond it and still count as over the triangle.
pub(super) const RIM: f64 = 1e-9;

/// A contact between a body (A) and a surface (B), in the frame of the surface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    /// The region of a face, or a triangle at an edge or vertex.
    pub part: u32,
    pub point: ContactPoint,
}

impl Touch {
    /// The parts and the point in the world, for the given part of the body and place of the surface; with
    /// `swapped` the surface is A.
    pub(crate) fn placed(&self, part: u32, frame: &Pose, swapped: bool) -> ([u32; 2], ContactPoint) {
        let p = &self.point;
        let (on_a, on_b, normal) = (frame.point(p.on_a), frame.point(p.on_b), frame.rotation * p.normal);
        if swapped {
            ([self.part, part], ContactPoint { on_a: on_b, on_b: on_a, normal: -normal, ..*p })
        } else {
            ([part, self.part], ContactPoint { on_a, on_b, normal, ..*p })
        }
    }

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
    groups: Groups,
    /// What was found, faces before edges.
    pub found: Vec<Touch>,
}

/// Finds the contacts of a visitor with a surface. Returns how many triangles it looked at.
pub(crate) fn touches<S: Surface>(surface: &S, visitor: &Visitor, work: &mut Workspace) -> usize {
    work.found.clear();
    work.triangles.clear();
    let outline = Outline::of(visitor);
    let slack = if outline.ball.is_some() || visitor.exact { cone::ROUNDING } else { cone::ALONG };
    let (bounds, ball) = (outline.bounds, outline.ball);
    let mut visit =
        Visit { surface, visitor, outline, slack, behind: false, inside: None, asked: Asked::default() };
    let mut looked = 0;
    if let Shape::Sphere { radius } = visitor.shape {
        surface.visit_near(&bounds, ball, |k| {
            looked += 1;
            visit.ball(k, *radius, &mut work.found);
        });
    } else {
        surface.visit_near(&bounds, None, |k| {
            looked += 1;
            match visit.outline.sees(visitor, surface.corners(k)[0], surface.normal(k)) {
                Sight::Near => work.triangles.push((surface.skin().region(k), k)),
                Sight::Far => {}
                Sight::Behind => visit.behind = true,
            }
        });
        work.triangles.sort_unstable();
        for face in work.triangles.chunk_by(|a, b| a.0 == b.0) {
            visit.face(face, &mut work.found);
        }
        for &(_, k) in &work.triangles {
            if surface.skin().has_ridge(k) {
                visit.edges(k, &mut work.found);
            }
        }
    }
    visit.behind |= looked == 0;
    if visit.behind && work.found.is_empty() {
        visit.is_inside();
    }
    if let Some(Some(out)) = visit.inside {
        visit.leave(out, &mut work.found);
        return looked;
    }
    work.found.sort_unstable_by_key(Touch::rank);
    work.groups.reduce(&mut work.found, MERGE_DISTANCE * visitor.size, visitor.last);
    looked
}

pub(super) struct Visit<'a, S> {
    pub(super) surface: &'a S,
    pub(super) visitor: &'a Visitor<'a>,
    pub(super) outline: Outline,
    /// Up to which a direction counts as within a cone.
    pub(super) slack: f64,
    /// Whether the middle lies behind some triangle nearby, or may do so because there is none.
    pub(super) behind: bool,
    /// Once it was asked: the triangle through which the middle leaves the solid, if it is in there.
    inside: Option<Option<u32>>,
    /// Vertices that a ball was held against already.
    pub(super) asked: Asked,
}

impl<S: Surface> Visit<'_, S> {
    pub(super) fn is_inside(&mut self) -> bool {
        let (surface, depth, middle) = (self.surface, self.visitor.depth, self.outline.middle);
        self.inside.get_or_insert_with(|| surface.way_out(middle, depth)).is_some()
    }

    /// The triangles of one region.
    fn face(&mut self, triangles: &[(u32, u32)], found: &mut Vec<Touch>) {
        let (region, v) = (triangles[0].0, self.visitor);
        let (origin, normal) = (self.surface.corners(region)[0], self.surface.normal(region));
        self.behind |= (self.outline.middle - origin).dot(normal) < 0.0;
        let mut manifold = Manifold::default();
        let reach = v.near + (-v.way.dot(normal)).max(0.0);
        v.plane_contacts(region, origin, normal, reach, &mut manifold);
        for p in manifold.points() {
            // What is round lies over a triangle if the middle of its roundness does.
            let (core, height) = (p.on_a + normal * self.outline.radius, p.gap + self.outline.radius);
            let over = || triangles.iter().any(|&(_, k)| self.is_over(k, core, height));
            if !(p.gap <= v.near && over() || self.arrives_over(triangles, core, p)) {
                continue;
            }
            if (self.outline.middle - origin).dot(normal) < 0.0 {
                if !self.is_inside() {
                    continue;
                }
            } else if -p.gap > DEEP_OVERLAP * v.size && !self.surface.entered(self.outline.middle, p.on_a) {
                continue;
            }
            found.push(Touch { part: region, point: ContactPoint { feature: p.feature % EDGE, ..*p } });
        }
    }

    /// Whether a point of the body meets the plane of the face over one of the triangles, or comes nearest
    /// there. Where the body is round, the middle of its roundness moves as the body's outline does.
    pub(super) fn arrives_over(&self, triangles: &[(u32, u32)], core: DVec3, p: &ContactPoint) -> bool {
        let v = self.visitor;
        let moves = v.drift + v.turn.cross(core);
        let approach = -moves.dot(p.normal);
        if p.gap <= 0.0 || approach <= 0.0 {
            return false;
        }
        let at = core + moves * (p.gap / approach).min(1.0);
        triangles.iter().any(|&(_, k)| self.is_over(k, at, 0.0))
    }

    /// Whether a point lies over a triangle, or with negative `height` in the part of the solid below it. At
    /// a convex edge that part ends half-way between the faces. Below a concave one is a wedge that is
    /// straight below neither of its faces, and belongs to both.
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
                Crease::Concave => from.dot(along.cross(s.normal(next))) <= 0.0,
                Crease::Flat | Crease::Open => false,
            }
        })
    }

    /// The middle of the body is inside the solid.
    fn leave(&self, out: u32, found: &mut Vec<Touch>) {
        found.clear();
        let v = self.visitor;
        let mut manifold = Manifold::default();
        let (origin, normal) = (self.surface.corners(out)[0], self.surface.normal(out));
        let part = self.surface.skin().region(out);
        v.plane_contacts(part, origin, normal, v.near, &mut manifold);
        found.extend(
            manifold
                .points()
                .iter()
                .map(|p| Touch { part, point: ContactPoint { feature: p.feature % EDGE, ..*p } }),
        );
        found.sort_unstable_by_key(Touch::rank);
    }
}
