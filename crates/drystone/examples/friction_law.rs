//! A friction law of one's own: friction that falls with the sliding speed (Stribeck's curve). A block on a
//! belt, held by a spring, sticks and slips.
//!
//! Run with `cargo run --release --example friction_law`.

use drystone::{BodyDef, JointDef, Settings, Shape, World};
use glam::DVec3;

/// The example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new(Settings { h: 1e-3, ..Settings::default() })?;
    let belt_speed = 0.05;
    let floor = world.add_body(BodyDef::fixed(Shape::HalfSpace).surface_velocity(DVec3::X * belt_speed))?;
    let block = BodyDef::dynamic(Shape::cuboid(DVec3::splat(0.1)), 1.0).at(DVec3::Z * 0.1);
    let block = world.add_body(block)?;
    world.add_joint(JointDef::spring_between(
        (None, DVec3::new(-1.0, 0.0, 0.1)),
        (Some(block), DVec3::ZERO),
        1.0,
        100.0,
        0.0,
    ))?;

    // 0.5 at rest, 0.3 at speed: a state of the world and a contact decide, and nothing else.
    world.on_contacts(move |_model, state, contacts| {
        for c in contacts.iter_mut() {
            let [a, b] = c.bodies.map(|slot| slot as usize);
            let belt = if c.bodies[1] == floor.slot { DVec3::X * belt_speed } else { DVec3::ZERO };
            let u = state.velocity_at(a, c.point) - state.velocity_at(b, c.point) - belt;
            let speed = (u - u.dot(c.normal) * c.normal).length();
            c.mu = 0.3 + 0.2 * (-speed / 0.01).exp();
        }
    });

    let (mut least, mut most, mut stuck) = (f64::INFINITY, f64::NEG_INFINITY, 0);
    for k in 1..=4000 {
        world.step()?;
        let (x, v) = (world.position(block)?.x, world.velocity(block)?.x);
        if k > 2000 {
            (least, most) = (least.min(x), most.max(x));
            stuck += usize::from((v - belt_speed).abs() < 1e-3);
        }
        if k % 250 == 0 {
            println!("{:5.2} s: {:7.2} mm, {:8.4} m/s", world.state().time, 1e3 * x, v);
        }
    }
    // Sticks up to mu_s m g / k = 49 mm, and slips back.
    println!("\nbetween {:.1} and {:.1} mm, stuck for {stuck} of 2000 steps", 1e3 * least, 1e3 * most);
    assert!(most > 0.04 && most < 0.06 && least < most - 0.01 && stuck > 200, "it sticks and slips");
    Ok(())
}
