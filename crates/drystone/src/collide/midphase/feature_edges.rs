//! A convex body against the edges of a surface that stick out, and their ends.

use glam::DVec3;

use super::cone;
use super::convex_mesh::{EDGE, Touch, Visit};
use super::edge_topology::Crease;
use super::pieces::segment_contacts;
use super::surface::Surface;
use crate::collide::narrowphase::{ContactPoint, Manifold};
use crate::collide::query;

/// Names of contacts with edges: two bits the edge (3: a vertex, then the corner), below them the narrow
/// phase's name.
const EDGE_SHIFT: u32 = 16;

/// An edge is deep in a body from this part of the body's size on.
const SUNK: f64 = 0.01;

/// The name of a point on an edge, with the narrow phase's name for it.
pub(super) fn edge_name(edge: usize, point: u32) -> u32 {
    (edge as u32) << EDGE_SHIFT | point & ((1 << EDGE_SHIFT) - 1)
}

/// The name of a vertex, at a corner of the triangle that names it.
pub(super) fn vertex_name(corner: usize) -> u32 {
    3 << EDGE_SHIFT | corner as u32
}

/// The last few vertices: a ball is in the same direction from a vertex by whichever edge one comes there.
#[derive(Default)]
pub(super) struct Asked {
    vertices: [DVec3; 8],
    count: usize,
}

impl Asked {
    /// Whether it was asked for before.
    pub(super) fn again(&mut self, vertex: DVec3) -> bool {
        let known = self.vertices[..self.count.min(8)].contains(&vertex);
        if !known {
            self.vertices[self.count % 8] = vertex;
            self.count += 1;
        }
        known
    }
}

impl<S: Surface> Visit<'_, S> {
    /// The edges of a triangle that stick out and belong to it.
    pub(super) fn edges(&self, k: u32, found: &mut Vec<Touch>) {
        let corners = self.surface.corners(k);
        for edge in 0..3 {
            let ends = [corners[edge], corners[(edge + 1) % 3]];
            if self.owns(k, edge) && self.outline.sees_edge(self.visitor, ends) {
                self.edge(k, edge, ends, found);
            }
        }
    }

    /// Whether an edge sticks out, and it falls to this of its two triangles to say so.
    pub(super) fn owns(&self, k: u32, edge: usize) -> bool {
        match self.surface.skin().crease(k, edge) {
            Crease::Flat | Crease::Concave => false,
            Crease::Open => true,
            Crease::Convex => self.surface.neighbour(k, edge).is_none_or(|next| k < next),
        }
    }

    fn edge(&self, k: u32, edge: usize, ends: [DVec3; 2], found: &mut Vec<Touch>) {
        let v = self.visitor;
        let mut manifold = Manifold::default();
        let Some(shift) = self.arrival(ends, &mut manifold) else { return };
        for p in manifold.points() {
            // Back to where the body is now.
            let p = ContactPoint { on_a: p.on_a - shift, gap: p.gap - shift.dot(p.normal), ..*p };
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
                _ if (self.outline.middle - p.on_b).dot(p.normal) < 0.0 => None,
                Some(corner) => cone::at_vertex(self.surface, k, corner, p.normal, self.slack)
                    .map(|(normal, (first, corner))| named(normal, first, vertex_name(corner))),
                None => cone::at_edge(self.surface, k, edge, p.on_b, p.normal, self.slack)
                    .map(|normal| named(normal, k, edge_name(edge, p.feature))),
            };
            let touch = touch.filter(|t| t.point.gap <= v.near + v.way.length());
            found.extend(touch.or_else(|| self.sunk(k, edge, &p)));
        }
    }

    /// An edge so deep in the body that the shortest way out is none in which the surface can push: out
    /// between its faces instead.
    fn sunk(&self, k: u32, edge: usize, p: &ContactPoint) -> Option<Touch> {
        let v = self.visitor;
        if p.gap >= -SUNK * v.size {
            return None;
        }
        let next = self.surface.neighbour(k, edge).map_or(DVec3::ZERO, |n| self.surface.normal(n));
        let normal = (self.surface.normal(k) + next).try_normalize()?;
        if (self.outline.middle - p.on_b).dot(normal) < 0.0 {
            return None;
        }
        let far = 2.0 * v.shape.bounding_radius() + v.pose.position.distance(p.on_b);
        let hit = query::ray(v.shape, &v.pose, p.on_b - normal * far, normal, far)?;
        let gap = hit.distance - far;
        let feature = EDGE | edge_name(edge, p.feature);
        Some(Touch { part: k, point: ContactPoint { on_a: hit.point, on_b: p.on_b, normal, gap, feature } })
    }

    /// The part of its way after which the body is near the segment, with the contacts there; None if it
    /// passes. Conservative advancement: from distance d the body may safely move on by d.
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
}
