//! Kinematic bodies that follow functions of time, and what stands on them.

use drystone::{BodyDef, Function, Guide, PairLaw, Shape};
use glam::DVec3;

use crate::common::{G, add, run, world};

fn sine(amplitude: f64, frequency: f64) -> Function {
    Function::Sine { mean: 0.0, amplitude, frequency, phase: 0.0 }
}

/// The body is where the function says after every step, however many there were.
#[test]
fn follows_its_functions() {
    let mut w = world(1e-3, PairLaw::default());
    let shape = Shape::Box { half: DVec3::splat(0.1) };
    let ramp = Function::Ramp { from: 0.0, to: 4.0, start: 0.0, end: 2.0 };
    let guide = Guide { about: Some((DVec3::Z, ramp)), ..Guide::along(DVec3::X, sine(0.3, 1.5)) };
    let id = add(&mut w, BodyDef::kinematic(shape).at(DVec3::Y).guided(guide));
    for _ in 0..2000 {
        w.step().unwrap();
        let t = w.state().time;
        let x = w.position(id).unwrap();
        let wanted = DVec3::new(0.3 * (std::f64::consts::TAU * 1.5 * t).sin(), 1.0, 0.0);
        assert!((x - wanted).length() < 1e-12, "{x} for {wanted} at {t}");
    }
    let turned = w.rotation(id).unwrap() * DVec3::X;
    assert!((turned - DVec3::new(4f64.cos(), 4f64.sin(), 0.0)).length() < 1e-9, "{turned}");
    // Let go, it keeps its last velocity.
    w.set_guide(id, None).unwrap();
    let v = w.velocity(id).unwrap();
    run(&mut w, 0.1);
    assert_eq!(w.velocity(id).unwrap(), v);
    let other = add(&mut w, BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).at(DVec3::Z * 5.0));
    assert!(w.set_guide(other, Some(Guide::default())).is_err());
}

/// A ball on a floor that swings up and down stays on it iff A ω² < g, by the force m (g + a).
#[test]
fn leaves_a_shaken_floor_when_it_falls_faster() {
    let f = 5.0;
    let omega: f64 = std::f64::consts::TAU * f;
    for (share, leaves) in [(0.97, false), (1.03, true)] {
        let mut w = world(2e-4, PairLaw::default());
        let ball = add(&mut w, BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 2.0).at(DVec3::Z * 0.1));
        let amplitude = share * G / (omega * omega);
        // It starts from its lowest place, at rest.
        let swing =
            Function::Sine { mean: amplitude, amplitude, frequency: f, phase: -std::f64::consts::FRAC_PI_2 };
        add(&mut w, BodyDef::kinematic(Shape::HalfSpace).guided(Guide::along(DVec3::Z, swing)));
        let (mut widest, mut least) = (0.0f64, f64::INFINITY);
        for k in 0..(0.5 / 2e-4) as usize {
            w.step().unwrap();
            let gap = w.position(ball).unwrap().z - 0.1 - w.state().position[1].z;
            widest = widest.max(gap);
            if k > 10 {
                let force: f64 = w.contacts().iter().map(|c| c.normal_impulse()).sum::<f64>() / 2e-4;
                least = least.min(force / (2.0 * G));
            }
        }
        if leaves {
            assert!(widest > 1e-6 && least == 0.0, "{widest}, {least}");
        } else {
            assert!(widest < 1e-9 && (least - (1.0 - share)).abs() < 0.005, "{widest}, {least}");
        }
    }
}
