//! Exact Coulomb friction: the law itself, contact by contact, and every solver of the registry on it.

use crate::common::{explicit, heap, pyramid};
use drystone_solve::certificate::certificate;
use drystone_solve::problem::{Csr, Explicit};
use drystone_solve::solver::{REGISTRY, Status, Stop, make};
use drystone_solve::{FrictionLaw, Problem, Set};

fn coulomb(mut p: Problem) -> Problem {
    p.set_model(FrictionLaw::Coulomb);
    p
}

fn tight() -> Stop {
    Stop { tolerance: 1e-8, iterations: 200_000, ..Stop::default() }
}

/// Signorini and Coulomb written out, without cones or corrections: the largest violation, m/s or N s.
fn violation(p: &Problem, gamma: &[f64]) -> f64 {
    let mut u = Vec::new();
    p.apply(gamma, &mut u);
    let mut worst = 0.0f64;
    for i in 0..p.blocks() {
        let Set::Friction3 { mu } = p.set(i) else { continue };
        let (g, u) = (&gamma[p.block(i)], &u[p.block(i)]);
        let (gt, ut) = (g[1].hypot(g[2]), u[1].hypot(u[2]));
        worst = worst.max(-u[0]).max(-g[0]).max(g[0].min(u[0]));
        worst = worst.max(gt - mu * g[0]);
        // Where it slides, friction is at its limit and against the slip.
        worst = worst.max(ut.min(mu * g[0] - gt));
        worst = worst.max((g[1] * u[1] + g[2] * u[2] + gt * ut).abs() / (gt + ut).max(1e-3));
    }
    worst
}

#[test]
fn every_solver_obeys_coulombs_law_on_both_forms() {
    for (seed, joints) in [(1, false), (2, true)] {
        let form = heap(20, seed, joints);
        let (p, e) = (coulomb(Problem::Bodies(form.clone())), coulomb(explicit(&form)));
        for info in REGISTRY.iter().filter(|i| i.is_exact()) {
            for problem in [&p, &e] {
                let s = make(info.name).unwrap().solve(problem, None, &tight()).unwrap();
                assert_eq!(s.status, Status::Converged, "{} after {}", info.name, s.iterations);
                for judge in [&p, &e] {
                    let c = certificate(judge, &s.gamma);
                    assert!(c.residual_max <= 2e-8, "{}: {c:?}", info.name);
                    assert!(c.duality_gap.is_none() && c.least_feasible_norm.is_none());
                }
                let worst = violation(&p, &s.gamma);
                assert!(worst < 1e-6, "{}: Coulomb's law is violated by {worst}", info.name);
            }
        }
    }
}

/// The relaxed solution of the same heap is no Coulomb solution: the two laws differ where something slides.
#[test]
fn relaxed_solutions_do_not_pass_for_exact_ones() {
    let form = heap(20, 1, false);
    let relaxed = Problem::Bodies(form.clone());
    let s = make("apgd").unwrap().solve(&relaxed, None, &tight()).unwrap();
    assert!(certificate(&relaxed, &s.gamma).residual_max <= 1e-8);
    assert!(certificate(&coulomb(relaxed), &s.gamma).residual_max > 1e-3);
}

/// One block that slides: γ_n = -q_n / (W_nn + μ W_nt), the closed form for W with a coupling between normal
/// and slip.
#[test]
fn one_sliding_contact_has_a_closed_form() {
    let (mu, w) = (0.3, [[2.0, 0.4, 0.0], [0.4, 3.0, 0.0], [0.0, 0.0, 3.0]]);
    let q = vec![-1.0, -5.0, 0.0];
    let rows = w.iter().map(|r| (0..3).map(|j| (j as u32, r[j])).collect()).collect();
    let p = Explicit::new(Csr::from_rows(3, rows), q, vec![Set::Friction3 { mu }]);
    let p = coulomb(Problem::Explicit(p));
    // It slides towards -t₁, so friction pushes towards +t₁.
    let normal = 1.0 / (2.0 + mu * 0.4);
    for info in REGISTRY.iter().filter(|i| i.is_exact()) {
        let s = make(info.name).unwrap().solve(&p, None, &Stop { tolerance: 1e-11, ..tight() }).unwrap();
        for (x, exact) in s.gamma.iter().zip([normal, mu * normal, 0.0]) {
            assert!((x - exact).abs() < 1e-9, "{}: {:?}", info.name, s.gamma);
        }
    }
}

/// A matrix that is not symmetric is solved as it is.
#[test]
fn unsymmetric_matrices_are_not_symmetrised() {
    let form = heap(12, 5, false);
    let Problem::Explicit(mut e) = explicit(&form) else { unreachable!() };
    // A skew part of a thousandth, as gyroscopic terms make it.
    let rows: Vec<Vec<(u32, f64)>> = (0..e.w.rows())
        .map(|i| {
            let skew = |j: usize| 1.0 + 1e-3 * (i as f64 - j as f64).signum();
            e.w.row(i).map(|(j, x)| (j as u32, x * skew(j))).collect()
        })
        .collect();
    e.w = Csr::from_rows(e.w.columns, rows);
    let p = coulomb(Problem::Explicit(e));
    for info in REGISTRY.iter().filter(|i| i.is_exact()) {
        let s = make(info.name).unwrap().solve(&p, None, &tight()).unwrap();
        assert_eq!(s.status, Status::Converged, "{} after {}", info.name, s.iterations);
        let worst = violation(&p, &s.gamma);
        assert!(worst < 1e-6, "{}: Coulomb's law is violated by {worst}", info.name);
    }
}

#[test]
fn a_warm_start_at_the_solution_costs_nothing() {
    let p = coulomb(Problem::Bodies(heap(20, 3, true)));
    for info in REGISTRY.iter().filter(|i| i.is_exact()) {
        let mut solver = make(info.name).unwrap();
        let s = solver.solve(&p, None, &tight()).unwrap();
        let again = solver.solve(&p, Some(&s.gamma), &Stop { tolerance: 1e-7, ..tight() }).unwrap();
        assert!(again.iterations <= 2, "{} took {}", info.name, again.iterations);
        assert_eq!(again.status, Status::Converged);
    }
}

/// Pyramids of balls that fall apart, most contacts sliding: a fixed point on the slip takes hundreds to
/// thousands of factorisations there.
#[test]
fn the_interior_point_obeys_the_law_where_most_contacts_slide() {
    for (layers, mu) in [(4, 0.0), (4, 0.2), (6, 0.2), (8, 0.2), (8, 0.8), (10, 0.2)] {
        let p = coulomb(Problem::Bodies(pyramid(layers, mu, 0.0)));
        let e = coulomb(Problem::Explicit(p.to_explicit()));
        for (problem, form) in [(&p, "bodies"), (&e, "matrix")] {
            let s = make("ipm").unwrap().solve(problem, None, &tight()).unwrap();
            assert_eq!(s.status, Status::Converged, "{layers} layers, mu {mu}, {form}");
            let worst = violation(&p, &s.gamma);
            assert!(worst < 1e-6, "{layers} layers, mu {mu}, {form}: violated by {worst}");
            assert!(s.iterations <= 60, "{layers} layers, mu {mu}, {form}: {}", s.iterations);
        }
        let s = make("auto").unwrap().solve(&p, None, &tight()).unwrap();
        assert_eq!(s.status, Status::Converged, "{layers} layers, mu {mu}");
        assert!(s.iterations <= 150, "{layers} layers, mu {mu}: {:?}", s.attempts);
    }
}

/// A pyramid that can rest has a second solution in which it slides. Whoever solves the relaxed problem on
/// the way, cold or with a guess of zeros, finds the one in which it rests, which is the relaxed problem's
/// too. (Sweeps promise nothing.)
#[test]
fn what_can_rest_rests() {
    let form = pyramid(4, 0.8, 0.0);
    let (p, e) = (coulomb(Problem::Bodies(form.clone())), coulomb(explicit(&form)));
    let zeros = vec![0.0; p.rows()];
    for name in ["auto", "ipm", "prox", "admm", "apgd", "bb", "cpg"] {
        for problem in [&p, &e] {
            for guess in [None, Some(zeros.as_slice())] {
                let stop = Stop { tolerance: 1e-9, iterations: 20_000, ..Stop::default() };
                let s = make(name).unwrap().solve(problem, guess, &stop).unwrap();
                let mut u = Vec::new();
                p.apply(&s.gamma, &mut u);
                let fastest = u.iter().fold(0.0f64, |m, u| m.max(u.abs()));
                assert!(fastest < 1e-4, "{name}: {fastest} m/s, {:?}", s.status);
            }
        }
    }
}

/// Friction without limit, or all but: seen by the natural map an approach of 1 m/s counts 1/μ, and no force
/// at all would pass for a solution. Nobody says that it is solved unless Coulomb's law holds.
#[test]
fn boundless_friction_hides_nothing() {
    for mu in [1e2, 1e4, 1e6, 1e8] {
        let rows = (0..9).map(|i| vec![(i, 1.0)]).collect();
        let (w, q) = (Csr::from_rows(9, rows), [-1.0, 1.0, 3.0].repeat(3));
        let p = coulomb(Problem::Explicit(Explicit::new(w, q, vec![Set::Friction3 { mu }; 3])));
        let at_rest = certificate(&p, &[0.0; 9]);
        assert!(at_rest.residual_max > 0.05 && at_rest.constraint_violation > 0.05, "{mu}: {at_rest:?}");
        let mut solved = Vec::new();
        for info in REGISTRY.iter().filter(|i| i.is_exact()) {
            let stop = Stop { tolerance: 1e-6, iterations: 2000, ..Stop::default() };
            let s = make(info.name).unwrap().solve(&p, None, &stop).unwrap();
            if s.status == Status::Converged {
                let worst = violation(&p, &s.gamma);
                assert!(worst < 1e-4, "{} with {mu}: Coulomb's law is violated by {worst}", info.name);
                solved.push(info.name);
            }
        }
        println!("{mu:e}: solved by {solved:?}");
        for name in ["auto", "apgd", "ipm"] {
            assert!(solved.contains(&name), "{name} with {mu}");
        }
    }
}
