//! Contacts whose answer can be written down.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2};
use std::sync::Arc;

use drystone::collide::narrowphase::ContactPoint;
use drystone::collide::query::distance;
use drystone::shape::{Pose, Shape};
use glam::{DQuat, DVec3};

use crate::narrowphase_common::{Random, cuboid, hull_of, least_gap, manifold};

fn at(x: f64, y: f64, z: f64) -> Pose {
    Pose::at(DVec3::new(x, y, z))
}

fn turned(position: DVec3, rotation: DQuat) -> Pose {
    Pose::new(position, rotation)
}

fn cylinder(radius: f64, half_length: f64) -> Shape {
    Shape::Cylinder { radius, half_length }
}

fn ellipsoid(x: f64, y: f64, z: f64) -> Shape {
    Shape::Ellipsoid { half: DVec3::new(x, y, z) }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-13
}

fn only(a: &Shape, pa: &Pose, b: &Shape, pb: &Pose) -> ContactPoint {
    let m = manifold(a, pa, b, pb, f64::INFINITY);
    assert_eq!(m.points().len(), 1, "{:?}", m.points());
    m.points()[0]
}

#[test]
fn sphere_and_ellipsoid_along_the_axes() {
    let half = DVec3::new(0.5, 1.0, 2.0);
    let shape = Shape::Ellipsoid { half };
    for k in 0..3 {
        for side in [-1.0, 1.0] {
            for d in [half[k] + 0.55, half[k] + 0.25, half[k] - 0.01] {
                let n = DVec3::AXES[k] * side;
                let p = only(&Shape::Sphere { radius: 0.25 }, &Pose::at(n * d), &shape, &Pose::IDENTITY);
                assert!(close(p.gap, d - half[k] - 0.25) && p.normal.distance(n) < 1e-13, "{p:?}");
                assert!(p.on_b.distance(n * half[k]) < 1e-13);
            }
        }
    }
}

#[test]
fn ellipsoids_along_their_axes_and_askew() {
    let (a, b) = (ellipsoid(1.0, 2.0, 3.0), ellipsoid(0.5, 0.25, 1.5));
    for gap in [0.3, 1e-6, -1e-6, -0.01] {
        let p = only(&a, &at(0.0, 2.25 + gap, 0.0), &b, &Pose::IDENTITY);
        assert!(close(p.gap, gap) && p.normal.distance(DVec3::Y) < 1e-12, "{p:?}");
    }
    // Whatever the contact, A moved along the normal by d is d further away: the points stay the closest.
    let mut random = Random(301);
    for _ in 0..300 {
        let (pa, pb) = (random.pose(2.0), random.pose(2.0));
        let p = only(&a, &pa, &b, &pb);
        if p.gap > -0.05 {
            let moved = Pose::new(pa.position + p.normal * 0.7, pa.rotation);
            let q = only(&a, &moved, &b, &pb);
            assert!(close(q.gap, p.gap + 0.7) && q.normal.distance(p.normal) < 1e-9, "{p:?} {q:?}");
        }
    }
}

/// The height of the lowest point of an ellipsoid is that of its support function.
#[test]
fn ellipsoid_over_a_half_space() {
    let mut random = Random(302);
    let half = DVec3::new(0.5, 1.0, 2.0);
    for _ in 0..500 {
        let pose = random.pose(3.0);
        let up = pose.rotation.conjugate() * DVec3::Z;
        let p = only(&Shape::Ellipsoid { half }, &pose, &Shape::HalfSpace, &Pose::IDENTITY);
        assert!(close(p.gap, pose.position.z - (half * up).length()), "{p:?}");
        assert!((p.on_a.z - p.gap).abs() < 1e-13 && p.on_b.z.abs() < 1e-13);
    }
}

/// On the rim at every angle, lying and standing.
#[test]
fn cylinder_over_a_half_space_and_over_boxes() {
    let (radius, half) = (0.5, 1.5);
    let shape = cylinder(radius, half);
    let floor = cuboid(9.0, 9.0, 1.0);
    let below = at(0.0, 0.0, -1.0);
    for k in 0..=90 {
        let tilt = f64::from(k).to_radians();
        let lowest = half * tilt.cos() + radius * tilt.sin();
        for gap in [0.01, -0.002] {
            let pose =
                turned(DVec3::Z * (lowest + gap), DQuat::from_rotation_x(tilt) * DQuat::from_rotation_z(0.7));
            let plane = least_gap(&manifold(&shape, &pose, &Shape::HalfSpace, &Pose::IDENTITY, 0.1));
            let block = least_gap(&manifold(&shape, &pose, &floor, &below, 0.1));
            for p in [plane, block] {
                assert!(close(p.gap, gap) && p.normal.distance(DVec3::Z) < 1e-12, "{k}° {p:?}");
                if k != 0 && k != 90 {
                    // The lowest point of the rim: turned from (0, -r, -h).
                    let on_rim = pose.point(DQuat::from_rotation_z(-0.7) * DVec3::new(0.0, -radius, -half));
                    assert!(p.on_a.distance(on_rim) < 1e-9, "{k}° {p:?} {on_rim}");
                }
            }
        }
    }
}

#[test]
fn cone_over_a_half_space() {
    let (radius, height) = (0.6, 2.0);
    let shape = Shape::Cone { radius, height };
    let plane = |pose: &Pose| manifold(&shape, pose, &Shape::HalfSpace, &Pose::IDENTITY, 0.1);
    // On its base, on its apex, on its side.
    let base = plane(&at(0.0, 0.0, 0.25 * height + 0.01));
    assert!(base.points().len() >= 3 && base.points().iter().all(|p| close(p.gap, 0.01)));
    let apex =
        plane(&turned(DVec3::Z * (0.75 * height - 0.01), DQuat::from_rotation_x(std::f64::consts::PI)));
    assert_eq!(apex.points().len(), 1);
    assert!(close(apex.points()[0].gap, -0.01));
    let slope = radius.atan2(height);
    let lying = DQuat::from_rotation_y(FRAC_PI_2 - slope + std::f64::consts::PI);
    let centre = 0.75 * height * slope.sin();
    let side = plane(&turned(DVec3::Z * centre, lying));
    assert_eq!(side.points().len(), 2, "{:?}", side.points());
    assert!(side.points().iter().all(|p| p.gap.abs() < 1e-13));
    let length = side.points()[0].on_a.distance(side.points()[1].on_a);
    assert!(close(length, radius.hypot(height)));
    // The same on a wide block.
    let block =
        manifold(&shape, &turned(DVec3::Z * centre, lying), &cuboid(9.0, 9.0, 1.0), &at(0.0, 0.0, -1.0), 0.1);
    assert_eq!(block.points().len(), 2, "{:?}", block.points());
    assert!(block.points().iter().all(|p| p.gap.abs() < 1e-12 && p.normal.distance(DVec3::Z) < 1e-9));
}

#[test]
fn parallel_and_crossed_cylinders() {
    let (a, b) = (cylinder(0.5, 2.0), cylinder(0.25, 3.0));
    for gap in [0.2, -1e-4, -0.05] {
        let beside = manifold(&a, &at(0.0, 0.75 + gap, 2.0), &b, &Pose::IDENTITY, 1.0);
        assert_eq!(beside.points().len(), 2, "{:?}", beside.points());
        let mut ends: Vec<f64> = beside.points().iter().map(|p| p.on_a.z).collect();
        ends.sort_by(f64::total_cmp);
        assert!(close(ends[0], 0.0) && close(ends[1], 3.0), "{ends:?}");
        assert!(beside.points().iter().all(|p| close(p.gap, gap) && p.normal.distance(DVec3::Y) < 1e-12));

        let across = turned(DVec3::new(0.0, 0.75 + gap, 0.0), DQuat::from_rotation_y(1.0));
        let crossed = only(&a, &across, &b, &Pose::IDENTITY);
        assert!(close(crossed.gap, gap) && crossed.normal.distance(DVec3::Y) < 1e-9, "{crossed:?}");
        assert!(crossed.on_b.distance(DVec3::Y * 0.25) < 1e-9);

        let capsule = Shape::Capsule { radius: 0.5, half_length: 2.0 };
        let bar = manifold(&capsule, &at(0.0, 0.75 + gap, 0.0), &b, &Pose::IDENTITY, 1.0);
        assert_eq!(bar.points().len(), 2);
        assert!(bar.points().iter().all(|p| close(p.gap, gap)));
    }
}

/// End to end: two caps of different size, on one axis and aside of it.
#[test]
fn caps_on_caps() {
    let (a, b) = (cylinder(0.5, 1.0), cylinder(0.75, 0.5));
    for gap in [0.1, 0.0, -0.01] {
        let m = manifold(&a, &at(0.1, 0.0, 1.5 + gap), &b, &Pose::IDENTITY, 0.2);
        assert!(m.points().len() >= 3, "{:?}", m.points());
        for p in m.points() {
            assert!(close(p.gap, gap) && p.normal.distance(DVec3::Z) < 1e-12, "{p:?}");
            assert!(close((p.on_a - DVec3::X * 0.1).truncate().length(), 0.5));
        }
        // Half over: the points are on the outline of the common part of the two discs.
        let m = manifold(&a, &at(0.9, 0.0, 1.5 + gap), &b, &Pose::IDENTITY, 0.2);
        assert!(m.points().len() >= 3, "{:?}", m.points());
        for p in m.points() {
            let (ra, rb) = ((p.on_a - DVec3::X * 0.9).truncate().length(), p.on_b.truncate().length());
            assert!(close(p.gap, gap) && ra < 0.5 + 1e-12 && rb < 0.75 + 1e-12, "{p:?}");
            assert!(ra > 0.5 - 1e-12 || rb > 0.75 - 1e-12, "{p:?}");
        }
    }
}

/// Rounded shapes are their cores, nearer by the radii.
#[test]
fn rounded_corners_edges_and_faces() {
    let rounded = |radius: f64| Shape::Rounded { core: Arc::new(cuboid(1.0, 1.0, 1.0)), radius };
    let (a, b) = (rounded(0.2), rounded(0.3));
    let corner = only(&a, &at(3.0, 3.0, 3.0), &b, &Pose::IDENTITY);
    assert!(
        close(corner.gap, 3.0_f64.sqrt() - 0.5) && corner.normal.distance(DVec3::ONE.normalize()) < 1e-13
    );
    let diagonal = DVec3::ONE.normalize();
    assert!(corner.on_b.distance(DVec3::ONE + diagonal * 0.3) < 1e-13);
    // Overlapping by their radii, where no depth is needed.
    let shallow = only(&a, &at(2.2, 2.2, 2.2), &b, &Pose::IDENTITY);
    assert!(close(shallow.gap, 0.2 * 3.0_f64.sqrt() - 0.5), "{shallow:?}");
    let face = manifold(&a, &at(0.5, 0.3, 2.4), &b, &Pose::IDENTITY, 0.0);
    assert_eq!(face.points().len(), 4);
    assert!(face.points().iter().all(|p| close(p.gap, -0.1) && p.normal.distance(DVec3::Z) < 1e-13));
    // Edges side by side: two points of the stretch they share.
    let edge = manifold(&a, &at(2.3, 0.5, 2.3), &b, &Pose::IDENTITY, 0.0);
    assert_eq!(edge.points().len(), 2, "{:?}", edge.points());
    let slanted = DVec3::new(FRAC_1_SQRT_2, 0.0, FRAC_1_SQRT_2);
    for p in edge.points() {
        assert!(close(p.gap, 0.3 * 2.0_f64.sqrt() - 0.5) && p.normal.distance(slanted) < 1e-12, "{p:?}");
    }
    // Through each other: the cores overlap by 0.4, the radii add.
    assert!(close(distance(&a, &at(0.0, 1.6, 0.0), &b, &Pose::IDENTITY), -0.9));
}

/// Sunk to the middle: the way out is through the nearest side.
#[test]
fn deep_in_each_other() {
    let disc = cylinder(1.0, 0.1);
    let ball = Shape::Sphere { radius: 0.3 };
    assert!(close(distance(&ball, &Pose::IDENTITY, &disc, &Pose::IDENTITY), -0.4));
    assert!(close(distance(&disc, &Pose::IDENTITY, &disc, &Pose::IDENTITY), -0.2));
    assert!(close(distance(&ellipsoid(3.0, 1.0, 2.0), &Pose::IDENTITY, &disc, &Pose::IDENTITY), -2.0));
    let egg = ellipsoid(1.0, 1.0, 2.0);
    let apart = distance(&egg, &at(0.0, 0.0, 0.5), &egg, &Pose::IDENTITY);
    assert!((apart + distance_apart()).abs() < 1e-11, "{apart}");
    let tetrahedron = hull_of(&[DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z]);
    let box_inside = cuboid(0.01, 0.01, 0.01);
    // A small box in the middle of the slanted face's inside: out through the nearest side of the
    // tetrahedron.
    let d = distance(&box_inside, &at(0.1, 0.2, 0.3), &tetrahedron, &Pose::IDENTITY);
    assert!(close(d, -0.11), "{d}");
}

/// The shortest way apart of two equal upright eggs, semi-axes 1 and 2, one half a unit above the other: the
/// eggs add up to one of twice the size, and the offset is a point inside it. Nearest points of the meridian
/// 2 (cos t, 2 sin t) by search.
fn distance_apart() -> f64 {
    (0..=1_000_000)
        .map(|k| f64::from(k) * 1e-6 * FRAC_PI_2)
        .map(|t| (2.0 * t.cos()).hypot(4.0 * t.sin() - 0.5))
        .fold(f64::INFINITY, f64::min)
}
