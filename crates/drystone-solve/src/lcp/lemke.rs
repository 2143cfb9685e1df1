//! Lemke's method with lexicographic pivoting [CottlePangStone1992, algorithm 4.4.5 with section 4.9], as
//! [RenoufAcary2006, section 4.2] asks for: contact problems are degenerate, and without an order among ties pivots cycle.
//!
//! ```text
//!     w - M z - e z₀ = q
//!     1   z₀ enters, the row with the lexicographically least (q, 1) leaves: now all of q is ≥ 0
//!     2   the complement of what left enters; among rows with a positive entry d the lexicographically least
//!         (q, B⁻¹)/d leaves, z₀ whenever it ties
//!     3   z₀ left: solved. No positive entry: a ray. Else 2.
//! ```
//!
//! The tableau keeps B⁻¹ (the columns of w) beside M's. At the end z is computed anew from the basis found, by one
//! factorisation, so that the rounding of many pivots is not in the answer.

use super::{Lcp, LcpSolution, LcpStatus};
use crate::problem::Malformed;

/// Entries below this, relative to M, are no pivots.
const PIVOT: f64 = 1e-9;
/// Values of basic variables below this, relative to q, are zeros that pivots have rounded.
const ZERO: f64 = 1e-13;

struct Tableau {
    n: usize,
    width: usize,
    /// Columns: w (0..n), z (n..2n), z₀, q.
    cells: Vec<f64>,
    /// The variable of each row: its column.
    basis: Vec<usize>,
}

/// Solves by at most `pivots` pivots.
pub fn lemke(lcp: &Lcp, pivots: usize) -> Result<LcpSolution, Malformed> {
    lcp.check()?;
    let n = lcp.size();
    let done = |z: Vec<f64>, status, iterations| Ok(LcpSolution { z, status, iterations });
    if lcp.q.iter().all(|q| *q >= 0.0) {
        return done(vec![0.0; n], LcpStatus::Solved, 0);
    }
    let mut t = Tableau::new(lcp);
    let scale = lcp.m.iter().fold(1.0f64, |m, x| m.max(x.abs()));
    let (z0, small) = (2 * n, PIVOT * scale);
    let largest = lcp.q.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    // 1: with rows (q, 1) the later one of a tie is the lesser.
    let q = |t: &Tableau, i: usize| t.cells[i * t.width + 2 * n + 1];
    let mut row = 0;
    for i in 1..n {
        if q(&t, i) <= q(&t, row) {
            row = i;
        }
    }
    let mut leaving = t.pivot(row, z0);
    let mut count = 1;
    loop {
        if count >= pivots {
            return done(t.values(), LcpStatus::Pivots, count);
        }
        // 2
        let entering = if leaving < n { leaving + n } else { leaving - n };
        let Some(row) = t.leaving_row(entering, z0, small) else {
            return done(t.values(), LcpStatus::Ray, count);
        };
        leaving = t.pivot(row, entering);
        count += 1;
        for i in 0..n {
            let value = &mut t.cells[i * t.width + 2 * n + 1];
            if value.abs() <= ZERO * largest {
                *value = 0.0;
            }
        }
        if t.cells.iter().any(|x| !x.is_finite()) {
            return done(vec![0.0; n], LcpStatus::Failed, count);
        }
        // 3
        if leaving == z0 {
            let z = polish(lcp, &t.basis).unwrap_or_else(|| t.values());
            return done(z, LcpStatus::Solved, count);
        }
    }
}

impl Tableau {
    fn new(lcp: &Lcp) -> Self {
        let n = lcp.size();
        let width = 2 * n + 2;
        let mut cells = vec![0.0; n * width];
        for i in 0..n {
            let row = &mut cells[i * width..(i + 1) * width];
            row[i] = 1.0;
            for j in 0..n {
                row[n + j] = -lcp.m[i * n + j];
            }
            row[2 * n] = -1.0;
            row[2 * n + 1] = lcp.q[i];
        }
        Self { n, width, cells, basis: (0..n).collect() }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.cells[row * self.width + column]
    }

    /// The lexicographic ratio test for an entering column; None for a ray.
    fn leaving_row(&self, entering: usize, z0: usize, small: f64) -> Option<usize> {
        let q = self.width - 1;
        let mut best: Option<usize> = None;
        for i in 0..self.n {
            let d = self.at(i, entering);
            if d <= small {
                continue;
            }
            best = match best {
                None => Some(i),
                Some(b) => Some(if self.precedes(i, b, entering, q, z0) { i } else { b }),
            };
        }
        best
    }

    /// Whether row i comes before row b.
    fn precedes(&self, i: usize, b: usize, entering: usize, q: usize, z0: usize) -> bool {
        let (di, db) = (self.at(i, entering), self.at(b, entering));
        // Cross products, so that nothing is divided by a small number; equal up to rounding is equal.
        let compare = |column: usize| {
            let (x, y) = (self.at(i, column) * db, self.at(b, column) * di);
            if (x - y).abs() <= 1e-13 * (x.abs() + y.abs()) { 0.0 } else { x - y }
        };
        let first = compare(q);
        if first != 0.0 {
            return first < 0.0;
        }
        if self.basis[i] == z0 || self.basis[b] == z0 {
            return self.basis[i] == z0;
        }
        (0..self.n).map(compare).find(|c| *c != 0.0).is_some_and(|c| c < 0.0)
    }

    /// Exchanges; returns the variable that left.
    fn pivot(&mut self, row: usize, column: usize) -> usize {
        let (w, start) = (self.width, row * self.width);
        let inverse = 1.0 / self.cells[start + column];
        for x in &mut self.cells[start..start + w] {
            *x *= inverse;
        }
        self.cells[start + column] = 1.0;
        let (above, rest) = self.cells.split_at_mut(start);
        let (pivot_row, below) = rest.split_at_mut(w);
        for other in above.chunks_exact_mut(w).chain(below.chunks_exact_mut(w)) {
            let factor = other[column];
            if factor != 0.0 {
                other.iter_mut().zip(pivot_row.iter()).for_each(|(x, p)| *x -= factor * p);
                other[column] = 0.0;
            }
        }
        std::mem::replace(&mut self.basis[row], column)
    }

    /// z as the tableau has it, cut at zero.
    fn values(&self) -> Vec<f64> {
        let mut z = vec![0.0; self.n];
        for (i, &variable) in self.basis.iter().enumerate() {
            if (self.n..2 * self.n).contains(&variable) {
                z[variable - self.n] = self.at(i, self.width - 1).max(0.0);
            }
        }
        z
    }
}

/// M_BB z_B = -q_B for the z that are basic; None if rounding made that singular or the result is worse.
fn polish(lcp: &Lcp, basis: &[usize]) -> Option<Vec<f64>> {
    let n = lcp.size();
    let mut active: Vec<usize> = basis.iter().filter(|b| (n..2 * n).contains(b)).map(|b| b - n).collect();
    active.sort_unstable();
    let k = active.len();
    let mut a: Vec<f64> =
        active.iter().flat_map(|&i| active.iter().map(move |&j| lcp.m[i * n + j])).collect();
    let mut x: Vec<f64> = active.iter().map(|&i| -lcp.q[i]).collect();
    for c in 0..k {
        let pivot = (c..k).max_by(|&i, &j| a[i * k + c].abs().total_cmp(&a[j * k + c].abs()))?;
        if !(a[pivot * k + c].abs() > 0.0) {
            return None;
        }
        if pivot != c {
            (0..k).for_each(|j| a.swap(pivot * k + j, c * k + j));
            x.swap(pivot, c);
        }
        let (top, bottom) = a.split_at_mut((c + 1) * k);
        let head = &top[c * k..];
        for (i, row) in bottom.chunks_exact_mut(k).enumerate() {
            let f = row[c] / head[c];
            if f != 0.0 {
                row[c..].iter_mut().zip(&head[c..]).for_each(|(x, h)| *x -= f * h);
                x[c + 1 + i] -= f * x[c];
            }
        }
    }
    for i in (0..k).rev() {
        let sum: f64 = (i + 1..k).map(|j| a[i * k + j] * x[j]).sum();
        x[i] = (x[i] - sum) / a[i * k + i];
    }
    let mut z = vec![0.0; n];
    for (i, value) in active.iter().zip(&x) {
        z[*i] = value.max(0.0);
    }
    z.iter().all(|x| x.is_finite()).then_some(z)
}
