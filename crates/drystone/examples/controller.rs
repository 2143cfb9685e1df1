//! For controllers: masses, Jacobians, accelerations, and the problem of a step. A pendulum is held at 30° by
//! the torque that its Jacobian and mass say.
//!
//! Run with `cargo run --release --example controller`.

use std::sync::{Arc, Mutex};

use drystone::{BodyDef, JointDef, MassProperties, Motor, Settings, World};
use glam::{DQuat, DVec3};

/// The example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new(Settings { h: 1e-3, ..Settings::default() })?;
    let angle = 30f64.to_radians();
    let turn = DQuat::from_rotation_y(angle);
    let rod = BodyDef::bare(MassProperties::principal(2.0, DVec3::new(0.17, 0.17, 0.01)));
    let rod = world.add_body(rod.at(turn * DVec3::new(0.0, 0.0, -0.5)).turned(turn))?;
    let hinge = world.add_joint(JointDef::revolute(None, rod, DVec3::ZERO, DVec3::Y))?;
    world.record_accelerations(true);

    // The problem of every step, before it is solved: how many rows it has.
    let rows = Arc::new(Mutex::new(0));
    let seen = rows.clone();
    world.on_problem(move |problem, _guess| {
        if let Ok(mut rows) = seen.lock() {
            *rows = problem.rows();
        }
    });

    let mut largest = 0.0f64;
    for _ in 0..500 {
        // The rate of the angle is row · (v_A, ω_A, v_B, ω_B): its last three numbers are the axis of the
        // hinge.
        let row = world.joint_jacobian(hinge)?[0];
        let axis = DVec3::new(row[9], row[10], row[11]);
        let weight = world.mass(rod)?.mass * world.settings().gravity;
        let gravity = axis.dot((world.position(rod)? - world.joint_position(hinge)?).cross(weight));
        world.set_motor(hinge, 0, Some(Motor::force(-gravity)))?;
        world.step()?;
        let (a, _) = world.acceleration(rod)?.ok_or("accelerations are recorded")?;
        largest = largest.max(a.length());
    }
    let rows = *rows.lock().map_err(|e| e.to_string())?;
    let held = world.joint_coordinates(hinge)?[0].abs();
    let reaction = world.joint_reaction(hinge)?;
    println!(
        "after {:.1} s it has moved by {held:.1e} rad; largest acceleration {largest:.1e} m/s²",
        world.state().time
    );
    println!(
        "the motor gives {:.4} N m, the hinge carries {:.3} N",
        reaction.motor[0],
        reaction.force.length()
    );
    println!("a step's problem has {rows} rows");
    assert!(held < 1e-6 && (reaction.force.length() - 2.0 * 9.81).abs() < 1e-3);
    Ok(())
}
