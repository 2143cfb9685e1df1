//! Contacts, sensors and limits over time; contacts and forces by ids.

use drystone::{
    BodyDef, BodyId, Collider, JointDef, Phase, Pose, Settings, Shape, World,
    joint::{Law, Limits},
};
use glam::DVec3;

fn ball(radius: f64, mass: f64) -> BodyDef {
    BodyDef::dynamic(Shape::Sphere { radius }, mass).friction(0.5)
}

fn with_floor() -> (World, BodyId) {
    let mut w = World::new(Settings::default()).unwrap();
    let floor = w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
    w.record_events(true);
    (w, floor)
}

#[test]
fn a_contact_begins_persists_and_ends() {
    let (mut w, floor) = with_floor();
    let id = w.add_body(ball(0.5, 2.0).at(DVec3::Z * 0.7)).unwrap();
    let mut phases = Vec::new();
    for step in 0..80 {
        if step == 60 {
            w.apply_impulse(id, DVec3::Z * 8.0, None).unwrap();
        }
        w.step().unwrap();
        phases.extend(w.contact_events().iter().map(|e| {
            assert_eq!(e.bodies, [id, floor]);
            (step, e.phase, e.force.z)
        }));
    }
    let begin: Vec<_> = phases.iter().filter(|p| p.1 == Phase::Begin).collect();
    let end: Vec<_> = phases.iter().filter(|p| p.1 == Phase::End).collect();
    // It falls 0.2 m in 0.2 s.
    assert_eq!((begin.len(), end.len()), (1, 1), "{phases:?}");
    assert!((18..24).contains(&begin[0].0), "{begin:?}");
    assert!(begin[0].2 > 100.0, "it hits with 4 N s in a step: {begin:?}");
    // At the start of step 60 it still stood there: the gap decides by rounding.
    assert!((60..=61).contains(&end[0].0) && end[0].2 == 0.0, "{end:?}");
    let rest = phases.iter().find(|p| p.0 == 50).unwrap();
    assert!(rest.1 == Phase::Persist && (rest.2 - 2.0 * 9.81).abs() < 1e-3, "{rest:?}");
    assert_eq!(phases.len(), end[0].0 - begin[0].0 + 1);
}

#[test]
fn a_removed_body_ends_its_contacts() {
    let (mut w, _) = with_floor();
    let id = w.add_body(ball(0.5, 1.0).at(DVec3::Z * 0.5)).unwrap();
    (0..5).for_each(|_| drop(w.step().unwrap()));
    assert_eq!(w.contact_events()[0].phase, Phase::Persist);
    w.remove_body(id).unwrap();
    let next = w.add_body(ball(0.5, 1.0).at(DVec3::Z * 0.5)).unwrap();
    w.step().unwrap();
    let told: Vec<_> = w.contact_events().iter().map(|e| (e.bodies[0], e.phase)).collect();
    assert!(told.contains(&(id, Phase::End)) && told.contains(&(next, Phase::Begin)), "{told:?}");
    assert_eq!(told.len(), 2);
    w.step().unwrap();
    assert_eq!(w.contact_events().len(), 1, "an end is told once");
}

/// Two feet of one body are two pairs of colliders.
#[test]
fn events_are_about_colliders() {
    let (mut w, _) = with_floor();
    let mut table = BodyDef::dynamic(Shape::cuboid(DVec3::new(1.0, 0.2, 0.1)), 3.0).at(DVec3::Z * 0.6);
    for x in [-0.8, 0.8] {
        let foot = Shape::cuboid(DVec3::new(0.1, 0.2, 0.25));
        table.colliders.push(Collider::new(foot, 0.5).at(Pose::at(DVec3::new(x, 0.0, -0.35))));
    }
    let id = w.add_body(table).unwrap();
    (0..30).for_each(|_| drop(w.step().unwrap()));
    let feet = &w.colliders_of(id).unwrap()[1..];
    let told: Vec<_> = w.contact_events().iter().map(|e| e.colliders[0]).collect();
    assert_eq!(told, feet);
    let forces: Vec<f64> = w.contact_events().iter().map(|e| e.force.z).collect();
    assert!((forces.iter().sum::<f64>() - 3.0 * 9.81).abs() < 0.05, "{forces:?}");
    // Each foot may stand on either of its edges: an eighth more or less.
    forces.iter().for_each(|f| assert!((f / (1.5 * 9.81) - 1.0).abs() < 0.126, "{forces:?}"));
}

#[test]
fn sensors_report_and_do_not_push() {
    let run = |sensor: bool| {
        let (mut w, floor) = with_floor();
        let gate = Collider::sensor(Shape::cuboid(DVec3::new(1.0, 1.0, 0.1))).at(Pose::at(DVec3::Z * 2.0));
        let gate = if sensor { Some(w.add_collider(floor, gate).unwrap()) } else { None };
        let id = w.add_body(ball(0.1, 1.0).at(DVec3::Z * 2.5)).unwrap();
        let mut told = Vec::new();
        for step in 0..60 {
            w.step().unwrap();
            for e in w.sensor_events() {
                assert_eq!((Some(e.sensor.1), e.other.0), (gate, id));
                told.push((step, e.phase, w.position(id).unwrap().z));
            }
            assert!(w.contact_events().is_empty() || w.position(id).unwrap().z < 0.2);
        }
        (w.state().hash(), told)
    };
    let ((with, told), (without, none)) = (run(true), run(false));
    assert_eq!(with, without, "not a bit of the motion changes");
    assert!(none.is_empty());
    let at = |phase: Phase| told.iter().find(|t| t.1 == phase).unwrap().2;
    assert!(at(Phase::Begin) <= 2.2 && at(Phase::Begin) > 2.1, "{told:?}");
    assert!(at(Phase::End) < 1.8 && at(Phase::End) > 1.6, "{told:?}");
}

#[test]
fn a_collider_can_become_a_sensor() {
    let (mut w, _) = with_floor();
    let id = w.add_body(ball(0.5, 1.0).at(DVec3::Z * 0.5)).unwrap();
    let own = w.colliders_of(id).unwrap()[0];
    (0..5).for_each(|_| drop(w.step().unwrap()));
    w.set_collider_sensor(own, true).unwrap();
    assert!(w.is_sensor(own).unwrap() && w.contacts().is_empty());
    (0..20).for_each(|_| drop(w.step().unwrap()));
    assert!(w.position(id).unwrap().z < 0.4, "it falls through");
    assert_eq!(w.sensor_events().len(), 1, "and the floor is in it");
    assert_eq!(w.sensed(own).unwrap().len(), 1);
    w.set_collider_sensor(own, false).unwrap();
    w.step().unwrap();
    assert!(!w.contacts().is_empty());
}

#[test]
fn limits_of_joints_tell_when_they_hold() {
    let mut w = World::new(Settings::default()).unwrap();
    w.record_events(true);
    let id = w.add_body(ball(0.1, 1.0).at(DVec3::X)).unwrap();
    let mut hinge = JointDef::revolute(None, id, DVec3::ZERO, DVec3::Y);
    hinge.laws =
        vec![Law { limits: Some(Limits { lower: -0.2, upper: 0.2, restitution: 0.0 }), ..Law::default() }];
    let hinge = w.add_joint(hinge).unwrap();
    let mut first = None;
    for step in 0..100 {
        w.step().unwrap();
        if let Some(e) = w.joint_events().first().filter(|_| first.is_none()) {
            assert_eq!((e.joint, e.coordinate, e.phase), (hinge, 0, Phase::Begin));
            first = Some(step);
        }
    }
    assert!(first.is_some_and(|s| s > 10), "{first:?}");
    let e = w.joint_events()[0];
    // Gravity turns it with m g cos(0.2) about the hinge.
    let torque = 9.81 * 0.2f64.cos();
    assert!(e.phase == Phase::Persist && (e.force.abs() - torque).abs() < 0.05, "{e:?}");
    w.apply_angular_impulse(id, if e.force > 0.0 { DVec3::Y } else { DVec3::NEG_Y } * 3.0).unwrap();
    w.step().unwrap();
    assert_eq!(w.joint_events()[0].phase, Phase::End);
}

#[test]
fn nothing_is_noted_unless_asked_for() {
    let (mut w, _) = with_floor();
    w.record_events(false);
    w.add_body(ball(0.5, 1.0).at(DVec3::Z * 0.5)).unwrap();
    w.step().unwrap();
    assert!(!w.records_events() && w.contact_events().is_empty());
}

#[test]
fn contacts_of_bodies_and_pairs() {
    let (mut w, floor) = with_floor();
    let below = w.add_body(ball(0.5, 1.0).at(DVec3::Z * 0.5)).unwrap();
    let above = w.add_body(ball(0.5, 3.0).at(DVec3::Z * 1.5)).unwrap();
    (0..20).for_each(|_| drop(w.step().unwrap()));
    let weight = |m: f64| m * 9.81;
    let seen = w.contacts_of(below).unwrap();
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|c| c.bodies[0] == below));
    let down = seen.iter().find(|c| c.bodies[1] == above).unwrap();
    assert!(
        (down.normal + DVec3::Z).length() < 1e-9 && (down.force.z + weight(3.0)).abs() < 1e-3,
        "{down:?}"
    );
    assert!((w.force_between(below, floor).unwrap().z - weight(4.0)).abs() < 1e-3);
    assert!((w.force_between(above, below).unwrap().z - weight(3.0)).abs() < 1e-3);
    assert!(w.contacts_between(above, floor).unwrap().is_empty());
    let (force, torque) = w.contact_force(below).unwrap();
    assert!((force.z - weight(1.0)).abs() < 1e-3 && torque.length() < 1e-6);
}

#[test]
fn accelerations_are_those_of_the_last_step() {
    let (mut w, _) = with_floor();
    let id = w.add_body(ball(0.5, 2.0).at(DVec3::Z * 5.0)).unwrap();
    w.step().unwrap();
    assert_eq!(w.acceleration(id).unwrap(), None);
    w.record_accelerations(true);
    w.apply_torque(id, DVec3::Z * 0.2).unwrap();
    w.step().unwrap();
    let (linear, angular) = w.acceleration(id).unwrap().unwrap();
    assert!((linear - w.settings().gravity).length() < 1e-9);
    // I = 2/5 m r² = 0.2 kg m²
    assert!((angular - DVec3::Z).length() < 1e-9, "{angular}");
    let late = w.add_body(ball(0.5, 2.0).at(DVec3::Z * 8.0)).unwrap();
    assert_eq!(w.acceleration(late).unwrap(), None);
}

#[test]
fn jacobians_give_rates() {
    let mut w = World::new(Settings::default()).unwrap();
    let id = w.add_body(ball(0.1, 1.0).at(DVec3::X).moving(DVec3::NEG_Z * 2.0, DVec3::Y * 2.0)).unwrap();
    let hinge = w.add_joint(JointDef::revolute(None, id, DVec3::ZERO, DVec3::Y)).unwrap();
    let row = w.joint_jacobian(hinge).unwrap()[0];
    let (v, omega) = (w.velocity(id).unwrap(), w.angular_velocity(id).unwrap());
    let rate: f64 = row[6..].iter().zip([v.x, v.y, v.z, omega.x, omega.y, omega.z]).map(|(a, b)| a * b).sum();
    assert!((rate - w.joint_rates(hinge).unwrap()[0]).abs() < 1e-12 && rate.abs() > 1.0);
}
