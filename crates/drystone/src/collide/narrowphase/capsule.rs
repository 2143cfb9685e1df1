//! A capsule against a capsule or a box.
//!
//! One point between the closest points of the cores; where the core lies along the other core, a face or an
//! edge, two points at the ends of the common stretch instead, and the closest point as a third if it is
//! nearer than both. Features: 0 and 1 are the two ends of the stretch, 2 the closest point, 3 and 4 the ends
//! of a capsule that lies along nothing.

use glam::DVec3;

use super::closest::{segment_box, segment_segment};
use super::sphere::{round, vanishing};
use super::{ALONG_COS, ALONG_SIN, ContactPoint, Core, Cuboid, Manifold, sign};

/// End points whose normal is off the closest point's by more than this cosine belong to another side of the
/// core.
const SAME_SIDE: f64 = 0.9;

/// Cores that cross leave by their common normal, at depth r_A + r_B: the sum of two segments is flat.
pub(super) fn capsule_capsule(a: &Core, b: &Core, reach: f64, out: &mut Manifold) {
    let (u, v) = (a.half_vector(), b.half_vector());
    let (s, t) = segment_segment(a.centre, u, b.centre, v);
    let across = a.axis.cross(b.axis);
    let sine_squared = across.length_squared();
    let crossing = vanishing(a.radius + b.radius + a.half_length + b.half_length);
    let fallback = if sine_squared > 1e-24 {
        across / sine_squared.sqrt() * sign(across.dot(a.centre - b.centre))
    } else {
        a.axis.any_orthonormal_vector()
    };
    let between = |pa: DVec3, pb: DVec3, feature: u32| {
        let point = round(pa, a.radius, pb, b.radius, crossing, fallback);
        ContactPoint { feature, ..point }
    };
    let closest = between(a.centre + u * s, b.centre + v * t, 2);
    if closest.gap > reach {
        return;
    }
    let mut stretch = None;
    if sine_squared < ALONG_SIN * ALONG_SIN {
        let middle = (b.centre - a.centre).dot(a.axis);
        let extent = (b.half_length * b.axis.dot(a.axis)).abs();
        let from = (middle - extent).max(-a.half_length);
        let to = (middle + extent).min(a.half_length);
        stretch = (from < to).then_some((from, to));
    }
    let end = |along: f64, feature: u32| {
        let pa = a.centre + a.axis * along;
        let t = (pa - b.centre).dot(b.axis).clamp(-b.half_length, b.half_length);
        between(pa, b.centre + b.axis * t, feature)
    };
    let ends = stretch.map(|(from, to)| [end(from, 0), end(to, 1)]);
    push_stretch(ends, closest, a.radius + b.radius, reach, out);
}

/// Two end points and the closest point where they do not already say it.
fn push_stretch(
    ends: Option<[ContactPoint; 2]>,
    closest: ContactPoint,
    size: f64,
    reach: f64,
    out: &mut Manifold,
) {
    let mut least = f64::INFINITY;
    for end in ends.into_iter().flatten() {
        if end.gap <= reach && end.normal.dot(closest.normal) > SAME_SIDE {
            least = least.min(end.gap);
            out.push(end);
        }
    }
    if closest.gap < least - 1e-12 * size {
        out.push_within(reach, closest);
    }
}

/// A is the capsule.
pub(super) fn capsule_box(capsule: &Core, cuboid: &Cuboid, reach: f64, out: &mut Manifold) {
    let view = BoxView::new(capsule, cuboid);
    let t = segment_box(view.centre, view.half, cuboid.half);
    let (beyond, distance) = view.beyond(t);
    if distance - capsule.radius > reach {
        return;
    }
    let size = capsule.radius + capsule.half_length + cuboid.smallest_half();
    if distance <= 1e-12 * size {
        view.core_inside(t, size, reach, out);
        return;
    }
    let normal = [beyond[0] / distance, beyond[1] / distance, beyond[2] / distance];
    let mut along = None;
    for k in 0..3 {
        let (k1, k2) = ((k + 1) % 3, (k + 2) % 3);
        if normal[k].abs() > ALONG_COS && view.axis[k].abs() < ALONG_SIN {
            along = view.stretch(&[k1, k2], 0.0);
        } else if view.axis[k].abs() > ALONG_COS
            && normal[k].abs() < ALONG_SIN
            && normal[k1].abs().max(normal[k2].abs()) < ALONG_COS
        {
            along = view.stretch(&[k], 0.0);
        }
    }
    let ends =
        along.filter(|(from, to)| from < to).map(|(from, to)| [view.outside(from, 0), view.outside(to, 1)]);
    push_stretch(ends, view.outside(t, 2), capsule.radius, reach, out);
    if ends.is_none() {
        // Each end is a ball of its own: a tilted capsule that comes fast must not swing one through the box
        // while the other stops. The point on the farther one may look into the capsule.
        for (end, feature) in [(-1.0, 3), (1.0, 4)] {
            if (end - t).abs() > 1e-9 && view.beyond(end).1 > 1e-12 * size {
                out.push_within(reach, view.outside(end, feature));
            }
        }
    }
}

/// The capsule as the box sees it.
struct BoxView<'a> {
    capsule: &'a Core,
    cuboid: &'a Cuboid,
    /// Centre, axis and half vector of the core in the frame of the box.
    centre: [f64; 3],
    axis: [f64; 3],
    half: [f64; 3],
}

impl<'a> BoxView<'a> {
    fn new(capsule: &'a Core, cuboid: &'a Cuboid) -> Self {
        let axis = cuboid.inward(capsule.axis);
        Self {
            capsule,
            cuboid,
            centre: cuboid.inward(capsule.centre - cuboid.centre),
            axis,
            half: axis.map(|x| x * capsule.half_length),
        }
    }

    fn core(&self, t: f64) -> [f64; 3] {
        std::array::from_fn(|k| self.centre[k] + t * self.half[k])
    }

    /// From the nearest point of the box to the core point, and its length.
    fn beyond(&self, t: f64) -> ([f64; 3], f64) {
        let p = self.core(t);
        let d: [f64; 3] =
            std::array::from_fn(|k| p[k] - p[k].clamp(-self.cuboid.half[k], self.cuboid.half[k]));
        (d, (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt())
    }

    /// The part of the core between the box's planes across each of `dimensions`, `slack` further out, as a
    /// range of t.
    fn stretch(&self, dimensions: &[usize], slack: f64) -> Option<(f64, f64)> {
        let (mut from, mut to) = (-1.0_f64, 1.0_f64);
        for &k in dimensions {
            let (c, e, h) = (self.centre[k], self.half[k], self.cuboid.half[k] + slack);
            if e == 0.0 {
                if c.abs() > h {
                    return None;
                }
                continue;
            }
            let (t0, t1) = ((-h - c) / e, (h - c) / e);
            from = from.max(t0.min(t1));
            to = to.min(t0.max(t1));
        }
        (from <= to).then_some((from, to))
    }

    fn contact(&self, core: DVec3, on_box: DVec3, normal: DVec3, height: f64, feature: u32) -> ContactPoint {
        let radius = self.capsule.radius;
        ContactPoint { on_a: core - normal * radius, on_b: on_box, normal, gap: height - radius, feature }
    }

    /// The contact of the core point at `t`, which lies outside the box.
    fn outside(&self, t: f64, feature: u32) -> ContactPoint {
        let (beyond, distance) = self.beyond(t);
        let out = self.cuboid.outward(beyond);
        let core = self.capsule.centre + self.capsule.half_vector() * t;
        self.contact(core, core - out, out / distance, distance, feature)
    }

    /// The contact of the core point at `t` with the plane of a face.
    fn through_face(&self, k: usize, side: f64, t: f64, feature: u32) -> ContactPoint {
        let height = side * self.core(t)[k] - self.cuboid.half[k];
        let core = self.capsule.centre + self.capsule.half_vector() * t;
        let normal = self.cuboid.axes[k] * side;
        self.contact(core, core - normal * height, normal, height, feature)
    }

    /// The core touches or crosses the box: the least deep of the three face directions and the three
    /// directions across core and edge is the shortest way out, since these are the facets of box minus
    /// segment. `inside` is a point of the core in the box, to fall back on.
    fn core_inside(&self, inside: f64, size: f64, reach: f64, out: &mut Manifold) {
        let h = self.cuboid.half;
        let mut face = 0;
        let height = |k: usize| self.centre[k].abs() - h[k] - self.half[k].abs();
        for k in 1..3 {
            if height(k) > height(face) {
                face = k;
            }
        }
        let mut edge = None;
        let mut highest = height(face) + 1e-9 * size;
        for k in 0..3 {
            let (k1, k2) = ((k + 1) % 3, (k + 2) % 3);
            // The axis of the core crossed with axis k has components only along k1 and k2.
            let (m1, m2) = (self.axis[k2], -self.axis[k1]);
            let length = m1.hypot(m2);
            if length < 1e-6 {
                continue;
            }
            let place = (self.centre[k1] * m1 + self.centre[k2] * m2) / length;
            let sep = place.abs() - (h[k1] * m1.abs() + h[k2] * m2.abs()) / length;
            if sep > highest {
                highest = sep;
                let s = sign(place) / length;
                edge = Some((k, k1, k2, m1 * s, m2 * s));
            }
        }
        if let Some((k, k1, k2, m1, m2)) = edge {
            let mut corner = [0.0; 3];
            corner[k1] = h[k1] * sign(m1);
            corner[k2] = h[k2] * sign(m2);
            let (p, u) = (self.capsule.centre, self.capsule.half_vector());
            let (q, v) = (self.cuboid.centre + self.cuboid.outward(corner), self.cuboid.axes[k] * h[k]);
            let (s, t) = segment_segment(p, u, q, v);
            let normal = self.cuboid.axes[k1] * m1 + self.cuboid.axes[k2] * m2;
            out.push_within(reach, self.contact(p + u * s, q + v * t, normal, highest, 2));
            return;
        }
        let side = sign(self.centre[face]);
        // A core exactly over a rim must not be cut by rounding.
        let stretch = self.stretch(&[(face + 1) % 3, (face + 2) % 3], 1e-12 * size);
        let (from, to) = stretch.unwrap_or((inside, inside));
        if self.axis[face].abs() < ALONG_SIN && from < to {
            out.push_within(reach, self.through_face(face, side, from, 0));
            out.push_within(reach, self.through_face(face, side, to, 1));
        } else {
            let lower = if side * self.half[face] > 0.0 { from } else { to };
            out.push_within(reach, self.through_face(face, side, lower, 2));
        }
    }
}
