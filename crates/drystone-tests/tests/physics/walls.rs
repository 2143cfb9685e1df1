//! Walls and blades that are led do not sink into what they push.

use std::sync::{Arc, Mutex};

use drystone::{BodyDef, Function, Guide, Settings, Shape, World};
use glam::DVec3;

/// A blade turns by more than its thickness in a step at its tip. Where the turn leads, a block before it is
/// nearer to the face behind: it is not held there.
#[test]
fn a_blade_does_not_hold_bodies_on_its_far_side() {
    let mut w = World::new(Settings { gravity: DVec3::ZERO, ..Settings::default() }).unwrap();
    let turn = Function::Ramp { from: 0.0, to: 9.0, start: 0.0, end: 1.0 };
    let blade = BodyDef::kinematic(Shape::cuboid(DVec3::new(0.3, 0.2, 0.005)));
    w.add_body(blade.guided(Guide::about(DVec3::Y, turn))).unwrap();
    for (x, z) in [(-0.25, 0.02), (0.25, -0.02), (-0.15, 0.025)] {
        let block = BodyDef::solid(Shape::cuboid(DVec3::splat(0.01)), 1000.0);
        w.add_body(block.at(DVec3::new(x, 0.0, z))).unwrap();
    }
    let deepest = Arc::new(Mutex::new(0.0_f64));
    let seen = Arc::clone(&deepest);
    w.on_contacts(move |_, _, contacts| {
        let mut deepest = seen.lock().unwrap();
        contacts.iter().for_each(|c| *deepest = deepest.min(c.gap));
    });
    for k in 0..40 {
        w.step().unwrap();
        assert!(w.deep_overlaps(0.05).is_empty(), "step {k}: {:?}", w.deep_overlaps(0.05));
    }
    // The inner radius of a block is 1 cm, that of the blade half of it.
    let deepest = *deepest.lock().unwrap();
    assert!(deepest > -0.005, "a contact {deepest} m deep");
}

/// A wall gives way by its compliance, which is about the mobility of what it touches: a light ball with a
/// heavy one behind it.
#[test]
fn a_wall_does_not_sink_into_a_light_ball_before_a_heavy_one() {
    for ratio in [10.0, 100.0, 500.0] {
        let mut w = World::new(Settings { gravity: DVec3::ZERO, ..Settings::default() }).unwrap();
        let push = Function::Ramp { from: 0.0, to: 1.0, start: 0.0, end: 1.0 };
        let wall = BodyDef::kinematic(Shape::cuboid(DVec3::new(0.1, 1.0, 1.0)));
        w.add_body(wall.at(DVec3::X * -0.11).guided(Guide::along(DVec3::X, push))).unwrap();
        let ball = |radius, mass| BodyDef::dynamic(Shape::sphere(radius), mass);
        w.add_body(ball(0.01, 0.01)).unwrap();
        w.add_body(ball(0.1, 0.01 * ratio).at(DVec3::X * 0.11)).unwrap();
        for k in 0..20 {
            w.step().unwrap();
            assert!(w.deep_overlaps(0.05).is_empty(), "1 to {ratio}, step {k}: {:?}", w.deep_overlaps(0.05));
        }
    }
}
