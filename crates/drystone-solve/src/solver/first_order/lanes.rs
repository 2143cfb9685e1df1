//! Passes over all contact points, a few lanes at a time, with sums whose order depends on nothing but the
//! problem.
//!
//! A pass is a [`Work`]: what to do with the points `i .. i + COUNT`. Colours and chunks are those of the
//! sweeps (`solver::sweep`): chunks of one colour touch different bodies and may run on different threads.
//! Each chunk keeps eight partial sums, point k of a run going to sum k mod 8 whatever the number of lanes;
//! they are added up in one order, and the chunks' sums in theirs. So neither threads nor the width of the
//! machine's vectors change a bit.

use std::ops::Range;

use crate::colour::{self, CHUNK, Span};
use crate::parallel::Shared;
use crate::problem::Points;
use crate::simd::{F64Lanes, Kernel, Lanes, OwnRows, SharedRows, Simd, dispatch};
use crate::solver::contact::layout::{Row, Run, Spheres};

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

    /// Works on points `i .. i + COUNT` of a run, which have (TWO) or have not a second body, and adds to
    /// `seen` from `slot` on.
    fn group<V: F64Lanes, const TWO: bool, const SPHERES: bool>(
        &self,
        own: &mut Own,
        i: usize,
        slot: usize,
        seen: &mut Seen,
    );
}

/// The problem's points, by their bodies.
#[derive(Clone, Copy)]
pub(super) struct Geometry<'a> {
    pub points: &'a Points,
    /// How many bodies there are.
    pub bodies: usize,
    pub spheres: &'a Spheres,
    /// Whether all contacts are those of spheres: they are filled in then.
    pub all_spheres: bool,
}

/// What a pass writes.
pub(super) struct Writes<'a> {
    /// The three components of a vector over the points; None where nothing is written.
    field: Option<[Shared<f64>; 3]>,
    count: usize,
    rows: SharedRows<'a>,
}

impl<'a> Writes<'a> {
    /// The vector, if any, and forces by body; no rows where none are pushed.
    pub fn new(field: Option<[&'a mut [f64]; 3]>, force: &'a mut [Row]) -> Self {
        let count = field.as_ref().map_or(0, |field| field[0].len());
        assert!(field.iter().flatten().all(|x| x.len() == count), "three components of one length");
        let field = field.map(|field| field.map(|x| Shared(x.as_mut_ptr())));
        Self { field, count, rows: SharedRows::new(force) }
    }
}

/// A run of points that one thread works on, with what it writes for them. The vector and the rows are empty
/// where the pass writes none.
pub(super) struct Own<'a> {
    pub run: Run<'a>,
    pub field: [&'a mut [f64]; 3],
    pub rows: Option<OwnRows<'a>>,
}

impl Own<'_> {
    /// Writes the vector of points `i .. i + COUNT` of the run.
    #[inline(always)]
    pub fn write<V: F64Lanes>(&mut self, i: usize, x: [V; 3]) {
        x[0].store(self.field[0], i);
        x[1].store(self.field[1], i);
        x[2].store(self.field[2], i);
    }
}

/// A chunk: points `start..two_end` with two bodies and `two_end..end` with one. Whoever makes one promises
/// that nobody else works on these points or their bodies meanwhile.
struct Chunk<'a, W> {
    work: &'a W,
    geometry: Geometry<'a>,
    writes: &'a Writes<'a>,
    range: [usize; 3],
}

impl<'a, W: Work> Chunk<'a, W> {
    /// The points of a run, `COUNT` at a time and the rest one by one.
    #[inline(always)]
    fn part<V: F64Lanes, const TWO: bool, const SPHERES: bool>(&self, range: Range<usize>, seen: &mut Seen) {
        let Self { geometry: g, writes, .. } = self;
        let run = Run::new::<TWO, SPHERES>(g.points, g.spheres, g.bodies, range.clone());
        let field: [&mut [f64]; 3] = match &writes.field {
            // SAFETY: the run has found its points there, and they are this thread's.
            Some([x, y, z]) if range.end <= writes.count => unsafe {
                [x, y, z].map(|field| field.slice(range.start, range.len()))
            },
            _ => [&mut [], &mut [], &mut []],
        };
        // SAFETY: the points' bodies are this thread's, too.
        let rows = (!writes.rows.is_empty()).then(|| unsafe { writes.rows.own(run.ends) });
        let mut own = Own { run, field, rows };
        let (mut i, len) = (0, own.run.len);
        while i + V::COUNT <= len {
            self.work.group::<V, TWO, SPHERES>(&mut own, i, i % 8, seen);
            i += V::COUNT;
        }
        while i < len {
            self.work.group::<f64, TWO, SPHERES>(&mut own, i, i % 8, seen);
            i += 1;
        }
    }
}

impl<W: Work> Kernel for Chunk<'_, W> {
    type Out = Seen;

    #[inline(always)]
    fn run<S: Simd>(self) -> Seen {
        let mut seen = Seen([[0.0; 8]; SUMS]);
        let [start, two_end, end] = self.range;
        if self.geometry.all_spheres {
            self.part::<S::F64, true, true>(start..two_end, &mut seen);
            self.part::<S::F64, false, true>(two_end..end, &mut seen);
        } else {
            self.part::<S::F64, true, false>(start..two_end, &mut seen);
            self.part::<S::F64, false, false>(two_end..end, &mut seen);
        }
        seen
    }
}

/// One chunk of all points on given lanes, for tests.
#[cfg(test)]
#[inline(always)]
pub(super) fn one_chunk<S: Simd, W: Work>(
    work: &W,
    geometry: Geometry,
    writes: &Writes,
    two_end: usize,
) -> [f64; SUMS] {
    let range = [0, two_end, geometry.points.len()];
    Chunk { work, geometry, writes, range }.run::<S>().close(W::MOST)
}

/// Does `work` on all points of a problem that was checked: neither colours nor regions share a body. `parts`
/// is scratch for the sums of pieces.
pub(super) fn all<W: Work>(
    work: &W,
    geometry: Geometry,
    writes: Writes,
    parts: &mut Vec<[f64; SUMS]>,
) -> [f64; SUMS] {
    let points = geometry.points;
    let visit = |piece: Span| {
        // One after the other within a piece, in chunks: a serial span is as long as it is.
        let mut total = [0.0; SUMS];
        let mut start = piece.start;
        while start < piece.end {
            let end = (start + CHUNK).min(piece.end);
            let range = [start, piece.two_end.clamp(start, end), end].map(|x| x as usize);
            let chunk = Chunk { work, geometry, writes: &writes, range };
            add::<W>(&mut total, dispatch(chunk).close(W::MOST));
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
