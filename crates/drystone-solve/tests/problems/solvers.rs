//! Every solver in the registry, on both forms of the problem, judged by the certificate.

use crate::common::{explicit, heap};
use drystone_solve::certificate::certificate;
use drystone_solve::colour::Colouring;
use drystone_solve::problem::{Bodies, Csr, Explicit, WORLD};
use drystone_solve::solver::{REGISTRY, Status, Stop, make};
use drystone_solve::{FrictionLaw, Problem};

fn tight() -> Stop {
    Stop { tolerance: 1e-9, iterations: 200_000, ..Stop::default() }
}

#[test]
fn all_solvers_reach_the_same_velocities_on_both_forms() {
    // Equal inertia about every axis takes the compact path for spheres, everything else the general one.
    for (seed, joints, balls) in [(1, false, false), (2, true, false), (3, true, true), (4, false, true)] {
        let mut body_form = heap(24, seed, joints);
        if balls {
            body_form.inv_inertia.iter_mut().for_each(|i| *i = [i[0], i[0], i[0], 0.0, 0.0, 0.0]);
        }
        let (p, e) = (Problem::Bodies(body_form.clone()), explicit(&body_form));
        let mut reference: Option<Vec<[f64; 6]>> = None;
        for info in REGISTRY.iter().filter(|i| i.is_exact()) {
            for problem in [&p, &e] {
                let s = make(info.name).unwrap().solve(problem, None, &tight()).unwrap();
                assert_eq!(s.status, Status::Converged, "{} after {}", info.name, s.iterations);
                // Judged on the form it was not solved on, too.
                for judge in [&p, &e] {
                    let c = certificate(judge, &s.gamma);
                    assert!(c.residual_max <= 2e-9, "{}: {c:?}", info.name);
                    assert!(c.cone_violation <= 1e-12, "{}: {c:?}", info.name);
                    assert!(c.complementarity <= 1e-7, "{}: {c:?}", info.name);
                    assert!(c.constraint_violation <= 1e-8, "{}: {c:?}", info.name);
                }
                let mut v = Vec::new();
                body_form.velocities(&s.gamma, &mut v);
                let r = reference.get_or_insert_with(|| v.clone());
                for (x, y) in v.iter().flatten().zip(r.iter().flatten()) {
                    assert!((x - y).abs() < 1e-6, "{}: {x} against {y}", info.name);
                }
            }
        }
    }
}

#[test]
fn warm_start_at_the_solution_stops_at_once() {
    let p = Problem::Bodies(heap(24, 5, true));
    for info in REGISTRY.iter().filter(|i| i.is_exact()) {
        let mut solver = make(info.name).unwrap();
        let s = solver.solve(&p, None, &tight()).unwrap();
        let again = solver.solve(&p, Some(&s.gamma), &Stop { tolerance: 1e-8, ..tight() }).unwrap();
        assert!(again.iterations <= 2, "{} took {}", info.name, again.iterations);
    }
}

#[test]
fn objective_never_rises_and_the_history_is_complete() {
    let p = Problem::Bodies(heap(40, 7, true));
    for name in ["pgs", "pssor", "pgj", "pgs:lambda=0.7", "pgj:omega=1", "pgs:eta=uniform"] {
        let stop = Stop { tolerance: 0.0, iterations: 60, history: true, ..Stop::default() };
        let s = make(name).unwrap().solve(&p, None, &stop).unwrap();
        assert_eq!(s.history.len(), 60);
        for pair in s.history.windows(2) {
            assert!(pair[1].objective <= pair[0].objective + 1e-12, "{name}: {pair:?}");
        }
        assert!(s.history.last().unwrap().residual < s.history[0].residual, "{name}");
    }
}

#[test]
fn jacobi_rejects_where_a3_fails_and_diverges_when_told_not_to() {
    let p = Problem::Bodies(heap(40, 9, false));
    let stop = Stop { tolerance: 1e-7, iterations: 20_000, ..Stop::default() };
    let safe = make("pgj:omega=1.5").unwrap().solve(&p, None, &stop).unwrap();
    assert!(safe.rejected > 0 && safe.omega < 1.5, "{safe:?}");
    assert_eq!(safe.status, Status::Converged);
    let wild = make("pgj:omega=1.5,safeguard=off").unwrap().solve(&p, None, &stop).unwrap();
    assert_eq!(wild.status, Status::Diverged);
    assert!(wild.gamma.iter().all(|x| x.is_finite()));
}

#[test]
fn gauss_seidel_halves_omega_before_it_starts() {
    let p = Problem::Bodies(heap(10, 11, false));
    let s = make("pgs:omega=3").unwrap().solve(&p, None, &tight()).unwrap();
    assert!(s.omega < 2.0 && s.rejected == 0);
    assert_eq!(s.status, Status::Converged);
}

#[test]
fn caps_are_statuses() {
    let p = Problem::Bodies(heap(200, 13, false));
    let s = make("pgs")
        .unwrap()
        .solve(&p, None, &Stop { tolerance: 1e-12, iterations: 3, ..Stop::default() })
        .unwrap();
    assert_eq!((s.status, s.iterations), (Status::Iterations, 3));
    let budget = Some(std::time::Duration::ZERO);
    let s =
        make("pgs").unwrap().solve(&p, None, &Stop { tolerance: 1e-12, budget, ..Stop::default() }).unwrap();
    assert_eq!((s.status, s.iterations), (Status::Budget, 1));
}

#[test]
fn malformed_problems_are_errors() {
    let mut p = heap(10, 15, false);
    p.points.bias[3] = f64::NAN;
    let e = make("pgs").unwrap().solve(&Problem::Bodies(p), None, &Stop::default()).unwrap_err();
    assert!(e.0.contains("contact point 3"), "{e}");
    let mut p = heap(10, 15, false);
    p.points.a[0] = 99;
    assert!(make("pgs").unwrap().solve(&Problem::Bodies(p), None, &Stop::default()).is_err());
    let p = Problem::Bodies(heap(10, 15, false));
    assert!(make("pgs").unwrap().solve(&p, Some(&[0.0]), &Stop::default()).is_err());
}

/// A ball squeezed between two walls that both ask it to leave at 1 m/s: no velocity satisfies both.
fn wedged() -> Bodies {
    let mut p = Bodies {
        inv_mass: vec![1.0],
        inv_inertia: vec![[2.5, 2.5, 2.5, 0.0, 0.0, 0.0]],
        v_free: vec![[0.0; 6]],
        ..Bodies::default()
    };
    for s in [1.0, -1.0] {
        p.points.push((0, WORLD), [s, 0.0, 0.0], [-s, 0.0, 0.0], [0.0; 3], [-s, 0.0, 0.0], 0.3);
    }
    let mut c = Colouring::default();
    c.run(1, [(0, WORLD); 2].into_iter());
    p.points.spans = c.spans;
    p
}

#[test]
fn wedged_problems_are_recognised_and_sound_ones_are_not() {
    for info in REGISTRY.iter().filter(|i| i.is_exact()) {
        let stop = Stop { tolerance: 1e-6, iterations: 5000, ..Stop::default() };
        let s = make(info.name).unwrap().solve(&Problem::Bodies(wedged()), None, &stop).unwrap();
        assert_eq!(s.status, Status::Wedged, "{}", info.name);
        // The multipliers prove it: a velocity that met both walls would have to be faster than any sane one.
        let needed = certificate(&Problem::Bodies(wedged()), &s.gamma).least_feasible_speed(1.0).unwrap();
        assert!(needed > 5.0, "{}: {needed}", info.name);
        // A tall chain that needs thousands of sweeps is slow, not wedged, even with a bias that rest does
        // not meet.
        let mut p = heap(300, 17, false);
        p.points.bias.iter_mut().for_each(|b| *b -= 0.05);
        let mass: f64 = p.inv_mass.iter().map(|m| 1.0 / m).sum();
        let sound = Problem::Bodies(p);
        let s = make(info.name).unwrap().solve(&sound, None, &stop).unwrap();
        assert_ne!(s.status, Status::Wedged, "{}", info.name);
        let needed = certificate(&sound, &s.gamma).least_feasible_speed(mass).unwrap();
        assert!(needed < 1.0, "{}: {needed}", info.name);
    }
}

/// Bodies in a column, each on the one below; the one on top has its own mass.
fn column(n: usize, top: f64, mu: f64) -> Bodies {
    let mut p = Bodies::default();
    for i in 0..n {
        p.inv_mass.push(if i + 1 == n { 1.0 / top } else { 1.0 });
        p.inv_inertia.push([0.0; 6]);
        p.v_free.push([0.01, 0.0, -0.0981, 0.0, 0.0, 0.0]);
    }
    let below = |i: usize| if i == 0 { WORLD } else { i as u32 - 1 };
    let mut c = Colouring::default();
    c.run(n, (0..n).map(|i| (i as u32, below(i))));
    for &i in &c.order {
        let i = i as usize;
        p.points.push((i as u32, below(i)), [0.0, 0.0, 1.0], [0.0; 3], [0.0; 3], [0.0; 3], mu);
    }
    p.points.spans = c.spans;
    p
}

/// A body without friction between two planes that are nearly upright.
fn narrow(angle: f64) -> Bodies {
    let mut p = Bodies {
        inv_mass: vec![1.0],
        inv_inertia: vec![[0.0; 6]],
        v_free: vec![[0.0, 0.0, -0.0981, 0.0, 0.0, 0.0]],
        ..Bodies::default()
    };
    for s in [1.0, -1.0] {
        let normal = [s * angle.cos(), 0.0, angle.sin()];
        p.points.push((0, WORLD), normal, [0.0; 3], [0.0; 3], [0.0; 3], 0.0);
    }
    let mut c = Colouring::default();
    c.run(1, [(0, WORLD); 2].into_iter());
    p.points.spans = c.spans;
    p
}

/// Multipliers that grow for thousands of sweeps are no contradiction: a heavy ball on light ones, a narrow
/// wedge. Matrices do not say that rest is feasible, as bodies do. Under 1e12 kg the solution is known, every
/// impulse the weight above it, and as large beside its velocities as a ray is.
#[test]
fn slow_growth_is_not_called_a_contradiction() {
    let slow = [column(6, 1000.0, 0.5), column(6, 1e6, 0.5), narrow(1e-2), narrow(1e-3), narrow(1e-5)];
    let far = [column(10, 1e10, 0.5), column(10, 1e11, 0.0), column(10, 1e12, 0.5), narrow(1e-6)];
    for (which, form) in slow.into_iter().chain(far).enumerate() {
        for model in [FrictionLaw::Ccp, FrictionLaw::Coulomb] {
            let mut problem = Problem::Explicit(Problem::Bodies(form.clone()).to_explicit());
            problem.set_model(model);
            for info in REGISTRY.iter().filter(|i| i.is_exact()) {
                let stop = Stop { tolerance: 1e-8, iterations: 5000, ..Stop::default() };
                let s = make(info.name).unwrap().solve(&problem, None, &stop).unwrap();
                assert_ne!(
                    s.status,
                    Status::Wedged,
                    "{}, {which}, {} after {}",
                    info.name,
                    model.name(),
                    s.iterations
                );
            }
        }
    }
}

/// The same ball between two walls, on a heap that is sound: the proof is not lost in the crowd.
#[test]
fn contradictions_among_sound_contacts_are_recognised() {
    let mut old = Problem::Bodies(heap(60, 29, false)).to_explicit();
    // Its own two blocks of W, next to all others.
    let wedge = Problem::Bodies(wedged()).to_explicit();
    let n = old.q.len() as u32;
    let rows = |e: &Explicit, shift: u32| -> Vec<Vec<(u32, f64)>> {
        (0..e.w.rows()).map(|i| e.w.row(i).map(|(j, x)| (j as u32 + shift, x)).collect()).collect()
    };
    let mut all = rows(&old, 0);
    all.extend(rows(&wedge, n));
    let columns = old.w.columns + wedge.w.columns;
    old.q.extend(&wedge.q);
    old.sets.extend(&wedge.sets);
    let problem = Problem::Explicit(Explicit::new(Csr::from_rows(columns, all), old.q, old.sets));
    for info in REGISTRY.iter().filter(|i| i.is_exact()) {
        let stop = Stop { tolerance: 1e-9, iterations: 20_000, ..Stop::default() };
        let s = make(info.name).unwrap().solve(&problem, None, &stop).unwrap();
        assert_eq!(s.status, Status::Wedged, "{} after {}", info.name, s.iterations);
    }
}

#[test]
fn compliance_gives_a_gap_and_a_bound_that_holds() {
    let mut p = heap(24, 19, false);
    let n = p.points.len();
    p.points.compliance = [vec![0.02; n], vec![0.02; n]];
    let problem = Problem::Bodies(p.clone());
    let exact = make("pgs").unwrap().solve(&problem, None, &Stop { tolerance: 1e-12, ..tight() }).unwrap();
    let c = certificate(&problem, &exact.gamma);
    assert!(c.duality_gap.unwrap().abs() < 1e-9, "{c:?}");
    let mut v_star = Vec::new();
    p.velocities(&exact.gamma, &mut v_star);
    let mass: f64 = p.inv_mass.iter().map(|m| 1.0 / m).sum();
    for iterations in [1, 3, 10, 30] {
        let stop = Stop { tolerance: 0.0, iterations, ..Stop::default() };
        let s = make("pgs").unwrap().solve(&problem, None, &stop).unwrap();
        let bound = certificate(&problem, &s.gamma).velocity_error_bound(mass).unwrap();
        let mut v = Vec::new();
        p.velocities(&s.gamma, &mut v);
        let error: f64 = (0..v.len())
            .map(|i| (0..3).map(|k| (v[i][k] - v_star[i][k]).powi(2)).sum::<f64>() / p.inv_mass[i])
            .sum::<f64>();
        let error = (error / mass).sqrt();
        assert!(error <= bound + 1e-12 && bound > 0.0, "{iterations}: {error} against {bound}");
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let p = Problem::Bodies(heap(10_000, 23, true));
    for info in REGISTRY.iter().filter(|i| i.is_exact()) {
        let stop = Stop { tolerance: 0.0, iterations: 10, ..Stop::default() };
        let solve = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| make(info.name).unwrap().solve(&p, None, &stop).unwrap().gamma)
        };
        let one: Vec<u64> = solve(1).iter().map(|x| x.to_bits()).collect();
        for threads in [2, 3] {
            assert!(
                one.iter().zip(solve(threads)).all(|(x, y)| *x == y.to_bits()),
                "{} {threads}",
                info.name
            );
        }
    }
}

#[test]
fn errors_name_the_nearest() {
    let e = make("pgss").err().unwrap().0;
    assert!(e.contains("did you mean 'pgs'") && e.contains("pssor"), "{e}");
    for (given, meant) in [("PGS", "'pgs'"), ("nsgs", "'nsgs-"), ("Prox", "'prox'"), ("nncg-", "'nncg'")] {
        let e = make(given).err().unwrap().0;
        assert!(e.contains(&format!("did you mean {meant}")), "{given}: {e}");
    }
    let e = make("pgs:omgea=1").err().unwrap().0;
    assert!(e.contains("did you mean 'omega'"), "{e}");
    let e = make("pgs:omega=-1").err().unwrap().0;
    assert!(e.contains("omega") && e.contains("above 0"), "{e}");
}
