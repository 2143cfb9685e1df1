//! Passes over a problem with an explicit matrix: u of a block is a few sparse row products.

use crate::cone::{AdmissibleSet, MAX_ROWS};
use crate::problem::{Explicit, Problem};

use super::fixed_point::{Pass, PassStats, Sweeper};
use super::sweep::{conjugate, momentum};

#[derive(Debug, Default)]
pub(super) struct ExplicitSweeper {
    gamma: Vec<f64>,
    before: Vec<f64>,
    pub step: Vec<f64>,
    /// p of the conjugate gradient.
    direction: Vec<f64>,
    best: Vec<f64>,
    /// Whether γ was extrapolated before the last pass.
    ahead: bool,
}

impl ExplicitSweeper {
    pub fn bytes(&self) -> usize {
        [&self.gamma, &self.before, &self.step, &self.direction, &self.best]
            .iter()
            .map(|v| size_of_val(v.as_slice()))
            .sum()
    }

    fn block(&mut self, p: &Explicit, i: usize, pass: Pass, lambda: f64, stats: &mut PassStats) {
        let (first, end) = (p.first_row[i] as usize, p.first_row[i + 1] as usize);
        let (step, n) = (self.step[i], end - first);
        if step == 0.0 {
            return;
        }
        let seen = if pass == Pass::Jacobi { &self.before } else { &self.gamma };
        let mut delta = [0.0; MAX_ROWS];
        for k in 0..n {
            delta[k] = p.row(first + k, seen);
        }
        p.model.correct(p.sets[i], &mut delta[..n]);
        for k in 0..n {
            delta[k] = seen[first + k] - step * delta[k];
        }
        p.sets[i].project(&mut delta[..n]);
        let mut sq = 0.0;
        for k in 0..n {
            let old = self.gamma[first + k];
            let new = lambda * delta[k] + (1.0 - lambda) * old;
            if pass != Pass::Measure {
                self.gamma[first + k] = new;
            }
            sq += (new - old) * (new - old);
        }
        stats.residual = stats.residual.max(sq.sqrt() / (lambda * step));
        stats.delta_sq += sq;
        stats.weighted += sq / (lambda * step);
    }
}

impl Sweeper for ExplicitSweeper {
    fn start(&mut self, problem: &Problem, guess: Option<&[f64]>, step: Vec<f64>) {
        self.gamma.clear();
        self.gamma.resize(problem.rows(), 0.0);
        if let Some(g) = guess {
            self.gamma.copy_from_slice(g);
        }
        self.step = step;
        self.ahead = false;
    }

    fn pass(&mut self, problem: &Problem, pass: Pass, lambda: f64) -> PassStats {
        let Problem::Explicit(p) = problem else { unreachable!("chosen by the form of the problem") };
        let mut stats = PassStats::default();
        let n = p.sets.len();
        match pass {
            Pass::Forward | Pass::Measure => (0..n).for_each(|i| self.block(p, i, pass, lambda, &mut stats)),
            Pass::Backward => (0..n).rev().for_each(|i| self.block(p, i, pass, lambda, &mut stats)),
            Pass::Jacobi => {
                self.before.clone_from(&self.gamma);
                (0..n).for_each(|i| self.block(p, i, pass, lambda, &mut stats));
                let delta: Vec<f64> = self.gamma.iter().zip(&self.before).map(|(x, y)| x - y).collect();
                stats.curvature = (0..delta.len())
                    .map(|i| {
                        let c = p.compliance.get(i).copied().unwrap_or(0.0);
                        delta[i] * (p.w.row_dot(i, &delta) + c * delta[i])
                    })
                    .sum();
            }
        }
        if self.ahead && pass != Pass::Measure {
            for i in 0..n {
                let weight = 1.0 / (lambda * self.step[i]);
                if weight.is_finite() {
                    let rows = p.first_row[i] as usize..p.first_row[i + 1] as usize;
                    let [x, y, d] = [&self.gamma, &self.before, &self.direction].map(|v| &v[rows.clone()]);
                    stats.turn += weight * momentum::turn(x, y, d);
                }
            }
        }
        stats
    }

    fn reject(&mut self) {
        self.gamma.clone_from(&self.before);
    }

    fn rescale(&mut self, factor: f64) {
        self.step.iter_mut().for_each(|s| *s *= factor);
    }

    fn gamma(&mut self, _: &Problem, out: &mut Vec<f64>) {
        out.clone_from(&self.gamma);
    }

    fn mark(&mut self, restart: bool) {
        self.ahead = false;
        self.before.clone_from(&self.gamma);
        if restart {
            self.direction.clear();
            self.direction.resize(self.gamma.len(), 0.0);
        }
    }

    fn conjugate(&mut self, beta: f64) {
        conjugate(&mut self.gamma, &self.before, &mut self.direction, beta);
    }

    fn extrapolate(&mut self, beta: f64) {
        self.ahead = true;
        momentum::extrapolate(&mut self.gamma, &mut self.before, &mut self.direction, beta);
    }

    fn keep(&mut self) {
        self.best.clone_from(&self.gamma);
    }

    fn restore(&mut self, _: &Problem) {
        std::mem::swap(&mut self.gamma, &mut self.best);
    }

    fn objective(&self, problem: &Problem) -> f64 {
        let Problem::Explicit(p) = problem else { unreachable!("chosen by the form of the problem") };
        (0..self.gamma.len()).map(|j| 0.5 * self.gamma[j] * (p.row(j, &self.gamma) + p.q[j])).sum()
    }
}
