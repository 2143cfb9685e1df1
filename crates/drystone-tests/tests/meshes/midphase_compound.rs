//! Compounds: the tree spares work, and changes nothing else.

use crate::mesh_common;

use std::sync::Arc;
use std::time::Instant;

use crate::mesh_common::{field, irregular, mesh, run, world};
use drystone::collide::Detector;
use drystone::collide::narrowphase::{Manifold, contacts};
use drystone::random::Random;
use drystone::{BodyDef, Compound, Contact, Pose, Settings, Shape, World};
use glam::{DQuat, DVec3};

fn compound(parts: Vec<(Pose, Shape)>) -> Shape {
    Shape::Compound(Arc::new(Compound::new(parts).expect("sound parts")))
}

/// `n` small boxes, capsules and balls in a ball of radius 1.
fn cloud(n: usize, seed: u64) -> Vec<(Pose, Shape)> {
    let mut random = Random::new(seed);
    (0..n)
        .map(|k| {
            let shape = match k % 3 {
                0 => Shape::Box { half: random.in_box(DVec3::splat(0.01), DVec3::splat(0.05)) },
                1 => Shape::Capsule { radius: 0.02, half_length: 0.04 },
                _ => Shape::Sphere { radius: 0.04 },
            };
            (Pose::new(random.in_ball(), random.rotation()), shape)
        })
        .collect()
}

#[test]
fn a_thousand_parts_against_a_thousand() {
    let (a, b) = (cloud(1000, 1), cloud(1000, 2));
    let mut w = World::new(Settings::default()).unwrap();
    let place = Pose::new(DVec3::new(1.3, 0.4, 0.2), DQuat::from_rotation_y(0.7));
    w.add_body(BodyDef::dynamic(compound(a.clone()), 1.0)).unwrap();
    // The definition places the body's frame, which is also the compound's.
    let def = BodyDef::dynamic(compound(b.clone()), 1.0).at(place.position).turned(place.rotation);
    w.add_body(def).unwrap();
    let envelope = 0.01;
    let rest = vec![[0.0; 6]; 2];
    let mut detector = Detector::new(None);
    detector.find_pairs(w.model(), w.state(), &rest, 0.0, envelope);
    let mut found = Vec::new();
    detector.find_contacts(w.model(), w.state(), &rest, 0.0, envelope, &mut found);
    let begin = Instant::now();
    for _ in 0..10 {
        detector.find_contacts(w.model(), w.state(), &rest, 0.0, envelope, &mut found);
    }
    let by_tree = begin.elapsed() / 10;

    let mut every = Vec::new();
    let mut manifold = Manifold::default();
    let begin = Instant::now();
    for (i, (pa, sa)) in a.iter().enumerate() {
        for (j, (pb, sb)) in b.iter().enumerate() {
            contacts(sa, pa, sb, &place.compose(pb), envelope, &mut manifold);
            every.extend(manifold.points().iter().map(|p| (i as u32, j as u32, p.feature, *p)));
        }
    }
    let by_force = begin.elapsed();
    println!(
        "1000 parts against 1000: {} pairs of parts tested in {by_tree:.1?}, all 1000000 in {by_force:.1?}: {:.0} times",
        detector.tested(),
        by_force.as_secs_f64() / by_tree.as_secs_f64()
    );
    every.sort_by_key(|c| (c.0, c.1, c.2));
    assert!(found.len() > 100, "the clouds hardly meet: {}", found.len());
    assert_eq!(found.len(), every.len());
    for (c, (i, j, feature, p)) in found.iter().zip(&every) {
        assert_eq!((c.key.parts(), c.key.features()), ([*i, *j], *feature));
        assert!((c.gap - p.gap).abs() < 1e-12 && c.normal.distance(p.normal) < 1e-9);
    }
    assert!(detector.tested() < 10_000, "{} pairs of parts tested", detector.tested());
}

/// A table of a top and four legs, whose parts do not overlap.
fn table() -> Vec<(Pose, Shape)> {
    let leg = Shape::Box { half: DVec3::new(0.05, 0.05, 0.4) };
    let mut parts =
        vec![(Pose::at(DVec3::new(0.0, 0.0, 0.85)), Shape::Box { half: DVec3::new(0.6, 0.4, 0.05) })];
    for (x, y) in [(-0.5, -0.3), (0.5, -0.3), (-0.5, 0.3), (0.5, 0.3)] {
        parts.push((Pose::at(DVec3::new(x, y, 0.4)), leg.clone()));
    }
    parts
}

/// The same body with its parts as one compound, or as colliders of their own.
fn as_colliders(def: &BodyDef, parts: &[(Pose, Shape)]) -> BodyDef {
    let colliders = parts
        .iter()
        .map(|(local, shape)| drystone::Collider {
            local: *local,
            ..drystone::Collider::new(shape.clone(), 0.0)
        })
        .collect();
    BodyDef { colliders, ..def.clone() }
}

#[test]
fn a_compound_moves_like_the_same_shapes_as_colliders() {
    let parts = table();
    let whole = BodyDef::dynamic(compound(parts.clone()), 10.0)
        .at(DVec3::new(0.0, 0.0, 0.6))
        .turned(DQuat::from_rotation_x(0.4) * DQuat::from_rotation_y(0.2))
        .moving(DVec3::new(0.5, 0.2, 0.0), DVec3::new(0.3, 0.0, 0.4));
    let grounds = [
        ("plane", Shape::HalfSpace),
        ("box", Shape::Box { half: DVec3::new(5.0, 5.0, 0.1) }),
        ("mesh", mesh(irregular(10.0, 9, 3, |_, _| 0.0))),
        ("field", field(11, 11, 1.0, |_, _| 0.0)),
        ("compound", compound(vec![(Pose::IDENTITY, Shape::Box { half: DVec3::new(5.0, 5.0, 0.1) })])),
    ];
    for (name, ground) in grounds {
        let level = (DVec3::ZERO, DQuat::IDENTITY);
        let (mut one, a) = world(0.005, ground.clone(), level, 0.4, whole.clone());
        let (mut many, b) = world(0.005, ground, level, 0.4, as_colliders(&whole, &parts));
        for step in 0..120 {
            run(&mut one, 1);
            run(&mut many, 1);
            assert_eq!(one.contacts().len(), many.contacts().len(), "{name}: step {step}");
            let (p, q) = (one.position(a).unwrap(), many.position(b).unwrap());
            assert!(p.distance(q) < 1e-7, "{name}: step {step}: {p} and {q}");
        }
        assert!(one.contacts().len() > 1, "{name}: it never landed");
    }
}

#[test]
fn a_compound_rests_and_its_weight_is_carried() {
    let mut def = BodyDef::dynamic(compound(table()), 10.0).at(DVec3::new(0.1, 0.0, 0.0));
    def.rotation = DQuat::from_rotation_z(0.3);
    for ground in [Shape::HalfSpace, mesh(irregular(10.0, 9, 3, |_, _| 0.0)), field(11, 11, 1.0, |_, _| 0.0)]
    {
        let name = ground.name();
        let (mut w, id) = world(0.005, ground, (DVec3::ZERO, DQuat::IDENTITY), 0.5, def.clone());
        run(&mut w, 300);
        assert!(w.position(id).unwrap().distance(def.position) < 1e-4, "{name}");
        let up: f64 = w.contacts().iter().map(|c| c.normal_impulse()).sum();
        assert!((up - 10.0 * 9.81 * 0.005).abs() < 1e-3 * up, "{name}: {up}");
        assert_eq!(w.contacts().iter().filter(|c| c.normal_impulse() > 0.0).count(), 16, "{name}: four legs");
    }
}

#[test]
fn a_compound_wheel_rolls_like_a_ball() {
    // Three balls in a row with one radius: rolls about the common axis as a cylinder would.
    let parts: Vec<_> =
        [-0.5, 0.0, 0.5].map(|y| (Pose::at(DVec3::Y * y), Shape::Sphere { radius: 0.25 })).to_vec();
    let shape = compound(parts);
    let inertia = shape.inertia(3.0).y_axis.y;
    let tilt = DQuat::from_rotation_y(0.3);
    let def = BodyDef::dynamic(shape, 3.0).at(tilt * DVec3::new(0.0, 0.0, 0.25));
    let (mut w, id) = world(0.002, mesh(irregular(16.0, 15, 3, |_, _| 0.0)), (DVec3::ZERO, tilt), 0.8, def);
    run(&mut w, 500);
    let expected = 9.81 * 0.3f64.sin() / (1.0 + inertia / (3.0 * 0.25 * 0.25));
    let v = w.velocity(id).unwrap().length();
    assert!((v - expected).abs() < 1e-3 * expected, "{v} m/s after 1 s instead of {expected}");
}

/// Contacts as a set, without regard to who is called A.
fn sorted(contacts: &[Contact], swapped: bool) -> Vec<(i64, i64, i64, i64)> {
    let mut all: Vec<_> = contacts
        .iter()
        .map(|c| {
            let n = if swapped { -c.normal } else { c.normal };
            let digits = |x: f64| (x * 1e9).round() as i64;
            (digits(c.point.x), digits(c.point.y), digits(c.gap), digits(n.z))
        })
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn the_order_of_bodies_does_not_matter() {
    let ground = irregular(6.0, 10, 7, |x, y| 0.2 * (2.0 * x).sin() * y.cos());
    let body = compound(
        cloud(60, 4).into_iter().map(|(p, s)| (Pose::new(p.position * 0.4, p.rotation), s)).collect(),
    );
    let statue = compound(
        cloud(60, 5).into_iter().map(|(p, s)| (Pose::new(p.position * 0.4, p.rotation), s)).collect(),
    );
    for other in [mesh(ground), field(13, 13, 0.5, |x, y| 0.2 * (2.0 * x).sin() * y.cos()), statue] {
        let moving = BodyDef::dynamic(body.clone(), 1.0).at(DVec3::new(0.2, 0.1, 0.4));
        let fixed = BodyDef::fixed(other.clone());
        let detect = |defs: [&BodyDef; 2]| {
            let mut w = World::new(Settings::default()).unwrap();
            defs.iter().for_each(|d| {
                w.add_body((*d).clone()).unwrap();
            });
            mesh_common::detect(&w, 0.01)
        };
        let (first, second) = (detect([&moving, &fixed]), detect([&fixed, &moving]));
        assert!(first.len() > 5, "{}: {} contacts", other.name(), first.len());
        // The dynamic body is A either way, so the normals agree as they are.
        assert_eq!(sorted(&first, false), sorted(&second, false), "{}", other.name());
        for all in [&first, &second] {
            assert!(all.is_sorted_by_key(|c| c.key), "sorted by key");
            let mut keys: Vec<_> = all.iter().map(|c| c.key).collect();
            keys.dedup();
            assert_eq!(keys.len(), all.len(), "{}: keys are unique", other.name());
        }
    }
}
