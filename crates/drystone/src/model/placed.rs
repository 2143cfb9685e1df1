//! The model and a state together: bodies that are added to both, places of colliders.

use std::sync::Arc;

use glam::{DMat3, DVec3};

use super::{ALIKE, Body, Model, NOBODY, Planar, outer, unit};
use crate::body::{BodyDef, BodyId, Motion};
use crate::collide::Aabb;
use crate::prescribed_motion::Guided;
use crate::shape::Pose;
use crate::state::State;

impl Model {
    /// Adds a checked body to the model and its motion to the state.
    pub(crate) fn add(&mut self, state: &mut State, def: BodyDef) -> BodyId {
        self.changed();
        let dynamic = def.motion == Motion::Dynamic;
        let slot = self.free_bodies.pop().unwrap_or(self.bodies.len() as u32);
        let generation = self.bodies.get(slot as usize).map_or(0, |b| b.generation + 1);
        let centre = if dynamic { def.mass.centre } else { DVec3::ZERO };
        let rotation = unit(def.rotation);
        let position = def.position + rotation * centre;
        let planar = def.planar.map(|n| {
            let normal = n.normalize();
            Planar { normal, offset: normal.dot(position) }
        });
        let inv_inertia = match planar {
            // It turns about one axis only, which keeps its place in the body: the inertia about that axis is
            // all that counts.
            Some(plane) => {
                let axis = rotation.conjugate() * plane.normal;
                outer(axis, axis) * (1.0 / axis.dot(def.mass.inertia * axis))
            }
            None => def.mass.inertia.inverse(),
        };
        let inv_inertia = if dynamic { inv_inertia } else { DMat3::ZERO };
        let mut alike = self.bodies.iter().rev().take(ALIKE);
        let twin = alike.find(|b| *b.mass == def.mass && *b.inv_inertia == inv_inertia);
        let (mass, inv_inertia) = match twin {
            Some(b) => (b.mass.clone(), b.inv_inertia.clone()),
            None => (Arc::new(def.mass), Arc::new(inv_inertia)),
        };
        let inv_mass = if dynamic { 1.0 / mass.mass } else { 0.0 };
        self.facts.dynamic += usize::from(dynamic);
        self.facts.planar += usize::from(planar.is_some());
        let body = Body {
            alive: true,
            generation,
            name: def.name.map(String::into_boxed_str),
            motion: def.motion,
            mass,
            inv_mass,
            inv_inertia,
            group: def.group,
            planar: planar.map(Box::new),
            guide: def.guide.map(|g| Box::new(Guided::new(g, position, rotation))),
            charge: def.charge,
        };
        if slot as usize == self.bodies.len() {
            self.bodies.push(body);
        } else {
            self.bodies[slot as usize] = body;
        }
        let still = def.motion == Motion::Static;
        let (velocity, turn) =
            if still { (DVec3::ZERO, DVec3::ZERO) } else { (def.velocity, def.angular_velocity) };
        let (velocity, turn) = planar.map_or((velocity, turn), |p| (p.within(velocity), p.about(turn)));
        state.place(slot as usize, position, rotation, velocity, rotation.conjugate() * turn);
        state.whose.add_body(slot, &self.bodies[slot as usize]);
        for c in def.colliders {
            let k = self.place_collider(slot, c, centre);
            state.whose.add_collider(k, &self.colliders[k as usize]);
        }
        BodyId { slot, generation }
    }

    /// World placement of a collider; None for an empty slot.
    #[doc(hidden)]
    pub fn collider_pose(&self, state: &State, k: usize) -> Option<Pose> {
        let c = &self.colliders[k];
        if c.body == NOBODY {
            return None;
        }
        let (x, q) = (state.position[c.body as usize], state.rotation[c.body as usize]);
        Some(match &c.local {
            None => Pose::new(x, q),
            Some(local) => Pose::new(x + q * local.position, q * local.rotation),
        })
    }

    /// World bounds of a collider, empty for an empty slot.
    #[doc(hidden)]
    pub fn collider_aabb(&self, state: &State, k: usize) -> Aabb {
        match self.collider_pose(state, k) {
            Some(pose) => self.colliders[k].shape.aabb(&pose),
            None => Aabb { min: DVec3::INFINITY, max: DVec3::NEG_INFINITY },
        }
    }

    /// How fast the surfaces of a contact's two shapes run over their own bodies, A's less B's, m/s, world
    /// axes.
    pub(crate) fn belt(&self, state: &State, colliders: [u32; 2], first: u32) -> DVec3 {
        let mut sum = DVec3::ZERO;
        for k in colliders {
            let c = &self.colliders[k as usize];
            if let Some(velocity) = &c.surface_velocity {
                let v = state.rotation[c.body as usize] * **velocity;
                sum += if c.body == first { v } else { -v };
            }
        }
        sum
    }
}
