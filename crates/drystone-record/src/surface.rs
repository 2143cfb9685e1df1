//! Shapes as triangles, for files that know nothing else.

use std::collections::HashMap;

use drystone::{Pose, Shape};
use glam::DVec3;

/// Triangles, counter-clockwise seen from outside, in the frame of the shape.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// m
    pub points: Vec<DVec3>,
    /// Places among the points.
    pub triangles: Vec<[u32; 3]>,
}

/// Corners of a round outline.
const AROUND: usize = 32;
/// How often the triangles of an icosahedron are cut in four to make a ball: 320 triangles.
const CUTS: usize = 2;
/// Half the side of the square that stands for a floor without end, m.
const FLOOR: f64 = 20.0;

/// The surface of a shape. What is round has corners (32 around an axis, 162 on a ball), and a floor without
/// end is a square of 40 m.
pub fn of(shape: &Shape) -> Surface {
    match shape {
        Shape::HalfSpace => square(),
        Shape::Sphere { radius } => ball(|d| d * *radius),
        Shape::Ellipsoid { half } => ball(|d| d * *half),
        Shape::Box { half } => boxed(*half),
        Shape::Cylinder { radius, half_length } => turned(&[
            (0.0, -half_length),
            (*radius, -half_length),
            (*radius, *half_length),
            (0.0, *half_length),
        ]),
        Shape::Cone { radius, height } => {
            turned(&[(0.0, -0.25 * height), (*radius, -0.25 * height), (0.0, 0.75 * height)])
        }
        Shape::Capsule { radius, half_length } => capsule(*radius, *half_length),
        Shape::Hull(hull) => {
            let mut surface = Surface { points: hull.vertices().to_vec(), triangles: Vec::new() };
            for f in 0..hull.faces().len() {
                let corners = hull.face_vertices(f);
                let fan = (1..corners.len().max(2) - 1).map(|k| [corners[0], corners[k], corners[k + 1]]);
                surface.triangles.extend(fan);
            }
            surface
        }
        // The furthest point in each direction, and a radius on.
        Shape::Rounded { core, radius } => ball(|d| core.support(d) + d * *radius),
        Shape::Mesh(mesh) => {
            Surface { points: mesh.vertices().to_vec(), triangles: mesh.triangles().to_vec() }
        }
        Shape::HeightField(field) => {
            let mut surface = Surface::default();
            for k in 0..field.triangle_count() {
                let first = surface.points.len() as u32;
                surface.points.extend(field.triangle(k));
                surface.triangles.push([first, first + 1, first + 2]);
            }
            surface
        }
        Shape::Compound(compound) => {
            let mut all = Surface::default();
            compound.parts().iter().for_each(|(pose, part)| all.append(&of(part), pose));
            all
        }
    }
}

impl Surface {
    /// Adds another one at a place.
    pub fn append(&mut self, other: &Surface, pose: &Pose) {
        let first = self.points.len() as u32;
        self.points.extend(other.points.iter().map(|x| pose.point(*x)));
        self.triangles.extend(other.triangles.iter().map(|t| t.map(|k| first + k)));
    }
}

fn square() -> Surface {
    let corner = |x: f64, y: f64| DVec3::new(FLOOR * x, FLOOR * y, 0.0);
    let points = vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
    Surface { points, triangles: vec![[0, 1, 2], [0, 2, 3]] }
}

fn boxed(half: DVec3) -> Surface {
    let sign = |k: usize, bit: usize| if k >> bit & 1 == 1 { 1.0 } else { -1.0 };
    let points = (0..8).map(|k| half * DVec3::new(sign(k, 0), sign(k, 1), sign(k, 2))).collect();
    let sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    Surface {
        points,
        triangles: sides.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect(),
    }
}

/// A profile of (radius, z) with rising z, from axis to axis, turned about z.
fn turned(profile: &[(f64, f64)]) -> Surface {
    let mut s = Surface::default();
    let mut rings: Vec<Vec<u32>> = Vec::new();
    for &(r, z) in profile {
        let first = s.points.len() as u32;
        let corners = if r == 0.0 { 1 } else { AROUND };
        let turn = |k: usize| std::f64::consts::TAU * k as f64 / AROUND as f64;
        s.points.extend((0..corners).map(|k| DVec3::new(r * turn(k).cos(), r * turn(k).sin(), z)));
        rings.push((0..AROUND).map(|k| first + (k % corners) as u32).collect());
    }
    for pair in rings.windows(2) {
        for k in 0..AROUND {
            let next = (k + 1) % AROUND;
            let quad = [pair[0][k], pair[0][next], pair[1][next], pair[1][k]];
            if quad[0] != quad[1] {
                s.triangles.push([quad[0], quad[1], quad[2]]);
            }
            if quad[2] != quad[3] {
                s.triangles.push([quad[0], quad[2], quad[3]]);
            }
        }
    }
    s
}

fn capsule(radius: f64, half_length: f64) -> Surface {
    let quarter = AROUND / 4;
    let arc = |k: usize| std::f64::consts::FRAC_PI_2 * k as f64 / quarter as f64;
    let low = (0..=quarter).map(|k| (radius * arc(k).sin(), -half_length - radius * arc(k).cos()));
    let high = (0..=quarter).rev().map(|k| (radius * arc(k).sin(), half_length + radius * arc(k).cos()));
    turned(&low.chain(high).collect::<Vec<_>>())
}

/// An icosahedron, cut finer; `at` says where the point in each direction is.
fn ball(at: impl Fn(DVec3) -> DVec3) -> Surface {
    let phi = 0.5 * (1.0 + 5f64.sqrt());
    let mut points: Vec<DVec3> = Vec::new();
    for (a, b) in [(-1.0, phi), (1.0, phi), (-1.0, -phi), (1.0, -phi)] {
        points.push(DVec3::new(a, b, 0.0));
    }
    for (a, b) in [(-1.0, phi), (1.0, phi), (-1.0, -phi), (1.0, -phi)] {
        points.push(DVec3::new(0.0, a, b));
    }
    for (a, b) in [(phi, -1.0), (phi, 1.0), (-phi, -1.0), (-phi, 1.0)] {
        points.push(DVec3::new(a, 0.0, b));
    }
    points.iter_mut().for_each(|x| *x = x.normalize());
    let mut triangles: Vec<[u32; 3]> = vec![
        [0, 11, 5],
        [0, 5, 1],
        [0, 1, 7],
        [0, 7, 10],
        [0, 10, 11],
        [1, 5, 9],
        [5, 11, 4],
        [11, 10, 2],
        [10, 7, 6],
        [7, 1, 8],
        [3, 9, 4],
        [3, 4, 2],
        [3, 2, 6],
        [3, 6, 8],
        [3, 8, 9],
        [4, 9, 5],
        [2, 4, 11],
        [6, 2, 10],
        [8, 6, 7],
        [9, 8, 1],
    ];
    for _ in 0..CUTS {
        let mut middles: HashMap<(u32, u32), u32> = HashMap::new();
        let mut finer = Vec::with_capacity(4 * triangles.len());
        for [a, b, c] in triangles {
            let [ab, bc, ca] = [(a, b), (b, c), (c, a)].map(|(i, j)| {
                *middles.entry((i.min(j), i.max(j))).or_insert_with(|| {
                    points.push((points[i as usize] + points[j as usize]).normalize());
                    points.len() as u32 - 1
                })
            });
            finer.extend([[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]);
        }
        triangles = finer;
    }
    Surface { points: points.into_iter().map(at).collect(), triangles }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn volume(s: &Surface) -> f64 {
        let at = |k: u32| s.points[k as usize];
        s.triangles.iter().map(|t| at(t[0]).dot(at(t[1]).cross(at(t[2]))) / 6.0).sum()
    }

    /// Closed, the right way out, and nearly as large as the shape: every edge is run through once in each
    /// direction.
    #[test]
    fn surfaces_are_closed_and_hold_the_volume() {
        let cube = Shape::Box { half: DVec3::new(0.5, 1.0, 1.5) };
        let corners: Vec<DVec3> = of(&cube).points;
        let hull = Shape::Hull(Arc::new(drystone::Hull::new(&corners).unwrap()));
        for shape in [
            Shape::Sphere { radius: 0.7 },
            Shape::Ellipsoid { half: DVec3::new(0.5, 1.0, 1.5) },
            cube.clone(),
            Shape::Cylinder { radius: 0.4, half_length: 0.9 },
            Shape::Cone { radius: 0.4, height: 0.9 },
            Shape::Capsule { radius: 0.4, half_length: 0.9 },
            hull,
        ] {
            let (surface, name) = (of(&shape), shape.name());
            let mut edges: HashMap<(u32, u32), i32> = HashMap::new();
            for [a, b, c] in &surface.triangles {
                for (i, j) in [(a, b), (b, c), (c, a)] {
                    *edges.entry((*i, *j)).or_default() += 1;
                }
            }
            let closed = |(e, n): (&(u32, u32), &i32)| *n == 1 && edges.get(&(e.1, e.0)) == Some(&1);
            assert!(edges.iter().all(closed), "{name}");
            let ratio = volume(&surface) / shape.volume();
            assert!((0.93..1.0 + 1e-12).contains(&ratio), "{name}: {ratio}");
        }
    }
}
