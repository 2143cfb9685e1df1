//! The state's joints and drives in Jolt's terms.

use oxijolt::{
    BodyId, BodySettings, FixedConstraintSettings, HingeConstraintSettings, MotorSettings, MotorState,
    ObjectLayer, PhysicsWorld, PointConstraintSettings, Shape, SliderConstraintSettings, SpringSettings,
};
use peer_flat::frame::{across, unit};
use peer_flat::{Drive, Joint, State};

use crate::world::{position, spoken, vector};

/// The body that stands for the world is in the layer `ghosts`, which touches nothing.
pub fn join(
    world: &mut PhysicsWorld,
    state: &State,
    bodies: &[BodyId],
    ghosts: ObjectLayer,
) -> Result<(), String> {
    if state.joints.is_empty() {
        return Ok(());
    }
    let speck = Shape::new_sphere(0.1).map_err(spoken)?;
    let ground =
        world.create_body(&speck, &BodySettings::new_static().object_layer(ghosts)).map_err(spoken)?;
    for (i, j) in state.joints.iter().enumerate() {
        let end = |index: i64| match usize::try_from(index) {
            Err(_) => Ok(ground),
            Ok(k) => bodies.get(k).copied().ok_or(format!("joints[{i}]: no body {k}")),
        };
        one(world, j, end(j.a)?, end(j.b)?).map_err(|what| format!("joints[{i}]: {what}"))?;
    }
    Ok(())
}

fn one(world: &mut PhysicsWorld, j: &Joint, a: BodyId, b: BodyId) -> Result<(), String> {
    let (point, axis, normal) = (position(j.anchor), vector(unit(j.axis)), vector(across(j.axis)));
    match j.kind.as_str() {
        "fixed" => {
            world
                .create_constraint(a, b, &FixedConstraintSettings::new(point, axis, normal))
                .map_err(spoken)?;
        }
        "ball" => {
            world.create_constraint(a, b, &PointConstraintSettings::new(point)).map_err(spoken)?;
        }
        "revolute" => {
            let mut hinge = HingeConstraintSettings::new(point, axis, normal);
            if let Some(drive) = &j.drive {
                let limit = drive.fmax as f32;
                hinge = hinge.motor(motor(drive).torque_limits(-limit, limit));
            }
            let id = world.create_constraint(a, b, &hinge).map_err(spoken)?;
            let Some(drive) = &j.drive else { return Ok(()) };
            let mut hinge = world.constraint_mut(id).map_err(spoken)?;
            hinge.set_motor_state(motor_state(drive)?);
            match motor_state(drive)? {
                MotorState::Position => hinge.set_target_angle(drive.target as f32),
                _ => hinge.set_target_angular_velocity(drive.target as f32),
            }
            .map_err(spoken)?;
        }
        "prismatic" => {
            let mut slider = SliderConstraintSettings::new(point, axis, normal);
            if let Some(drive) = &j.drive {
                let limit = drive.fmax as f32;
                slider = slider.motor(motor(drive).force_limits(-limit, limit));
            }
            let id = world.create_constraint(a, b, &slider).map_err(spoken)?;
            let Some(drive) = &j.drive else { return Ok(()) };
            let mut slider = world.constraint_mut(id).map_err(spoken)?;
            slider.set_motor_state(motor_state(drive)?);
            match motor_state(drive)? {
                MotorState::Position => slider.set_target_position(drive.target as f32),
                _ => slider.set_target_velocity(drive.target as f32),
            }
            .map_err(spoken)?;
        }
        other => return Err(format!("type {other} is not supported")),
    }
    Ok(())
}

/// The spring is for places to hold; Jolt's motors of speed are rigid up to their limit.
fn motor(drive: &Drive) -> MotorSettings {
    let (stiffness, damping) = (drive.kp as f32, drive.kd as f32);
    if drive.kp > 0.0 {
        MotorSettings::default().spring(SpringSettings::StiffnessAndDamping { stiffness, damping })
    } else {
        MotorSettings::default()
    }
}

fn motor_state(drive: &Drive) -> Result<MotorState, String> {
    match drive.mode.as_str() {
        "velocity" => Ok(MotorState::Velocity),
        "position" => Ok(MotorState::Position),
        other => Err(format!("drive mode {other} is not supported")),
    }
}
