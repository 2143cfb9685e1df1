//! Triangle meshes and height fields.

use std::f64::consts::{PI, TAU};

use drystone::collide::Aabb;
use drystone::random::Random;
use drystone::shape::{HeightField, Moments, Pose, Shape, TriMesh};
use glam::{DMat3, DVec3};

fn box_mesh(half: DVec3, pose: &Pose) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let side = |k: u32, bit: u32| if k >> bit & 1 == 0 { -1.0 } else { 1.0 };
    let corners = (0..8).map(|k| pose.point(half * DVec3::new(side(k, 0), side(k, 1), side(k, 2)))).collect();
    let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    (corners, triangles)
}

/// A ring of `n` by `m` quads.
fn torus(ring: f64, tube: f64, n: u32, m: u32) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let mut vertices = Vec::new();
    let mut triangles = Vec::new();
    for i in 0..n {
        for j in 0..m {
            let (s, c) = (TAU * i as f64 / n as f64).sin_cos();
            let (t, d) = (TAU * j as f64 / m as f64).sin_cos();
            let rho = ring + tube * d;
            vertices.push(DVec3::new(rho * c, rho * s, tube * t));
            let at = |i: u32, j: u32| (i % n) * m + j % m;
            let [p, q, r, s] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            triangles.extend([[p, q, r], [p, r, s]]);
        }
    }
    (vertices, triangles)
}

#[test]
fn a_box_wherever_it_lies() {
    let mut random = Random::new(1);
    for _ in 0..50 {
        let half = random.in_box(DVec3::splat(0.01), DVec3::ONE);
        let pose = Pose::new(100.0 * random.in_ball(), random.rotation());
        let (vertices, triangles) = box_mesh(half, &pose);
        let mesh = TriMesh::new(vertices, triangles).unwrap();
        assert!(mesh.is_closed() && mesh.is_oriented());
        let m = mesh.mass_properties().unwrap();
        let exact = Shape::cuboid(half).moments().placed(&pose);
        // Coordinates of 100 leave 10⁻¹⁴ to the corners, a millionth of the thinnest box here.
        assert!((m.volume / exact.volume - 1.0).abs() < 1e-11);
        assert!(m.centroid.distance(exact.centroid) < 1e-11);
        let scale = exact.volume * half.length_squared();
        assert!((m.second - exact.second).abs_diff_eq(DMat3::ZERO, 1e-10 * scale));
    }
}

/// Against the torus itself: V = 2π² R r², I_z = m (R² + ¾ r²), I_x = m (½ R² + ⅝ r²), with the error of the
/// facets, which falls as the square of their size, extrapolated away.
#[test]
fn a_torus_has_its_inertia() {
    let (ring, tube) = (1.0, 0.3);
    let of = |n: u32| -> Moments {
        let (vertices, triangles) = torus(ring, tube, 2 * n, n);
        TriMesh::new(vertices, triangles).unwrap().mass_properties().unwrap()
    };
    let rows: Vec<[f64; 3]> = [24, 48, 96]
        .map(|n| {
            let m = of(n);
            let i = m.inertia(m.volume);
            assert!(m.centroid.length() < 1e-13);
            [m.volume, i.x_axis.x, i.z_axis.z]
        })
        .to_vec();
    let once = |order: f64, a: [f64; 3], b: [f64; 3]| -> [f64; 3] {
        std::array::from_fn(|k| (order * b[k] - a[k]) / (order - 1.0))
    };
    let (first, second) = (once(4.0, rows[0], rows[1]), once(4.0, rows[1], rows[2]));
    let [volume, ix, iz] = once(16.0, first, second);
    let exact = 2.0 * PI * PI * ring * tube * tube;
    assert!((volume / exact - 1.0).abs() < 1e-7, "{volume} {exact}");
    let (r2, t2) = (ring * ring, tube * tube);
    assert!((iz / (exact * (r2 + 0.75 * t2)) - 1.0).abs() < 1e-7);
    assert!((ix / (exact * (0.5 * r2 + 0.625 * t2)) - 1.0).abs() < 1e-7);
}

#[test]
fn neighbours_share_the_edge() {
    let (vertices, triangles) = torus(1.0, 0.3, 9, 7);
    let mesh = TriMesh::new(vertices, triangles).unwrap();
    for (k, t) in mesh.triangles().iter().enumerate() {
        for e in 0..3 {
            let other = mesh.neighbour(k, e).unwrap() as usize;
            let (a, b) = (t[e], t[(e + 1) % 3]);
            let u = mesh.triangles()[other];
            let back = (0..3).find(|&f| (u[f], u[(f + 1) % 3]) == (b, a)).unwrap();
            assert_eq!(mesh.neighbour(other, back), Some(k as u32));
        }
        let [a, b, c] = mesh.triangle(k);
        assert!((b - a).cross(c - a).normalize().distance(mesh.normal(k)) < 1e-13);
    }
}

#[test]
fn what_bounds_no_solid_is_fine_for_ground_only() {
    let (vertices, triangles) = box_mesh(DVec3::ONE, &Pose::IDENTITY);
    let without = |k: usize| {
        let mut rest = triangles.clone();
        rest.remove(k);
        TriMesh::new(vertices.clone(), rest).unwrap()
    };
    let open = without(3);
    assert!(!open.is_closed() && open.is_oriented());
    let why = open.mass_properties().unwrap_err();
    assert!(why.contains("open") && why.contains("belongs to triangle"), "{why}");
    // The edge named is one of the missing triangle.
    let missing = triangles[3];
    let named: Vec<u32> = why
        .split("vertices ")
        .nth(1)
        .unwrap()
        .trim_end_matches(')')
        .split(", ")
        .map(|v| v.parse().unwrap())
        .collect();
    assert!(named.iter().all(|v| missing.contains(v)), "{why}");
    let open_edges =
        (0..11).flat_map(|k| (0..3).map(move |e| (k, e))).filter(|&(k, e)| open.neighbour(k, e).is_none());
    assert_eq!(open_edges.count(), 3);

    let inside_out: Vec<[u32; 3]> = triangles.iter().map(|&[a, b, c]| [a, c, b]).collect();
    let mesh = TriMesh::new(vertices.clone(), inside_out).unwrap();
    assert!(mesh.is_closed() && mesh.is_oriented());
    assert!((mesh.signed_volume() + 8.0).abs() < 1e-13);
    assert!(mesh.mass_properties().unwrap_err().contains("inside out"));

    let mut turned = triangles.clone();
    turned[5].swap(0, 1);
    let mesh = TriMesh::new(vertices.clone(), turned).unwrap();
    assert!(mesh.is_closed() && !mesh.is_oriented());
    let why = mesh.mass_properties().unwrap_err();
    assert!(why.contains("not consistently oriented") && why.contains('5'), "{why}");
    assert!(Shape::from(mesh).volume().is_nan());
}

#[test]
fn equal_vertices_are_welded_and_idle_ones_dropped() {
    let (vertices, triangles) = box_mesh(DVec3::ONE, &Pose::IDENTITY);
    // As in a file that lists the corners of every triangle, with some never used.
    let mut soup: Vec<DVec3> = vec![DVec3::splat(99.0)];
    let mut listed = Vec::new();
    for t in &triangles {
        let at = soup.len() as u32;
        soup.extend(t.map(|v| vertices[v as usize]));
        listed.push([at, at + 1, at + 2]);
    }
    let mesh = TriMesh::new(soup, listed).unwrap();
    assert_eq!((mesh.vertices().len(), mesh.triangles().len()), (8, 12));
    assert!(mesh.is_closed());
    assert!((mesh.mass_properties().unwrap().volume - 8.0).abs() < 1e-14);
    assert!(mesh.bounding_radius() < 2.0);
    let zeros = vec![DVec3::new(-0.0, 0.0, 0.0), DVec3::X, DVec3::Y, DVec3::ZERO, DVec3::Z];
    let mesh = TriMesh::new(zeros, vec![[0, 1, 2], [3, 2, 4]]).unwrap();
    assert_eq!(mesh.vertices().len(), 4);
}

#[test]
fn bad_triangles_are_named() {
    let v = vec![DVec3::ZERO, DVec3::X, DVec3::Y, 2.0 * DVec3::X];
    let refuse = |t: Vec<[u32; 3]>| TriMesh::new(v.clone(), t).unwrap_err();
    assert!(refuse(vec![[0, 1, 2], [0, 1, 4]]).contains("triangle 1 names vertex 4, but there are only 4"));
    assert!(refuse(vec![[0, 1, 2], [0, 1, 1]]).contains("triangle 1 has no area"));
    assert!(refuse(vec![[0, 1, 3]]).contains("triangle 0 has no area"));
    assert!(refuse(vec![]).contains("at least one triangle"));
    let mut broken = v.clone();
    broken[2].z = f64::NAN;
    assert!(TriMesh::new(broken, vec![[0, 1, 3]]).unwrap_err().contains("vertex 2 must be finite"));
    let (mesh, dropped) = TriMesh::repaired(v.clone(), vec![[0, 1, 2], [0, 1, 1], [0, 1, 3]]).unwrap();
    assert_eq!((mesh.triangles().len(), mesh.vertices().len(), dropped), (1, 3, 2));
    assert!(TriMesh::repaired(v, vec![[0, 1, 3]]).unwrap_err().contains("at least one triangle"));
    // Thin is not degenerate, at any scale.
    for scale in [1e-12, 1.0, 1e12] {
        let thin = vec![DVec3::ZERO, DVec3::X * scale, DVec3::new(0.5, 1e-9, 0.0) * scale];
        assert!(TriMesh::new(thin, vec![[0, 1, 2]]).unwrap().normal(0).distance(DVec3::Z) < 1e-12);
    }
}

#[test]
fn bounds_of_a_mesh_are_those_of_its_vertices() {
    let mut random = Random::new(2);
    let (vertices, triangles) = torus(1.0, 0.3, 20, 12);
    // A flat grid has no hull, but bounds all the same.
    let grid: Vec<DVec3> = (0..400).map(|k| DVec3::new((k % 20) as f64, (k / 20) as f64, 0.0)).collect();
    let turn = random.rotation();
    let flat: Vec<DVec3> = grid.iter().map(|p| turn * *p).collect();
    let cells: Vec<[u32; 3]> =
        (0..380).filter(|k| k % 20 < 19).flat_map(|k| [[k, k + 1, k + 21], [k, k + 21, k + 20]]).collect();
    for (vertices, triangles) in [(vertices, triangles), (flat, cells)] {
        let mesh = TriMesh::new(vertices.clone(), triangles).unwrap();
        for _ in 0..200 {
            let pose = Pose::new(random.in_ball(), random.rotation());
            let bounds = mesh.aabb(&pose);
            let points: Vec<DVec3> = vertices.iter().map(|v| pose.point(*v)).collect();
            let low = points.iter().copied().fold(DVec3::INFINITY, DVec3::min);
            let high = points.iter().copied().fold(DVec3::NEG_INFINITY, DVec3::max);
            assert!(bounds.min.distance(low) < 1e-12 && bounds.max.distance(high) < 1e-12);
            let d = random.unit_vector();
            let best = vertices.iter().map(|v| v.dot(d)).fold(f64::NEG_INFINITY, f64::max);
            assert!((mesh.support(d).dot(d) - best).abs() < 1e-12);
        }
    }
}

#[test]
fn meshes_are_written_by_vertices_and_read_back() {
    let (vertices, triangles) = torus(1.0, 0.3, 9, 7);
    let shape = Shape::mesh(vertices, triangles).unwrap();
    let text = serde_json::to_string(&shape).unwrap();
    assert!(text.starts_with("{\"mesh\":{\"vertices\":[["), "{text}");
    assert_eq!(serde_json::from_str::<Shape>(&text).unwrap(), shape);
    let bad = "{\"mesh\":{\"vertices\":[[0,0,0],[1,0,0],[0,1,0]],\"triangles\":[[0,1,3]]}}";
    assert!(
        serde_json::from_str::<Shape>(bad).unwrap_err().to_string().contains("triangle 0 names vertex 3")
    );
}

fn hills(random: &mut Random) -> HeightField {
    let heights = (0..7 * 5).map(|_| random.range(-1.0, 2.0)).collect();
    HeightField::new(7, 5, [0.5, 0.8], heights).unwrap()
}

#[test]
fn height_field_triangles_are_a_surface() {
    let mut random = Random::new(3);
    let field = hills(&mut random);
    assert_eq!(field.triangle_count(), 48);
    assert_eq!(field.point(0, 0).truncate(), -field.point(6, 4).truncate());
    assert_eq!(field.point(3, 2).truncate(), glam::DVec2::ZERO);
    // The same triangles as a mesh: neighbours must agree, edge by edge.
    let corners: Vec<DVec3> = (0..48).flat_map(|k| field.triangle(k)).collect();
    let mesh = TriMesh::new(corners, (0..48).map(|k| [3 * k, 3 * k + 1, 3 * k + 2]).collect()).unwrap();
    assert_eq!(mesh.vertices().len(), 35);
    assert!(mesh.is_oriented() && !mesh.is_closed());
    for k in 0..48 {
        assert!(field.normal(k).z > 0.0 && field.normal(k).distance(mesh.normal(k)) < 1e-14);
        for e in 0..3 {
            assert_eq!(field.neighbour(k, e), mesh.neighbour(k, e), "triangle {k}, edge {e}");
        }
    }
}

#[test]
fn height_is_that_of_the_triangle_below() {
    let mut random = Random::new(4);
    let field = hills(&mut random);
    let mut beyond = 0;
    for _ in 0..5000 {
        let (x, y) = (random.range(-1.6, 1.6), random.range(-1.7, 1.7));
        // Barycentric coordinates in every triangle, none of them negative in the one that holds the point.
        let mut found = None;
        for k in 0..field.triangle_count() {
            let [a, b, c] = field.triangle(k);
            let area = |p: DVec3, q: DVec3, r: DVec3| (q - p).truncate().perp_dot((r - p).truncate());
            let p = DVec3::new(x, y, 0.0);
            let (u, v, w) = (area(p, b, c), area(a, p, c), area(a, b, p));
            if u >= 0.0 && v >= 0.0 && w >= 0.0 {
                found = Some((u * a.z + v * b.z + w * c.z) / area(a, b, c));
            }
        }
        match (found, field.height_at(x, y)) {
            (Some(h), Some(own)) => assert!((h - own).abs() < 1e-12),
            (None, None) => beyond += 1,
            other => panic!("({x}, {y}): {other:?}"),
        }
    }
    assert!(beyond > 100);
    for j in 0..5 {
        for i in 0..7 {
            let p = field.point(i, j);
            assert!((field.height_at(p.x, p.y).unwrap() - p.z).abs() < 1e-12);
        }
    }
}

#[test]
fn a_box_finds_the_triangles_it_could_touch() {
    let mut random = Random::new(5);
    let field = hills(&mut random);
    let mut sizes = 0;
    for round in 0..2000 {
        let centre = random.in_box(DVec3::splat(-2.0), DVec3::splat(3.0));
        let mut bounds = Aabb::around(centre, random.in_box(DVec3::ZERO, DVec3::ONE));
        if round % 10 == 0 {
            // On grid lines.
            bounds.min.x = -0.5;
            bounds.max.x = 0.5;
        }
        let mut found = Vec::new();
        field.triangles_in(&bounds, |k| found.push(k));
        assert!(found.windows(2).all(|w| w[0] < w[1]));
        sizes += found.len();
        for k in 0..field.triangle_count() {
            let t = field.triangle(k);
            let low = t[0].min(t[1]).min(t[2]);
            let high = t[0].max(t[1]).max(t[2]);
            // Solid below: a box is clear of a triangle only sideways or from above.
            let touches = low.truncate().cmple(bounds.max.truncate()).all() && high.cmpge(bounds.min).all();
            if touches {
                assert!(found.contains(&(k as u32)), "{bounds:?} misses {k}");
            }
        }
    }
    assert!(sizes > 1000);
    let mut all = 0;
    field.triangles_in(&Aabb { min: DVec3::NEG_INFINITY, max: DVec3::INFINITY }, |_| all += 1);
    assert_eq!(all, 48);
    for away in [DVec3::new(9.0, 0.0, 0.0), DVec3::new(0.0, -9.0, 0.0), DVec3::new(0.0, 0.0, 9.0)] {
        field.triangles_in(&Aabb::around(away, DVec3::ONE), |k| panic!("{away} meets {k}"));
    }
}

#[test]
fn height_fields_are_checked_and_bounded() {
    let refuse = |c, r, s, h| HeightField::new(c, r, s, h).unwrap_err();
    assert!(refuse(1, 3, [1.0; 2], vec![0.0; 3]).contains("columns must be at least 2"));
    assert!(refuse(3, 1, [1.0; 2], vec![0.0; 3]).contains("rows must be at least 2"));
    assert!(refuse(2, 2, [1.0, 0.0], vec![0.0; 4]).contains("spacing[1]"));
    assert!(refuse(2, 2, [f64::NAN, 1.0], vec![0.0; 4]).contains("spacing[0]"));
    assert!(refuse(2, 2, [1.0; 2], vec![0.0; 5]).contains("heights must have"));
    assert!(refuse(2, 2, [1.0; 2], vec![0.0, 1.0, f64::INFINITY, 0.0]).contains("heights[2]"));
    let field = HeightField::new(3, 2, [1.0, 2.0], vec![0.0, 1.0, 2.0, 3.0, -4.0, 5.0]).unwrap();
    let shape = Shape::from(field.clone());
    let bounds = shape.aabb(&Pose::at(DVec3::new(10.0, 20.0, 30.0)));
    assert_eq!(bounds.min, DVec3::new(9.0, 19.0, f64::NEG_INFINITY));
    assert_eq!(bounds.max, DVec3::new(11.0, 21.0, 35.0));
    assert_eq!(shape.support(DVec3::Z), field.point(2, 1));
    assert!(shape.volume().is_infinite() && !shape.is_convex());
    let back: Shape = serde_json::from_str(&serde_json::to_string(&shape).unwrap()).unwrap();
    assert_eq!(back, shape);
    let huge = HeightField::new(1025, 513, [1.0; 2], vec![0.0; 1025 * 513]).unwrap();
    assert!(Shape::from(huge).check().is_ok());
    let huge = HeightField::new(1026, 513, [1.0; 2], vec![0.0; 1026 * 513]).unwrap();
    assert!(Shape::from(huge).check().unwrap_err().contains("too many"));
}
