//! A fast capsule that comes tilted has one contact point with a box face, at its nearer end: that end stops,
//! and the other swings through the plate within the step. A half-space gets both ends and stops it.

use drystone::{BodyDef, Settings, Shape, World};
use glam::{DQuat, DVec3};

fn lands(target: Shape) -> f64 {
    let mut w =
        World::new(Settings { gravity: DVec3::ZERO, iterations: 5000, ..Settings::default() }).unwrap();
    w.add_body(BodyDef::fixed(target).at(DVec3::Z * -0.005)).unwrap();
    let capsule = BodyDef::dynamic(Shape::Capsule { radius: 0.04, half_length: 0.1 }, 1.0).at(DVec3::Z * 0.6);
    let capsule = capsule.turned(DQuat::from_rotation_y(0.7)).moving(DVec3::NEG_Z * 100.0, DVec3::ZERO);
    let capsule = w.add_body(capsule).unwrap();
    for _ in 0..5 {
        w.step().unwrap();
    }
    w.position(capsule).unwrap().z
}

#[test]
fn tilted_capsule_does_not_pass_a_thin_plate() {
    let floor = lands(Shape::HalfSpace);
    assert!(floor > -0.005, "passed a half-space, to z = {floor}");
    let plate = lands(Shape::Box { half: DVec3::new(5.0, 5.0, 0.005) });
    assert!(plate > 0.0, "passed a plate of 1 cm, to z = {plate}");
}
