//! Rows of bodies on the way to where the next sweep starts.

use super::super::eight::{Eight, Kernel, Octet, Row};

/// S + β (y - y_before) in place of S, and of y_before. (Masses are in the rows too, and do not change: their difference is
/// zero.)
pub(super) struct Extrapolate<'a> {
    pub rows: &'a mut [Row],
    pub last: &'a [Row],
    pub before: &'a mut [Row],
    pub beta: f32,
}

impl Kernel for Extrapolate<'_> {
    type Out = ();

    #[inline(always)]
    unsafe fn run<V: Eight>(self) {
        let Self { rows, last, before, beta } = self;
        if beta == 0.0 {
            return before.copy_from_slice(rows);
        }
        unsafe {
            let (beta, tiny) = (V::splat(beta), V::splat(1e-30));
            for i in 0..rows.len() {
                let (row, y) = ((&raw mut rows[i]).cast::<Octet>(), (&raw mut before[i]).cast::<Octet>());
                let p = V::load((&raw const last[i]).cast(), 0).sub(V::load(y, 0));
                let x = V::load(row, 0).add(beta.mul(p).flush(tiny));
                x.store(row, 0);
                x.store(y, 0);
            }
        }
    }
}

/// The rows of γ + β (γ - γ_last) in place of those of γ, which take the place of those of γ_last. (Masses are in the rows too, and do
/// not change: their difference is zero.)
pub(super) struct Beyond<'a> {
    pub rows: &'a mut [Row],
    pub last: &'a mut [Row],
    pub beta: f32,
}

impl Kernel for Beyond<'_> {
    type Out = ();

    #[inline(always)]
    unsafe fn run<V: Eight>(self) {
        let Self { rows, last, beta } = self;
        if beta == 0.0 {
            return last.copy_from_slice(rows);
        }
        unsafe {
            let (beta, tiny) = (V::splat(beta), V::splat(1e-30));
            for i in 0..rows.len() {
                let (row, to) = ((&raw mut rows[i]).cast::<Octet>(), (&raw mut last[i]).cast::<Octet>());
                let x = V::load(row, 0);
                let moved = x.sub(V::load(to, 0));
                x.add(beta.mul(moved).flush(tiny)).store(row, 0);
                x.store(to, 0);
            }
        }
    }
}
