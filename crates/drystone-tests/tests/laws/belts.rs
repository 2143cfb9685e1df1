//! Surfaces that run over their bodies.

use drystone::{BodyDef, PairLaw, Shape};
use glam::{DQuat, DVec3};

use crate::common::{G, add, run, world};

/// A box on a belt of speed s is dragged with μ g until it runs along, at t = s / (μ g).
#[test]
fn belt_drags_a_box() {
    let (mu, s) = (0.3, 1.5);
    for turn in [0.0, 1.0] {
        let mut w = world(1e-3, PairLaw::default());
        let half = DVec3::new(0.1, 0.1, 0.05);
        // Low friction arm, so that it does not tip; the belt is turned with its body.
        add(&mut w, BodyDef::dynamic(Shape::Box { half }, 2.0).at(DVec3::Z * 0.05).friction(mu));
        let belt = Shape::Box { half: DVec3::new(5.0, 5.0, 0.1) };
        let turned = DQuat::from_rotation_z(turn);
        let belt = BodyDef::fixed(belt).at(DVec3::NEG_Z * 0.1).turned(turned).friction(mu);
        add(&mut w, belt.surface_velocity(DVec3::X * s));
        let along = turned * DVec3::X;
        let caught = s / (mu * G);
        run(&mut w, 0.5 * caught);
        let v = w.state().velocity[0];
        assert!((v.dot(along) / (0.5 * s) - 1.0).abs() < 0.005, "half way: {v}");
        run(&mut w, 0.6 * caught);
        let v = w.state().velocity[0];
        assert!((v.dot(along) / s - 1.0).abs() < 1e-6 && v.cross(along).length() < 1e-5, "in the end: {v}");
        // x = s (t - t_c/2)
        let x = w.state().position[0].dot(along);
        assert!((x / (s * 0.6 * caught) - 1.0).abs() < 0.005, "{x}");
    }
}

/// A ball on a belt that starts at rest: it rolls in place's law, v → 2/7 s.
#[test]
fn ball_on_a_belt() {
    let (mu, s, r) = (0.4, 1.0, 0.1);
    let mut w = world(1e-3, PairLaw::default());
    add(&mut w, BodyDef::dynamic(Shape::Sphere { radius: r }, 1.0).at(DVec3::Z * r).friction(mu));
    add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(mu).surface_velocity(DVec3::new(s, 0.0, 7.0)));
    run(&mut w, 0.5);
    let v = w.state().velocity[0];
    assert!((v.x / (2.0 / 7.0 * s) - 1.0).abs() < 0.005, "{v}");
}
