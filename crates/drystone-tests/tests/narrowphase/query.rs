//! Rays against parry and against the definition; overlap and distance.

use crate::narrowphase_common::{Random, cuboid, depth_of};
use drystone::collide::query::{distance, overlap, ray};
use drystone::shape::{Pose, Shape};
use glam::{DQuat, DVec3};
use parry3d_f64::query::{Ray, RayCast};
use parry3d_f64::shape::{Ball, Capsule, Cuboid};

/// A ray ends on the surface, everything before lies outside, and the normal is the slope of the distance.
#[test]
fn rays_hit_the_surface_first() {
    let mut random = Random(31);
    let (mut hits, mut misses, mut inside) = (0, 0, 0);
    for _ in 0..20_000 {
        let shape = random.shape();
        let pose = random.pose(1.0);
        let origin = random.vector(4.0);
        let direction = (random.vector(2.0) - origin).normalize();
        let depth = |t: f64| depth_of(&shape, &pose, origin + direction * t);
        match ray(&shape, &pose, origin, direction, 20.0) {
            Some(hit) if depth(0.0) <= 0.0 => {
                inside += 1;
                assert_eq!((hit.distance, hit.point, hit.normal), (0.0, origin, -direction));
            }
            Some(hit) => {
                hits += 1;
                assert!(hit.distance > 0.0 && hit.distance <= 20.0);
                assert!(depth(hit.distance).abs() < 1e-12, "{shape:?} {}", depth(hit.distance));
                assert!(hit.point.distance(origin + direction * hit.distance) < 1e-14);
                assert!(hit.normal.dot(direction) <= 1e-12);
                for k in 0..50 {
                    assert!(depth(hit.distance * f64::from(k) / 50.0) > 0.0);
                }
                let outside = depth_of(&shape, &pose, hit.point + hit.normal * 1e-3);
                assert!((outside - 1e-3).abs() < 1e-12, "{outside}");
            }
            None => {
                misses += 1;
                for k in 0..400 {
                    assert!(depth(f64::from(k) * 0.05) > -1e-12, "{shape:?} {pose:?} {origin} {direction}");
                }
            }
        }
    }
    assert!(hits > 2000 && misses > 2000 && inside > 500, "{hits} {misses} {inside}");
}

#[test]
fn rays_agree_with_parry() {
    let mut random = Random(32);
    for _ in 0..20_000 {
        let shape = random.bounded();
        let pose = random.pose(1.0);
        let origin = random.vector(4.0);
        let direction = (random.vector(2.0) - origin).normalize();
        let there = parry3d_f64::math::Pose::from_parts(pose.position, pose.rotation);
        let line = Ray::new(origin, direction);
        let theirs = match &shape {
            Shape::Sphere { radius } => Ball::new(*radius).cast_ray(&there, &line, 20.0, true),
            Shape::Box { half } => Cuboid::new(*half).cast_ray(&there, &line, 20.0, true),
            Shape::Capsule { radius, half_length } => {
                Capsule::new(DVec3::Z * -*half_length, DVec3::Z * *half_length, *radius)
                    .cast_ray(&there, &line, 20.0, true)
            }
            other => unreachable!("{} is not drawn", other.name()),
        };
        let ours = ray(&shape, &pose, origin, direction, 20.0).map(|h| h.distance);
        match (ours, theirs) {
            (Some(x), Some(y)) => assert!((x - y).abs() < 1e-5, "{x} {y} {shape:?} {pose:?} {line:?}"),
            (None, None) => {}
            _ => panic!("{ours:?} {theirs:?} {shape:?} {pose:?} {line:?}"),
        }
    }
}

#[test]
fn rays_by_hand() {
    let ball = Shape::Sphere { radius: 1.0 };
    let hit = ray(&ball, &Pose::IDENTITY, DVec3::X * -3.0, DVec3::X, 10.0).unwrap();
    assert_eq!((hit.distance, hit.point, hit.normal), (2.0, -DVec3::X, -DVec3::X));
    assert!(ray(&ball, &Pose::IDENTITY, DVec3::X * -3.0, DVec3::X, 1.9).is_none());
    assert!(ray(&ball, &Pose::IDENTITY, DVec3::X * -3.0, -DVec3::X, 10.0).is_none());

    let block = cuboid(1.0, 2.0, 3.0);
    let turned = Pose::new(DVec3::ZERO, DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2));
    let hit = ray(&block, &turned, DVec3::new(5.0, 0.5, 0.5), -DVec3::X, 10.0).unwrap();
    assert!((hit.distance - 3.0).abs() < 1e-14 && hit.normal.distance(DVec3::X) < 1e-15);
    // Along a face, in its plane and just above it.
    assert!(ray(&block, &Pose::IDENTITY, DVec3::new(-5.0, 0.0, 3.0), DVec3::X, 10.0).is_some());
    assert!(ray(&block, &Pose::IDENTITY, DVec3::new(-5.0, 0.0, 3.000_001), DVec3::X, 10.0).is_none());

    let rod = Shape::Capsule { radius: 0.5, half_length: 2.0 };
    let hit = ray(&rod, &Pose::IDENTITY, DVec3::Z * 9.0, -DVec3::Z, 10.0).unwrap();
    assert_eq!((hit.distance, hit.normal), (6.5, DVec3::Z));

    let floor = ray(&Shape::HalfSpace, &Pose::IDENTITY, DVec3::new(1.0, 2.0, 4.0), -DVec3::Z, 10.0).unwrap();
    assert_eq!((floor.distance, floor.normal), (4.0, DVec3::Z));
    assert!(ray(&Shape::HalfSpace, &Pose::IDENTITY, DVec3::Z, DVec3::X, 1e9).is_none());
}

/// A grain of 1 mm seen from 10 km: the distance keeps the digits of the grain.
#[test]
fn far_ray_keeps_its_digits() {
    let hit = ray(&Shape::Sphere { radius: 1e-3 }, &Pose::IDENTITY, DVec3::X * 1e4, -DVec3::X, 1e5).unwrap();
    assert!((hit.distance - (1e4 - 1e-3)).abs() < 1e-11);
}

#[test]
fn overlap_and_distance_agree() {
    let mut random = Random(33);
    for _ in 0..5000 {
        let (a, b) = (random.shape(), random.shape());
        let (pa, pb) = (random.pose(1.5), random.pose(1.5));
        let d = distance(&a, &pa, &b, &pb);
        assert_eq!(overlap(&a, &pa, &b, &pb), d <= 0.0);
        assert!((d - distance(&b, &pb, &a, &pa)).abs() < 1e-12 || d == f64::NEG_INFINITY);
    }
    let plane = Shape::HalfSpace;
    assert_eq!(distance(&plane, &Pose::IDENTITY, &plane, &Pose::IDENTITY), f64::NEG_INFINITY);
    assert!(overlap(&plane, &Pose::IDENTITY, &plane, &Pose::IDENTITY));
}
