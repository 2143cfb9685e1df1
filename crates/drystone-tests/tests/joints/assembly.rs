//! Joints that do not fit at the start, joints that repeat each other, and runs that go on from a saved
//! state.

use drystone::joint::{Kind, Motor};
use drystone::{BodyDef, BodyId, JointDef, MassProperties, Pose, Settings, World};
use glam::{DQuat, DVec3};

use crate::basic::{bar, exact};

/// A bar of length 1 with hinges at its ends.
fn link(world: &mut World, from: DVec3, to: DVec3) -> BodyId {
    let mass = MassProperties::principal(1.0, DVec3::new(0.01, 0.1, 0.1));
    let turn = DQuat::from_rotation_arc(DVec3::X, (to - from).normalize());
    world.add_body(BodyDef::bare(mass).at(0.5 * (from + to)).turned(turn)).unwrap()
}

#[test]
fn what_is_apart_is_put_together() {
    let mut world = World::new(Settings { gravity: DVec3::ZERO, ..exact() }).unwrap();
    let id = bar(&mut world, DVec3::new(0.6, 0.1, -0.1));
    let at = |x: f64| Pose::new(DVec3::X * x, DQuat::from_rotation_arc(DVec3::Z, DVec3::Y));
    let hinge = JointDef::local(Kind::Revolute, (None, at(0.0)), (Some(id), at(-0.5)));
    let hinge = world.add_joint(hinge).unwrap();
    world.set_velocity(id, DVec3::new(1.0, 1.0, 1.0), DVec3::ZERO).unwrap();
    assert!(world.joint_error().position > 0.05);
    world.assemble_joints().unwrap();
    let e = world.joint_error();
    assert!(e.position < 1e-7 && e.velocity < 1e-7, "{e:?}");
    // What the hinge lets move is kept: its angular momentum about the axis through the hinge.
    assert!(world.joint_rates(hinge).unwrap()[0].abs() > 0.1);
}

/// Each round moves a joint by half of its length at most: however far apart things are, they come together.
#[test]
fn what_is_far_apart_is_put_together() {
    let mut world = World::new(Settings { gravity: DVec3::ZERO, ..exact() }).unwrap();
    let id = bar(&mut world, DVec3::Z * 100.0);
    world.add_joint(JointDef::rope((None, DVec3::ZERO), (Some(id), DVec3::ZERO), 1.0)).unwrap();
    world.assemble_joints().unwrap();
    let at = world.position(id).unwrap();
    assert!((at.length() - 1.0).abs() < 1e-6, "{at}");
}

#[test]
fn what_does_not_fit_is_named() {
    let mut world = World::new(exact()).unwrap();
    let id = bar(&mut world, DVec3::ZERO);
    world.add_joint(JointDef::distance((None, DVec3::ZERO), (Some(id), DVec3::ZERO), 1.0)).unwrap();
    let far = JointDef::distance((None, DVec3::X * 5.0), (Some(id), DVec3::ZERO), 1.0).named("strut");
    world.add_joint(far).unwrap();
    let before = world.position(id).unwrap();
    let e = world.step().unwrap_err().to_string();
    assert!(e.contains("cannot be assembled") && e.contains("distance joint"), "{e}");
    assert_eq!(world.position(id).unwrap(), before, "nothing has moved");
    // Axes that point opposite ways satisfy the equations and are refused all the same.
    let mut world = World::new(exact()).unwrap();
    let id = bar(&mut world, DVec3::ZERO);
    let frame = |axis| Pose::new(DVec3::ZERO, DQuat::from_rotation_arc(DVec3::Z, axis));
    let hinge = JointDef::local(Kind::Revolute, (None, frame(DVec3::Y)), (Some(id), frame(DVec3::NEG_Y)));
    world.add_joint(hinge).unwrap();
    assert!(world.assemble_joints().unwrap_err().to_string().contains("opposed"));
}

/// Four hinges of a planar four-bar pose 20 equations on 18 coordinates with one motion left: three repeat
/// others.
fn four_bar(compliance: f64) -> (World, Vec<drystone::JointId>) {
    let mut world = World::new(exact()).unwrap();
    let corners =
        [DVec3::ZERO, DVec3::new(0.0, 0.0, 1.0), DVec3::new(2.0, 0.0, 1.5), DVec3::new(2.0, 0.0, 0.0)];
    let links: Vec<_> = (0..3).map(|k| link(&mut world, corners[k], corners[k + 1])).collect();
    let body = |k: usize| links.get(k).copied();
    let joints = (0..4usize)
        .map(|k| {
            let a = k.checked_sub(1).and_then(body);
            let joint =
                JointDef::revolute(a, body(k), corners[k], DVec3::Y).compliant(compliance, compliance);
            world.add_joint(joint).unwrap()
        })
        .collect();
    (world, joints)
}

#[test]
fn repeated_equations_are_told() {
    let (mut world, joints) = four_bar(0.0);
    let found = world.redundancy();
    assert_eq!((found.rows, found.rank), (20, 17), "{found:?}");
    assert!(joints.iter().all(|j| found.not_unique.iter().any(|(id, _)| id == j)), "{found:?}");
    // In the plane the reactions are unique: only what holds the links in it is not. Row 0..3 are forces
    // along the axes of A's frame, whose z axis is y of the world.
    assert!(found.not_unique.iter().all(|(_, row)| *row >= 2), "{found:?}");
    let mut largest = 0f64;
    for _ in 0..500 {
        world.step().unwrap();
        for j in &joints {
            largest = largest.max(world.joint_reaction(*j).unwrap().force.length());
        }
    }
    assert!(largest < 500.0, "multipliers stay bounded: {largest}");
    assert!(world.joint_error().position < 2e-6);
    let (mut soft, _) = four_bar(1e-8);
    assert_eq!(soft.redundancy().not_unique, []);
}

/// Two motors on one axis: the speed is right, what each of them does is not unique.
#[test]
fn two_motors_on_one_axis() {
    let mut world = World::new(exact()).unwrap();
    let id = bar(&mut world, DVec3::X * 0.5);
    let hinges = [0, 1].map(|_| {
        let hinge = JointDef::revolute(None, id, DVec3::ZERO, DVec3::Y).motor(0, Motor::speed(1.0));
        world.add_joint(hinge).unwrap()
    });
    let found = world.redundancy();
    assert_eq!((found.rows, found.rank), (12, 6));
    for _ in 0..300 {
        world.step().unwrap();
    }
    assert!((world.joint_rates(hinges[0]).unwrap()[0] - 1.0).abs() < 1e-6);
    let torques = hinges.map(|h| world.joint_reaction(h).unwrap().motor[0]);
    assert!(torques.iter().all(|t| t.abs() < 30.0), "{torques:?}");
}

/// A chain with a motor, saved in the middle: the rest is the same bit for bit, warm start and turns
/// included.
#[test]
fn a_saved_state_goes_on_bit_for_bit() {
    let make = || {
        let mut world = World::new(Settings { iterations: 30, ..Settings::default() }).unwrap();
        let mut last = None;
        for k in 0..6 {
            let at = DVec3::X * (k as f64 + 0.5);
            let id = bar(&mut world, at);
            let mut joint = JointDef::revolute(last, id, DVec3::X * k as f64, DVec3::Y);
            if k == 0 {
                joint = joint.motor(0, Motor::speed(9.0).limited(500.0));
            }
            if k == 3 {
                joint = joint.limits(0, -0.5, 0.5, 0.3).friction(0, 0.5);
            }
            world.add_joint(joint).unwrap();
            last = Some(id);
        }
        world
    };
    let mut world = make();
    for _ in 0..100 {
        world.step().unwrap();
    }
    let saved = serde_json::to_string(world.state()).unwrap();
    let mut other = make();
    other.restore(serde_json::from_str(&saved).unwrap()).unwrap();
    for _ in 0..100 {
        world.step().unwrap();
        other.step().unwrap();
    }
    assert_eq!(world.state(), other.state());
    let mut short = World::new(Settings::default()).unwrap();
    bar(&mut short, DVec3::ZERO);
    let mut state = short.state().clone();
    state.joints.push(Default::default());
    assert!(short.restore(state).unwrap_err().to_string().contains("1 joints, the world 0"));
}

/// Joined bodies do not collide, unless the joint says so; after the joint is gone they do again.
#[test]
fn joined_bodies_do_not_collide() {
    let mut world = World::new(Settings { gravity: DVec3::ZERO, ..exact() }).unwrap();
    let ball = |x: f64| BodyDef::dynamic(drystone::Shape::Sphere { radius: 0.5 }, 1.0).at(DVec3::X * x);
    let (a, b) = (world.add_body(ball(0.0)).unwrap(), world.add_body(ball(0.8)).unwrap());
    let hinge = world.add_joint(JointDef::revolute(a, b, DVec3::X * 0.4, DVec3::Z)).unwrap();
    assert_eq!(world.step().unwrap().contacts, 0);
    world.remove_joint(hinge).unwrap();
    assert_eq!(world.step().unwrap().contacts, 1);
    world.add_joint(JointDef::revolute(a, b, DVec3::X * 0.4, DVec3::Z).colliding()).unwrap();
    assert_eq!(world.step().unwrap().contacts, 1);
}

/// A double pendulum of two rods from level: its energy stays, to second order by the middle rule, and does
/// not leak away by the half-implicit one.
#[test]
fn a_double_pendulum_keeps_its_energy() {
    for (integrator, allowed) in [("euler", 0.02), ("moreau:theta=0.5", 1e-4)] {
        let integrator = drystone::Integrator::parse(integrator).unwrap();
        let mut world = World::new(Settings { h: 0.001, integrator, tolerance: 1e-10, ..exact() }).unwrap();
        let mass = MassProperties::principal(1.0, DVec3::new(0.0004, 1.0 / 12.0, 1.0 / 12.0));
        let a = world.add_body(BodyDef::bare(mass).at(DVec3::X * 0.5)).unwrap();
        let b = world.add_body(BodyDef::bare(mass).at(DVec3::X * 1.5)).unwrap();
        world.add_joint(JointDef::revolute(None, a, DVec3::ZERO, DVec3::Y)).unwrap();
        world.add_joint(JointDef::revolute(a, b, DVec3::X, DVec3::Y)).unwrap();
        let (mut worst, mut fallen) = (0f64, 0f64);
        for _ in 0..2000 {
            world.step().unwrap();
            let e = world.energy();
            fallen = fallen.max(-e.potential);
            // From 0 J; of the 20 J that there are to turn over.
            worst = worst.max(e.total().abs() / 20.0);
        }
        assert!(fallen > 10.0);
        assert!(worst < allowed, "{integrator:?}: {worst}");
        assert!(world.joint_error().position < 1e-6, "{:?}", world.joint_error());
    }
}
