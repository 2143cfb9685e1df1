//! Puts the matrices together and factors them.

use crate::problem::{Csr, WORLD};

use super::small::{self, Small};
use super::{Form, System};

impl System {
    /// Factors for H = T Tᵀ, one T for each block. (T rather than H: where H has eigenvalues that differ by
    /// more than 1e16 the small ones survive in T.) False if `more`, asked all the while, says no: then there
    /// is no factor.
    pub fn factorise(&mut self, t: &[Small], more: &dyn Fn() -> bool) -> bool {
        self.t.clear();
        self.t.extend_from_slice(t);
        self.values.clear();
        self.values.resize(self.pattern.values(), 0.0);
        self.add_unit();
        if self.has_bodies() {
            self.scale();
        }
        match self.form {
            Form::Primal => self.primal(),
            Form::Dual if self.has_bodies() => self.dual_of_bodies(),
            Form::Dual => self.dual_of_matrix(more),
        }
        // Nothing is below 1 in exact arithmetic.
        let done = self.factor.compute(&self.symbolic, &self.values, 1e-8, more).is_some();
        self.factorisations += usize::from(done);
        done
    }

    /// Ones on the diagonal.
    pub(super) fn add_unit(&mut self) {
        for (i, s) in self.pattern.sizes.iter().enumerate() {
            for k in 0..*s as usize {
                self.values[self.pattern.start[i] + k * (*s as usize + 1)] = 1.0;
            }
        }
    }

    /// Tᵀ D̂ᵀ.
    pub(super) fn scale(&mut self) {
        let mut scaled = std::mem::take(&mut self.scaled);
        self.times_jacobian(&self.t, &mut scaled);
        self.scaled = scaled;
    }

    /// out = Tᵀ D̂ᵀ.
    pub(super) fn times_jacobian(&self, t: &[Small], out: &mut Vec<[f64; 12]>) {
        out.clear();
        out.resize(self.rows(), [0.0; 12]);
        for i in 0..self.blocks() {
            let rows = self.block(i);
            for (c, j) in rows.clone().enumerate() {
                for (r, row) in rows.clone().enumerate() {
                    let much = t[i][r][c];
                    if much != 0.0 {
                        (0..12).for_each(|k| out[j][k] += much * self.jacobian[row][k]);
                    }
                }
            }
        }
    }

    /// 1 + Σ D̂_i H_i D̂_iᵀ.
    fn primal(&mut self) {
        for i in 0..self.blocks() {
            let [a, b] = self.ends[i];
            let d = &self.scaled[self.block(i)];
            let [first, second, pair] = self.slots[i];
            let mut add = |start: usize, left: usize, right: usize| {
                let into = &mut self.values[start..start + 36];
                for row in d {
                    for x in 0..6 {
                        for y in 0..6 {
                            into[6 * x + y] += row[left + x] * row[right + y];
                        }
                    }
                }
            };
            add(first, 0, 0);
            if b != WORLD {
                add(second, 6, 6);
                if a < b { add(pair, 0, 6) } else { add(pair, 6, 0) }
            }
        }
    }

    /// 1 + Tᵀ D̂ᵀ D̂ T, body by body.
    fn dual_of_bodies(&mut self) {
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
                            let (x, y) = (&self.scaled[x][left..left + 6], &self.scaled[y][right..right + 6]);
                            let sum: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
                            self.values[start + r * width + c] += sum;
                        }
                    }
                }
            }
        }
    }

    /// The blocks of row `i` of W T, from column `from` on; `owner` has the block of each row, and `place`
    /// tells of each block where it is in `blocks`.
    pub(super) fn row_blocks(
        &self,
        w: &Csr,
        owner: &[u32],
        i: usize,
        from: usize,
        blocks: &mut Vec<(u32, Small)>,
        place: &mut Vec<u32>,
    ) {
        place.resize(self.blocks(), u32::MAX);
        blocks.drain(..).for_each(|(j, _)| place[j as usize] = u32::MAX);
        let rows = self.block(i);
        let n = rows.len();
        for (r, row) in rows.enumerate() {
            for (column, x) in w.row(row) {
                let j = owner[column];
                if (j as usize) < from {
                    continue;
                }
                let c = column - self.first[j as usize] as usize;
                let at = &mut place[j as usize];
                if *at == u32::MAX {
                    *at = blocks.len() as u32;
                    blocks.push((j, small::ZERO));
                }
                blocks[*at as usize].1[r][c] += x;
            }
        }
        for (j, block) in blocks {
            let (w, t) = (*block, &self.t[*j as usize]);
            let m = self.block(*j as usize).len();
            for r in 0..n {
                for c in 0..m {
                    block[r][c] = (0..m).map(|k| w[r][k] * t[k][c]).sum();
                }
            }
        }
    }

    /// 1 + Tᵀ W T, unless cut short.
    fn dual_of_matrix(&mut self, more: &dyn Fn() -> bool) {
        let owner = self.owners();
        let (mut blocks, mut place) = (Vec::new(), Vec::new());
        for i in (0..self.blocks()).take_while(|_| more()) {
            let n = self.block(i).len();
            self.row_blocks(&self.w, &owner, i, i, &mut blocks, &mut place);
            for (j, wt) in &blocks {
                let m = self.block(*j as usize).len();
                let ti = &self.t[i];
                let start =
                    if *j as usize == i { self.pattern.start[i] } else { self.pattern.pair(i as u32, *j) };
                for r in 0..n {
                    for c in 0..m {
                        self.values[start + r * m + c] += (0..n).map(|k| ti[k][r] * wt[k][c]).sum::<f64>();
                    }
                }
            }
        }
    }
}
