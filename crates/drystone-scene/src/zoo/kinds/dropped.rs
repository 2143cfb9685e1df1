//! Loose bodies that fall on the ground.

use drystone::{BodyDef, Shape, World};
use glam::DVec3;

use super::super::place::{add, floor, scatter, text, world};
use super::super::{Draw, Made, Region};
use crate::SceneError;

/// Upright box about the z axis.
fn column(half: f64, low: f64, high: f64) -> [DVec3; 2] {
    [DVec3::new(-half, -half, low), DVec3::new(half, half, high)]
}

/// Flat ellipsoids, half axes about 5 x 3 x 1.5 mm, fall by about 0.3 m: several of their own thicknesses a
/// step.
pub(super) fn lentils(d: &mut Draw) -> Result<Made, SceneError> {
    let h = d.choose(&[0.005, 0.01, 0.01, 0.01, 0.02]);
    let mut w = world(h, 0.0)?;
    let mu = d.range(0.2, 0.8);
    floor(&mut w, mu)?;
    let (count, up) = (d.whole(1, 8), d.range(0.1, 0.5));
    scatter(&mut w, d, column(0.03, up, up + 0.05), count, |d| {
        let half = DVec3::new(5e-3, 3e-3, 1.5e-3) * d.point(DVec3::splat(0.7), DVec3::splat(1.4));
        Ok(BodyDef::solid(Shape::ellipsoid(half), 1000.0).friction(mu))
    })?;
    let steps = (0.6 / h) as usize + 60;
    Ok(Made::new(w, steps.min(150)).passive().inside(Region::above_floor()))
}

/// Two cones over a slab that is ten times as thick as they are: the lower one is thrown up and turns.
pub(super) fn cones(d: &mut Draw) -> Result<Made, SceneError> {
    let mut w = world(d.choose(&[0.005, 0.01, 0.01]), 0.0)?;
    let mu = d.range(0.0, 0.8);
    slab(&mut w, mu)?;
    let mut cone = |radius: f64, height: f64, up: f64, thrown: f64| {
        let size = d.point(DVec3::splat(0.8), DVec3::splat(1.25));
        let shape = Shape::cone(radius * size.x, height * size.y);
        let at = DVec3::new(d.range(-0.01, 0.01), d.range(-0.01, 0.01), up * d.range(0.9, 1.1));
        let spin = 1.4 * d.range(0.5, 2.0) * d.direction();
        let body = BodyDef::solid(shape, 1000.0).friction(mu).at(at).turned(d.rotation());
        let turn = if thrown > 0.0 { spin } else { DVec3::ZERO };
        add(&mut w, body.moving(DVec3::Z * thrown, turn))
    };
    cone(0.022, 0.024, 0.3, 1.0)?;
    cone(0.019, 0.015, 0.4, 0.0)?;
    Ok(Made::new(w, 150).passive().inside(Region::above_floor()))
}

/// A slab of 2.8 m by 2.8 m by 0.4 m whose upper face is z = 0.
fn slab(w: &mut World, mu: f64) -> Result<(), SceneError> {
    let slab = BodyDef::fixed(Shape::cuboid(DVec3::new(1.4, 1.4, 0.2))).at(DVec3::Z * -0.2);
    add(w, slab.friction(mu)).map(|_| ())
}

/// Stones of 1 to 3 cm fall on a slab and on each other.
pub(super) fn gravel(d: &mut Draw) -> Result<Made, SceneError> {
    let mut w = world(d.choose(&[0.005, 0.01, 0.01]), 0.0)?;
    let (mu, only_cones) = (d.range(0.3, 0.9), d.chance(0.6));
    slab(&mut w, mu)?;
    let count = d.whole(8, 20);
    scatter(&mut w, d, column(0.06, 0.0, 0.35), count, |d| {
        let size = d.range(0.01, 0.03);
        let shape = match d.whole(0, 2) {
            _ if only_cones => Shape::cone(0.7 * size, size * d.range(0.6, 1.2)),
            0 => Shape::cone(0.7 * size, size),
            1 => d.hull(0.7 * size)?,
            _ => Shape::cuboid(0.5 * size * d.axes(0.5)),
        };
        Ok(BodyDef::solid(shape, 2500.0).friction(mu))
    })?;
    Ok(Made::new(w, 100).passive().inside(Region::above_floor()))
}

/// Solids of every shape, with their own friction and density, on ground of every kind.
pub(super) fn heap(d: &mut Draw) -> Result<Made, SceneError> {
    let size = d.log_range(0.02, 0.5);
    // Slower than one size in a step or not: both happen.
    let mut w = world(d.step(), d.restitution())?;
    let mu = d.friction();
    let cell = 1.5 * size;
    let ground = d.whole(0, 3);
    match ground {
        0 => floor(&mut w, mu)?,
        1 => {
            // Wide enough that nothing flies off it.
            let half = DVec3::new(20.0 * size + 20.0, 20.0 * size + 20.0, 4.0 * size);
            add(&mut w, BodyDef::fixed(Shape::cuboid(half)).friction(mu).at(DVec3::NEG_Z * half.z))?
        }
        2 => {
            let heights = (0..24 * 24).map(|_| d.range(-0.6, 0.0) * size).collect();
            let field = Shape::height_field(24, 24, [cell; 2], heights).map_err(text)?;
            add(&mut w, BodyDef::fixed(field).friction(mu))?
        }
        _ => {
            let mesh = hills(d, 16, 2.0 * cell, 0.5 * size)?;
            add(&mut w, BodyDef::fixed(mesh).friction(mu))?
        }
    };
    let count = d.whole(3, 14);
    let density = d.log_range(10.0, 1e4);
    scatter(&mut w, d, column(2.5 * size, 0.0, 12.0 * size), count, |d| {
        let spread = d.log_range(0.1, 10.0);
        let solid = d.range(0.5, 1.0) * size;
        let body = BodyDef::solid(d.solid(solid)?, density * spread).friction(mu);
        Ok(body.moving(d.in_ball(2.0 * size), d.in_ball(3.0)))
    })?;
    let made = Made::new(w, d.whole(60, 100)).passive();
    Ok(if ground < 2 { made.inside(Region::above_floor()) } else { made })
}

/// A mesh of low hills about the origin, not above z = 0.
fn hills(d: &mut Draw, n: usize, spacing: f64, high: f64) -> Result<Shape, SceneError> {
    let middle = 0.5 * n as f64;
    let mut vertices = Vec::new();
    for i in 0..=n {
        for j in 0..=n {
            let (x, y) = ((i as f64 - middle) * spacing, (j as f64 - middle) * spacing);
            vertices.push(DVec3::new(x, y, -d.range(0.0, high)));
        }
    }
    let at = |i: usize, j: usize| (i * (n + 1) + j) as u32;
    let mut triangles = Vec::new();
    for i in 0..n {
        for j in 0..n {
            let (a, b, c, e) = (at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1));
            triangles.extend([[a, b, c], [a, c, e]]);
        }
    }
    Shape::mesh(vertices, triangles).map_err(text)
}
