//! Admissible sets of multipliers: each constraint block's γ lives in one of these.
//!
//! A set K is closed and convex. Four facts about it are all that solvers and certificates need: the
//! Euclidean projection P onto K, the projection onto the dual cone K* = { u : ⟨u, γ⟩ ≥ 0 for all γ in K },
//! the support function σ(x) = sup { ⟨x, γ⟩ : γ ∈ K }, and whether K is a cone at all.
//!
//! For a cone, Moreau's decomposition x = P_K(x) + P_K°(x) with the polar K° = -K* gives the dual
//! projection for free: P_K*(x) = x + P_K(-x).

mod derivative;
mod exact;
mod face;
mod friction;
mod linear;
mod natural;
mod rolling;

pub use friction::{Friction2, Friction3, project_friction};
pub use linear::{Free, Interval, NonNegative};
pub use rolling::Rolling5;

use serde::{Deserialize, Serialize};

/// Largest number of rows in one block.
pub const MAX_ROWS: usize = 5;

/// What a solver or a certificate may ask of a block's set.
pub trait AdmissibleSet {
    /// Number of rows of the block.
    fn rows(&self) -> usize;

    /// Replaces `x` by the nearest point of K.
    fn project(&self, x: &mut [f64]);

    /// Replaces `x` by the nearest point of the dual cone K* (of the recession cone, if K is bounded).
    fn project_dual(&self, x: &mut [f64]) {
        let mut p = [0.0; MAX_ROWS];
        let p = &mut p[..x.len()];
        for (p, x) in p.iter_mut().zip(x.iter()) {
            *p = -x;
        }
        self.project(p);
        for (x, p) in x.iter_mut().zip(p.iter()) {
            *x += p;
        }
    }

    /// σ(x) = sup over K of ⟨x, γ⟩; infinite where unbounded.
    fn support(&self, x: &[f64]) -> f64;

    /// Whether K is a cone (closed under positive scaling).
    fn is_cone(&self) -> bool {
        true
    }
}

/// The closed list of sets, as stored in a problem.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Set {
    /// All of R: a bilateral constraint.
    Free,
    /// γ ≥ 0: a unilateral constraint without friction.
    NonNegative,
    /// lo ≤ γ ≤ hi: a motor with limited force, or friction in a joint.
    Interval {
        /// Smallest multiplier, N s (may be -∞).
        lo: f64,
        /// Largest multiplier, N s (may be +∞).
        hi: f64,
    },
    /// Planar friction, rows (normal, tangent): |γ_t| ≤ μ γ_n.
    Friction2 {
        /// Coefficient of friction.
        mu: f64,
    },
    /// The round friction cone, rows (normal, tangent, tangent): |γ_T| ≤ μ γ_n.
    Friction3 {
        /// Coefficient of friction.
        mu: f64,
    },
    /// Friction and moments that share one normal, rows (normal, 2 tangents, 2 moments).
    Rolling5 {
        /// Coefficient of friction.
        mu: f64,
        /// Bound on the moment per normal multiplier (a length, unless the rows were scaled).
        mu_r: f64,
    },
}

macro_rules! each {
    ($set:expr, $k:ident => $body:expr) => {
        match $set {
            Set::Free => {
                let $k = Free;
                $body
            }
            Set::NonNegative => {
                let $k = NonNegative;
                $body
            }
            Set::Interval { lo, hi } => {
                let $k = Interval { lo, hi };
                $body
            }
            Set::Friction2 { mu } => {
                let $k = Friction2 { mu };
                $body
            }
            Set::Friction3 { mu } => {
                let $k = Friction3 { mu };
                $body
            }
            Set::Rolling5 { mu, mu_r } => {
                let $k = Rolling5 { mu, mu_r };
                $body
            }
        }
    };
}

impl AdmissibleSet for Set {
    fn rows(&self) -> usize {
        each!(*self, k => k.rows())
    }
    fn project(&self, x: &mut [f64]) {
        each!(*self, k => k.project(x))
    }
    fn project_dual(&self, x: &mut [f64]) {
        each!(*self, k => k.project_dual(x))
    }
    fn support(&self, x: &[f64]) -> f64 {
        each!(*self, k => k.support(x))
    }
    fn is_cone(&self) -> bool {
        each!(*self, k => k.is_cone())
    }
}

impl Set {
    /// Says what is wrong with the parameters, if anything.
    pub fn check(&self) -> Result<(), String> {
        let coefficient = |name: &str, x: f64| {
            if x.is_finite() && x >= 0.0 {
                Ok(())
            } else {
                Err(format!("{name} must be finite and not negative, got {x}"))
            }
        };
        match *self {
            Set::Free | Set::NonNegative => Ok(()),
            Set::Interval { lo, hi } if lo <= hi => Ok(()),
            Set::Interval { lo, hi } => Err(format!("an interval needs lo <= hi, got [{lo}, {hi}]")),
            Set::Friction2 { mu } | Set::Friction3 { mu } => coefficient("mu", mu),
            Set::Rolling5 { mu, mu_r } => coefficient("mu", mu).and(coefficient("mu_r", mu_r)),
        }
    }

    /// How far a cone opens: μ, or √(μ² + μ_r²); zero for sets without friction.
    #[inline(always)]
    pub fn opening(&self) -> f64 {
        match *self {
            Set::Friction2 { mu } | Set::Friction3 { mu } => mu,
            Set::Rolling5 { mu, mu_r } => mu.hypot(mu_r),
            Set::Free | Set::NonNegative | Set::Interval { .. } => 0.0,
        }
    }
}

pub(crate) fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}
