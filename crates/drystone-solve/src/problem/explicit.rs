//! The form with an explicit sparse matrix: u = W γ + q + C γ.

use std::borrow::Cow;

use crate::cone::{AdmissibleSet, Set};
use crate::friction_law::FrictionLaw;

use super::algebra::trace_and_bound;

/// Compressed sparse rows, 0-based.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Csr {
    /// Number of columns.
    pub columns: usize,
    /// Start of each row in `indices`, and the number of entries at the end.
    pub indptr: Vec<usize>,
    /// Column of each entry.
    pub indices: Vec<u32>,
    /// Value of each entry.
    pub data: Vec<f64>,
}

impl Csr {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.indptr.len().saturating_sub(1)
    }

    /// The entries of one row.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.indptr[i]..self.indptr[i + 1];
        self.indices[range.clone()].iter().zip(&self.data[range]).map(|(&c, &x)| (c as usize, x))
    }

    /// ½ (W - Wᵀ) of a square matrix, duplicates summed.
    pub fn skew_part(&self) -> Csr {
        let sorted = self.sorted();
        merge(&sorted, &sorted.transposed(), |x, y| 0.5 * x - 0.5 * y)
    }

    /// ½ (W + Wᵀ) of a square matrix, duplicates summed.
    pub fn symmetric_part(&self) -> Csr {
        let sorted = self.sorted();
        merge(&sorted, &sorted.transposed(), |x, y| 0.5 * x + 0.5 * y)
    }

    /// Wᵀ, rows sorted; duplicates stay.
    pub fn transposed(&self) -> Csr {
        let mut indptr = vec![0; self.columns + 1];
        for &j in &self.indices {
            indptr[j as usize + 1] += 1;
        }
        for j in 0..self.columns {
            indptr[j + 1] += indptr[j];
        }
        let mut next = indptr.clone();
        let (mut indices, mut data) = (vec![0; self.indices.len()], vec![0.0; self.data.len()]);
        for i in 0..self.rows() {
            for (j, x) in self.row(i) {
                (indices[next[j]], data[next[j]]) = (i as u32, x);
                next[j] += 1;
            }
        }
        Csr { columns: self.rows(), indptr, indices, data }
    }

    /// With columns in order and once each.
    fn sorted(&self) -> Cow<'_, Csr> {
        let in_order =
            |i: usize| self.indices[self.indptr[i]..self.indptr[i + 1]].windows(2).all(|p| p[0] < p[1]);
        if (0..self.rows()).all(in_order) {
            return Cow::Borrowed(self);
        }
        let rows = (0..self.rows()).map(|i| self.row(i).map(|(j, x)| (j as u32, x)).collect()).collect();
        Cow::Owned(Self::from_rows(self.columns, rows))
    }

    /// Rows of (column, value) in any order, duplicates summed in the order given.
    pub fn from_rows(columns: usize, rows: Vec<Vec<(u32, f64)>>) -> Csr {
        let mut csr = Csr { columns, indptr: vec![0], ..Csr::default() };
        for mut row in rows {
            row.sort_by_key(|(j, _)| *j);
            for (j, x) in row {
                if csr.indices.len() > csr.indptr[csr.indptr.len() - 1] && csr.indices.last() == Some(&j) {
                    if let Some(last) = csr.data.last_mut() {
                        *last += x;
                    }
                } else {
                    csr.indices.push(j);
                    csr.data.push(x);
                }
            }
            csr.indptr.push(csr.indices.len());
        }
        csr
    }

    /// The difference of two matrices of the same size.
    pub fn minus(&self, other: &Csr) -> Csr {
        merge(&self.sorted(), &other.sorted(), |x, y| x - y)
    }

    /// Row i times x.
    pub fn row_dot(&self, i: usize, x: &[f64]) -> f64 {
        self.row(i).map(|(c, w)| w * x[c]).sum()
    }
}

/// Entry by entry, zero where one of the two has none; both with sorted rows.
fn merge(a: &Csr, b: &Csr, both: impl Fn(f64, f64) -> f64) -> Csr {
    let most = a.indices.len() + b.indices.len();
    let mut out = Csr { columns: a.columns, indptr: Vec::with_capacity(a.indptr.len()), ..Csr::default() };
    out.indptr.push(0);
    out.indices.reserve(most);
    out.data.reserve(most);
    for i in 0..a.rows() {
        let (mut x, mut y) = (a.row(i).peekable(), b.row(i).peekable());
        loop {
            let (j, value) = match (x.peek().copied(), y.peek().copied()) {
                (None, None) => break,
                (Some((j, p)), Some((k, q))) if j == k => {
                    x.next();
                    y.next();
                    (j, both(p, q))
                }
                (Some((j, p)), other) if other.is_none_or(|(k, _)| j < k) => {
                    x.next();
                    (j, both(p, 0.0))
                }
                (_, Some((k, q))) => {
                    y.next();
                    (k, both(0.0, q))
                }
                (Some(_), None) => break,
            };
            out.indices.push(j as u32);
            out.data.push(value);
        }
        out.indptr.push(out.indices.len());
    }
    out
}

/// The explicit problem.
#[derive(Clone, Debug, Default)]
pub struct Explicit {
    /// W (the papers' N); need not be symmetric.
    pub w: Csr,
    /// q (the papers' r).
    pub q: Vec<f64>,
    /// One set per block.
    pub sets: Vec<Set>,
    /// First row of each block, and the number of rows at the end.
    pub first_row: Vec<u32>,
    /// C per row; empty where all is rigid.
    pub compliance: Vec<f64>,
    /// The contact law.
    pub model: FrictionLaw,
}

impl Explicit {
    /// A problem whose rows are cut into blocks by the sets, in order.
    pub fn new(w: Csr, q: Vec<f64>, sets: Vec<Set>) -> Self {
        let mut first_row = vec![0];
        let mut at = 0;
        for set in &sets {
            at += set.rows() as u32;
            first_row.push(at);
        }
        Self { w, q, sets, first_row, ..Self::default() }
    }

    /// u of one row for given multipliers.
    pub fn row(&self, i: usize, gamma: &[f64]) -> f64 {
        let c = self.compliance.get(i).copied().unwrap_or(0.0);
        self.w.row_dot(i, gamma) + self.q[i] + c * gamma[i]
    }

    pub(crate) fn block_diagonal(&self, i: usize) -> [f64; 2] {
        let rows = (self.first_row[i + 1] - self.first_row[i]) as usize;
        trace_and_bound(rows, &self.block_matrix(i))
    }

    pub(super) fn block_matrix(&self, i: usize) -> [[f64; 5]; 5] {
        let (first, end) = (self.first_row[i] as usize, self.first_row[i + 1] as usize);
        let mut g = [[0.0; 5]; 5];
        for row in first..end {
            for (column, x) in self.w.row(row) {
                if (first..end).contains(&column) {
                    g[row - first][column - first] += x;
                }
            }
            g[row - first][row - first] += self.compliance.get(row).copied().unwrap_or(0.0);
        }
        g
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let n = self.q.len();
        let w = &self.w;
        if w.rows() != n || w.columns != n {
            return Err(format!("W is {} x {}, q has {n} entries", w.rows(), w.columns));
        }
        if w.indptr.first() != Some(&0)
            || w.indptr.last() != Some(&w.indices.len())
            || w.indices.len() != w.data.len()
            || w.indptr.windows(2).any(|p| p[0] > p[1])
        {
            return Err("W's row pointers do not fit its entries".into());
        }
        if let Some(c) = w.indices.iter().find(|&&c| c as usize >= n) {
            return Err(format!("W has an entry in column {c}, but there are {n}"));
        }
        let rows: usize = self.sets.iter().map(|s| s.rows()).sum();
        if rows != n
            || self.first_row.len() != self.sets.len() + 1
            || self.first_row.last() != Some(&(n as u32))
        {
            return Err(format!("the sets have {rows} rows, q has {n} entries"));
        }
        if !self.compliance.is_empty() && self.compliance.len() != n {
            return Err(format!("{} compliances for {n} rows", self.compliance.len()));
        }
        for (name, values) in [("W", &w.data), ("q", &self.q), ("compliance", &self.compliance)] {
            if values.iter().any(|x| !x.is_finite()) {
                return Err(format!("{name} has an entry that is not finite"));
            }
        }
        for (i, set) in self.sets.iter().enumerate() {
            set.check().map_err(|e| format!("block {i}: {e}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Csr;

    fn dense(m: &Csr) -> Vec<Vec<f64>> {
        let mut out = vec![vec![0.0; m.columns]; m.rows()];
        (0..m.rows()).for_each(|i| m.row(i).for_each(|(j, x)| out[i][j] += x));
        out
    }

    #[test]
    fn symmetric_and_skew_parts_add_up() {
        // Rows out of order, an entry in two parts, an entry without a mirror image, an empty row.
        let w = Csr {
            columns: 4,
            indptr: vec![0, 4, 5, 5, 7],
            indices: vec![2, 0, 2, 3, 0, 3, 1],
            data: vec![1.0, 5.0, 2.0, 4.0, -1.0, 7.0, 0.5],
        };
        let (whole, s) = (dense(&w), w.symmetric_part());
        let (part, skew) = (dense(&s), dense(&w.minus(&s)));
        for i in 0..4 {
            assert!(s.indices[s.indptr[i]..s.indptr[i + 1]].windows(2).all(|p| p[0] < p[1]), "row {i}");
            for j in 0..4 {
                assert_eq!(part[i][j], 0.5 * (whole[i][j] + whole[j][i]), "{i} {j}");
                assert_eq!(skew[i][j], whole[i][j] - part[i][j], "{i} {j}");
            }
        }
        assert_eq!((part[0][2], part[1][2], s.indices.len()), (1.5, 0.0, 10));
    }
}
