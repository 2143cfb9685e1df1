//! The compact form of problems that are grains and nothing else, in f32: the iteration's own arithmetic,
//! never the judge's.
//!
//! Where all contacts are those of spheres (with each other or with walls), arms lie along normals, and a
//! body needs only its momentum p = m v, l = I ω / r, 1/m and r²/I: 32 bytes. A contact is its normal, bias,
//! step and two places: 28 bytes, and 12 for the multiplier. With the normal n from B to A, and w = r ω = l
//! r²/I,
//!
//! ```text
//!     u = v_A - v_B - (w_A + w_B) × n + b,      p_A += Δ,   p_B -= Δ,   l_A += Δ × n,   l_B += Δ × n
//! ```
//!
//! so that both bodies are told the same six numbers.
//!
//! Eight points of one colour share no body and are worked on at once. Velocities are divided by the
//! problem's largest, masses by a typical one, so that no scene leaves the range of f32.
//!
//! f32 carries seven digits: where more are asked for the solvers go on in f64 from where this form leaves
//! them, and whether it is good enough is the certificate's word, in f64.

mod gradient;
mod groups;
mod metric;
mod pack;
mod sweep;

pub(super) use gradient::SphereSpace;
pub use pack::{Ball, BallContact, Units};
pub use sweep::{BallSweeps, Seen};
pub(super) use sweep::{Form, SphereSweeper};

use super::{BadSpec, Param, Spec};

pub(super) const PRECISION: Param = Param {
    name: "precision",
    default: "auto",
    help: "auto: f32 for grains as far as its digits go, then f64; double: f64 throughout",
};

/// Whether f32 may be used.
pub(super) fn may_be_single(spec: &Spec) -> Result<bool, BadSpec> {
    match spec.text("precision") {
        None | Some("auto") => Ok(true),
        Some("double") => Ok(false),
        Some(other) => Err(BadSpec::unknown("precision", other, &["auto", "double"])),
    }
}

/// Fewer contacts are not worth the packing.
const LEAST: usize = 128;

/// The residual down to which f32 follows f64, over the largest speed of the problem (multipliers over masses
/// included). A point's velocity is a difference of some ten rounded numbers of that size: a dozen roundings
/// are 7e-7.
const FLOOR: f64 = 5e-6;
