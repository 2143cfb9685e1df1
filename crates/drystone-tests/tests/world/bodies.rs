//! Bodies come and go while the world runs: ids, generations, slots, and what is forgotten with a body.

use drystone::{BodyDef, BodyId, Collider, MassProperties, Pose, Settings, Shape, World, WorldError};
use glam::{DQuat, DVec3};

fn ball(radius: f64) -> BodyDef {
    BodyDef::dynamic(Shape::Sphere { radius }, 1.0).friction(0.4)
}

fn with_floor() -> World {
    let mut w = World::new(Settings::default()).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.4)).unwrap();
    w
}

fn steps(w: &mut World, n: usize) {
    for _ in 0..n {
        w.step().unwrap();
    }
}

#[test]
fn ids_name_a_body_for_as_long_as_it_exists() {
    let mut w = with_floor();
    let a = w.add_body(ball(0.1).at(DVec3::Z)).unwrap();
    let b = w.add_body(ball(0.1).at(DVec3::Z * 2.0)).unwrap();
    steps(&mut w, 5);
    w.remove_body(a).unwrap();
    let refused = Err(WorldError::NoBody(a));
    assert_eq!(w.position(a), refused);
    assert_eq!(w.velocity(a), refused);
    assert_eq!(w.angular_velocity(a), refused);
    assert_eq!(w.rotation(a), Err(WorldError::NoBody(a)));
    assert_eq!(w.set_velocity(a, DVec3::X, DVec3::ZERO), Err(WorldError::NoBody(a)));
    assert_eq!(w.apply_force(a, DVec3::X, None), Err(WorldError::NoBody(a)));
    assert_eq!(w.apply_torque(a, DVec3::X), Err(WorldError::NoBody(a)));
    assert_eq!(w.remove_body(a), Err(WorldError::NoBody(a)));
    assert_eq!(w.distance(a, b), Err(WorldError::NoBody(a)));
    let never = BodyId { slot: 99, generation: 0 };
    assert_eq!(w.position(never), Err(WorldError::NoBody(never)));

    let c = w.add_body(ball(0.2).at(DVec3::X)).unwrap();
    assert_eq!(
        (c.slot, c.generation),
        (a.slot, a.generation + 1),
        "the slot is used again under a new generation"
    );
    assert!(w.position(a).is_err(), "the old id must not mean the newcomer");
    assert_eq!(w.position(c).unwrap(), DVec3::X);
    let text = WorldError::NoBody(a).to_string();
    assert!(text.contains("body 1") && text.contains("generation 0"), "{text}");
}

#[test]
fn newcomer_in_a_used_slot_inherits_nothing() {
    let mut w = with_floor();
    let a = w.add_body(ball(0.1).at(DVec3::Z * 0.1)).unwrap();
    steps(&mut w, 20);
    w.set_velocity(a, DVec3::new(1.0, 2.0, 3.0), DVec3::ONE).unwrap();
    w.apply_force(a, DVec3::X * 100.0, None).unwrap();
    w.apply_torque(a, DVec3::X * 100.0).unwrap();
    w.remove_body(a).unwrap();
    assert!(w.contacts().is_empty(), "contacts of the removed body must be forgotten");
    assert!(w.state().multipliers.is_empty(), "so must their multipliers");
    let b = w.add_body(ball(0.1).at(DVec3::Z * 5.0)).unwrap();
    assert_eq!(b.slot, a.slot);
    let mut fresh = with_floor();
    let c = fresh.add_body(ball(0.1).at(DVec3::Z * 5.0)).unwrap();
    steps(&mut w, 150);
    steps(&mut fresh, 150);
    assert_eq!(w.position(b).unwrap(), fresh.position(c).unwrap());
    assert_eq!(w.velocity(b).unwrap(), fresh.velocity(c).unwrap());
    assert_eq!(w.angular_velocity(b).unwrap(), DVec3::ZERO);
}

#[test]
fn what_stood_on_a_removed_body_falls() {
    let mut w = with_floor();
    let cube =
        |z: f64| BodyDef::dynamic(Shape::Box { half: DVec3::splat(0.1) }, 1.0).at(DVec3::Z * z).friction(0.5);
    let ids: Vec<BodyId> = (0..3).map(|k| w.add_body(cube(0.1 + 0.2 * k as f64)).unwrap()).collect();
    steps(&mut w, 50);
    assert_eq!(w.contacts().len(), 12);
    w.remove_body(ids[1]).unwrap();
    assert_eq!(w.contacts().len(), 4, "only the lowest still touches anything");
    assert!(w.contacts().iter().all(|c| !c.bodies.contains(&ids[1].slot)));
    steps(&mut w, 100);
    let z = w.position(ids[2]).unwrap().z;
    assert!((z - 0.3).abs() < 1e-3, "the top one lies on the lowest, at {z}");
    assert_eq!(w.total_mass(), 2.0);
}

#[test]
fn removing_the_floor_and_adding_it_again() {
    let mut w = World::new(Settings::default()).unwrap();
    let floor = w.add_body(BodyDef::fixed(Shape::HalfSpace)).unwrap();
    let b = w.add_body(ball(0.1).at(DVec3::Z * 0.1)).unwrap();
    steps(&mut w, 10);
    w.remove_body(floor).unwrap();
    steps(&mut w, 10);
    let z = w.position(b).unwrap().z;
    assert!((z - (0.1 - 0.0981 * 0.01 * 55.0)).abs() < 1e-4, "ten steps of free fall, z = {z}");
    let floor = w.add_body(BodyDef::fixed(Shape::HalfSpace).at(DVec3::Z * -1.0)).unwrap();
    assert_eq!(floor.generation, 1);
    steps(&mut w, 200);
    let z = w.position(b).unwrap().z;
    assert!((z + 0.9).abs() < 1e-5, "it lies on the lower floor, z = {z}");
}

#[test]
fn several_are_removed_at_once_or_none() {
    let mut w = with_floor();
    let ids: Vec<BodyId> =
        (0..6).map(|k| w.add_body(ball(0.1).at(DVec3::new(0.1 * f64::from(k), 0.0, 0.1))).unwrap()).collect();
    steps(&mut w, 3);
    let never = BodyId { slot: 99, generation: 0 };
    assert_eq!(w.remove_bodies(&[ids[0], never]), Err(WorldError::NoBody(never)));
    assert_eq!(w.model().dynamic().count(), 6);
    w.remove_bodies(&[ids[4], ids[1], ids[4]]).unwrap();
    assert_eq!(w.model().dynamic().count(), 4);
    let gone = [ids[1].slot, ids[4].slot];
    assert!(!w.contacts().is_empty() && !w.state().multipliers.is_empty());
    assert!(w.contacts().iter().all(|c| !c.bodies.iter().any(|b| gone.contains(b))));
    let colliders = |k: u32| w.model().colliders[k as usize].body;
    assert!(w.state().multipliers.iter().all(|m| m.key.colliders.iter().all(|&k| colliders(k) != u32::MAX)));
    let again: Vec<u32> = (0..3).map(|_| w.add_body(ball(0.1).at(DVec3::Z)).unwrap().slot).collect();
    assert_eq!(again.iter().filter(|s| gone.contains(s)).count(), 2, "slots are used once each: {again:?}");
    steps(&mut w, 3);
}

#[test]
fn bodies_rain_and_are_taken_away_for_ever() {
    let mut w = with_floor();
    let mut alive = std::collections::VecDeque::new();
    for k in 0..300u32 {
        let x = 0.3 * ((k * 7 % 5) as f64 - 2.0);
        alive.push_back(w.add_body(ball(0.1).at(DVec3::new(x, 0.0, 1.0))).unwrap());
        if alive.len() > 20 {
            w.remove_body(alive.pop_front().unwrap()).unwrap();
        }
        w.step().unwrap();
        assert!(w.contacts().iter().all(|c| c.bodies.iter().all(|&b| w.model().id(b).is_some())));
    }
    assert!(w.model().bodies.len() <= 22, "slots are used again: {}", w.model().bodies.len());
    assert_eq!(w.model().dynamic().count(), 20);
    assert!(alive.iter().all(|&id| w.position(id).unwrap().z > 0.05));
}

#[test]
fn impossible_bodies_are_refused_with_the_field() {
    let mut w = with_floor();
    let refused = |w: &mut World, def: BodyDef, word: &str| {
        let before = w.model().bodies.len();
        let text = w.add_body(def).unwrap_err().to_string();
        assert!(text.contains(word), "'{text}' does not name {word}");
        assert_eq!(w.model().bodies.len(), before);
    };
    refused(&mut w, ball(-1.0), "radius");
    refused(&mut w, ball(0.1).at(DVec3::NAN), "position");
    refused(&mut w, ball(0.1).friction(-0.1), "mu");
    refused(&mut w, ball(0.1).turned(DQuat::from_xyzw(0.0, 0.0, 0.0, 0.5)), "rotation");
    refused(&mut w, ball(0.1).moving(DVec3::INFINITY, DVec3::ZERO), "velocity");
    refused(
        &mut w,
        BodyDef::dynamic(Shape::HalfSpace, 1.0).mass(MassProperties::principal(1.0, DVec3::ONE)),
        "half-space",
    );
    let bad = Settings { h: 0.0, ..Settings::default() };
    assert!(w.set_settings(bad).unwrap_err().to_string().contains("h (the step)"));
    let bad = Settings { solver: "psg".into(), ..Settings::default() };
    assert!(World::new(bad).err().unwrap().to_string().contains("did you mean 'pgs'"));
    assert!(w.set_velocity(w.model().id(0).unwrap(), DVec3::NAN, DVec3::ZERO).is_err());
}

#[test]
fn bodies_of_one_group_pass_through_each_other() {
    let meet = |ga: u32, gb: u32| {
        let mut w = World::new(Settings { gravity: DVec3::ZERO, ..Settings::default() }).unwrap();
        let mut a = ball(0.1).at(DVec3::X * -0.5).moving(DVec3::X, DVec3::ZERO);
        let mut b = ball(0.1).at(DVec3::X * 0.5).moving(DVec3::NEG_X, DVec3::ZERO);
        (a.group, b.group) = (ga, gb);
        let (a, b) = (w.add_body(a).unwrap(), w.add_body(b).unwrap());
        steps(&mut w, 100);
        w.position(b).unwrap().x - w.position(a).unwrap().x
    };
    assert!((meet(3, 3) + 1.0).abs() < 1e-12, "same group: through");
    for (a, b) in [(0, 0), (0, 3), (3, 4)] {
        assert!((meet(a, b) - 0.2).abs() < 1e-3, "groups {a} and {b}: stopped, {}", meet(a, b));
    }
}

/// Two shapes on one body do not touch each other, and both touch the floor.
#[test]
fn compound_body_stands_on_both_feet() {
    let mut w = with_floor();
    let foot = |x: f64| Collider {
        local: Pose::at(DVec3::X * x),
        ..Collider::new(Shape::Sphere { radius: 0.1 }, 0.4)
    };
    let mut def = BodyDef::bare(MassProperties::principal(2.0, DVec3::new(0.01, 0.1, 0.1)));
    def.colliders = vec![foot(-0.3), foot(0.3), foot(0.25)];
    let id = w.add_body(def.at(DVec3::Z * 0.5).turned(DQuat::from_rotation_y(0.2))).unwrap();
    steps(&mut w, 300);
    assert!((w.position(id).unwrap().z - 0.1).abs() < 1e-4, "{}", w.position(id).unwrap());
    assert!(w.contacts().len() >= 2 && w.contacts().iter().all(|c| c.bodies == [id.slot, 0]));
    assert!((w.support_over_weight().unwrap() - 1.0).abs() < 1e-3);
}
