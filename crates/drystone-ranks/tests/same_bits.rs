//! Any number of ranks gives the same bits, and the motion is that of the engine.

use drystone::solve::FrictionLaw;
use drystone::solve::solver::Status;
use drystone::{BodyDef, Settings, Shape, StepReport, World};
use drystone_ranks::{Ranks, RanksError, Usage, threads};
use glam::{DQuat, DVec3};

/// Shapes of one size and many.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Spheres,
    Mixed,
}

/// Bodies on a lattice that is a little off, above a floor and between four walls.
fn world(n: usize, kind: Kind, solver: &str) -> World {
    lattice(n, kind, solver, 0.23)
}

/// The same with so much from one to the next, m.
fn lattice(n: usize, kind: Kind, solver: &str, apart: f64) -> World {
    let settings = Settings { solver: solver.into(), h: 5e-3, tolerance: 1e-4, ..Settings::default() };
    let mut world = World::new(settings).unwrap();
    let wall = |x: DVec3, normal: DVec3| {
        BodyDef::fixed(Shape::HalfSpace)
            .at(x)
            .turned(DQuat::from_rotation_arc(DVec3::Z, normal))
            .friction(0.4)
    };
    let side = 5usize;
    let half = 0.5 * apart * side as f64;
    world.add_body(wall(DVec3::ZERO, DVec3::Z)).unwrap();
    for axis in [DVec3::X, DVec3::Y] {
        world.add_body(wall(-half * axis, axis)).unwrap();
        world.add_body(wall(half * axis, -axis)).unwrap();
    }
    let mut random = 7u64;
    let mut next = || {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 11) as f64 / 2f64.powi(53) - 0.5
    };
    for i in 0..n {
        let (x, y, z) = (i % side, i / side % side, i / (side * side));
        let place = DVec3::new(x as f64 + 0.5, y as f64 + 0.5, z as f64 + 0.6) * apart;
        let place = place - DVec3::new(half, half, 0.0) + 0.02 * DVec3::new(next(), next(), next());
        let size = 0.1 * (0.9 + 0.2 * next());
        let shape = match (kind, i % 3) {
            (Kind::Mixed, 0) => Shape::Box { half: DVec3::new(0.7, 0.6, 0.5) * size },
            (Kind::Mixed, 1) => Shape::Capsule { radius: 0.6 * size, half_length: 0.4 * size },
            _ => Shape::Sphere { radius: size },
        };
        let v = DVec3::new(0.3 * next(), 0.3 * next(), -0.5);
        let body = BodyDef::solid(shape, 1000.0).at(place).friction(0.4).moving(v, DVec3::ZERO);
        world.add_body(body).unwrap();
    }
    world
}

/// What a run came to: the state's hash, reports of its steps, and what each rank did.
struct Run {
    hash: u64,
    reports: Vec<StepReport>,
    usage: Vec<Usage>,
    world: World,
}

fn run(size: usize, steps: usize, make: impl Fn() -> World + Sync) -> Run {
    let mut out = threads::run(size, |comm| {
        let mut ranks = Ranks::new(comm, make()).unwrap();
        let reports: Vec<StepReport> = (0..steps).map(|_| ranks.step().unwrap()).collect();
        let usage = ranks.usage();
        ranks.fetch();
        let world = World::load(&ranks.world().save().unwrap()).unwrap();
        (reports, usage, world)
    });
    let usage = out.iter().map(|o| o.1).collect();
    let (reports, _, world) = out.swap_remove(0);
    Run { hash: world.state().hash(), reports, usage, world }
}

/// What of a report must not depend on the ranks.
fn told(r: &StepReport) -> (u64, usize, usize, usize, usize, [u64; 6]) {
    let c = &r.certificate;
    let numbers = [
        c.residual_max,
        c.residual_rms,
        c.complementarity,
        c.dual_objective,
        c.backward_error,
        r.penetration_mean,
    ];
    (r.step, r.contacts, r.touching, r.iterations, r.position_rounds, numbers.map(f64::to_bits))
}

#[test]
fn spheres_that_fall_and_settle() {
    for (solver, steps) in [("apgs", 60), ("apgd", 60), ("bb", 30), ("pgj", 20), ("auto", 60), ("nncg", 30)] {
        let make = || world(180, Kind::Spheres, solver);
        let one = run(1, steps, make);
        assert!(one.reports.iter().any(|r| r.contacts > 30), "they have come to touch");
        for size in [2, 3, 7] {
            let many = run(size, steps, make);
            assert_eq!(many.hash, one.hash, "{solver} on {size} ranks");
            assert_eq!(many.world.state(), one.world.state(), "warm starts and all");
            for (a, b) in many.reports.iter().zip(&one.reports) {
                assert_eq!(told(a), told(b), "{solver} on {size} ranks");
            }
            assert!(many.usage.iter().any(|u| u.ghosts > 0), "contacts across borders");
        }
    }
}

/// Corrections look further than contacts of a step, and move bodies out of what ghosts were chosen for.
#[test]
fn corrections_that_choose_ghosts_anew() {
    let make = || {
        // Most of them overlap.
        let mut world = lattice(1000, Kind::Spheres, "apgd", 0.195);
        let settings = Settings {
            iterations: 1,
            position_iterations: 60,
            max_substeps: 1,
            tolerance: 0.0,
            ..world.settings().clone()
        };
        world.set_settings(settings).unwrap();
        world
    };
    let one = run(1, 4, make);
    for size in [2, 3, 5] {
        let many = run(size, 4, make);
        assert!(many.usage[0].rebuilds > 0, "ghosts are chosen anew");
        assert_eq!(many.world.state(), one.world.state(), "{size} ranks");
    }
}

#[test]
fn bodies_of_all_shapes() {
    for solver in ["apgs", "apgd"] {
        let make = || world(60, Kind::Mixed, solver);
        let one = run(1, 60, make);
        assert!(one.reports.iter().any(|r| r.contacts > 60), "they have come to touch");
        for size in [2, 4] {
            let many = run(size, 60, make);
            assert_eq!(many.world.state(), one.world.state(), "{solver} on {size} ranks");
        }
    }
}

/// Balls of two frictions, of which some lie on a belt, and many that overlap: all that sweeps in single
/// precision distinguish.
#[test]
fn balls_of_two_frictions_and_a_belt() {
    let make = || {
        let mut world = lattice(400, Kind::Spheres, "apgs", 0.205);
        let belt = BodyDef::fixed(Shape::Box { half: DVec3::new(1.0, 1.0, 0.02) }).friction(0.6);
        world.add_body(belt.surface_velocity(0.3 * DVec3::X)).unwrap();
        for i in 0..40 {
            let place = DVec3::new(0.2 * f64::from(i % 4) - 0.3, 0.2 * f64::from(i / 4 % 4) - 0.3, 3.5);
            let shape = Shape::Sphere { radius: 0.08 };
            let up = DVec3::Z * 0.2 * f64::from(i / 16);
            world.add_body(BodyDef::solid(shape, 3000.0).at(place + up).friction(0.1)).unwrap();
        }
        world
    };
    let one = run(1, 40, make);
    assert!(one.reports.iter().all(|r| r.status == Status::Converged && r.certificate.residual_max <= 1e-4));
    assert!(one.reports.iter().any(|r| r.position_rounds > 0), "overlaps are removed");
    for size in [2, 4, 5] {
        let many = run(size, 40, make);
        assert_eq!(many.world.state(), one.world.state(), "{size} ranks");
        assert!(many.reports.iter().zip(&one.reports).all(|(a, b)| told(a) == told(b)), "{size} ranks");
    }
}

/// Sweeps solve what gradients solve, in fewer iterations; a body of more contacts than there are colours
/// leaves that to gradients.
#[test]
fn sweeps_take_fewer_iterations() {
    let taken = |solver: &str| {
        let out = run(3, 90, || world(180, Kind::Spheres, solver));
        assert!(out.reports.iter().all(|r| r.status == Status::Converged), "{solver}");
        let last = &out.reports[60..];
        last.iter().map(|r| r.iterations).sum::<usize>()
    };
    let (sweeps, gradients) = (taken("apgs"), taken("apgd"));
    assert!(2 * sweeps < gradients, "{sweeps} sweeps, {gradients} multiplications");
    // Small balls on a large one, which is one body for all of them.
    let crowd = |solver: &str| {
        let mut world = world(0, Kind::Spheres, solver);
        let large = BodyDef::solid(Shape::Sphere { radius: 0.5 }, 1000.0).at(DVec3::Z * 0.5).friction(0.4);
        world.add_body(large).unwrap();
        for i in 0..100 {
            let (height, turn) = (1.0 - 0.008 * f64::from(i), 2.4 * f64::from(i));
            let out = (1.0 - height * height).max(0.0).sqrt();
            let place = DVec3::new(out * turn.cos(), out * turn.sin(), height) * 0.5199 + DVec3::Z * 0.5;
            let small = BodyDef::solid(Shape::Sphere { radius: 0.02 }, 1000.0).at(place).friction(0.4);
            world.add_body(small).unwrap();
        }
        world
    };
    let crowded = |solver: &str| run(2, 3, || crowd(solver));
    let (sweeps, gradients) = (crowded("apgs"), crowded("apgd"));
    assert!(sweeps.reports[0].contacts > 64, "{}", sweeps.reports[0].contacts);
    assert_eq!(sweeps.reports[0].iterations, gradients.reports[0].iterations);
    assert!(sweeps.reports.iter().all(|r| r.status == Status::Converged));
}

#[test]
fn space_is_cut_anew_and_bodies_change_owners() {
    let make = || world(150, Kind::Spheres, "apgd");
    let (one, many) = (run(1, 120, make), run(4, 120, make));
    assert_eq!(many.world.state(), one.world.state());
    assert!(many.usage.iter().all(|u| u.rebuilds > 2), "{:?}", many.usage);
    assert_eq!(many.usage.iter().map(|u| u.bodies).sum::<usize>(), 150);
}

/// The same motion as that of the engine on its own, up to what tolerances leave.
#[test]
fn the_motion_is_that_of_the_engine() {
    let make = || world(100, Kind::Spheres, "apgd");
    let steps = 60;
    let many = run(3, steps, make);
    let mut alone = make();
    let mut contacts = 0;
    for _ in 0..steps {
        contacts = alone.step().unwrap().contacts;
    }
    assert!((many.world.state().time - alone.state().time).abs() < 1e-12);
    let found = many.reports.last().unwrap().contacts;
    assert!(found.abs_diff(contacts) * 20 <= contacts, "{found} contacts, {contacts}");
    let (a, b) = (many.world.energy(), alone.energy());
    assert!((a.potential - b.potential).abs() < 2e-3 * b.potential.abs(), "{} {}", a.potential, b.potential);
    assert!(many.reports.iter().all(|r| r.certificate.residual_max <= many.world.settings().tolerance));
}

/// All iterations are asked for, whatever they come to: of islands one by one.
#[test]
fn without_a_tolerance() {
    let make = || {
        let mut world = world(90, Kind::Mixed, "auto");
        let settings = Settings { tolerance: 0.0, iterations: 15, ..world.settings().clone() };
        world.set_settings(settings).unwrap();
        world
    };
    let one = run(1, 50, make);
    for size in [2, 5] {
        assert_eq!(run(size, 50, make).hash, one.hash, "{size} ranks");
    }
}

/// Under the exact law islands are one rank's, whatever the solver; a belt carries what lies on it.
#[test]
fn the_exact_law_and_a_belt() {
    for solver in ["auto", "apgd", "nncg"] {
        let of = |n: usize| {
            let mut world = world(n, Kind::Mixed, solver);
            let settings = Settings { model: FrictionLaw::Coulomb, ..world.settings().clone() };
            world.set_settings(settings).unwrap();
            let belt = BodyDef::fixed(Shape::Box { half: DVec3::new(1.0, 1.0, 0.02) }).friction(0.4);
            world.add_body(belt.surface_velocity(0.3 * DVec3::X)).unwrap();
            world
        };
        let make = || of(75);
        let one = run(1, 40, make);
        let solved = one.reports.iter().filter(|r| r.status == Status::Converged);
        assert!(solved.count() > 36 && one.reports.iter().any(|r| r.contacts > 50), "{solver}");
        for size in [2, 4] {
            let many = run(size, 40, make);
            assert_eq!(many.hash, one.hash, "{solver} on {size} ranks");
            assert!(many.reports.iter().zip(&one.reports).all(|(a, b)| told(a) == told(b)), "{solver}");
        }
        // One layer, before it comes to the wall.
        let (few, mut alone) = (run(2, 20, || of(25)), of(25));
        (0..20).for_each(|_| drop(alone.step().unwrap()));
        let drift = |world: &World| {
            let v = |i: usize| world.state().velocity[i].x;
            world.model().dynamic().map(v).sum::<f64>() / 25.0
        };
        let (a, b) = (drift(&few.world), drift(&alone));
        assert!(b > 0.05 && (a - b).abs() < 0.05 * b, "{solver}: {a} m/s, {b} by the engine");
    }
}

/// Saved in the middle on three ranks, resumed on two: the same as without a stop.
#[test]
fn a_run_goes_on_on_another_number_of_ranks() {
    let make = || world(120, Kind::Spheres, "apgd");
    let straight = run(4, 70, make);
    let half = run(3, 35, make).world.save().unwrap();
    let rest = run(2, 35, || World::load(&half).unwrap());
    assert_eq!(rest.world.state(), straight.world.state());
}

#[test]
fn what_does_not_work_is_refused_by_name() {
    let refused = |make: &(dyn Fn() -> World + Sync)| {
        let told = threads::run(2, |comm| match Ranks::new(comm, make()) {
            Err(RanksError::Refused(what)) => what,
            Err(e) => panic!("{e}"),
            Ok(_) => panic!("it was not refused"),
        });
        assert_eq!(told[0], told[1]);
        told[0].clone()
    };
    let charged = || {
        let mut world = world(8, Kind::Spheres, "apgd");
        let body = BodyDef::solid(Shape::Sphere { radius: 0.1 }, 1000.0).at(5.0 * DVec3::Z);
        world.add_body(BodyDef { charge: 1e-6, ..body }).unwrap();
        world
    };
    assert_eq!(refused(&charged), "charges");
}
