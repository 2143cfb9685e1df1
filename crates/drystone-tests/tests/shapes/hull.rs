//! Convex hulls: combinatorics, containment and volume, over regular, degenerate and random points.

use std::f64::consts::TAU;

use drystone::random::Random;
use drystone::shape::Hull;
use glam::{DQuat, DVec3};

fn extent(points: &[DVec3]) -> f64 {
    let low = points.iter().copied().fold(DVec3::INFINITY, DVec3::min);
    let high = points.iter().copied().fold(DVec3::NEG_INFINITY, DVec3::max);
    (high - low).max_element()
}

/// What 10⁻¹² of the size is, plus what rounding does to coordinates far from the origin.
fn slack(points: &[DVec3]) -> f64 {
    let far = points.iter().fold(0.0f64, |m, p| m.max(p.abs().max_element()));
    1e-12 * extent(points) + 64.0 * f64::EPSILON * far
}

/// Everything that must hold for any hull of any points.
fn inspect(points: &[DVec3]) -> Hull {
    inspect_within(points, 0.0)
}

fn inspect_within(points: &[DVec3], tolerance: f64) -> Hull {
    let hull = Hull::with_tolerance(points, tolerance).unwrap();
    let (size, slack) = (extent(points), slack(points) + 4.0 * tolerance);
    let vertices = hull.vertices();
    let (v, e, f) = (vertices.len(), hull.edges().len(), hull.faces().len());
    assert_eq!(v + f, e + 2, "Euler: {v} vertices, {e} edges, {f} faces");

    for face in hull.faces() {
        assert!((face.normal.length() - 1.0).abs() < 1e-14);
        for p in points {
            let above = face.normal.dot(*p) - face.offset;
            assert!(above <= slack, "{p} is {above} outside of {size}");
        }
    }
    // Every directed side of a face once, and its reverse once.
    let mut sides = Vec::new();
    for k in 0..f {
        let corners = hull.face_vertices(k);
        assert!(corners.len() >= 3);
        let normal = hull.faces()[k].normal;
        for i in 0..corners.len() {
            let [a, b, c] = [0, 1, 2].map(|j| corners[(i + j) % corners.len()]);
            sides.push((a, b));
            let [p, q, r] = [a, b, c].map(|v| vertices[v as usize]);
            let level = (normal.dot(q) - hull.faces()[k].offset).abs();
            assert!(level <= slack, "corner {q} is {level} off its face");
            let turn = (q - p).cross(r - q).dot(normal);
            assert!(turn > 0.0, "face {k} turns by {turn} at {q}");
        }
    }
    assert_eq!(sides.len(), 2 * e);
    sides.sort_unstable();
    assert!(sides.windows(2).all(|w| w[0] != w[1]));
    for edge in hull.edges() {
        let [a, b] = edge.ends;
        assert!(sides.binary_search(&(a, b)).is_ok() && sides.binary_search(&(b, a)).is_ok());
        let runs = |f: u32, a: u32, b: u32| {
            let c = hull.face_vertices(f as usize);
            (0..c.len()).any(|i| (c[i], c[(i + 1) % c.len()]) == (a, b))
        };
        assert!(runs(edge.faces[0], a, b) && runs(edge.faces[1], b, a) && edge.faces[0] != edge.faces[1]);
        assert!(hull.neighbours(a as usize).contains(&b) && hull.neighbours(b as usize).contains(&a));
        // Faces in one plane would be one face: a corner of either is clearly below the other.
        let below = |f: u32, g: u32| {
            let plane = &hull.faces()[f as usize];
            let corners = hull.face_vertices(g as usize).iter();
            corners.map(|v| plane.offset - plane.normal.dot(vertices[*v as usize])).fold(0.0, f64::max)
        };
        let depth = below(edge.faces[0], edge.faces[1]).max(below(edge.faces[1], edge.faces[0]));
        let width = |f: u32| {
            let c: Vec<DVec3> =
                hull.face_vertices(f as usize).iter().map(|v| vertices[*v as usize]).collect();
            (1..c.len() - 1).map(|i| (c[i] - c[0]).cross(c[i + 1] - c[0]).length()).sum::<f64>() / extent(&c)
        };
        // Faces hardly wider than the rounding have no plane to speak of.
        let tiny = edge.faces.iter().any(|f| width(*f) < 1e-10 * size);
        assert!(tiny || depth > 1e-14 * size, "faces {:?} differ by {depth} only", edge.faces);
    }
    assert_eq!((0..v).map(|k| hull.neighbours(k).len()).sum::<usize>(), 2 * e);

    // The same again from its own vertices, to the last bit.
    let again = Hull::with_tolerance(vertices, tolerance).unwrap();
    assert_eq!(again.vertices(), vertices);
    assert_eq!(again.faces(), hull.faces());
    assert_eq!(again.edges(), hull.edges());

    // Volume as the sum of pyramids from a corner, where the hull itself sums tetrahedra from its middle.
    let from = vertices[0];
    let mut volume = 0.0;
    for (k, face) in hull.faces().iter().enumerate() {
        let c: Vec<DVec3> = hull.face_vertices(k).iter().map(|v| vertices[*v as usize]).collect();
        let area: f64 = (1..c.len() - 1).map(|i| 0.5 * (c[i] - c[0]).cross(c[i + 1] - c[0]).length()).sum();
        volume += area * (face.offset - face.normal.dot(from)) / 3.0;
    }
    let own = hull.moments().volume;
    assert!((volume - own).abs() <= 20.0 * slack * size * size, "{volume} against {own}");
    hull
}

fn cube() -> Vec<DVec3> {
    (0..8).map(|k| DVec3::new((k & 1) as f64, (k >> 1 & 1) as f64, (k >> 2) as f64) - 0.5).collect()
}

fn prism(sides: usize, radius: f64, half: f64) -> Vec<DVec3> {
    let ring = |z: f64| {
        (0..sides).map(move |k| {
            let (s, c) = (TAU * k as f64 / sides as f64).sin_cos();
            DVec3::new(radius * c, radius * s, z)
        })
    };
    ring(-half).chain(ring(half)).collect()
}

fn counts(hull: &Hull) -> (usize, usize, usize) {
    (hull.vertices().len(), hull.edges().len(), hull.faces().len())
}

#[test]
fn a_cube_has_six_faces_however_it_lies() {
    let mut random = Random::new(1);
    for round in 0..200 {
        let turn = if round == 0 { DQuat::IDENTITY } else { random.rotation() };
        let scale = 10f64.powf(random.range(-6.0, 6.0));
        let points: Vec<DVec3> = cube().iter().map(|p| turn * (*p * scale)).collect();
        let hull = inspect(&points);
        assert_eq!(counts(&hull), (8, 12, 6));
        assert!((hull.moments().volume / scale.powi(3) - 1.0).abs() < 1e-13);
    }
}

#[test]
fn prisms_keep_their_caps_whole() {
    let mut random = Random::new(2);
    for sides in [3, 5, 64, 200] {
        for half in [1.0, 1e-3, 1e-6, 1e3] {
            let turn = random.rotation();
            let points: Vec<DVec3> = prism(sides, 1.0, half).iter().map(|p| turn * *p).collect();
            let hull = inspect(&points);
            assert_eq!(counts(&hull), (2 * sides, 3 * sides, sides + 2), "{sides} sides, half {half}");
            let area = 0.5 * sides as f64 * (TAU / sides as f64).sin();
            assert!((hull.moments().volume / (area * 2.0 * half) - 1.0).abs() < 1e-9);
        }
    }
}

/// A cloud of some kind, chosen by the seed: the kinds that break hulls built on tolerances.
fn cloud(random: &mut Random, kind: u64) -> Vec<DVec3> {
    let count = 5 + (random.next_u64() % 60) as usize;
    let many = |random: &mut Random, f: &mut dyn FnMut(&mut Random) -> DVec3| -> Vec<DVec3> {
        (0..count).map(|_| f(random)).collect()
    };
    match kind {
        0 => many(random, &mut |r| r.in_ball()),
        1 => many(random, &mut |r| r.unit_vector()),
        // A coarse grid: most points coplanar, collinear or equal with others.
        2 => {
            let mut points = many(random, &mut |r| r.in_box(DVec3::ZERO, DVec3::splat(4.0)).floor() * 0.1);
            points.extend([DVec3::ZERO, 0.1 * DVec3::X, 0.1 * DVec3::Y, 0.1 * DVec3::Z]);
            points
        }
        // A grid, shaken by rounding or by little more.
        3..=6 => {
            let shake = [1e-16, 1e-14, 1e-12, 1e-9][kind as usize - 3];
            let mut points = many(random, &mut |r| r.in_box(DVec3::ZERO, DVec3::splat(3.0)).floor() * 0.3);
            points.extend(cube());
            points.iter().map(|p| *p + shake * random.in_ball()).collect()
        }
        // A few places, with many points near each.
        7..=10 => {
            let near = [1e-16, 1e-14, 1e-12, 1e-7][kind as usize - 7];
            let places: Vec<DVec3> = (0..6).map(|_| random.in_ball()).collect();
            many(random, &mut |r| places[(r.next_u64() % 6) as usize] + near * r.in_ball())
                .into_iter()
                .chain(places.clone())
                .collect()
        }
        // Thin plates and needles.
        11 => many(random, &mut |r| r.in_ball() * DVec3::new(1.0, 1.0, 1e-8)),
        12 => many(random, &mut |r| r.in_ball() * DVec3::new(1.0, 1e-6, 1e-6)),
        // A cube with points on its faces and edges.
        13 => {
            let mut points = many(random, &mut |r| {
                let mut p = r.in_box(DVec3::splat(-0.5), DVec3::splat(0.5));
                for k in 0..1 + (r.next_u64() % 2) as usize {
                    p[k] = if r.uniform() < 0.5 { -0.5 } else { 0.5 };
                }
                p
            });
            points.extend(cube());
            points
        }
        14 => prism(count, 1.0, random.range(0.03, 2.0)),
        // A cube far away.
        15 => cube().iter().map(|p| *p + 1e6 * DVec3::ONE).collect(),
        // Two tiny clouds far apart.
        _ => many(random, &mut |r| {
            let side = if r.uniform() < 0.5 { -1.0 } else { 1.0 };
            DVec3::X * side + 1e-5 * r.in_ball()
        }),
    }
}

#[test]
fn random_clouds_of_all_kinds() {
    for kind in 0..17 {
        for seed in 0..150 {
            let mut random = Random::new(1000 * kind + seed);
            let points = cloud(&mut random, kind);
            let turned = seed % 2 == 1;
            let (turn, scale) = if turned {
                (random.rotation(), 10f64.powf(random.range(-6.0, 6.0)))
            } else {
                (DQuat::IDENTITY, 1.0)
            };
            let points: Vec<DVec3> = points.iter().map(|p| turn * (*p * scale)).collect();
            println!("kind {kind}, seed {seed}");
            let hull = inspect(&points);
            if kind == 13 || kind == 15 {
                assert_eq!(counts(&hull), (8, 12, 6));
            }
        }
    }
}

#[test]
fn many_points_on_a_sphere_are_all_corners() {
    let mut random = Random::new(3);
    let points: Vec<DVec3> = (0..5000).map(|_| random.unit_vector()).collect();
    let hull = Hull::new(&points).unwrap();
    // In general position every face is a triangle: F = 2 V − 4.
    assert_eq!(counts(&hull), (5000, 3 * 5000 - 6, 2 * 5000 - 4));
    let ball = 2.0 / 3.0 * TAU;
    let volume = hull.moments().volume;
    // Random polytopes miss about 4π/n · const of the ball; far less than a hundredth here.
    assert!(volume < ball && volume > 0.99 * ball, "{volume}");
    assert!(hull.bounding_radius() <= 1.0 + 1e-15 && hull.inner_radius() > 0.99);
}

#[test]
fn inner_points_and_copies_leave_no_trace() {
    let mut random = Random::new(4);
    for _ in 0..50 {
        let corners: Vec<DVec3> = (0..12).map(|_| random.unit_vector()).collect();
        let plain = inspect(&corners);
        let mut points = corners.clone();
        for _ in 0..100 {
            let weights: Vec<f64> = (0..12).map(|_| random.uniform()).collect();
            let sum: f64 = weights.iter().sum();
            points.push(corners.iter().zip(&weights).map(|(p, w)| *p * (w / sum)).sum());
            points.push(corners[(random.next_u64() % 12) as usize]);
        }
        let hull = inspect(&points);
        assert_eq!(hull.vertices(), plain.vertices());
        assert_eq!(hull.faces(), plain.faces());
    }
}

#[test]
fn points_without_volume_are_refused() {
    let mut random = Random::new(6);
    let refuse = |points: &[DVec3]| Hull::new(points).unwrap_err();
    assert!(refuse(&[DVec3::X; 3]).contains("at least 4 points"));
    assert!(refuse(&[DVec3::X; 20]).contains("coincide"));
    let mut broken = cube();
    broken[5].y = f64::NAN;
    assert!(refuse(&broken).contains("point 5 must be finite"));
    broken[5].y = f64::INFINITY;
    assert!(refuse(&broken).contains("point 5 must be finite"));
    for scale in [1e-6, 1.0, 1e6] {
        for _ in 0..100 {
            let turn = random.rotation();
            let shift = random.in_ball();
            let line: Vec<DVec3> =
                (0..30).map(|_| scale * (shift + turn * DVec3::X * random.range(-1.0, 1.0))).collect();
            assert!(refuse(&line).contains("on one line"), "{}", refuse(&line));
            let plane: Vec<DVec3> = (0..30)
                .map(|_| scale * (shift + turn * random.in_box(DVec3::NEG_ONE, DVec3::ONE).with_z(0.0)))
                .collect();
            assert!(refuse(&plane).contains("in one plane"), "{}", refuse(&plane));
        }
    }
}

#[test]
fn climbing_finds_what_a_scan_finds() {
    let mut random = Random::new(7);
    let sphere: Vec<DVec3> = (0..800).map(|_| random.unit_vector() * DVec3::new(1.0, 2.0, 0.1)).collect();
    for points in [sphere, prism(64, 1.0, 0.2), prism(500, 1.0, 1e-4)] {
        let hull = Hull::new(&points).unwrap();
        let size = extent(&points);
        for k in 0..4000 {
            let mut direction = random.unit_vector();
            if k % 4 == 0 {
                // Along faces: plateaus.
                direction = hull.faces()[k % hull.faces().len()].normal;
            }
            let found = hull.vertices()[hull.support(direction) as usize].dot(direction);
            let best = points.iter().map(|p| p.dot(direction)).fold(f64::NEG_INFINITY, f64::max);
            assert!(best - found <= 1e-12 * size, "{direction}: {found} against {best}");
        }
    }
}

#[test]
fn hulls_are_written_as_points_and_read_back_the_same() {
    let mut random = Random::new(8);
    let points: Vec<DVec3> = (0..200).map(|_| random.in_ball()).collect();
    let hull = Hull::new(&points).unwrap();
    let text = serde_json::to_string(&hull).unwrap();
    assert!(text.starts_with("{\"points\":[["), "{text}");
    let back: Hull = serde_json::from_str(&text).unwrap();
    assert_eq!((back.vertices(), back.faces(), back.edges()), (hull.vertices(), hull.faces(), hull.edges()));
    let flat = "{\"points\":[[0,0,0],[1,0,0],[0,1,0],[1,1,0]]}";
    assert!(serde_json::from_str::<Hull>(flat).unwrap_err().to_string().contains("in one plane"));
}

/// A cube through single precision, subdivided: six faces if that is allowed for, many if not.
#[test]
fn a_tolerance_makes_rough_faces_whole() {
    let mut random = Random::new(9);
    for _ in 0..100 {
        let turn = random.rotation();
        let mut points = Vec::new();
        for k in 0..125 {
            let p = DVec3::new((k % 5) as f64, (k / 5 % 5) as f64, (k / 25) as f64) * 0.25 - 0.5;
            points.push((turn * p).as_vec3().as_dvec3());
        }
        assert!(Hull::new(&points).unwrap().faces().len() > 6);
        let hull = inspect_within(&points, 1e-6);
        assert_eq!(counts(&hull), (8, 12, 6));
        assert!((hull.moments().volume - 1.0).abs() < 1e-5);
    }
    assert!(Hull::with_tolerance(&cube(), -1.0).unwrap_err().contains("tolerance"));
    assert!(Hull::with_tolerance(&cube(), f64::NAN).unwrap_err().contains("tolerance"));
    assert!(Hull::with_tolerance(&cube(), 0.3).unwrap_err().contains("volume"));
    let rough = Hull::with_tolerance(&cube(), 1e-3).unwrap();
    let back: Hull = serde_json::from_str(&serde_json::to_string(&rough).unwrap()).unwrap();
    assert_eq!(back, rough);
    assert_ne!(Hull::new(&cube()).unwrap(), rough);
}

#[test]
fn random_clouds_with_tolerance() {
    for kind in [0, 1, 3, 6, 10, 13, 14] {
        for seed in 0..60 {
            for tolerance in [1e-8, 1e-5, 1e-3, 1e-2] {
                let mut random = Random::new(1000 * kind + seed);
                let points = cloud(&mut random, kind);
                println!("kind {kind}, seed {seed}, tolerance {tolerance}");
                inspect_within(&points, tolerance);
            }
        }
    }
}

/// Near a knife's edge the lower side is near the plane of the upper one, but not part of it.
#[test]
fn a_knife_keeps_its_edge() {
    let mut knife: Vec<DVec3> = (0..4).map(|k| DVec3::new((k & 1) as f64, (k >> 1) as f64, 0.0)).collect();
    knife.extend([DVec3::new(1.0, 0.0, -0.05), DVec3::new(1.0, 1.0, -0.05)]);
    // On the lower side, standing out a little, so that the hull begins with triangles around it.
    for x in [0.05, 0.1, 0.15] {
        knife.push(DVec3::new(x, 0.5, -0.05 * x - 1e-9));
    }
    let hull = inspect_within(&knife, 1e-2);
    assert_eq!(counts(&hull), (6, 9, 5));
    assert_eq!(hull.vertices().iter().filter(|v| v.x == 0.0).count(), 2);
}
