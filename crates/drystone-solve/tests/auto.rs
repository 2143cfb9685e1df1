//! The default solver: whom it picks, when it hands on, and that its word is the judge's.

mod common;

use common::{explicit, heap, stack};
use drystone_solve::certificate::certificate;
use drystone_solve::solver::{Solution, Status, Stop, make};
use drystone_solve::{Model, Problem};

fn solve(name: &str, problem: &Problem, guess: Option<&[f64]>, stop: &Stop) -> Solution {
    make(name).unwrap().solve(problem, guess, stop).unwrap()
}

fn picked(s: &Solution) -> Vec<&'static str> {
    s.attempts.iter().map(|a| a.solver).collect()
}

/// Equal balls in a loose heap: contact points and nothing else.
fn grains(n: usize) -> Problem {
    let mut p = heap(n, 11, false);
    p.inv_mass.fill(1.0);
    p.inv_inertia.fill([2.5, 2.5, 2.5, 0.0, 0.0, 0.0]);
    Problem::Bodies(p)
}

#[test]
fn stacks_get_factors_and_more_digits_than_asked_for() {
    let stop = Stop { tolerance: 1e-4, iterations: 200, ..Stop::default() };
    for problem in [30, 100].map(|n| Problem::Bodies(stack(n))) {
        let s = solve("auto", &problem, None, &stop);
        assert_eq!((s.status, picked(&s)), (Status::Converged, vec!["prox"]));
        let c = certificate(&problem, &s.gamma);
        assert!(c.residual_max <= 1e-7, "{}", c.residual_max);
    }
}

#[test]
fn mechanisms_get_their_joints_eliminated_where_islands_are_small() {
    let stop = Stop { tolerance: 1e-4, iterations: 400, ..Stop::default() };
    for (bodies, picks) in [(20, ["schur", ""]), (400, ["schur", "prox"])] {
        let problem = Problem::Bodies(heap(bodies, 2, true));
        let s = solve("auto", &problem, None, &stop);
        let picks: Vec<_> = picks.into_iter().filter(|p| !p.is_empty()).collect();
        assert_eq!((s.status, picked(&s)), (Status::Converged, picks), "{bodies}");
        // An island too large for it comes back untouched.
        assert!(bodies == 20 || s.attempts[0].iterations == 0);
        // Sweeps over what is left are asked for a tenth of the tolerance, factors for a thousandth.
        let c = certificate(&problem, &s.gamma);
        assert!(c.residual_max <= if bodies == 20 { 1e-5 } else { 1e-7 }, "{}", c.residual_max);
    }
}

/// Ten boxes of 1 kg but for the topmost, which every solver with factors but one used to give up on.
fn top_heavy(top: f64, turn: f64, model: Model) -> Problem {
    let mut p = stack(10);
    p.inv_mass[9] /= top;
    p.inv_inertia[9].iter_mut().for_each(|x| *x /= top);
    for (i, v) in p.v_free.iter_mut().enumerate() {
        v[0] += 0.1 * turn;
        v[4] += 0.1 * turn * (i as f64).sin();
    }
    let mut p = Problem::Bodies(p);
    p.set_model(model);
    p
}

#[test]
fn masses_a_million_times_apart_are_solved() {
    let stop = Stop { tolerance: 1e-4, iterations: 200, ..Stop::default() };
    for model in [Model::Ccp, Model::Coulomb] {
        for (top, turn) in [(1e5, 0.0), (1e5, 0.3), (1e6, 0.0), (1e6, 0.3), (1e7, 0.0)] {
            let problem = top_heavy(top, turn, model);
            let s = solve("auto", &problem, None, &stop);
            let residual = certificate(&problem, &s.gamma).residual_max;
            assert!(
                s.status == Status::Converged && residual <= 1e-4,
                "{model:?} {top} {turn}: {residual} {s:?}"
            );
            // Nothing is kept from solve to solve.
            let mut again = make("auto").unwrap();
            again.solve(&Problem::Bodies(stack(3)), None, &stop).unwrap();
            let first = again.solve(&problem, None, &stop).unwrap();
            let second = again.solve(&problem, None, &stop).unwrap();
            assert!(first.gamma == s.gamma && second.gamma == s.gamma, "{model:?} {top} {turn}");
        }
    }
    // A body that nothing moves is no heavy one: whoever failed there hands on to gradients, as ever.
    let Problem::Bodies(mut p) = top_heavy(1.0, 0.3, Model::Ccp) else { unreachable!() };
    (p.inv_mass[0], p.inv_inertia[0]) = (0.0, [0.0; 6]);
    let few = Stop { tolerance: 1e-12, iterations: 20, ..Stop::default() };
    assert_eq!(picked(&solve("auto", &Problem::Bodies(p), None, &few)), ["prox", "apgd"]);
    // The same as a matrix.
    let Problem::Bodies(p) = top_heavy(1e6, 0.3, Model::Ccp) else { unreachable!() };
    let stop = Stop { tolerance: 1e-5, iterations: 100_000, ..Stop::default() };
    let s = solve("auto", &explicit(&p), None, &stop);
    assert_eq!(s.status, Status::Converged, "{:?}", s.attempts);
}

#[test]
fn uneven_masses_get_factors() {
    let Problem::Bodies(mut p) = grains(200) else { unreachable!() };
    let stop = Stop { tolerance: 1e-3, iterations: 400, ..Stop::default() };
    assert_eq!(picked(&solve("auto", &Problem::Bodies(p.clone()), None, &stop))[0], "apgd");
    p.inv_mass[3] = 1e-3;
    assert_eq!(picked(&solve("auto", &Problem::Bodies(p), None, &stop))[0], "prox");
}

#[test]
fn grains_get_gradients_or_with_a_cap_too_low_for_them_conjugate_sweeps() {
    let problem = grains(200);
    let stop = |tolerance, iterations| Stop { tolerance, iterations, ..Stop::default() };
    let s = solve("auto", &problem, None, &stop(1e-2, 400));
    assert_eq!((s.status, picked(&s)), (Status::Converged, vec!["apgd"]));
    assert_eq!(picked(&solve("auto", &problem, None, &stop(1e-2, 40))), ["nncg"]);
}

/// Factors and gradients of two iterations each would leave a wall without support.
#[test]
fn a_cap_of_a_few_iterations_is_swept() {
    let stop = Stop { tolerance: 1e-4, iterations: 5, ..Stop::default() };
    for model in [Model::Ccp, Model::Coulomb] {
        for mut problem in [Problem::Bodies(stack(30)), grains(100)] {
            problem.set_model(model);
            let s = solve("auto", &problem, None, &stop);
            assert_eq!((picked(&s), s.iterations), (vec!["pgs"], 5));
            assert_eq!(s.gamma, solve("pgs", &problem, None, &stop).gamma);
        }
    }
}

/// Gradients get three tenths of a large cap and cannot reach a tolerance below rounding; nor can the others.
#[test]
fn who_does_not_get_there_hands_on() {
    let problem = grains(200);
    let s = solve("auto", &problem, None, &Stop { tolerance: 1e-17, iterations: 1000, ..Stop::default() });
    assert_eq!((s.status, picked(&s)), (Status::Iterations, vec!["apgd", "prox", "pgs"]));
    assert_eq!(s.iterations, s.attempts.iter().map(|a| a.iterations).sum::<usize>());
    // What is returned is the best of them.
    let c = certificate(&problem, &s.gamma);
    assert!(c.residual_max <= 1e-12, "{}", c.residual_max);
}

#[test]
fn caps_hold_and_what_is_not_reached_is_said() {
    for problem in [grains(200), Problem::Bodies(stack(80)), explicit(&heap(40, 3, true))] {
        for iterations in [0, 1, 2, 7] {
            let stop = Stop { tolerance: 1e-12, iterations, ..Stop::default() };
            let s = solve("auto", &problem, None, &stop);
            assert!(s.iterations <= iterations, "{} > {iterations}", s.iterations);
            let reached = certificate(&problem, &s.gamma).residual_max <= 1e-12;
            assert_eq!(s.status == Status::Converged, reached, "{:?}", s.attempts);
        }
    }
}

/// Nothing could end them, so all iterations are sweeps: to the bit.
#[test]
fn without_a_tolerance_it_is_pgs() {
    let problem = Problem::Bodies(stack(12));
    let stop = Stop { tolerance: 0.0, iterations: 37, ..Stop::default() };
    let (a, b) = (solve("auto", &problem, None, &stop), solve("pgs", &problem, None, &stop));
    assert_eq!((a.gamma, a.iterations, a.status), (b.gamma, b.iterations, b.status));
}

/// A solver that has seen other problems gives the same bits as a new one: nothing is kept that decides anything.
#[test]
fn nothing_is_remembered() {
    let stop = Stop { tolerance: 1e-6, iterations: 500, ..Stop::default() };
    let mut old = make("auto").unwrap();
    // The same contacts, and one more body that touches nothing.
    let mut wider = stack(20);
    wider.inv_mass.push(1.0);
    wider.inv_inertia.push([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    wider.v_free.push([0.0; 6]);
    for problem in [
        grains(150),
        Problem::Bodies(stack(20)),
        Problem::Bodies(wider),
        grains(90),
        Problem::Bodies(heap(80, 5, true)),
    ] {
        let s = old.solve(&problem, None, &stop).unwrap();
        let fresh = solve("auto", &problem, None, &stop);
        assert_eq!((s.gamma, s.attempts), (fresh.gamma, fresh.attempts));
    }
}

#[test]
fn exact_coulomb_on_both_forms() {
    let stop = Stop { tolerance: 1e-7, iterations: 20_000, ..Stop::default() };
    for mut problem in [Problem::Bodies(stack(10)), grains(100), explicit(&heap(30, 8, false))] {
        problem.set_model(Model::Coulomb);
        let s = solve("auto", &problem, None, &stop);
        assert_eq!(s.status, Status::Converged, "{:?}", s.attempts);
        assert!(certificate(&problem, &s.gamma).residual_max <= 1e-7);
    }
}
