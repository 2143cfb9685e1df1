//! Sleepers that are moved by something other than a touch: floors, motors, forces, fields.

use super::*;
use drystone::joint::{Kind, Motor};
use drystone::{Field, Function, Guide, JointDef, Wrench};

#[test]
fn a_floor_that_begins_to_move_wakes_what_stands_on_it() {
    for direction in [DVec3::Z, DVec3::NEG_Z, DVec3::X] {
        let mut w = World::new(settings()).unwrap();
        let way = Function::Ramp { from: 0.0, to: 0.1, start: 2.0, end: 4.0 };
        let slab = Shape::Box { half: DVec3::new(1.0, 1.0, 0.1) };
        let slab = BodyDef::kinematic(slab).guided(Guide::along(direction, way)).friction(0.6);
        w.add_body(slab).unwrap();
        let bricks = tower(&mut w, 0.0, 0.1, 3);
        let before = bricks.iter().map(|id| w.position(*id).unwrap()).collect::<Vec<_>>();
        steps(&mut w, 199);
        assert_eq!(w.asleep(), 3);
        steps(&mut w, 2);
        assert!(all_awake(&w, &bricks));
        steps(&mut w, 198);
        assert_eq!(w.asleep(), 0, "slower than the threshold, but it moves");
        for (id, x) in bricks.iter().zip(&before) {
            let moved = w.position(*id).unwrap() - *x;
            assert!(moved.distance(0.1 * direction) < 2e-3, "{moved} along {direction}");
        }
        until_asleep(&mut w, 3);
    }
}

#[test]
fn a_motor_that_starts_wakes_its_mechanism() {
    let hinge = |w: &mut World, y: f64, command: Motor| {
        let arm = BodyDef::dynamic(Shape::Box { half: DVec3::new(0.3, 0.05, 0.05) }, 1.0);
        let arm = w.add_body(arm.at(DVec3::new(0.3, y, 1.0))).unwrap();
        let frame = DQuat::from_rotation_arc(DVec3::Z, DVec3::Y);
        let joint = JointDef::new(Kind::Revolute, None, Some(arm), DVec3::new(0.0, y, 1.0), frame);
        let joint = joint.motor(0, command);
        (arm, w.add_joint(joint).unwrap())
    };
    let mut w = World::new(settings()).unwrap();
    let turn = Function::Ramp { from: 0.0, to: 1.0, start: 2.0, end: 3.0 };
    let (arm, _) = hinge(&mut w, 0.0, Motor::position(turn));
    let (still, joint) = hinge(&mut w, 1.0, Motor::position(0.0));
    until_asleep(&mut w, 2);
    assert!(w.state().time < 1.5);
    let reaction = w.joint_reaction(joint).unwrap();
    assert!((reaction.force.z - 9.81).abs() < 1e-6, "{:?}", reaction.force);
    while w.state().time < 1.985 {
        w.step().unwrap();
    }
    assert_eq!((w.asleep(), w.joint_reaction(joint).unwrap()), (2, reaction));
    steps(&mut w, 52);
    assert!(all_awake(&w, &[arm]) && all_asleep(&w, &[still]));
    let z = w.position(arm).unwrap().z;
    let angle = (w.state().time - 2.0).clamp(0.0, 1.0);
    assert!((z - 1.0).abs() > 0.1 && ((z - 1.0).abs() - 0.3 * angle.sin()).abs() < 1e-3, "{z}");
    steps(&mut w, 200);
    assert!(all_asleep(&w, &[arm, still]));
    // A new command wakes it too, before any step.
    w.set_motor(joint, 0, Some(Motor::speed(0.5))).unwrap();
    assert!(all_awake(&w, &[still]) && all_asleep(&w, &[arm]));
    steps(&mut w, 20);
    assert!((w.joint_rates(joint).unwrap()[0] - 0.5).abs() < 1e-9);
    w.remove_body(arm).unwrap();
}

#[test]
fn a_force_that_changes_wakes_one_that_stays_does_not() {
    let (mut w, _, bricks) = on_ground(1);
    let push = |w: &mut World, newtons: f64| {
        w.apply_force(bricks[0], DVec3::X * newtons, None).unwrap();
        w.step().unwrap();
    };
    for _ in 0..100 {
        push(&mut w, 1.0);
    }
    assert_eq!(w.asleep(), 1, "friction holds it");
    push(&mut w, 1.0);
    assert_eq!(w.asleep(), 1);
    w.step().unwrap();
    assert_eq!(w.asleep(), 0, "the force is gone");
    until_asleep(&mut w, 1);
    for _ in 0..10 {
        push(&mut w, 9.0);
    }
    let v = w.velocity(bricks[0]).unwrap().x;
    assert!((v - 0.1 * (9.0 - 0.6 * 9.81)).abs() < 0.02, "{v}");
}

#[test]
fn fields_and_settings_wake() {
    let (mut w, _, bricks) = on_ground(2);
    let wind = |_: &drystone::field::View, t: f64| Wrench::force(DVec3::X * if t < 2.0 { 1.0 } else { 40.0 });
    w.add_field(Field::callback("wind", wind)).unwrap();
    until_asleep(&mut w, 2);
    assert!(w.state().time < 1.5);
    while w.state().time < 1.995 {
        w.step().unwrap();
        assert_eq!(w.asleep(), 2);
    }
    steps(&mut w, 20);
    assert!(w.velocity(bricks[0]).unwrap().x > 1.0);

    let (mut w, _, bricks) = on_ground(2);
    until_asleep(&mut w, 2);
    w.set_settings(Settings { gravity: DVec3::Z, ..settings() }).unwrap();
    steps(&mut w, 10);
    let v = w.velocity(bricks[0]).unwrap().z;
    assert!((v - 0.1).abs() < 1e-5, "{v}");

    let (mut w, _, bricks) = on_ground(2);
    until_asleep(&mut w, 2);
    w.set_velocity(bricks[1], DVec3::X, DVec3::ZERO).unwrap();
    w.step().unwrap();
    assert!(all_awake(&w, &bricks) && w.velocity(bricks[1]).unwrap().x > 0.5);
}

#[test]
fn what_swings_slowly_but_surely_does_not_sleep() {
    // A long pendulum: at its turning points it is slower than any threshold, but not for long.
    let mut w = World::new(settings()).unwrap();
    let bob = w
        .add_body(BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).at(DVec3::new(0.2, 0.0, 0.0)))
        .unwrap();
    w.add_joint(JointDef::new(Kind::Ball, None, Some(bob), 2.0 * DVec3::Z, DQuat::IDENTITY)).unwrap();
    steps(&mut w, 600);
    assert_eq!(w.asleep(), 0);
}

#[test]
fn belts_that_start_wake() {
    let (mut w, floor, bricks) = on_ground(1);
    until_asleep(&mut w, 1);
    w.set_surface_velocity(floor, DVec3::X).unwrap();
    steps(&mut w, 50);
    let v = w.velocity(bricks[0]).unwrap().x;
    assert!((v - 1.0).abs() < 1e-3, "{v}");
}
