//! Numbers of the user's own on bodies, colliders and joints: an index into a table, a pointer's bits, flags.
//!
//! The engine does nothing with them. They are saved with the world, and forgotten with what they belong to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::collider::ColliderId;
use crate::joint::JointId;
use crate::model::BodyId;

/// What data can belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Owner {
    /// A body.
    Body(BodyId),
    /// A collider.
    Collider(ColliderId),
    /// A joint.
    Joint(JointId),
}

impl From<BodyId> for Owner {
    fn from(id: BodyId) -> Self {
        Owner::Body(id)
    }
}

impl From<ColliderId> for Owner {
    fn from(id: ColliderId) -> Self {
        Owner::Collider(id)
    }
}

impl From<JointId> for Owner {
    fn from(id: JointId) -> Self {
        Owner::Joint(id)
    }
}

/// The data of a world, of those that have some.
#[derive(Default)]
pub(crate) struct UserData {
    pub of: BTreeMap<Owner, u128>,
    /// How many there may be before those of the dead are looked for.
    pub full: usize,
}

impl UserData {
    /// As halves, lower first, which every format holds.
    pub fn saved(&self, lives: impl Fn(Owner) -> bool) -> Vec<(Owner, [u64; 2])> {
        let living = self.of.iter().filter(|(owner, _)| lives(**owner));
        living.map(|(owner, x)| (*owner, [*x as u64, (*x >> 64) as u64])).collect()
    }

    pub fn loaded(saved: Vec<(Owner, [u64; 2])>) -> Self {
        let whole = |[low, high]: [u64; 2]| u128::from(high) << 64 | u128::from(low);
        Self { of: saved.into_iter().map(|(owner, x)| (owner, whole(x))).collect(), full: 0 }
    }
}
