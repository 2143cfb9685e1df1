//! The interior point, proximal Newton and ADMM solvers against another interior-point code, and where they
//! must not slow down.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::common::{explicit, heap, pyramid, stack};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SupportedConeT};
use drystone_solve::certificate::certificate;
use drystone_solve::problem::{Bodies, Explicit};
use drystone_solve::solver::{Status, Stop, make};
use drystone_solve::{FrictionLaw, Problem, Set};

const NAMES: [&str; 3] = ["ipm", "prox", "admm"];

fn tight() -> Stop {
    Stop { tolerance: 1e-9, iterations: 5000, ..Stop::default() }
}

fn columns(rows: usize, columns: usize, entries: &[(usize, usize, f64)]) -> CscMatrix<f64> {
    let (i, (j, x)): (Vec<_>, (Vec<_>, Vec<_>)) = entries.iter().map(|(i, j, x)| (*i, (*j, *x))).unzip();
    CscMatrix::new_from_triplets(rows, columns, i, j, x)
}

/// min ½ γᵀ(W + C)γ + qᵀγ over K by Clarabel: the objective and (W + C)γ + q.
fn clarabel(p: &Explicit) -> (f64, Vec<f64>) {
    let n = p.q.len();
    let mut w = Vec::new();
    for i in 0..n {
        for (j, x) in p.w.row(i) {
            if i <= j {
                w.push((i, j, x));
            }
        }
        if let Some(c) = p.compliance.get(i) {
            w.push((i, i, *c));
        }
    }
    // A γ + s = b with s in a product of cones.
    let (mut a, mut b, mut cones) = (Vec::new(), Vec::new(), Vec::new());
    let mut row = |entries: &[(usize, f64)], right: f64| {
        entries.iter().for_each(|(j, x)| a.push((b.len(), *j, *x)));
        b.push(right);
    };
    for (k, set) in p.sets.iter().enumerate() {
        let j = p.first_row[k] as usize;
        let mut round = |mu: f64, tangents: std::ops::Range<usize>, cones: &mut Vec<_>| {
            let size = tangents.len();
            if mu > 0.0 {
                row(&[(j, -mu)], 0.0);
            }
            tangents.for_each(|t| row(&[(j + t, -1.0)], 0.0));
            cones.push(match mu > 0.0 {
                true => SupportedConeT::SecondOrderConeT(1 + size),
                false => SupportedConeT::ZeroConeT(size),
            });
        };
        match *set {
            Set::Free => {}
            Set::NonNegative => {}
            Set::Interval { lo, hi } => {
                row(&[(j, -1.0)], -lo);
                row(&[(j, 1.0)], hi);
                cones.push(SupportedConeT::NonnegativeConeT(2));
            }
            Set::Friction2 { mu } => round(mu, 1..2, &mut cones),
            Set::Friction3 { mu } => round(mu, 1..3, &mut cones),
            Set::Rolling5 { mu, mu_r } => {
                round(mu, 1..3, &mut cones);
                round(mu_r, 3..5, &mut cones);
            }
        }
        if !matches!(set, Set::Free | Set::Interval { .. }) {
            row(&[(j, -1.0)], 0.0);
            cones.push(SupportedConeT::NonnegativeConeT(1));
        }
    }
    let (w, a) = (columns(n, n, &w), columns(b.len(), n, &a));
    let settings = DefaultSettings {
        verbose: false,
        tol_gap_abs: 1e-12,
        tol_gap_rel: 1e-12,
        tol_feas: 1e-12,
        ..DefaultSettings::default()
    };
    let mut solver = DefaultSolver::new(&w, &p.q, &a, &b, &cones, settings).unwrap();
    solver.solve();
    let x = &solver.solution.x;
    (solver.solution.obj_val, (0..n).map(|i| p.row(i, x)).collect())
}

/// The same problem with a compliance for each row.
fn soften(p: &mut Bodies) {
    let n = p.points.len();
    p.points.compliance = [
        (0..n).map(|i| 0.01 + 0.001 * (i % 7) as f64).collect(),
        (0..n).map(|i| 0.02 + 0.003 * (i % 5) as f64).collect(),
    ];
    p.general.compliance = (0..p.general.bias.len()).map(|j| 0.001 * (j % 3) as f64).collect();
}

#[test]
fn all_agree_with_another_interior_point_code() {
    for (seed, joints, soft) in [(31, false, false), (32, true, false), (33, true, true)] {
        let mut p = heap(40, seed, joints);
        if soft {
            soften(&mut p);
        }
        let rigid = Bodies {
            points: drystone_solve::problem::Points { compliance: Default::default(), ..p.points.clone() },
            general: drystone_solve::problem::General { compliance: Vec::new(), ..p.general.clone() },
            ..p.clone()
        };
        let Problem::Explicit(mut e) = explicit(&rigid) else { unreachable!() };
        let body_form = Problem::Bodies(p);
        if soft {
            e.compliance = (0..body_form.blocks())
                .flat_map(|i| body_form.block(i).map(move |row| (i, row)))
                .map(|(i, row)| body_form.compliance(i, row))
                .collect();
        }
        let (objective, u) = clarabel(&e);
        for problem in [&body_form, &Problem::Explicit(e)] {
            for name in NAMES {
                let s = make(name).unwrap().solve(problem, None, &tight()).unwrap();
                assert_eq!(s.status, Status::Converged, "{name} {seed}");
                let c = certificate(problem, &s.gamma);
                assert!(
                    (c.dual_objective - objective).abs() <= 1e-9 * objective.abs(),
                    "{name} {seed}: {} {objective}",
                    c.dual_objective
                );
                let mut ours = Vec::new();
                problem.apply(&s.gamma, &mut ours);
                for (x, y) in ours.iter().zip(&u) {
                    assert!((x - y).abs() < 2e-5, "{name} {seed}: {x} {y}");
                }
            }
        }
    }
}

#[test]
fn iterations_hardly_grow_with_a_stack() {
    for name in ["ipm", "prox"] {
        let count = |height| {
            let p = Problem::Bodies(stack(height));
            let stop = Stop { tolerance: 1e-8, iterations: 500, ..Stop::default() };
            let s = make(name).unwrap().solve(&p, None, &stop).unwrap();
            assert_eq!(s.status, Status::Converged, "{name} {height}");
            s.iterations
        };
        let (low, high) = (count(10), count(160));
        assert!(high <= 2 * low + 5, "{name}: {low} and {high}");
    }
}

#[test]
fn a_body_that_cannot_tilt_and_a_body_that_cannot_move_are_no_trouble() {
    let mut p = heap(24, 41, true);
    // Locked to the plane y = 0: turns about y only. And one that nothing moves.
    p.inv_inertia[3] = [0.0, 2.5, 0.0, 0.0, 0.0, 0.0];
    p.inv_mass[6] = 0.0;
    p.inv_inertia[6] = [0.0; 6];
    p.v_free[6] = [0.0; 6];
    let Problem::Explicit(e) = explicit(&p) else { unreachable!() };
    let (objective, _) = clarabel(&e);
    let problem = Problem::Bodies(p);
    for name in NAMES {
        let s = make(name).unwrap().solve(&problem, None, &tight()).unwrap();
        assert_eq!(s.status, Status::Converged, "{name}");
        let c = certificate(&problem, &s.gamma);
        assert!((c.dual_objective - objective).abs() < 1e-8, "{name}: {} {objective}", c.dual_objective);
    }
}

#[test]
fn admm_begins_with_the_factor_it_has() {
    // The second right-hand side is solved with the penalty that the first one found: a fresh solver has to
    // find it.
    let p = stack(60);
    let mut moved = p.clone();
    moved.v_free.iter_mut().for_each(|v| v[2] *= 1.5);
    let stop = Stop { tolerance: 1e-6, iterations: 5000, ..Stop::default() };
    let mut kept = make("admm").unwrap();
    let first = kept.solve(&Problem::Bodies(p), None, &stop).unwrap();
    let second = kept.solve(&Problem::Bodies(moved.clone()), Some(&first.gamma), &stop).unwrap();
    let fresh = make("admm").unwrap().solve(&Problem::Bodies(moved), None, &stop).unwrap();
    assert_eq!(second.status, Status::Converged);
    assert!(second.iterations < fresh.iterations, "{} {}", second.iterations, fresh.iterations);
}

#[test]
fn a_cap_of_one_iteration_is_kept() {
    let p = Problem::Bodies(heap(60, 43, true));
    for name in NAMES {
        let stop = Stop { tolerance: 1e-12, iterations: 1, history: true, ..Stop::default() };
        let s = make(name).unwrap().solve(&p, None, &stop).unwrap();
        assert_eq!((s.status, s.iterations, s.history.len()), (Status::Iterations, 1, 1), "{name}");
    }
}

/// Cut short, `prox` returns something that holds bodies up: an objective no higher than ten sweeps reach,
/// not the start.
#[test]
fn proximal_steps_cut_short_are_no_worse_than_a_few_sweeps() {
    let problem = Problem::Bodies(heap(200, 31, false));
    let objective = |name: &str, iterations: usize| {
        let stop = Stop { tolerance: 1e-9, iterations, ..Stop::default() };
        let s = make(name).unwrap().solve(&problem, None, &stop).unwrap();
        certificate(&problem, &s.gamma).dual_objective
    };
    let swept = objective("pgs", 10);
    assert!(swept < 0.0);
    for iterations in [1, 2, 3, 5, 8] {
        let reached = objective("prox", iterations);
        assert!(reached <= swept, "{iterations}: {reached} against {swept}");
    }
    let mut exact = problem.clone();
    exact.set_model(FrictionLaw::Coulomb);
    for iterations in [1, 3] {
        let stop = Stop { tolerance: 1e-9, iterations, ..Stop::default() };
        let zeros = vec![0.0; exact.rows()];
        let s = make("prox").unwrap().solve(&exact, Some(&zeros), &stop).unwrap();
        assert!(s.gamma.iter().any(|x| *x != 0.0), "{iterations}: the guess came back");
    }
}

/// Redundant contacts under uneven masses: a proximal compliance below what rounding bears used to end all
/// progress at 1e-3 m/s.
#[test]
fn the_proximal_compliance_is_not_made_smaller_than_rounding_bears() {
    for (top, most) in [(1e3, 20), (1e5, 60), (1e6, 160)] {
        let mut p = stack(10);
        p.inv_mass[9] /= top;
        p.inv_inertia[9].iter_mut().for_each(|x| *x /= top);
        let stop = Stop { tolerance: 1e-7, iterations: most, ..Stop::default() };
        let s = make("prox").unwrap().solve(&Problem::Bodies(p), None, &stop).unwrap();
        assert_eq!(s.status, Status::Converged, "{top}: {} factorisations", s.iterations);
    }
}

/// An interior point leaves every contact opening by a little, in every step: within the tolerance, but all
/// of one sign.
#[test]
fn what_the_interior_point_finds_at_rest_is_at_rest() {
    for model in [FrictionLaw::Ccp, FrictionLaw::Coulomb] {
        for tolerance in [1e-4, 1e-6] {
            let mut problem = Problem::Bodies(pyramid(4, 0.8, 0.0));
            problem.set_model(model);
            let stop = Stop { tolerance, iterations: 100, ..Stop::default() };
            let s = make("ipm").unwrap().solve(&problem, None, &stop).unwrap();
            let mut v = Vec::new();
            problem.velocities(&s.gamma, &mut v);
            let fastest = v.iter().flatten().fold(0.0f64, |m, x| m.max(x.abs()));
            assert!(s.status == Status::Converged && fastest < 1e-10, "{model:?} {tolerance}: {fastest} m/s");
        }
    }
}

/// Without time one factorisation is made, for something to return; for an interrupt none is.
#[test]
fn no_time_and_an_interrupt_are_heeded_between_factorisations_and_in_them() {
    for model in [FrictionLaw::Ccp, FrictionLaw::Coulomb] {
        for mut problem in [Problem::Bodies(heap(40, 71, false)), explicit(&heap(40, 71, false))] {
            problem.set_model(model);
            for name in ["prox", "ipm"] {
                let stop = Stop { tolerance: 1e-12, iterations: usize::MAX, ..Stop::default() };
                let no_time = Stop { budget: Some(Duration::ZERO), ..stop.clone() };
                let raised = Stop { interrupt: Some(Arc::new(AtomicBool::new(true))), ..stop };
                // A round of the fixed point on the slip counts as an iteration at least.
                let round = usize::from(name == "prox" && model == FrictionLaw::Coulomb);
                for (stop, most) in [(no_time, 1), (raised, round)] {
                    let s = make(name).unwrap().solve(&problem, None, &stop).unwrap();
                    assert_eq!((s.status, s.iterations), (Status::Budget, most), "{name}, {model:?}");
                    assert!(s.gamma.len() == problem.rows() && s.gamma.iter().all(|x| x.is_finite()));
                }
            }
        }
    }
}
