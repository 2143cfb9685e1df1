//! Decisions and numbers out of a string of bytes.

use glam::{DQuat, DVec3};

/// Bytes that are read from the front; after the end come zeros.
pub struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub fn byte(&mut self) -> u8 {
        match self.rest.split_first() {
            Some((first, rest)) => {
                self.rest = rest;
                *first
            }
            None => 0,
        }
    }

    /// One of the numbers below `count`.
    pub fn pick(&mut self, count: u8) -> u8 {
        self.byte() % count
    }

    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.byte() as usize % choices.len()]
    }

    /// From 0 to 1, both ends included.
    pub fn unit(&mut self) -> f64 {
        f64::from(u16::from_le_bytes([self.byte(), self.byte()])) / f64::from(u16::MAX)
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Between two positive numbers, each order of magnitude as likely as the other.
    pub fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    /// In the cube of half side 1.
    pub fn vector(&mut self) -> DVec3 {
        DVec3::new(self.between(-1.0, 1.0), self.between(-1.0, 1.0), self.between(-1.0, 1.0))
    }

    /// An axis, a diagonal or any unit vector.
    pub fn direction(&mut self) -> DVec3 {
        match self.pick(8) {
            k @ 0..=5 => DVec3::AXES[k as usize / 2] * if k % 2 == 0 { 1.0 } else { -1.0 },
            6 => {
                let mut third = || f64::from(self.pick(3)) - 1.0;
                DVec3::new(third(), third(), third()).try_normalize().unwrap_or(DVec3::Z)
            }
            _ => self.vector().try_normalize().unwrap_or(DVec3::Z),
        }
    }

    /// Aligned, turned by right angles or by 45°, tilted a little from there, or any.
    pub fn rotation(&mut self) -> DQuat {
        use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
        let special = |bytes: &mut Self| {
            let axis = bytes.one_of(&DVec3::AXES);
            DQuat::from_axis_angle(axis, bytes.one_of(&[FRAC_PI_2, FRAC_PI_4, PI, -FRAC_PI_2]))
        };
        match self.pick(6) {
            0 | 1 => DQuat::IDENTITY,
            2 => special(self),
            3 => special(self) * special(self),
            4 => {
                let from = if self.pick(2) == 0 { DQuat::IDENTITY } else { special(self) };
                let angle = self.magnitude(1e-12, 0.1);
                DQuat::from_axis_angle(self.direction(), angle) * from
            }
            _ => DQuat::from_axis_angle(
                self.vector().try_normalize().unwrap_or(DVec3::Y),
                self.between(-PI, PI),
            ),
        }
    }
}
