//! The space over a problem with an explicit matrix: velocities are kept beside the multipliers, row by row.

use rayon::prelude::*;

use crate::certificate::natural_residual;
use crate::cone::AdmissibleSet;
use crate::problem::{Explicit, Problem};

use super::{Products, Scaling, Space, Trial, Walk};
use crate::simd::Lanes;

/// Rows per task: below a few of these a product is not worth sharing.
const TASK: usize = 512;

#[derive(Debug, Default)]
struct Iterate {
    gamma: Vec<f64>,
    /// u = (W + C) γ + q.
    u: Vec<f64>,
    objective: f64,
}

/// See the module.
#[derive(Debug, Default)]
pub(in crate::solver) struct ExplicitSpace {
    now: Iterate,
    before: Iterate,
    trial: Iterate,
    best: Vec<f64>,
    /// y and its velocity.
    y: Vec<f64>,
    u_y: Vec<f64>,
    /// By block: η and 1/η of the metric, g of the certificate.
    factors: Vec<[f64; 2]>,
    diagonal: Vec<f64>,
}

fn explicit(problem: &Problem) -> &Explicit {
    let Problem::Explicit(p) = problem else { unreachable!("chosen by the form of the problem") };
    p
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// u = (W + C) x + q.
fn multiply(p: &Explicit, x: &[f64], u: &mut Vec<f64>) {
    u.resize(x.len(), 0.0);
    let rows = |task: usize, u: &mut [f64]| {
        for (k, u) in u.iter_mut().enumerate() {
            *u = p.row(task * TASK + k, x);
        }
    };
    if x.len() >= 4 * TASK && rayon::current_num_threads() > 1 {
        u.par_chunks_mut(TASK).enumerate().for_each(|(task, u)| rows(task, u));
    } else {
        u.chunks_mut(TASK).enumerate().for_each(|(task, u)| rows(task, u));
    }
}

impl ExplicitSpace {
    fn block(p: &Explicit, i: usize) -> std::ops::Range<usize> {
        p.first_row[i] as usize..p.first_row[i + 1] as usize
    }

    fn stand_still(&mut self) {
        self.y.clone_from(&self.now.gamma);
        self.u_y.clone_from(&self.now.u);
    }
}

impl Walk for ExplicitSpace {
    fn residual(&mut self, problem: &Problem) -> f64 {
        let p = explicit(problem);
        (0..p.sets.len()).fold(0.0, |worst, i| {
            let rows = Self::block(p, i);
            let (gamma, u) = (&self.now.gamma[rows.clone()], &self.now.u[rows]);
            worst.larger(natural_residual(p.sets[i], gamma, u, self.diagonal[i]))
        })
    }

    fn objective(&self) -> f64 {
        self.now.objective
    }

    fn keep(&mut self) {
        self.best.clone_from(&self.now.gamma);
    }

    fn rows(&self, _: &Problem, best: bool, out: &mut Vec<f64>) {
        out.clone_from(if best { &self.best } else { &self.now.gamma });
    }
}

impl Space for ExplicitSpace {
    fn start(&mut self, problem: &Problem, guess: Option<&[f64]>, scaling: Scaling) {
        let p = explicit(problem);
        self.diagonal.clear();
        self.diagonal.extend((0..p.sets.len()).map(|i| problem.block_diagonal(i)[0]));
        self.factors.clear();
        self.factors.extend(self.diagonal.iter().map(|g| scaling.factors(*g)));
        let gamma = &mut self.now.gamma;
        gamma.clear();
        match guess {
            None => gamma.resize(p.q.len(), 0.0),
            Some(rows) => gamma.extend_from_slice(rows),
        }
        for (i, set) in p.sets.iter().enumerate() {
            set.project(&mut gamma[Self::block(p, i)]);
        }
        multiply(p, gamma, &mut self.now.u);
        self.now.objective = 0.5 * (dot(gamma, &self.now.u) + dot(gamma, &p.q));
        self.before.gamma.clone_from(gamma);
        self.before.u.clone_from(&self.now.u);
        self.best.clone_from(gamma);
        self.trial.gamma.resize(p.q.len(), 0.0);
        self.stand_still();
    }

    fn lipschitz(&mut self, problem: &Problem) -> [f64; 2] {
        let p = explicit(problem);
        self.trial.gamma.fill(1.0);
        multiply(p, &self.trial.gamma, &mut self.trial.u);
        let (mut top, mut bottom) = (0.0, 0.0);
        for i in 0..p.sets.len() {
            let [step, weight] = self.factors[i];
            for j in Self::block(p, i) {
                top += step * (self.trial.u[j] - p.q[j]).powi(2);
                bottom += weight;
            }
        }
        // Gershgorin's circles of S^½ (W + C) S^½, whose entries are at most those of W times √(η_i η_j).
        let roots = &mut self.trial.u;
        for i in 0..p.sets.len() {
            roots[Self::block(p, i)].fill(self.factors[i][0].sqrt());
        }
        let circle = |j: usize| {
            let soft = p.compliance.get(j).copied().unwrap_or(0.0) * roots[j];
            roots[j] * p.w.row(j).map(|(c, w)| w.abs() * roots[c]).sum::<f64>() + soft * roots[j]
        };
        let bound = (0..p.q.len()).map(circle).fold(0.0, f64::max);
        [if bottom > 0.0 { (top / bottom).sqrt() } else { 0.0 }, bound]
    }

    fn step(&mut self, problem: &Problem, t: f64) -> Trial {
        let p = explicit(problem);
        let mut trial = Trial::default();
        for (i, set) in p.sets.iter().enumerate() {
            let rows = Self::block(p, i);
            let [step, weight] = self.factors[i];
            for j in rows.clone() {
                self.trial.gamma[j] = self.y[j] - t * step * self.u_y[j];
            }
            let z = &mut self.trial.gamma[rows.clone()];
            set.project(z);
            let mut sq = 0.0;
            for (k, j) in rows.enumerate() {
                sq += (z[k] - self.y[j]).powi(2);
                trial.descent += self.u_y[j] * (z[k] - self.now.gamma[j]);
            }
            trial.length += weight * sq;
            if t > 0.0 {
                trial.measure = trial.measure.larger(sq.sqrt() * weight / t);
            }
        }
        multiply(p, &self.trial.gamma, &mut self.trial.u);
        let z = &self.trial;
        for j in 0..p.q.len() {
            trial.curvature += (z.gamma[j] - self.y[j]) * (z.u[j] - self.u_y[j]);
        }
        trial.objective = 0.5 * (dot(&z.gamma, &z.u) + dot(&z.gamma, &p.q));
        self.trial.objective = trial.objective;
        trial
    }

    fn accept(&mut self, beta: f64) {
        std::mem::swap(&mut self.before, &mut self.now);
        std::mem::swap(&mut self.now, &mut self.trial);
        for j in 0..self.y.len() {
            let (now, before) = (&self.now, &self.before);
            self.y[j] = now.gamma[j] + beta * (now.gamma[j] - before.gamma[j]);
            self.u_y[j] = now.u[j] + beta * (now.u[j] - before.u[j]);
        }
    }

    fn blend(&mut self, alpha: f64, objective: f64) {
        if alpha == 1.0 {
            std::mem::swap(&mut self.now, &mut self.trial);
        } else {
            let (now, trial) = (&mut self.now, &self.trial);
            for (x, z) in [(&mut now.gamma, &trial.gamma), (&mut now.u, &trial.u)] {
                x.iter_mut().zip(z).for_each(|(x, z)| *x += alpha * (z - *x));
            }
            now.objective = objective;
        }
        self.stand_still();
    }
}

impl Products for ExplicitSpace {
    fn apply(&mut self, problem: &Problem, x: &[f64], out: &mut Vec<f64>) {
        let p = explicit(problem);
        multiply(p, x, out);
        out.iter_mut().zip(&p.q).for_each(|(u, q)| *u -= q);
    }

    fn scales(&self, i: usize) -> [f64; 3] {
        [self.factors[i][0], self.factors[i][1], self.diagonal[i]]
    }

    fn bytes(&self) -> usize {
        let iterates = [&self.now, &self.before, &self.trial];
        let vectors = iterates.into_iter().flat_map(|x| [&x.gamma, &x.u]);
        let rest = [&self.best, &self.y, &self.u_y, &self.diagonal];
        vectors.chain(rest).map(|v| size_of_val(v.as_slice())).sum::<usize>()
            + size_of_val(self.factors.as_slice())
    }
}
