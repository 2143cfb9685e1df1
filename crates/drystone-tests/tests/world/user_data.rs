//! Numbers of the user's own stay with what they belong to.

use drystone::{BodyDef, JointDef, Settings, Shape, World, WorldError};
use glam::DVec3;

#[test]
fn numbers_stay_with_bodies_colliders_and_joints() {
    let mut w = World::new(Settings::default()).unwrap();
    let ball = w.add_body(BodyDef::dynamic(Shape::sphere(0.1), 1.0)).unwrap();
    let collider = w.colliders_of(ball).unwrap()[0];
    let joint = w.add_joint(JointDef::ball(None, ball, DVec3::ZERO)).unwrap();
    assert_eq!((w.user_data(ball).unwrap(), w.user_data(collider).unwrap()), (0, 0));
    w.set_user_data(ball, u128::MAX - 5).unwrap();
    w.set_user_data(collider, 7).unwrap();
    w.set_user_data(joint, 9).unwrap();
    w.step().unwrap();
    let all =
        |w: &World| (w.user_data(ball).unwrap(), w.user_data(collider).unwrap(), w.user_data(joint).unwrap());
    assert_eq!(all(&w), (u128::MAX - 5, 7, 9));
    assert_eq!(all(&World::load(&w.save().unwrap()).unwrap()), all(&w), "saved with the world");

    // Who takes the slot of one that is gone has nothing.
    w.remove_body(ball).unwrap();
    assert!(matches!(w.user_data(ball), Err(WorldError::NoBody(_))));
    assert!(w.user_data(joint).is_err() && w.user_data(collider).is_err());
    assert!(w.set_user_data(ball, 1).is_err());
    let next = w.add_body(BodyDef::dynamic(Shape::sphere(0.1), 1.0)).unwrap();
    assert_eq!((next.slot, w.user_data(next).unwrap()), (ball.slot, 0));
    let other = World::load(&w.save().unwrap()).unwrap();
    assert_eq!(other.user_data(next).unwrap(), 0);
}

#[test]
fn data_of_the_dead_does_not_pile_up() {
    let mut w = World::new(Settings::default()).unwrap();
    let before = w.save().unwrap().len();
    for k in 0..10_000u128 {
        let ball = w.add_body(BodyDef::dynamic(Shape::sphere(0.1), 1.0)).unwrap();
        w.set_user_data(ball, k + 1).unwrap();
        w.remove_body(ball).unwrap();
    }
    let after = w.save().unwrap().len();
    assert!(after < before + 2000, "{before} {after} bytes");
}
