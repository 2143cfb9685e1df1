//! How many iterations a method will take, by the residuals that it had.
//!
//! Residuals of accelerated methods fall about as a power of the number of iterations, e(k) = c k^-p, until
//! the same contacts stick and slide. Two of them, at k and k/2, tell p and with it where e would be the
//! tolerance:
//!
//! ```text
//!     p = log2 (e(k/2) / e(k)),      k* = k e(k)^(1/p)                                  e over the tolerance
//! ```
//!
//! Near the tolerance two residuals say little about p, because they rise and fall by as much as is left: p
//! is at least one half. On walls of bricks that move, at 1e-6 m/s, p is about one and k* 10,000 and more
//! from the first look on, with residuals a hundred times the tolerance; heaps of boxes at 1e-4 m/s, as
//! stiff, have arrived by then or are within three times the tolerance.

/// The first look, after twice as many iterations.
const FIRST: usize = 150;
/// The least power that residuals are taken to fall with.
const LEAST_POWER: f64 = 0.5;

/// What was seen at the last look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook {
    least: f64,
    last: f64,
    next: usize,
}

impl Default for Outlook {
    fn default() -> Self {
        Self { least: f64::INFINITY, last: f64::INFINITY, next: FIRST }
    }
}

impl Outlook {
    /// Tells the residual after iteration `k`, over the tolerance. Returns how many iterations there will be;
    /// 0 where nothing is known.
    pub fn tell(&mut self, k: usize, residual: f64) -> f64 {
        self.least = self.least.min(residual);
        if k < self.next {
            return 0.0;
        }
        let (before, now) = (self.last, self.least);
        (self.last, self.next) = (now, 2 * self.next);
        if before == f64::INFINITY || now <= 1.0 {
            return 0.0;
        }
        let power = (before / now).log2().max(LEAST_POWER);
        k as f64 * now.powf(1.0 / power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_word(until: usize, e: impl Fn(usize) -> f64) -> f64 {
        let mut outlook = Outlook::default();
        (1..=until).map(|k| outlook.tell(k, e(k))).fold(0.0, |last, x| if x > 0.0 { x } else { last })
    }

    #[test]
    fn powers_are_foretold() {
        let power = |p: f64| move |k: usize| (1000.0 / k as f64).powf(p);
        assert_eq!(last_word(299, power(1.0)), 0.0, "too early");
        assert!((last_word(300, power(1.0)) - 1000.0).abs() < 1e-6);
        assert!((last_word(700, power(2.0)) - 1000.0).abs() < 1e-6);
    }

    #[test]
    fn what_does_not_fall_is_far_away_and_what_has_arrived_needs_no_word() {
        assert_eq!(last_word(300, |_| 5.0), 7500.0);
        // Next to the tolerance a residual that happens not to fall says little.
        assert_eq!(last_word(300, |_| 2.0), 1200.0);
        assert_eq!(last_word(1200, |_| 0.9), 0.0);
        // The least counts: momentum makes residuals rise and fall.
        let waves = |k: usize| 1000.0 / k as f64 * if k.is_multiple_of(7) { 1.0 } else { 30.0 };
        assert!(last_word(300, waves) < 1100.0);
    }
}
