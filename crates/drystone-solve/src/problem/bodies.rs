//! The matrix-free form: constraint blocks that touch at most two bodies, and M⁻¹ body by body.
//!
//! A body's velocity is six numbers (v, ω), both in world axes; its M⁻¹ is 1/m and the world-frame inverse
//! inertia. [TasoraAnitescu2011] keeps ω in body axes, which makes M constant; world axes make every contact
//! Jacobian the same three vectors for both bodies, and the change of frame is a congruence that leaves N as
//! it is.
//!
//! Two kinds of blocks:
//!
//! - [`Points`]: a contact point with the round friction cone, given by its normal and the arms from the
//!   centres of mass. Its D = [n | t₁ | t₂] is never stored:
//!
//!   ```text
//!       u = v_A + ω_A × r_A - v_B - ω_B × r_B + bias          (a world vector, n from B to A)
//!   ```
//!
//!   and since the cone is round, a sweep can work on the world vector without choosing tangents. Only the
//!   multipliers handed in and out are in the frame (n, t₁, t₂) with [`basis`](super::basis).
//! - [`General`]: one to five rows with 12 Jacobian entries each (joints, motors, limits, rolling contacts).
//!
//! Bodies that do not move (or move as prescribed) are no bodies here: their velocity is part of the bias,
//! and the block's second body is [`WORLD`].

mod check;
mod columns;
mod dense;
mod diagonal;
mod general;
mod impulse;
mod points;
mod relative;

pub use general::General;
pub use points::{Point, Points};

use std::ops::Range;

use crate::cone::Set;
use crate::friction_law::FrictionLaw;

/// In place of a second body: the block acts on one body only.
pub const WORLD: u32 = u32::MAX;

/// Bodies, or points, that are worked on at a time.
const PIECE: usize = 2048;

/// The matrix-free problem.
#[derive(Clone, Debug, Default)]
pub struct Bodies {
    /// 1/m, 1/kg.
    pub inv_mass: Vec<f64>,
    /// Inverse inertia in world axes: xx, yy, zz, xy, xz, yz; 1/(kg m²).
    pub inv_inertia: Vec<[f64; 6]>,
    /// v + h M⁻¹ f, what the bodies would do without constraints: (v, ω), m/s and rad/s, world axes.
    pub v_free: Vec<[f64; 6]>,
    /// Contact points: blocks `0..points.len()`, three rows each.
    pub points: Points,
    /// All other blocks, after the points.
    pub general: General,
    /// The contact law.
    pub model: FrictionLaw,
}

impl Bodies {
    /// Number of bodies.
    pub fn bodies(&self) -> usize {
        self.inv_mass.len()
    }

    /// Number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.points.len() + self.general.a.len()
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        3 * self.points.len() + self.general.jacobian.len()
    }

    /// The rows of block `i`.
    pub fn block(&self, i: usize) -> Range<usize> {
        match i.checked_sub(self.points.len()) {
            None => 3 * i..3 * i + 3,
            Some(g) => {
                let base = 3 * self.points.len();
                base + self.general.first_row[g] as usize..base + self.general.first_row[g + 1] as usize
            }
        }
    }

    /// The admissible set of block `i`.
    pub(crate) fn set(&self, i: usize) -> Set {
        match i.checked_sub(self.points.len()) {
            None => Set::Friction3 { mu: self.points.mu[i] },
            Some(g) => self.general.set[g],
        }
    }

    /// C of a row of a block, (m/s)/(N s).
    pub(crate) fn compliance(&self, block: usize, row: usize) -> f64 {
        match row.checked_sub(3 * self.points.len()) {
            None => self.points.compliance_of(block)[row - 3 * block],
            Some(j) => self.general.compliance.get(j).copied().unwrap_or(0.0),
        }
    }
}
