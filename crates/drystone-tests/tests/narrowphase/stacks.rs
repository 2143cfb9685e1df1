//! What lies at rest keeps its contact points: same number, same names, under small motions.

use crate::narrowphase_common::{Random, assert_sound, cuboid, manifold};
use drystone::shape::{Pose, Shape};
use glam::{DQuat, DVec3};

fn names(a: &Shape, pa: &Pose, b: &Shape, pb: &Pose) -> Vec<u32> {
    let m = manifold(a, pa, b, pb, 2e-3);
    assert_sound(a, pa, b, pb, 2e-3, &m);
    m.points().iter().map(|p| p.feature).collect()
}

/// `pose` moved and turned by at most about `size` along and about every axis.
fn jitter(random: &mut Random, pose: &Pose, size: f64) -> Pose {
    Pose::new(
        pose.position + random.vector(size),
        (DQuat::from_scaled_axis(random.vector(size)) * pose.rotation).normalize(),
    )
}

/// Asserts that A resting on B has `count` points whose names survive motions of 1e-4, in any orientation of
/// the whole.
fn keeps_its_points(seed: u64, a: &Shape, pa: &Pose, b: &Shape, pb: &Pose, count: usize) {
    let mut random = Random(seed);
    for turn in 0..40 {
        let whole = if turn == 0 { Pose::IDENTITY } else { random.pose(3.0) };
        let (wa, wb) = (whole.compose(pa), whole.compose(pb));
        let first = names(a, &wa, b, &wb);
        assert_eq!(first.len(), count, "{a:?} {pa:?} on {b:?} {pb:?}");
        for _ in 0..100 {
            let (ja, jb) = (jitter(&mut random, &wa, 1e-4), jitter(&mut random, &wb, 1e-4));
            assert_eq!(names(a, &ja, b, &jb), first, "{a:?} {ja:?}\n{b:?} {jb:?}");
        }
    }
}

fn on_top(height: f64, x: f64, y: f64, yaw: f64) -> Pose {
    Pose::new(DVec3::new(x, y, height), DQuat::from_rotation_z(yaw))
}

#[test]
fn equal_boxes_stacked_flush() {
    let block = cuboid(0.5, 0.5, 0.5);
    keeps_its_points(1, &block, &on_top(1.0, 0.0, 0.0, 0.0), &block, &Pose::IDENTITY, 4);
    keeps_its_points(2, &block, &on_top(0.999, 0.0, 0.0, 0.0), &block, &Pose::IDENTITY, 4);
    let flat = cuboid(0.5, 0.3, 0.1);
    keeps_its_points(3, &flat, &on_top(0.2, 0.0, 0.0, 0.0), &flat, &Pose::IDENTITY, 4);
}

#[test]
fn equal_boxes_stacked_with_offset_and_yaw() {
    let block = cuboid(0.5, 0.5, 0.5);
    keeps_its_points(4, &block, &on_top(1.0, 0.2, 0.1, 0.0), &block, &Pose::IDENTITY, 4);
    keeps_its_points(5, &block, &on_top(1.0, 0.2, 0.1, 0.3), &block, &Pose::IDENTITY, 4);
    keeps_its_points(6, &block, &on_top(1.0, 0.5, 0.0, 0.0), &block, &Pose::IDENTITY, 4);
}

/// Eight candidates about equally deep: the same four are chosen every time.
#[test]
fn equal_boxes_stacked_at_45_degrees() {
    let block = cuboid(0.5, 0.5, 0.5);
    keeps_its_points(7, &block, &on_top(1.0, 0.0, 0.0, 0.785), &block, &Pose::IDENTITY, 4);
    keeps_its_points(8, &block, &on_top(0.9995, 0.0, 0.0, 0.6), &block, &Pose::IDENTITY, 4);
}

#[test]
fn small_on_large_and_large_on_small() {
    let (small, large) = (cuboid(0.2, 0.25, 0.3), cuboid(2.0, 1.5, 0.5));
    keeps_its_points(9, &small, &on_top(0.8, 0.4, -0.3, 0.2), &large, &Pose::IDENTITY, 4);
    keeps_its_points(10, &large, &on_top(0.8, 0.1, 0.05, 0.7), &small, &Pose::IDENTITY, 4);
    keeps_its_points(11, &small, &on_top(0.8, 2.0, 0.3, 0.0), &large, &Pose::IDENTITY, 4);
}

/// The patch never falls back to an edge: normals stay those of the faces.
#[test]
fn normals_of_a_jittering_stack_are_face_normals() {
    let mut random = Random(12);
    let block = cuboid(0.5, 0.5, 0.5);
    for _ in 0..20_000 {
        let pa =
            on_top(random.between(0.99, 1.001), random.between(-0.3, 0.3), 0.1, random.between(-3.0, 3.0));
        let (ja, jb) = (jitter(&mut random, &pa, 1e-3), jitter(&mut random, &Pose::IDENTITY, 1e-3));
        let m = manifold(&block, &ja, &block, &jb, 0.02);
        assert_sound(&block, &ja, &block, &jb, 0.02, &m);
        assert!(m.points().len() >= 3, "{ja:?} {jb:?}");
        for p in m.points() {
            let faces = [ja.rotation * DVec3::Z, jb.rotation * DVec3::Z];
            assert!(faces.iter().any(|f| f.distance(p.normal) < 1e-12), "{p:?}");
        }
    }
}

/// The four points surround the centre of the patch: their area is most of it.
#[test]
fn four_points_span_the_patch() {
    let mut random = Random(13);
    let block = cuboid(0.5, 0.5, 0.5);
    for _ in 0..2000 {
        let yaw = random.between(-3.2, 3.2);
        let m = manifold(&block, &on_top(1.0, 0.0, 0.0, yaw), &block, &Pose::IDENTITY, 1e-3);
        let p = m.points();
        assert_eq!(p.len(), 4);
        let half = |i: usize, j: usize, k: usize, l: usize| {
            0.5 * (p[j].on_a - p[i].on_a).cross(p[l].on_a - p[k].on_a).length()
        };
        let area = half(0, 1, 2, 3).max(half(0, 2, 1, 3)).max(half(0, 3, 1, 2));
        // Two unit squares about one centre share an octagon; four corners of the regular one span 0.586.
        assert!(area > 0.5, "area {area} at yaw {yaw}");
    }
}

#[test]
fn box_and_capsule_at_rest_on_a_half_space() {
    let block = cuboid(0.5, 0.4, 0.3);
    keeps_its_points(14, &block, &on_top(0.3, 0.0, 0.0, 0.4), &Shape::HalfSpace, &Pose::IDENTITY, 4);
    let rod = Shape::Capsule { radius: 0.3, half_length: 0.5 };
    let lying = Pose::new(DVec3::Z * 0.3, DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2));
    keeps_its_points(15, &rod, &lying, &Shape::HalfSpace, &Pose::IDENTITY, 2);
    keeps_its_points(16, &rod, &lying, &cuboid(2.0, 2.0, 1.0), &Pose::at(DVec3::Z * -1.0), 2);
}
