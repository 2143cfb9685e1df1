//! Rays and distances through the trees, against looking at every part.

use std::sync::Arc;

use crate::mesh_common::{box_mesh, field, irregular, mesh, sphere_mesh};
use drystone::collide::query::{distance, overlap, ray};
use drystone::random::Random;
use drystone::{Compound, HeightField, Pose, Shape, TriMesh};
use glam::DVec3;
use parry3d_f64::math::Pose as Isometry;
use parry3d_f64::query as parry;
use parry3d_f64::shape::{Ball, Cuboid, Triangle};

/// The nearest hit of any triangle by Cramer's rule, from either side: distance and normal.
fn by_force(triangles: &[[DVec3; 3]], o: DVec3, d: DVec3) -> Option<(f64, DVec3)> {
    let hit = |t: &[DVec3; 3]| {
        let [a, b, c] = *t;
        let m = glam::DMat3::from_cols(b - a, c - a, -d);
        let x = m.inverse() * (o - a);
        let inside = x.x >= -1e-12 && x.y >= -1e-12 && x.x + x.y <= 1.0 + 1e-12 && x.z >= 0.0;
        inside.then(|| (x.z, (b - a).cross(c - a).normalize()))
    };
    triangles.iter().filter_map(hit).min_by(|a, b| a.0.total_cmp(&b.0))
}

fn triangles(m: &TriMesh) -> Vec<[DVec3; 3]> {
    (0..m.triangles().len()).map(|k| m.triangle(k)).collect()
}

fn field_triangles(f: &HeightField) -> Vec<[DVec3; 3]> {
    (0..f.triangle_count()).map(|k| f.triangle(k)).collect()
}

fn bumps(x: f64, y: f64) -> f64 {
    0.3 * (2.0 * x).sin() * (3.0 * y).cos()
}

#[test]
fn rays_meet_the_first_triangle() {
    let mut random = Random::new(3);
    let grounds = [
        ("terrain", irregular(4.0, 20, 1, bumps)),
        ("ball", sphere_mesh(1.0, 3)),
        ("box", box_mesh(DVec3::new(1.0, 0.5, 0.7), 5)),
    ];
    for (name, m) in grounds {
        let all = triangles(&m);
        let closed = m.is_closed();
        let shape = mesh(m);
        let (mut hits, mut misses, mut inside) = (0, 0, 0);
        for _ in 0..3000 {
            let pose = Pose::new(random.in_box(-DVec3::ONE, DVec3::ONE), random.rotation());
            let o = random.in_box(DVec3::splat(-2.5), DVec3::splat(2.5));
            let d = (random.in_box(-DVec3::ONE, DVec3::ONE) - o).normalize();
            let max = random.range(0.5, 5.0);
            let found = ray(&shape, &pose, pose.point(o), pose.rotation * d, max);
            match (by_force(&all, o, d), found) {
                (Some((_, n)), Some(hit)) if closed && n.dot(d) > 0.0 => {
                    inside += 1;
                    assert_eq!(hit.distance, 0.0, "{name}");
                    assert!(hit.normal.distance(-(pose.rotation * d)) < 1e-12);
                }
                (Some((t, n)), Some(hit)) => {
                    hits += 1;
                    assert!((hit.distance - t).abs() < 1e-9, "{name}: {} for {t}", hit.distance);
                    let n = if n.dot(d) > 0.0 { -n } else { n };
                    assert!(hit.normal.dot(pose.rotation * n) > 1.0 - 1e-9, "{name}");
                    assert!(hit.point.distance(pose.point(o + d * t)) < 1e-9);
                }
                (None, None) => misses += 1,
                (Some((t, _)), None) => assert!(t > max - 1e-9, "{name}: missed at {t} of {max}"),
                (None, Some(hit)) => panic!("{name}: hit nothing at {}", hit.distance),
            }
        }
        assert!(hits > 200 && misses > 200 && (inside > 50) == closed, "{name}: {hits} {misses} {inside}");
    }
}

#[test]
fn rays_meet_a_height_field_like_the_mesh_of_its_triangles() {
    let shape = field(17, 13, 0.25, bumps);
    let Shape::HeightField(f) = &shape else { unreachable!() };
    let all = field_triangles(f);
    let mut random = Random::new(6);
    let (mut hits, mut misses, mut sides, mut below) = (0, 0, 0, 0);
    for k in 0..4000 {
        let o = random.in_box(DVec3::new(-3.0, -3.0, -1.0), DVec3::new(3.0, 3.0, 2.0));
        // Also straight along the axes, and along grid lines.
        let d = match k % 8 {
            0 => -DVec3::Z,
            1 => DVec3::X,
            2 => -DVec3::Y,
            _ => (random.in_box(DVec3::new(-2.0, -1.5, -0.3), DVec3::new(2.0, 1.5, 0.5)) - o).normalize(),
        };
        let o = if k % 16 == 1 { DVec3::new(-3.0, 0.25, o.z) } else { o };
        let max = random.range(0.5, 8.0);
        let found = ray(&shape, &Pose::IDENTITY, o, d, max);
        if f.height_at(o.x, o.y).is_some_and(|z| o.z <= z) {
            below += 1;
            assert_eq!(found.map(|h| (h.distance, h.normal)), Some((0.0, -d)));
            continue;
        }
        match (by_force(&all, o, d), found) {
            (_, Some(hit)) if hit.normal.z == 0.0 => {
                // Through the side: on the border, below the surface there.
                sides += 1;
                let p = hit.point;
                assert!((p.x.abs() - 2.0).abs() < 1e-9 || (p.y.abs() - 1.5).abs() < 1e-9, "{p}");
                assert!(p.z <= f.height_at(p.x.clamp(-2.0, 2.0), p.y.clamp(-1.5, 1.5)).unwrap() + 1e-9);
            }
            (Some((t, n)), Some(hit)) => {
                hits += 1;
                assert!((hit.distance - t).abs() < 1e-9, "{o} {d}: {} for {t}", hit.distance);
                assert!(hit.normal.dot(n) > 1.0 - 1e-9 && n.dot(d) < 0.0);
            }
            (None, None) => misses += 1,
            (Some((t, _)), None) => assert!(t > max - 1e-9, "{o} {d}: missed at {t} of {max}"),
            (None, Some(hit)) => panic!("{o} {d}: hit nothing at {}", hit.distance),
        }
    }
    assert!(hits > 300 && misses > 300 && sides > 30 && below > 300, "{hits} {misses} {sides} {below}");
}

/// A ray without end is a long one: what it misses is not met at infinity. Over terrain, along axes, grid
/// lines and boxes that it passes beside the triangles in them.
#[test]
fn rays_without_end_are_long_rays() {
    let mut random = Random::new(9);
    let shapes = [
        ("field", field(17, 13, 0.25, bumps)),
        ("flat field", field(2, 2, 6.0, |_, _| 0.0)),
        ("mesh", mesh(irregular(4.0, 20, 1, bumps))),
        ("two triangles", mesh(irregular(4.0, 1, 1, bumps))),
        ("ball", mesh(sphere_mesh(1.0, 3))),
        ("half-space", Shape::HalfSpace),
        ("compound", Shape::Compound(Arc::new(Compound::new(cloud(20, 4)).unwrap()))),
    ];
    for (name, shape) in shapes {
        let (mut hits, mut misses) = (0, 0);
        for k in 0..2000 {
            let o = random.in_box(DVec3::new(-3.0, -3.0, 0.0), DVec3::new(3.0, 3.0, 1.0));
            let d = match k % 8 {
                0 => DVec3::Z,
                1 => -DVec3::Z,
                2 => DVec3::X,
                3 => -DVec3::Y,
                4 => DVec3::new(1.0, 0.0, -0.05).normalize(),
                5 => DVec3::new(1e-300, 1.0, 0.0),
                _ => (random.in_box(-DVec3::ONE, DVec3::ONE) * DVec3::new(1.0, 1.0, 0.2)).normalize(),
            };
            let cast = |max: f64| ray(&shape, &Pose::IDENTITY, o, d, max);
            let (endless, long) = (cast(f64::INFINITY), cast(1e12));
            assert_eq!(endless, long, "{name}: {o} {d}");
            hits += usize::from(long.is_some());
            misses += usize::from(long.is_none());
        }
        println!("{name}: {hits} hits, {misses} misses");
        assert!(hits > 30 && misses > 100, "{name}: {hits} {misses}");
    }
    // Nearly along a plane it is met, but at no distance that a number can tell.
    let flat = DVec3::new(1.0, 0.0, -1e-310);
    assert_eq!(ray(&Shape::HalfSpace, &Pose::IDENTITY, DVec3::Z, flat, f64::INFINITY), None);
}

fn cloud(n: usize, seed: u64) -> Vec<(Pose, Shape)> {
    let mut random = Random::new(seed);
    (0..n)
        .map(|k| {
            let shape = match k % 3 {
                0 => Shape::Box { half: random.in_box(DVec3::splat(0.05), DVec3::splat(0.2)) },
                1 => Shape::Capsule { radius: 0.1, half_length: 0.1 },
                _ => Shape::Sphere { radius: 0.15 },
            };
            (Pose::new(2.0 * random.in_ball(), random.rotation()), shape)
        })
        .collect()
}

#[test]
fn compounds_are_the_least_of_their_parts() {
    let (a, b) = (cloud(60, 1), cloud(40, 2));
    let (ca, cb) = [&a, &b].map(|p| Shape::Compound(Arc::new(Compound::new(p.clone()).unwrap()))).into();
    let mut random = Random::new(5);
    let mut hits = 0;
    for _ in 0..300 {
        let [pa, pb] = [0, 1]
            .map(|_| Pose::new(random.in_box(DVec3::splat(-2.5), DVec3::splat(2.5)), random.rotation()));
        let mut least = f64::INFINITY;
        for (la, sa) in &a {
            for (lb, sb) in &b {
                least = least.min(distance(sa, &pa.compose(la), sb, &pb.compose(lb)));
            }
        }
        let found = distance(&ca, &pa, &cb, &pb);
        assert!((found - least).abs() < 1e-12, "{found} for {least}");
        assert_eq!(overlap(&ca, &pa, &cb, &pb), least <= 0.0);

        let o = random.in_box(DVec3::splat(-4.0), DVec3::splat(4.0));
        let d = (pa.position + random.in_ball() - o).normalize();
        let each = a.iter().filter_map(|(l, s)| ray(s, &pa.compose(l), o, d, 6.0));
        let first = each.min_by(|x, y| x.distance.total_cmp(&y.distance));
        let found = ray(&ca, &pa, o, d, 6.0);
        assert_eq!(found.is_some(), first.is_some());
        if let (Some(x), Some(y)) = (found, first) {
            hits += 1;
            assert!((x.distance - y.distance).abs() < 1e-12 && x.normal.distance(y.normal) < 1e-9);
        }
    }
    assert!(hits > 30);
}

#[test]
fn distances_to_surfaces_are_those_of_the_nearest_triangle() {
    let terrain = irregular(4.0, 12, 1, bumps);
    let hills = field(17, 13, 0.25, bumps);
    let Shape::HeightField(f) = &hills else { unreachable!() };
    let grounds =
        [("mesh", triangles(&terrain), mesh(terrain.clone())), ("field", field_triangles(f), hills.clone())];
    let mut random = Random::new(7);
    for (name, all, ground) in grounds {
        for _ in 0..40 {
            let pose = Pose::new(
                random.in_box(DVec3::new(-1.0, -1.0, 0.9), DVec3::new(1.0, 1.0, 3.0)),
                random.rotation(),
            );
            let there = Pose::new(random.in_box(-DVec3::ONE, DVec3::ONE), random.rotation());
            let (axis, angle) = pose.rotation.to_axis_angle();
            let place = Isometry::new(pose.position.to_array().into(), (axis * angle).to_array().into());
            for round in [true, false] {
                let (ours, theirs): (Shape, Box<dyn parry3d_f64::shape::Shape>) = if round {
                    (Shape::Sphere { radius: 0.3 }, Box::new(Ball::new(0.3)))
                } else {
                    let half = DVec3::new(0.3, 0.2, 0.25);
                    (Shape::Box { half }, Box::new(Cuboid::new(half.to_array().into())))
                };
                let to = |t: &[DVec3; 3]| {
                    let [a, b, c] = t.map(|p| p.to_array().into());
                    let t = Triangle::new(a, b, c);
                    parry::distance(&place, theirs.as_ref(), &Isometry::identity(), &t).unwrap().distance
                };
                let expected = all.iter().map(to).fold(f64::INFINITY, f64::min);
                let found = distance(&ours, &there.compose(&pose), &ground, &there);
                if expected > 1e-9 {
                    assert!((found - expected).abs() < 1e-8, "{name}: {found} for {expected}");
                    assert_eq!(found, distance(&ground, &there, &ours, &there.compose(&pose)));
                } else {
                    assert!(found <= 1e-9);
                }
            }
        }
    }
}

#[test]
fn a_point_inside_a_closed_mesh_is_inside() {
    let ball = mesh(sphere_mesh(1.0, 4));
    let probe = Shape::Sphere { radius: 0.05 };
    let deep = distance(&probe, &Pose::at(DVec3::new(0.0, 0.3, 0.9)), &ball, &Pose::IDENTITY);
    assert!(deep < -0.05 && deep > -0.2, "{deep}");
    let out = distance(&probe, &Pose::at(DVec3::new(0.0, 0.0, 1.25)), &ball, &Pose::IDENTITY);
    assert!((out - 0.2).abs() < 1e-9, "{out}");
}

#[test]
fn an_open_sheet_has_a_distance_from_behind_too() {
    let sheet = mesh(irregular(4.0, 8, 1, |_, _| 0.0));
    for (shape, half) in [
        (Shape::Sphere { radius: 0.1 }, 0.1),
        (Shape::Box { half: DVec3::new(0.1, 0.2, 0.3) }, 0.3),
        (Shape::Cylinder { radius: 0.2, half_length: 0.3 }, 0.3),
    ] {
        for z in [-1.0, 1.0] {
            let found = distance(&shape, &Pose::at(DVec3::new(0.2, 0.3, z)), &sheet, &Pose::IDENTITY);
            assert!((found - (1.0 - half)).abs() < 1e-9, "{}: {found}", shape.name());
        }
        let beside = distance(&shape, &Pose::at(DVec3::new(3.0, 0.3, -1.0)), &sheet, &Pose::IDENTITY);
        assert!(beside > 1.0 && beside < 1.4, "{}: {beside}", shape.name());
    }
}
