//! Constraints that contradict each other: a ball between walls closer than its diameter.

use drystone::solve::Status;
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
