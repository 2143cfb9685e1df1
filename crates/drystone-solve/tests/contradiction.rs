//! The referee on problems whose answer is known, and what is left of them once they are softened.

use drystone_solve::certificate::certificate;
use drystone_solve::colour::Colouring;
use drystone_solve::problem::{Bodies, WORLD};
use drystone_solve::solver::contradiction::{Referee, asked, asks_for, fastest, give_way};
use drystone_solve::solver::{REGISTRY, Status, Stop, make};
use drystone_solve::{Model, Problem, Set};

/// Bodies along x, the first at a wall; each contact asks its bodies to part at `speed`. `closed` puts a wall behind the last.
fn row(masses: &[f64], speed: f64, closed: bool, mu: f64) -> Bodies {
    let n = masses.len();
    let mut p = Bodies::default();
    for m in masses {
        p.inv_mass.push(1.0 / m);
        p.inv_inertia.push([2.5 / m, 2.5 / m, 2.5 / m, 0.0, 0.0, 0.0]);
        p.v_free.push([0.0, 0.0, -0.05, 0.0, 0.0, 0.0]);
    }
    // From the body on the right to that on the left, normals along +x: a is the right one.
    let mut pairs: Vec<(u32, u32, f64)> =
        (0..n as u32).map(|i| (i, if i == 0 { WORLD } else { i - 1 }, 1.0)).collect();
    if closed {
        pairs.push((n as u32 - 1, WORLD, -1.0));
    }
    let mut c = Colouring::default();
    c.run(n, pairs.iter().map(|p| (p.0, p.1)));
    for &k in &c.order {
        let (a, b, side) = pairs[k as usize];
        let arm_b = if b == WORLD { [0.0; 3] } else { [0.5 * side, 0.0, 0.0] };
        p.points.push(
            (a, b),
            [side, 0.0, 0.0],
            [-0.5 * side, 0.0, 0.0],
            arm_b,
            [-speed * side, 0.0, 0.0],
            mu,
        );
    }
    p.points.spans = c.spans;
    p
}

/// Two unlimited motors on one axis of one body.
fn motors(first: f64, second: f64) -> Bodies {
    let mut p = Bodies {
        inv_mass: vec![1.0],
        inv_inertia: vec![[2.5, 2.5, 2.5, 0.0, 0.0, 0.0]],
        v_free: vec![[0.0; 6]],
        ..Bodies::default()
    };
    let mut turn = [0.0; 12];
    turn[4] = 1.0;
    for speed in [first, second] {
        p.general.push((0, WORLD), Set::Free, &[turn], &[-speed]);
    }
    let mut c = Colouring::default();
    c.run(1, [(0, WORLD); 2].into_iter());
    p.general.spans = c.spans;
    p
}

fn verdict(p: Bodies, model: Model) -> (bool, bool, usize) {
    let mut problem = Problem::Bodies(p);
    problem.set_model(model);
    let v = Referee::default().ask(&problem).unwrap();
    (v.is_contradiction(), v.decided, v.blocks.len())
}

#[test]
fn contradictions_are_proved_and_their_parties_named() {
    for model in [Model::Ccp, Model::Coulomb] {
        for n in [1, 2, 5, 20] {
            let masses: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
            for mu in [0.0, 0.5] {
                let found = verdict(row(&masses, 0.1, true, mu), model);
                assert_eq!(found, (true, true, n + 1), "{n} between walls, {}, mu {mu}", model.name());
            }
        }
        assert_eq!(verdict(motors(1.0, -1.0), model), (true, true, 2));
    }
}

/// Without the second wall the last body may go as fast as it must, however long the row, however heavy its end.
#[test]
fn what_can_be_satisfied_is_not_called_a_contradiction() {
    for model in [Model::Ccp, Model::Coulomb] {
        for n in [2, 20, 60, 300] {
            let mut masses = vec![1.0; n];
            for last in [1.0, 1e3, 1e6] {
                masses[n - 1] = last;
                let (wrong, _, _) = verdict(row(&masses, 0.1, false, 0.5), model);
                assert!(!wrong, "{n} bodies, the last of {last} kg, {}", model.name());
            }
        }
        assert_eq!(verdict(motors(1.0, 1.0), model), (false, true, 0));
        // Walls that ask for nothing.
        assert_eq!(verdict(row(&[1.0; 5], 0.0, true, 0.5), model), (false, true, 0));
    }
}

#[test]
fn softened_problems_are_solved_by_every_solver_without_running_away() {
    let problems = [row(&[1.0, 2.0, 1.0], 0.1, true, 0.5), motors(1.0, -1.0)];
    for (which, p) in problems.into_iter().enumerate() {
        let mut problem = Problem::Bodies(p);
        let wanted = asked(&problem);
        assert!((wanted - [0.1, 1.0][which]).abs() < 1e-12, "{wanted}");
        give_way(&mut problem, [1e-3, 1e-2]);
        for info in REGISTRY.iter().filter(|i| i.is_exact()) {
            let stop = Stop { tolerance: 1e-6, iterations: 100_000, ..Stop::default() };
            let s = make(info.name).unwrap().solve(&problem, None, &stop).unwrap();
            assert_eq!(s.status, Status::Converged, "{} after {}", info.name, s.iterations);
            assert!(certificate(&problem, &s.gamma).residual_max <= 1e-6);
            let [free, now] = speeds(&problem, &s.gamma);
            assert!(now <= free + wanted, "{}: {now} m/s, {free} before", info.name);
        }
    }
}

/// Of the fastest body, without multipliers and with these.
fn speeds(problem: &Problem, gamma: &[f64]) -> [f64; 2] {
    let mut v = Vec::new();
    problem.velocities(gamma, &mut v);
    fastest(problem, &v).unwrap()
}

/// One block that asks is enough, and none asks for more than the most.
#[test]
fn who_asks_for_how_much() {
    let mut p = Bodies {
        inv_mass: vec![1.0, 0.5, 0.0],
        inv_inertia: vec![[0.0; 6]; 3],
        v_free: vec![[0.0; 6]; 3],
        ..Bodies::default()
    };
    let along: [f64; 12] = std::array::from_fn(|k| f64::from(k == 0));
    // A pull, a push that one side can answer, and one that nothing can: the third body does not move.
    p.general.push((0, WORLD), Set::Free, &[along], &[0.3]);
    p.general.push((1, WORLD), Set::NonNegative, &[along], &[0.7]);
    p.general.push((2, WORLD), Set::Free, &[along], &[5.0]);
    p.general.one_colour();
    let problem = Problem::Bodies(p);
    assert_eq!(asked(&problem), 0.3);
    assert!(asks_for(&problem, 0.29) && !asks_for(&problem, 0.3));
}

/// Closed form: a ball of 1 kg at 3 m/s that turns at 2 rad/s, I = 0.4 kg m².
#[test]
fn the_fastest_body_counts_its_rotation() {
    let mut p = motors(0.0, 0.0);
    p.v_free[0] = [3.0, 0.0, 0.0, 0.0, 2.0, 0.0];
    let [free, now] = speeds(&Problem::Bodies(p), &[-0.4, -0.4]);
    assert!((free - (9.0f64 + 0.4 * 4.0).sqrt()).abs() < 1e-12, "{free}");
    assert!((now - 3.0).abs() < 1e-12, "{now}");
}
