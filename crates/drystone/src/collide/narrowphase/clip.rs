//! The patch between a reference face of one box and the incident face of another.
//!
//! The incident face is cut to the outline of the reference face [Sutherland–Hodgman]; every corner of what remains is a
//! contact point whose gap is its height over the reference face. A corner is named by what made it: a corner of either
//! face, or the crossing of an incident edge with a side of the reference face. Corners of the two faces that nearly
//! coincide, as in a flush stack, would change their maker with every small motion: near a corner, the corner's name wins.

use glam::DVec3;

use super::{ContactPoint, Cuboid, MAX_POINTS, Manifold, sign};

/// A quad cut by four lines has at most eight corners; the rest is for rounding at nearly parallel edges.
const CAPACITY: usize = 12;

/// Names: bits 0 to 5 the maker, 6 and 7 its kind, 8 to 10 the reference face.
const INCIDENT_CORNER: u32 = 0;
const REFERENCE_CORNER: u32 = 1 << 6;
const CROSSING: u32 = 2 << 6;
const FACE_SHIFT: u32 = 8;

/// A corner's name holds within this part of the shorter half side of the two faces.
const SNAP: f64 = 0.02;

/// A patch is level when its heights differ by at most this part of the longer half side.
const LEVEL: f64 = 1e-3;

/// A corner of the cut polygon: place on the reference face, height over it, and the edges before and after it.
/// Edges 0 to 3 are those of the incident face, 4 to 7 the sides u = +, u = -, v = +, v = - of the reference face.
#[derive(Clone, Copy, Default)]
struct Corner {
    u: f64,
    v: f64,
    height: f64,
    before: u8,
    after: u8,
    feature: u32,
}

#[derive(Clone, Copy)]
struct Polygon {
    corners: [Corner; CAPACITY],
    len: usize,
}

impl Polygon {
    fn new() -> Self {
        Self { corners: [Corner::default(); CAPACITY], len: 0 }
    }

    fn push(&mut self, corner: Corner) {
        if self.len < CAPACITY {
            self.corners[self.len] = corner;
            self.len += 1;
        }
    }

    fn as_slice(&self) -> &[Corner] {
        &self.corners[..self.len]
    }

    fn as_mut_slice(&mut self) -> &mut [Corner] {
        &mut self.corners[..self.len]
    }

    /// Keeps what is at most `limit` from the middle along `side` of a coordinate; the cut becomes the side `label`.
    /// `spare` is room to work in.
    fn cut(
        &mut self,
        spare: &mut Polygon,
        label: u8,
        side: f64,
        limit: f64,
        coordinate: fn(&mut Corner) -> &mut f64,
    ) {
        let excess = |p: &Corner| side * *coordinate(&mut p.clone()) - limit;
        if self.as_slice().iter().all(|p| excess(p) <= 0.0) {
            return;
        }
        spare.len = 0;
        for (i, from) in self.as_slice().iter().enumerate() {
            let to = &self.corners[if i + 1 == self.len { 0 } else { i + 1 }];
            let (x0, x1) = (excess(from), excess(to));
            if x0 <= 0.0 {
                spare.push(*from);
            }
            if (x0 <= 0.0) != (x1 <= 0.0) {
                let f = x0 / (x0 - x1);
                let (before, after) = if x0 <= 0.0 { (from.after, label) } else { (label, from.after) };
                let mut crossing = Corner {
                    u: from.u + f * (to.u - from.u),
                    v: from.v + f * (to.v - from.v),
                    height: from.height + f * (to.height - from.height),
                    before,
                    after,
                    feature: 0,
                };
                *coordinate(&mut crossing) = side * limit;
                spare.push(crossing);
            }
        }
        std::mem::swap(self, spare);
    }
}

/// The contact patch of a reference face with another box.
pub(super) struct Patch<'a> {
    reference: &'a Cuboid,
    axis: usize,
    /// Outward normal of the reference face.
    outward: DVec3,
    polygon: Polygon,
    /// The longer half side of the reference face, m.
    extent: f64,
}

impl<'a> Patch<'a> {
    /// Cuts the face of `incident` that looks most squarely at the face `side * axis` of `reference`, and keeps the
    /// corners with height at most `reach`.
    pub(super) fn new(reference: &'a Cuboid, axis: usize, side: f64, incident: &Cuboid, reach: f64) -> Self {
        let (ku, kv) = ((axis + 1) % 3, (axis + 2) % 3);
        let (eu, ev, outward) = (reference.axes[ku], reference.axes[kv], reference.axes[axis] * side);
        let (hu, hv) = (reference.half[ku], reference.half[kv]);

        let facing = incident.inward(outward);
        let mut m = 0;
        for k in 1..3 {
            if facing[k].abs() > facing[m].abs() {
                m = k;
            }
        }
        let (m1, m2) = ((m + 1) % 3, (m + 2) % 3);
        let front = -sign(facing[m]);
        let centre = incident.centre - reference.centre + incident.axes[m] * (front * incident.half[m]);
        let [c, e1, e2] =
            [centre, incident.axes[m1] * incident.half[m1], incident.axes[m2] * incident.half[m2]]
                .map(|w| [w.dot(eu), w.dot(ev), w.dot(outward)]);

        let mut face = Polygon::new();
        for (i, (s1, s2)) in [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)].into_iter().enumerate() {
            face.push(Corner {
                u: c[0] + s1 * e1[0] + s2 * e2[0],
                v: c[1] + s1 * e1[1] + s2 * e2[1],
                height: c[2] + s1 * e1[2] + s2 * e2[2] - reference.half[axis],
                before: (i as u8 + 3) % 4,
                after: i as u8,
                feature: bit(front, m) | bit(s1, m1) | bit(s2, m2),
            });
        }
        let mut polygon = face;
        if face.as_slice().iter().any(|p| p.u.abs() > hu || p.v.abs() > hv) {
            polygon = polygon
                .cut(4, |p| p.u - hu, |p| p.u = hu)
                .cut(5, |p| -hu - p.u, |p| p.u = -hu)
                .cut(6, |p| p.v - hv, |p| p.v = hv)
                .cut(7, |p| -hv - p.v, |p| p.v = -hv);
        }

        let mut patch = Patch { reference, axis, outward, polygon: Polygon::new(), extent: hu.max(hv) };
        let near = SNAP * hu.min(hv).min(incident.half[m1]).min(incident.half[m2]);
        let face_name = (axis as u32 * 2 + u32::from(side > 0.0)) << FACE_SHIFT;
        for p in polygon.as_slice().iter().filter(|p| p.height <= reach) {
            let at_incident = face.as_slice().iter().find(|q| (q.u - p.u).hypot(q.v - p.v) <= near);
            let name = if let Some(corner) = at_incident {
                INCIDENT_CORNER | corner.feature
            } else if hu - p.u.abs() <= near && hv - p.v.abs() <= near {
                REFERENCE_CORNER | bit(p.u, 0) | bit(p.v, 1)
            } else {
                let (edge, cut) = if p.before < 4 { (p.before, p.after) } else { (p.after, p.before) };
                // Edges 0 and 2 run along m1 on the side s2 = +, -; edges 1 and 3 along m2 on the side s1 = -, +.
                let edge = match edge {
                    0 => edge_name(m1, m2, 1.0, m, front),
                    1 => edge_name(m2, m1, -1.0, m, front),
                    2 => edge_name(m1, m2, -1.0, m, front),
                    _ => edge_name(m2, m1, 1.0, m, front),
                };
                CROSSING | edge << 2 | u32::from(cut - 4)
            };
            patch.add(Corner { feature: name | face_name, ..*p });
        }
        patch
    }

    /// Adds a point, or of two with the same name the deeper one.
    fn add(&mut self, corner: Corner) {
        let polygon = &mut self.polygon;
        match polygon.corners[..polygon.len].iter_mut().find(|p| p.feature == corner.feature) {
            Some(p) if corner.height < p.height => *p = corner,
            Some(_) => {}
            None => polygon.push(corner),
        }
    }

    /// The least height, m; infinite when there is no patch within reach.
    pub(super) fn deepest(&self) -> f64 {
        self.polygon.as_slice().iter().fold(f64::INFINITY, |least, p| least.min(p.height))
    }

    /// At most four of the points, well spread, in the order of their names. With `reference_is_a` the reference box is A.
    pub(super) fn push_to(&self, reference_is_a: bool, name: u32, out: &mut Manifold) {
        let mut points = self.choose();
        points.as_mut_slice().sort_unstable_by_key(|p| p.feature);
        let (ku, kv) = ((self.axis + 1) % 3, (self.axis + 2) % 3);
        let r = self.reference;
        for p in points.as_slice() {
            let on_reference =
                r.centre + r.axes[ku] * p.u + r.axes[kv] * p.v + self.outward * r.half[self.axis];
            let on_incident = on_reference + self.outward * p.height;
            let feature = name | p.feature;
            out.push(if reference_is_a {
                ContactPoint {
                    on_a: on_reference,
                    on_b: on_incident,
                    normal: -self.outward,
                    gap: p.height,
                    feature,
                }
            } else {
                ContactPoint {
                    on_a: on_incident,
                    on_b: on_reference,
                    normal: self.outward,
                    gap: p.height,
                    feature,
                }
            });
        }
    }

    /// Deepest first, then the one furthest from it, then twice the one that adds most area.
    ///
    /// In a level patch the first is the outermost in a fixed direction of the face instead: a box at rest keeps its
    /// points although noise decides which is deepest.
    fn choose(&self) -> Polygon {
        let points = self.polygon.as_slice();
        if points.len() <= MAX_POINTS {
            return self.polygon;
        }
        let highest = points.iter().fold(f64::NEG_INFINITY, |most, p| most.max(p.height));
        let level = highest - self.deepest() <= LEVEL * self.extent;
        let outermost = |p: &Corner| 0.955 * p.u + 0.296 * p.v;
        let area = |a: &Corner, b: &Corner, c: &Corner| (b.u - a.u) * (c.v - a.v) - (b.v - a.v) * (c.u - a.u);
        let first = best(points, |p| if level { outermost(p) } else { -p.height });
        let a = points[first];
        let second = best(points, |p| (p.u - a.u).powi(2) + (p.v - a.v).powi(2));
        let b = points[second];
        let third = best(points, |p| area(&a, &b, p).abs());
        let c = points[third];
        let turn = sign(area(&a, &b, &c));
        let fourth = best(points, |p| {
            -(turn * area(&a, &b, p)).min(turn * area(&b, &c, p)).min(turn * area(&c, &a, p))
        });
        let mut chosen = Polygon::new();
        for (i, p) in points.iter().enumerate() {
            if [first, second, third, fourth].contains(&i) {
                chosen.push(*p);
            }
        }
        chosen
    }
}

/// Index of the first point with the greatest score.
fn best(points: &[Corner], score: impl Fn(&Corner) -> f64) -> usize {
    let mut found = 0;
    let mut greatest = f64::NEG_INFINITY;
    for (i, p) in points.iter().enumerate() {
        let s = score(p);
        if s > greatest {
            (found, greatest) = (i, s);
        }
    }
    found
}

fn bit(side: f64, k: usize) -> u32 {
    u32::from(side > 0.0) << k
}

/// Number of the edge of a box along `along`, on side `s1` of axis `k1` and side `s2` of axis `k2`: 0 to 11.
pub(super) fn edge_name(along: usize, k1: usize, s1: f64, k2: usize, s2: f64) -> u32 {
    let (first, second) = if (along + 1) % 3 == k1 { (s1, s2) } else { (s2, s1) };
    debug_assert!(along != k1 && along != k2 && k1 != k2);
    along as u32 * 4 + bit(first, 0) + bit(second, 1)
}
