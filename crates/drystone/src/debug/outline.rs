//! Outlines of shapes.

use std::f64::consts::{FRAC_PI_2, TAU};

use glam::DVec3;

use crate::shape::{Pose, Shape};

/// Lines in a full circle.
const CIRCLE: usize = 24;
/// A half-space is drawn as a square that reaches so far from its origin, m, with so many lines each way.
const FLOOR: (f64, i32) = (5.0, 5);

/// Calls `line` with the ends of lines that show a shape at a pose, m, world: edges of what has some, circles
/// of what is round. Of a half-space a grid of 10 m about its origin.
pub fn outline(shape: &Shape, pose: &Pose, line: &mut dyn FnMut(DVec3, DVec3)) {
    let mut local = |a: DVec3, b: DVec3| line(pose.point(a), pose.point(b));
    match shape {
        Shape::Sphere { radius } => ellipses(DVec3::splat(*radius), &mut local),
        Shape::Ellipsoid { half } => ellipses(*half, &mut local),
        Shape::Box { half } => cuboid(*half, &mut local),
        Shape::Capsule { radius, half_length } => {
            for (z, towards) in [(*half_length, 1.0), (-half_length, -1.0)] {
                let top = DVec3::Z * z;
                circle(top, DVec3::X * *radius, DVec3::Y * *radius, TAU, &mut local);
                for side in [DVec3::X, DVec3::Y] {
                    let (start, up) = (-side * *radius, DVec3::Z * towards * *radius);
                    circle(top, start, up, 2.0 * FRAC_PI_2, &mut local);
                }
            }
            walls(*radius, *radius, [-half_length, *half_length], &mut local);
        }
        Shape::Cylinder { radius, half_length } => {
            for z in [*half_length, -half_length] {
                circle(DVec3::Z * z, DVec3::X * *radius, DVec3::Y * *radius, TAU, &mut local);
            }
            walls(*radius, *radius, [-half_length, *half_length], &mut local);
        }
        Shape::Cone { radius, height } => {
            let (base, apex) = (-0.25 * height, 0.75 * height);
            circle(DVec3::Z * base, DVec3::X * *radius, DVec3::Y * *radius, TAU, &mut local);
            walls(*radius, 0.0, [base, apex], &mut local);
        }
        Shape::HalfSpace => {
            let (reach, n) = FLOOR;
            for k in -n..=n {
                let x = reach * f64::from(k) / f64::from(n);
                local(DVec3::new(x, -reach, 0.0), DVec3::new(x, reach, 0.0));
                local(DVec3::new(-reach, x, 0.0), DVec3::new(reach, x, 0.0));
            }
        }
        Shape::Hull(hull) => {
            let v = hull.vertices();
            hull.edges().iter().for_each(|e| local(v[e.ends[0] as usize], v[e.ends[1] as usize]));
        }
        // The core, from which the surface is `radius` away everywhere.
        Shape::Rounded { core, .. } => outline(core, pose, line),
        Shape::Mesh(mesh) => {
            for k in 0..mesh.triangles().len() {
                // An edge that two triangles share is drawn by the first.
                let corners = mesh.triangle(k);
                for e in 0..3 {
                    if mesh.neighbour(k, e).is_none_or(|other| other as usize > k) {
                        local(corners[e], corners[(e + 1) % 3]);
                    }
                }
            }
        }
        Shape::HeightField(field) => {
            let (columns, rows) = (field.columns(), field.rows());
            for j in 0..rows {
                (1..columns).for_each(|i| local(field.point(i - 1, j), field.point(i, j)));
            }
            for i in 0..columns {
                (1..rows).for_each(|j| local(field.point(i, j - 1), field.point(i, j)));
            }
        }
        Shape::Compound(compound) => {
            compound.parts().iter().for_each(|(place, part)| outline(part, &pose.compose(place), line));
        }
    }
}

/// An arc about `centre` from `centre + a` towards `centre + b`, of this angle.
fn circle(centre: DVec3, a: DVec3, b: DVec3, angle: f64, line: &mut dyn FnMut(DVec3, DVec3)) {
    let n = ((CIRCLE as f64 * angle / TAU).ceil() as usize).max(1);
    let at = |k: usize| {
        let (sin, cos) = (angle * k as f64 / n as f64).sin_cos();
        centre + cos * a + sin * b
    };
    (0..n).for_each(|k| line(at(k), at(k + 1)));
}

fn ellipses(half: DVec3, line: &mut dyn FnMut(DVec3, DVec3)) {
    let [x, y, z] = [DVec3::X * half.x, DVec3::Y * half.y, DVec3::Z * half.z];
    for (a, b) in [(x, y), (y, z), (z, x)] {
        circle(DVec3::ZERO, a, b, TAU, line);
    }
}

/// Four lines up the side of what turns about z.
fn walls(low: f64, high: f64, z: [f64; 2], line: &mut dyn FnMut(DVec3, DVec3)) {
    for side in [DVec3::X, DVec3::Y, -DVec3::X, -DVec3::Y] {
        line(side * low + DVec3::Z * z[0], side * high + DVec3::Z * z[1]);
    }
}

fn cuboid(half: DVec3, line: &mut dyn FnMut(DVec3, DVec3)) {
    let corner = |bits: usize| {
        let sign = |k: usize| if bits >> k & 1 == 1 { 1.0 } else { -1.0 };
        half * DVec3::new(sign(0), sign(1), sign(2))
    };
    for bits in 0..8usize {
        for k in 0..3 {
            if bits >> k & 1 == 0 {
                line(corner(bits), corner(bits | 1 << k));
            }
        }
    }
}
