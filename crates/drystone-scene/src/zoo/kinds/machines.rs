//! Mechanisms with motors.

use drystone::{BodyDef, BodyId, Function, JointDef, Motor, Settings, Shape, Stabilisation};
use glam::DVec3;

use super::super::place::{add, floor, join, scatter, text, world, world_with};
use super::super::{Draw, Made, Region};
use crate::SceneError;

/// An arm of two or three links sweeps over a floor with loose bodies; its motors command angles, speeds or
/// torques, with limits or without.
pub(super) fn motors(d: &mut Draw) -> Result<Made, SceneError> {
    let mut w = world(d.step(), 0.0)?;
    let mu = d.range(0.1, 0.8);
    floor(&mut w, mu)?;
    let (length, high) = (d.range(0.3, 0.6), 0.12);
    // Its lower edge is so near the floor that nothing is caught under it.
    let mut last: Option<BodyId> = None;
    for k in 0..d.whole(2, 3) {
        let from = DVec3::new(length * k as f64, 0.0, high);
        let shape = Shape::cuboid(DVec3::new(0.5 * length, 0.04, 0.11));
        let body = BodyDef { group: 1, ..BodyDef::solid(shape, 1000.0) };
        let link = add(&mut w, body.friction(mu).at(from + DVec3::X * 0.5 * length))?;
        let (swing, rate) = (d.range(0.2, 1.2), d.range(0.3, 1.5));
        let sine = Function::Sine { mean: 0.0, amplitude: swing, frequency: rate, phase: 0.0 };
        let motor = match d.whole(0, 2) {
            0 => Motor::position(sine),
            1 => Motor::speed(d.range(-2.0, 2.0)),
            _ => Motor::force(d.range(-20.0, 20.0)),
        };
        // Two motors without limits could close the arm on a body.
        let limited = k > 0 || d.chance(0.5);
        let motor = if limited { motor.limited(d.log_range(1.0, 1e3)) } else { motor };
        let joint = JointDef::revolute(last, link, from, DVec3::Z).motor(0, motor);
        join(&mut w, if d.chance(0.4) { joint.limits(0, -2.5, 2.5, 0.0) } else { joint })?;
        last = Some(link);
    }
    let (reach, count) = (DVec3::new(1.5, 1.5, 0.0), d.whole(0, 5));
    scatter(&mut w, d, [-reach, reach + DVec3::Z * 0.5], count, |d| {
        Ok(BodyDef::solid(d.solid(0.1)?, 500.0).friction(mu))
    })?;
    Ok(Made::new(w, d.whole(60, 100)).inside(Region::above_floor()))
}

/// A body on four to six legs of two parts with sine motors, on a floor, by sweeps that start warm and remove
/// errors in the velocities.
pub(super) fn crawler(d: &mut Draw) -> Result<Made, SceneError> {
    let scheme = d.choose(&["scaled:K=0.2", "scaled:K=0.5", "scaled:K=1", "clamped:A=0.5"]);
    let settings = Settings {
        h: d.choose(&[0.002, 0.005, 0.01]),
        solver: d.choose(&["pssor", "pssor", "pgs", "pgj"]).into(),
        tolerance: 0.0,
        iterations: d.choose(&[20, 50, 50, 100]),
        stabilisation: Stabilisation::parse(scheme).map_err(|e| text(e.0))?,
        ..Settings::default()
    };
    let mut w = world_with(settings, 0.0)?;
    let mu = d.range(0.3, 0.9);
    floor(&mut w, mu)?;
    let (up, pairs) = (0.32, d.whole(2, 3));
    let own =
        |shape: Shape, density: f64| BodyDef { group: 1, ..BodyDef::solid(shape, density).friction(mu) };
    let trunk = Shape::cuboid(DVec3::new(0.15 * pairs as f64, 0.12, 0.05));
    let trunk = add(&mut w, own(trunk, 500.0).at(DVec3::Z * up))?;
    for k in 0..2 * pairs {
        let side = if k % 2 == 0 { -1.0 } else { 1.0 };
        let x = 0.25 * ((k / 2) as f64 - 0.5 * (pairs - 1) as f64);
        let hip = DVec3::new(x, side * 0.16, up);
        let knee = hip - DVec3::Z * 0.14;
        let thigh = own(Shape::capsule(0.02, 0.05), 1000.0).at(hip - DVec3::Z * 0.07);
        let shin = own(Shape::capsule(0.02, 0.06), 1000.0).at(knee - DVec3::Z * 0.08);
        let (thigh, shin) = (add(&mut w, thigh)?, add(&mut w, shin)?);
        for (a, b, at) in [(trunk, thigh, hip), (thigh, shin, knee)] {
            let (amplitude, frequency) = (d.range(0.1, 0.5), d.range(0.5, 3.0));
            let sine = Function::Sine { mean: 0.0, amplitude, frequency, phase: 0.0 };
            let motor = Motor::position(sine);
            let motor = if d.chance(0.5) { motor.limited(d.log_range(5.0, 500.0)) } else { motor };
            join(&mut w, JointDef::revolute(a, b, at, DVec3::Y).motor(0, motor))?;
        }
    }
    Ok(Made::new(w, d.whole(80, 120)).contradictory().inside(Region::above_floor()))
}

/// A crank on a speed motor moves a rod and a slider, which pushes a block over the floor or against a
/// spring.
pub(super) fn crank(d: &mut Draw) -> Result<Made, SceneError> {
    let mut w = world(d.choose(&[0.001, 0.002, 0.005, 0.01]), 0.0)?;
    let mu = d.range(0.0, 0.6);
    floor(&mut w, mu)?;
    let (r, rod, high) = (d.range(0.05, 0.15), d.range(0.4, 0.6), 0.2);
    let own = |half: DVec3| BodyDef { group: 1, ..BodyDef::solid(Shape::cuboid(half), 2000.0).friction(mu) };
    let (pin, end) = (DVec3::new(r, 0.0, high), DVec3::new(r + rod, 0.0, high));
    let wheel = add(&mut w, own(DVec3::new(0.5 * r, 0.01, 0.01)).at(DVec3::new(0.5 * r, 0.0, high)))?;
    let link = add(&mut w, own(DVec3::new(0.5 * rod, 0.01, 0.01)).at(0.5 * (pin + end)))?;
    let piston = add(&mut w, own(DVec3::new(0.05, 0.05, 0.05)).at(end))?;
    let speed = Motor::speed(d.range(1.0, 20.0));
    let speed = if d.chance(0.5) { speed.limited(d.log_range(0.5, 500.0)) } else { speed };
    join(&mut w, JointDef::revolute(None, wheel, DVec3::Z * high, DVec3::Y).motor(0, speed))?;
    join(&mut w, JointDef::revolute(wheel, link, pin, DVec3::Y))?;
    join(&mut w, JointDef::revolute(link, piston, end, DVec3::Y))?;
    let slider = JointDef::prismatic(None, piston, end, DVec3::X).friction(0, d.choose(&[0.0, 1.0]));
    let slider = if d.chance(0.3) { slider.spring(0, 0.0, d.log_range(10.0, 1e4), 1.0) } else { slider };
    join(&mut w, slider)?;
    let half = DVec3::new(0.1, 0.1, 0.14);
    let block = BodyDef::solid(Shape::cuboid(half), d.log_range(50.0, 5000.0)).friction(mu);
    add(&mut w, block.at(DVec3::new(end.x + 0.15 + d.range(0.0, 0.05), 0.0, half.z)))?;
    Ok(Made::new(w, d.whole(80, 150)).inside(Region::above_floor()))
}
