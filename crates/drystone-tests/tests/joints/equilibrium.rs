//! Static equilibrium on request.

use drystone::{BodyDef, JointDef, MassProperties, Motor, Shape, World, WorldError};
use glam::DVec3;

use crate::basic::{bar, exact};

/// κ (θ - θ₀) = m g c cos θ, and the hinge carries the weight.
#[test]
fn a_spring_holds_a_bar() {
    let mut w = World::new(exact()).unwrap();
    let id = bar(&mut w, DVec3::X * 0.5);
    let hinge = JointDef::revolute(None, id, DVec3::ZERO, DVec3::Y).spring(0, -0.3, 10.0, 0.0);
    let hinge = w.add_joint(hinge).unwrap();
    let found = w.settle().unwrap();
    let angle = w.joint_coordinates(hinge).unwrap()[0];
    assert!((10.0 * (angle + 0.3) - 2.0 * 9.81 * 0.5 * angle.cos()).abs() < 1e-6, "{angle} {found:?}");
    assert!((w.joint_reaction(hinge).unwrap().force.z - 2.0 * 9.81).abs() < 1e-6);
    assert_eq!((w.state().time, w.state().step, w.velocity(id).unwrap()), (0.0, 0, DVec3::ZERO));
    // It stays there.
    for _ in 0..100 {
        w.step().unwrap();
    }
    assert!((w.joint_coordinates(hinge).unwrap()[0] - angle).abs() < 1e-7);
}

/// A level chain comes to hang straight down; a bar on its limit, and a box on the floor, rest there.
#[test]
fn chains_limits_and_floors() {
    let mut w = World::new(exact()).unwrap();
    let links: Vec<_> = (0..4).map(|i| bar(&mut w, DVec3::X * (0.5 + i as f64))).collect();
    for (i, link) in links.iter().enumerate() {
        let to = i.checked_sub(1).map(|k| links[k]);
        w.add_joint(JointDef::ball(to, *link, DVec3::X * i as f64)).unwrap();
    }
    w.settle().unwrap();
    for (i, link) in links.iter().enumerate() {
        let at = w.position(*link).unwrap();
        assert!((at - DVec3::Z * -(0.5 + i as f64)).length() < 1e-6, "{i}: {at}");
    }

    let mut w = World::new(exact()).unwrap();
    let id = bar(&mut w, DVec3::new(0.5, 0.0, 5.0));
    let limited = JointDef::revolute(None, id, DVec3::Z * 5.0, DVec3::Y).limits(0, -1.0, 0.4, 0.0);
    let limited = w.add_joint(limited).unwrap();
    let side = DVec3::splat(0.1);
    let block = w
        .add_body(BodyDef::dynamic(Shape::Box { half: side }, 1.0).at(DVec3::Z * 0.12).friction(0.5))
        .unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
    w.settle().unwrap();
    assert!((w.joint_coordinates(limited).unwrap()[0] - 0.4).abs() < 1e-5);
    assert!((w.position(block).unwrap().z - 0.1).abs() < 1e-5);
}

/// What nothing holds is refused by name, what is driven too, and the world is as it was.
#[test]
fn what_cannot_rest_is_refused() {
    let mut w = World::new(exact()).unwrap();
    let mass = MassProperties::principal(1.0, DVec3::ONE);
    w.add_body(BodyDef::bare(mass).named("stone").moving(DVec3::X, DVec3::ZERO)).unwrap();
    let before = w.state().clone();
    let Err(WorldError::Unsettled(text)) = w.settle() else { panic!("it falls") };
    assert!(text.contains("stone") && text.contains("keeps moving"), "{text}");
    assert_eq!(&before, w.state());

    let mut w = World::new(exact()).unwrap();
    let id = bar(&mut w, DVec3::X * 0.5);
    w.add_joint(JointDef::revolute(None, id, DVec3::ZERO, DVec3::Y).motor(0, Motor::speed(1.0))).unwrap();
    assert!(matches!(w.settle(), Err(WorldError::Unsettled(_))));

    let mut w = World::new(exact()).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace)).unwrap();
    w.add_body(BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).at(DVec3::Z * 0.1)).unwrap();
    let Err(WorldError::Unsettled(text)) = w.settle() else { panic!("no mechanism") };
    assert!(text.contains("heap"), "{text}");
}
