//! Rows of bodies on the way to where the next sweep starts.

use crate::simd::{F32Lanes, Kernel, Lanes, Row32, Simd};

/// Changes of this size are none.
const TINY: f32 = 1e-30;

/// S + β (y - y_before) in place of S, and of y_before. (Masses are in the rows too, and do not change: their
/// difference is zero.)
pub(super) struct Extrapolate<'a> {
    pub rows: &'a mut [Row32],
    pub last: &'a [Row32],
    pub before: &'a mut [Row32],
    pub beta: f32,
}

impl Kernel for Extrapolate<'_> {
    type Out = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Self { rows, last, before, beta } = self;
        if beta == 0.0 {
            return before.copy_from_slice(rows);
        }
        let (beta, tiny) = (S::F32::splat(beta), S::F32::splat(TINY));
        for ((row, last), before) in rows.iter_mut().zip(last).zip(before) {
            let p = load::<S>(last) - load::<S>(before);
            let x = load::<S>(row) + (beta * p).flush(tiny);
            store::<S>(x, row);
            store::<S>(x, before);
        }
    }
}

/// The rows of γ + β (γ - γ_last) in place of those of γ, which take the place of those of γ_last. (Masses
/// are in the rows too, and do not change: their difference is zero.)
pub(super) struct Beyond<'a> {
    pub rows: &'a mut [Row32],
    pub last: &'a mut [Row32],
    pub beta: f32,
}

impl Kernel for Beyond<'_> {
    type Out = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Self { rows, last, beta } = self;
        if beta == 0.0 {
            return last.copy_from_slice(rows);
        }
        let (beta, tiny) = (S::F32::splat(beta), S::F32::splat(TINY));
        for (row, last) in rows.iter_mut().zip(last) {
            let x = load::<S>(row);
            let moved = x - load::<S>(last);
            store::<S>(x + (beta * moved).flush(tiny), row);
            store::<S>(x, last);
        }
    }
}

#[inline(always)]
fn load<S: Simd>(row: &Row32) -> S::F32 {
    S::F32::load(std::slice::from_ref(row), |row| row)
}

#[inline(always)]
fn store<S: Simd>(x: S::F32, row: &mut Row32) {
    x.store(std::slice::from_mut(row), |row| row);
}
