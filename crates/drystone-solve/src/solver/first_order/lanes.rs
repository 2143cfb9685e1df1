//! Passes over all contact points, a few lanes at a time, with sums whose order depends on nothing but the problem.
//!
//! A pass is a [`Work`]: what to do with the points `i .. i + L`. Colours and chunks are those of the sweeps
//! (`solver::sweep`): chunks of one colour touch different bodies and may run on different threads. Each chunk keeps
//! eight partial sums, point k of a run going to sum k mod 8 whatever the number of lanes; they are added up in one
//! order, and the chunks' sums in theirs. So neither threads nor the width of the machine's vectors change a bit.

use crate::colour::{self, CHUNK, Span};
use crate::problem::Points;
use crate::solver::sweep::kernel::{Row, Spheres, Three, cross, load_bias, load3, minus, plus, times};
use crate::solver::sweep::vector::Vector;

use super::widest::{Kernel, widest};

/// How many sums a pass may keep.
pub(super) const SUMS: usize = 5;

/// Partial sums (or maxima) of a chunk, eight of each.
pub(super) struct Seen([[f64; 8]; SUMS]);

impl Seen {
    /// Adds `x` to sum `k`, from slot `slot` on.
    #[inline(always)]
    pub unsafe fn add<V: Vector>(&mut self, k: usize, slot: usize, x: V) {
        unsafe {
            let at = self.0[k].as_mut_ptr().add(slot);
            V::load(at).add(x).store(at);
        }
    }

    /// Keeps the larger of `x` and what slot `slot` on of `k` holds; a NaN stays.
    #[inline(always)]
    pub unsafe fn most<V: Vector>(&mut self, k: usize, slot: usize, x: V) {
        unsafe {
            let at = self.0[k].as_mut_ptr().add(slot);
            let old = V::load(at);
            x.select_le(old, old, x).store(at);
        }
    }

    fn close(&self, most: [bool; SUMS]) -> [f64; SUMS] {
        std::array::from_fn(|k| {
            if most[k] { self.0[k].iter().fold(0.0, |m, x| larger(m, *x)) } else { self.0[k].iter().sum() }
        })
    }
}

/// The larger; unlike `f64::max` it does not hide a NaN.
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if b <= a { a } else { b }
}

/// What a pass does.
pub(super) trait Work: Sync {
    /// Which of the sums are maxima.
    const MOST: [bool; SUMS];

    /// Works on points `i .. i + L`, which have (TWO) or have not a second body, and adds to `seen` from `slot` on.
    ///
    /// # Safety
    /// The indices are in range, and no other thread writes what this call touches.
    unsafe fn group<V: Vector, const TWO: bool, const SPHERES: bool>(
        &self,
        i: usize,
        slot: usize,
        seen: &mut Seen,
    );
}

#[inline(always)]
unsafe fn part<V: Vector, W: Work, const TWO: bool, const SPHERES: bool>(
    work: &W,
    start: usize,
    end: usize,
    seen: &mut Seen,
) {
    let mut i = start;
    unsafe {
        while i + V::L <= end {
            work.group::<V, TWO, SPHERES>(i, (i - start) % 8, seen);
            i += V::L;
        }
        while i < end {
            work.group::<f64, TWO, SPHERES>(i, (i - start) % 8, seen);
            i += 1;
        }
    }
}

/// One chunk on scalars, for tests: points `start..two_end` with two bodies and `two_end..end` with one.
#[cfg(test)]
pub(super) unsafe fn scalar<W: Work>(work: &W, spheres: bool, range: [usize; 3]) -> [f64; SUMS] {
    unsafe { Chunk { work, spheres, range }.run::<f64>() }.close(W::MOST)
}

/// A chunk: points `start..two_end` with two bodies and `two_end..end` with one.
struct Chunk<'a, W> {
    work: &'a W,
    spheres: bool,
    range: [usize; 3],
}

impl<W: Work> Kernel for Chunk<'_, W> {
    type Out = Seen;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> Seen {
        let mut seen = Seen([[0.0; 8]; SUMS]);
        let [start, two_end, end] = self.range;
        unsafe {
            if self.spheres {
                part::<V, W, true, true>(self.work, start, two_end, &mut seen);
                part::<V, W, false, true>(self.work, two_end, end, &mut seen);
            } else {
                part::<V, W, true, false>(self.work, start, two_end, &mut seen);
                part::<V, W, false, false>(self.work, two_end, end, &mut seen);
            }
        }
        seen
    }
}

/// Does `work` on all points; `parts` is scratch for the sums of pieces.
///
/// # Safety
/// The problem was checked (neither colours nor regions share a body, indices in range), and what `work` points to is as
/// long as the problem says and touched by nobody else.
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
            add::<W>(&mut total, widest(Chunk { work, spheres, range }).close(W::MOST));
            start = end;
        }
        total
    };
    colour::walk(&points.spans, &points.regions, false, parts, visit, add::<W>)
}

fn add<W: Work>(total: &mut [f64; SUMS], part: [f64; SUMS]) {
    for k in 0..SUMS {
        total[k] = if W::MOST[k] { larger(total[k], part[k]) } else { total[k] + part[k] };
    }
}

/// Where a few points are: normals, and arms as vectors or as radii along the normal.
#[derive(Clone, Copy)]
pub(super) struct Place<V> {
    pub n: Three<V>,
    arm_a: Three<V>,
    arm_b: Three<V>,
    bias: Three<V>,
    radius_a: V,
    radius_b: V,
}

impl<V: Vector> Place<V> {
    /// Points `i .. i + L`.
    #[inline(always)]
    pub unsafe fn load<const TWO: bool, const SPHERES: bool>(p: &Points, s: &Spheres, i: usize) -> Self {
        unsafe {
            let n: Three<V> = load3(&p.normal, i);
            let mut place =
                Self { n, arm_a: n, arm_b: n, bias: load_bias(p, n, i), radius_a: n[0], radius_b: n[0] };
            if SPHERES {
                place.radius_a = V::load(s.numbers[0].as_ptr().add(i));
                if TWO {
                    place.radius_b = V::load(s.numbers[1].as_ptr().add(i));
                }
            } else {
                place.arm_a = load3(&p.arm_a, i);
                if TWO {
                    place.arm_b = load3(&p.arm_b, i);
                }
            }
            place
        }
    }

    /// b, the world vector.
    pub fn bias(&self) -> Three<V> {
        self.bias
    }

    /// Dᵀ v: the relative velocity of the bodies whose rows are `rows[a]`, `rows[b]`.
    #[inline(always)]
    pub unsafe fn velocity<const TWO: bool, const SPHERES: bool>(
        &self,
        rows: *const Row,
        ids: [*const u32; 2],
    ) -> Three<V> {
        unsafe {
            let a = V::gather(rows, ids[0]);
            let (mut u, wa) = ([a[0], a[1], a[2]], [a[4], a[5], a[6]]);
            let b = if TWO { V::gather(rows, ids[1]) } else { a };
            let (vb, wb) = ([b[0], b[1], b[2]], [b[4], b[5], b[6]]);
            if SPHERES {
                let mut w = times(self.radius_a, wa);
                if TWO {
                    w = plus(w, times(self.radius_b, wb));
                    u = minus(u, vb);
                }
                minus(u, cross(w, self.n))
            } else {
                u = plus(u, cross(wa, self.arm_a));
                if TWO {
                    u = minus(minus(u, vb), cross(wb, self.arm_b));
                }
                u
            }
        }
    }

    /// Adds D z to the bodies' (force, torque) rows.
    #[inline(always)]
    pub unsafe fn push<const TWO: bool, const SPHERES: bool>(
        &self,
        z: Three<V>,
        rows: *mut Row,
        ids: [*const u32; 2],
    ) {
        unsafe {
            let zero = V::splat(0.0);
            // Spheres: the arm of A is -r_A n, that of B is r_B n, so both torques turn the same way.
            let twist = if SPHERES { cross(z, self.n) } else { z };
            let t = if SPHERES { times(self.radius_a, twist) } else { cross(self.arm_a, z) };
            V::add_to([z[0], z[1], z[2], zero, t[0], t[1], t[2], zero], rows, ids[0]);
            if TWO {
                let t = if SPHERES { times(self.radius_b, twist) } else { cross(z, self.arm_b) };
                let z = minus([zero; 3], z);
                V::add_to([z[0], z[1], z[2], zero, t[0], t[1], t[2], zero], rows, ids[1]);
            }
        }
    }
}
