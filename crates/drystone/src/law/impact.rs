//! How fast a contact lets go after a hit.
//!
//! Newton's law, as Moreau states it for any number of contacts at once, is u⁺ ≥ e |u⁻| with u⁻ the normal
//! velocity at the start of the step. A step of finite length hits early: with a gap still open, and before
//! the forces of the step have acted. Both cost an error of O(h) in the height of the next flight. They are
//! removed by comparing energies instead of speeds, under the relative acceleration a that the free motion of
//! the step shows. For q ← q + h (θ v⁺ + (1-θ) v) the scheme keeps
//!
//! ```text
//!     E(v, x) = ½ v² + a x - (θ - ½) h a v
//! ```
//!
//! exactly in free flight. A hit at the surface turns ½ u² into ½ e² u², so u⁺ is the speed that has E(u⁺,
//! Φ⁺) = e² E(u⁻, Φ) at the height Φ⁺ = Φ + h (θ u⁺ + (1-θ) u⁻) where the step ends:
//!
//! ```text
//!     ½ (u⁺)² + ½ a h u⁺ + a (Φ + h (1-θ) u⁻) = e² E(u⁻, Φ)
//! ```
//!
//! For e = 1 it is |u⁻| up to the scheme's own rounding of time, for a = 0 it is e |u⁻|, and for h → 0
//! always.

/// A contact that may be hit in this step.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    /// m
    pub gap: f64,
    /// Normal velocity at the start of the step, m/s, positive apart.
    pub before: f64,
    /// Normal velocity that the free motion ends the step with, m/s.
    pub free: f64,
    /// s
    pub h: f64,
    /// Of the integrator: 1 for the half-implicit scheme.
    pub theta: f64,
}

impl Hit {
    /// Where the free motion would end, m: a hit if that is not outside.
    pub fn predicted_gap(&self) -> f64 {
        self.gap + self.h * (self.theta * self.free + (1.0 - self.theta) * self.before)
    }

    /// The speed to let go with, m/s; 0 if the step ends it all.
    pub fn speed_after(&self, e: f64) -> f64 {
        let Self { before, free, h, theta, .. } = *self;
        // An overlap is no height to have fallen from.
        let gap = self.gap.max(0.0);
        let a = (before - free) / h;
        let energy = 0.5 * before * before + a * gap - (theta - 0.5) * h * a * before;
        let rest = e * e * energy - a * (gap + h * (1.0 - theta) * before);
        let half = 0.5 * a * h;
        let square = half * half + 2.0 * rest;
        // No more than what Newton's law says of the speeds themselves, with the step's own share of
        // acceleration.
        (square.max(0.0).sqrt() - half).clamp(0.0, e * (before.abs() + (a * h).abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ball on the schemes' own flight: apex after apex falls by e², whatever the phase of the hits.
    #[test]
    fn heights_fall_by_the_square_of_e() {
        for theta in [0.5, 0.75, 1.0] {
            for e in [0.3, 0.8, 1.0] {
                let (h, g) = (1e-3, 9.81);
                let (mut x, mut v, mut apex, mut bounces) = (1.0, 0.0, 1.0f64, 0);
                let mut apexes = vec![];
                while bounces < 3 {
                    let hit = Hit { gap: x, before: v, free: v - g * h, h, theta };
                    let new = if v < 0.0 && hit.predicted_gap() < 0.0 {
                        bounces += 1;
                        apexes.push(apex);
                        apex = 0.0;
                        hit.speed_after(e)
                    } else {
                        v - g * h
                    };
                    x += h * (theta * new + (1.0 - theta) * v);
                    v = new;
                    apex = apex.max(x);
                }
                for (n, apex) in apexes.iter().enumerate() {
                    let exact = f64::powi(e, 2 * n as i32);
                    assert!((apex / exact - 1.0).abs() < 2e-3, "θ {theta}, e {e}, {n}: {apex} for {exact}");
                }
            }
        }
    }

    #[test]
    fn without_acceleration_it_is_newtons_law() {
        let hit = Hit { gap: 0.01, before: -2.0, free: -2.0, h: 0.01, theta: 1.0 };
        assert!((hit.speed_after(0.25) - 0.5).abs() < 1e-15);
    }
}
