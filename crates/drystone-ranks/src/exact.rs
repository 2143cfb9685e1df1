//! Sums of doubles without rounding, whose result does not depend on the order of the terms: a long
//! accumulator in integers \[Kulisch1971\].
//!
//! Terms are cut at 2^-320 (each by itself, so that the order still does not matter), and must be below 2^300
//! in size: what is larger, or no number, makes the sum infinite.

use crate::comm::Comm;

/// Digits of 32 bits, the lowest of which counts 2^-320.
const DIGITS: usize = 20;
/// The exponent of the lowest bit.
const LOWEST: i32 = -320;
/// Terms are smaller than 2 to this.
const LARGEST: i32 = 300;

/// Integers that a sum travels as.
pub const WORDS: usize = DIGITS + 1;

/// A sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact {
    /// Digits with their own signs; the last counts terms that are too large, or none.
    words: [i64; WORDS],
}

impl Default for Exact {
    fn default() -> Self {
        Self { words: [0; WORDS] }
    }
}

impl Exact {
    /// Adds a number. Up to 2^31 of them fit.
    #[inline]
    pub fn add(&mut self, x: f64) {
        let bits = x.to_bits();
        let exponent = (bits >> 52) as i32 & 0x7ff;
        let mut mantissa = bits & ((1 << 52) - 1);
        if exponent == 0 {
            // Zero, or far below the lowest bit.
            return;
        }
        mantissa |= 1 << 52;
        // x = ± mantissa 2^(exponent - 1075)
        if exponent - 1022 > LARGEST {
            self.words[DIGITS] += 1;
            return;
        }
        let mut place = exponent - 1075 - LOWEST;
        if place < 0 {
            mantissa = if place > -64 { mantissa >> -place } else { 0 };
            place = 0;
        }
        let (digit, shift) = ((place / 32) as usize, (place % 32) as u32);
        let low = mantissa << shift;
        let high = if shift == 0 { 0 } else { mantissa >> (64 - shift) };
        let parts = [low & 0xffff_ffff, low >> 32, high];
        let to = &mut self.words[digit..digit + 3];
        if bits >> 63 == 0 {
            (0..3).for_each(|k| to[k] += parts[k] as i64);
        } else {
            (0..3).for_each(|k| to[k] -= parts[k] as i64);
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a += b);
    }

    /// As integers, to be added to those of other ranks one by one: digits are brought below 2^32 in size
    /// first.
    pub fn words(&mut self) -> &[i64; WORDS] {
        self.carry();
        &self.words
    }

    /// From integers.
    pub fn from_words(words: &[i64]) -> Self {
        let mut out = Self::default();
        out.words.copy_from_slice(words);
        out
    }

    /// Digits below the highest become 0 to 2^32 - 1.
    fn carry(&mut self) {
        for k in 0..DIGITS - 1 {
            let carry = self.words[k] >> 32;
            self.words[k] -= carry << 32;
            self.words[k + 1] += carry;
        }
    }

    /// The sum, rounded once.
    pub fn value(&self) -> f64 {
        if self.words[DIGITS] != 0 {
            return f64::INFINITY;
        }
        let mut sum = *self;
        sum.carry();
        let negative = sum.words[DIGITS - 1] < 0;
        if negative {
            sum.words[..DIGITS].iter_mut().for_each(|w| *w = -*w);
            sum.carry();
        }
        let Some(top) = (0..DIGITS).rev().find(|k| sum.words[*k] != 0) else { return 0.0 };
        // Three digits have 65 significant bits at least; what is below them decides ties only.
        let first = top.saturating_sub(2);
        let mut whole: u128 = 0;
        for k in (first..=top).rev() {
            whole = whole << 32 | sum.words[k] as u128;
        }
        if sum.words[..first].iter().any(|w| *w != 0) {
            whole |= 1;
        }
        let size = whole as f64 * 2f64.powi(32 * first as i32 + LOWEST);
        if negative { -size } else { size }
    }
}

/// Sums over all ranks, each rounded once.
pub fn total<const N: usize>(comm: &dyn Comm, mut sums: [Exact; N]) -> [f64; N] {
    let mut words: Vec<i64> = sums.iter_mut().flat_map(|s| *s.words()).collect();
    comm.add(&mut words);
    let mut at = words.chunks(WORDS);
    std::array::from_fn(|_| at.next().map_or(0.0, |w| Exact::from_words(w).value()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of all sizes, from a fixed sequence.
    fn numbers(count: usize) -> Vec<f64> {
        let mut x = 12345u64;
        let mut next = || {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            x >> 11
        };
        (0..count)
            .map(|_| {
                let size = 2f64.powi((next() % 120) as i32 - 60);
                (next() as f64 / 2f64.powi(53) - 0.5) * size
            })
            .collect()
    }

    fn sum(x: impl IntoIterator<Item = f64>) -> Exact {
        let mut out = Exact::default();
        x.into_iter().for_each(|x| out.add(x));
        out
    }

    #[test]
    fn neither_order_nor_pieces_matter() {
        let x = numbers(5000);
        let forward = sum(x.iter().copied()).value();
        assert_eq!(forward.to_bits(), sum(x.iter().rev().copied()).value().to_bits());
        for pieces in [2, 3, 7, 64] {
            let mut words = [0i64; WORDS];
            for run in x.chunks(x.len().div_ceil(pieces)) {
                let mut part = sum(run.iter().copied());
                words.iter_mut().zip(part.words()).for_each(|(a, b)| *a += b);
            }
            assert_eq!(forward.to_bits(), Exact::from_words(&words).value().to_bits());
        }
        // Doubles added up one by one do depend on the order.
        let (up, down) = (x.iter().sum::<f64>(), x.iter().rev().sum::<f64>());
        assert_ne!(up, down);
        assert!((forward - up).abs() < 1e-9 * x.iter().map(|x| x.abs()).sum::<f64>());
    }

    #[test]
    fn it_rounds_once() {
        assert_eq!(sum([1e80, 1.0, -1e80]).value(), 1.0);
        assert_eq!(sum([1.0, 2f64.powi(-60), -1.0]).value(), 2f64.powi(-60));
        assert_eq!(sum([-1.0, -2f64.powi(-53)]).value(), -1.0, "a tie goes to the even one");
        assert_eq!(sum([1.0, 2f64.powi(-53), 2f64.powi(-200)]).value(), 1.0 + f64::EPSILON);
        assert_eq!(sum([-3.5, 3.5]).value(), 0.0);
        assert_eq!(sum([0.1, 0.2]).value(), 0.1 + 0.2);
        for x in numbers(1000) {
            assert_eq!(sum([x]).value().to_bits(), x.to_bits());
        }
    }

    #[test]
    fn what_is_no_number_is_told() {
        for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
            assert_eq!(sum([1.0, x, 2.0]).value(), f64::INFINITY);
        }
        assert_eq!(sum([1e-310, 1e-200]).value(), 0.0, "far below anything that is meant");
        assert_eq!(sum([1e-80]).value(), 1e-80);
    }
}
