//! Eight lanes in one register of AVX2, with fused multiply-adds.

use std::arch::x86_64::*;

use super::{Eight, Octet, Row};

// Macros, not closures: a closure would not be compiled for AVX2 and could not be inlined.

/// Where point `$k`'s half row is.
macro_rules! place {
    ($rows:ident, $ids:ident, $half:ident, $k:expr) => {
        $rows.byte_add((*$ids).0[$k] as usize).cast::<f32>().add(4 * $half)
    };
}

/// Four numbers of two points, one in each half of a register.
macro_rules! pair {
    ($rows:ident, $ids:ident, $half:ident, $k:expr) => {
        _mm256_insertf128_ps::<1>(
            _mm256_castps128_ps256(_mm_load_ps(place!($rows, $ids, $half, $k))),
            _mm_load_ps(place!($rows, $ids, $half, $k + 4)),
        )
    };
}

/// 4x4 in both halves of the registers at once; its own inverse.
#[inline(always)]
unsafe fn transpose(r: [__m256; 4]) -> [__m256; 4] {
    unsafe {
        let (a, b) = (_mm256_unpacklo_ps(r[0], r[1]), _mm256_unpackhi_ps(r[0], r[1]));
        let (c, d) = (_mm256_unpacklo_ps(r[2], r[3]), _mm256_unpackhi_ps(r[2], r[3]));
        [
            _mm256_shuffle_ps::<0x44>(a, c),
            _mm256_shuffle_ps::<0xEE>(a, c),
            _mm256_shuffle_ps::<0x44>(b, d),
            _mm256_shuffle_ps::<0xEE>(b, d),
        ]
    }
}

/// The rows of four points from `$k` on.
macro_rules! rows_of_four {
    ($rows:ident, $ids:ident, $k:ident) => {{
        let half = 0;
        [
            _mm256_load_ps(place!($rows, $ids, half, $k)),
            _mm256_load_ps(place!($rows, $ids, half, $k + 1)),
            _mm256_load_ps(place!($rows, $ids, half, $k + 2)),
            _mm256_load_ps(place!($rows, $ids, half, $k + 3)),
        ]
    }};
}

/// The same, turned: four numbers of their first halves in the first half of each register, and of their second halves in its
/// second.
macro_rules! four {
    ($rows:ident, $ids:ident, $k:ident) => {
        transpose(rows_of_four!($rows, $ids, $k))
    };
}

/// See [`Eight::relative`]: differences of four points in the first halves, sums in the second.
#[inline(always)]
unsafe fn relative_of_four<const TWO: bool, const MOMENTA: bool>(
    rows: *const Row,
    [a, b]: [*const Octet<u32>; 2],
    k: usize,
) -> [__m256; 3] {
    unsafe {
        // x - y is x + (-1) y, to the bit.
        let sign = _mm256_set_ps(1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0);
        if TWO && !MOMENTA {
            // Rows that need no masses are taken from each other before they are turned: once, not twice.
            let (x, y) = (rows_of_four!(rows, a, k), rows_of_four!(rows, b, k));
            let r = transpose([
                _mm256_fmadd_ps(sign, y[0], x[0]),
                _mm256_fmadd_ps(sign, y[1], x[1]),
                _mm256_fmadd_ps(sign, y[2], x[2]),
                _mm256_fmadd_ps(sign, y[3], x[3]),
            ]);
            return [r[0], r[1], r[2]];
        }
        let x = four!(rows, a, k);
        if !MOMENTA {
            return [x[0], x[1], x[2]];
        }
        let mut r = [_mm256_mul_ps(x[3], x[0]), _mm256_mul_ps(x[3], x[1]), _mm256_mul_ps(x[3], x[2])];
        if TWO {
            let y = four!(rows, b, k);
            let by = _mm256_xor_ps(y[3], _mm256_set_ps(0.0, 0.0, 0.0, 0.0, -0.0, -0.0, -0.0, -0.0));
            r = [
                _mm256_fmadd_ps(by, y[0], r[0]),
                _mm256_fmadd_ps(by, y[1], r[1]),
                _mm256_fmadd_ps(by, y[2], r[2]),
            ];
        }
        r
    }
}

/// Adds rows of four points from the `k`-th on, turned as above, to those of `a`, and to those of `b` with the other sign for the
/// first half.
#[inline(always)]
unsafe fn add_to_four<const TWO: bool>(
    x: [__m256; 3],
    rows: *mut Row,
    [a, b]: [*const Octet<u32>; 2],
    k: usize,
) {
    unsafe {
        let half = 0;
        let r = transpose([x[0], x[1], x[2], _mm256_setzero_ps()]);
        let sign = _mm256_set_ps(1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0);
        let mut j = 0;
        while j < 4 {
            let to = place!(rows, a, half, k + j);
            _mm256_store_ps(to, _mm256_add_ps(_mm256_load_ps(to), r[j]));
            if TWO {
                let to = place!(rows, b, half, k + j);
                _mm256_store_ps(to, _mm256_fmadd_ps(r[j], sign, _mm256_load_ps(to)));
            }
            j += 1;
        }
    }
}

/// First halves of both, one after the other.
#[inline(always)]
unsafe fn firsts(x: [__m256; 3], y: [__m256; 3]) -> [__m256; 3] {
    unsafe {
        [
            _mm256_permute2f128_ps::<0x20>(x[0], y[0]),
            _mm256_permute2f128_ps::<0x20>(x[1], y[1]),
            _mm256_permute2f128_ps::<0x20>(x[2], y[2]),
        ]
    }
}

#[inline(always)]
unsafe fn seconds(x: [__m256; 3], y: [__m256; 3]) -> [__m256; 3] {
    unsafe {
        [
            _mm256_permute2f128_ps::<0x31>(x[0], y[0]),
            _mm256_permute2f128_ps::<0x31>(x[1], y[1]),
            _mm256_permute2f128_ps::<0x31>(x[2], y[2]),
        ]
    }
}

impl Eight for __m256 {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        unsafe { _mm256_set1_ps(x) }
    }
    #[inline(always)]
    unsafe fn load(from: *const Octet, _: usize) -> Self {
        unsafe { _mm256_load_ps(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut Octet, _: usize) {
        unsafe { _mm256_store_ps(to.cast(), self) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { _mm256_add_ps(self, other) }
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        unsafe { _mm256_sub_ps(self, other) }
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        unsafe { _mm256_mul_ps(self, other) }
    }
    #[inline(always)]
    unsafe fn plus(self, x: Self, y: Self) -> Self {
        unsafe { _mm256_fmadd_ps(x, y, self) }
    }
    #[inline(always)]
    unsafe fn less(self, x: Self, y: Self) -> Self {
        unsafe { _mm256_fnmadd_ps(x, y, self) }
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        unsafe { _mm256_div_ps(self, other) }
    }
    #[inline(always)]
    unsafe fn sqrt(self) -> Self {
        unsafe { _mm256_sqrt_ps(self) }
    }
    #[inline(always)]
    unsafe fn select_le(self, other: Self, yes: Self, no: Self) -> Self {
        // Not a blend, which takes a detour where there are mask registers: there this is one instruction.
        unsafe {
            let mask = _mm256_cmp_ps::<_CMP_LE_OQ>(self, other);
            _mm256_or_ps(_mm256_and_ps(mask, yes), _mm256_andnot_ps(mask, no))
        }
    }
    #[inline(always)]
    unsafe fn flush(self, tiny: Self) -> Self {
        unsafe {
            let size = _mm256_andnot_ps(_mm256_set1_ps(-0.0), self);
            // Not ≤, so that a NaN stays one.
            _mm256_and_ps(self, _mm256_cmp_ps::<_CMP_NLE_UQ>(size, tiny))
        }
    }
    #[inline(always)]
    unsafe fn gather(rows: *const Row, places: *const Octet<u32>, _: usize, half: usize) -> [Self; 4] {
        unsafe {
            transpose([
                pair!(rows, places, half, 0),
                pair!(rows, places, half, 1),
                pair!(rows, places, half, 2),
                pair!(rows, places, half, 3),
            ])
        }
    }
    #[inline(always)]
    unsafe fn relative<const TWO: bool, const MOMENTA: bool>(
        rows: *const Row,
        places: [*const Octet<u32>; 2],
        _: usize,
    ) -> [[Self; 3]; 2] {
        unsafe {
            let x = relative_of_four::<TWO, MOMENTA>(rows, places, 0);
            let y = relative_of_four::<TWO, MOMENTA>(rows, places, 4);
            [firsts(x, y), seconds(x, y)]
        }
    }
    #[inline(always)]
    unsafe fn exchange<const TWO: bool>(
        f: [Self; 3],
        rows: *mut Row,
        [a, b]: [*const Octet<u32>; 2],
        _: usize,
    ) {
        unsafe {
            let half = 0;
            let r = transpose([f[0], f[1], f[2], _mm256_setzero_ps()]);
            let mut k = 0;
            while k < 4 {
                let parts = [_mm256_castps256_ps128(r[k]), _mm256_extractf128_ps::<1>(r[k])];
                let mut side = 0;
                while side < 2 {
                    let to = place!(rows, a, half, k + 4 * side);
                    _mm_store_ps(to, _mm_add_ps(_mm_load_ps(to), parts[side]));
                    if TWO {
                        let to = place!(rows, b, half, k + 4 * side);
                        _mm_store_ps(to, _mm_sub_ps(_mm_load_ps(to), parts[side]));
                    }
                    side += 1;
                }
                k += 1;
            }
        }
    }
    #[inline(always)]
    unsafe fn exchange_both<const TWO: bool>(
        f: [Self; 3],
        t: [Self; 3],
        rows: *mut Row,
        places: [*const Octet<u32>; 2],
        _: usize,
    ) {
        unsafe {
            add_to_four::<TWO>(firsts(f, t), rows, places, 0);
            add_to_four::<TWO>(seconds(f, t), rows, places, 4);
        }
    }
}
