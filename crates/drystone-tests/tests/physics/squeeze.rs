//! Constraints that contradict each other: a ball between walls closer than its diameter.

use drystone::joint::Limits;
use drystone::solve::solver::REGISTRY;
use drystone::solve::{FrictionLaw, Status};
use drystone::{
    BodyDef, BodyId, Impact, JointDef, MassProperties, Motor, PairLaw, Party, Settings, Shape, Stabilisation,
    StepReport, World,
};
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

/// Overlaps inside the velocity problem contradict each other: two walls each demand that the ball leave it.
/// Both give way, the report says so, and the ball's own speed stays within what the overlaps demand.
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
            assert_eq!(report.status, Status::Converged, "{stabilisation}");
            assert!(!report.contradiction.is_empty(), "{stabilisation}: walls contradict each other");
            assert!(report.certificate.residual_max < 1e-3, "{stabilisation}: {:?}", report.certificate);
            assert!(fastest <= 2.0 * demand, "{stabilisation}, mu {mu}: {fastest} m/s");
        }
    }
}

/// A heavy ball on a light one: slow for sweeps, whose multipliers grow for thousands of them, but two balls
/// on a floor cannot contradict each other.
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

/// Eight balls of diameter 1 in a closed box that is 0.05 too small in every direction: a heap that no
/// stabilisation can set right, as the published pile of 400 in its box.
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

/// Whatever solves and whatever stabilises: no error, nothing thrown out of the box, and where overlaps enter
/// the velocities the contradiction is told.
#[test]
fn a_pressed_heap_ends_well_under_every_solver_and_stabilisation() {
    // Pivots over all contacts of a heap at once take minutes.
    for info in REGISTRY.iter().filter(|info| info.name != "lemke") {
        for stabilisation in ["none", "scaled:K=1", "clamped:A=10", "post"] {
            let what = format!("{}, {stabilisation}", info.name);
            let (mut w, balls) = pressed(info.name, stabilisation);
            let mut wedged = 0;
            for step in 0..8 {
                let report = w.step().unwrap_or_else(|e| panic!("{what}: {e}"));
                let named = !report.contradiction.is_empty();
                assert!(
                    step > 0 || named == stabilisation.contains(':'),
                    "{what}: first {:?}",
                    report.status
                );
                wedged += named as usize;
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

/// Solvers that solve steps of joints and motors against each other: plain sweeps would need too many.
const SOLVES: [&str; 3] = ["auto", "prox", "schur"];

/// Every step of `w` once something contradicts itself, under one solver: told, and nothing runs away.
fn contradicts(w: &mut World, steps: usize, what: &str) -> StepReport {
    let mut last = None;
    for step in 0..steps {
        let report = w.step().unwrap_or_else(|e| panic!("{what}: {e}"));
        let (fastest, _) = w.speeds();
        assert!(fastest < 1.0, "{what}, step {step}: {fastest} m/s");
        let told = !report.contradiction.is_empty();
        assert!(step >= 5 || told, "{what}, step {step}: {:?}, {fastest} m/s", report.status);
        // What has tilted may turn out of the way for a while, or nearly so.
        if told {
            last = Some(report);
        }
    }
    last.unwrap()
}

/// A box on a floor between two walls that close in on it: no velocity keeps out of both.
#[test]
fn a_vice_is_told_and_does_not_throw_what_it_holds() {
    for info in REGISTRY.iter().filter(|info| SOLVES.contains(&info.name)) {
        for (stabilisation, model) in [
            ("post", FrictionLaw::Ccp),
            ("none", FrictionLaw::Coulomb),
            ("clamped", FrictionLaw::Ccp),
            ("post", FrictionLaw::Coulomb),
        ] {
            let what = format!("{}, {stabilisation}, {}", info.name, model.name());
            let mut w = world(Settings {
                solver: info.name.into(),
                stabilisation: Stabilisation::parse(stabilisation).unwrap(),
                model,
                h: 0.005,
                ..Settings::default()
            });
            add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(0.5));
            let walls = [-1.0, 1.0].map(|side| {
                let wall = BodyDef::kinematic(Shape::Box { half: DVec3::new(0.1, 1.0, 1.0) }).friction(0.5);
                let wall = wall.at(DVec3::new(0.6 * side, 0.0, 1.0));
                add(&mut w, wall.moving(DVec3::X * -0.1 * side, DVec3::ZERO))
            });
            let cube = BodyDef::dynamic(Shape::Box { half: DVec3::splat(0.5) }, 1.0).friction(0.5);
            let cube = add(&mut w, cube.at(DVec3::Z * 0.5));
            let report = contradicts(&mut w, 15, &what);
            // The two walls, each with the cube; the floor has no part in it.
            for wall in walls {
                let named = |p: &Party| p.bodies.contains(&wall.slot) && p.bodies.contains(&cube.slot);
                assert!(report.contradiction.iter().any(named), "{what}: {:?}", report.contradiction);
            }
            let at = w.position(cube).unwrap();
            assert!((at - DVec3::Z * 0.5).length() < 0.05, "{what}: at {at}");
        }
    }
}

/// Two unlimited motors on one axle, one forwards and one backwards; and one that presses a box on the floor.
#[test]
fn motors_against_each_other_and_against_the_floor_are_told() {
    for info in REGISTRY.iter().filter(|info| SOLVES.contains(&info.name)) {
        let settings = || Settings { solver: info.name.into(), h: 0.005, ..Settings::default() };
        let mut w = world(settings());
        let wheel = BodyDef::dynamic(Shape::Box { half: DVec3::splat(0.1) }, 1.0);
        let wheel = add(&mut w, wheel.at(DVec3::Z));
        let joints = [1.0, -1.0].map(|speed| {
            let hinge = JointDef::revolute(None, wheel, DVec3::Z, DVec3::Y).motor(0, Motor::speed(speed));
            w.add_joint(hinge).unwrap()
        });
        let report = contradicts(&mut w, 20, &format!("{}, two motors", info.name));
        for joint in joints {
            let named = |p: &Party| p.joint == Some(joint.slot) && p.bodies == [wheel.slot];
            assert!(report.contradiction.iter().any(named), "{}: {:?}", info.name, report.contradiction);
        }
        assert!(w.joint_error().position < 1e-3, "{}: {:?}", info.name, w.joint_error());

        let mut w = world(settings());
        add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(0.5));
        let cube = BodyDef::dynamic(Shape::Box { half: DVec3::splat(0.1) }, 1.0).friction(0.5);
        let cube = add(&mut w, cube.at(DVec3::Z * 0.1));
        let press = JointDef::prismatic(None, cube, DVec3::Z * 0.1, DVec3::Z).motor(0, Motor::speed(-1.0));
        let press = w.add_joint(press).unwrap();
        let report = contradicts(&mut w, 20, &format!("{}, a press", info.name));
        assert!(report.contradiction.iter().any(|p| p.joint == Some(press.slot)), "{}", info.name);
        let depth = 0.1 - w.position(cube).unwrap().z;
        assert!(depth.abs() < 0.02, "{}: pressed {depth} m into the floor", info.name);
    }
}

/// Unlimited position motors whose commands lie beyond a limit and below the floor that a box stands on: both
/// hold, in corrections of positions as well, and the motors are named in every step.
#[test]
fn position_motors_do_not_drive_through_limits_and_floors() {
    for stabilisation in ["post", "clamped"] {
        let stabilisation = Stabilisation::parse(stabilisation).unwrap();
        // The command is reached by half beyond the limit in one step, or far beyond it.
        for (command, h) in [(0.15, 0.001), (0.5, 0.001), (0.5, 0.01)] {
            let what = format!("{stabilisation:?}, {command} rad, {h} s");
            let mut w = world(Settings { stabilisation, h, ..Settings::default() });
            let arm = BodyDef::dynamic(Shape::Box { half: DVec3::new(0.3, 0.1, 0.1) }, 1.0);
            let arm = add(&mut w, arm.at(DVec3::X * 0.3));
            let hinge =
                JointDef::revolute(None, arm, DVec3::ZERO, DVec3::Y).motor(0, Motor::position(command));
            let hinge = w.add_joint(hinge).unwrap();
            w.set_limits(hinge, 0, Some(Limits { lower: -0.1, upper: 0.1, restitution: 0.0 })).unwrap();
            for _ in 0..50 {
                let report = w.step().unwrap();
                let named = |p: &Party| p.joint == Some(hinge.slot);
                let angle = w.joint_coordinates(hinge).unwrap()[0];
                assert!(angle < 0.1 + 1e-3, "{what}: at {angle}");
                assert!(report.step == 1 || report.contradiction.iter().any(named), "{what}: {report:?}");
                assert_eq!(report.apart, None, "{what}: what holds the arm is not off");
            }
        }
        let mut w = world(Settings { stabilisation, h: 0.001, ..Settings::default() });
        add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(0.5));
        let cube = BodyDef::dynamic(Shape::Box { half: DVec3::splat(0.1) }, 1.0).friction(0.5);
        let cube = add(&mut w, cube.at(DVec3::Z * 0.1));
        let press = JointDef::prismatic(None, cube, DVec3::Z * 0.1, DVec3::Z).motor(0, Motor::position(-1.0));
        let press = w.add_joint(press).unwrap();
        for _ in 0..50 {
            let report = w.step().unwrap();
            let depth = 0.1 - w.position(cube).unwrap().z;
            assert!(depth < 0.01, "{stabilisation:?}: {depth} m into the floor in step {}", report.step);
            assert_eq!(report.apart, None);
            let named = report.contradiction.iter().any(|p| p.joint == Some(press.slot));
            assert!(report.step == 1 || named, "{stabilisation:?}: {report:?}");
        }
    }
}

/// A cart on two rails that part by six degrees, and a motor that drives it along one of them. It misses what
/// is asked for by a tenth at every step, which would pull it off the rails by and by; so the motor gives
/// way.
#[test]
fn a_cart_on_rails_that_part_stays_on_them() {
    for info in REGISTRY.iter().filter(|info| SOLVES.contains(&info.name)) {
        let mut w = world(Settings { solver: info.name.into(), ..Settings::default() });
        let cart = BodyDef::bare(MassProperties::principal(1.0, DVec3::splat(0.1)));
        let cart = add(&mut w, cart);
        let rail = |axis: DVec3| JointDef::prismatic(None, cart, DVec3::ZERO, axis.normalize());
        w.add_joint(rail(DVec3::X).motor(0, Motor::speed(1.0))).unwrap();
        w.add_joint(rail(DVec3::new(1.0, 0.1, 0.0))).unwrap();
        contradicts(&mut w, 40, info.name);
        let off = w.joint_error().position;
        println!("{}: {:.1} mm off", info.name, 1e3 * off);
        // At a tenth of 1 m/s it would be 36 mm.
        assert!(off < 0.008, "{}: {:.1} mm off", info.name, 1e3 * off);
    }
}

/// Three balls that just fit between two walls, the middle one flung at its neighbour: it cannot bounce off,
/// because nobody can make room. Without the last wall it can.
#[test]
fn a_bounce_that_nobody_has_room_for_gives_way() {
    for info in REGISTRY.iter().filter(|info| SOLVES.contains(&info.name)) {
        for closed in [true, false] {
            let what = format!("{}, closed: {closed}", info.name);
            let mut w =
                world(Settings { solver: info.name.into(), gravity: DVec3::ZERO, ..Settings::default() });
            w.materials_mut().set_other(PairLaw { restitution: 0.5, ..PairLaw::default() }).unwrap();
            for side in if closed { vec![-1.0, 1.0] } else { vec![1.0] } {
                let turn = DQuat::from_rotation_arc(DVec3::Z, DVec3::X * -side);
                add(&mut w, BodyDef::fixed(Shape::HalfSpace).at(DVec3::X * 1.5 * side).turned(turn));
            }
            for i in 0..3 {
                let speed = if i == 1 { 0.5 } else { 0.0 };
                let ball =
                    BodyDef::dynamic(Shape::Sphere { radius: 0.5 }, 1.0).at(DVec3::X * (f64::from(i) - 1.0));
                add(&mut w, ball.moving(DVec3::X * speed, DVec3::ZERO));
            }
            let report = w.step().unwrap();
            assert_eq!(!report.contradiction.is_empty(), closed, "{what}: {:?}", report.status);
            let (fastest, _) = w.speeds();
            assert!(fastest <= 0.5, "{what}: {fastest} m/s");
        }
    }
}

/// Three balls between two walls again, the middle one a hair out of line: now there is room, to the side, at
/// a speed that goes as one over the hair.
#[test]
fn a_bounce_with_all_but_no_room_throws_nothing() {
    for info in REGISTRY {
        for (model, aside) in
            [(FrictionLaw::Ccp, 1e-5), (FrictionLaw::Coulomb, 1e-5), (FrictionLaw::Ccp, 1e-3)]
        {
            let what = format!("{}, {}, {aside} m", info.name, model.name());
            let mut w = world(Settings {
                solver: info.name.into(),
                model,
                gravity: DVec3::ZERO,
                ..Settings::default()
            });
            w.materials_mut().set_other(PairLaw { restitution: 0.5, ..PairLaw::default() }).unwrap();
            for side in [-1.0, 1.0] {
                let turn = DQuat::from_rotation_arc(DVec3::Z, DVec3::X * -side);
                add(&mut w, BodyDef::fixed(Shape::HalfSpace).at(DVec3::X * 1.5 * side).turned(turn));
            }
            for i in 0..3 {
                let middle = i == 1;
                let place = DVec3::new(f64::from(i) - 1.0, if middle { aside } else { 0.0 }, 0.0);
                let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.5 }, 1.0).at(place);
                add(&mut w, ball.moving(DVec3::X * if middle { 2.0 } else { 0.0 }, DVec3::ZERO));
            }
            for _ in 0..10 {
                w.step().unwrap_or_else(|e| panic!("{what}: {e}"));
                let (fastest, _) = w.speeds();
                assert!(fastest <= 100.0, "{what}: {fastest} m/s");
            }
        }
    }
}

/// Balls between walls that close in, with restitution by impulses: what has no room does not expand beyond
/// what there was.
#[test]
fn what_is_squeezed_does_not_expand() {
    for solver in ["auto", "ipm", "prox", "pgs", "apgd", "nsgs-lemke"] {
        let mut w = world(Settings { solver: solver.into(), h: 0.005, ..Settings::default() });
        let law = PairLaw { restitution: 0.7, impact: Impact::Poisson, ..PairLaw::default() };
        w.materials_mut().set_other(law).unwrap();
        add(&mut w, BodyDef::fixed(Shape::HalfSpace));
        for side in [-1.0, 1.0] {
            let wall = BodyDef::kinematic(Shape::Box { half: DVec3::new(0.1, 1.0, 1.0) });
            let wall = wall.at(DVec3::new(0.7 * side, 0.0, 1.0));
            add(&mut w, wall.moving(DVec3::X * -side, DVec3::ZERO));
        }
        for i in 0..3 {
            let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.2 }, 1.0);
            add(&mut w, ball.at(DVec3::new(0.4 * (f64::from(i) - 1.0), 0.0, 0.2)));
        }
        for step in 0..12 {
            w.step().unwrap_or_else(|e| panic!("{solver}: {e}"));
            let (fastest, _) = w.speeds();
            assert!(fastest < 30.0, "{solver}, step {step}: {fastest} m/s");
        }
    }
}
