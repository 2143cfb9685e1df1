//! What shapes look like: a few that the page can draw by itself, and triangles for all others.

use drystone::shape::{HeightField, Hull};
use drystone::{Pose, Shape};
use glam::{DQuat, DVec3};

use crate::codec::Put;

/// Something that many bodies may look like, of unit size where a body's own size can stretch it.
#[derive(Clone, Debug, PartialEq)]
pub enum Geometry {
    /// Radius 1.
    Ball,
    /// Half extents 1.
    Box,
    /// z <= 0.
    Plane,
    /// About z, radius 1, from z = -1 to 1.
    Cylinder,
    /// About z, base of radius 1 at z = -1/4, apex at z = 3/4.
    Cone,
    /// Radius 1, to be stretched differently along the axes.
    Ellipsoid,
    /// About z: radius and half the length of its core, m.
    Capsule([f32; 2]),
    /// Triangles, m.
    Mesh {
        /// Corners.
        vertices: Vec<[f32; 3]>,
        /// Counter-clockwise from outside.
        triangles: Vec<[u32; 3]>,
        /// Whether it is round: shaded as one surface.
        smooth: bool,
    },
}

impl Geometry {
    /// Adds it to a message.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Geometry::Ball => out.u8(0),
            Geometry::Box => out.u8(1),
            Geometry::Plane => out.u8(2),
            Geometry::Cylinder => out.u8(3),
            Geometry::Cone => out.u8(4),
            Geometry::Ellipsoid => out.u8(5),
            Geometry::Capsule(sizes) => {
                out.u8(6);
                sizes.iter().for_each(|x| out.f32(*x));
            }
            Geometry::Mesh { vertices, triangles, smooth } => {
                out.u8(7);
                out.u8(u8::from(*smooth));
                out.u32(vertices.len() as u32);
                out.u32(triangles.len() as u32);
                vertices.iter().flatten().for_each(|x| out.f32(*x));
                triangles.iter().flatten().for_each(|i| out.u32(*i));
            }
        }
    }
}

/// A geometry, where it is in the shape's frame, and how it is stretched.
pub type Piece = (Geometry, Pose, DVec3);

/// The pieces of a shape.
pub fn pieces(shape: &Shape) -> Vec<Piece> {
    let one = |g: Geometry, size: DVec3| vec![(g, Pose::IDENTITY, size)];
    match shape {
        Shape::Sphere { radius } => one(Geometry::Ball, DVec3::splat(*radius)),
        Shape::Box { half } => one(Geometry::Box, *half),
        Shape::HalfSpace => one(Geometry::Plane, DVec3::ONE),
        Shape::Cylinder { radius, half_length } => {
            one(Geometry::Cylinder, DVec3::new(*radius, *radius, *half_length))
        }
        Shape::Cone { radius, height } => one(Geometry::Cone, DVec3::new(*radius, *radius, *height)),
        Shape::Ellipsoid { half } => one(Geometry::Ellipsoid, *half),
        Shape::Capsule { radius, half_length } => {
            one(Geometry::Capsule([*radius as f32, *half_length as f32]), DVec3::ONE)
        }
        Shape::Hull(hull) => one(faces(hull), DVec3::ONE),
        Shape::Rounded { .. } => one(rounded(shape), DVec3::ONE),
        Shape::Mesh(mesh) => {
            let vertices = mesh.vertices().iter().map(single).collect();
            one(Geometry::Mesh { vertices, triangles: mesh.triangles().to_vec(), smooth: false }, DVec3::ONE)
        }
        Shape::HeightField(field) => one(earth(field), DVec3::ONE),
        Shape::Compound(compound) => {
            let placed = |(pose, part): &(Pose, Shape)| {
                let pose = *pose;
                pieces(part).into_iter().map(move |(g, p, size)| (g, pose.compose(&p), size))
            };
            compound.parts().iter().flat_map(placed).collect()
        }
    }
}

fn single(v: &DVec3) -> [f32; 3] {
    v.as_vec3().to_array()
}

/// The faces of a hull, each as a fan.
fn faces(hull: &Hull) -> Geometry {
    let mut triangles = Vec::new();
    for f in 0..hull.faces().len() {
        let ring = hull.face_vertices(f);
        triangles.extend(ring.windows(2).skip(1).map(|w| [ring[0], w[0], w[1]]));
    }
    let vertices = hull.vertices().iter().map(single).collect();
    Geometry::Mesh { vertices, triangles, smooth: false }
}

/// Heights over a grid.
fn earth(field: &HeightField) -> Geometry {
    let (columns, rows) = (field.columns(), field.rows());
    let vertices = (0..columns * rows).map(|k| single(&field.point(k % columns, k / columns))).collect();
    let mut triangles = Vec::with_capacity(field.triangle_count());
    for j in 0..rows as u32 - 1 {
        for i in 0..columns as u32 - 1 {
            let at = |i: u32, j: u32| j * columns as u32 + i;
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    Geometry::Mesh { vertices, triangles, smooth: true }
}

/// Directions along each edge of the cube whose sides are projected on the shape.
const GRID: u32 = 12;

/// A convex shape by its furthest points along directions all round.
fn rounded(shape: &Shape) -> Geometry {
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for side in 0..6 {
        let turn = match side {
            0 => DQuat::IDENTITY,
            1 => DQuat::from_rotation_x(std::f64::consts::PI),
            k => {
                DQuat::from_rotation_z(0.5 * std::f64::consts::PI * f64::from(k))
                    * DQuat::from_rotation_x(0.5 * std::f64::consts::PI)
            }
        };
        let first = vertices.len() as u32;
        for j in 0..=GRID {
            for i in 0..=GRID {
                // Equal angles between neighbours.
                let along =
                    |k: u32| ((f64::from(k) / f64::from(GRID) - 0.5) * 0.5 * std::f64::consts::PI).tan();
                let d = turn * DVec3::new(along(i), along(j), 1.0);
                vertices.push(single(&shape.support(d)));
            }
        }
        for j in 0..GRID {
            for i in 0..GRID {
                let at = |i: u32, j: u32| first + j * (GRID + 1) + i;
                let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
                triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
    }
    Geometry::Mesh { vertices, triangles, smooth: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// Volume within triangles, by the divergence theorem: right only if all of them face out.
    fn volume(g: &Geometry) -> f64 {
        let Geometry::Mesh { vertices, triangles, .. } = g else { return f64::NAN };
        let v = |i: u32| DVec3::from_array(vertices[i as usize].map(f64::from));
        triangles.iter().map(|t| v(t[0]).dot(v(t[1]).cross(v(t[2])))).sum::<f64>() / 6.0
    }

    #[test]
    fn surfaces_are_closed_and_face_out() {
        let core = Arc::new(Shape::Box { half: DVec3::new(0.3, 0.4, 0.5) });
        let corners: Vec<DVec3> =
            (0..8).map(|k| DVec3::new((k & 1) as f64, (k >> 1 & 1) as f64, (k >> 2) as f64)).collect();
        let hull = Shape::Hull(Arc::new(Hull::new(&corners).unwrap()));
        for (shape, tolerance) in [(Shape::Rounded { core, radius: 0.1 }, 0.03), (hull, 1e-6)] {
            let all = pieces(&shape);
            assert_eq!(all.len(), 1);
            let (seen, real) = (volume(&all[0].0), shape.volume());
            assert!((seen / real - 1.0).abs() < tolerance, "{shape:?}: {seen} {real}");
        }
    }

    #[test]
    fn a_compound_has_the_pieces_of_its_parts() {
        let at = Pose::new(DVec3::X, DQuat::IDENTITY);
        let parts = vec![(Pose::IDENTITY, Shape::Sphere { radius: 0.5 }), (at, Shape::cylinder(0.2, 0.3))];
        let compound = drystone::Compound::new(parts).unwrap();
        let all = pieces(&Shape::Compound(Arc::new(compound)));
        let kinds: Vec<&Geometry> = all.iter().map(|p| &p.0).collect();
        assert_eq!(kinds, [&Geometry::Ball, &Geometry::Cylinder]);
        assert!((all[1].1.position - all[0].1.position - DVec3::X).length() < 1e-12);
    }
}
