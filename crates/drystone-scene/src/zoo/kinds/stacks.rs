//! Stacks and walls: ratios of mass and size, and strangers far away.

use drystone::{BodyDef, BodyId, Function, Guide, Settings, Shape, World};
use drystone_solve::FrictionLaw;
use glam::DVec3;

use super::super::place::{add, floor, scatter, world, world_with};
use super::super::{Draw, Made, Region, Twin};
use crate::SceneError;

/// Boxes, cylinders and balls in a stack whose masses are up to a million to one.
pub(super) fn mass_ratio(d: &mut Draw) -> Result<Made, SceneError> {
    let mut w = world(d.step(), 0.0)?;
    let mu = d.friction();
    floor(&mut w, mu)?;
    let (count, ratio) = (d.whole(2, 8), d.log_range(1.0, 1e6));
    let heavy_on_top = d.chance(0.5);
    let mut top = d.choose(&[0.0, 0.0, 0.01]);
    for k in 0..count {
        let half = DVec3::new(d.range(0.3, 0.5), d.range(0.3, 0.5), d.range(0.1, 0.3));
        let shape = if d.chance(0.7) { Shape::cuboid(half) } else { Shape::cylinder(half.x, half.z) };
        let heavy = if heavy_on_top { k + 1 == count } else { d.chance(0.3) };
        let mass = if heavy { ratio } else { 1.0 };
        let shift = d.in_ball(0.02);
        let at = DVec3::new(shift.x, shift.y, top + half.z);
        add(&mut w, BodyDef::dynamic(shape, mass).friction(mu).at(at))?;
        top += 2.0 * half.z;
    }
    Ok(Made::new(w, d.whole(50, 100)).passive().inside(Region::above_floor()))
}

/// Ten boxes in a stack. Spheres at rest 500 m away must not change a bit of their motion.
pub(super) fn far_stack(d: &mut Draw) -> Result<Made, SceneError> {
    let (h, mu, half) = (d.choose(&[0.005, 0.01, 0.01]), d.range(0.3, 0.8), d.range(0.1, 0.5));
    let (count, strangers) = (d.whole(4, 10), d.whole(20, 120));
    let shifts: Vec<DVec3> = (0..count).map(|_| d.in_ball(0.02 * half)).collect();
    let stack = |w: &mut World| -> Result<Vec<BodyId>, SceneError> {
        floor(w, mu)?;
        let block = BodyDef::solid(Shape::cuboid(DVec3::splat(half)), 1000.0).friction(mu);
        let place = |(k, s): (usize, &DVec3)| DVec3::new(s.x, s.y, half * (2 * k + 1) as f64);
        shifts.iter().enumerate().map(|x| add(w, block.clone().at(place(x)))).collect()
    };
    let mut alone = world(h, 0.0)?;
    let theirs = stack(&mut alone)?;
    let mut w = world(h, 0.0)?;
    let ours = stack(&mut w)?;
    let ball = BodyDef::solid(Shape::sphere(0.1), 1000.0).friction(mu);
    let mut far = Vec::new();
    for k in 0..strangers {
        let at = DVec3::new(500.0 + 0.25 * (k % 10) as f64, 0.25 * (k / 10) as f64, 0.1);
        far.push(add(&mut w, ball.clone().at(at))?);
    }
    let bodies = ours.iter().copied().zip(theirs).collect();
    let mut made = Made::new(w, 50).passive_groups(vec![ours, far]).inside(Region::above_floor());
    made.twin = Some(Twin { world: alone, bodies, tolerance: 0.0 });
    Ok(made)
}

/// A wall two blocks wide on a table that tilts to below the angle of friction, under the exact law.
pub(super) fn tilt_wall(d: &mut Draw) -> Result<Made, SceneError> {
    let h = d.choose(&[0.005, 0.01]);
    let settings = Settings { h, model: FrictionLaw::Coulomb, ..Settings::default() };
    let mut w = world_with(settings, 0.0)?;
    let (mu, half) = (d.range(0.4, 0.8), DVec3::new(0.1, 0.1, 0.05));
    let (steps, rows) = (60, d.whole(2, 6));
    // The table turns about the middle of its upper face. A wall so high stands up to a slope of half its
    // width over its height.
    let steepest = (0.8 * mu).min(0.8 * 2.0 * half.x / (half.z * rows as f64));
    let (way, end) = (steepest.atan() * d.range(0.3, 1.0), h * steps as f64);
    let tilt = Function::Ramp { from: 0.0, to: way, start: 0.0, end };
    let table = drystone::Collider {
        local: drystone::Pose::at(DVec3::Z * -0.5),
        ..drystone::Collider::new(Shape::cuboid(DVec3::new(2.0, 2.0, 0.5)), mu)
    };
    let mut body = BodyDef::kinematic(Shape::HalfSpace).guided(Guide::about(DVec3::Y, tilt));
    body.colliders = vec![table];
    add(&mut w, body)?;
    let block = BodyDef::solid(Shape::cuboid(half), 2000.0).friction(mu);
    for row in 0..rows {
        for side in [-1.0, 1.0] {
            let shift = if row % 2 == 0 { 0.0 } else { 0.1 * half.x };
            let at = DVec3::new(side * half.x + shift, 0.0, half.z * (2 * row + 1) as f64);
            add(&mut w, block.clone().at(at))?;
        }
    }
    Ok(Made::new(w, steps))
}

/// Bodies whose sizes are up to 10,000 to one and masses up to a million to one, with small ones on large
/// ones.
pub(super) fn sizes(d: &mut Draw) -> Result<Made, SceneError> {
    let mut w = world(d.choose(&[0.002, 0.005, 0.01]), d.restitution())?;
    let mu = d.friction();
    floor(&mut w, mu)?;
    let big = d.log_range(0.1, 10.0);
    let small = (big * 1e-4).max(1e-3);
    // m ~ size^1.5: 10⁶ over sizes of 10⁴.
    let mass = |size: f64| size * size.sqrt();
    let shape = if d.chance(0.5) {
        Shape::cuboid(DVec3::splat(0.5 * big))
    } else {
        Shape::cylinder(0.5 * big, 0.5 * big)
    };
    let large = BodyDef::dynamic(shape, 1e3 * mass(big)).friction(mu);
    add(&mut w, large.at(DVec3::Z * 0.5 * big))?;
    for layer in 0..d.whole(1, 6) {
        let size = d.log_range(small, 0.3 * big);
        // Over the large one's face, or beside it.
        let beside = d.chance(0.3);
        let from = if beside { DVec3::new(2.0 * big, 0.0, 0.0) } else { DVec3::Z * big };
        let reach = DVec3::new(0.3 * big, 0.3 * big, 0.0);
        let low = from - reach + DVec3::Z * 0.05 * size * layer as f64;
        scatter(
            &mut w,
            d,
            [low - 2.0 * size * DVec3::new(1.0, 1.0, 0.0), low + 2.0 * reach + 6.0 * size],
            1,
            |d| {
                let shape = d.solid(size)?;
                Ok(BodyDef::dynamic(shape, 1e3 * mass(size)).friction(mu))
            },
        )?;
    }
    Ok(Made::new(w, d.whole(50, 100)).passive().inside(Region::above_floor()))
}
