//! The bodies and shapes of a world, without their motion: flat arrays over slots. A removed body leaves its
//! slot to the next one added; a generation number keeps old ids from meaning the newcomer.

mod placed;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use glam::{DMat3, DQuat, DVec3};
use serde::{Deserialize, Serialize};

pub use crate::body::BodyId;
use crate::body::{Collider, Filter, MassProperties, Motion};
use crate::collide::Periodic;
use crate::joint::Joint;
use crate::material::{MaterialId, Materials, PairLaw};
use crate::prescribed_motion::Guided;
use crate::shape::{Pose, Shape};

/// Marks an empty collider slot.
pub(crate) const NOBODY: u32 = u32::MAX;

/// A body slot. What few bodies have is kept apart, and what many have alike is kept once: there may be
/// millions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Body {
    /// Whether the slot holds a body now.
    pub alive: bool,
    /// See [`BodyId`].
    pub generation: u32,
    /// For messages.
    pub name: Option<Box<str>>,
    /// How it moves.
    pub motion: Motion,
    /// In the body's frame.
    pub mass: Arc<MassProperties>,
    /// 1/m, or 0 if it is not dynamic; 1/kg.
    pub inv_mass: f64,
    /// Inverse inertia in body axes, or 0; 1/(kg m²).
    pub inv_inertia: Arc<DMat3>,
    /// Bodies of one group other than 0 do not collide.
    pub group: u32,
    /// The plane it is locked to.
    #[serde(default)]
    pub planar: Option<Box<Planar>>,
    /// What leads it, if it is kinematic.
    #[serde(default)]
    pub guide: Option<Box<Guided>>,
    /// C.
    #[serde(default)]
    pub charge: f64,
}

/// The plane that a body's centre of mass stays in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planar {
    /// Unit, world axes.
    pub normal: DVec3,
    /// normal · position, m.
    pub offset: f64,
}

impl Planar {
    /// The part of a vector that lies in the plane.
    pub(crate) fn within(&self, v: DVec3) -> DVec3 {
        v - self.normal * self.normal.dot(v)
    }

    /// The part of a vector along the normal.
    pub(crate) fn about(&self, v: DVec3) -> DVec3 {
        self.normal * self.normal.dot(v)
    }

    /// The nearest point of the plane.
    pub(crate) fn nearest(&self, x: DVec3) -> DVec3 {
        x + self.normal * (self.offset - self.normal.dot(x))
    }
}

/// A collider slot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ColliderSlot {
    /// The body's slot; `u32::MAX` if empty.
    pub body: u32,
    /// Geometry.
    pub shape: Shape,
    /// Placement relative to the body's centre of mass, along the body's axes; None: there, and as the body
    /// is turned.
    #[serde(default)]
    pub local: Option<Box<Pose>>,
    /// Coefficient of friction.
    pub mu: f64,
    /// Its material.
    pub material: Option<MaterialId>,
    /// With what it collides.
    pub filter: Filter,
    /// How its surface runs over the body, m/s, the body's axes: a belt. Only what is tangential counts.
    #[serde(default)]
    pub surface_velocity: Option<Box<DVec3>>,
    /// Radius about the centre of mass that holds the shape, m.
    pub radius: f64,
}

/// All bodies and colliders.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Model {
    /// By body slot.
    pub bodies: Vec<Body>,
    /// By collider slot.
    pub colliders: Vec<ColliderSlot>,
    /// Friction of pairs.
    pub materials: Materials,
    /// Whether the world repeats: the settings' word, kept where geometry is worked out.
    #[serde(default)]
    pub periodic: Option<Periodic>,
    /// Pairs of body slots that do not collide, the lower first, sorted.
    pub(crate) apart: Vec<(u32, u32)>,
    free_bodies: Vec<u32>,
    pub(crate) free_colliders: Vec<u32>,
    /// Collider slots that report and do not push, sorted.
    #[serde(default)]
    pub(crate) sensors: Vec<u32>,
    /// How often collider slots were given back, where they were.
    #[serde(default)]
    pub(crate) reused: BTreeMap<u32, u32>,
    /// By joint slot.
    #[serde(default)]
    pub joints: Vec<Joint>,
    #[serde(default)]
    pub(crate) free_joints: Vec<u32>,
    /// Another number, unlike that of any other model, after every change to which pairs may touch or are
    /// joined; 0 if unknown.
    #[serde(skip)]
    revision: u64,
    /// Of this revision.
    #[serde(skip)]
    facts: Facts,
}

/// What steps ask of all bodies and colliders together.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// How many bodies are dynamic.
    pub dynamic: usize,
    /// How many were ever locked to a plane, since some were last removed.
    pub planar: usize,
    /// The largest friction that a collider has of its own.
    pub mu: f64,
    /// Of the inner radii of colliders of dynamic bodies, m: the smallest, and sum and number of those that
    /// end.
    pub smallest: f64,
    sum: f64,
    count: usize,
    /// How many colliders are no spheres.
    pub others: usize,
}

impl Default for Facts {
    fn default() -> Self {
        Self { dynamic: 0, planar: 0, mu: 0.0, smallest: f64::INFINITY, sum: 0.0, count: 0, others: 0 }
    }
}

impl Facts {
    /// The mean of the inner radii, m.
    pub fn typical(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }

    fn add(&mut self, c: &ColliderSlot, moves: bool) {
        self.mu = self.mu.max(c.mu);
        self.others += usize::from(!matches!(c.shape, Shape::Sphere { .. }));
        let size = c.shape.inner_radius();
        if moves {
            self.smallest = self.smallest.min(size);
        }
        if moves && size.is_finite() {
            (self.sum, self.count) = (self.sum + size, self.count + 1);
        }
    }

    fn of(model: &Model) -> Self {
        let mut facts = Self { dynamic: model.dynamic().count(), ..Self::default() };
        facts.planar = model.bodies.iter().filter(|b| b.planar.is_some()).count();
        for c in &model.colliders {
            // Empty slots too: they keep their friction until they are taken.
            facts.add(c, model.bodies.get(c.body as usize).is_some_and(|b| b.inv_mass > 0.0));
        }
        facts
    }
}

impl ColliderSlot {
    /// How its surface runs over the body, m/s, the body's axes; zero for most.
    #[inline]
    pub fn belt(&self) -> DVec3 {
        self.surface_velocity.as_deref().copied().unwrap_or_default()
    }

    /// Its placement relative to the body's centre of mass.
    #[inline]
    pub fn place(&self) -> Pose {
        self.local.as_deref().copied().unwrap_or(Pose::IDENTITY)
    }
}

/// Bodies that are looked at for one of the same mass and inertia.
const ALIKE: usize = 8;

/// Normalised, unless it is a unit quaternion already up to rounding: a saved state then comes back bit for
/// bit.
pub(crate) fn unit(q: DQuat) -> DQuat {
    if (q.length_squared() - 1.0).abs() <= 4.0 * f64::EPSILON { q } else { q.normalize() }
}

/// a bᵀ.
pub(crate) fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

impl Model {
    /// Equal numbers, not 0, mean the same colliders with the same leave to touch, and joints between the
    /// same bodies.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// What all of them have in common.
    pub(crate) fn facts(&self) -> Facts {
        if self.revision == 0 { Facts::of(self) } else { self.facts }
    }

    /// Makes room for so many more bodies, each of one collider.
    pub(crate) fn reserve(&mut self, bodies: usize) {
        self.bodies.reserve_exact(bodies);
        self.colliders.reserve_exact(bodies);
    }

    /// Free slots of bodies, colliders and joints, the next to be taken last.
    pub(crate) fn free_slots(&self) -> [Vec<u32>; 3] {
        [self.free_bodies.clone(), self.free_colliders.clone(), self.free_joints.clone()]
    }

    /// Goes on with the free slots and the facts of a saved model.
    pub(crate) fn resume(&mut self, [bodies, colliders, joints]: [Vec<u32>; 3], facts: Facts) {
        (self.free_bodies, self.free_colliders, self.free_joints) = (bodies, colliders, joints);
        self.changed();
        self.facts = facts;
    }

    /// To be said of every such change.
    pub(crate) fn changed(&mut self) {
        if self.revision == 0 {
            self.facts = Facts::of(self);
        }
        static LAST: AtomicU64 = AtomicU64::new(0);
        self.revision = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    }

    /// Puts a shape into a slot; `centre` is the body's centre of mass in its own frame.
    pub(crate) fn place_collider(&mut self, body: u32, c: Collider, centre: DVec3) -> u32 {
        let local = Pose::new(c.local.position - centre, unit(c.local.rotation));
        let radius = local.position.length() + c.shape.bounding_radius();
        let entry = ColliderSlot {
            body,
            shape: c.shape,
            local: (local != Pose::IDENTITY).then(|| Box::new(local)),
            mu: c.mu,
            material: c.material,
            filter: c.filter,
            surface_velocity: (c.surface_velocity != DVec3::ZERO).then(|| Box::new(c.surface_velocity)),
            radius,
        };
        self.facts.add(&entry, self.bodies[body as usize].inv_mass > 0.0);
        let k = self.free_colliders.pop().unwrap_or(self.colliders.len() as u32);
        if k as usize == self.colliders.len() {
            self.colliders.push(entry);
        } else {
            self.colliders[k as usize] = entry;
        }
        self.set_sensor(k, c.sensor);
        k
    }

    /// Works out again what all bodies and colliders have in common.
    pub(crate) fn recount(&mut self) {
        self.changed();
        self.facts = Facts::of(self);
    }

    /// Removes bodies; their slots are free from now on.
    pub(crate) fn remove(&mut self, ids: &[BodyId]) {
        self.changed();
        for id in ids {
            let body = &mut self.bodies[id.slot as usize];
            if std::mem::take(&mut body.alive) {
                self.free_bodies.push(id.slot);
            }
        }
        let bodies = &self.bodies;
        self.apart.retain(|&(a, b)| bodies[a as usize].alive && bodies[b as usize].alive);
        for (k, c) in self.colliders.iter_mut().enumerate().rev() {
            if c.body != NOBODY && !bodies[c.body as usize].alive {
                c.body = NOBODY;
                self.free_colliders.push(k as u32);
                *self.reused.entry(k as u32).or_default() += 1;
            }
        }
        let colliders = &self.colliders;
        self.sensors.retain(|k| colliders[*k as usize].body != NOBODY);
        self.facts = Facts::of(self);
    }

    /// Whether the id still names a body.
    pub fn contains(&self, id: BodyId) -> bool {
        self.bodies.get(id.slot as usize).is_some_and(|b| b.alive && b.generation == id.generation)
    }

    /// The id of the body in a slot, if there is one.
    pub fn id(&self, slot: u32) -> Option<BodyId> {
        let b = self.bodies.get(slot as usize)?;
        b.alive.then_some(BodyId { slot, generation: b.generation })
    }

    /// "body 7" or "body 7 (mast)".
    pub fn describe(&self, slot: u32) -> String {
        match self.bodies.get(slot as usize).and_then(|b| b.name.as_ref()) {
            Some(name) => format!("body {slot} ({name})"),
            None => format!("body {slot}"),
        }
    }

    /// Slots that hold no body now.
    pub fn empty_slots(&self) -> &[u32] {
        &self.free_bodies
    }

    /// Slots of the living bodies.
    pub fn slots(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        (0..self.bodies.len()).filter(|&i| self.bodies[i].alive)
    }

    /// Slots of the living dynamic bodies.
    pub fn dynamic(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.slots().filter(|&i| self.bodies[i].motion == Motion::Dynamic)
    }

    /// Whether contacts between two colliders are wanted at all.
    pub(crate) fn may_touch(&self, i: u32, j: u32) -> bool {
        let (ci, cj) = (&self.colliders[i as usize], &self.colliders[j as usize]);
        let (a, b) = (ci.body, cj.body);
        if a == b || a == NOBODY || b == NOBODY || !ci.filter.meets(cj.filter) {
            return false;
        }
        if !self.sensors.is_empty() && (self.is_sensor(i) || self.is_sensor(j)) {
            return false;
        }
        if !self.apart.is_empty() && self.apart.binary_search(&(a.min(b), a.max(b))).is_ok() {
            return false;
        }
        let (a, b) = (&self.bodies[a as usize], &self.bodies[b as usize]);
        (a.motion == Motion::Dynamic || b.motion == Motion::Dynamic) && (a.group == 0 || a.group != b.group)
    }

    /// The bodies of two colliders in the order of a contact, which wants a dynamic one first; whether that
    /// turned them.
    #[inline]
    pub(crate) fn ordered_bodies(&self, colliders: [u32; 2]) -> ([u32; 2], bool) {
        let [a, b] = colliders.map(|k| self.colliders[k as usize].body);
        if self.bodies[a as usize].inv_mass == 0.0 { ([b, a], true) } else { ([a, b], false) }
    }

    /// Friction of a pair.
    pub(crate) fn pair_mu(&self, i: u32, j: u32) -> f64 {
        let (a, b) = (&self.colliders[i as usize], &self.colliders[j as usize]);
        self.materials.mu((a.mu, a.material), (b.mu, b.material))
    }

    /// The law of a pair.
    pub(crate) fn pair_law(&self, colliders: [u32; 2]) -> PairLaw {
        let [a, b] = colliders.map(|k| &self.colliders[k as usize]);
        self.materials.law((a.mu, a.material), (b.mu, b.material))
    }

    /// Whether contacts of a pair are compliant.
    pub(crate) fn is_soft(&self, colliders: [u32; 2]) -> bool {
        !self.materials.is_plain() && self.pair_law(colliders).stiffness.is_some()
    }

    /// What a hovering gap of the pair is per way slid: μ, and for resistance to rolling its arm over the
    /// size.
    pub(crate) fn pair_hover(&self, i: u32, j: u32) -> f64 {
        let arm = if self.materials.largest_arm() > 0.0 {
            let law = self.pair_law([i, j]);
            (law.rolling + law.spinning) / self.pair_size(i, j)
        } else {
            0.0
        };
        self.pair_mu(i, j) + arm
    }

    /// No pair of colliders has more friction than this.
    pub(crate) fn most_mu(&self) -> f64 {
        self.materials.most(self.facts().mu)
    }

    /// Lets two bodies collide, or keeps their contacts away.
    pub(crate) fn set_collides(&mut self, a: u32, b: u32, collide: bool) {
        self.changed();
        let pair = (a.min(b), a.max(b));
        match (self.apart.binary_search(&pair), collide) {
            (Ok(k), true) => {
                self.apart.remove(k);
            }
            (Err(k), false) => self.apart.insert(k, pair),
            _ => {}
        }
    }

    /// The smaller of the two inner radii: what an overlap of the pair is measured by, m.
    #[doc(hidden)]
    pub fn pair_size(&self, i: u32, j: u32) -> f64 {
        self.colliders[i as usize].shape.inner_radius().min(self.colliders[j as usize].shape.inner_radius())
    }
}
