//! Contact laws: what ⟨γ, u⟩ are asked to satisfy at a contact with friction.
//!
//! ```text
//!     ccp         K ∋ γ ⊥ u ∈ K*                        convex; a body that slides at u_T lifts at μ |u_T|
//!     coulomb     K ∋ γ ⊥ u + s(u) e_n ∈ K*             exact; s(u) = μ |u_T|
//! ```
//!
//! The correction s takes that lift away: then u_n ≥ 0, γ_n u_n = 0, and friction opposes the slip, which is
//! Coulomb's law with Signorini's condition \[DeSaxce1998\]. With moments that share the normal, s(u) =
//! μ |u_T| + μ_r |u_M|. Nothing else changes: bilateral rows, motors and limits have no slip.

use serde::{Deserialize, Serialize};

use crate::cone::{Set, norm};
use crate::solver::BadSpec;

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FrictionLaw {
    /// The convex relaxation.
    #[default]
    Ccp,
    /// Exact Coulomb friction.
    Coulomb,
}

impl FrictionLaw {
    /// The names.
    pub const NAMES: &'static [&'static str] = &["ccp", "coulomb"];

    /// A model by its name.
    pub fn parse(name: &str) -> Result<Self, BadSpec> {
        match name {
            "ccp" => Ok(FrictionLaw::Ccp),
            "coulomb" => Ok(FrictionLaw::Coulomb),
            other => Err(BadSpec::unknown("model", other, Self::NAMES)),
        }
    }

    /// As the command line spells it.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Adds s(u) to the first row of `u` where this model asks for it, and returns it.
    #[inline]
    pub(crate) fn correct(self, set: Set, u: &mut [f64]) -> f64 {
        match self {
            FrictionLaw::Ccp => 0.0,
            FrictionLaw::Coulomb => {
                let s = slip_term(set, u);
                u[0] += s;
                s
            }
        }
    }

    /// The least residual of a contact whose cone opens by `mu` and whose normal velocity is `normal`, m/s.
    /// Seen by the natural map an approach counts 1/√(1 + μ²) times, the distance to K* along its edge: next
    /// to nothing where friction is all but without limit. Under the exact law the normal velocity itself has
    /// a sign, and counts as much as with a friction of ten at least.
    #[inline(always)]
    pub fn approach(self, mu: f64, normal: f64) -> f64 {
        match self == FrictionLaw::Coulomb && mu > STEEP && normal < 0.0 {
            true => -normal / (1.0 + STEEP * STEEP).sqrt(),
            false => 0.0,
        }
    }
}

/// Friction beyond which the natural map loses sight of the normal velocity.
const STEEP: f64 = 10.0;

/// s(u), m/s: what exact Coulomb adds to the normal velocity of a block; zero for sets without friction.
#[inline(always)]
pub fn slip_term(set: Set, u: &[f64]) -> f64 {
    match set {
        Set::Friction2 { mu } => mu * u[1].abs(),
        Set::Friction3 { mu } => mu * norm(&u[1..3]),
        Set::Rolling5 { mu, mu_r } => mu * norm(&u[1..3]) + mu_r * norm(&u[3..5]),
        Set::Free | Set::NonNegative | Set::Interval { .. } => 0.0,
    }
}
