//! Resistance to rolling and spinning.

use drystone::{BodyDef, PairLaw, Shape, World};
use glam::{DQuat, DVec3};

use crate::common::{G, add, midpoint, run, world};

const R: f64 = 0.1;
const ARM: f64 = 0.002;

fn on_floor(mut w: World, v: DVec3, omega: DVec3) -> World {
    let ball = BodyDef::dynamic(Shape::Sphere { radius: R }, 2.0).at(DVec3::Z * R).moving(v, omega);
    add(&mut w, ball.friction(0.5));
    add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(0.5));
    w
}

/// A rolling ball slows down by ρ g / (r (1 + 2/5)), and stays where it stops.
#[test]
fn rolling_ball_slows_down() {
    let law = PairLaw { rolling: ARM, ..PairLaw::default() };
    let v0 = 0.5;
    let a = ARM * G / (R * 1.4);
    let mut w = on_floor(midpoint(1e-3, law), DVec3::X * v0, DVec3::Y * (v0 / R));
    run(&mut w, 1.0);
    let v = w.state().velocity[0].x;
    assert!((v / (v0 - a) - 1.0).abs() < 0.005, "{v} for {}", v0 - a);
    run(&mut w, 1.5 * v0 / a - 1.0);
    let x = w.state().position[0].x;
    assert!((x / (0.5 * v0 * v0 / a) - 1.0).abs() < 0.005, "{x} for {}", 0.5 * v0 * v0 / a);
    assert!(w.state().velocity[0].length() < 1e-8 && w.state().omega[0].length() < 1e-7);
}

/// On a slope a ball stays iff tan α ≤ ρ / r.
#[test]
fn ball_on_a_slope() {
    for (share, rolls) in [(0.99, false), (1.01, true)] {
        let mut w = world(1e-3, PairLaw { rolling: ARM, ..PairLaw::default() });
        let q = DQuat::from_rotation_y((share * ARM / R).atan());
        add(&mut w, BodyDef::dynamic(Shape::Sphere { radius: R }, 2.0).at(q * DVec3::Z * R).friction(0.5));
        add(&mut w, BodyDef::fixed(Shape::HalfSpace).turned(q).friction(0.5));
        run(&mut w, 0.5);
        let moved = (w.state().position[0] - q * DVec3::Z * R).length();
        if rolls { assert!(moved > 1e-4, "{moved}") } else { assert!(moved < 1e-6, "{moved}") }
    }
}

/// A spinning ball loses σ m g / I in every second, with and without resistance to rolling beside it.
#[test]
fn spinning_ball_slows_down() {
    for rolling in [0.0, ARM] {
        let law = PairLaw { spinning: ARM, rolling, ..PairLaw::default() };
        let w0 = 20.0;
        let mut w = on_floor(world(1e-3, law), DVec3::ZERO, DVec3::Z * w0);
        let a = ARM * G / (0.4 * R * R);
        run(&mut w, 2.0);
        let left = w.state().world_omega(0).z;
        assert!(
            ((w0 - left) / (2.0 * a) - 1.0).abs() < 0.005,
            "rolling {rolling}: {left}, for {}",
            w0 - 2.0 * a
        );
        run(&mut w, 3.0);
        assert!(w.state().omega[0].length() < 1e-7, "rolling {rolling}: {}", w.state().omega[0]);
    }
}

/// Between two balls, neither of them fixed: momentum is kept, the relative spin ends.
#[test]
fn moments_act_on_both() {
    let settings =
        drystone::Settings { gravity: DVec3::ZERO, h: 1e-3, tolerance: 1e-11, ..Default::default() };
    let law = PairLaw { spinning: 0.01, cohesion: 5.0, ..PairLaw::default() };
    let mut w = crate::common::world_with(settings, law);
    let ball = |m: f64, x: f64, spin: f64| {
        BodyDef::dynamic(Shape::Sphere { radius: R }, m).at(DVec3::X * x).moving(DVec3::ZERO, DVec3::X * spin)
    };
    add(&mut w, ball(1.0, -R, 1.0));
    add(&mut w, ball(3.0, R, -0.2));
    let spin = |w: &World| w.state().omega[0].x + 3.0 * w.state().omega[1].x;
    run(&mut w, 1.0);
    assert!((spin(&w) - 0.4).abs() < 1e-8, "{}", spin(&w));
    assert!((w.state().omega[0].x - 0.1).abs() < 1e-6, "{}", w.state().omega[0].x);
}

/// Both kinds of blocks side by side, judged as one problem.
#[test]
fn certificate_holds_with_five_rows() {
    let law = PairLaw { rolling: 0.005, spinning: 0.001, ..PairLaw::default() };
    let mut w = world(2e-3, law);
    for k in 0..12 {
        let at = DVec3::new(0.17 * (k % 3) as f64, 0.16 * (k / 3 % 2) as f64, 0.12 + 0.2 * (k / 6) as f64);
        add(
            &mut w,
            BodyDef::dynamic(Shape::Sphere { radius: R }, 1.0).at(at + 0.01 * k as f64).friction(0.4),
        );
    }
    add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(0.4));
    let mut worst = 0.0f64;
    for _ in 0..300 {
        let report = w.step().unwrap();
        worst = worst.max(report.certificate.residual_max);
        assert!(report.certificate.cone_violation < 1e-9);
    }
    assert!(worst < 1e-6, "{worst}");
}
