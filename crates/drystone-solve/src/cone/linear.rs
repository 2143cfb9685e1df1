//! The one-dimensional sets.

use super::AdmissibleSet;

/// All of R. Its dual cone is {0}: the row's velocity must vanish.
#[derive(Clone, Copy, Debug)]
pub struct Free;

impl AdmissibleSet for Free {
    fn rows(&self) -> usize {
        1
    }
    fn project(&self, _: &mut [f64]) {}
    fn support(&self, x: &[f64]) -> f64 {
        if x[0] == 0.0 { 0.0 } else { f64::INFINITY }
    }
}

/// γ ≥ 0, its own dual.
#[derive(Clone, Copy, Debug)]
pub struct NonNegative;

impl AdmissibleSet for NonNegative {
    fn rows(&self) -> usize {
        1
    }
    fn project(&self, x: &mut [f64]) {
        x[0] = x[0].max(0.0);
    }
    fn support(&self, x: &[f64]) -> f64 {
        if x[0] <= 0.0 { 0.0 } else { f64::INFINITY }
    }
}

/// lo ≤ γ ≤ hi, either end may be infinite.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

impl AdmissibleSet for Interval {
    fn rows(&self) -> usize {
        1
    }
    fn project(&self, x: &mut [f64]) {
        x[0] = x[0].max(self.lo).min(self.hi);
    }
    /// The dual of the recession cone: R when both ends are finite.
    fn project_dual(&self, x: &mut [f64]) {
        let up = self.hi == f64::INFINITY;
        let down = self.lo == f64::NEG_INFINITY;
        x[0] = match (down, up) {
            (false, false) => x[0],
            (false, true) => x[0].max(0.0),
            (true, false) => x[0].min(0.0),
            (true, true) => 0.0,
        };
    }
    fn support(&self, x: &[f64]) -> f64 {
        match x[0] {
            0.0 => 0.0,
            x if x > 0.0 => x * self.hi,
            x => x * self.lo,
        }
    }
    fn is_cone(&self) -> bool {
        (self.lo == 0.0 || self.lo == f64::NEG_INFINITY) && (self.hi == 0.0 || self.hi == f64::INFINITY)
    }
}
