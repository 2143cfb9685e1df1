//! Things that stand: overhanging blocks, piles at rest, heavy on light.

use drystone::random::Random;
use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;

use crate::common::{add, run, tray, world};

/// `n` blocks of length 1, each beyond the one below by `share` of the furthest that stands: 1/(2i) for the i-th from
/// the top, so that the top one overhangs the floor's edge by share × ½ Σ 1/i.
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
        println!("{n} blocks, overhang {furthest:.6}: in 5 s 0.995 of it moves {stands:.1e} m, 1.005 of it {falls:.2} m");
        assert!(stands < 1e-5, "{n} blocks at 0.995 of {furthest} moved by {stands}");
        assert!(falls > 0.5, "{n} blocks at 1.005 of {furthest} moved only {falls}");
    }
}

/// A pile of 30 balls in a tray, settled.
fn pile() -> World {
    let settings = Settings { h: 5e-3, tolerance: 1e-10, iterations: 20_000, ..Settings::default() };
    let mut w = world(settings);
    tray(&mut w, 0.35, 0.5);
    let mut random = Random::new(3);
    for k in 0..30 {
        let at = DVec3::new((k % 3) as f64 - 1.0, (k / 3 % 3) as f64 - 1.0, 0.6 + (k / 9) as f64);
        let radius = random.range(0.07, 0.1);
        let ball = BodyDef::dynamic(Shape::Sphere { radius }, 4000.0 * radius.powi(3));
        add(&mut w, ball.at(0.22 * at + 0.02 * random.in_ball()).friction(0.5));
    }
    w
}

#[test]
fn pile_at_rest_weighs_what_it_weighs() {
    let mut w = pile();
    run(&mut w, 6.0);
    let start = w.state().position.clone();
    let (mut worst, mut fastest) = (0.0f64, 0.0f64);
    for _ in 0..400 {
        w.step().unwrap();
        worst = worst.max((w.support_over_weight().unwrap() - 1.0).abs());
        fastest = fastest.max(w.speeds().1);
    }
    let creep = w.state().position.iter().zip(&start).map(|(x, s)| (*x - *s).length()).fold(0.0, f64::max);
    println!("pile: |support/weight - 1| {worst:.1e}, mean speed {fastest:.1e} m/s, creep in 2 s {creep:.1e} m");
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

/// Mass ratio 1000 the wrong way up, with the iterations anyone would use by default and with enough of them.
#[test]
fn heavy_stands_on_light() {
    let shapes =
        [(Shape::Sphere { radius: 0.1 }, 0.2), (Shape::Box { half: DVec3::new(0.15, 0.15, 0.1) }, 0.2)];
    for (shape, height) in shapes {
        let name = shape.name();
        for (settings, speed_bound) in [
            (Settings::default(), 0.2),
            (Settings { tolerance: 1e-9, iterations: 100_000, ..Settings::default() }, 1e-8),
        ] {
            let tight = settings.iterations > 200;
            let mut w = heavy_on_light(settings, shape.clone(), height);
            let (mut deepest, mut most, mut worst, mut capped, mut fastest) = (0.0f64, 0, 0.0f64, 0, 0.0f64);
            for k in 0..500 {
                let report = w.step().unwrap();
                deepest = deepest.max(w.penetration().max);
                most = most.max(report.iterations);
                worst = worst.max(report.certificate.residual_max);
                let converged = report.status == drystone::solve::Status::Converged;
                assert_eq!(
                    converged,
                    report.certificate.residual_max <= w.settings().tolerance,
                    "status and judge must agree: {report:?}"
                );
                capped += !converged as usize;
                if k >= 250 {
                    fastest = fastest.max(w.speeds().0);
                }
            }
            println!(
                "1000 on 1, {name}s, tight {tight}: deepest overlap {:.1e} of the radius, iterations up to {most}, {capped} of 500 steps capped, worst residual {worst:.1e}, fastest at last {fastest:.1e}",
                deepest / 0.1
            );
            assert!(deepest < 0.05 * 0.1, "{name}: overlap {deepest}");
            assert!(fastest < speed_bound, "{name}: still moving at {fastest}");
            let top = w.state().position[2];
            assert!((top - DVec3::Z * 1.5 * height).length() < 0.01 * height, "{name}: the heavy one is at {top}");
            if tight {
                assert_eq!(capped, 0, "{name}");
                assert!((w.support_over_weight().unwrap() - 1.0).abs() < 1e-6);
            }
        }
    }
}
