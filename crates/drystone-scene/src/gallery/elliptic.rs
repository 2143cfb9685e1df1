//! Jacobi's elliptic functions, for the closed forms of pendulums and tops, by the arithmetic-geometric mean
//! [AbramowitzStegun1964, §16.4 and §17.6].

use std::f64::consts::FRAC_PI_2;

/// The complete integral K(m), 0 ≤ m < 1.
pub(super) fn complete(m: f64) -> f64 {
    let (mut a, mut b) = (1.0, (1.0 - m).sqrt());
    while a - b > 1e-15 * a {
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
    }
    FRAC_PI_2 / a
}

/// (sn u, cn u) for the parameter 0 ≤ m < 1.
pub(super) fn sn_cn(u: f64, m: f64) -> (f64, f64) {
    let (mut a, mut b, mut c) = (1.0, (1.0 - m).sqrt(), m.sqrt());
    let mut ratios = Vec::new();
    while c > 1e-16 * a {
        c = 0.5 * (a - b);
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
        ratios.push(c / a);
    }
    let start = (1u64 << ratios.len()) as f64 * a * u;
    let amplitude = ratios.iter().rev().fold(start, |phi, ratio| 0.5 * (phi + (ratio * phi.sin()).asin()));
    amplitude.sin_cos()
}

/// A pendulum's angle from its lowest place over time, θ̈ = -k sin θ: (sin θ, cos θ).
///
/// With v² = θ̇² at the lowest place, M = 4k/v²: sin(θ/2) = sn(vt/2 | M) where it turns over, M < 1; and
/// sin(θ/2) = √(1/M) sn(√k t | 1/M) where it swings. `t` counts from the lowest place.
pub(super) fn pendulum(k: f64, v: f64, t: f64) -> (f64, f64) {
    let m = 4.0 * k / (v * v);
    let (half, across) = if m < 1.0 {
        sn_cn(0.5 * v * t, m)
    } else {
        let (sn, _) = sn_cn(k.sqrt() * t, 1.0 / m);
        let half = sn / m.sqrt();
        (half, (1.0 - half * half).sqrt())
    };
    (2.0 * half * across, 1.0 - 2.0 * half * half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_from_the_tables() {
        // [AbramowitzStegun1964, table 17.1], m = 0.5
        assert!((complete(0.5) - 1.854_074_677_301_372).abs() < 1e-14);
        let (sn, cn) = sn_cn(complete(0.7), 0.7);
        assert!((sn - 1.0).abs() < 1e-14 && cn.abs() < 1e-14);
        assert!((sn_cn(0.3, 0.0).0 - 0.3f64.sin()).abs() < 1e-15);
    }

    /// Against the equation of motion, by a fine fourth-order integration, both kinds.
    #[test]
    fn pendulums_obey_newton() {
        for (k, v) in [(9.81, 3.0), (9.81, 7.0)] {
            let (mut x, mut w) = (0.0f64, v);
            let n = 20_000;
            let dt = 1.3 / n as f64;
            for _ in 0..n {
                let f = |x: f64| -k * x.sin();
                let (k1, l1) = (w, f(x));
                let (k2, l2) = (w + 0.5 * dt * l1, f(x + 0.5 * dt * k1));
                let (k3, l3) = (w + 0.5 * dt * l2, f(x + 0.5 * dt * k2));
                let (k4, l4) = (w + dt * l3, f(x + dt * k3));
                x += dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
                w += dt / 6.0 * (l1 + 2.0 * l2 + 2.0 * l3 + l4);
            }
            let (sin, cos) = pendulum(k, v, 1.3);
            assert!(
                (sin - x.sin()).abs() < 1e-11 && (cos - x.cos()).abs() < 1e-11,
                "{k} {v}: {sin} {}",
                x.sin()
            );
        }
    }
}
