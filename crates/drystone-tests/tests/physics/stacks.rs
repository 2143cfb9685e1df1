//! Things that stand: overhanging blocks, piles at rest, heavy on light.

use drystone::random::Random;
use drystone::solve::Status;
use drystone::{BodyDef, HeightField, Hull, Settings, Shape, World};
use glam::{DQuat, DVec3};

use crate::common::{add, run, tray, world};

/// `n` blocks of length 1, each beyond the one below by `share` of the furthest that stands: 1/(2i) for the
/// i-th from the top, so that the top one overhangs the floor's edge by share × ½ Σ 1/i.
fn overhang(n: usize, share: f64) -> World {
    let half = DVec3::new(0.5, 0.25, 0.1);
    let settings = Settings { tolerance: 1e-9, iterations: 20_000, ..Settings::default() };
    let mut w = world(settings);
    let table = Shape::Box { half: DVec3::new(2.0, 1.0, 0.5) };
    add(&mut w, BodyDef::fixed(table).at(DVec3::new(-2.0, 0.0, -0.5)).friction(0.6));
    let mut x = -0.5;
    for level in 0..n {
        x += share / (2 * (n - level)) as f64;
        let z = half.z * (2 * level + 1) as f64;
        add(&mut w, BodyDef::dynamic(Shape::Box { half }, 1.0).at(DVec3::new(x, 0.0, z)).friction(0.6));
    }
    w
}

#[test]
fn blocks_overhang_by_half_the_harmonic_sum() {
    for n in [1usize, 2, 4] {
        let furthest: f64 = (1..=n).map(|i| 0.5 / i as f64).sum();
        let moved = |share: f64| {
            let mut w = overhang(n, share);
            let start = w.state().position.clone();
            run(&mut w, 5.0);
            w.state().position.iter().zip(&start).map(|(x, s)| (*x - *s).length()).fold(0.0, f64::max)
        };
        let (stands, falls) = (moved(0.995), moved(1.005));
        println!(
            "{n} blocks, overhang {furthest:.6}: in 5 s 0.995 of it moves {stands:.1e} m, 1.005 of it {falls:.2} m"
        );
        assert!(stands < 1e-5, "{n} blocks at 0.995 of {furthest} moved by {stands}");
        assert!(falls > 0.5, "{n} blocks at 1.005 of {furthest} moved only {falls}");
    }
}

/// A pile of 30 balls in a tray, settled. Nothing in the model stops a ball that rolls on level ground, so
/// motion is damped for a while before the measurement.
fn pile() -> World {
    let mut w = world(Settings { h: 5e-3, tolerance: 1e-5, iterations: 500, ..Settings::default() });
    tray(&mut w, 0.35, 0.5);
    let mut random = Random::new(3);
    let mut balls = Vec::new();
    for k in 0..30 {
        let at = DVec3::new((k % 3) as f64 - 1.0, (k / 3 % 3) as f64 - 1.0, 0.6 + (k / 9) as f64);
        let radius = random.range(0.07, 0.1);
        let ball = BodyDef::dynamic(Shape::Sphere { radius }, 4000.0 * radius.powi(3));
        balls.push(add(&mut w, ball.at(0.22 * at + 0.02 * random.in_ball()).friction(0.5)));
    }
    run(&mut w, 1.5);
    for _ in 0..400 {
        w.step().unwrap();
        for &ball in &balls {
            let (v, turn) = (w.velocity(ball).unwrap(), w.angular_velocity(ball).unwrap());
            w.set_velocity(ball, 0.9 * v, 0.9 * turn).unwrap();
        }
    }
    w.set_settings(Settings { tolerance: 1e-10, iterations: 50_000, ..w.settings().clone() }).unwrap();
    run(&mut w, 1.0);
    w
}

#[test]
fn pile_at_rest_weighs_what_it_weighs() {
    let mut w = pile();
    let start = w.state().position.clone();
    let (mut worst, mut fastest) = (0.0f64, 0.0f64);
    for _ in 0..400 {
        w.step().unwrap();
        worst = worst.max((w.support_over_weight().unwrap() - 1.0).abs());
        fastest = fastest.max(w.speeds().1);
    }
    let creep = w.state().position.iter().zip(&start).map(|(x, s)| (*x - *s).length()).fold(0.0, f64::max);
    println!(
        "pile: |support/weight - 1| {worst:.1e}, mean speed {fastest:.1e} m/s, creep in 2 s {creep:.1e} m"
    );
    assert!(worst < 1e-6, "support over weight is off by {worst:.3e}");
    assert!(fastest < 1e-8, "mean speed {fastest:.3e}");
    assert!(creep < 1e-7, "creep of {creep:.3e} m in 2 s");
    assert!(w.penetration().max < 1e-4 * 0.07, "{:?}", w.penetration());
}

fn heavy_on_light(settings: Settings, shape: Shape, height: f64) -> World {
    let mut w = world(settings);
    add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(0.5));
    for (k, mass) in [1.0, 1000.0].into_iter().enumerate() {
        let at = DVec3::Z * height * (k as f64 + 0.5);
        add(&mut w, BodyDef::dynamic(shape.clone(), mass).at(at).friction(0.5));
    }
    w
}

struct Stand {
    /// Deepest overlap of 5 s, m.
    deepest: f64,
    /// Most iterations of a step.
    iterations: usize,
    /// Steps not solved to the tolerance.
    unsolved: usize,
    /// Largest residual, m/s.
    residual: f64,
    /// How far the heavy one went, m.
    moved: f64,
}

fn stand(w: &mut World) -> Stand {
    let start = w.state().position[2];
    let mut s = Stand { deepest: 0.0, iterations: 0, unsolved: 0, residual: 0.0, moved: 0.0 };
    for _ in 0..500 {
        let report = w.step().unwrap();
        let residual = report.certificate.residual_max;
        let solved = residual <= w.settings().tolerance;
        assert!(
            solved || report.status != Status::Converged,
            "claims more than the judge grants: {report:?}"
        );
        s.deepest = s.deepest.max(w.penetration().max);
        s.iterations = s.iterations.max(report.iterations);
        s.unsolved += !solved as usize;
        s.residual = s.residual.max(residual);
        s.moved = s.moved.max((w.state().position[2] - start).length());
    }
    s
}

fn shapes() -> [Shape; 2] {
    [Shape::Sphere { radius: 0.1 }, Shape::Box { half: DVec3::new(0.15, 0.15, 0.1) }]
}

/// Mass ratio 1000 the wrong way up, with as many sweeps as it takes: it stands. Two blocks share eight
/// contact points, more than their motion can tell apart; sweeps are so slow on them that some steps end at
/// the cap, but close by.
#[test]
fn heavy_stands_on_light() {
    let [ball, block] = shapes();
    for (shape, tolerance, unsolved) in [(ball.clone(), 1e-4, 0), (ball, 1e-7, 0), (block, 1e-4, 100)] {
        let settings = Settings { tolerance, iterations: 60_000, ..Settings::default() };
        let mut w = heavy_on_light(settings, shape.clone(), 0.2);
        let s = stand(&mut w);
        let name = shape.name();
        println!(
            "1000 on 1, {name}, tolerance {tolerance:.0e}: overlap {:.1e} of the radius, up to {} iterations, {} of 500 steps not solved, residual up to {:.1e}, the heavy one moved {:.1e} m",
            s.deepest / 0.1,
            s.iterations,
            s.unsolved,
            s.residual,
            s.moved
        );
        assert!(s.unsolved <= unsolved, "{name}: {} steps not solved", s.unsolved);
        assert!(s.residual < 10.0 * tolerance, "{name}: residual {}", s.residual);
        assert!(s.deepest < 1e-2 * 0.1, "{name}: overlap {}", s.deepest);
        assert!(s.moved < 1e-2 * 0.1, "{name}: moved by {}", s.moved);
    }
}

/// By sweeps and with a cap of 200 it is not solved, and the report says so in every step in which it is not.
/// Left to itself the engine picks factors, and every step is.
#[test]
fn heavy_on_light_says_when_it_is_not_solved() {
    for (shape, solver) in shapes().into_iter().flat_map(|s| [(s.clone(), "pgs"), (s, "auto")]) {
        let iterations = if solver == "pgs" { 200 } else { Settings::default().iterations };
        let settings = Settings { solver: solver.into(), iterations, ..Settings::default() };
        let mut w = heavy_on_light(settings, shape.clone(), 0.2);
        let s = stand(&mut w);
        let name = format!("{} by {solver}", shape.name());
        println!(
            "1000 on 1, {name}: {} of 500 steps not solved, residual up to {:.2e} m/s, overlap {:.1e} of the radius, the heavy one moved {:.1e} m",
            s.unsolved,
            s.residual,
            s.deepest / 0.1,
            s.moved
        );
        if solver == "pgs" {
            let told = s.unsolved > 0 && s.residual > 1e-2;
            assert!(told, "{name}: unsolved {}, residual {}", s.unsolved, s.residual);
            assert!(s.deepest < 0.1, "{name}: overlap {}", s.deepest);
        } else {
            assert_eq!(s.unsolved, 0, "{name}");
            assert!(s.residual <= 1e-4 && s.moved < 1e-4, "{name}: {}, moved by {}", s.residual, s.moved);
        }
    }
}

/// Faces with seven corners that overlap with others of their kind: up to fourteen corners to choose four
/// from, all of them about as good as others. At rest the choice must not change, or no step would profit
/// from the one before.
#[test]
fn prisms_stacked_askew_keep_their_points() {
    let corner = |k: u32| {
        let side = if k.is_multiple_of(2) { -0.04 } else { 0.04 };
        let (sin, cos) = (std::f64::consts::TAU * f64::from(k / 2) / 7.0).sin_cos();
        DVec3::new(0.1 * cos, 0.1 * sin, side)
    };
    let prism = Shape::from(Hull::new(&(0..14).map(corner).collect::<Vec<_>>()).unwrap());
    let heights = HeightField::new(3, 3, [1.0, 1.0], vec![0.0; 9]).unwrap();
    for floor in [Shape::HalfSpace, Shape::HeightField(heights.into())] {
        let mut w = world(Settings::default());
        add(&mut w, BodyDef::fixed(floor).friction(0.6));
        for level in 0..8 {
            let at = DVec3::Z * (0.04 + 0.08 * f64::from(level));
            let turn = DQuat::from_rotation_z(0.2 * f64::from(level));
            add(&mut w, BodyDef::dynamic(prism.clone(), 5.0).at(at).turned(turn).friction(0.6));
        }
        run(&mut w, 1.0);
        let keys = |w: &World| w.contacts().iter().map(|c| c.key).collect::<Vec<_>>();
        let (before, mut changes, mut sweeps) = (keys(&w), 0, 0);
        for _ in 0..200 {
            sweeps += w.step().unwrap().iterations;
            changes += usize::from(keys(&w) != before);
        }
        println!("{} sweeps in 200 steps", sweeps);
        assert_eq!(before.len(), 32);
        assert_eq!(changes, 0);
        assert!(sweeps < 200 * 60, "{sweeps} sweeps in 200 steps");
    }
}
