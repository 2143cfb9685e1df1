//! Colliders of bodies: adding, removing, changing.

use super::World;
use crate::body::{Collider, Filter, Motion};
use crate::collider::ColliderId;
use crate::error::WorldError;
use crate::limits::{ROUGHEST, up_to};
use crate::material::MaterialId;
use crate::model::{BodyId, ColliderSlot, NOBODY, unit};
use crate::shape::{Pose, Shape};
use glam::DVec3;

impl World {
    fn collider_slot(&self, id: ColliderId) -> Result<usize, WorldError> {
        if self.model.contains_collider(id) { Ok(id.slot as usize) } else { Err(WorldError::NoCollider(id)) }
    }

    /// A body's colliders, in slot order. Looks at all colliders of the world.
    pub fn colliders_of(&self, id: BodyId) -> Result<Vec<ColliderId>, WorldError> {
        let slot = self.slot(id)? as u32;
        let all = self.model.colliders.iter().enumerate().filter(|(_, c)| c.body == slot);
        Ok(all.filter_map(|(k, _)| self.model.collider_id(k as u32)).collect())
    }

    /// What a collider is.
    pub fn collider(&self, id: ColliderId) -> Result<&ColliderSlot, WorldError> {
        Ok(&self.model.colliders[self.collider_slot(id)?])
    }

    /// The body that a collider belongs to.
    pub fn collider_body(&self, id: ColliderId) -> Result<BodyId, WorldError> {
        let body = self.collider(id)?.body;
        self.model.id(body).ok_or(WorldError::NoCollider(id))
    }

    /// Where a collider is in the world.
    pub fn collider_pose(&self, id: ColliderId) -> Result<Pose, WorldError> {
        let k = self.collider_slot(id)?;
        self.model.collider_pose(&self.state, k).ok_or(WorldError::NoCollider(id))
    }

    /// Whether a collider reports and does not push.
    pub fn is_sensor(&self, id: ColliderId) -> Result<bool, WorldError> {
        Ok(self.model.is_sensor(self.collider_slot(id)? as u32))
    }

    /// Adds a shape to a living body, before or between steps. Its mass stays as it is.
    pub fn add_collider(&mut self, body: BodyId, collider: Collider) -> Result<ColliderId, WorldError> {
        let i = self.slot(body)?;
        let motion = self.model.bodies[i].motion;
        self.collider_fits(&collider, motion, self.model.centre(i))
            .map_err(|e| WorldError::Body(format!("{}: collider: {e}", self.model.describe(body.slot))))?;
        self.disturb(i);
        self.model.changed();
        let slot = self.model.place_collider(body.slot, collider, self.model.centre(i));
        self.state.whose.add_collider(slot, &self.model.colliders[slot as usize]);
        Ok(ColliderId { slot, generation: self.model.generation(slot) })
    }

    /// What is wrong with a collider in this world.
    pub(crate) fn collider_fits(&self, c: &Collider, motion: Motion, centre: DVec3) -> Result<(), String> {
        c.check(motion)?;
        if let Some(id) = c.material
            && id.0 as usize >= self.model.materials.names().len()
        {
            return Err(format!("there is no material number {}", id.0));
        }
        match self.settings.periodic {
            Some(p) if motion == Motion::Dynamic => {
                p.fits((c.local.position - centre).length() + c.shape.bounding_radius())
            }
            _ => Ok(()),
        }
    }

    /// Removes a shape from its body, before or between steps. Its mass stays as it is.
    pub fn remove_collider(&mut self, id: ColliderId) -> Result<(), WorldError> {
        let k = self.collider_slot(id)?;
        self.disturb(self.model.colliders[k].body as usize);
        self.model.colliders[k].body = NOBODY;
        self.model.free_colliders.push(id.slot);
        *self.model.reused.entry(id.slot).or_default() += 1;
        self.model.set_sensor(id.slot, false);
        self.model.recount();
        self.renamed();
        self.forget_contacts(|pair| pair.contains(&id.slot));
        Ok(())
    }

    /// Gives a collider another shape where it is, between steps.
    pub fn set_collider_shape(&mut self, id: ColliderId, shape: Shape) -> Result<(), WorldError> {
        let k = self.collider_slot(id)?;
        let (body, place) = (self.model.colliders[k].body as usize, self.model.colliders[k].place());
        let new = Collider { local: place, ..Collider::new(shape, 0.0) };
        self.collider_fits(&new, self.model.bodies[body].motion, DVec3::ZERO)
            .map_err(|e| WorldError::Body(format!("collider {}: {e}", id.slot)))?;
        self.disturb(body);
        self.model.colliders[k].radius = place.position.length() + new.shape.bounding_radius();
        self.model.colliders[k].shape = new.shape;
        self.model.recount();
        self.renamed();
        // Features have other names now.
        self.forget_contacts(|pair| pair.contains(&id.slot));
        Ok(())
    }

    /// Puts a collider somewhere else on its body, between steps: `place` is in the body's frame. The body's
    /// mass stays as it is.
    pub fn set_collider_place(&mut self, id: ColliderId, place: Pose) -> Result<(), WorldError> {
        let k = self.collider_slot(id)?;
        let c = &self.model.colliders[k];
        let (body, centre) = (c.body as usize, self.model.centre(c.body as usize));
        let new = Collider { local: place, ..Collider::new(c.shape.clone(), 0.0) };
        self.collider_fits(&new, self.model.bodies[body].motion, centre)
            .map_err(|e| WorldError::Body(format!("collider {}: {e}", id.slot)))?;
        self.disturb(body);
        let local = Pose::new(place.position - centre, unit(place.rotation));
        let c = &mut self.model.colliders[k];
        c.radius = local.position.length() + c.shape.bounding_radius();
        c.local = (local != Pose::IDENTITY).then(|| Box::new(local));
        self.model.recount();
        self.forget_contacts(|pair| pair.contains(&id.slot));
        Ok(())
    }

    /// Where a collider is in its body's frame.
    pub fn collider_place(&self, id: ColliderId) -> Result<Pose, WorldError> {
        let c = &self.model.colliders[self.collider_slot(id)?];
        let local = c.place();
        Ok(Pose { position: local.position + self.model.centre(c.body as usize), ..local })
    }

    /// Sets a collider's coefficient of friction, between steps.
    pub fn set_collider_friction(&mut self, id: ColliderId, mu: f64) -> Result<(), WorldError> {
        let k = self.collider_slot(id)?;
        check_mu(mu)?;
        self.disturb(self.model.colliders[k].body as usize);
        self.model.colliders[k].mu = mu;
        self.model.recount();
        Ok(())
    }

    /// Sets a collider's material, between steps.
    pub fn set_collider_material(
        &mut self,
        id: ColliderId,
        material: Option<MaterialId>,
    ) -> Result<(), WorldError> {
        let k = self.collider_slot(id)?;
        if let Some(m) = material.filter(|m| m.0 as usize >= self.model.materials.names().len()) {
            return Err(WorldError::Body(format!("there is no material number {}", m.0)));
        }
        self.disturb(self.model.colliders[k].body as usize);
        self.model.colliders[k].material = material;
        Ok(())
    }

    /// Sets with what a collider collides, between steps.
    pub fn set_collider_filter(&mut self, id: ColliderId, filter: Filter) -> Result<(), WorldError> {
        let k = self.collider_slot(id)?;
        self.disturb(self.model.colliders[k].body as usize);
        self.model.colliders[k].filter = filter;
        self.model.changed();
        Ok(())
    }

    /// Lets a collider report and not push, or push again, between steps.
    pub fn set_collider_sensor(&mut self, id: ColliderId, sensor: bool) -> Result<(), WorldError> {
        let k = self.collider_slot(id)?;
        self.disturb(self.model.colliders[k].body as usize);
        self.model.set_sensor(id.slot, sensor);
        self.model.changed();
        if sensor {
            self.forget_contacts(|pair| pair.contains(&id.slot));
        }
        Ok(())
    }

    /// Wakes a body and all that it touches; one that is not dynamic may touch anybody.
    pub(crate) fn disturb(&mut self, body: usize) {
        if self.model.bodies[body].motion == Motion::Dynamic {
            self.wake_around(&[body as u32]);
        } else {
            self.wake_all();
        }
    }

    /// Forgets the contacts, and the impulses that they would start from, between such colliders.
    pub(crate) fn forget_contacts(&mut self, gone: impl Fn(&[u32; 2]) -> bool) {
        self.work.collision.contacts.retain(|c| !gone(&c.key.colliders));
        self.state.multipliers.retain(|m| !gone(&m.key.colliders));
    }
}

pub(crate) fn check_mu(mu: f64) -> Result<(), WorldError> {
    up_to("mu", mu, ROUGHEST, "").map_err(WorldError::Body)
}
