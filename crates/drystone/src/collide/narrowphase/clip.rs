//! The patch between a reference face of one box and the incident face of another.
//!
//! The incident face is cut to the outline of the reference face [SutherlandHodgman1974]; every corner of
//! what remains is a contact point whose gap is its height over the reference face. A corner is named by what
//! made it: a corner of either face, or the crossing of an incident edge with a side of the reference face.
//! Corners of the two faces that nearly coincide, as in a flush stack, would change their maker with every
//! small motion: near a corner, the corner's name wins.

use glam::{DVec2, DVec3};

use super::{ContactPoint, Cuboid, MAX_POINTS, Manifold, Names, manifold_reduction, sign};

/// A quad cut by four lines has at most eight corners; the rest is for rounding at nearly parallel edges.
const CAPACITY: usize = 12;

/// Names: bits 0 to 5 the maker, 6 and 7 its kind, 8 to 10 the reference face.
const INCIDENT_CORNER: u32 = 0;
const REFERENCE_CORNER: u32 = 1 << 6;
const CROSSING: u32 = 2 << 6;
const FACE_SHIFT: u32 = 8;

/// A corner's name holds within this part of the shorter half side of the two faces.
const SNAP: f64 = 0.02;

/// A corner of the cut polygon, and the edges before and after it. Edges 0 to 3 are those of the incident
/// face, 4 to 7 the sides u = +, u = -, v = +, v = - of the reference face.
#[derive(Clone, Copy, Default)]
struct Corner {
    /// Place on the reference face, from its middle, m.
    uv: [f64; 2],
    /// Above the reference face, m.
    height: f64,
    feature: u32,
    before: u8,
    after: u8,
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

    #[inline]
    fn push(&mut self, corner: Corner) {
        if self.len < CAPACITY {
            self.corners[self.len] = corner;
            self.len += 1;
        }
    }

    #[inline]
    fn as_slice(&self) -> &[Corner] {
        &self.corners[..self.len]
    }

    #[inline]
    fn as_mut_slice(&mut self) -> &mut [Corner] {
        &mut self.corners[..self.len]
    }

    /// Writes to `kept` the part with `side * uv[k]` at most `limit`; the cut becomes the side `label`.
    /// False, and nothing written, when all of it is.
    #[inline]
    fn cut(&self, k: usize, side: f64, limit: f64, label: u8, kept: &mut Polygon) -> bool {
        let excess = |p: &Corner| side * p.uv[k] - limit;
        if self.as_slice().iter().all(|p| excess(p) <= 0.0) {
            return false;
        }
        kept.len = 0;
        let Some(mut from) = self.as_slice().last() else { return true };
        let mut x0 = excess(from);
        for to in self.as_slice() {
            let x1 = excess(to);
            if (x0 <= 0.0) != (x1 <= 0.0) {
                let f = x0 / (x0 - x1);
                let (before, after) = if x0 <= 0.0 { (from.after, label) } else { (label, from.after) };
                let mut uv = [0, 1].map(|i| from.uv[i] + f * (to.uv[i] - from.uv[i]));
                uv[k] = side * limit;
                let height = from.height + f * (to.height - from.height);
                kept.push(Corner { uv, height, feature: 0, before, after });
            }
            if x1 <= 0.0 {
                kept.push(*to);
            }
            (from, x0) = (to, x1);
        }
        true
    }

    /// Cuts to the rectangle with the given half sides. False when there was nothing to cut.
    fn cut_to_rectangle(&mut self, half: [f64; 2]) -> bool {
        if self.as_slice().iter().all(|p| p.uv[0].abs() <= half[0] && p.uv[1].abs() <= half[1]) {
            return false;
        }
        let mut other = Polygon::new();
        let (mut now, mut next) = (&mut *self, &mut other);
        let mut swapped = false;
        for (label, (k, side)) in (4..).zip([(0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)]) {
            if now.cut(k, side, half[k], label, next) {
                std::mem::swap(&mut now, &mut next);
                swapped = !swapped;
            }
        }
        if swapped {
            *self = other;
        }
        true
    }
}

/// The contact patch of a reference face with another box.
pub(super) struct Patch<'a> {
    reference: &'a Cuboid,
    axis: usize,
    /// Outward normal of the reference face.
    outward: DVec3,
    polygon: Polygon,
}

impl<'a> Patch<'a> {
    /// Cuts the face of `incident` that looks most squarely at the face `side * axis` of `reference`, and
    /// keeps the corners with height at most `reach`.
    pub(super) fn new(reference: &'a Cuboid, axis: usize, side: f64, incident: &Cuboid, reach: f64) -> Self {
        let (ku, kv) = ((axis + 1) % 3, (axis + 2) % 3);
        let (eu, ev, outward) = (reference.axes[ku], reference.axes[kv], reference.axes[axis] * side);
        let half = [reference.half[ku], reference.half[kv]];

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
        let mut polygon = Polygon::new();
        const SIDES: [(f64, f64); 4] = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)];
        for (i, (s1, s2)) in SIDES.into_iter().enumerate() {
            polygon.corners[i] = Corner {
                uv: [c[0] + s1 * e1[0] + s2 * e2[0], c[1] + s1 * e1[1] + s2 * e2[1]],
                height: c[2] + s1 * e1[2] + s2 * e2[2] - reference.half[axis],
                feature: INCIDENT_CORNER | bit(front, m) | bit(s1, m1) | bit(s2, m2),
                before: (i as u8 + 3) % 4,
                after: i as u8,
            };
        }
        polygon.len = 4;
        let face: [Corner; 4] =
            [polygon.corners[0], polygon.corners[1], polygon.corners[2], polygon.corners[3]];
        if polygon.cut_to_rectangle(half) {
            let near = SNAP * half[0].min(half[1]).min(incident.half[m1]).min(incident.half[m2]);
            for p in polygon.as_mut_slice() {
                let at =
                    |q: &&Corner| (q.uv[0] - p.uv[0]).powi(2) + (q.uv[1] - p.uv[1]).powi(2) <= near * near;
                p.feature = if let Some(corner) = face.iter().find(at) {
                    corner.feature
                } else if half[0] - p.uv[0].abs() <= near && half[1] - p.uv[1].abs() <= near {
                    REFERENCE_CORNER | bit(p.uv[0], 0) | bit(p.uv[1], 1)
                } else {
                    let (edge, cut) = if p.before < 4 { (p.before, p.after) } else { (p.after, p.before) };
                    // Edges 0 and 2 run along m1 on the side s2 = +, -; edges 1 and 3 along m2 on the side s1
                    // = -, +.
                    let edge = match edge {
                        0 => edge_name(m1, m2, 1.0, m, front),
                        1 => edge_name(m2, m1, -1.0, m, front),
                        2 => edge_name(m1, m2, -1.0, m, front),
                        _ => edge_name(m2, m1, 1.0, m, front),
                    };
                    CROSSING | edge << 2 | u32::from(cut - 4)
                };
            }
        }
        let mut patch = Patch { reference, axis, outward, polygon };
        patch.keep(reach, (axis as u32 * 2 + u32::from(side > 0.0)) << FACE_SHIFT);
        patch
    }

    /// Drops points beyond reach, and of two with the same name the higher one; adds the name of the face.
    fn keep(&mut self, reach: f64, face: u32) {
        let polygon = &mut self.polygon;
        let mut len = 0;
        for i in 0..polygon.len {
            let mut p = polygon.corners[i];
            p.feature |= face;
            if p.height > reach || p.height.is_nan() {
                continue;
            }
            match polygon.corners[..len].iter_mut().find(|q| q.feature == p.feature) {
                Some(q) if p.height < q.height => *q = p,
                Some(_) => {}
                None => {
                    polygon.corners[len] = p;
                    len += 1;
                }
            }
        }
        polygon.len = len;
    }

    /// The least height, m; infinite when there is no patch within reach.
    pub(super) fn deepest(&self) -> f64 {
        self.polygon.as_slice().iter().fold(f64::INFINITY, |least, p| least.min(p.height))
    }

    /// At most four of the points, well spread, in the order of their names: see
    /// [`manifold_reduction::four`]. With `reference_is_a` the reference box is A.
    pub(super) fn push_to(&mut self, reference_is_a: bool, name: u32, out: &mut Manifold) {
        if self.polygon.len > MAX_POINTS {
            self.choose(name, &out.last());
        }
        self.polygon.as_mut_slice().sort_unstable_by_key(|p| p.feature);
        let (ku, kv) = ((self.axis + 1) % 3, (self.axis + 2) % 3);
        let (r, gap_axis) = (self.reference, self.outward);
        let middle = r.centre + gap_axis * r.half[self.axis];
        for p in self.polygon.as_slice() {
            let on_reference = middle + r.axes[ku] * p.uv[0] + r.axes[kv] * p.uv[1];
            let on_incident = on_reference + gap_axis * p.height;
            let (on_a, on_b, normal) = if reference_is_a {
                (on_reference, on_incident, -gap_axis)
            } else {
                (on_incident, on_reference, gap_axis)
            };
            out.push(ContactPoint { on_a, on_b, normal, gap: p.height, feature: name | p.feature });
        }
    }

    fn choose(&mut self, name: u32, last: &Names) {
        let mut corners = [manifold_reduction::Corner::NONE; CAPACITY];
        for (corner, p) in corners.iter_mut().zip(self.polygon.as_slice()) {
            let known = last.has(name | p.feature);
            *corner = manifold_reduction::Corner { place: DVec2::from(p.uv), gap: p.height, known };
        }
        let picks = manifold_reduction::four(&corners[..self.polygon.len]);
        let all = self.polygon.corners;
        for (to, p) in self.polygon.corners.iter_mut().zip(picks.as_slice()) {
            *to = Corner { feature: all[p.name].feature, height: p.gap, ..all[p.at] };
        }
        self.polygon.len = picks.as_slice().len();
    }
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
