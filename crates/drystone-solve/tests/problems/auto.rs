//! The default solver: whom it picks, when it hands on, and that its word is the judge's.

use crate::common::{explicit, heap, stack};
use drystone_solve::certificate::certificate;
use drystone_solve::colour::Colouring;
use drystone_solve::problem::{Bodies, WORLD};
use drystone_solve::solver::{Solution, Status, Stop, make};
use drystone_solve::{FrictionLaw, Problem};

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
fn stacks_get_factors() {
    let stop = Stop { tolerance: 1e-4, iterations: 20_000, ..Stop::default() };
    for problem in [30, 100].map(|n| Problem::Bodies(stack(n))) {
        let s = solve("auto", &problem, None, &stop);
        assert_eq!((s.status, picked(&s)), (Status::Converged, vec!["prox"]));
        let c = certificate(&problem, &s.gamma);
        assert!(c.residual_max <= 1e-4, "{}", c.residual_max);
    }
}

/// Two problems as one, the bodies of the second behind those of the first.
fn beside(p: &Bodies, q: &Bodies) -> Bodies {
    let n = p.bodies() as u32;
    let mut both = Bodies::default();
    for one in [p, q] {
        both.inv_mass.extend(&one.inv_mass);
        both.inv_inertia.extend(&one.inv_inertia);
        both.v_free.extend(&one.v_free);
    }
    let shifted = |q: &Bodies, i: usize, by: u32| {
        let b = q.points.b[i];
        (q.points.a[i] + by, if b == WORLD { b } else { b + by })
    };
    let of = |k: usize| if k < p.points.len() { (p, k, 0) } else { (q, k - p.points.len(), n) };
    let pairs: Vec<(u32, u32)> = (0..p.points.len() + q.points.len())
        .map(|k| {
            let (one, i, by) = of(k);
            shifted(one, i, by)
        })
        .collect();
    let mut colouring = Colouring::default();
    colouring.run(both.inv_mass.len(), pairs.iter().copied());
    for &k in &colouring.order {
        let (one, i, _) = of(k as usize);
        let at = |f: &[Vec<f64>; 3]| [f[0][i], f[1][i], f[2][i]];
        let points = &one.points;
        let bias = points.world_bias(i);
        both.points.push(
            pairs[k as usize],
            at(&points.normal),
            at(&points.arm_a),
            at(&points.arm_b),
            bias,
            points.mu[i],
        );
    }
    both.points.spans = colouring.spans;
    both
}

/// What an island is given, and what it comes to, is the same to the bit whoever else is there.
#[test]
fn islands_do_not_know_of_each_other() {
    let Problem::Bodies(loose) = grains(150) else { unreachable!() };
    let wall = stack(20);
    for model in [FrictionLaw::Ccp, FrictionLaw::Coulomb] {
        let stop = Stop { tolerance: 1e-5, iterations: 20_000, ..Stop::default() };
        let both = beside(&wall, &loose);
        let velocities = |p: &Bodies| {
            let mut problem = Problem::Bodies(p.clone());
            problem.set_model(model);
            let s = solve("auto", &problem, None, &stop);
            assert_eq!(s.status, Status::Converged, "{:?}", s.attempts);
            let mut v = Vec::new();
            problem.velocities(&s.gamma, &mut v);
            v
        };
        let nobody = Bodies::default();
        let (alone, other) = (velocities(&beside(&wall, &nobody)), velocities(&beside(&nobody, &loose)));
        let together = velocities(&both);
        assert_eq!(together[..wall.bodies()], alone[..], "{model:?}");
        assert_eq!(together[wall.bodies()..], other[..], "{model:?}");
    }
}

#[test]
fn mechanisms_get_their_joints_eliminated_where_islands_are_small() {
    let stop = Stop { tolerance: 1e-4, iterations: 400, ..Stop::default() };
    // With more contacts than elimination takes it is a heap that has joints.
    for (bodies, first) in [(20, "schur"), (400, "apgs")] {
        let problem = Problem::Bodies(heap(bodies, 2, true));
        let s = solve("auto", &problem, None, &stop);
        assert_eq!((s.status, picked(&s)[0]), (Status::Converged, first), "{bodies}");
        // Sweeps over what is left are asked for a tenth of the tolerance.
        let c = certificate(&problem, &s.gamma);
        assert!(c.residual_max <= if bodies == 20 { 1e-5 } else { 1e-4 }, "{}", c.residual_max);
    }
}

/// Ten boxes of 1 kg but for the topmost, which every solver with factors but one used to give up on.
fn top_heavy(top: f64, turn: f64, model: FrictionLaw) -> Problem {
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
    let stop = Stop { tolerance: 1e-4, iterations: 20_000, ..Stop::default() };
    for model in [FrictionLaw::Ccp, FrictionLaw::Coulomb] {
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
    // The same as a matrix.
    let Problem::Bodies(p) = top_heavy(1e6, 0.3, FrictionLaw::Ccp) else { unreachable!() };
    let stop = Stop { tolerance: 1e-5, iterations: 100_000, ..Stop::default() };
    let s = solve("auto", &explicit(&p), None, &stop);
    assert_eq!(s.status, Status::Converged, "{:?}", s.attempts);
}

#[test]
fn uneven_masses_get_factors() {
    let Problem::Bodies(mut p) = grains(200) else { unreachable!() };
    let stop = Stop { tolerance: 1e-3, iterations: 20_000, ..Stop::default() };
    assert!(!picked(&solve("auto", &Problem::Bodies(p.clone()), None, &stop)).contains(&"prox"));
    p.inv_mass[3] = 1e-3;
    assert_eq!(picked(&solve("auto", &Problem::Bodies(p), None, &stop))[0], "prox");
}

#[test]
fn grains_get_sweeps_with_momentum_or_gradients() {
    let problem = grains(200);
    let s = solve("auto", &problem, None, &Stop { tolerance: 1e-2, iterations: 20_000, ..Stop::default() });
    let one = picked(&s);
    assert_eq!(s.status, Status::Converged);
    assert!(one == ["apgs"] || one == ["apgd"], "{one:?}");
}

/// Nobody reaches a tolerance below rounding: what is returned is the best of all.
#[test]
fn who_does_not_get_there_hands_on() {
    let problem = grains(200);
    let s = solve("auto", &problem, None, &Stop { tolerance: 1e-17, iterations: 6000, ..Stop::default() });
    assert_eq!(s.status, Status::Iterations);
    assert!(picked(&s).len() > 1, "{:?}", s.attempts);
    let c = certificate(&problem, &s.gamma);
    assert!(c.residual_max <= 1e-11, "{}", c.residual_max);
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

/// A solver that has seen other problems gives the same bits as a new one: nothing is kept that decides
/// anything.
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
        problem.set_model(FrictionLaw::Coulomb);
        let s = solve("auto", &problem, None, &stop);
        assert_eq!(s.status, Status::Converged, "{:?}", s.attempts);
        assert!(certificate(&problem, &s.gamma).residual_max <= 1e-7);
    }
}
