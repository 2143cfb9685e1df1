//! The same systems for an H that is not symmetric, as the exact law has it: H = T Rᵀ, and
//!
//! ```text
//!     primal    (N + H⁻¹)⁻¹ b = H (b - D̂ᵀ P⁻¹ D̂ H b),      P = 1 + Σ D̂_i T_i (D̂_i R_i)ᵀ
//!     dual      (N + H⁻¹)⁻¹ b = T S⁻¹ Rᵀ b,                 S = 1 + Rᵀ N T
//! ```
//!
//! factored by LU. An explicit matrix is taken as it is, with its skew part.

use crate::problem::{Csr, Problem, WORLD};

use super::small::Small;
use super::{Form, System};

impl System {
    /// [`System::load`], with all of an explicit matrix.
    pub fn load_whole(&mut self, problem: &Problem) {
        self.load(problem);
        match problem {
            Problem::Bodies(_) => self.whole = Csr::default(),
            Problem::Explicit(p) => self.whole.clone_from(&p.w),
        }
    }

    /// out = (N + C) x, with all of an explicit matrix.
    pub fn apply_whole(&mut self, x: &[f64], out: &mut [f64]) {
        if self.has_bodies() {
            return self.apply(x, out);
        }
        for i in 0..x.len() {
            out[i] = self.whole.row_dot(i, x) + self.compliance[i] * x[i];
        }
    }

    /// Factors for H = T Rᵀ, one of each for each block. False if `more`, asked all the while, says no: then
    /// there are no factors.
    pub fn factorise_general(&mut self, t: &[Small], r: &[Small], more: &dyn Fn() -> bool) -> bool {
        self.t.clear();
        self.t.extend_from_slice(t);
        self.right.clear();
        self.right.extend_from_slice(r);
        self.values.clear();
        self.values.resize(self.pattern.values(), 0.0);
        self.mirror.clear();
        self.mirror.resize(self.pattern.values(), 0.0);
        self.add_unit();
        if self.has_bodies() {
            self.scale();
            let mut scaled = std::mem::take(&mut self.scaled_right);
            self.times_jacobian(&self.right, &mut scaled);
            self.scaled_right = scaled;
        }
        match self.form {
            Form::Primal => self.primal_general(),
            Form::Dual if self.has_bodies() => self.dual_of_bodies_general(),
            Form::Dual => self.dual_of_matrix_general(more),
        }
        let done = self.lu.compute(&self.symbolic, &self.values, &self.mirror, 1e-300, more);
        self.factorisations += usize::from(done);
        done
    }

    /// 1 + Σ (D̂ T) (D̂ R)ᵀ.
    fn primal_general(&mut self) {
        for i in 0..self.blocks() {
            let [a, b] = self.ends[i];
            let rows = self.block(i);
            let (left, right) = (&self.scaled[rows.clone()], &self.scaled_right[rows]);
            let [first, second, pair] = self.slots[i];
            let add = |into: &mut [f64], from: usize, to: usize| {
                for (l, r) in left.iter().zip(right) {
                    for x in 0..6 {
                        for y in 0..6 {
                            into[6 * x + y] += l[from + x] * r[to + y];
                        }
                    }
                }
            };
            let turned = |into: &mut [f64], from: usize, to: usize| {
                for (l, r) in left.iter().zip(right) {
                    for x in 0..6 {
                        for y in 0..6 {
                            into[6 * x + y] += l[to + y] * r[from + x];
                        }
                    }
                }
            };
            add(&mut self.values[first..first + 36], 0, 0);
            if b != WORLD {
                add(&mut self.values[second..second + 36], 6, 6);
                let (from, to) = if a < b { (0, 6) } else { (6, 0) };
                add(&mut self.values[pair..pair + 36], from, to);
                turned(&mut self.mirror[pair..pair + 36], from, to);
            }
        }
    }

    /// 1 + Rᵀ D̂ᵀ D̂ T, body by body.
    fn dual_of_bodies_general(&mut self) {
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        for body in 0..self.bodies {
            for (at, &i) in self.at_body[body].iter().enumerate() {
                for &j in &self.at_body[body][at..] {
                    let (i, j) = (i.min(j), i.max(j));
                    let start = if i == j { self.pattern.start[i as usize] } else { self.pattern.pair(i, j) };
                    let side = |k: u32| if self.ends[k as usize][0] as usize == body { 0 } else { 6 };
                    let (left, right) = (side(i), side(j));
                    let (rows, columns) = (self.block(i as usize), self.block(j as usize));
                    let width = columns.len();
                    for (r, x) in rows.enumerate() {
                        for (c, y) in columns.clone().enumerate() {
                            let (x_at, y_at) = (left..left + 6, right..right + 6);
                            let at = start + r * width + c;
                            let upper =
                                dot(&self.scaled_right[x][x_at.clone()], &self.scaled[y][y_at.clone()]);
                            self.values[at] += upper;
                            self.mirror[at] += dot(&self.scaled_right[y][y_at], &self.scaled[x][x_at]);
                        }
                    }
                }
            }
        }
    }

    /// 1 + Rᵀ W T, unless cut short.
    fn dual_of_matrix_general(&mut self, more: &dyn Fn() -> bool) {
        let owner = self.owners();
        let (mut blocks, mut place) = (Vec::new(), Vec::new());
        for i in (0..self.blocks()).take_while(|_| more()) {
            let n = self.block(i).len();
            self.row_blocks(&self.whole, &owner, i, 0, &mut blocks, &mut place);
            for (j, wt) in &blocks {
                let j = *j as usize;
                let m = self.block(j).len();
                let ri = &self.right[i];
                for r in 0..n {
                    for c in 0..m {
                        let x: f64 = (0..n).map(|k| ri[k][r] * wt[k][c]).sum();
                        match i.cmp(&j) {
                            std::cmp::Ordering::Equal => self.values[self.pattern.start[i] + r * n + c] += x,
                            std::cmp::Ordering::Less => {
                                self.values[self.pattern.pair(i as u32, j as u32) + r * m + c] += x;
                            }
                            std::cmp::Ordering::Greater => {
                                self.mirror[self.pattern.pair(j as u32, i as u32) + c * n + r] += x;
                            }
                        }
                    }
                }
            }
        }
    }

    /// x = (N + H⁻¹)⁻¹ b, with the last factor of [`System::factorise_general`].
    pub fn solve_general(&mut self, b: &[f64], x: &mut Vec<f64>) {
        self.solve_by(true, b, x);
    }
}
