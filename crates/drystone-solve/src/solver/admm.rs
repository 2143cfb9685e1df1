//! The alternating direction method of multipliers, with one sparse factor that is kept [Boyd2011, §3;
//! Stellato2020].
//!
//! The relaxed problem is split as min ½ xᵀ(N + C)x + rᵀx + [y ∈ K] subject to x = y. With R = diag(ρ_i g_i),
//! g_i the mean diagonal of each block, and scaled multipliers w:
//!
//! ```text
//!     1.  (N + C + R) x = R (y - w) - r          the factor of [`System`] with H = (C + R)⁻¹
//!     2.  x̂ = α x + (1 - α) y                    over-relaxation, α = 1.6
//!     3.  y = P(x̂ + w),   w ← w + x̂ - y
//! ```
//!
//! y is in K and is what is returned; -R w tends to u. Masses and lever arms enter through the factor, which
//! is why joints and uneven masses cost no more iterations than even ones. Bilateral rows are not split in
//! earnest: their ρ is a thousandth, so that one solve all but satisfies them.
//!
//! ρ adapts to the balance of the two residuals, g|x - y| and ρg|Δy|, each over its own size [Stellato2020,
//! §5.2]; only then the matrix is factored again. An iteration is one solve. ρ and the factor outlive the
//! call: the next problem with the same N and C (another r, as in a fixed point on it) begins without
//! factoring.

use std::time::Instant;

use crate::certificate::Judge;
use crate::cone::{AdmissibleSet, Set};
use crate::problem::{Malformed, Problem};

use super::growth::Growth;
use super::system::small::{Small, ZERO};
use super::system::{System, record};
use super::{BadSpec, Info, Param, Solution, Solver, Spec, Status, Stop, first_order};

pub(super) static INFO: Info = Info {
    name: "admm",
    title: "alternating direction method of multipliers with adaptive penalty, one sparse factor reused",
    use_when: "joints and large mass ratios at middling accuracy; many right-hand sides with one matrix",
    models: &["ccp"],
    unit: "solve",
    citation: "Stellato2020; Boyd2011, §3",
    params: &[
        Param {
            name: "rho",
            default: "0.1",
            help: "first penalty, as a share of each block's diagonal, above 0",
        },
        Param { name: "alpha", default: "1.6", help: "over-relaxation, in (0, 2)" },
    ],
    make,
};

fn make(spec: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    let alpha = spec.positive("alpha", 1.6, 2.0)?;
    if alpha == 2.0 {
        return Err(BadSpec("parameter 'alpha' of 'admm' must be below 2".into()));
    }
    let rho = spec.positive("rho", 0.1, f64::INFINITY)?;
    Ok(Box::new(Admm { first_rho: rho, alpha, ..Admm::default() }))
}

/// ρ of bilateral rows over that of the others.
const BILATERAL: f64 = 1e-3;
/// ρ is looked at after this many solves, and changed by no less than this factor.
const LOOK: usize = 10;
const CHANGE: f64 = 3.0;

#[derive(Default)]
struct Admm {
    first_rho: f64,
    alpha: f64,
    /// ρ of the factor; 0 while there is none.
    rho: f64,
    /// Most operations of one factorisation; None: any.
    most: Option<f64>,
    system: System,
    judge: Judge,
    growth: Growth,
    x: Vec<f64>,
    y: Vec<f64>,
    w: Vec<f64>,
    rhs: Vec<f64>,
    before: Vec<f64>,
    best: Vec<f64>,
    t: Vec<Small>,
}

/// The two residuals and their sizes, m/s.
#[derive(Clone, Copy, Debug, Default)]
struct Balance {
    primal: f64,
    dual: f64,
    primal_size: f64,
    dual_size: f64,
}

impl Solver for Admm {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn bytes(&self) -> usize {
        self.system.bytes() + 6 * size_of_val(self.x.as_slice()) + size_of_val(self.t.as_slice())
    }

    fn limit_operations(&mut self, most: f64) {
        self.most = Some(most);
    }

    fn forget(&mut self) {
        self.rho = 0.0;
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
        self.y.clone_from(&out.gamma);
        let mut best = self.judge.judge(problem, &self.y).residual_max;
        self.best.clone_from(&self.y);
        if best <= stop.tolerance || rows == 0 {
            out.status = Status::Converged;
            return Ok(out);
        }
        if guess.is_some() {
            // A guess that is worse than none: stress between walls that has nothing to do with this problem.
            let none = Solution::start(problem, None).gamma;
            let residual = self.judge.judge(problem, &none).residual_max;
            if residual < best {
                best = residual;
                self.best.clone_from(&none);
                self.y = none;
            }
        }
        if !self.system.load(problem) {
            self.rho = 0.0;
        }
        if self.most.is_some_and(|most| self.system.flops() > most) {
            self.rho = 0.0;
            return Ok(out);
        }
        if self.rho == 0.0 {
            self.penalise(problem, self.first_rho);
        }
        let wedgeable = !problem.rest_is_feasible();
        self.start();
        let (mut next_look, mut next_judge) = (LOOK, 1);
        self.growth.restart();
        while out.iterations < stop.iterations {
            if stop.is_late(begun) && out.iterations > 0 {
                out.status = Status::Budget;
                break;
            }
            let balance = self.iterate(problem);
            out.iterations += 1;
            if !(balance.primal + balance.dual).is_finite() {
                out.status = Status::Diverged;
                break;
            }
            let near = balance.primal.max(balance.dual) <= 2.0 * stop.tolerance;
            let last = out.iterations == stop.iterations;
            let due = wedgeable && Growth::due(out.iterations);
            if near || last || stop.history || due || out.iterations >= next_judge {
                next_judge = out.iterations + (out.iterations / 4).clamp(1, 25);
                let c = self.judge.judge(problem, &self.y);
                if stop.history {
                    out.history.push(record(&c, &self.before, &self.y));
                }
                if c.residual_max < best {
                    best = c.residual_max;
                    self.best.clone_from(&self.y);
                }
                if stop.tolerance > 0.0 && c.residual_max <= stop.tolerance {
                    out.status = Status::Converged;
                    break;
                }
                if wedgeable {
                    self.system.apply(&self.y, &mut self.rhs);
                    self.rhs.iter_mut().zip(&self.system.r).for_each(|(u, r)| *u += r);
                    let Self { growth, judge, y, system, rhs, .. } = &mut *self;
                    if (due && growth.tell(problem, judge, y, c.residual_max))
                        || (system.proves_contradiction(y, rhs) && growth.is_proof(problem, judge, y))
                    {
                        self.best.clone_from(&self.y);
                        out.status = Status::Wedged;
                        break;
                    }
                }
            }
            if out.iterations >= next_look {
                // Rarely in the long run: every change unsettles w.
                next_look = out.iterations + LOOK.max(out.iterations / 4);
                self.adapt(problem, balance);
            }
        }
        if out.status != Status::Converged {
            // Fitted to a problem that may contradict itself: no help where the same matrix comes with
            // another r.
            self.rho = 0.0;
        }
        out.gamma.clone_from(&self.best);
        Ok(out)
    }
}

impl Admm {
    /// ρ_i g_i of a block.
    fn penalty(&self, problem: &Problem, i: usize) -> f64 {
        let share = if problem.set(i) == Set::Free { BILATERAL } else { 1.0 };
        share * self.rho * self.system.diagonal[i]
    }

    /// Factors for a new ρ; w keeps R w.
    fn penalise(&mut self, problem: &Problem, rho: f64) {
        if self.rho > 0.0 {
            let scale = self.rho / rho;
            self.w.iter_mut().for_each(|w| *w *= scale);
        }
        self.rho = rho;
        self.t.clear();
        for i in 0..self.system.blocks() {
            let penalty = self.penalty(problem, i);
            let mut t = ZERO;
            for (k, j) in self.system.block(i).enumerate() {
                let soft = penalty + self.system.compliance[j];
                t[k][k] = if soft > 0.0 { soft.sqrt().recip() } else { 0.0 };
            }
            self.t.push(t);
        }
        // Its iterations are made of solves with one factor: without it there is nothing to return.
        self.system.factorise(&self.t, &|| true);
    }

    /// w = -u/R at y, so that a solution is a fixed point.
    fn start(&mut self) {
        let rows = self.y.len();
        for field in [&mut self.x, &mut self.w, &mut self.rhs] {
            field.clear();
            field.resize(rows, 0.0);
        }
        self.before.clone_from(&self.y);
        if self.y.iter().all(|y| *y == 0.0) {
            return;
        }
        self.system.apply(&self.y, &mut self.rhs);
        for i in 0..self.system.blocks() {
            for (k, j) in self.system.block(i).enumerate() {
                let root = self.t[i][k][k];
                let penalty = 1.0 / (root * root) - self.system.compliance[j];
                if root > 0.0 && penalty > 0.0 {
                    self.w[j] = -(self.rhs[j] + self.system.r[j]) / penalty;
                }
            }
        }
    }

    fn iterate(&mut self, problem: &Problem) -> Balance {
        let blocks = self.system.blocks();
        // 1.
        for i in 0..blocks {
            let penalty = self.penalty(problem, i);
            for j in self.system.block(i) {
                self.rhs[j] = penalty * (self.y[j] - self.w[j]) - self.system.r[j];
            }
        }
        self.system.solve(&self.rhs, &mut self.x);
        // 2.-3.
        std::mem::swap(&mut self.before, &mut self.y);
        let mut balance = Balance::default();
        for i in 0..blocks {
            let rows = self.system.block(i);
            let (g, penalty) = (self.system.diagonal[i], self.penalty(problem, i));
            for j in rows.clone() {
                let relaxed = self.alpha * self.x[j] + (1.0 - self.alpha) * self.before[j];
                self.w[j] += relaxed;
                self.y[j] = self.w[j];
            }
            problem.set(i).project(&mut self.y[rows.clone()]);
            let mut squares = [0.0; 5];
            for j in rows {
                self.w[j] -= self.y[j];
                squares[0] += (self.x[j] - self.y[j]).powi(2);
                squares[1] += (self.y[j] - self.before[j]).powi(2);
                squares[2] += self.x[j].powi(2).max(self.y[j].powi(2));
                squares[3] += self.w[j].powi(2);
                squares[4] += self.system.r[j].powi(2);
            }
            let [apart, moved, size, slack, rhs] = squares.map(f64::sqrt);
            balance.primal = larger(balance.primal, g * apart);
            balance.dual = larger(balance.dual, penalty * moved);
            balance.primal_size = larger(balance.primal_size, g * size);
            balance.dual_size = larger(balance.dual_size, larger(penalty * slack, rhs));
        }
        balance
    }

    fn adapt(&mut self, problem: &Problem, b: Balance) {
        let ratio = (b.primal / b.primal_size) / (b.dual / b.dual_size);
        if !(ratio.is_finite() && ratio > 0.0) {
            return;
        }
        let rho = (self.rho * ratio.sqrt().clamp(0.01, 100.0)).clamp(1e-6, 1e3);
        if rho > CHANGE * self.rho || rho * CHANGE < self.rho {
            self.penalise(problem, rho);
        }
    }
}

/// The larger, and a NaN where there is one.
fn larger(x: f64, y: f64) -> f64 {
    if x >= y { x } else { y }
}
