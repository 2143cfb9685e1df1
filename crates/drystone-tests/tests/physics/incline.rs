//! A block on an incline: it sticks, slides or topples.

use drystone::{BodyId, Shape, World};
use glam::DVec3;

use crate::common::{G, converges, downhill, on_slope, run, slope, threshold};

const HALF: DVec3 = DVec3::new(0.25, 0.25, 0.1);

fn block(h: f64, angle: f64, mu: f64) -> (World, BodyId) {
    on_slope(h, angle, mu, Shape::Box { half: HALF }, HALF.z)
}

/// Sticks iff μ ≥ tan θ. A block 0.0003 below the critical μ reaches 0.7 mm/s in a quarter second; one that
/// sticks moves at the solver's tolerance.
#[test]
fn block_sticks_from_the_angle_of_friction_on() {
    for degrees in [15.0f64, 30.0, 40.0] {
        let angle = degrees.to_radians();
        let sticks = |mu: f64| {
            let (mut w, body) = block(1e-3, angle, mu);
            run(&mut w, 0.25);
            w.velocity(body).unwrap().length() < 1e-5
        };
        let (found, exact) = (threshold(0.5 * angle.tan(), 1.5 * angle.tan(), 5e-4, sticks), angle.tan());
        println!("critical mu at {degrees}°: {found:.5}, tan = {exact:.5}, off by {:.1e}", found - exact);
        assert!((found - exact).abs() <= 1e-3, "critical mu at {degrees}° is {found}, tan = {exact}");
    }
}

/// a = g (sin θ - μ cos θ). The relaxed model is exact but for the first step, in which the block rises to
/// its hover gap: that costs h a μ²/(1 + μ²) of speed, so the error is of first order.
#[test]
fn block_slides_with_the_acceleration_of_coulomb() {
    for (degrees, mu) in [(30.0f64, 0.3), (20.0, 0.1), (45.0, 0.6)] {
        let angle = degrees.to_radians();
        let (a, time) = (G * (angle.sin() - mu * angle.cos()), 0.5);
        converges(&format!("slide, {degrees}°, mu {mu}: acceleration from the way"), a, |h| {
            let (mut w, body) = block(h, angle, mu);
            let start = w.position(body).unwrap();
            run(&mut w, time);
            let turned = w.rotation(body).unwrap().angle_between(slope(angle));
            assert!(turned < 1e-6, "it must not turn, but did by {turned}");
            2.0 * (w.position(body).unwrap() - start).dot(downhill(angle)) / (time * time)
        });
    }
}

#[derive(Debug, PartialEq)]
enum Fate {
    Stands,
    Slides,
    Topples,
}

/// A block of width b and height t on a slope.
fn tilted(width: f64, height: f64, mu: f64, angle: f64) -> Fate {
    let half = DVec3::new(0.5 * width, 0.3, 0.5 * height);
    let (mut w, body) = on_slope(2e-3, angle, mu, Shape::Box { half }, half.z);
    let start = w.position(body).unwrap();
    run(&mut w, 0.5);
    let turned = w.rotation(body).unwrap().angle_between(slope(angle));
    let moved = (w.position(body).unwrap() - start).length();
    match (turned > 1e-5, moved > 1e-5) {
        (true, _) => Fate::Topples,
        (false, true) => Fate::Slides,
        (false, false) => Fate::Stands,
    }
}

/// Slides at tan a = μ or topples at tan a = b/t, whichever comes first; both thresholds to 1e-3 in tan a.
#[test]
fn tilted_block_slides_or_topples_whichever_comes_first() {
    for (width, height, mu) in
        [(0.4, 1.0, 0.3), (0.4, 1.0, 0.6), (1.0, 1.0, 0.5), (0.5, 1.5, 0.9), (0.3, 0.5, 0.55)]
    {
        let (first, fate) =
            if mu < width / height { (mu, Fate::Slides) } else { (width / height, Fate::Topples) };
        let found = threshold(0.5 * first, 1.1 * first, 5e-4, |tan: f64| {
            tilted(width, height, mu, tan.atan()) != Fate::Stands
        });
        println!("block {width} x {height}, mu {mu}: {fate:?} at tan a = {found:.5}, exact {first:.5}");
        assert!(
            (found - first).abs() <= 1e-3,
            "{width} x {height}, mu {mu}: moves at tan a = {found}, exact {first}"
        );
        let just_above = tilted(width, height, mu, (1.005 * first).atan());
        assert_eq!(just_above, fate, "{width} x {height}, mu {mu}, just above tan a = {first}");
    }
}
