//! The convex hull as triangles, by quickhull [Barber1996] with exact predicates.
//!
//! 1. Start with a tetrahedron of far points. Every other point is listed with one facet that it lies
//!    strictly above.
//! 2. Take a facet with a list and its furthest point p.
//! 3. The facets that p lies strictly above are connected; their rim, the horizon, is one simple cycle.
//! 4. Replace them by the triangles between p and the horizon, and pass their points on to these.
//!
//! Points on a facet's plane count as not above it. Seen from p the facets strictly below it fill its
//! silhouette just once, so step 3 holds without any assumption on the position of the points, and a point
//! outside that lay above a facet removed in step 4 lies above one of the new ones. The hull may keep
//! triangles in one plane, and vertices in the middle of edges: [`super::merge`] sees to those.

use glam::DVec3;

use super::predicate::side;
use crate::shape::moments::double_area;

/// Why points have no hull with volume.
pub(super) enum Degenerate {
    /// All points are one.
    Point,
    /// All points are on one line.
    Line,
    /// All points are in one plane.
    Plane,
}

struct Facet {
    corners: [u32; 3],
    /// Across the edge from corner k to corner k + 1.
    across: [u32; 3],
    /// Unit normal, for distances only.
    normal: DVec3,
    /// Points strictly above, the furthest first.
    above: Vec<u32>,
    furthest: f64,
    alive: bool,
}

/// The triangles of the hull, counter-clockwise from outside, and the triangles across their edges.
/// What is no thicker than `thin` in some direction is refused.
pub(super) fn triangulate(points: &[DVec3], thin: f64) -> Result<(Vec<[u32; 3]>, Vec<[u32; 3]>), Degenerate> {
    let start = tetrahedron(points, thin)?;
    let points = &to_unit(points);
    let mut hull = Build { points, facets: Vec::new(), horizon_at: vec![NONE; points.len()] };
    hull.start(start)?;
    let mut waiting: Vec<u32> = (0..4).collect();
    while let Some(k) = waiting.pop() {
        let facet = &hull.facets[k as usize];
        if facet.alive && !facet.above.is_empty() {
            let first = hull.facets.len() as u32;
            hull.add(k);
            waiting.extend(first..hull.facets.len() as u32);
        }
    }
    let mut number = vec![NONE; hull.facets.len()];
    let alive: Vec<&Facet> = hull.facets.iter().filter(|f| f.alive).collect();
    let mut count = 0;
    for (k, facet) in hull.facets.iter().enumerate() {
        if facet.alive {
            number[k] = count;
            count += 1;
        }
    }
    let corners = alive.iter().map(|f| f.corners).collect();
    let across = alive.iter().map(|f| f.across.map(|g| number[g as usize])).collect();
    Ok((corners, across))
}

const NONE: u32 = u32::MAX;

/// Four points far apart: no thinner than need be.
fn tetrahedron(points: &[DVec3], thin: f64) -> Result<[u32; 4], Degenerate> {
    let furthest = |measure: &dyn Fn(DVec3) -> f64| {
        let mut best = (f64::NEG_INFINITY, 0);
        for (k, p) in points.iter().enumerate() {
            let m = measure(*p);
            if m > best.0 {
                best = (m, k);
            }
        }
        best
    };
    let mut ends = (0.0, 0, 0);
    for axis in 0..3 {
        let (low, i) = furthest(&|p| -p[axis]);
        let (high, j) = furthest(&|p| p[axis]);
        if high + low > ends.0 {
            ends = (high + low, i, j);
        }
    }
    if ends.0 <= thin {
        return Err(Degenerate::Point);
    }
    let (a, b) = (points[ends.1], points[ends.2]);
    let along = (b - a).normalize();
    let (off_line, k) = furthest(&|p| ((p - a) - along * (p - a).dot(along)).length());
    if off_line <= thin {
        return Err(Degenerate::Line);
    }
    let c = points[k];
    let normal = along.cross((c - a).normalize()).normalize();
    let (off_plane, l) = furthest(&|p| (p - a).dot(normal).abs());
    if off_plane <= thin {
        return Err(Degenerate::Plane);
    }
    Ok([ends.1 as u32, ends.2 as u32, k as u32, l as u32])
}

/// Scaled by a power of two, which loses nothing, into the range that the predicate asks for.
fn to_unit(points: &[DVec3]) -> Vec<DVec3> {
    let largest = points.iter().fold(0.0f64, |m, p| m.max(p.abs().max_element()));
    let mut scale = 1.0;
    while largest * scale >= 1.0 {
        scale *= 0.5;
    }
    while largest * scale < 0.5 {
        scale *= 2.0;
    }
    let tiny = 2f64.powi(-100);
    points.iter().map(|p| (*p * scale).map(|x| if x.abs() < tiny { 0.0 } else { x })).collect()
}

struct Build<'a> {
    points: &'a [DVec3],
    facets: Vec<Facet>,
    /// The facet above the horizon edge that starts at a point; only ever read where it was just written.
    horizon_at: Vec<u32>,
}

impl Build<'_> {
    fn is_above(&self, facet: &Facet, p: u32) -> bool {
        let [a, b, c] = facet.corners.map(|k| self.points[k as usize]);
        side(a, b, c, self.points[p as usize]) > 0.0
    }

    fn facet(&self, corners: [u32; 3], across: [u32; 3]) -> Facet {
        let normal = double_area(corners.map(|k| self.points[k as usize])).normalize_or_zero();
        Facet { corners, across, normal, above: Vec::new(), furthest: f64::NEG_INFINITY, alive: true }
    }

    /// Lists a point with the first of the facets from `from` on that it is above, if any.
    fn assign(&mut self, p: u32, from: usize) {
        for k in from..self.facets.len() {
            if self.is_above(&self.facets[k], p) {
                let facet = &mut self.facets[k];
                let at = self.points[facet.corners[0] as usize];
                let distance = (self.points[p as usize] - at).dot(facet.normal);
                facet.above.push(p);
                if distance > facet.furthest {
                    facet.furthest = distance;
                    let last = facet.above.len() - 1;
                    facet.above.swap(0, last);
                }
                return;
            }
        }
    }

    fn start(&mut self, [a, b, mut c, mut d]: [u32; 4]) -> Result<(), Degenerate> {
        let at = |k: u32| self.points[k as usize];
        let turn = side(at(a), at(b), at(c), at(d));
        if turn == 0.0 {
            return Err(Degenerate::Plane);
        }
        if turn > 0.0 {
            std::mem::swap(&mut c, &mut d);
        }
        // Now d is below a, b, c.
        for (corners, across) in
            [([a, b, c], [1, 2, 3]), ([b, a, d], [0, 3, 2]), ([c, b, d], [0, 1, 3]), ([a, c, d], [0, 2, 1])]
        {
            let facet = self.facet(corners, across);
            self.facets.push(facet);
        }
        for p in (0..self.points.len() as u32).filter(|p| ![a, b, c, d].contains(p)) {
            self.assign(p, 0);
        }
        Ok(())
    }

    /// Adds the furthest point above a facet to the hull.
    fn add(&mut self, facet: u32) {
        let p = self.facets[facet as usize].above[0];
        // Facets that p sees, the first edges of the rim among them.
        let mut seen = vec![facet];
        self.facets[facet as usize].alive = false;
        let mut rim_start = NONE;
        let mut k = 0;
        while k < seen.len() {
            let f = seen[k];
            k += 1;
            for e in 0..3 {
                let g = self.facets[f as usize].across[e];
                if !self.facets[g as usize].alive {
                    continue;
                }
                if self.is_above(&self.facets[g as usize], p) {
                    self.facets[g as usize].alive = false;
                    seen.push(g);
                } else {
                    let from = self.facets[f as usize].corners[e];
                    self.horizon_at[from as usize] = 4 * f + e as u32;
                    rim_start = from;
                }
            }
        }
        let first = self.facets.len() as u32;
        let mut from = rim_start;
        loop {
            let (f, e) = (self.horizon_at[from as usize] / 4, (self.horizon_at[from as usize] % 4) as usize);
            let to = self.facets[f as usize].corners[(e + 1) % 3];
            let outside = self.facets[f as usize].across[e];
            let new = self.facets.len() as u32;
            let facet = self.facet([from, to, p], [outside, new + 1, new.wrapping_sub(1)]);
            self.facets.push(facet);
            let g = &mut self.facets[outside as usize];
            // Two facets share one edge only: the one that runs from `to`.
            if let Some(back) = (0..3).find(|&i| g.corners[i] == to) {
                g.across[back] = new;
            }
            from = to;
            if from == rim_start {
                break;
            }
        }
        let last = self.facets.len() as u32 - 1;
        self.facets[first as usize].across[2] = last;
        self.facets[last as usize].across[1] = first;
        for f in seen {
            for q in std::mem::take(&mut self.facets[f as usize].above) {
                if q != p {
                    self.assign(q, first as usize);
                }
            }
        }
    }
}
