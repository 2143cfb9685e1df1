//! Problems of spheres, which solvers iterate on in f32: they must go where f64 goes, and end where the
//! tolerance says.

use crate::common::Dice;
use drystone_solve::certificate::certificate;
use drystone_solve::colour::Colouring;
use drystone_solve::problem::{Bodies, WORLD};
use drystone_solve::solver::{Solution, Status, Stop, make};
use drystone_solve::{FrictionLaw, Problem};

/// What a pile is to be like.
#[derive(Clone, Copy, Default)]
struct Kind {
    /// Friction: of all contacts, or drawn for each.
    mu: f64,
    mixed: bool,
    /// Whether walls slide.
    drifts: bool,
    regions: bool,
}

/// A block of balls of uneven size, side by side and on top of each other on a floor, that would fall for
/// `h`.
fn pile(side: u32, kind: Kind) -> Problem {
    let mut d = Dice(7);
    let mut p = Bodies::default();
    let mut radius = Vec::new();
    for _ in 0..side * side * side {
        let (r, h) = (d.range(0.08, 0.12), 0.005);
        let m = 4000.0 * r * r * r;
        p.inv_mass.push(1.0 / m);
        let inertia = 1.0 / (0.4 * m * r * r);
        p.inv_inertia.push([inertia, inertia, inertia, 0.0, 0.0, 0.0]);
        p.v_free.push([d.range(-0.02, 0.02), 0.0, -9.81 * h, 0.1, d.range(-0.3, 0.3), 0.0]);
        radius.push(r);
    }
    let number = |x: u32, y: u32, z: u32| x + side * (y + side * z);
    let mut pairs = Vec::new();
    for (z, y, x) in (0..side).flat_map(|z| (0..side).flat_map(move |y| (0..side).map(move |x| (z, y, x)))) {
        if z == 0 {
            pairs.push((number(x, y, z), WORLD, [0.0, 0.0, 1.0]));
        } else {
            pairs.push((number(x, y, z), number(x, y, z - 1), [0.1, -0.2, 1.0]));
        }
        if x > 0 {
            pairs.push((number(x, y, z), number(x - 1, y, z), [1.0, 0.3, 0.4]));
        }
        if y > 0 {
            pairs.push((number(x, y, z), number(x, y - 1, z), [-0.2, 1.0, 0.1]));
        }
    }
    let bodies = p.inv_mass.len();
    let region: Vec<u32> = (0..bodies).map(|i| (4 * i / bodies) as u32).collect();
    let mut c = Colouring::default();
    let ends = pairs.iter().map(|(a, b, _)| (*a, *b));
    c.run_in_regions(bodies, ends, kind.regions.then_some(region.as_slice()));
    for &k in &c.order {
        let (a, b, n) = pairs[k as usize];
        let tilt = [n[0] + d.range(-0.2, 0.2), n[1] + d.range(-0.2, 0.2), n[2]];
        let length = tilt.iter().map(|x| x * x).sum::<f64>().sqrt();
        let n = tilt.map(|x| x / length);
        let arm = |body: u32, sign: f64| n.map(|x| sign * radius[body as usize] * x);
        let gap = d.range(-0.01, 0.05).max(0.0);
        let slide = if kind.drifts && b == WORLD { [0.05, 0.02, 0.0] } else { [0.0; 3] };
        let bias = [0, 1, 2].map(|k| gap * n[k] + slide[k]);
        let mu = if kind.mixed { d.range(0.0, 2.0 * kind.mu) } else { kind.mu };
        let arm_b = if b == WORLD { [0.0; 3] } else { arm(b, 1.0) };
        p.points.push((a, b), n, arm(a, -1.0), arm_b, bias, mu);
    }
    p.points.spans = c.spans.clone();
    p.points.regions = c.regions.clone();
    Problem::Bodies(p)
}

fn kinds() -> [Kind; 5] {
    let plain = Kind { mu: 0.4, ..Kind::default() };
    [
        plain,
        Kind { mixed: true, ..plain },
        Kind { drifts: true, ..plain },
        Kind { regions: true, ..plain },
        Kind { mu: 0.0, ..plain },
    ]
}

fn solve(
    problem: &Problem,
    solver: &str,
    guess: Option<&[f64]>,
    tolerance: f64,
    iterations: usize,
) -> Solution {
    let stop = Stop { tolerance, iterations, ..Stop::default() };
    make(solver).unwrap().solve(problem, guess, &stop).unwrap()
}

fn double(name: &str) -> String {
    format!("{name}{}precision=double", if name.contains(':') { ',' } else { ':' })
}

#[test]
fn f32_follows_f64() {
    for (k, kind) in kinds().into_iter().enumerate() {
        let p = pile(6, kind);
        let start = solve(&p, &double("pgs"), None, 0.0, 20).gamma;
        for name in [
            "pgs",
            "pgs:omega=0.7,lambda=0.8",
            "pssor",
            "nncg",
            "apgs:scaling=trace",
            "apgd",
            "apgd:scaling=trace",
            "bb",
        ] {
            for guess in [None, Some(start.as_slice())] {
                let single = solve(&p, name, guess, 0.0, 12);
                let other = solve(&p, &double(name), guess, 0.0, 12);
                let most = other.gamma.iter().fold(0.0f64, |m, x| m.max(x.abs()));
                let off =
                    single.gamma.iter().zip(&other.gamma).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
                assert!(off <= 1e-4 * most, "{name}, kind {k}, warm {}: {off} of {most}", guess.is_some());
                assert_ne!(single.gamma, other.gamma, "{name}, kind {k}: that was f64");
                assert_eq!(certificate(&p, &single.gamma).cone_violation, 0.0, "{name}, kind {k}");
            }
        }
    }
}

#[test]
fn the_last_digits_are_those_of_f64() {
    for (k, kind) in kinds().into_iter().enumerate() {
        let p = pile(4, kind);
        for name in ["pgs", "nncg", "apgs", "apgd", "bb"] {
            let s = solve(&p, name, None, 1e-9, 200_000);
            let residual = certificate(&p, &s.gamma).residual_max;
            assert_eq!(s.status, Status::Converged, "{name}, kind {k}: {residual}");
            assert!(residual <= 1e-9, "{name}, kind {k}: {residual}");
        }
    }
}

#[test]
fn scaled_cones_take_fewer_multiplications() {
    let p = pile(6, kinds()[0]);
    let left = |name: &str, n: usize| certificate(&p, &solve(&p, name, None, 0.0, n).gamma).residual_max;
    for n in [30, 60, 120] {
        let (cone, trace) = (left("apgd", n), left("apgd:scaling=trace", n));
        assert!(cone < 0.8 * trace, "after {n}: {cone:e} with two scales, {trace:e} with one");
    }
}

/// Sweeps with Nesterov's momentum that solve each contact of solid balls exactly: 1/m along the normal,
/// 3.5/m across. In world vectors, from zero.
fn exact_sweeps(p: &Bodies, sweeps: usize) -> Vec<[f64; 3]> {
    let add = |x: &mut [f64; 3], s: f64, y: [f64; 3]| (0..3).for_each(|k| x[k] += s * y[k]);
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let n = p.points.len();
    let at = |f: &[Vec<f64>; 3], i: usize| [f[0][i], f[1][i], f[2][i]];
    let sides = |i: usize| {
        let both =
            [(p.points.a[i], at(&p.points.arm_a, i), 1.0), (p.points.b[i], at(&p.points.arm_b, i), -1.0)];
        both.into_iter().filter(|(body, ..)| *body != WORLD)
    };
    let (mut x, mut last, mut run) = (vec![[0.0; 3]; n], vec![[0.0; 3]; n], 0.0);
    for _ in 0..sweeps {
        let (from, beta) = (x.clone(), run / (run + 3.0));
        (0..n).for_each(|i| (0..3).for_each(|k| x[i][k] += beta * (from[i][k] - last[i][k])));
        let mut v = p.v_free.clone();
        let push = |v: &mut Vec<[f64; 6]>, i: usize, d: [f64; 3]| {
            for (body, arm, sign) in sides(i) {
                let (b, turn) = (body as usize, cross(arm, d));
                (0..3).for_each(|k| v[b][k] += sign * p.inv_mass[b] * d[k]);
                (0..3).for_each(|k| v[b][3 + k] += sign * p.inv_inertia[b][0] * turn[k]);
            }
        };
        (0..n).for_each(|i| push(&mut v, i, x[i]));
        let mut turn = 0.0;
        for i in 0..n {
            let (normal, mu) = (at(&p.points.normal, i), p.points.mu[i]);
            let (mut u, mut w) = (p.points.world_bias(i), 0.0);
            for (body, arm, sign) in sides(i) {
                let v = v[body as usize];
                add(&mut u, sign, [v[0], v[1], v[2]]);
                add(&mut u, sign, cross([v[3], v[4], v[5]], arm));
                w += p.inv_mass[body as usize];
            }
            let kappa = 3.5;
            let (un, yn) = (dot(u, normal), dot(x[i], normal));
            let (mut ut, mut t) = (u, x[i]);
            add(&mut ut, -un, normal);
            add(&mut t, -yn, normal);
            add(&mut t, -1.0 / (kappa * w), ut);
            let (to, r) = (yn - un / w, dot(t, t).sqrt());
            let (along, share) = match () {
                _ if r <= mu * to => (to, 1.0),
                _ if kappa * mu * r <= -to => (0.0, 0.0),
                _ => {
                    let along = (to + kappa * mu * r) / (1.0 + kappa * mu * mu);
                    (along, mu * along / r)
                }
            };
            let mut new = t.map(|t| share * t);
            add(&mut new, along, normal);
            let (d, change): ([f64; 3], [f64; 3]) =
                ([0, 1, 2].map(|k| new[k] - x[i][k]), [0, 1, 2].map(|k| new[k] - from[i][k]));
            let both = dot(d, normal) * dot(change, normal);
            turn += w * both + kappa * w * (dot(d, change) - both);
            push(&mut v, i, d);
            x[i] = new;
        }
        last = from;
        run = if turn < 0.0 { 0.0 } else { run + 1.0 };
    }
    x
}

#[test]
fn accelerated_sweeps_solve_each_contact_of_balls_exactly() {
    let p = pile(6, kinds()[0]);
    let Problem::Bodies(bodies) = &p else { unreachable!() };
    for sweeps in [1, 2, 5, 12] {
        let (one, other) = (solve(&p, "apgs", None, 0.0, sweeps).gamma, exact_sweeps(bodies, sweeps));
        let most = one.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        for (i, x) in other.iter().enumerate() {
            let local = bodies.points.frame(i).map(|axis| (0..3).map(|k| axis[k] * x[k]).sum::<f64>());
            let off = (0..3).map(|k| (local[k] - one[3 * i + k]).abs()).fold(0.0, f64::max);
            assert!(off <= 1e-4 * most, "{sweeps} sweeps, contact {i}: {off} of {most}");
        }
    }
}

#[test]
fn accelerated_sweeps_need_fewer_iterations_than_gradients() {
    for kind in kinds() {
        let p = pile(8, kind);
        let needed = |name: &str| {
            let s = solve(&p, name, None, 1e-4, 20_000);
            assert_eq!(s.status, Status::Converged, "{name}");
            s.iterations
        };
        let (sweeps, plain, gradients) = (needed("apgs"), needed("pgs"), needed("apgd"));
        assert!(10 * sweeps <= 8 * gradients && 2 * sweeps <= plain, "{sweeps}, {gradients} and {plain}");
    }
}

/// A guess outside the cones has a lower objective than any multipliers inside: it is no start to be
/// bettered.
#[test]
fn a_guess_outside_the_cones_is_projected() {
    let p = pile(6, kinds()[0]);
    let mut guess = solve(&p, "apgd", None, 1e-6, 20_000).gamma;
    for contact in guess.as_chunks_mut::<3>().0.iter_mut().step_by(7) {
        contact[0] = -0.5;
    }
    for name in ["apgd", "bb", "apgs", "nncg"] {
        let s = solve(&p, name, Some(&guess), 0.0, 40);
        let (start, end) = (solve(&p, name, Some(&guess), 0.0, 0).gamma, s.gamma);
        let [start, end] = [start, end].map(|gamma| certificate(&p, &gamma).residual_max);
        assert!(end < 0.3 * start, "{name}: {start:e} to {end:e}");
    }
}

#[test]
fn coulomb_in_f32_is_coulomb() {
    let mut p = pile(5, Kind { mu: 0.4, ..Kind::default() });
    p.set_model(FrictionLaw::Coulomb);
    let (single, other) = (solve(&p, "pgs", None, 0.0, 15), solve(&p, &double("pgs"), None, 0.0, 15));
    let most = other.gamma.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    assert!(single.gamma.iter().zip(&other.gamma).all(|(x, y)| (x - y).abs() <= 1e-4 * most));
    assert_ne!(single.gamma, other.gamma);
    for name in ["pgs", "apgs"] {
        let s = solve(&p, name, None, 1e-6, 50_000);
        assert!(certificate(&p, &s.gamma).residual_max <= 1e-6, "{name}");
    }
}

/// What is no contact of spheres is not taken for one.
#[test]
fn arms_off_the_normal_are_left_to_f64() {
    let Problem::Bodies(mut b) = pile(5, Kind { mu: 0.4, ..Kind::default() }) else { unreachable!() };
    b.points.arm_a[0][17] += 1e-4;
    let p = Problem::Bodies(b);
    for name in ["pgs", "nncg", "apgs", "apgd"] {
        assert_eq!(
            solve(&p, name, None, 0.0, 5).gamma,
            solve(&p, &double(name), None, 0.0, 5).gamma,
            "{name}"
        );
    }
}

/// Grams and tonnes, millimetres a second and kilometres: the same problem in other units.
#[test]
fn units_do_not_matter() {
    let Problem::Bodies(b) = pile(5, Kind { mu: 0.4, ..Kind::default() }) else { unreachable!() };
    for (mass, speed) in [(1e-12, 1e-6), (1e9, 1e4)] {
        let mut other = b.clone();
        other.inv_mass.iter_mut().for_each(|m| *m /= mass);
        other.inv_inertia.iter_mut().flatten().for_each(|i| *i /= mass);
        other.v_free.iter_mut().flatten().for_each(|v| *v *= speed);
        other.points.bias.iter_mut().for_each(|x| *x *= speed);
        let (p, q) = (Problem::Bodies(b.clone()), Problem::Bodies(other));
        for name in ["pgs", "nncg", "apgs", "apgd"] {
            let (x, y) = (solve(&p, name, None, 0.0, 10).gamma, solve(&q, name, None, 0.0, 10).gamma);
            let most = x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            let off = x.iter().zip(&y).map(|(x, y)| (x - y / (mass * speed)).abs()).fold(0.0, f64::max);
            assert!(off <= 1e-4 * most, "{name}, {mass} kg, {speed} m/s: {off} of {most}");
        }
    }
}

#[test]
fn threads_do_not_change_a_bit_of_grains() {
    let p = pile(24, Kind { mu: 0.4, regions: true, ..Kind::default() });
    for name in ["pgs", "nncg", "apgs", "apgd", "bb"] {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let gamma = pool.install(|| solve(&p, name, None, 0.0, 8).gamma);
            gamma.into_iter().map(f64::to_bits).collect::<Vec<_>>()
        };
        let one = run(1);
        for threads in [2, 4, 8, 16] {
            assert!(one == run(threads), "{name} on {threads} threads");
        }
    }
}
