//! Lengths along normals that count less than those across.

use super::super::contact::update::Friction;
use super::pack::Pack;
use crate::simd::{F32Lanes, Lanes};

/// Lengths along normals count κ times less than across.
#[derive(Clone, Copy)]
pub(super) struct Metric {
    pub kappa: f32,
    /// μ, κμ, 1/(1 + κμ²), where friction is the same for all.
    friction: Friction<f32>,
}

impl Metric {
    pub fn new(kappa: f64, mu: f32) -> Self {
        let pull = kappa as f32 * mu;
        Self { kappa: kappa as f32, friction: Friction { mu, pull, share: 1.0 / (1.0 + pull * mu) } }
    }

    /// Where friction is the same for all contacts.
    #[inline(always)]
    pub fn same_friction<V: Lanes<Number = f32>>(&self) -> Friction<V> {
        let Friction { mu, pull, share } = self.friction;
        Friction { mu: V::splat(mu), pull: V::splat(pull), share: V::splat(share) }
    }

    /// The same for the contacts of groups `g .. g + EIGHTS`.
    #[inline(always)]
    pub fn friction<V: F32Lanes>(&self, pack: &Pack, g: usize) -> Friction<V> {
        match pack.each_friction(g) {
            Some(mu) => Friction::scaled(mu, V::splat(self.kappa)),
            None => self.same_friction(),
        }
    }

    /// |Δ|² with lengths along the normal, `along`, counted by 1/κ² of their squares.
    #[inline(always)]
    pub fn square<V: Lanes<Number = f32>>(&self, sq: V, along: V) -> V {
        sq.sub_product(V::splat(1.0 - 1.0 / (self.kappa * self.kappa)), along * along)
    }
}

/// η_t over a contact's step, which is 1/g: the mean diagonal of 1 is shared out among normals and tangents.
pub(super) fn across(kappa: f64) -> f64 {
    (2.0 + 1.0 / kappa) / 3.0
}
