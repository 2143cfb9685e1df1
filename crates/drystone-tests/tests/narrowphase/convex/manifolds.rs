//! What the points of a patch are: how many, where, and how deep each one.

use std::f64::consts::FRAC_PI_2;

use drystone::collide::narrowphase::Manifold;
use drystone::shape::{Pose, Shape};
use glam::{DQuat, DVec3};

use crate::narrowphase_common::{Random, assert_points, cuboid, hull_of, least_gap, manifold};

fn brick(half: DVec3) -> Shape {
    let corner = |k: u32| {
        let side = |axis: u32| if k >> axis & 1 == 1 { 1.0 } else { -1.0 };
        half * DVec3::new(side(0), side(1), side(2))
    };
    hull_of(&(0..8).map(corner).collect::<Vec<_>>())
}

fn prism(sides: u32, radius: f64, half: f64) -> Shape {
    let corner = |k: u32| {
        let angle = f64::from(k / 2) * std::f64::consts::TAU / f64::from(sides);
        DVec3::new(radius * angle.cos(), radius * angle.sin(), if k.is_multiple_of(2) { half } else { -half })
    };
    hull_of(&(0..2 * sides).map(corner).collect::<Vec<_>>())
}

/// The area that four points span about their middle.
fn area(m: &Manifold) -> f64 {
    let p = m.points();
    assert_eq!(p.len(), 4, "{p:?}");
    let half = |i: usize, j: usize, k: usize, l: usize| {
        0.5 * (p[j].on_a - p[i].on_a).cross(p[l].on_a - p[k].on_a).length()
    };
    half(0, 1, 2, 3).max(half(0, 2, 1, 3)).max(half(0, 3, 1, 2))
}

/// A hull built as a box lies on others as the box does: the same corners with the same gaps.
#[test]
fn bricks_lie_like_boxes() {
    let mut random = Random(401);
    for _ in 0..2000 {
        let (ha, hb) = (DVec3::new(0.5, 0.3, 0.2), DVec3::new(1.0, 0.8, 0.4));
        let tilt = DQuat::from_scaled_axis(random.vector(1e-3));
        let pose = Pose::new(
            DVec3::new(
                random.between(-0.9, 0.9),
                random.between(-0.7, 0.7),
                0.6 + random.between(-0.01, 0.01),
            ),
            tilt * DQuat::from_rotation_z(random.between(-3.0, 3.0)),
        );
        let boxes = manifold(&Shape::Box { half: ha }, &pose, &Shape::Box { half: hb }, &Pose::IDENTITY, 0.1);
        let hulls = manifold(&brick(ha), &pose, &brick(hb), &Pose::IDENTITY, 0.1);
        let mixed = manifold(&brick(ha), &pose, &Shape::Box { half: hb }, &Pose::IDENTITY, 0.1);
        for m in [&hulls, &mixed] {
            assert_points(&brick(ha), &pose, &brick(hb), &Pose::IDENTITY, 1e-9, m);
            let (p, q) = (least_gap(&boxes), least_gap(m));
            assert!((p.gap - q.gap).abs() < 2e-3, "{p:?} {q:?}");
            assert!(m.points().len() >= 3 && boxes.points().len() >= 3, "{:?}", m.points());
            if boxes.points().len() == 4 && m.points().len() == 4 {
                assert!(area(m) > 0.5 * area(&boxes), "{} {}", area(&boxes), area(m));
            }
        }
    }
}

/// Eight corners of an octagon: the four points span most of it, whatever its direction, and hold the deepest
/// one.
#[test]
fn four_points_span_an_octagon() {
    let mut random = Random(402);
    let (a, b) = (prism(8, 0.5, 0.25), cuboid(2.0, 2.0, 0.5));
    for _ in 0..1000 {
        let tilt = DQuat::from_scaled_axis(random.vector(1e-2));
        let pose = Pose::new(
            DVec3::new(0.1, 0.2, 0.75 + random.between(-0.01, 0.01)),
            tilt * DQuat::from_rotation_z(random.between(-3.0, 3.0)),
        );
        let m = manifold(&a, &pose, &b, &Pose::IDENTITY, 0.1);
        assert_points(&a, &pose, &b, &Pose::IDENTITY, 1e-9, &m);
        // The octagon has area 0.707; any square of its corners 0.5.
        assert!(area(&m) > 0.4, "{}", area(&m));
        let lowest =
            (pose.rotation * a.support(pose.rotation.conjugate() * DVec3::NEG_Z)).z + pose.position.z;
        assert!((least_gap(&m).gap - (lowest - 0.5)).abs() < 1e-12);
    }
}

/// Standing on a plane, a block or a big hull: points on the rim, the lowest among them exactly.
#[test]
fn a_standing_cylinder_has_its_rim() {
    let mut random = Random(403);
    let shape = Shape::Cylinder { radius: 0.5, half_length: 0.75 };
    let grounds = [
        (Shape::HalfSpace, Pose::IDENTITY),
        (cuboid(2.0, 2.0, 1.0), Pose::at(DVec3::Z * -1.0)),
        (prism(7, 3.0, 1.0), Pose::at(DVec3::Z * -1.0)),
        (Shape::Cylinder { radius: 2.0, half_length: 1.0 }, Pose::at(DVec3::Z * -1.0)),
    ];
    for (ground, below) in &grounds {
        for k in 0..400 {
            let tilt = if k == 0 { 0.0 } else { random.power(-9.0, -1.5) };
            let axis = DQuat::from_rotation_z(random.between(-3.0, 3.0)) * DVec3::X;
            let lowest = 0.75 * tilt.cos() + 0.5 * tilt.sin();
            let gap = random.between(-0.01, 0.01);
            let pose = Pose::new(
                DVec3::Z * (lowest + gap),
                DQuat::from_axis_angle(axis, tilt) * DQuat::from_rotation_z(random.between(-3.0, 3.0)),
            );
            let m = manifold(&shape, &pose, ground, below, 0.1);
            let context = format!("tilt {tilt} gap {gap} on {ground:?}: {:?}", m.points());
            assert!(m.points().len() >= 3, "{context}");
            assert!((least_gap(&m).gap - gap).abs() < 1e-11, "{context}");
            for p in m.points() {
                let local = pose.inverse_point(p.on_a);
                assert!((local.truncate().length() - 0.5).abs() < 1e-9, "{context}");
                assert!((local.z + 0.75).abs() < 1e-9, "{context}");
                assert!((p.on_a.z - p.gap).abs() < 1e-9, "{context}");
            }
            // Three of them a third of a turn apart.
            let around = |i: usize, j: usize| m.points()[i].on_a.distance(m.points()[j].on_a);
            let wide = (0..m.points().len()).flat_map(|i| (0..i).map(move |j| (i, j)));
            assert!(wide.filter(|(i, j)| around(*i, *j) > 0.8).count() >= 3, "{context}");
        }
    }
}

/// Spinning about its axis, an upright cylinder keeps places and gaps of its points; they do not travel with
/// it.
#[test]
fn spinning_a_standing_cylinder_moves_no_point() {
    let shape = Shape::Cylinder { radius: 0.5, half_length: 0.75 };
    let grounds = [
        (Shape::HalfSpace, Pose::IDENTITY),
        (cuboid(2.0, 2.0, 1.0), Pose::at(DVec3::Z * -1.0)),
        (prism(7, 3.0, 1.0), Pose::at(DVec3::Z * -1.0)),
    ];
    for (ground, below) in &grounds {
        for tilt in [0.0, 1e-6, 1e-3, 0.02] {
            let standing = |spin: f64| {
                let q = DQuat::from_rotation_x(tilt) * DQuat::from_rotation_z(spin);
                manifold(&shape, &Pose::new(DVec3::Z * 0.751, q), ground, below, 0.1)
            };
            let first = standing(0.0);
            for k in 1..500 {
                let m = standing(0.0123 * f64::from(k));
                assert_eq!(m.points().len(), first.points().len(), "tilt {tilt} on {ground:?}");
                for (p, q) in m.points().iter().zip(first.points()) {
                    assert_eq!(p.feature, q.feature);
                    assert!((p.gap - q.gap).abs() < 1e-12, "{p:?} {q:?}");
                    assert!(p.on_a.distance(q.on_a) < 1e-9, "{p:?} {q:?}");
                }
            }
        }
    }
}

/// Tilted by more than 2° a coin stands on one point of its rim, which runs around as the coin rolls.
#[test]
fn a_coin_rolls_on_its_rim() {
    let coin = Shape::Cylinder { radius: 0.5, half_length: 0.02 };
    let floor = cuboid(3.0, 3.0, 1.0);
    for k in 0..360 {
        let round = DQuat::from_rotation_z(f64::from(k).to_radians());
        for tilt in [0.1_f64, 0.7, 1.3] {
            let pose = Pose::new(
                DVec3::Z * (0.5 * tilt.sin() + 0.02 * tilt.cos() - 1e-3),
                round * DQuat::from_rotation_x(tilt) * DQuat::from_rotation_z(0.1 * f64::from(k)),
            );
            let expected =
                pose.position + round * DQuat::from_rotation_x(tilt) * DVec3::new(0.0, -0.5, -0.02);
            let plane = least_gap(&manifold(&coin, &pose, &Shape::HalfSpace, &Pose::IDENTITY, 0.0));
            let m = manifold(&coin, &pose, &floor, &Pose::at(DVec3::Z * -1.0), 0.0);
            assert_eq!(m.points().len(), 1);
            for p in [plane, m.points()[0]] {
                assert!((p.gap + 1e-3).abs() < 1e-12 && p.on_a.distance(expected) < 1e-9, "{p:?} {expected}");
            }
        }
    }
}

/// Lying on a block it overhangs: two points, at the end of the cylinder and at the edge of the block.
#[test]
fn a_lying_cylinder_is_cut_by_the_block_below() {
    let shape = Shape::Cylinder { radius: 0.3, half_length: 1.0 };
    let lying = DQuat::from_rotation_y(FRAC_PI_2);
    for block in [cuboid(1.0, 1.0, 0.5), brick(DVec3::new(1.0, 1.0, 0.5))] {
        for gap in [0.01, -0.01] {
            let m = manifold(
                &shape,
                &Pose::new(DVec3::new(0.6, 0.2, 0.8 + gap), lying),
                &block,
                &Pose::IDENTITY,
                0.1,
            );
            let mut ends: Vec<f64> = m.points().iter().map(|p| p.on_b.x).collect();
            ends.sort_by(f64::total_cmp);
            assert_eq!(ends.len(), 2, "{:?}", m.points());
            assert!((ends[0] + 0.4).abs() < 1e-9 && (ends[1] - 1.0).abs() < 1e-9, "{ends:?}");
            assert!(
                m.points().iter().all(|p| (p.gap - gap).abs() < 1e-9 && p.normal.distance(DVec3::Z) < 1e-9)
            );
        }
        // Tilted along its axis by a degree: two points, of which the lower one is the distance.
        let tilt = DQuat::from_rotation_y(FRAC_PI_2 + 1_f64.to_radians());
        let m = manifold(&shape, &Pose::new(DVec3::new(-0.5, 0.0, 0.82), tilt), &block, &Pose::IDENTITY, 0.1);
        assert_eq!(m.points().len(), 2, "{:?}", m.points());
        assert_points(
            &shape,
            &Pose::new(DVec3::new(-0.5, 0.0, 0.82), tilt),
            &block,
            &Pose::IDENTITY,
            1e-9,
            &m,
        );
        assert!((m.points()[0].gap - m.points()[1].gap).abs() > 0.02);
    }
}

/// A roof laid on its ridge upon a block: the two ends of the ridge.
#[test]
fn an_edge_on_a_face_has_two_points() {
    let roof = hull_of(&[
        DVec3::new(-0.5, 0.0, 0.0),
        DVec3::new(0.5, 0.0, 0.0),
        DVec3::new(-0.5, 0.4, 0.6),
        DVec3::new(0.5, 0.4, 0.6),
        DVec3::new(-0.5, -0.4, 0.6),
        DVec3::new(0.5, -0.4, 0.6),
    ]);
    let block = brick(DVec3::new(2.0, 2.0, 0.5));
    for gap in [0.01, 1e-9, -1e-9, -0.01] {
        let pose = Pose::new(DVec3::new(0.3, 0.1, 0.5 + gap), DQuat::from_rotation_z(0.4));
        let m = manifold(&roof, &pose, &block, &Pose::IDENTITY, 0.1);
        assert_eq!(m.points().len(), 2, "{:?}", m.points());
        assert!(m.points().iter().all(|p| (p.gap - gap).abs() < 1e-12));
        assert!((m.points()[0].on_a.distance(m.points()[1].on_a) - 1.0).abs() < 1e-9);
    }
    // Leaning by a degree along the ridge: still two, with different gaps.
    let lean = Pose::new(DVec3::Z * 0.51, DQuat::from_rotation_y(0.017));
    let m = manifold(&roof, &lean, &block, &Pose::IDENTITY, 0.1);
    assert_eq!(m.points().len(), 2);
    assert!((least_gap(&m).gap - (0.01 - 0.5 * 0.017_f64.sin())).abs() < 1e-12);
}

/// On a plane every corner counts, as it does for a box.
#[test]
fn a_hull_on_a_half_space() {
    let brick = brick(DVec3::new(0.5, 0.3, 0.2));
    let flat = manifold(&brick, &Pose::at(DVec3::Z * 0.21), &Shape::HalfSpace, &Pose::IDENTITY, 0.1);
    assert_eq!(flat.points().len(), 4);
    assert!(flat.points().iter().all(|p| (p.gap - 0.01).abs() < 1e-14 && p.on_a.z < 0.02));
    let sunk = manifold(&brick, &Pose::at(DVec3::Z * -3.0), &Shape::HalfSpace, &Pose::IDENTITY, 0.1);
    assert_eq!(sunk.points().len(), 4);
    assert!(sunk.points().iter().all(|p| (p.gap + 3.2).abs() < 1e-14));
    assert!((area(&sunk) - 0.6).abs() < 1e-12);
    let mut random = Random(404);
    let many = prism(24, 0.5, 0.25);
    for _ in 0..300 {
        let pose = random.pose(0.3);
        let m = manifold(&many, &pose, &Shape::HalfSpace, &Pose::IDENTITY, 0.5);
        let lowest = many.support(pose.rotation.conjugate() * DVec3::NEG_Z);
        let height = pose.point(lowest).z;
        assert_eq!(m.points().is_empty(), height > 0.5);
        if !m.points().is_empty() {
            assert!((least_gap(&m).gap - height).abs() < 1e-12);
        }
    }
}
