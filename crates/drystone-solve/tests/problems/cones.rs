//! What every admissible set owes: P is the nearest point, idempotent and non-expansive, and cones
//! decompose as Moreau says.

use drystone_solve::cone::{AdmissibleSet, Set};
use proptest::prelude::*;

fn sets() -> impl Strategy<Value = Set> {
    let mu = prop_oneof![Just(0.0), 1e-6..3.0f64];
    prop_oneof![
        Just(Set::Free),
        Just(Set::NonNegative),
        (-3.0..3.0f64, 0.0..2.0f64).prop_map(|(lo, w)| Set::Interval { lo, hi: lo + w }),
        Just(Set::Interval { lo: f64::NEG_INFINITY, hi: 1.5 }),
        mu.clone().prop_map(|mu| Set::Friction2 { mu }),
        mu.clone().prop_map(|mu| Set::Friction3 { mu }),
        (mu.clone(), mu).prop_map(|(mu, mu_r)| Set::Rolling5 { mu, mu_r }),
    ]
}

fn cones() -> impl Strategy<Value = Set> {
    sets().prop_map(|s| if s.is_cone() { s } else { Set::Interval { lo: 0.0, hi: f64::INFINITY } })
}

/// Entries of mixed size, with exact zeros among them.
fn vector() -> impl Strategy<Value = [f64; 5]> {
    prop::array::uniform5(prop_oneof![Just(0.0), -2.0..2.0f64, -1e-8..1e-8f64, -1e6..1e6f64])
}

fn projected(set: &Set, x: &[f64]) -> Vec<f64> {
    let mut p = x.to_vec();
    set.project(&mut p);
    p
}

fn distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn size(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

/// How far x is outside the set, by the set's own inequalities, written independently of the projection.
fn outside(set: &Set, x: &[f64]) -> f64 {
    match *set {
        Set::Free => 0.0,
        Set::NonNegative => (-x[0]).max(0.0),
        Set::Interval { lo, hi } => (lo - x[0]).max(x[0] - hi).max(0.0),
        Set::Friction2 { mu } => (x[1].abs() - mu * x[0]).max(-x[0]).max(0.0),
        Set::Friction3 { mu } => (x[1].hypot(x[2]) - mu * x[0]).max(-x[0]).max(0.0),
        Set::Rolling5 { mu, mu_r } => {
            (x[1].hypot(x[2]) - mu * x[0]).max(x[3].hypot(x[4]) - mu_r * x[0]).max(-x[0]).max(0.0)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn projection_lands_in_the_set_and_stays(set in sets(), x in vector()) {
        let x = &x[..set.rows()];
        let p = projected(&set, x);
        let scale = 1.0 + size(x);
        prop_assert!(outside(&set, &p) <= 1e-12 * scale, "{set:?} {x:?} -> {p:?}");
        prop_assert!(distance(&p, &projected(&set, &p)) <= 1e-12 * scale);
        if outside(&set, x) == 0.0 {
            prop_assert!(distance(&p, x) <= 1e-12 * scale);
        }
    }

    #[test]
    fn projection_is_non_expansive(set in sets(), x in vector(), y in vector()) {
        let (x, y) = (&x[..set.rows()], &y[..set.rows()]);
        let moved = distance(&projected(&set, x), &projected(&set, y));
        prop_assert!(moved <= distance(x, y) * (1.0 + 1e-12) + 1e-12 * (size(x) + size(y)));
    }

    /// P(x) is the nearest point exactly when ⟨x - P(x), y - P(x)⟩ ≤ 0 for every y in the set.
    #[test]
    fn projection_is_the_nearest_point(set in sets(), x in vector(), y in vector()) {
        let (x, y) = (&x[..set.rows()], &y[..set.rows()]);
        let p = projected(&set, x);
        let y = projected(&set, y);
        let a: Vec<f64> = x.iter().zip(&p).map(|(x, p)| x - p).collect();
        let b: Vec<f64> = y.iter().zip(&p).map(|(y, p)| y - p).collect();
        prop_assert!(dot(&a, &b) <= 1e-11 * (1.0 + size(x)) * (1.0 + size(x) + size(&y)), "{set:?}");
    }

    #[test]
    fn moreau_decomposition(set in cones(), x in vector()) {
        let x = &x[..set.rows()];
        let p = projected(&set, x);
        let mut minus_polar: Vec<f64> = x.iter().map(|x| -x).collect();
        set.project_dual(&mut minus_polar);
        // x = P_K(x) - P_K*(-x), and the two parts are orthogonal.
        let sum: Vec<f64> = p.iter().zip(&minus_polar).map(|(p, d)| p - d).collect();
        prop_assert!(distance(&sum, x) <= 1e-12 * (1.0 + size(x)));
        prop_assert!(dot(&p, &minus_polar).abs() <= 1e-11 * (1.0 + dot(x, x)));
    }

    /// The dual projection lands in the dual: ⟨u, γ⟩ ≥ 0 for every γ of the cone.
    #[test]
    fn dual_is_dual(set in cones(), x in vector(), y in vector()) {
        let mut u = x[..set.rows()].to_vec();
        set.project_dual(&mut u);
        let g = projected(&set, &y[..set.rows()]);
        prop_assert!(dot(&u, &g) >= -1e-11 * (1.0 + size(&x)) * (1.0 + size(&g)));
    }

    /// σ(x) ≥ ⟨x, γ⟩ for every γ in K.
    #[test]
    fn support_bounds_every_member(set in sets(), x in vector(), y in vector()) {
        let x = &x[..set.rows()];
        let g = projected(&set, &y[..set.rows()]);
        prop_assert!(set.support(x) >= dot(x, &g) - 1e-10 * (1.0 + size(x)) * (1.0 + size(&g)));
    }
}

#[test]
fn paper_values() {
    // [TasoraAnitescu2011, eq. 45] by hand: mu = 0.5, (1, 3, 4) has γ_r = 5, Π_n = (2.5 + 1) / 1.25 = 2.8.
    let mut x = [1.0, 3.0, 4.0];
    Set::Friction3 { mu: 0.5 }.project(&mut x);
    assert_eq!(x, [2.8, 3.0 * 1.4 / 5.0, 4.0 * 1.4 / 5.0]);
    let mut x = [-1.0, 0.3, 0.4];
    Set::Friction3 { mu: 0.5 }.project(&mut x);
    assert_eq!(x, [0.0; 3]);
}

#[test]
fn frictionless_cone_is_the_normal_half_line() {
    for (x, want) in
        [([2.0, 3.0, -1.0], [2.0, 0.0, 0.0]), ([-2.0, 3.0, -1.0], [0.0; 3]), ([0.0; 3], [0.0; 3])]
    {
        let mut p = x;
        Set::Friction3 { mu: 0.0 }.project(&mut p);
        assert_eq!(p.map(|x| x + 0.0), want);
    }
}

#[test]
fn interval_support_is_finite() {
    let set = Set::Interval { lo: -2.0, hi: 3.0 };
    assert_eq!(set.support(&[2.0]), 6.0);
    assert_eq!(set.support(&[-2.0]), 4.0);
    assert!(!set.is_cone());
}

#[test]
fn bad_parameters_are_named() {
    assert!(Set::Friction3 { mu: -0.1 }.check().unwrap_err().contains("mu"));
    assert!(Set::Friction3 { mu: f64::NAN }.check().is_err());
    assert!(Set::Interval { lo: 1.0, hi: 0.0 }.check().is_err());
}
