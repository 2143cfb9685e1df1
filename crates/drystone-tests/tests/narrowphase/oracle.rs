//! The narrow phase against the definition of distance (support planes) and against parry.

use crate::narrowphase_common::{
    Random, assert_sound, least_gap, manifold, parry_pose, parry_shape, separation,
};
use drystone::collide::query::distance;
use drystone::shape::Shape;
use glam::DVec3;
use parry3d_f64::query;
use parry3d_f64::shape::SharedShape;

fn parry(shape: &Shape) -> SharedShape {
    parry_shape(shape).expect("parry has all simple shapes")
}

/// The distance is proven from both sides: by two points of the shapes that are that close, and by a slab
/// between them that is that thick. No other engine is needed.
#[test]
fn distances_of_separated_shapes_are_proven() {
    let mut random = Random(1);
    let mut separated = 0;
    for _ in 0..60_000 {
        let (a, b) = (random.bounded(), random.bounded());
        let (pa, pb) = (random.pose(2.0), random.pose(2.0));
        let d = distance(&a, &pa, &b, &pb);
        if d <= 0.0 {
            continue;
        }
        separated += 1;
        let m = manifold(&a, &pa, &b, &pb, f64::INFINITY);
        assert_sound(&a, &pa, &b, &pb, f64::INFINITY, &m);
        let p = least_gap(&m);
        let slab = separation(&a, &pa, &b, &pb, (p.on_a - p.on_b).normalize());
        let both_boxes = matches!((&a, &b), (Shape::Box { .. }, Shape::Box { .. }));
        let tolerance = if both_boxes { 1e-3 * d } else { 0.0 } + 1e-11;
        assert!((p.gap - d).abs() <= tolerance, "{} != {d}\n{a:?} {pa:?}\n{b:?} {pb:?}", p.gap);
        assert!(slab <= d + 1e-11, "{slab} > {d}");
        if !both_boxes || (p.gap - d).abs() < 1e-12 {
            // Near contact the direction carries the rounding of the points divided by their distance.
            assert!((slab - d).abs() <= 1e-11, "{slab} != {d}\n{a:?} {pa:?}\n{b:?} {pb:?}");
        }
    }
    assert!(separated > 10_000);
}

/// In overlap, no direction separates better than the one reported, however the best of many random ones is
/// improved.
#[test]
fn depths_of_overlapping_shapes_are_least() {
    let mut random = Random(2);
    let mut overlapping = 0;
    for _ in 0..4000 {
        let (a, b) = (random.bounded(), random.bounded());
        let (pa, pb) = (random.pose(0.8), random.pose(0.8));
        let d = distance(&a, &pa, &b, &pb);
        if d >= 0.0 {
            continue;
        }
        overlapping += 1;
        let m = manifold(&a, &pa, &b, &pb, 0.0);
        assert_sound(&a, &pa, &b, &pb, 0.0, &m);
        let p = least_gap(&m);
        // Faces of boxes are preferred to edges by 2 % and 1e-4 of the size, features count as along up to
        // 2°.
        let both_boxes = matches!((&a, &b), (Shape::Box { .. }, Shape::Box { .. }));
        let tolerance = if both_boxes { 0.02 * d.abs() + 0.04 } else { 1e-8 };
        assert!((p.gap - d).abs() <= tolerance, "{} != {d}\n{a:?} {pa:?}\n{b:?} {pb:?}", p.gap);
        if !both_boxes {
            let own = separation(&a, &pa, &b, &pb, p.normal);
            assert!((own - d).abs() < 1e-8, "{own} != {d}\n{a:?} {pa:?}\n{b:?} {pb:?}");
        }
        let (mut best, mut n) = (f64::NEG_INFINITY, DVec3::Z);
        let mut width = 1.0;
        for round in 0..600 {
            let trial = if round < 200 { random.direction() } else { (n + random.vector(width)).normalize() };
            let s = separation(&a, &pa, &b, &pb, trial);
            if s > best {
                (best, n) = (s, trial);
            }
            if round >= 200 {
                width *= 0.985;
            }
        }
        assert!(best <= d + 1e-9, "direction {n} separates by {best} > {d}\n{a:?} {pa:?}\n{b:?} {pb:?}");
    }
    assert!(overlapping > 1500);
}

/// Shapes brought to within a hair of touching, often nearly aligned: where normals and patches are decided.
#[test]
fn gaps_near_touching_are_the_distance() {
    let mut random = Random(6);
    let mut near = 0;
    for round in 0..40_000 {
        let (a, b) = (random.bounded(), random.bounded());
        let mut pa = random.pose(2.0);
        let pb = random.pose(2.0);
        if round % 2 == 0 {
            let tilt = 10_f64.powf(random.between(-9.0, -1.0));
            pa.rotation = glam::DQuat::from_axis_angle(random.direction(), tilt) * pb.rotation;
        }
        let target = random.between(-1.0, 1.0) * 10_f64.powf(random.between(-12.0, -2.0));
        for _ in 0..3 {
            let p = least_gap(&manifold(&a, &pa, &b, &pb, f64::INFINITY));
            pa.position += p.normal * (target - p.gap);
        }
        let d = distance(&a, &pa, &b, &pb);
        if (d - target).abs() > 1e-3 {
            continue;
        }
        near += 1;
        let m = manifold(&a, &pa, &b, &pb, 0.02);
        assert_sound(&a, &pa, &b, &pb, 0.02, &m);
        let p = least_gap(&m);
        // Boxes: patches are right to a part in a thousand at a distance, faces preferred by a little in
        // overlap.
        let slack = match (&a, &b) {
            (Shape::Box { .. }, Shape::Box { .. }) if d > 0.0 => 1e-3 * d + 1e-11,
            (Shape::Box { .. }, Shape::Box { .. }) => 0.05 * d.abs() + 2e-4,
            _ => 1e-11,
        };
        assert!((p.gap - d).abs() <= slack, "{} != {d}\n{a:?} {pa:?}\n{b:?} {pb:?}\n{:?}", p.gap, m.points());
        assert!(separation(&a, &pa, &b, &pb, p.normal) <= d + 1e-11);
    }
    assert!(near > 30_000, "{near}");
}

/// GJK ends with a tolerance, on round cores sometimes at 1e-5: where the two differ, ours must be the
/// smaller one, since two points of the shapes that are that close cannot be wrong.
#[test]
fn distances_agree_with_parry() {
    let mut random = Random(3);
    let (mut compared, mut they_are_further) = (0, 0);
    for _ in 0..20_000 {
        let (a, b) = (random.shape(), random.shape());
        if matches!((&a, &b), (Shape::HalfSpace, Shape::HalfSpace)) {
            continue;
        }
        let (pa, pb) = (random.pose(2.0), random.pose(2.0));
        let (sa, sb) = (parry(&a), parry(&b));
        let d = distance(&a, &pa, &b, &pb);
        let theirs =
            query::distance(&parry_pose(&a, &pa), &*sa, &parry_pose(&b, &pb), &*sb).unwrap().distance;
        compared += 1;
        if theirs > d.max(0.0) + 1e-6 {
            they_are_further += 1;
            let p = least_gap(&manifold(&a, &pa, &b, &pb, f64::INFINITY));
            assert!(
                (p.on_a.distance(p.on_b) - d).abs() < 1e-11,
                "{d} != {theirs}\n{a:?} {pa:?}\n{b:?} {pb:?}"
            );
            assert!(theirs < d.max(0.0) + 1e-3, "{d} != {theirs}\n{a:?} {pa:?}\n{b:?} {pb:?}");
        } else {
            assert!(theirs > d.max(0.0) - 1e-6, "{d} != {theirs}\n{a:?} {pa:?}\n{b:?} {pb:?}");
        }
    }
    assert!(compared > 10_000);
    assert!(they_are_further * 50 < compared, "{they_are_further} of {compared}");
}

/// Prediction 0, depth only. Where the two differ the support planes decide: a deeper answer is not the least
/// depth, since ours is reached along its own normal; a shallower one must fail along its own normal.
#[test]
fn depths_agree_with_parry() {
    let mut random = Random(4);
    let (mut compared, mut they_are_wrong) = (0, 0);
    for _ in 0..6000 {
        let (a, b) = (random.bounded(), random.bounded());
        let (pa, pb) = (random.pose(1.0), random.pose(1.0));
        let d = distance(&a, &pa, &b, &pb);
        if d > -1e-3 {
            continue;
        }
        let (sa, sb) = (parry(&a), parry(&b));
        let theirs = query::contact(&parry_pose(&a, &pa), &*sa, &parry_pose(&b, &pb), &*sb, 0.0).unwrap();
        let Some(theirs) = theirs else {
            panic!("overlap {d} not seen by parry\n{a:?} {pa:?}\n{b:?} {pb:?}")
        };
        compared += 1;
        if (theirs.dist - d).abs() > 1e-6 {
            they_are_wrong += 1;
            let claimed = separation(&a, &pa, &b, &pb, -theirs.normal1);
            assert!(
                claimed <= d + 1e-9,
                "{d} but {claimed} along {}\n{a:?} {pa:?}\n{b:?} {pb:?}",
                theirs.normal1
            );
        }
    }
    assert!(compared > 3000);
    assert!(they_are_wrong * 50 < compared, "{they_are_wrong} of {compared}");
}

#[test]
fn closest_points_agree_with_parry() {
    let mut random = Random(5);
    for _ in 0..10_000 {
        // Round against anything: the closest points are unique.
        let a = Shape::Sphere { radius: random.between(0.1, 1.0) };
        let b = random.bounded();
        let (pa, pb) = (random.pose(2.0), random.pose(2.0));
        let p = least_gap(&manifold(&a, &pa, &b, &pb, f64::INFINITY));
        if p.gap <= 1e-3 {
            continue;
        }
        let (sa, sb) = (parry(&a), parry(&b));
        let found =
            query::closest_points(&parry_pose(&a, &pa), &*sa, &parry_pose(&b, &pb), &*sb, 100.0).unwrap();
        let query::ClosestPoints::WithinMargin(qa, qb) = found else { panic!("parry finds no points") };
        assert!(p.on_a.distance(qa) < 1e-6 && p.on_b.distance(qb) < 1e-6, "{p:?} {qa} {qb}");
    }
}
