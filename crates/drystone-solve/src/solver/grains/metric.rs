//! Lengths along normals that count less than those across.

use super::eight::{Eight, Octet};
use super::pack::Pack;

/// Lengths along normals count κ times less than across.
#[derive(Clone, Copy)]
pub(super) struct Metric {
    pub kappa: f32,
    /// μ, κμ, 1/(1 + κμ²), where friction is the same for all.
    pub friction: [f32; 3],
}

impl Metric {
    pub fn new(kappa: f64, mu: f32) -> Self {
        let pull = kappa as f32 * mu;
        Self { kappa: kappa as f32, friction: [mu, pull, 1.0 / (1.0 + pull * mu)] }
    }

    /// μ, κμ, 1/(1 + κμ²), where they are the same for all contacts.
    ///
    /// # Safety
    /// The machine has the instructions of `V`.
    #[inline(always)]
    pub unsafe fn same_friction<V: Eight>(&self) -> [V; 3] {
        let [mu, pull, share] = self.friction;
        unsafe { [V::splat(mu), V::splat(pull), V::splat(share)] }
    }

    /// The same for the contacts of group `g`.
    ///
    /// # Safety
    /// There is such a group, and a next one where `V` is two eights; the machine has the instructions of `V`.
    #[inline(always)]
    pub unsafe fn friction<V: Eight>(&self, pack: &Pack, g: usize) -> [V; 3] {
        unsafe {
            if pack.each_mu.is_empty() {
                return self.same_friction();
            }
            let mu = V::load(pack.each_mu.get_unchecked(g), size_of::<Octet>());
            let (one, pull) = (V::splat(1.0), V::splat(self.kappa).mul(mu));
            [mu, pull, one.div(one.plus(pull, mu))]
        }
    }
}

/// η_t over a contact's step, which is 1/g: the mean diagonal of 1 is shared out among normals and tangents.
pub(super) fn across(kappa: f64) -> f64 {
    (2.0 + 1.0 / kappa) / 3.0
}
