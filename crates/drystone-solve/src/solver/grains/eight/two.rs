//! Two eights at once.

use super::{Eight, Octet, Row};

/// Two eights, one after the other in every operation: what one waits for the other fills.
#[derive(Clone, Copy)]
pub(in super::super) struct Two<V>(V, V);

impl<V: Eight> Eight for Two<V> {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        unsafe { Self(V::splat(x), V::splat(x)) }
    }
    #[inline(always)]
    unsafe fn load(from: *const Octet, stride: usize) -> Self {
        unsafe { Self(V::load(from, 0), V::load(from.byte_add(stride), 0)) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut Octet, stride: usize) {
        unsafe {
            self.0.store(to, 0);
            self.1.store(to.byte_add(stride), 0);
        }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { Self(self.0.add(other.0), self.1.add(other.1)) }
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        unsafe { Self(self.0.sub(other.0), self.1.sub(other.1)) }
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        unsafe { Self(self.0.mul(other.0), self.1.mul(other.1)) }
    }
    #[inline(always)]
    unsafe fn plus(self, x: Self, y: Self) -> Self {
        unsafe { Self(self.0.plus(x.0, y.0), self.1.plus(x.1, y.1)) }
    }
    #[inline(always)]
    unsafe fn less(self, x: Self, y: Self) -> Self {
        unsafe { Self(self.0.less(x.0, y.0), self.1.less(x.1, y.1)) }
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        unsafe { Self(self.0.div(other.0), self.1.div(other.1)) }
    }
    #[inline(always)]
    unsafe fn sqrt(self) -> Self {
        unsafe { Self(self.0.sqrt(), self.1.sqrt()) }
    }
    #[inline(always)]
    unsafe fn select_le(self, other: Self, yes: Self, no: Self) -> Self {
        unsafe { Self(self.0.select_le(other.0, yes.0, no.0), self.1.select_le(other.1, yes.1, no.1)) }
    }
    #[inline(always)]
    unsafe fn flush(self, tiny: Self) -> Self {
        unsafe { Self(self.0.flush(tiny.0), self.1.flush(tiny.1)) }
    }
    #[inline(always)]
    unsafe fn gather(rows: *const Row, places: *const Octet<u32>, stride: usize, half: usize) -> [Self; 4] {
        unsafe {
            let a = V::gather(rows, places, 0, half);
            let b = V::gather(rows, places.byte_add(stride), 0, half);
            [Self(a[0], b[0]), Self(a[1], b[1]), Self(a[2], b[2]), Self(a[3], b[3])]
        }
    }
    #[inline(always)]
    unsafe fn relative<const TWO: bool, const MOMENTA: bool>(
        rows: *const Row,
        places: [*const Octet<u32>; 2],
        stride: usize,
    ) -> [[Self; 3]; 2] {
        unsafe {
            let [u, s] = V::relative::<TWO, MOMENTA>(rows, places, 0);
            let places = [places[0].byte_add(stride), places[1].byte_add(stride)];
            let [v, t] = V::relative::<TWO, MOMENTA>(rows, places, 0);
            [
                [Self(u[0], v[0]), Self(u[1], v[1]), Self(u[2], v[2])],
                [Self(s[0], t[0]), Self(s[1], t[1]), Self(s[2], t[2])],
            ]
        }
    }
    #[inline(always)]
    unsafe fn exchange<const TWO: bool>(
        f: [Self; 3],
        rows: *mut Row,
        places: [*const Octet<u32>; 2],
        stride: usize,
    ) {
        unsafe {
            V::exchange::<TWO>([f[0].0, f[1].0, f[2].0], rows, places, 0);
            let places = [places[0].byte_add(stride), places[1].byte_add(stride)];
            V::exchange::<TWO>([f[0].1, f[1].1, f[2].1], rows, places, 0);
        }
    }
    #[inline(always)]
    unsafe fn exchange_both<const TWO: bool>(
        f: [Self; 3],
        t: [Self; 3],
        rows: *mut Row,
        places: [*const Octet<u32>; 2],
        stride: usize,
    ) {
        unsafe {
            let (force, turn) = ([f[0].0, f[1].0, f[2].0], [t[0].0, t[1].0, t[2].0]);
            V::exchange_both::<TWO>(force, turn, rows, places, 0);
            let places = [places[0].byte_add(stride), places[1].byte_add(stride)];
            let (force, turn) = ([f[0].1, f[1].1, f[2].1], [t[0].1, t[1].1, t[2].1]);
            V::exchange_both::<TWO>(force, turn, rows, places, 0);
        }
    }
}

impl<V: Eight> Two<V> {
    /// Each number's sum over the two eights.
    #[inline(always)]
    pub unsafe fn sum(self) -> V {
        unsafe { self.0.add(self.1) }
    }

    /// Each number's larger one of the two eights; a NaN stays.
    #[inline(always)]
    pub unsafe fn most(self) -> V {
        unsafe { self.0.select_le(self.1, self.1, self.0) }
    }
}
