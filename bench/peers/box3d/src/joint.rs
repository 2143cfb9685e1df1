//! The state's joints and drives in Box3D's terms.

use std::f64::consts::TAU;

use box3d_sys as b3;
use peer_flat::frame::{Vector, cross, dot, inverse, minus, normalized, product, rotated, turn, unit};
use peer_flat::{Body, Drive, Joint, State};

use crate::world::{Setting, quaternion, vector};

pub fn join(
    state: &State,
    world: b3::b3WorldId,
    bodies: &[b3::b3BodyId],
    ground: b3::b3BodyId,
    setting: &Setting,
) -> Result<(), String> {
    for (i, j) in state.joints.iter().enumerate() {
        let end = |index: i64| match usize::try_from(index) {
            Err(_) => Ok((ground, None)),
            Ok(k) if k < bodies.len() => Ok((bodies[k], Some(&state.bodies[k]))),
            Ok(k) => Err(format!("joints[{i}]: no body {k}")),
        };
        let ends = [end(j.a)?, end(j.b)?];
        // SAFETY: the world and its bodies live.
        unsafe { one(j, world, ends, setting) }.map_err(|what| format!("joints[{i}]: {what}"))?;
    }
    Ok(())
}

/// # Safety
/// The world lives and the bodies are its own.
unsafe fn one(
    j: &Joint,
    world: b3::b3WorldId,
    ends: [(b3::b3BodyId, Option<&Body>); 2],
    setting: &Setting,
) -> Result<(), String> {
    let base = |mut base: b3::b3JointDef, free: Vector| {
        base.bodyIdA = ends[0].0;
        base.bodyIdB = ends[1].0;
        [base.localFrameA, base.localFrameB] = ends.map(|(_, body)| frame(j, body, free));
        base.constraintHertz = setting.joints.unwrap_or(base.constraintHertz);
        base
    };
    let bodies = ends.map(|(_, body)| body);
    // SAFETY: every definition starts as the library's own default and lives through the call that reads it.
    unsafe {
        match j.kind.as_str() {
            "fixed" => {
                let mut def = b3::b3DefaultWeldJointDef();
                def.base = base(def.base, Z);
                b3::b3CreateWeldJoint(world, &def);
            }
            "ball" => {
                let mut def = b3::b3DefaultSphericalJointDef();
                def.base = base(def.base, Z);
                b3::b3CreateSphericalJoint(world, &def);
            }
            "revolute" => {
                let mut def = b3::b3DefaultRevoluteJointDef();
                def.base = base(def.base, Z);
                match drive(j)? {
                    Some(Command::Speed { speed, limit }) => {
                        (def.enableMotor, def.motorSpeed, def.maxMotorTorque) = (true, speed, limit);
                    }
                    Some(Command::Place(drive)) => {
                        def.enableSpring = true;
                        def.targetAngle = drive.target as f32;
                        (def.hertz, def.dampingRatio) = spring(drive, turning(j, bodies));
                    }
                    None => {}
                }
                b3::b3CreateRevoluteJoint(world, &def);
            }
            "prismatic" => {
                let mut def = b3::b3DefaultPrismaticJointDef();
                def.base = base(def.base, X);
                match drive(j)? {
                    Some(Command::Speed { speed, limit }) => {
                        (def.enableMotor, def.motorSpeed, def.maxMotorForce) = (true, speed, limit);
                    }
                    Some(Command::Place(drive)) => {
                        def.enableSpring = true;
                        def.targetTranslation = drive.target as f32;
                        (def.hertz, def.dampingRatio) = spring(drive, sliding(j, bodies));
                    }
                    None => {}
                }
                b3::b3CreatePrismaticJoint(world, &def);
            }
            other => return Err(format!("type {other} is not supported")),
        }
    }
    Ok(())
}

/// Box3D's hinges turn about the z of their frame, its sliders move along x.
const X: Vector = [1.0, 0.0, 0.0];
const Z: Vector = [0.0, 0.0, 1.0];

/// The joint's frame at the start as `body` carries it, with its direction `free` along the joint's axis.
fn frame(j: &Joint, body: Option<&Body>, free: Vector) -> b3::b3Transform {
    let turned = turn(free, unit(j.axis));
    let (p, q) = body.map_or((j.anchor, turned), |b| {
        let back = inverse(normalized(b.quat));
        (rotated(back, minus(j.anchor, b.pos)), product(back, turned))
    });
    b3::b3Transform { p: vector(p), q: quaternion(q) }
}

enum Command<'a> {
    Speed { speed: f32, limit: f32 },
    Place(&'a Drive),
}

fn drive(j: &Joint) -> Result<Option<Command<'_>>, String> {
    let Some(drive) = &j.drive else { return Ok(None) };
    match drive.mode.as_str() {
        "velocity" => Ok(Some(Command::Speed { speed: drive.target as f32, limit: drive.fmax as f32 })),
        "position" => Ok(Some(Command::Place(drive))),
        other => Err(format!("drive mode {other} is not supported")),
    }
}

/// Box3D's springs take their stiffness as a frequency and a damping ratio of the mass m that the joint moves:
/// ω² = kp/m and ζ = kd/(2√(kp m)), with `mobility` = 1/m.
fn spring(drive: &Drive, mobility: f64) -> (f32, f32) {
    let hertz = (drive.kp * mobility).sqrt() / TAU;
    let ratio = drive.kd * 0.5 * (mobility / drive.kp).sqrt();
    (hertz as f32, ratio as f32)
}

/// Angular acceleration by a unit torque about the axis between the bodies.
fn turning(j: &Joint, bodies: [Option<&Body>; 2]) -> f64 {
    bodies.into_iter().flatten().map(|b| spun(b, unit(j.axis))).sum()
}

/// Acceleration by a unit force along the axis between the bodies, at the anchor.
fn sliding(j: &Joint, bodies: [Option<&Body>; 2]) -> f64 {
    let axis = unit(j.axis);
    bodies.into_iter().flatten().map(|b| 1.0 / b.m + spun(b, cross(minus(j.anchor, b.pos), axis))).sum()
}

/// t · I⁻¹ t.
fn spun(b: &Body, torque: Vector) -> f64 {
    let t = rotated(inverse(normalized(b.quat)), torque);
    dot(t, [t[0] / b.inertia[0], t[1] / b.inertia[1], t[2] / b.inertia[2]])
}
