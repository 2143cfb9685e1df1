//! The certificate of a problem over ranks: as `drystone-solve` defines it, every contact and every row of
//! a joint counted once, sums without rounding.

use drystone_solve::FrictionLaw;
use drystone_solve::certificate::{BlockErrors, Certificate, judge_block};
use drystone_solve::cone::Set;
use glam::DVec3;

use crate::touch::project;
use crate::walk::Walk;

/// Distance of a velocity from the dual cone, m/s.
fn from_dual(mu: f64, u: DVec3) -> f64 {
    // By Moreau's decomposition that is the projection of -u on the cone.
    project(mu, -u).length()
}

/// Distance of u from what γ allows: the part of the dual cone across γ, m/s.
fn backward(mu: f64, gamma: DVec3, u: DVec3) -> f64 {
    let size = gamma.length();
    if size == 0.0 {
        return from_dual(mu, u);
    }
    let across = (gamma.y * gamma.y + gamma.z * gamma.z).sqrt();
    if mu == 0.0 {
        return u.x.abs();
    }
    if across < mu * gamma.x * (1.0 - 1e-12) {
        return u.length();
    }
    // On the cone's edge: velocities along the one ray of the dual cone that is across γ.
    let scale = (1.0 + mu * mu).sqrt();
    let ray = DVec3::new(mu, -gamma.y / across, -gamma.z / across) / scale;
    let along = u.dot(ray).max(0.0);
    (u - along * ray).length()
}

/// Judges the multipliers of a walk that is at its end, under a law of friction.
pub fn judge(walk: &mut Walk, contacts: usize, law: FrictionLaw) -> Certificate {
    walk.prepare();
    let walk = &*walk;
    let exact = |i: usize| -> BlockErrors {
        let ([gamma, u], t) = (walk.look(i), &walk.touches[i]);
        let soft = [t.soft[0], t.soft[1], t.soft[1]];
        judge_block(law, Set::Friction3 { mu: t.mu }, &gamma.to_array(), &u.to_array(), &soft, t.g)
    };
    let residual = |i: usize| {
        let ([gamma, u], t) = (walk.look(i), &walk.touches[i]);
        if law == FrictionLaw::Coulomb {
            return exact(i).residual;
        }
        if t.g <= 0.0 {
            return 0.0;
        }
        // Without friction across, there is nothing to be right or wrong.
        let u = if t.mu == 0.0 { DVec3::new(u.x, 0.0, 0.0) } else { u };
        let natural = (gamma - project(t.mu, gamma - u / t.g)).length() * t.g;
        natural.max(from_dual(t.mu, u)).max(f64::EPSILON * t.g * gamma.length())
    };
    let row = |i: usize| {
        let ([gamma, u], row) = (walk.look_at_row(i), &walk.joints.all()[i]);
        judge_block(law, row.set, &[gamma], &[u], &[row.soft], row.g)
    };
    let most = walk.largest(
        |i| {
            if law == FrictionLaw::Coulomb {
                let e = exact(i);
                return [e.residual, e.violation, e.outside, e.backward];
            }
            let ([gamma, u], t) = (walk.look(i), &walk.touches[i]);
            let u = if t.mu == 0.0 { DVec3::new(u.x, 0.0, 0.0) } else { u };
            [
                residual(i),
                if t.g > 0.0 { from_dual(t.mu, u) } else { 0.0 },
                (gamma - project(t.mu, gamma)).length(),
                if t.g > 0.0 { backward(t.mu, gamma, u) } else { 0.0 },
            ]
        },
        |i| {
            let e = row(i);
            [e.residual, e.violation, e.outside, e.backward]
        },
    );
    let sums = walk.sum(
        |i| {
            let ([gamma, u], t) = (walk.look(i), &walk.touches[i]);
            let complementarity = match law {
                FrictionLaw::Ccp => gamma.dot(u).abs(),
                FrictionLaw::Coulomb => exact(i).complementarity,
            };
            [residual(i).powi(2), complementarity, gamma.dot(gamma), t.soft(gamma), t.work(gamma), 0.0]
        },
        |i| {
            let ([gamma, _], r, e) = (walk.look_at_row(i), &walk.joints.all()[i], row(i));
            let squares = [e.residual.powi(2), e.complementarity, gamma * gamma];
            [squares[0], squares[1], squares[2], r.soft * gamma * gamma, r.bias * gamma, 1.0]
        },
    );
    let [kinetic, free] = walk.energies();
    let [squares, complementarity, multipliers, soft, bias, rows] = sums;
    let rhs = free + bias;
    let curvature = kinetic + soft;
    let flag = |yes: bool| [f64::from(u8::from(yes))];
    let joints = walk.joints.all();
    let rigid = walk.largest(|i| [walk.touches[i].is_soft()], |i| flag(!joints[i].is_rigid()))[0] == 0.0;
    let still = walk.largest(|i| [walk.touches[i].asks()], |i| flag(joints[i].asks()))[0] == 0.0;
    Certificate {
        residual_max: most[0],
        residual_rms: (squares / (contacts as f64 + rows).max(1.0)).sqrt(),
        worst_block: None,
        constraint_violation: most[1],
        cone_violation: most[2],
        complementarity,
        dual_objective: 0.5 * curvature + rhs,
        primal_objective: None,
        duality_gap: None,
        backward_error: most[3],
        // A theorem about the relaxed law alone.
        least_feasible_norm: (rigid && law == FrictionLaw::Ccp).then(|| match bias < 0.0 {
            true if kinetic <= 0.0 => f64::MAX,
            true => -bias / kinetic.sqrt(),
            false => 0.0,
        }),
        multipliers: multipliers.sqrt(),
        curvature,
        rest_is_feasible: still,
    }
}
