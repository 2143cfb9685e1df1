//! The bounds on the velocity error, against the solutions of the interior-point method.

mod common;

use common::{heap, stack};
use drystone_solve::bound::{feasible_bound, sharp_bound, velocity_error};
use drystone_solve::certificate::certificate;
use drystone_solve::problem::Bodies;
use drystone_solve::solver::{Status, Stop, make};
use drystone_solve::{Problem, Set};

fn soft(mut p: Bodies, c: f64) -> Bodies {
    let n = p.points.len();
    p.points.compliance = [vec![c; n], vec![c; n]];
    p.general.compliance = vec![c; p.general.bias.len()];
    p
}

fn mass(p: &Bodies) -> f64 {
    p.inv_mass.iter().map(|m| 1.0 / m).sum()
}

/// Mass-weighted rms of the difference of two sets of velocities, m/s.
fn error(p: &Bodies, gamma: &[f64], exact: &[f64]) -> f64 {
    let (mut v, mut v_star) = (Vec::new(), Vec::new());
    p.velocities(gamma, &mut v);
    p.velocities(exact, &mut v_star);
    let squares =
        (0..v.len()).map(|i| (0..3).map(|k| (v[i][k] - v_star[i][k]).powi(2)).sum::<f64>() / p.inv_mass[i]);
    (squares.sum::<f64>() / mass(p)).sqrt()
}

fn solve(problem: &Problem, name: &str, tolerance: f64, iterations: usize) -> Vec<f64> {
    let stop = Stop { tolerance, iterations, ..Stop::default() };
    let s = make(name).unwrap().solve(problem, None, &stop).unwrap();
    assert!(tolerance == 0.0 || s.status == Status::Converged, "{name}: {:?}", s.status);
    s.gamma
}

#[test]
fn with_compliance_the_bound_holds_and_is_near() {
    for p in [soft(heap(60, 3, false), 0.02), soft(heap(60, 4, true), 0.02), soft(stack(30), 0.01)] {
        let problem = Problem::Bodies(p.clone());
        let exact = solve(&problem, "ipm", 1e-9, 200);
        for name in ["pgs", "apgd", "admm"] {
            for iterations in [3, 10, 30, 60] {
                let gamma = solve(&problem, name, 0.0, iterations);
                let bound = certificate(&problem, &gamma).velocity_error_bound(mass(&p)).unwrap();
                let error = error(&p, &gamma, &exact);
                assert!(error <= bound, "{name} {iterations}: {error} {bound}");
                if error > 1e-6 {
                    assert!(bound <= 10.0 * error, "{name} {iterations}: {error} {bound}");
                }
            }
        }
    }
}

/// Down to springs four decades stiffer than the bodies are light, where the judge's own bound is a hundred times too large.
#[test]
fn however_stiff_the_sharp_bound_is_near() {
    let mut loosest = 0.0f64;
    for c in [1e-1, 1e-2, 1e-3, 1e-4, 1e-5] {
        for p in [soft(heap(60, 3, false), c), soft(heap(60, 4, true), c), soft(stack(30), c)] {
            let problem = Problem::Bodies(p.clone());
            let exact = solve(&problem, "ipm", 1e-8, 300);
            for (name, iterations) in [("pgj", 30), ("pgj", 300), ("pgs", 10), ("pgs", 100), ("apgd", 30)] {
                let gamma = solve(&problem, name, 0.0, iterations);
                let error = error(&p, &gamma, &exact);
                let judged = certificate(&problem, &gamma).velocity_error_bound(mass(&p)).unwrap();
                let b = sharp_bound(&problem, &gamma, 4000).unwrap().unwrap();
                println!(
                    "C {c:e} {name} {iterations}: {error:.2e}, judge {:.1}, sharp {:.2} below {:.2} ({} + {})",
                    judged / error,
                    b.upper / error,
                    b.lower / error,
                    b.multiplications,
                    b.factorisations
                );
                assert!(
                    b.lower <= error * (1.0 + 1e-6) + 1e-9,
                    "C {c:e}, {name} {iterations}: {error} {b:?}"
                );
                assert!(
                    error <= b.upper * (1.0 + 1e-6) + 1e-9,
                    "C {c:e}, {name} {iterations}: {error} {b:?}"
                );
                if error > 1e-6 {
                    assert!(b.upper <= 3.1 * error, "C {c:e}, {name} {iterations}: {error} {b:?}");
                    loosest = loosest.max(judged / error);
                }
            }
        }
    }
    assert!(loosest > 50.0, "the judge's bound was near everywhere: {loosest}");
    // Without compliance there is no gap to go by.
    let problem = Problem::Bodies(stack(3));
    assert_eq!(sharp_bound(&problem, &vec![0.0; problem.rows()], 100).unwrap(), None);
}

#[test]
fn a_small_residual_misleads_and_the_bound_does_not() {
    let p = soft(stack(60), 1e-3);
    let problem = Problem::Bodies(p.clone());
    let exact = solve(&problem, "ipm", 1e-9, 200);
    let gamma = solve(&problem, "pgs", 0.0, 200);
    let c = certificate(&problem, &gamma);
    let error = error(&p, &gamma, &exact);
    assert!(c.residual_max < 0.3 * error, "{} {error}", c.residual_max);
    assert!(c.velocity_error_bound(mass(&p)).unwrap() >= error);
}

#[test]
fn without_compliance_a_feasible_velocity_bounds_the_error() {
    let p = stack(12);
    let problem = Problem::Bodies(p.clone());
    let exact = solve(&problem, "ipm", 1e-9, 200);
    let gamma = solve(&problem, "pgs", 0.0, 60);
    let c = certificate(&problem, &gamma);
    assert_eq!(c.velocity_error_bound(mass(&p)), None);
    assert!(c.backward_error > 0.0);
    let found = feasible_bound(&problem, &gamma, 20_000).unwrap().expect("boxes can always be lifted apart");
    let (bound, error) = (found.velocity_error_bound(mass(&p)).unwrap(), error(&p, &gamma, &exact));
    assert!(error > 1e-4 && error <= bound, "{error} {bound}");
    assert!(bound <= 30.0 * error, "{error} {bound}");
    // A bilateral row leaves no room, and is not searched.
    let mut held = p;
    held.general.push(
        (0, 1),
        Set::Free,
        &[[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0]],
        &[0.0],
    );
    held.general.spans = vec![drystone_solve::colour::Span { start: 0, two_end: 1, end: 1, serial: false }];
    let gamma = vec![0.0; gamma.len() + 1];
    assert_eq!(feasible_bound(&Problem::Bodies(held), &gamma, 100).unwrap(), None);
}

#[test]
fn the_backward_error_is_what_must_be_added_to_the_bias() {
    // One point at rest on the floor with nine tenths of the normal impulse it needs: the rest of the velocity is the error.
    let p = Problem::Bodies(stack(1));
    let gamma = solve(&p, "prox", 1e-10, 100);
    assert!(certificate(&p, &gamma).backward_error < 1e-9);
    let less: Vec<f64> = gamma.iter().map(|g| 0.9 * g).collect();
    let c = certificate(&p, &less);
    assert!((c.backward_error - 0.00981).abs() < 1e-9, "{c:?}");
}

/// What reports say: with the budget they have, with springs and without.
#[test]
fn the_reported_bound_holds_and_is_within_ten_times_the_error() {
    for (p, least) in [
        (soft(heap(60, 3, false), 1e-4), 1e-6),
        (soft(heap(60, 4, true), 1e-5), 1e-6),
        (soft(stack(30), 1e-3), 1e-6),
        (heap(60, 3, false), 1e-4),
        (heap(60, 5, false), 1e-4),
    ] {
        let problem = Problem::Bodies(p.clone());
        let exact = solve(&problem, "ipm", 1e-9, 200);
        for (name, iterations) in [("pgs", 10), ("pgs", 100), ("apgd", 30)] {
            let gamma = solve(&problem, name, 0.0, iterations);
            let (error, b) =
                (error(&p, &gamma, &exact), velocity_error(&problem, &gamma, 500).unwrap().unwrap());
            assert!(b.lower <= error && error <= b.upper, "{name} {iterations}: {error} {b:?}");
            assert!(b.upper <= 10.0 * error.max(least), "{name} {iterations}: {error} {b:?}");
            assert!(b.multiplications <= 500 && b.factorisations <= 40, "{b:?}");
        }
    }
    let mut exact_law = Problem::Bodies(heap(10, 3, false));
    exact_law.set_model(drystone_solve::Model::Coulomb);
    assert_eq!(velocity_error(&exact_law, &vec![0.0; exact_law.rows()], 100).unwrap(), None);
}
