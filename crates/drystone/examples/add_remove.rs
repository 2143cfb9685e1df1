//! Bodies come and go: balls rain on a small table; those that fall off it are removed.
//!
//! Run with `cargo run --release --example add_remove`.

use drystone::random::Random;
use drystone::{BodyDef, BodyId, Settings, Shape, World};
use glam::DVec3;

/// The example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new(Settings::default())?;
    let table = Shape::Box { half: DVec3::new(0.6, 0.6, 0.05) };
    world.add_body(BodyDef::fixed(table).at(DVec3::Z * -0.05).friction(0.3).named("table"))?;

    let mut random = Random::new(2);
    let mut balls: Vec<BodyId> = Vec::new();
    let mut gone = 0;
    println!("   t/s  on the table  removed  contacts  slots in use");
    for k in 1..=1000 {
        if k % 3 == 0 && k <= 700 {
            let radius = random.range(0.05, 0.08);
            let ball = BodyDef::dynamic(Shape::Sphere { radius }, 1000.0 * Shape::Sphere { radius }.volume());
            let at = random.in_box(DVec3::new(-0.3, -0.3, 1.0), DVec3::new(0.3, 0.3, 1.5));
            balls.push(world.add_body(ball.at(at).friction(0.3))?);
        }
        let report = world.step()?;

        // An id stays valid until its body is removed; then its slot goes to the next body under a new
        // generation.
        let fallen: Vec<BodyId> =
            balls.iter().copied().filter(|&b| world.position(b).is_ok_and(|x| x.z < -1.0)).collect();
        for &ball in &fallen {
            world.remove_body(ball)?;
        }
        balls.retain(|b| !fallen.contains(b));
        gone += fallen.len();
        if k % 100 == 0 {
            let slots = world.model().bodies.len();
            println!(
                "{:6.2}  {:12}  {gone:7}  {:8}  {slots:12}",
                world.state().time,
                balls.len(),
                report.contacts
            );
        }
    }
    println!(
        "\n{} balls were added in all, yet only {} slots were ever needed",
        gone + balls.len(),
        world.model().bodies.len()
    );
    Ok(())
}
