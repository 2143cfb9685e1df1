//! The point of a simplex nearest to the origin.
//!
//! The nearest point lies on a face with the newest corner: the other faces were left behind when it was
//! added. Which side of a face or an edge the origin is on is decided by triple products of edges, which keep
//! their digits where products of dot products, as in Johnson's recursion [GilbertJohnsonKeerthi1988],
//! cancel.

use glam::DVec3;

use super::convex::Vertex;

/// Corners, and the weights that give the nearest point.
#[derive(Clone, Copy)]
pub(super) struct Simplex {
    corners: [Vertex; 4],
    weights: [f64; 4],
    len: usize,
    nearest: DVec3,
}

/// What a new corner did.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Added {
    Nearer,
    /// Rounding has the last word.
    NoNearer,
    Inside,
}

/// A candidate: which corners, their weights, and the point.
#[derive(Clone, Copy)]
struct Part {
    corners: [usize; 3],
    weights: [f64; 3],
    len: usize,
    point: DVec3,
}

impl Simplex {
    pub(super) fn new(corner: Vertex) -> Self {
        Self {
            corners: [corner, Vertex::NONE, Vertex::NONE, Vertex::NONE],
            weights: [1.0, 0.0, 0.0, 0.0],
            len: 1,
            nearest: corner.w,
        }
    }

    pub(super) fn corners(&self) -> &[Vertex] {
        &self.corners[..self.len]
    }

    pub(super) fn weights(&self) -> &[f64] {
        &self.weights[..self.len]
    }

    /// The point nearest to the origin.
    pub(super) fn nearest(&self) -> DVec3 {
        self.nearest
    }

    /// The points of A and B whose difference is the nearest point.
    pub(super) fn witnesses(&self) -> (DVec3, DVec3) {
        let mut sum = (DVec3::ZERO, DVec3::ZERO);
        for (c, w) in self.corners().iter().zip(self.weights()) {
            sum.0 += c.a * *w;
            sum.1 += c.b * *w;
        }
        sum
    }

    /// The unit normal of three corners, as far as they span a plane.
    pub(super) fn plane(&self) -> Option<DVec3> {
        let [p, q, r, _] = self.corners.map(|c| c.w);
        if self.len == 3 { (q - p).cross(r - p).try_normalize() } else { None }
    }

    pub(super) fn contains(&self, v: &Vertex) -> bool {
        self.corners().iter().any(|c| c.w == v.w)
    }

    /// Adds a corner and keeps the smallest face with the nearest point, if that is nearer than before:
    /// otherwise nothing changes. With four corners that hold the origin, all are kept.
    pub(super) fn add(&mut self, corner: Vertex) -> Added {
        let new = self.len;
        debug_assert!(new < 4);
        self.corners[new] = corner;
        let part = match new {
            1 => self.edge(1, 0),
            2 => self.triangle(2, 0, 1),
            _ => match self.tetrahedron() {
                Some(part) => part,
                None => {
                    self.nearest = DVec3::ZERO;
                    self.len = 4;
                    return Added::Inside;
                }
            },
        };
        let nearer = part.point.length_squared() < self.nearest.length_squared();
        if !nearer {
            return Added::NoNearer;
        }
        // In rising order nothing is overwritten before it has moved.
        let mut to = 0;
        for from in 0..=new {
            for k in 0..part.len {
                if part.corners[k] == from {
                    if from != to {
                        self.corners[to] = self.corners[from];
                    }
                    self.weights[to] = part.weights[k];
                    to += 1;
                }
            }
        }
        self.len = part.len;
        self.nearest = part.point;
        Added::Nearer
    }

    fn w(&self, k: usize) -> DVec3 {
        self.corners[k].w
    }

    fn edge(&self, i: usize, j: usize) -> Part {
        let (p, q) = (self.w(i), self.w(j));
        let along = q - p;
        let squared = along.length_squared();
        let t = -p.dot(along) / squared;
        let corner = |k: usize, point| Part { corners: [k, k, k], weights: [1.0, 0.0, 0.0], len: 1, point };
        if t > 0.0 && t < 1.0 {
            // From the nearer end, so that a short distance is not the difference of long ones.
            let mut point = if t < 0.5 { p + along * t } else { q - along * (1.0 - t) };
            // Across the edge up to rounding of the distance, not of the corners: the edge is a long lever.
            point -= along * (point.dot(along) / squared);
            Part { corners: [i, j, j], weights: [1.0 - t, t, 0.0], len: 2, point }
        } else if t >= 1.0 {
            corner(j, q)
        } else {
            corner(i, p)
        }
    }

    fn triangle(&self, i: usize, j: usize, k: usize) -> Part {
        let (p, q, r) = (self.w(i), self.w(j), self.w(k));
        let (pq, pr) = (q - p, r - p);
        let normal = pq.cross(pr);
        let squared = normal.length_squared();
        // Positive where the origin lies beyond the edge.
        let beyond_pq = -pq.cross(normal).dot(p);
        let beyond_pr = pr.cross(normal).dot(p);
        let beyond_qr = -(r - q).cross(normal).dot(q);
        let flat = squared.is_nan() || squared <= f64::MIN_POSITIVE;
        if !flat && beyond_pq <= 0.0 && beyond_pr <= 0.0 && beyond_qr <= 0.0 {
            let total = beyond_pq + beyond_pr + beyond_qr;
            if total < 0.0 {
                let weights = [beyond_qr / total, beyond_pr / total, beyond_pq / total];
                let height = [p, q, r]
                    .map(|x| normal.dot(x))
                    .into_iter()
                    .fold(f64::INFINITY, |a, b| if b.abs() < a.abs() { b } else { a });
                return Part { corners: [i, j, k], weights, len: 3, point: normal * (height / squared) };
            }
        }
        let mut best: Option<Part> = None;
        for (outside, from, to) in [(beyond_pq, i, j), (beyond_pr, i, k), (beyond_qr, j, k)] {
            if flat || outside > 0.0 {
                let part = self.edge(from, to);
                if best.is_none_or(|b| part.point.length_squared() < b.point.length_squared()) {
                    best = Some(part);
                }
            }
        }
        best.unwrap_or_else(|| self.edge(i, j))
    }

    /// Nothing when the origin is inside.
    fn tetrahedron(&self) -> Option<Part> {
        let top = self.w(3);
        let (e1, e2, e3) = (self.w(0) - top, self.w(1) - top, self.w(2) - top);
        let volume = e1.cross(e2).dot(e3);
        // Too flat to have an inside: the nearest point is on one of its faces in any case.
        let size = e1.length_squared() * e2.length_squared() * e3.length_squared();
        let flat = volume * volume <= 1e-28 * size || volume.is_nan();
        let mut best: Option<Part> = None;
        for (i, j, edges) in [(0, 1, (e1, e2)), (1, 2, (e2, e3)), (2, 0, (e3, e1))] {
            // The volume has the sign of the normal of each such face over the corner left out.
            let outward = edges.0.cross(edges.1) * -volume.signum();
            if flat || outward.dot(top) < 0.0 {
                let part = self.triangle(3, i, j);
                if best.is_none_or(|b| part.point.length_squared() < b.point.length_squared()) {
                    best = Some(part);
                }
            }
        }
        if flat {
            let part = self.triangle(0, 1, 2);
            if best.is_none_or(|b| part.point.length_squared() < b.point.length_squared()) {
                best = Some(part);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn vertex(w: DVec3) -> Vertex {
        Vertex { a: w, w, ..Vertex::NONE }
    }

    /// Points of the simplex by random weights come no nearer, and the nearest point is one of them.
    #[test]
    fn nearest_point_is_nearest() {
        let mut random = Random::new(5);
        let (mut inside, mut faces) = (0, [0; 4]);
        for _ in 0..10_000 {
            let shift = 1.5 * random.in_ball();
            let points: Vec<DVec3> = (0..4).map(|_| random.unit_vector() + shift).collect();
            let mut simplex = Simplex::new(vertex(points[0]));
            let mut apart = true;
            for p in &points[1..] {
                // As in use: only points beyond the present nearest are added.
                if simplex.nearest().dot(*p) < simplex.nearest().length_squared() && apart {
                    let before = simplex.nearest().length();
                    apart = simplex.add(vertex(*p)) != Added::Inside;
                    assert!(simplex.nearest().length() <= before + 1e-15);
                }
            }
            if !apart {
                inside += 1;
                let c: Vec<DVec3> = simplex.corners().iter().map(|c| c.w).collect();
                assert_eq!(c.len(), 4);
                for _ in 0..50 {
                    let n = random.unit_vector();
                    assert!(c.iter().any(|p| p.dot(n) >= 0.0));
                }
                continue;
            }
            faces[simplex.corners().len()] += 1;
            let (on_a, _) = simplex.witnesses();
            assert!(on_a.distance(simplex.nearest()) < 1e-13);
            assert!(simplex.weights().iter().all(|w| *w >= 0.0));
            let d = simplex.nearest().length();
            // The plane through the nearest point supports the corners it is made of.
            for c in simplex.corners() {
                assert!((c.w.dot(simplex.nearest()) - d * d).abs() < 1e-12);
            }
        }
        assert!(inside > 30 && faces[1] > 50 && faces[2] > 50 && faces[3] > 50, "{inside} {faces:?}");
    }
}
