//! Walls, boxes, paddles and belts that move.

use std::f64::consts::PI;

use drystone::{BodyDef, Function, Guide, JointDef, Motor, Shape};
use glam::{DQuat, DVec3};

use super::super::place::{self, PLATES, add, floor, join, of_colliders, scatter, text, walls, world};
use super::super::{Draw, Made, Region};
use crate::SceneError;

/// Two walls on a floor close until a body fits between them with room to spare; all else is open.
pub(super) fn closing(d: &mut Draw) -> Result<Made, SceneError> {
    let h = d.step();
    let mut w = world(h, 0.0)?;
    let (mu, size, steps) = (d.range(0.0, 0.3), d.log_range(0.05, 0.5), d.whole(60, 100));
    floor(&mut w, mu)?;
    let (start, least) = (5.0 * size, 1.5 * size);
    let way = start - least;
    let closed = h * steps as f64 * d.range(0.5, 1.0);
    let ramp = Function::Ramp { from: 0.0, to: way, start: 0.0, end: closed };
    // Walls that stand, at 2 m/s or less: faster ones are hammers.
    let ramp = if way / closed > 2.0 {
        Function::Ramp { from: 0.0, to: 2.0 * closed, start: 0.0, end: closed }
    } else {
        ramp
    };
    for side in [-1.0, 1.0] {
        let half = DVec3::new(size, 20.0 * size, 5.0 * size);
        let wall =
            BodyDef::kinematic(Shape::cuboid(half)).at(DVec3::new(side * (start + size), 0.0, 5.0 * size));
        add(&mut w, wall.friction(mu).guided(Guide::along(DVec3::X * -side, ramp.clone())))?;
    }
    let half = DVec3::new(start, 6.0 * size, 0.0);
    let count = d.whole(1, 3);
    scatter(&mut w, d, [-half, half + DVec3::Z * 2.5 * size], count, |d| {
        let shape = d.solid(size)?;
        Ok(BodyDef::solid(shape, 1000.0).friction(mu))
    })?;
    Ok(Made::new(w, steps).inside(Region::above_floor()))
}

/// Walls that close all the way, or a wedge driven between bodies and a wall: nothing can satisfy all
/// contacts.
pub(super) fn crush(d: &mut Draw) -> Result<Made, SceneError> {
    let h = d.step();
    let mut w = world(h, d.restitution())?;
    let (mu, size, steps) = (d.friction(), d.log_range(0.05, 0.5), d.whole(40, 80));
    floor(&mut w, mu)?;
    let end = h * steps as f64;
    let ramp = |way: f64| Function::Ramp { from: 0.0, to: way, start: 0.0, end };
    let post = Shape::cuboid(DVec3::new(size, 4.0 * size, 4.0 * size));
    add(&mut w, BodyDef::fixed(post.clone()).friction(mu).at(DVec3::new(-4.0 * size, 0.0, 4.0 * size)))?;
    if d.chance(0.5) {
        let wall = BodyDef::kinematic(post).friction(mu).at(DVec3::new(4.0 * size, 0.0, 4.2 * size));
        add(&mut w, wall.guided(Guide::along(DVec3::NEG_X, ramp(5.8 * size))))?;
    } else {
        let edge = |x: f64, z: f64, y: f64| DVec3::new(x, y, z) * size;
        let points = [-4.0, 4.0].map(|y| [edge(0.0, 0.0, y), edge(-0.5, 4.0, y), edge(3.0, 4.0, y)]);
        let wedge = Shape::hull(points.as_flattened()).map_err(text)?;
        let body = BodyDef::kinematic(wedge).friction(mu).at(DVec3::new(0.0, 0.0, 4.0 * size));
        add(&mut w, body.guided(Guide::along(DVec3::NEG_Z, ramp(3.9 * size))))?;
    }
    let half = DVec3::new(2.9 * size, 3.0 * size, 0.0);
    let count = d.whole(1, 5);
    scatter(&mut w, d, [-half, half + DVec3::Z * 3.5 * size], count, |d| {
        let size = size * d.range(0.5, 1.0);
        Ok(BodyDef::solid(d.solid(size)?, 1000.0).friction(mu))
    })?;
    Ok(Made::new(w, steps).contradictory())
}

/// A closed box of small balls and a large one, shaken upright or across.
pub(super) fn shaker(d: &mut Draw) -> Result<Made, SceneError> {
    let h = d.choose(&[0.001, 0.002, 0.005, 0.01]);
    let mut w = world(h, d.choose(&[0.0, 0.0, 0.5]))?;
    let (r, mu) = (d.range(0.005, 0.02), d.range(0.1, 0.6));
    let half = DVec3::new(6.0, 6.0, 9.0) * r;
    let (amplitude, frequency) = (d.range(0.2, 1.0) * r, d.range(5.0, 20.0));
    let swing = Function::Sine { mean: 0.0, amplitude, frequency, phase: 0.0 };
    let along = d.choose(&[DVec3::Z, DVec3::Z, DVec3::X]);
    let body = BodyDef::kinematic(Shape::HalfSpace).guided(Guide::along(along, swing));
    add(&mut w, of_colliders(body, walls([-half, half], mu)))?;
    let nut = BodyDef::solid(Shape::sphere(d.range(2.0, 4.0) * r), d.log_range(500.0, 8000.0)).friction(mu);
    scatter(&mut w, d, [-half, half - DVec3::Z * half.z], 1, |_| Ok(nut.clone()))?;
    let count = d.whole(8, 30);
    scatter(&mut w, d, [-half, half], count, |d| {
        Ok(BodyDef::solid(Shape::sphere(r * d.range(0.8, 1.0)), 2500.0).friction(mu))
    })?;
    let reach = half + amplitude * along;
    Ok(Made::new(w, d.whole(60, 100)).inside(Region::Box { min: -reach, max: reach }))
}

/// A paddle, driven or on a motor with a limit or without, turns in a closed drum of bodies and leaves them
/// room at its tip.
pub(super) fn mixer(d: &mut Draw) -> Result<Made, SceneError> {
    let h = d.choose(&[0.002, 0.005, 0.01]);
    let mut w = world(h, 0.0)?;
    let (radius, mu, steps) = (d.range(0.3, 0.6), d.range(0.0, 0.6), d.whole(60, 100));
    let (depth, size) = (0.8 * radius, d.range(0.04, 0.06) * radius);
    let drum = BodyDef::fixed(Shape::HalfSpace);
    add(&mut w, of_colliders(drum, place::drum(radius, depth, radius.min(depth), mu)))?;
    let blade = Shape::cuboid(DVec3::new(radius - 6.0 * size, 0.5 * depth - 4.0 * size, 0.5 * size));
    let speed = d.range(1.0, 10.0);
    match d.whole(0, 2) {
        0 => {
            let end = h * steps as f64;
            let turn = Function::Ramp { from: 0.0, to: speed * end, start: 0.0, end };
            add(&mut w, BodyDef::kinematic(blade).friction(mu).guided(Guide::about(DVec3::Y, turn)))?;
        }
        limited => {
            let blade = add(&mut w, BodyDef::solid(blade, 3000.0).friction(mu))?;
            let motor = Motor::speed(speed);
            let motor = if limited == 1 { motor.limited(d.log_range(0.1, 1e3)) } else { motor };
            join(&mut w, JointDef::revolute(None, blade, DVec3::ZERO, DVec3::Y).motor(0, motor))?;
        }
    }
    let half = DVec3::new(0.7 * radius, 0.5 * depth, 0.7 * radius);
    let count = d.whole(3, 12);
    scatter(&mut w, d, [-half, half], count, |d| Ok(BodyDef::solid(d.solid(size)?, 1500.0).friction(mu)))?;
    let round = radius / (PI / PLATES as f64).cos();
    let region = Region::Cylinder { axis: DVec3::Y, radius: round, half_length: 0.5 * depth };
    Ok(Made::new(w, steps).inside(region))
}

/// Bodies on a belt run against a wall.
pub(super) fn belt(d: &mut Draw) -> Result<Made, SceneError> {
    let mut w = world(d.step(), d.choose(&[0.0, 0.0, 0.5]))?;
    let (size, mu) = (d.log_range(0.03, 0.3), d.range(0.1, 1.0));
    let speed = d.range(0.1, 3.0);
    let bed =
        BodyDef::fixed(Shape::cuboid(DVec3::new(100.0, 100.0, 10.0) * size)).at(DVec3::Z * -10.0 * size);
    add(&mut w, bed.friction(mu).surface_velocity(DVec3::X * speed))?;
    let wall = BodyDef::fixed(Shape::HalfSpace).turned(DQuat::from_rotation_arc(DVec3::Z, DVec3::NEG_X));
    add(&mut w, wall.at(DVec3::X * 8.0 * size).friction(d.range(0.0, 0.5)))?;
    let half = DVec3::new(8.0 * size, 4.0 * size, 0.0);
    let count = d.whole(2, 8);
    scatter(&mut w, d, [-half, half + DVec3::Z * 3.0 * size], count, |d| {
        Ok(BodyDef::solid(d.solid(size)?, 1000.0).friction(mu))
    })?;
    let far = f64::INFINITY;
    let region = Region::Box { min: DVec3::new(-far, -far, 0.0), max: DVec3::new(8.0 * size, far, far) };
    Ok(Made::new(w, d.whole(60, 100)).inside(region))
}
