//! Walls that move, and rows that give way to what they ask for.

use drystone_solve::Problem;
use drystone_solve::colour::Colouring;
use drystone_solve::problem::{Bodies, WORLD};
use drystone_solve::solver::{Status, Stop, make};

/// A body of 2 kg between two walls along x that close at `speed` each.
fn squeezed(speed: f64) -> Bodies {
    let mut p = Bodies {
        inv_mass: vec![0.5],
        inv_inertia: vec![[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]],
        ..Bodies::default()
    };
    p.v_free.push([0.0, 0.0, -0.1, 0.0, 0.0, 0.0]);
    let mut c = Colouring::default();
    c.run(1, [(0, WORLD), (0, WORLD)].into_iter());
    for k in &c.order {
        let side = if *k == 0 { 1.0 } else { -1.0 };
        p.points.push(
            (0, WORLD),
            [side, 0.0, 0.0],
            [-0.1 * side, 0.0, 0.0],
            [0.0; 3],
            [-speed * side, 0.0, 0.0],
            0.3,
        );
    }
    p.points.spans = c.spans;
    p
}

/// Closing walls have no solution; with the compliance they have one, whose multipliers are within the
/// bound, and both rows say that they missed what they asked for.
#[test]
fn closing_walls_are_solved_and_told() {
    let (mut p, mut asks) = (squeezed(1.0), vec![]);
    let stop = Stop { tolerance: 1e-8, iterations: 100_000, ..Stop::default() };
    for solver in ["pgs", "apgd", "prox", "ipm", "auto"] {
        let rigid = make(solver).unwrap().solve(
            &Problem::Bodies(p.clone()),
            None,
            &Stop { iterations: 2000, ..stop.clone() },
        );
        assert_ne!(rigid.unwrap().status, Status::Converged, "{solver} solved what has no solution");
    }
    p.regularise(1e-4, |_| 1e-3, &[], &[[0.0; 6]], |_, _, _| None, &mut asks);
    assert_eq!(asks.len(), 2);
    for solver in ["pgs", "apgd", "prox", "ipm", "auto"] {
        let s = make(solver).unwrap().solve(&Problem::Bodies(p.clone()), None, &stop).unwrap();
        assert_eq!(s.status, Status::Converged, "{solver}");
        for ask in &asks {
            // What is asked for along the normal, 1 m/s.
            let most = ask.about + 1.0 / ask.compliance;
            assert!(s.gamma[ask.row as usize] <= 1.001 * most, "{solver}: {:?} {most}", s.gamma);
            assert!((ask.missed(&s.gamma) - 1.0).abs() < 0.02, "{solver}: {}", ask.missed(&s.gamma));
        }
    }
}

/// One wall that pushes a body: it does so at its own speed, to all digits, and under a load after the
/// first step.
#[test]
fn a_wall_keeps_its_speed() {
    let (mut p, mut asks) = (squeezed(1.0), vec![]);
    p.points.bias[1] = 0.5;
    p.points.bias[0] = -1.0;
    let stop = Stop { tolerance: 1e-12, iterations: 100_000, ..Stop::default() };
    let solve = |p: Bodies| {
        let problem = Problem::Bodies(p);
        let s = make("prox").unwrap().solve(&problem, None, &stop).unwrap();
        let mut v = Vec::new();
        problem.velocities(&s.gamma, &mut v);
        (s.gamma, v[0])
    };
    let mut hit = p.clone();
    hit.points.bias[1] = 10.0;
    hit.regularise(1e-4, |_| 1e-3, &[], &[[0.0; 6]], |_, _, _| None, &mut asks);
    let (_, v) = solve(hit);
    assert!((v[0] - 1.0).abs() < 2e-4, "a hit: {v:?}");
    // A load of 30 N s against the wall, step after step.
    p.points.bias[1] = 10.0;
    let (mut gamma, mut v) = (vec![0.0; 6], [0.0; 6]);
    let mut missed = vec![];
    for _ in 0..6 {
        let mut step = p.clone();
        step.v_free[0] = [v[0] - 15.0, 0.0, -0.1, 0.0, 0.0, 0.0];
        step.regularise(1e-4, |_| 1e-3, &gamma, &[v], |_, _, _| None, &mut asks);
        (gamma, v) = solve(step);
        missed.push((v[0] - 1.0).abs());
    }
    assert!(missed[0] < 1e-2 && missed[5] < 1e-9, "{missed:?}");
}
