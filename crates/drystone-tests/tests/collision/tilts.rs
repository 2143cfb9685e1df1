//! Faces that lie over each other all but parallel and all but flush, as in anything stacked.

use std::f64::consts::TAU;

use drystone::random::Random;
use drystone::shape::{Pose, Shape};
use glam::{DQuat, DVec3};

use crate::checks::{Case, check_case};

/// Tilts of 1e-12 to 1e-4 rad, sides flush or off by 1e-12 to 1e-2, gaps and overlaps as small or none.
#[test]
fn all_but_parallel() {
    for seed in 0..6000 {
        let case = draw(&mut Random::new(seed));
        check_case(&case).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

fn draw(random: &mut Random) -> Case {
    let (a, half_a) = shape(random);
    let (b, half_b) = if random.range(0.0, 1.0) < 0.5 { (a.clone(), half_a) } else { shape(random) };
    let mut place = DVec3::ZERO;
    for k in 0..3 {
        // Side by side, flush, or anywhere between; above each other in z.
        let way = if k == 2 { 0.0 } else { random.range(0.0, 4.0) };
        place[k] = if way < 1.0 {
            half_a[k] + half_b[k]
        } else if way < 2.0 {
            half_a[k] - half_b[k]
        } else {
            random.range(-1.0, 1.0) * (half_a[k] + half_b[k])
        };
        place[k] += small(random, -12.0, -2.0);
    }
    let quarter = (random.range(0.0, 4.0)).floor() * TAU / 4.0;
    let eighth = if random.range(0.0, 1.0) < 0.2 { TAU / 8.0 } else { 0.0 };
    let turn = DQuat::from_rotation_z(quarter + eighth);
    let tilt = DQuat::from_scaled_axis(random.unit_vector() * small(random, -12.0, -4.0));
    let reach = if random.range(0.0, 1.0) < 0.5 { 0.0 } else { f64::INFINITY };
    Case { a, pose_a: Pose::new(DVec3::ZERO, tilt * turn), b, pose_b: Pose::at(-place), reach }
}

/// Zero, or of either sign with an exponent between two.
fn small(random: &mut Random, least: f64, most: f64) -> f64 {
    let side = random.range(-1.0, 1.0);
    let size = 10_f64.powf(random.range(least, most));
    if side.abs() < 0.25 { 0.0 } else { size * side.signum() }
}

/// A shape that stands on a flat face and has one above, but for cones, and half its sides.
fn shape(random: &mut Random) -> (Shape, DVec3) {
    let size = 10_f64.powf(random.range(-1.0, 2.0));
    let mut side = || size * 0.5_f64.powf(random.range(0.0, 3.0).floor());
    let (x, y, z) = (side(), side(), side());
    let kind = random.range(0.0, 4.0);
    if kind < 2.0 {
        (Shape::Box { half: DVec3::new(x, y, z) }, DVec3::new(x, y, z))
    } else if kind < 3.0 {
        (Shape::Cylinder { radius: x, half_length: z }, DVec3::new(x, x, z))
    } else {
        (Shape::Cone { radius: x, height: 4.0 * z }, DVec3::new(x, x, z))
    }
}
