//! All overlapping pairs from scratch, for boxes of any size, by dividing space until a few boxes are left.
//!
//! A set of boxes is parted by a plane into those that reach below it and those that reach above; boxes
//! across it go both ways. A pair found in several parts is reported in one only: that which holds the
//! smallest corner of the two boxes' intersection. About O(n log n) where boxes do not mostly lie across each
//! other, and no coordinate needs to be finite. This is how [`Sap`](super::Sap) starts, and what it falls
//! back on.

use glam::DVec3;

use super::{occupied, ordered};
use crate::collide::Aabb;

/// A set of so few boxes is not divided further.
const LEAF_SIZE: usize = 40;
/// So many boxes tell where to put the plane.
const SAMPLE: usize = 31;
/// A division is worth it when the two parts together have at most this many times the boxes of the whole.
const GROWTH: f64 = 1.75;

/// The division, with buffers that are kept.
#[derive(Debug, Default)]
pub(super) struct Subdivision {
    /// Sets of boxes on the way from the root to the part at work, one after the other.
    sets: Vec<u32>,
    sample: Vec<f64>,
}

struct Boxes<'a> {
    bounds: &'a [Aabb],
    movable: &'a [bool],
}

impl Subdivision {
    /// Replaces `pairs` by all pairs of overlapping boxes of which one is movable, sorted.
    pub(super) fn pairs(&mut self, bounds: &[Aabb], movable: &[bool], pairs: &mut Vec<(u32, u32)>) {
        pairs.clear();
        self.sets.clear();
        self.sets.extend((0..bounds.len() as u32).filter(|k| occupied(&bounds[*k as usize])));
        self.divide(&Boxes { bounds, movable }, 0, DVec3::NEG_INFINITY, pairs);
        pairs.sort_unstable();
    }

    /// Finds the pairs among `sets[start..]` whose corner is not below `low`, the smallest corner of the part
    /// at work. That it is below the largest needs no check: no box of the set begins above it. Leaves `sets`
    /// as it was, but for the order from `start`.
    fn divide(&mut self, boxes: &Boxes, start: usize, low: DVec3, pairs: &mut Vec<(u32, u32)>) {
        let end = self.sets.len();
        // Walls of many fixed pieces need no division: none of their pairs is asked for.
        if !self.sets[start..].iter().any(|k| boxes.movable[*k as usize]) {
            return;
        }
        if end - start <= LEAF_SIZE {
            return scan(boxes, &self.sets[start..], low, pairs);
        }
        let (axis, plane) = self.plane(boxes, start);
        let below = |k: &u32| boxes.bounds[*k as usize].min[axis] < plane;
        let above = |k: &u32| boxes.bounds[*k as usize].max[axis] >= plane;
        for at in start..end {
            let k = self.sets[at];
            if below(&k) {
                self.sets.push(k);
            }
        }
        let left = self.sets.len() - end;
        let right = self.sets[start..end].iter().filter(|k| above(k)).count();
        let whole = end - start;
        if left.max(right) == whole || (left + right) as f64 > GROWTH * whole as f64 {
            self.sets.truncate(end);
            return sweep(boxes, &mut self.sets[start..], axis, low, pairs);
        }
        self.divide(boxes, end, low, pairs);
        self.sets.truncate(end);
        for at in start..end {
            let k = self.sets[at];
            if above(&k) {
                self.sets.push(k);
            }
        }
        let mut above_plane = low;
        above_plane[axis] = plane;
        self.divide(boxes, end, above_plane, pairs);
        self.sets.truncate(end);
    }

    /// A plane through the middle of `sets[start..]`, across the axis along which they spread furthest
    /// compared to their own extent: of parallel rods, that is an axis across them, however long the rods.
    fn plane(&mut self, boxes: &Boxes, start: usize) -> (usize, f64) {
        let set = &self.sets[start..];
        let sampled = set.iter().step_by(set.len().div_ceil(SAMPLE)).map(|k| &boxes.bounds[*k as usize]);
        let (mut axis, mut plane, mut most) = (0, 0.0, -1.0);
        for along in 0..3 {
            let sample = &mut self.sample;
            let median = |sample: &mut Vec<f64>| {
                sample.sort_unstable_by(f64::total_cmp);
                sample.get(sample.len() / 2).copied()
            };
            sample.clear();
            sample.extend(sampled.clone().map(|b| b.max[along] - b.min[along]));
            let extent = median(sample).unwrap_or(0.0);
            sample.clear();
            sample.extend(sampled.clone().map(|b| b.min[along]).filter(|x| x.is_finite()));
            let Some(middle) = median(sample) else { continue };
            // The ends of the sample are left out: one box far away must not choose the axis.
            let trimmed = sample.len() / 16;
            let (first, last) = (sample[trimmed], sample[sample.len() - 1 - trimmed]);
            let spread = if last > first { (last - first) / extent } else { 0.0 };
            if spread > most {
                // Where many boxes begin at the same place, a plane there would leave nothing below it.
                let above_first = sample.iter().copied().find(|x| *x > sample[0]);
                (axis, plane, most) = (along, above_first.map_or(middle, |x| middle.max(x)), spread);
            }
        }
        (axis, plane)
    }
}

impl Boxes<'_> {
    /// Appends the pair of a and b if it is one and the corner of the intersection is not below `low`.
    #[inline]
    fn try_pair(&self, a: u32, b: u32, low: DVec3, pairs: &mut Vec<(u32, u32)>) {
        let (one, two) = (&self.bounds[a as usize], &self.bounds[b as usize]);
        let moves = self.movable[a as usize] || self.movable[b as usize];
        if one.overlaps(two) && moves && one.min.max(two.min).cmpge(low).all() {
            pairs.push(ordered(a, b));
        }
    }
}

/// All pairs of a small set.
fn scan(boxes: &Boxes, set: &[u32], low: DVec3, pairs: &mut Vec<(u32, u32)>) {
    for (k, a) in set.iter().enumerate() {
        for b in &set[k + 1..] {
            boxes.try_pair(*a, *b, low, pairs);
        }
    }
}

/// All pairs of a set that no plane divides well, by order along an axis.
fn sweep(boxes: &Boxes, set: &mut [u32], axis: usize, low: DVec3, pairs: &mut Vec<(u32, u32)>) {
    let min = |k: u32| boxes.bounds[k as usize].min[axis];
    set.sort_unstable_by(|a, b| min(*a).total_cmp(&min(*b)));
    for (k, a) in set.iter().enumerate() {
        let end = boxes.bounds[*a as usize].max[axis];
        for b in set[k + 1..].iter().take_while(|b| min(**b) <= end) {
            boxes.try_pair(*a, *b, low, pairs);
        }
    }
}
