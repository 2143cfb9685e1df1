//! Linear complementarity problems: Lemke against enumeration of all bases, projected SOR, and contact
//! problems whose cones are cut into facets.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::common::{Dice, explicit, heap, pyramid};
use drystone_solve::colour::Colouring;
use drystone_solve::cone::Set;
use drystone_solve::lcp::{Facets, Form, Lcp, LcpStatus, lemke, polyhedral, psor};
use drystone_solve::problem::{Bodies, Csr, Explicit, WORLD};
use drystone_solve::solver::{Status, Stop, make};
use drystone_solve::{FrictionLaw, Problem};

/// All solutions with a nonsingular basis, by trying every choice of zeros.
fn enumerate(lcp: &Lcp) -> Vec<Vec<f64>> {
    let n = lcp.size();
    let mut found = Vec::new();
    for mask in 0u32..1 << n {
        let active: Vec<usize> = (0..n).filter(|i| mask >> i & 1 == 1).collect();
        let k = active.len();
        let mut a: Vec<Vec<f64>> = active
            .iter()
            .map(|&i| active.iter().map(|&j| lcp.m[i * n + j]).chain([-lcp.q[i]]).collect())
            .collect();
        let mut singular = false;
        for c in 0..k {
            let p = (c..k).max_by(|&i, &j| a[i][c].abs().total_cmp(&a[j][c].abs())).unwrap();
            a.swap(c, p);
            if a[c][c].abs() < 1e-12 {
                singular = true;
                break;
            }
            for i in (0..k).filter(|i| *i != c) {
                let f = a[i][c] / a[c][c];
                for j in c..=k {
                    a[i][j] -= f * a[c][j];
                }
            }
        }
        if singular {
            continue;
        }
        let mut z = vec![0.0; n];
        for (r, &i) in active.iter().enumerate() {
            z[i] = a[r][k] / a[r][r];
        }
        if z.iter().chain(&lcp.slack(&z)).all(|x| *x >= -1e-9) {
            found.push(z);
        }
    }
    found
}

fn random(n: usize, seed: u64, positive: bool) -> Lcp {
    let mut d = Dice(seed);
    let mut m: Vec<f64> = (0..n * n).map(|_| d.range(-1.0, 1.0)).collect();
    if positive {
        // B Bᵀ plus a skew part: positive definite, not symmetric.
        let b = m.clone();
        for i in 0..n {
            for j in 0..n {
                let dot: f64 = (0..n).map(|k| b[i * n + k] * b[j * n + k]).sum();
                m[i * n + j] = dot + 0.3 * (b[i * n + j] - b[j * n + i]) + if i == j { 0.1 } else { 0.0 };
            }
        }
    }
    Lcp { m, q: (0..n).map(|_| d.range(-1.0, 0.5)).collect() }
}

#[test]
fn lemke_finds_the_solution_that_enumeration_finds() {
    for seed in 0..40 {
        let lcp = random(2 + seed as usize % 7, seed, true);
        let s = lemke(&lcp, 1000).unwrap();
        assert_eq!(s.status, LcpStatus::Solved, "seed {seed}");
        assert!(lcp.residual(&s.z) < 1e-9, "seed {seed}: {}", lcp.residual(&s.z));
        let all = enumerate(&lcp);
        assert_eq!(all.len(), 1, "a positive definite problem has one solution");
        for (x, y) in s.z.iter().zip(&all[0]) {
            assert!((x - y).abs() < 1e-8, "seed {seed}: {x} against {y}");
        }
    }
}

#[test]
fn lemke_is_honest_about_any_matrix() {
    let mut rays = 0;
    for seed in 100..200 {
        let lcp = random(5, seed, false);
        let s = lemke(&lcp, 1000).unwrap();
        match s.status {
            LcpStatus::Solved => assert!(lcp.residual(&s.z) < 1e-8, "seed {seed}"),
            LcpStatus::Ray => rays += 1,
            other => panic!("seed {seed}: {other:?}"),
        }
        assert!(s.z.iter().all(|z| z.is_finite() && *z >= 0.0));
    }
    assert!(rays > 0, "some of these have no solution");
    // z₁ + 1 ≥ 0 cannot be complementary with -z₁ - 1 ≥ 0 anywhere.
    let never = Lcp { m: vec![-1.0], q: vec![-1.0] };
    assert_eq!(lemke(&never, 10).unwrap().status, LcpStatus::Ray);
    let long = random(8, 3, true);
    assert_eq!(lemke(&long, 2).unwrap().status, LcpStatus::Pivots);
    assert!(lemke(&Lcp { m: vec![f64::NAN], q: vec![0.0] }, 10).is_err());
}

#[test]
fn ties_do_not_cycle() {
    // All of q equal, and rows that repeat: every ratio test is a tie.
    let n = 6;
    let m = (0..n * n).map(|k| f64::from(k / n % 3 == k % n % 3)).collect();
    let lcp = Lcp { m, q: vec![-1.0; n] };
    let s = lemke(&lcp, 1000).unwrap();
    assert_eq!(s.status, LcpStatus::Solved);
    assert!(lcp.residual(&s.z) < 1e-12);
}

#[test]
fn projected_sor_agrees_with_lemke() {
    for seed in 0..10 {
        let mut lcp = random(6, seed, true);
        for i in 0..6 {
            for j in 0..i {
                let mean = 0.5 * (lcp.m[i * 6 + j] + lcp.m[j * 6 + i]);
                (lcp.m[i * 6 + j], lcp.m[j * 6 + i]) = (mean, mean);
            }
        }
        let (a, b) = (lemke(&lcp, 1000).unwrap(), psor(&lcp, 1.2, 1e-11, 100_000).unwrap());
        assert_eq!((a.status, b.status), (LcpStatus::Solved, LcpStatus::Solved));
        for (x, y) in a.z.iter().zip(&b.z) {
            assert!((x - y).abs() < 1e-8, "seed {seed}: {x} against {y}");
        }
    }
    assert_eq!(psor(&random(4, 1, true), 1.0, 1e-14, 1).unwrap().status, LcpStatus::Iterations);
    assert!(psor(&random(4, 1, true), 2.0, 1e-9, 1).is_err());
    // By the norm that is reported, not by its largest entry.
    let lcp = random(30, 3, true);
    let s = psor(&lcp, 1.0, 1e-4, 100_000).unwrap();
    assert!(s.status == LcpStatus::Solved && lcp.natural_map(&s.z) <= 1e-4);
}

/// With more facets the velocities approach those of the round cone, for both laws, from inside and from
/// outside.
#[test]
fn facets_converge_to_the_round_cone() {
    let form = heap(8, 21, false);
    for (law, model) in [(Form::Convex, FrictionLaw::Ccp), (Form::StewartTrinkle, FrictionLaw::Coulomb)] {
        let mut p = explicit(&form);
        p.set_model(model);
        let stop = Stop { tolerance: 1e-11, iterations: 200_000, ..Stop::default() };
        let round = make("nsgs-ac").unwrap().solve(&p, None, &stop).unwrap().gamma;
        let velocity = |gamma: &[f64]| {
            let mut v = Vec::new();
            form.velocities(gamma, &mut v);
            v
        };
        let exact = velocity(&round);
        for outer in [false, true] {
            let error = |count: usize| {
                let cut = polyhedral(&p, law, Facets { count, outer }).unwrap();
                let s = lemke(&cut.lcp, 20_000).unwrap();
                assert_eq!(s.status, LcpStatus::Solved, "{law:?}, {count} facets");
                assert!(cut.lcp.residual(&s.z) < 1e-8);
                let v = velocity(&cut.multipliers(&s.z));
                let pairs = v.iter().flatten().zip(exact.iter().flatten());
                pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
            };
            let (few, many) = (error(4), error(16));
            println!("{law:?}, outer {outer}: {few:.2e} with 4 facets, {many:.2e} with 16");
            assert!(many < 0.4 * few, "{law:?}: {few} then {many}");
        }
    }
}

/// Without time, and interrupted, no pivots are made: one sweep from the guess is what is left.
#[test]
fn pivots_heed_time_and_interrupts() {
    let form = heap(30, 24, false);
    let raised = Some(Arc::new(AtomicBool::new(true)));
    for problem in [Problem::Bodies(form.clone()), explicit(&form)] {
        for (budget, interrupt) in [(Some(Duration::ZERO), None), (None, raised.clone())] {
            let stop = Stop { iterations: 100_000, budget, interrupt, ..Stop::default() };
            let s = make("lemke").unwrap().solve(&problem, None, &stop).unwrap();
            assert_eq!((s.status, s.iterations), (Status::Budget, 0));
            let made: Vec<_> = s.attempts.iter().map(|a| (a.solver, a.iterations)).collect();
            assert_eq!(made, [("lemke", 0), ("nsgs-qp", 1)]);
            assert!(s.gamma.iter().any(|x| *x > 0.0));
        }
    }
    // In the midst of it: some 0.2 s of columns and pivots without a budget, a tenth of that with.
    let problem = explicit(&heap(60, 25, false));
    let solve = |budget| {
        let stop = Stop { iterations: 100_000, budget, ..Stop::default() };
        let begun = Instant::now();
        (make("lemke:crash=off").unwrap().solve(&problem, None, &stop).unwrap(), begun.elapsed())
    };
    let (whole, took) = solve(None);
    assert_eq!(whole.status, Status::Converged);
    let (part, _) = solve(Some(took / 3));
    println!("{} pivots of {} in {took:?}", part.iterations, whole.iterations);
    assert!(part.status == Status::Budget && part.iterations < whole.iterations);
}

/// The local solvers on facets, against the whole problem as one LCP on the same facets.
#[test]
fn block_splitting_on_facets_reaches_the_lcp() {
    let form = heap(8, 22, false);
    for (law, model) in [(Form::Convex, FrictionLaw::Ccp), (Form::StewartTrinkle, FrictionLaw::Coulomb)] {
        let mut p = Problem::Bodies(form.clone());
        p.set_model(model);
        let cut = polyhedral(&p, law, Facets { count: 6, outer: false }).unwrap();
        let exact = cut.multipliers(&lemke(&cut.lcp, 20_000).unwrap().z);
        let (mut a, mut b) = (Vec::new(), Vec::new());
        form.velocities(&exact, &mut a);
        for name in ["nsgs-lemke:facets=6", "nsgs-qp:facets=6"] {
            let stop = Stop { tolerance: 0.0, iterations: 3000, ..Stop::default() };
            let mut solver = make(name).unwrap();
            let s = solver.solve(&p, None, &stop).unwrap();
            form.velocities(&s.gamma, &mut b);
            let worst =
                a.iter().flatten().zip(b.iter().flatten()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
            println!("{name}, {law:?}: {worst:.2e}");
            assert!(worst < 1e-6, "{name}, {law:?}: {worst}");
        }
    }
}

/// One contact in the plane with W = (w_nn, w_nt; w_nt, w_tt) and b, under Coulomb's law.
fn planar([nn, nt, tt]: [f64; 3], b: [f64; 2], mu: f64) -> Problem {
    let w = Csr { columns: 2, indptr: vec![0, 2, 4], indices: vec![0, 1, 0, 1], data: vec![nn, nt, nt, tt] };
    let mut p = Problem::Explicit(Explicit::new(w, b.to_vec(), vec![Set::Friction2 { mu }]));
    p.set_model(FrictionLaw::Coulomb);
    p
}

fn by_programs(p: &Problem) -> Vec<f64> {
    let stop = Stop { tolerance: 1e-13, iterations: 3, ..Stop::default() };
    make("nsgs-qp").unwrap().solve(p, None, &stop).unwrap().gamma
}

/// Passes s ← F(s) on the slip are a contraction where μ w_nt < w_nn and 3 μ w_nt < w_nn + 2 μ² w_tt. Here
/// the second fails, F' = -1.5, and passes go to and fro between opening and sliding; the bracket ends that.
#[test]
fn slips_are_found_where_passes_circle() {
    let ([nn, nt, tt], mu, [bn, bt]) = ([1.0, 0.97, 1.0], 0.7275, [-1.0, 3.0]);
    let slope = (mu * mu * tt - mu * nt) / (nn - 2.0 * mu * nt + mu * mu * tt);
    assert!(mu * nt < nn && 3.0 * mu * nt > nn + 2.0 * mu * mu * tt && slope < -1.4, "{slope}");
    // The pass in closed form: the program opens, or slides ahead.
    let pass = |s: f64| {
        let pressed = (-(bn - mu * bt + s) / (nn - 2.0 * mu * nt + mu * mu * tt)).max(0.0);
        mu * (bt + (nt - mu * tt) * pressed)
    };
    let mut s = mu * bt;
    let seen: Vec<f64> = (0..40)
        .map(|_| {
            s = pass(s);
            s
        })
        .collect();
    assert!((seen[39] - seen[37]).abs() < 1e-12 && (seen[39] - seen[38]).abs() > 1.0, "{seen:?}");
    let gamma = by_programs(&planar([nn, nt, tt], [bn, bt], mu));
    let exact = -bn / (nn - mu * nt);
    assert!((gamma[0] - exact).abs() < 1e-9 && (gamma[1] + mu * exact).abs() < 1e-9, "{gamma:?}, {exact}");
}

/// Whatever the coupling, the friction and the load: what the programs end with obeys Coulomb's law.
#[test]
fn slips_are_found_for_every_contact_in_the_plane() {
    let mut d = Dice(77);
    let mut slides = 0;
    for _ in 0..5000 {
        let (nn, tt) = (d.range(0.1, 3.0), d.range(0.1, 3.0));
        let nt = d.range(-0.999, 0.999) * (nn * tt).sqrt();
        let (mu, b) = (d.range(0.05, 3.0), [d.range(-1.0, 1.0), d.range(-3.0, 3.0)]);
        let gamma = by_programs(&planar([nn, nt, tt], b, mu));
        let u = [nn * gamma[0] + nt * gamma[1] + b[0], nt * gamma[0] + tt * gamma[1] + b[1]];
        let size = 1.0 + gamma[0] * (nn + tt);
        let (least, wrong) = (u[0].min(gamma[0]), 1e-8 * size);
        assert!(least.abs() < wrong && u[0] > -wrong, "normal: {u:?} {gamma:?} {nn} {nt} {tt} {mu} {b:?}");
        assert!(gamma[1].abs() < mu * gamma[0] + wrong, "cone: {gamma:?}");
        if u[1].abs() > wrong {
            let off = gamma[1] + mu * gamma[0] * u[1].signum();
            assert!(off.abs() < wrong, "sliding: {u:?} {gamma:?} {nn} {nt} {tt} {mu} {b:?}");
            slides += usize::from(gamma[0] > wrong);
        }
    }
    assert!(slides > 500, "{slides}");
}

/// Degenerate through and through: where the basis is not made anew, the order among ties is lost and the
/// path circles.
#[test]
fn pyramids_are_solved_through_all_ties() {
    for (layers, mu, noise, law) in [
        (4, 0.2, 0.0, Form::StewartTrinkle),
        (6, 0.8, 0.0, Form::StewartTrinkle),
        (8, 0.0, 0.0, Form::StewartTrinkle),
        (8, 0.2, 1e-13, Form::StewartTrinkle),
        (8, 0.2, 0.0, Form::Convex),
        (8, 0.8, 1e-15, Form::StewartTrinkle),
        (10, 0.8, 1e-15, Form::StewartTrinkle),
    ] {
        let p = Problem::Bodies(pyramid(layers, mu, noise));
        let cut = polyhedral(&p, law, Facets { count: 4, outer: false }).unwrap();
        let s = lemke(&cut.lcp, 3000).unwrap();
        assert_eq!(s.status, LcpStatus::Solved, "{layers} layers, mu {mu}, {law:?}");
        let residual = cut.lcp.residual(&s.z);
        assert!(residual < 1e-10, "{layers} layers, mu {mu}, {law:?}: {residual}");
        // Without losing its way: in about as many pivots as there are unknowns.
        assert!(s.iterations < 2 * cut.lcp.size(), "{layers} layers, mu {mu}: {} pivots", s.iterations);
        // Cut short it is no solution, and does not say so.
        let short = lemke(&cut.lcp, s.iterations - 1).unwrap();
        assert_eq!(short.status, LcpStatus::Pivots);
        assert!(short.z.iter().all(|z| z.is_finite() && *z >= 0.0));
    }
}

/// The solver of that name: each island as one LCP. Cut short it says so, and sweeps over the same facets
/// take over.
#[test]
fn lemke_solves_islands_and_says_where_it_did_not() {
    let form = heap(10, 23, false);
    for (law, model) in [(Form::Convex, FrictionLaw::Ccp), (Form::StewartTrinkle, FrictionLaw::Coulomb)] {
        let mut p = Problem::Bodies(form.clone());
        p.set_model(model);
        let cut = polyhedral(&p, law, Facets { count: 6, outer: false }).unwrap();
        let whole = cut.multipliers(&lemke(&cut.lcp, 20_000).unwrap().z);
        let velocities = |gamma: &[f64]| {
            let mut v = Vec::new();
            form.velocities(gamma, &mut v);
            v
        };
        let stop = Stop { tolerance: 1e-9, iterations: 20_000, ..Stop::default() };
        let s = make("lemke:facets=6,crash=off").unwrap().solve(&p, None, &stop).unwrap();
        assert_eq!(s.status, Status::Converged);
        let apart = |a: &[[f64; 6]], b: &[[f64; 6]]| {
            a.iter().flatten().zip(b.iter().flatten()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
        };
        assert!(apart(&velocities(&whole), &velocities(&s.gamma)) < 1e-8, "{law:?}");
        let few = Stop { iterations: 3, ..stop };
        let short = make("lemke:facets=6,crash=off").unwrap().solve(&p, None, &few).unwrap();
        assert_eq!(short.status, Status::Iterations);
        assert_eq!(short.attempts.iter().map(|a| a.solver).collect::<Vec<_>>(), ["lemke", "nsgs-qp"]);
        assert!(short.gamma.iter().all(|x| x.is_finite()), "{law:?}");
    }
    let joints = Problem::Bodies(heap(10, 24, true));
    let refused = make("lemke").unwrap().solve(&joints, None, &Stop::default()).unwrap_err();
    assert!(refused.to_string().contains("bilateral row"), "{refused}");
}

/// From the basis of a first-order solution pivots reach what they do not from w: 55 balls in a plane at μ =
/// 0.8, with half as many pivots as the plain path needs, and then some in space, under both laws.
#[test]
fn a_crash_solves_what_plain_pivots_do_not() {
    let stop = Stop { tolerance: 1e-9, iterations: 600, ..Stop::default() };
    let solve = |p: &Problem, name: &str| make(name).unwrap().solve(p, None, &stop).unwrap();
    let p = Problem::Bodies(pyramid(10, 0.8, 0.0));
    let exact = |p: &Problem| {
        let mut p = p.clone();
        p.set_model(FrictionLaw::Coulomb);
        p
    };
    let plain = solve(&exact(&p), "lemke:facets=4,crash=off");
    assert_eq!((plain.status, plain.iterations), (Status::Iterations, 600));
    let crash = solve(&exact(&p), "lemke:facets=4");
    println!("{} pivots", crash.iterations);
    assert_eq!(crash.status, Status::Converged);
    let space = Problem::Bodies(heap(30, 26, false));
    for (law, form) in [(FrictionLaw::Ccp, Form::Convex), (FrictionLaw::Coulomb, Form::StewartTrinkle)] {
        for facets in [4, 5, 8] {
            let mut p = space.clone();
            p.set_model(law);
            let stop = Stop { iterations: 20_000, ..stop.clone() };
            let by = |crash: &str| {
                let name = format!("lemke:facets={facets},crash={crash}");
                make(&name).unwrap().solve(&p, None, &stop).unwrap()
            };
            let (on, off) = (by("on"), by("off"));
            println!("{form:?}, {facets} facets: {} pivots, {} from w", on.iterations, off.iterations);
            assert_eq!((on.status, off.status), (Status::Converged, Status::Converged), "{form:?} {facets}");
            assert!(5 * on.iterations < off.iterations, "{form:?}, {facets} facets");
        }
    }
}

/// What is near is not trusted: a wrong guess, a singular basis, units and lengths that are none.
#[test]
fn a_wrong_guess_is_no_solution() {
    use drystone_solve::lcp::{Lemke, Near};
    for seed in 0..20 {
        let lcp = random(7, seed, true);
        let exact = lemke(&lcp, 1000).unwrap().z;
        let guess = |flip: usize| Near {
            z: exact.clone(),
            basic: exact.iter().enumerate().map(|(i, z)| (*z > 0.0) != (i < flip)).collect(),
            units: vec![1.0; 7],
        };
        for flip in [0, 2, 7] {
            let s = Lemke::default().solve_near(&lcp, &guess(flip), 1000).unwrap();
            assert_eq!(s.status, LcpStatus::Solved, "seed {seed}, {flip} wrong");
            assert!(flip > 0 || s.iterations == 0, "the exact basis needs no pivots: {}", s.iterations);
            s.z.iter().zip(&exact).for_each(|(x, y)| assert!((x - y).abs() < 1e-8, "seed {seed}: {x} {y}"));
        }
        // From w, as if nothing were known.
        assert_eq!(Lemke::default().solve_near(&lcp, &guess(7), 0).unwrap().iterations, 0);
        for bad in [
            Near { units: vec![0.0; 7], ..guess(0) },
            Near { z: vec![f64::NAN; 7], ..guess(0) },
            Near { basic: vec![true; 6], ..guess(0) },
        ] {
            assert!(Lemke::default().solve_near(&lcp, &bad, 10).is_err());
        }
    }
}

/// A body of 1 kg on six points of a level floor, at the corners of a hexagon, as it falls for h = 0.01 s.
fn hexagon(mu: f64) -> Problem {
    let mut p = Bodies::default();
    p.inv_mass.push(1.0);
    p.inv_inertia.push([4.0, 4.0, 2.0, 0.0, 0.0, 0.0]);
    p.v_free.push([0.0, 0.0, -0.0981, 0.0, 0.0, 0.0]);
    let mut c = Colouring::default();
    c.run(1, (0..6).map(|_| (0, WORLD)));
    for &i in &c.order {
        let (sin, cos) = (f64::from(i) * std::f64::consts::TAU / 6.0).sin_cos();
        p.points.push((0, WORLD), [0.0, 0.0, 1.0], [cos, sin, -0.5], [0.0; 3], [0.0; 3], mu);
    }
    p.points.spans = c.spans.clone();
    Problem::Bodies(p)
}

/// [Anitescu2005], "nonconvex solution set": three legs bear the weight, or the other three, and the slip
/// speed λ of the legs that bear nothing is free. Both are solutions with v = 0, and their mean is none, for
/// any μ > 0. The convex form has neither: what bears nothing must not slip, and its solutions form a convex
/// set.
#[test]
fn six_contacts_have_two_solutions_whose_mean_is_none() {
    let (facets, weight) = (4, 0.0981);
    let size = facets + 2;
    for mu in [0.01, 0.3, 1.0] {
        let p = hexagon(mu);
        let posed = |form| polyhedral(&p, form, Facets { count: facets, outer: false }).unwrap().lcp;
        // Which legs bear the weight, and the slip speed of the others.
        let solution = |odd: usize, slip: f64| -> Vec<f64> {
            let unknown = |k: usize| match (k / size, k % size) {
                (leg, 0) if leg % 2 == odd => weight / 3.0,
                (leg, last) if leg % 2 != odd && last == size - 1 => slip,
                _ => 0.0,
            };
            (0..6 * size).map(unknown).collect()
        };
        let mean = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| 0.5 * (x + y)).collect::<Vec<_>>();
        let exact = posed(Form::StewartTrinkle);
        let (first, second) = (solution(0, 1.0), solution(1, 1.0));
        for z in [&first, &second] {
            assert!(exact.residual(z) < 1e-15, "mu {mu}: {}", exact.residual(z));
        }
        // μ c_n = μ h m g / 6 and λ = ½ are both above zero.
        let between = exact.residual(&mean(&first, &second));
        assert!((between - mu * weight / 6.0).abs() < 1e-15, "mu {mu}: {between}");
        let relaxed = posed(Form::Convex);
        assert!((relaxed.residual(&first) - mu).abs() < 1e-15);
        let (first, second) = (solution(0, 0.0), solution(1, 0.0));
        for z in [&first, &second, &mean(&first, &second)] {
            assert!(relaxed.residual(z) < 1e-15, "mu {mu}: {}", relaxed.residual(z));
        }
        let found = lemke(&exact, 1000).unwrap();
        assert_eq!(found.status, LcpStatus::Solved);
    }
}
