//! The inverse of a complementary basis B, kept up to date by one exchange at a time and made anew from M
//! before rounding tells: after so many exchanges, and whenever B d = a fails for the column that is about to
//! enter.
//!
//! Columns of w are unit vectors, and those of M are kept without their zeros: a column of B⁻¹ that belongs
//! to a basic w is a unit vector too, so that an exchange costs n times the number of basic z, and making B⁻¹
//! anew as much as bringing these in one after the other, each at the largest entry that is left (elimination
//! with partial pivoting).

use super::Lcp;

/// Exchanges after which B⁻¹ is made anew.
const EXCHANGES: usize = 100;
/// What B d = a may miss, relative to the column's entries.
const MISS: f64 = 1e-10;
/// How often that is looked at, with a step of refinement after each time, before B⁻¹ is made anew.
const REFINEMENTS: usize = 3;

/// B⁻¹, what it is the inverse of, and the values of the basic variables.
#[derive(Clone, Debug, Default)]
pub(super) struct Basis {
    n: usize,
    /// B⁻¹ by columns.
    inverse: Vec<f64>,
    /// The variable of each row: w is 0..n, z is n..2n, z₀ is 2n.
    pub variable: Vec<usize>,
    /// B⁻¹ q.
    pub value: Vec<f64>,
    /// The column that enters, B⁻¹ a.
    pub entering: Vec<f64>,
    /// Columns of -M without zeros: starts, rows, entries.
    starts: Vec<usize>,
    rows: Vec<u32>,
    entries: Vec<f64>,
    /// What z₀ adds to every row.
    cover: Vec<f64>,
    q: Vec<f64>,
    since: usize,
    residual: Vec<f64>,
    taken: Vec<bool>,
    wanted: Vec<usize>,
    /// The variables of the basis B₀ in which the path began.
    origin: Vec<usize>,
}

impl Basis {
    /// w is basic.
    pub fn set(&mut self, lcp: &Lcp, cover: &[f64]) {
        let n = lcp.size();
        self.n = n;
        self.cover.clear();
        self.cover.extend_from_slice(cover);
        self.q.clone_from(&lcp.q);
        // Row after row, as M lies in memory: how many entries a column has, then the entries.
        self.starts.clear();
        self.starts.resize(n + 1, 0);
        let rows = || lcp.m.chunks_exact(n.max(1));
        for row in rows() {
            let count = |(m, start): (&f64, &mut usize)| *start += usize::from(*m != 0.0);
            row.iter().zip(&mut self.starts[1..]).for_each(count);
        }
        (0..n).for_each(|j| self.starts[j + 1] += self.starts[j]);
        self.rows.clear();
        self.rows.resize(self.starts[n], 0);
        self.entries.clear();
        self.entries.resize(self.starts[n], 0.0);
        let mut next = self.starts.clone();
        for (i, row) in rows().enumerate() {
            for (m, next) in row.iter().zip(&mut next).filter(|(m, _)| **m != 0.0) {
                (self.rows[*next], self.entries[*next]) = (i as u32, -m);
                *next += 1;
            }
        }
        self.variable.clear();
        self.variable.extend(0..n);
        self.origin.clone_from(&self.variable);
        self.identity();
        self.value.clone_from(&self.q);
    }

    /// After `set`: the basis of these variables, one of each pair, in the order of its pairs. z₀ adds what
    /// raises every basic variable by one, so that some z₀ makes this basis feasible. False if it is
    /// singular.
    pub fn begin(&mut self, variables: &[usize], more: &dyn Fn() -> bool) -> bool {
        self.variable.clear();
        self.variable.extend_from_slice(variables);
        if !self.refactor(more) {
            return false;
        }
        self.origin.clone_from(&self.variable);
        let mut cover = std::mem::take(&mut self.cover);
        cover.fill(0.0);
        for &v in &self.origin {
            self.column(v, |i, a| cover[i] += a);
        }
        self.cover = cover;
        true
    }

    fn identity(&mut self) {
        let n = self.n;
        self.inverse.clear();
        self.inverse.resize(n * n, 0.0);
        (0..n).for_each(|i| self.inverse[i * n + i] = 1.0);
        self.since = 0;
    }

    /// Entry i, j of B⁻¹ B₀: of B⁻¹ on a path that began where w is basic.
    pub fn since_origin(&self, i: usize, j: usize) -> f64 {
        let mut sum = 0.0;
        self.column(self.origin[j], |r, a| sum += a * self.inverse[r * self.n + i]);
        sum
    }

    /// `each`(row, entry) of a variable's column.
    fn column(&self, variable: usize, mut each: impl FnMut(usize, f64)) {
        let n = self.n;
        if variable < n {
            each(variable, 1.0);
        } else if variable < 2 * n {
            for k in self.starts[variable - n]..self.starts[variable - n + 1] {
                each(self.rows[k] as usize, self.entries[k]);
            }
        } else {
            self.cover.iter().enumerate().for_each(|(i, c)| each(i, -c));
        }
    }

    /// `entering` = B⁻¹ a.
    fn solve(&mut self, variable: usize) {
        let n = self.n;
        let mut d = std::mem::take(&mut self.entering);
        d.clear();
        d.resize(n, 0.0);
        self.column(variable, |j, a| {
            d.iter_mut().zip(&self.inverse[j * n..(j + 1) * n]).for_each(|(d, b)| *d += a * b);
        });
        self.entering = d;
    }

    /// The largest entry of a - B d for d = `x`, left in `residual`; a is q for None.
    fn miss(&mut self, variable: Option<usize>, x: &[f64]) -> f64 {
        let mut r = std::mem::take(&mut self.residual);
        r.clear();
        match variable {
            None => r.extend_from_slice(&self.q),
            Some(variable) => {
                r.resize(self.n, 0.0);
                self.column(variable, |i, a| r[i] += a);
            }
        }
        for (&v, x) in self.variable.iter().zip(x) {
            if *x != 0.0 {
                self.column(v, |i, a| r[i] -= a * x);
            }
        }
        let worst = r.iter().fold(0.0, |m: f64, x| if x.abs() <= m { m } else { x.abs() });
        self.residual = r;
        worst
    }

    /// Makes `entering` the column of `variable` in this basis, refined, and B⁻¹ anew where it is too far
    /// off. False if that does not help, because the basis is singular to rounding or `more` says no.
    pub fn enter(&mut self, variable: usize, more: &dyn Fn() -> bool) -> bool {
        for anew in [self.since >= EXCHANGES, true] {
            if anew && !self.refactor(more) {
                return false;
            }
            self.solve(variable);
            for _ in 0..REFINEMENTS {
                let mut d = std::mem::take(&mut self.entering);
                let size = d.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
                let good = self.miss(Some(variable), &d) <= MISS * size;
                if !good {
                    self.add_solved(&mut d);
                }
                self.entering = d;
                if good {
                    return true;
                }
            }
        }
        false
    }

    /// x += B⁻¹ `residual`.
    fn add_solved(&self, x: &mut [f64]) {
        for (j, r) in self.residual.iter().enumerate().filter(|(_, r)| **r != 0.0) {
            let column = &self.inverse[j * self.n..(j + 1) * self.n];
            x.iter_mut().zip(column).for_each(|(x, b)| *x += r * b);
        }
    }

    /// The entering variable takes the place of the one in `row`, which is returned; values are left to the
    /// caller.
    pub fn exchange(&mut self, row: usize, variable: usize) -> usize {
        let n = self.n;
        let (d, inverse) = (&self.entering, 1.0 / self.entering[row]);
        for column in self.inverse.chunks_exact_mut(n) {
            let p = column[row] * inverse;
            if p != 0.0 {
                column.iter_mut().zip(d).for_each(|(x, d)| *x -= d * p);
                column[row] = p;
            }
        }
        self.since += 1;
        std::mem::replace(&mut self.variable[row], variable)
    }

    /// B⁻¹ and the values anew from M and q. False if B is singular, or if `more`, asked at every column,
    /// says no.
    pub fn refactor(&mut self, more: &dyn Fn() -> bool) -> bool {
        let n = self.n;
        self.taken.clear();
        self.taken.resize(n, false);
        self.wanted.clear();
        for &v in &self.variable {
            match v < n {
                true => self.taken[v] = true,
                false => self.wanted.push(v),
            }
        }
        // The same basis gives the same inverse, whatever path led to it.
        self.wanted.sort_unstable();
        (0..n).for_each(|i| self.variable[i] = i);
        self.identity();
        for k in 0..self.wanted.len() {
            if !more() {
                return false;
            }
            let v = self.wanted[k];
            self.solve(v);
            let size = |i: usize| self.entering[i].abs();
            let row = (0..n).filter(|&i| !self.taken[i]).fold(None, |best: Option<usize>, i| match best {
                Some(b) if size(b) >= size(i) => Some(b),
                _ => Some(i),
            });
            let Some(row) = row.filter(|&i| size(i) > 1e-13 && size(i).is_finite()) else { return false };
            self.taken[row] = true;
            self.exchange(row, v);
        }
        self.since = 0;
        self.revalue();
        true
    }

    /// B⁻¹ q with two steps of refinement.
    fn revalue(&mut self) {
        let mut x = std::mem::take(&mut self.value);
        x.clear();
        x.resize(self.n, 0.0);
        self.residual.clone_from(&self.q);
        for _ in 0..3 {
            self.add_solved(&mut x);
            self.miss(None, &x);
        }
        self.value = x;
    }

    /// z as the basis has it, cut at zero.
    pub fn solution(&self) -> Vec<f64> {
        let n = self.n;
        let mut z = vec![0.0; n];
        for (&v, x) in self.variable.iter().zip(&self.value) {
            if (n..2 * n).contains(&v) && x.is_finite() {
                z[v - n] = x.max(0.0);
            }
        }
        z
    }
}
