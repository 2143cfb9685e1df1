//! What happens between two surfaces that touch: friction, restitution, rolling and spinning resistance,
//! cohesion, compliance. A [`PairLaw`] is data; `formulation.rs` turns the laws of a step's contacts into
//! rows of the problem, `impact.rs` says how fast a hit lets go, `expansion.rs` does so by impulses.

pub(crate) mod expansion;
pub(crate) mod formulation;
pub(crate) mod impact;

use serde::{Deserialize, Serialize};

use crate::limits::{FARTHEST, FASTEST, ROUGHEST, STIFFEST, STRONGEST, up_to};
use crate::settings::Stabilisation;

/// Which quantity a coefficient of restitution compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Impact {
    /// Normal speeds before and after, all contacts of the step together: u⁺ + e u⁻ ≥ 0 ⊥ γ ≥ 0
    /// \[Moreau1988\].
    #[default]
    Newton,
    /// Normal impulses of compression and expansion: γ_e ≥ e γ_c \[AnitescuPotra1997\]. Costs a second solve
    /// in steps with a hit.
    Poisson,
}

impl Impact {
    /// As scene files spell them.
    pub const NAMES: [(&'static str, Impact); 2] = [("newton", Impact::Newton), ("poisson", Impact::Poisson)];
}

/// The law of a pair of surfaces.
///
/// ```
/// use drystone::PairLaw;
/// let rubber = PairLaw { restitution: 0.8, ..PairLaw::friction(0.9) };
/// assert!(rubber.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PairLaw {
    /// Coefficient of friction (of sticking, where `mu_kinetic` differs).
    pub mu: f64,
    /// Coefficient of friction while sliding; None: `mu`.
    pub mu_kinetic: Option<f64>,
    /// Up to this sliding speed at the start of a step a contact counts as sticking, m/s.
    pub stick_speed: f64,
    /// Coefficient of restitution e, from 0 to 1.
    pub restitution: f64,
    /// What e compares.
    pub impact: Impact,
    /// Slower hits do not bounce, m/s. None: |g| h, what gravity gives in one step.
    pub bounce_speed: Option<f64>,
    /// Arm of rolling resistance, m: the moment about tangential axes is at most this times the normal force.
    pub rolling: f64,
    /// Arm of spinning resistance, m: the moment about the normal is at most this times the normal force.
    pub spinning: f64,
    /// Largest tension c between the two shapes, N, shared by their contact points: the normal force may go
    /// down to -c, and friction holds up to μ (n + c).
    pub cohesion: f64,
    /// Stiffness k of one contact point, N/m. None: rigid.
    pub stiffness: Option<f64>,
    /// Damping of one compliant contact point, N s/m.
    pub damping: f64,
    /// Share K of the overlap that a step removes, in (0, 1]: where the world's stabilisation is
    /// [`crate::Stabilisation::Scaled`], in place of its K. None: that one.
    pub k: Option<f64>,
}

impl Default for PairLaw {
    fn default() -> Self {
        Self {
            mu: 0.0,
            mu_kinetic: None,
            stick_speed: 1e-3,
            restitution: 0.0,
            impact: Impact::Newton,
            bounce_speed: None,
            rolling: 0.0,
            spinning: 0.0,
            cohesion: 0.0,
            stiffness: None,
            damping: 0.0,
            k: None,
        }
    }
}

impl PairLaw {
    /// Friction and nothing else.
    pub fn friction(mu: f64) -> Self {
        Self { mu, ..Self::default() }
    }

    /// Whether there is friction and nothing else.
    pub fn is_plain(&self) -> bool {
        *self
            == Self {
                stick_speed: self.stick_speed,
                bounce_speed: self.bounce_speed,
                ..Self::friction(self.mu)
            }
    }

    /// Whether contacts resist rolling or spinning.
    pub(crate) fn turns(&self) -> bool {
        self.rolling > 0.0 || self.spinning > 0.0
    }

    /// Says which number is impossible, or which two laws exclude each other.
    pub fn check(&self) -> Result<(), String> {
        for (name, x, most, unit) in [
            ("mu", self.mu, ROUGHEST, ""),
            ("mu_kinetic", self.mu_kinetic.unwrap_or(0.0), ROUGHEST, ""),
            ("stick_speed", self.stick_speed, FASTEST, "m/s"),
            ("restitution", self.restitution, f64::MAX, ""),
            ("bounce_speed", self.bounce_speed.unwrap_or(0.0), FASTEST, "m/s"),
            ("rolling", self.rolling, FARTHEST, "m"),
            ("spinning", self.spinning, FARTHEST, "m"),
            ("cohesion", self.cohesion, STRONGEST, "N"),
            ("damping", self.damping, STIFFEST, "N s/m"),
        ] {
            up_to(name, x, most, unit)?;
        }
        if self.restitution > 1.0 {
            return Err(format!("restitution must be from 0 to 1, got {}", self.restitution));
        }
        Stabilisation::check_own(self.k)?;
        if let Some(k) = self.stiffness
            && !(k.is_finite() && k > 0.0)
        {
            return Err(format!("stiffness must be positive and finite, got {k}"));
        }
        up_to("stiffness", self.stiffness.unwrap_or(0.0), STIFFEST, "N/m")?;
        if let Some(kinetic) = self.mu_kinetic
            && kinetic > self.mu
        {
            return Err(format!("mu_kinetic must not be above mu ({}), got {kinetic}", self.mu));
        }
        let poisson = self.restitution > 0.0 && self.impact == Impact::Poisson;
        let excluded = [
            (
                self.restitution > 0.0 && self.stiffness.is_some(),
                "restitution and stiffness exclude each other: how a compliant contact rebounds follows from its damping",
            ),
            (
                self.damping > 0.0 && self.stiffness.is_none(),
                "damping needs a stiffness: a rigid contact has nothing to damp",
            ),
            (
                poisson && self.cohesion > 0.0,
                "restitution by impulses (poisson) and cohesion exclude each other: tension is no part of a compression",
            ),
            (
                poisson && self.turns(),
                "restitution by impulses (poisson) and rolling or spinning resistance exclude each other",
            ),
        ];
        match excluded.iter().find(|(is, _)| *is) {
            Some((_, why)) => Err((*why).into()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_numbers_and_pairs_of_laws_are_named() {
        let law = PairLaw::friction(0.5);
        assert!(law.check().is_ok() && law.is_plain());
        let wrong = |law: PairLaw| law.check().unwrap_err();
        assert!(wrong(PairLaw { restitution: 1.1, ..law }).contains("restitution"));
        assert!(wrong(PairLaw { cohesion: -1.0, ..law }).contains("cohesion"));
        assert!(wrong(PairLaw { mu_kinetic: Some(0.6), ..law }).contains("mu_kinetic"));
        assert!(wrong(PairLaw { stiffness: Some(0.0), ..law }).contains("stiffness"));
        assert!(wrong(PairLaw { damping: 1.0, ..law }).contains("stiffness"));
        assert!(wrong(PairLaw { k: Some(1.5), ..law }).contains("K must be"));
        assert!(wrong(PairLaw { k: Some(0.0), ..law }).contains("K must be"));
        let soft = wrong(PairLaw { restitution: 0.5, stiffness: Some(1e4), ..law });
        assert!(soft.contains("restitution") && soft.contains("stiffness"));
        let poisson = PairLaw { restitution: 0.5, impact: Impact::Poisson, ..law };
        assert!(poisson.check().is_ok() && !poisson.is_plain());
        assert!(wrong(PairLaw { cohesion: 1.0, ..poisson }).contains("cohesion"));
        assert!(wrong(PairLaw { rolling: 0.1, ..poisson }).contains("rolling"));
    }
}
