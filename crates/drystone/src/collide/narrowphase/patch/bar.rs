//! Edges and round bars along each other or along a face.

use glam::{DVec2, DVec3};

use super::{END, View};
use crate::collide::narrowphase::general::Closest;
use crate::collide::narrowphase::spread::Spread;
use crate::collide::narrowphase::{ALONG_SIN, ContactPoint, Manifold};

/// Sharp edges count as along each other up to this sine.
const SHARP_SIN: f64 = 1e-3;

/// Normals of single points may differ from the contact's by this cosine.
const SAME_SIDE: f64 = 0.9;

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

    /// Round bars along each other up to 2°. Each end of the common stretch has its own normal: across the axis of A it
    /// leads from axis to axis, along it it is that of the closest points.
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
        // It is the surfaces that lie over each other along the normal: tilted axes do so a little beside them.
        let start = a[0] - side(closest.normal, axis_a) * round_a;
        let beside = side(closest.normal, axis_b) * round_b;
        let seen = axis_a.reject_from_normalized(closest.normal);
        let t = b.map(|p| (p + beside - start).dot(seen) / u.dot(seen));
        let (from, to) = (t[0].min(t[1]).max(0.0), t[0].max(t[1]).min(1.0));
        if from >= to {
            return;
        }
        let least = closest.separation - self.radius_a - self.radius_b;
        let slope = closest.normal.dot(axis_a);
        for (along, name) in [(from, END), (to, END + 1)] {
            let pa = a[0].lerp(a[1], along);
            let pb = b[0] + v * ((along - t[0]) / (t[1] - t[0]));
            let own = side(pa - pb, axis_a);
            let normal = if own.dot(closest.normal) > SAME_SIDE {
                (own * (1.0 - slope * slope).sqrt() + axis_a * slope).normalize()
            } else {
                closest.normal
            };
            let on_a = pa - side(normal, axis_a) * round_a - normal * self.radius_a;
            let on_b = pb + side(normal, axis_b) * round_b + normal * self.radius_b;
            // Nothing is nearer than the closest points.
            let gap = (on_a - on_b).dot(normal).max(least);
            out.push_within(
                self.reach,
                ContactPoint { on_a, on_b: on_a - normal * gap, normal, gap, feature: name as u32 },
            );
        }
    }
}
