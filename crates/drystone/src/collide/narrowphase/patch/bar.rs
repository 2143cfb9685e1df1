//! Edges and round bars along each other or along a face.

use glam::{DVec2, DVec3};

use super::{END, View};
use crate::collide::narrowphase::point_selection::Spread;
use crate::collide::narrowphase::witness::Closest;
use crate::collide::narrowphase::{ALONG_SIN, ContactPoint, Manifold};

/// Sharp edges count as along each other up to this sine.
const SHARP_SIN: f64 = 1e-3;

/// Normals of single points may differ from the contact's by the angle of this tangent, whose cosine is 0.9.
const SAME_SIDE_TAN: f64 = 0.484;

/// Where they do not differ, bars may lie beside each other by this part of the smaller radius: a thousandth
/// of it off the surface.
const BESIDE: f64 = 0.05;

/// The closest points are at an end when they are this part of the smaller radius from it.
const AT_END: f64 = 0.01;

impl View {
    /// The ends of a part of a segment.
    pub(super) fn stretch(&self, ends: [DVec2; 2], from: f64, to: f64, spread: &mut Spread) {
        self.offer(ends[0].lerp(ends[1], from), END, spread);
        if to > from {
            self.offer(ends[0].lerp(ends[1], to), END + 1, spread);
        }
    }

    /// Sharp edges along each other: more strictly so, since beside a sharp edge there is nothing to touch.
    pub(super) fn segments(&self, a: [DVec2; 2], b: [DVec2; 2], spread: &mut Spread) {
        let along = a[1] - a[0];
        let other = b[1] - b[0];
        if along.perp_dot(other).abs() > SHARP_SIN * along.length() * other.length() {
            return;
        }
        let squared = along.length_squared();
        let beside = b.map(|p| (p - a[0]).perp_dot(along).abs());
        if beside[0].max(beside[1]) > SHARP_SIN * squared.min(along.length() * other.length()) {
            return;
        }
        let t = b.map(|p| (p - a[0]).dot(along) / squared);
        let (from, to) = (t[0].min(t[1]).max(0.0), t[0].max(t[1]).min(1.0));
        if from < to {
            self.stretch(a, from, to, spread);
        }
    }

    /// Round bars along each other up to 2°, as far as they lie over each other: slender bars that cross at a
    /// small angle soon lie beside each other. Each end of the common stretch has its own normal: across the
    /// axis of A it leads from axis to axis, along it it is that of the closest points. Where the axes have
    /// passed each other there is but that one.
    pub(super) fn round_segments(
        &self,
        a: [DVec3; 2],
        round_a: f64,
        b: [DVec3; 2],
        round_b: f64,
        closest: &Closest,
        out: &mut Manifold,
    ) {
        let (u, v) = (a[1] - a[0], b[1] - b[0]);
        if u.cross(v).length_squared() > (ALONG_SIN * ALONG_SIN) * u.length_squared() * v.length_squared() {
            return;
        }
        let (axis_a, axis_b) = (u.normalize(), v.normalize());
        let side = |normal: DVec3, axis: DVec3| normal.reject_from_normalized(axis).normalize_or_zero();
        // It is the surfaces that lie over each other along the normal: tilted axes do so a little beside
        // them.
        let up = side(closest.normal, axis_a);
        let start = a[0] - up * round_a;
        let beside = side(closest.normal, axis_b) * round_b;
        let seen = axis_a.reject_from_normalized(closest.normal);
        let t = b.map(|p| (p + beside - start).dot(seen) / u.dot(seen));
        let stretch = (t[0].min(t[1]).max(0.0), t[0].max(t[1]).min(1.0));
        let axes = |along: f64| {
            let pa = a[0].lerp(a[1], along);
            let pb = b[0] + v * ((along - t[0]) / (t[1] - t[0]));
            (pa, pb)
        };
        // From axis to axis at both ends of A: up and to the side.
        let across = up.cross(axis_a);
        let steps = [0.0, 1.0].map(|along| {
            let (pa, pb) = axes(along);
            DVec2::new((pa - pb).dot(up), (pa - pb).dot(across))
        });
        let over = |room: [f64; 2]| {
            let slack = [0, 1].map(|k| [room[k] - steps[k].y, room[k] + steps[k].y]);
            let (from, to) = clip(clip(stretch, slack[0][0], slack[1][0]), slack[0][1], slack[1][1]);
            (from < to).then_some((from, to))
        };
        let thinner = (round_a + self.radius_a).min(round_b + self.radius_b);
        // Axes that meet say nothing about the side.
        let certain = |along: f64| steps[0].lerp(steps[1], along).x > 1e6 * self.rounding;
        let own =
            over(steps.map(|s| SAME_SIDE_TAN * s.x)).filter(|(from, to)| certain(*from) && certain(*to));
        let Some((from, to)) = own.or_else(|| over([BESIDE * thinner + self.rounding; 2])) else { return };
        let least = closest.separation - self.radius_a - self.radius_b;
        let slope = closest.normal.dot(axis_a);
        for (along, name) in [(from, END), (to, END + 1)] {
            let (pa, pb) = axes(along);
            let normal = if own.is_some() {
                (side(pa - pb, axis_a) * (1.0 - slope * slope).sqrt() + axis_a * slope).normalize()
            } else {
                closest.normal
            };
            let on_a = pa - side(normal, axis_a) * round_a - normal * self.radius_a;
            let on_b = pb + side(normal, axis_b) * round_b + normal * self.radius_b;
            // Nothing is nearer than the closest points, and where they are at this end their normal is
            // exact.
            let gap = (on_a - on_b).dot(normal).max(least);
            let exact = closest.on_a - closest.normal * self.radius_a;
            let (on_a, normal, gap) = if on_a.distance(exact) <= AT_END * thinner {
                (exact, closest.normal, least)
            } else {
                (on_a, normal, gap)
            };
            out.push_within(
                self.reach,
                ContactPoint { on_a, on_b: on_a - normal * gap, normal, gap, feature: name as u32 },
            );
        }
    }
}

/// The part of a range in which a number is not negative that is `at_0` at 0 and `at_1` at 1 and straight
/// between them.
fn clip((from, to): (f64, f64), at_0: f64, at_1: f64) -> (f64, f64) {
    let zero = at_0 / (at_0 - at_1);
    if at_1 > at_0 {
        (from.max(zero), to)
    } else if at_1 < at_0 {
        (from, to.min(zero))
    } else if at_0 >= 0.0 {
        (from, to)
    } else {
        (from, from)
    }
}
