//! Distance and depth against their definitions, for every two kinds of shapes.
//!
//! Apart, two points of the shapes that are that close and a slab between the shapes that is that thick prove
//! the distance. In overlap the slab proves that the way out is one, and a search over all directions that
//! none is shorter.

use drystone::collide::narrowphase::ContactPoint;
use drystone::collide::query::distance;
use drystone::shape::{Pose, Shape};
use glam::{DQuat, DVec3};

use crate::narrowphase_common::{
    KINDS, Random, assert_points, best_direction, least_gap, manifold, parry_pose, parry_shape, separation,
};

/// Round bars along each other touch with normals of their own, up to 2° apart.
fn own_normals(a: &Shape, b: &Shape, p: &ContactPoint) -> bool {
    let bar = |s: &Shape| {
        let core = if let Shape::Rounded { core, .. } = s { core } else { s };
        matches!(core, Shape::Cylinder { .. } | Shape::Capsule { .. })
    };
    (bar(a) || bar(b)) && p.feature & 3 != 0 && p.feature >> 17 == 3
}

/// Asserts that the least gap is the distance and that its points and plane prove it, up to `tolerance`.
fn assert_proven(a: &Shape, pa: &Pose, b: &Shape, pb: &Pose, tolerance: f64) -> f64 {
    let d = distance(a, pa, b, pb);
    let m = manifold(a, pa, b, pb, f64::INFINITY);
    let context = || format!("distance {d}\n{a:?} {pa:?}\n{b:?} {pb:?}\n{:?}", m.points());
    assert!(!m.points().is_empty(), "{}", context());
    assert_points(a, pa, b, pb, 1e-9, &m);
    let p = least_gap(&m);
    assert!((p.gap - d).abs() <= tolerance, "gap {}: {}", p.gap, context());
    let slab = separation(a, pa, b, pb, p.normal);
    let slack = if own_normals(a, b, &p) { 1e-4 } else { tolerance };
    assert!(slab <= d + tolerance, "slab {slab}: {}", context());
    assert!(slab >= d - slack, "slab {slab}: {}", context());
    d
}

#[test]
fn distances_and_depths_are_proven() {
    let mut random = Random(101);
    let (mut apart, mut over) = (0, 0);
    for i in 0..KINDS {
        for j in 3..KINDS {
            for round in 0..150 {
                let (a, b) = (random.convex(i), random.convex(j));
                let r = if round % 2 == 0 { 1.8 } else { 0.7 };
                let (pa, pb) = (random.pose(r), random.pose(r));
                let d = assert_proven(&a, &pa, &b, &pb, 1e-12);
                if d > 0.0 {
                    apart += 1;
                    continue;
                }
                over += 1;
                let p = least_gap(&manifold(&a, &pa, &b, &pb, 0.0));
                for from in [None, Some(p.normal)] {
                    let (best, n) = best_direction(&mut random, &a, &pa, &b, &pb, from);
                    let context = format!("{best} along {n}, not {d}\n{a:?} {pa:?}\n{b:?} {pb:?}");
                    assert!(best <= d + 1e-9, "{context}");
                }
            }
        }
    }
    assert!(apart > 1500 && over > 2000, "{apart} {over}");
}

/// Shapes brought to within a hair of touching, half of them nearly aligned: where normals and features are
/// decided.
#[test]
fn nearly_touching_shapes_are_proven() {
    let mut random = Random(102);
    let mut near = 0;
    for i in 0..KINDS {
        for j in 3..KINDS {
            for round in 0..400 {
                let (a, b) = (random.convex(i), random.convex(j));
                let (mut pa, pb) = (random.pose(2.0), random.pose(2.0));
                if round % 2 == 0 {
                    let tilt = DQuat::from_axis_angle(random.direction(), random.power(-9.0, -1.0));
                    let quarter = std::f64::consts::FRAC_PI_2;
                    let turn = match random.bits() % 4 {
                        0 => DQuat::IDENTITY,
                        1 => DQuat::from_rotation_x(quarter),
                        2 => DQuat::from_rotation_y(quarter),
                        _ => DQuat::from_rotation_z(random.between(-3.0, 3.0)),
                    };
                    pa.rotation = (tilt * pb.rotation * turn).normalize();
                }
                let target = random.between(-1.0, 1.0) * random.power(-12.0, -2.0);
                for _ in 0..3 {
                    let p = least_gap(&manifold(&a, &pa, &b, &pb, f64::INFINITY));
                    pa.position += p.normal * (target - p.gap);
                }
                let d = assert_proven(&a, &pa, &b, &pb, 1e-11);
                near += usize::from((d - target).abs() < 1e-9);
            }
        }
    }
    assert!(near > 12_000, "{near}");
}

/// Slightly in each other, no direction is a shorter way out.
#[test]
fn shallow_overlaps_are_least() {
    let mut random = Random(103);
    for i in 0..KINDS {
        for j in 3..KINDS {
            for _ in 0..40 {
                let (a, b) = (random.convex(i), random.convex(j));
                let (mut pa, pb) = (random.pose(1.0), random.pose(1.0));
                let target = -random.power(-4.0, -0.5);
                for _ in 0..3 {
                    let p = least_gap(&manifold(&a, &pa, &b, &pb, f64::INFINITY));
                    pa.position += p.normal * (target - p.gap);
                }
                let d = assert_proven(&a, &pa, &b, &pb, 1e-11);
                let (best, n) = best_direction(&mut random, &a, &pa, &b, &pb, None);
                assert!(best <= d + 1e-9, "{best} along {n}, not {d}\n{a:?} {pa:?}\n{b:?} {pb:?}");
            }
        }
    }
}

/// Parry ends with a tolerance, and on curved shapes rather early: where it claims more than we do, the
/// points are the proof; where less, the slab.
#[test]
fn distances_agree_with_parry() {
    let mut random = Random(104);
    let (mut compared, mut differ) = (0, 0);
    for i in 0..KINDS {
        for j in 3..KINDS {
            for _ in 0..60 {
                let (a, b) = (random.convex(i), random.convex(j));
                let (pa, pb) = (random.pose(2.0), random.pose(2.0));
                let (Some(sa), Some(sb)) = (parry_shape(&a), parry_shape(&b)) else { continue };
                let (qa, qb) = (parry_pose(&a, &pa), parry_pose(&b, &pb));
                let Ok(theirs) = parry3d_f64::query::distance(&qa, &*sa, &qb, &*sb) else { continue };
                let d = distance(&a, &pa, &b, &pb).max(0.0);
                compared += 1;
                differ += usize::from((theirs.distance - d).abs() > 1e-6);
                let context = format!("{d} != {theirs:?}\n{a:?} {pa:?}\n{b:?} {pb:?}");
                assert!((theirs.distance - d).abs() < 1e-2, "{context}");
            }
        }
    }
    assert!(compared > 600 && differ * 20 < compared, "{differ} of {compared}");
}

/// A hull of the corners of a box is that box; rounded by next to nothing it still is.
#[test]
fn hulls_of_boxes_agree_with_boxes() {
    let mut random = Random(105);
    for _ in 0..2000 {
        let kind = (random.bits() % KINDS as u64) as usize;
        let (a, b) = (random.convex(1), random.convex(kind));
        let Shape::Box { half } = a else { unreachable!("kind 1 is a box") };
        let corner = |k: u32| {
            let side = |axis: u32| if k >> axis & 1 == 1 { 1.0 } else { -1.0 };
            half * DVec3::new(side(0), side(1), side(2))
        };
        let hull = crate::narrowphase_common::hull_of(&(0..8).map(corner).collect::<Vec<_>>());
        let (pa, pb) = (random.pose(1.2), random.pose(1.2));
        let (d, e) = (distance(&a, &pa, &b, &pb), distance(&hull, &pa, &b, &pb));
        assert!((d - e).abs() < 1e-12, "{d} {e}\n{a:?} {pa:?}\n{b:?} {pb:?}");
        let rounded = Shape::Rounded { core: std::sync::Arc::new(hull), radius: 0.125 };
        let f = distance(&rounded, &pa, &b, &pb);
        assert!((d - f - 0.125).abs() < 1e-12, "{d} {f}\n{a:?} {pa:?}\n{b:?} {pb:?}");
    }
}
