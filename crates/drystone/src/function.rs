//! Functions of time, as motors, trajectories and moving walls take them: a value and its derivative.
//!
//! All are plain data that a scene file can hold, except [`Function::Callback`], which only a program can
//! give.

use std::f64::consts::TAU;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A number that depends on time. Its unit is the user's: m, rad, m/s, N.
///
/// ```
/// use drystone::Function;
/// let swing = Function::Sine { mean: 1.0, amplitude: 0.5, frequency: 2.0, phase: 0.0 };
/// assert!((swing.value(0.125) - 1.5).abs() < 1e-12);
/// assert!(swing.derivative(0.125).abs() < 1e-12);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Function {
    /// The same at all times.
    Constant(f64),
    /// `from` until `start`, then straight to `to` at `end`, and `to` from then on.
    Ramp {
        /// First value.
        from: f64,
        /// Last value.
        to: f64,
        /// s
        start: f64,
        /// s, after `start`
        end: f64,
    },
    /// mean + amplitude sin(2π frequency t + phase)
    Sine {
        /// Value about which it swings.
        #[serde(default)]
        mean: f64,
        /// Half of the way from its least to its greatest value.
        amplitude: f64,
        /// Hz
        frequency: f64,
        /// rad
        #[serde(default)]
        phase: f64,
    },
    /// Between given points.
    Table(Table),
    /// Whatever a program computes.
    #[serde(skip)]
    Callback(Callback),
}

/// How a table goes from point to point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Interpolation {
    /// Straight lines; the derivative jumps at the points.
    #[default]
    Linear,
    /// Cubics with a continuous derivative that never leave the range of their two points
    /// \[FritschButland1984\].
    Cubic,
}

/// What a table is before its first and after its last point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Beyond {
    /// The first or last value.
    #[default]
    Hold,
    /// Again from the start: the length of the table is a period, its last value the first of the next.
    Repeat,
}

/// Points (t, value) with rising t.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// (s, value), s rising.
    pub points: Vec<[f64; 2]>,
    /// Between the points.
    #[serde(default)]
    pub interpolation: Interpolation,
    /// Outside of them.
    #[serde(default)]
    pub beyond: Beyond,
}

/// A function of a program: gives value and derivative.
#[derive(Clone)]
pub struct Callback(Arc<dyn Fn(f64) -> [f64; 2] + Send + Sync>);

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback")
    }
}

impl PartialEq for Callback {
    /// Whether both are the same function object.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Default for Function {
    fn default() -> Self {
        Function::Constant(0.0)
    }
}

impl From<f64> for Function {
    fn from(x: f64) -> Self {
        Function::Constant(x)
    }
}

impl Function {
    /// Of a program that knows the derivative too.
    pub fn callback(value_and_derivative: impl Fn(f64) -> [f64; 2] + Send + Sync + 'static) -> Self {
        Function::Callback(Callback(Arc::new(value_and_derivative)))
    }

    /// Of a program that gives the value only: the derivative is a central difference over 2 · 10⁻⁵ s.
    pub fn callback_value(value: impl Fn(f64) -> f64 + Send + Sync + 'static) -> Self {
        const D: f64 = 1e-5;
        Self::callback(move |t| [value(t), (value(t + D) - value(t - D)) / (2.0 * D)])
    }

    /// Straight lines through points (s, value), the end values held outside.
    pub fn table(points: impl Into<Vec<[f64; 2]>>) -> Self {
        let points = points.into();
        Function::Table(Table { points, interpolation: Interpolation::Linear, beyond: Beyond::Hold })
    }

    /// Value at `t` seconds.
    pub fn value(&self, t: f64) -> f64 {
        self.both(t)[0]
    }

    /// Derivative at `t` seconds, per s; from the right where it jumps.
    pub fn derivative(&self, t: f64) -> f64 {
        self.both(t)[1]
    }

    /// Value and derivative.
    pub fn both(&self, t: f64) -> [f64; 2] {
        match self {
            Function::Constant(x) => [*x, 0.0],
            Function::Ramp { from, to, start, end } => {
                let slope = (to - from) / (end - start);
                if t < *start {
                    [*from, 0.0]
                } else if t < *end {
                    [from + slope * (t - start), slope]
                } else {
                    [*to, 0.0]
                }
            }
            Function::Sine { mean, amplitude, frequency, phase } => {
                let (sin, cos) = (TAU * frequency * t + phase).sin_cos();
                [mean + amplitude * sin, TAU * frequency * amplitude * cos]
            }
            Function::Table(table) => table.both(t),
            Function::Callback(call) => (call.0)(t),
        }
    }

    /// Says what is wrong with the parameters.
    pub fn check(&self) -> Result<(), String> {
        let finite = |name: &str, x: f64| {
            if x.is_finite() { Ok(()) } else { Err(format!("{name} must be finite, got {x}")) }
        };
        match self {
            Function::Constant(x) => finite("the constant", *x),
            Function::Ramp { from, to, start, end } => {
                for (name, x) in [("from", from), ("to", to), ("start", start), ("end", end)] {
                    finite(name, *x)?;
                }
                if start < end {
                    Ok(())
                } else {
                    Err(format!("a ramp's end must be after its start, got {start} s to {end} s"))
                }
            }
            Function::Sine { mean, amplitude, frequency, phase } => {
                let all =
                    [("mean", mean), ("amplitude", amplitude), ("frequency", frequency), ("phase", phase)];
                all.into_iter().try_for_each(|(name, x)| finite(name, *x))?;
                // Beyond it a sine has no digits left.
                crate::limits::sized("frequency", *frequency, 1e12, "Hz")
            }
            Function::Table(table) => table.check(),
            Function::Callback(_) => Ok(()),
        }
    }
}

impl Function {
    /// Says which value is beyond `most`; what callbacks compute is not known.
    pub(crate) fn check_size(&self, most: f64, unit: &str) -> Result<(), String> {
        let inside = |x: f64| {
            let text = || format!("must be within {most:e} {unit}, got {x:e}");
            if x.abs() <= most { Ok(()) } else { Err(text()) }
        };
        match self {
            Function::Constant(x) => inside(*x),
            Function::Ramp { from, to, .. } => inside(*from).and(inside(*to)),
            Function::Sine { mean, amplitude, .. } => inside(*mean).and(inside(*amplitude)),
            Function::Table(table) => table.points.iter().try_for_each(|p| inside(p[1])),
            Function::Callback(_) => Ok(()),
        }
    }
}

impl Table {
    fn check(&self) -> Result<(), String> {
        if self.points.is_empty() {
            return Err("a table needs at least one point".into());
        }
        if let Some(k) = self.points.iter().position(|p| !(p[0].is_finite() && p[1].is_finite())) {
            return Err(format!("point {k} of the table must be finite, got {:?}", self.points[k]));
        }
        match self.points.windows(2).position(|w| w[0][0] >= w[1][0]) {
            Some(k) => Err(format!(
                "the times of a table must rise, got {} s then {} s at point {}",
                self.points[k][0],
                self.points[k + 1][0],
                k + 1
            )),
            None => Ok(()),
        }
    }

    fn both(&self, t: f64) -> [f64; 2] {
        let p = &self.points;
        let (Some(first), Some(last)) = (p.first(), p.last()) else { return [0.0; 2] };
        let period = last[0] - first[0];
        let t = match self.beyond {
            Beyond::Repeat if period > 0.0 => first[0] + (t - first[0]).rem_euclid(period),
            _ if t < first[0] => return [first[1], 0.0],
            _ if t >= last[0] => return [last[1], 0.0],
            _ => t,
        };
        let k = p.partition_point(|q| q[0] <= t).clamp(1, p.len() - 1) - 1;
        let (a, b) = (p[k], p[k + 1]);
        let (width, rise) = (b[0] - a[0], b[1] - a[1]);
        let s = (t - a[0]) / width;
        match self.interpolation {
            Interpolation::Linear => [a[1] + s * rise, rise / width],
            Interpolation::Cubic => {
                let (m, n) = (width * self.slope(k), width * self.slope(k + 1));
                let (c2, c3) = (3.0 * rise - 2.0 * m - n, m + n - 2.0 * rise);
                [a[1] + s * (m + s * (c2 + s * c3)), (m + s * (2.0 * c2 + s * 3.0 * c3)) / width]
            }
        }
    }

    /// The slope of the cubics at point k: a weighted harmonic mean of the slopes on its two sides, zero at
    /// an extremum [FritschButland1984, eq. 5 with α = (h₁ + 2h₂)/(3(h₁ + h₂))]. At an end: the side's own
    /// slope, or the other end's neighbour where the table repeats.
    fn slope(&self, k: usize) -> f64 {
        let p = &self.points;
        let side = |k: usize| (p[k + 1][0] - p[k][0], (p[k + 1][1] - p[k][1]) / (p[k + 1][0] - p[k][0]));
        let n = p.len();
        let around = self.beyond == Beyond::Repeat && p[0][1] == p[n - 1][1];
        let (left, right) = match k {
            0 if around => (side(n - 2), side(0)),
            0 => return if self.beyond == Beyond::Hold { 0.0 } else { side(0).1 },
            k if k == n - 1 && around => (side(n - 2), side(0)),
            k if k == n - 1 => return if self.beyond == Beyond::Hold { 0.0 } else { side(n - 2).1 },
            k => (side(k - 1), side(k)),
        };
        let ((h1, d1), (h2, d2)) = (left, right);
        if d1 * d2 <= 0.0 {
            return 0.0;
        }
        let alpha = (h1 + 2.0 * h2) / (3.0 * (h1 + h2));
        d1 * d2 / (alpha * d2 + (1.0 - alpha) * d1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(interpolation: Interpolation, beyond: Beyond) -> Function {
        let points = vec![[0.0, 0.0], [1.0, 2.0], [1.5, 2.0], [3.0, -1.0], [4.0, 0.0]];
        Function::Table(Table { points, interpolation, beyond })
    }

    fn all() -> Vec<Function> {
        let mut all = vec![
            Function::Constant(3.0),
            Function::Ramp { from: 1.0, to: -2.0, start: 0.5, end: 2.5 },
            Function::Sine { mean: 0.3, amplitude: 2.0, frequency: 0.4, phase: 0.7 },
            Function::callback(|t| [t * t, 2.0 * t]),
            Function::callback_value(|t| t * t * t),
        ];
        for i in [Interpolation::Linear, Interpolation::Cubic] {
            all.extend([Beyond::Hold, Beyond::Repeat].map(|b| table(i, b)));
        }
        all
    }

    #[test]
    fn derivatives_are_those_of_the_values() {
        let d = 1e-6;
        for f in all() {
            f.check().unwrap();
            for k in 0..120 {
                let t = -1.03 + 0.0713 * k as f64;
                let slope = (f.value(t + d) - f.value(t - d)) / (2.0 * d);
                assert!((slope - f.derivative(t)).abs() < 1e-5, "{f:?} at {t}: {slope}");
            }
        }
    }

    #[test]
    fn tables_pass_through_their_points_and_stay_between_them() {
        for i in [Interpolation::Linear, Interpolation::Cubic] {
            let f = table(i, Beyond::Hold);
            for (t, x) in
                [(0.0, 0.0), (1.0, 2.0), (1.5, 2.0), (3.0, -1.0), (4.0, 0.0), (9.0, 0.0), (-3.0, 0.0)]
            {
                assert!((f.value(t) - x).abs() < 1e-14, "{i:?} at {t}");
            }
            for k in 0..400 {
                let t = 0.01 * k as f64;
                assert!((-1.0 - 1e-12..=2.0 + 1e-12).contains(&f.value(t)), "{i:?} at {t}");
                // Between equal points nothing moves, between rising ones nothing falls.
                assert!(t >= 1.0 || f.derivative(t) >= 0.0);
                assert!(!(1.0..1.5).contains(&t) || f.derivative(t) == 0.0);
            }
            let again = table(i, Beyond::Repeat);
            assert!((again.value(4.7) - again.value(0.7)).abs() < 1e-12);
            assert!((again.value(-0.5) - again.value(3.5)).abs() < 1e-12);
        }
        assert_eq!(Function::table([[1.0, 5.0]]).both(0.0), [5.0, 0.0]);
    }

    #[test]
    fn bad_parameters_are_named() {
        let ramp = Function::Ramp { from: 0.0, to: 1.0, start: 1.0, end: 1.0 };
        assert!(ramp.check().unwrap_err().contains("end"));
        assert!(Function::table([[0.0, 1.0], [0.0, 2.0]]).check().unwrap_err().contains("rise"));
        assert!(Function::table([]).check().is_err());
        assert!(Function::table([[0.0, f64::NAN]]).check().unwrap_err().contains("point 0"));
        let sine = Function::Sine { mean: 0.0, amplitude: f64::INFINITY, frequency: 1.0, phase: 0.0 };
        assert!(sine.check().unwrap_err().contains("amplitude"));
    }

    #[test]
    fn texts_are_read_as_written() {
        for f in all().into_iter().filter(|f| !matches!(f, Function::Callback(_))) {
            let text = serde_json::to_string(&f).unwrap();
            assert_eq!(serde_json::from_str::<Function>(&text).unwrap(), f, "{text}");
        }
    }
}
