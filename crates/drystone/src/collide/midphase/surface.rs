//! What the middle phase asks of a surface of triangles: a mesh or a height field.

use glam::DVec3;

use super::edge_topology::Skin;
use crate::collide::Aabb;
use crate::shape::{HeightField, TriMesh};

/// A surface that is the outside of a solid, in its own frame. Edge e of a triangle runs from corner e to
/// corner e + 1.
pub(crate) trait Surface {
    /// Counter-clockwise from outside.
    fn corners(&self, triangle: u32) -> [DVec3; 3];
    /// Unit, outward.
    fn normal(&self, triangle: u32) -> DVec3;
    /// Across an edge.
    fn neighbour(&self, triangle: u32, edge: usize) -> Option<u32>;
    fn skin(&self) -> &Skin;
    /// Visits the triangles that could touch something within `bounds`, or within the ball (centre and
    /// radius) where there is one.
    fn visit_near(&self, bounds: &Aabb, ball: Option<(DVec3, f64)>, visit: impl FnMut(u32));
    /// The triangle through which a point inside the solid leaves it soonest; None for a point outside. A
    /// mesh is solid down to `depth` below its triangles, which is all that can be said of an open one.
    fn way_out(&self, point: DVec3, depth: f64) -> Option<u32>;
    /// Whether the surface is entered on the way from one point to another.
    fn entered(&self, from: DVec3, to: DVec3) -> bool;
}

impl Surface for TriMesh {
    fn corners(&self, triangle: u32) -> [DVec3; 3] {
        self.triangle(triangle as usize)
    }

    fn normal(&self, triangle: u32) -> DVec3 {
        TriMesh::normal(self, triangle as usize)
    }

    fn neighbour(&self, triangle: u32, edge: usize) -> Option<u32> {
        TriMesh::neighbour(self, triangle as usize, edge)
    }

    fn skin(&self) -> &Skin {
        TriMesh::skin(self)
    }

    fn visit_near(&self, bounds: &Aabb, ball: Option<(DVec3, f64)>, visit: impl FnMut(u32)) {
        match ball {
            Some((centre, radius)) => self.bvh().within(centre, radius, visit),
            None => self.bvh().overlapping(bounds, visit),
        }
    }

    fn way_out(&self, point: DVec3, depth: f64) -> Option<u32> {
        let mut best = Nearest::new();
        let bound = |b: &Aabb| point.distance(point.clamp(b.min, b.max));
        self.bvh().nearest(bound, depth, |k, limit| {
            best.offer(self, k, point);
            limit.min(best.distance * (1.0 + TIE))
        });
        (best.distance <= depth && best.height < 0.0).then_some(best.triangle)
    }

    fn entered(&self, from: DVec3, to: DVec3) -> bool {
        let way = to - from;
        let mut hit = false;
        self.bvh().ray(from, way, 1.0, |k, max| {
            hit |= way.dot(Surface::normal(self, k)) < 0.0 && ray_triangle(self.corners(k), from, way) <= max;
            if hit { -1.0 } else { max }
        });
        hit
    }
}

impl Surface for HeightField {
    fn corners(&self, triangle: u32) -> [DVec3; 3] {
        self.triangle(triangle as usize)
    }

    fn normal(&self, triangle: u32) -> DVec3 {
        HeightField::normal(self, triangle as usize)
    }

    fn neighbour(&self, triangle: u32, edge: usize) -> Option<u32> {
        HeightField::neighbour(self, triangle as usize, edge)
    }

    fn skin(&self) -> &Skin {
        HeightField::skin(self)
    }

    fn visit_near(&self, bounds: &Aabb, _ball: Option<(DVec3, f64)>, visit: impl FnMut(u32)) {
        self.triangles_in(bounds, visit);
    }

    /// Straight above, whatever the depth.
    fn way_out(&self, point: DVec3, _depth: f64) -> Option<u32> {
        let k = self.triangle_at(point.x, point.y)?;
        let height = (point - self.corners(k)[0]).dot(Surface::normal(self, k));
        (height < 0.0).then_some(k)
    }

    /// The field is a function of x and y: the way enters where it starts above and ends below.
    fn entered(&self, from: DVec3, to: DVec3) -> bool {
        let above = |p: DVec3| self.height_at(p.x, p.y).map(|z| p.z - z);
        above(from).is_none_or(|z| z >= 0.0) && above(to).is_some_and(|z| z < 0.0)
    }
}

/// Distances that differ by no more than this part belong to one point of the surface, shared by triangles.
const TIE: f64 = 1e-9;

/// The nearest triangle to a point, and on which side of it the point lies. Among triangles that share the
/// nearest point the one whose plane is furthest from the point knows its side; the others see it edge-on.
pub(crate) struct Nearest {
    pub triangle: u32,
    pub distance: f64,
    pub height: f64,
}

impl Nearest {
    pub(crate) fn new() -> Self {
        Self { triangle: u32::MAX, distance: f64::INFINITY, height: 0.0 }
    }

    pub(crate) fn offer(&mut self, surface: &impl Surface, k: u32, point: DVec3) {
        let corners = surface.corners(k);
        let foot = closest_point(corners, point);
        let distance = point.distance(foot);
        let height = (point - corners[0]).dot(surface.normal(k));
        let tie = self.distance * TIE;
        let sharper = height.abs() > self.height.abs() * (1.0 + TIE)
            || height.abs() >= self.height.abs() * (1.0 - TIE) && k < self.triangle;
        if distance < self.distance - tie || distance <= self.distance + tie && sharper {
            let distance = distance.min(self.distance);
            *self = Self { triangle: k, distance, height };
        }
    }
}

/// What of a triangle is nearest to a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    Face,
    /// From corner e to corner e + 1.
    Edge(usize),
    Vertex(usize),
}

/// The point of a triangle nearest to `p`.
pub(crate) fn closest_point(corners: [DVec3; 3], p: DVec3) -> DVec3 {
    closest_feature(corners, p).0
}

/// The point of a triangle nearest to `p`, and what it belongs to: the plane's foot where that lies within,
/// else the nearest edge or vertex [Ericson2005, §5.1.5].
#[inline]
pub(crate) fn closest_feature([a, b, c]: [DVec3; 3], p: DVec3) -> (DVec3, Feature) {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return (a, Feature::Vertex(0));
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return (b, Feature::Vertex(1));
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return (a + ab * (d1 / (d1 - d3)), Feature::Edge(0));
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return (c, Feature::Vertex(2));
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return (a + ac * (d2 / (d2 - d6)), Feature::Edge(2));
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        return (b + (c - b) * ((d4 - d3) / ((d4 - d3) + (d5 - d6))), Feature::Edge(1));
    }
    let sum = va + vb + vc;
    (a + ab * (vb / sum) + ac * (vc / sum), Feature::Face)
}

/// The s ≥ 0 at which `origin + s direction` meets the triangle, or infinity. Triangles that share an edge
/// leave no crack between them wider than rounding.
pub(crate) fn ray_triangle([a, b, c]: [DVec3; 3], origin: DVec3, direction: DVec3) -> f64 {
    let (ab, ac) = (b - a, c - a);
    let across = direction.cross(ac);
    let determinant = ab.dot(across);
    if determinant == 0.0 {
        return f64::INFINITY;
    }
    let from = origin - a;
    let u = from.dot(across) / determinant;
    let side = from.cross(ab);
    let v = direction.dot(side) / determinant;
    let slack = 1e-12;
    if u < -slack || v < -slack || u + v > 1.0 + slack {
        return f64::INFINITY;
    }
    let s = ac.dot(side) / determinant;
    if s >= 0.0 { s } else { f64::INFINITY }
}

/// Visits (triangle, corner) around the vertex at the given corner, starting there: first one way round,
/// then, where the surface ends, the other. Tells whether the surface ends somewhere around it.
pub(crate) fn around<S: Surface>(
    surface: &S,
    triangle: u32,
    corner: usize,
    mut visit: impl FnMut(u32, usize),
) -> bool {
    /// More than any vertex of a sound mesh has; a loop that never closes ends here.
    const MAX_RING: usize = 256;
    let vertex = surface.corners(triangle)[corner];
    visit(triangle, corner);
    let next = |k: u32, edge: usize| {
        let n = surface.neighbour(k, edge)?;
        let corner = surface.corners(n).iter().position(|p| *p == vertex)?;
        Some((n, corner))
    };
    let mut at = (triangle, corner);
    for _ in 0..MAX_RING {
        match next(at.0, (at.1 + 2) % 3) {
            Some(n) if n.0 == triangle => return false,
            Some(n) => at = n,
            None => break,
        }
        visit(at.0, at.1);
    }
    at = (triangle, corner);
    for _ in 0..MAX_RING {
        match next(at.0, at.1) {
            Some(n) if n.0 != triangle => at = n,
            _ => break,
        }
        visit(at.0, at.1);
    }
    true
}
