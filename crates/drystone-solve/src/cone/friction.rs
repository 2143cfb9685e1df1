//! The friction cone and its exact projection [TasoraAnitescu2011, eq. 45-46].
//!
//! ```text
//!     FC = { γ : √(γ_u² + γ_v²) ≤ μ γ_n },   γ_r = √(γ_u² + γ_v²)
//!     μ γ_r ≤ -γ_n           Π(γ) = 0          (inside the polar cone)
//!     γ_r ≤ μ γ_n            Π(γ) = γ
//!     otherwise              Π_n = (γ_r μ + γ_n) / (μ² + 1),   Π_T = γ_T μ Π_n / γ_r
//! ```
//!
//! Written with μ γ_r ≤ -γ_n in place of the paper's γ_r < -γ_n / μ, and asked first, so that μ = 0 (the
//! half-line of normal multipliers) needs no special case: then the third line gives Π = (γ_n, 0, 0).

use super::{AdmissibleSet, norm};

/// Projects (γ_n, γ_T) on the friction cone; any number of tangential components.
#[inline]
pub fn project_friction(mu: f64, x: &mut [f64]) {
    let (n, t) = (x[0], norm(&x[1..]));
    if mu * t <= -n {
        x.fill(0.0);
        return;
    }
    if t <= mu * n {
        return;
    }
    let p = (mu * t + n) / (mu * mu + 1.0);
    // Here t > 0 whenever the scale matters: t = 0 would have been inside or polar, except for mu = 0, n > 0.
    let scale = if t > 0.0 { mu * p / t } else { 0.0 };
    x[0] = p;
    for x in &mut x[1..] {
        *x *= scale;
    }
}

/// σ of the friction cone: zero on the polar cone { μ |x_T| ≤ -x_n ... } = { x_n + μ |x_T| ≤ 0 }, else
/// infinite.
fn support(mu: f64, x: &[f64]) -> f64 {
    if x[0] + mu * norm(&x[1..]) <= 0.0 { 0.0 } else { f64::INFINITY }
}

/// Planar friction: rows (normal, tangent).
#[derive(Clone, Copy, Debug)]
pub struct Friction2 {
    /// Coefficient of friction.
    pub mu: f64,
}

/// The round cone: rows (normal, tangent, tangent).
#[derive(Clone, Copy, Debug)]
pub struct Friction3 {
    /// Coefficient of friction.
    pub mu: f64,
}

impl AdmissibleSet for Friction2 {
    fn rows(&self) -> usize {
        2
    }
    fn project(&self, x: &mut [f64]) {
        project_friction(self.mu, x);
    }
    fn support(&self, x: &[f64]) -> f64 {
        support(self.mu, x)
    }
}

impl AdmissibleSet for Friction3 {
    fn rows(&self) -> usize {
        3
    }
    fn project(&self, x: &mut [f64]) {
        project_friction(self.mu, x);
    }
    fn support(&self, x: &[f64]) -> f64 {
        support(self.mu, x)
    }
}
