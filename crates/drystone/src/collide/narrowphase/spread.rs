//! Four points for a patch of any number of corners.

use glam::DVec2;

use super::{MAX_POINTS, sign};

/// Before a choice is made, this many are kept; beyond that only the outermost in eight directions, and the deepest.
const CAPACITY: usize = 24;

/// A patch is level when its gaps differ by at most this part of its extent.
const LEVEL: f64 = 1e-3;

/// Gaps of a level patch that differ by less than this part of its extent say nothing about which corner is deepest.
const NOISE: f64 = 3e-5;

/// Eight directions an eighth of a turn apart, skew to the axes of the plane.
const DIRECTIONS: [DVec2; 8] = [
    DVec2::new(0.955, 0.296),
    DVec2::new(0.466, 0.885),
    DVec2::new(-0.296, 0.955),
    DVec2::new(-0.885, 0.466),
    DVec2::new(-0.955, -0.296),
    DVec2::new(-0.466, -0.885),
    DVec2::new(0.296, -0.955),
    DVec2::new(0.885, -0.466),
];

/// A corner of the patch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Across the normal.
    pub(super) place: DVec2,
    pub(super) gap: f64,
    /// Equal for equal makers.
    pub(super) key: u64,
    /// What the caller knows the corner by; unlike the key it never goes to a neighbour.
    pub(super) source: u32,
}

/// The corners of a patch.
pub(super) struct Spread {
    candidates: [Candidate; CAPACITY],
    len: usize,
}

impl Spread {
    pub(super) fn new() -> Self {
        let none = Candidate { place: DVec2::ZERO, gap: f64::INFINITY, key: 0, source: 0 };
        Self { candidates: [none; CAPACITY], len: 0 }
    }

    fn as_slice(&self) -> &[Candidate] {
        &self.candidates[..self.len]
    }

    /// Adds a corner; of two with the same key the deeper one stays.
    pub(super) fn offer(&mut self, candidate: Candidate) {
        if let Some(known) = self.candidates[..self.len].iter_mut().find(|c| c.key == candidate.key) {
            if candidate.gap < known.gap {
                *known = candidate;
            }
            return;
        }
        if self.len == CAPACITY {
            let mut kept = [false; CAPACITY];
            kept[best(self.as_slice(), |c| -c.gap)] = true;
            for d in DIRECTIONS {
                kept[best(self.as_slice(), |c| d.dot(c.place))] = true;
            }
            self.keep(&kept);
        }
        self.candidates[self.len] = candidate;
        self.len += 1;
    }

    /// Whether a corner with this key is there.
    pub(super) fn knows(&self, key: u64) -> bool {
        self.as_slice().iter().any(|c| c.key == key)
    }

    /// The least gap; infinite without candidates.
    pub(super) fn deepest(&self) -> f64 {
        self.as_slice().iter().fold(f64::INFINITY, |least, c| least.min(c.gap))
    }

    fn keep(&mut self, kept: &[bool; CAPACITY]) {
        let mut len = 0;
        for i in 0..self.len {
            if kept[i] {
                self.candidates[len] = self.candidates[i];
                len += 1;
            }
        }
        self.len = len;
    }

    /// At most four corners in the order of their keys, well spread, the deepest among them up to `tolerance`.
    ///
    /// The first is the deepest, then the one furthest from it, then twice the one that adds most area. In a level patch the
    /// first is the outermost in a fixed direction instead, so that what lies at rest keeps its points although noise decides
    /// which corner is deepest. If that is none of the four, the nearest of them speaks for it: it takes its gap, or, where
    /// that differs by more than noise, its place too, and keeps its own name.
    pub(super) fn chosen(&mut self, tolerance: f64) -> &[Candidate] {
        if self.len > MAX_POINTS {
            self.choose(tolerance);
        }
        self.candidates[..self.len].sort_unstable_by_key(|c| c.key);
        self.as_slice()
    }

    fn choose(&mut self, tolerance: f64) {
        let points = self.as_slice();
        let deepest = best(points, |c| -c.gap);
        let most = points.iter().fold(f64::NEG_INFINITY, |most, c| most.max(c.gap));
        let outermost = best(points, |c| DIRECTIONS[0].dot(c.place));
        let a = points[outermost];
        let extent =
            points.iter().fold(0.0_f64, |most, c| most.max(c.place.distance_squared(a.place))).sqrt();
        let level = most - points[deepest].gap <= 0.5 * LEVEL * extent;

        let area =
            |p: &Candidate, q: &Candidate, r: &Candidate| (q.place - p.place).perp_dot(r.place - p.place);
        let first = if level { outermost } else { deepest };
        let a = points[first];
        let second = best(points, |p| p.place.distance_squared(a.place));
        let b = points[second];
        // Patches are often symmetric about that diagonal: one side is preferred a little, so that noise has no say.
        let third = best(points, |p| area(&a, &b, p).max(-0.95 * area(&a, &b, p)));
        let c = points[third];
        let turn = sign(area(&a, &b, &c));
        let fourth = best(points, |p| {
            -(turn * area(&a, &b, p)).min(turn * area(&b, &c, p)).min(turn * area(&c, &a, p))
        });
        let four = [first, second, third, fourth];
        let least = four.iter().fold(f64::INFINITY, |least, k| least.min(points[*k].gap));
        if points[deepest].gap < least - tolerance {
            let place = points[deepest].place;
            let mut nearest = first;
            for k in four {
                if points[k].place.distance_squared(place) < points[nearest].place.distance_squared(place) {
                    nearest = k;
                }
            }
            let (near, deep) = (points[nearest], points[deepest]);
            self.candidates[nearest] = if near.gap - deep.gap <= NOISE * extent {
                Candidate { gap: deep.gap, ..near }
            } else {
                Candidate { key: near.key, ..deep }
            };
        }
        let mut kept = [false; CAPACITY];
        for k in four {
            kept[k] = true;
        }
        self.keep(&kept);
    }
}

/// Index of the first candidate with the greatest score.
fn best(points: &[Candidate], score: impl Fn(&Candidate) -> f64) -> usize {
    let mut found = (0, f64::NEG_INFINITY);
    for (i, p) in points.iter().enumerate() {
        let s = score(p);
        if s > found.1 {
            found = (i, s);
        }
    }
    found.0
}
