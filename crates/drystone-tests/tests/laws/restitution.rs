//! Hits that bounce.

use std::f64::consts::FRAC_PI_2;

use drystone::{BodyDef, Impact, PairLaw, Settings, Shape, World};
use glam::{DQuat, DVec3};

use crate::common::{G, add, midpoint, run, world, world_with};

const R: f64 = 0.1;
const H0: f64 = 1.0;

fn bouncy(e: f64) -> PairLaw {
    PairLaw { restitution: e, ..PairLaw::default() }
}

fn with_ball(mut w: World) -> World {
    add(&mut w, BodyDef::dynamic(Shape::Sphere { radius: R }, 2.0).at(DVec3::Z * (R + H0)));
    add(&mut w, BodyDef::fixed(Shape::HalfSpace));
    w
}

/// Heights of the first apexes after the fall, and when the ball last moved, s.
fn flights(mut w: World, seconds: f64) -> (Vec<f64>, f64) {
    let (mut apexes, mut last, mut moved) = (Vec::new(), 0.0, 0.0);
    let mut rising = false;
    while w.state().time < seconds {
        w.step().unwrap();
        let (z, v) = (w.state().position[0].z - R, w.state().velocity[0].z);
        if v <= 0.0 && rising {
            apexes.push(f64::max(last, z));
        }
        (rising, last) = (v > 0.0, z);
        if v.abs() > 1e-9 {
            moved = w.state().time;
        }
    }
    (apexes, moved)
}

/// Apex n is e^(2n) h0; at rest at √(2 h0/g) (1 + e)/(1 - e).
#[test]
fn bouncing_ball() {
    for (name, make) in [("euler", world as fn(f64, PairLaw) -> World), ("midpoint", midpoint)] {
        for impact in [Impact::Newton, Impact::Poisson] {
            for e in [0.5, 0.8] {
                let law = PairLaw { impact, ..bouncy(e) };
                let rest = (2.0 * H0 / G).sqrt() * (1.0 + e) / (1.0 - e);
                let (apexes, moved) = flights(with_ball(make(2e-4, law)), 1.2 * rest);
                for (n, apex) in apexes.iter().take(3).enumerate() {
                    let exact = H0 * e.powi(2 * (n as i32 + 1));
                    let error = (apex / exact - 1.0).abs();
                    assert!(error < 0.005, "{name}, {impact:?}, e {e}, apex {n}: {apex} for {exact}");
                }
                assert!(apexes.len() >= 3);
                assert!((moved / rest - 1.0).abs() < 0.01, "{name}, {impact:?}, e {e}: {moved} for {rest} s");
            }
        }
    }
}

/// Two balls in flight: momentum is kept, and the relative speed falls by e, whatever the masses.
#[test]
fn balls_in_flight() {
    for impact in [Impact::Newton, Impact::Poisson] {
        let settings = Settings { gravity: DVec3::ZERO, h: 1e-3, tolerance: 1e-12, ..Settings::default() };
        let mut w = world_with(settings, PairLaw { impact, ..bouncy(0.6) });
        let ball = |m: f64, x: f64, v: f64| {
            BodyDef::dynamic(Shape::Sphere { radius: R }, m)
                .at(DVec3::X * x)
                .moving(DVec3::X * v, DVec3::ZERO)
        };
        add(&mut w, ball(1.0, -0.5, 2.0));
        add(&mut w, ball(3.0, 0.5, -1.0));
        run(&mut w, 0.5);
        let [a, b] = [0, 1].map(|i| w.state().velocity[i].x);
        assert!((a + 3.0 * b + 1.0).abs() < 1e-9, "{impact:?}: momentum {}", a + 3.0 * b);
        assert!((b - a - 0.6 * 3.0).abs() < 1e-8, "{impact:?}: leaves at {}", b - a);
    }
}

/// Sliding all through a hit, friction takes μ (1 + e) times the normal momentum, in both laws.
#[test]
fn friction_during_a_hit() {
    for impact in [Impact::Newton, Impact::Poisson] {
        let (e, mu, m) = (0.5, 0.1, 2.0);
        let settings = Settings { gravity: DVec3::ZERO, h: 1e-3, tolerance: 1e-12, ..Settings::default() };
        let mut w = world_with(settings, PairLaw { impact, ..bouncy(e) });
        let v = DVec3::new(5.0, 0.0, -2.0);
        let ball = BodyDef::dynamic(Shape::Sphere { radius: R }, m).at(DVec3::Z * 0.3).moving(v, DVec3::ZERO);
        add(&mut w, ball.friction(mu));
        add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(mu));
        run(&mut w, 0.2);
        let after = w.state().velocity[0];
        // The relaxed model adds μ |u_T| to the speed apart; friction acts on the whole normal impulse.
        let slip = after.x + R * -w.state().world_omega(0).y;
        let normal = m * (after.z + 2.0);
        let relaxed = if impact == Impact::Newton { mu * slip } else { after.z - e * 2.0 };
        assert!(
            (after.z - e * 2.0 - relaxed).abs() < 1e-9 && after.z >= e * 2.0 - 1e-9,
            "{impact:?}: {after}"
        );
        assert!(
            (m * (5.0 - after.x) - mu * normal).abs() < 1e-6,
            "{impact:?}: friction {}",
            m * (5.0 - after.x)
        );
    }
}

/// A pile with restitution comes to rest: the floor carries its weight and nothing moves.
#[test]
fn piles_come_to_rest() {
    for impact in [Impact::Newton, Impact::Poisson] {
        let settings = Settings { h: 2e-3, tolerance: 1e-6, iterations: 2000, ..Settings::default() };
        let mut w = world_with(settings, PairLaw { impact, ..bouncy(0.5) });
        for k in 0..4 {
            let x = DVec3::new(0.0, 0.0, 0.3 + 0.5 * k as f64);
            add(&mut w, BodyDef::dynamic(Shape::Box { half: DVec3::splat(0.2) }, 1.0).at(x).friction(0.5));
        }
        add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(0.5));
        run(&mut w, 3.0);
        assert!(w.speeds().0 < 1e-5, "{impact:?}: still moves with {}", w.speeds().0);
        assert!((w.support_over_weight().unwrap() - 1.0).abs() < 1e-3);
    }
}

/// What is slower than the bounce speed stays.
#[test]
fn slow_hits_do_not_bounce() {
    let drop = |bounce_speed| {
        let mut w = world(1e-3, PairLaw { bounce_speed: Some(bounce_speed), ..bouncy(0.9) });
        add(&mut w, BodyDef::dynamic(Shape::Sphere { radius: R }, 2.0).at(DVec3::Z * (R + 0.05)));
        add(&mut w, BodyDef::fixed(Shape::HalfSpace));
        let mut highest = 0.0f64;
        for k in 0..400 {
            w.step().unwrap();
            if k > 110 {
                highest = highest.max(w.state().position[0].z - R);
            }
        }
        highest
    };
    // It comes with √(2 g 0.05) = 0.99 m/s.
    assert!(drop(1.1) < 1e-6, "{}", drop(1.1));
    assert!((drop(0.9) / (0.81 * 0.05) - 1.0).abs() < 0.02, "{}", drop(0.9));
}

/// A ball that reaches three walls in one step leaves all of them with the energy it came with, whatever the
/// gaps that were left.
#[test]
fn three_walls_at_once() {
    for impact in [Impact::Newton, Impact::Poisson] {
        let settings = Settings { h: 0.01, gravity: DVec3::ZERO, ..Settings::default() };
        let mut w = world_with(settings, PairLaw { impact, ..bouncy(1.0) });
        let (r, v) = (0.01, DVec3::new(-3.0, -2.0, -1.0));
        let ball = BodyDef::dynamic(Shape::sphere(r), 1.0).at(DVec3::splat(r) + DVec3::splat(0.0099));
        let ball = add(&mut w, ball.moving(v, DVec3::ZERO));
        for turn in [DQuat::IDENTITY, DQuat::from_rotation_y(FRAC_PI_2), DQuat::from_rotation_x(-FRAC_PI_2)] {
            add(&mut w, BodyDef::fixed(Shape::HalfSpace).turned(turn));
        }
        w.step().unwrap();
        w.step().unwrap();
        let after = w.velocity(ball).unwrap();
        assert!((after + v).length() < 1e-4, "{impact:?}: {after}");
    }
}

/// Bounces that are held to the energy there is are between two solutions, each of which is within the
/// tolerance: so is the word on them, whoever solved.
#[test]
fn what_is_cut_is_certified_by_what_it_is_between() {
    for solver in ["auto", "apgd", "apgs"] {
        let settings = Settings { solver: solver.into(), iterations: 100_000, ..Settings::default() };
        let mut w = world_with(settings, bouncy(0.9));
        for turn in [DQuat::IDENTITY, DQuat::from_rotation_y(FRAC_PI_2), DQuat::from_rotation_x(-FRAC_PI_2)] {
            add(&mut w, BodyDef::fixed(Shape::HalfSpace).turned(turn).friction(0.5));
        }
        for k in 0..27 {
            let at = DVec3::new((k % 3) as f64, (k / 3 % 3) as f64, (k / 9) as f64);
            let ball = BodyDef::dynamic(Shape::sphere(R), 1.0 + k as f64).at(0.101 * DVec3::ONE + 0.201 * at);
            add(&mut w, ball.friction(0.5).moving(DVec3::new(-3.0, -2.0, -4.0), DVec3::ZERO));
        }
        let mut cut = 0;
        for step in 0..50 {
            let report = w.step().unwrap();
            cut += usize::from(report.bounce.is_some());
            let residual = report.certificate.residual_max;
            assert!(residual <= 1e-4, "{solver}, step {step}: {residual:e} m/s, took {:?}", report.bounce);
        }
        assert!(cut > 0, "{solver}");
    }
}

/// Balls that do not rub and bounce with e = 1 keep their energy, however many of them meet in a step.
#[test]
fn many_bounces_in_a_step_keep_their_energy() {
    let mut w = world_with(Settings { gravity: DVec3::ZERO, ..Settings::default() }, bouncy(1.0));
    room(&mut w, 0.1);
    for k in 0..27 {
        let at = DVec3::new((k % 3) as f64, (k / 3 % 3) as f64, (k / 9) as f64) - DVec3::ONE;
        let v = DVec3::new([3.0, -3.0][k % 2], [2.0, -2.0][k / 2 % 2], [1.0, -1.0][k / 4 % 2]);
        let ball = BodyDef::dynamic(Shape::sphere(0.01), 1.0).at(0.05 * at);
        add(&mut w, ball.friction(0.0).moving(v, DVec3::ZERO));
    }
    let energy = |w: &World| w.state().velocity.iter().map(|v| 0.5 * v.length_squared()).sum::<f64>();
    let (start, mut cut) = (energy(&w), 0);
    for _ in 0..200 {
        cut += usize::from(w.step().unwrap().bounce.is_some());
    }
    let end = energy(&w);
    assert!(cut > 0 && end > 0.8 * start && end < 1.001 * start, "{start} J, then {end}, {cut} steps cut");
}

fn room(w: &mut World, half: f64) {
    for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
        for n in [axis, -axis] {
            let turn = DQuat::from_rotation_arc(DVec3::Z, n);
            add(w, BodyDef::fixed(Shape::HalfSpace).at(-half * n).turned(turn).friction(0.0));
        }
    }
}

/// What turns as it hits, and is no ball, keeps its energy, too: the free rotation of the step is no part of
/// the hit.
#[test]
fn what_turns_and_bounces_gains_nothing() {
    let shapes = [
        Shape::cuboid(DVec3::new(0.1, 0.15, 0.12)),
        Shape::cuboid(DVec3::new(0.3, 0.3, 0.01)),
        Shape::Capsule { radius: 0.02, half_length: 0.2 },
        Shape::Cone { radius: 0.1, height: 0.3 },
    ];
    for impact in [Impact::Newton, Impact::Poisson] {
        for shape in &shapes {
            let settings = Settings { gravity: DVec3::ZERO, tolerance: 1e-10, ..Settings::default() };
            let mut w = world_with(settings, PairLaw { impact, ..bouncy(1.0) });
            room(&mut w, 1.0);
            let (v, omega) = (DVec3::new(3.0, 1.7, 0.9), DVec3::new(1.0, 2.0, 3.0));
            let body = BodyDef::dynamic(shape.clone(), 1.0).friction(0.0).moving(v, omega);
            add(&mut w, body);
            let start = w.energy().kinetic;
            let mut before = start;
            for step in 1..=1000 {
                w.step().unwrap();
                let now = w.energy().kinetic;
                assert!(
                    now <= before * (1.0 + 1e-5),
                    "{impact:?}, {shape:?}, step {step}: {before} J, {now} J"
                );
                before = now;
            }
            // Poisson's compression gives way where it asks for a motion, and gives back less.
            let least = if impact == Impact::Newton { 0.95 } else { 0.0 };
            assert!(before > least * start, "{impact:?}, {shape:?}: {start} J, then {before} J");
        }
    }
}

/// The same under gravity, over many flights.
#[test]
fn a_plate_that_tumbles_and_bounces_gains_nothing() {
    let mut w = world_with(Settings { h: 1e-3, ..Settings::default() }, bouncy(1.0));
    add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(0.0));
    let plate = BodyDef::dynamic(Shape::cuboid(DVec3::new(0.3, 0.3, 0.01)), 3.6).friction(0.0);
    add(&mut w, plate.at(DVec3::Z).moving(DVec3::ZERO, DVec3::new(3.0, 2.0, 1.0)));
    let start = w.energy().total();
    let mut most = 0.0f64;
    for _ in 0..10_000 {
        w.step().unwrap();
        most = most.max(w.energy().total());
    }
    let end = w.energy().total();
    assert!(most < 1.005 * start && end > 0.9 * start, "{start} J, at most {most}, then {end}");
}
