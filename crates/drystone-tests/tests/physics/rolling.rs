//! A ball on a floor and on an incline: sliding, then rolling.

use drystone::{BodyDef, BodyId, Shape, World};
use glam::DVec3;

use crate::common::{G, add, converges, downhill, on_slope, precise, run, slope, threshold, world};

const RADIUS: f64 = 0.2;

/// A ball set sliding at `v0` along x.
///
/// It starts at the gap μ h v0 at which the relaxed model lets it slide level [TasoraAnitescu2011, eq. 43];
/// from gap 0 it would take off at once with μ v0, fly, and touch down some steps later, by when the sliding
/// law is no longer what one looks at.
fn thrown(h: f64, mu: f64, v0: f64) -> (World, BodyId) {
    let mut w = world(precise(h));
    add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(mu));
    let ball = BodyDef::dynamic(Shape::Sphere { radius: RADIUS }, 1.5)
        .at(DVec3::new(0.0, 0.0, RADIUS + mu * h * v0))
        .moving(DVec3::X * v0, DVec3::ZERO)
        .friction(mu);
    let ball = add(&mut w, ball);
    (w, ball)
}

/// Speed of the ball's lowest point along x.
fn slip(w: &World, ball: BodyId) -> f64 {
    w.velocity(ball).unwrap().x - w.angular_velocity(ball).unwrap().y * RADIUS
}

#[test]
fn sliding_ball_rolls_after_two_sevenths() {
    for (mu, v0) in [(0.2, 3.0), (0.4, 2.0)] {
        let rolls_from = 2.0 * v0 / (7.0 * mu * G);
        // The slip falls along a straight line; where that meets zero is known far better than to one step.
        converges(&format!("rolling from, mu {mu}, v0 {v0}"), rolls_from, |h| {
            let (mut w, ball) = thrown(h, mu, v0);
            let t1 = (0.3 * rolls_from / h).round() * h;
            let t2 = (0.8 * rolls_from / h).round() * h;
            run(&mut w, t1);
            let s1 = slip(&w, ball);
            run(&mut w, t2 - t1);
            let s2 = slip(&w, ball);
            t1 + s1 * (t2 - t1) / (s1 - s2)
        });
        converges(&format!("rolling speed, mu {mu}, v0 {v0}"), 5.0 / 7.0 * v0, |h| {
            let (mut w, ball) = thrown(h, mu, v0);
            run(&mut w, rolls_from - 2.0 * h);
            assert!(slip(&w, ball) > 0.0, "it rolls too early");
            run(&mut w, 10.0 * h);
            assert!(slip(&w, ball).abs() < 1e-8 * v0, "it still slips at {}", slip(&w, ball));
            w.velocity(ball).unwrap().x
        });
    }
}

/// What the take-off does to the whole: from gap 0 the ball hops, yet ends up rolling at 5/7 v0 all the same,
/// because no impulse at the lowest point changes the angular momentum about it.
#[test]
fn take_off_does_not_change_the_final_rolling() {
    let (mu, v0) = (0.2, 3.0);
    let mut w = world(precise(1e-3));
    add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(mu));
    let ball = BodyDef::dynamic(Shape::Sphere { radius: RADIUS }, 1.5).friction(mu);
    let ball = add(&mut w, ball.at(DVec3::Z * RADIUS).moving(DVec3::X * v0, DVec3::ZERO));
    let mut highest = 0.0f64;
    for _ in 0..1500 {
        w.step().unwrap();
        highest = highest.max(w.position(ball).unwrap().z - RADIUS);
    }
    let v = w.velocity(ball).unwrap();
    println!(
        "take-off: highest hop {:.2} mm, final speed {:.6}, 5/7 v0 = {:.6}",
        1e3 * highest,
        v.x,
        5.0 / 7.0 * v0
    );
    assert!(highest > 1e-3, "no hop: {highest}");
    assert!((v.x / v0 * 7.0 / 5.0 - 1.0).abs() < 0.01, "final speed {v}");
    assert!(slip(&w, ball).abs() < 1e-8 && v.z.abs() < 1e-8, "slip {}, {v}", slip(&w, ball));
}

#[test]
fn ball_rolls_down_an_incline() {
    for degrees in [10.0f64, 30.0] {
        let angle = degrees.to_radians();
        let (a, time) = (5.0 / 7.0 * G * angle.sin(), 0.5);
        converges(&format!("rolling down {degrees}°"), a, |h| {
            let (mut w, ball) = on_slope(h, angle, 0.5, Shape::Sphere { radius: RADIUS }, RADIUS);
            let start = w.position(ball).unwrap();
            run(&mut w, time);
            2.0 * (w.position(ball).unwrap() - start).dot(downhill(angle)) / (time * time)
        });
    }
}

#[test]
fn ball_on_an_incline_rolls_from_two_sevenths_tan_on() {
    for degrees in [15.0f64, 30.0, 45.0] {
        let angle = degrees.to_radians();
        let rolls = |mu: f64| {
            let (mut w, ball) = on_slope(1e-3, angle, mu, Shape::Sphere { radius: RADIUS }, RADIUS);
            run(&mut w, 0.25);
            let contact = -RADIUS * (slope(angle) * DVec3::Z);
            let slip = w.velocity(ball).unwrap() + w.angular_velocity(ball).unwrap().cross(contact);
            slip.length() < 1e-5
        };
        let exact = 2.0 / 7.0 * angle.tan();
        let found = threshold(0.5 * exact, 1.5 * exact, 5e-4, rolls);
        println!("rolls at {degrees}° from mu = {found:.5}, exact {exact:.5}");
        assert!((found - exact).abs() <= 1e-3, "at {degrees}° it rolls from mu = {found}, exact {exact}");
    }
}
