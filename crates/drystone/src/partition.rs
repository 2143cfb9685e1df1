//! Parts of a world: some of its bodies as a world of their own, for steps that are taken over ranks, and the
//! way back.
//!
//! Bodies have a global order that does not change during a run ([`World::global_order`]): a part lists its
//! bodies in that order, so that contacts of the same two bodies stand in the same order, and have the same
//! first body, in every part that holds both.

use glam::{DQuat, DVec3};

use crate::body::Motion;
use crate::contact::{Contact, ContactKey, Remembered};
use crate::model::{Model, NOBODY};
use crate::settings::{Integrator, Stabilisation};
use crate::shape::Shape;
use crate::world::{World, WorldError};

/// Where a body is and how it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyMotion {
    /// Its slot.
    pub slot: u32,
    /// m
    pub position: DVec3,
    /// Body to world.
    pub rotation: DQuat,
    /// m/s
    pub velocity: DVec3,
    /// Body axes, rad/s.
    pub omega: DVec3,
}

/// Some bodies of a world as a world of their own.
pub struct Part {
    /// Its own slots count from 0, in the global order.
    pub world: World,
    /// By own body slot: the slot in the whole world.
    pub bodies: Vec<u32>,
    /// By own collider slot: the slot in the whole world.
    pub colliders: Vec<u32>,
}

impl World {
    /// What keeps its steps from being taken over ranks, by name.
    pub fn check_parts(&self) -> Result<(), String> {
        let (model, s) = (&self.model, &self.settings);
        let refuse = |what: &str| Err(what.to_string());
        match () {
            () if model.joint_slots().next().is_some() => return refuse("joints"),
            () if !self.fields.is_empty() => return refuse("force fields"),
            () if !self.stiff.is_empty() => return refuse("stiff forces"),
            () if !self.flow.emitters.is_empty() || !self.flow.sinks.is_empty() => {
                return refuse("emitters or sinks");
            }
            () if self.hooks.any() => {
                return refuse("functions that are called in every step (a scene that is driven)");
            }
            () if !model.materials.is_plain() => return refuse("contact laws beside friction"),
            () if !model.sensors.is_empty() => return refuse("sensors"),
            () if self.events.on => return refuse("events of contacts"),
            () if !model.apart.is_empty() => return refuse("pairs that do not collide"),
            () if model.periodic.is_some() => return refuse("a periodic box"),
            () if s.bounds.is_some() => return refuse("bounds"),
            () if s.sleep.is_some() => return refuse("sleep"),
            () if s.substeps > 1 => return refuse("steps in parts (--substeps)"),
            () if s.iterations == 0 => return refuse("position-based steps (--iterations 0)"),
            () if s.budget.is_some() => return refuse("a budget of time (--budget-ms)"),
            () if s.model != drystone_solve::FrictionLaw::Ccp => {
                return refuse("the exact friction law (--model coulomb)");
            }
            () if matches!(s.integrator, Integrator::Moreau { .. }) => {
                return refuse("the integrator moreau");
            }
            () if !matches!(s.stabilisation, Stabilisation::Post { .. }) => {
                return refuse("stabilisation other than post");
            }
            () => {}
        }
        for c in model.colliders.iter().filter(|c| c.body != NOBODY) {
            let dynamic = model.bodies[c.body as usize].motion == Motion::Dynamic;
            match c.shape {
                _ if c.surface_velocity.is_some() => return refuse("belts"),
                Shape::HalfSpace | Shape::Mesh(_) | Shape::HeightField(_) if dynamic => {
                    return refuse("bodies that move and are half spaces, meshes or height fields");
                }
                _ => {}
            }
        }
        if model.bodies.iter().any(|b| b.alive && b.charge != 0.0) {
            return refuse("charges");
        }
        let forces = [&self.state.force, &self.state.torque];
        if forces.into_iter().flatten().any(|f| *f != DVec3::ZERO) {
            return refuse("applied forces");
        }
        Ok(())
    }

    /// By body slot: the place of each body in the order that steps over ranks work in. It is part of the
    /// state: a run that is resumed goes on in the same one.
    pub fn global_order(&mut self) -> Vec<u32> {
        // Once: what is sorted again would give other sums.
        if self.state.order.stamp() == 0 {
            self.state.sort(&self.model);
        }
        (0..self.model.bodies.len() as u32).map(|slot| self.state.order.rank(slot)).collect()
    }

    /// The bodies in `slots`, which are in the global order, as a world of their own, without contacts.
    pub fn part(&self, slots: &[u32]) -> Result<Part, WorldError> {
        let mut world = World::new(self.settings.clone())?;
        let mut own = vec![NOBODY; self.model.bodies.len()];
        let mut model = Model::default();
        model.materials = self.model.materials.clone();
        for (k, slot) in slots.iter().enumerate() {
            let i = *slot as usize;
            own[i] = k as u32;
            model.bodies.push(self.model.bodies[i].clone());
            let s = &self.state;
            world.state.place(k, s.position[i], s.rotation[i], s.velocity[i], s.omega[i]);
        }
        let of = |c: &&u32| own[self.model.colliders[**c as usize].body as usize];
        let all: Vec<u32> = (0..self.model.colliders.len() as u32)
            .filter(|k| {
                let body = self.model.colliders[*k as usize].body;
                body != NOBODY && own[body as usize] != NOBODY
            })
            .collect();
        let mut colliders = all;
        colliders.sort_by_key(|c| (of(&c), *c));
        for k in &colliders {
            let mut c = self.model.colliders[*k as usize].clone();
            c.body = own[c.body as usize];
            model.colliders.push(c);
        }
        model.recount();
        world.model = model;
        (world.state.time, world.state.step) = (self.state.time, self.state.step);
        Ok(Part { world, bodies: slots.to_vec(), colliders })
    }

    /// Takes over where bodies came to elsewhere, and which contacts they had, with the colliders of each in
    /// the global order.
    pub fn take_parts(&mut self, time: f64, step: u64, moved: &[BodyMotion], contacts: &[Contact]) {
        let Self { model, state, work, .. } = self;
        for m in moved {
            let i = m.slot as usize;
            (state.position[i], state.rotation[i]) = (m.position, m.rotation);
            (state.velocity[i], state.omega[i]) = (m.velocity, m.omega);
        }
        (state.time, state.step) = (time, step);
        let to = &mut work.collision.contacts;
        to.clear();
        to.extend(
            contacts
                .iter()
                .map(|c| if c.key.colliders[0] > c.key.colliders[1] { turned(model, c) } else { *c }),
        );
        to.sort_unstable_by_key(|c| (state.order.place(model, c.key.colliders), c.key.feature));
        crate::contact::keep(to, &mut state.multipliers);
    }

    /// The contacts that the next step starts from, with colliders in the given global order of their bodies.
    /// Their geometry is not known.
    pub fn remembered(&self, order: &[u32]) -> Vec<Contact> {
        let model = &self.model;
        let place = |k: u32| order[model.colliders[k as usize].body as usize];
        let contact = |m: &Remembered| {
            let [a, b] = m.key.colliders;
            let c = Contact {
                key: m.key,
                bodies: model.ordered_bodies([a, b]).0,
                point: DVec3::ZERO,
                normal: DVec3::ZERO,
                gap: 0.0,
                mu: 0.0,
                impulse: m.impulse,
            };
            if place(a) > place(b) { turned(model, &c) } else { c }
        };
        self.state.multipliers.iter().map(contact).collect()
    }
}

/// The same contact with its colliders the other way round. Of two dynamic bodies the first is that of the
/// first collider.
fn turned(model: &Model, c: &Contact) -> Contact {
    let [a, b] = c.key.colliders;
    let [first, second] = c.key.parts();
    let key = ContactKey::new([b, a], [second, first], c.key.features()).with_image(c.key.image());
    let both = c.bodies.iter().all(|i| model.bodies[*i as usize].inv_mass > 0.0);
    if !both {
        return Contact { key, ..*c };
    }
    Contact { key, bodies: [c.bodies[1], c.bodies[0]], normal: -c.normal, impulse: -c.impulse, ..*c }
}

impl Part {
    /// Where own body `k` is, under the whole world's slot.
    pub fn motion(&self, k: usize) -> BodyMotion {
        let s = &self.world.state;
        let (position, rotation) = (s.position[k], s.rotation[k]);
        BodyMotion { slot: self.bodies[k], position, rotation, velocity: s.velocity[k], omega: s.omega[k] }
    }

    /// Puts own body `k` there.
    pub fn put(&mut self, k: usize, m: &BodyMotion) {
        let s = &mut self.world.state;
        (s.position[k], s.rotation[k], s.velocity[k], s.omega[k]) =
            (m.position, m.rotation, m.velocity, m.omega);
    }

    /// The contacts of the last step, with bodies and colliders of the whole world, the latter in the order
    /// of this part's.
    pub fn contacts(&self) -> impl Iterator<Item = Contact> + '_ {
        self.world.contacts().iter().map(|c| {
            let colliders = c.key.colliders.map(|k| self.colliders[k as usize]);
            let bodies = c.bodies.map(|b| self.bodies[b as usize]);
            Contact { key: ContactKey { colliders, ..c.key }, bodies, ..*c }
        })
    }

    /// The same the other way round: takes these for the contacts of the last step, and what the next one
    /// starts from. `own` says of a collider of the whole world which one it is here; contacts of others are
    /// left out.
    pub fn take_contacts(&mut self, all: &[Contact], own: impl Fn(u32) -> Option<u32>) {
        let World { model, state, work, .. } = &mut self.world;
        let known = |c: &Contact| {
            let [a, b] = c.key.colliders;
            let colliders = [own(a)?, own(b)?];
            let bodies = model.ordered_bodies(colliders).0;
            Some(Contact { key: ContactKey { colliders, ..c.key }, bodies, ..*c })
        };
        let to = &mut work.collision.contacts;
        to.clear();
        to.extend(all.iter().filter_map(known));
        to.sort_unstable_by_key(|c| c.key);
        to.dedup_by_key(|c| c.key);
        crate::contact::keep(to, &mut state.multipliers);
    }
}
