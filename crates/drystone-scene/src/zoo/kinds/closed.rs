//! Bodies in closed containers.

use std::f64::consts::PI;

use drystone::{BodyDef, Function, Guide, Shape};
use glam::DVec3;

use super::super::place::{self, PLATES, add, of_colliders, scatter, triangle_box, walls, world};
use super::super::{Draw, Made, Region};
use crate::SceneError;

/// Capsules in a closed drum about the y axis.
pub(super) fn drum(d: &mut Draw) -> Result<Made, SceneError> {
    let h = d.choose(&[0.005, 0.01, 0.01, 0.02]);
    let mut w = world(h, 0.0)?;
    let (radius, depth, mu) = (d.range(0.2, 0.4), d.range(0.2, 0.4), d.range(0.1, 0.9));
    let turns = d.chance(0.8);
    let steps = 120;
    let body = BodyDef::kinematic(Shape::HalfSpace);
    let body = if turns {
        let (speed, end) = (d.range(-8.0, 8.0), 1.1 * h * steps as f64);
        let turn = Function::Ramp { from: 0.0, to: speed * end, start: 0.0, end };
        body.guided(Guide::about(DVec3::Y, turn))
    } else {
        body
    };
    let thickness = d.choose(&[0.08, 0.08, 0.5]) * radius;
    add(&mut w, of_colliders(body, place::drum(radius, depth, thickness, mu)))?;
    let count = d.whole(3, 8);
    let half = DVec3::new(0.7 * radius, 0.5 * depth, 0.7 * radius);
    scatter(&mut w, d, [-half, half], count, |d| {
        let shape = Shape::capsule(d.range(0.015, 0.035), d.range(0.01, 0.05));
        Ok(BodyDef::solid(shape, 1000.0).friction(mu))
    })?;
    let round = radius / (PI / PLATES as f64).cos();
    let region = Region::Cylinder { axis: DVec3::Y, radius: round, half_length: 0.5 * depth };
    let made = Made::new(w, steps).inside(region);
    Ok(if turns { made } else { made.passive() })
}

/// Ellipsoids with half axes of 4 to 7 mm and 5 m/s in a closed box of triangles.
pub(super) fn mesh_box(d: &mut Draw) -> Result<Made, SceneError> {
    let h = d.choose(&[0.002, 0.005, 0.01, 0.01]);
    let mut w = world(h, d.restitution())?;
    let half = DVec3::splat(d.range(0.03, 0.06)) * d.axes(0.7);
    let (bounds, mu) = ([-half, half], d.range(0.0, 0.6));
    let squares = d.whole(1, 3);
    add(&mut w, BodyDef::fixed(triangle_box(bounds, squares)?).friction(mu))?;
    let (count, speed) = (d.whole(1, 8), d.range(1.0, 6.0));
    scatter(&mut w, d, bounds, count, |d| {
        let shape = Shape::ellipsoid(d.point(DVec3::splat(4e-3), DVec3::splat(7e-3)));
        let body = BodyDef::solid(shape, 1000.0).friction(mu);
        Ok(body.moving(speed * d.direction(), d.in_ball(10.0)))
    })?;
    Ok(Made::new(w, 100).passive().inside(Region::Box { min: -half, max: half }))
}

/// Bodies five to twenty times as long as they are thick, and small ones among them.
pub(super) fn needles(d: &mut Draw) -> Result<Made, SceneError> {
    let mut w = world(d.step(), d.restitution())?;
    let half = DVec3::splat(d.log_range(0.05, 1.0)) * d.axes(0.6);
    let (bounds, mu) = ([-half, half], d.friction());
    add(&mut w, of_colliders(BodyDef::fixed(Shape::HalfSpace), walls(bounds, mu)))?;
    let (count, side) = (d.whole(2, 10), half.min_element());
    let speed = d.range(0.0, 3.0);
    scatter(&mut w, d, bounds, count, |d| {
        let long = d.range(0.3, 0.8) * side;
        let thin = long / d.range(5.0, 20.0);
        let shape = match d.whole(0, 4) {
            0 => Shape::capsule(thin, long),
            1 => Shape::cylinder(thin, long),
            2 => Shape::cuboid(DVec3::new(thin, d.range(1.0, 2.0) * thin, long)),
            3 => Shape::ellipsoid(DVec3::new(thin, thin, long)),
            _ => d.solid(0.1 * side)?,
        };
        let body = BodyDef::solid(shape, 2000.0).friction(mu);
        Ok(body.moving(d.in_ball(speed), d.in_ball(3.0)))
    })?;
    Ok(Made::new(w, d.whole(50, 100)).passive().inside(Region::Box { min: -half, max: half }))
}

/// Bodies of every shape that turn by a tenth of a radian to one radian a step.
pub(super) fn spin(d: &mut Draw) -> Result<Made, SceneError> {
    let h = d.step();
    let mut w = world(h, d.restitution())?;
    let half = DVec3::splat(d.log_range(0.1, 2.0)) * d.axes(0.7);
    let (bounds, mu) = ([-half, half], d.friction());
    add(&mut w, of_colliders(BodyDef::fixed(Shape::HalfSpace), walls(bounds, mu)))?;
    let (count, size) = (d.whole(1, 6), 0.25 * half.min_element());
    scatter(&mut w, d, bounds, count, |d| {
        let body = BodyDef::solid(d.solid(size)?, 1000.0).friction(mu);
        let turn = d.range(0.1, 1.0) / h * d.direction();
        Ok(body.moving(d.in_ball(1.0), turn))
    })?;
    Ok(Made::new(w, d.whole(40, 80)).passive().inside(Region::Box { min: -half, max: half }))
}
