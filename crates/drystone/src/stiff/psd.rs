//! Symmetric matrices of small size, by rows: factors of those that are positive semidefinite, and the
//! nearest such matrix to one that is not.

/// Pivots below this share of the largest diagonal entry count as zero.
const ZERO: f64 = 1e-12;

/// A = L D Lᵀ of rank r with the largest diagonal entry as the next pivot, so that no entry of L exceeds 1.
#[derive(Clone, Debug, Default)]
pub(crate) struct Factor {
    /// Columns of L, one behind the other, in the order of the rows of A.
    pub columns: Vec<f64>,
    /// D.
    pub pivots: Vec<f64>,
    /// The row of each pivot.
    pub rows: Vec<usize>,
    rest: Vec<f64>,
}

impl Factor {
    /// Factors `a` (n x n, symmetric). False if it is not positive semidefinite.
    pub fn compute(&mut self, a: &[f64], n: usize) -> bool {
        self.columns.clear();
        self.pivots.clear();
        self.rows.clear();
        self.rest.clear();
        self.rest.extend_from_slice(a);
        let rest = &mut self.rest;
        let size = a.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        loop {
            let left = (0..n).filter(|i| !self.rows.contains(i));
            let largest = left.max_by(|&i, &j| rest[i * n + i].total_cmp(&rest[j * n + j]));
            let Some(p) = largest.filter(|&p| rest[p * n + p] > ZERO * size) else { break };
            let pivot = rest[p * n + p];
            let start = self.columns.len();
            self.columns
                .extend((0..n).map(|i| if self.rows.contains(&i) { 0.0 } else { rest[i * n + p] / pivot }));
            let column = &self.columns[start..];
            for i in 0..n {
                for j in 0..n {
                    rest[i * n + j] -= pivot * column[i] * column[j];
                }
            }
            self.pivots.push(pivot);
            self.rows.push(p);
        }
        // What is left of a semidefinite matrix is rounding.
        let left = |i: usize| !self.rows.contains(&i);
        (0..n).all(|i| (0..n).all(|j| !(left(i) && left(j)) || rest[i * n + j].abs() <= 1e3 * ZERO * size))
    }

    /// y with L y = g as far as the range of A goes; what is outside stays in `g`.
    pub fn forward(&self, g: &mut [f64], y: &mut Vec<f64>) {
        y.clear();
        for (column, &row) in self.columns.chunks(g.len()).zip(&self.rows) {
            let x = g[row];
            g.iter_mut().zip(column).for_each(|(g, l)| *g -= x * l);
            g[row] = 0.0;
            y.push(x);
        }
    }
}

/// Replaces `a` by ½ (A + Aᵀ).
pub(crate) fn symmetrise(a: &mut [f64], n: usize) {
    for i in 0..n {
        for j in 0..i {
            let mean = 0.5 * (a[i * n + j] + a[j * n + i]);
            (a[i * n + j], a[j * n + i]) = (mean, mean);
        }
    }
}

/// Replaces a symmetric matrix by its positive part, Σ max(λ, 0) q qᵀ: the nearest positive semidefinite one
/// in the Frobenius norm \[Higham1988\].
pub(crate) fn clip(a: &mut [f64], n: usize) {
    let (values, vectors) = eigen(a, n);
    a.fill(0.0);
    for (m, lambda) in values.iter().enumerate().filter(|(_, lambda)| **lambda > 0.0) {
        for i in 0..n {
            for j in 0..n {
                a[i * n + j] += lambda * vectors[i * n + m] * vectors[j * n + m];
            }
        }
    }
}

/// Eigenvalues of a symmetric matrix and its eigenvectors as columns, by cyclic Jacobi rotations.
pub(crate) fn eigen(a: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut q = vec![0.0; n * n];
    (0..n).for_each(|i| q[i * n + i] = 1.0);
    let mut d = a.to_vec();
    for _ in 0..40 {
        let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
        let off: f64 = pairs.map(|(i, j)| d[i * n + j].powi(2)).sum();
        let on: f64 = (0..n).map(|i| d[i * n + i].powi(2)).sum();
        if off <= 1e-32 * on {
            break;
        }
        for p in 0..n {
            for r in p + 1..n {
                let x = d[p * n + r];
                if x == 0.0 {
                    continue;
                }
                let theta = (d[r * n + r] - d[p * n + p]) / (2.0 * x);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                let turn = |m: &mut [f64], i: usize, j: usize| {
                    let (u, v) = (m[i], m[j]);
                    (m[i], m[j]) = (c * u - s * v, s * u + c * v);
                };
                for k in 0..n {
                    turn(&mut d, k * n + p, k * n + r);
                }
                for k in 0..n {
                    turn(&mut d, p * n + k, r * n + k);
                    turn(&mut q, k * n + p, k * n + r);
                }
            }
        }
    }
    ((0..n).map(|i| d[i * n + i]).collect(), q)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// B Bᵀ with B of `rank` columns, some of them large.
    fn product(n: usize, rank: usize, random: &mut Random) -> Vec<f64> {
        let b: Vec<f64> =
            (0..n * rank).map(|k| random.range(-1.0, 1.0) * 10f64.powi((k % rank % 4) as i32)).collect();
        let entry = |i: usize, j: usize| (0..rank).map(|k| b[i * rank + k] * b[j * rank + k]).sum();
        (0..n * n).map(|k| entry(k / n, k % n)).collect()
    }

    #[test]
    fn factors_give_the_matrix_back_and_split_the_right_side() {
        let mut random = Random::new(4);
        for (n, rank) in [(1, 1), (6, 6), (12, 6), (12, 12), (12, 1), (30, 7)] {
            let a = product(n, rank, &mut random);
            let size = a.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            let mut f = Factor::default();
            assert!(f.compute(&a, n));
            assert_eq!(f.pivots.len(), rank, "{n} {rank}");
            for i in 0..n {
                for j in 0..n {
                    let sum: f64 =
                        (0..rank).map(|k| f.pivots[k] * f.columns[k * n + i] * f.columns[k * n + j]).sum();
                    assert!((sum - a[i * n + j]).abs() < 1e-10 * size, "{n} {rank}: {i} {j}");
                }
            }
            // In the range nothing stays; and in any case L y + rest = g.
            let x: Vec<f64> = (0..n).map(|_| random.range(-1.0, 1.0)).collect();
            let inside: Vec<f64> = (0..n).map(|i| (0..n).map(|j| a[i * n + j] * x[j]).sum()).collect();
            for (g, within) in [(inside, true), (x, rank == n)] {
                let (mut rest, mut y) = (g.clone(), Vec::new());
                f.forward(&mut rest, &mut y);
                let scale = g.iter().fold(0.0f64, |m, x| m.max(x.abs()));
                for i in 0..n {
                    let back: f64 = (0..rank).map(|k| f.columns[k * n + i] * y[k]).sum::<f64>() + rest[i];
                    assert!((back - g[i]).abs() < 1e-9 * scale, "{n} {rank}");
                    assert!(!within || rest[i].abs() < 1e-7 * scale, "{n} {rank}: {}", rest[i] / scale);
                }
            }
        }
        assert!(Factor::default().compute(&[0.0; 9], 3));
    }

    #[test]
    fn what_is_not_semidefinite_is_noticed_and_clipped() {
        let mut f = Factor::default();
        assert!(!f.compute(&[-1.0], 1));
        assert!(!f.compute(&[0.0, 1.0, 1.0, 0.0], 2));
        assert!(!f.compute(&[1.0, 2.0, 2.0, 1.0], 2));
        // Eigenvalues 3 and -1 with (1, 1) and (1, -1).
        let mut a = [1.0, 2.0, 2.0, 1.0];
        clip(&mut a, 2);
        a.iter().for_each(|x| assert!((x - 1.5).abs() < 1e-14, "{a:?}"));
        let mut random = Random::new(9);
        let (n, mut a) = (12, product(12, 12, &mut Random::new(1)));
        (0..n).for_each(|i| a[i * n + i] -= random.range(0.0, 1e5));
        assert!(!f.compute(&a, n));
        let before = a.clone();
        clip(&mut a, n);
        assert!(f.compute(&a, n) && f.pivots.len() < n);
        // The rest is negative: -(A - A₊) is semidefinite too, and the two share nothing.
        let rest: Vec<f64> = a.iter().zip(&before).map(|(p, b)| p - b).collect();
        assert!(f.compute(&rest, n));
        let meet: f64 = a.iter().zip(&rest).map(|(x, y)| x * y).sum();
        let size: f64 = before.iter().map(|x| x * x).sum();
        assert!(meet.abs() < 1e-10 * size);
    }

    #[test]
    fn unsymmetric_parts_cancel() {
        let mut a = [1.0, 5.0, -3.0, 2.0];
        symmetrise(&mut a, 2);
        assert_eq!(a, [1.0, 1.0, 1.0, 2.0]);
    }
}
