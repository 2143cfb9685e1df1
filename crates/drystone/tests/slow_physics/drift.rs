//! Drift over 10⁵ steps with the default position correction: overlap and creep stay flat.

use drystone::random::Random;
use drystone::{BodyDef, Settings, Shape, World};
use glam::{DQuat, DVec3};

const STEPS: usize = 100_000;

/// Overlap and displacement at the end of each tenth of the run.
struct Tenth {
    overlap: f64,
    moved: f64,
    support: f64,
}

fn watch(w: &mut World) -> Vec<Tenth> {
    let start = w.state().position.clone();
    let mut tenths = Vec::new();
    let (mut overlap, mut support) = (0.0f64, 0.0f64);
    for k in 1..=STEPS {
        let report = w.step().unwrap();
        overlap = overlap.max(report.penetration_max);
        support = support.max((w.support_over_weight().unwrap() - 1.0).abs());
        if k % (STEPS / 10) == 0 {
            let moved =
                w.state().position.iter().zip(&start).map(|(x, s)| (*x - *s).length()).fold(0.0, f64::max);
            tenths.push(Tenth { overlap, moved, support });
            (overlap, support) = (0.0, 0.0);
        }
    }
    tenths
}

fn print(name: &str, tenths: &[Tenth]) {
    for (k, t) in tenths.iter().enumerate() {
        println!(
            "{name}, tenth {k}: overlap {:.2e} m, moved {:.2e} m, |support/weight - 1| {:.1e}",
            t.overlap, t.moved, t.support
        );
    }
}

/// Flat: what the last tenth adds is no more than what the first did, and both are small against `size`.
fn assert_flat(name: &str, tenths: &[Tenth], size: f64) {
    let (first, last) = (&tenths[0], &tenths[9]);
    assert!(
        last.overlap <= 2.0 * first.overlap + 2e-5 * size,
        "{name}: overlap {} to {}",
        first.overlap,
        last.overlap
    );
    assert!(last.overlap < 1e-3 * size, "{name}: overlap {}", last.overlap);
    let (early, late) = (first.moved, last.moved - tenths[8].moved);
    assert!(late <= early + 1e-4 * size, "{name}: moved by {early} in the first tenth, {late} in the last");
    assert!(last.moved < 1e-2 * size, "{name}: crept by {} in all", last.moved);
}

#[test]
fn stack_of_boxes_does_not_drift() {
    let mut w = World::new(Settings::default()).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
    let half = DVec3::new(0.2, 0.15, 0.1);
    for k in 0..6 {
        let at = DVec3::new(0.02 * (k % 3) as f64, 0.01 * (k % 2) as f64, half.z * (2 * k + 1) as f64);
        let turn = DQuat::from_rotation_z(0.1 * k as f64);
        w.add_body(BodyDef::dynamic(Shape::Box { half }, 1.0).at(at).turned(turn).friction(0.5)).unwrap();
    }
    let tenths = watch(&mut w);
    print("stack", &tenths);
    assert_flat("stack", &tenths, half.z);
}

#[test]
fn pile_of_balls_does_not_drift() {
    let mut w = World::new(Settings::default()).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
    for side in [DVec3::X, DVec3::NEG_X, DVec3::Y, DVec3::NEG_Y] {
        let wall = BodyDef::fixed(Shape::HalfSpace).at(-0.4 * side).friction(0.5);
        w.add_body(wall.turned(DQuat::from_rotation_arc(DVec3::Z, side))).unwrap();
    }
    let mut random = Random::new(4);
    let mut balls = Vec::new();
    for k in 0..60 {
        let cell = DVec3::new((k % 3) as f64 - 1.0, (k / 3 % 3) as f64 - 1.0, (k / 9) as f64 + 0.6);
        let radius = random.range(0.08, 0.11);
        let ball = BodyDef::dynamic(Shape::Sphere { radius }, 1.0).at(0.25 * cell + 0.02 * random.in_ball());
        balls.push(w.add_body(ball.friction(0.5)).unwrap());
    }
    // Nothing in the model stops a ball that rolls on level ground: damped while it settles.
    for k in 0..600 {
        w.step().unwrap();
        for &ball in balls.iter().filter(|_| k > 200) {
            let (v, turn) = (w.velocity(ball).unwrap(), w.angular_velocity(ball).unwrap());
            w.set_velocity(ball, 0.9 * v, 0.9 * turn).unwrap();
        }
    }
    let tenths = watch(&mut w);
    print("pile", &tenths);
    assert_flat("pile", &tenths, 0.08);
}
