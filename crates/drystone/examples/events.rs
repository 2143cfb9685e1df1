//! Events: who begins to touch, who leaves, with which force; a sensor that counts what falls through it;
//! data of one's own.
//!
//! Run with `cargo run --release --example events`.

use drystone::{BodyDef, Collider, PairLaw, Phase, Settings, Shape, World};
use glam::DVec3;

/// The example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new(Settings { h: 2e-3, ..Settings::default() })?;
    let rubber = world.materials_mut().add("rubber")?;
    world.materials_mut().set_pair(rubber, rubber, PairLaw { restitution: 0.7, ..PairLaw::friction(0.5) })?;
    world.add_body(BodyDef::fixed(Shape::HalfSpace).material(rubber).named("floor"))?;
    // A gate half a metre above the floor: it sees and does not push.
    let mut gate = BodyDef::fixed(Shape::sphere(1.0)).at(DVec3::Z * 0.5).named("gate");
    gate.colliders = vec![Collider::sensor(Shape::cuboid(DVec3::new(1.0, 1.0, 0.01)))];
    world.add_body(gate)?;
    for k in 0..3u32 {
        let ball = BodyDef::dynamic(Shape::sphere(0.1), 0.5).material(rubber);
        let ball = world.add_body(ball.at(DVec3::new(0.5 * f64::from(k), 0.0, 1.0 + 0.3 * f64::from(k))))?;
        world.set_user_data(ball, u128::from(k) + 100)?; // Such as a row of a table of yours.
    }

    world.record_events(true);
    let (mut bounces, mut entered) = (0, 0);
    for _ in 0..1000 {
        world.step()?;
        for e in world.contact_events().iter().filter(|e| e.phase == Phase::Begin) {
            bounces += 1;
            let number = world.user_data(e.bodies[0])?;
            println!(
                "{:.3} s: ball {number} hits with {:7.1} N at {:.3}",
                world.state().time,
                e.force.z,
                e.point
            );
        }
        for e in world.sensor_events().iter().filter(|e| e.phase == Phase::Begin) {
            entered += 1;
            println!("{:.3} s: ball {} is in the gate", world.state().time, world.user_data(e.other.0)?);
        }
    }
    println!("\n{bounces} hits on the floor, {entered} passages of the gate");
    assert!(bounces >= 6 && entered >= 6, "what goes down comes up again");
    Ok(())
}
