//! The grid: boxes are sorted by the cell they lie in and held against what lies in the cells around.
//!
//! Made for grains of like size, n of which take O(n): one cell holds a few of them and each meets a few
//! dozen others. A single grid would do badly as soon as sizes differ, so boxes are first parted by size into
//! levels, each four times as coarse as the one before and with a grid of its own, as in the hierarchical
//! grids of [Ericson2005, §7.2]. Grains within a factor of two of the median share one level, and only that
//! level has any work to do. A box is also held against all finer levels, in the cells that it covers. Walls
//! and floors, hundreds of times the size of a grain or infinite, belong to no level: they never fill any
//! cells.
//!
//! No hashing: cells are numbered, boxes sorted by the number ([`BucketSort`]), and cells without boxes do
//! not exist. Nothing is kept from call to call but memory.

use std::ops::Range;

use glam::DVec3;

use super::bucket::BucketSort;
use super::level::{Item, Level, Sorted, Summary, collect};
use super::{BroadPhase, check, extent, occupied};
use crate::collide::Aabb;

/// The coarsest level holds boxes up to 2 · 4⁴ times the median.
const LEVELS: usize = 9;
/// The level of boxes from half to twice the median.
const TYPICAL: usize = 4;
/// Boxes larger than that belong to no level; they are kept after those of all levels.
const OVERSIZED: usize = LEVELS;

/// So many boxes are enough to estimate the median.
const SAMPLE: usize = 1024;
/// A task has at least so many boxes: less is not worth waking a thread.
const TASK_BOXES: usize = 4096;
/// There are at most about so many tasks: each has a row in the tables of the sort.
const TASKS: usize = 256;

/// Finds pairs by cells. See the [module documentation](super) for when to choose it.
#[derive(Debug, Default)]
pub struct Grid {
    sample: Vec<f64>,
    cells: BucketSort<(u64, u32)>,
    found: BucketSort<(u32, u32)>,
    /// (cell key, slot), sorted.
    keys: Vec<(u64, u32)>,
    /// The boxes in the order of `keys`.
    items: Vec<Item>,
}

/// Sizes and place of the movable boxes, by which the cells are laid out.
struct Typical {
    /// Median of the longest sides, m.
    size: f64,
    /// Medians of the smallest corners, m: a place that no single escaped body can shift.
    centre: DVec3,
    /// A cell for boxes that are all points, m.
    spacing: f64,
}

impl BroadPhase for Grid {
    fn name(&self) -> &'static str {
        "grid"
    }

    fn pairs(&mut self, boxes: &[Aabb], movable: &[bool], pairs: &mut Vec<(u32, u32)>) {
        check(boxes, movable);
        let Some(typical) = self.typical(boxes, movable) else {
            pairs.clear();
            return;
        };
        let limits: [f64; LEVELS] = std::array::from_fn(|k| {
            2.0 * if typical.size > 0.0 { typical.size } else { typical.spacing }
                * 4f64.powi(k as i32 - TYPICAL as i32)
        });
        let summaries = summarise(boxes, &limits);
        let levels = lay_out(&summaries, &typical);
        self.sort_boxes(boxes, movable, &limits, &levels);
        self.find(&levels);
        let bits = u64::BITS - (boxes.len() as u64).leading_zeros();
        let by_second = |bucket: &mut [(u32, u32)]| {
            for run in bucket.chunk_by_mut(|a, b| a.0 == b.0) {
                run.sort_unstable_by_key(|pair| pair.1);
            }
        };
        self.found.sort_into(bits, |pair| pair.0 as u64, by_second, pairs);
    }

    fn release(&mut self) {
        *self = Self::default();
    }
}

impl Grid {
    /// Estimated from evenly spaced slots, or nothing when no box can move.
    fn typical(&mut self, boxes: &[Aabb], movable: &[bool]) -> Option<Typical> {
        let fits = |k: &usize| movable[*k] && occupied(&boxes[*k]) && extent(&boxes[*k]).is_finite();
        let stride = boxes.len() / SAMPLE + 1;
        let spaced = (0..boxes.len()).step_by(stride).filter(fits);
        let mut median = |of: &dyn Fn(&Aabb) -> f64| -> Option<(f64, f64)> {
            let sample = &mut self.sample;
            sample.clear();
            sample.extend(spaced.clone().map(|k| of(&boxes[k])));
            if sample.is_empty() {
                sample.extend((0..boxes.len()).filter(fits).take(SAMPLE).map(|k| of(&boxes[k])));
            }
            sample.sort_unstable_by(f64::total_cmp);
            Some((*sample.get(sample.len() / 2)?, sample.last()? - sample.first()?))
        };
        // Only infinite boxes move: then any cell will do.
        let Some((size, _)) = median(&extent) else {
            let any = (0..boxes.len()).any(|k| movable[k] && occupied(&boxes[k]));
            return any.then_some(Typical { size: 1.0, centre: DVec3::ZERO, spacing: 1.0 });
        };
        let (x, width) = median(&|b| b.min.x)?;
        let (y, depth) = median(&|b| b.min.y)?;
        let (z, height) = median(&|b| b.min.z)?;
        let spread = width.max(depth).max(height) / (boxes.len() as f64).cbrt();
        let spacing = if spread > 0.0 && spread.is_finite() { spread } else { 1.0 };
        Some(Typical { size, centre: DVec3::new(x, y, z), spacing })
    }

    /// Fills `keys` and `items`.
    fn sort_boxes(
        &mut self,
        boxes: &[Aabb],
        movable: &[bool],
        limits: &[f64; LEVELS],
        levels: &[Level; LEVELS],
    ) {
        let large = levels[LEVELS - 1].end;
        let bits = u64::BITS - large.leading_zeros();
        let task = task_size(boxes.len());
        self.cells.begin();
        self.cells.add(boxes.len().div_ceil(task), |k, keys| {
            for slot in part(k, task, 0..boxes.len()) {
                let bounds = &boxes[slot];
                if occupied(bounds) {
                    let class = class(extent(bounds), limits);
                    let key = if class == OVERSIZED { large } else { levels[class].key(bounds) };
                    keys.push((key, slot as u32));
                }
            }
        });
        self.cells.sort_into(bits, |entry| entry.0, |_| (), &mut self.keys);

        const NOTHING: Item =
            Item { bounds: Aabb { min: DVec3::ZERO, max: DVec3::ZERO }, slot: 0, movable: false };
        self.items.resize(self.keys.len(), NOTHING);
        let keys = &self.keys;
        gather(&mut self.items, 0, &|at| {
            let slot = keys[at].1;
            Item { bounds: boxes[slot as usize], slot, movable: movable[slot as usize] }
        });
    }

    /// Fills `found` with all pairs, each once, unsorted.
    fn find(&mut self, levels: &[Level; LEVELS]) {
        let all = Sorted { keys: &self.keys, items: &self.items };
        let found = &mut self.found;
        found.begin();
        for (depth, level) in levels.iter().enumerate().filter(|(_, level)| !level.range.is_empty()) {
            let finer = &levels[..depth];
            let crowded = finer.iter().any(|level| !level.range.is_empty());
            let task = task_size(level.range.len());
            found.add(level.range.len().div_ceil(task), |k, pairs| {
                let part = part(k, task, level.range.clone());
                if crowded {
                    for item in &all.items[part.clone()] {
                        finer.iter().for_each(|level| level.query(all, item, pairs));
                    }
                }
                level.sweep(all, part, pairs);
            });
        }
        let (small, large) = all.items.split_at(levels[LEVELS - 1].range.end);
        let task = (TASK_BOXES / small.len().max(1)).max(1);
        found.add(large.len().div_ceil(task), |k, pairs| {
            for at in part(k, task, 0..large.len()) {
                levels.iter().for_each(|level| level.query(all, &large[at], pairs));
                if large[at].movable {
                    // Pairs of two that move are found from the first of them, others from the one that
                    // moves.
                    collect_large(at, large, pairs);
                }
            }
        });
    }
}

/// Appends the pairs among the large boxes that it falls to the movable box `at` to find.
fn collect_large(at: usize, large: &[Item], pairs: &mut Vec<(u32, u32)>) {
    collect(&large[at], &large[at + 1..], pairs);
    for other in large[..at].iter().filter(|other| !other.movable) {
        collect(&large[at], std::slice::from_ref(other), pairs);
    }
}

/// The level for boxes of that extent, or [`OVERSIZED`].
fn class(extent: f64, limits: &[f64; LEVELS]) -> usize {
    // Nearly always the first two comparisons decide.
    if extent <= limits[TYPICAL] && extent > limits[TYPICAL - 1] {
        return TYPICAL;
    }
    limits.iter().position(|limit| extent <= *limit).unwrap_or(OVERSIZED)
}

/// Counts and measures the boxes of each level; those in no level are left out.
fn summarise(boxes: &[Aabb], limits: &[f64; LEVELS]) -> [Summary; LEVELS] {
    if boxes.len() > TASK_BOXES {
        let (left, right) = boxes.split_at(boxes.len() / 2);
        let (mut left, right) = rayon::join(|| summarise(left, limits), || summarise(right, limits));
        left.iter_mut().zip(&right).for_each(|(a, b)| a.merge(b));
        return left;
    }
    let mut summaries = [Summary::EMPTY; LEVELS];
    for bounds in boxes.iter().filter(|bounds| occupied(bounds)) {
        let extent = extent(bounds);
        if let Some(summary) = summaries.get_mut(class(extent, limits)) {
            summary.add(bounds, extent);
        }
    }
    summaries
}

/// Levels one after another, both in the sorted boxes and in their keys.
fn lay_out(summaries: &[Summary; LEVELS], typical: &Typical) -> [Level; LEVELS] {
    let (mut start, mut offset) = (0, 0);
    summaries.each_ref().map(|summary| {
        let level = Level::new(summary, typical.centre, typical.spacing, start, offset);
        (start, offset) = (level.range.end, level.end);
        level
    })
}

fn task_size(boxes: usize) -> usize {
    (boxes / TASKS).max(TASK_BOXES)
}

/// The k-th part of a range cut into parts of `size`.
fn part(k: usize, size: usize, range: Range<usize>) -> Range<usize> {
    range.start + k * size..range.end.min(range.start + (k + 1) * size)
}

/// Writes `item(first + k)` to each `items[k]`.
fn gather(items: &mut [Item], first: usize, item: &(impl Fn(usize) -> Item + Sync)) {
    if items.len() > TASK_BOXES {
        let middle = items.len() / 2;
        let (left, right) = items.split_at_mut(middle);
        rayon::join(|| gather(left, first, item), || gather(right, first + middle, item));
        return;
    }
    items.iter_mut().enumerate().for_each(|(k, place)| *place = item(first + k));
}
