//! The basics: a floor, a stack of blocks, a heavy ball thrown at it, and what the step reports.
//!
//! Run with `cargo run --release --example falling_stack`.

use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;

/// The example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Everything has a default: 10 ms steps, earth's gravity along -z, residuals up to 1e-4 m/s.
    let mut world = World::new(Settings { h: 5e-3, ..Settings::default() })?;

    // A static half-space is all points with z <= 0. Friction of a pair is the geometric mean of both.
    world.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5))?;

    let half = DVec3::new(0.25, 0.15, 0.1);
    let blocks: Vec<_> = (0..8)
        .map(|k| {
            let at = DVec3::Z * half.z * (2 * k + 1) as f64;
            world.add_body(
                BodyDef::dynamic(Shape::Box { half }, 2.0).at(at).friction(0.5).named(format!("block {k}")),
            )
        })
        .collect::<Result<_, _>>()?;
    for _ in 0..100 {
        world.step()?;
    }
    let top = world.position(blocks[7])?;
    println!("after {:.1} s the stack stands, its top block at z = {:.4} m", world.state().time, top.z);
    println!("floor force over weight: {:.6}", world.support_over_weight().unwrap_or(f64::NAN));

    let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.15 }, 20.0).friction(0.3).named("ball");
    let ball = world
        .add_body(ball.at(DVec3::new(-2.0, 0.05, 0.9)).moving(DVec3::new(6.0, 0.0, 1.0), DVec3::ZERO))?;
    println!("\n    t/s  contacts  iterations   residual/(m/s)  overlap/m  kinetic/J  ball at x/m");
    for k in 1..=400 {
        let report = world.step()?;
        if k % 50 == 0 {
            println!(
                "{:7.2}  {:8}  {:10}  {:15.1e}  {:9.1e}  {:9.3}  {:11.3}",
                world.state().time,
                report.contacts,
                report.iterations,
                report.certificate.residual_max,
                report.penetration_max,
                world.energy().kinetic,
                world.position(ball)?.x,
            );
        }
    }
    let down = blocks.iter().filter(|&&b| world.position(b).is_ok_and(|x| x.z < 0.3)).count();
    println!("\n{down} of {} blocks lie on the floor", blocks.len());
    Ok(())
}
