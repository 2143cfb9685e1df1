//! Bodies, shapes and joints as they are saved: what many have alike is written once, and is one again when
//! it is read.

use std::collections::HashMap;
use std::sync::Arc;

use glam::{DMat3, DVec3};
use serde::{Deserialize, Serialize};

use crate::body::{Filter, MassProperties, Motion};
use crate::collide::Periodic;
use crate::joint::Joint;
use crate::material::{MaterialId, Materials};
use crate::model::{Body, ColliderSlot, Facts, Model, NOBODY, Planar};
use crate::prescribed_motion::Guided;
use crate::shape::{Pose, Shape};

#[derive(Serialize, Deserialize)]
struct SavedBody {
    alive: bool,
    generation: u32,
    name: Option<Box<str>>,
    motion: Motion,
    /// Place among the masses.
    mass: u32,
    inv_mass: f64,
    group: u32,
    planar: Option<Box<Planar>>,
    guide: Option<Box<Guided>>,
    charge: f64,
}

#[derive(Serialize, Deserialize)]
struct SavedCollider {
    body: u32,
    /// Place among the shapes.
    shape: u32,
    local: Option<Box<Pose>>,
    mu: f64,
    material: Option<MaterialId>,
    filter: Filter,
    surface_velocity: Option<Box<DVec3>>,
    radius: f64,
}

/// A [`Model`] as it is saved.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedModel {
    masses: Vec<(Arc<MassProperties>, Arc<DMat3>)>,
    shapes: Vec<Shape>,
    bodies: Vec<SavedBody>,
    colliders: Vec<SavedCollider>,
    materials: Materials,
    periodic: Option<Periodic>,
    apart: Vec<(u32, u32)>,
    /// Free slots of bodies, colliders and joints, the next to be taken last.
    free: [Vec<u32>; 3],
    /// Collider slots that report and do not push, and how often slots were given back.
    sensors: Vec<u32>,
    reused: std::collections::BTreeMap<u32, u32>,
    joints: Vec<Joint>,
    facts: Facts,
}

/// What a shape is known again by: its data where that is shared, else its numbers.
#[derive(PartialEq, Eq, Hash)]
enum ShapeKey {
    Shared(&'static str, usize, u64),
    Plain(&'static str, [u64; 3]),
}

fn key(shape: &Shape) -> ShapeKey {
    let (name, bits) = (shape.name(), f64::to_bits);
    fn at<T>(shared: &Arc<T>) -> usize {
        Arc::as_ptr(shared) as usize
    }
    match shape {
        Shape::Sphere { radius } => ShapeKey::Plain(name, [bits(*radius), 0, 0]),
        Shape::HalfSpace => ShapeKey::Plain(name, [0; 3]),
        Shape::Box { half } | Shape::Ellipsoid { half } => {
            ShapeKey::Plain(name, half.to_array().map(f64::to_bits))
        }
        Shape::Capsule { radius, half_length } | Shape::Cylinder { radius, half_length } => {
            ShapeKey::Plain(name, [bits(*radius), bits(*half_length), 0])
        }
        Shape::Cone { radius, height } => ShapeKey::Plain(name, [bits(*radius), bits(*height), 0]),
        Shape::Hull(x) => ShapeKey::Shared(name, at(x), 0),
        Shape::Rounded { core, radius } => ShapeKey::Shared(name, at(core), bits(*radius)),
        Shape::Mesh(x) => ShapeKey::Shared(name, at(x), 0),
        Shape::HeightField(x) => ShapeKey::Shared(name, at(x), 0),
        Shape::Compound(x) => ShapeKey::Shared(name, at(x), 0),
    }
}

impl SavedModel {
    pub fn of(model: &Model) -> Self {
        let (mut masses, mut known_masses) = (Vec::new(), HashMap::new());
        let bodies = model.bodies.iter().map(|b| {
            let key = (Arc::as_ptr(&b.mass) as usize, Arc::as_ptr(&b.inv_inertia) as usize);
            let mass = *known_masses.entry(key).or_insert_with(|| {
                masses.push((b.mass.clone(), b.inv_inertia.clone()));
                masses.len() as u32 - 1
            });
            SavedBody {
                alive: b.alive,
                generation: b.generation,
                name: b.name.clone(),
                motion: b.motion,
                mass,
                inv_mass: b.inv_mass,
                group: b.group,
                planar: b.planar.clone(),
                guide: b.guide.clone(),
                charge: b.charge,
            }
        });
        let bodies = bodies.collect();
        let (mut shapes, mut known_shapes) = (Vec::new(), HashMap::new());
        let colliders = model.colliders.iter().map(|c| {
            let shape = *known_shapes.entry(key(&c.shape)).or_insert_with(|| {
                shapes.push(c.shape.clone());
                shapes.len() as u32 - 1
            });
            SavedCollider {
                body: c.body,
                shape,
                local: c.local.clone(),
                mu: c.mu,
                material: c.material,
                filter: c.filter,
                surface_velocity: c.surface_velocity.clone(),
                radius: c.radius,
            }
        });
        let colliders = colliders.collect();
        Self {
            masses,
            shapes,
            bodies,
            colliders,
            materials: model.materials.clone(),
            periodic: model.periodic,
            apart: model.apart.clone(),
            free: model.free_slots(),
            sensors: model.sensors.clone(),
            reused: model.reused.clone(),
            joints: model.joints.clone(),
            facts: model.facts(),
        }
    }

    /// The model; the error names what does not fit together.
    pub fn model(self) -> Result<Model, String> {
        let mut bodies = Vec::with_capacity(self.bodies.len());
        for (i, b) in self.bodies.into_iter().enumerate() {
            let Some((mass, inv_inertia)) = self.masses.get(b.mass as usize).cloned() else {
                return Err(format!("bodies[{i}].mass: there is no mass number {}", b.mass));
            };
            bodies.push(Body {
                alive: b.alive,
                generation: b.generation,
                name: b.name,
                motion: b.motion,
                mass,
                inv_mass: b.inv_mass,
                inv_inertia,
                group: b.group,
                planar: b.planar,
                guide: b.guide,
                charge: b.charge,
            });
        }
        let mut colliders = Vec::with_capacity(self.colliders.len());
        for (k, c) in self.colliders.into_iter().enumerate() {
            let Some(shape) = self.shapes.get(c.shape as usize).cloned() else {
                return Err(format!("colliders[{k}].shape: there is no shape number {}", c.shape));
            };
            if c.body != NOBODY && c.body as usize >= bodies.len() {
                return Err(format!("colliders[{k}].body: there is no body {}", c.body));
            }
            colliders.push(ColliderSlot {
                body: c.body,
                shape,
                local: c.local,
                mu: c.mu,
                material: c.material,
                filter: c.filter,
                surface_velocity: c.surface_velocity,
                radius: c.radius,
            });
        }
        let mut model = Model::default();
        (model.bodies, model.colliders, model.joints) = (bodies, colliders, self.joints);
        (model.materials, model.periodic, model.apart) = (self.materials, self.periodic, self.apart);
        if let Some(k) = self.sensors.iter().find(|k| **k as usize >= model.colliders.len()) {
            return Err(format!("sensors: there is no collider {k}"));
        }
        (model.sensors, model.reused) = (self.sensors, self.reused);
        model.resume(self.free, self.facts);
        Ok(model)
    }
}
