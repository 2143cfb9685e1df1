//! The projection that belongs to Coulomb's law itself \[AlartCurnier1991\]: the normal part first, the
//! tangential parts on the discs that it leaves them.
//!
//! ```text
//!     Q_n(x) = max(0, x_n),      Q_T(x) = x_T min(1, μ Q_n/|x_T|)
//! ```
//!
//! γ = Q(γ - u/a) for any a > 0 is the law. Q is no projection in the ordinary sense (where it slides the
//! normal row does not see the tangential ones), and its derivative is not symmetric.

use super::{AdmissibleSet, MAX_ROWS, Set, norm};

impl Set {
    /// Rows and coefficient of each tangential part.
    fn tangents(&self) -> ([(usize, usize, f64); 2], usize) {
        let none = (0, 0, 0.0);
        match *self {
            Set::Friction2 { mu } => ([(1, 2, mu), none], 1),
            Set::Friction3 { mu } => ([(1, 3, mu), none], 1),
            Set::Rolling5 { mu, mu_r } => ([(1, 3, mu), (3, 5, mu_r)], 2),
            Set::Free | Set::NonNegative | Set::Interval { .. } => ([none; 2], 0),
        }
    }

    /// Q(x), in place; the projection itself for sets without friction.
    pub(crate) fn project_exact(&self, x: &mut [f64]) {
        let (parts, count) = self.tangents();
        if count == 0 {
            return self.project(x);
        }
        x[0] = x[0].max(0.0);
        for &(begin, end, mu) in &parts[..count] {
            let (t, most) = (norm(&x[begin..end]), mu * x[0]);
            if t > most {
                x[begin..end].iter_mut().for_each(|x| *x *= most / t);
            }
        }
    }

    /// Q'(x), in the first rows and columns.
    pub(crate) fn derivative_exact(&self, x: &[f64]) -> [[f64; MAX_ROWS]; MAX_ROWS] {
        let (parts, count) = self.tangents();
        if count == 0 {
            return self.derivative(x);
        }
        let mut out = [[0.0; MAX_ROWS]; MAX_ROWS];
        if x[0] <= 0.0 {
            return out;
        }
        out[0][0] = 1.0;
        for &(begin, end, mu) in &parts[..count] {
            let (t, most) = (norm(&x[begin..end]), mu * x[0]);
            for a in begin..end {
                if t <= most {
                    out[a][a] = 1.0;
                    continue;
                }
                out[a][0] = mu * x[a] / t;
                out[a][a] = most / t;
                for b in begin..end {
                    out[a][b] -= most / t * x[a] * x[b] / (t * t);
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_derivative_is_what_differences_give() {
        let sets = [
            Set::NonNegative,
            Set::Friction2 { mu: 0.5 },
            Set::Friction3 { mu: 0.0 },
            Set::Friction3 { mu: 0.7 },
            Set::Rolling5 { mu: 0.6, mu_r: 0.2 },
        ];
        let (mut kinks, mut lopsided) = (0, 0);
        for (s, set) in sets.iter().enumerate() {
            for trial in 0..40 {
                let n = set.rows();
                let x: Vec<f64> = (0..n).map(|k| ((trial * 7 + k * 3 + s) as f64 * 1.7).sin()).collect();
                let d = set.derivative_exact(&x);
                for c in 0..n {
                    let at = |h: f64| {
                        let mut y = x.clone();
                        y[c] += h;
                        set.project_exact(&mut y);
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
                        lopsided += ((d[r][c] - d[c][r]).abs() > 0.1) as usize;
                    }
                }
            }
        }
        assert!(kinks < 10 && lopsided > 20, "{kinks} {lopsided}");
    }
}
