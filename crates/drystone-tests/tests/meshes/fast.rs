//! Fast bodies meet surfaces, and bodies that are in too deep come out again.

use crate::mesh_common;

use std::sync::Arc;

use crate::mesh_common::{box_mesh, field, irregular, mesh, profile, run, world};
use drystone::{BodyDef, Hull, Shape};
use glam::{DQuat, DVec3};

const LEVEL: (DVec3, DQuat) = (DVec3::ZERO, DQuat::IDENTITY);

fn bodies() -> Vec<(&'static str, Shape)> {
    let octahedron = [DVec3::X, DVec3::Y, DVec3::Z].map(|v| [0.06 * v, -0.06 * v]).concat();
    vec![
        ("ball", Shape::Sphere { radius: 0.05 }),
        ("box", Shape::Box { half: DVec3::splat(0.05) }),
        ("capsule", Shape::Capsule { radius: 0.03, half_length: 0.05 }),
        ("cylinder", Shape::Cylinder { radius: 0.05, half_length: 0.05 }),
        ("cone", Shape::Cone { radius: 0.05, height: 0.1 }),
        ("ellipsoid", Shape::Ellipsoid { half: DVec3::new(0.05, 0.05, 0.1) }),
        ("hull", Shape::Hull(Arc::new(Hull::new(&octahedron).unwrap()))),
    ]
}

#[test]
fn a_thin_plate_is_not_tunnelled() {
    // Closed, 2 mm thick, and a sheet without any thickness; a metre of way in each step.
    let plates = [
        ("plate", mesh(box_mesh(DVec3::new(2.0, 2.0, 0.001), 9))),
        ("sheet", mesh(irregular(4.0, 9, 2, |_, _| 0.0))),
        ("box", Shape::Box { half: DVec3::new(2.0, 2.0, 0.001) }),
        ("plane", Shape::HalfSpace),
    ];
    for (plate_name, plate) in plates {
        for (name, shape) in bodies() {
            for tilt in [0.0f64, 0.3, 1.0] {
                for phase in 0..5 {
                    let direction = DVec3::new(tilt.sin(), 0.1, -tilt.cos()).normalize();
                    let start = -direction * (1.3 + 0.21 * phase as f64);
                    let body = BodyDef::dynamic(shape.clone(), 0.1)
                        .at(start)
                        .turned(DQuat::from_rotation_x(0.7))
                        .moving(100.0 * direction, DVec3::new(3.0, 1.0, 0.0));
                    let (mut w, id) = world(0.01, plate.clone(), LEVEL, 0.2, body);
                    let mut lowest = f64::INFINITY;
                    for _ in 0..12 {
                        run(&mut w, 1);
                        let p = w.position(id).unwrap();
                        if p.x.abs().max(p.y.abs()) < 1.9 {
                            lowest = lowest.min(p.z);
                        }
                    }
                    assert!(
                        lowest > 0.01 && lowest < 0.3,
                        "{name} through {plate_name} at {tilt} rad, start {phase}: down to {lowest}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_fast_ball_hits_the_hill_ahead_and_not_the_air_above_it() {
    // Level ground, then a ramp of 30° from x = 0 up to 0.6 m, then level again.
    let top = 0.6;
    let ramp =
        mesh(profile(&[(-5.0, 0.0), (0.0, 0.0), (top / 30f64.to_radians().tan(), top), (6.0, top)], 3.0, 3));
    let radius = 0.05;
    // 1 m of way in each step from close above the ground: the ramp lies within the step.
    let ball = |height: f64| {
        BodyDef::dynamic(Shape::Sphere { radius }, 1.0)
            .at(DVec3::new(-0.4, 0.1, height))
            .moving(DVec3::new(100.0, 0.0, 0.0), DVec3::ZERO)
    };
    let (mut w, id) = world(0.01, ramp.clone(), LEVEL, 0.0, ball(0.2));
    for _ in 0..6 {
        run(&mut w, 1);
        let p = w.position(id).unwrap();
        let ground = (p.x.clamp(0.0, top * 3f64.sqrt())) / 3f64.sqrt();
        assert!(p.z > ground, "inside the hill at {p}");
    }
    // High enough to pass over the crest: nothing may touch it.
    let (mut w, id) = world(0.01, ramp, LEVEL, 0.0, ball(top + radius + 0.02));
    run(&mut w, 2);
    let v = w.velocity(id).unwrap();
    assert!((v.x - 100.0).abs() < 1e-9 && (v.z + 0.02 * 9.81).abs() < 1e-9, "{v}: it bounced off thin air");
}

#[test]
fn a_body_that_flies_past_a_mesh_does_not_feel_it() {
    let post = mesh(box_mesh(DVec3::new(0.2, 0.2, 0.2), 3));
    for (name, shape) in bodies() {
        let body = BodyDef::dynamic(shape, 0.1)
            .at(DVec3::new(-0.5, 0.33, 0.35))
            .moving(DVec3::new(100.0, 0.0, 9.81 * 0.01), DVec3::ZERO);
        let (mut w, id) = world(0.01, post.clone(), LEVEL, 0.5, body);
        run(&mut w, 1);
        let v = w.velocity(id).unwrap();
        assert!(v.distance(DVec3::X * 100.0) < 1e-9, "{name}: {v}");
    }
}

#[test]
fn what_is_in_too_deep_is_pushed_out_along_the_face() {
    let ground = mesh(box_mesh(DVec3::new(3.0, 3.0, 2.0), 12));
    let terrain = mesh(irregular(6.0, 20, 3, |x, y| 2.0 + 0.05 * (3.0 * x).sin() * (2.0 * y).sin()));
    let hills = field(31, 31, 0.2, |x, y| 2.0 + 0.05 * (3.0 * x).sin() * (2.0 * y).sin());
    for (ground_name, ground) in [("block", ground), ("terrain", terrain), ("field", hills)] {
        for (name, shape) in bodies() {
            for depth in [0.01, 0.045, 0.06, 0.09] {
                let turn = if name == "capsule" { 1.57 } else { 0.0 };
                let body = BodyDef::dynamic(shape.clone(), 0.1)
                    .at(DVec3::new(0.13, 0.21, 2.05 - depth))
                    .turned(DQuat::from_rotation_x(turn));
                let (mut w, id) = world(0.005, ground.clone(), LEVEL, 0.3, body);
                run(&mut w, 400);
                let p = w.position(id).unwrap();
                assert!(
                    p.z > 1.95 && p.z < 2.2 && p.truncate().length() < 1.5,
                    "{name} {depth} m deep in {ground_name}: at {p}, {} contacts",
                    w.contacts().len()
                );
                let clear = w.contacts().iter().map(|c| c.gap).fold(f64::INFINITY, f64::min);
                assert!(clear > -2e-3, "{name} {depth} m deep in {ground_name}: still {clear}");
            }
        }
    }
}

#[test]
fn a_height_field_is_solid_to_any_depth() {
    let hills = field(21, 21, 0.5, |x, y| 0.3 * (x).sin() * (0.7 * y).cos());
    for (name, shape) in bodies() {
        for depth in [0.5, 3.0, 50.0] {
            let body = BodyDef::dynamic(shape.clone(), 0.1).at(DVec3::new(0.3, 0.4, -depth));
            let (w, _) = world(0.005, hills.clone(), LEVEL, 0.0, body);
            let found = mesh_common::detect(&w, 0.001);
            assert!(!found.is_empty(), "{name}: nothing {depth} m below the surface");
            assert!(found.iter().all(|c| c.normal.z > 0.9 && c.gap < -0.5 * depth), "{name}: {found:?}");
        }
    }
}

#[test]
fn the_far_side_of_a_thin_wall_does_not_pull() {
    // Bodies that sink a little into a plate thinner than the sinking are pushed back, not through.
    let plate = mesh(box_mesh(DVec3::new(1.0, 1.0, 0.002), 5));
    for (name, shape) in bodies() {
        let half = -shape.aabb(&drystone::Pose::IDENTITY).min.z;
        let body = BodyDef::dynamic(shape, 0.1).at(DVec3::new(0.1, 0.2, half - 0.005));
        let (w, _) = world(0.005, plate.clone(), LEVEL, 0.0, body);
        let found = mesh_common::detect(&w, 0.001);
        assert!(!found.is_empty() && found.iter().all(|c| c.normal.z > 0.99), "{name}: {found:?}");
    }
}
