//! Little-endian numbers, and whole numbers in as few bytes as they need.

/// What is wrong with bytes that were read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The message ends too early.
    #[error("the message ends too early")]
    Short,
    /// Bytes are left.
    #[error("{0} bytes too many")]
    Long(usize),
    /// A value that none of this kind can have.
    #[error("{0}")]
    Value(&'static str),
}

/// Adds numbers to a buffer.
pub trait Put {
    /// One byte.
    fn u8(&mut self, x: u8);
    /// Two bytes.
    fn u16(&mut self, x: u16);
    /// Four bytes.
    fn u32(&mut self, x: u32);
    /// Eight bytes.
    fn u64(&mut self, x: u64);
    /// Four bytes.
    fn f32(&mut self, x: f32);
    /// Eight bytes.
    fn f64(&mut self, x: f64);
    /// Seven bits a byte, the lowest first; the high bit says that more follow.
    fn varint(&mut self, x: u64);
    /// Small numbers of either sign are small.
    fn zigzag(&mut self, x: i64);
    /// Length in one byte, then at most 255 bytes of the text, cut between characters.
    fn text(&mut self, text: &str);
}

impl Put for Vec<u8> {
    fn u8(&mut self, x: u8) {
        self.push(x);
    }
    fn u16(&mut self, x: u16) {
        self.extend(x.to_le_bytes());
    }
    fn u32(&mut self, x: u32) {
        self.extend(x.to_le_bytes());
    }
    fn u64(&mut self, x: u64) {
        self.extend(x.to_le_bytes());
    }
    fn f32(&mut self, x: f32) {
        self.extend(x.to_le_bytes());
    }
    fn f64(&mut self, x: f64) {
        self.extend(x.to_le_bytes());
    }
    fn varint(&mut self, mut x: u64) {
        while x >= 128 {
            self.push(x as u8 | 128);
            x >>= 7;
        }
        self.push(x as u8);
    }
    fn zigzag(&mut self, x: i64) {
        self.varint((x << 1 ^ x >> 63) as u64);
    }
    fn text(&mut self, text: &str) {
        let mut end = text.len().min(255);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.push(end as u8);
        self.extend(&text.as_bytes()[..end]);
    }
}

/// Reads numbers from bytes; never past their end.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// From the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Bytes left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Broken> {
        let (now, rest) = self.rest.split_at_checked(n).ok_or(Broken::Short)?;
        self.rest = rest;
        Ok(now)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Broken> {
        let (now, rest) = self.rest.split_first_chunk().ok_or(Broken::Short)?;
        self.rest = rest;
        Ok(*now)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, Broken> {
        Ok(self.array::<1>()?[0])
    }
    /// Two bytes.
    pub fn u16(&mut self) -> Result<u16, Broken> {
        self.array().map(u16::from_le_bytes)
    }
    /// Four bytes.
    pub fn u32(&mut self) -> Result<u32, Broken> {
        self.array().map(u32::from_le_bytes)
    }
    /// Eight bytes.
    pub fn u64(&mut self) -> Result<u64, Broken> {
        self.array().map(u64::from_le_bytes)
    }
    /// Four bytes, any value.
    pub fn f32(&mut self) -> Result<f32, Broken> {
        self.array().map(f32::from_le_bytes)
    }
    /// Eight bytes, any value.
    pub fn f64(&mut self) -> Result<f64, Broken> {
        self.array().map(f64::from_le_bytes)
    }

    /// Four bytes that are a finite number.
    pub fn finite(&mut self) -> Result<f32, Broken> {
        let x = self.f32()?;
        if x.is_finite() { Ok(x) } else { Err(Broken::Value("a number must be finite")) }
    }

    /// See [`Put::varint`]; at most ten bytes.
    pub fn varint(&mut self) -> Result<u64, Broken> {
        let mut x = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            x |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(x);
            }
        }
        Err(Broken::Value("a whole number has too many bytes"))
    }

    /// See [`Put::zigzag`].
    pub fn zigzag(&mut self) -> Result<i64, Broken> {
        let x = self.varint()?;
        Ok((x >> 1) as i64 ^ -((x & 1) as i64))
    }

    /// See [`Put::text`].
    pub fn text(&mut self) -> Result<&'a str, Broken> {
        let n = self.u8()? as usize;
        std::str::from_utf8(self.take(n)?).map_err(|_| Broken::Value("a text must be UTF-8"))
    }

    /// Nothing may be left.
    pub fn end(&self) -> Result<(), Broken> {
        if self.rest.is_empty() { Ok(()) } else { Err(Broken::Long(self.rest.len())) }
    }
}

/// Numbers of two bytes: one sign bit, five of exponent, ten of mantissa (IEEE 754 binary16), rounded to
/// nearest.
pub fn half(x: f32) -> u16 {
    let bits = x.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let a = x.abs();
    if a.is_nan() {
        return sign | 0x7e00;
    }
    if a >= 65520.0 {
        return sign | 0x7c00;
    }
    if a < 6.103_515_6e-5 {
        // Below the smallest normal number: multiples of 2⁻²⁴.
        return sign | (a * 16_777_216.0).round_ties_even() as u16;
    }
    let bits = a.to_bits();
    let rounded = bits + 0x0fff + (bits >> 13 & 1);
    sign | ((rounded >> 13) - (112 << 10)) as u16
}

/// The number of [`half`].
pub fn from_half(x: u16) -> f32 {
    let sign = if x & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, mantissa) = (u32::from(x >> 10 & 31), u32::from(x & 1023));
    sign * match exponent {
        0 => mantissa as f32 / 16_777_216.0,
        31 if mantissa == 0 => f32::INFINITY,
        31 => f32::NAN,
        e => f32::from_bits((e + 112) << 23 | mantissa << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn halves_are_the_nearest() {
        for x in 0..=u16::MAX {
            let f = from_half(x);
            if f.is_nan() {
                assert!(from_half(half(f)).is_nan());
            } else {
                assert_eq!(half(f), x, "{f}");
            }
        }
        for (x, bits) in [(1.0, 0x3c00), (65504.0, 0x7bff), (0.1, 0x2e66), (-2.0, 0xc000), (1e9, 0x7c00)] {
            assert_eq!(half(x), bits, "{x}");
        }
    }

    proptest! {
        #[test]
        fn numbers_are_read_as_written(x in any::<u64>(), y in any::<i64>(), t in ".{0,90}", f in -6e4f32..6e4) {
            let mut bytes = Vec::new();
            bytes.varint(x);
            bytes.zigzag(y);
            bytes.text(&t);
            let mut r = Reader::new(&bytes);
            prop_assert_eq!(r.varint(), Ok(x));
            prop_assert_eq!(r.zigzag(), Ok(y));
            let read = r.text().unwrap();
            prop_assert!(t.starts_with(read) && (t.len() > 255 || read == t));
            prop_assert_eq!(r.end(), Ok(()));
            prop_assert!((from_half(half(f)) - f).abs() <= f.abs() / 2048.0 + 1e-7);
        }
    }
}
