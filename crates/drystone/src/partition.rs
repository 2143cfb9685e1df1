//! Parts of a world: some of its bodies as a world of their own, for steps that are taken over ranks, and the
//! way back.
//!
//! Bodies have a global order that does not change during a run ([`World::global_order`]): a part lists its
//! bodies in that order, so that contacts of the same two bodies stand in the same order, and have the same
//! first body, in every part that holds both.

use glam::{DQuat, DVec3};

use crate::body::Motion;
use crate::contact::{Contact, ContactKey, Remembered};
use crate::error::WorldError;
use crate::joint::{JointState, Reaction, WORLD_BODY};
use crate::model::{Model, NOBODY};
use crate::settings::{Integrator, Stabilisation};
use crate::shape::Shape;
use crate::world::World;

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
    /// By own joint slot: the slot in the whole world.
    pub joints: Vec<u32>,
}

/// What a joint has done and starts from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointMotion {
    /// Its slot.
    pub slot: u32,
    /// What it carries from step to step.
    pub state: JointState,
    /// What it did in the last step.
    pub reaction: Reaction,
}

impl World {
    /// What keeps its steps from being taken over ranks, by name.
    pub fn check_parts(&self) -> Result<(), String> {
        let (model, s) = (&self.model, &self.settings);
        let refuse = |what: &str| Err(what.to_string());
        match () {
            () if model.joint_slots().any(|j| model.joints[j].bounces()) => {
                return refuse("limits of joints that bounce");
            }
            () if !self.fields.is_empty() => return refuse("force fields"),
            () if !self.stiff.is_empty() => return refuse("stiff forces"),
            () if self.has_hooks() => {
                return refuse("functions that are called in every step (a scene that is driven)");
            }
            () if !model.materials.is_plain() => return refuse("contact laws beside friction"),
            () if !model.sensors.is_empty() => return refuse("sensors"),
            () if self.events.on => return refuse("events of contacts"),
            () if model.periodic.is_some() => return refuse("a periodic box"),
            () if s.bounds.is_some() => return refuse("bounds"),
            () if s.sleep.is_some() => return refuse("sleep"),
            () if s.substeps > 1 => return refuse("steps in parts (--substeps)"),
            () if s.iterations == 0 => return refuse("position-based steps (--iterations 0)"),
            () if s.budget.is_some() => return refuse("a budget of time (--budget-ms)"),
            () if matches!(s.integrator, Integrator::Moreau { .. }) => {
                return refuse("the integrator moreau");
            }
            () if !matches!(s.stabilisation, Stabilisation::Post { .. }) => {
                return refuse("stabilisation other than post");
            }
            () => {}
        }
        let kinds = |c: &Shape| matches!(c, Shape::HalfSpace | Shape::Mesh(_) | Shape::HeightField(_));
        let of_model = model
            .colliders
            .iter()
            .filter(|c| c.body != NOBODY)
            .map(|c| (model.bodies[c.body as usize].motion == Motion::Dynamic, &c.shape));
        let emitted = self.flow.emitters.iter().flat_map(|emitter| &emitter.bodies);
        let of_emitters = emitted.clone().flat_map(|b| &b.colliders);
        let of_emitters = of_emitters.map(|c| (true, &c.shape));
        for (dynamic, shape) in of_model.chain(of_emitters) {
            if dynamic && kinds(shape) {
                return refuse("bodies that move and are half spaces, meshes or height fields");
            }
        }
        let charged = emitted.clone().any(|b| b.charge != 0.0);
        if charged || model.bodies.iter().any(|b| b.alive && b.charge != 0.0) {
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
        // Once: what is sorted again would give other sums. Bodies that come later have the places of their
        // slots.
        if self.state.order.stamp() == 0 && self.state.step == 0 {
            self.state.sort(&self.model);
        }
        (0..self.model.bodies.len() as u32).map(|slot| self.state.order.rank(slot)).collect()
    }

    /// The bodies in `slots`, which are in the global order, as a world of their own, without contacts. It
    /// has the joints of dynamic bodies that are `owned`, whose bodies are all there.
    pub fn part(&self, slots: &[u32], owned: impl Fn(u32) -> bool) -> Result<Part, WorldError> {
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
        let here = |b: u32| own.get(b as usize).copied().unwrap_or(NOBODY);
        let both = self.model.apart.iter().map(|(a, b)| (here(*a), here(*b)));
        model.apart =
            both.filter(|(a, b)| *a != NOBODY && *b != NOBODY).map(|(a, b)| (a.min(b), a.max(b))).collect();
        model.apart.sort_unstable();
        let mut joints = Vec::new();
        for j in self.model.joint_slots() {
            let joint = &self.model.joints[j];
            let moves =
                |b: u32| self.model.bodies.get(b as usize).is_some_and(|b| b.motion == Motion::Dynamic);
            let mut mine = joint.clone();
            for (to, b) in mine.bodies.iter_mut().zip(joint.bodies).filter(|(_, b)| *b != WORLD_BODY) {
                *to = here(b);
                // Those whose joints are elsewhere turn as they do there.
                if *to != NOBODY {
                    world.work.free.jointed_elsewhere.resize(slots.len(), false);
                    world.work.free.jointed_elsewhere[*to as usize] = true;
                }
            }
            if !joint.bodies.iter().any(|b| moves(*b) && owned(*b)) {
                continue;
            }
            let whole = mine.bodies.iter().zip(joint.bodies).all(|(b, of)| *b != NOBODY || of == WORLD_BODY);
            assert!(whole, "{} has a body that is not in this part", self.model.describe_joint(j as u32));
            joints.push(j as u32);
            model.joints.push(mine);
            world.state.joints.push(self.state.joints[j]);
        }
        model.recount();
        world.state.whose = model.whose();
        world.model = model;
        (world.state.time, world.state.step) = (self.state.time, self.state.step);
        Ok(Part { world, bodies: slots.to_vec(), colliders, joints })
    }

    /// Takes over what joints have done elsewhere.
    pub fn take_joints(&mut self, joints: &[JointMotion]) {
        let rows = &mut self.work.velocity.assembler.rows;
        for j in joints {
            rows.set(j.slot, self.model.joints.len(), j.state, j.reaction);
            self.state.joints[j.slot as usize] = j.state;
        }
    }

    /// Takes over bodies, joints and the state of a world of which this is a copy, where bodies have come and
    /// gone since.
    pub fn take_over(&mut self, of: &World) {
        self.model.clone_from(&of.model);
        self.state.clone_from(&of.state);
        self.moved();
    }

    /// Where the body in a slot is and how it moves.
    pub fn body_motion(&self, slot: u32) -> BodyMotion {
        let (s, i) = (&self.state, slot as usize);
        let (position, rotation) = (s.position[i], s.rotation[i]);
        BodyMotion { slot, position, rotation, velocity: s.velocity[i], omega: s.omega[i] }
    }

    /// Puts the time of a world whose steps are taken elsewhere.
    pub fn set_stage_time(&mut self, time: f64, step: u64) {
        (self.state.time, self.state.step) = (time, step);
    }

    /// What the joint in a slot has done and starts from.
    pub fn joint_motion(&self, slot: u32) -> JointMotion {
        let reaction = self.work.velocity.assembler.rows.reactions.get(slot as usize);
        let state = self.state.joints[slot as usize];
        JointMotion { slot, state, reaction: reaction.copied().unwrap_or_default() }
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
        BodyMotion { slot: self.bodies[k], ..self.world.body_motion(k as u32) }
    }

    /// Puts own body `k` there.
    pub fn put(&mut self, k: usize, m: &BodyMotion) {
        let s = &mut self.world.state;
        (s.position[k], s.rotation[k], s.velocity[k], s.omega[k]) =
            (m.position, m.rotation, m.velocity, m.omega);
    }

    /// What own joint `k` has done, under the whole world's slot.
    pub fn joint(&self, k: usize) -> JointMotion {
        JointMotion { slot: self.joints[k], ..self.world.joint_motion(k as u32) }
    }

    /// Takes over what joints have done elsewhere, by slots of the whole world; those of others are left out.
    pub fn take_joints(&mut self, all: &[JointMotion]) {
        let own = |j: &JointMotion| {
            Some(JointMotion { slot: self.joints.binary_search(&j.slot).ok()? as u32, ..*j })
        };
        let own: Vec<JointMotion> = all.iter().filter_map(own).collect();
        self.world.take_joints(&own);
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
