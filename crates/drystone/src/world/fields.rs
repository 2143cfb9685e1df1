//! Force fields.

use super::World;
use crate::error::WorldError;
use crate::field::cells::Cells;
use crate::field::{Acting, Field, Placed, Wrench};

impl World {
    /// Adds a force field.
    ///
    /// ```
    /// use drystone::{BodyDef, Field, Settings, Shape, Wrench, World};
    /// use glam::DVec3;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut world = World::new(Settings { gravity: DVec3::ZERO, ..Settings::default() })?;
    /// let ball = world.add_body(BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 2.0))?;
    /// world.add_field(Field::callback("wind", |body, t| Wrench::force(4.0 * t * DVec3::X - body.velocity)))?;
    /// for _ in 0..100 {
    ///     world.step()?;
    /// }
    /// assert!(world.velocity(ball)?.x > 0.5);
    /// # Ok(())
    /// # }
    /// ```
    pub fn add_field(&mut self, field: Field) -> Result<(), WorldError> {
        field
            .check()
            .and_then(|()| field.fits(self.settings.periodic.as_ref()))
            .map_err(WorldError::Field)?;
        self.fields.push(field);
        Ok(())
    }

    /// The force fields, in the order in which they were added.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Takes all force fields away.
    pub fn clear_fields(&mut self) {
        self.fields.clear();
    }

    /// Whether the fields fit into a world with these periods.
    pub(crate) fn fields_fit(&self, periodic: Option<&crate::collide::Periodic>) -> Result<(), WorldError> {
        self.fields.iter().try_for_each(|f| f.fits(periodic)).map_err(WorldError::Settings)
    }

    fn placed(&self) -> Placed<'_> {
        Placed::of(&self.state)
    }

    /// What the fields do to each body now, by slot; empty without fields. What is said of bodies that are
    /// not dynamic is the reaction to what they do to others.
    pub fn field_wrenches(&self) -> Vec<Wrench> {
        let mut acting = Acting::default();
        acting.at(&self.fields, &self.model, self.placed());
        acting.wrench
    }

    /// Potential energy of the fields that have one, J.
    pub(crate) fn field_energy(&self) -> f64 {
        let (placed, mut cells) = (self.placed(), Cells::default());
        let one = |field: &Field| match field {
            Field::Pair(pair) => pair.energy(&self.model, placed.x, &mut cells),
            Field::Callback { energy: Some(energy), .. } => {
                let views = self.model.dynamic().filter_map(|i| placed.view(&self.model, i));
                views.map(|view| energy(&view, placed.time)).sum()
            }
            Field::Callback { energy: None, .. } => 0.0,
        };
        self.fields.iter().map(one).sum()
    }
}
