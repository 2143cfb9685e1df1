//! The step against the velocity and the projection on the friction cone, for world vectors in any lanes.

use crate::simd::Lanes;
use crate::simd::vec3::{Vec3, add_scaled, dot, scale, sub_scaled};

/// μ, κμ and 1/(1 + κμ²), where lengths along the normal count κ times less than across.
#[derive(Clone, Copy)]
pub(in crate::solver) struct Friction<V> {
    pub mu: V,
    pub pull: V,
    pub share: V,
}

impl<V: Lanes> Friction<V> {
    /// With κ = 1.
    #[inline(always)]
    pub fn new(mu: V) -> Self {
        Self { mu, pull: mu, share: V::one() / (V::one() + mu * mu) }
    }

    /// With any κ.
    #[inline(always)]
    pub fn scaled(mu: V, kappa: V) -> Self {
        let pull = kappa * mu;
        Self { mu, pull, share: V::one() / V::one().add_product(pull, mu) }
    }
}

/// Projection of `d` on the friction cone about `n`; see cone::friction.
#[inline(always)]
pub(in crate::solver) fn project<V: Lanes>(d: Vec3<V>, n: Vec3<V>, friction: Friction<V>) -> Vec3<V> {
    let dn = dot(d, n);
    project_parts(dn, sub_scaled(d, dn, n), n, friction)
}

/// The same of dn n + dt, in the metric of κ.
#[inline(always)]
fn project_parts<V: Lanes>(dn: V, dt: Vec3<V>, n: Vec3<V>, friction: Friction<V>) -> Vec3<V> {
    let Friction { mu, pull, share } = friction;
    let sq = dot(dt, dt);
    let r = sq.sqrt();
    let (zero, one) = (V::zero(), V::one());
    // 1/r = r / r²: the division does not wait for the root. What is too small to be divided by is none.
    let over_r = r * (one / sq.select_le(V::splat(V::NEGLIGIBLE), one, sq));
    let (mu_r, minus_dn, mu_dn) = (pull * r, zero - dn, mu * dn);
    let slide_n = (dn + mu_r) * share;
    let slide_t = mu * share * pull.add_product(dn, over_r);
    let pn = mu_r.select_le(minus_dn, zero, r.select_le(mu_dn, dn, slide_n));
    let pt = mu_r.select_le(minus_dn, zero, r.select_le(mu_dn, one, slide_t));
    add_scaled(scale(pn, n), pt, dt)
}

/// Π(γ - η u).
#[inline(always)]
pub(in crate::solver) fn step<V: Lanes>(
    gamma: Vec3<V>,
    u: Vec3<V>,
    n: Vec3<V>,
    eta: V,
    friction: Friction<V>,
) -> Vec3<V> {
    project(sub_scaled(gamma, eta, u), n, friction)
}

/// Π(γ - S u) with steps η across the normal and κη along it, in the metric of S; `more` is κ - 1 and `un` is
/// n · u.
#[inline(always)]
pub(in crate::solver) fn scaled_step<V: Lanes>(
    gamma: Vec3<V>,
    [u, n]: [Vec3<V>; 2],
    un: V,
    eta: V,
    more: V,
    friction: Friction<V>,
) -> Vec3<V> {
    let to = sub_scaled(gamma, eta, u);
    let dn = dot(to, n);
    project_parts(dn.sub_product(more * eta, un), sub_scaled(to, dn, n), n, friction)
}

/// max(γ_n - η u_n, 0): the update without friction.
#[inline(always)]
pub(in crate::solver) fn press<V: Lanes>(gamma_n: V, u_n: V, eta: V) -> V {
    let (zero, to) = (V::zero(), gamma_n.sub_product(eta, u_n));
    to.select_le(zero, zero, to)
}

/// u and n · u with μ |u_T| added along the normal, where the law is Coulomb's own and not its relaxation.
#[inline(always)]
pub(in crate::solver) fn add_slip<V: Lanes>(u: Vec3<V>, un: V, n: Vec3<V>, mu: V) -> (Vec3<V>, V) {
    let slip = sub_scaled(u, un, n);
    let lift = mu * dot(slip, slip).sqrt();
    (add_scaled(u, lift, n), un + lift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cone::project_friction;

    /// World vectors against the definition in the contact's own frame.
    fn agrees(mu: f64, local: [f64; 3]) {
        let frame = [[0.6, 0.0, 0.8], [0.0, 1.0, 0.0], [-0.8, 0.0, 0.6]];
        let d: [f64; 3] = std::array::from_fn(|c| (0..3).map(|m| local[m] * frame[m][c]).sum());
        let mut expected = local;
        project_friction(mu, &mut expected);
        let got = project(d, frame[0], Friction::new(mu));
        let got = frame.map(|axis| dot(axis, got));
        let size = 1.0 + local.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        for k in 0..3 {
            assert!((got[k] - expected[k]).abs() <= 1e-14 * size, "{mu} {local:?}: {got:?} {expected:?}");
        }
    }

    #[test]
    fn the_projection_is_that_of_the_cone() {
        for mu in [0.0, 1e-3, 0.3, 1.0, 7.0] {
            for n in [-2.0, -1e-3, 0.0, 1e-3, 2.0] {
                for t in [0.0, 1e-160, 1e-3, 0.5, 3.0] {
                    agrees(mu, [n, t, 0.0]);
                    agrees(mu, [n, 0.6 * t, -0.8 * t]);
                }
            }
        }
    }

    #[test]
    fn a_scaled_step_is_the_nearest_point_of_the_cone_in_its_metric() {
        let (mu, kappa, eta) = (0.4, 2.5, 0.7);
        let (n, u, gamma) = ([0.0, 0.0, 1.0], [0.3, -0.9, 0.2], [0.1, 0.2, 0.8]);
        let to = [gamma[0] - eta * u[0], gamma[1] - eta * u[1], gamma[2] - kappa * eta * u[2]];
        let z = scaled_step(gamma, [u, n], u[2], eta, kappa - 1.0, Friction::scaled(mu, kappa));
        let far =
            |z: [f64; 3]| (z[0] - to[0]).powi(2) + (z[1] - to[1]).powi(2) + (z[2] - to[2]).powi(2) / kappa;
        assert!((z[0].hypot(z[1]) - mu * z[2]).abs() < 1e-14, "on the cone: {z:?}");
        for k in 0..2000 {
            let (r, angle) = (f64::from(k % 40) * 0.05, f64::from(k / 40) * 0.125_663_706_143_591_73);
            let other = [mu * r * angle.cos(), mu * r * angle.sin(), r];
            assert!(far(z) <= far(other) + 1e-14, "{z:?} {other:?}");
        }
        // With κ = 1 it is the plain step, to the bit.
        let plain = step(gamma, u, n, eta, Friction::new(mu));
        assert_eq!(scaled_step(gamma, [u, n], u[2], eta, 0.0, Friction::scaled(mu, 1.0)), plain);
    }

    #[test]
    fn without_friction_the_step_is_along_the_normal() {
        assert_eq!(press(0.5, 2.0, 0.125), 0.25);
        assert_eq!(press(0.5, 2.0, 0.5), 0.0);
        assert!(press(f64::NAN, 2.0, 0.5).is_nan());
    }

    #[test]
    fn slip_lifts_the_normal_velocity() {
        let (u, un) = add_slip([3.0, 4.0, -1.0], -1.0, [0.0, 0.0, 1.0], 0.5);
        assert_eq!((u, un), ([3.0, 4.0, 1.5], 1.5));
    }
}
