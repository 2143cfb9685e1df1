//! Four points for a patch of any number of corners.

use glam::DVec2;

use super::MAX_POINTS;
use super::manifold_reduction::{Corner, four};

/// Before a choice is made, this many are kept; beyond that only the outermost in eight directions, and the
/// deepest.
const CAPACITY: usize = 24;

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
        self.least().map_or(f64::INFINITY, |c| c.gap)
    }

    /// The first candidate with the least gap.
    pub(super) fn least(&self) -> Option<&Candidate> {
        self.as_slice().iter().min_by(|p, q| p.gap.total_cmp(&q.gap))
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

    /// At most four corners in the order of their keys, well spread, the deepest gap among them: see
    /// [`four`]. `known` says whether a key was chosen the last time.
    pub(super) fn chosen(&mut self, known: impl Fn(u64) -> bool) -> &[Candidate] {
        if self.len > MAX_POINTS {
            let mut corners = [Corner::NONE; CAPACITY];
            for (corner, c) in corners.iter_mut().zip(self.as_slice()) {
                *corner = Corner { place: c.place, gap: c.gap, known: known(c.key) };
            }
            let picks = four(&corners[..self.len]);
            let all = self.candidates;
            for (to, p) in self.candidates.iter_mut().zip(picks.as_slice()) {
                *to = Candidate { key: all[p.name].key, gap: p.gap, ..all[p.at] };
            }
            self.len = picks.as_slice().len();
        }
        self.candidates[..self.len].sort_unstable_by_key(|c| c.key);
        self.as_slice()
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
