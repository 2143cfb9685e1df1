//! A free body is to keep its angular momentum to 1e-6 over 10 s at h = 1 ms. The rotation is advanced with
//! the angular velocity at the end of the step, which is of first order; with the mean of start and end it is
//! of second.

use drystone::{BodyDef, MassProperties, Settings, World};
use glam::DVec3;

#[test]
fn free_body_keeps_the_direction_of_its_angular_momentum() {
    let mut w = World::new(Settings { h: 1e-3, gravity: DVec3::ZERO, ..Settings::default() }).unwrap();
    let mass = MassProperties::principal(2.0, DVec3::new(0.3, 0.5, 0.7));
    w.add_body(BodyDef::bare(mass).moving(DVec3::ZERO, DVec3::new(0.1, 3.0, 0.2))).unwrap();
    let momentum = |w: &World| w.state().rotation[0] * (mass.inertia * w.state().omega[0]);
    let start = momentum(&w);
    let mut drift = 0.0f64;
    for _ in 0..10_000 {
        w.step().unwrap();
        drift = drift.max((momentum(&w) - start).length() / start.length());
    }
    assert!(drift < 1e-6, "the angular momentum drifts by {drift:.2e}");
}
