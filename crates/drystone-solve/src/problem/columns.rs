//! Contact points written column by column, by several threads.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::crew;

use super::bodies::{Point, Points, dot};

/// Points that one thread makes at a time.
const PIECE: usize = 2048;

/// Where the columns of some points begin.
pub(super) struct Columns {
    bodies: [*mut u32; 2],
    numbers: [*mut f64; 11],
}

// SAFETY: see `put`.
unsafe impl Sync for Columns {}

impl Columns {
    /// Of points whose columns have room for all that is to be put.
    pub fn of(p: &mut Points) -> Self {
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
    pub unsafe fn put(&self, i: usize, p: &Point) -> [bool; 2] {
        let (along, _, slides) = split(p);
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

/// The bias along the normal, across it, and whether that is more than the dust that rounding leaves.
#[inline]
pub(super) fn split(p: &Point) -> (f64, [f64; 3], bool) {
    let along = dot(p.bias, p.normal);
    let across: [f64; 3] = std::array::from_fn(|k| p.bias[k] - along * p.normal[k]);
    let dust = 1e-14 * dot(p.bias, p.bias).sqrt();
    (along, across, across.iter().any(|x| x.abs() > dust))
}

/// Calls `put` for every number below `count`; whether the first, or the second, of what it says was ever true.
pub(super) fn pieces(count: usize, put: impl Fn(usize) -> [bool; 2] + Sync) -> [bool; 2] {
    let seen = [false; 2].map(AtomicBool::new);
    crew::each(count.div_ceil(PIECE), |k| {
        let either = |x: [bool; 2], y: [bool; 2]| [x[0] | y[0], x[1] | y[1]];
        let said = (k * PIECE..count.min((k + 1) * PIECE)).map(&put).fold([false; 2], either);
        seen.iter().zip(said).filter(|(_, said)| *said).for_each(|(seen, _)| seen.store(true, Relaxed));
    });
    seen.map(AtomicBool::into_inner)
}
