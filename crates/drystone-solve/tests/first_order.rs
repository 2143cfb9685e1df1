//! The first-order solvers against tiny dense versions of the published algorithms, written down again from the papers
//! with a full matrix and without any of the shortcuts.

mod common;

use common::{explicit, heap};
use drystone_solve::cone::AdmissibleSet;
use drystone_solve::solver::{Stop, make};
use drystone_solve::Problem;

/// N as rows, r, the sets with their first rows, and the scale η of every row.
struct Dense {
    n: Vec<Vec<f64>>,
    r: Vec<f64>,
    blocks: Vec<(usize, drystone_solve::Set)>,
    eta: Vec<f64>,
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
        let blocks: Vec<_> = (0..problem.blocks()).map(|i| (problem.block(i).start, problem.set(i))).collect();
        let mut eta = vec![1.0; rows];
        if scaled {
            for (first, set) in &blocks {
                let end = first + set.rows();
                let mean = (*first..end).map(|j| n[j][j]).sum::<f64>() / set.rows() as f64;
                eta[*first..end].fill(1.0 / mean);
            }
        }
        Self { n, r, blocks, eta }
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

    /// P(y - t S g).
    fn project_step(&self, y: &[f64], t: f64, g: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = (0..y.len()).map(|j| y[j] - t * self.eta[j] * g[j]).collect();
        for (first, set) in &self.blocks {
            set.project(&mut x[*first..first + set.rows()]);
        }
        x
    }

    /// Σ d² / η.
    fn length(&self, d: &[f64]) -> f64 {
        d.iter().zip(&self.eta).map(|(d, e)| d * d / e).sum()
    }

    /// max over blocks |d| / (tη).
    fn measure(&self, d: &[f64], t: f64) -> f64 {
        let of = |(first, set): &(usize, drystone_solve::Set)| {
            let block = &d[*first..first + set.rows()];
            dot(block, block).sqrt() / (t * self.eta[*first])
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

/// [Mazhar2015, Algorithm APGD] from zero multipliers, until `multiplications` products of the economical form (one for
/// every projection and one for L) are spent. Returns γ̂, the number of restarts, and of halved steps.
fn apgd(p: &Dense, multiplications: usize) -> (Vec<f64>, usize, usize) {
    let rows = p.r.len();
    let mut used = 1;
    let (mut restarts, mut halved) = (0, 0);
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
        let mut next;
        loop {
            if used == multiplications {
                return (best, restarts, halved);
            }
            used += 1;
            next = p.project_step(&y, 1.0 / l, &g);
            let d = minus(&next, &y);
            if p.objective(&next) <= p.objective(&y) + dot(&g, &d) + 0.5 * l * p.length(&d) {
                break;
            }
            l *= 2.0;
            halved += 1;
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
        l *= 0.9;
    }
}

/// Multipliers after every number of iterations agree with the dense version's; `steps` looks into the latter.
fn step_by_step(name: &str, scaled: bool, seeds: [u64; 2], dense: impl Fn(&Dense, usize) -> (Vec<f64>, usize, usize)) {
    let (mut restarts, mut halved) = (0, 0);
    for (seed, joints) in seeds.into_iter().zip([false, true]) {
        let bodies = heap(10, seed, joints);
        for problem in [Problem::Bodies(bodies.clone()), explicit(&bodies)] {
            let p = Dense::new(&problem, scaled);
            for iterations in 2..=60 {
                let (expected, r, h) = dense(&p, iterations);
                (restarts, halved) = (restarts + r, halved + h);
                let stop = Stop { tolerance: 0.0, iterations, ..Stop::default() };
                let s = make(name).unwrap().solve(&problem, None, &stop).unwrap();
                assert_eq!(s.iterations, iterations);
                let size = dot(&expected, &expected).sqrt();
                let off = minus(&s.gamma, &expected);
                assert!(
                    dot(&off, &off).sqrt() <= 1e-9 * size,
                    "{name}, seed {seed}, {iterations} iterations: off by {:e} of {size:e}",
                    dot(&off, &off).sqrt()
                );
            }
        }
    }
    assert!(restarts > 0 && halved > 0, "{name}: {restarts} restarts, {halved} halved steps: nothing tested");
}

#[test]
fn apgd_is_the_published_algorithm_step_by_step() {
    step_by_step("apgd:scaling=none", false, [31, 32], apgd);
}

#[test]
fn apgd_with_scaling_is_the_same_in_other_variables() {
    step_by_step("apgd", true, [33, 34], apgd);
}
