//! Checkpoints: a world as bytes, a state to go back to, and runs that go on bit for bit.
//!
//! Run with `cargo run --release --example checkpoint`.

use drystone::random::Random;
use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;

/// The example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new(Settings::default())?;
    world.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.4))?;
    let mut random = Random::new(7);
    for k in 0..30 {
        let at = random.in_box(DVec3::new(-0.3, -0.3, 0.2), DVec3::new(0.3, 0.3, 0.4))
            + DVec3::Z * 0.2 * f64::from(k);
        world.add_body(BodyDef::dynamic(Shape::sphere(0.08), 1.0).at(at).friction(0.4))?;
    }
    for _ in 0..100 {
        world.step()?;
    }

    // All of it: settings, bodies, joints, motion, warm starts. For files, other processes, other machines.
    let bytes = world.save()?;
    // The motion alone, to try things from one moment.
    let moment = world.state().clone();
    println!(
        "{} bodies after {:.1} s: {} bytes",
        world.model().bodies.len(),
        world.state().time,
        bytes.len()
    );

    for _ in 0..100 {
        world.step()?;
    }
    let went_on = world.state().hash();

    let mut other = World::load(&bytes)?;
    for _ in 0..100 {
        other.step()?;
    }
    println!("went on {went_on:016x}, loaded {:016x}", other.state().hash());
    assert_eq!(other.state().hash(), went_on);

    world.restore(moment)?;
    for _ in 0..100 {
        world.step()?;
    }
    println!("and from the moment kept: {:016x}", world.state().hash());
    assert_eq!(world.state().hash(), went_on);
    Ok(())
}
