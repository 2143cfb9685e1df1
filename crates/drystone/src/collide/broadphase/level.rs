//! One level of the grid: boxes of similar size, sorted by the cell that their smallest corner lies in.
//!
//! The cell is a little larger than the largest box of the level. So a box overlaps only boxes whose cells
//! are its own or one of the 26 around, and a box of any size overlaps only boxes whose cells run, along each
//! axis, from the one before that of its smallest corner to that of its largest. Cells are numbered along x
//! first, hence cells that are neighbours along x are neighbours in the sorted order, and what is near a box
//! is a few contiguous runs.

use std::ops::Range;

use glam::DVec3;

use super::ordered;
use crate::collide::Aabb;

/// Cells further than this from the centre along an axis are taken together with the last one: the resolution
/// of the cells of most bodies must not be lost to one that escaped.
const REACH: f64 = (1u64 << 29) as f64;

/// How much larger the cell is than the largest box. Must exceed the rounding of a cell coordinate, at most
/// 5 · [`REACH`] · 2⁻⁵³ ≈ 3 · 10⁻⁷ cells.
const CELL_MARGIN: f64 = 1e-6;

/// A level has at most so many cells, so that the keys of sixteen levels fit into 63 bits.
const CELLS: u128 = 1 << 59;

/// A box as the grid keeps it, in the order of the cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) bounds: Aabb,
    pub(super) slot: u32,
    pub(super) movable: bool,
}

impl Item {
    /// Whether the two make a pair.
    #[inline]
    pub(super) fn meets(&self, other: &Item) -> bool {
        let (a, b) = (&self.bounds, &other.bounds);
        // One branch for all bounds: each by itself is nearly random among neighbours, and would be
        // mispredicted.
        (a.min.x <= b.max.x)
            & (b.min.x <= a.max.x)
            & (a.min.y <= b.max.y)
            & (b.min.y <= a.max.y)
            & (a.min.z <= b.max.z)
            & (b.min.z <= a.max.z)
            & (self.movable | other.movable)
    }
}

/// All boxes of the grid with their cells' keys, in increasing order of the key.
#[derive(Clone, Copy)]
pub(super) struct Sorted<'a> {
    pub(super) keys: &'a [(u64, u32)],
    pub(super) items: &'a [Item],
}

/// What there is to know of a set of boxes before they are put into cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summary {
    pub(super) count: usize,
    /// The longest side of any, m.
    pub(super) largest: f64,
    /// Bounds of the smallest corners, m.
    pub(super) low: DVec3,
    pub(super) high: DVec3,
}

impl Summary {
    pub(super) const EMPTY: Self =
        Self { count: 0, largest: 0.0, low: DVec3::INFINITY, high: DVec3::NEG_INFINITY };

    pub(super) fn add(&mut self, bounds: &Aabb, extent: f64) {
        self.count += 1;
        self.largest = self.largest.max(extent);
        self.low = self.low.min(bounds.min);
        self.high = self.high.max(bounds.min);
    }

    pub(super) fn merge(&mut self, other: &Summary) {
        self.count += other.count;
        self.largest = self.largest.max(other.largest);
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
    }
}

/// The cells of one level, and where its boxes are among all.
#[derive(Clone, Debug)]
pub(super) struct Level {
    /// Its part of the sorted boxes.
    pub(super) range: Range<usize>,
    centre: DVec3,
    /// Cells per metre.
    inverse: f64,
    /// [`REACH`], or less where there would be too many cells.
    reach: f64,
    /// The first and the last cell along each axis that hold boxes.
    low: [i64; 3],
    high: [i64; 3],
    /// Key of the corner cell, and by how much the key grows along x, y and z.
    offset: u64,
    strides: [u64; 3],
    /// One more than the largest key.
    pub(super) end: u64,
}

impl Level {
    /// Cells for the boxes in the summary, which are `start..` of all; their keys begin at `offset`. `size`
    /// is the cell where all boxes are points.
    pub(super) fn new(summary: &Summary, centre: DVec3, size: f64, start: usize, offset: u64) -> Self {
        let largest = if summary.largest > 0.0 { summary.largest } else { size };
        let cell = (largest * (1.0 + CELL_MARGIN)).max(f64::MIN_POSITIVE.sqrt());
        let mut level = Self {
            range: start..start + summary.count,
            centre,
            inverse: cell.recip(),
            reach: REACH,
            low: [0; 3],
            high: [0; 3],
            offset,
            strides: [1; 3],
            end: offset,
        };
        if summary.count == 0 {
            return level;
        }
        loop {
            level.low = level.cell(summary.low);
            level.high = level.cell(summary.high);
            // An empty cell before the first and after the last: no neighbour is taken for a cell of the next
            // row.
            let sides: [u64; 3] = std::array::from_fn(|k| (level.high[k] - level.low[k]) as u64 + 3);
            let cells = sides.iter().map(|side| *side as u128).product::<u128>();
            if cells <= CELLS {
                level.strides = [1, sides[0], sides[0] * sides[1]];
                level.end = offset + cells as u64;
                return level;
            }
            level.reach *= 0.5;
        }
    }

    /// The cell of a point: along each axis a function that never decreases, whatever the rounding.
    fn cell(&self, point: DVec3) -> [i64; 3] {
        let scaled = (point - self.centre) * self.inverse;
        // Shifted to where no number is negative: truncation, one instruction, then rounds down.
        std::array::from_fn(|k| (scaled[k].clamp(-self.reach, self.reach) + REACH) as i64)
    }

    fn key_of(&self, cell: [i64; 3]) -> u64 {
        let along = |k: usize| (cell[k] - self.low[k] + 1) as u64 * self.strides[k];
        self.offset + along(0) + along(1) + along(2)
    }

    /// The key of a box of this level.
    pub(super) fn key(&self, bounds: &Aabb) -> u64 {
        self.key_of(self.cell(bounds.min))
    }

    /// Appends all pairs within the level whose first box, in sorted order, is in `part`. Parts that share an
    /// end share no pair. Each cell is held against itself and the half of its neighbours that come later:
    /// the rest of its row, and three cells of each of four later rows. As the cell moves on, so do the ends
    /// of these runs, which are therefore found by walking, not by searching.
    pub(super) fn sweep(&self, all: Sorted, part: Range<usize>, pairs: &mut Vec<(u32, u32)>) {
        let keys = all.keys;
        let last = self.range.end;
        let mut at = self.run_start(keys, part.start);
        let end = self.run_start(keys, part.end);
        if at >= end {
            return;
        }
        let [_, y, z] = self.strides;
        let rows = [y, z - y, z, z + y];
        let find = |key: u64| at + keys[at..last].partition_point(|k| k.0 < key);
        let mut row_starts = rows.map(|row| find(keys[at].0 + row - 1));
        let mut row_ends = row_starts;
        let mut own_end = at;
        let walk = |from: usize, key: u64| from + keys[from..last].iter().take_while(|k| k.0 < key).count();
        while at < end {
            let key = keys[at].0;
            let next = walk(at, key + 1);
            own_end = walk(own_end.max(next), key + 2);
            for (row, (start, end)) in rows.iter().zip(row_starts.iter_mut().zip(&mut row_ends)) {
                *start = walk(*start, key + row - 1);
                *end = walk((*end).max(*start), key + row + 2);
            }
            for first in at..next {
                let mut hits = Hits::of(&all.items[first]);
                hits.offer(&all.items[first + 1..own_end], pairs);
                for (start, end) in row_starts.iter().zip(&row_ends) {
                    hits.offer(&all.items[*start..*end], pairs);
                }
                hits.flush(pairs);
            }
            at = next;
        }
    }

    /// The first box at or after `at` that begins a cell.
    fn run_start(&self, keys: &[(u64, u32)], at: usize) -> usize {
        if at <= self.range.start || at >= self.range.end {
            return at;
        }
        let before = keys[at - 1].0;
        at + keys[at..self.range.end].iter().take_while(|k| k.0 == before).count()
    }

    /// Appends all pairs of `item`, a box of any size that is not of this level, with boxes of this level.
    pub(super) fn query(&self, all: Sorted, item: &Item, pairs: &mut Vec<(u32, u32)>) {
        let keys = &all.keys[self.range.clone()];
        let items = &all.items[self.range.clone()];
        let (from, to) = (self.cell(item.bounds.min), self.cell(item.bounds.max));
        let low: [i64; 3] = std::array::from_fn(|k| (from[k] - 1).max(self.low[k]));
        let high: [i64; 3] = std::array::from_fn(|k| to[k].min(self.high[k]));
        if items.is_empty() || (0..3).any(|k| low[k] > high[k]) {
            return;
        }
        // Finding a row takes a search; where there would be more searching than looking, look at everything.
        let rows = (high[1] - low[1] + 1) as usize * (high[2] - low[2] + 1) as usize;
        if rows.saturating_mul(items.len().ilog2() as usize + 1) > items.len() {
            collect(item, items, pairs);
            return;
        }
        for z in low[2]..=high[2] {
            for y in low[1]..=high[1] {
                let (first, last) = (self.key_of([low[0], y, z]), self.key_of([high[0], y, z]));
                let start = keys.partition_point(|k| k.0 < first);
                let count = keys[start..].iter().take_while(|k| k.0 <= last).count();
                collect(item, &items[start..start + count], pairs);
            }
        }
    }
}

/// Appends the pairs of `a` with any of `others`.
pub(super) fn collect(a: &Item, others: &[Item], pairs: &mut Vec<(u32, u32)>) {
    let mut hits = Hits::of(a);
    hits.offer(others, pairs);
    hits.flush(pairs);
}

/// The boxes that `a` was found to meet, on their way to the list of pairs. Which of its neighbours a box
/// meets is close to random: they are gathered here without a branch for each, which would be mispredicted
/// more often than not.
struct Hits<'a> {
    a: &'a Item,
    slots: [u32; Hits::ROOM],
    count: usize,
}

impl<'a> Hits<'a> {
    const ROOM: usize = 32;

    #[inline]
    fn of(a: &'a Item) -> Self {
        Self { a, slots: [0; Hits::ROOM], count: 0 }
    }

    #[inline]
    fn offer(&mut self, others: &[Item], pairs: &mut Vec<(u32, u32)>) {
        for b in others {
            self.slots[self.count % Hits::ROOM] = b.slot;
            self.count += self.a.meets(b) as usize;
            if self.count == Hits::ROOM {
                self.flush(pairs);
            }
        }
    }

    #[inline]
    fn flush(&mut self, pairs: &mut Vec<(u32, u32)>) {
        pairs.extend(self.slots[..self.count].iter().map(|slot| ordered(self.a.slot, *slot)));
        self.count = 0;
    }
}
