//! A body that passes a corner of a box within one long step must not bounce off the plane of its nearest
//! face; a plane that turns must be seen coming far from its axis.

use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;

/// Shoots a ball upwards past, or at, the upper left edge of a cube.
fn shoot(z: f64) -> (World, drystone::BodyId) {
    let mut w = World::new(Settings { gravity: DVec3::ZERO, ..Settings::default() }).unwrap();
    w.add_body(BodyDef::fixed(Shape::Box { half: DVec3::splat(0.5) })).unwrap();
    let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.05 }, 1.0).at(DVec3::new(-1.5, 0.0, z));
    let ball = w.add_body(ball.moving(DVec3::new(141.0, 0.0, 141.0), DVec3::ZERO)).unwrap();
    (w, ball)
}

#[test]
fn ball_that_misses_a_corner_keeps_its_velocity() {
    let (mut w, ball) = shoot(-0.3);
    for _ in 0..3 {
        w.step().unwrap();
    }
    assert_eq!(w.velocity(ball).unwrap(), DVec3::new(141.0, 0.0, 141.0));
}

#[test]
fn ball_that_hits_the_side_is_stopped() {
    let (mut w, ball) = shoot(-0.9);
    for _ in 0..3 {
        w.step().unwrap();
        assert!(w.penetration().max < 1e-5);
    }
    assert!(w.velocity(ball).unwrap().x < 100.0, "{}", w.velocity(ball).unwrap());
}

#[test]
fn turning_plane_lifts_a_ball_far_from_its_axis() {
    let mut w = World::new(Settings::default()).unwrap();
    w.add_body(BodyDef::kinematic(Shape::HalfSpace).moving(DVec3::ZERO, DVec3::NEG_Y * 3.0)).unwrap();
    let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).at(DVec3::new(10.0, 0.0, 0.5));
    w.add_body(ball).unwrap();
    for _ in 0..20 {
        w.step().unwrap();
        let overlap = w.penetration().max;
        assert!(overlap < 0.01, "overlap {overlap}");
    }
}
