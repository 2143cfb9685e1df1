//! Contacts in the user's hands: a callback that makes part of the floor icy, and a time series of contact
//! forces.
//!
//! Run with `cargo run --release --example contacts_callback`.

use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;

/// The example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new(Settings { h: 2e-3, ..Settings::default() })?;
    let floor = world.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.6))?;
    let half = DVec3::splat(0.1);
    let crate_ = BodyDef::dynamic(Shape::Box { half }, 5.0).at(DVec3::Z * half.z).friction(0.6);
    let crate_ = world.add_body(crate_)?;

    // Called in every step between finding the contacts and solving them. Beyond x = 1 m the floor is ice.
    // Contacts may also be removed here: what has no contact falls through.
    world.on_contacts(|_model, _state, contacts| {
        for c in contacts.iter_mut().filter(|c| c.point.x > 1.0) {
            c.mu = 0.02;
        }
    });

    println!("a crate of 5 kg pulled with 35 N; rough floor up to x = 1 m, ice beyond");
    println!("\n   t/s     x/m   v/(m/s)   normal/N  friction/N  friction over normal");
    for k in 1..=1200 {
        world.apply_force(crate_, DVec3::X * 35.0, None)?;
        world.step()?;
        if k % 100 == 0 {
            // Impulses over the step are forces. Of a pair, the impulse is the one on the first body.
            let (mut normal, mut friction) = (0.0, DVec3::ZERO);
            for c in world.contacts().iter().filter(|c| c.bodies == [crate_.slot, floor.slot]) {
                normal += c.normal_impulse() / world.settings().h;
                friction += c.tangential_impulse() / world.settings().h;
            }
            println!(
                "{:6.2}  {:6.3}  {:8.3}  {:9.3}  {:10.3}  {:20.4}",
                world.state().time,
                world.position(crate_)?.x,
                world.velocity(crate_)?.x,
                normal,
                friction.x,
                friction.length() / normal,
            );
        }
    }
    println!("\nthe rough floor holds back with 0.6 of the weight, the ice with 0.02 of it");
    Ok(())
}
