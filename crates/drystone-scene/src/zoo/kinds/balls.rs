//! Balls and fast bodies: impacts.

use drystone::{BodyDef, JointDef, Shape};
use glam::{DQuat, DVec3};

use super::super::place::{add, floor, join, of_colliders, walls, world};
use super::super::{Draw, Made, Region};
use crate::SceneError;

/// A ball rolls into others on a table with cushions.
pub(super) fn billiards(d: &mut Draw) -> Result<Made, SceneError> {
    let r = d.range(0.02, 0.04);
    let e = d.choose(&[1.0, 1.0, 0.95, 0.8, 0.5]);
    let mut w = world(d.choose(&[0.001, 0.002, 0.005, 0.01, 0.01]), e)?;
    let mu = d.choose(&[0.0, 0.05, 0.2, 0.5]);
    let half = DVec3::new(0.6, 0.35, 0.2);
    let bounds = [DVec3::new(-half.x, -half.y, 0.0), half];
    add(&mut w, of_colliders(BodyDef::fixed(Shape::HalfSpace), walls(bounds, mu)))?;
    let ball = BodyDef::dynamic(Shape::sphere(r), 0.17).friction(mu);
    let rows = d.whole(1, 4);
    // Touching, or nearly.
    let gap = d.choose(&[0.0, 0.0, 1e-4, 1e-3]);
    let across = 2.0 * r + gap;
    for row in 0..rows {
        for k in 0..=row {
            let at =
                DVec3::new(0.1 + 0.8661 * across * row as f64, across * (k as f64 - 0.5 * row as f64), r);
            add(&mut w, ball.clone().at(at))?;
        }
    }
    let speed = d.range(0.5, 8.0);
    let cue = DVec3::new(-0.3, d.range(-1.5, 1.5) * r, r);
    let rolling = if d.chance(0.5) { DVec3::Y * speed / r } else { DVec3::ZERO };
    add(&mut w, ball.at(cue).moving(DVec3::X * speed, rolling))?;
    Ok(Made::new(w, d.whole(60, 120)).passive().inside(Region::Box { min: bounds[0], max: bounds[1] }))
}

/// Balls thrown into a corner, e about 0.7; half a kilometre above them a body of 1,000 t flies free.
pub(super) fn corner(d: &mut Draw) -> Result<Made, SceneError> {
    let r = d.range(0.05, 0.2);
    let mut w = world(d.choose(&[0.005, 0.01, 0.01]), d.choose(&[0.5, 0.7, 0.7, 0.9, 1.0]))?;
    let mu = d.choose(&[0.0, 0.2, 0.5]);
    floor(&mut w, mu)?;
    for side in [DVec3::X, DVec3::Y] {
        let turn = DQuat::from_rotation_arc(DVec3::Z, side);
        add(&mut w, BodyDef::fixed(Shape::HalfSpace).turned(turn).friction(mu))?;
    }
    let (n, speed) = (d.whole(2, 3), d.range(1.0, 10.0));
    let mut balls = Vec::new();
    for k in 0..n * n * n {
        let cell = DVec3::new((k % n) as f64, (k / n % n) as f64, (k / n / n) as f64);
        let at = 1.5 * r + 2.1 * r * cell + d.in_ball(0.03 * r);
        let ball = BodyDef::solid(Shape::sphere(r), 1000.0).friction(mu).at(at);
        let v = speed * DVec3::new(-1.0, -1.0, -1.0) + d.in_ball(0.1 * speed);
        balls.push(add(&mut w, ball.moving(v, DVec3::ZERO))?);
    }
    let mut groups = vec![balls];
    if d.chance(0.7) {
        let heavy =
            BodyDef::dynamic(Shape::sphere(1.0), d.log_range(1e3, 1e6)).at(DVec3::new(50.0, 50.0, 500.0));
        groups.push(vec![add(&mut w, heavy.moving(DVec3::X * d.range(10.0, 100.0), DVec3::ZERO))?]);
    }
    let region = Region::Box { min: DVec3::ZERO, max: DVec3::INFINITY };
    Ok(Made::new(w, d.whole(30, 60)).passive_groups(groups).inside(region))
}

/// A body at 10 to 300 m/s against a few blocks and a thin plate, in front of a wall that nothing passes.
pub(super) fn projectile(d: &mut Draw) -> Result<Made, SceneError> {
    let mut w = world(d.choose(&[0.001, 0.002, 0.005, 0.01]), d.restitution())?;
    let mu = d.range(0.0, 0.8);
    floor(&mut w, mu)?;
    let wall = Shape::cuboid(DVec3::new(1.0, 20.0, 20.0));
    add(&mut w, BodyDef::fixed(wall).at(DVec3::new(2.0, 0.0, 0.0)).friction(mu))?;
    let half = d.range(0.1, 0.2);
    let block = BodyDef::solid(Shape::cuboid(DVec3::splat(half)), d.log_range(100.0, 5000.0)).friction(mu);
    for k in 0..d.whole(0, 4) {
        add(&mut w, block.clone().at(DVec3::Z * half * (2 * k + 1) as f64))?;
    }
    if d.chance(0.5) {
        let thin = d.range(0.002, 0.02);
        let plate = BodyDef::fixed(Shape::cuboid(DVec3::new(thin, 1.0, 1.0))).friction(mu);
        add(&mut w, plate.at(DVec3::new(0.5, 0.0, 1.0)))?;
    }
    let (size, speed) = (d.range(0.01, 0.08), d.log_range(10.0, 300.0));
    let shape = d.solid(size)?;
    let from = DVec3::new(-2.0, d.range(-0.05, 0.05), d.range(0.1, 0.6));
    let body = BodyDef::dynamic(shape, d.log_range(0.01, 10.0)).friction(mu).at(from).turned(d.rotation());
    add(&mut w, body.moving(DVec3::new(speed, 0.0, d.range(-0.05, 0.05) * speed), d.in_ball(10.0)))?;
    let far = f64::INFINITY;
    let region = Region::Box { min: DVec3::new(-far, -far, 0.0), max: DVec3::new(1.0, far, far) };
    Ok(Made::new(w, d.whole(50, 100)).passive().inside(region))
}

/// A ball with e = 1 falls by about 0.3 m; a pendulum hangs at rest, or swings, 3 m away.
pub(super) fn pendulum_ball(d: &mut Draw) -> Result<Made, SceneError> {
    let mut w = world(d.choose(&[0.005, 0.01, 0.01]), d.choose(&[1.0, 1.0, 0.9]))?;
    floor(&mut w, d.choose(&[0.0, 0.3]))?;
    let (r, drop) = (d.range(0.02, 0.05), d.range(0.2, 0.5));
    let ball = BodyDef::solid(Shape::sphere(r), d.log_range(500.0, 8000.0)).at(DVec3::Z * (r + drop));
    let ball = add(&mut w, ball)?;
    let (top, length) = (DVec3::new(3.0, 0.0, 2.0), d.range(0.3, 1.0));
    let swing = DQuat::from_rotation_y(d.choose(&[0.0, 0.0, 0.5, 1.0]));
    let bob = BodyDef::solid(Shape::sphere(0.1), 1000.0).at(top + swing * DVec3::NEG_Z * length);
    let bob = add(&mut w, bob)?;
    join(&mut w, JointDef::ball(None, bob, top))?;
    let groups = vec![vec![ball], vec![bob]];
    Ok(Made::new(w, 300).passive_groups(groups).inside(Region::above_floor()))
}

/// Newton's cradle, or a worse one: unequal balls with gaps, several of them lifted.
pub(super) fn cradle(d: &mut Draw) -> Result<Made, SceneError> {
    let r = d.range(0.02, 0.05);
    let mut w = world(d.choose(&[0.001, 0.002, 0.005, 0.01]), d.choose(&[1.0, 1.0, 0.9, 0.5]))?;
    let (count, length) = (d.whole(2, 6), d.range(0.2, 0.5));
    let lifted = d.whole(1, count);
    let gap = d.choose(&[0.0, 1e-4, 1e-3]);
    let angle = d.range(0.2, 1.2);
    let unequal = d.chance(0.4);
    for k in 0..count {
        let top = DVec3::new((2.0 * r + gap) * k as f64, 0.0, 0.0);
        // Lifted ones stay parallel: no ball overlaps its neighbour.
        let turn = DQuat::from_rotation_y(if k < lifted && lifted < count { angle } else { 0.0 });
        let mass = if unequal { d.log_range(0.01, 10.0) } else { 0.2 };
        let ball = BodyDef::dynamic(Shape::sphere(r), mass).at(top + turn * DVec3::NEG_Z * length);
        let ball = add(&mut w, ball)?;
        join(&mut w, JointDef::revolute(None, ball, top, DVec3::Y))?;
    }
    Ok(Made::new(w, d.whole(80, 150)).passive())
}
