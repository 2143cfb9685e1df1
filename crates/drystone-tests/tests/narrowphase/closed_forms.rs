//! Contacts whose answer can be written down.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, FRAC_PI_4, SQRT_2};

use crate::narrowphase_common::{assert_sound, cuboid, least_gap, manifold};
use drystone::collide::narrowphase::sphere_sphere;
use drystone::collide::query::distance;
use drystone::shape::{Pose, Shape};
use glam::{DQuat, DVec3};

fn at(x: f64, y: f64, z: f64) -> Pose {
    Pose::at(DVec3::new(x, y, z))
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-14
}

fn sphere(radius: f64) -> Shape {
    Shape::Sphere { radius }
}

fn capsule(radius: f64, half_length: f64) -> Shape {
    Shape::Capsule { radius, half_length }
}

#[test]
fn two_spheres() {
    let p = sphere_sphere(DVec3::new(0.0, 0.0, 3.0), 1.0, DVec3::ZERO, 1.5);
    assert_eq!(p.normal, DVec3::Z);
    assert_eq!(p.gap, 0.5);
    assert_eq!(p.on_a, DVec3::new(0.0, 0.0, 2.0));
    assert_eq!(p.on_b, DVec3::new(0.0, 0.0, 1.5));
    let same = sphere_sphere(DVec3::ONE, 1.0, DVec3::ONE, 1.0);
    assert_eq!((same.normal, same.gap), (DVec3::Z, -2.0));
}

#[test]
fn reach_decides_what_is_a_contact() {
    let (a, b) = (sphere(1.0), sphere(1.0));
    for (reach, count) in [(0.0, 0), (0.0999, 0), (0.1001, 1), (f64::INFINITY, 1)] {
        assert_eq!(manifold(&a, &at(2.1, 0.0, 0.0), &b, &Pose::IDENTITY, reach).points().len(), count);
    }
    let (a, b) = (cuboid(1.0, 1.0, 1.0), cuboid(1.0, 1.0, 1.0));
    for (reach, count) in [(0.0, 0), (0.0999, 0), (0.1001, 4), (f64::INFINITY, 4)] {
        assert_eq!(manifold(&a, &at(2.1, 0.3, 0.2), &b, &Pose::IDENTITY, reach).points().len(), count);
    }
}

#[test]
fn sphere_on_each_feature_of_a_box() {
    let (ball, block) = (sphere(0.5), cuboid(1.0, 2.0, 3.0));
    let gap = |x, y, z| least_gap(&manifold(&ball, &at(x, y, z), &block, &Pose::IDENTITY, 10.0));
    let face = gap(0.3, 0.4, 4.0);
    assert!(close(face.gap, 0.5) && face.normal == DVec3::Z);
    let edge = gap(2.0, 3.0, 0.7);
    assert!(close(edge.gap, SQRT_2 - 0.5));
    assert!(edge.normal.distance(DVec3::new(FRAC_1_SQRT_2, FRAC_1_SQRT_2, 0.0)) < 1e-15);
    assert_eq!(edge.on_b, DVec3::new(1.0, 2.0, 0.7));
    let corner = gap(2.0, 3.0, -4.0);
    assert!(close(corner.gap, 3.0_f64.sqrt() - 0.5));
    assert_eq!(corner.on_b, DVec3::new(1.0, 2.0, -3.0));
}

#[test]
fn sphere_centre_inside_a_box_leaves_by_the_nearest_face() {
    let (ball, block) = (sphere(0.5), cuboid(1.0, 2.0, 3.0));
    let p = least_gap(&manifold(&ball, &at(0.2, -1.9, 0.0), &block, &Pose::IDENTITY, 0.0));
    assert!(close(p.gap, -0.6) && p.normal == -DVec3::Y);
    assert_eq!(p.on_b, DVec3::new(0.2, -2.0, 0.0));
    let middle = least_gap(&manifold(&ball, &Pose::IDENTITY, &block, &Pose::IDENTITY, 0.0));
    assert!(close(middle.gap, -1.5) && middle.normal == DVec3::X);
    let surface = least_gap(&manifold(&ball, &at(0.0, 0.0, 3.0), &block, &Pose::IDENTITY, 0.0));
    assert!(close(surface.gap, -0.5) && surface.normal == DVec3::Z);
}

/// A ball a million times the size of the box it lies on.
#[test]
fn huge_sphere_on_small_box() {
    let radius = 1e6;
    let p = least_gap(&manifold(
        &sphere(radius),
        &at(0.25, 0.0, radius + 1.0 + 1e-4),
        &cuboid(1.0, 1.0, 1.0),
        &Pose::IDENTITY,
        1e-3,
    ));
    assert!((p.gap - 1e-4).abs() < 1e-12 * radius, "{}", p.gap);
    assert_eq!(p.normal, DVec3::Z);
    assert!(p.on_a.distance(DVec3::new(0.25, 0.0, 1.0)) < 1e-3);
    let small = least_gap(&manifold(
        &sphere(1e-6),
        &at(0.25, 0.0, 1.0 + 0.5e-6),
        &cuboid(1.0, 1.0, 1.0),
        &Pose::IDENTITY,
        0.0,
    ));
    assert!((small.gap + 0.5e-6).abs() < 1e-15);
}

#[test]
fn lying_and_standing_on_a_half_space() {
    let tilted = Pose::new(DVec3::new(0.0, 0.0, 1.0), DQuat::from_rotation_x(FRAC_PI_2));
    let lying = manifold(&capsule(0.9, 2.0), &tilted, &Shape::HalfSpace, &Pose::IDENTITY, 0.2);
    assert_eq!(lying.points().len(), 2);
    assert!(lying.points().iter().all(|p| close(p.gap, 0.1) && p.normal == DVec3::Z));
    assert!(close(lying.points()[0].on_a.distance(lying.points()[1].on_a), 4.0));

    let standing = manifold(&capsule(0.9, 2.0), &at(0.0, 0.0, 2.8), &Shape::HalfSpace, &Pose::IDENTITY, 0.2);
    assert_eq!(standing.points().len(), 1);
    assert!(close(standing.points()[0].gap, -0.1));

    let floor = Pose::new(DVec3::new(0.0, 5.0, 0.0), DQuat::from_rotation_x(-FRAC_PI_2));
    let ball = least_gap(&manifold(&sphere(1.0), &at(3.0, 6.5, 1.0), &Shape::HalfSpace, &floor, 1.0));
    assert!((ball.gap - 0.5).abs() < 1e-14 && ball.normal.distance(DVec3::Y) < 1e-15);
    assert!(ball.on_b.distance(DVec3::new(3.0, 5.0, 1.0)) < 1e-14);
}

#[test]
fn box_on_a_half_space() {
    let block = cuboid(1.0, 2.0, 0.5);
    let flat = manifold(&block, &at(0.0, 0.0, 0.51), &Shape::HalfSpace, &Pose::IDENTITY, 0.1);
    assert_eq!(flat.points().iter().map(|p| p.feature).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(flat.points().iter().all(|p| close(p.gap, 0.01)));

    let sunk = manifold(&block, &at(0.0, 0.0, -3.0), &Shape::HalfSpace, &Pose::IDENTITY, 0.1);
    assert_eq!(sunk.points().iter().map(|p| p.feature).collect::<Vec<_>>(), [0, 1, 2, 3]);

    let on_edge = Pose::new(DVec3::Z * 1.5 * FRAC_1_SQRT_2, DQuat::from_rotation_y(FRAC_PI_4));
    let edge = manifold(&block, &on_edge, &Shape::HalfSpace, &Pose::IDENTITY, 0.01);
    assert_eq!(edge.points().len(), 2);
    assert!(edge.points().iter().all(|p| close(p.gap, 0.0)));
}

#[test]
fn crossed_and_parallel_capsules() {
    let (a, b) = (capsule(0.5, 2.0), capsule(0.25, 3.0));
    let across = Pose::new(DVec3::new(0.0, 1.0, 0.0), DQuat::from_rotation_y(FRAC_PI_2));
    let crossed = manifold(&a, &across, &b, &Pose::IDENTITY, 1.0);
    assert_eq!(crossed.points().len(), 1);
    assert!(close(crossed.points()[0].gap, 0.25) && crossed.points()[0].normal.distance(DVec3::Y) < 1e-15);

    let beside = manifold(&a, &at(0.0, 1.0, 2.0), &b, &Pose::IDENTITY, 1.0);
    assert_eq!(beside.points().len(), 2);
    let mut ends: Vec<f64> = beside.points().iter().map(|p| p.on_a.z).collect();
    ends.sort_by(f64::total_cmp);
    assert!(close(ends[0], 0.0) && close(ends[1], 3.0), "{ends:?}");
    assert!(beside.points().iter().all(|p| close(p.gap, 0.25)));

    // End to end in one line: no common stretch, one point along the axis.
    let behind = manifold(&a, &at(0.0, 0.0, 6.0), &b, &Pose::IDENTITY, 1.0);
    assert_eq!(behind.points().len(), 1);
    assert!(close(behind.points()[0].gap, 0.25) && behind.points()[0].normal == DVec3::Z);
}

/// Cores that cross leave across both; cores in one line leave across the line.
#[test]
fn crossing_cores() {
    let (a, b) = (capsule(0.5, 2.0), capsule(0.25, 3.0));
    let turned = Pose::new(DVec3::ZERO, DQuat::from_rotation_y(FRAC_PI_2));
    let p = least_gap(&manifold(&a, &turned, &b, &Pose::IDENTITY, 0.0));
    assert!(close(p.gap, -0.75) && close(p.normal.y.abs(), 1.0));
    let q = least_gap(&manifold(&a, &at(0.0, 0.0, 0.3), &b, &Pose::IDENTITY, 0.0));
    assert!(close(q.gap, -0.75) && close(q.normal.z, 0.0));
    let ball = least_gap(&manifold(&sphere(1.0), &at(0.0, 0.0, 1.0), &b, &Pose::IDENTITY, 0.0));
    assert!(close(ball.gap, -1.25) && close(ball.normal.z, 0.0));
}

#[test]
fn capsule_along_a_face_an_edge_and_through_a_box() {
    let (rod, block) = (capsule(0.5, 2.0), cuboid(1.0, 1.0, 1.0));
    let along_x = DQuat::from_rotation_y(FRAC_PI_2);

    let face = manifold(&rod, &Pose::new(DVec3::new(0.5, 0.0, 1.6), along_x), &block, &Pose::IDENTITY, 0.2);
    assert_eq!(face.points().len(), 2);
    let mut ends: Vec<f64> = face.points().iter().map(|p| p.on_b.x).collect();
    ends.sort_by(f64::total_cmp);
    assert!(close(ends[0], -1.0) && close(ends[1], 1.0), "{ends:?}");
    assert!(face.points().iter().all(|p| (p.gap - 0.1).abs() < 1e-14 && p.normal.distance(DVec3::Z) < 1e-14));

    let edge = manifold(&rod, &Pose::new(DVec3::new(0.0, 1.4, 1.4), along_x), &block, &Pose::IDENTITY, 0.2);
    assert_eq!(edge.points().len(), 2);
    assert!(edge.points().iter().all(|p| (p.gap - (0.4 * SQRT_2 - 0.5)).abs() < 1e-14));

    // Sunk along the face by 0.3 of its core: both ends of the common stretch, 0.8 deep.
    let sunk = manifold(&rod, &Pose::new(DVec3::new(0.0, 0.0, 0.7), along_x), &block, &Pose::IDENTITY, 0.0);
    assert_eq!(sunk.points().len(), 2);
    assert!(sunk.points().iter().all(|p| (p.gap + 0.8).abs() < 1e-14 && p.normal.distance(DVec3::Z) < 1e-14));

    // Through a corner region along y = -x: the way out is across the core and the vertical edge.
    let skew = Pose::new(
        DVec3::new(0.9, 0.9, 0.0),
        DQuat::from_rotation_arc(DVec3::Z, DVec3::new(1.0, -1.0, 0.0).normalize()),
    );
    let p = least_gap(&manifold(&rod, &skew, &block, &Pose::IDENTITY, 0.0));
    assert!((p.gap + 0.1 * SQRT_2 + 0.5).abs() < 1e-14, "{}", p.gap);
    assert!(p.normal.distance(DVec3::new(FRAC_1_SQRT_2, FRAC_1_SQRT_2, 0.0)) < 1e-14);
}

#[test]
fn boxes_corner_to_corner_and_edge_to_edge() {
    let block = cuboid(1.0, 1.0, 1.0);
    let corner = manifold(&block, &at(3.0, 3.0, 3.0), &block, &Pose::IDENTITY, 2.0);
    assert_eq!(corner.points().len(), 1);
    let p = corner.points()[0];
    assert!((p.gap - 3.0_f64.sqrt()).abs() < 1e-14);
    assert!(p.normal.distance(DVec3::ONE.normalize()) < 1e-14);
    assert_eq!(manifold(&block, &at(3.0, 3.0, 3.0), &block, &Pose::IDENTITY, 1.7).points().len(), 0);

    // Two wedges crossed at right angles, their edges 0.1 apart, then 0.1 into each other.
    let lower = Pose::new(DVec3::ZERO, DQuat::from_rotation_x(FRAC_PI_4));
    for gap in [0.1, -0.1] {
        let upper = Pose::new(DVec3::Z * (2.0 * SQRT_2 + gap), DQuat::from_rotation_y(FRAC_PI_4));
        let m = manifold(&block, &upper, &block, &lower, 1.0);
        assert_eq!(m.points().len(), 1);
        let p = m.points()[0];
        assert!((p.gap - gap).abs() < 1e-14 && p.normal.distance(DVec3::Z) < 1e-14, "{p:?}");
        assert_sound(&block, &upper, &block, &lower, 1.0, &m);
    }
}

#[test]
fn boxes_deep_in_each_other() {
    let (a, b) = (cuboid(1.0, 1.0, 1.0), cuboid(0.5, 2.0, 2.0));
    let same = manifold(&a, &Pose::IDENTITY, &b, &Pose::IDENTITY, 0.0);
    assert_eq!(least_gap(&same).gap, -1.5);
    assert_eq!(least_gap(&same).normal.abs(), DVec3::X);
    let inside = manifold(&cuboid(0.1, 0.1, 0.1), &at(0.0, 0.0, 0.7), &a, &Pose::IDENTITY, 0.0);
    assert_eq!(inside.points().len(), 4);
    assert!(inside.points().iter().all(|p| close(p.gap, -0.4) && p.normal == DVec3::Z));
    assert_eq!(distance(&a, &Pose::IDENTITY, &a, &Pose::IDENTITY), -2.0);
}

/// A brick laid across two corners of a larger face: the cut runs through both.
#[test]
fn patch_of_overhanging_boxes_is_their_common_area() {
    let m =
        manifold(&cuboid(2.0, 0.5, 0.5), &at(1.5, 0.8, 1.5), &cuboid(1.0, 1.0, 1.0), &Pose::IDENTITY, 0.1);
    let mut found: Vec<(f64, f64)> = m.points().iter().map(|p| (p.on_b.x, p.on_b.y)).collect();
    found.sort_by(|p, q| p.partial_cmp(q).unwrap());
    let expected = [(-0.5, 0.3), (-0.5, 1.0), (1.0, 0.3), (1.0, 1.0)];
    for (f, e) in found.iter().zip(expected) {
        assert!(close(f.0, e.0) && close(f.1, e.1), "{found:?}");
    }
    assert_eq!(found.len(), 4);
}

#[test]
fn two_half_spaces_have_no_contact() {
    let m =
        manifold(&Shape::HalfSpace, &Pose::IDENTITY, &Shape::HalfSpace, &at(0.0, 0.0, -5.0), f64::INFINITY);
    assert!(m.points().is_empty());
}
