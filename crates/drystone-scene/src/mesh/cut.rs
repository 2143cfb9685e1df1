//! A closed surface cut in two by a plane, each half closed again by a lid where the plane went through the
//! solid.

use std::collections::HashMap;

use drystone_solve::disjoint::DisjointSets;
use glam::{DVec2, DVec3};

use super::Surface;
use super::polygon::{self, Corner};

/// All points with `normal` · x = `offset`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plane {
    /// Unit.
    pub normal: DVec3,
    /// m
    pub offset: f64,
}

impl Plane {
    pub fn through(point: DVec3, normal: DVec3) -> Self {
        Self { normal, offset: normal.dot(point) }
    }

    pub fn height(&self, point: DVec3) -> f64 {
        self.normal.dot(point) - self.offset
    }

    fn flipped(&self) -> Self {
        Self { normal: -self.normal, offset: -self.offset }
    }
}

/// Where the vertices of a surface lie, seen from a plane.
pub(super) struct Sides {
    pub height: Vec<f64>,
    /// +1 above, -1 below, 0 as good as on it.
    pub sign: Vec<i8>,
}

impl Sides {
    pub fn new(surface: &Surface, plane: &Plane) -> Self {
        let (low, high) = surface.bounds();
        let near = 1e-9 * (high - low).length();
        let height: Vec<f64> = surface.vertices.iter().map(|&v| plane.height(v)).collect();
        let sign = height.iter().map(|&h| if h.abs() <= near { 0 } else { h.signum() as i8 }).collect();
        Self { height, sign }
    }

    pub fn parts(&self) -> bool {
        self.sign.contains(&1) && self.sign.contains(&-1)
    }

    /// Where the plane crosses an edge. The same bits for both triangles at the edge and for both halves.
    pub fn crossing(&self, surface: &Surface, i: u32, j: u32) -> DVec3 {
        let (i, j) = (i.min(j) as usize, i.max(j) as usize);
        let t = self.height[i] / (self.height[i] - self.height[j]);
        surface.vertices[i].lerp(surface.vertices[j], t)
    }
}

/// A corner of a clipped triangle: a vertex, or the crossing of an edge.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Knot {
    Vertex(u32),
    Edge(u32, u32),
}

/// What is left of a triangle on one side (`keep` is +1 or -1): nothing, three or four corners in order.
pub(super) fn clip(triangle: [u32; 3], sides: &Sides, keep: i8, into: &mut Vec<Knot>) {
    into.clear();
    let sign = |i: u32| sides.sign[i as usize] * keep;
    // A triangle that only touches the plane, or lies in it, belongs to the lid.
    if triangle.iter().all(|&i| sign(i) <= 0) {
        return;
    }
    for k in 0..3 {
        let (i, j) = (triangle[k], triangle[(k + 1) % 3]);
        if sign(i) >= 0 {
            into.push(Knot::Vertex(i));
        }
        if sign(i) * sign(j) < 0 {
            into.push(Knot::Edge(i.min(j), i.max(j)));
        }
    }
}

/// The halves below and above the plane, or `None` where it does not go through, or where the surface crosses
/// itself so that no lid can be found.
pub(super) fn cut(surface: &Surface, plane: &Plane) -> Option<[Surface; 2]> {
    let sides = Sides::new(surface, plane);
    if !sides.parts() {
        return None;
    }
    let below = half(surface, plane, &sides, -1)?;
    let above = half(surface, &plane.flipped(), &sides, 1)?;
    Some([below, above])
}

/// The half that `keep` names; `plane` has its normal pointing out of it.
fn half(surface: &Surface, plane: &Plane, sides: &Sides, keep: i8) -> Option<Surface> {
    let mut build =
        Build { surface, sides, index: HashMap::new(), made: Surface::default(), on_plane: Vec::new() };
    let mut knots = Vec::with_capacity(4);
    // Directed edges in the plane, each with how often it is passed more than its opposite.
    let mut rim: Vec<(u32, u32)> = Vec::new();
    for &triangle in &surface.triangles {
        clip(triangle, sides, keep, &mut knots);
        if knots.is_empty() {
            continue;
        }
        let corners: Vec<u32> = knots.iter().map(|&k| build.vertex(k)).collect();
        for k in 0..corners.len() {
            let (i, j) = (corners[k], corners[(k + 1) % corners.len()]);
            if build.on_plane[i as usize] && build.on_plane[j as usize] {
                rim.push((i, j));
            }
        }
        build.made.triangles.push([corners[0], corners[1], corners[2]]);
        if let &[a, _, c, d] = corners.as_slice() {
            build.made.triangles.push([a, c, d]);
        }
    }
    let (x, y) = polygon::axes(plane.normal);
    let corner = |index: u32| {
        let v = build.made.vertices[index as usize] - plane.normal * plane.offset;
        Corner { at: DVec2::new(v.dot(x), v.dot(y)), index }
    };
    // The lid goes round the other way than the walls that it closes.
    let rings = rings(rim.into_iter().map(|(i, j)| (j, i)).collect(), &corner)?;
    let lid = polygon::triangulate(rings)?;
    build.made.triangles.extend(lid);
    Some(build.made)
}

struct Build<'a> {
    surface: &'a Surface,
    sides: &'a Sides,
    index: HashMap<Knot, u32>,
    made: Surface,
    on_plane: Vec<bool>,
}

impl Build<'_> {
    fn vertex(&mut self, knot: Knot) -> u32 {
        if let Some(&index) = self.index.get(&knot) {
            return index;
        }
        let (at, on_plane) = match knot {
            Knot::Vertex(i) => (self.surface.vertices[i as usize], self.sides.sign[i as usize] == 0),
            Knot::Edge(i, j) => (self.sides.crossing(self.surface, i, j), true),
        };
        let index = self.made.vertices.len() as u32;
        self.made.vertices.push(at);
        self.on_plane.push(on_plane);
        self.index.insert(knot, index);
        index
    }
}

/// Directed edges joined to closed rings; edges passed both ways cancel. `None` where one leads nowhere.
fn rings(mut edges: Vec<(u32, u32)>, corner: &dyn Fn(u32) -> Corner) -> Option<Vec<Vec<Corner>>> {
    edges.sort_unstable();
    let mut left: Vec<(u32, u32)> = Vec::with_capacity(edges.len());
    for chunk in edges.chunk_by(|a, b| a == b) {
        let (i, j) = chunk[0];
        let start = edges.partition_point(|&e| e < (j, i));
        let opposite = edges[start..].iter().take_while(|&&e| e == (j, i)).count();
        left.extend(std::iter::repeat_n((i, j), chunk.len().saturating_sub(opposite)));
    }
    let mut used = vec![false; left.len()];
    let mut rings = Vec::new();
    for start in 0..left.len() {
        if used[start] {
            continue;
        }
        let mut ring = Vec::new();
        let mut at = start;
        loop {
            used[at] = true;
            ring.push(corner(left[at].0));
            let (from, here) = left[at];
            if here == left[start].0 {
                break;
            }
            let first = left.partition_point(|&(i, _)| i < here);
            let out = (first..left.len()).take_while(|&k| left[k].0 == here).filter(|&k| !used[k]);
            // Where rings touch, the sharpest turn to the left keeps them apart.
            let (p, q) = (corner(from).at, corner(here).at);
            let turn = |k: usize| {
                let angle = (q - p).angle_to(corner(left[k].1).at - q);
                if angle.is_finite() { angle } else { 0.0 }
            };
            at = out.max_by(|&a, &b| turn(a).total_cmp(&turn(b)).then(b.cmp(&a)))?;
        }
        // Two corners make no ring: an edge back and forth that did not cancel by number.
        if ring.len() > 2 {
            rings.push(ring);
        }
    }
    Some(rings)
}

/// The pieces of a surface that share no vertex, in the order of their first triangles. A piece that is
/// inside out is a cavity of another: then all stay together.
pub(super) fn pieces(surface: &Surface) -> Vec<Surface> {
    let mut sets = DisjointSets::new(surface.vertices.len());
    for &[a, b, c] in &surface.triangles {
        sets.join(a, b);
        sets.join(b, c);
    }
    let mut number: HashMap<u32, usize> = HashMap::new();
    let mut made: Vec<(Surface, HashMap<u32, u32>)> = Vec::new();
    for triangle in &surface.triangles {
        let piece = *number.entry(sets.root(triangle[0])).or_insert(made.len());
        if piece == made.len() {
            made.push(Default::default());
        }
        let (part, index) = &mut made[piece];
        let corners = triangle.map(|i| {
            *index.entry(i).or_insert_with(|| {
                part.vertices.push(surface.vertices[i as usize]);
                part.vertices.len() as u32 - 1
            })
        });
        part.triangles.push(corners);
    }
    if made.iter().any(|(part, _)| part.moments().volume <= 0.0) {
        return vec![surface.clone()];
    }
    made.into_iter().map(|(part, _)| part).collect()
}
