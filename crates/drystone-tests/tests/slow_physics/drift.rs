//! Drift over 10⁵ steps (1000 s) with the default position correction.
//!
//! Overlaps stay flat whatever the solver's tolerance. Creep is the solver's: a residual is a velocity, and
//! what rests may move by as much. With the default 1e-4 m/s a stack creeps by some 1e-5 m/s; solved to 1e-10
//! m/s it does not.

use drystone::random::Random;
use drystone::{BodyDef, Settings, Shape, World};
use glam::{DQuat, DVec3};

const STEPS: usize = 100_000;

/// What happened in a tenth of the run.
struct Tenth {
    /// Deepest overlap, m.
    overlap: f64,
    /// Largest distance of a body from where it started, at the end, m.
    moved: f64,
    /// Largest |support/weight - 1|.
    support: f64,
}

fn watch(name: &str, w: &mut World) -> Vec<Tenth> {
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
            println!(
                "{name}, step {k}: overlap {overlap:.2e} m, moved {moved:.2e} m, |support/weight - 1| {support:.1e}"
            );
            tenths.push(Tenth { overlap, moved, support });
            (overlap, support) = (0.0, 0.0);
        }
    }
    tenths
}

/// The last tenth overlaps no more than the first, and hardly more than the correction leaves alone (1e-4 of
/// `size`).
fn assert_flat_overlap(name: &str, tenths: &[Tenth], size: f64) {
    let (first, last) = (tenths[0].overlap, tenths[9].overlap);
    assert!(
        last <= 1.5 * first + 1e-5 * size,
        "{name}: overlap {first} in the first tenth, {last} in the last"
    );
    assert!(last < 2e-4 * size, "{name}: overlap {last}");
}

/// Nothing moves that the solver's tolerance does not allow, and nothing to speak of after the first tenth.
fn assert_no_creep(name: &str, tenths: &[Tenth], size: f64) {
    let creep = tenths[9].moved - tenths[0].moved;
    assert!(creep.abs() < 1e-5 * size, "{name}: crept by {creep} after the first tenth");
    assert!(tenths[9].moved < 1e-3 * size, "{name}: moved by {} in all", tenths[9].moved);
    assert!(tenths[9].support < 1e-6, "{name}: support over weight off by {}", tenths[9].support);
}

fn tight() -> Settings {
    Settings { tolerance: 1e-10, iterations: 5000, ..Settings::default() }
}

const HALF: DVec3 = DVec3::new(0.2, 0.15, 0.1);

fn stack(settings: Settings) -> World {
    let mut w = World::new(settings).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
    for k in 0..6 {
        let at = DVec3::new(0.02 * (k % 3) as f64, 0.01 * (k % 2) as f64, HALF.z * (2 * k + 1) as f64);
        let turn = DQuat::from_rotation_z(0.1 * k as f64);
        w.add_body(BodyDef::dynamic(Shape::Box { half: HALF }, 1.0).at(at).turned(turn).friction(0.5))
            .unwrap();
    }
    w
}

#[test]
fn stack_of_boxes_does_not_drift() {
    let tenths = watch("stack, tight", &mut stack(tight()));
    assert_flat_overlap("stack, tight", &tenths, HALF.z);
    assert_no_creep("stack, tight", &tenths, HALF.z);
}

#[test]
fn stack_of_boxes_creeps_no_faster_than_the_tolerance() {
    let mut w = stack(Settings::default());
    let tenths = watch("stack, default", &mut w);
    assert_flat_overlap("stack, default", &tenths, HALF.z);
    let creep = tenths[9].moved / w.state().time;
    println!("stack, default: creeps by {creep:.1e} m/s");
    assert!(creep < w.settings().tolerance, "creeps by {creep} m/s");
}

/// 60 balls in a tray, settled: nothing in the model stops a ball that rolls on level ground, so they are
/// damped first.
fn pile() -> World {
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
    for k in 0..1200 {
        w.step().unwrap();
        for &ball in balls.iter().filter(|_| k > 200) {
            let (v, turn) = (w.velocity(ball).unwrap(), w.angular_velocity(ball).unwrap());
            w.set_velocity(ball, 0.9 * v, 0.9 * turn).unwrap();
        }
        if k == 600 {
            w.set_settings(tight()).unwrap();
        }
    }
    w
}

#[test]
fn pile_of_balls_does_not_drift() {
    let mut w = pile();
    let tenths = watch("pile, tight", &mut w);
    assert_flat_overlap("pile, tight", &tenths, 0.08);
    assert_no_creep("pile, tight", &tenths, 0.08);
}

/// Loosely solved, a ball may roll to another place now and then; overlap and load stay.
#[test]
fn loosely_solved_pile_keeps_its_overlap_and_load() {
    let mut w = pile();
    w.set_settings(Settings::default()).unwrap();
    let tenths = watch("pile, default", &mut w);
    assert_flat_overlap("pile, default", &tenths, 0.08);
    assert!(tenths[9].support < 0.05, "support over weight off by {}", tenths[9].support);
}
