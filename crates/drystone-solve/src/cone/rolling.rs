//! The five-dimensional cone: tangential force and a moment (rolling or spinning) that share one normal.
//!
//! ```text
//!     K  = { γ : |γ_T| ≤ μ γ_n,  |γ_M| ≤ μ_r γ_n }
//!     K* = { u : u_n ≥ μ |u_T| + μ_r |u_M| }
//! ```
//!
//! Projection: for a fixed normal part n the best tangential parts are radial clips, which leaves the
//! convex one-dimensional problem
//!
//! ```text
//!     min over n ≥ 0 of  ½ (n - x_n)² + ½ max(0, |x_T| - μ n)² + ½ max(0, |x_M| - μ_r n)²
//! ```
//!
//! whose derivative is piecewise linear and increasing: its root lies on one of four pieces.

use super::{AdmissibleSet, norm};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Rolling5 {
    /// Coefficient of friction.
    pub mu: f64,
    /// Bound on the moment per normal multiplier.
    pub mu_r: f64,
}

impl AdmissibleSet for Rolling5 {
    fn rows(&self) -> usize {
        5
    }

    fn project(&self, x: &mut [f64]) {
        let (mu, mr) = (self.mu, self.mu_r);
        let (n0, t, m) = (x[0], norm(&x[1..3]), norm(&x[3..5]));
        if n0 + mu * t + mr * m <= 0.0 {
            x.fill(0.0);
            return;
        }
        // Where each part stops slipping as n grows. The derivative is increasing and continuous, so its sign
        // at these two points tells the piece of the root, and rounding at a joint of two pieces does no
        // harm.
        let end = |part: f64, mu: f64| if part > 0.0 { part / mu } else { 0.0 };
        let (end_t, end_m) = (end(t, mu), end(m, mr));
        let slope = |n: f64| n - n0 - mu * (t - mu * n).max(0.0) - mr * (m - mr * n).max(0.0);
        let passed = |end: f64| end.is_finite() && slope(end) <= 0.0;
        let (mut top, mut bottom) = (n0, 1.0);
        if !passed(end_t) {
            top += mu * t;
            bottom += mu * mu;
        }
        if !passed(end_m) {
            top += mr * m;
            bottom += mr * mr;
        }
        let n = (top / bottom).max(0.0);
        x[0] = n;
        let (clip_t, clip_m) = (mu * n, mr * n);
        if t > clip_t {
            x[1] *= clip_t / t;
            x[2] *= clip_t / t;
        }
        if m > clip_m {
            x[3] *= clip_m / m;
            x[4] *= clip_m / m;
        }
    }

    fn support(&self, x: &[f64]) -> f64 {
        let s = x[0] + self.mu * norm(&x[1..3]) + self.mu_r * norm(&x[3..5]);
        if s <= 0.0 { 0.0 } else { f64::INFINITY }
    }
}
