//! A few lanes of f64: one (any machine), four (AVX2), eight (AVX-512).
//!
//! Every method is forced inline into a function compiled for the instructions it uses, as the sweep's `dispatch` does;
//! calling one on a machine without them is undefined. Each lane does exactly what scalar code would do, without fused
//! multiply-adds, so all widths give the same multipliers and velocities, bit for bit. (Sums over lanes, which only
//! histories and the Jacobi safeguard see, may round differently.)

use super::kernel::Row;

/// `L` numbers that are worked on at once.
pub(in crate::solver) trait Vector: Copy {
    /// Number of lanes.
    const L: usize;
    /// For what is left over: half as many lanes, or one.
    type Half: Vector;

    unsafe fn splat(x: f64) -> Self;
    unsafe fn load(from: *const f64) -> Self;
    unsafe fn store(self, to: *mut f64);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    /// self × other + sum, rounded once. AVX2 needs FMA beside it.
    unsafe fn mul_add(self, other: Self, sum: Self) -> Self;
    /// sum - self × other, rounded once.
    unsafe fn take_from(self, other: Self, sum: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    unsafe fn sqrt(self) -> Self;
    /// `yes` where `self <= other`, else `no`, lane by lane.
    unsafe fn select_le(self, other: Self, yes: Self, no: Self) -> Self;
    /// The rows of `L` bodies, turned so that each of the eight components is one vector.
    unsafe fn gather(rows: *const Row, ids: *const u32) -> [Self; 8];
    /// Eight numbers from each of `L` places on, turned in the same way.
    unsafe fn turned(from: *const *const f64) -> [Self; 8];
    /// The reverse of `gather`: writes whole rows.
    unsafe fn scatter(self_: [Self; 8], rows: *mut Row, ids: *const u32);
    /// Adds `self_`, turned as in `scatter`, to the rows one after the other: a body may occur more than once.
    unsafe fn add_to(self_: [Self; 8], rows: *mut Row, ids: *const u32);
    /// The inertias of `L` bodies, each of the six components one vector.
    unsafe fn gather_inertias(inertia: *const [f64; 6], ids: *const u32) -> [Self; 6];
}

impl Vector for f64 {
    const L: usize = 1;
    type Half = f64;

    #[inline(always)]
    unsafe fn splat(x: f64) -> Self {
        x
    }
    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        unsafe { *from }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        unsafe { *to = self }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self + other
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        self - other
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        self * other
    }
    #[inline(always)]
    unsafe fn mul_add(self, other: Self, sum: Self) -> Self {
        f64::mul_add(self, other, sum)
    }
    #[inline(always)]
    unsafe fn take_from(self, other: Self, sum: Self) -> Self {
        f64::mul_add(-self, other, sum)
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        self / other
    }
    #[inline(always)]
    unsafe fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
    #[inline(always)]
    unsafe fn select_le(self, other: Self, yes: Self, no: Self) -> Self {
        if self <= other { yes } else { no }
    }
    #[inline(always)]
    unsafe fn gather(rows: *const Row, ids: *const u32) -> [Self; 8] {
        unsafe { (*rows.add(*ids as usize)).0 }
    }
    #[inline(always)]
    unsafe fn turned(from: *const *const f64) -> [Self; 8] {
        unsafe { *(*from).cast::<[f64; 8]>() }
    }
    #[inline(always)]
    unsafe fn scatter(self_: [Self; 8], rows: *mut Row, ids: *const u32) {
        unsafe { (*rows.add(*ids as usize)).0 = self_ }
    }
    #[inline(always)]
    unsafe fn add_to(self_: [Self; 8], rows: *mut Row, ids: *const u32) {
        let row = unsafe { &mut (*rows.add(*ids as usize)).0 };
        for k in 0..8 {
            row[k] += self_[k];
        }
    }
    #[inline(always)]
    unsafe fn gather_inertias(inertia: *const [f64; 6], ids: *const u32) -> [Self; 6] {
        unsafe { *inertia.add(*ids as usize) }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Row, Vector};
    use std::arch::x86_64::*;

    impl Vector for __m256d {
        const L: usize = 4;
        type Half = f64;

        #[inline(always)]
        unsafe fn splat(x: f64) -> Self {
            unsafe { _mm256_set1_pd(x) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f64) -> Self {
            unsafe { _mm256_loadu_pd(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f64) {
            unsafe { _mm256_storeu_pd(to, self) }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            unsafe { _mm256_add_pd(self, other) }
        }
        #[inline(always)]
        unsafe fn sub(self, other: Self) -> Self {
            unsafe { _mm256_sub_pd(self, other) }
        }
        #[inline(always)]
        unsafe fn mul(self, other: Self) -> Self {
            unsafe { _mm256_mul_pd(self, other) }
        }
        #[inline(always)]
        unsafe fn mul_add(self, other: Self, sum: Self) -> Self {
            unsafe { _mm256_fmadd_pd(self, other, sum) }
        }
        #[inline(always)]
        unsafe fn take_from(self, other: Self, sum: Self) -> Self {
            unsafe { _mm256_fnmadd_pd(self, other, sum) }
        }
        #[inline(always)]
        unsafe fn div(self, other: Self) -> Self {
            unsafe { _mm256_div_pd(self, other) }
        }
        #[inline(always)]
        unsafe fn sqrt(self) -> Self {
            unsafe { _mm256_sqrt_pd(self) }
        }
        #[inline(always)]
        unsafe fn select_le(self, other: Self, yes: Self, no: Self) -> Self {
            unsafe { _mm256_blendv_pd(no, yes, _mm256_cmp_pd::<_CMP_LE_OQ>(self, other)) }
        }
        #[inline(always)]
        unsafe fn gather(rows: *const Row, ids: *const u32) -> [Self; 8] {
            unsafe {
                let row = |k: usize| (*rows.add(*ids.add(k) as usize)).0.as_ptr();
                Self::turned([row(0), row(1), row(2), row(3)].as_ptr())
            }
        }
        #[inline(always)]
        unsafe fn turned(from: *const *const f64) -> [Self; 8] {
            unsafe {
                let (a, b, c, d) = (*from, *from.add(1), *from.add(2), *from.add(3));
                let low = transpose4(Self::load(a), Self::load(b), Self::load(c), Self::load(d));
                let high = transpose4(
                    Self::load(a.add(4)),
                    Self::load(b.add(4)),
                    Self::load(c.add(4)),
                    Self::load(d.add(4)),
                );
                [low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]]
            }
        }
        #[inline(always)]
        unsafe fn scatter(v: [Self; 8], rows: *mut Row, ids: *const u32) {
            unsafe {
                let low = transpose4(v[0], v[1], v[2], v[3]);
                let high = transpose4(v[4], v[5], v[6], v[7]);
                for k in 0..4 {
                    let row = (*rows.add(*ids.add(k) as usize)).0.as_mut_ptr();
                    low[k].store(row);
                    high[k].store(row.add(4));
                }
            }
        }
        #[inline(always)]
        unsafe fn add_to(v: [Self; 8], rows: *mut Row, ids: *const u32) {
            unsafe {
                let low = transpose4(v[0], v[1], v[2], v[3]);
                let high = transpose4(v[4], v[5], v[6], v[7]);
                for k in 0..4 {
                    let row = (*rows.add(*ids.add(k) as usize)).0.as_mut_ptr();
                    Self::load(row).add(low[k]).store(row);
                    Self::load(row.add(4)).add(high[k]).store(row.add(4));
                }
            }
        }
        #[inline(always)]
        unsafe fn gather_inertias(inertia: *const [f64; 6], ids: *const u32) -> [Self; 6] {
            unsafe {
                let at = |k: usize| inertia.add(*ids.add(k) as usize).cast::<f64>();
                let (a, b, c, d) = (at(0), at(1), at(2), at(3));
                let low = transpose4(Self::load(a), Self::load(b), Self::load(c), Self::load(d));
                // Numbers 2 to 5: the row ends there.
                let (a, b, c, d) = (a.add(2), b.add(2), c.add(2), d.add(2));
                let high = transpose4(Self::load(a), Self::load(b), Self::load(c), Self::load(d));
                [low[0], low[1], low[2], low[3], high[2], high[3]]
            }
        }
    }

    #[inline(always)]
    unsafe fn transpose4(a: __m256d, b: __m256d, c: __m256d, d: __m256d) -> [__m256d; 4] {
        unsafe {
            let (ab0, ab1) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
            let (cd0, cd1) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
            [
                _mm256_permute2f128_pd::<0x20>(ab0, cd0),
                _mm256_permute2f128_pd::<0x20>(ab1, cd1),
                _mm256_permute2f128_pd::<0x31>(ab0, cd0),
                _mm256_permute2f128_pd::<0x31>(ab1, cd1),
            ]
        }
    }

    impl Vector for __m512d {
        const L: usize = 8;
        type Half = __m256d;

        #[inline(always)]
        unsafe fn splat(x: f64) -> Self {
            unsafe { _mm512_set1_pd(x) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f64) -> Self {
            unsafe { _mm512_loadu_pd(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f64) {
            unsafe { _mm512_storeu_pd(to, self) }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            unsafe { _mm512_add_pd(self, other) }
        }
        #[inline(always)]
        unsafe fn sub(self, other: Self) -> Self {
            unsafe { _mm512_sub_pd(self, other) }
        }
        #[inline(always)]
        unsafe fn mul(self, other: Self) -> Self {
            unsafe { _mm512_mul_pd(self, other) }
        }
        #[inline(always)]
        unsafe fn mul_add(self, other: Self, sum: Self) -> Self {
            unsafe { _mm512_fmadd_pd(self, other, sum) }
        }
        #[inline(always)]
        unsafe fn take_from(self, other: Self, sum: Self) -> Self {
            unsafe { _mm512_fnmadd_pd(self, other, sum) }
        }
        #[inline(always)]
        unsafe fn div(self, other: Self) -> Self {
            unsafe { _mm512_div_pd(self, other) }
        }
        #[inline(always)]
        unsafe fn sqrt(self) -> Self {
            unsafe { _mm512_sqrt_pd(self) }
        }
        #[inline(always)]
        unsafe fn select_le(self, other: Self, yes: Self, no: Self) -> Self {
            unsafe { _mm512_mask_blend_pd(_mm512_cmp_pd_mask::<_CMP_LE_OQ>(self, other), no, yes) }
        }
        #[inline(always)]
        unsafe fn gather(rows: *const Row, ids: *const u32) -> [Self; 8] {
            unsafe {
                let row = |k: usize| Self::load((*rows.add(*ids.add(k) as usize)).0.as_ptr());
                transpose8([row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)])
            }
        }
        #[inline(always)]
        unsafe fn turned(from: *const *const f64) -> [Self; 8] {
            unsafe {
                let row = |k: usize| Self::load(*from.add(k));
                transpose8([row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)])
            }
        }
        #[inline(always)]
        unsafe fn scatter(v: [Self; 8], rows: *mut Row, ids: *const u32) {
            unsafe {
                let turned = transpose8(v);
                for k in 0..8 {
                    turned[k].store((*rows.add(*ids.add(k) as usize)).0.as_mut_ptr());
                }
            }
        }
        #[inline(always)]
        unsafe fn add_to(v: [Self; 8], rows: *mut Row, ids: *const u32) {
            unsafe {
                let turned = transpose8(v);
                for k in 0..8 {
                    let row = (*rows.add(*ids.add(k) as usize)).0.as_mut_ptr();
                    Self::load(row).add(turned[k]).store(row);
                }
            }
        }
        #[inline(always)]
        unsafe fn gather_inertias(inertia: *const [f64; 6], ids: *const u32) -> [Self; 6] {
            // Two numbers of eight are the next body's, or nobody's.
            macro_rules! row {
                ($k:literal) => {
                    _mm512_maskz_loadu_pd(0x3f, inertia.add(*ids.add($k) as usize).cast())
                };
            }
            unsafe {
                let rows = [row!(0), row!(1), row!(2), row!(3), row!(4), row!(5), row!(6), row!(7)];
                let [xx, yy, zz, xy, xz, yz, ..] = transpose8(rows);
                [xx, yy, zz, xy, xz, yz]
            }
        }
    }

    /// Eight rows to eight columns: pairs of rows, then pairs of pairs, then halves.
    #[inline(always)]
    unsafe fn transpose8(r: [__m512d; 8]) -> [__m512d; 8] {
        // Of two vectors seen as four 128-bit parts each: parts 0 and 2, or 1 and 3, of both.
        const EVEN: i32 = 0x88;
        const ODD: i32 = 0xDD;
        // Macros, not closures: a closure would not be compiled for AVX-512 and could not be inlined.
        macro_rules! parts {
            ($which:ident, $a:expr, $b:expr) => {
                _mm512_shuffle_f64x2::<$which>($a, $b)
            };
        }
        macro_rules! quads {
            ($pair:ident) => {{
                let (p, q) = ($pair(r[0], r[1]), $pair(r[2], r[3]));
                let (s, t) = ($pair(r[4], r[5]), $pair(r[6], r[7]));
                let (a, b) = (parts!(EVEN, p, q), parts!(EVEN, s, t));
                let (c, d) = (parts!(ODD, p, q), parts!(ODD, s, t));
                (parts!(EVEN, a, b), parts!(EVEN, c, d), parts!(ODD, a, b), parts!(ODD, c, d))
            }};
        }
        unsafe {
            let (c0, c2, c4, c6) = quads!(_mm512_unpacklo_pd);
            let (c1, c3, c5, c7) = quads!(_mm512_unpackhi_pd);
            [c0, c1, c2, c3, c4, c5, c6, c7]
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn rows() -> Vec<Row> {
            (0..20).map(|i| Row(std::array::from_fn(|c| (100 * i + c) as f64))).collect()
        }

        /// Gathers, checks every component, changes them, scatters, checks every row.
        #[inline(always)]
        unsafe fn round_trip<V: Vector>() {
            let ids: [u32; 8] = [3, 19, 0, 7, 8, 1, 12, 5];
            let mut rows = rows();
            unsafe {
                let mut v = V::gather(rows.as_ptr(), ids.as_ptr());
                let mut lanes = [0.0; 8];
                for c in 0..8 {
                    v[c].store(lanes.as_mut_ptr());
                    for k in 0..V::L {
                        assert_eq!(lanes[k], (100 * ids[k] as usize + c) as f64);
                    }
                    v[c] = v[c].add(V::splat(0.5));
                }
                V::scatter(v, rows.as_mut_ptr(), ids.as_ptr());
            }
            for (i, row) in rows.iter().enumerate() {
                let changed = ids[..V::L].contains(&(i as u32));
                for c in 0..8 {
                    assert_eq!(row.0[c], (100 * i + c) as f64 + if changed { 0.5 } else { 0.0 });
                }
            }
        }

        /// Gathers inertias, those of the last body too.
        #[inline(always)]
        unsafe fn inertias<V: Vector>() {
            let ids: [u32; 8] = [3, 9, 0, 7, 8, 1, 2, 5];
            let all: Vec<[f64; 6]> = (0..10).map(|i| std::array::from_fn(|c| (10 * i + c) as f64)).collect();
            let mut lanes = [0.0; 8];
            unsafe {
                for (c, v) in V::gather_inertias(all.as_ptr(), ids.as_ptr()).into_iter().enumerate() {
                    v.store(lanes.as_mut_ptr());
                    for k in 0..V::L {
                        assert_eq!(lanes[k], (10 * ids[k] as usize + c) as f64);
                    }
                }
            }
        }

        /// Adds to rows of which one occurs twice.
        #[inline(always)]
        unsafe fn adds_up<V: Vector>() {
            let ids: [u32; 8] = [3, 19, 0, 3, 8, 1, 3, 5];
            let mut rows = rows();
            unsafe {
                let v = V::gather(rows.as_ptr(), [2; 8].as_ptr());
                V::add_to(v, rows.as_mut_ptr(), ids.as_ptr());
            }
            for (i, row) in rows.iter().enumerate() {
                let times = ids[..V::L].iter().filter(|id| **id as usize == i).count() as f64;
                for c in 0..8 {
                    assert_eq!(row.0[c], (100 * i + c) as f64 + times * (200 + c) as f64);
                }
            }
        }

        #[target_feature(enable = "avx2")]
        unsafe fn four() {
            unsafe {
                round_trip::<__m256d>();
                adds_up::<__m256d>();
                inertias::<__m256d>();
            }
        }

        #[target_feature(enable = "avx512f")]
        unsafe fn eight() {
            unsafe {
                round_trip::<__m512d>();
                adds_up::<__m512d>();
                inertias::<__m512d>();
            }
        }

        #[test]
        fn gather_scatter_and_add_agree_with_scalar_code() {
            // SAFETY: each only where the machine has the instructions.
            unsafe {
                round_trip::<f64>();
                adds_up::<f64>();
                inertias::<f64>();
                if is_x86_feature_detected!("avx2") {
                    four();
                }
                if is_x86_feature_detected!("avx512f") {
                    eight();
                }
            }
        }
    }
}
