//! The compact form of problems that are grains and nothing else, in f32: the iteration's own arithmetic, never the
//! judge's.
//!
//! Where all contacts are those of spheres (with each other or with walls), arms lie along normals, and a body needs
//! only its velocity, w = r ω, 1/m and r²/I: 32 bytes. A contact is its normal, bias, step and two indices: 28 bytes, and
//! 12 for the multiplier. With the normal n from B to A,
//!
//! ```text
//!     u = v_A - v_B - (w_A + w_B) × n + b,      v_A += Δ/m_A,   w_A -= (r²/I)_A n × Δ
//!                                               v_B -= Δ/m_B,   w_B -= (r²/I)_B n × Δ
//! ```
//!
//! Eight points of one colour share no body and are worked on at once. Velocities are divided by the problem's largest,
//! masses by a typical one, so that no scene leaves the range of f32.
//!
//! f32 carries seven digits: where more are asked for the solvers go on in f64 from where this form leaves them, and
//! whether it is good enough is the certificate's word, in f64.

mod eight;
mod gradient;
mod pack;
mod sweep;

pub(super) use gradient::GrainSpace;
pub(super) use sweep::GrainSweeper;

/// Fewer contacts are not worth the packing.
const LEAST: usize = 128;

/// The residual down to which f32 follows f64, over the largest speed of the problem (multipliers over masses included).
const FLOOR: f64 = 2e-5;
