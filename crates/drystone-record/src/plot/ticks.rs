//! Where the ticks of an axis stand, and how values turn into places along it.

use super::number;

/// An axis with its range settled.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    pub low: f64,
    pub high: f64,
    pub log: bool,
}

/// A labelled tick.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub value: f64,
    pub label: String,
}

/// Ticks of an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Ticks {
    pub major: Vec<Tick>,
    pub minor: Vec<f64>,
    /// Power of ten that multiplies all labels.
    pub exponent: Option<i32>,
}

impl Scale {
    /// Place of a value between the ends of the axis: 0 at the lower, 1 at the upper.
    pub fn place(&self, value: f64) -> f64 {
        if self.log {
            (value.log10() - self.low.log10()) / (self.high.log10() - self.low.log10())
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    /// Whether a value can be shown on the axis at all. Values so large that differences overflow cannot.
    pub fn takes(log: bool, value: f64) -> bool {
        value.is_finite() && value.abs() < 1e300 && (!log || value > 1e-300)
    }

    /// A scale over the values that it takes, widened by a share `margin` of its length at both ends. A
    /// linear scale that comes close to zero starts there if `from_zero`.
    pub fn around(values: impl Iterator<Item = f64>, log: bool, margin: f64, from_zero: bool) -> Self {
        let (low, high) = values
            .filter(|&v| Self::takes(log, v))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        if low > high {
            return if log { Self { low: 1.0, high: 10.0, log } } else { Self { low: 0.0, high: 1.0, log } };
        }
        if log {
            let (a, b) = (low.log10(), high.log10());
            let pad = if b - a > 1e-9 { margin * (b - a) } else { 0.5 };
            return Self { low: 10.0_f64.powf(a - pad), high: 10.0_f64.powf(b + pad), log };
        }
        // A spread at the level of rounding is none: showing it would blow noise up to full height.
        let flat = high - low <= 1e-12 * low.abs().max(high.abs());
        let pad = match (flat, low == 0.0) {
            (true, true) => 1.0,
            (true, false) => 0.1 * low.abs(),
            (false, _) => margin * (high - low),
        };
        let touches_zero = from_zero && low >= 0.0 && low < 0.3 * high;
        Self { low: if touches_zero { 0.0 } else { low - pad }, high: high + pad, log }
    }

    /// About `count` ticks at round values, minor ones between.
    pub fn ticks(&self, count: usize) -> Ticks {
        if self.log { self.log_ticks(count) } else { self.linear_ticks(count) }
    }

    fn within(&self, value: f64) -> bool {
        let p = self.place(value);
        (-1e-9..=1.0 + 1e-9).contains(&p)
    }

    fn linear_ticks(&self, count: usize) -> Ticks {
        let (step, lead) = round_step((self.high - self.low) / count.max(1) as f64);
        let multiples = |step: f64| {
            let first = (self.low / step - 1e-9).ceil();
            let last = (self.high / step + 1e-9).floor();
            // Multiples of the step rather than repeated sums, so that 0.3 is 0.3.
            (0..).map(move |k| first + k as f64).take_while(move |n| *n <= last).take(1000)
        };
        // Dividing by the inverse of a step below one keeps decimals exact: 3 / 10, not 3 * 0.1.
        let inverse = (1.0 / step).round();
        let exact = step < 1.0 && inverse < 1e15;
        let values: Vec<f64> = multiples(step).map(|n| if exact { n / inverse } else { n * step }).collect();
        let (labels, exponent) = number::evenly_spaced(&values, step);
        let parts = if lead == 2.0 { 4.0 } else { 5.0 };
        let fine = step / parts;
        let minor = multiples(fine).filter(|n| n.rem_euclid(parts) != 0.0).map(|n| n * fine).collect();
        let major = values.into_iter().zip(labels).map(|(value, label)| Tick { value, label }).collect();
        Ticks { major, minor, exponent }
    }

    fn log_ticks(&self, count: usize) -> Ticks {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let decades: Vec<i32> = (first..=last).filter(|&e| self.within(10.0_f64.powi(e))).collect();
        let times = |leads: &'static [u8]| {
            (first..=last)
                .flat_map(move |e| leads.iter().map(move |&m| f64::from(m) * 10.0_f64.powi(e)))
                .filter(|&v| self.within(v))
        };
        // Up to two decades, 1-2-5 in plain numbers says more than one or two powers.
        if decades.len() > 2 || self.high / self.low > 100.0 {
            let stride = decades.len().div_ceil(count.max(2)) as i32;
            let labelled = |e: &&i32| e.rem_euclid(stride) == 0;
            let major = decades
                .iter()
                .filter(labelled)
                .map(|&e| Tick { value: 10.0_f64.powi(e), label: number::power_of_ten(e) })
                .collect();
            let minor = if stride > 1 {
                decades.iter().filter(|e| !labelled(e)).map(|&e| 10.0_f64.powi(e)).collect()
            } else {
                times(&[2, 3, 4, 5, 6, 7, 8, 9]).collect()
            };
            return Ticks { major, minor, exponent: None };
        }
        let round: Vec<f64> = times(&[1, 2, 5]).collect();
        if round.len() >= 2 {
            let major = round.iter().map(|&value| Tick { value, label: number::short(value) }).collect();
            return Ticks { major, minor: times(&[3, 4, 6, 7, 8, 9]).collect(), exponent: None };
        }
        // Less than half a decade: the logarithm is nearly straight, and round linear values serve best.
        Self { log: false, ..self.clone() }.linear_ticks(count)
    }
}

/// The round number (1, 2 or 5 times a power of ten) nearest to `x` on a log scale, and its leading digit
/// [Heckbert1990].
fn round_step(x: f64) -> (f64, f64) {
    let exponent = x.log10().floor() as i32;
    let power = |e: i32| if e >= 0 { 10.0_f64.powi(e) } else { 1.0 / 10.0_f64.powi(-e) };
    let lead = x / power(exponent);
    match lead {
        l if l < 1.5 => (power(exponent), 1.0),
        l if l < 3.5 => (2.0 * power(exponent), 2.0),
        l if l < 7.5 => (5.0 * power(exponent), 5.0),
        _ => (power(exponent + 1), 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(low: f64, high: f64, log: bool) -> Scale {
        Scale { low, high, log }
    }

    fn values(t: &Ticks) -> Vec<f64> {
        t.major.iter().map(|t| t.value).collect()
    }

    fn labels(t: &Ticks) -> Vec<&str> {
        t.major.iter().map(|t| t.label.as_str()).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_exact() {
        let ticks = scale(0.0, 1.0, false).ticks(5);
        assert_eq!(values(&ticks), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(labels(&ticks), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(ticks.minor.len(), 15);
        assert_eq!(values(&scale(-3.0, 12.0, false).ticks(5)), [-2.0, 0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
        let far = scale(1e7, 1.6e7, false).ticks(6);
        assert_eq!(labels(&far), ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6"]);
        assert_eq!(far.exponent, Some(7));
    }

    #[test]
    fn log_ticks_stand_at_decades() {
        let ticks = scale(2e-4, 50.0, true).ticks(8);
        assert_eq!(values(&ticks), [1e-3, 1e-2, 0.1, 1.0, 10.0]);
        assert_eq!(labels(&ticks)[0], "10\u{207b}\u{b3}");
        assert!(ticks.minor.contains(&20.0) && !ticks.minor.contains(&60.0));
        let wide = scale(1e-12, 1e6, true).ticks(7);
        assert_eq!(values(&wide), [1e-12, 1e-9, 1e-6, 1e-3, 1.0, 1e3, 1e6]);
        assert_eq!(labels(&scale(1.0, 30.0, true).ticks(5)), ["1", "2", "5", "10", "20"]);
        assert_eq!(values(&scale(1.5, 9.0, true).ticks(5)), [2.0, 5.0]);
        assert_eq!(labels(&scale(3.0, 3.4, true).ticks(4)), ["3.0", "3.1", "3.2", "3.3", "3.4"]);
    }

    #[test]
    fn scales_cover_what_they_can_show() {
        let data = [3.0, f64::NAN, -1.0, 7.0, f64::INFINITY];
        assert_eq!(Scale::around(data.into_iter(), false, 0.0, true), scale(-1.0, 7.0, false));
        let positive = Scale::around(data.into_iter(), true, 0.0, true);
        assert!((positive.low - 3.0).abs() < 1e-12 && (positive.high - 7.0).abs() < 1e-12);
        assert_eq!(Scale::around([0.1, 5.0].into_iter(), false, 0.0, true).low, 0.0);
        assert_eq!(Scale::around([2.0, 2.0].into_iter(), false, 0.05, false), scale(1.8, 2.2, false));
        assert_eq!(Scale::around(std::iter::empty(), true, 0.05, false), scale(1.0, 10.0, true));
    }

    #[test]
    fn places_run_from_zero_to_one() {
        assert_eq!(scale(2.0, 4.0, false).place(3.0), 0.5);
        assert!((scale(1e-2, 1e2, true).place(1.0) - 0.5).abs() < 1e-12);
    }
}
