//! Faces with corners: the common part of two, and the part of a segment over one.

use glam::DVec2;

use super::{CORNER_OF_A, CORNER_OF_B, View, crossing};
use crate::collide::narrowphase::point_selection::Spread;

/// Faces with more corners than this are thinned out: the patch loses some corners, never the closest point.
pub(super) const CORNERS: usize = 32;

/// A corner's name holds within this part of the size of the smaller face.
const SNAP: f64 = 0.02;

/// A face, counter-clockwise, with the numbers of its corners.
pub(super) struct Polygon {
    pub(super) corners: [DVec2; CORNERS],
    pub(super) names: [u32; CORNERS],
    pub(super) len: usize,
    /// Square root of the area.
    pub(super) size: f64,
}

impl View {
    pub(super) fn polygons(&self, a: &Polygon, b: &Polygon, spread: &mut Spread) {
        let near = SNAP * 0.5 * a.size.min(b.size);
        let near_squared = near * near;
        let snapped = |place: DVec2, otherwise: u64| {
            let at = |p: &Polygon| {
                (0..p.len).find(|k| p.corners[*k].distance_squared(place) <= near_squared).map(|k| p.names[k])
            };
            match at(a) {
                Some(name) => u64::from(CORNER_OF_A | name & 0x1_ffff),
                None => match at(b) {
                    Some(name) => u64::from(CORNER_OF_B | name & 0x1_ffff),
                    None => otherwise,
                },
            }
        };
        for i in 0..a.len {
            let ends = [a.corners[i], a.corners[a.next(i)]];
            let Some(cut) = cut_by_polygon(ends, b, self.rounding) else { continue };
            let key = |k: usize| crossing(a.edge(i), b.edge(k));
            match cut.entered {
                None => {
                    self.offer(ends[0], u64::from(CORNER_OF_A | a.names[i] & 0x1_ffff), spread);
                }
                Some(k) => {
                    let place = ends[0].lerp(ends[1], cut.from);
                    self.offer(place, snapped(place, key(k)), spread);
                }
            }
            if let Some(k) = cut.left {
                let place = ends[0].lerp(ends[1], cut.to);
                self.offer(place, snapped(place, key(k)), spread);
            }
        }
        for k in 0..b.len {
            if a.holds(b.corners[k], self.rounding) {
                let own = u64::from(CORNER_OF_B | b.names[k] & 0x1_ffff);
                self.offer(b.corners[k], snapped(b.corners[k], own), spread);
            }
        }
    }
}

/// The part of an edge within a polygon, and the polygon's edges that cut it.
pub(super) struct Cut {
    from: f64,
    to: f64,
    entered: Option<usize>,
    left: Option<usize>,
}

pub(super) fn cut_by_polygon(ends: [DVec2; 2], polygon: &Polygon, slack: f64) -> Option<Cut> {
    let mut cut = Cut { from: 0.0, to: 1.0, entered: None, left: None };
    for k in 0..polygon.len {
        let (corner, inward) = polygon.side(k);
        let h = ends.map(|p| (p - corner).dot(inward) + slack);
        if h[0] < 0.0 && h[1] < 0.0 {
            return None;
        }
        if h[0] < 0.0 || h[1] < 0.0 {
            let t = h[0] / (h[0] - h[1]);
            if h[0] < 0.0 && t > cut.from {
                (cut.from, cut.entered) = (t, Some(k));
            } else if h[1] < 0.0 && t < cut.to {
                (cut.to, cut.left) = (t, Some(k));
            }
        }
    }
    (cut.from <= cut.to).then_some(cut)
}

pub(super) fn clip_to_polygon(ends: [DVec2; 2], polygon: &Polygon, slack: f64) -> Option<(f64, f64)> {
    cut_by_polygon(ends, polygon, slack).map(|cut| (cut.from, cut.to))
}

impl Polygon {
    pub(super) fn next(&self, k: usize) -> usize {
        if k + 1 == self.len { 0 } else { k + 1 }
    }

    pub(super) fn edge(&self, k: usize) -> [u32; 2] {
        [self.names[k], self.names[self.next(k)]]
    }

    /// A point of side k and its unit normal towards the inside.
    pub(super) fn side(&self, k: usize) -> (DVec2, DVec2) {
        let along = self.corners[self.next(k)] - self.corners[k];
        (self.corners[k], along.perp().normalize_or_zero())
    }

    pub(super) fn holds(&self, place: DVec2, slack: f64) -> bool {
        (0..self.len).all(|k| {
            let (corner, inward) = self.side(k);
            (place - corner).dot(inward) >= -slack
        })
    }

    pub(super) fn area(&self) -> f64 {
        let first = self.corners[0];
        let mut twice = 0.0;
        for k in 1..self.len.saturating_sub(1) {
            twice += (self.corners[k] - first).perp_dot(self.corners[k + 1] - first);
        }
        0.5 * twice
    }
}
