//! A small fast ball far from the floor, which it reaches within the step: one frictional contact, one static
//! body. The contact point lies half-way across the gap, 60 radii from the ball, so the tangential rows of
//! its block are thousands of times softer than the normal one, and the step η from the trace of the block
//! hardly moves the latter.

use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;

#[test]
fn one_far_contact_is_solved() {
    let mut w = World::new(Settings { gravity: DVec3::ZERO, ..Settings::default() }).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.3)).unwrap();
    let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.005 }, 1.0).friction(0.3);
    let ball = w.add_body(ball.at(DVec3::Z * 0.6).moving(DVec3::NEG_Z * 100.0, DVec3::ZERO)).unwrap();
    let report = w.step().unwrap();
    let z = w.position(ball).unwrap().z;
    assert!(
        z > 0.0,
        "passed to z = {z} after {} sweeps, residual {}",
        report.iterations,
        report.certificate.residual_max
    );
}
