//! A study over many worlds at once: which friction holds a leaning stack? Each world is stepped by one
//! thread.
//!
//! Run with `cargo run --release --example parallel_worlds`.

use drystone::{BodyDef, Settings, Shape, World};
use glam::{DQuat, DVec3};
use rayon::prelude::*;

/// How far the top of a stack on a plane that is tilted by 20° slides in half a second, m.
fn slide(friction: f64) -> Result<f64, Box<dyn std::error::Error + Send + Sync>> {
    let tilt = 20f64.to_radians();
    let mut world = World::new(Settings::default())?;
    let turned = DQuat::from_rotation_y(tilt);
    world.add_body(BodyDef::fixed(Shape::HalfSpace).turned(turned).friction(friction))?;
    let mut top = None;
    for k in 0..3 {
        let at = turned * DVec3::Z * (0.1 + 0.2 * f64::from(k));
        let block = BodyDef::dynamic(Shape::cuboid(DVec3::new(0.2, 0.2, 0.1)), 1.0);
        top = Some(world.add_body(block.at(at).turned(turned).friction(friction))?);
    }
    let top = top.ok_or("no block")?;
    let start = world.position(top)?;
    for _ in 0..50 {
        world.step()?;
    }
    Ok((world.position(top)? - start).length())
}

/// The example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let coefficients: Vec<f64> = (0..32).map(|k| 0.2 + 0.01 * f64::from(k)).collect();
    let ways = coefficients.par_iter().map(|mu| slide(*mu)).collect::<Result<Vec<_>, _>>();
    let ways = ways.map_err(|e| e.to_string())?;
    for (mu, way) in coefficients.iter().zip(&ways).step_by(4) {
        println!("mu = {mu:.2}: {way:.4} m");
    }
    let holds = coefficients.iter().zip(&ways).find(|(_, way)| **way < 1e-3).map(|(mu, _)| *mu);
    let holds = holds.ok_or("nothing holds")?;
    println!("\nmu = {holds:.2} holds; tan 20° = {:.3}", 20f64.to_radians().tan());
    assert!((holds - 20f64.to_radians().tan()).abs() < 0.011);
    Ok(())
}
