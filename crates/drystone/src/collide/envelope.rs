//! How near two colliders are at rest that have a contact.

/// Contacts exist up to a distance of `base + share · size + more`, m, with the size of the pair
/// ([`crate::Model::pair_size`]).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Envelope<'a> {
    /// For all pairs, m.
    pub base: f64,
    /// Share of the pair's size.
    pub share: f64,
    /// By body slot, m: the larger of both bodies' counts. Empty: nothing.
    pub more: &'a [f64],
}

impl From<f64> for Envelope<'_> {
    /// The same distance for all pairs, m.
    fn from(base: f64) -> Self {
        Self { base, ..Self::default() }
    }
}

impl Envelope<'_> {
    /// The distance for a pair of this size, m.
    #[inline]
    pub fn of_pair(&self, size: f64, bodies: [u32; 2]) -> f64 {
        let more = if self.more.is_empty() { 0.0 } else { self.more(bodies[0]).max(self.more(bodies[1])) };
        self.base + self.of_size(size) + more
    }

    /// By how much the box of a collider grows, m: those of two together by no less than their pair's
    /// distance.
    pub(super) fn of_collider(&self, size: f64, body: u32) -> f64 {
        0.5 * self.base + self.of_size(size) + self.more(body)
    }

    fn of_size(&self, size: f64) -> f64 {
        if size.is_finite() { self.share * size } else { 0.0 }
    }

    fn more(&self, body: u32) -> f64 {
        self.more.get(body as usize).copied().unwrap_or(0.0)
    }
}
