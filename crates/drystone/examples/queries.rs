//! Questions about places: rays, a sphere that is swept, overlaps, the nearest body, with filters.
//!
//! Run with `cargo run --release --example queries`.

use drystone::{BodyDef, Filter, Motion, Pose, QueryFilter, Settings, Shape, World};
use glam::DVec3;

/// The example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new(Settings::default())?;
    world.add_body(BodyDef::fixed(Shape::HalfSpace).named("floor"))?;
    let glass = Filter { layers: 2, mask: u32::MAX };
    let pane = Shape::cuboid(DVec3::new(0.01, 1.0, 1.0));
    world.add_body(BodyDef::fixed(pane).at(DVec3::new(1.0, 0.0, 1.0)).filter(glass).named("pane"))?;
    for k in 0..5 {
        let crate_ = BodyDef::dynamic(Shape::cuboid(DVec3::splat(0.2)), 1.0);
        world.add_body(crate_.at(DVec3::new(2.0 + f64::from(k), 0.0, 0.2)).named(format!("crate {k}")))?;
    }
    let name = |w: &World, id: drystone::BodyId| w.model().describe(id.slot);

    let (from, towards) = (DVec3::new(-1.0, 0.0, 0.3), DVec3::X);
    let first = world.ray_first(from, towards, 100.0, &QueryFilter::default()).ok_or("nothing is hit")?;
    println!("a ray hits {} after {:.2} m", name(&world, first.body), first.hit.distance);

    // Only what is in layer 1: the pane is not.
    let solid = QueryFilter { filter: Some(Filter { layers: u32::MAX, mask: 1 }), ..QueryFilter::default() };
    let behind = world.ray_first(from, towards, 100.0, &solid).ok_or("nothing is hit")?;
    println!("through the pane it hits {} after {:.2} m", name(&world, behind.body), behind.hit.distance);
    assert!(behind.hit.distance > first.hit.distance);

    let all = world.ray_all(from, towards, 100.0, &QueryFilter::default());
    println!("in all it passes {} bodies", all.len());
    assert_eq!(all.len(), 6);

    let ball = Shape::sphere(0.15);
    let swept = world.cast_shape(&ball, &Pose::at(from), towards, 100.0, &solid).ok_or("nothing is hit")?;
    println!("a ball of 15 cm gets {:.3} m far", swept.hit.distance);

    let movable = QueryFilter { motion: Some(Motion::Dynamic), ..QueryFilter::default() };
    let inside =
        world.overlapping(&Shape::cuboid(DVec3::splat(1.2)), &Pose::at(DVec3::new(3.0, 0.0, 0.5)), &movable);
    println!("{} crates are in a box around x = 3 m", inside.len());
    assert_eq!(inside.len(), 3);

    let near = world
        .closest(&ball, &Pose::at(DVec3::new(2.6, 0.0, 1.0)), 10.0, &movable)
        .ok_or("nothing is near")?;
    println!("{} is nearest: {:.3} m, at {:.3}", name(&world, near.body), near.hit.distance, near.hit.on_b);
    Ok(())
}
