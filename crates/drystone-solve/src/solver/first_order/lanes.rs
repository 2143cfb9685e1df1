//! Passes over all contact points, a few lanes at a time, with sums whose order depends on nothing but the
//! problem.
//!
//! A pass is a [`Work`]: what to do with the points `i .. i + COUNT`. Colours and chunks are those of the
//! sweeps (`solver::sweep`): chunks of one colour touch different bodies and may run on different threads.
//! Each chunk keeps eight partial sums, point k of a run going to sum k mod 8 whatever the number of lanes;
//! they are added up in one order, and the chunks' sums in theirs. So neither threads nor the width of the
//! machine's vectors change a bit.

use crate::colour::{self, CHUNK, Span};
use crate::problem::Points;
use crate::simd::{F64Lanes, Kernel, Lanes, Simd, dispatch};

/// How many sums a pass may keep.
pub(super) const SUMS: usize = 5;

/// Partial sums (or maxima) of a chunk, eight of each.
pub(super) struct Seen([[f64; 8]; SUMS]);

impl Seen {
    /// Adds `x` to sum `k`, from slot `slot` on.
    #[inline(always)]
    pub fn add<V: F64Lanes>(&mut self, k: usize, slot: usize, x: V) {
        (V::load(&self.0[k], slot) + x).store(&mut self.0[k], slot);
    }

    /// Keeps the larger of `x` and what slot `slot` on of `k` holds; a NaN stays.
    #[inline(always)]
    pub fn most<V: F64Lanes>(&mut self, k: usize, slot: usize, x: V) {
        V::load(&self.0[k], slot).larger(x).store(&mut self.0[k], slot);
    }

    fn close(&self, most: [bool; SUMS]) -> [f64; SUMS] {
        std::array::from_fn(|k| {
            if most[k] {
                self.0[k].iter().fold(0.0, |m: f64, x| m.larger(*x))
            } else {
                self.0[k].iter().sum()
            }
        })
    }
}

/// What a pass does.
pub(super) trait Work: Sync {
    /// Which of the sums are maxima.
    const MOST: [bool; SUMS];

    /// Works on points `i .. i + COUNT`, which have (TWO) or have not a second body, and adds to `seen` from
    /// `slot` on.
    ///
    /// # Safety
    /// The indices are in range, and no other thread writes what this call touches.
    unsafe fn group<V: F64Lanes, const TWO: bool, const SPHERES: bool>(
        &self,
        i: usize,
        slot: usize,
        seen: &mut Seen,
    );
}

/// Points `start..end`, `COUNT` at a time and the rest one by one.
///
/// # Safety
/// As [`Work::group`].
#[inline(always)]
unsafe fn part<V: F64Lanes, W: Work, const TWO: bool, const SPHERES: bool>(
    work: &W,
    start: usize,
    end: usize,
    seen: &mut Seen,
) {
    let mut i = start;
    // SAFETY: as the caller promises.
    unsafe {
        while i + V::COUNT <= end {
            work.group::<V, TWO, SPHERES>(i, (i - start) % 8, seen);
            i += V::COUNT;
        }
        while i < end {
            work.group::<f64, TWO, SPHERES>(i, (i - start) % 8, seen);
            i += 1;
        }
    }
}

/// A chunk: points `start..two_end` with two bodies and `two_end..end` with one. Whoever makes one promises
/// what [`Work::group`] asks for.
struct Chunk<'a, W> {
    work: &'a W,
    spheres: bool,
    range: [usize; 3],
}

impl<W: Work> Kernel for Chunk<'_, W> {
    type Out = Seen;

    #[inline(always)]
    fn run<S: Simd>(self) -> Seen {
        let mut seen = Seen([[0.0; 8]; SUMS]);
        let [start, two_end, end] = self.range;
        // SAFETY: as the chunk's maker promises.
        unsafe {
            if self.spheres {
                part::<S::F64, W, true, true>(self.work, start, two_end, &mut seen);
                part::<S::F64, W, false, true>(self.work, two_end, end, &mut seen);
            } else {
                part::<S::F64, W, true, false>(self.work, start, two_end, &mut seen);
                part::<S::F64, W, false, false>(self.work, two_end, end, &mut seen);
            }
        }
        seen
    }
}

/// One chunk on given lanes, for tests.
///
/// # Safety
/// As [`Work::group`].
#[cfg(test)]
#[inline(always)]
pub(super) unsafe fn one_chunk<S: Simd, W: Work>(work: &W, spheres: bool, range: [usize; 3]) -> [f64; SUMS] {
    Chunk { work, spheres, range }.run::<S>().close(W::MOST)
}

/// Does `work` on all points; `parts` is scratch for the sums of pieces.
///
/// # Safety
/// The problem was checked (neither colours nor regions share a body, indices in range), and what `work`
/// points to is as long as the problem says and touched by nobody else.
pub(super) unsafe fn all<W: Work>(
    work: &W,
    points: &Points,
    spheres: bool,
    parts: &mut Vec<[f64; SUMS]>,
) -> [f64; SUMS] {
    let visit = |piece: Span| {
        // One after the other within a piece, in chunks: a serial span is as long as it is.
        let mut total = [0.0; SUMS];
        let mut start = piece.start;
        while start < piece.end {
            let end = (start + CHUNK).min(piece.end);
            let range = [start, piece.two_end.clamp(start, end), end].map(|x| x as usize);
            add::<W>(&mut total, dispatch(Chunk { work, spheres, range }).close(W::MOST));
            start = end;
        }
        total
    };
    colour::walk(&points.spans, &points.regions, false, parts, visit, add::<W>)
}

fn add<W: Work>(total: &mut [f64; SUMS], part: [f64; SUMS]) {
    for k in 0..SUMS {
        total[k] = if W::MOST[k] { total[k].larger(part[k]) } else { total[k] + part[k] };
    }
}
