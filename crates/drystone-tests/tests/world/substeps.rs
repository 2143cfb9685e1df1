//! Steps in parts: what they are equal to, and what they must not change.

use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;

fn world(settings: Settings) -> World {
    let mut w = World::new(settings).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
    for k in 0..8 {
        let at = DVec3::new(0.02 * f64::from(k % 3), 0.01 * f64::from(k % 2), 0.3 + 0.25 * f64::from(k));
        let shape =
            if k % 2 == 0 { Shape::Box { half: DVec3::splat(0.1) } } else { Shape::Sphere { radius: 0.1 } };
        w.add_body(BodyDef::dynamic(shape, 1.0).at(at).friction(0.5)).unwrap();
    }
    w
}

fn settings() -> Settings {
    Settings { solver: "pgs".into(), iterations: 60, tolerance: 0.0, ..Settings::default() }
}

/// With h and iterations divided by a power of two nothing rounds: the parts are the steps of a finer run,
/// bit for bit.
#[test]
fn parts_are_the_steps_of_a_finer_run() {
    let mut parts = world(Settings { substeps: 4, ..settings() });
    let mut fine = world(Settings { h: 0.01 / 4.0, iterations: 15, ..settings() });
    for k in 1..=80 {
        let told = parts.step().unwrap();
        let each: Vec<_> = (0..4).map(|_| fine.step().unwrap()).collect();
        assert_eq!(parts.state().position, fine.state().position, "{k}");
        assert_eq!(parts.state().multipliers, fine.state().multipliers);
        assert_eq!((told.step, parts.state().step), (k, k));
        assert!((parts.state().time - 0.01 * k as f64).abs() < 1e-12);
        assert_eq!(told.iterations, each.iter().map(|r| r.iterations).sum::<usize>());
        let worst = each.iter().map(|r| r.certificate.residual_max).fold(0.0, f64::max);
        assert_eq!(told.certificate.residual_max, worst);
        assert_eq!(told.contacts, each[3].contacts);
    }
}

#[test]
fn forces_last_for_all_parts_and_are_told_as_forces() {
    let ball = |substeps: usize| {
        let mut w = World::new(Settings { substeps, ..Settings::default() }).unwrap();
        w.add_body(BodyDef::fixed(Shape::HalfSpace)).unwrap();
        let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 2.0).at(0.1 * DVec3::Z);
        let ball = w.add_body(ball).unwrap();
        for _ in 0..10 {
            w.apply_force(ball, DVec3::new(3.0, 0.0, 0.0), None).unwrap();
            w.step().unwrap();
        }
        let floor = w.contact_forces()[1];
        (w.velocity(ball).unwrap().x, floor.z, w.support_over_weight().unwrap())
    };
    for parts in [1, 3, 8] {
        let (v, force, support) = ball(parts);
        assert!((v - 0.15).abs() < 1e-12, "{parts} parts: {v}");
        assert!((force - 2.0 * 9.81).abs() < 1e-4 && (support - 1.0).abs() < 1e-5, "{parts} parts: {force}");
    }
}

#[test]
fn a_part_that_fails_undoes_the_whole_step() {
    let mut w = world(Settings { substeps: 3, ..settings() });
    for _ in 0..30 {
        w.step().unwrap();
    }
    // The second part of the third step of those to come meets a number that is not one.
    let start = w.state().time;
    let field = move |_: &drystone::field::View, t: f64| {
        let bad = t > start + 0.0225;
        drystone::Wrench::force(if bad { DVec3::splat(f64::NAN) } else { DVec3::ZERO })
    };
    w.add_field(drystone::Field::callback("breaks", field)).unwrap();
    w.step().unwrap();
    w.step().unwrap();
    let before = w.state().clone();
    assert!(w.step().is_err());
    assert_eq!(w.state(), &before);
    assert_eq!(w.settings(), &Settings { substeps: 3, ..settings() });
}

#[test]
fn settings_say_how_many() {
    for substeps in [0, 1001] {
        let refused = World::new(Settings { substeps, ..Settings::default() }).err().unwrap();
        assert!(refused.to_string().contains("substeps"), "{refused}");
    }
}
