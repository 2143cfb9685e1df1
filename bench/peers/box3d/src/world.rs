//! A flat state as a Box3D world, stepped. Box3D is a C library: ids are plain values, every call is `unsafe`.

use std::collections::HashSet;

use box3d_sys as b3;
use peer_flat::frame::{Quaternion, Vector, normalized};
use peer_flat::{Body, Extra, Row, Snapshots, State};

use crate::joint;

/// What `default` and `accurate` differ in; described in the README.
pub struct Setting {
    substeps: i32,
    /// Hz of contacts; twice that against static bodies.
    contacts: Option<f32>,
    /// Hz of the rigid directions of joints.
    pub joints: Option<f32>,
    recycle: bool,
}

impl Setting {
    fn named(name: &str) -> Result<Self, String> {
        match name {
            "default" => Ok(Self { substeps: 4, contacts: None, joints: None, recycle: true }),
            "accurate" => {
                Ok(Self { substeps: 16, contacts: Some(240.0), joints: Some(800.0), recycle: false })
            }
            other => Err(format!("unknown setting {other}: default or accurate")),
        }
    }
}

/// Steps `state` from its start to its end.
pub fn run(state: &State, setting: &str) -> Result<Snapshots, String> {
    let held = Held::new(state, Setting::named(setting)?)?;
    peer_flat::run(held, state, "box3d", setting)
}

/// A state in Box3D's hands; the bodies in the state's order.
struct Held {
    id: b3::b3WorldId,
    bodies: Vec<b3::b3BodyId>,
    h: f32,
    substeps: i32,
    mu: f64,
}

impl Held {
    fn new(state: &State, setting: Setting) -> Result<Self, String> {
        // SAFETY: takes nothing, returns a value.
        let mut def = unsafe { b3::b3DefaultWorldDef() };
        def.gravity = vector(state.gravity);
        def.enableSleep = false;
        def.workerCount = 1;
        if let Some(hertz) = setting.contacts {
            def.contactHertz = hertz;
        }
        // SAFETY: the definition lives through the call; the world lives until `drop`.
        let id = unsafe { b3::b3CreateWorld(&def) };
        let mut held =
            Self { id, bodies: Vec::new(), h: state.h as f32, substeps: setting.substeps, mu: state.mu };
        if !setting.recycle {
            // SAFETY: the world lives.
            unsafe { b3::b3World_SetContactRecycleDistance(id, 0.0) };
        }
        for solid in state.solids()? {
            let body = held.body(solid.pos, solid.quat, |_| {});
            cuboid(body, &surface(state, 0)?, solid.half);
        }
        for b in &state.bodies {
            let body = held.moving(state, b)?;
            held.bodies.push(body);
        }
        if !state.joints.is_empty() {
            let ground = held.body([0.0; 3], [1.0, 0.0, 0.0, 0.0], |_| {});
            joint::join(state, id, &held.bodies, ground, &setting)?;
        }
        Ok(held)
    }

    fn body(&self, pos: Vector, quat: Quaternion, more: impl FnOnce(&mut b3::b3BodyDef)) -> b3::b3BodyId {
        // SAFETY: takes nothing, returns a value.
        let mut def = unsafe { b3::b3DefaultBodyDef() };
        def.position = vector(pos);
        def.rotation = quaternion(quat);
        more(&mut def);
        // SAFETY: the world lives, and the definition through the call.
        unsafe { b3::b3CreateBody(self.id, &def) }
    }

    fn moving(&self, state: &State, b: &Body) -> Result<b3::b3BodyId, String> {
        let body = self.body(b.pos, b.quat, |def| {
            def.type_ = b3::b3BodyType_b3_dynamicBody;
            def.linearVelocity = vector(b.vel);
            def.angularVelocity = vector(b.omega);
        });
        let surface = surface(state, b.group)?;
        match b.shape.as_str() {
            "sphere" => {
                let sphere = b3::b3Sphere { center: vector([0.0; 3]), radius: b.r as f32 };
                // SAFETY: the body lives; both structures are copied in the call.
                unsafe { b3::b3CreateSphereShape(body, &surface, &sphere) };
            }
            "box" => cuboid(body, &surface, b.half),
            "none" => {}
            other => return Err(format!("bodies: shape {other} is not supported")),
        }
        let [x, y, z] = b.inertia;
        let inertia =
            b3::b3Matrix3 { cx: vector([x, 0.0, 0.0]), cy: vector([0.0, y, 0.0]), cz: vector([0.0, 0.0, z]) };
        // After the shapes: each of them sets the mass anew.
        // SAFETY: the body lives; the mass is passed by value.
        unsafe {
            b3::b3Body_SetMassData(
                body,
                b3::b3MassData { mass: b.m as f32, center: vector([0.0; 3]), inertia },
            );
        }
        Ok(body)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: created in `new` and destroyed nowhere else.
        unsafe { b3::b3DestroyWorld(self.id) };
    }
}

impl peer_flat::World for Held {
    fn step(&mut self) -> Result<(), String> {
        // SAFETY: the world lives, and nothing else holds it.
        unsafe { b3::b3World_Step(self.id, self.h, self.substeps) };
        Ok(())
    }

    fn rows(&self) -> Result<Vec<Row>, String> {
        Ok(self.bodies.iter().map(|&b| row(b)).collect())
    }

    /// What the solver left in its last substep: one friction impulse a manifold, held against all its normal impulses.
    fn extra(&self) -> Extra {
        let (mut seen, mut points, mut excess) = (HashSet::new(), 0, 0.0_f64);
        for contact in self.bodies.iter().flat_map(|&b| contacts(b)) {
            if contact.manifolds.is_null() || !seen.insert(contact.contactId.index1) {
                continue;
            }
            // SAFETY: the engine's own array of that length, which lives until the next step.
            let manifolds =
                unsafe { std::slice::from_raw_parts(contact.manifolds, contact.manifoldCount as usize) };
            for manifold in manifolds {
                let active = &manifold.points[..manifold.pointCount as usize];
                points += active.iter().filter(|p| p.normalImpulse > 0.0).count();
                let normal: f64 = active.iter().map(|p| f64::from(p.normalImpulse)).sum();
                let b3::b3Vec3 { x, y, z } = manifold.frictionImpulse;
                let friction = [x, y, z].iter().map(|&f| f64::from(f).powi(2)).sum::<f64>().sqrt();
                excess = excess.max(friction - self.mu * normal);
            }
        }
        let substep = f64::from(self.h) / f64::from(self.substeps);
        Extra { contacts: Some(points), friction_excess_n: Some(excess / substep) }
    }
}

fn contacts(body: b3::b3BodyId) -> Vec<b3::b3ContactData> {
    // SAFETY: the body lives; the array has the capacity that is passed.
    unsafe {
        let capacity = b3::b3Body_GetContactCapacity(body);
        let mut data = vec![b3::b3ContactData::default(); capacity as usize];
        let count = b3::b3Body_GetContactData(body, data.as_mut_ptr(), capacity);
        data.truncate(count as usize);
        data
    }
}

fn row(body: b3::b3BodyId) -> Row {
    // SAFETY: the body lives; all four return values.
    let (p, q, v, w) = unsafe {
        (
            b3::b3Body_GetPosition(body),
            b3::b3Body_GetRotation(body),
            b3::b3Body_GetLinearVelocity(body),
            b3::b3Body_GetAngularVelocity(body),
        )
    };
    [p.x, p.y, p.z, q.s, q.v.x, q.v.y, q.v.z, v.x, v.y, v.z, w.x, w.y, w.z].map(f64::from)
}

/// Friction and restitution of the state; a negative group passes through itself.
fn surface(state: &State, group: u32) -> Result<b3::b3ShapeDef, String> {
    // SAFETY: takes nothing, returns a value.
    let mut def = unsafe { b3::b3DefaultShapeDef() };
    def.baseMaterial.friction = state.mu as f32;
    def.baseMaterial.restitution = state.restitution as f32;
    def.filter.groupIndex =
        -i32::try_from(group).map_err(|_| format!("bodies: group {group} is too large"))?;
    Ok(def)
}

fn cuboid(body: b3::b3BodyId, surface: &b3::b3ShapeDef, half: Vector) {
    let [x, y, z] = half.map(|x| x as f32);
    // SAFETY: the body lives. The hull refers to its own arrays by offsets and is copied in the call, so the pointer is
    // to the whole of it, of which the base is the first field.
    unsafe {
        let hull = b3::b3MakeBoxHull(x, y, z);
        b3::b3CreateHullShape(body, surface, (&raw const hull).cast());
    }
}

pub fn vector(v: Vector) -> b3::b3Vec3 {
    let [x, y, z] = v.map(|x| x as f32);
    b3::b3Vec3 { x, y, z }
}

pub fn quaternion(q: Quaternion) -> b3::b3Quat {
    let [s, x, y, z] = normalized(q).map(|x| x as f32);
    b3::b3Quat { v: b3::b3Vec3 { x, y, z }, s }
}
