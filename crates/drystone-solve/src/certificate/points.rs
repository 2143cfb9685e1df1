//! The judge's passes over contact points: the round cone needs lengths and angles only, so that everything is done on
//! world vectors and no frame is made twice.

use std::ops::Range;

use crate::model::Model;
use crate::problem::{Bodies, WORLD, cross, dot, symmetric};

use super::{Tally, unknown};

/// How near to a side counts as on it, relative to the normal multiplier.
const NEAR: f64 = 1e-12;

fn at(field: &[Vec<f64>; 3], i: usize) -> [f64; 3] {
    [field[0][i], field[1][i], field[2][i]]
}

/// Mean diagonal of the block of N: Σ 1/m + (tr(I⁻¹)|r|² - rᵀI⁻¹r)/3 over both bodies, or its normal entry where there is no
/// friction.
#[inline(always)]
fn diagonal(p: &Bodies, body: u32, arm: [f64; 3], n: [f64; 3], mu: f64) -> f64 {
    let (m, inertia) = (p.inv_mass[body as usize], &p.inv_inertia[body as usize]);
    if mu == 0.0 {
        let turn = cross(arm, n);
        return m + dot(turn, symmetric(inertia, turn));
    }
    let trace = inertia[0] + inertia[1] + inertia[2];
    m + (trace * dot(arm, arm) - dot(arm, symmetric(inertia, arm))) / 3.0
}

/// The points of `range`, once each; `v` are the bodies' velocities.
pub(super) fn judge(p: &Bodies, range: Range<usize>, gamma: &[f64], v: &[[f64; 6]], t: &mut Tally) {
    let points = &p.points;
    let soft = !points.compliance[0].is_empty();
    for i in range {
        let (n, mu, f) = (at(&points.normal, i), points.mu[i], points.world(i, &gamma[3 * i..3 * i + 3]));
        let (arm_a, arm_b) = (at(&points.arm_a, i), at(&points.arm_b, i));
        let bias = points.world_bias(i);
        let a = &v[points.a[i] as usize];
        let turn = cross([a[3], a[4], a[5]], arm_a);
        let mut u: [f64; 3] = std::array::from_fn(|k| bias[k] + a[k] + turn[k]);
        let mut g = diagonal(p, points.a[i], arm_a, n, mu);
        if points.b[i] != WORLD {
            let b = &v[points.b[i] as usize];
            let turn = cross([b[3], b[4], b[5]], arm_b);
            (0..3).for_each(|k| u[k] -= b[k] + turn[k]);
            g += diagonal(p, points.b[i], arm_b, n, mu);
        }
        let bias_work = dot(bias, f);
        t.rhs += bias_work;
        // Normal and tangential parts; the rigid velocity, then the compliant one.
        let gamma_n = dot(f, n);
        let gamma_t: [f64; 3] = std::array::from_fn(|k| f[k] - gamma_n * n[k]);
        let rigid_n = dot(u, n);
        let rigid_t: [f64; 3] = std::array::from_fn(|k| u[k] - rigid_n * n[k]);
        let (mut u_n, mut u_t) = (rigid_n, rigid_t);
        let gamma_tt = dot(gamma_t, gamma_t);
        let mut spring = 0.0;
        if soft {
            let (cn, ct) = (points.compliance[0][i], points.compliance[1][i]);
            u_n += cn * gamma_n;
            (0..3).for_each(|k| u_t[k] += ct * gamma_t[k]);
            spring = cn * gamma_n * gamma_n + ct * gamma_tt;
            g += if mu == 0.0 { cn } else { (cn + 2.0 * ct) / 3.0 };
        }
        let slip = dot(u_t, u_t).sqrt();
        let approach = t.model.approach(mu, u_n);
        if t.model == Model::Coulomb {
            u_n += mu * slip;
        }
        t.soft += spring;
        t.multipliers += gamma_n * gamma_n + gamma_tt;
        let work = gamma_n * u_n + dot(gamma_t, u_t);
        t.c.complementarity += work.abs();
        let one = 1.0 + mu * mu;
        // |γ - P(γ - u/g)| g.
        let e = if g > 0.0 {
            let eta = 1.0 / g;
            let x_n = gamma_n - u_n * eta;
            let x_t: [f64; 3] = std::array::from_fn(|k| gamma_t[k] - u_t[k] * eta);
            let length = dot(x_t, x_t).sqrt();
            let (p_n, scale) = if mu * length <= -x_n {
                (0.0, 0.0)
            } else if length <= mu * x_n {
                (x_n, 1.0)
            } else {
                let p_n = (mu * length + x_n) / one;
                (p_n, if length > 0.0 { mu * p_n / length } else { 0.0 })
            };
            let d_t: [f64; 3] = std::array::from_fn(|k| gamma_t[k] - scale * x_t[k]);
            ((gamma_n - p_n).powi(2) + dot(d_t, d_t)).sqrt() * g
        } else {
            0.0
        };
        // Distances from K* and from K.
        let apart = if mu * slip <= u_n {
            0.0
        } else if slip <= -mu * u_n {
            (u_n * u_n + slip * slip).sqrt()
        } else {
            (mu * slip - u_n) / one.sqrt()
        };
        let apart = apart.max(approach);
        t.c.constraint_violation = t.c.constraint_violation.max(apart);
        let pull = gamma_tt.sqrt();
        t.residual(e.max(if g > 0.0 { apart.max(unknown(g, gamma_n.abs() + pull)) } else { 0.0 }));
        let outside = if pull <= mu * gamma_n {
            0.0
        } else if mu * pull <= -gamma_n {
            (gamma_n * gamma_n + gamma_tt).sqrt()
        } else {
            (pull - mu * gamma_n) / one.sqrt()
        };
        // The change of frame rounds.
        let dust = 4.0 * f64::EPSILON * (gamma_n.abs() + pull);
        if outside > dust {
            t.c.cone_violation = t.c.cone_violation.max(outside);
        }
        // |P_T(-u)|, T the tangent cone at γ.
        let back = if gamma_n <= 0.0 {
            apart
        } else if mu == 0.0 {
            u_n.abs()
        } else if pull < mu * gamma_n * (1.0 - NEAR) {
            (u_n * u_n + slip * slip).sqrt()
        } else {
            // ⟨m, -u⟩ with the outward normal m = (-μ, γ_T/|γ_T|)/√(1 + μ²): its positive part is taken out.
            let out = ((mu * u_n - dot(gamma_t, u_t) / pull) / one.sqrt()).max(0.0);
            (u_n * u_n + slip * slip - out * out).max(0.0).sqrt()
        };
        if g > 0.0 {
            t.c.backward_error = t.c.backward_error.max(back);
        }
        let hard = !soft || (points.compliance[0][i] == 0.0 && points.compliance[1][i] == 0.0);
        t.bias = t.bias.filter(|_| hard).map(|sum| sum + bias_work);
        // h of the rigid velocity.
        let slip = dot(rigid_t, rigid_t).sqrt();
        let h = if soft {
            let (cn, ct) = (points.compliance[0][i], points.compliance[1][i]);
            cost(mu, rigid_n, slip, cn, ct)
        } else {
            (mu * slip <= rigid_n).then_some(0.0)
        };
        t.cost(h, work - 0.5 * spring);
    }
}

/// h of a point with compliance: see `penalty`, of which this is the round cone in terms of lengths.
fn cost(mu: f64, u_n: f64, slip: f64, cn: f64, ct: f64) -> Option<f64> {
    let pressed = (mu * slip - u_n).max(0.0);
    if cn == 0.0 {
        return (ct == 0.0 && pressed == 0.0).then_some(0.0);
    }
    if ct == 0.0 {
        return Some(0.5 * pressed * pressed / cn);
    }
    let (n, t, mu) = (-u_n / cn.sqrt(), slip / ct.sqrt(), mu * (ct / cn).sqrt());
    Some(if mu * t <= -n {
        0.0
    } else if t <= mu * n {
        0.5 * (n * n + t * t)
    } else {
        0.5 * (mu * t + n).powi(2) / (1.0 + mu * mu)
    })
}
