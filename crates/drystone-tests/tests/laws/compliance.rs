//! Contacts with a spring and a damper.

use drystone::{BodyDef, PairLaw, Settings, Shape, World};
use glam::DVec3;

use crate::common::{G, add, run, world, world_with};

const K: f64 = 2e4;
const M: f64 = 2.0;

fn on_floor(mut w: World, height: f64) -> World {
    add(&mut w, BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, M).at(DVec3::Z * (0.1 + height)));
    add(&mut w, BodyDef::fixed(Shape::HalfSpace));
    w
}

/// At rest the overlap is m g / k, and nothing corrects it away.
#[test]
fn sinks_in_by_its_weight() {
    let law = PairLaw { stiffness: Some(K), damping: 100.0, ..PairLaw::default() };
    let mut w = on_floor(world(1e-3, law), 0.0);
    run(&mut w, 2.0);
    let deep = 0.1 - w.state().position[0].z;
    assert!((deep / (M * G / K) - 1.0).abs() < 1e-6, "{deep}");
    let report = w.step().unwrap();
    assert!(report.certificate.residual_max < 1e-10);
}

/// Pressed in, with gravity, it swings with ω = √(k/m); critical damping d = 2 √(k m) lets it come back
/// without a swing.
#[test]
fn swings_with_its_own_frequency() {
    let omega = (K / M).sqrt();
    let law = PairLaw { stiffness: Some(K), ..PairLaw::default() };
    // From the height of rest, a little too fast: v = v0 cos ωt, back at the start after half a period.
    let settings = Settings { h: 1e-5, tolerance: 1e-12, iterations: 20_000, ..Settings::default() };
    let mut w = on_floor(world_with(settings, law), -M * G / K);
    let id = w.model().id(0).unwrap();
    w.set_velocity(id, DVec3::NEG_Z * 0.05, DVec3::ZERO).unwrap();
    run(&mut w, std::f64::consts::PI / omega);
    let v = w.state().velocity[0].z;
    assert!((v / 0.05 - 1.0).abs() < 0.01, "half a period later: {v}");
    let deep = 0.1 - w.state().position[0].z;
    assert!((deep / (M * G / K) - 1.0).abs() < 0.01, "{deep}");
}

/// One linear hit without gravity loses speed as ln e = -π ζ/√(1-ζ²), up to where the damper would pull.
#[test]
fn damping_takes_speed() {
    let zeta: f64 = 0.05;
    let law = PairLaw { stiffness: Some(K), damping: 2.0 * zeta * (K * M).sqrt(), ..PairLaw::default() };
    let settings = Settings {
        h: 2e-5,
        gravity: DVec3::ZERO,
        tolerance: 1e-13,
        iterations: 20_000,
        ..Settings::default()
    };
    let mut w = on_floor(world_with(settings, law), 1e-4);
    let id = w.model().id(0).unwrap();
    w.set_velocity(id, DVec3::NEG_Z, DVec3::ZERO).unwrap();
    run(&mut w, 0.1);
    let v = w.state().velocity[0].z;
    // The contact lets go when the force is zero, at the phase atan2(2ζ√(1-ζ²), 2ζ²-1) instead of π.
    let s = (1.0 - zeta * zeta).sqrt();
    let phase = f64::atan2(2.0 * zeta * s, 2.0 * zeta * zeta - 1.0);
    let exact = (-zeta / s * phase).exp();
    assert!((v / exact - 1.0).abs() < 0.005, "{v} for {exact}");
}
