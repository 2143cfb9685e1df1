//! Worlds that repeat: bodies leave through one face and come back through the other, and touch across it.

use drystone::collide::{Periodic, broadphase};
use drystone::{BodyDef, Settings, Shape, World};
use glam::{DQuat, DVec3};

fn periodic(axes: [bool; 3]) -> Periodic {
    Periodic { min: DVec3::splat(-2.0), max: DVec3::splat(2.0), axes }
}

fn settings(axes: [bool; 3]) -> Settings {
    Settings {
        periodic: Some(periodic(axes)),
        gravity: DVec3::ZERO,
        tolerance: 1e-9,
        iterations: 2000,
        ..Settings::default()
    }
}

fn ball(x: DVec3, v: DVec3) -> BodyDef {
    BodyDef::dynamic(Shape::Sphere { radius: 0.5 }, 1.0).friction(0.3).at(x).moving(v, DVec3::ZERO)
}

#[test]
fn body_comes_back_through_the_other_face() {
    let mut w = World::new(settings([true, false, true])).unwrap();
    let id = w.add_body(ball(DVec3::new(1.0, 0.0, -1.0), DVec3::new(1.0, 7.0, -1.0))).unwrap();
    for _ in 0..1000 {
        w.step().unwrap();
    }
    let x = w.position(id).unwrap();
    assert!((x - DVec3::new(-1.0, 70.0, 1.0)).length() < 1e-9, "{x}");
    assert_eq!(w.state().crossings[id.slot as usize], [3, 0, -3]);
}

/// The same scene, shifted through the faces, gives the same relative motion as far from them.
#[test]
fn contact_across_faces_edges_and_corners_is_like_one_in_the_middle() {
    let shapes = [
        Shape::Sphere { radius: 0.4 },
        Shape::Box { half: DVec3::new(0.3, 0.25, 0.2) },
        Shape::Capsule { radius: 0.2, half_length: 0.2 },
    ];
    let run = |middle: DVec3| {
        let mut w = World::new(settings([true; 3])).unwrap();
        let mut ids = Vec::new();
        for (k, shape) in shapes.iter().enumerate() {
            let out = DVec3::new([-0.75, 0.05, 0.8][k], [0.1, -0.05, 0.15][k], [-0.1, 0.1, 0.05][k]);
            let def = BodyDef::dynamic(shape.clone(), 1.0 + k as f64).friction(0.5);
            let def = def.at(middle + out).turned(DQuat::from_rotation_z(0.3 * k as f64));
            ids.push(w.add_body(def.moving(-1.5 * out, DVec3::new(0.2, -0.4, 1.0))).unwrap());
        }
        let mut touched = 0.0f64;
        for _ in 0..60 {
            w.step().unwrap();
            touched = touched.max(w.contacts().iter().map(|c| c.normal_impulse()).sum());
        }
        assert!(touched > 0.1, "they collide");
        (ids.iter().map(|&id| w.velocity(id).unwrap()).collect::<Vec<_>>(), w.penetration().max)
    };
    let (middle, _) = run(DVec3::ZERO);
    for corner in [DVec3::X, DVec3::Y, DVec3::Z, DVec3::new(1.0, -1.0, 0.0), DVec3::ONE] {
        let (v, overlap) = run(2.0 * corner);
        for (a, b) in middle.iter().zip(&v) {
            assert!((*a - *b).length() < 1e-6, "around {corner}: {a} {b}");
        }
        assert!(overlap < 1e-4);
    }
}

#[test]
fn ring_of_balls_carries_load_all_the_way_round() {
    // Four balls of diameter 1 fill a period of 4 exactly: pushed together from nowhere they can only stay.
    let mut w = World::new(Settings { gravity: DVec3::X * 3.0, ..settings([true, false, false]) }).unwrap();
    let ids: Vec<_> = (0..4)
        .map(|k| {
            w.add_body(ball(DVec3::X * (k as f64 - 1.5), DVec3::X * if k == 0 { 4.0 } else { 0.0 })).unwrap()
        })
        .collect();
    for _ in 0..50 {
        w.step().unwrap();
    }
    // Momentum 4 plus what gravity gave, shared by all.
    for id in ids {
        let v = w.velocity(id).unwrap();
        assert!((v.x - (1.0 + 3.0 * 0.5)).abs() < 1e-6, "{v}");
    }
    assert_eq!(w.contacts().len(), 4, "one of them across the face");
}

#[test]
fn momentum_is_kept_and_the_broad_phases_agree() {
    let run = |kind: &str| {
        let mut s = settings([true; 3]);
        s.broadphase = broadphase::Kind::from_name(kind);
        let mut w = World::new(s).unwrap();
        let mut random = drystone::random::Random::new(5);
        for k in 0..27 {
            let x = DVec3::new((k % 3) as f64, (k / 3 % 3) as f64, (k / 9) as f64) * (4.0 / 3.0)
                - DVec3::splat(1.9);
            w.add_body(ball(x, 2.0 * random.unit_vector())).unwrap();
        }
        let before: DVec3 = w.state().velocity.iter().sum();
        let mut wrapped = 0;
        for _ in 0..200 {
            w.step().unwrap();
            wrapped += w.contacts().iter().filter(|c| c.key.image() != 0).count();
        }
        let after: DVec3 = w.state().velocity.iter().sum();
        assert!((before - after).length() < 1e-6, "{before} {after}");
        assert!(w.penetration().max < 1e-3);
        assert!(wrapped > 50, "{wrapped}");
        w.state().hash()
    };
    let hash = run("brute");
    assert_eq!(run("sap"), hash);
    assert_eq!(run("grid"), hash);
}

#[test]
fn ball_rolls_for_ever_on_a_floor_that_covers_the_period() {
    let mut w = World::new(Settings { gravity: DVec3::Z * -9.81, ..settings([true, true, false]) }).unwrap();
    w.add_body(
        BodyDef::fixed(Shape::Box { half: DVec3::new(2.0, 2.0, 0.5) }).at(DVec3::Z * -0.5).friction(0.3),
    )
    .unwrap();
    let mut def = ball(DVec3::new(0.0, 0.0, 0.5), DVec3::new(3.0, 0.4, 0.0));
    def.angular_velocity = DVec3::Z.cross(def.velocity) / 0.5;
    let id = w.add_body(def).unwrap();
    for _ in 0..1000 {
        w.step().unwrap();
    }
    let (x, v) = (w.position(id).unwrap(), w.velocity(id).unwrap());
    assert!((x.z - 0.5).abs() < 1e-6, "{x}");
    assert!((v - DVec3::new(3.0, 0.4, 0.0)).length() < 1e-6, "{v}");
    assert_eq!(w.state().crossings[id.slot as usize], [8, 1, 0]);
}

#[test]
fn bad_periods_and_bodies_too_large_for_them_are_refused() {
    let flat = Periodic { min: DVec3::ZERO, max: DVec3::new(1.0, 0.0, 1.0), axes: [true; 3] };
    assert!(World::new(Settings { periodic: Some(flat), ..Settings::default() }).is_err());
    let mut w = World::new(settings([true, false, false])).unwrap();
    let large = BodyDef::dynamic(Shape::Sphere { radius: 1.1 }, 1.0);
    assert!(w.add_body(large.clone()).unwrap_err().to_string().contains("period"));
    w.set_settings(Settings::default()).unwrap();
    w.add_body(large).unwrap();
    assert!(w.set_settings(settings([true, false, false])).is_err());
}
