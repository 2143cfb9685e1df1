//! Constraints that contradict each other: a ball between walls closer than its diameter.

use drystone::solve::Status;
use drystone::solve::solver::REGISTRY;
use drystone::{BodyDef, BodyId, Settings, Shape, Stabilisation, StepReport, World};
use glam::{DQuat, DVec3};

use crate::common::{add, world};

/// A ball of diameter 1 on a floor, between walls 0.98 apart.
fn squeezed(stabilisation: &str, mu: f64) -> (World, BodyId) {
    let stabilisation = Stabilisation::parse(stabilisation).unwrap();
    let mut w = world(Settings { stabilisation, ..Settings::default() });
    add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(mu));
    for side in [-1.0, 1.0] {
        let turn = DQuat::from_rotation_arc(DVec3::Z, DVec3::X * -side);
        add(&mut w, BodyDef::fixed(Shape::HalfSpace).at(DVec3::X * 0.49 * side).turned(turn).friction(mu));
    }
    let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.5 }, 1.0).at(DVec3::Z * 0.5).friction(mu);
    let ball = add(&mut w, ball);
    (w, ball)
}

fn settle(w: &mut World, ball: BodyId) -> (StepReport, f64) {
    let mut fastest = 0.0f64;
    let mut last = None;
    for _ in 0..300 {
        last = Some(w.step().unwrap());
        let v = w.velocity(ball).unwrap();
        assert!(v.is_finite() && w.position(ball).unwrap().is_finite());
        fastest = fastest.max(v.length());
    }
    (last.unwrap(), fastest)
}

/// Overlaps that do not enter the velocity problem leave it solvable: the ball stays where it is.
#[test]
fn squeezed_ball_rests_where_overlaps_are_kept_apart_from_velocities() {
    for stabilisation in ["none", "post"] {
        for mu in [0.0, 0.5] {
            let (mut w, ball) = squeezed(stabilisation, mu);
            let (report, fastest) = settle(&mut w, ball);
            let moved = (w.position(ball).unwrap() - DVec3::Z * 0.5).length();
            println!(
                "{stabilisation}, mu {mu}: {:?}, fastest {fastest:.1e} m/s, moved {moved:.1e} m",
                report.status
            );
            assert_eq!(report.status, Status::Converged, "{stabilisation}");
            assert!(fastest < 1e-3, "{stabilisation}, mu {mu}: {fastest} m/s");
            assert!(moved < 0.011, "{stabilisation}, mu {mu}: moved by {moved}");
        }
    }
}

/// Overlaps inside the velocity problem make it infeasible: two walls each demand that the ball leave it. There is no
/// solution to converge to, and the report says so. What is solved instead leaves the overlaps alone, and rest is a solution
/// of that: the ball's own speed stays within what the overlaps demand.
#[test]
fn squeezed_ball_is_reported_where_overlaps_enter_the_velocities() {
    for (stabilisation, demand) in [("scaled:K=0.2", 0.2), ("scaled:K=1", 1.0), ("clamped:A=0.1", 0.1)] {
        for mu in [0.0, 0.5] {
            let (mut w, ball) = squeezed(stabilisation, mu);
            let (report, fastest) = settle(&mut w, ball);
            println!(
                "{stabilisation}, mu {mu}: {:?} after {} iterations, residual {:.2e}, |gamma| {:.1e}, fastest {fastest:.1e} m/s",
                report.status,
                report.iterations,
                report.certificate.residual_max,
                report.certificate.multipliers
            );
            assert_eq!(report.status, Status::Wedged, "{stabilisation}");
            assert!(report.certificate.rest_is_feasible);
            assert!(report.certificate.residual_max < 1e-3, "{stabilisation}: {:?}", report.certificate);
            assert!(fastest <= 2.0 * demand, "{stabilisation}, mu {mu}: {fastest} m/s");
        }
    }
}

/// A heavy ball on a light one: slow for sweeps, whose multipliers grow for thousands of them, but two balls on a floor cannot
/// contradict each other.
#[test]
fn a_heavy_ball_on_a_light_one_is_not_a_contradiction() {
    for (balls, ratio) in [(2, 1000.0), (6, 4.0)] {
        let mut w = world(Settings {
            solver: "pgs".into(),
            iterations: 2000,
            stabilisation: Stabilisation::parse("clamped").unwrap(),
            h: 0.01,
            ..Settings::default()
        });
        add(&mut w, BodyDef::fixed(Shape::HalfSpace));
        for i in 0..balls {
            let mass = f64::powi(ratio, i);
            let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.5 }, mass);
            add(&mut w, ball.at(DVec3::Z * (0.5 + f64::from(i))));
        }
        for step in 1..=20 {
            let report = w.step().unwrap();
            assert_ne!(report.status, Status::Wedged, "{balls} balls, ratio {ratio}, step {step}");
        }
    }
}

/// Eight balls of diameter 1 in a closed box that is 0.05 too small in every direction: a heap that no stabilisation can
/// set right, as the published pile of 400 in its box.
fn pressed(solver: &str, stabilisation: &str) -> (World, Vec<BodyId>) {
    let mut w = world(Settings {
        solver: solver.into(),
        stabilisation: Stabilisation::parse(stabilisation).unwrap(),
        h: 0.005,
        ..Settings::default()
    });
    let (side, mu) = (1.95, 0.4);
    for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
        for (at, normal) in [(0.0, axis), (side, -axis)] {
            let turn = DQuat::from_rotation_arc(DVec3::Z, normal);
            add(&mut w, BodyDef::fixed(Shape::HalfSpace).at(at * axis).turned(turn).friction(mu));
        }
    }
    let place = |bit: usize| if bit == 0 { 0.25 * side } else { 0.75 * side };
    let balls = (0..8).map(|i| {
        let at = DVec3::new(place(i & 1), place(i & 2), place(i & 4));
        add(&mut w, BodyDef::dynamic(Shape::Sphere { radius: 0.5 }, 10.0).at(at).friction(mu))
    });
    let balls = balls.collect();
    (w, balls)
}

/// Whatever solves and whatever stabilises: no error, nothing thrown out of the box, and where overlaps enter the
/// velocities the contradiction is told.
#[test]
fn a_pressed_heap_ends_well_under_every_solver_and_stabilisation() {
    for info in REGISTRY {
        for stabilisation in ["none", "scaled:K=1", "clamped:A=10", "post"] {
            let what = format!("{}, {stabilisation}", info.name);
            let (mut w, balls) = pressed(info.name, stabilisation);
            let mut wedged = 0;
            for step in 0..40 {
                let report = w.step().unwrap_or_else(|e| panic!("{what}: {e}"));
                let named = report.status == Status::Wedged && report.worst_contact.is_some();
                assert!(
                    step > 0 || named == stabilisation.contains(':'),
                    "{what}: first {:?}",
                    report.status
                );
                wedged += (report.status == Status::Wedged) as usize;
                for &ball in &balls {
                    let (x, v) = (w.position(ball).unwrap(), w.velocity(ball).unwrap().length());
                    // Each overlap of 0.0167 m asks for 3.3 m/s.
                    assert!(v <= 10.0, "{what}: {v} m/s");
                    assert!(x.min_element() > 0.3 && x.max_element() < 1.65, "{what}: a ball at {x}");
                }
            }
            if stabilisation.contains(':') {
                assert!(wedged > 0, "{what}: walls push against each other and nothing says so");
            } else {
                assert_eq!(wedged, 0, "{what}: rest is a solution");
            }
        }
    }
}
