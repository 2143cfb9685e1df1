//! Rays against the new shapes: by definition, and against parry.

use drystone::collide::query::ray;
use drystone::shape::{Pose, Shape};
use glam::{DQuat, DVec3};
use parry3d_f64::query::Ray;

use crate::narrowphase_common::{KINDS, Random, depth_of, parry_pose, parry_shape};

/// Outside is positive: for rounded shapes the distance of the core less the radius, where the core's is a
/// distance.
fn outside(shape: &Shape, pose: &Pose, point: DVec3) -> f64 {
    match shape {
        Shape::Rounded { core, radius } => depth_of(core, pose, point) - radius,
        _ => depth_of(shape, pose, point),
    }
}

/// A ray ends on the surface, everything before lies outside, and the normal is that of the support plane.
#[test]
fn rays_hit_the_surface_first() {
    let mut random = Random(601);
    let (mut hits, mut misses, mut inside) = (0, 0, 0);
    for i in 3..KINDS {
        for _ in 0..3000 {
            let shape = random.convex(i);
            let pose = random.pose(1.0);
            let origin = random.vector(3.0);
            let direction = (random.vector(2.0) - origin).normalize();
            let depth = |t: f64| outside(&shape, &pose, origin + direction * t);
            let context = || format!("{shape:?} {pose:?} {origin} {direction}");
            // How far the planes of a hull are says little about the distance from its corners.
            let planes = matches!(&shape, Shape::Rounded { core, .. } if matches!(**core, Shape::Hull(_)));
            match ray(&shape, &pose, origin, direction, 20.0) {
                Some(hit) if hit.distance == 0.0 => {
                    inside += 1;
                    assert!(depth(0.0) <= 1e-12, "{}", context());
                    assert_eq!((hit.point, hit.normal), (origin, -direction));
                }
                Some(hit) => {
                    hits += 1;
                    assert!(
                        planes || depth(hit.distance).abs() < 1e-9,
                        "{} {}",
                        depth(hit.distance),
                        context()
                    );
                    assert!(hit.point.distance(origin + direction * hit.distance) < 1e-13);
                    assert!(hit.normal.dot(direction) <= 1e-9, "{}", context());
                    let local = pose.rotation.conjugate() * hit.normal;
                    let plane = local.dot(shape.support(local));
                    let height = local.dot(pose.inverse_point(hit.point));
                    assert!((plane - height).abs() < 1e-9, "{plane} {height} {}", context());
                    for k in 0..50 {
                        let before = depth(hit.distance * f64::from(k) / 50.0);
                        assert!(planes || before > -1e-12, "{}", context());
                    }
                }
                None => {
                    misses += 1;
                    for k in 0..300 {
                        assert!(planes || depth(f64::from(k) * 0.05) > -1e-12, "{}", context());
                    }
                }
            }
        }
    }
    assert!(hits > 3000 && misses > 3000 && inside > 150, "{hits} {misses} {inside}");
}

#[test]
fn rays_agree_with_parry() {
    let mut random = Random(602);
    let mut compared = 0;
    for i in [3, 4, 6] {
        for _ in 0..4000 {
            let shape = random.convex(i);
            let pose = random.pose(1.0);
            let origin = random.vector(4.0);
            let direction = (random.vector(2.0) - origin).normalize();
            let Some(theirs) = parry_shape(&shape) else { continue };
            let line = Ray::new(origin, direction);
            let theirs = theirs.cast_ray(&parry_pose(&shape, &pose), &line, 20.0, true);
            let ours = ray(&shape, &pose, origin, direction, 20.0).map(|h| h.distance);
            match (ours, theirs) {
                (Some(x), Some(y)) => {
                    compared += 1;
                    assert!((x - y).abs() < 1e-4, "{x} {y} {shape:?} {pose:?} {line:?}");
                }
                (None, None) => {}
                // Theirs walks towards the shape by a tolerance: a graze may count as a hit, or not.
                (Some(t), None) | (None, Some(t)) => {
                    let near = depth_of(&shape, &pose, origin + direction * t).abs();
                    assert!(near < 1e-3, "{ours:?} {theirs:?} {shape:?} {pose:?} {line:?}");
                }
            }
        }
    }
    assert!(compared > 2000, "{compared}");
}

#[test]
fn rays_by_hand() {
    let at = |shape: &Shape, o: DVec3, d: DVec3| ray(shape, &Pose::IDENTITY, o, d, 100.0);
    let drum = Shape::Cylinder { radius: 0.5, half_length: 2.0 };
    let top = at(&drum, DVec3::new(0.3, 0.2, 9.0), DVec3::NEG_Z).unwrap();
    assert_eq!((top.distance, top.normal), (7.0, DVec3::Z));
    let side = at(&drum, DVec3::new(3.0, 0.0, 1.0), DVec3::NEG_X).unwrap();
    assert_eq!((side.distance, side.normal), (2.5, DVec3::X));
    assert!(at(&drum, DVec3::new(3.0, 0.0, 2.1), DVec3::NEG_X).is_none());
    assert!(at(&drum, DVec3::new(0.6, 0.0, 9.0), DVec3::NEG_Z).is_none());

    // Height 4 and radius 1: apex at 3, base at -1.
    let cone = Shape::Cone { radius: 1.0, height: 4.0 };
    let tip = at(&cone, DVec3::Z * 9.0, DVec3::NEG_Z).unwrap();
    assert!((tip.distance - 6.0).abs() < 1e-14);
    let slope = at(&cone, DVec3::new(5.0, 0.0, 1.0), DVec3::NEG_X).unwrap();
    assert!((slope.distance - 4.5).abs() < 1e-14);
    assert!(slope.normal.distance(DVec3::new(4.0, 0.0, 1.0).normalize()) < 1e-14);
    let base = at(&cone, DVec3::new(0.9, 0.0, -3.0), DVec3::Z).unwrap();
    assert_eq!((base.distance, base.normal), (2.0, DVec3::NEG_Z));
    // Beyond the apex the other half of the double cone is not there.
    assert!(at(&cone, DVec3::new(5.0, 0.0, 4.0), DVec3::NEG_X).is_none());
    // Along a generator, from outside: a graze.
    assert!(at(&cone, DVec3::new(3.0, 0.0, 3.5), DVec3::new(-3.0, 0.0, -1.0).normalize()).is_some());

    let egg = Shape::Ellipsoid { half: DVec3::new(1.0, 2.0, 3.0) };
    let turned = Pose::new(DVec3::X, DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2));
    let hit = ray(&egg, &turned, DVec3::X * 10.0, DVec3::NEG_X, 100.0).unwrap();
    assert!((hit.distance - 7.0).abs() < 1e-14 && hit.normal.distance(DVec3::X) < 1e-14);
    assert!(ray(&egg, &turned, DVec3::X * 10.0, DVec3::NEG_X, 6.9).is_none());

    let block = Shape::Rounded { core: std::sync::Arc::new(Shape::Box { half: DVec3::ONE }), radius: 0.5 };
    let face = at(&block, DVec3::new(5.0, 0.3, 0.2), DVec3::NEG_X).unwrap();
    assert!((face.distance - 3.5).abs() < 1e-14 && face.normal == DVec3::X);
    let corner = at(&block, DVec3::splat(5.0), DVec3::splat(-1.0).normalize()).unwrap();
    assert!((corner.distance - (4.0 * 3.0_f64.sqrt() - 0.5)).abs() < 1e-13);
}

/// A grain of 1 mm seen from 10 km: the distance keeps the digits of the grain.
#[test]
fn far_rays_keep_their_digits() {
    let grains = [
        Shape::Cylinder { radius: 1e-3, half_length: 1e-3 },
        Shape::Ellipsoid { half: DVec3::new(1e-3, 2e-3, 3e-3) },
        Shape::Rounded { core: std::sync::Arc::new(Shape::Box { half: DVec3::splat(5e-4) }), radius: 5e-4 },
    ];
    for shape in grains {
        let hit = ray(&shape, &Pose::IDENTITY, DVec3::X * 1e4, -DVec3::X, 1e5).unwrap();
        assert!((hit.distance - (1e4 - 1e-3)).abs() < 1e-11, "{shape:?} {}", hit.distance - 1e4);
    }
}
