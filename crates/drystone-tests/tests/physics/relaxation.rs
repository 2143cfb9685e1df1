//! What the relaxation of Coulomb's law to a cone complementarity problem does to sliding bodies
//! [TasoraAnitescu2011, §2.7]: they hover at the gap μ h |v_t|, and take off when they start with less.

use drystone::{BodyDef, BodyId, Settings, Shape, World};
use drystone_solve::{FrictionLaw, Status};
use glam::{DQuat, DVec3};

use crate::common::{G, add, precise, world};

const HALF: DVec3 = DVec3::new(0.3, 0.3, 0.1);

fn sliding(h: f64, mu: f64, v0: f64, gap: f64, shape: Shape, height: f64) -> (World, BodyId) {
    let mut w = world(precise(h));
    add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(mu));
    let body = BodyDef::dynamic(shape, 3.0).at(DVec3::Z * (height + gap)).friction(mu);
    let body = add(&mut w, body.moving(DVec3::X * v0, DVec3::ZERO));
    (w, body)
}

/// A block pulled with μ m g slides steadily, and hovers at μ h v.
#[test]
fn sliding_block_hovers() {
    for (h, mu, v0) in [(1e-3, 0.3, 1.0), (1e-3, 0.6, 4.0), (1e-2, 0.3, 1.0), (5e-3, 1.0, 2.0)] {
        let (mut w, body) = sliding(h, mu, v0, mu * h * v0, Shape::Box { half: HALF }, HALF.z);
        for _ in 0..100 {
            w.apply_force(body, DVec3::X * mu * 3.0 * G, None).unwrap();
            w.step().unwrap();
        }
        let (gap, v) = (w.position(body).unwrap().z - HALF.z, w.velocity(body).unwrap());
        println!("hover: h {h}, mu {mu}, v {:.6}: gap {gap:.9}, mu h v {:.9}", v.x, mu * h * v.x);
        assert!((v.x - v0).abs() < 1e-6 * v0, "steady speed {v}");
        assert!(v.z.abs() < 1e-8, "level flight {v}");
        assert!((gap / (mu * h * v0) - 1.0).abs() < 1e-6, "gap {gap}, mu h v {}", mu * h * v0);
    }
}

/// A ball left to itself keeps the gap μ h |slip| from step to step while the slip dies, and lies on the
/// floor once it rolls.
#[test]
fn sliding_ball_hovers_by_its_slip() {
    let (h, mu, v0, radius) = (1e-3, 0.3, 2.0, 0.2);
    let (mut w, ball) = sliding(h, mu, v0, mu * h * v0, Shape::Sphere { radius }, radius);
    let mut worst = 0.0f64;
    for _ in 0..600 {
        w.step().unwrap();
        let slip = w.velocity(ball).unwrap().x - w.angular_velocity(ball).unwrap().y * radius;
        let gap = w.position(ball).unwrap().z - radius;
        worst = worst.max((gap - mu * h * slip.abs()).abs() / (mu * h * v0));
    }
    let (gap, v) = (w.position(ball).unwrap().z - radius, w.velocity(ball).unwrap());
    println!(
        "ball: largest |gap - mu h slip| / (mu h v0) = {worst:.2e}; rolling at {:.6} with gap {gap:.2e}",
        v.x
    );
    // Where exactly within the gap the contact point lies changes the slip by the gap over the diameter.
    assert!(worst < 2e-3, "gap and slip disagree by {worst} of mu h v0");
    assert!(gap.abs() < 1e-9, "a rolling ball lies on the floor, gap {gap}");
}

/// Set at gap 0 with tangential speed v0, a body leaves with normal speed μ |v_t|, v_t after the step. For a
/// block that does not turn, m v_n + m g h is the normal impulse and μ times it the friction, so v_n = μ
/// (v0 - μ g h)/(1 + μ²).
#[test]
fn body_at_gap_zero_takes_off() {
    for (h, mu, v0) in [(1e-3, 0.3, 1.0), (1e-2, 0.5, 4.0), (5e-3, 0.8, 10.0)] {
        let (mut w, body) = sliding(h, mu, v0, 0.0, Shape::Box { half: HALF }, HALF.z);
        w.step().unwrap();
        let v = w.velocity(body).unwrap();
        let exact = mu * (v0 - mu * G * h) / (1.0 + mu * mu);
        println!(
            "take-off: h {h}, mu {mu}, v0 {v0}: v_n {:.8}, mu v_t {:.8}, closed form {exact:.8}",
            v.z,
            mu * v.x
        );
        assert!((v.z - mu * v.x).abs() < 1e-8 * v0, "v_n {}, mu v_t {}", v.z, mu * v.x);
        assert!((v.z - exact).abs() < 1e-8 * v0, "v_n {}, closed form {exact}", v.z);
    }
}

/// The take-off vanishes with h: from gap 0 and rest, pulled sideways, a block rises no further than its
/// hover gap.
#[test]
fn body_that_starts_from_rest_does_not_take_off() {
    let (h, mu, pull) = (1e-3, 0.4, 2.0);
    let (mut w, body) = sliding(h, mu, 0.0, 0.0, Shape::Box { half: HALF }, HALF.z);
    let mut worst = 0.0f64;
    for _ in 0..500 {
        w.apply_force(body, DVec3::X * 3.0 * (mu * G + pull), None).unwrap();
        w.step().unwrap();
        let (gap, v) = (w.position(body).unwrap().z - HALF.z, w.velocity(body).unwrap());
        worst = worst.max((gap - mu * h * v.x).abs());
    }
    println!("pulled from rest: largest |gap - mu h v| = {worst:.2e} m at speeds up to 1 m/s");
    assert!(worst < 1e-9, "gap leaves mu h v by {worst}");
}

/// Under exact Coulomb there is neither gap nor take-off: a body set down at gap 0 with v_t stays there, and
/// slows down as the closed form says.
#[test]
fn exact_coulomb_neither_hovers_nor_takes_off() {
    for solver in ["pgs", "apgd", "nsgs-ac"] {
        for (h, mu, v0) in [(1e-3, 0.3, 1.0), (1e-2, 0.5, 4.0), (5e-3, 0.8, 10.0)] {
            let (mut w, body) = sliding(h, mu, v0, 0.0, Shape::Box { half: HALF }, HALF.z);
            let settings = Settings {
                model: FrictionLaw::Coulomb,
                solver: solver.into(),
                tolerance: 1e-10,
                ..precise(h)
            };
            w.set_settings(settings).unwrap();
            for k in 1..=20 {
                w.step().unwrap();
                let (gap, v) = (w.position(body).unwrap().z - HALF.z, w.velocity(body).unwrap());
                assert!(v.z.abs() < 1e-8 * v0, "{solver}: leaves at {}", v.z);
                assert!(gap.abs() < 1e-8, "{solver}: gap {gap}");
                let exact = v0 - f64::from(k) * h * mu * G;
                assert!((v.x - exact).abs() < 1e-7 * v0, "{solver}: {} against {exact}", v.x);
            }
        }
    }
}

/// A ball in a wedge of two walls that close. By Coulomb's law it is pressed out at c / (2 tan α/2), or jams;
/// the relaxed law lets what slides lift off, at ½ c (cos α/2 + μ sin α/2) / (sin α/2 - μ cos α/2), which has
/// no bound where the wedge all but jams. What asks for a motion gives way: with a compliance of ε of the
/// diagonal the ball leaves at c / (2 √ε) at most.
#[test]
fn closing_walls_do_not_shoot_what_is_between_them() {
    let (mu, c, r) = (0.3, 1.0, 0.1);
    for (beyond, model, solver) in [
        (0.001, FrictionLaw::Ccp, "auto"),
        (0.01, FrictionLaw::Ccp, "auto"),
        (0.01, FrictionLaw::Ccp, "prox"),
        (0.01, FrictionLaw::Ccp, "nncg"),
        (0.1, FrictionLaw::Ccp, "auto"),
        (0.01, FrictionLaw::Coulomb, "auto"),
        (0.6, FrictionLaw::Ccp, "auto"),
    ] {
        let half = f64::atan(mu) + beyond;
        let settings = Settings { gravity: DVec3::ZERO, model, solver: solver.into(), ..Settings::default() };
        let epsilon = settings.compliance;
        let mut w = world(settings);
        for side in [-1.0, 1.0] {
            let normal = DVec3::new(half.sin(), 0.0, -side * half.cos());
            let wall =
                BodyDef::kinematic(Shape::HalfSpace).turned(DQuat::from_rotation_arc(DVec3::Z, normal));
            add(&mut w, wall.at(-r * normal).moving(DVec3::Z * -side * 0.5 * c, DVec3::ZERO).friction(mu));
        }
        let ball = add(&mut w, BodyDef::dynamic(Shape::Sphere { radius: r }, 1.0).friction(mu));
        let report = w.step().unwrap();
        let v = w.velocity(ball).unwrap();
        assert_eq!(report.status, Status::Converged, "{beyond} rad beyond jamming: {v}");
        let slides = 0.5 * c / half.tan();
        let lifts = 0.5 * c * (half.cos() + mu * half.sin()) / (half.sin() - mu * half.cos());
        let most = 0.5 * c / epsilon.sqrt();
        println!("{beyond} rad, {}: {:.3} m/s (slides {slides:.3}, lifts {lifts:.3})", model.name(), v.x);
        match model {
            // The walls give way as well.
            FrictionLaw::Coulomb => assert!((0.4..1.02).contains(&(v.x / slides)), "{v}, not {slides} m/s"),
            FrictionLaw::Ccp if lifts < 0.2 * most => {
                assert!((v.x / lifts - 1.0).abs() < 0.2, "{beyond} rad: {v}, not {lifts} m/s")
            }
            FrictionLaw::Ccp => assert!((0.0..=most).contains(&v.x), "{beyond} rad: {v}, at most {most} m/s"),
        }
        assert!(v.y.abs() + v.z.abs() <= w.settings().tolerance, "{v}");
    }
}
