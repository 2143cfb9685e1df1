//! Moments of rounded shapes against other ways to the same number.

use std::f64::consts::{PI, TAU};
use std::sync::Arc;

use drystone::random::Random;
use drystone::shape::{Moments, Pose, Shape};
use glam::{DMat3, DQuat, DVec3};

fn rounded(core: Shape, radius: f64) -> Moments {
    Shape::rounded(core, radius).unwrap().moments()
}

/// ∫dV, ∫x dV and ∫xxᵀ dV about the origin: these add up where bodies do.
fn raw(m: &Moments) -> [f64; 13] {
    let (c, s) = (m.centroid, m.second.to_cols_array());
    let mut all = [0.0; 13];
    all[0] = m.volume;
    for k in 0..3 {
        all[1 + k] = m.volume * c[k];
    }
    for i in 0..3 {
        for j in 0..3 {
            all[4 + 3 * i + j] = s[3 * i + j] + m.volume * c[i] * c[j];
        }
    }
    all
}

fn assert_close(a: &[f64; 13], b: &[f64; 13], relative: f64) {
    let scale = a.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= relative * scale, "{x} against {y}, {} of {scale}", (x - y).abs() / scale);
    }
}

fn corners(half: DVec3) -> Vec<DVec3> {
    let side = |k: u32, bit: u32| if k >> bit & 1 == 0 { -1.0 } else { 1.0 };
    (0..8).map(|k| half * DVec3::new(side(k, 0), side(k, 1), side(k, 2))).collect()
}

/// The corners of the part of a box with a <= n·x <= b.
fn slice(half: DVec3, n: DVec3, from: f64, to: f64) -> Vec<DVec3> {
    let all = corners(half);
    let mut points: Vec<DVec3> = all.iter().copied().filter(|p| (from..=to).contains(&n.dot(*p))).collect();
    for i in 0..8usize {
        for bit in [1, 2, 4] {
            let (p, q) = (all[i], all[i ^ bit]);
            for level in [from, to] {
                let share = (level - n.dot(p)) / n.dot(q - p);
                if i & bit == 0 && (0.0..=1.0).contains(&share) {
                    points.push(p + (q - p) * share);
                }
            }
        }
    }
    points
}

#[test]
fn a_box_by_formula_and_by_pieces() {
    let mut random = Random::new(1);
    for _ in 0..100 {
        let half = random.in_box(DVec3::splat(0.1), DVec3::splat(2.0));
        let r = 10f64.powf(random.range(-3.0, 1.0));
        let place = Pose::new(random.in_ball(), random.rotation());
        let points: Vec<DVec3> = corners(half).iter().map(|p| place.point(*p)).collect();
        let by_formula = rounded(Shape::cuboid(half), r).placed(&place);
        let by_pieces = rounded(Shape::hull(&points).unwrap(), r);
        assert_close(&raw(&by_formula), &raw(&by_pieces), 1e-12);
    }
}

/// Growing by a ball is additive: for convex A, B with convex union, (A∪B)+rB and (A∩B)+rB have together what
/// A+rB and B+rB have. Cut a box in two overlapping parts by a random pair of parallel planes: hulls of all
/// angles.
#[test]
fn cut_boxes_add_up() {
    let mut random = Random::new(2);
    for _ in 0..200 {
        let half = random.in_box(DVec3::splat(0.3), DVec3::splat(2.0));
        let n = random.unit_vector();
        let (from, to) = (random.range(-0.2, -0.05), random.range(0.05, 0.2));
        let r = random.range(0.01, 3.0);
        let of = |from: f64, to: f64| raw(&rounded(Shape::hull(&slice(half, n, from, to)).unwrap(), r));
        let (below, above, both) = (of(-9.0, to), of(from, 9.0), of(from, to));
        let whole = raw(&rounded(Shape::cuboid(half), r));
        let sum: [f64; 13] = std::array::from_fn(|k| below[k] + above[k] - both[k]);
        assert_close(&whole, &sum, 1e-11);
    }
}

/// A prism or pyramid over a regular polygon of the area of a disc, against the cylinder or cone: the
/// difference falls as N⁻², so two of them leave out its leading term.
#[test]
fn polygons_of_many_sides_become_round() {
    let ring = |n: usize, radius: f64, z: f64| -> Vec<DVec3> {
        (0..n)
            .map(|k| {
                let (s, c) = (TAU * k as f64 / n as f64).sin_cos();
                DVec3::new(radius * c, radius * s, z)
            })
            .collect()
    };
    for r in [0.05, 0.3, 2.0] {
        let prism = |n| {
            let mut points = ring(n, 0.7, -0.4);
            points.extend(ring(n, 0.7, 0.4));
            raw(&rounded(Shape::hull(&points).unwrap(), r))
        };
        let pyramid = |n| {
            let mut points = ring(n, 0.7, -0.25 * 1.3);
            points.push(DVec3::new(0.0, 0.0, 0.75 * 1.3));
            raw(&rounded(Shape::hull(&points).unwrap(), r))
        };
        let limit = |of: &dyn Fn(usize) -> [f64; 13]| -> [f64; 13] {
            // h², h⁴ and h⁶ removed [Richardson].
            let mut rows: Vec<[f64; 13]> = [64, 128, 256, 512].map(of).to_vec();
            for order in [4.0, 16.0, 64.0] {
                rows = rows
                    .windows(2)
                    .map(|w| std::array::from_fn(|k| (order * w[1][k] - w[0][k]) / (order - 1.0)))
                    .collect();
            }
            rows[0]
        };
        let cylinder = raw(&rounded(Shape::cylinder(0.7, 0.4), r));
        assert_close(&cylinder, &limit(&prism), 1e-11);
        let cone = raw(&rounded(Shape::cone(0.7, 1.3), r));
        assert_close(&cone, &limit(&pyramid), 1e-11);
    }
}

#[test]
fn little_radius_is_the_core_and_little_core_is_the_ball() {
    let mut random = Random::new(3);
    let points: Vec<DVec3> = (0..20).map(|_| random.in_ball()).collect();
    let scaled = |s: f64| points.iter().map(|p| *p * s).collect::<Vec<_>>();
    let cores = |s: f64| {
        [
            Shape::cuboid(s * DVec3::new(1.0, 0.5, 0.8)),
            Shape::cylinder(s * 0.6, s * 0.7),
            Shape::cone(s * 0.6, s * 1.1),
            Shape::hull(&scaled(s)).unwrap(),
        ]
    };
    let ball = raw(&Shape::sphere(1.0).moments());
    for core in cores(1.0) {
        let m = raw(&rounded(core.clone(), 1e-13));
        assert_close(&raw(&core.moments()), &m, 1e-11);
    }
    for core in cores(1e-12) {
        assert_close(&ball, &raw(&rounded(core, 1.0)), 1e-10);
    }
}

/// Steiner: V + A r + M r² + 4/3 π r³, with A the surface of the core and M = ½ Σ length · outer angle.
#[test]
fn volume_is_steiners_polynomial() {
    let mut random = Random::new(4);
    for _ in 0..50 {
        let points: Vec<DVec3> = (0..15).map(|_| random.in_ball()).collect();
        let shape = Shape::hull(&points).unwrap();
        let Shape::Hull(hull) = &shape else { unreachable!() };
        let at = |v: u32| hull.vertices()[v as usize];
        let mut area = 0.0;
        for f in 0..hull.faces().len() {
            let c: Vec<DVec3> = hull.face_vertices(f).iter().map(|v| at(*v)).collect();
            area +=
                (1..c.len() - 1).map(|k| 0.5 * (c[k] - c[0]).cross(c[k + 1] - c[0]).length()).sum::<f64>();
        }
        let mean: f64 = hull
            .edges()
            .iter()
            .map(|e| {
                let [m, n] = e.faces.map(|f| hull.faces()[f as usize].normal);
                0.5 * at(e.ends[0]).distance(at(e.ends[1])) * m.angle_between(n)
            })
            .sum();
        for r in [0.01f64, 0.5, 4.0] {
            let steiner = hull.moments().volume + area * r + mean * r * r + 4.0 / 3.0 * PI * r.powi(3);
            let volume = rounded(shape.clone(), r).volume;
            assert!((volume / steiner - 1.0).abs() < 1e-12, "{volume} against {steiner}");
        }
    }
}

#[test]
fn wrong_cores_and_radii_are_refused() {
    let refuse = |core: Shape, r: f64| Shape::rounded(core, r).unwrap_err();
    assert!(
        refuse(Shape::sphere(1.0), 0.1).contains("core must be a box, cylinder, cone or hull, not a sphere")
    );
    assert!(refuse(Shape::cylinder(-1.0, 1.0), 0.1).contains("core: radius must be positive"));
    assert!(refuse(Shape::cylinder(1.0, 1.0), 0.0).contains("radius must be positive"));
    assert!(refuse(Shape::cylinder(1.0, 1.0), f64::NAN).contains("radius must be positive"));
    let nested = Shape::Rounded { core: Arc::new(Shape::cone(1.0, 1.0)), radius: 0.1 };
    assert!(refuse(nested, 0.1).contains("not a rounded"));
}

#[test]
fn turning_the_core_turns_the_result() {
    let mut random = Random::new(5);
    let points: Vec<DVec3> = (0..15).map(|_| random.in_ball()).collect();
    let plain = rounded(Shape::hull(&points).unwrap(), 0.3);
    let place =
        Pose::new(DVec3::new(3.0, -2.0, 5.0), DQuat::from_rotation_x(1.0) * DQuat::from_rotation_z(0.3));
    let moved: Vec<DVec3> = points.iter().map(|p| place.point(*p)).collect();
    let there = rounded(Shape::hull(&moved).unwrap(), 0.3);
    let carried = plain.placed(&place);
    assert!((there.volume / plain.volume - 1.0).abs() < 1e-12);
    assert!(there.centroid.distance(carried.centroid) < 1e-12);
    assert!((there.second - carried.second).abs_diff_eq(DMat3::ZERO, 1e-12 * plain.volume));
}
