//! Data of the user's own.

use super::World;
use crate::error::WorldError;
use crate::user_data::{Owner, UserData};

impl World {
    pub(crate) fn owns(&self, owner: Owner) -> Result<(), WorldError> {
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
