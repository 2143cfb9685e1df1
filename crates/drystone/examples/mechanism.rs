//! A mechanism with a motor: a crank drives a slider. Reads coordinates, rates, reactions and the motor's
//! torque.
//!
//! Run with `cargo run --release --example mechanism`.

use drystone::{BodyDef, JointDef, MassProperties, Motor, Settings, World};
use glam::DVec3;

/// The example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new(Settings { h: 1e-3, ..Settings::default() })?;
    let (crank, rod) = (0.1, 0.3);
    let bar = |mass: f64, length: f64| {
        let i = mass * length * length / 12.0;
        BodyDef::bare(MassProperties::principal(mass, DVec3::new(1e-4, i, i)))
    };
    // All in one line to begin with, in the plane y = 0.
    let first = world.add_body(bar(0.5, crank).at(DVec3::X * crank / 2.0).named("crank"))?;
    let second = world.add_body(bar(1.0, rod).at(DVec3::X * (crank + rod / 2.0)).named("rod"))?;
    let end = DVec3::X * (crank + rod);
    let slider = world.add_body(bar(2.0, 0.1).at(end).named("slider"))?;
    let motor = Motor::speed(10.0).limited(50.0);
    let hinge = world
        .add_joint(JointDef::revolute(None, first, DVec3::ZERO, DVec3::Y).motor(0, motor).named("drive"))?;
    let pin = world.add_joint(JointDef::revolute(first, second, DVec3::X * crank, DVec3::Y))?;
    world.add_joint(JointDef::revolute(second, slider, end, DVec3::Y))?;
    let guide = world.add_joint(JointDef::prismatic(None, slider, end, DVec3::X).named("guide"))?;

    println!("   t/s  crank/rad  slider/m  speed/(m/s)  torque/(N m)  pin force/N");
    for k in 1..=1000 {
        world.step()?;
        if k % 100 == 0 {
            let (angle, way) = (world.joint_coordinates(hinge)?[0], world.joint_coordinates(guide)?[0]);
            // What follows from the two lengths alone.
            let exact =
                crank * angle.cos() + (rod * rod - (crank * angle.sin()).powi(2)).sqrt() - crank - rod;
            assert!((way - exact).abs() < 1e-6, "the mechanism keeps its lengths: {way} {exact}");
            println!(
                "{:6.2}  {angle:9.4}  {way:8.4}  {:11.4}  {:12.4}  {:11.3}",
                world.state().time,
                world.joint_rates(guide)?[0],
                world.joint_reaction(hinge)?.motor[0],
                world.joint_reaction(pin)?.force.length(),
            );
        }
    }
    let error = world.joint_error();
    println!("\nthe joints are off by at most {:.1e} m and {:.1e} m/s", error.position, error.velocity);
    Ok(())
}
