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

/// Everything that must hold for any hull of any points.
fn inspect(points: &[DVec3]) -> Hull {
    let hull = Hull::new(points).unwrap();
    let size = extent(points);
    let vertices = hull.vertices();
    let (v, e, f) = (vertices.len(), hull.edges().len(), hull.faces().len());
    assert_eq!(v + f, e + 2, "Euler: {v} vertices, {e} edges, {f} faces");

    for face in hull.faces() {
        assert!((face.normal.length() - 1.0).abs() < 1e-14);
        for p in points {
            let above = face.normal.dot(*p) - face.offset;
            assert!(above <= 1e-12 * size, "{p} is {above} outside of {size}");
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
            assert!(level <= 1e-12 * size, "corner {q} is {level} off its face");
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
        let [m, n] = edge.faces.map(|f| hull.faces()[f as usize].normal);
        assert!(m.dot(n) < 1.0 + 1e-14, "faces on both sides of an edge are in one plane");
    }
    assert_eq!((0..v).map(|k| hull.neighbours(k).len()).sum::<usize>(), 2 * e);

    // The same again from its own vertices, to the last bit.
    let again = Hull::new(vertices).unwrap();
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
    assert!((volume - own).abs() <= 1e-11 * size.powi(3), "{volume} against {own}");
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
