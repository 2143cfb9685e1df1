//! A body that nothing touches.
//!
//! The gyroscopic rule keeps kinetic energy and the length of the angular momentum to rounding. Its direction
//! in the world is only as good as the rotation update, which is of fourth order in h.

use drystone::{BodyDef, MassProperties, Settings, World};
use glam::DVec3;

use crate::common::{add, world};

/// Spinning about all axes, most about the unstable middle one.
fn top(h: f64) -> World {
    let mut w = world(Settings { h, gravity: DVec3::ZERO, ..Settings::default() });
    let mass = MassProperties::principal(2.0, DVec3::new(0.3, 0.5, 0.7));
    add(&mut w, BodyDef::bare(mass).moving(DVec3::new(1.0, 2.0, 3.0), DVec3::new(0.1, 3.0, 0.2)));
    w
}

fn momentum(w: &World) -> DVec3 {
    let (s, b) = (w.state(), &w.model().bodies[0]);
    s.rotation[0] * (b.mass.inertia * s.omega[0])
}

struct Drift {
    energy: f64,
    length: f64,
    direction: f64,
    position: f64,
}

/// Largest relative deviations over ten seconds.
fn drift(h: f64) -> Drift {
    let mut w = top(h);
    let (e, l, x) = (w.energy().kinetic, momentum(&w), w.state().position[0]);
    let mut d = Drift { energy: 0.0, length: 0.0, direction: 0.0, position: 0.0 };
    for _ in 0..(10.0 / h).round() as usize {
        w.step().unwrap();
        d.energy = d.energy.max((w.energy().kinetic / e - 1.0).abs());
        d.length = d.length.max((momentum(&w).length() / l.length() - 1.0).abs());
        d.direction = d.direction.max((momentum(&w) - l).length() / l.length());
        d.position = (w.state().position[0] - x - w.state().time * DVec3::new(1.0, 2.0, 3.0)).length();
    }
    d
}

#[test]
fn free_body_keeps_energy_and_momentum() {
    let (a, b, c) = (drift(1e-3), drift(2e-2), drift(1e-2));
    let order = (b.direction / c.direction).log2();
    println!(
        "free body, 10 s: at h = 1 ms energy {:.1e}, |L| {:.1e}, L {:.2e}; at 20 ms L {:.2e}: order {order:.3}",
        a.energy, a.length, a.direction, b.direction
    );
    assert!(a.energy < 1e-10, "kinetic energy drifts by {:.3e}", a.energy);
    assert!(a.length < 1e-10, "|L| drifts by {:.3e}", a.length);
    assert!(a.position < 1e-9, "free flight is off by {:.3e} m", a.position);
    assert!(a.direction < 1e-8, "L turns by {:.3e} at h = 1 ms", a.direction);
    assert!(order > 3.5, "L: {:.3e} at 20 ms, {:.3e} at 10 ms, order {order:.3}", b.direction, c.direction);
}

/// The orientation itself: against the same motion at a step 32 times smaller.
#[test]
fn orientation_of_a_free_body_converges() {
    let turn_after = |h: f64| {
        let mut w = top(h);
        for _ in 0..(2.0 / h).round() as usize {
            w.step().unwrap();
        }
        w.state().rotation[0]
    };
    let exact = turn_after(1e-3);
    let off = |h: f64| (turn_after(h) * exact.conjugate()).to_scaled_axis().length();
    let (a, b) = (off(4e-2), off(2e-2));
    let order = (a / b).log2();
    println!("orientation after 2 s: off by {a:.2e} rad at 40 ms, {b:.2e} at 20 ms, order {order:.3}");
    assert!(a < 1e-3, "orientation is off by {a} rad");
    assert!(order > 3.5, "orientation: {a:.3e} at 40 ms, {b:.3e} at 20 ms, order {order:.3}");
}
