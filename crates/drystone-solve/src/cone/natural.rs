//! The natural map γ - P(γ - s), where s may be far smaller than the last digits of γ.
//!
//! Taken as it stands the difference loses s. With z = γ - s it is s + (z - P(z)) as well, and of that only
//! the distance from the cone has to be found with care:
//!
//! ```text
//!     z in K                 s
//!     z in the polar cone    γ
//!     otherwise              s + (-μ, z_T/|z_T|) e/(1 + μ²),
//!     e = |z_T| - μ z_n = (|γ_T| - μ γ_n) + (|s_T|² - 2⟨γ_T, s_T⟩)/(|z_T| + |γ_T|) + μ s_n
//! ```
//!
//! with |γ_T| - μ γ_n = (|γ_T|² - (μ γ_n)²)/(|γ_T| + μ γ_n) in twice the digits: where a contact slides it is
//! nothing but rounding.

use super::{AdmissibleSet, MAX_ROWS, Set, norm};

impl Set {
    /// |γ - P(γ - s)|.
    ///
    /// # Panics
    /// When `gamma` or `s` have not one entry per row.
    pub fn natural(&self, gamma: &[f64], s: &[f64]) -> f64 {
        assert!(gamma.len() == self.rows() && s.len() == self.rows(), "one entry per row");
        let mut z = [0.0; MAX_ROWS];
        let z = &mut z[..gamma.len()];
        for (z, (gamma, s)) in z.iter_mut().zip(gamma.iter().zip(s)) {
            *z = gamma - s;
        }
        if let Set::Friction2 { mu } | Set::Friction3 { mu } = *self {
            return friction(mu, gamma, s, z);
        }
        let before = z.to_owned();
        self.project(z);
        if *z == *before {
            return norm(s);
        }
        for (z, gamma) in z.iter_mut().zip(gamma) {
            *z = gamma - *z;
        }
        norm(z)
    }
}

/// The same for a cone of friction; `z` is γ - s, and is used up.
fn friction(mu: f64, gamma: &[f64], s: &[f64], z: &mut [f64]) -> f64 {
    let (pull, t) = (norm(&gamma[1..]), norm(&z[1..]));
    if mu * t <= -z[0] {
        return norm(gamma);
    }
    let turned: f64 = gamma[1..].iter().zip(&s[1..]).map(|(g, s)| s * s - 2.0 * g * s).sum();
    let change = if t + pull > 0.0 { turned / (t + pull) } else { 0.0 };
    let excess = overhang(mu, gamma, pull) + change + mu * s[0];
    if excess <= 0.0 {
        return norm(s);
    }
    let out = excess / (1.0 + mu * mu);
    z[0] = s[0] - mu * out;
    for (z, s) in z[1..].iter_mut().zip(&s[1..]) {
        *z = s + if t > 0.0 { *z / t * out } else { 0.0 };
    }
    norm(z)
}

/// |γ_T| - μ γ_n, given |γ_T|: squares and their sum with what rounding leaves of them.
fn overhang(mu: f64, gamma: &[f64], pull: f64) -> f64 {
    let most = mu * gamma[0];
    if !(pull + most > 0.0) {
        return pull - most;
    }
    let (mut sum, mut rest) = (-most * most, -2.0 * most * mu.mul_add(gamma[0], -most));
    rest -= most.mul_add(most, sum);
    for t in &gamma[1..] {
        let square = t * t;
        let next = sum + square;
        let kept = next - sum;
        rest += (sum - (next - kept)) + (square - kept) + t.mul_add(*t, -square);
        sum = next;
    }
    (sum + rest) / (pull + most)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETS: [Set; 6] = [
        Set::NonNegative,
        Set::Interval { lo: -0.3, hi: 0.4 },
        Set::Friction2 { mu: 0.5 },
        Set::Friction3 { mu: 0.0 },
        Set::Friction3 { mu: 0.7 },
        Set::Rolling5 { mu: 0.6, mu_r: 0.2 },
    ];

    fn vector(n: usize, seed: usize) -> Vec<f64> {
        (0..n).map(|k| ((seed * 7 + k * 3) as f64 * 1.7).sin()).collect()
    }

    #[test]
    fn where_nothing_is_small_it_is_the_plain_difference() {
        for set in SETS {
            for trial in 0..200 {
                let (gamma, s) = (vector(set.rows(), trial), vector(set.rows(), trial + 1000));
                let mut p: Vec<f64> = gamma.iter().zip(&s).map(|(g, s)| g - s).collect();
                set.project(&mut p);
                let plain = norm(&gamma.iter().zip(&p).map(|(g, p)| g - p).collect::<Vec<_>>());
                let found = set.natural(&gamma, &s);
                assert!((plain - found).abs() <= 1e-14, "{set:?} {gamma:?} {s:?}: {plain} {found}");
            }
        }
    }

    /// Multipliers 1e12 times as large as the step: the plain difference would be off by percents.
    #[test]
    fn a_small_step_is_not_lost_behind_large_multipliers() {
        let set = Set::Friction3 { mu: 0.75 };
        let s = [3e-5, -1e-5, 2e-5];
        // Well inside the cone nothing is projected.
        assert_eq!(set.natural(&[1e12, 1e11, 0.0], &s), norm(&s));
        // On its surface, pressed outwards along (-μ, t): t = (0.6, 0.8), multipliers and μ are exact.
        let gamma = [1e12, 0.75e12 * 0.6, 0.75e12 * 0.8];
        assert_eq!(norm(&gamma[1..]), 0.75e12);
        let out = [0.75, -0.6, -0.8].map(|x| 1e-5 * x);
        assert!(set.natural(&gamma, &out) <= 1e-20, "{}", set.natural(&gamma, &out));
        // And along its surface: all of it is left.
        let along = [1.0, 0.75 * 0.6, 0.75 * 0.8].map(|x| 1e-5 * x);
        let found = set.natural(&gamma, &along);
        assert!((found - norm(&along)).abs() <= 1e-9 * found, "{found}");
    }

    /// What rounding leaves of multipliers on the surface of a cone is seen: 0.6, 0.8 and 0.7 have no exact
    /// binary form.
    #[test]
    fn the_overhang_is_right_in_its_last_digits() {
        let (mu, gamma) = (0.7, [3e9, 0.7 * 3e9 * 0.6, 0.7 * 3e9 * 0.8]);
        let pull = norm(&gamma[1..]);
        // In integers: every number is m 2^e, and squares of 53 bits fit into 128.
        let whole = |x: f64| (x * 2f64.powi(22)) as i128;
        let t: i128 = gamma[1..].iter().map(|x| whole(*x) * whole(*x)).sum();
        let (m, scale) = ((mu * 2f64.powi(53)) as i128, (gamma[0] * 2f64.powi(-9)) as i128);
        assert_eq!((m as f64, scale as f64 * 2f64.powi(9)), (mu * 2f64.powi(53), gamma[0]));
        // (μ γ_n)² 2^44 = (m scale 2^-22)²; its whole part and the rest.
        let product = m * scale;
        let (high, low) = (product >> 22, product & ((1 << 22) - 1));
        let rest = (2 * high * low) as f64 / 2f64.powi(22) + (low as f64 / 2f64.powi(22)).powi(2);
        let exact = ((t - high * high) as f64 - rest) / 2f64.powi(44) / (pull + mu * gamma[0]);
        let found = overhang(mu, &gamma, pull);
        assert!(exact != 0.0 && (found - exact).abs() <= 1e-9 * exact.abs(), "{found} {exact}");
        assert_ne!(pull - mu * gamma[0], found, "the plain difference is rounding");
    }
}
