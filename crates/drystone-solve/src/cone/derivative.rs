//! The derivative of the projection: one element of its generalised Jacobian, which is symmetric with
//! eigenvalues in [0, 1].
//!
//! On the side of a friction cone, with e = x_T/|x_T|, the normal part p of the projection and c = (1, μ e),
//!
//! ```text
//!     P'(x) = c cᵀ/(1 + μ²) + (μ p/|x_T|) (1 - e eᵀ) on the tangential rows
//! ```
//!
//! and the five-dimensional cone has the same with both of its tangential parts in c, each with its μ as far
//! as it slips; a part that does not slip follows x.

use super::{AdmissibleSet, MAX_ROWS, Set, norm};

impl Set {
    /// P'(x), in the first rows and columns.
    pub(crate) fn derivative(&self, x: &[f64]) -> [[f64; MAX_ROWS]; MAX_ROWS] {
        let mut out = [[0.0; MAX_ROWS]; MAX_ROWS];
        match *self {
            Set::Free => out[0][0] = 1.0,
            Set::NonNegative => out[0][0] = (x[0] > 0.0) as u8 as f64,
            Set::Interval { lo, hi } => out[0][0] = (x[0] > lo && x[0] < hi) as u8 as f64,
            Set::Friction2 { mu } => self.round(x, &[(1, 2, mu)], &mut out),
            Set::Friction3 { mu } => self.round(x, &[(1, 3, mu)], &mut out),
            Set::Rolling5 { mu, mu_r } => self.round(x, &[(1, 3, mu), (3, 5, mu_r)], &mut out),
        }
        out
    }

    /// The derivative well inside the set.
    pub(crate) fn closed(&self) -> [[f64; MAX_ROWS]; MAX_ROWS] {
        let mut x = [0.0; MAX_ROWS];
        x[0] = match *self {
            Set::Interval { lo, hi } => 0.5 * (lo.max(-1.0) + hi.min(1.0)),
            _ => 1.0,
        };
        self.derivative(&x[..self.rows()])
    }

    fn round(&self, x: &[f64], parts: &[(usize, usize, f64)], out: &mut [[f64; MAX_ROWS]; MAX_ROWS]) {
        let mut p = [0.0; MAX_ROWS];
        let p = &mut p[..x.len()];
        p.copy_from_slice(x);
        self.project(p);
        if p[0] <= 0.0 {
            return;
        }
        let mut c = [0.0; MAX_ROWS];
        c[0] = 1.0;
        let mut bottom = 1.0;
        for &(begin, end, mu) in parts {
            let t = norm(&x[begin..end]);
            if mu == 0.0 {
                continue;
            }
            if t <= mu * p[0] {
                (begin..end).for_each(|k| out[k][k] = 1.0);
                continue;
            }
            bottom += mu * mu;
            let turn = mu * p[0] / t;
            for a in begin..end {
                c[a] = mu * x[a] / t;
                out[a][a] += turn;
                for b in begin..end {
                    out[a][b] -= turn * x[a] * x[b] / (t * t);
                }
            }
        }
        for a in 0..x.len() {
            for b in 0..x.len() {
                out[a][b] += c[a] * c[b] / bottom;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_differences_give() {
        let sets = [
            Set::Free,
            Set::NonNegative,
            Set::Interval { lo: -0.3, hi: 0.2 },
            Set::Friction2 { mu: 0.5 },
            Set::Friction3 { mu: 0.0 },
            Set::Friction3 { mu: 0.7 },
            Set::Rolling5 { mu: 0.6, mu_r: 0.2 },
            Set::Rolling5 { mu: 0.6, mu_r: 0.0 },
        ];
        let mut kinks = 0;
        for (s, set) in sets.iter().enumerate() {
            for trial in 0..40 {
                let n = set.rows();
                let x: Vec<f64> = (0..n).map(|k| ((trial * 7 + k * 3 + s) as f64 * 1.7).sin()).collect();
                let d = set.derivative(&x);
                for c in 0..n {
                    let at = |h: f64| {
                        let mut y = x.clone();
                        y[c] += h;
                        set.project(&mut y);
                        y
                    };
                    let (lo, hi, mid) = (at(-1e-6), at(1e-6), at(0.0));
                    for r in 0..n {
                        let (left, right) = ((mid[r] - lo[r]) / 1e-6, (hi[r] - mid[r]) / 1e-6);
                        if (left - right).abs() > 1e-3 {
                            kinks += 1;
                            continue;
                        }
                        assert!((0.5 * (left + right) - d[r][c]).abs() < 1e-4, "{set:?} {x:?} {r} {c}");
                        assert!((d[r][c] - d[c][r]).abs() < 1e-14);
                    }
                }
            }
        }
        assert!(kinks < 10);
    }
}
