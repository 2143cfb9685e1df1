//! Bilateral rows, most of what a mechanism has: what `Tally::add` says of a block, for one row with nothing to project.

use crate::cone::Set;
use crate::problem::{Bodies, WORLD, dot, symmetric};

use super::Tally;

/// Adds the bilateral blocks from general block `from` on, up to the first that is not; returns where that is. `gamma` are the
/// multipliers of the general rows.
pub(super) fn judge(p: &Bodies, from: usize, gamma: &[f64], v: &[[f64; 6]], t: &mut Tally) -> usize {
    let g = &p.general;
    let (mut squares, mut work, mut multipliers, mut biases) = (0.0, 0.0, 0.0, 0.0);
    let (mut most, mut violation) = (0.0f64, 0.0f64);
    let mut still = true;
    let mut i = from;
    while i < g.a.len() && g.set[i] == Set::Free {
        let row = g.first_row[i] as usize;
        let (j, gamma, bias) = (&g.jacobian[row], gamma[row], g.bias[row]);
        let rigid = bias + along(j, 0, g.a[i], v) + along(j, 6, g.b[i], v);
        let soft = g.compliance.get(row).copied().unwrap_or(0.0);
        let u = rigid + soft * gamma;
        let error = if soft > 0.0 || moves(p, i, j) { u.abs() } else { 0.0 };
        squares += error * error;
        if error > t.c.residual_max || t.c.worst_block.is_none() {
            t.c.residual_max = error;
            t.c.worst_block = Some(t.blocks);
        }
        t.blocks += 1;
        violation = violation.max(u.abs());
        most = most.max(error);
        work += (gamma * u).abs();
        multipliers += gamma * gamma;
        biases += bias * gamma;
        if soft > 0.0 {
            t.soft += soft * gamma * gamma;
            t.bias = None;
            t.cost(Some(0.5 * rigid * rigid / soft), gamma * u - 0.5 * soft * gamma * gamma);
        } else {
            // No velocity but zero will do where nothing gives.
            still &= rigid == 0.0;
        }
        i += 1;
    }
    t.squares += squares;
    t.c.constraint_violation = t.c.constraint_violation.max(violation);
    t.c.backward_error = t.c.backward_error.max(most);
    t.c.complementarity += work;
    t.multipliers += multipliers;
    t.rhs += biases;
    t.bias = t.bias.map(|sum| sum + biases);
    t.penalties = t.penalties.filter(|_| still);
    i
}

/// What one side of a row makes of its body's velocity.
#[inline(always)]
fn along(row: &[f64; 12], part: usize, body: u32, v: &[[f64; 6]]) -> f64 {
    if body == WORLD {
        return 0.0;
    }
    let v = &v[body as usize];
    let two = |k: usize| row[part + k] * v[k] + row[part + k + 1] * v[k + 1];
    two(0) + two(2) + two(4)
}

/// Whether the row has a diagonal: something gives when it is pushed.
#[inline(always)]
fn moves(p: &Bodies, i: usize, row: &[f64; 12]) -> bool {
    let sides = [(p.general.a[i], 0), (p.general.b[i], 6)].into_iter().filter(|(body, _)| *body != WORLD);
    let shifts = |(body, s): (u32, usize)| {
        p.inv_mass[body as usize] * (row[s] * row[s] + row[s + 1] * row[s + 1] + row[s + 2] * row[s + 2])
    };
    let turns = |(body, s): (u32, usize)| {
        let j = [row[s + 3], row[s + 4], row[s + 5]];
        dot(j, symmetric(&p.inv_inertia[body as usize], j))
    };
    sides.clone().map(shifts).sum::<f64>() > 0.0
        || sides.map(|side| shifts(side) + turns(side)).sum::<f64>() > 0.0
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
