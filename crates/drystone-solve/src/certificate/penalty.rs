//! What a block's velocity costs in the primal objective: h(u) = sup over γ in K of -⟨u, γ⟩ - ½ ⟨γ, C γ⟩.
//!
//! With C > 0 in every row, γ = C^-½ γ' turns a friction cone into one with μ' = μ √(C_T/C_n), and h(u) =
//! ½ |P'(-C^-½ u)|². Where the tangential rows are rigid and the normal one is not, the best γ_T is -μ γ_n
//! u_T/|u_T|, which leaves h(u) = max(0, μ |u_T| - u_n)²/(2 C_n), with μ_r |u_M| added for the
//! five-dimensional cone. Where only the normal row is rigid h is infinite as soon as u_n < 0, and for u_n ≥
//! 0 it lies below the value for μ = ∞, ½ |u_T|²/C_T: a larger F is still a bound, but too large a one to be
//! of use, so that this case counts as rigid.

use crate::cone::{AdmissibleSet, MAX_ROWS, Set, norm};

/// h(u); None where it is infinite or not known.
pub(super) fn penalty(set: Set, u: &[f64], compliance: &[f64]) -> Option<f64> {
    if compliance.iter().all(|c| *c == 0.0) {
        return Some(support_of_minus(set, u)).filter(|x| x.is_finite());
    }
    let c = compliance[0];
    if c == 0.0 {
        return None;
    }
    let same = |rows: &[f64]| rows.iter().all(|x| *x == rows[0]);
    let softened = |mu: f64, rows: &[f64]| mu * (rows[0] / c).sqrt();
    let scaled = match set {
        Set::Free => Set::Free,
        Set::NonNegative => Set::NonNegative,
        Set::Interval { lo, hi } => Set::Interval { lo: lo * c.sqrt(), hi: hi * c.sqrt() },
        Set::Friction2 { mu } => Set::Friction2 { mu: softened(mu, &compliance[1..2]) },
        Set::Friction3 { mu } if same(&compliance[1..3]) => {
            Set::Friction3 { mu: softened(mu, &compliance[1..3]) }
        }
        Set::Rolling5 { mu, mu_r } if same(&compliance[1..3]) && same(&compliance[3..5]) => {
            Set::Rolling5 { mu: softened(mu, &compliance[1..3]), mu_r: softened(mu_r, &compliance[3..5]) }
        }
        _ => return None,
    };
    if compliance[1..].contains(&0.0) {
        let rigid = compliance[1..].iter().all(|x| *x == 0.0);
        let slip = match set {
            Set::Friction2 { mu } | Set::Friction3 { mu } => mu * norm(&u[1..]),
            Set::Rolling5 { mu, mu_r } => mu * norm(&u[1..3]) + mu_r * norm(&u[3..5]),
            _ => 0.0,
        };
        return rigid.then(|| 0.5 * (slip - u[0]).max(0.0).powi(2) / c);
    }
    let mut p = [0.0; MAX_ROWS];
    let p = &mut p[..u.len()];
    for k in 0..u.len() {
        p[k] = -u[k] / compliance[k].sqrt();
    }
    if let Set::Interval { lo, hi } = scaled {
        let g = p[0].max(lo).min(hi);
        return Some(p[0] * g - 0.5 * g * g);
    }
    scaled.project(p);
    Some(0.5 * p.iter().map(|x| x * x).sum::<f64>())
}

/// σ(-u) of the nearest u for which it is finite: a set that is open to one side asks for a sign of u, which
/// may be missed by a little.
pub(super) fn support_within(set: Set, u: &[f64]) -> f64 {
    let mut near = [0.0; MAX_ROWS];
    let near = &mut near[..u.len()];
    near.copy_from_slice(u);
    set.project_dual(near);
    support_of_minus(set, near)
}

/// σ(-u).
fn support_of_minus(set: Set, u: &[f64]) -> f64 {
    let mut p = [0.0; MAX_ROWS];
    let p = &mut p[..u.len()];
    for k in 0..u.len() {
        p[k] = -u[k];
    }
    set.support(p)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The supremum by many projected gradient steps.
    fn backward_pass(set: Set, u: &[f64], c: &[f64]) -> f64 {
        let n = u.len();
        let mut g = vec![0.0; n];
        let step = 0.9 / c.iter().fold(0.0f64, |a, b| a.max(*b)).max(1.0);
        for _ in 0..200_000 {
            for k in 0..n {
                g[k] -= step * (u[k] + c[k] * g[k]);
            }
            set.project(&mut g);
        }
        (0..n).map(|k| -u[k] * g[k] - 0.5 * c[k] * g[k] * g[k]).sum()
    }

    #[test]
    fn it_is_the_supremum() {
        let cases: [(Set, &[f64], &[f64]); 7] = [
            (Set::Free, &[0.3], &[0.5]),
            (Set::Interval { lo: -0.2, hi: 0.4 }, &[-0.9], &[0.7]),
            (Set::Friction2 { mu: 0.5 }, &[-0.4, 0.9], &[0.5, 0.8]),
            (Set::Friction3 { mu: 0.5 }, &[-0.4, 0.3, 0.2], &[0.5, 0.8, 0.8]),
            (Set::Friction3 { mu: 0.5 }, &[0.1, 0.6, -0.2], &[0.5, 0.0, 0.0]),
            (Set::Rolling5 { mu: 0.5, mu_r: 0.2 }, &[-0.2, 0.3, 0.2, -0.4, 0.1], &[0.5, 0.8, 0.8, 0.3, 0.3]),
            (Set::Rolling5 { mu: 0.5, mu_r: 0.2 }, &[-0.2, 0.3, 0.2, -0.4, 0.1], &[0.5, 0.0, 0.0, 0.0, 0.0]),
        ];
        for (set, u, c) in cases {
            let (h, climbed) = (penalty(set, u, c).unwrap(), backward_pass(set, u, c));
            assert!((h - climbed).abs() < 1e-9, "{set:?}: {h} {climbed}");
            assert!(h > 0.0);
        }
        assert_eq!(penalty(Set::Friction3 { mu: 0.5 }, &[-0.1, 0.0, 0.0], &[0.0; 3]), None);
        assert_eq!(penalty(Set::Friction3 { mu: 0.5 }, &[0.1, 0.0, 0.0], &[0.0, 0.2, 0.2]), None);
    }
}
