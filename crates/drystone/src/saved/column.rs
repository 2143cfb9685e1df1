//! Long lists of numbers as one run of bytes: little endian, bit for bit.

use std::fmt;

use glam::{DQuat, DVec3};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value of a fixed number of bytes.
pub(super) trait Fixed: Sized {
    /// Bytes of one.
    const SIZE: usize;
    fn put(&self, to: &mut Vec<u8>);
    /// From at least [`Fixed::SIZE`] bytes.
    fn get(from: &[u8]) -> Self;
}

macro_rules! numbers {
    ($($t:ty)*) => {$(
        impl Fixed for $t {
            const SIZE: usize = size_of::<$t>();
            fn put(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
            fn get(from: &[u8]) -> Self {
                let mut bytes = [0; size_of::<$t>()];
                bytes.copy_from_slice(&from[..size_of::<$t>()]);
                <$t>::from_le_bytes(bytes)
            }
        }
    )*};
}
numbers!(f64 u32 u64 i32);

impl<T: Fixed, const N: usize> Fixed for [T; N] {
    const SIZE: usize = N * T::SIZE;
    fn put(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|x| x.put(to));
    }
    fn get(from: &[u8]) -> Self {
        std::array::from_fn(|k| T::get(&from[k * T::SIZE..]))
    }
}

impl Fixed for DVec3 {
    const SIZE: usize = 24;
    fn put(&self, to: &mut Vec<u8>) {
        self.to_array().put(to);
    }
    fn get(from: &[u8]) -> Self {
        DVec3::from_array(Fixed::get(from))
    }
}

impl Fixed for DQuat {
    const SIZE: usize = 32;
    fn put(&self, to: &mut Vec<u8>) {
        self.to_array().put(to);
    }
    fn get(from: &[u8]) -> Self {
        DQuat::from_array(Fixed::get(from))
    }
}

/// A list of values of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Column(Vec<u8>);

impl Column {
    pub fn of<T: Fixed>(values: impl ExactSizeIterator<Item = T>) -> Self {
        let mut bytes = Vec::with_capacity(T::SIZE * values.len());
        values.for_each(|x| x.put(&mut bytes));
        Self(bytes)
    }

    /// The values; `name` is for the error about one that is cut.
    pub fn values<T: Fixed>(&self, name: &str) -> Result<Vec<T>, String> {
        if !self.0.len().is_multiple_of(T::SIZE) {
            return Err(format!("{name}: {} bytes are no list of values of {}", self.0.len(), T::SIZE));
        }
        Ok(self.0.chunks_exact(T::SIZE).map(T::get).collect())
    }
}

impl Serialize for Column {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Column {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Column;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: Error>(self, v: &[u8]) -> Result<Column, E> {
                Ok(Column(v.to_vec()))
            }
            fn visit_byte_buf<E: Error>(self, v: Vec<u8>) -> Result<Column, E> {
                Ok(Column(v))
            }
        }
        from.deserialize_byte_buf(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_bit_for_bit() {
        let odd = [f64::NAN, -0.0, f64::INFINITY, 5e-324, 0.1];
        let back: Vec<f64> = Column::of(odd.iter().copied()).values("odd").unwrap();
        assert!(odd.iter().zip(&back).all(|(a, b)| a.to_bits() == b.to_bits()));
        let pairs = [[1u32, u32::MAX], [7, 0]];
        assert_eq!(Column::of(pairs.into_iter()).values::<[u32; 2]>("pairs").unwrap(), pairs);
        let turns = [DQuat::from_xyzw(0.1, 0.2, 0.3, 0.4)];
        assert_eq!(Column::of(turns.into_iter()).values::<DQuat>("turns").unwrap(), turns);
    }

    #[test]
    fn a_cut_list_is_an_error() {
        let text = Column(vec![0; 25]).values::<DVec3>("position").unwrap_err();
        assert_eq!(text, "position: 25 bytes are no list of values of 24");
    }
}
