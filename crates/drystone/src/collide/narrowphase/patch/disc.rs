//! Flat circular faces on faces with corners, on each other, and under edges.
//!
//! The places of a disc are taken on its own plane, where it is round, although along the normal it may be
//! seen as an ellipse.

use glam::{DVec2, DVec3};

use super::polygon::Polygon;
use super::{DEEPEST, Height, RIM_OF_A, View, crossing};
use crate::collide::narrowphase::point_selection::Spread;
use crate::collide::narrowphase::{RIM_PLACES, SQUARE};

/// A flat circular face.
pub(super) struct Disc {
    pub(super) centre: DVec3,
    pub(super) normal: DVec3,
    pub(super) radius: f64,
}

impl View {
    /// The point of a disc's plane over a place.
    pub(super) fn on_disc(&self, place: DVec2, height: &Height) -> DVec3 {
        self.origin + self.e1 * place.x + self.e2 * place.y + self.normal * height.at(place)
    }

    pub(super) fn disc_holds(&self, disc: &Disc, height: &Height, place: DVec2) -> bool {
        self.on_disc(place, height).distance(disc.centre) <= disc.radius + self.rounding
    }

    /// The part of the segment over the disc.
    pub(super) fn clip_to_disc(&self, ends: [DVec2; 2], disc: &Disc, height: &Height) -> Option<(f64, f64)> {
        let (from, to) = self.crosses_rim(ends, disc, height)?;
        let (from, to) = (from.max(0.0), to.min(1.0));
        (from <= to).then_some((from, to))
    }

    /// Where the line through two places crosses the rim of a disc.
    pub(super) fn crosses_rim(&self, ends: [DVec2; 2], disc: &Disc, height: &Height) -> Option<(f64, f64)> {
        let p = self.on_disc(ends[0], height) - disc.centre;
        let d = self.on_disc(ends[1], height) - disc.centre - p;
        let squared = d.length_squared();
        // The foot of the perpendicular from the centre, and half the chord.
        let foot = -p.dot(d) / squared;
        let room = disc.radius * disc.radius - (p + d * foot).length_squared();
        if room.is_nan() || room < 0.0 || squared <= 0.0 {
            return None;
        }
        let half = (room / squared).sqrt();
        Some((foot - half, foot + half))
    }

    /// The place on a rim that is furthest along `direction`, unless that is none, or the disc faces it
    /// squarely: see `SQUARE`.
    pub(super) fn lowest_on_rim(&self, disc: &Disc, direction: DVec3) -> Option<DVec2> {
        let tilt = direction.reject_from_normalized(disc.normal);
        let squared = tilt.length_squared();
        (squared > SQUARE * SQUARE).then(|| self.place(disc.centre + tilt * (disc.radius / squared.sqrt())))
    }

    pub(super) fn disc_on_polygon(
        &self,
        disc: &Disc,
        height: &Height,
        rim: u64,
        polygon: &Polygon,
        corner: u32,
        spread: &mut Spread,
    ) {
        let outward = if rim == RIM_OF_A { -self.normal } else { self.normal };
        for (k, (c, s)) in RIM_PLACES.into_iter().enumerate() {
            let towards = (self.e1 * c + self.e2 * s).reject_from_normalized(disc.normal).normalize_or_zero();
            let place = self.place(disc.centre + towards * disc.radius);
            if polygon.holds(place, self.rounding) {
                self.offer(place, rim + k as u64, spread);
            }
        }
        if let Some(place) = self.lowest_on_rim(disc, outward).filter(|p| polygon.holds(*p, self.rounding)) {
            self.offer(place, rim + DEEPEST, spread);
        }
        for k in 0..polygon.len {
            let ends = [polygon.corners[k], polygon.corners[polygon.next(k)]];
            if self.disc_holds(disc, height, ends[0]) {
                self.offer(ends[0], u64::from(corner | polygon.names[k] & 0x1_ffff), spread);
            }
            let Some((from, to)) = self.crosses_rim(ends, disc, height) else { continue };
            for (t, number) in [(from, 0), (to, 1)] {
                if t > 0.0 && t < 1.0 {
                    self.offer(ends[0].lerp(ends[1], t), crossing(polygon.edge(k), [number, number]), spread);
                }
            }
        }
    }

    /// The common part of two discs: where three fixed directions from its middle leave it, and its deepest
    /// place, which is the deepest of either rim if the other disc holds it, else where the rims cross.
    pub(super) fn discs(&self, a: &Disc, b: &Disc, spread: &mut Spread) {
        let (ca, cb) = (self.place(a.centre), self.place(b.centre));
        let apart = cb - ca;
        let d = apart.length();
        let towards = if d > self.rounding { apart / d } else { DVec2::X };
        // On the line of their centres, as both are seen: of a large disc that is tilted, less than its
        // radius.
        let unit = a.radius.min(b.radius);
        let line = [ca, ca + unit * towards];
        let within = self.crosses_rim(line, a, &self.a).zip(self.crosses_rim(line, b, &self.b));
        let Some(((a0, a1), (b0, b1))) = within else { return };
        let (from, to) = (a0.max(b0), a1.min(b1));
        if from > to {
            return;
        }
        let middle = ca + towards * (0.5 * unit * (from + to));
        for (k, (c, s)) in RIM_PLACES.into_iter().enumerate() {
            let line = [middle, middle + unit * DVec2::new(c, s)];
            let leave = |disc: &Disc, height: &Height| self.crosses_rim(line, disc, height).map(|t| t.1);
            if let (Some(ta), Some(tb)) = (leave(a, &self.a), leave(b, &self.b)) {
                self.offer(line[0].lerp(line[1], ta.min(tb)), RIM_OF_A + k as u64, spread);
            }
        }
        let mut deepest: Option<(f64, DVec2)> = None;
        let mut consider = |place: DVec2| {
            let gap = self.a.at(place) - self.b.at(place);
            if deepest.is_none_or(|(least, _)| gap < least) {
                deepest = Some((gap, place));
            }
        };
        if let Some(place) = self.lowest_on_rim(a, -self.normal).filter(|p| self.disc_holds(b, &self.b, *p)) {
            consider(place);
        }
        if let Some(place) = self.lowest_on_rim(b, self.normal).filter(|p| self.disc_holds(a, &self.a, *p)) {
            consider(place);
        }
        if d > (a.radius - b.radius).abs() && d > self.rounding {
            let along = 0.5 * (d + (a.radius - b.radius) * ((a.radius + b.radius) / d));
            let off = (a.radius * a.radius - along * along).max(0.0).sqrt();
            for side in [1.0, -1.0] {
                let guess = ca + towards * along + towards.perp() * (side * off);
                if let Some(place) = self.rims_cross(a, b, guess) {
                    consider(place);
                }
            }
        }
        if let Some((_, place)) = deepest {
            self.offer(place, RIM_OF_A + DEEPEST, spread);
        }
    }

    /// Tilted discs are seen as slim ellipses: Newton's method brings the place onto both rims.
    pub(super) fn rims_cross(&self, a: &Disc, b: &Disc, mut place: DVec2) -> Option<DVec2> {
        for _ in 0..10 {
            let (fa, ga) = self.off_rim(a, &self.a, place);
            let (fb, gb) = self.off_rim(b, &self.b, place);
            if fa.abs().max(fb.abs()) <= 1e-13 * (a.radius + b.radius) {
                return Some(place);
            }
            let determinant = ga.perp_dot(gb);
            if determinant == 0.0 {
                return None;
            }
            place -= DVec2::new(fa * gb.y - fb * ga.y, fb * ga.x - fa * gb.x) / determinant;
        }
        None
    }

    /// How far a place is outside the rim, and the slope of that.
    pub(super) fn off_rim(&self, disc: &Disc, height: &Height, place: DVec2) -> (f64, DVec2) {
        let p = self.on_disc(place, height) - disc.centre;
        let r = p.length();
        let slope = |e: DVec3, s: f64| p.dot(e + self.normal * s) / r;
        (r - disc.radius, DVec2::new(slope(self.e1, height.slope.x), slope(self.e2, height.slope.y)))
    }
}
