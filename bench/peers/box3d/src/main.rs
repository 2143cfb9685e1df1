//! Steps a flat state with Box3D: `peer-box3d default|accurate STATE.json OUT.json`.

use box3d::{
    Body, BodyDef, ContactTuning, Filter, JointDef, MassData, Matrix3, PrismaticJointDef, Quat,
    RevoluteJointDef, ShapeDef, SphericalJointDef, SurfaceMaterial, Transform, Vec3, WeldJointDef, World,
};

#[path = "../../rapier/src/state.rs"]
mod state;
use state::{Drive, Extra, Joint, Row, Snapshots, State, cpu_ms};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Err(what) = work(&args) {
        eprintln!("peer-box3d: {what}");
        std::process::exit(2);
    }
}

fn work(args: &[String]) -> Result<(), String> {
    let [setting, from, to] = args else {
        return Err("usage: peer-box3d default|accurate STATE.json OUT.json".into());
    };
    let text = std::fs::read_to_string(from).map_err(|e| format!("{from}: {e}"))?;
    let state: State = serde_json::from_str(&text).map_err(|e| format!("{from}: {e}"))?;
    let text = serde_json::to_string(&run(&state, setting)?).map_err(|e| format!("{to}: {e}"))?;
    std::fs::write(to, text).map_err(|e| format!("{to}: {e}"))
}

fn run(state: &State, setting: &str) -> Result<Snapshots, String> {
    let world = World::new(vector(state.gravity));
    world.set_sleeping_enabled(false);
    let substeps = match setting {
        "default" => 4,
        "accurate" => {
            world.set_contact_tuning(ContactTuning { hertz: 240.0, ..ContactTuning::default() });
            16
        }
        other => return Err(format!("unknown setting {other}: default or accurate")),
    };
    let bodies = populate(&world, state)?;
    let ground = world.create_body(BodyDef::static_at(Vec3::ZERO));
    for (i, j) in state.joints.iter().enumerate() {
        let body = |index: i64| match usize::try_from(index) {
            Err(_) => Ok(&ground),
            Ok(k) => bodies.get(k).ok_or(format!("joints[{i}]: no body {k}")),
        };
        join(&world, state, j, body(j.a)?, body(j.b)?).map_err(|what| format!("joints[{i}]: {what}"))?;
    }

    let steps = (state.time / state.h).round() as usize;
    let (mut laps, mut snaps, mut next) = (Vec::with_capacity(steps), Vec::new(), 0);
    for step in 1..=steps {
        let before = cpu_ms();
        world.step(state.h as f32, substeps);
        laps.push(cpu_ms() - before);
        let time = step as f64 * state.h;
        let due = state.snaps.get(next).is_some_and(|t| time > t - 0.5 * state.h);
        next += usize::from(due);
        if due || step == steps {
            snaps.push((time, bodies.iter().map(row).collect()));
        }
    }
    let mean = |laps: &[f64]| laps.iter().sum::<f64>() / laps.len().max(1) as f64;
    Ok(Snapshots {
        engine: "box3d",
        setting: setting.to_owned(),
        scene: state.name.clone(),
        threads: 1,
        steps,
        cut: false,
        cpu_last100: mean(&laps[steps.saturating_sub(100)..]),
        cpu_all: mean(&laps),
        snaps,
        extra: friction(&bodies, state, substeps),
    })
}

fn populate<'w>(world: &'w World, state: &State) -> Result<Vec<Body<'w>>, String> {
    let material = SurfaceMaterial {
        friction: state.mu as f32,
        restitution: state.restitution as f32,
        ..SurfaceMaterial::default()
    };
    let rough =
        ShapeDef { surface_material: Some(material), friction: state.mu as f32, ..ShapeDef::default() };
    for s in &state.statics {
        let mut pos = s.pos;
        match s.shape.as_str() {
            "box" => {}
            // Box3D has no half-space: a slab whose top is the plane.
            "plane" => pos[2] -= s.half[2],
            other => return Err(format!("statics: shape {other} is not supported")),
        }
        world
            .create_body(BodyDef::static_at(vector(pos)).with_rotation(quat(s.quat)))
            .create_box(vector(s.half), rough);
    }
    let mut bodies = Vec::with_capacity(state.bodies.len());
    for b in &state.bodies {
        let mut def = BodyDef::dynamic_at(vector(b.pos)).with_rotation(quat(b.quat));
        def.linear_velocity = vector(b.vel);
        def.angular_velocity = vector(b.omega);
        let body = world.create_body(def);
        // A negative group index never collides with itself.
        let filter = Filter { group_index: -(b.group as i32), ..Filter::default() };
        let shape = ShapeDef { filter, ..rough };
        match b.shape.as_str() {
            "sphere" => drop(body.create_sphere(Vec3::ZERO, b.r as f32, shape)),
            "box" => drop(body.create_box(vector(b.half), shape)),
            "none" => {}
            other => return Err(format!("bodies: shape {other} is not supported")),
        }
        let [x, y, z] = b.inertia.map(|x| x as f32);
        let inertia =
            Matrix3 { cx: Vec3::new(x, 0.0, 0.0), cy: Vec3::new(0.0, y, 0.0), cz: Vec3::new(0.0, 0.0, z) };
        body.set_mass_data(MassData { mass: b.m as f32, center: Vec3::ZERO, inertia });
        bodies.push(body);
    }
    Ok(bodies)
}

/// Hinges turn about z of their frame, sliders move along x. A position drive is the stiffest spring that the step resolves:
/// Box3D's motors hold speeds only, and its springs have no limit.
fn join<'w>(world: &'w World, state: &State, j: &Joint, a: &Body<'w>, b: &Body<'w>) -> Result<(), String> {
    let main = if j.kind == "prismatic" { [1.0, 0.0, 0.0] } else { [0.0, 0.0, 1.0] };
    let turn = arc(main, j.axis);
    let frame =
        |body: &Body| Transform { p: body.local_point(vector(j.anchor)), q: local(body.rotation(), turn) };
    let place = |base: &mut JointDef| {
        base.local_frame_a = frame(a);
        base.local_frame_b = frame(b);
    };
    let (mut speed, mut position) = (None, None);
    match &j.drive {
        None => {}
        Some(Drive { mode, target, fmax, .. }) if mode == "velocity" => {
            speed = Some((*target as f32, *fmax as f32))
        }
        Some(Drive { mode, target, .. }) if mode == "position" => position = Some(*target as f32),
        Some(Drive { mode, .. }) => return Err(format!("drive mode {mode} is not supported")),
    }
    let hertz = (0.25 / state.h) as f32;
    match j.kind.as_str() {
        "fixed" => {
            let mut def = WeldJointDef::new(a, b);
            place(&mut def.base);
            world.create_weld_joint(def);
        }
        "ball" => {
            let mut def = SphericalJointDef::new(a, b);
            place(&mut def.base);
            world.create_spherical_joint(def);
        }
        "revolute" => {
            let mut def = RevoluteJointDef::new(a, b);
            place(&mut def.base);
            if let Some((target, fmax)) = speed {
                (def.enable_motor, def.motor_speed, def.max_motor_torque) = (true, target, fmax);
            }
            if let Some(target) = position {
                (def.enable_spring, def.target_angle, def.hertz, def.damping_ratio) =
                    (true, target, hertz, 1.0);
            }
            world.create_revolute_joint(def);
        }
        "prismatic" => {
            let mut def = PrismaticJointDef::new(a, b);
            place(&mut def.base);
            if let Some((target, fmax)) = speed {
                (def.enable_motor, def.motor_speed, def.max_motor_force) = (true, target, fmax);
            }
            if let Some(target) = position {
                (def.enable_spring, def.target_translation, def.hertz, def.damping_ratio) =
                    (true, target, hertz, 1.0);
            }
            world.create_prismatic_joint(def);
        }
        other => return Err(format!("type {other} is not supported")),
    }
    Ok(())
}

/// The last substep: one friction impulse a manifold, against mu times the sum of its normal impulses.
fn friction(bodies: &[Body], state: &State, substeps: i32) -> Extra {
    let mut excess = 0.0_f64;
    for manifold in bodies.iter().flat_map(Body::contact_data).flat_map(|c| c.manifolds) {
        let f = manifold.friction_impulse;
        let normal: f64 = manifold.points.iter().map(|p| f64::from(p.normal_impulse)).sum();
        excess = excess.max(f64::from(f.x).hypot(f64::from(f.y)).hypot(f64::from(f.z)) - state.mu * normal);
    }
    Extra { contacts: None, friction_excess_n: excess * f64::from(substeps) / state.h }
}

fn row(b: &Body) -> Row {
    let (p, q, v, w) = (b.position(), b.rotation(), b.linear_velocity(), b.angular_velocity());
    [p.x, p.y, p.z, q.s, q.v.x, q.v.y, q.v.z, v.x, v.y, v.z, w.x, w.y, w.z].map(f64::from)
}

fn vector(v: [f64; 3]) -> Vec3 {
    let [x, y, z] = v.map(|x| x as f32);
    Vec3::new(x, y, z)
}

fn quat(q: [f64; 4]) -> Quat {
    Quat::new(vector([q[1], q[2], q[3]]), q[0] as f32)
}

/// The shortest turn from one unit vector to another; half a turn about an axis across where they are opposite.
fn arc(from: [f64; 3], to: [f64; 3]) -> [f64; 4] {
    let [a, b, c] = from;
    let [x, y, z] = to;
    let w = 1.0 + a * x + b * y + c * z;
    let q = if w < 1e-9 { [0.0, c, a, b] } else { [w, b * z - c * y, c * x - a * z, a * y - b * x] };
    let length = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    q.map(|x| x / length)
}

/// A turn as seen from a body: conj(q) r.
fn local(q: Quat, r: [f64; 4]) -> Quat {
    let [w, x, y, z] = [q.s, -q.v.x, -q.v.y, -q.v.z].map(f64::from);
    let [a, b, c, d] = r;
    quat([
        w * a - x * b - y * c - z * d,
        w * b + x * a + y * d - z * c,
        w * c - x * d + y * a + z * b,
        w * d + x * c - y * b + z * a,
    ])
}
