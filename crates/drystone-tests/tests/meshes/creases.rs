//! Edges of a surface: those that stick out push, all others are not felt.

use crate::mesh_common;

use crate::mesh_common::{box_mesh, detect, irregular, mesh, profile, run, sphere_mesh, world};
use drystone::{BodyDef, Shape};
use glam::{DQuat, DVec3};

const LEVEL: (DVec3, DQuat) = (DVec3::ZERO, DQuat::IDENTITY);

/// Without friction a ball keeps its energy whatever the ground does, unless an edge trips it.
#[test]
fn a_ball_follows_a_smooth_hill_without_losing_energy() {
    // A hill of height 0.5 m made of facets of 1.5° at most, which the ball crosses at 3 m/s or more.
    let hill = |x: f64| 0.25 * (1.0 + (x * std::f64::consts::PI / 4.0).cos());
    let points: Vec<(f64, f64)> = (0..=400).map(|k| k as f64 * 0.03 - 6.0).map(|x| (x, hill(x))).collect();
    let ground = mesh(profile(&points, 3.0, 3));
    let radius = 0.1;
    let ball = BodyDef::dynamic(Shape::Sphere { radius }, 1.0)
        .at(DVec3::new(-4.0, 0.2, radius))
        .moving(DVec3::new(5.0, 0.0, 0.0), DVec3::ZERO);
    let (mut w, id) = world(0.001, ground, LEVEL, 0.0, ball);
    let mut highest = 0.0f64;
    let energy = |z: f64, v: f64| 9.81 * z + 0.5 * v * v;
    let start = energy(radius, 5.0);
    while w.position(id).unwrap().x < 4.0 {
        run(&mut w, 1);
        let (p, v) = (w.position(id).unwrap(), w.velocity(id).unwrap());
        highest = highest.max(p.z);
        assert!(p.x.is_finite() && w.state().time < 3.0, "the ball is stuck at {p}");
        let lost = (start - energy(p.z, v.length())) / start;
        assert!(lost.abs() < 0.02, "{:.2} % of the energy are lost at {p}", 100.0 * lost);
        assert!((p.z - hill(p.x) - radius).abs() < 0.03, "the ball left the ground at {p}");
        assert!(v.y.abs() < 1e-9, "pushed sideways by a diagonal");
    }
    assert!(highest > 0.58, "it never went over the hill");
}

#[test]
fn a_box_slides_over_the_edge_of_a_table() {
    let table = mesh(box_mesh(DVec3::new(1.0, 1.0, 0.5), 4));
    let half = DVec3::new(0.2, 0.2, 0.1);
    let slider = BodyDef::dynamic(Shape::Box { half }, 1.0)
        .at(DVec3::new(0.3, 0.03, 0.5 + half.z))
        .moving(DVec3::new(1.5, 0.0, 0.0), DVec3::ZERO);
    let (mut w, id) = world(0.002, table, LEVEL, 0.0, slider);
    while w.position(id).unwrap().x < 0.98 {
        run(&mut w, 1);
        let (p, v) = (w.position(id).unwrap(), w.velocity(id).unwrap());
        assert!((p.z - 0.6).abs() < 1e-4 && (v.x - 1.5).abs() < 1e-6, "at {p} with {v}");
    }
    run(&mut w, 250);
    let (p, q) = (w.position(id).unwrap(), w.rotation(id).unwrap());
    assert!(p.z < 0.4 && p.x > 1.2, "it fell off: {p}");
    assert!((q * DVec3::Z).x > 0.2, "over the edge it tips forward: {q}");
}

#[test]
fn a_box_rests_where_it_overhangs() {
    // Centre of mass 2 cm inside the rim: two corners and the rim carry it.
    let table = mesh(box_mesh(DVec3::new(1.0, 1.0, 0.5), 3));
    let half = DVec3::new(0.3, 0.2, 0.1);
    let body = BodyDef::dynamic(Shape::Box { half }, 1.0).at(DVec3::new(0.98, 0.1, 0.6));
    let (mut w, id) = world(0.005, table, LEVEL, 0.5, body);
    run(&mut w, 400);
    let (p, q) = (w.position(id).unwrap(), w.rotation(id).unwrap());
    assert!(p.distance(DVec3::new(0.98, 0.1, 0.6)) < 1e-3, "at {p}");
    assert!((q * DVec3::Z).z > 1.0 - 1e-6);
    let carried: f64 = w.contacts().iter().map(|c| c.normal_impulse()).sum();
    assert!((carried - 9.81 * 0.005).abs() < 1e-4 * carried);
    // Nothing of the side wall pushes it off.
    assert!(w.contacts().iter().all(|c| c.normal.z > 0.999));
}

#[test]
fn a_box_wider_than_the_beam_rests_on_its_rims() {
    let beam = mesh(box_mesh(DVec3::new(0.1, 2.0, 0.1), 7));
    let body = BodyDef::dynamic(Shape::Box { half: DVec3::new(0.5, 0.5, 0.1) }, 1.0)
        .at(DVec3::new(0.03, 0.0, 0.2))
        .turned(DQuat::from_rotation_z(0.3));
    let (mut w, id) = world(0.005, beam, LEVEL, 0.5, body);
    run(&mut w, 400);
    let (p, q) = (w.position(id).unwrap(), w.rotation(id).unwrap());
    assert!(p.distance(DVec3::new(0.03, 0.0, 0.2)) < 1e-3 && (q * DVec3::Z).z > 1.0 - 1e-6, "{p} {q}");
    assert!(w.contacts().len() <= 4, "at most four points carry it: {}", w.contacts().len());
}

#[test]
fn a_ball_comes_to_rest_in_a_valley() {
    let valley = mesh(profile(&[(-3.0, 3.0), (0.0, 0.0), (3.0, 3.0)], 4.0, 5));
    let radius = 0.25;
    let ball = BodyDef::dynamic(Shape::Sphere { radius }, 1.0).at(DVec3::new(-0.5, 0.1, 1.2));
    let (mut w, id) = world(0.005, valley, LEVEL, 0.4, ball);
    run(&mut w, 2000);
    let p = w.position(id).unwrap();
    let expected = DVec3::new(0.0, 0.1, radius * 2.0f64.sqrt());
    assert!(p.distance(expected) < 2e-3, "at {p} instead of {expected}");
    assert_eq!(w.contacts().len(), 2, "one for each wall");
}

#[test]
fn a_box_corner_in_a_valley_is_held_by_both_walls() {
    // A square rod lies in a right-angled valley: along both its lower faces.
    let valley = mesh(profile(&[(-3.0, 3.0), (0.0, 0.0), (3.0, 3.0)], 4.0, 5));
    let rod = BodyDef::dynamic(Shape::Box { half: DVec3::new(0.2, 0.6, 0.2) }, 1.0)
        .at(DVec3::new(0.0, 0.0, 0.29))
        .turned(DQuat::from_rotation_y(std::f64::consts::FRAC_PI_4));
    let (mut w, id) = world(0.005, valley, LEVEL, 0.3, rod);
    run(&mut w, 400);
    let p = w.position(id).unwrap();
    assert!(p.distance(DVec3::new(0.0, 0.0, 0.2 * 2.0f64.sqrt())) < 1e-3, "at {p}");
    assert!(w.velocity(id).unwrap().length() < 1e-6);
    assert!(w.contacts().len() <= 8);
}

#[test]
fn a_ball_rolls_into_a_concave_corner_and_turns_up() {
    // From level ground onto a ramp of 20°: without friction the speed along the ramp is v cos 20°.
    let angle = 20f64.to_radians();
    let ramp = mesh(profile(&[(-4.0, 0.0), (0.0, 0.0), (4.0, 4.0 * angle.tan())], 2.0, 4));
    let (radius, speed) = (0.2, 4.0);
    let ball = BodyDef::dynamic(Shape::Sphere { radius }, 1.0)
        .at(DVec3::new(-1.0, 0.1, radius))
        .moving(DVec3::new(speed, 0.0, 0.0), DVec3::ZERO);
    let (mut w, id) = world(0.0005, ramp, LEVEL, 0.0, ball);
    let mut best = 0.0f64;
    for _ in 0..1200 {
        run(&mut w, 1);
        let (p, v) = (w.position(id).unwrap(), w.velocity(id).unwrap());
        if p.x > 0.2 && best == 0.0 {
            best = (v.length_squared() + 2.0 * 9.81 * (p.z - radius)).sqrt();
            assert!((v.z / v.x - angle.tan()).abs() < 1e-3, "along the ramp: {v}");
        }
        assert!(p.z >= radius - 1e-4);
    }
    assert!((best - speed * angle.cos()).abs() < 0.01, "speed on the ramp {best}");
}

#[test]
fn a_ball_rests_on_a_ball_of_triangles() {
    let (big, small) = (1.0, 0.3);
    let ground = sphere_mesh(big, 3);
    // On top of a vertex, exactly: no direction but up.
    let ball = BodyDef::dynamic(Shape::Sphere { radius: small }, 1.0).at(DVec3::Z * (big + small));
    let (mut w, id) = world(0.005, mesh(ground.clone()), LEVEL, 0.5, ball);
    run(&mut w, 100);
    assert!(w.position(id).unwrap().distance(DVec3::Z * (big + small)) < 1e-3);
    assert_eq!(w.contacts().len(), 1, "a ball touches a convex body in one point");

    // Let go beside the top it rolls off, and is never further from the centre than a ball would be from a
    // ball.
    let start = DVec3::new(0.2, 0.1, 1.0).normalize() * (big + small);
    let ball = BodyDef::dynamic(Shape::Sphere { radius: small }, 1.0).at(start);
    let (mut w, id) = world(0.002, mesh(ground), LEVEL, 0.5, ball);
    let mut lowest = start.z;
    for _ in 0..300 {
        run(&mut w, 1);
        let p = w.position(id).unwrap();
        assert!(w.contacts().iter().filter(|c| c.gap < 1e-3).count() <= 1);
        assert!(p.length() > 0.985 * (big + small) - 1e-3, "inside the ball at {p}");
        lowest = lowest.min(p.z);
    }
    assert!(lowest < start.z - 0.1, "it rolls off");
}

/// The normals of a ball's contacts on bumpy ground are those of the exact distance, by brute force over the
/// triangles.
#[test]
fn contacts_of_a_ball_are_the_local_minima_of_its_distance() {
    use drystone::random::Random;
    let ground =
        irregular(4.0, 14, 5, |x, y| 0.25 * (3.0 * x).sin() * (2.0 * y).cos() + 0.05 * (17.0 * x * y).sin());
    let mut random = Random::new(2);
    let radius = 0.3;
    let mut seen = [0usize; 4];
    for _ in 0..400 {
        let p = random.in_box(DVec3::new(-1.5, -1.5, 0.0), DVec3::new(1.5, 1.5, 0.75));
        // The nearest point of all triangles, one by one.
        let mut nearest = (f64::INFINITY, DVec3::ZERO);
        let mut above = f64::INFINITY;
        for k in 0..ground.triangles().len() {
            let q = nearest_by_projection(ground.triangle(k), p);
            if p.distance(q) < nearest.0 {
                nearest = (p.distance(q), q);
            }
            let [a, ..] = ground.triangle(k);
            let n = ground.normal(k);
            // Height over the surface straight below.
            let z = p.z - (p - a).dot(n) / n.z;
            if inside_from_above(ground.triangle(k), p) {
                above = p.z - z;
            }
        }
        if !(0.01..2.0).contains(&above) || nearest.0 > radius + 0.01 {
            continue;
        }
        let ball = BodyDef::dynamic(Shape::Sphere { radius }, 1.0).at(p);
        let (w, _) = world(0.01, mesh(ground.clone()), LEVEL, 0.0, ball);
        let contacts = detect(&w, 0.05);
        let best = contacts.iter().min_by(|a, b| a.gap.total_cmp(&b.gap));
        let best = best.unwrap_or_else(|| panic!("no contact at {p}, {} from {}", nearest.0, nearest.1));
        assert!(
            (best.gap - (nearest.0 - radius)).abs() < 1e-9,
            "gap {} for {}",
            best.gap,
            nearest.0 - radius
        );
        let direction = (p - nearest.1).normalize();
        assert!(best.normal.dot(direction) > 1.0 - 1e-9, "{} for {direction}", best.normal);
        seen[contacts.len().min(3)] += 1;
    }
    assert!(seen[1] > 50 && seen[2] + seen[3] > 20, "the cases are all alike: {seen:?}");
}

fn inside_from_above([a, b, c]: [DVec3; 3], p: DVec3) -> bool {
    let side = |a: DVec3, b: DVec3| (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
    side(a, b) >= 0.0 && side(b, c) >= 0.0 && side(c, a) >= 0.0
}

/// The foot on the plane if it lies within, else the nearest of the feet on the three sides.
fn nearest_by_projection([a, b, c]: [DVec3; 3], p: DVec3) -> DVec3 {
    let n = (b - a).cross(c - a).normalize();
    let foot = p - n * (p - a).dot(n);
    if [(a, b), (b, c), (c, a)].iter().all(|(a, b)| (*b - *a).cross(foot - *a).dot(n) >= 0.0) {
        return foot;
    }
    let on_side =
        |a: DVec3, b: DVec3| a + (b - a) * ((p - a).dot(b - a) / (b - a).length_squared()).clamp(0.0, 1.0);
    let feet = [on_side(a, b), on_side(b, c), on_side(c, a)];
    feet.into_iter().min_by(|x, y| p.distance(*x).total_cmp(&p.distance(*y))).unwrap()
}

/// On curved ground names change with the triangle, but what a contact carried is handed on.
#[test]
fn a_ball_that_rolls_from_facet_to_facet_starts_warm() {
    use std::sync::{Arc, Mutex};
    let bowl = |x: f64, y: f64| 0.05 * (x * x + y * y);
    let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.2 }, 1.0).at(DVec3::new(
        -2.0,
        0.1,
        bowl(-2.0, 0.1) + 0.21,
    ));
    let (mut w, _) = world(0.002, mesh(irregular(8.0, 60, 4, bowl)), LEVEL, 0.5, ball);
    run(&mut w, 100);
    // Impulse along the normal that all contacts of a step begin with, and their keys.
    let warm: Arc<Mutex<Vec<(f64, Vec<drystone::contact::ContactKey>)>>> = Arc::default();
    let into = warm.clone();
    w.on_contacts(move |_, _, contacts| {
        let sum = contacts.iter().map(|c| c.normal_impulse()).sum();
        into.lock().unwrap().push((sum, contacts.iter().map(|c| c.key).collect()));
    });
    run(&mut w, 600);
    let steps = warm.lock().unwrap();
    let moved = steps.windows(2).filter(|w| w[0].1 != w[1].1).count();
    let cold = steps.iter().filter(|s| s.0 < 0.5 * 9.81 * 0.002).count();
    assert!(moved > 20, "it hardly changed triangles: {moved}");
    assert!(cold < 20, "{cold} of {} steps began cold, {moved} on other triangles", steps.len());
}

/// Over a blunt roof and through a wide valley, without friction: bodies pass, do not sink in, and are not
/// pushed aside.
#[test]
fn bodies_slide_over_a_ridge_and_through_a_valley() {
    let slope = 8f64.to_radians().tan();
    let ridge =
        [(-6.0, -6.0 * slope), (-2.0, -2.0 * slope), (0.0, 0.0), (3.0, -3.0 * slope), (6.0, -6.0 * slope)];
    let valley = ridge.map(|(x, z)| (x, -z));
    for (ground_name, points) in [("ridge", ridge), ("valley", valley)] {
        let ground = mesh(profile(&points, 4.0, 5));
        let side = if ground_name == "ridge" { 1.0 } else { -1.0 };
        for (name, shape, height) in mesh_common::movers() {
            let along = DQuat::from_rotation_y(-side * slope.atan());
            let lying = if name == "capsule" { DQuat::from_rotation_y(1.57) } else { DQuat::IDENTITY };
            let height = if name == "capsule" { 0.2 } else { height };
            let start = DVec3::new(-3.0, 0.1, -3.0 * side * slope) + along * DVec3::Z * (height + 1e-4);
            let body = BodyDef::dynamic(shape, 2.0)
                .at(start)
                .turned(along * lying)
                .moving(along * DVec3::X * 6.0, DVec3::ZERO);
            let (mut w, id) = world(0.002, ground.clone(), LEVEL, 0.0, body);
            let energy = |w: &drystone::World| {
                0.5 * w.velocity(id).unwrap().length_squared() + 9.81 * w.position(id).unwrap().z
            };
            let (before, mut deepest) = (energy(&w), 0.0f64);
            while w.position(id).unwrap().x < 2.5 {
                run(&mut w, 1);
                deepest = w.contacts().iter().map(|c| -c.gap).fold(deepest, f64::max);
                assert!(w.state().time < 2.0, "{name} is stuck on the {ground_name}");
            }
            let (p, v) = (w.position(id).unwrap(), w.velocity(id).unwrap());
            assert!(deepest < 2e-3, "{name} on the {ground_name}: {deepest} m deep");
            assert!((p.y - 0.1).abs() < 0.02 && v.y.abs() < 0.05, "{name} on the {ground_name}: {p} {v}");
            // What the valley's far side, or landing behind the ridge, takes of the speed: sin² 16° and a
            // little.
            let lost = (before - energy(&w)) / before;
            assert!((-1e-3..0.16).contains(&lost), "{name} on the {ground_name}: {lost} of the energy lost");
        }
    }
}
