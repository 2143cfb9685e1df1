//! The bounds on the velocity error, against the solutions of the interior-point method.

use crate::common::{heap, stack};
use drystone_solve::bound::{feasible_bound, sharp_bound, velocity_error};
use drystone_solve::certificate::certificate;
use drystone_solve::problem::{Bodies, General};
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

/// Down to springs four decades stiffer than the bodies are light, where the judge's own bound is a hundred
/// times too large.
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
    // One point at rest on the floor with nine tenths of the normal impulse it needs: the rest of the
    // velocity is the error.
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
    exact_law.set_model(drystone_solve::FrictionLaw::Coulomb);
    assert_eq!(velocity_error(&exact_law, &vec![0.0; exact_law.rows()], 100).unwrap(), None);
}

/// Motors that push bodies sideways with all they have: [`Set::Interval`] rows, without compliance.
fn with_motors(mut p: Bodies, limits: &[[f64; 2]]) -> Bodies {
    use drystone_solve::colour::Span;
    for (i, &[lo, hi]) in (0u32..).zip(limits) {
        let mut row = [0.0; 12];
        row[0] = 1.0;
        // Asks for 3 m/s, or -3 where it can pull alone.
        let bias = if lo == f64::NEG_INFINITY { 3.0 } else { -3.0 };
        p.general.push((i, drystone_solve::problem::WORLD), Set::Interval { lo, hi }, &[row], &[bias]);
    }
    let n = limits.len() as u32;
    p.general.spans = vec![Span { start: 0, two_end: 0, end: n, serial: false }];
    p
}

/// f(γ) + F(v) by their definitions, with an explicit matrix and the supremum over every interval at one of
/// its ends.
fn gap_by_definition(p: &Bodies, gamma: &[f64]) -> f64 {
    let problem = Problem::Bodies(p.clone());
    let (mut u, mut r) = (Vec::new(), Vec::new());
    problem.apply(gamma, &mut u);
    problem.rhs(&mut r);
    let mut gap = 0.0;
    for i in 0..problem.blocks() {
        for j in problem.block(i) {
            // γᵀ(N + C)γ + rᵀγ, and what compliance has to say twice less ½.
            gap += gamma[j] * u[j] - 0.5 * problem.compliance(i, j) * gamma[j] * gamma[j];
        }
        let rows = problem.block(i);
        let rigid: Vec<f64> = rows.clone().map(|j| u[j] - problem.compliance(i, j) * gamma[j]).collect();
        gap += match problem.set(i) {
            Set::Interval { lo, hi } => (-rigid[0] * lo).max(-rigid[0] * hi),
            // With the same c in all rows: the largest of -⟨u, x⟩ - ½ c |x|² lies along the projection of -u.
            set => {
                use drystone_solve::cone::AdmissibleSet;
                let c = problem.compliance(i, rows.start);
                let mut x: Vec<f64> = rigid.iter().map(|u| -u / c).collect();
                set.project(&mut x);
                x.iter().zip(&rigid).map(|(x, u)| -u * x - 0.5 * c * x * x).sum::<f64>()
            }
        };
    }
    gap
}

#[test]
fn a_motor_at_its_limit_shares_in_the_gap() {
    let limits = [[-0.05, 0.05], [-0.2, 0.01], [0.0, 0.1], [-10.0, 10.0]];
    let p = with_motors(soft(heap(60, 3, false), 0.02), &limits);
    let p = Bodies { general: General { compliance: Vec::new(), ..p.general }, ..p };
    let problem = Problem::Bodies(p.clone());
    let exact = solve(&problem, "ipm", 1e-9, 200);
    let motors = &exact[3 * p.points.len()..];
    assert!((0..3).all(|i| (motors[i] - limits[i][1]).abs() < 1e-6) && motors[3] < 10.0, "{motors:?}");
    let c = certificate(&problem, &exact);
    assert!(c.duality_gap.unwrap() < 1e-7 * c.dual_objective.abs(), "{c:?}");
    assert!(c.complementarity < 1e-6 * c.dual_objective.abs(), "{c:?}");
    for iterations in [3, 10, 30, 100] {
        let gamma = solve(&problem, "pgs", 0.0, iterations);
        let c = certificate(&problem, &gamma);
        let (gap, known) = (c.duality_gap.unwrap(), gap_by_definition(&p, &gamma));
        assert!((gap - known).abs() <= 1e-9 * c.dual_objective.abs(), "{iterations}: {gap} {known}");
        let error = error(&p, &gamma, &exact);
        let bound = c.velocity_error_bound(mass(&p)).unwrap();
        assert!(error <= bound && bound <= 20.0 * error.max(1e-6), "{iterations}: {error} {bound}");
    }
}

/// Without compliance, and with a motor that can pull without end.
#[test]
fn a_motor_that_is_open_to_one_side_leaves_a_feasible_velocity() {
    let infinite = f64::INFINITY;
    for limits in [[-infinite, 0.01], [-0.01, infinite]] {
        let p = with_motors(stack(12), &[[-0.05, 0.05], limits]);
        let problem = Problem::Bodies(p.clone());
        let exact = solve(&problem, "ipm", 1e-9, 200);
        let gamma = solve(&problem, "pgs", 0.0, 60);
        assert!(certificate(&problem, &gamma).complementarity.is_finite());
        let found = feasible_bound(&problem, &gamma, 20_000).unwrap().expect("they can be let go faster");
        let (bound, error) = (found.velocity_error_bound(mass(&p)).unwrap(), error(&p, &gamma, &exact));
        assert!(error > 1e-4 && error <= bound && bound <= 100.0 * error, "{limits:?}: {error} {bound}");
    }
}
