//! Planes worth cutting a concave solid along: the faces and the bisectors of its concave edges, where clean
//! cuts are, and evenly spaced ones across its own axes and the world's.

use std::collections::HashMap;

use glam::DVec3;

use super::Surface;
use super::cut::{Plane, Sides};
use drystone::body::principal_frame;

/// Most planes taken from concave edges.
const MOST_FEATURES: usize = 24;
/// Edges that are concave by less than this angle are taken for curvature.
const LEAST_ANGLE: f64 = 0.1;

/// A plane, and by how much it may be shifted to do better; 0 where it belongs to a face.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub plane: Plane,
    pub play: f64,
}

pub(super) fn candidates(surface: &Surface, concave: &[Concave], slices: usize) -> Vec<Candidate> {
    let mut found = features(surface, concave);
    let own = principal_frame(&surface.moments().second).1;
    let mut axes = vec![DVec3::X, DVec3::Y, DVec3::Z];
    for axis in [own.x_axis, own.y_axis, own.z_axis] {
        if axes.iter().all(|a| a.dot(axis).abs() < 1.0 - 1e-6) {
            axes.push(axis);
        }
    }
    for axis in axes {
        let reach = surface.vertices.iter().map(|v| v.dot(axis));
        let (low, high) = reach.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        let gap = (high - low) / (slices + 1) as f64;
        for k in 1..=slices {
            let plane = Plane { normal: axis, offset: low + gap * k as f64 };
            found.push(Candidate { plane, play: gap });
        }
    }
    found
}

/// An edge at which the surface is concave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Concave {
    ends: [u32; 2],
    /// The third corners of the triangles on both sides.
    opposite: [u32; 2],
    normals: [DVec3; 2],
    /// Length times angle, m.
    pub weight: f64,
}

impl Concave {
    /// Which share of it is concave still on one side of a plane.
    pub fn share(&self, sides: &Sides, keep: i8) -> f64 {
        let sign = |i: u32| sides.sign[i as usize] * keep;
        let [a, b] = self.ends;
        match (sign(a), sign(b)) {
            // In the plane: only if both triangles are on that side.
            (0, 0) => f64::from(u8::from(self.opposite.iter().all(|&i| sign(i) > 0))),
            (x, y) if x >= 0 && y >= 0 => 1.0,
            (x, y) if x <= 0 && y <= 0 => 0.0,
            (x, _) => {
                let (p, q) = (sides.height[a as usize], sides.height[b as usize]);
                let from_a = p / (p - q);
                if x > 0 { from_a } else { 1.0 - from_a }
            }
        }
    }
}

/// All concave edges.
pub(super) fn concave_edges(surface: &Surface) -> Vec<Concave> {
    let normal = |t: usize| {
        let [a, b, c] = surface.corners(t);
        (b - a).cross(c - a).normalize_or_zero()
    };
    let mut across: HashMap<(u32, u32), (usize, u32)> = HashMap::with_capacity(3 * surface.triangles.len());
    for (k, &[a, b, c]) in surface.triangles.iter().enumerate() {
        for (i, j, third) in [(a, b, c), (b, c, a), (c, a, b)] {
            across.insert((i, j), (k, third));
        }
    }
    let mut found = Vec::new();
    for (k, &[a, b, c]) in surface.triangles.iter().enumerate() {
        for (i, j, third) in [(a, b, c), (b, c, a), (c, a, b)] {
            let Some(&(other, fourth)) = across.get(&(j, i)).filter(|_| i < j) else { continue };
            let edge = surface.vertices[j as usize] - surface.vertices[i as usize];
            let (m, n) = (normal(k), normal(other));
            // From the normal of this triangle to the neighbour's, about the edge: below 0 where it is
            // concave.
            let angle = m.cross(n).dot(edge.normalize_or_zero()).atan2(m.dot(n));
            if angle < -LEAST_ANGLE {
                let weight = -angle * edge.length();
                found.push(Concave { ends: [i, j], opposite: [third, fourth], normals: [m, n], weight });
            }
        }
    }
    found
}

/// Planes of concave edges, those with the most length and angle first.
fn features(surface: &Surface, concave: &[Concave]) -> Vec<Candidate> {
    let (low, high) = surface.bounds();
    let size = (high - low).length();
    let middle = 0.5 * (low + high);
    // The same plane comes from many edges: collected by its rounded coordinates.
    let mut number: HashMap<[i64; 4], usize> = HashMap::new();
    let mut planes: Vec<(f64, Plane)> = Vec::new();
    let mut note = |weight: f64, n: DVec3, at: DVec3| {
        let Some(n) = n.try_normalize() else { return };
        // Both directions of the normal are one plane.
        let sign = if (n.x + 1e-9, n.y + 1e-9, n.z) < (0.0, 0.0, 0.0) { -1.0 } else { 1.0 };
        let plane = Plane::through(at, sign * n);
        let height = Plane::through(at - middle, sign * n).offset / size;
        let key = [plane.normal.x, plane.normal.y, plane.normal.z, height].map(|x| (x * 1e5).round() as i64);
        let k = *number.entry(key).or_insert(planes.len());
        if k == planes.len() {
            planes.push((0.0, plane));
        }
        planes[k].0 += weight;
    };
    for edge in concave {
        let [p, q] = edge.ends.map(|i| surface.vertices[i as usize]);
        let [m, n] = edge.normals;
        note(edge.weight, m, p);
        note(edge.weight, n, p);
        note(0.5 * edge.weight, (q - p).cross(m + n), p);
    }
    let mut order: Vec<usize> = (0..planes.len()).collect();
    order.sort_by(|&a, &b| planes[b].0.total_cmp(&planes[a].0).then(a.cmp(&b)));
    order.truncate(MOST_FEATURES);
    order.into_iter().map(|k| Candidate { plane: planes[k].1, play: 0.0 }).collect()
}
