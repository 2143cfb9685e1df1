//! Lanes of numbers that are worked on at once: one source for scalars, AVX2 and AVX-512, chosen at run time.
//!
//! A [`Kernel`] is code over [`Lanes`]; [`dispatch`] runs it on the widest registers of this machine. The
//! register types are private to this module: other code has one only as a parameter of [`Kernel::run`],
//! which is called where the machine has the instructions. That is why arithmetic on lanes is safe. Functions
//! over lanes are `#[inline(always)]`, so that they are compiled for these instructions too; closures are
//! not, and hold no arithmetic on lanes.
//!
//! # Rounding
//! All widths give the same bits, lane by lane. `x * y + z` is rounded twice, everywhere.
//! [`F64Lanes::mul_add`] and [`F64Lanes::neg_mul_add`] are rounded once, everywhere. [`Lanes::add_product`]
//! and [`Lanes::sub_product`] are the sum of products of each precision: rounded once in f32, twice in f64. A
//! machine without fused multiply-adds calculates them by a library: slower, to the same bits.

mod f32x8;
mod f64;
mod table;
pub(crate) mod vec3;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::ops::{Add, Div, Mul, Sub};

pub(crate) use f32x8::Ends as GroupEnds;
pub(crate) use f32x8::{F32Lanes, OwnContacts, Packed, Pair, Row32, Vectors, load3, store3};
pub(crate) use f64::F64Lanes;
pub(crate) use table::{Ends, OwnRows, Row64, SharedRows, Table};

/// Numbers, one a lane.
pub(crate) trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// f32 or f64.
    type Number: Copy + From<f32>;
    /// Number of lanes.
    const COUNT: usize;
    /// The square of a length of no account, which nothing is divided by.
    const NEGLIGIBLE: Self::Number;

    /// The same number in all lanes.
    fn splat(x: Self::Number) -> Self;
    /// self + x y, rounded once in f32, twice in f64.
    fn add_product(self, x: Self, y: Self) -> Self;
    /// self - x y, rounded once in f32, twice in f64.
    fn sub_product(self, x: Self, y: Self) -> Self;
    /// The square root, rounded correctly.
    fn sqrt(self) -> Self;
    /// `yes` where `self <= other`, else `no`, lane by lane.
    fn select_le(self, other: Self, yes: Self, no: Self) -> Self;

    /// Zeros.
    #[inline(always)]
    fn zero() -> Self {
        Self::splat(0.0.into())
    }

    /// Ones.
    #[inline(always)]
    fn one() -> Self {
        Self::splat(1.0.into())
    }

    /// The larger, lane by lane, of `self` and `x`; a NaN in `x` stays.
    #[inline(always)]
    fn larger(self, x: Self) -> Self {
        x.select_le(self, self, x)
    }

    /// `x` within `low` and `high`.
    #[inline(always)]
    fn clamp(self, low: Self, high: Self) -> Self {
        let x = self.select_le(low, low, self);
        high.select_le(x, high, x)
    }
}

/// The lanes of a machine.
pub(crate) trait Simd {
    /// Of f64: one, four or eight.
    type F64: F64Lanes;
    /// Of f32: always eight.
    type F32: F32Lanes;
}

/// Work that is written for the lanes of any machine. `run` has to be `#[inline(always)]`.
pub(crate) trait Kernel {
    /// What it returns.
    type Out;

    /// Does it.
    fn run<S: Simd>(self) -> Self::Out;
}

/// Lanes of any machine.
struct Portable;

impl Simd for Portable {
    type F64 = f64;
    type F32 = f32x8::Array;
}

/// Runs `kernel` on the widest registers of this machine.
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Out {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: each only where the machine has the instructions.
    unsafe {
        if is_x86_feature_detected!("fma") {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
                return x86::avx512(kernel);
            }
            if is_x86_feature_detected!("avx2") {
                return x86::avx2(kernel);
            }
        }
    }
    kernel.run::<Portable>()
}

/// The kernel on lanes of any machine, and on every kind of register this machine has: for tests, which
/// compare them.
#[cfg(test)]
pub(crate) fn every_width<K: Kernel>(mut kernel: impl FnMut() -> K) -> Vec<K::Out> {
    let mut out = vec![kernel().run::<Portable>()];
    #[cfg(target_arch = "x86_64")]
    // SAFETY: each only where the machine has the instructions.
    unsafe {
        if is_x86_feature_detected!("fma") && is_x86_feature_detected!("avx2") {
            out.push(x86::avx2(kernel()));
        }
        if is_x86_feature_detected!("fma") && is_x86_feature_detected!("avx512vl") {
            out.push(x86::avx512(kernel()));
        }
    }
    out
}
