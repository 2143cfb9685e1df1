//! The half-implicit scheme and Moreau's θ-method.

use drystone::{BodyDef, Integrator, MassProperties, PairLaw, Settings, Shape, World};
use glam::{DQuat, DVec3};

use crate::common::{G, add, run, world_with};

fn theta(theta: f64, h: f64) -> World {
    let integrator = Integrator::Moreau { theta };
    let settings = Settings { h, integrator, tolerance: 1e-12, iterations: 20_000, ..Settings::default() };
    world_with(settings, PairLaw::default())
}

/// A fall of one second is off by (θ - ½) g h t, exactly.
#[test]
fn free_fall() {
    for t in [0.5, 0.7, 1.0] {
        let mut w = theta(t, 1e-2);
        add(&mut w, BodyDef::bare(MassProperties::principal(1.0, DVec3::ONE)));
        run(&mut w, 1.0);
        let off = -w.state().position[0].z - 0.5 * G;
        assert!((off - (t - 0.5) * G * 1e-2).abs() < 1e-12, "θ = {t}: {off}");
    }
}

/// A ball that rolls down a slope: of first order for θ = 1, exact for θ = ½ but for how it starts.
#[test]
fn rolling_down_a_slope() {
    let angle = 0.3f64;
    let way = |t: f64, h: f64| {
        let mut w = theta(t, h);
        let q = DQuat::from_rotation_y(angle);
        add(
            &mut w,
            BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).at(q * DVec3::Z * 0.1).friction(0.6),
        );
        add(&mut w, BodyDef::fixed(Shape::HalfSpace).turned(q).friction(0.6));
        run(&mut w, 1.0);
        w.state().position[0].dot(q * DVec3::X)
    };
    let exact = 0.5 * 5.0 / 7.0 * G * angle.sin();
    let off = |t: f64, h: f64| (way(t, h) / exact - 1.0).abs();
    let (one, half) = (off(1.0, 1e-2), off(1.0, 5e-3));
    assert!(((one / half).log2() - 1.0).abs() < 0.1, "θ = 1: {one:.2e} and {half:.2e}");
    assert!(off(0.5, 1e-2) < 0.02 * one, "θ = ½: {:.2e} against {one:.2e}", off(0.5, 1e-2));
}

/// What lands under θ = ½ stays, and does not sink.
#[test]
fn rests_on_the_floor() {
    let mut w = theta(0.5, 5e-3);
    for k in 0..3 {
        let at = DVec3::Z * (0.15 + 0.25 * k as f64);
        add(&mut w, BodyDef::dynamic(Shape::Box { half: DVec3::splat(0.1) }, 1.0).at(at).friction(0.5));
    }
    add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(0.5));
    run(&mut w, 2.0);
    assert!(w.speeds().0 < 1e-6, "{:?}", w.speeds());
    for k in 0..3 {
        let z = w.state().position[k].z;
        assert!((z - 0.1 - 0.2 * k as f64).abs() < 1e-5, "box {k} at {z}");
    }
    assert!((w.support_over_weight().unwrap() - 1.0).abs() < 1e-6);
}
