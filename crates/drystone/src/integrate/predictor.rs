//! Arcs of contacts of bodies that turn.
//!
//! The lowest point of an egg that spins on a table moves over its surface. A step along the tangent lets the
//! egg sink in, in second order, and corrections lift it again: work against gravity that nobody does, step
//! after step. So the gap of a contact is foretold where the free turn of its bodies leads,
//!
//! ```text
//!     Φ(q₀) + h D(q₀)ᵀ v + κ ≥ 0,      κ = Φ(q₀ ⊕ h ω) - Φ(q₀) - h D(q₀)ᵀ ω
//! ```
//!
//! with forces along D(q₀) and the gap that of the end: what SHAKE does for joints [Hairer2006, §VII.1.4],
//! which neither gains nor loses energy in the long run. The work of a contact is γ times the mean of the
//! speeds before and after, and those are opposite while it lasts. A new one is asked to part at no more than
//! it closes at, -κ ≤ -h Dᵀ v_free: it does no work either.
//!
//! Balls about their centres have no arcs. Bodies on joints are left out: their joints have arcs of their own
//! (`formulation/rows/curvature.rs`).

use std::collections::HashMap;

use crate::contact::{Contact, ContactKey};

/// Arcs of a step's contacts, and buffers.
#[derive(Default)]
pub(crate) struct Predictor {
    /// κ of contacts that have one, m.
    pub arcs: HashMap<ContactKey, f64>,
    /// Those of them that only the turns bring about, in rising order.
    pub added: Vec<ContactKey>,
    /// By body slot: whether it stays as it is.
    pub stays: Vec<bool>,
    /// Contacts where the turns lead.
    pub ends: Vec<Contact>,
}

impl Predictor {
    /// Whether some contact has an arc.
    pub fn is_bent(&self) -> bool {
        !self.arcs.is_empty()
    }

    /// κ of a contact, m: 0 for most.
    pub fn arc(&self, key: &ContactKey) -> f64 {
        if self.arcs.is_empty() { 0.0 } else { self.arcs.get(key).copied().unwrap_or(0.0) }
    }

    /// The gap of a contact at the start, m. One that the turns bring about has none there: its points are
    /// those that meet at the end.
    pub fn gap(&self, c: &Contact) -> f64 {
        if !self.added.is_empty() && self.added.binary_search(&c.key).is_ok() {
            c.gap.max(0.0)
        } else {
            c.gap
        }
    }
}
