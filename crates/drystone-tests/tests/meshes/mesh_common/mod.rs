//! Surfaces and worlds that the tests of meshes share.
#![allow(dead_code)]

use std::sync::Arc;

use drystone::collide::Detector;
use drystone::random::Random;
use drystone::{BodyDef, BodyId, Contact, HeightField, Settings, Shape, TriMesh, World};
use glam::{DQuat, DVec3};

/// An irregular triangulation of `size` by `size` metres about the origin, with `n` by `n` cells whose inner
/// corners are shifted at random and whose diagonals fall either way; `height` lifts the corners.
pub fn irregular(size: f64, n: usize, seed: u64, height: impl Fn(f64, f64) -> f64) -> TriMesh {
    let mut random = Random::new(seed);
    let cell = size / n as f64;
    let mut vertices = Vec::new();
    for j in 0..=n {
        for i in 0..=n {
            let mut shift = || 0.35 * cell * random.range(-1.0, 1.0);
            let inner = |k: usize| k > 0 && k < n;
            let x = i as f64 * cell - 0.5 * size + if inner(i) { shift() } else { 0.0 };
            let y = j as f64 * cell - 0.5 * size + if inner(j) { shift() } else { 0.0 };
            vertices.push(DVec3::new(x, y, height(x, y)));
        }
    }
    let mut triangles = Vec::new();
    for j in 0..n {
        for i in 0..n {
            let at = |i: usize, j: usize| (j * (n + 1) + i) as u32;
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            if random.uniform() < 0.5 {
                triangles.extend([[a, b, c], [a, c, d]]);
            } else {
                triangles.extend([[a, b, d], [b, c, d]]);
            }
        }
    }
    TriMesh::new(vertices, triangles).expect("a sound mesh")
}

/// A strip along x through the given (x, z), from y = -width/2 to width/2, `across` cells wide.
pub fn profile(points: &[(f64, f64)], width: f64, across: usize) -> TriMesh {
    let mut vertices = Vec::new();
    for &(x, z) in points {
        for j in 0..=across {
            vertices.push(DVec3::new(x, (j as f64 / across as f64 - 0.5) * width, z));
        }
    }
    let at = |i: usize, j: usize| (i * (across + 1) + j) as u32;
    let mut triangles = Vec::new();
    for i in 0..points.len() - 1 {
        for j in 0..across {
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    TriMesh::new(vertices, triangles).expect("a sound mesh")
}

/// A box as a closed mesh, each face cut into `n` by `n` squares.
pub fn box_mesh(half: DVec3, n: usize) -> TriMesh {
    let mut vertices = Vec::new();
    let mut triangles = Vec::new();
    for axis in 0..3 {
        for side in [-1.0, 1.0] {
            let base = vertices.len() as u32;
            for j in 0..=n {
                for i in 0..=n {
                    let mut p = DVec3::ZERO;
                    // (axis, axis + 1, axis + 2) is right-handed.
                    p[axis] = side * half[axis];
                    p[(axis + 1) % 3] = (2.0 * i as f64 / n as f64 - 1.0) * half[(axis + 1) % 3];
                    p[(axis + 2) % 3] = (2.0 * j as f64 / n as f64 - 1.0) * half[(axis + 2) % 3];
                    vertices.push(p);
                }
            }
            for j in 0..n {
                for i in 0..n {
                    let at = |i: usize, j: usize| base + (j * (n + 1) + i) as u32;
                    let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
                    triangles.extend(if side > 0.0 {
                        [[a, b, c], [a, c, d]]
                    } else {
                        [[a, c, b], [a, d, c]]
                    });
                }
            }
        }
    }
    TriMesh::new(vertices, triangles).expect("a sound mesh")
}

/// A ball of triangles: an octahedron with its edges halved `levels` times, pushed out to the sphere.
pub fn sphere_mesh(radius: f64, levels: usize) -> TriMesh {
    let mut vertices = vec![DVec3::X, -DVec3::X, DVec3::Y, -DVec3::Y, DVec3::Z, -DVec3::Z];
    let mut triangles: Vec<[u32; 3]> =
        vec![[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
    for _ in 0..levels {
        let mut finer = Vec::new();
        for [a, b, c] in triangles {
            let mut middle = |i: u32, j: u32| {
                vertices.push((vertices[i as usize] + vertices[j as usize]).normalize());
                vertices.len() as u32 - 1
            };
            let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
            finer.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
        }
        triangles = finer;
    }
    // Midpoints made twice are equal to the bit: addition commutes.
    TriMesh::new(vertices.iter().map(|v| *v * radius).collect(), triangles).expect("a sound mesh")
}

pub fn mesh(mesh: TriMesh) -> Shape {
    Shape::Mesh(Arc::new(mesh))
}

pub fn field(columns: usize, rows: usize, spacing: f64, height: impl Fn(f64, f64) -> f64) -> Shape {
    let flat = HeightField::new(columns, rows, [spacing; 2], vec![0.0; columns * rows]).expect("a field");
    let heights = (0..columns * rows)
        .map(|k| {
            let p = flat.point(k % columns, k / columns);
            height(p.x, p.y)
        })
        .collect();
    Shape::HeightField(Arc::new(HeightField::new(columns, rows, [spacing; 2], heights).expect("a field")))
}

/// Bodies that slide and roll: name, shape, height of the centre of mass above flat ground at rest.
pub fn movers() -> Vec<(&'static str, Shape, f64)> {
    let slab: Vec<DVec3> = (0..14)
        .map(|k| {
            let angle = std::f64::consts::PI * (k % 7) as f64 / 3.5;
            DVec3::new(0.5 * angle.cos(), 0.5 * angle.sin(), if k < 7 { -0.2 } else { 0.2 })
        })
        .collect();
    vec![
        ("ball", Shape::Sphere { radius: 0.3 }, 0.3),
        ("box", Shape::Box { half: DVec3::new(0.4, 0.3, 0.2) }, 0.2),
        ("capsule", Shape::Capsule { radius: 0.2, half_length: 0.4 }, 0.6),
        ("cylinder", Shape::Cylinder { radius: 0.4, half_length: 0.25 }, 0.25),
        ("hull", Shape::Hull(Arc::new(drystone::Hull::new(&slab).expect("a hull"))), 0.2),
        ("cone", Shape::Cone { radius: 0.4, height: 0.8 }, 0.2),
        ("ellipsoid", Shape::Ellipsoid { half: DVec3::new(0.4, 0.35, 0.3) }, 0.3),
        (
            "rounded box",
            Shape::Rounded {
                core: Arc::new(Shape::Box { half: DVec3::new(0.35, 0.25, 0.15) }),
                radius: 0.05,
            },
            0.2,
        ),
    ]
}

/// Ground and one body, with time step `h`.
pub fn world(h: f64, ground: Shape, ground_at: (DVec3, DQuat), mu: f64, body: BodyDef) -> (World, BodyId) {
    let settings = Settings { h, tolerance: 1e-10, iterations: 2000, ..Settings::default() };
    let mut world = World::new(settings).expect("settings");
    world.add_body(BodyDef::fixed(ground).at(ground_at.0).turned(ground_at.1).friction(mu)).expect("ground");
    let id = world.add_body(body.friction(mu)).expect("body");
    (world, id)
}

pub fn run(world: &mut World, steps: usize) {
    for _ in 0..steps {
        world.step().expect("a step");
    }
}

/// The contacts of a world at rest with gaps up to `envelope`.
pub fn detect(world: &World, envelope: f64) -> Vec<Contact> {
    let mut detector = Detector::new(None);
    let rest = vec![[0.0; 6]; world.model().bodies.len()];
    let mut found = Vec::new();
    detector.find_pairs(world.model(), world.state(), &rest, 0.0, envelope);
    detector.find_contacts(world.model(), world.state(), &rest, 0.0, envelope, &mut found);
    found
}
