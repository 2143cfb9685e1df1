//! Joints over ranks: any number of them gives the same bits, and the motion is that of the engine.

use drystone::{BodyDef, BodyId, JointDef, JointId, Motor, Settings, Shape, StepReport, World};
use drystone_ranks::{Ranks, threads};
use glam::{DQuat, DVec3};

/// A bridge of links between two walls, each on a ball joint, onto which spheres fall; beside it carts that
/// motors drive along the floor, with a limited lever and a spring on each.
fn world(links: usize, carts: usize, solver: &str) -> (World, Vec<JointId>) {
    let settings = Settings {
        solver: solver.into(),
        h: 4e-3,
        tolerance: 1e-5,
        iterations: 10_000,
        ..Settings::default()
    };
    let mut world = World::new(settings).unwrap();
    world.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
    let mut joints = Vec::new();
    // Along a part of a circle: what is taut bears nothing.
    let (radius, turn) = (0.1 * links as f64, 2.0 / links as f64);
    let angle = |i: f64| turn * (i - 0.5 * links as f64);
    let place = |i: f64| DVec3::new(radius * angle(i).sin(), 0.0, 0.3 + radius * (2.0 - angle(i).cos()));
    let link = Shape::Box { half: DVec3::new(0.45 * radius * turn, 0.15, 0.03) };
    let mut last: Option<BodyId> = None;
    for i in 0..links {
        let (middle, tilt) = (0.5 * (place(i as f64) + place(i as f64 + 1.0)), -angle(i as f64 + 0.5));
        let body =
            BodyDef::solid(link.clone(), 800.0).at(middle).turned(DQuat::from_rotation_y(tilt)).friction(0.5);
        let body = world.add_body(body).unwrap();
        joints.push(
            world
                .add_joint(JointDef::revolute(last, body, place(i as f64), DVec3::Y).friction(0, 0.02))
                .unwrap(),
        );
        last = Some(body);
    }
    joints.push(world.add_joint(JointDef::ball(last, None, place(links as f64))).unwrap());
    for i in 0..links {
        let at = place(i as f64 + 0.4) + DVec3::new(0.0, 0.01 * (i % 3) as f64, 0.11 + 0.05 * (i % 2) as f64);
        world.add_body(BodyDef::solid(Shape::Sphere { radius: 0.06 }, 900.0).at(at).friction(0.5)).unwrap();
    }
    for i in 0..carts {
        let x = DVec3::new(0.6 * (i as f64 - 0.5 * carts as f64), 1.0 + 0.3 * (i % 2) as f64, 0.16);
        let half = DVec3::new(0.2, 0.1, 0.05);
        let frame = world.add_body(BodyDef::solid(Shape::Box { half }, 500.0).at(x).friction(0.5)).unwrap();
        for (side, end) in [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)] {
            let at = x + DVec3::new(0.15 * end, 0.15 * side, -0.06);
            let wheel = world
                .add_body(BodyDef::solid(Shape::Sphere { radius: 0.1 }, 500.0).at(at).friction(0.8))
                .unwrap();
            let axle = JointDef::revolute(frame, wheel, at, DVec3::Y);
            let axle = if end > 0.0 { axle.motor(0, Motor::speed(3.0).limited(2.0)) } else { axle };
            joints.push(world.add_joint(axle).unwrap());
        }
        let tip = x + DVec3::new(0.0, 0.0, 0.3);
        let lever = world
            .add_body(BodyDef::solid(Shape::Capsule { radius: 0.02, half_length: 0.1 }, 500.0).at(tip))
            .unwrap();
        let hinge = JointDef::revolute(frame, lever, x + 0.1 * DVec3::Z, DVec3::X);
        joints.push(world.add_joint(hinge.limits(0, -0.3, 0.3, 0.0).spring(0, 0.1, 0.5, 0.01)).unwrap());
    }
    (world, joints)
}

struct Run {
    world: World,
    reports: Vec<StepReport>,
    owned: Vec<usize>,
    rebuilds: u64,
    support: Option<f64>,
}

fn run(size: usize, steps: usize, make: impl Fn() -> World + Sync) -> Run {
    let mut out = threads::run(size, |comm| {
        let mut ranks = Ranks::new(comm, make()).unwrap();
        let reports: Vec<StepReport> = (0..steps).map(|_| ranks.step().unwrap()).collect();
        let usage = ranks.usage();
        ranks.fetch();
        let support = ranks.world().support_over_weight();
        let world = World::load(&ranks.world().save().unwrap()).unwrap();
        let joints: Vec<_> = world.model().joint_slots().map(|j| world.joint_motion(j as u32)).collect();
        (world, reports, usage, joints, support)
    });
    let owned = out.iter().map(|o| o.2.bodies).collect();
    let rebuilds = out[0].2.rebuilds;
    let (mut world, reports, _, joints, support) = out.swap_remove(0);
    // What joints did is not part of a saved world.
    world.take_joints(&joints);
    Run { world, reports, owned, rebuilds, support }
}

/// With all ranks at all islands, with islands by single ranks, and with islands by a solver that does not
/// work across ranks.
#[test]
fn a_bridge_and_carts_over_any_number_of_ranks() {
    for (solver, sizes) in [("auto", &[2, 3, 7][..]), ("apgd", &[3]), ("pgs", &[3])] {
        let make = || world(24, 5, solver).0;
        let one = run(1, 60, make);
        let moved = one.world.state();
        assert!(one.reports.iter().any(|r| r.contacts > 24), "spheres have come to the bridge");
        let solved = one.reports.iter().filter(|r| r.certificate.residual_max <= 1e-5).count();
        assert!(solved == 60 || solver == "pgs", "{solver}: {solved} of 60 steps are solved");
        for size in sizes {
            let many = run(*size, 60, make);
            assert_eq!(many.world.state().hash(), moved.hash(), "{solver} on {size} ranks");
            assert!(many.world.state() == moved, "{solver} on {size} ranks: warm starts of joints and all");
            assert!(many.owned.iter().all(|n| *n > 0), "all have bodies: {:?}", many.owned);
            for (a, b) in many.reports.iter().zip(&one.reports) {
                assert_eq!(a.certificate, b.certificate, "{solver} on {size} ranks, step {}", b.step);
                assert_eq!((a.iterations, a.position_rounds), (b.iterations, b.position_rounds));
                assert_eq!((a.figures, a.support), (b.figures, b.support), "energies, joints and weights");
            }
            for j in 0..moved.joints.len() as u32 {
                assert_eq!(many.world.joint_motion(j), one.world.joint_motion(j), "what joint {j} did");
            }
        }
    }
}

/// The same bits after a stop on another number of ranks.
#[test]
fn mechanisms_change_owners_and_runs_go_on() {
    let make = || world(12, 8, "auto").0;
    let straight = run(4, 70, make);
    assert!(straight.rebuilds > 0, "ghosts are chosen anew, and bodies change owners");
    let half = run(3, 35, make).world.save().unwrap();
    let rest = run(2, 35, || World::load(&half).unwrap());
    assert!(rest.world.state() == straight.world.state(), "warm starts of joints and all");
}

/// The motion of the engine, to what different ways of a step leave: joints hold, motors drive, levers stay
/// within their limits, and the bridge bears what lies on it.
#[test]
fn the_motion_is_that_of_the_engine() {
    let (mut alone, joints) = world(16, 3, "auto");
    let steps = 150;
    let many = run(3, steps, || world(16, 3, "auto").0);
    (0..steps).for_each(|_| drop(alone.step().unwrap()));
    let open = many.world.joint_error();
    // What is told while the world stays behind is what it is when it has come.
    let (told, seen) = (many.reports.last().unwrap().figures.unwrap(), many.world.figures());
    assert_eq!((told.dynamic, told.time), (seen.dynamic, seen.time));
    assert_eq!(told.joint_error, seen.joint_error);
    for (a, b) in [
        (told.mass, seen.mass),
        (told.energy.kinetic, seen.energy.kinetic),
        (told.energy.potential, seen.energy.potential),
        (many.reports.last().unwrap().support.unwrap(), many.support.unwrap()),
    ] {
        assert!((a - b).abs() < 1e-12 * b.abs().max(1.0) && b != 0.0, "{a} {b}");
    }
    assert!(open.position < 1e-4, "{open:?}");
    assert_eq!(joints.len(), many.world.state().joints.len());
    for (i, (a, b)) in many.world.state().position.iter().zip(&alone.state().position).enumerate() {
        let is_ball = (17..33).contains(&i);
        // What rolls off the bridge goes its own way.
        assert!(is_ball || a.distance(*b) < 0.02, "body {i}: {a} {b}");
    }
    let (a, b) = (many.world.energy(), alone.energy());
    assert!((a.total() - b.total()).abs() < 0.02 * b.total().abs(), "{a:?} {b:?}");
    let cart = |w: &World| w.state().position[33].x;
    assert!(cart(&alone) - cart(&world(16, 3, "auto").0) > 0.1, "motors have driven the carts");
}
