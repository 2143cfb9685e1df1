//! The last digits under the exact law: proximal steps as in [`crate::solver::prox`], each solved by a
//! semismooth Newton method on Alart and Curnier's function. With a_i = ε g_i and Q of [`crate::cone`]
//!
//! ```text
//!     F(θ) = θ - Q(x),     x = γ - a⁻¹((N + C)θ + r),     (1 + a⁻¹Q'(N + C)) d = -F
//! ```
//!
//! has a system that is not symmetric (see [`System::factorise_general`]) and no merit function but |aF|, so
//! that it converges from nearby only: where a step fails, ε grows, which asks for less.

use crate::certificate::Judge;
use crate::problem::Problem;
use crate::solver::system::System;
use crate::solver::system::small::{self, Small, ZERO};

/// First, least and most compliance, as shares of each block's diagonal.
const FIRST: f64 = 1e-6;
const LEAST: f64 = 1e-9;
const MOST: f64 = 1.0;
/// Newton steps of one proximal step.
const INNER: usize = 10;
/// Shortest step of the line search.
const SHORTEST: f64 = 0.02;

#[derive(Default)]
pub(super) struct Polish {
    theta: Vec<f64>,
    u: Vec<f64>,
    x: Vec<f64>,
    p: Vec<f64>,
    d: Vec<f64>,
    q: Vec<f64>,
    work: Vec<f64>,
    t: Vec<Small>,
    right: Vec<Small>,
}

impl Polish {
    /// Improves `gamma`, whose residual is `residual`, until that is within `tolerance` or `most`
    /// factorisations were done (or `more` says no). Returns how many were, and the residual.
    pub fn run(
        &mut self,
        problem: &Problem,
        system: &mut System,
        judge: &mut Judge,
        gamma: &mut Vec<f64>,
        mut residual: f64,
        tolerance: f64,
        most: usize,
        more: &dyn Fn() -> bool,
    ) -> (usize, f64) {
        let rows = gamma.len();
        for field in [&mut self.u, &mut self.x, &mut self.p, &mut self.q] {
            field.clear();
            field.resize(rows, 0.0);
        }
        let (mut epsilon, mut done) = (FIRST, 0);
        while residual > tolerance && epsilon <= MOST {
            self.theta.clone_from(gamma);
            system.apply_whole(&self.theta, &mut self.u);
            self.u.iter_mut().zip(&system.r).for_each(|(u, r)| *u += r);
            let goal = (0.1 * tolerance).max(0.01 * residual);
            let mut merit = self.project(problem, system, gamma, epsilon);
            let mut inner = 0;
            // At least one: what is far from γ may be near its own fixed point.
            while inner == 0 || merit[1] > goal {
                if done >= most || !more() {
                    return (done, residual);
                }
                done += 1;
                inner += 1;
                match self.newton(problem, system, gamma, epsilon, merit[0], more) {
                    Some(m) if inner <= INNER => merit = m,
                    _ => {
                        merit[1] = f64::INFINITY;
                        break;
                    }
                }
            }
            if merit[1] <= goal {
                let reached = judge.judge(problem, &self.p).residual_max;
                if reached < residual {
                    residual = reached;
                    gamma.clone_from(&self.p);
                    epsilon = if inner <= 2 { (0.1 * epsilon).max(LEAST) } else { epsilon };
                    continue;
                }
            }
            epsilon *= 5.0;
        }
        (done, residual)
    }

    /// x and p = Q(x) at θ. Returns |a(θ - p)| over all rows, and the largest of a block.
    fn project(&mut self, problem: &Problem, system: &System, gamma: &[f64], epsilon: f64) -> [f64; 2] {
        let (mut sum, mut largest) = (0.0, 0.0f64);
        for i in 0..system.blocks() {
            let rows = system.block(i);
            let a = epsilon * system.diagonal[i];
            for j in rows.clone() {
                self.x[j] = if a > 0.0 { gamma[j] - self.u[j] / a } else { gamma[j] };
                self.p[j] = self.x[j];
            }
            problem.set(i).project_exact(&mut self.p[rows.clone()]);
            let far: f64 = rows.map(|j| (a * (self.theta[j] - self.p[j])).powi(2)).sum();
            sum += far;
            largest = largest.max(far);
        }
        [sum.sqrt(), largest.sqrt()]
    }

    /// One step with line search on `merit`; None where that does not fall, or `more` says no.
    fn newton(
        &mut self,
        problem: &Problem,
        system: &mut System,
        gamma: &[f64],
        epsilon: f64,
        merit: f64,
        more: &dyn Fn() -> bool,
    ) -> Option<[f64; 2]> {
        self.t.clear();
        self.right.clear();
        self.work.clear();
        self.work.extend(self.p.iter().zip(&self.theta).map(|(p, t)| p - t));
        for i in 0..system.blocks() {
            let rows = system.block(i);
            let (n, a) = (rows.len(), epsilon * system.diagonal[i]);
            let (mut h, mut unit) = (ZERO, ZERO);
            (0..n).for_each(|k| unit[k][k] = 1.0);
            self.right.push(unit);
            if a > 0.0 {
                let v = problem.set(i).derivative_exact(&self.x[rows.clone()]);
                let c = &system.compliance[rows.clone()];
                // B = 1 + VC/a: H = B⁻¹V/a, and the right side is B⁻¹(-F).
                let mut b = unit;
                for r in 0..n {
                    (0..n).for_each(|k| b[r][k] += v[r][k] * c[k] / a);
                }
                let inverse = if c.iter().all(|c| *c == 0.0) { unit } else { small::general_inverse(n, &b) };
                for r in 0..n {
                    for k in 0..n {
                        h[r][k] = (0..n).map(|s| inverse[r][s] * v[s][k]).sum::<f64>() / a;
                    }
                }
                let mut f = [0.0; crate::cone::MAX_ROWS];
                small::multiply(n, &inverse, &self.work[rows.clone()], &mut f);
                self.work[rows].copy_from_slice(&f[..n]);
            }
            self.t.push(h);
        }
        if !system.factorise_general(&self.t, &self.right, more) {
            return None;
        }
        // d = f - (N + H⁻¹)⁻¹ N f.
        system.apply_whole(&self.work, &mut self.q);
        for j in 0..self.q.len() {
            self.q[j] -= system.compliance[j] * self.work[j];
        }
        system.solve_general(&self.q, &mut self.d);
        self.d.iter_mut().zip(&self.work).for_each(|(d, f)| *d = f - *d);
        if self.d.iter().any(|x| !x.is_finite()) {
            return None;
        }
        system.apply_whole(&self.d, &mut self.q);
        let (mut t, mut at) = (1.0, 0.0);
        loop {
            for j in 0..self.theta.len() {
                self.theta[j] += (t - at) * self.d[j];
                self.u[j] += (t - at) * self.q[j];
            }
            let found = self.project(problem, system, gamma, epsilon);
            if found[0] < (1.0 - 1e-4 * t) * merit {
                return Some(found);
            }
            at = t;
            t *= 0.5;
            if t < SHORTEST {
                return None;
            }
        }
    }
}
