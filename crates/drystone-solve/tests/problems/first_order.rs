//! The first-order solvers against tiny dense versions of the published algorithms, written down again from
//! the papers with a full matrix and without any of the shortcuts.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::common::{explicit, heap};
use drystone_solve::certificate::certificate;
use drystone_solve::cone::AdmissibleSet;
use drystone_solve::problem::{Bodies, Csr, Explicit, WORLD};
use drystone_solve::solver::{Record, Status, Stop, make};
use drystone_solve::{Problem, Set};

/// N as rows, r, the sets with their first rows, and the scale η of every row: in cones of friction one along
/// the normal, and one across.
struct Dense {
    n: Vec<Vec<f64>>,
    r: Vec<f64>,
    blocks: Vec<(usize, Set)>,
    eta: Vec<f64>,
    /// Step of a Gauss-Seidel update, by block.
    step: Vec<f64>,
    /// One over a bound of its largest eigenvalue, by block.
    safe: Vec<f64>,
}

impl Dense {
    fn new(problem: &Problem, scaled: bool) -> Self {
        let rows = problem.rows();
        let (mut r, mut u) = (Vec::new(), Vec::new());
        problem.rhs(&mut r);
        let mut n = vec![vec![0.0; rows]; rows];
        for j in 0..rows {
            let mut e = vec![0.0; rows];
            e[j] = 1.0;
            problem.apply(&e, &mut u);
            for i in 0..rows {
                n[i][j] = u[i] - r[i];
            }
        }
        let blocks: Vec<_> =
            (0..problem.blocks()).map(|i| (problem.block(i).start, problem.set(i))).collect();
        let mut eta = vec![1.0; rows];
        if scaled {
            for (first, set) in &blocks {
                let end = first + set.rows();
                let mean = (*first..end).map(|j| n[j][j]).sum::<f64>() / set.rows() as f64;
                eta[*first..end].fill(1.0 / mean);
            }
        }
        // ω = 1, halved where a block's own largest eigenvalue asks for it.
        let step = (0..problem.blocks()).map(|i| {
            let [mean, bound] = problem.block_diagonal(i);
            let mut omega = 1.0;
            while omega / mean * bound >= 2.0 {
                omega *= 0.5;
            }
            omega / mean
        });
        let step = step.collect();
        let safe = blocks.iter().enumerate().map(|(i, (first, set))| {
            let [mean, bound] = problem.block_diagonal(i);
            let rows = *first..first + set.rows();
            let product = |a: &[Vec<f64>]| -> Vec<Vec<f64>> {
                let column = |j: usize| a.iter().map(|row| row[j]).collect::<Vec<_>>();
                a.iter().map(|row| (0..row.len()).map(|j| dot(row, &column(j))).collect()).collect()
            };
            let mut power: Vec<Vec<f64>> = rows.clone().map(|j| n[j][rows.clone()].to_vec()).collect();
            (0..3).for_each(|_| power = product(&power));
            let norm = power.iter().map(|row| dot(row, row)).sum::<f64>().sqrt().powf(0.125);
            1.0 / if bound > mean { norm.min(bound) } else { bound }
        });
        let safe = safe.collect();
        Self { n, r, blocks, eta, step, safe }
    }

    fn multiply(&self, x: &[f64]) -> Vec<f64> {
        self.n.iter().map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
    }

    fn objective(&self, x: &[f64]) -> f64 {
        0.5 * dot(x, &self.multiply(x)) + dot(x, &self.r)
    }

    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        self.multiply(x).iter().zip(&self.r).map(|(a, b)| a + b).collect()
    }

    /// The same with two scales for each cone: 1/g, with g the mean diagonal of its block, times what makes
    /// the scaled one κ times as large along the normal as across, and leaves its mean where it was if all
    /// blocks are alike.
    fn in_cones(problem: &Problem, kappa: f64) -> Self {
        let mut dense = Self::new(problem, true);
        for (first, _) in &dense.blocks {
            dense.eta[*first] *= (2.0 * kappa + 1.0) / 3.0;
            dense.eta[first + 1..first + 3].iter_mut().for_each(|eta| *eta *= (2.0 + 1.0 / kappa) / 3.0);
        }
        dense
    }

    /// P(y - t S g): in variables over the roots of the scales a round cone is a round cone, of another
    /// friction.
    fn project_step(&self, y: &[f64], t: f64, g: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = (0..y.len()).map(|j| y[j] - t * self.eta[j] * g[j]).collect();
        for (first, set) in &self.blocks {
            let (block, eta) = (&mut x[*first..first + set.rows()], &self.eta[*first..]);
            match *set {
                Set::Friction3 { mu } => {
                    (0..3).for_each(|k| block[k] /= (eta[k] / eta[0]).sqrt());
                    Set::Friction3 { mu: mu * (eta[0] / eta[1]).sqrt() }.project(block);
                    (0..3).for_each(|k| block[k] *= (eta[k] / eta[0]).sqrt());
                }
                other => other.project(block),
            }
        }
        x
    }

    /// Σ d² / η.
    fn length(&self, d: &[f64]) -> f64 {
        d.iter().zip(&self.eta).map(|(d, e)| d * d / e).sum()
    }

    /// max over blocks |x - P(x - ηu)| / η.
    fn natural(&self, x: &[f64]) -> f64 {
        let u = self.gradient(x);
        self.measure(&minus(&self.project_step(x, 1.0, &u), x), 1.0)
    }

    /// max over blocks |S⁻¹ d| / t.
    fn measure(&self, d: &[f64], t: f64) -> f64 {
        let of = |(first, set): &(usize, Set)| {
            let rows = *first..first + set.rows();
            rows.map(|j| (d[j] / self.eta[j]).powi(2)).sum::<f64>().sqrt() / t
        };
        self.blocks.iter().map(of).fold(0.0, f64::max)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// [Mazhar2015, Algorithm APGD] from zero multipliers, until `multiplications` products of the economical
/// form (one for every projection and one for L) are spent; L as published, or from the curvature of each
/// step. Returns γ̂, the number of restarts, and of steps that were made again.
fn apgd(p: &Dense, multiplications: usize, published: bool) -> (Vec<f64>, usize, usize) {
    let rows = p.r.len();
    let mut used = 1;
    let (mut restarts, mut again) = (0, 0);
    let mut gamma = vec![0.0; rows];
    let mut y = gamma.clone();
    let mut theta = 1.0f64;
    let difference = vec![-1.0; rows];
    let product = p.multiply(&difference);
    let top: f64 = product.iter().zip(&p.eta).map(|(x, e)| x * x * e).sum();
    let mut l = (top / p.length(&difference)).sqrt();
    let (mut least, mut best) = (f64::INFINITY, gamma.clone());
    loop {
        let g = p.gradient(&y);
        let (mut next, mut found);
        loop {
            if used == multiplications {
                return (best, restarts, again);
            }
            used += 1;
            next = p.project_step(&y, 1.0 / l, &g);
            let d = minus(&next, &y);
            // Step (10) with the L that it would just hold for.
            found = dot(&d, &p.multiply(&d)) / p.length(&d);
            if !(found > if published { l } else { 1.5 * l }) {
                break;
            }
            l = if published { 2.0 * l } else { 1.05 * found };
            again += 1;
        }
        let theta_next = (-theta * theta + theta * (theta * theta + 4.0).sqrt()) / 2.0;
        let beta = theta * (1.0 - theta) / (theta * theta + theta_next);
        let measure = p.measure(&minus(&next, &y), 1.0 / l);
        if measure <= least {
            least = measure;
            best = next.clone();
        }
        y = (0..rows).map(|j| next[j] + beta * (next[j] - gamma[j])).collect();
        theta = theta_next;
        if dot(&g, &minus(&next, &gamma)) > 0.0 {
            y = next.clone();
            theta = 1.0;
            restarts += 1;
        }
        gamma = next;
        l = if published { 0.9 * l } else { 0.98 * l.max(found) };
    }
}

/// [Birgin2000, Algorithm SPG2] from zero multipliers and α = 1/L; the same counting. What is returned is the
/// iterate with the least residual: as its step measured it, or the natural map for the last one, which has
/// had no step. The second number counts line searches that cut a step, the first those that looked back on a
/// higher value than the last.
fn spectral(p: &Dense, multiplications: usize) -> (Vec<f64>, usize, usize) {
    let rows = p.r.len();
    let ones = vec![1.0; rows];
    let top: f64 = p.multiply(&ones).iter().zip(&p.eta).map(|(x, e)| x * x * e).sum();
    let first = (p.length(&ones) / top).sqrt();
    let (mut alpha, mut x, mut values) = (first, vec![0.0; rows], Vec::new());
    let (mut least, mut best, mut back, mut cut) = (f64::INFINITY, x.clone(), 0, 0);
    for k in 1..multiplications {
        let (f, g) = (p.objective(&x), p.gradient(&x));
        let z = p.project_step(&x, alpha, &g);
        let d = minus(&z, &x);
        let measure = p.measure(&d, alpha) * alpha.max(1.0);
        if k > 1 && measure <= least {
            (least, best) = (measure, x.clone());
        }
        values.push(f);
        let highest = values.iter().rev().take(10).copied().fold(f64::NEG_INFINITY, f64::max);
        let slope = dot(&d, &g);
        let at = |lambda: f64| -> Vec<f64> { (0..rows).map(|j| x[j] + lambda * d[j]).collect() };
        let mut lambda = 1.0;
        while p.objective(&at(lambda)) > highest + 1e-4 * lambda * slope {
            // Quadratic interpolation from f, the slope, and the value at λ.
            let rise = p.objective(&at(lambda)) - f - lambda * slope;
            let guess = -slope * lambda * lambda / (2.0 * rise);
            lambda = if guess >= 0.1 * lambda && guess <= 0.9 * lambda { guess } else { 0.5 * lambda };
            cut += 1;
        }
        back += (p.objective(&at(lambda)) > f) as usize;
        let next = at(lambda);
        let (s, y) = (minus(&next, &x), minus(&p.gradient(&next), &g));
        alpha = (p.length(&s) / dot(&s, &y)).clamp(1e-10 * first, 1e10 * first);
        x = next;
    }
    // Here the blocks' own scale is that of the certificate.
    let natural = p.natural(&x);
    if natural <= least || multiplications == 2 {
        best = x;
    }
    (best, back, cut)
}

/// [SilcowitzHansen2010] from zero multipliers: Gauss-Seidel sweeps in the order of the blocks. Returns the
/// sweep with the least change, the number of restarts and of sweeps that moved on along p.
fn nncg(p: &Dense, sweeps: usize) -> (Vec<f64>, usize, usize) {
    let mut x = vec![0.0; p.r.len()];
    let (mut direction, mut before) = (vec![0.0; p.r.len()], None::<f64>);
    let (mut least, mut best, mut restarts, mut moved) = (f64::INFINITY, x.clone(), 0, 0);
    for _ in 0..sweeps {
        let start = x.clone();
        let mut worst = 0.0f64;
        for (i, (first, set)) in p.blocks.iter().enumerate() {
            let rows = *first..first + set.rows();
            let u = p.gradient(&x);
            let mut new: Vec<f64> = rows.clone().map(|j| x[j] - p.step[i] * u[j]).collect();
            set.project(&mut new);
            let change = minus(&new, &x[rows.clone()]);
            worst = worst.max(dot(&change, &change).sqrt() / p.step[i]);
            x[rows].copy_from_slice(&new);
        }
        if worst <= least {
            (least, best) = (worst, x.clone());
        }
        let delta = minus(&x, &start);
        let weight = |(i, (first, set)): (usize, &(usize, Set))| {
            let d = &delta[*first..first + set.rows()];
            dot(d, d) / p.step[i]
        };
        let size: f64 = p.blocks.iter().enumerate().map(weight).sum();
        match before {
            Some(old) if size > old => {
                direction.fill(0.0);
                restarts += 1;
            }
            _ => {
                let beta = before.map_or(0.0, |old| size / old);
                for j in 0..x.len() {
                    let along = beta * direction[j];
                    x[j] += along;
                    direction[j] = along + delta[j];
                }
                moved += (beta > 0.0) as usize;
            }
        }
        before = Some(size);
    }
    (best, restarts, moved)
}

/// Gauss-Seidel sweeps in the order of the blocks from zero multipliers, with Nesterov's momentum. Returns
/// the sweep with the least change, the number of restarts and of sweeps that started beyond the last result.
fn apgs(p: &Dense, sweeps: usize) -> (Vec<f64>, usize, usize) {
    let mut x = vec![0.0; p.r.len()];
    let (mut last, mut run) = (x.clone(), 0.0);
    let (mut least, mut best, mut restarts, mut moved) = (f64::INFINITY, x.clone(), 0, 0);
    for _ in 0..sweeps {
        let (beta, from) = (run / (run + 3.0), x.clone());
        (0..x.len()).for_each(|j| x[j] += beta * (from[j] - last[j]));
        let start = x.clone();
        let (mut worst, mut turn) = (0.0f64, 0.0);
        for (i, (first, set)) in p.blocks.iter().enumerate() {
            let rows = *first..first + set.rows();
            let u = p.gradient(&x);
            let mut new: Vec<f64> = rows.clone().map(|j| x[j] - p.safe[i] * u[j]).collect();
            set.project(&mut new);
            let change = minus(&new, &x[rows.clone()]);
            worst = worst.max(dot(&change, &change).sqrt() / p.safe[i]);
            turn += dot(&minus(&new, &start[rows.clone()]), &minus(&new, &from[rows.clone()])) / p.safe[i];
            x[rows].copy_from_slice(&new);
        }
        if worst <= least {
            (least, best) = (worst, x.clone());
        }
        moved += (beta > 0.0) as usize;
        restarts += (turn < 0.0) as usize;
        run = if turn < 0.0 { 0.0 } else { run + 1.0 };
        last = from;
    }
    (best, restarts, moved)
}

/// Multipliers after every number of iterations agree with the dense version's, which must have taken both
/// turns that it counts.
fn step_by_step(
    name: &str,
    scaled: bool,
    seeds: [u64; 2],
    dense: impl Fn(&Dense, usize) -> (Vec<f64>, usize, usize),
) {
    let problems = seeds.into_iter().zip([false, true]).flat_map(|(seed, joints)| {
        let bodies = heap(10, seed, joints);
        [Problem::Bodies(bodies.clone()), explicit(&bodies)]
    });
    follow(name, problems.map(|p| (Dense::new(&p, scaled), p)), dense);
}

fn follow(
    name: &str,
    problems: impl Iterator<Item = (Dense, Problem)>,
    dense: impl Fn(&Dense, usize) -> (Vec<f64>, usize, usize),
) {
    let mut turns = [0, 0];
    for (k, (p, problem)) in problems.enumerate() {
        {
            for iterations in 2..=60 {
                let (expected, r, h) = dense(&p, iterations);
                turns = [turns[0] + r, turns[1] + h];
                let stop = Stop { tolerance: 0.0, iterations, ..Stop::default() };
                let s = make(name).unwrap().solve(&problem, None, &stop).unwrap();
                assert_eq!(s.iterations, iterations);
                let size = dot(&expected, &expected).sqrt();
                let off = minus(&s.gamma, &expected);
                assert!(
                    dot(&off, &off).sqrt() <= 1e-9 * size,
                    "{name}, problem {k}, {iterations} iterations: off by {:e} of {size:e}",
                    dot(&off, &off).sqrt()
                );
            }
        }
    }
    assert!(turns[0] > 0 && turns[1] > 0, "{name}: {turns:?}: nothing tested");
}

#[test]
fn apgd_is_the_published_algorithm_step_by_step() {
    step_by_step("apgd:scaling=none,rule=paper", false, [31, 32], |p, n| apgd(p, n, true));
    step_by_step("apgd:rule=paper", true, [33, 34], |p, n| apgd(p, n, true));
}

#[test]
fn apgd_takes_its_steps_from_the_curvature() {
    step_by_step("apgd:scaling=none", false, [31, 32], |p, n| apgd(p, n, false));
    step_by_step("apgd", true, [33, 34], |p, n| apgd(p, n, false));
}

/// The heap's bodies as balls that could rest, and the smallest κ of their contacts: solid ones, for which it
/// is 3.5, or of uneven inertia.
fn balls(seed: u64, uneven: bool) -> (Problem, f64) {
    let mut p = heap(10, seed, false);
    let radius = |body: usize| 0.3 + 0.05 * body as f64;
    for k in 0..p.inv_mass.len() {
        let turn = if uneven { 1.0 + 0.5 * k as f64 } else { 2.5 };
        let inertia = turn * p.inv_mass[k] / radius(k).powi(2);
        p.inv_inertia[k] = [inertia, inertia, inertia, 0.0, 0.0, 0.0];
    }
    let points = &mut p.points;
    for i in 0..points.len() {
        let (a, b) = (points.a[i], points.b[i]);
        points.mu[i] = 0.2 + 0.1 * (i % 5) as f64;
        points.bias[i] = points.bias[i].abs();
        for c in 0..3 {
            let n = points.normal[c][i];
            points.arm_a[c][i] = -radius(a as usize) * n;
            points.arm_b[c][i] = if b == WORLD { 0.0 } else { radius(b as usize) * n };
        }
    }
    let kappa = (0..points.len()).map(|i| {
        let [mean, _] = Problem::Bodies(p.clone()).block_diagonal(i);
        let body = |k: u32| if k == WORLD { 0.0 } else { p.inv_mass[k as usize] };
        let along = body(p.points.a[i]) + body(p.points.b[i]);
        (3.0 * mean - along) / (2.0 * along)
    });
    let kappa = kappa.fold(f64::INFINITY, f64::min);
    (Problem::Bodies(p), kappa)
}

#[test]
fn balls_have_two_scales_for_each_cone() {
    let problems = || {
        [(33, false), (34, true), (52, true), (53, false), (55, true)].into_iter().map(|(seed, uneven)| {
            let (problem, kappa) = balls(seed, uneven);
            assert!(
                if uneven { (1.1..3.4).contains(&kappa) } else { (kappa - 3.5).abs() < 1e-12 },
                "{kappa}"
            );
            (Dense::in_cones(&problem, kappa), problem)
        })
    };
    follow("apgd:precision=double", problems(), |p, n| apgd(p, n, false));
    follow("apgd:scaling=cone,precision=double,rule=paper", problems(), |p, n| apgd(p, n, true));
    // One scale is still to be had.
    let one = || problems().map(|(_, p)| (Dense::new(&p, true), p));
    follow("apgd:scaling=trace,precision=double", one(), |p, n| apgd(p, n, false));
    // And it is what balls have that may contradict each other.
    let asked = problems().map(|(_, mut p)| {
        let Problem::Bodies(bodies) = &mut p else { unreachable!() };
        bodies.points.bias[0] = -0.1;
        (Dense::new(&p, true), p)
    });
    follow("apgd:precision=double", asked, |p, n| apgd(p, n, false));
}

#[test]
fn bb_is_the_published_algorithm_step_by_step() {
    step_by_step("bb", true, [35, 36], spectral);
}

#[test]
fn nncg_is_the_published_algorithm_step_by_step() {
    step_by_step("nncg", true, [37, 38], nncg);
}

#[test]
fn apgs_is_what_it_says_step_by_step() {
    step_by_step("apgs", true, [37, 38], apgs);
}

const ACCURATE: [&str; 8] =
    ["apgd", "apgd:scaling=none", "apgd:rule=paper", "bb", "bb:scaling=none", "nncg", "apgs", "cpg"];

fn tight() -> Stop {
    Stop { tolerance: 1e-9, iterations: 200_000, ..Stop::default() }
}

#[test]
fn empty_problems_and_zero_iterations() {
    let empty = [
        Problem::Bodies(Bodies::default()),
        Problem::Explicit(Explicit::new(Csr { indptr: vec![0], ..Csr::default() }, vec![], vec![])),
    ];
    for name in ACCURATE {
        for problem in &empty {
            let s = make(name).unwrap().solve(problem, None, &Stop::default()).unwrap();
            assert_eq!((s.status, s.gamma.len()), (Status::Converged, 0), "{name}");
        }
        // Bodies that nothing can move, and bodies that nothing touches.
        let mut still = heap(6, 41, false);
        still.inv_mass.fill(0.0);
        still.inv_inertia.fill([0.0; 6]);
        let s = make(name).unwrap().solve(&Problem::Bodies(still), None, &Stop::default()).unwrap();
        assert_eq!(s.status, Status::Converged, "{name}");
        let mut apart = heap(6, 41, false);
        apart.v_free.fill([0.0; 6]);
        let problem = Problem::Bodies(apart);
        let s = make(name).unwrap().solve(&problem, None, &Stop::default()).unwrap();
        assert_eq!(s.status, Status::Converged, "{name}");
        assert!(s.gamma.iter().all(|x| *x == 0.0), "{name}");
        let problem = Problem::Bodies(heap(6, 41, false));
        let guess = vec![0.1; problem.rows()];
        let stop = Stop { iterations: 0, ..Stop::default() };
        for guess in [None, Some(guess.as_slice())] {
            let s = make(name).unwrap().solve(&problem, guess, &stop).unwrap();
            assert_eq!((s.status, s.gamma.len()), (Status::Iterations, problem.rows()), "{name}");
            assert!(s.gamma.iter().all(|x| x.is_finite()));
        }
    }
}

#[test]
fn uneven_masses_no_friction_springs_and_joints() {
    let mut problems = Vec::new();
    // Masses of 1:1000 in turn.
    let mut uneven = heap(20, 43, true);
    for i in (0..20).step_by(2) {
        uneven.inv_mass[i] /= 1000.0;
        uneven.inv_inertia[i].iter_mut().for_each(|x| *x /= 1000.0);
    }
    problems.push(("uneven", uneven));
    let mut smooth = heap(20, 45, true);
    smooth.points.mu.fill(0.0);
    problems.push(("frictionless", smooth));
    let mut soft = heap(20, 47, true);
    let n = soft.points.len();
    soft.points.compliance = [vec![0.02; n], vec![0.005; n]];
    soft.general.compliance = vec![0.01; soft.general.bias.len()];
    problems.push(("soft", soft));
    let mut joints = heap(20, 49, true);
    joints.points.clear();
    problems.push(("joints alone", joints));
    for (what, bodies) in problems {
        let problem = Problem::Bodies(bodies.clone());
        let mut reference: Option<Vec<[f64; 6]>> = None;
        for name in ACCURATE {
            let s = make(name).unwrap().solve(&problem, None, &tight()).unwrap();
            let c = certificate(&problem, &s.gamma);
            assert_eq!(s.status, Status::Converged, "{name}, {what}: {c:?}");
            assert!(c.residual_max <= 1e-9 && c.cone_violation <= 1e-12, "{name}, {what}: {c:?}");
            let mut v = Vec::new();
            bodies.velocities(&s.gamma, &mut v);
            let r = reference.get_or_insert_with(|| v.clone());
            for (x, y) in v.iter().flatten().zip(r.iter().flatten()) {
                assert!((x - y).abs() < 1e-6, "{name}, {what}: {x} against {y}");
            }
        }
    }
}

/// What is returned is never worse than where it began, however few iterations there are.
#[test]
fn no_solver_returns_worse_than_its_start() {
    let bodies = heap(30, 51, true);
    for problem in [Problem::Bodies(bodies.clone()), explicit(&bodies)] {
        let exact = make("pgs").unwrap().solve(&problem, None, &tight()).unwrap().gamma;
        // Far off, outside the cones, nearly right, right.
        let spoiled = |by: f64| -> Vec<f64> {
            exact.iter().enumerate().map(|(j, x)| x * (1.0 + by) - by * ((j % 5) as f64 - 1.0)).collect()
        };
        for name in ACCURATE {
            for guess in [spoiled(3.0), spoiled(-0.5), spoiled(1e-3), exact.clone()] {
                let mut start = guess.clone();
                for i in 0..problem.blocks() {
                    problem.set(i).project(&mut start[problem.block(i)]);
                }
                let begun = certificate(&problem, &start);
                for iterations in [1, 2, 3, 5, 10, 40] {
                    let stop = Stop { tolerance: 0.0, iterations, ..Stop::default() };
                    let s = make(name).unwrap().solve(&problem, Some(&guess), &stop).unwrap();
                    let c = certificate(&problem, &s.gamma);
                    let slack = 1e-12 * begun.dual_objective.abs();
                    assert!(
                        c.dual_objective <= begun.dual_objective + slack,
                        "{name}, {iterations}: from {} to {}",
                        begun.dual_objective,
                        c.dual_objective
                    );
                    assert!(c.cone_violation <= 1e-12, "{name}");
                    assert_eq!((s.status, s.iterations), (Status::Iterations, iterations), "{name}");
                }
            }
        }
    }
}

#[test]
fn caps_histories_and_time() {
    let problem = Problem::Bodies(heap(60, 53, true));
    for name in ACCURATE {
        let stop = Stop { tolerance: 0.0, iterations: 37, history: true, ..Stop::default() };
        let s = make(name).unwrap().solve(&problem, None, &stop).unwrap();
        assert_eq!((s.iterations, s.history.len()), (37, 37), "{name}");
        let c = certificate(&problem, &s.gamma);
        let last = s.history.last().unwrap();
        // What comes out is the last one, or, where sweeps may lose what they had, the best.
        let is_that = |r: &Record| (r.objective - c.dual_objective).abs() <= 1e-12 * c.dual_objective.abs();
        let some = if name == "apgs" { s.history.iter().any(is_that) } else { is_that(last) };
        assert!(some, "{name}");
        assert!(last.objective < s.history[2].objective, "{name}");
        let (no_time, interrupt) = (Some(Duration::ZERO), Some(Arc::new(AtomicBool::new(true))));
        for (budget, interrupt) in [(no_time, None), (None, interrupt)] {
            let stop =
                Stop { tolerance: 1e-12, iterations: usize::MAX, budget, interrupt, ..Stop::default() };
            let s = make(name).unwrap().solve(&problem, None, &stop).unwrap();
            assert_eq!(s.status, Status::Budget, "{name}");
            assert!(s.iterations <= 2, "{name}: {}", s.iterations);
        }
        // Without a history the same multipliers come out.
        let plain = Stop { tolerance: 0.0, iterations: 37, ..Stop::default() };
        let again = make(name).unwrap().solve(&problem, None, &plain).unwrap();
        let with = Stop { history: true, ..plain };
        assert_eq!(again.gamma, make(name).unwrap().solve(&problem, None, &with).unwrap().gamma, "{name}");
    }
}

/// A solver that has seen another problem does the same as a fresh one.
#[test]
fn buffers_of_other_problems_leave_no_trace() {
    let stop = Stop { tolerance: 0.0, iterations: 25, ..Stop::default() };
    let (small, large) = (heap(12, 55, true), heap(40, 57, true));
    for name in ACCURATE {
        let problems = [
            Problem::Bodies(large.clone()),
            explicit(&large),
            Problem::Bodies(small.clone()),
            explicit(&small),
        ];
        let mut used = make(name).unwrap();
        for problem in &problems {
            let fresh = make(name).unwrap().solve(problem, None, &stop).unwrap();
            assert_eq!(used.solve(problem, None, &stop).unwrap().gamma, fresh.gamma, "{name}");
        }
    }
}
