//! Bodies that spin fast: their contacts move over them within a step.

use std::f64::consts::FRAC_PI_2;

use drystone::{BodyDef, Settings, Shape, World};
use glam::{DQuat, DVec3};

use crate::common::{add, world};

/// Eggs, pills and coins that spin on a table. Taken where they were when a step began, their contacts let
/// them sink in, and each correction lifts them by a little: the egg had 161 J after 20 s.
#[test]
fn spinning_on_a_table_makes_no_energy() {
    let lying = DQuat::from_rotation_y(FRAC_PI_2);
    let egg = Shape::Ellipsoid { half: DVec3::new(0.3, 0.1, 0.1) };
    let pill = Shape::Capsule { radius: 0.1, half_length: 0.2 };
    let coin = Shape::Cylinder { radius: 0.2, half_length: 0.03 };
    for (name, shape, turn) in
        [("egg", egg, DQuat::IDENTITY), ("pill", pill, lying), ("coin", coin, DQuat::IDENTITY)]
    {
        for (speed, h, mu) in [(20.0, 0.01, 0.0), (40.0, 0.01, 0.0), (40.0, 0.005, 0.0), (40.0, 0.005, 0.1)] {
            let mut w = world(Settings { h, ..Settings::default() });
            add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(mu));
            let tilt = DQuat::from_rotation_y(30f64.to_radians());
            let omega = speed * DVec3::new(0.0, 0.28, 0.96);
            let def = BodyDef::dynamic(shape.clone(), 1.0).at(DVec3::Z * 0.31).turned(tilt * turn);
            add(&mut w, def.moving(DVec3::ZERO, omega).friction(mu));
            let after = |w: &mut World, seconds: f64| {
                (0..(seconds / h) as usize).fold(f64::MIN, |most, _| {
                    w.step().unwrap();
                    most.max(w.energy().total())
                })
            };
            let start = w.energy().total();
            assert!(after(&mut w, 1.0) <= 1.01 * start, "{name} at {speed} rad/s, {h} s, μ = {mu}");
            let landed = w.energy().total();
            let most = after(&mut w, 4.0);
            let end = w.energy().total();
            println!(
                "{name}, {speed} rad/s, {h} s, μ = {mu}: {start:.2} J, {landed:.2} after 1 s, {end:.2} after 5"
            );
            assert!(
                most <= 1.01 * landed,
                "{name} at {speed} rad/s, {h} s, μ = {mu}: {landed} J, then {most} J"
            );
            if name == "egg" && mu == 0.0 {
                assert!(end >= 0.85 * landed, "nothing brakes it: {landed} J, then {end} J");
            }
        }
    }
}

/// A thin rod that turns by half a radian in a step does not find itself on the other side of a post.
#[test]
fn what_turns_far_does_not_turn_through() {
    for angle in [0.3, 0.45, 0.6, 0.8] {
        let mut w = world(Settings { h: 0.005, gravity: DVec3::ZERO, ..Settings::default() });
        let at = DQuat::from_rotation_z(angle) * DVec3::X * 0.35;
        add(&mut w, BodyDef::fixed(Shape::Cylinder { radius: 0.01, half_length: 0.2 }).at(at));
        let rod = BodyDef::dynamic(Shape::Capsule { radius: 0.005, half_length: 0.5 }, 1.0);
        let rod = rod.turned(DQuat::from_rotation_y(FRAC_PI_2)).moving(DVec3::ZERO, DVec3::Z * 100.0);
        let rod = add(&mut w, rod);
        for step in 0..2 {
            w.step().unwrap();
            let (x, q) = (w.position(rod).unwrap(), w.rotation(rod).unwrap());
            let side = (q * DVec3::Z).cross(at - x).z;
            assert!(side > 0.0, "post at {angle} rad, step {step}: the axis is {side:.3} m before it");
        }
    }
}

/// What rolls loses by the rule for those who spin: it must not be under it. A coin that leans and rolls in a
/// circle.
#[test]
fn rolling_coins_keep_their_energy() {
    let mut w = world(Settings { h: 0.005, ..Settings::default() });
    add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(1.0));
    let (radius, half_length) = (0.2, 0.01);
    let upright = DQuat::from_rotation_y(FRAC_PI_2);
    let lean = DQuat::from_rotation_y(10f64.to_radians());
    let coin = BodyDef::dynamic(Shape::Cylinder { radius, half_length }, 1.0).turned(lean * upright);
    let coin = coin.at(DVec3::Z * (radius + half_length)).friction(1.0);
    let coin = coin.moving(DVec3::Y * -10.0 * radius, lean * DVec3::X * 10.0);
    add(&mut w, coin);
    let after = |w: &mut World, steps: usize| {
        (0..steps).for_each(|_| {
            w.step().unwrap();
        });
        w.energy().total()
    };
    let start = after(&mut w, 40);
    let end = after(&mut w, 600);
    println!("{start:.3} J, {end:.3} J three seconds later");
    assert!(end >= 0.9 * start && end <= 1.001 * start, "{start} J, then {end} J");
}

/// Nor must what rocks: its energy, as steps see it, swings with its phase, and that is no gain. (What is
/// left here is lost by coarse steps.)
#[test]
fn rocking_is_not_braked() {
    for (h, keeps) in [(0.01, 0.55), (0.005, 0.7)] {
        let (half, angle) = (DVec3::new(0.3, 0.1, 0.1), 10f64.to_radians());
        let mut w = world(Settings { h, ..Settings::default() });
        add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(1.0));
        let height = f64::hypot(half.x * angle.sin(), half.z * angle.cos());
        let egg = BodyDef::dynamic(Shape::Ellipsoid { half }, 1.0).friction(1.0);
        let egg = add(&mut w, egg.at(DVec3::Z * height).turned(DQuat::from_rotation_y(angle)));
        let mut largest = 0.0f64;
        for step in 0..(4.0 / h) as usize {
            w.step().unwrap();
            let axis = w.rotation(egg).unwrap() * DVec3::X;
            if step as f64 * h > 3.2 {
                largest = largest.max(axis.z.abs().asin());
            }
        }
        println!("h = {h} s: {:.3} of its first swing", largest / angle);
        assert!(largest > keeps * angle, "h = {h} s: {:.3} of its first swing", largest / angle);
    }
}
