//! Frames as bytes: quantised, and only what changed since the frame before.
//!
//! ```text
//!     frame     3  flags  channels:u16  epoch:u32  index:u32  step:u64  time:f64  bodies:u32  quantum:f64
//!               numbers: n:u8, n x f32                        see snapshot::NUMBERS
//!               changed  alive bits that differ               (nothing before a key frame)
//!               moved    3 zigzags each                       x - predicted, in quanta; in a key frame 3 x i32, x
//!               turned   4 zigzags each                       q - predicted, in 1/32767; bodies that are no balls
//!               channel  u16 each, for every channel sent     binary16; islands are numbers
//!               contacts if flag 2: all:varint  shown:varint  force unit:f32  gap unit:f32, then each
//!                        a - a before:varint  b - a:zigzag  point - centre of a: 3 zigzags, quanta
//!                        force on a: 3 x i16  gap: i16
//!     set       which bodies: one bit for each 64 bodies, then 64 bits for each of those that is set
//! ```
//!
//! A key frame (flag 1) predicts zeros, with all bodies gone. Other frames predict that each body goes on as
//! it did from the frame before last to the last; one that came in the last (in a key frame, all) that it
//! stays. The reader does the same arithmetic, so that errors do not add up: every position is within half a
//! quantum.

mod bytes;
mod decode;
mod encode;
mod set;

pub use bytes::{Broken, Put, Reader, from_half, half};
pub use decode::{Decoded, Decoder};
pub use encode::Encoder;

/// First byte of a message to the page: what it is, JSON.
pub const HELLO: u8 = 1;
/// First byte of a message to the page: shapes, names and joints.
pub const STAGE: u8 = 2;
/// First byte of a message to the page: a frame.
pub const FRAME: u8 = 3;
/// First byte of a message to the page: news, JSON.
pub const STATUS: u8 = 4;
/// First byte of a message to the page: what was driven, JSON.
pub const INPUTS: u8 = 5;

/// Version of the messages; a page of another one is refused.
pub const VERSION: u16 = 2;

pub(crate) const KEY: u8 = 1;
pub(crate) const CONTACTS: u8 = 2;
/// Most bodies of a frame.
pub(crate) const MOST_BODIES: usize = 1 << 26;
/// Units of a component of a rotation.
pub(crate) const TURN: f64 = 32767.0;

/// A body as both ends know it: position in quanta, rotation in 1/32767, and the same one frame before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Track {
    pub x: [i32; 3],
    pub dx: [i32; 3],
    pub q: [i16; 4],
    pub dq: [i16; 4],
}

impl Track {
    /// Where it will be if it goes on.
    pub fn ahead(&self) -> ([i32; 3], [i16; 4]) {
        let mut x = self.x;
        let mut q = self.q;
        for k in 0..3 {
            x[k] = x[k].wrapping_add(self.dx[k]);
        }
        for k in 0..4 {
            q[k] = q[k].wrapping_add(self.dq[k]);
        }
        (x, q)
    }

    /// It has just come, and goes nowhere yet.
    pub fn rest(&mut self) {
        (self.dx, self.dq) = Default::default();
    }

    /// Notes where it is.
    pub fn go(&mut self, x: [i32; 3], q: [i16; 4]) {
        for k in 0..3 {
            self.dx[k] = x[k].wrapping_sub(self.x[k]);
        }
        for k in 0..4 {
            self.dq[k] = q[k].wrapping_sub(self.q[k]);
        }
        (self.x, self.q) = (x, q);
    }
}

#[cfg(test)]
mod tests;
