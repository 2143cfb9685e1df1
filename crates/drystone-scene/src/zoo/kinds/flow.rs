//! Worlds that bodies come into and leave, and worlds that repeat.

use drystone::collide::Periodic;
use drystone::{BodyDef, Emitter, Settings, Shape, Sink};
use glam::DVec3;

use super::super::place::{add, error, floor, is_free, world, world_with};
use super::super::{Draw, Made, Region};
use crate::SceneError;

/// Bodies of several shapes come from a box above the floor; a sink beside it takes what rolls there.
pub(super) fn emitter(d: &mut Draw) -> Result<Made, SceneError> {
    let h = d.choose(&[0.005, 0.01, 0.01]);
    let mut w = world(h, d.restitution())?;
    let (size, mu, steps) = (d.log_range(0.02, 0.2), d.range(0.1, 0.9), d.whole(60, 120));
    floor(&mut w, mu)?;
    if d.chance(0.5) {
        let step = Shape::cuboid(DVec3::new(3.0, 3.0, 1.0) * size);
        add(&mut w, BodyDef::fixed(step).friction(mu).at(DVec3::Z * size))?;
    }
    let mut bodies = Vec::new();
    for _ in 0..d.whole(1, 4) {
        let density = d.log_range(100.0, 8000.0);
        let body = BodyDef::solid(d.solid(size)?, density).friction(mu);
        bodies.push(body.moving(d.in_ball(1.0), d.in_ball(3.0)));
    }
    let first = bodies[0].clone();
    let (low, high) = (DVec3::new(-2.0, -2.0, 4.0) * size, DVec3::new(2.0, 2.0, 8.0) * size);
    let rate = d.range(0.1, 0.3) / h;
    let emitter = Emitter { limit: Some(20), turned: true, bodies, ..Emitter::new(low, high, rate, first) };
    w.add_emitter(emitter).map_err(error)?;
    if d.chance(0.6) {
        let far = DVec3::splat(1e3 * size);
        let sink = Sink::new(DVec3::new(3.0 * size, -far.y, -far.z), far);
        w.add_sink(sink).map_err(error)?;
    }
    Ok(Made::new(w, steps))
}

/// Bodies slide and tumble over a floor in a world that repeats along x and y, or along all axes without
/// gravity.
pub(super) fn periodic(d: &mut Draw) -> Result<Made, SceneError> {
    let (size, open) = (d.log_range(0.02, 0.5), d.chance(0.3));
    let n = d.whole(2, 3);
    let side = 2.4 * size * n as f64;
    let box_of = Periodic { min: DVec3::ZERO, max: DVec3::splat(side), axes: [true, true, open] };
    let gravity = if open { DVec3::ZERO } else { DVec3::new(0.0, 0.0, -9.81) };
    let settings = Settings { h: d.step(), gravity, periodic: Some(box_of), ..Settings::default() };
    let mut w = world_with(settings, d.restitution())?;
    let mu = d.friction();
    if !open {
        floor(&mut w, mu)?;
    }
    let speed = d.range(0.5, 5.0);
    for k in 0..d.whole(2, n * n * 2).min(n * n * n) {
        let cell = DVec3::new((k % n) as f64, (k / n % n) as f64, (k / n / n) as f64) + 0.5;
        let shape = d.solid(size)?;
        let body = BodyDef::solid(shape, 1000.0).friction(mu);
        let pose = drystone::Pose::new(2.4 * size * cell, d.rotation());
        let body = body.moving(speed * DVec3::X + d.in_ball(speed), d.in_ball(3.0));
        // A body of more than a quarter of the period has no nearest image, and is refused.
        let radius = body.colliders[0].shape.bounding_radius() + body.mass.centre.length();
        if 4.0 * radius <= side && is_free(&w, &body, pose) {
            add(&mut w, body.at(pose.position).turned(pose.rotation))?;
        }
    }
    let far = f64::INFINITY;
    let region = if open {
        Region::Box { min: DVec3::splat(-far), max: DVec3::splat(far) }
    } else {
        Region::above_floor()
    };
    Ok(Made::new(w, d.whole(60, 100)).passive().inside(region))
}
