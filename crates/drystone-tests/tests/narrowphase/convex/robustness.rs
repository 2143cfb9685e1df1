//! Exchanged roles, extreme sizes, degenerate placements: never a number that is none, never a contact
//! missed.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};
use std::sync::Arc;

use drystone::collide::narrowphase::Manifold;
use drystone::collide::query::distance;
use drystone::shape::{Hull, Pose, Shape};
use glam::{DQuat, DVec3};
use proptest::prelude::*;

use crate::narrowphase_common::{
    KINDS, Random, assert_points, cuboid, hull_of, least_gap, manifold, separation,
};

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

fn any(random: &mut Random) -> Shape {
    let kind = (random.bits() % (KINDS as u64 + 1)) as usize;
    if kind == KINDS { Shape::HalfSpace } else { random.convex(kind) }
}

fn planes(a: &Shape, b: &Shape) -> bool {
    matches!((a, b), (Shape::HalfSpace, Shape::HalfSpace))
}

#[test]
fn swapping_the_shapes_flips_the_contact_bit_for_bit() {
    let mut random = Random(201);
    let mut points = 0;
    for _ in 0..10_000 {
        let (a, b) = (any(&mut random), any(&mut random));
        let (pa, pb) = (random.pose(1.2), random.pose(1.2));
        let m = manifold(&a, &pa, &b, &pb, 0.3);
        let n = manifold(&b, &pb, &a, &pa, 0.3);
        assert!(same_flipped(&m, &n), "{a:?} {pa:?}\n{b:?} {pb:?}\n{m:?}\n{n:?}");
        let (d, e) = (distance(&a, &pa, &b, &pb), distance(&b, &pb, &a, &pa));
        let boxes = matches!((&a, &b), (Shape::Box { .. }, Shape::Box { .. }));
        assert!(d == e || boxes, "{d} {e}\n{a:?} {pa:?}\n{b:?} {pb:?}");
        points += m.points().len();
    }
    assert!(points > 5000);
}

/// Shapes of a builder's kit: every size is shared by several of them.
fn kit() -> Vec<Shape> {
    let corner = |k: u32, h: f64| {
        let side = |axis: u32| if k >> axis & 1 == 1 { h } else { -h };
        DVec3::new(side(0), side(1), side(2))
    };
    let cube = hull_of(&(0..8).map(|k| corner(k, 0.5)).collect::<Vec<_>>());
    let octahedron = hull_of(
        &[DVec3::X, DVec3::Y, DVec3::Z].into_iter().flat_map(|e| [0.5 * e, -0.5 * e]).collect::<Vec<_>>(),
    );
    let prism: Vec<DVec3> = (0..16)
        .map(|k| {
            DQuat::from_rotation_z(f64::from(k / 2) * FRAC_PI_4) * DVec3::X * 0.5
                + DVec3::Z * if k % 2 == 0 { 0.5 } else { -0.5 }
        })
        .collect();
    vec![
        cuboid(0.5, 0.5, 0.5),
        cuboid(0.5, 1.0, 0.25),
        Shape::Sphere { radius: 0.5 },
        Shape::Capsule { radius: 0.5, half_length: 0.5 },
        Shape::Cylinder { radius: 0.5, half_length: 0.5 },
        Shape::Cylinder { radius: 0.25, half_length: 1.0 },
        Shape::Cone { radius: 0.5, height: 1.0 },
        Shape::Ellipsoid { half: DVec3::new(0.5, 0.5, 1.0) },
        Shape::Ellipsoid { half: DVec3::splat(0.5) },
        Shape::Rounded { core: Arc::new(cuboid(0.25, 0.25, 0.25)), radius: 0.25 },
        Shape::Rounded { core: Arc::new(Shape::Cylinder { radius: 0.25, half_length: 0.25 }), radius: 0.25 },
        cube,
        octahedron,
        hull_of(&prism),
        Shape::HalfSpace,
    ]
}

/// Right angles and equal sizes make ties everywhere; the choice must not depend on the order, and must be
/// right.
#[test]
fn regular_placements() {
    let mut random = Random(202);
    let turns = [0.0, FRAC_PI_4, FRAC_PI_2, -FRAC_PI_2, std::f64::consts::PI];
    let kit = kit();
    let mut touching = 0;
    for _ in 0..20_000 {
        let a = &kit[(random.bits() % kit.len() as u64) as usize];
        let b = &kit[(random.bits() % kit.len() as u64) as usize];
        if planes(a, b) {
            continue;
        }
        let mut pose = || {
            let turn = |r: &mut Random| turns[(r.bits() % 5) as usize];
            let step = |r: &mut Random| (r.bits() % 9) as f64 * 0.25 - 1.0;
            let q = DQuat::from_rotation_x(turn(&mut random)) * DQuat::from_rotation_z(turn(&mut random));
            Pose::new(DVec3::new(step(&mut random), step(&mut random), step(&mut random)), q)
        };
        let (pa, pb) = (pose(), pose());
        let m = manifold(a, &pa, b, &pb, 0.6);
        let n = manifold(b, &pb, a, &pa, 0.6);
        if pa.position != pb.position {
            assert!(same_flipped(&m, &n), "{a:?} {pa:?}\n{b:?} {pb:?}\n{m:?}\n{n:?}");
        }
        let simple = |s: &Shape| {
            matches!(s, Shape::Sphere { .. } | Shape::Box { .. } | Shape::Capsule { .. } | Shape::HalfSpace)
        };
        if simple(a) && simple(b) {
            continue;
        }
        let d = distance(a, &pa, b, &pb);
        assert_eq!(m.points().is_empty(), d > 0.6, "{d}\n{a:?} {pa:?}\n{b:?} {pb:?}");
        if m.points().is_empty() {
            continue;
        }
        // Sharp things that just touch do so with many normals, and round ones as deep in each other as their
        // radius of curvature leave in many directions: the place is known to a root of rounding only.
        assert_points(a, &pa, b, &pb, if d > -0.2 { 1e-6 } else { 2e-3 }, &m);
        let p = least_gap(&m);
        touching += usize::from(d.abs() < 1e-12);
        let context = format!("{d} {a:?} {pa:?}\n{b:?} {pb:?}\n{:?}", m.points());
        assert!((p.gap - d).abs() < 1e-12, "{context}");
        if !planes(a, b) && !matches!(a, Shape::HalfSpace) && !matches!(b, Shape::HalfSpace) {
            let slab = separation(a, &pa, b, &pb, p.normal);
            assert!((slab - d).abs() < 1e-9, "slab {slab}: {context}");
            for _ in 0..20 {
                let trial = separation(a, &pa, b, &pb, random.direction());
                assert!(trial <= d + 1e-7, "{trial}: {context}");
            }
        }
    }
    assert!(touching > 500, "{touching}");
}

/// Whatever the placement, shapes that overlap have a contact, and shapes within reach too.
#[test]
fn nothing_is_missed() {
    let mut random = Random(203);
    for _ in 0..10_000 {
        let (a, b) = (any(&mut random), any(&mut random));
        if planes(&a, &b) {
            continue;
        }
        let (pa, pb) = (random.pose(0.8), random.pose(0.8));
        let reach = if random.bits().is_multiple_of(2) { 0.05 } else { 0.0 };
        let d = distance(&a, &pa, &b, &pb);
        let m = manifold(&a, &pa, &b, &pb, reach);
        let simple = |s: &Shape| matches!(s, Shape::Box { .. });
        if !(simple(&a) && simple(&b)) {
            assert_eq!(m.points().is_empty(), d > reach, "{d}\n{a:?} {pa:?}\n{b:?} {pb:?}");
        }
        assert!(m.points().iter().all(|p| p.gap <= reach));
    }
}

/// Nothing in the distance may jump as one shape slides along another, nor in the least gap of the points.
#[test]
fn gap_is_continuous_along_a_slide() {
    let mut random = Random(204);
    for i in 0..KINDS {
        for j in 3..KINDS {
            for _ in 0..4 {
                let (a, b) = (random.convex(i), random.convex(j));
                let (pa, pb) = (random.pose(0.5), random.pose(0.5));
                let (way, spin) = (random.direction() * 0.01, random.direction() * 1e-3);
                let mut last: Option<f64> = None;
                for k in 0..300 {
                    let turn = DQuat::from_scaled_axis(spin * f64::from(k));
                    let moved = Pose::new(pa.position + way * f64::from(k), turn * pa.rotation);
                    let d = distance(&a, &moved, &b, &pb);
                    let m = manifold(&a, &moved, &b, &pb, f64::INFINITY);
                    assert!((least_gap(&m).gap - d).abs() < 1e-11, "{a:?} {moved:?}\n{b:?} {pb:?}");
                    // No point of the shape moves faster than that.
                    let most = 0.01 + 1e-3 * a.bounding_radius() + 1e-9;
                    if let Some(last) = last {
                        assert!((d - last).abs() <= most, "{last} {d}\n{a:?} {moved:?}\n{b:?} {pb:?}");
                    }
                    last = Some(d);
                }
            }
        }
    }
}

/// A millimetre on a kilometre. The digits of the small one are kept: its gap is right to 1e-9 of its size.
#[test]
fn size_ratio_of_a_million() {
    let mut random = Random(205);
    let half = 1000.0;
    let corner = |k: u32| {
        let side = |axis: u32| if k >> axis & 1 == 1 { half } else { -half };
        DVec3::new(side(0), side(1), side(2))
    };
    let grounds = [
        cuboid(half, half, half),
        hull_of(&(0..8).map(corner).collect::<Vec<_>>()),
        Shape::Cylinder { radius: half, half_length: half },
        Shape::Rounded { core: Arc::new(cuboid(half - 1.0, half - 1.0, half - 1.0)), radius: 1.0 },
    ];
    for ground in &grounds {
        for kind in 0..KINDS {
            for _ in 0..60 {
                let small = shrunk(&random.convex(kind), 1e-3);
                if matches!((ground, &small), (Shape::Box { .. }, Shape::Box { .. })) {
                    continue;
                }
                let mut pose = random.pose(300.0);
                pose.position.z = 0.0;
                // On the top face the height of the lowest point is the gap, exactly.
                let lowest = small.support(pose.rotation.conjugate() * DVec3::NEG_Z);
                let gap = random.between(-1.0, 1.0) * 1e-4;
                pose.position.z = half + gap - (pose.rotation * lowest).z;
                let m = manifold(&small, &pose, ground, &Pose::IDENTITY, 1e-3);
                let p = least_gap(&m);
                let context = format!("{} != {gap}\n{small:?} {pose:?}\n{ground:?}\n{p:?}", p.gap);
                assert!((p.gap - gap).abs() < 1e-12, "{context}");
                assert!(p.normal.distance(DVec3::Z) < 1e-9, "{context}");
                assert!((distance(ground, &Pose::IDENTITY, &small, &pose) - gap).abs() < 1e-12, "{context}");
            }
        }
    }
    // A ball of a kilometre, as an ellipsoid: the gap is that of the sphere.
    let globe = Shape::Ellipsoid { half: DVec3::splat(half) };
    for _ in 0..200 {
        let small = Shape::Sphere { radius: 1e-3 };
        let n = random.direction();
        let gap = random.between(-1.0, 1.0) * 1e-4;
        let p =
            least_gap(&manifold(&small, &Pose::at(n * (half + 1e-3 + gap)), &globe, &Pose::IDENTITY, 1e-3));
        assert!((p.gap - gap).abs() < 1e-12 && p.normal.distance(n) < 1e-12, "{} != {gap}", p.gap);
    }
}

fn shrunk(shape: &Shape, s: f64) -> Shape {
    match shape {
        Shape::Sphere { radius } => Shape::Sphere { radius: s * radius },
        Shape::Box { half } => Shape::Box { half: s * *half },
        Shape::Capsule { radius, half_length } => {
            Shape::Capsule { radius: s * radius, half_length: s * half_length }
        }
        Shape::Cylinder { radius, half_length } => {
            Shape::Cylinder { radius: s * radius, half_length: s * half_length }
        }
        Shape::Cone { radius, height } => Shape::Cone { radius: s * radius, height: s * height },
        Shape::Ellipsoid { half } => Shape::Ellipsoid { half: s * *half },
        Shape::Hull(hull) => hull_of(&hull.vertices().iter().map(|v| s * *v).collect::<Vec<_>>()),
        Shape::Rounded { core, radius } => {
            Shape::Rounded { core: Arc::new(shrunk(core, s)), radius: s * radius }
        }
        _ => shape.clone(),
    }
}

/// A body lost to NaN touches nothing; it is for the step to notice it.
#[test]
fn a_broken_pose_has_no_contacts() {
    let mut random = Random(206);
    for i in 3..KINDS {
        for round in 0..600 {
            let (a, b) = (random.convex(i), any(&mut random));
            let mut broken = random.pose(0.5);
            match round % 2 {
                0 => broken.position[round / 2 % 3] = f64::NAN,
                _ => broken.rotation = DQuat::from_xyzw(f64::NAN, f64::NAN, f64::NAN, f64::NAN),
            }
            let whole = random.pose(0.5);
            assert!(manifold(&a, &broken, &b, &whole, 0.1).points().is_empty(), "{a:?} {b:?} {broken:?}");
            assert!(manifold(&b, &whole, &a, &broken, 0.1).points().is_empty(), "{a:?} {b:?} {broken:?}");
        }
    }
}

fn any_size() -> impl Strategy<Value = f64> {
    prop_oneof![(-6.0..6.0_f64).prop_map(|e| 10.0_f64.powf(e)), Just(1.0), Just(0.5)]
}

fn any_hull() -> impl Strategy<Value = Shape> {
    let coordinate = || prop_oneof![Just(0.0), Just(1.0), Just(-1.0), -1.0..1.0];
    let point = (coordinate(), coordinate(), coordinate()).prop_map(DVec3::from);
    (prop::collection::vec(point, 4..14), any_size(), any_size()).prop_filter_map("flat", |(points, x, z)| {
        let points: Vec<DVec3> = points.iter().map(|p| *p * DVec3::new(x, x, z)).collect();
        Hull::new(&points).ok().map(|h| Shape::Hull(Arc::new(h)))
    })
}

fn any_core() -> impl Strategy<Value = Shape> {
    prop_oneof![
        (any_size(), any_size(), any_size()).prop_map(|(x, y, z)| cuboid(x, y, z)),
        (any_size(), any_size()).prop_map(|(radius, half_length)| Shape::Cylinder { radius, half_length }),
        (any_size(), any_size()).prop_map(|(radius, height)| Shape::Cone { radius, height }),
        any_hull(),
    ]
}

fn any_shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        4 => any_core(),
        1 => any_size().prop_map(|radius| Shape::Sphere { radius }),
        1 => Just(Shape::HalfSpace),
        1 => (any_size(), any_size()).prop_map(|(radius, half_length)| Shape::Capsule { radius, half_length }),
        2 => (any_size(), any_size(), any_size())
            .prop_map(|(x, y, z)| Shape::Ellipsoid { half: DVec3::new(x, y, z) }),
        2 => (any_core(), any_size()).prop_map(|(core, radius)| Shape::Rounded { core: Arc::new(core), radius }),
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
    #![proptest_config(ProptestConfig { cases: 8000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any sizes over twelve decades, in any placement: numbers stay numbers, and the plane between the
    /// points holds.
    #[test]
    fn numbers_stay_numbers(
        a in any_shape(), b in any_shape(), pa in any_pose(), pb in any_pose(),
        reach in prop_oneof![Just(0.0), Just(1e-3), Just(f64::INFINITY)],
    ) {
        let m = manifold(&a, &pa, &b, &pb, reach);
        for p in m.points() {
            prop_assert!(p.on_a.is_finite() && p.on_b.is_finite() && p.gap.is_finite(), "{p:?}");
            prop_assert!((p.normal.length() - 1.0).abs() < 1e-9, "{p:?}");
            prop_assert!(p.gap <= reach && p.feature < 1 << 19);
        }
        let d = distance(&a, &pa, &b, &pb);
        prop_assert!(!d.is_nan());
        if (reach == f64::INFINITY || d < 0.0) && !planes(&a, &b) {
            prop_assert!(!m.points().is_empty(), "{d}");
        }
        let told_apart = pa.position.distance(pb.position) > 1e-12;
        prop_assert!(!told_apart || same_flipped(&m, &manifold(&b, &pb, &a, &pa, reach)));
    }
}
