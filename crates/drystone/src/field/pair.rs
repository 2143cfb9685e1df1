//! A force along the line between the centres of two bodies, with a cut-off.
//!
//! ```text
//!     f(r) = k s_A s_B (r⁻ⁿ - R⁻ⁿ)     for r < R, else 0; above zero it drives them apart
//!     U(r) = ∫ f dr from r to R
//! ```
//!
//! s is the charge (or the mass) of a body. The force is shifted by its value at the cut-off R, so that it
//! ends there without a jump and its potential without a kink [ToxvaerdDyre2011]: energy is kept as well as
//! the integrator does. Within `core` the force falls to zero in proportion to r, so that what has no shape
//! can pass.
//!
//! Each of the two bodies works out the force by itself, from the same numbers in the same order but for the
//! sign of the distance: what it does to one is exactly minus what it does to the other, for any number of
//! threads.

use glam::DVec3;
use serde::{Deserialize, Serialize};

use super::Wrench;
use super::cells::Cells;
use crate::model::{Body, Model};

/// What of a body a pair force is proportional to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// [`crate::BodyDef::charge`]
    #[default]
    Charge,
    /// Its mass; only of dynamic bodies.
    Mass,
}

impl Source {
    /// As files spell it.
    pub const NAMES: [(&'static str, Source); 2] = [("charge", Source::Charge), ("mass", Source::Mass)];

    fn of(self, body: &Body) -> f64 {
        match self {
            Source::Charge => body.charge,
            Source::Mass if body.inv_mass > 0.0 => body.mass.mass,
            Source::Mass => 0.0,
        }
    }
}

/// A force between pairs of bodies that falls with a power of their distance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// What it is proportional to, of each of the two.
    pub source: Source,
    /// k, N mⁿ over the square of the source's unit; above zero equal signs repel.
    pub strength: f64,
    /// n
    pub exponent: f64,
    /// R, m: no force beyond.
    pub cutoff: f64,
    /// Distance below which the force falls to zero, m.
    pub core: f64,
}

impl Pair {
    /// Coulomb's constant in a vacuum, N m²/C².
    pub const COULOMB: f64 = 8.987_551_786e9;
    /// Newton's constant, N m²/kg².
    pub const NEWTON: f64 = 6.674_30e-11;

    /// k q_A q_B / r² between charges.
    pub fn electrostatic(strength: f64, cutoff: f64) -> Self {
        Self { source: Source::Charge, strength, exponent: 2.0, cutoff, core: 0.0 }
    }

    /// Says what is wrong with the definition, naming the field.
    pub fn check(&self) -> Result<(), String> {
        let Pair { strength, exponent, cutoff, core, .. } = *self;
        if !strength.is_finite() {
            return Err(format!("strength must be finite, got {strength}"));
        }
        if !(exponent > 0.0 && exponent <= 12.0) {
            return Err(format!("exponent must be above 0 and at most 12, got {exponent}"));
        }
        if !(cutoff.is_finite() && cutoff > 0.0) {
            return Err(format!("cutoff must be positive and finite, got {cutoff}"));
        }
        if !(core >= 0.0 && core < cutoff) {
            return Err(format!("core must be from 0 to below cutoff = {cutoff}, got {core}"));
        }
        Ok(())
    }

    /// x⁻ⁿ
    fn power(&self, x: f64) -> f64 {
        if self.exponent == 2.0 { 1.0 / (x * x) } else { x.powf(-self.exponent) }
    }

    /// f/r for sources of 1, N/m.
    pub fn force_over_distance(&self, r: f64) -> f64 {
        if r >= self.cutoff {
            return 0.0;
        }
        let at = r.max(self.core);
        self.strength * (self.power(at) - self.power(self.cutoff)) / at
    }

    /// U for sources of 1, J.
    pub fn potential(&self, r: f64) -> f64 {
        let (n, end) = (self.exponent, self.cutoff);
        if r >= end {
            return 0.0;
        }
        let at = r.max(self.core);
        let whole = if n == 1.0 {
            (end / at).ln()
        } else {
            (at * self.power(at) - end * self.power(end)) / (n - 1.0)
        };
        let outside = self.strength * (whole - self.power(end) * (end - at));
        // Within the core the force is that of a spring.
        outside + 0.5 * self.force_over_distance(at) * (at * at - r * r)
    }

    /// Puts the bodies that take part into cells.
    fn fill(&self, model: &Model, x: &[DVec3], cells: &mut Cells) {
        let sources = model.slots().map(|i| (i, self.source.of(&model.bodies[i])));
        let there = sources.filter(|(_, s)| *s != 0.0).map(|(i, s)| (i as u32, x[i], s));
        cells.fill(there, self.cutoff, model.periodic.as_ref());
    }

    pub(crate) fn act(&self, model: &Model, x: &[DVec3], cells: &mut Cells, to: &mut [Wrench]) {
        self.fill(model, x, cells);
        let moves = |slot: u32| model.bodies[slot as usize].inv_mass > 0.0;
        cells.sums(|a, b, d, r| {
            if !(moves(a.slot) || moves(b.slot)) {
                return DVec3::ZERO;
            }
            (a.source * b.source * self.force_over_distance(r)) * d
        });
        for (slot, force) in cells.results() {
            to[slot as usize].force += force;
        }
    }

    pub(crate) fn energy(&self, model: &Model, x: &[DVec3], cells: &mut Cells) -> f64 {
        self.fill(model, x, cells);
        let moves = |slot: u32| model.bodies[slot as usize].inv_mass > 0.0;
        cells.sums(|a, b, _, r| {
            if !(moves(a.slot) || moves(b.slot)) {
                return DVec3::ZERO;
            }
            // Each pair is met twice.
            DVec3::X * (0.5 * (a.source * b.source) * self.potential(r))
        });
        cells.results().map(|(_, sum)| sum.x).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// -dU/dr = f by central differences, and nothing jumps at the core or the cut-off.
    #[test]
    fn the_potential_belongs_to_the_force() {
        for exponent in [0.5, 1.0, 2.0, 3.5, 6.0] {
            let pair = Pair { source: Source::Charge, strength: 3.0, exponent, cutoff: 2.0, core: 0.2 };
            for r in [0.05, 0.19, 0.3, 0.9, 1.7, 1.999, 2.4] {
                let e = 1e-6;
                let slope = (pair.potential(r + e) - pair.potential(r - e)) / (2.0 * e);
                let f = r * pair.force_over_distance(r);
                assert!((slope + f).abs() < 1e-7 * (1.0 + f.abs()), "{exponent} {r}: {slope} {f}");
            }
            for edge in [pair.core, pair.cutoff] {
                let jump = |g: &dyn Fn(f64) -> f64| (g(edge - 1e-12) - g(edge + 1e-12)).abs();
                let scale = pair.force_over_distance(pair.core);
                assert!(jump(&|r| pair.potential(r)) < 1e-9 * scale, "{exponent} {edge}");
                assert!(jump(&|r| pair.force_over_distance(r)) < 1e-9 * scale, "{exponent} {edge}");
            }
        }
    }

    #[test]
    fn bad_numbers_are_named() {
        let good = Pair::electrostatic(1.0, 2.0);
        assert!(good.check().is_ok());
        for (bad, word) in [
            (Pair { strength: f64::NAN, ..good }, "strength"),
            (Pair { exponent: 0.0, ..good }, "exponent"),
            (Pair { cutoff: f64::INFINITY, ..good }, "cutoff"),
            (Pair { core: 2.0, ..good }, "core"),
        ] {
            assert!(bad.check().unwrap_err().starts_with(word));
        }
    }
}
