//! Numbers of the user's own on bodies, colliders and joints: an index into a table, a pointer's bits, flags.
//!
//! The engine does nothing with them. They are saved with the world, and forgotten with what they belong to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::collider::ColliderId;
use crate::joint::JointId;
use crate::model::BodyId;
use crate::world::{World, WorldError};

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
    of: BTreeMap<Owner, u128>,
    /// How many there may be before those of the dead are looked for.
    full: usize,
}

impl UserData {
    /// As halves, lower first, which every format holds.
    pub fn saved(&self, world: &World) -> Vec<(Owner, [u64; 2])> {
        let living = self.of.iter().filter(|(owner, _)| world.owns(**owner).is_ok());
        living.map(|(owner, x)| (*owner, [*x as u64, (*x >> 64) as u64])).collect()
    }

    pub fn loaded(saved: Vec<(Owner, [u64; 2])>) -> Self {
        let whole = |[low, high]: [u64; 2]| u128::from(high) << 64 | u128::from(low);
        Self { of: saved.into_iter().map(|(owner, x)| (owner, whole(x))).collect(), full: 0 }
    }
}

impl World {
    fn owns(&self, owner: Owner) -> Result<(), WorldError> {
        match owner {
            Owner::Body(id) => self.slot(id).map(drop),
            Owner::Collider(id) => self.collider(id).map(drop),
            Owner::Joint(id) => self.joint(id).map(drop),
        }
    }

    /// The number that was left with a body, collider or joint; 0 if none was.
    ///
    /// ```
    /// # use drystone::{BodyDef, Settings, Shape, World};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut world = World::new(Settings::default())?;
    /// let ball = world.add_body(BodyDef::dynamic(Shape::sphere(0.1), 1.0))?;
    /// world.set_user_data(ball, 42)?;
    /// assert_eq!(world.user_data(ball)?, 42);
    /// # Ok(())
    /// # }
    /// ```
    pub fn user_data(&self, of: impl Into<Owner>) -> Result<u128, WorldError> {
        let owner = of.into();
        self.owns(owner)?;
        Ok(self.user_data.of.get(&owner).copied().unwrap_or(0))
    }

    /// Leaves a number with a body, collider or joint, for as long as that is there.
    pub fn set_user_data(&mut self, of: impl Into<Owner>, data: u128) -> Result<(), WorldError> {
        let owner = of.into();
        self.owns(owner)?;
        if data == 0 {
            self.user_data.of.remove(&owner);
            return Ok(());
        }
        if self.user_data.of.len() >= self.user_data.full {
            let mut all = std::mem::take(&mut self.user_data.of);
            all.retain(|owner, _| self.owns(*owner).is_ok());
            self.user_data = UserData { full: 2 * all.len() + 64, of: all };
        }
        self.user_data.of.insert(owner, data);
        Ok(())
    }
}
