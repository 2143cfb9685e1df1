//! A body that slides in the relaxed model hovers at the gap μ h |v_t| [TasoraAnitescu2011, eq. 43]. Its
//! contact must therefore be in the active set at that gap, although the body does not approach.

use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;

#[test]
fn contact_of_a_hovering_body_is_active() {
    let (h, mu, v) = (1e-3, 0.3, 1.0);
    let mut w = World::new(Settings { h, ..Settings::default() }).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(mu)).unwrap();
    let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).friction(mu);
    w.add_body(ball.at(DVec3::Z * (0.1 + mu * h * v)).moving(DVec3::X * v, DVec3::ZERO)).unwrap();
    w.step().unwrap();
    assert_eq!(
        w.contacts().len(),
        1,
        "gap mu h v = {} m, envelope g h² = {} m",
        mu * h * v,
        w.envelope().base
    );
    assert!((w.support_over_weight().unwrap() - 1.0).abs() < 0.5, "{:?}", w.support_over_weight());
}
