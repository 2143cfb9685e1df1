//! Contact points written column by column, by several threads.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::memory;
use crate::parallel;

use super::points::{Point, Points};

/// Points that one thread makes at a time.
const PIECE: usize = 2048;

/// Where the columns of some points begin.
struct Columns {
    bodies: [*mut u32; 2],
    numbers: [*mut f64; 11],
}

// SAFETY: see `put`.
unsafe impl Sync for Columns {}

impl Columns {
    /// Of points whose columns have room for all that is to be put.
    fn of(p: &mut Points) -> Self {
        let bodies = [p.a.as_mut_ptr(), p.b.as_mut_ptr()];
        let [n, a, b] =
            [&mut p.normal, &mut p.arm_a, &mut p.arm_b].map(|f| f.each_mut().map(Vec::as_mut_ptr));
        let numbers =
            [n[0], n[1], n[2], a[0], a[1], a[2], b[0], b[1], b[2], p.bias.as_mut_ptr(), p.mu.as_mut_ptr()];
        Self { bodies, numbers }
    }

    /// Writes point `i`; says whether it slides by itself, and whether it gives.
    ///
    /// # Safety
    /// The columns are still there and have room for point `i`, and nobody else writes or reads it.
    #[inline]
    unsafe fn put(&self, i: usize, p: &Point) -> [bool; 2] {
        let (along, _, slides) = p.split();
        let (n, a, b) = (p.normal, p.arm_a, p.arm_b);
        let numbers = [n[0], n[1], n[2], a[0], a[1], a[2], b[0], b[1], b[2], along, p.mu];
        unsafe {
            self.bodies[0].add(i).write(p.bodies.0);
            self.bodies[1].add(i).write(p.bodies.1);
            for (to, x) in self.numbers.iter().zip(numbers) {
                to.add(i).write(x);
            }
        }
        [slides, p.compliance > 0.0]
    }
}

/// Calls `put` for every number below `count`; whether the first, or the second, of what it says was ever
/// true.
fn pieces(count: usize, put: impl Fn(usize) -> [bool; 2] + Sync) -> [bool; 2] {
    let seen = [false; 2].map(AtomicBool::new);
    parallel::for_each(count.div_ceil(PIECE), |k| {
        let either = |x: [bool; 2], y: [bool; 2]| [x[0] | y[0], x[1] | y[1]];
        let said = (k * PIECE..count.min((k + 1) * PIECE)).map(&put).fold([false; 2], either);
        seen.iter().zip(said).filter(|(_, said)| *said).for_each(|(seen, _)| seen.store(true, Relaxed));
    });
    seen.map(AtomicBool::into_inner)
}

impl Points {
    /// The columns of numbers that all points have.
    fn numbers_mut(&mut self) -> impl Iterator<Item = &mut Vec<f64>> {
        let vectors = self.normal.iter_mut().chain(&mut self.arm_a).chain(&mut self.arm_b);
        vectors.chain([&mut self.bias, &mut self.mu])
    }

    /// Replaces all points by `count` new ones, in coloured order; the colours are the caller's. Pieces are
    /// made by several threads where there are many.
    pub fn fill(&mut self, count: usize, point: impl Fn(usize) -> Point + Sync) {
        self.drift.iter_mut().chain(&mut self.compliance).for_each(Vec::clear);
        // Nothing is written that is written once more below.
        for field in self.numbers_mut() {
            field.clear();
            memory::reserve(field, count);
        }
        for field in [&mut self.a, &mut self.b] {
            field.clear();
            memory::reserve(field, count);
        }
        let to = Columns::of(self);
        let [slides, gives] = pieces(count, |i| {
            let p = point(i);
            // SAFETY: every number below the count is visited once, and there is room for as many in all
            // columns.
            unsafe { to.put(i, &p) }
        });
        // SAFETY: all have been written.
        unsafe {
            self.numbers_mut().for_each(|field| field.set_len(count));
            self.a.set_len(count);
            self.b.set_len(count);
        }
        if slides {
            for k in 0..3 {
                self.drift[k].extend((0..count).map(|i| point(i).split().1[k]));
            }
        }
        if gives {
            self.compliance[0].extend((0..count).map(|i| point(i).compliance));
            self.compliance[1].resize(count, 0.0);
        }
    }
}
