//! Samples of grains under load.

use drystone::{BodyDef, Collider, Function, Guide, JointDef, MassProperties, Motor, Pose, Settings, Shape};
use glam::DVec3;

use super::super::place::{add, floor, join, of_colliders, world, world_with};
use super::super::{Draw, Made};
use crate::SceneError;

/// Grains in a box that is cut at half their height: the upper frame moves, a plate with a multiple of their
/// weight lies on them.
pub(super) fn shear(d: &mut Draw) -> Result<Made, SceneError> {
    let h = d.choose(&[0.002, 0.002, 0.005]);
    let mut w = world(h, 0.0)?;
    let (r, mu) = (0.01, d.range(0.2, 0.8));
    let (n, layers) = (d.whole(2, 3), d.whole(2, 3));
    let pitch = 2.02 * r;
    // Cut between two layers: through the middle of one, its grains stand in both halves, and the row of
    // them is as long as the box is wide, so that the halves cannot move apart without crushing it.
    let (half, cut) = (0.5 * pitch * n as f64, pitch * (layers / 2) as f64);
    floor(&mut w, mu)?;
    let thick = 6.0 * r;
    let side = |z: f64, up: f64| -> Vec<Collider> {
        let ways = [DVec3::X, DVec3::NEG_X, DVec3::Y, DVec3::NEG_Y];
        ways.map(|way| {
            let across = DVec3::new(way.y, way.x, 0.0).abs() * (half + thick) + way.abs() * 0.5 * thick;
            let local = Pose::at(way * (half + 0.5 * thick) + DVec3::Z * z);
            Collider { local, ..Collider::new(Shape::cuboid(across + DVec3::Z * up), mu) }
        })
        .into()
    };
    add(&mut w, of_colliders(BodyDef::fixed(Shape::HalfSpace), side(0.5 * cut, 0.5 * cut)))?;
    let (steps, speed) = (d.whole(60, 100), d.range(0.02, 0.2));
    let end = h * steps as f64;
    // No further than that grains can still give way upwards.
    let to = (0.8 * speed * end).min(0.6 * half);
    let way = Function::Ramp { from: 0.0, to, start: 0.2 * end, end };
    let frame = BodyDef::kinematic(Shape::HalfSpace).guided(Guide::along(DVec3::X, way));
    let up = 0.5 * cut + 4.0 * r;
    add(&mut w, of_colliders(frame, side(cut + up, up)))?;
    let ball = BodyDef::solid(Shape::sphere(r), 2500.0).friction(mu);
    let grains = n * n * layers;
    for k in 0..grains {
        let cell = DVec3::new((k % n) as f64, (k / n % n) as f64, (k / n / n) as f64) + 0.5;
        let at = pitch * cell - DVec3::new(half, half, 0.0);
        add(&mut w, ball.clone().at(at))?;
    }
    let weight = d.log_range(1.0, 30.0) * grains as f64 * ball.mass.mass;
    // So hard to turn that it stays level; smooth, because it is the frame that shears.
    let level = MassProperties::principal(weight, DVec3::splat(1e4 * weight * half * half));
    let plate = Shape::cuboid(DVec3::new(half - 0.2 * r, half - 0.2 * r, r));
    let at = DVec3::Z * (pitch * layers as f64 + r);
    add(&mut w, BodyDef::dynamic(plate, weight).mass(level).at(at))?;
    Ok(Made::new(w, steps))
}

/// A cube of grains without gravity between six plates on sliders, each pushed by a force.
pub(super) fn triaxial(d: &mut Draw) -> Result<Made, SceneError> {
    let h = d.choose(&[0.001, 0.002, 0.005]);
    let mut w = world_with(Settings { h, gravity: DVec3::ZERO, ..Settings::default() }, 0.0)?;
    let (r, mu, n) = (0.01, d.range(0.2, 0.8), d.whole(2, 3));
    let pitch = 2.02 * r;
    let half = 0.5 * pitch * n as f64;
    let ball = BodyDef::solid(Shape::sphere(r), 2500.0).friction(mu);
    for k in 0..n * n * n {
        let cell = DVec3::new((k % n) as f64, (k / n % n) as f64, (k / n / n) as f64) + 0.5;
        add(&mut w, ball.clone().at(pitch * cell - half + d.in_ball(0.009 * r)))?;
    }
    let force = d.log_range(0.1, 100.0);
    let axial = d.range(1.0, 4.0);
    for axis in DVec3::AXES {
        for side in [axis, -axis] {
            // Plates pass each other: they are wider than the sample and collide with the grains alone.
            let shape = Shape::cuboid(axis * 2.0 * r + (DVec3::ONE - axis) * (half + 4.0 * r));
            let plate = BodyDef { group: 1, ..BodyDef::solid(shape, 7800.0) };
            let at = side * (half + 2.0 * r);
            let plate = add(&mut w, plate.at(at))?;
            let push = if axis == DVec3::Z { axial * force } else { force };
            let slider = JointDef::prismatic(None, plate, at, -side).motor(0, Motor::force(push));
            join(&mut w, slider)?;
        }
    }
    Ok(Made::new(w, d.whole(50, 80)))
}
