//! Fast bodies do not pass through thin ones: contacts are looked for as far ahead as the approach speed
//! reaches.

use drystone::{BodyDef, BodyId, PairLaw, Settings, Shape, World};
use glam::{DQuat, DVec3};

use crate::common::{add, world};

/// Half the thickness of the plate: 1 cm in all.
const THIN: f64 = 0.005;
const PLATE: DVec3 = DVec3::new(5.0, 5.0, THIN);
const SPEED: f64 = 100.0;

#[derive(Clone, Copy, Debug)]
enum Plate {
    Static,
    Floating,
}

/// At h = 10 ms a body at 100 m/s covers a metre a step, a hundred times the plate.
fn shot(plate: Plate, body: BodyDef) -> (World, BodyId, BodyId) {
    let mut w = world(Settings { gravity: DVec3::ZERO, iterations: 1000, ..Settings::default() });
    let shape = Shape::Box { half: PLATE };
    let plate = match plate {
        Plate::Static => BodyDef::fixed(shape),
        Plate::Floating => BodyDef::dynamic(shape, 10.0),
    };
    let plate = add(&mut w, plate.friction(0.3));
    let body = add(&mut w, body.friction(0.3));
    (w, plate, body)
}

/// Whether the body's centre crossed the plate's midplane inside its outline, and the deepest overlap, over
/// 15 steps.
fn shoot(w: &mut World, plate: BodyId, body: BodyId) -> (bool, f64) {
    let seen = |w: &World| {
        let from = w.position(body).unwrap() - w.position(plate).unwrap();
        w.rotation(plate).unwrap().conjugate() * from
    };
    let (mut last, mut overlap) = (seen(w), 0.0f64);
    for _ in 0..15 {
        w.step().unwrap();
        let now = seen(w);
        overlap = overlap.max(-w.distance(plate, body).unwrap());
        if last.z * now.z <= 0.0 {
            let at = last.lerp(now, last.z / (last.z - now.z));
            if at.x.abs() < PLATE.x && at.y.abs() < PLATE.y {
                return (true, overlap);
            }
        }
        last = now;
    }
    (false, overlap)
}

/// The deepest overlap.
fn assert_stops(what: &str, plate: Plate, def: BodyDef) -> f64 {
    let (mut w, p, b) = shot(plate, def);
    let (passed, overlap) = shoot(&mut w, p, b);
    assert!(!passed, "{what} passed a {plate:?} plate");
    overlap
}

fn direction(from_normal_degrees: f64) -> DVec3 {
    DQuat::from_rotation_y(from_normal_degrees.to_radians()) * DVec3::NEG_Z
}

#[test]
fn fast_ball_never_passes_a_thin_plate() {
    let (mut shots, mut deepest) = (0, [0.0f64; 2]);
    for radius in [0.005, 0.02, 0.1] {
        for degrees in [0.0, 20.0, 45.0, 70.0, 85.0] {
            for offset in 0..10 {
                // Starts at every tenth of the way of one step, so that it meets the plate anywhere in a
                // step.
                let way = 0.6 + 0.1 * offset as f64;
                let v = SPEED * direction(degrees);
                let start = DVec3::Z * (THIN + radius) - 0.01 * v * way + DVec3::new(0.13, -0.2, 0.0);
                for (k, plate) in [Plate::Static, Plate::Floating].into_iter().enumerate() {
                    let ball =
                        BodyDef::dynamic(Shape::Sphere { radius }, 1.0).at(start).moving(v, DVec3::ZERO);
                    let what = format!("ball r {radius}, {degrees}°, offset {offset}");
                    let overlap = assert_stops(&what, plate, ball);
                    deepest[k] = deepest[k].max(overlap / radius);
                    shots += 1;
                }
            }
        }
    }
    println!(
        "{shots} shots; deepest overlap over the radius: static {:.1e}, floating {:.1e}",
        deepest[0], deepest[1]
    );
    assert!(deepest[0] < 1e-3, "static plate: overlap {} of the radius", deepest[0]);
}

#[test]
fn fast_ball_never_passes_the_rim_of_a_plate() {
    // Aimed at the rim from outside: the plane between the two keeps it on its side.
    for k in 0..20 {
        let x = 4.9 + 0.01 * k as f64;
        let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.02 }, 1.0);
        let ball = ball.at(DVec3::new(x, 0.0, 0.83)).moving(DVec3::new(-5.0, 0.0, -SPEED), DVec3::ZERO);
        assert_stops(&format!("ball at x = {x}"), Plate::Static, ball);
    }
}

/// Head-on at 200 m/s, up to half a radius off centre. They may glance off each other, never overlap or swap.
#[test]
fn two_fast_balls_never_pass_each_other() {
    let radius = 0.02;
    for k in 0..20 {
        let mut w = world(Settings { gravity: DVec3::ZERO, ..Settings::default() });
        let (x, off) = (0.55 + 0.05 * k as f64, 0.0005 * k as f64);
        let ball = |s: f64| {
            BodyDef::dynamic(Shape::Sphere { radius }, 1.0).moving(DVec3::X * SPEED * s, DVec3::ZERO)
        };
        let a = add(&mut w, ball(1.0).at(DVec3::new(-x, 0.0, 0.0)));
        let b = add(&mut w, ball(-1.0).at(DVec3::new(x, off, 0.0)));
        for _ in 0..4 {
            w.step().unwrap();
            let gap = w.distance(a, b).unwrap();
            assert!(gap > -1e-4 * radius, "shot {k}: overlap {gap}");
        }
        // What is left is along their tangent plane; without the contact they would close at 200 m/s.
        let closing = (w.velocity(a).unwrap() - w.velocity(b).unwrap()).length();
        assert!(closing < 0.5 * SPEED, "shot {k}: still closing at {closing}");
    }
}

#[test]
fn fast_box_and_capsule_flat_on_never_pass_a_thin_plate() {
    let half = DVec3::new(0.1, 0.15, 0.05);
    for offset in 0..10 {
        for plate in [Plate::Static, Plate::Floating] {
            let z = 0.65 + 0.1 * offset as f64;
            let v = DVec3::NEG_Z * SPEED;
            let cuboid = BodyDef::dynamic(Shape::Box { half }, 1.0).at(DVec3::Z * z).moving(v, DVec3::ZERO);
            assert_stops(&format!("box at {z}"), plate, cuboid);
            let capsule = Shape::Capsule { radius: 0.04, half_length: 0.1 };
            for turn in [DQuat::IDENTITY, DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2)] {
                let capsule = BodyDef::dynamic(capsule.clone(), 1.0).at(DVec3::Z * z).turned(turn);
                assert_stops(&format!("capsule at {z}, {turn}"), plate, capsule.moving(v, DVec3::ZERO));
            }
        }
    }
}

#[test]
fn fast_box_and_capsule_in_any_pose_never_pass_a_thin_plate() {
    let mut random = drystone::random::Random::new(7);
    let mut passed = [0; 2];
    for _ in 0..100 {
        let turn = random.rotation();
        let z = random.range(0.4, 1.6);
        for (k, shape) in [
            Shape::Box { half: DVec3::new(0.1, 0.15, 0.05) },
            Shape::Capsule { radius: 0.04, half_length: 0.1 },
        ]
        .into_iter()
        .enumerate()
        {
            let body = BodyDef::dynamic(shape, 1.0).at(DVec3::Z * z).turned(turn);
            let (mut w, p, b) = shot(Plate::Static, body.moving(DVec3::NEG_Z * SPEED, DVec3::ZERO));
            passed[k] += shoot(&mut w, p, b).0 as usize;
        }
    }
    assert_eq!(passed, [0, 0], "boxes and capsules that passed, of 100 each");
}

/// What a hit sets moving within a step meets its next neighbour in the step after, deep in it: the report
/// says so.
#[test]
fn deep_overlaps_are_told() {
    let mut w = world(Settings { gravity: DVec3::ZERO, ..Settings::default() });
    let ball = |x: f64| BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).at(DVec3::X * x);
    let [one, other] = [0.0, 0.12].map(|x| add(&mut w, ball(x)));
    let deep = w.step().unwrap().deep.expect("they were put into each other");
    assert_eq!(
        [deep.bodies[0].min(deep.bodies[1]), deep.bodies[0].max(deep.bodies[1])],
        [one.slot, other.slot]
    );
    assert!(deep.size == 0.1 && deep.depth > 0.07, "{deep:?}");
}

/// A ball that is hit is thrown towards a third one, which it had no contact with: it hits that in the same
/// step.
#[test]
fn a_blow_does_not_throw_through_others() {
    for speed in [30.0, 100.0] {
        let mut w = world(Settings { gravity: DVec3::ZERO, ..Settings::default() });
        let ball = |x: f64, mass: f64| BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, mass).at(DVec3::X * x);
        let shot = add(&mut w, ball(-0.5, 10.0).moving(DVec3::X * speed, DVec3::ZERO));
        let [hit, next] = [0.0, 0.25].map(|x| add(&mut w, ball(x, 1.0)));
        for _ in 0..6 {
            assert_eq!(w.step().unwrap().deep, None);
            let [a, b, c] = [shot, hit, next].map(|id| w.position(id).unwrap().x);
            assert!(b - a > 0.199 && c - b > 0.199, "{a} {b} {c}");
        }
        let momentum = 10.0 * w.velocity(shot).unwrap().x
            + [hit, next].map(|id| w.velocity(id).unwrap().x).iter().sum::<f64>();
        assert!((momentum - 10.0 * speed).abs() < 1e-9 * speed && w.velocity(next).unwrap().x > 0.5 * speed);
    }
}

/// A ball that runs along a plate by more than its thickness in a step and hits it leaves by the plate's
/// normal, whatever the way to its middle.
#[test]
fn a_fast_ball_bounces_off_the_face_that_it_hits() {
    let off = PairLaw { restitution: 1.0, ..PairLaw::default() };
    for h in [0.005, 0.01, 0.02, 0.04] {
        let mut w = world(Settings { h, gravity: DVec3::ZERO, ..Settings::default() });
        w.materials_mut().set_other(off).unwrap();
        add(
            &mut w,
            BodyDef::fixed(Shape::cuboid(DVec3::new(0.14, 0.14, 0.02))).friction(0.0).at(DVec3::Z * 0.12),
        );
        let ball = BodyDef::dynamic(Shape::sphere(0.01), 1.0).at(DVec3::new(-0.05, -0.02, 0.09));
        let ball = add(&mut w, ball.friction(0.0).moving(DVec3::new(3.0, 2.0, 1.0), DVec3::ZERO));
        w.step().unwrap();
        let v = w.velocity(ball).unwrap();
        assert!(v.distance(DVec3::new(3.0, 2.0, -1.0)) < 1e-3, "h = {h}: {v}");
    }
}
