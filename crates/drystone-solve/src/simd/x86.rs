//! Registers of x86: four or eight f64, and eight f32.
//!
//! Values of these types exist only where the machine has their instructions: see the module above. So
//! functions of them may be called anywhere ([`registers`]); `unsafe` is left to what goes through pointers.

use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Sub};

use super::f32x8::{Ends, F32Lanes, OwnContacts, Packed, Places};
use super::vec3::Vec3;
use super::{F64Lanes, Kernel, Lanes, Simd};

struct Avx512;

impl Simd for Avx512 {
    type F64 = F64x8;
    // Twice as many registers as AVX2; sixteen lanes at a time gained nothing.
    type F32 = F32x8;
}

struct Avx2;

impl Simd for Avx2 {
    type F64 = F64x4;
    type F32 = F32x8;
}

#[target_feature(enable = "avx512f,avx512vl,fma")]
pub(super) fn avx512<K: Kernel>(kernel: K) -> K::Out {
    kernel.run::<Avx512>()
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn avx2<K: Kernel>(kernel: K) -> K::Out {
    kernel.run::<Avx2>()
}

/// Functions of registers, which are compiled for machines that have them.
macro_rules! registers {
    ($features:literal: $(
        $(#[$doc:meta])*
        fn $name:ident($($argument:ident: $type:ty),*) -> $out:ty $body:block
    )*) => {$(
        $(#[$doc])*
        #[inline(always)]
        fn $name($($argument: $type),*) -> $out {
            #[target_feature(enable = $features)]
            #[inline]
            fn on_registers($($argument: $type),*) -> $out $body
            // SAFETY: these types are private, and kernels get them only where the machine has their
            // instructions.
            unsafe { on_registers($($argument),*) }
        }
    )*};
}

/// A register and its arithmetic, each operation one instruction (or two, where a product is rounded before
/// it is added).
macro_rules! register {
    (
        $(#[$doc:meta])* $name:ident($register:ty) of $features:literal,
        $count:literal of $number:ty, negligible $negligible:literal,
        $splat:ident $add:ident $sub:ident $mul:ident $div:ident $sqrt:ident $fmadd:ident $fnmadd:ident,
        products $add_product:ident $sub_product:ident,
        select |$a:ident, $b:ident, $yes:ident, $no:ident| $select:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub(super) struct $name($register);

        register!(operator $features $name Add add $add);
        register!(operator $features $name Sub sub $sub);
        register!(operator $features $name Mul mul $mul);
        register!(operator $features $name Div div $div);

        impl $name {
            registers! { $features:
                fn same(x: $number) -> $name {
                    $name($splat(x))
                }
                fn root(x: $name) -> $name {
                    $name($sqrt(x.0))
                }
                /// x y + sum, rounded once.
                fn fused(x: $name, y: $name, sum: $name) -> $name {
                    $name($fmadd(x.0, y.0, sum.0))
                }
                /// sum - x y, rounded once.
                fn fused_minus(x: $name, y: $name, sum: $name) -> $name {
                    $name($fnmadd(x.0, y.0, sum.0))
                }
                /// `yes` where a ≤ b, else `no`.
                fn select(a: $name, b: $name, yes: $name, no: $name) -> $name {
                    let ($a, $b, $yes, $no) = (a.0, b.0, yes.0, no.0);
                    $name($select)
                }
            }
        }

        impl Lanes for $name {
            type Number = $number;
            const COUNT: usize = $count;
            const NEGLIGIBLE: $number = $negligible;

            #[inline(always)]
            fn splat(x: $number) -> Self {
                Self::same(x)
            }
            #[inline(always)]
            fn add_product(self, x: Self, y: Self) -> Self {
                $add_product(self, x, y)
            }
            #[inline(always)]
            fn sub_product(self, x: Self, y: Self) -> Self {
                $sub_product(self, x, y)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                Self::root(self)
            }
            #[inline(always)]
            fn select_le(self, other: Self, yes: Self, no: Self) -> Self {
                Self::select(self, other, yes, no)
            }
        }
    };
    (operator $features:literal $name:ident $trait:ident $method:ident $intrinsic:ident) => {
        impl $trait for $name {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                registers! { $features:
                    fn apply(a: $name, b: $name) -> $name {
                        $name($intrinsic(a.0, b.0))
                    }
                }
                apply(self, other)
            }
        }
    };
}

/// sum + x y, rounded twice.
#[inline(always)]
fn plain<V: F64Lanes>(sum: V, x: V, y: V) -> V {
    sum + x * y
}

/// sum - x y, rounded twice.
#[inline(always)]
fn plain_minus<V: F64Lanes>(sum: V, x: V, y: V) -> V {
    sum - x * y
}

/// sum + x y, rounded once.
#[inline(always)]
fn once(sum: F32x8, x: F32x8, y: F32x8) -> F32x8 {
    F32x8::fused(x, y, sum)
}

/// sum - x y, rounded once.
#[inline(always)]
fn once_minus(sum: F32x8, x: F32x8, y: F32x8) -> F32x8 {
    F32x8::fused_minus(x, y, sum)
}

register! {
    /// Four f64 of AVX2.
    F64x4(__m256d) of "avx2,fma", 4 of f64, negligible 1e-290,
    _mm256_set1_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_div_pd _mm256_sqrt_pd
    _mm256_fmadd_pd _mm256_fnmadd_pd,
    products plain plain_minus,
    select |a, b, yes, no| _mm256_blendv_pd(no, yes, _mm256_cmp_pd::<_CMP_LE_OQ>(a, b))
}

register! {
    /// Eight f64 of AVX-512.
    F64x8(__m512d) of "avx512f,avx512vl,fma", 8 of f64, negligible 1e-290,
    _mm512_set1_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_div_pd _mm512_sqrt_pd
    _mm512_fmadd_pd _mm512_fnmadd_pd,
    products plain plain_minus,
    select |a, b, yes, no| _mm512_mask_blend_pd(_mm512_cmp_pd_mask::<_CMP_LE_OQ>(a, b), no, yes)
}

register! {
    /// Eight f32 of AVX2.
    F32x8(__m256) of "avx2,fma", 8 of f32, negligible 1e-30,
    _mm256_set1_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_div_ps _mm256_sqrt_ps
    _mm256_fmadd_ps _mm256_fnmadd_ps,
    products once once_minus,
    // Not a blend, which takes a detour where there are mask registers: there this is one instruction.
    select |a, b, yes, no| {
        let mask = _mm256_cmp_ps::<_CMP_LE_OQ>(a, b);
        _mm256_or_ps(_mm256_and_ps(mask, yes), _mm256_andnot_ps(mask, no))
    }
}

/// Fused multiply-adds of f64.
macro_rules! fused {
    () => {
        #[inline(always)]
        fn mul_add(self, other: Self, sum: Self) -> Self {
            Self::fused(self, other, sum)
        }
        #[inline(always)]
        fn neg_mul_add(self, other: Self, sum: Self) -> Self {
            Self::fused_minus(self, other, sum)
        }
    };
}

impl F64Lanes for F64x4 {
    type Half = f64;
    type Line = [Self; 2];

    fused!();

    #[inline(always)]
    fn columns(r: [&[f64; 8]; 8]) -> [Self; 8] {
        let low = [Self::load(r[0], 0), Self::load(r[1], 0), Self::load(r[2], 0), Self::load(r[3], 0)];
        let high = [Self::load(r[0], 4), Self::load(r[1], 4), Self::load(r[2], 4), Self::load(r[3], 4)];
        let ([a, b, c, d], [e, f, g, h]) = (transpose4(low), transpose4(high));
        [a, b, c, d, e, f, g, h]
    }
    #[inline(always)]
    fn columns_of_six(r: [&[f64; 6]; 8]) -> [Self; 6] {
        let low = [Self::load(r[0], 0), Self::load(r[1], 0), Self::load(r[2], 0), Self::load(r[3], 0)];
        // Numbers 2 to 5: the row ends there.
        let high = [Self::load(r[0], 2), Self::load(r[1], 2), Self::load(r[2], 2), Self::load(r[3], 2)];
        let ([a, b, c, d], [_, _, e, f]) = (transpose4(low), transpose4(high));
        [a, b, c, d, e, f]
    }
    #[inline(always)]
    fn lines([a, b, c, d, e, f, g, h]: [Self; 8]) -> [[Self; 2]; 8] {
        let (low, high) = (transpose4([a, b, c, d]), transpose4([e, f, g, h]));
        let [p, q, r, s] = [[low[0], high[0]], [low[1], high[1]], [low[2], high[2]], [low[3], high[3]]];
        [p, q, r, s, p, q, r, s]
    }
}

registers! { "avx2,fma":
    /// Four rows to four columns.
    fn transpose4(rows: [F64x4; 4]) -> [F64x4; 4] {
        let [F64x4(a), F64x4(b), F64x4(c), F64x4(d)] = rows;
        let (ab0, ab1) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
        let (cd0, cd1) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
        [
            F64x4(_mm256_permute2f128_pd::<0x20>(ab0, cd0)),
            F64x4(_mm256_permute2f128_pd::<0x20>(ab1, cd1)),
            F64x4(_mm256_permute2f128_pd::<0x31>(ab0, cd0)),
            F64x4(_mm256_permute2f128_pd::<0x31>(ab1, cd1)),
        ]
    }

    /// Four rows to four columns in both halves of the registers at once; its own inverse.
    fn transpose(r: [__m256; 4]) -> [__m256; 4] {
        let (a, b) = (_mm256_unpacklo_ps(r[0], r[1]), _mm256_unpackhi_ps(r[0], r[1]));
        let (c, d) = (_mm256_unpacklo_ps(r[2], r[3]), _mm256_unpackhi_ps(r[2], r[3]));
        [
            _mm256_shuffle_ps::<0x44>(a, c),
            _mm256_shuffle_ps::<0xEE>(a, c),
            _mm256_shuffle_ps::<0x44>(b, d),
            _mm256_shuffle_ps::<0xEE>(b, d),
        ]
    }

    /// The first halves of both, one after the other, and the second halves.
    fn halves(x: [__m256; 3], y: [__m256; 3]) -> [[__m256; 3]; 2] {
        [
            [
                _mm256_permute2f128_ps::<0x20>(x[0], y[0]),
                _mm256_permute2f128_ps::<0x20>(x[1], y[1]),
                _mm256_permute2f128_ps::<0x20>(x[2], y[2]),
            ],
            [
                _mm256_permute2f128_ps::<0x31>(x[0], y[0]),
                _mm256_permute2f128_ps::<0x31>(x[1], y[1]),
                _mm256_permute2f128_ps::<0x31>(x[2], y[2]),
            ],
        ]
    }

    /// Zero where |x| ≤ `tiny`.
    fn flush(x: __m256, tiny: __m256) -> __m256 {
        // Not ≤, so that a NaN stays one.
        let size = _mm256_andnot_ps(_mm256_set1_ps(-0.0), x);
        _mm256_and_ps(x, _mm256_cmp_ps::<_CMP_NLE_UQ>(size, tiny))
    }
}

impl F64Lanes for F64x8 {
    type Half = F64x4;
    type Line = [Self; 1];

    fused!();

    #[inline(always)]
    fn columns(r: [&[f64; 8]; 8]) -> [Self; 8] {
        transpose8([
            Self::load(r[0], 0),
            Self::load(r[1], 0),
            Self::load(r[2], 0),
            Self::load(r[3], 0),
            Self::load(r[4], 0),
            Self::load(r[5], 0),
            Self::load(r[6], 0),
            Self::load(r[7], 0),
        ])
    }
    #[inline(always)]
    fn columns_of_six(rows: [&[f64; 6]; 8]) -> [Self; 6] {
        macro_rules! six {
            // SAFETY: six numbers are read of a row of six.
            ($k:literal) => {
                Self(unsafe { _mm512_maskz_loadu_pd(0x3f, rows[$k].as_ptr()) })
            };
        }
        let [xx, yy, zz, xy, xz, yz, ..] =
            transpose8([six!(0), six!(1), six!(2), six!(3), six!(4), six!(5), six!(6), six!(7)]);
        [xx, yy, zz, xy, xz, yz]
    }
    #[inline(always)]
    fn lines(columns: [Self; 8]) -> [[Self; 1]; 8] {
        let [a, b, c, d, e, f, g, h] = transpose8(columns);
        [[a], [b], [c], [d], [e], [f], [g], [h]]
    }
}

// Of two vectors seen as four 128-bit parts each: parts 0 and 2, or 1 and 3, of both.
const EVEN: i32 = 0x88;
const ODD: i32 = 0xDD;

registers! { "avx512f,avx512vl,fma":
    /// Eight rows to eight columns: pairs of rows, then pairs of pairs, then halves.
    fn transpose8(r: [F64x8; 8]) -> [F64x8; 8] {
        // Macros, not closures: a closure would not be compiled for AVX-512 and could not be inlined.
        macro_rules! parts {
            ($which:ident, $a:expr, $b:expr) => {
                _mm512_shuffle_f64x2::<$which>($a, $b)
            };
        }
        macro_rules! quads {
            ($pair:ident) => {{
                let (p, q) = ($pair(r[0].0, r[1].0), $pair(r[2].0, r[3].0));
                let (s, t) = ($pair(r[4].0, r[5].0), $pair(r[6].0, r[7].0));
                let (a, b) = (parts!(EVEN, p, q), parts!(EVEN, s, t));
                let (c, d) = (parts!(ODD, p, q), parts!(ODD, s, t));
                [parts!(EVEN, a, b), parts!(EVEN, c, d), parts!(ODD, a, b), parts!(ODD, c, d)]
            }};
        }
        let [c0, c2, c4, c6] = quads!(_mm512_unpacklo_pd);
        let [c1, c3, c5, c7] = quads!(_mm512_unpackhi_pd);
        [F64x8(c0), F64x8(c1), F64x8(c2), F64x8(c3), F64x8(c4), F64x8(c5), F64x8(c6), F64x8(c7)]
    }
}

/// Where the half row of body `$k` is.
macro_rules! place {
    ($places:ident, $half:ident, $k:expr) => {
        $places.row($k).cast::<f32>().wrapping_add(4 * $half)
    };
}

/// Four numbers of two bodies, one in each half of a register.
macro_rules! pair {
    ($places:ident, $half:ident, $k:expr) => {
        _mm256_insertf128_ps::<1>(
            _mm256_castps128_ps256(_mm_load_ps(place!($places, $half, $k))),
            _mm_load_ps(place!($places, $half, $k + 4)),
        )
    };
}

/// The rows of four bodies from `$k` on.
macro_rules! rows_of_four {
    ($places:ident, $k:ident) => {{
        let half = 0;
        [
            _mm256_load_ps(place!($places, half, $k)),
            _mm256_load_ps(place!($places, half, $k + 1)),
            _mm256_load_ps(place!($places, half, $k + 2)),
            _mm256_load_ps(place!($places, half, $k + 3)),
        ]
    }};
}

/// See [`F32Lanes::relative`]: differences of four contacts in the first halves, sums in the second.
#[inline(always)]
fn relative_of_four<const TWO: bool, const MOMENTA: bool>([a, b]: [Places; 2], k: usize) -> [__m256; 3] {
    // SAFETY: the contacts' ends have rows, and nobody else writes them.
    unsafe {
        // x - y is x + (-1) y, to the bit.
        let sign = _mm256_set_ps(1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0);
        if TWO && !MOMENTA {
            // Rows that need no masses are taken from each other before they are turned: once, not twice.
            let (x, y) = (rows_of_four!(a, k), rows_of_four!(b, k));
            let r = transpose([
                _mm256_fmadd_ps(sign, y[0], x[0]),
                _mm256_fmadd_ps(sign, y[1], x[1]),
                _mm256_fmadd_ps(sign, y[2], x[2]),
                _mm256_fmadd_ps(sign, y[3], x[3]),
            ]);
            return [r[0], r[1], r[2]];
        }
        let x = transpose(rows_of_four!(a, k));
        if !MOMENTA {
            return [x[0], x[1], x[2]];
        }
        let mut r = [_mm256_mul_ps(x[3], x[0]), _mm256_mul_ps(x[3], x[1]), _mm256_mul_ps(x[3], x[2])];
        if TWO {
            let y = transpose(rows_of_four!(b, k));
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

/// Adds rows of four contacts from the `k`-th on, turned as above, to those of `a`, and to those of `b` with
/// the other sign for the first half.
#[inline(always)]
fn add_to_four<const TWO: bool>(x: [__m256; 3], [a, b]: [Places; 2], k: usize) {
    // SAFETY: the contacts' ends have rows, and nobody else uses them.
    unsafe {
        let half = 0;
        let r = transpose([x[0], x[1], x[2], _mm256_setzero_ps()]);
        let sign = _mm256_set_ps(1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0);
        let mut j = 0;
        while j < 4 {
            let to = place!(a, half, k + j);
            _mm256_store_ps(to, _mm256_add_ps(_mm256_load_ps(to), r[j]));
            if TWO {
                let to = place!(b, half, k + j);
                _mm256_store_ps(to, _mm256_fmadd_ps(r[j], sign, _mm256_load_ps(to)));
            }
            j += 1;
        }
    }
}

impl F32Lanes for F32x8 {
    const EIGHTS: usize = 1;

    #[inline(always)]
    fn load<T>(items: &[T], field: impl Fn(&T) -> &Packed) -> Self {
        // SAFETY: eight numbers on a boundary of 32 bytes.
        Self(unsafe { _mm256_load_ps(field(&items[0]).0.as_ptr()) })
    }
    #[inline(always)]
    fn store<T>(self, items: &mut [T], field: impl Fn(&mut T) -> &mut Packed) {
        // SAFETY: as above.
        unsafe { _mm256_store_ps(field(&mut items[0]).0.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn flush(self, tiny: Self) -> Self {
        Self(flush(self.0, tiny.0))
    }
    #[inline(always)]
    fn gather<P: Ends>(own: &OwnContacts<P>, g: usize, side: usize, half: usize) -> [Self; 4] {
        let places = own.places(g)[side];
        // SAFETY: the contacts' ends have rows, and nobody else writes them.
        let halves = unsafe {
            [pair!(places, half, 0), pair!(places, half, 1), pair!(places, half, 2), pair!(places, half, 3)]
        };
        let [a, b, c, d] = transpose(halves);
        [Self(a), Self(b), Self(c), Self(d)]
    }
    #[inline(always)]
    fn relative<P: Ends, const TWO: bool, const MOMENTA: bool>(
        own: &OwnContacts<P>,
        g: usize,
    ) -> [Vec3<Self>; 2] {
        let ends = own.places(g);
        let x = relative_of_four::<TWO, MOMENTA>(ends, 0);
        let y = relative_of_four::<TWO, MOMENTA>(ends, 4);
        let [[a, b, c], [d, e, f]] = halves(x, y);
        [[Self(a), Self(b), Self(c)], [Self(d), Self(e), Self(f)]]
    }
    #[inline(always)]
    fn exchange<P: Ends, const TWO: bool>(f: Vec3<Self>, own: &mut OwnContacts<P>, g: usize) {
        let [a, b] = own.places(g);
        // SAFETY: the contacts' ends have rows, and nobody else uses them.
        unsafe {
            let half = 0;
            let r = transpose([f[0].0, f[1].0, f[2].0, _mm256_setzero_ps()]);
            let mut k = 0;
            while k < 4 {
                let parts = [_mm256_castps256_ps128(r[k]), _mm256_extractf128_ps::<1>(r[k])];
                let mut side = 0;
                while side < 2 {
                    let to = place!(a, half, k + 4 * side);
                    _mm_store_ps(to, _mm_add_ps(_mm_load_ps(to), parts[side]));
                    if TWO {
                        let to = place!(b, half, k + 4 * side);
                        _mm_store_ps(to, _mm_sub_ps(_mm_load_ps(to), parts[side]));
                    }
                    side += 1;
                }
                k += 1;
            }
        }
    }
    #[inline(always)]
    fn exchange_both<P: Ends, const TWO: bool>(
        f: Vec3<Self>,
        t: Vec3<Self>,
        own: &mut OwnContacts<P>,
        g: usize,
    ) {
        let ends = own.places(g);
        let (f, t) = ([f[0].0, f[1].0, f[2].0], [t[0].0, t[1].0, t[2].0]);
        let [first, second] = halves(f, t);
        add_to_four::<TWO>(first, ends, 0);
        add_to_four::<TWO>(second, ends, 4);
    }
}
