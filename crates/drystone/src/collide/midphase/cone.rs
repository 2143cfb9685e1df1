//! The directions in which a surface pushes at its edges and vertices: its normal cone there.
//!
//! A unit vector d is admitted at a point q if nothing of the surface around q lies further along d, that is
//! d · u ≤ 0 for every direction u that leads from q into the surface. Only then is q a nearest point of the
//! whole surface, and not just of one of its triangles; this is what keeps a sliding body from being tripped
//! by an edge between triangles that it cannot reach. The Voronoi regions of the features of a convex body
//! [Ericson2005, §9.5] are the convex case.
//!
//! A flat face of a body that lies on a face of the surface is never quite parallel to it. So directions up
//! to 2° outside are admitted too where a body has such faces, turned back into the cone: then they say
//! nothing that the face next door does not say itself.

use glam::DVec3;

use super::edge_topology::Crease;
use super::surface::{Surface, around, closest_point};
use crate::collide::Aabb;

/// Sine of 2°, up to which the narrow phase counts features as lying along each other.
pub(super) const ALONG: f64 = 0.034_899_496_702_500_97;
/// What rounding may do.
pub(super) const ROUNDING: f64 = 1e-9;
/// Triangles closer than this part of their size belong together.
const WELD: f64 = 1e-7;

/// A direction on its way into the cone; None once it is refused.
struct Admission {
    direction: Option<DVec3>,
    slack: f64,
}

impl Admission {
    /// `into` is unit and leads into the surface.
    fn ask(&mut self, into: DVec3) {
        if let Some(d) = self.direction {
            let excess = d.dot(into);
            if excess > self.slack {
                self.direction = None;
            } else if excess > 0.0 {
                self.direction = (d - into * excess).try_normalize();
            }
        }
    }
}

impl Admission {
    /// Where a triangle ends without a neighbour others may go on all the same: at an edge of which they only
    /// share a part, or which more than two share. Whatever holds the point `at` is asked; `size` is a length
    /// of the triangle.
    fn ask_others<S: Surface>(&mut self, surface: &S, triangle: u32, at: DVec3, size: f64) {
        if self.direction.is_none() {
            return;
        }
        let near = WELD * size;
        surface.visit_near(&Aabb::around(at, DVec3::splat(near)), None, |k| {
            let corners = surface.corners(k);
            if k != triangle && closest_point(corners, at).distance_squared(at) <= near * near {
                for corner in corners {
                    let into = corner - at;
                    if into.length_squared() > near * near {
                        self.ask(into.normalize());
                    }
                }
            }
        });
    }
}

/// `d`, turned into the cone of an edge at a point away from its ends; None if the sine of the angle is more
/// than `slack`.
pub(super) fn at_edge<S: Surface>(
    surface: &S,
    triangle: u32,
    edge: usize,
    at: DVec3,
    d: DVec3,
    slack: f64,
) -> Option<DVec3> {
    let corners = surface.corners(triangle);
    let along = (corners[(edge + 1) % 3] - corners[edge]).try_normalize()?;
    let normal = surface.normal(triangle);
    let mut admission = Admission { direction: Some(d), slack };
    admission.ask(along);
    admission.ask(-along);
    admission.ask(normal.cross(along));
    match surface.neighbour(triangle, edge) {
        Some(next) if surface.skin().crease(triangle, edge) != Crease::Open => {
            admission.ask(along.cross(surface.normal(next)));
        }
        // Where the surface ends it is the rim of a sheet that has only its upper side.
        _ => {
            admission.ask(-normal);
            admission.ask_others(surface, triangle, at, corners[(edge + 1) % 3].distance(corners[edge]));
        }
    }
    admission.direction
}

/// `d`, turned into the cone of a vertex, and the first (triangle, corner) around it, which names it.
pub(super) fn at_vertex<S: Surface>(
    surface: &S,
    triangle: u32,
    corner: usize,
    d: DVec3,
    slack: f64,
) -> Option<(DVec3, (u32, usize))> {
    // Most directions that are refused are so by the triangle at hand: no need to walk around.
    let p = surface.corners(triangle);
    for other in [(corner + 1) % 3, (corner + 2) % 3] {
        let into = p[other] - p[corner];
        let excess = d.dot(into);
        if excess > 0.0 && excess * excess > slack * slack * into.length_squared() {
            return None;
        }
    }
    let mut admission = Admission { direction: Some(d), slack };
    let mut first = (triangle, corner);
    let mut facing = false;
    let open = around(surface, triangle, corner, |k, c| {
        first = first.min((k, c));
        let p = surface.corners(k);
        for other in [(c + 1) % 3, (c + 2) % 3] {
            admission.ask((p[other] - p[c]).normalize_or_zero());
        }
        facing |= d.dot(surface.normal(k)) > 0.0;
    });
    if open {
        around(surface, triangle, corner, |k, _| admission.ask(-surface.normal(k)));
        let size = p[(corner + 1) % 3].distance(p[corner]);
        admission.ask_others(surface, triangle, p[corner], size);
    }
    // At the bottom of a pit the cone points into the solid.
    admission.direction.filter(|_| facing).map(|d| (d, first))
}
