//! Mechanisms that nothing drives.

use drystone::{BodyDef, BodyId, Collider, JointDef, MassProperties, Pose, Shape, World};
use glam::{DQuat, DVec3};

use super::super::place::{add, error, floor, join, world};
use super::super::{Draw, Made, Twin};
use crate::SceneError;

/// Two or three links of about 0.1 m on ball joints or hinges, released about half a radian from upright.
pub(super) fn double_pendulum(d: &mut Draw) -> Result<Made, SceneError> {
    let mut w = world(d.choose(&[0.002, 0.005, 0.01, 0.01]), 0.0)?;
    let (length, thin) = (d.log_range(0.05, 0.5), 0.01);
    let turn = DQuat::from_rotation_y(d.range(0.3, 0.7));
    let (hinges, links) = (d.chance(0.4), d.choose(&[2, 2, 2, 3]));
    // Bars, or balls and short bars in the middle of links without mass: these turn faster.
    let shape = match d.whole(0, 2) {
        0 => Shape::cuboid(DVec3::new(thin, thin, 0.5 * length)),
        1 => Shape::sphere(d.range(0.1, 0.4) * length),
        _ => Shape::cuboid(length * d.point(DVec3::splat(0.05), DVec3::splat(0.3))),
    };
    let mut last: Option<BodyId> = None;
    for k in 0..links {
        let shape = shape.clone();
        let from = turn * DVec3::Z * length * k as f64;
        let body = BodyDef { group: 1, ..BodyDef::solid(shape, 2000.0) };
        let link = add(&mut w, body.at(from + turn * DVec3::Z * 0.5 * length).turned(turn))?;
        let joint = if hinges {
            JointDef::revolute(last, link, from, DVec3::Y)
        } else {
            JointDef::ball(last, link, from)
        };
        join(&mut w, joint)?;
        last = Some(link);
    }
    Ok(Made::new(w, 300).passive())
}

/// Head, body, two arms and two legs of two parts each, on hinges and universal joints with limits.
pub(super) fn ragdoll(d: &mut Draw) -> Result<Made, SceneError> {
    let mut w = world(d.choose(&[0.005, 0.01, 0.01]), 0.0)?;
    let mu = d.range(0.2, 1.0);
    floor(&mut w, mu)?;
    let e = d.choose(&[0.0, 0.0, 0.3, 1.0]);
    let (turn, up) = (d.rotation(), DVec3::Z * d.range(1.2, 2.0));
    let place = |p: DVec3| up + turn * p;
    let thrown = d.in_ball(3.0);
    let part = |w: &mut World, shape: Shape, at: DVec3, along: DVec3| {
        let body = BodyDef { group: 1, ..BodyDef::solid(shape, 1000.0) };
        let lie = DQuat::from_rotation_arc(DVec3::Z, along);
        add(w, body.friction(mu).at(place(at)).turned(turn * lie).moving(thrown, DVec3::ZERO))
    };
    let chest = part(&mut w, Shape::cuboid(DVec3::new(0.1, 0.18, 0.28)), DVec3::ZERO, DVec3::Z)?;
    let head = part(&mut w, Shape::sphere(0.12), DVec3::Z * 0.42, DVec3::Z)?;
    let neck = JointDef::universal(chest, head, place(DVec3::Z * 0.3), turn * DVec3::X, turn * DVec3::Y);
    join(&mut w, neck.limits(0, -0.5, 0.5, e).limits(1, -0.5, 0.5, e))?;
    for side in [-1.0, 1.0] {
        let y = DVec3::Y * side;
        let arm = Shape::capsule(0.05, 0.1);
        let upper = part(&mut w, arm.clone(), 0.38 * y + DVec3::Z * 0.2, y)?;
        let lower = part(&mut w, arm, 0.7 * y + DVec3::Z * 0.2, y)?;
        let shoulder = place(0.22 * y + DVec3::Z * 0.2);
        let joint = JointDef::universal(chest, upper, shoulder, turn * DVec3::X, turn * DVec3::Z);
        join(&mut w, joint.limits(0, -1.2, 1.2, e).limits(1, -1.0, 1.0, e))?;
        let elbow = place(0.54 * y + DVec3::Z * 0.2);
        join(&mut w, JointDef::revolute(upper, lower, elbow, turn * DVec3::Z).limits(0, -1.5, 1.5, e))?;
        let leg = Shape::capsule(0.07, 0.15);
        let thigh = part(&mut w, leg.clone(), 0.1 * y - DVec3::Z * 0.55, DVec3::NEG_Z)?;
        let shin = part(&mut w, leg, 0.1 * y - DVec3::Z * 1.0, DVec3::NEG_Z)?;
        let hip = place(0.1 * y - DVec3::Z * 0.3);
        let joint = JointDef::universal(chest, thigh, hip, turn * DVec3::X, turn * DVec3::Y);
        join(&mut w, joint.limits(0, -0.5, 0.5, e).limits(1, -1.2, 1.2, e))?;
        let knee = place(0.1 * y - DVec3::Z * 0.78);
        join(&mut w, JointDef::revolute(thigh, shin, knee, turn * DVec3::Y).limits(0, -0.1, 2.0, e))?;
    }
    Ok(Made::new(w, 100).passive())
}

/// Flaps on hinges or sliders that bounce between limits with restitution 0 to 1, alone or in a chain.
pub(super) fn flaps(d: &mut Draw) -> Result<Made, SceneError> {
    let h = d.step();
    let mut w = world(h, 0.0)?;
    let (count, chain) = (d.whole(1, 4), d.chance(0.4));
    let mut last: Option<BodyId> = None;
    for k in 0..count {
        let e = d.choose(&[0.0, 0.5, 0.9, 1.0, 1.0]);
        let half = DVec3::new(d.range(0.05, 0.3), d.range(0.02, 0.2), d.range(0.005, 0.02));
        let (lower, upper) = (-d.range(0.1, 1.5), d.range(0.1, 1.5));
        let apart = if chain { DVec3::ZERO } else { DVec3::Y * 3.0 * k as f64 };
        let from = match last {
            Some(id) if chain => w.position(id).map_err(error)? + DVec3::X * 0.35,
            _ => apart,
        };
        let spin = DVec3::Y * d.range(-0.3, 0.3) / h.max(0.005);
        let body = BodyDef { group: 1, ..BodyDef::solid(Shape::cuboid(half), 1000.0) };
        let body = body.at(from + DVec3::X * half.x);
        let slides = !chain && d.chance(0.25);
        let body = if slides {
            body.moving(DVec3::X * d.range(-5.0, 5.0), DVec3::ZERO)
        } else if chain {
            body
        } else {
            // About the hinge, not about its own middle.
            body.moving(spin.cross(DVec3::X * half.x), spin)
        };
        let flap = add(&mut w, body)?;
        let onto = if chain { last } else { None };
        let joint = if slides {
            JointDef::prismatic(onto, flap, from, DVec3::X)
        } else {
            JointDef::revolute(onto, flap, from, DVec3::Y)
        };
        let joint = joint.limits(0, lower, upper, e);
        let joint = if d.chance(0.3) { joint.spring(0, 0.0, d.log_range(0.1, 100.0), 0.0) } else { joint };
        join(&mut w, joint)?;
        last = Some(flap);
    }
    Ok(Made::new(w, d.whole(80, 150)).passive())
}

/// A bar on a hinge with a little friction, locked to the plane in which it swings anyway; its twin is not
/// locked.
pub(super) fn planar_hinge(d: &mut Draw) -> Result<Made, SceneError> {
    let (h, length) = (d.choose(&[0.002, 0.005, 0.01]), d.range(0.2, 1.0));
    let friction = d.choose(&[0.0, 0.001, 0.001, 0.01]);
    let turn = DQuat::from_rotation_y(d.range(0.3, 2.5));
    let limited = d.chance(0.3);
    let shape = Shape::cuboid(DVec3::new(0.02, 0.02, 0.5 * length));
    let build = |locked: bool| -> Result<(World, BodyId), SceneError> {
        let mut w = world(h, 0.0)?;
        let body = BodyDef::solid(shape.clone(), 1000.0).at(turn * DVec3::NEG_Z * 0.5 * length).turned(turn);
        let bar = add(&mut w, if locked { body.planar(DVec3::Y) } else { body })?;
        let joint = JointDef::revolute(None, bar, DVec3::ZERO, DVec3::Y).friction(0, friction);
        join(&mut w, if limited { joint.limits(0, -2.0, 2.0, 0.0) } else { joint })?;
        Ok((w, bar))
    };
    let ((w, bar), (free, other)) = (build(true)?, build(false)?);
    let mut made = Made::new(w, 60).passive();
    made.twin = Some(Twin { world: free, bodies: vec![(bar, other)], tolerance: 0.02 * length });
    Ok(made)
}

/// A sleeve with play falls along a pole in jerks, because the mass on its hinge swings and jams it: a
/// woodpecker toy.
pub(super) fn sleeve(d: &mut Draw) -> Result<Made, SceneError> {
    let mut w = world(d.choose(&[0.001, 0.001, 0.002, 0.005]), 0.0)?;
    let (r, mu, locked) = (0.0025, d.range(0.1, 0.6), d.chance(0.4));
    let play = d.range(0.05, 0.3) * r;
    add(&mut w, BodyDef::fixed(Shape::cuboid(DVec3::new(r, r, 2.0))).friction(mu))?;
    // Two cheeks of one body.
    let (thick, high, wide) = (r, d.range(2.0, 4.0) * r, 2.0 * r);
    let cheek = |side: f64| Collider {
        local: Pose::at(DVec3::X * side * (r + play + thick)),
        ..Collider::new(Shape::cuboid(DVec3::new(thick, wide, high)), mu)
    };
    let mass = d.range(0.0003, 0.003);
    let moments = mass * 25.0 * r * r * DVec3::ONE;
    let plane = |body: BodyDef| if locked { body.planar(DVec3::Y) } else { body };
    let mut body = plane(BodyDef::bare(MassProperties::principal(mass, moments)));
    body.colliders = vec![cheek(-1.0), cheek(1.0)];
    let ring = add(&mut w, body)?;
    let arm = d.range(5.0, 8.0) * r;
    let bird = plane(BodyDef::bare(MassProperties::principal(0.0045, DVec3::splat(7e-7))));
    let spin = DVec3::Y * d.range(-10.0, 10.0);
    let bird = add(&mut w, bird.at(DVec3::X * 2.0 * arm).moving(spin.cross(DVec3::X * arm), spin))?;
    let hinge = JointDef::revolute(ring, bird, DVec3::X * arm, DVec3::Y);
    join(&mut w, hinge.spring(0, 0.0, 0.0056, 0.0))?;
    Ok(Made::new(w, d.whole(80, 150)).passive())
}
