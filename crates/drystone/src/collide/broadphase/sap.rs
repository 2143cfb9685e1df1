//! Sweep and prune: the ends of all boxes are kept sorted along the three axes from call to call
//! [TasoraAnitescu2011, §2.3], [Ericson2005, §7.5].
//!
//! Bodies move little between calls, so the lists are nearly in order and an insertion sort repairs them in
//! O(n + swaps). Each swap that brings the lower end of a box below the upper end of another means that the
//! two have begun to overlap along that axis. This gives, without counting overlaps for each axis and without
//! a hash table:
//!
//! pairs now = {pairs before that still overlap} ∪ {pairs that began to overlap along some axis and now
//! overlap}
//!
//! since two boxes that overlap now and did not before must have begun to along at least one axis. The set is
//! exact, so it does not depend on the history that led to it. Where ends coincide the lower comes first:
//! touching counts.
//!
//! A body that is added, or becomes movable or immovable, enters at the far end of the lists and sinks to its
//! place, swapping with, and so being held against, all that it passes. A body that is removed is dropped
//! from the lists. On the first call, after large changes, and where bodies move so fast that the swaps would
//! cost more, all pairs are found anew by [`Subdivision`] and the lists sorted in full.
//!
//! n grains in a volume have of the order of n^(5/3) ends to swap for a given motion relative to their size
//! (each end passes those of a whole layer of grains): for large n the [`Grid`](super::Grid) wins. The usual
//! alternative, sorting along a single axis and sweeping it, has n^(5/3) pairs of boxes to look at however
//! little they move, and was slower in every case measured: see the table in the [module
//! documentation](super).

use super::subdivide::Subdivision;
use super::{BroadPhase, check, occupied, ordered};
use crate::collide::Aabb;

/// An insertion sort gives up after so many swaps for each end in its list: finding all anew is then cheaper.
const MAX_SWAPS: usize = 24;
/// More new bodies than this are not inserted one by one.
const NEWCOMERS: usize = 16;
/// After the lists were given up they are tried again after 1, 2, 4, … and at most so many calls.
const LONGEST_WAIT: u32 = 32;
/// With fewer bodies than this the three axes are not worth three threads.
const PARALLEL: usize = 2000;

/// Finds pairs by sorted lists that it keeps. See the [module documentation](super) for when to choose it.
#[derive(Debug, Default)]
pub struct Sap {
    axes: [Axis; 3],
    /// What was last known of each slot.
    known: Vec<Slot>,
    /// The pairs of the last call.
    current: Vec<(u32, u32)>,
    merged: Vec<(u32, u32)>,
    started: Vec<(u32, u32)>,
    subdivision: Subdivision,
    /// Whether `axes` and `known` describe the last call.
    in_order: bool,
    /// How many calls to go before the lists are sorted again, and how many it was the last time.
    wait: u32,
    last_wait: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Empty,
    Fixed,
    Movable,
}

/// The ends of all boxes along one axis, in increasing order.
#[derive(Debug, Default)]
struct Axis {
    ends: Vec<End>,
    /// Pairs that began to overlap along this axis and that overlap.
    started: Vec<(u32, u32)>,
    /// Whether the last sort was given up.
    given_up: bool,
}

#[derive(Clone, Copy, Debug)]
struct End {
    /// m
    value: f64,
    /// Twice the slot, plus one for an upper end.
    tag: u32,
}

impl End {
    fn slot(self) -> u32 {
        self.tag >> 1
    }

    fn is_upper(self) -> bool {
        self.tag & 1 == 1
    }

    fn before(self, other: End) -> bool {
        self.value < other.value || (self.value == other.value && !self.is_upper() && other.is_upper())
    }
}

impl Slot {
    fn of(bounds: &Aabb, movable: bool) -> Self {
        match (occupied(bounds), movable) {
            (false, _) => Slot::Empty,
            (true, false) => Slot::Fixed,
            (true, true) => Slot::Movable,
        }
    }
}

impl Axis {
    /// Drops the ends of all slots for which `keep` does not hold.
    fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        self.ends.retain(|end| keep(end.slot()));
    }

    /// Appends the ends of a slot; their values follow with the next sort.
    fn push(&mut self, slot: u32) {
        self.ends.push(End { value: f64::INFINITY, tag: 2 * slot });
        self.ends.push(End { value: f64::INFINITY, tag: 2 * slot + 1 });
    }

    fn refresh(&mut self, axis: usize, boxes: &[Aabb]) {
        for end in &mut self.ends {
            let bounds = &boxes[end.slot() as usize];
            end.value = if end.is_upper() { bounds.max[axis] } else { bounds.min[axis] };
        }
    }

    /// Puts the list in order from what it was in the last call, and collects the pairs that this brings
    /// together.
    fn repair(&mut self, axis: usize, boxes: &[Aabb], movable: &[bool]) {
        self.started.clear();
        self.refresh(axis, boxes);
        let ends = &mut self.ends[..];
        let mut patience = MAX_SWAPS * ends.len();
        for at in 1..ends.len() {
            let end = ends[at];
            let mut place = at;
            while place > 0 && end.before(ends[place - 1]) {
                let passed = ends[place - 1];
                ends[place] = passed;
                place -= 1;
                if !end.is_upper() && passed.is_upper() {
                    let (a, b) = (end.slot() as usize, passed.slot() as usize);
                    if (movable[a] || movable[b]) && boxes[a].overlaps(&boxes[b]) {
                        self.started.push(ordered(end.slot(), passed.slot()));
                    }
                }
            }
            ends[place] = end;
            let swaps = at - place;
            if swaps > patience {
                self.given_up = true;
                return;
            }
            patience -= swaps;
        }
        self.given_up = false;
    }

    /// Puts the list in order from anything.
    fn sort(&mut self, axis: usize, boxes: &[Aabb]) {
        self.refresh(axis, boxes);
        // By the order of the repair, for which -0 and +0 are one place.
        self.ends.sort_unstable_by(|a, b| b.before(*a).cmp(&a.before(*b)));
    }
}

impl BroadPhase for Sap {
    fn name(&self) -> &'static str {
        "sap"
    }

    fn pairs(&mut self, boxes: &[Aabb], movable: &[bool], pairs: &mut Vec<(u32, u32)>) {
        check(boxes, movable);
        if !(self.in_order && self.admit(boxes, movable)) {
            self.start_anew(boxes, movable);
        } else if !self.repair(boxes, movable) {
            self.wait = (2 * self.last_wait).clamp(1, LONGEST_WAIT);
            self.last_wait = self.wait;
            self.start_anew(boxes, movable);
        }
        pairs.clear();
        pairs.extend_from_slice(&self.current);
    }
}

impl Sap {
    /// Drops from the lists who left, and appends who came. False when too many came.
    fn admit(&mut self, boxes: &[Aabb], movable: &[bool]) -> bool {
        let now = |k: usize| boxes.get(k).map_or(Slot::Empty, |bounds| Slot::of(bounds, movable[k]));
        let before = self.known.len();
        self.known.resize(boxes.len().max(before), Slot::Empty);
        let (mut left, mut came) = (false, 0);
        for (k, known) in self.known.iter().enumerate() {
            let slot = now(k);
            // A slot that changes between fixed and movable leaves and comes back: all its pairs are looked
            // at again.
            left |= slot != *known && *known != Slot::Empty;
            came += (slot != *known && slot != Slot::Empty) as usize;
        }
        if came > NEWCOMERS {
            return false;
        }
        if left {
            let known = &self.known;
            self.axes
                .iter_mut()
                .for_each(|axis| axis.retain(|slot| known[slot as usize] == now(slot as usize)));
        }
        if left || came > 0 {
            for (k, known) in self.known.iter_mut().enumerate() {
                let slot = now(k);
                if slot != *known && slot != Slot::Empty {
                    self.axes.iter_mut().for_each(|axis| axis.push(k as u32));
                }
                *known = slot;
            }
        }
        self.known.truncate(boxes.len());
        true
    }

    /// Sorts the lists by insertion and brings `current` up to date. False when there were too many swaps.
    fn repair(&mut self, boxes: &[Aabb], movable: &[bool]) -> bool {
        let [x, y, z] = &mut self.axes;
        if boxes.len() < PARALLEL {
            x.repair(0, boxes, movable);
            y.repair(1, boxes, movable);
            z.repair(2, boxes, movable);
        } else {
            let yz = || rayon::join(|| y.repair(1, boxes, movable), || z.repair(2, boxes, movable));
            rayon::join(|| x.repair(0, boxes, movable), yz);
        }
        if self.axes.iter().any(|axis| axis.given_up) {
            return false;
        }
        self.started.clear();
        self.axes.iter().for_each(|axis| self.started.extend_from_slice(&axis.started));
        self.started.sort_unstable();
        self.started.dedup();

        let holds = |&&(i, j): &&(u32, u32)| {
            let (i, j) = (i as usize, j as usize);
            j < boxes.len()
                && (movable[i] || movable[j])
                && boxes[i].overlaps(&boxes[j])
                && occupied(&boxes[i])
                && occupied(&boxes[j])
        };
        self.merged.clear();
        let mut started = self.started.iter().peekable();
        for pair in self.current.iter().filter(holds) {
            while let Some(earlier) = started.next_if(|new| *new < pair) {
                self.merged.push(*earlier);
            }
            started.next_if_eq(&pair);
            self.merged.push(*pair);
        }
        self.merged.extend(started);
        std::mem::swap(&mut self.current, &mut self.merged);
        self.last_wait = 0;
        true
    }

    /// All pairs from nothing, and the lists too, unless they were given up not long ago: where they are of
    /// no use it would be a waste to sort them in every call.
    fn start_anew(&mut self, boxes: &[Aabb], movable: &[bool]) {
        self.subdivision.pairs(boxes, movable, &mut self.current);
        self.in_order = self.wait == 0;
        if !self.in_order {
            self.wait -= 1;
            return;
        }
        self.known.clear();
        self.known.extend(boxes.iter().zip(movable).map(|(bounds, movable)| Slot::of(bounds, *movable)));
        let known = &self.known;
        let fill = |axis: &mut Axis, k: usize| {
            axis.ends.clear();
            (0..boxes.len()).filter(|k| known[*k] != Slot::Empty).for_each(|k| axis.push(k as u32));
            axis.sort(k, boxes);
        };
        let [x, y, z] = &mut self.axes;
        if boxes.len() < PARALLEL {
            fill(x, 0);
            fill(y, 1);
            fill(z, 2);
        } else {
            rayon::join(|| fill(x, 0), || rayon::join(|| fill(y, 1), || fill(z, 2)));
        }
    }
}
