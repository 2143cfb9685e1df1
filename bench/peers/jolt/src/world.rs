//! A flat state as a Jolt world, stepped.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use oxijolt::{
    BodyId, BodySettings, BroadPhaseLayer, CollisionGroup, CollisionLayers, GroupFilterTable,
    GroupFilterTableBuilder, Inertia, ObjectLayer, PhysicsWorld, Quat, RVec3, Shape, Vec3, WorldSettings,
};
use peer_flat::frame::{Quaternion, Vector, normalized};
use peer_flat::{Body, Extra, Row, Snapshots, State};

use crate::joint;

/// Steps `state` from its start to its end.
pub fn run(state: &State, setting: &str) -> Result<Snapshots, String> {
    let (layers, ghosts) = layers();
    let mut world = PhysicsWorld::new(settings(state, setting)?.layers(layers)).map_err(spoken)?;
    let bodies = populate(&mut world, state, ghosts)?;
    joint::join(&mut world, state, &bodies, ghosts)?;
    world.optimize_broad_phase();
    peer_flat::run(Held { world, bodies, h: state.h as f32 }, state, "jolt", setting)
}

/// A state in Jolt's hands; the bodies in the state's order.
struct Held {
    world: PhysicsWorld,
    bodies: Vec<BodyId>,
    h: f32,
}

impl peer_flat::World for Held {
    fn step(&mut self) -> Result<(), String> {
        let report = self.world.step(self.h).map_err(spoken)?;
        report.is_complete().then_some(()).ok_or(format!("contacts were dropped: {report:?}"))
    }

    fn rows(&self) -> Result<Vec<Row>, String> {
        self.bodies.iter().map(|&b| row(&self.world, b)).collect()
    }

    /// Jolt keeps the impulses of its contacts to itself.
    fn extra(&self) -> Extra {
        Extra { contacts: None, friction_excess_n: None }
    }
}

/// `default` changes nothing but the room for contacts; `accurate` is described in the README.
fn settings(state: &State, setting: &str) -> Result<WorldSettings, String> {
    let count = state.bodies.len() as u32;
    let pairs = count.saturating_mul(16);
    let roomy = WorldSettings::default()
        .single_threaded()
        .gravity(vector(state.gravity))
        .max_bodies(count + state.statics.len() as u32 + 8)
        .max_body_pairs(pairs.max(65_536))
        .max_contact_constraints(pairs.clamp(10_240, WorldSettings::MAX_CONTACT_CONSTRAINTS))
        .temp_allocator_size(pairs.saturating_mul(1024).max(16 << 20));
    match setting {
        "default" => Ok(roomy),
        "accurate" => Ok(roomy.velocity_steps(30).position_steps(8).penetration_slop(1e-4)),
        other => Err(format!("unknown setting {other}: default or accurate")),
    }
}

/// Jolt's usual two layers, and one for bodies without a shape, which touches nothing.
fn layers() -> (CollisionLayers, ObjectLayer) {
    let mut layers = CollisionLayers::default();
    let ghosts = layers.add_object_layer(BroadPhaseLayer::MOVING);
    (layers, ghosts)
}

fn populate(world: &mut PhysicsWorld, state: &State, ghosts: ObjectLayer) -> Result<Vec<BodyId>, String> {
    let rough = |b: BodySettings| b.friction(state.mu as f32).restitution(state.restitution as f32);
    for solid in state.solids()? {
        let shape = Shape::new_box(vector(solid.half)).map_err(spoken)?;
        let body = BodySettings::new_static().position(position(solid.pos)).rotation(quaternion(solid.quat));
        world.create_body(&shape, &rough(body)).map_err(spoken)?;
    }
    // One group of the table passes through itself; bodies of different groups meet.
    let table = GroupFilterTableBuilder::new(1).map_err(spoken)?.build();
    let mut shapes = HashMap::new();
    let mut ids = Vec::with_capacity(state.bodies.len());
    for b in &state.bodies {
        // Equal bodies share a shape.
        let key = (b.shape.as_str(), b.r.to_bits(), b.half.map(f64::to_bits));
        let shape = match shapes.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(shape(b)?),
        };
        let mut body = rough(moving(b));
        if b.shape == "none" {
            body = body.object_layer(ghosts);
        }
        if b.group != 0 {
            body = body.collision_group(group(&table, b.group)?);
        }
        ids.push(world.create_body(shape, &body).map_err(spoken)?);
    }
    Ok(ids)
}

fn shape(b: &Body) -> Result<Shape, String> {
    match b.shape.as_str() {
        "sphere" => Shape::new_sphere(b.r as f32),
        "box" => Shape::new_box(vector(b.half)),
        // Jolt has no body without a shape; this one is in a layer that touches nothing.
        "none" => Shape::new_sphere(0.1),
        other => return Err(format!("bodies: shape {other} is not supported")),
    }
    .map_err(spoken)
}

/// Nothing sleeps and nothing is damped (Jolt would by 0.05/s), whatever the setting.
fn moving(b: &Body) -> BodySettings {
    BodySettings::new_dynamic()
        .position(position(b.pos))
        .rotation(quaternion(b.quat))
        .linear_velocity(vector(b.vel))
        .angular_velocity(vector(b.omega))
        .mass_and_inertia(b.m as f32, Inertia::Principal(vector(b.inertia)))
        .linear_damping(0.0)
        .angular_damping(0.0)
        .allow_sleeping(false)
}

fn group(table: &GroupFilterTable, group: u32) -> Result<CollisionGroup, String> {
    CollisionGroup::new(table, group, 0).map_err(spoken)
}

fn row(world: &PhysicsWorld, body: BodyId) -> Result<Row, String> {
    let body = world.body(body).map_err(spoken)?;
    let (p, q, v, w) = (body.position(), body.rotation(), body.linear_velocity(), body.angular_velocity());
    Ok([p.x, p.y, p.z, q.w, q.x, q.y, q.z, v.x, v.y, v.z, w.x, w.y, w.z].map(f64::from))
}

pub fn spoken(what: impl std::fmt::Display) -> String {
    what.to_string()
}

pub fn position(v: Vector) -> RVec3 {
    let [x, y, z] = v.map(|x| x as f32);
    RVec3::new(x, y, z)
}

pub fn vector(v: Vector) -> Vec3 {
    let [x, y, z] = v.map(|x| x as f32);
    Vec3::new(x, y, z)
}

fn quaternion(q: Quaternion) -> Quat {
    let [w, x, y, z] = normalized(q).map(|x| x as f32);
    Quat::from_xyzw(x, y, z, w)
}
