//! Joints by elimination (`schur`) against a solver that knows nothing of joints.

use crate::common::carts::carts;
use crate::common::{Dice, heap};
use drystone_solve::certificate::certificate;
use drystone_solve::colour::Span;
use drystone_solve::problem::{Bodies, General, WORLD};
use drystone_solve::solver::{Status, Stop, make};
use drystone_solve::{FrictionLaw, Problem, Set};

fn tight() -> Stop {
    Stop { tolerance: 1e-9, iterations: 5000, ..Stop::default() }
}

/// Blocks that share bodies: one after the other, those with one body last.
fn in_a_row(g: &General) -> Vec<Span> {
    let two_end = g.b.iter().filter(|b| **b != WORLD).count() as u32;
    vec![Span { start: 0, two_end, end: g.a.len() as u32, serial: true }]
}

/// A heap whose bodies are joined to a tree with a loop, one of them to the world; a motor with a largest
/// force, and a joint that gives way.
fn mechanism(bodies: usize, seed: u64) -> Bodies {
    let mut p = heap(bodies, seed, false);
    let mut d = Dice(seed + 100);
    let mut g = General { first_row: vec![0], ..General::default() };
    let joints = [(0, 1, 5), (1, 2, 3), (1, 3, 5), (3, 4, 2), (2, 4, 1), (5, 7, 6), (6, WORLD, 2)];
    let row: [f64; 12] = std::array::from_fn(|_| d.range(-1.0, 1.0));
    g.push((1, 0), Set::Interval { lo: -0.05, hi: 0.05 }, &[row], &[0.3]);
    for (a, b, rows) in joints {
        for _ in 0..rows {
            let row: [f64; 12] = std::array::from_fn(|_| d.range(-1.0, 1.0));
            g.push((a, b), Set::Free, &[row], &[d.range(-0.1, 0.1)]);
        }
    }
    g.compliance = vec![0.0; g.bias.len()];
    g.compliance[4] = 0.2;
    g.spans = in_a_row(&g);
    p.general = g;
    p
}

fn velocities(problem: &Problem, solver: &str) -> Vec<[f64; 6]> {
    let solution = make(solver).unwrap().solve(problem, None, &tight()).unwrap();
    assert_eq!(solution.status, Status::Converged, "{solver}");
    assert!(certificate(problem, &solution.gamma).residual_max <= 1e-9, "{solver}");
    let mut v = Vec::new();
    problem.velocities(&solution.gamma, &mut v);
    v
}

fn apart(a: &[[f64; 6]], b: &[[f64; 6]]) -> f64 {
    a.as_flattened().iter().zip(b.as_flattened()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

#[test]
fn velocities_are_those_of_a_general_solver() {
    for seed in 0..6 {
        let problem = Problem::Bodies(mechanism(9, seed));
        let difference = apart(&velocities(&problem, "schur"), &velocities(&problem, "prox"));
        assert!(difference < 1e-6, "seed {seed}: {difference}");
    }
}

#[test]
fn rows_said_twice_change_nothing() {
    let p = mechanism(9, 3);
    let mut twice = p.clone();
    let g = &p.general;
    let mut again = General { first_row: vec![0], ..General::default() };
    for i in 0..g.a.len() {
        // The rows of the joint of bodies 1 and 3, each said twice.
        let times = if (g.a[i], g.b[i]) == (1, 3) { 2 } else { 1 };
        for _ in 0..times {
            again.push((g.a[i], g.b[i]), g.set[i], &[g.jacobian[i]], &[g.bias[i]]);
            again.compliance.push(g.compliance[i]);
        }
    }
    again.spans = in_a_row(&again);
    twice.general = again;
    let (once, twice) = (Problem::Bodies(p), Problem::Bodies(twice));
    let difference = apart(&velocities(&once, "schur"), &velocities(&twice, "schur"));
    assert!(difference < 1e-6, "{difference}");
}

#[test]
fn joints_hold_to_rounding_after_any_number_of_sweeps() {
    let problem = Problem::Bodies(mechanism(9, 1));
    let stop = Stop { tolerance: 0.0, iterations: 2, ..Stop::default() };
    let solution = make("schur").unwrap().solve(&problem, None, &stop).unwrap();
    let mut u = Vec::new();
    problem.apply(&solution.gamma, &mut u);
    for i in (0..problem.blocks()).filter(|i| problem.set(*i) == Set::Free) {
        for row in problem.block(i) {
            assert!(u[row].abs() < 1e-11, "row {row}: {}", u[row]);
        }
    }
}

#[test]
fn coulomb_is_solved_too_and_large_islands_are_handed_over() {
    let mut problem = Problem::Bodies(mechanism(9, 2));
    problem.set_model(FrictionLaw::Coulomb);
    velocities(&problem, "schur");
    let pile = Problem::Bodies(heap(150, 4, false));
    assert!(pile.rows() > 384);
    let stop = Stop { tolerance: 1e-6, iterations: 5000, ..Stop::default() };
    let solution = make("schur").unwrap().solve(&pile, None, &stop).unwrap();
    assert_eq!(solution.status, Status::Converged);
}

/// `auto` hands out the velocities that its judge has found, and those are the returned solution's.
#[test]
fn velocities_at_hand_are_the_solutions() {
    let mut solver = make("auto").unwrap();
    assert!(solver.velocities().is_none(), "nothing was solved");
    for seed in 0..4 {
        let problem = Problem::Bodies(mechanism(9, seed));
        let stop = Stop { tolerance: 1e-6, iterations: 500, ..Stop::default() };
        let solution = solver.solve(&problem, None, &stop).unwrap();
        let mut v = Vec::new();
        problem.velocities(&solution.gamma, &mut v);
        assert_eq!(solver.velocities(), Some(v.as_slice()));
    }
}

/// Of islands that are alike, passes alone would not see all of it: γ = max(0, NaN) is 0.
#[test]
fn what_is_no_number_is_refused() {
    let spoils: [fn(&mut Bodies); 3] =
        [|p| p.v_free[37][2] = f64::NAN, |p| p.general.bias[11] = f64::NAN, |p| p.points.mu[5] = f64::NAN];
    let stop = Stop { tolerance: 0.0, iterations: 20, ..Stop::default() };
    let solve = |problem: &Problem| make("pgj").unwrap().solve(problem, None, &stop);
    assert!(solve(&carts(24, false, false)).is_ok());
    for (k, spoil) in spoils.into_iter().enumerate() {
        let mut problem = carts(24, false, false);
        if let Problem::Bodies(p) = &mut problem {
            spoil(p);
        }
        assert!(solve(&problem).is_err(), "number {k}");
    }
}
