//! What lies at rest keeps its contact points: same number, same names, under small motions.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};
use std::sync::Arc;

use drystone::shape::{Pose, Shape};
use glam::{DQuat, DVec3};

use crate::narrowphase_common::{Random, assert_points, cuboid, hull_of, manifold};

/// `pose` moved and turned by at most about `size` along and about every axis.
fn jitter(random: &mut Random, pose: &Pose, size: f64) -> Pose {
    Pose::new(
        pose.position + random.vector(size),
        (DQuat::from_scaled_axis(random.vector(size)) * pose.rotation).normalize(),
    )
}

/// Of bars that cross ever so slightly, the closest point may come as a third between the ends of the
/// stretch.
const BETWEEN: u32 = 3 << 17;

fn names(a: &Shape, pa: &Pose, b: &Shape, pb: &Pose) -> Vec<u32> {
    let m = manifold(a, pa, b, pb, 5e-3);
    assert_points(a, pa, b, pb, 1e-9, &m);
    m.points().iter().map(|p| p.feature).filter(|f| *f != BETWEEN).collect()
}

/// Asserts that A resting on B has `count` points whose names survive motions of 1e-4, in any orientation of
/// the whole.
fn keeps_its_points(seed: u64, a: &Shape, pa: &Pose, b: &Shape, pb: &Pose, count: usize) {
    let mut random = Random(seed);
    for turn in 0..20 {
        let whole = if turn == 0 { Pose::IDENTITY } else { random.pose(3.0) };
        let (wa, wb) = (whole.compose(pa), whole.compose(pb));
        let first = names(a, &jitter(&mut random, &wa, 1e-4), b, &wb);
        assert_eq!(first.len(), count, "{a:?} {pa:?} on {b:?} {pb:?}");
        for _ in 0..50 {
            let (ja, jb) = (jitter(&mut random, &wa, 1e-4), jitter(&mut random, &wb, 1e-4));
            assert_eq!(names(a, &ja, b, &jb), first, "{a:?} {ja:?}\n{b:?} {jb:?}");
        }
    }
}

fn brick(half: DVec3) -> Shape {
    let corner = |k: u32| {
        let side = |axis: u32| if k >> axis & 1 == 1 { 1.0 } else { -1.0 };
        half * DVec3::new(side(0), side(1), side(2))
    };
    hull_of(&(0..8).map(corner).collect::<Vec<_>>())
}

fn on_top(height: f64, x: f64, y: f64, yaw: f64) -> Pose {
    Pose::new(DVec3::new(x, y, height), DQuat::from_rotation_z(yaw))
}

#[test]
fn bricks() {
    let block = brick(DVec3::splat(0.5));
    // Flush, shifted, turned, a small one on a large one, on a box and on a plane.
    keeps_its_points(501, &block, &on_top(1.0, 0.0, 0.0, 0.0), &block, &Pose::IDENTITY, 4);
    keeps_its_points(502, &block, &on_top(0.999, 0.2, 0.1, 0.0), &block, &Pose::IDENTITY, 4);
    keeps_its_points(503, &block, &on_top(1.0, 0.2, 0.1, 0.3), &block, &Pose::IDENTITY, 4);
    let large = brick(DVec3::new(2.0, 1.5, 0.5));
    keeps_its_points(504, &block, &on_top(1.0, 0.4, -0.3, 0.2), &large, &Pose::IDENTITY, 4);
    keeps_its_points(505, &block, &on_top(1.0, 0.4, -0.3, 0.2), &cuboid(2.0, 1.5, 0.5), &Pose::IDENTITY, 4);
    keeps_its_points(506, &block, &on_top(0.5, 0.0, 0.0, 0.7), &Shape::HalfSpace, &Pose::IDENTITY, 4);
}

#[test]
fn rounded_bricks() {
    let core = Arc::new(cuboid(0.4, 0.4, 0.4));
    let block = Shape::Rounded { core, radius: 0.1 };
    keeps_its_points(511, &block, &on_top(1.0, 0.2, 0.1, 0.3), &block, &Pose::IDENTITY, 4);
    keeps_its_points(512, &block, &on_top(0.5, 0.0, 0.0, 0.3), &Shape::HalfSpace, &Pose::IDENTITY, 4);
}

#[test]
fn standing_cylinders_and_cones() {
    let drum = Shape::Cylinder { radius: 0.4, half_length: 0.5 };
    let floor = cuboid(2.0, 2.0, 0.5);
    keeps_its_points(521, &drum, &on_top(1.0, 0.2, 0.1, 0.3), &floor, &Pose::IDENTITY, 4);
    keeps_its_points(522, &drum, &on_top(0.5, 0.0, 0.0, 0.0), &Shape::HalfSpace, &Pose::IDENTITY, 4);
    keeps_its_points(
        523,
        &drum,
        &on_top(1.0, 0.2, 0.1, 0.3),
        &brick(DVec3::new(2.0, 2.0, 0.5)),
        &Pose::IDENTITY,
        4,
    );
    let cone = Shape::Cone { radius: 0.4, height: 1.0 };
    keeps_its_points(524, &cone, &on_top(0.75, 0.2, 0.1, 0.3), &floor, &Pose::IDENTITY, 4);
    keeps_its_points(525, &cone, &on_top(0.25, 0.2, 0.1, 0.3), &Shape::HalfSpace, &Pose::IDENTITY, 4);
}

#[test]
fn lying_cylinders() {
    let roller = Shape::Cylinder { radius: 0.3, half_length: 0.8 };
    let lying = |height: f64| Pose::new(DVec3::Z * height, DQuat::from_rotation_x(FRAC_PI_2));
    keeps_its_points(531, &roller, &lying(0.3), &Shape::HalfSpace, &Pose::IDENTITY, 2);
    keeps_its_points(532, &roller, &lying(0.8), &cuboid(2.0, 2.0, 0.5), &Pose::IDENTITY, 2);
    // In the valley of two others each contact is a line.
    let beside = Pose::new(
        DVec3::Z * (0.6 * FRAC_PI_4.sin() + 0.3) + DVec3::X * 0.6 * FRAC_PI_4.cos(),
        lying(0.0).rotation,
    );
    keeps_its_points(533, &roller, &beside, &roller, &lying(0.3), 2);
}
