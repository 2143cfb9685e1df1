//! A flat state as a Rapier world, stepped. Compiled twice, for `rapier3d` and for `rapier3d-f64`: the parent module says which.

use super::rapier::prelude::*;
use peer_flat::{Body, Drive, Extra, Joint, Row, Snapshots, State};

/// Steps `state` from its start to its end.
pub fn run(state: &State, engine: &'static str, setting: &str) -> Result<Snapshots, String> {
    let mut world = PhysicsWorld { gravity: vector(state.gravity), ..PhysicsWorld::default() };
    configure(&mut world.integration_parameters, state, setting)?;
    let bodies = populate(&mut world, state)?;
    join(&mut world, state, &bodies)?;
    peer_flat::run(Held { world, bodies }, state, engine, setting)
}

/// A state in Rapier's hands; the bodies in the state's order.
struct Held {
    world: PhysicsWorld,
    bodies: Vec<RigidBodyHandle>,
}

impl peer_flat::World for Held {
    fn step(&mut self) -> Result<(), String> {
        self.world.step_with_events(&Groups, &());
        Ok(())
    }

    fn rows(&self) -> Result<Vec<Row>, String> {
        Ok(self.bodies.iter().map(|&b| row(&self.world.bodies[b])).collect())
    }

    fn extra(&self) -> Extra {
        friction(&self.world)
    }
}

/// `default` changes nothing but the step; `accurate` is described in the README.
fn configure(p: &mut IntegrationParameters, state: &State, setting: &str) -> Result<(), String> {
    p.dt = state.h as Real;
    match setting {
        "default" => {}
        "accurate" => {
            p.num_solver_iterations = 16;
            p.contact_softness = SpringCoefficients::new(240.0, 10.0);
            p.static_contact_softness = SpringCoefficients::new(480.0, 10.0);
            p.friction_model = FrictionModel::Coulomb;
            p.contact_recycling = false;
            p.warmstart_joints = true;
        }
        other => return Err(format!("unknown setting {other}: default or accurate")),
    }
    Ok(())
}

fn populate(world: &mut PhysicsWorld, state: &State) -> Result<Vec<RigidBodyHandle>, String> {
    let rough = |c: ColliderBuilder| c.friction(state.mu as Real).restitution(state.restitution as Real);
    for s in &state.statics {
        let shape = match s.shape.as_str() {
            "plane" => ColliderBuilder::halfspace(super::rapier::na::Unit::new_unchecked(Vector::Z)),
            "box" => cuboid(s.half),
            other => return Err(format!("statics: shape {other} is not supported")),
        };
        world.colliders.insert(rough(shape).position(pose(s.pos, s.quat)));
    }
    let mut handles = Vec::with_capacity(state.bodies.len());
    for b in &state.bodies {
        let shape = match b.shape.as_str() {
            "sphere" => Some(ColliderBuilder::ball(b.r as Real)),
            "box" => Some(cuboid(b.half)),
            "none" => None,
            other => return Err(format!("bodies: shape {other} is not supported")),
        };
        let handle = world.insert_body(rigid_body(b));
        if let Some(shape) = shape {
            // Pairs with hooks are never recycled: only those that need them get them.
            let hooks = if b.group == 0 { ActiveHooks::empty() } else { ActiveHooks::FILTER_CONTACT_PAIRS };
            let shape = rough(shape).density(0.0).active_hooks(hooks).user_data(u128::from(b.group));
            world.insert_collider(shape, Some(handle));
        }
        handles.push(handle);
    }
    Ok(handles)
}

/// Nothing sleeps, whatever the setting.
fn rigid_body(b: &Body) -> RigidBodyBuilder {
    RigidBodyBuilder::dynamic()
        .pose(pose(b.pos, b.quat))
        .linvel(vector(b.vel))
        .angvel(vector(b.omega))
        .additional_mass_properties(MassProperties::new(Vector::ZERO, b.m as Real, vector(b.inertia)))
        .can_sleep(false)
}

fn join(world: &mut PhysicsWorld, state: &State, bodies: &[RigidBodyHandle]) -> Result<(), String> {
    if state.joints.is_empty() {
        return Ok(());
    }
    let ground = world.insert_body(RigidBodyBuilder::fixed());
    for (i, j) in state.joints.iter().enumerate() {
        let handle = |index: i64| match usize::try_from(index) {
            Err(_) => Ok(ground),
            Ok(k) => bodies.get(k).copied().ok_or(format!("joints[{i}]: no body {k}")),
        };
        let (a, b) = (handle(j.a)?, handle(j.b)?);
        let frame =
            Pose::from_parts(vector(j.anchor), Rotation::from_rotation_arc(Vector::X, vector(j.axis)));
        let joint = joint(j)
            .map_err(|what| format!("joints[{i}]: {what}"))?
            .local_frame1(world.bodies[a].position().inverse() * frame)
            .local_frame2(world.bodies[b].position().inverse() * frame);
        world.insert_impulse_joint(a, b, joint);
    }
    Ok(())
}

/// The free axis of Rapier's joint frame is x.
fn joint(j: &Joint) -> Result<GenericJointBuilder, String> {
    let (locked, axis) = match j.kind.as_str() {
        "fixed" => (JointAxesMask::LOCKED_FIXED_AXES, JointAxis::AngX),
        "ball" => (JointAxesMask::LOCKED_SPHERICAL_AXES, JointAxis::AngX),
        "revolute" => (JointAxesMask::LOCKED_REVOLUTE_AXES, JointAxis::AngX),
        "prismatic" => (JointAxesMask::LOCKED_PRISMATIC_AXES, JointAxis::LinX),
        other => return Err(format!("type {other} is not supported")),
    };
    let joint = GenericJointBuilder::new(locked);
    let Some(Drive { mode, target, kp, kd, fmax }) = &j.drive else { return Ok(joint) };
    let (kp, kd, target) = (*kp as Real, *kd as Real, *target as Real);
    let joint = joint.motor_model(axis, MotorModel::ForceBased).motor_max_force(axis, *fmax as Real);
    match mode.as_str() {
        "velocity" => Ok(joint.motor_velocity(axis, target, kd)),
        "position" => Ok(joint.motor_position(axis, target, kp, kd)),
        other => Err(format!("drive mode {other} is not supported")),
    }
}

/// Keeps the bodies of a group apart. (Rapier's own groups are 32 bits, fewer than there are vehicles.)
struct Groups;

impl PhysicsHooks for Groups {
    fn filter_contact_pair(&self, pair: &PairFilterContext) -> Option<SolverFlags> {
        let group = |c: ColliderHandle| pair.colliders[c].user_data;
        let (a, b) = (group(pair.collider1), group(pair.collider2));
        (a == 0 || a != b).then(SolverFlags::default)
    }
}

/// What the solver left in its last substep. The simplified model has one friction impulse for all points of a
/// manifold, written to each of them; Coulomb's has one a point.
fn friction(world: &PhysicsWorld) -> Extra {
    let p = &world.integration_parameters;
    let substep = as_f64(p.dt) / p.num_solver_iterations as f64;
    let (mut contacts, mut excess) = (0, 0.0_f64);
    for manifold in world.contact_pairs().flat_map(ContactPair::solver_manifolds) {
        let mu = as_f64(manifold.data.friction);
        let normal = |point: &TrackedContact<ContactData>| as_f64(point.data.warmstart_impulse);
        let total: f64 = manifold.points.iter().map(normal).sum();
        for point in &manifold.points {
            contacts += usize::from(normal(point) > 0.0);
            let held = if p.friction_model == FrictionModel::Simplified { total } else { normal(point) };
            excess = excess.max(as_f64(point.data.warmstart_tangent_impulse.norm()) - mu * held);
        }
    }
    Extra { contacts: Some(contacts), friction_excess_n: Some(excess / substep) }
}

fn row(b: &RigidBody) -> Row {
    let (p, q, v, w) = (b.translation(), b.rotation(), b.linvel(), b.angvel());
    [p.x, p.y, p.z, q.w, q.x, q.y, q.z, v.x, v.y, v.z, w.x, w.y, w.z].map(as_f64)
}

fn cuboid(half: [f64; 3]) -> ColliderBuilder {
    let [x, y, z] = half.map(|x| x as Real);
    ColliderBuilder::cuboid(x, y, z)
}

fn pose(pos: [f64; 3], quat: [f64; 4]) -> Pose {
    let [w, x, y, z] = quat.map(|x| x as Real);
    Pose::from_parts(vector(pos), Rotation::from_xyzw(x, y, z, w).normalize())
}

fn vector(v: [f64; 3]) -> Vector {
    Vector::from_array(v.map(|x| x as Real))
}

/// `Real` is f32 in one of the two builds and f64 in the other.
fn as_f64(x: Real) -> f64 {
    x as f64
}
