//! The status of a solve and the judge's residual must agree: a solve that ends within the tolerance has
//! converged, and should not go on to its cap. After a look at the true residual that was not good enough,
//! the solver waits until the sweeps' own measure has fallen further; where that stagnates, it never looks
//! again.

use drystone::solve::Status;
use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;

#[test]
fn solve_within_the_tolerance_is_converged() {
    let mut w = World::new(Settings { iterations: 20_000, ..Settings::default() }).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
    for (k, mass) in [1.0, 1000.0].into_iter().enumerate() {
        let cube = BodyDef::dynamic(Shape::Box { half: DVec3::new(0.15, 0.15, 0.1) }, mass).friction(0.5);
        w.add_body(cube.at(DVec3::Z * 0.2 * (k as f64 + 0.5))).unwrap();
    }
    let mut overlooked = 0;
    for _ in 0..300 {
        let r = w.step().unwrap();
        overlooked +=
            (r.status == Status::Iterations && r.certificate.residual_max <= w.settings().tolerance) as usize;
    }
    assert_eq!(
        overlooked, 0,
        "steps of 300 that ran all 20000 sweeps although within the tolerance at the end"
    );
}
