//! Two coefficients of friction: of sticking and of sliding.

use drystone::{BodyDef, PairLaw, Shape, World};
use glam::DVec3;

use crate::common::{G, add, run, world};

const STATIC: f64 = 0.6;
const KINETIC: f64 = 0.4;

fn block(speed: f64) -> World {
    let mut w = world(1e-3, PairLaw::default());
    let m = w.materials_mut();
    let (wood, ice) = (m.add("wood").unwrap(), m.add("ice").unwrap());
    let law = PairLaw { mu_kinetic: Some(KINETIC), ..PairLaw::friction(STATIC) };
    m.set_pair(wood, ice, law).unwrap();
    let shape = Shape::Box { half: DVec3::new(0.2, 0.2, 0.02) };
    let block = BodyDef::dynamic(shape, 1.0).at(DVec3::Z * 0.02).moving(DVec3::X * speed, DVec3::ZERO);
    add(&mut w, block.material(wood));
    add(&mut w, BodyDef::fixed(Shape::HalfSpace).material(ice));
    w
}

/// Pulled at the height of the floor, so that it does not tip.
fn pulled(share: f64, seconds: f64) -> World {
    let mut w = block(0.0);
    let id = w.model().id(0).unwrap();
    w.before_step(move |w| {
        let at = w.position(id).unwrap() - DVec3::Z * 0.02;
        w.apply_force(id, DVec3::X * (share * G), Some(at)).unwrap();
    });
    run(&mut w, seconds);
    w
}

#[test]
fn starts_at_the_static_coefficient_and_slides_with_the_kinetic_one() {
    let held = pulled(0.99 * STATIC, 1.0);
    assert!(held.state().position[0].x.abs() < 1e-6, "{}", held.state().position[0]);
    let share = 1.02 * STATIC;
    let slides = pulled(share, 1.0);
    // It needs a while to get from sticking to sliding.
    let a = (share - KINETIC) * G;
    let late = 1e-3 / ((share - STATIC) * G);
    assert!(
        (slides.state().velocity[0].x / (a * (1.0 - late)) - 1.0).abs() < 0.005,
        "{}",
        slides.state().velocity[0]
    );
}

/// Sliding from v0 it stops after v0² / (2 μ_k g), and stays.
#[test]
fn stops_by_the_kinetic_coefficient() {
    let mut w = block(2.0);
    run(&mut w, 1.0);
    let exact = 4.0 / (2.0 * KINETIC * G);
    let x = w.state().position[0].x;
    assert!((x / exact - 1.0).abs() < 0.005, "{x} for {exact}");
    assert!(w.state().velocity[0].length() < 1e-8);
}
