//! Proximal point around a semismooth Newton method: the winner at tight tolerances in the published
//! comparison \[AcaryBremondHuber2018\], here for the relaxed problem.
//!
//! Outer step k makes every block a little compliant about where it stands, a_i = ε_k g_i:
//!
//! ```text
//!     γ_k+1 = argmin over K of  ½ γᵀ(N + C)γ + rᵀγ + Σ ½ a_i |γ_i - γ_k,i|²
//! ```
//!
//! which is γ = P(γ_k - a⁻¹((N + C)γ + r)). With x(θ) = γ_k - a⁻¹((N + C)θ + r) and F(θ) = θ - P(x), the
//! semismooth Newton step (1 + a⁻¹V(N + C)) d = -F, V = P'(x), is the Newton step of the convex
//!
//! ```text
//!     φ(θ) = ½ θᵀ(N + C)θ + Σ ½ a_i |P(x_i)|²,      φ' along d = ⟨(N + C)d, F⟩ < 0
//! ```
//!
//! so that a line search on φ' (projections only, no products) makes it converge from anywhere. The matrix is
//! that of [`System`] with H = (a + VC)⁻¹V. Small ε leaves few outer steps; cold starts begin with a larger
//! one. But the smaller ε, the more of a step is rounding: from 1e-6 down what is left of the linear system
//! is looked at and taken off, and where that fails (redundant contacts under uneven masses) ε goes back up
//! by ten and stays there. An iteration is one factorisation. A guess is used as it is. A cold start begins
//! with a step that takes every contact to be closed and to stick (any symmetric V gives a step along which φ
//! falls): otherwise contacts would close one layer after the other, one in each iteration. Where caps end it
//! early, the objective of what is returned is no higher than that of a few sweeps from the start.

use std::time::Instant;

use crate::certificate::Judge;
use crate::cone::AdmissibleSet;
use crate::problem::{Malformed, Problem};

use super::growth::Growth;
use super::system::small::{self, Small, ZERO};
use super::system::{System, record};
use super::{BadSpec, Info, Param, Solution, Solver, Spec, Status, Stop, first_order};

pub(super) static INFO: Info = Info {
    name: "prox",
    title: "proximal point around a semismooth Newton method, sparse Cholesky",
    use_when: "tight tolerances, tall stacks, uneven masses; warm starts; a few factorisations a step",
    models: &["ccp"],
    unit: "factorisation",
    citation: "AcaryBremondHuber2018",
    params: &[Param {
        name: "epsilon",
        default: "1e-3",
        help: "first proximal compliance, as a share of each block's diagonal, in (0, 1]",
    }],
    make,
};

fn make(spec: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    Ok(Box::new(Prox::new(spec.positive("epsilon", 1e-3, 1.0)?)))
}

/// ε does not fall below this: the matrix must stay within what rounding can bear.
const LEAST: f64 = 1e-8;
/// Sweeps that are worth more than Newton steps that were cut short.
const SWEEPS: usize = 10;
/// Newton steps of one outer step.
const INNER: usize = 50;
/// From this ε down the linear systems are looked after, and what may be left of their right side.
const STIFF: f64 = 1e-6;
const LINEAR: f64 = 0.01;

/// What became of a Newton step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Taken,
    /// Rounding lets nothing more be gained.
    Nothing,
    /// The matrix is beyond rounding: ε is too small.
    TooStiff,
    /// Cut short.
    Late,
}

/// a + VC.
fn softened(n: usize, a: f64, v: &Small, c: &[f64]) -> Small {
    let mut m = ZERO;
    for r in 0..n {
        (0..n).for_each(|k| m[r][k] = v[r][k] * c[k]);
        m[r][r] += a;
    }
    m
}

#[derive(Default)]
pub(super) struct Prox {
    epsilon: f64,
    /// The last ε.
    least: f64,
    /// Most operations of one factorisation; None: any.
    most: Option<f64>,
    system: System,
    judge: Judge,
    growth: Growth,
    gamma: Vec<f64>,
    theta: Vec<f64>,
    /// (N + C)θ + r.
    u: Vec<f64>,
    x: Vec<f64>,
    p: Vec<f64>,
    d: Vec<f64>,
    q: Vec<f64>,
    work: Vec<f64>,
    t: Vec<Small>,
    best: Vec<f64>,
    /// Of a refined Newton step, d and (N + C)d so far.
    sum: Vec<f64>,
    sum_q: Vec<f64>,
    sweeps: Option<Option<Box<dyn Solver>>>,
}

impl Solver for Prox {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn bytes(&self) -> usize {
        self.system.bytes() + 10 * size_of_val(self.gamma.as_slice()) + size_of_val(self.t.as_slice())
    }

    fn limit_operations(&mut self, most: f64) {
        self.most = Some(most);
    }

    fn solve(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        first_order::check(problem, guess)?;
        let begun = Instant::now();
        let rows = problem.rows();
        let mut out = Solution::start(problem, guess);
        self.gamma.clone_from(&out.gamma);
        let start = self.judge.judge(problem, &self.gamma);
        let (mut best, mut objective, mut best_is_start) = (start.residual_max, start.dual_objective, true);
        self.best.clone_from(&self.gamma);
        if best <= stop.tolerance || rows == 0 {
            out.status = Status::Converged;
            return Ok(out);
        }
        self.system.load(problem);
        if self.most.is_some_and(|most| self.system.flops() > most) {
            return Ok(out);
        }
        let wedgeable = !problem.rest_is_feasible();
        for field in [&mut self.u, &mut self.x, &mut self.p, &mut self.q] {
            field.clear();
            field.resize(rows, 0.0);
        }
        self.theta.clone_from(&self.gamma);
        let cold = self.gamma.iter().all(|g| *g == 0.0);
        let mut epsilon = self.epsilon;
        let mut stuck = 0;
        let mut least = self.least;
        self.growth.restart();
        let spent = |done: usize| {
            if done >= stop.iterations {
                return Some(Status::Iterations);
            }
            (done > 0 && stop.is_late(begun)).then_some(Status::Budget)
        };
        // The first step, of which one is always taken, is cut short by an interrupt only.
        let more = |done: usize| !(stop.is_interrupted() || done > 0 && stop.is_late(begun));
        'outer: loop {
            self.velocity();
            let before = out.iterations;
            let mut settled = true;
            loop {
                let (error, moved) = self.project(problem, epsilon);
                if error <= 0.1 * moved.max(stop.tolerance) && out.iterations > before {
                    break;
                }
                if let Some(status) = spent(out.iterations) {
                    out.status = status;
                    break;
                }
                let closed = cold && out.iterations == 0;
                let step = match out.iterations - before < INNER {
                    true => self.newton(problem, epsilon, closed, &|| more(out.iterations)),
                    false => Step::Nothing,
                };
                if step == Step::Late {
                    out.status = Status::Budget;
                    break;
                }
                if step == Step::Nothing {
                    settled = false;
                    break;
                }
                out.iterations += 1;
                if step == Step::TooStiff {
                    // Less stiff, then, and no stiffer again.
                    least = (10.0 * epsilon).min(self.epsilon);
                    epsilon = least;
                    continue;
                }
                if stop.history {
                    self.project(problem, epsilon);
                    let c = self.judge.judge(problem, &self.p);
                    out.history.push(record(&c, &self.gamma, &self.p));
                }
            }
            let c = self.judge.judge(problem, &self.p);
            // The start is beaten by a lower objective too: that means better velocities, whatever the worst
            // contact says.
            if c.residual_max < best || (best_is_start && c.dual_objective < objective) {
                (best, objective, best_is_start) = (c.residual_max, c.dual_objective, false);
                self.best.clone_from(&self.p);
                stuck = 0;
            } else {
                stuck += 1;
            }
            if stop.tolerance > 0.0 && c.residual_max <= stop.tolerance {
                out.status = Status::Converged;
                break;
            }
            if spent(out.iterations).is_some()
                || !more(out.iterations)
                || stuck > 8
                || self.p.iter().any(|x| !x.is_finite())
            {
                break;
            }
            std::mem::swap(&mut self.gamma, &mut self.p);
            self.theta.clone_from(&self.gamma);
            if wedgeable {
                self.velocity();
                // Outer steps are what doublings are to sweeps: each moves γ much further than the one
                // before.
                let Self { growth, judge, gamma, system, u, .. } = &mut *self;
                if growth.tell(problem, judge, gamma, c.residual_max)
                    || (system.proves_contradiction(gamma, u) && growth.is_proof(problem, judge, gamma))
                {
                    self.best.clone_from(&self.gamma);
                    out.status = Status::Wedged;
                    break 'outer;
                }
            }
            // A step that was not solved is taken again from where it got to.
            if settled {
                let quick = out.iterations - before <= 6;
                epsilon = (epsilon * if quick { 0.1 } else { 0.3 }).max(least);
            }
        }
        if matches!(out.status, Status::Iterations | Status::Budget) && stop.iterations > 0 {
            // Cut short, possibly before contacts that are new have any multipliers: a few sweeps from the
            // start are something to measure up to.
            let few = Stop { tolerance: stop.tolerance, iterations: SWEEPS, ..Stop::default() };
            let sweeps = self.sweeps.get_or_insert_with(|| super::make("pgs").ok());
            if let Some(sweeps) = sweeps {
                let s = sweeps.solve(problem, Some(&out.gamma), &few)?;
                if self.judge.judge(problem, &s.gamma).dual_objective < objective {
                    self.best = s.gamma;
                    if s.status == Status::Converged {
                        out.status = s.status;
                    }
                }
            }
        }
        out.gamma.clone_from(&self.best);
        Ok(out)
    }
}

impl Prox {
    /// A solver that begins with this ε.
    pub fn new(epsilon: f64) -> Self {
        Self::down_to(epsilon, LEAST)
    }

    /// One that ends with another ε than most.
    pub fn down_to(epsilon: f64, least: f64) -> Self {
        Self { epsilon, least, ..Self::default() }
    }

    /// u = (N + C)θ + r.
    fn velocity(&mut self) {
        self.system.apply(&self.theta, &mut self.u);
        self.u.iter_mut().zip(&self.system.r).for_each(|(u, r)| *u += r);
    }

    /// x and p = P(x). Returns the largest g |θ - p| and ε g |p - γ|, m/s.
    fn project(&mut self, problem: &Problem, epsilon: f64) -> (f64, f64) {
        let (mut error, mut moved) = (0.0f64, 0.0f64);
        for i in 0..self.system.blocks() {
            let rows = self.system.block(i);
            let g = self.system.diagonal[i];
            for j in rows.clone() {
                self.x[j] = if g > 0.0 { self.gamma[j] - self.u[j] / (epsilon * g) } else { self.gamma[j] };
                self.p[j] = self.x[j];
            }
            problem.set(i).project(&mut self.p[rows.clone()]);
            let far = |y: &[f64]| rows.clone().map(|j| (y[j] - self.p[j]).powi(2)).sum::<f64>().sqrt();
            error = error.max(g * far(&self.theta));
            moved = moved.max(epsilon * g * far(&self.gamma));
        }
        (error, moved)
    }

    /// One Newton step with line search, with V = 1 for all cones if `closed`.
    fn newton(&mut self, problem: &Problem, epsilon: f64, closed: bool, more: &dyn Fn() -> bool) -> Step {
        let blocks = self.system.blocks();
        self.t.clear();
        // f = B⁻¹ (-F), B = 1 + VC/a.
        self.work.clear();
        self.work.extend(self.p.iter().zip(&self.theta).map(|(p, t)| p - t));
        for i in 0..blocks {
            let rows = self.system.block(i);
            let (n, a) = (rows.len(), epsilon * self.system.diagonal[i]);
            if a <= 0.0 {
                self.t.push(ZERO);
                continue;
            }
            let v = self.derivative(problem, i, closed);
            let c = &self.system.compliance[rows.clone()];
            let mut h = ZERO;
            if c.iter().all(|c| *c == 0.0) {
                for r in 0..n {
                    (0..n).for_each(|k| h[r][k] = v[r][k] / a);
                }
            } else {
                let inverse = small::general_inverse(n, &softened(n, a, &v, c));
                for r in 0..n {
                    for k in 0..n {
                        h[r][k] = (0..n).map(|s| inverse[r][s] * v[s][k]).sum();
                    }
                }
                for r in 0..n {
                    for k in 0..r {
                        let mean = 0.5 * (h[r][k] + h[k][r]);
                        (h[r][k], h[k][r]) = (mean, mean);
                    }
                }
                let mut f = [0.0; crate::cone::MAX_ROWS];
                small::multiply(n, &inverse, &self.work[rows.clone()], &mut f);
                for (k, j) in rows.enumerate() {
                    self.work[j] = a * f[k];
                }
            }
            self.t.push(small::root(n, &h));
        }
        if !self.system.factorise(&self.t, more) {
            return Step::Late;
        }
        self.direction();
        self.system.apply(&self.d, &mut self.q);
        if epsilon <= STIFF && !self.refine(problem, epsilon, closed) {
            return Step::TooStiff;
        }
        let t = self.line_search(problem, epsilon);
        if !(t > 0.0) || self.d.iter().any(|x| !x.is_finite()) {
            return Step::Nothing;
        }
        for j in 0..self.theta.len() {
            self.theta[j] += t * self.d[j];
            self.u[j] += t * self.q[j];
        }
        Step::Taken
    }

    /// d = f - (N + H⁻¹)⁻¹ N f, f = B⁻¹ of the right side.
    fn direction(&mut self) {
        self.system.apply(&self.work, &mut self.q);
        for j in 0..self.q.len() {
            self.q[j] -= self.system.compliance[j] * self.work[j];
        }
        self.system.solve(&self.q, &mut self.d);
        self.d.iter_mut().zip(&self.work).for_each(|(d, f)| *d = f - *d);
    }

    /// Takes off what rounding left of (a + V(N + C)) d = -aF where that is much; false where it cannot be
    /// taken off, because the matrix is beyond rounding.
    fn refine(&mut self, problem: &Problem, epsilon: f64, closed: bool) -> bool {
        let mut before = f64::INFINITY;
        self.sum.clone_from(&self.d);
        self.sum_q.clone_from(&self.q);
        loop {
            let (mut now, mut all) = (0.0f64, 0.0f64);
            for i in 0..self.system.blocks() {
                let rows = self.system.block(i);
                let (n, a) = (rows.len(), epsilon * self.system.diagonal[i]);
                if a <= 0.0 {
                    self.work[rows].fill(0.0);
                    continue;
                }
                let v = self.derivative(problem, i, closed);
                let mut left = [0.0; crate::cone::MAX_ROWS];
                for (k, j) in rows.clone().enumerate() {
                    let asked = self.p[j] - self.theta[j];
                    let pushed = (0..n).map(|m| v[k][m] * self.sum_q[rows.start + m]).sum::<f64>();
                    left[k] = asked - self.sum[j] - pushed / a;
                    now = now.max(a * left[k].abs());
                    all = all.max(a * asked.abs());
                }
                let c = &self.system.compliance[rows.clone()];
                if c.iter().any(|c| *c != 0.0) {
                    let inverse = small::general_inverse(n, &softened(n, a, &v, c));
                    let mut f = [0.0; crate::cone::MAX_ROWS];
                    small::multiply(n, &inverse, &left[..n], &mut f);
                    (0..n).for_each(|k| left[k] = a * f[k]);
                }
                self.work[rows].copy_from_slice(&left[..n]);
            }
            if now <= LINEAR * all {
                break;
            }
            if !(now < 0.5 * before) {
                return false;
            }
            before = now;
            self.direction();
            self.system.apply(&self.d, &mut self.q);
            self.sum.iter_mut().zip(&self.d).for_each(|(s, d)| *s += d);
            self.sum_q.iter_mut().zip(&self.q).for_each(|(s, q)| *s += q);
        }
        std::mem::swap(&mut self.d, &mut self.sum);
        std::mem::swap(&mut self.q, &mut self.sum_q);
        true
    }

    /// V of block `i` at x.
    fn derivative(&self, problem: &Problem, i: usize, closed: bool) -> Small {
        let set = problem.set(i);
        match closed && set.is_cone() {
            true => set.closed(),
            false => set.derivative(&self.x[self.system.block(i)]),
        }
    }

    /// φ'(t) along d.
    fn slope(&self, problem: &Problem, epsilon: f64, t: f64) -> f64 {
        let mut sum = 0.0;
        for i in 0..self.system.blocks() {
            let rows = self.system.block(i);
            let a = epsilon * self.system.diagonal[i];
            if a <= 0.0 {
                continue;
            }
            let mut p = [0.0; crate::cone::MAX_ROWS];
            for (k, j) in rows.clone().enumerate() {
                p[k] = self.x[j] - t * self.q[j] / a;
            }
            problem.set(i).project(&mut p[..rows.len()]);
            for (k, j) in rows.enumerate() {
                sum += self.q[j] * (self.theta[j] + t * self.d[j] - p[k]);
            }
        }
        sum
    }

    /// A step at which φ has all but stopped falling: 1 if it still falls there or rises slowly, else near
    /// the minimum.
    fn line_search(&self, problem: &Problem, epsilon: f64) -> f64 {
        let first = self.slope(problem, epsilon, 0.0);
        let last = self.slope(problem, epsilon, 1.0);
        if !(first < 0.0) || last <= -0.3 * first {
            return 1.0;
        }
        // Regula falsi with the weight of the end that stays put halved.
        let (mut lo, mut hi, mut f_lo, mut f_hi) = (0.0, 1.0, first, last);
        for _ in 0..30 {
            let t = lo + (hi - lo) * f_lo / (f_lo - f_hi);
            let f = self.slope(problem, epsilon, t);
            if f.abs() <= -0.1 * first {
                return t;
            }
            if f < 0.0 {
                (lo, f_lo) = (t, f);
                f_hi *= 0.5;
            } else {
                (hi, f_hi) = (t, f);
                f_lo *= 0.5;
            }
        }
        0.5 * (lo + hi)
    }
}
