//! Which law a pair of surfaces has: a table of pairs that are known, and for all others a rule that combines
//! the two coefficients of friction.

use serde::{Deserialize, Serialize};

pub use crate::law::PairLaw;

/// How the friction of a pair follows from its two surfaces, where the table says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Combine {
    /// √(μ₁ μ₂).
    #[default]
    GeometricMean,
    /// (μ₁ + μ₂) / 2.
    Mean,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// μ₁ μ₂.
    Product,
}

impl Combine {
    /// As scene files spell them.
    pub const NAMES: [(&'static str, Combine); 5] = [
        ("geometric-mean", Combine::GeometricMean),
        ("mean", Combine::Mean),
        ("min", Combine::Min),
        ("max", Combine::Max),
        ("product", Combine::Product),
    ];

    /// The coefficient of the pair.
    #[inline]
    pub fn mu(self, a: f64, b: f64) -> f64 {
        match self {
            Combine::GeometricMean if a == b => a,
            Combine::GeometricMean => (a * b).sqrt(),
            Combine::Mean => 0.5 * (a + b),
            Combine::Min => a.min(b),
            Combine::Max => a.max(b),
            Combine::Product => a * b,
        }
    }
}

/// The largest coefficient of friction that contacts have: beyond it a cone is as good as a half-space (its
/// sides are within 0.06 degrees of one), and multipliers across the normal are lost in the rounding of those
/// along it. Larger ones are taken for it.
pub const MOST_FRICTION: f64 = 1e3;

/// A material by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MaterialId(pub u16);

/// Materials by name, and their pairs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Materials {
    /// For pairs without a row of their own.
    pub combine: Combine,
    names: Vec<String>,
    /// Sorted by pair, the lower number first.
    pairs: Vec<((MaterialId, MaterialId), PairLaw)>,
    /// Of pairs without a row, but for the friction.
    #[serde(default)]
    other: PairLaw,
}

impl Materials {
    /// The material of that name, made if it is new.
    ///
    /// # Errors
    /// With more than 65,535 materials.
    pub fn add(&mut self, name: &str) -> Result<MaterialId, String> {
        if let Some(id) = self.find(name) {
            return Ok(id);
        }
        let id = u16::try_from(self.names.len()).map_err(|_| "more than 65,535 materials".to_string())?;
        self.names.push(name.into());
        Ok(MaterialId(id))
    }

    /// The material of that name.
    pub fn find(&self, name: &str) -> Option<MaterialId> {
        self.names.iter().position(|n| n == name).map(|k| MaterialId(k as u16))
    }

    /// All names, by number.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Says what happens between two materials, or one and itself.
    ///
    /// # Errors
    /// For a coefficient that no surface can have, laws that exclude each other, or a material that is not of
    /// this table.
    pub fn set_pair(&mut self, a: MaterialId, b: MaterialId, law: PairLaw) -> Result<(), String> {
        for id in [a, b] {
            if id.0 as usize >= self.names.len() {
                return Err(format!("there is no material number {}", id.0));
            }
        }
        let name = |id: MaterialId| &self.names[id.0 as usize];
        law.check().map_err(|e| format!("between '{}' and '{}': {e}", name(a), name(b)))?;
        let key = (a.min(b), a.max(b));
        match self.pairs.binary_search_by_key(&key, |p| p.0) {
            Ok(k) => self.pairs[k].1 = law,
            Err(k) => self.pairs.insert(k, (key, law)),
        }
        Ok(())
    }

    /// All rows, sorted by pair, the lower number first.
    pub fn pairs(&self) -> &[((MaterialId, MaterialId), PairLaw)] {
        &self.pairs
    }

    /// The row of a pair.
    pub fn pair(&self, a: MaterialId, b: MaterialId) -> Option<PairLaw> {
        let key = (a.min(b), a.max(b));
        self.pairs.binary_search_by_key(&key, |p| p.0).ok().map(|k| self.pairs[k].1)
    }

    /// Says what happens between surfaces that no row is about, beside friction: that follows from their own
    /// coefficients, and the `mu` given here does not count.
    ///
    /// # Errors
    /// For a number that no surface can have, or laws that exclude each other.
    pub fn set_other(&mut self, law: PairLaw) -> Result<(), String> {
        if law.mu_kinetic.is_some() {
            return Err("mu_kinetic needs a pair: without one, mu follows from two surfaces".into());
        }
        law.check().map_err(|e| format!("between materials without a pair: {e}"))?;
        self.other = PairLaw { mu: 0.0, ..law };
        Ok(())
    }

    /// The law of pairs without a row; its `mu` does not count.
    pub fn other(&self) -> &PairLaw {
        &self.other
    }

    /// Whether all pairs have friction and nothing else.
    pub fn is_plain(&self) -> bool {
        self.other.is_plain() && self.pairs.iter().all(|(_, law)| law.is_plain())
    }

    /// The largest arm of rolling or spinning resistance, m.
    pub(crate) fn largest_arm(&self) -> f64 {
        let laws = self.pairs.iter().map(|(_, law)| law).chain([&self.other]);
        laws.map(|law| law.rolling + law.spinning).fold(0.0, f64::max)
    }

    /// The law between two surfaces, each with its own coefficient of friction and perhaps a material.
    pub fn law(&self, a: (f64, Option<MaterialId>), b: (f64, Option<MaterialId>)) -> PairLaw {
        if let (Some(x), Some(y)) = (a.1, b.1)
            && let Some(law) = self.pair(x, y)
        {
            return law;
        }
        PairLaw { mu: self.combine.mu(a.0, b.0), ..self.other }
    }

    /// No pair of surfaces whose own coefficients are at most `mu` has more friction than this.
    pub fn most(&self, mu: f64) -> f64 {
        let rule = self.combine.mu(mu, mu).max(mu);
        self.pairs.iter().map(|(_, law)| law.mu).fold(rule, f64::max)
    }

    /// Friction between two surfaces, each with its own coefficient and perhaps a material; at most
    /// [`MOST_FRICTION`].
    #[inline]
    pub fn mu(&self, a: (f64, Option<MaterialId>), b: (f64, Option<MaterialId>)) -> f64 {
        if let (Some(x), Some(y)) = (a.1, b.1)
            && let Some(law) = self.pair(x, y)
        {
            return law.mu.min(MOST_FRICTION);
        }
        self.combine.mu(a.0, b.0).min(MOST_FRICTION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_before_rules() {
        let mut m = Materials::default();
        let (steel, ice) = (m.add("steel").unwrap(), m.add("ice").unwrap());
        assert_eq!(m.add("steel"), Ok(steel));
        m.set_pair(ice, steel, PairLaw::friction(0.03)).unwrap();
        assert_eq!(m.mu((0.4, Some(steel)), (0.9, Some(ice))), 0.03);
        assert_eq!(m.mu((0.4, Some(ice)), (0.9, Some(steel))), 0.03);
        assert!((m.mu((0.4, Some(steel)), (0.9, Some(steel))) - 0.6).abs() < 1e-15);
        assert!((m.mu((0.4, None), (0.9, Some(ice))) - 0.6).abs() < 1e-15);
        m.set_pair(steel, ice, PairLaw::friction(0.05)).unwrap();
        assert_eq!(m.mu((0.4, Some(steel)), (0.9, Some(ice))), 0.05);
        assert_eq!((m.most(0.4), m.most(0.01)), (0.4, 0.05));
        m.combine = Combine::Product;
        assert_eq!(m.most(2.0), 4.0);
        assert!(m.set_pair(steel, ice, PairLaw::friction(f64::NAN)).is_err());
        assert!(m.set_pair(steel, MaterialId(7), PairLaw::friction(0.1)).is_err());
    }

    #[test]
    fn every_rule_is_symmetric_and_between() {
        for (name, rule) in Combine::NAMES {
            let x = rule.mu(0.2, 0.8);
            assert_eq!(x, rule.mu(0.8, 0.2), "{name}");
            assert!((0.16 - 1e-15..=0.8).contains(&x), "{name}: {x}");
        }
        assert_eq!(Combine::Product.mu(0.5, 0.5), 0.25);
        assert_eq!(Combine::Mean.mu(0.2, 0.8), 0.5);
        assert_eq!(Combine::Min.mu(0.2, 0.8), 0.2);
        assert_eq!(Combine::Max.mu(0.2, 0.8), 0.8);
    }
}
