//! Exchanged roles, extreme sizes and degenerate placements: never a number that is none.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

use crate::narrowphase_common::{Random, assert_sound, cuboid, manifold};
use drystone::collide::narrowphase::Manifold;
use drystone::collide::query::distance;
use drystone::shape::{Pose, Shape};
use glam::{DQuat, DVec3};
use proptest::prelude::*;

fn same_flipped(m: &Manifold, n: &Manifold) -> bool {
    m.points().len() == n.points().len()
        && m.points().iter().zip(n.points()).all(|(p, q)| {
            p.on_a == q.on_b
                && p.on_b == q.on_a
                && p.normal == -q.normal
                && p.gap == q.gap
                && p.feature == q.feature
        })
}

#[test]
fn swapping_the_shapes_flips_the_contact_bit_for_bit() {
    let mut random = Random(21);
    let mut points = 0;
    for _ in 0..50_000 {
        let (a, b) = (random.shape(), random.shape());
        let (pa, pb) = (random.pose(1.2), random.pose(1.2));
        let m = manifold(&a, &pa, &b, &pb, 0.3);
        let n = manifold(&b, &pb, &a, &pa, 0.3);
        assert!(same_flipped(&m, &n), "{a:?} {pa:?}\n{b:?} {pb:?}\n{m:?}\n{n:?}");
        points += m.points().len();
    }
    assert!(points > 20_000);
}

/// Right angles and equal sizes make ties everywhere; the choice must not depend on the order.
#[test]
fn swapping_the_shapes_in_regular_placements() {
    let mut random = Random(22);
    let step = |r: &mut Random| (r.bits() % 5) as f64 * 0.5 - 1.0;
    let turns = [0.0, FRAC_PI_4, FRAC_PI_2, -FRAC_PI_2, std::f64::consts::PI];
    for _ in 0..30_000 {
        let shapes = [
            cuboid(0.5, 0.5, 0.5),
            cuboid(0.5, 1.0, 0.5),
            Shape::Capsule { radius: 0.5, half_length: 0.5 },
            Shape::Sphere { radius: 0.5 },
        ];
        let mut pose = || {
            let t = |r: &mut Random| turns[(r.bits() % 5) as usize];
            let q = DQuat::from_rotation_x(t(&mut random)) * DQuat::from_rotation_z(t(&mut random));
            Pose::new(DVec3::new(step(&mut random), step(&mut random), step(&mut random)), q)
        };
        let (pa, pb) = (pose(), pose());
        let a = &shapes[(random.bits() % 4) as usize];
        let b = &shapes[(random.bits() % 4) as usize];
        let (m, n) = (manifold(a, &pa, b, &pb, 0.6), manifold(b, &pb, a, &pa, 0.6));
        assert_sound(a, &pa, b, &pb, 0.6, &m);
        if pa.position != pb.position {
            assert!(same_flipped(&m, &n), "{a:?} {pa:?}\n{b:?} {pb:?}\n{m:?}\n{n:?}");
        }
    }
}

#[test]
fn overlapping_shapes_always_have_a_contact() {
    let mut random = Random(23);
    for _ in 0..50_000 {
        let (a, b) = (random.shape(), random.shape());
        if matches!((&a, &b), (Shape::HalfSpace, Shape::HalfSpace)) {
            continue;
        }
        let (pa, pb) = (random.pose(0.8), random.pose(0.8));
        let d = distance(&a, &pa, &b, &pb);
        let m = manifold(&a, &pa, &b, &pb, 0.05);
        assert_sound(&a, &pa, &b, &pb, 0.05, &m);
        assert_eq!(m.points().is_empty(), d > 0.05, "{d}\n{a:?} {pa:?}\n{b:?} {pb:?}");
    }
}

/// Patches may say a gap larger than the distance by one part in a thousand, so they may also miss the reach
/// by that; nothing in the gap may jump as one box slides over another.
#[test]
fn gap_is_continuous_along_a_slide() {
    let mut random = Random(24);
    for _ in 0..300 {
        let (a, b) = (random.bounded(), random.bounded());
        let (pa, pb) = (random.pose(0.5), random.pose(0.5));
        let way = random.direction();
        let mut last = None;
        for k in 0..400 {
            let moved = Pose::new(pa.position + way * (k as f64 * 0.01), pa.rotation);
            let d = distance(&a, &moved, &b, &pb);
            if let Some(last) = last {
                let jump: f64 = d - last;
                assert!(jump.abs() <= 0.01 + 1e-9, "{jump}\n{a:?} {moved:?}\n{b:?} {pb:?}");
            }
            last = Some(d);
        }
    }
}

/// A body lost to NaN touches nothing; it is for the step to notice it.
#[test]
fn a_broken_pose_has_no_contacts() {
    let mut random = Random(25);
    for _ in 0..2000 {
        let (a, b) = (random.bounded(), random.shape());
        let mut broken = random.pose(0.5);
        match random.bits() % 2 {
            0 => broken.position[(random.bits() % 3) as usize] = f64::NAN,
            _ => broken.rotation = DQuat::from_xyzw(f64::NAN, f64::NAN, f64::NAN, f64::NAN),
        }
        if broken.position.is_finite() && matches!((&a, &b), (Shape::Sphere { .. }, _)) {
            continue;
        }
        assert!(
            manifold(&a, &broken, &b, &random.pose(0.5), 0.1).points().is_empty(),
            "{a:?} {b:?} {broken:?}"
        );
    }
}

fn any_size() -> impl Strategy<Value = f64> {
    (-6.0..6.0_f64).prop_map(|e| 10.0_f64.powf(e))
}

fn any_shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        any_size().prop_map(|radius| Shape::Sphere { radius }),
        Just(Shape::HalfSpace),
        (any_size(), any_size(), any_size()).prop_map(|(x, y, z)| cuboid(x, y, z)),
        (any_size(), prop_oneof![Just(0.0), any_size()])
            .prop_map(|(radius, half_length)| Shape::Capsule { radius, half_length }),
    ]
}

/// Coordinates that are often exactly zero, tiny, or whole.
fn any_coordinate() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1e-300), Just(-1e-160), Just(1.0), -2.0..2.0, -1e-9..1e-9, -1e4..1e4]
}

fn any_pose() -> impl Strategy<Value = Pose> {
    let vector = || (any_coordinate(), any_coordinate(), any_coordinate()).prop_map(DVec3::from);
    let angle = prop_oneof![Just(0.0), Just(FRAC_PI_2), Just(FRAC_PI_4), -3.2..3.2, -1e-7..1e-7];
    (vector(), vector(), angle).prop_map(|(position, axis, angle)| {
        // Twice: one pass leaves digits behind where the squares of tiny coordinates underflow.
        let axis = axis.try_normalize().and_then(DVec3::try_normalize).unwrap_or(DVec3::Z);
        Pose::new(position, DQuat::from_axis_angle(axis, angle))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn numbers_stay_numbers(
        a in any_shape(), b in any_shape(), pa in any_pose(), pb in any_pose(),
        reach in prop_oneof![Just(0.0), Just(1e-3), Just(f64::INFINITY)],
    ) {
        let m = manifold(&a, &pa, &b, &pb, reach);
        for p in m.points() {
            prop_assert!(p.on_a.is_finite() && p.on_b.is_finite() && p.gap.is_finite());
            prop_assert!((p.normal.length() - 1.0).abs() < 1e-9, "{p:?}");
            prop_assert!(p.gap <= reach);
        }
        let d = distance(&a, &pa, &b, &pb);
        prop_assert!(!d.is_nan());
        let both_planes = matches!((&a, &b), (Shape::HalfSpace, Shape::HalfSpace));
        if reach == f64::INFINITY && !both_planes {
            prop_assert!(!m.points().is_empty());
        }
        if d < 0.0 && !both_planes {
            prop_assert!(!m.points().is_empty(), "{d}");
        }
    }
}
