//! The linear systems of the second-order and splitting solvers, over both forms of the problem.
//!
//! All of them need (N + H⁻¹)⁻¹ b for some block-diagonal H ⪰ 0, one small matrix for each block: H⁻¹ holds
//! compliance, barrier or proximal terms. H may be singular (a row that must not move has none). Bodies are
//! normalised by M⁻¹ = G Gᵀ, D̂ = Gᵀ D, so that N = D̂ᵀ D̂ and a body that cannot turn about some axis needs
//! no special care. With H = T Tᵀ
//!
//! ```text
//!     primal    (N + H⁻¹)⁻¹ b = H (b - D̂ᵀ P⁻¹ D̂ H b),      P = 1 + Σ D̂_i H_i D̂_iᵀ       six rows a body
//!     dual      (N + H⁻¹)⁻¹ b = T S⁻¹ Tᵀ b,                 S = 1 + Tᵀ N T               one row a multiplier
//! ```
//!
//! Both matrices are positive definite, and never below 1. Which of them is factored is decided by the work
//! that takes; an explicit matrix has only the dual. The order and the structure of the factor are kept as
//! long as the graph of blocks stays the same.

mod assemble;
mod general;
mod load;
pub(super) mod small;

use crate::certificate::Certificate;
use crate::cone::MAX_ROWS;
use crate::problem::{Csr, WORLD};

use super::Record;
use super::growth::ABSURD;
use super::sparse::{Factor, Lu, Pattern, Symbolic};
use small::Small;

/// ⟨x, y⟩.
pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// One iteration's record.
pub(super) fn record(c: &Certificate, before: &[f64], now: &[f64]) -> Record {
    let change = now.iter().zip(before).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
    Record {
        residual: c.residual_max,
        constraint_violation: c.constraint_violation,
        delta_gamma: change,
        objective: c.dual_objective,
    }
}

/// Which matrix is factored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// Over bodies.
    #[default]
    Primal,
    /// Over blocks.
    Dual,
}

/// The operator N, C and r, and a factorisation.
#[derive(Debug, Default)]
pub(super) struct System {
    /// First row of each block, and the number of rows at the end.
    pub first: Vec<u32>,
    /// C by row.
    pub compliance: Vec<f64>,
    /// r by row.
    pub r: Vec<f64>,
    /// g by block: the mean diagonal of N + C.
    pub diagonal: Vec<f64>,
    /// D̂ᵀ by row, for both bodies; empty for an explicit matrix.
    jacobian: Vec<[f64; 12]>,
    /// Bodies of each block.
    ends: Vec<[u32; 2]>,
    bodies: usize,
    /// The symmetric part of an explicit matrix, and all of it.
    w: Csr,
    whole: Csr,
    form: Form,
    pattern: Pattern,
    symbolic: Symbolic,
    values: Vec<f64>,
    /// Blocks below the diagonal, transposed, where the matrix is not symmetric.
    mirror: Vec<f64>,
    factor: Factor,
    lu: Lu,
    t: Vec<Small>,
    right: Vec<Small>,
    /// By block: where its parts of the matrix begin. Primal: diagonals of both bodies, and their pair.
    slots: Vec<[usize; 3]>,
    /// Dual: blocks at each body.
    at_body: Vec<Vec<u32>>,
    /// Tᵀ D̂ᵀ, and Rᵀ D̂ᵀ.
    scaled: Vec<[f64; 12]>,
    scaled_right: Vec<[f64; 12]>,
    v: Vec<[f64; 6]>,
    work: Vec<f64>,
    /// Factorisations so far.
    pub factorisations: usize,
}

impl System {
    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.first.len().saturating_sub(1)
    }

    /// Operations of one factorisation.
    pub fn flops(&self) -> f64 {
        self.symbolic.flops()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.r.len()
    }

    /// Rows of a block.
    pub fn block(&self, i: usize) -> std::ops::Range<usize> {
        self.first[i] as usize..self.first[i + 1] as usize
    }

    /// out = (N + C) x.
    pub fn apply(&mut self, x: &[f64], out: &mut [f64]) {
        if self.jacobian.is_empty() && self.w.rows() == x.len() {
            for i in 0..x.len() {
                out[i] = self.w.row_dot(i, x);
            }
        } else {
            let mut v = std::mem::take(&mut self.v);
            self.push(x, &mut v);
            self.pull(&v, out);
            self.v = v;
        }
        for (j, out) in out.iter_mut().enumerate() {
            *out += self.compliance[j] * x[j];
        }
    }

    /// Whether the problem has bodies, so that [`System::push`] and [`System::pull`] mean something.
    pub fn has_bodies(&self) -> bool {
        self.bodies > 0
    }

    /// v = D̂ x.
    pub fn push(&self, x: &[f64], v: &mut Vec<[f64; 6]>) {
        v.clear();
        v.resize(self.bodies, [0.0; 6]);
        for i in 0..self.blocks() {
            for j in self.block(i) {
                for (end, body) in self.ends[i].iter().enumerate() {
                    if *body != WORLD {
                        let row = &self.jacobian[j][6 * end..6 * end + 6];
                        let v = &mut v[*body as usize];
                        (0..6).for_each(|k| v[k] += row[k] * x[j]);
                    }
                }
            }
        }
    }

    /// out = D̂ᵀ v.
    pub fn pull(&self, v: &[[f64; 6]], out: &mut [f64]) {
        for i in 0..self.blocks() {
            for j in self.block(i) {
                let mut sum = 0.0;
                for (end, body) in self.ends[i].iter().enumerate() {
                    if *body != WORLD {
                        let row = &self.jacobian[j][6 * end..6 * end + 6];
                        let v = &v[*body as usize];
                        (0..6).for_each(|k| sum += row[k] * v[k]);
                    }
                }
                out[j] = sum;
            }
        }
    }

    /// x = (N + H⁻¹)⁻¹ b, with the last factor.
    pub fn solve(&mut self, b: &[f64], x: &mut Vec<f64>) {
        self.solve_by(false, b, x);
    }

    /// The same by the factor of H = T Tᵀ or, for a `general` one, of H = T Rᵀ.
    fn solve_by(&mut self, general: bool, b: &[f64], x: &mut Vec<f64>) {
        let turn = |s: &Self, x: &[f64], y: &mut [f64]| {
            s.times_transpose(if general { &s.right } else { &s.t }, x, y);
        };
        let inner = |s: &mut Self, x: &mut [f64]| match general {
            true => s.lu.solve(&s.symbolic, x),
            false => s.factor.solve(&s.symbolic, x),
        };
        x.clear();
        x.resize(b.len(), 0.0);
        let mut work = std::mem::take(&mut self.work);
        work.resize(b.len(), 0.0);
        turn(self, b, &mut work);
        match self.form {
            Form::Dual => {
                inner(self, &mut work);
                self.times_t(&work, x);
            }
            Form::Primal => {
                self.times_t(&work, x);
                let mut v = std::mem::take(&mut self.v);
                self.push(x, &mut v);
                inner(self, v.as_flattened_mut());
                self.pull(&v, x);
                x.iter_mut().zip(b).for_each(|(x, b)| *x = b - *x);
                turn(self, x, &mut work);
                self.times_t(&work, x);
                self.v = v;
            }
        }
        self.work = work;
    }

    /// y = Tᵀ x, or with other blocks in the place of T's.
    fn times_transpose(&self, t: &[Small], x: &[f64], y: &mut [f64]) {
        for i in 0..self.blocks() {
            let rows = self.block(i);
            for (c, j) in rows.clone().enumerate() {
                y[j] = rows.clone().enumerate().map(|(k, row)| t[i][k][c] * x[row]).sum();
            }
        }
    }

    /// y = T x.
    fn times_t(&self, x: &[f64], y: &mut [f64]) {
        for i in 0..self.blocks() {
            let rows = self.block(i);
            y[rows.clone()].fill(0.0);
            small::multiply(rows.len(), &self.t[i], &x[rows.clone()], &mut y[rows]);
        }
    }

    /// Any v that satisfies the constraints has |v - v_free|_M ≥ -rᵀγ/√(γᵀ(N + C)γ) (see the certificate).
    /// Far beyond √Σ|r|²/g, what it would take to stop every block by itself, no such v is meant.
    pub fn proves_contradiction(&self, gamma: &[f64], u: &[f64]) -> bool {
        let work = dot(&self.r, gamma);
        let curvature = dot(gamma, u) - work;
        let mut alone = 0.0;
        for i in 0..self.blocks() {
            if self.diagonal[i] > 0.0 {
                alone += self.block(i).map(|j| self.r[j].powi(2)).sum::<f64>() / self.diagonal[i];
            }
        }
        work < 0.0 && work * work > ABSURD * ABSURD * alone * curvature.max(0.0)
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.jacobian.as_slice())
            + size_of_val(self.scaled.as_slice())
            + size_of_val(self.t.as_slice())
            + size_of_val(self.values.as_slice())
            + size_of_val(self.w.data.as_slice()) * 2
            + self.symbolic.bytes()
            + self.factor.bytes()
            + self.lu.bytes()
            + size_of_val(self.mirror.as_slice())
            + size_of_val(self.scaled_right.as_slice())
            + size_of_val(self.right.as_slice())
            + 8 * MAX_ROWS * self.blocks()
    }
}
