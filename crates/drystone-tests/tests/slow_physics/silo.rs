//! Janssen's silo: walls carry what is high up, and the floor's load saturates.

use drystone::{BodyDef, Settings, Shape, World};
use glam::{DQuat, DVec3};

const R: f64 = 0.01;
/// Of the silo, m.
const WIDTH: f64 = 12.0 * R;

/// Weight on the floor over that of a column as high as the silo is wide, for a fill of so many such heights.
fn floor_load(fill: f64) -> f64 {
    let settings = Settings { h: 2e-3, tolerance: 1e-4, iterations: 150, ..Settings::default() };
    let mut w = World::new(settings).unwrap();
    let floor = w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
    for inwards in [DVec3::X, DVec3::NEG_X, DVec3::Y, DVec3::NEG_Y] {
        let turn = DQuat::from_rotation_arc(DVec3::Z, inwards);
        let wall = BodyDef::fixed(Shape::HalfSpace).at(-0.5 * WIDTH * inwards).turned(turn);
        w.add_body(wall.friction(0.5)).unwrap();
    }
    let ball = BodyDef::solid(Shape::Sphere { radius: R }, 2500.0).friction(0.5);
    let mass = ball.mass.mass;
    let one = 0.6 * WIDTH.powi(3) * 2500.0;
    let n = (fill * one / mass) as usize;
    let mut random = drystone::random::Random::new(3);
    for i in 0..n {
        let (ix, iy, iz) = (i % 5, i / 5 % 5, i / 25);
        let site = DVec3::new(ix as f64 - 2.0, iy as f64 - 2.0, iz as f64 + 0.5) * (2.3 * R);
        let shift = random.in_box(DVec3::splat(-0.1 * R), DVec3::splat(0.1 * R));
        w.add_body(ball.clone().at(site + shift)).unwrap();
    }
    for _ in 0..1500 {
        w.step().unwrap();
    }
    // Single steps rattle: the mean over the last tenth of a second.
    let mut load = 0.0;
    for _ in 0..50 {
        w.step().unwrap();
        let on_floor = w.contacts().iter().filter(|c| c.bodies[1] == floor.slot);
        load += on_floor.map(|c| c.impulse.z).sum::<f64>() / 2e-3 / 50.0;
    }
    load / (one * 9.81)
}

#[test]
fn floor_load_saturates() {
    let [four, six, eight] = [4.0, 6.0, 8.0].map(floor_load);
    println!("floor load of 4, 6 and 8 widths: {four:.3}, {six:.3}, {eight:.3} weights of one");
    // Without walls it would be the fill itself. With σ = (ρ g D/4 μ K)(1 - exp(-4 μ K z/D)) and μ = 0.5 it
    // is 1/(2 K).
    assert!(eight < 0.4 * 8.0, "the walls carry too little: {eight}");
    assert!((eight / six - 1.0).abs() < 0.15 && eight / four < 1.35, "{four}, {six}, {eight}");
}
