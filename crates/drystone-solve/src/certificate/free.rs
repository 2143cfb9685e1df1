//! Bilateral rows, most of what a mechanism has: what `Tally::add` says of a block, for one row with nothing to project.

use crate::problem::{Bodies, WORLD, symmetric};

use super::Tally;

/// Adds general block `i`, which is bilateral.
pub(super) fn judge(p: &Bodies, i: usize, gamma: &[f64], v: &[[f64; 6]], t: &mut Tally) {
    let g = &p.general;
    let row = g.first_row[i] as usize;
    let (j, gamma) = (&g.jacobian[row], gamma[3 * p.points.len() + row]);
    let (bias, soft) = (g.bias[row], g.compliance.get(row).copied().unwrap_or(0.0));
    let (mut rigid, mut diagonal) = (bias, soft);
    for (body, part) in [(g.a[i], 0), (g.b[i], 6)] {
        if body == WORLD {
            continue;
        }
        let (body, j) = (body as usize, &j[part..part + 6]);
        rigid += (0..6).map(|k| j[k] * v[body][k]).sum::<f64>();
        let turn = symmetric(&p.inv_inertia[body], [j[3], j[4], j[5]]);
        diagonal += (0..3).map(|k| p.inv_mass[body] * j[k] * j[k] + j[3 + k] * turn[k]).sum::<f64>();
    }
    let u = rigid + soft * gamma;
    let error = if diagonal > 0.0 { u.abs() } else { 0.0 };
    t.residual(error);
    t.c.constraint_violation = t.c.constraint_violation.max(u.abs());
    t.c.backward_error = t.c.backward_error.max(error);
    t.c.complementarity += (gamma * u).abs();
    t.multipliers += gamma * gamma;
    t.soft += soft * gamma * gamma;
    t.rhs += bias * gamma;
    t.bias = t.bias.filter(|_| soft == 0.0).map(|sum| sum + bias * gamma);
    // No velocity but zero will do where nothing gives.
    let penalty = if soft > 0.0 { Some(0.5 * rigid * rigid / soft) } else { (rigid == 0.0).then_some(0.0) };
    t.cost(penalty, gamma * u - 0.5 * soft * gamma * gamma);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::Block;
    use crate::cone::Set;
    use crate::problem::Problem;

    /// The same words as the general judge's, rigid and soft, on bodies that turn and on none that moves.
    #[test]
    fn the_general_judge_agrees() {
        for soft in [vec![], vec![0.3, 0.0, 2.0]] {
            let mut p = Bodies {
                inv_mass: vec![0.5, 2.0, 0.0],
                inv_inertia: vec![[1.0, 2.0, 3.0, 0.1, 0.2, 0.3], [3.0, 1.0, 2.0, 0.3, 0.1, 0.0], [0.0; 6]],
                v_free: (0..3).map(|i| std::array::from_fn(|k| ((7 * i + k) as f64).sin())).collect(),
                ..Bodies::default()
            };
            for (i, pair) in [(0, 1), (1, WORLD), (2, WORLD)].into_iter().enumerate() {
                let row = std::array::from_fn(|k| ((5 * i + k) as f64).cos());
                p.general.push(pair, Set::Free, &[row], &[0.3 * i as f64 - 0.2]);
            }
            p.general.compliance = soft;
            let gamma = [0.7, -0.4, 0.2];
            let problem = Problem::Bodies(p);
            let Problem::Bodies(p) = &problem else { unreachable!() };
            for i in 0..3 {
                let (mut fast, mut slow) = (Tally::new(p.model), Tally::new(p.model));
                judge(p, i, &gamma, &p.v_free, &mut fast);
                let mut u = [0.0; crate::cone::MAX_ROWS];
                problem.block_velocity(i, &p.v_free, &gamma, &mut u);
                let bias = p.general.bias[i] * gamma[i];
                slow.rhs += bias;
                slow.add(&Block {
                    set: Set::Free,
                    gamma: &gamma[i..=i],
                    u: &u[..1],
                    compliance: &[problem.compliance(i, i)],
                    g: problem.block_diagonal(i)[0],
                    bias: Some(bias),
                });
                let words = |t: Tally| {
                    let c = t.clone().finish();
                    let numbers = [
                        c.residual_max,
                        c.constraint_violation,
                        c.complementarity,
                        c.dual_objective,
                        c.backward_error,
                        c.multipliers,
                        c.curvature,
                        t.gap,
                        c.least_feasible_norm.unwrap_or(-1.0),
                        c.primal_objective.unwrap_or(-1.0),
                    ];
                    (numbers, c.duality_gap.is_some(), c.least_feasible_norm.is_some())
                };
                let ((fast, gap, norm), (slow, gap_too, norm_too)) = (words(fast), words(slow));
                assert_eq!((gap, norm), (gap_too, norm_too));
                for (a, b) in fast.into_iter().zip(slow) {
                    assert!((a - b).abs() <= 1e-14 * b.abs().max(1.0), "row {i}: {a} {b}");
                }
            }
        }
    }
}
