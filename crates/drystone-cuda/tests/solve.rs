//! The kernel text, run on the CPU, solves the problems of real scenes to the tolerance; the judge is the
//! CPU's.

#[path = "pretend/lattice.rs"]
mod lattice;
mod pretend;

use drystone_cuda::{Geometry, kernels};
use drystone_solve::certificate::certificate;
use drystone_solve::solver::make;
use drystone_solve::{FrictionLaw, Problem, Solver, Status, Stop};
use lattice::{lattice, plated};
use pretend::{open, problem, solver};

/// Scenes with contacts of spheres and boxes, joints, motors, limits, rolling friction, belts and moving
/// walls.
const SCENES: &[(&str, &[(&str, &str)], usize)] = &[
    ("packing", &[("n", "220")], 60),
    ("packing", &[("n", "40"), ("shape", "box")], 60),
    ("shaker", &[("n", "200")], 20),
    ("wall", &[("width", "4"), ("height", "4")], 20),
    ("forklift", &[], 30),
    ("spider", &[], 30),
    ("conveyor", &[], 60),
    ("incline", &[], 20),
];

fn hash(x: &[f64]) -> u64 {
    kernels::hash(x.iter().flat_map(|x| x.to_bits().to_le_bytes()))
}

#[test]
fn problems_of_scenes_are_solved_to_the_tolerance() {
    let engine = open("solve", &[]).unwrap();
    let mut apgd = solver(&engine, "cuda-apgd");
    let stop = Stop { tolerance: 1e-4, iterations: 20_000, ..Stop::default() };
    let mut with_joints = 0;
    for (scene, set, steps) in SCENES {
        let (problem, guess) = problem(scene, set, *steps);
        let Problem::Bodies(p) = &problem else { panic!("a step's problem is matrix-free") };
        with_joints += usize::from(!p.general.a.is_empty());
        for guess in [None, Some(guess.as_slice())] {
            let s = apgd.solve(&problem, guess, &stop).unwrap();
            assert_eq!(s.status, Status::Converged, "{scene}");
            let found = certificate(&problem, &s.gamma);
            assert!(found.residual_max <= 1e-4, "{scene}: {found:?}");
            assert!(found.cone_violation <= 1e-12 * (1.0 + found.multipliers), "{scene}: {found:?}");
            assert_eq!(s.certificate.as_ref(), Some(&found), "{scene}");
            // As good an objective as the CPU's, which has the same rules and other roundings.
            let mut cpu = make("apgd:precision=double").unwrap();
            let c = cpu.solve(&problem, guess, &stop).unwrap();
            let other = certificate(&problem, &c.gamma);
            let size = found.dual_objective.abs() + found.curvature.abs() + 1e-9;
            assert!(
                (found.dual_objective - other.dual_objective).abs() <= 1e-2 * size,
                "{scene}: {found:?} {other:?}"
            );
        }
    }
    assert!(with_joints >= 2, "joints are among them");
    assert!(apgd.bytes() > 0 && engine.usage().iterations > 100);
}

#[test]
fn as_many_multiplications_are_needed_as_on_the_cpu() {
    let engine = open("solve", &[]).unwrap();
    let stop = Stop { tolerance: 1e-5, iterations: 20_000, ..Stop::default() };
    for (spec, text) in [
        ("cuda-apgd", "apgd:precision=double"),
        ("cuda-apgd:scaling=trace", "apgd:precision=double,scaling=trace"),
        ("cuda-apgd:scaling=none", "apgd:precision=double,scaling=none"),
        ("cuda-apgd:rule=paper", "apgd:precision=double,rule=paper"),
        ("cuda-pgj:omega=0.3", "pgj:omega=0.3"),
    ] {
        let (problem, guess) = problem("packing", &[("n", "120")], 60);
        let here = solver(&engine, spec).solve(&problem, Some(&guess), &stop).unwrap();
        let there = make(text).unwrap().solve(&problem, Some(&guess), &stop).unwrap();
        assert_eq!((here.status, there.status), (Status::Converged, Status::Converged), "{spec}");
        let ratio = here.iterations as f64 / there.iterations.max(1) as f64;
        assert!((0.5..2.0).contains(&ratio), "{spec}: {} {}", here.iterations, there.iterations);
    }
}

#[test]
fn no_bit_depends_on_the_launch_geometry() {
    let (forwards, backwards) = (open("solve", &[]).unwrap(), open("backwards", &["-DBACKWARDS"]).unwrap());
    let stop = Stop { tolerance: 0.0, iterations: 60, ..Stop::default() };
    for (scene, set, steps) in &SCENES[..6] {
        let (problem, guess) = problem(scene, set, *steps);
        let mut seen = Vec::new();
        for (engine, blocks, threads, batch) in [
            (&forwards, 1000, 256, 16),
            (&forwards, 1, 32, 1),
            (&forwards, 3, 96, 7),
            (&backwards, 5, 1024, 60),
            (&backwards, 1000, 1, 5),
        ] {
            for name in ["cuda-apgd", "cuda-pgj"] {
                let mut s = solver(engine, name);
                s.set_geometry(Geometry { blocks, threads, batch });
                let found = s.solve(&problem, Some(&guess), &stop).unwrap();
                assert_eq!(found.iterations, 60);
                seen.push((name, hash(&found.gamma)));
            }
        }
        for name in ["cuda-apgd", "cuda-pgj"] {
            let all: Vec<u64> = seen.iter().filter(|(n, _)| *n == name).map(|(_, h)| *h).collect();
            assert!(all.iter().all(|h| *h == all[0]), "{scene} {name}: {all:x?}");
        }
    }
}

/// A plate on 144 balls: its list is cut into parts.
#[test]
fn long_lists_are_added_up_in_parts() {
    let engine = open("solve", &[]).unwrap();
    let (problem, guess) = plated(12);
    problem.check().unwrap();
    let stop = Stop { tolerance: 1e-5, iterations: 20_000, ..Stop::default() };
    let cpu = make("apgd:precision=double").unwrap().solve(&problem, Some(&guess), &stop).unwrap();
    let mut seen = Vec::new();
    for (blocks, threads, batch) in [(100, 256, 32), (1, 7, 5)] {
        let mut s = solver(&engine, "cuda-apgd");
        s.set_geometry(Geometry { blocks, threads, batch });
        let found = s.solve(&problem, Some(&guess), &stop).unwrap();
        assert_eq!((found.status, cpu.status), (Status::Converged, Status::Converged));
        assert!(certificate(&problem, &found.gamma).residual_max <= 1e-5);
        let ratio = found.iterations as f64 / cpu.iterations as f64;
        assert!((0.5..2.0).contains(&ratio), "{} {}", found.iterations, cpu.iterations);
        seen.push(hash(&found.gamma));
    }
    assert_eq!(seen[0], seen[1]);
}

/// Threads of their own for the threads of a block: a barrier that is missing would show.
#[test]
fn threads_that_run_at_the_same_time_leave_the_same_bits() {
    let (one, many) = (open("solve", &[]).unwrap(), open("threads", &["-DSHIM_THREADS"]).unwrap());
    let stop = Stop { tolerance: 0.0, iterations: 20, ..Stop::default() };
    for (problem, guess) in [problem("forklift", &[], 30), lattice(7)] {
        let mut seen = Vec::new();
        for (engine, threads) in [(&one, 256), (&many, 2), (&many, 5)] {
            let mut s = solver(engine, "cuda-apgd");
            s.set_geometry(Geometry { blocks: 2, threads, batch: 8 });
            seen.push(hash(&s.solve(&problem, Some(&guess), &stop).unwrap().gamma));
        }
        assert!(seen.iter().all(|h| *h == seen[0]), "{seen:x?}");
    }
}

/// What the kernel text leaves, run as C. A device must leave the same: `examples/lattice.rs` prints it.
const GOLDEN: [(&str, u64); 2] = [("cuda-apgd", 0x5b49_6fb0_8661_740c), ("cuda-pgj", 0x6934_c16f_a865_b596)];

#[test]
fn the_bits_of_a_lattice_stay_what_they_are() {
    let engine = open("solve", &[]).unwrap();
    let stop = Stop { tolerance: 0.0, iterations: 100, ..Stop::default() };
    let (problem, guess) = lattice(6);
    problem.check().unwrap();
    for (name, expected) in GOLDEN {
        let found = solver(&engine, name).solve(&problem, Some(&guess), &stop).unwrap();
        assert_eq!(hash(&found.gamma), expected, "{name}: {:016x}", hash(&found.gamma));
    }
}

#[test]
fn the_exact_law_is_solved_by_rounds() {
    let engine = open("solve", &[]).unwrap();
    let (mut problem, guess) = problem("packing", &[("n", "60")], 60);
    problem.set_model(FrictionLaw::Coulomb);
    let stop = Stop { tolerance: 1e-4, iterations: 20_000, ..Stop::default() };
    let inner = Box::new(solver(&engine, "cuda-apgd"));
    let found = drystone_solve::solver::with_slip(inner).solve(&problem, Some(&guess), &stop).unwrap();
    assert_eq!(found.status, Status::Converged);
    assert!(certificate(&problem, &found.gamma).residual_max <= 1e-4);
}

#[test]
fn explicit_matrices_are_solved() {
    let engine = open("solve", &[]).unwrap();
    let stop = Stop { tolerance: 1e-5, iterations: 20_000, ..Stop::default() };
    for (scene, set, steps) in [("packing", &[("n", "60")][..], 60), ("forklift", &[], 30)] {
        let (problem, guess) = problem(scene, set, steps);
        let explicit = Problem::Explicit(problem.to_explicit());
        for name in ["apgd", "apgd:rule=paper", "pgj:omega=0.4"] {
            let found =
                solver(&engine, &format!("cuda-{name}")).solve(&explicit, Some(&guess), &stop).unwrap();
            let cpu = make(name).unwrap().solve(&explicit, Some(&guess), &stop).unwrap();
            let counts = format!("{scene} {name}: {} {}", found.iterations, cpu.iterations);
            assert_eq!(found.status, cpu.status, "{counts}");
            assert!(
                (0.5..2.0).contains(&((found.iterations + 9) as f64 / (cpu.iterations + 9) as f64)),
                "{counts}"
            );
            if found.status == Status::Converged {
                // The judge of the matrix-free form says the same.
                assert!(certificate(&problem, &found.gamma).residual_max <= 1.1e-5, "{counts}");
            }
            assert!(found.status == Status::Converged || name.starts_with("pgj"), "{counts}");
        }
        let mut seen = Vec::new();
        for (blocks, threads, batch) in [(100, 256, 32), (1, 7, 5)] {
            let mut s = solver(&engine, "cuda-apgd");
            s.set_geometry(Geometry { blocks, threads, batch });
            seen.push(hash(&s.solve(&explicit, None, &stop).unwrap().gamma));
        }
        assert_eq!(seen[0], seen[1], "{scene}");
    }
}

#[test]
fn a_problem_that_cannot_be_solved_is_refused_and_remembered() {
    let engine = open("solve", &[]).unwrap();
    let (mut problem, guess) = problem("packing", &[("n", "30")], 40);
    let e = solver(&engine, "cuda-apgd").solve(&problem, Some(&guess[1..]), &Stop::default()).unwrap_err();
    assert!(e.0.contains("the guess needs"), "{e}");
    problem.set_model(FrictionLaw::Coulomb);
    let e = solver(&engine, "cuda-apgd").solve(&problem, None, &Stop::default()).unwrap_err();
    assert!(e.0.contains("relaxed law"), "{e}");
}
