//! Bilateral rows, most of what a mechanism has: what `Tally::add` says of a block, for one row with nothing
//! to project.

use crate::cone::Set;
use crate::problem::{Bodies, WORLD, dot, symmetric};

use super::Tally;

/// Adds the bilateral blocks from general block `from` on, up to the first that is not; returns where that
/// is. `gamma` are the multipliers of the general rows.
pub(super) fn judge(p: &Bodies, from: usize, gamma: &[f64], v: &[[f64; 6]], t: &mut Tally) -> usize {
    let g = &p.general;
    let mut sums = Sums::default();
    let mut i = from;
    while i < g.a.len() && g.set[i] == Set::Free {
        // The rows of a joint are about the same bodies.
        let (first, a, b) = (i, g.a[i], g.b[i]);
        while i < g.a.len() && g.set[i] == Set::Free && (g.a[i], g.b[i]) == (a, b) {
            i += 1;
        }
        let mut both = [0.0; 12];
        both[..6].copy_from_slice(&v[a as usize]);
        if b != WORLD {
            both[6..].copy_from_slice(&v[b as usize]);
        }
        let firm = [is_firm(p, a), is_firm(p, b)];
        let rows = g.first_row[first] as usize..g.first_row[i] as usize;
        let numbers = gamma[rows.clone()].iter().zip(&g.bias[rows.clone()]);
        for ((row, j), (gamma, bias)) in rows.clone().zip(&g.jacobian[rows]).zip(numbers) {
            let rigid = bias + (along(j, &both, 0) + along(j, &both, 4) + along(j, &both, 8));
            let soft = g.compliance.get(row).copied().unwrap_or(0.0);
            let u = rigid + soft * gamma;
            sums.add(*gamma, *bias, u);
            let some = |side: &[f64]| side.iter().any(|x| *x != 0.0);
            let moved = (firm[0] && some(&j[..6])) || (firm[1] && some(&j[6..])) || moves(p, [a, b], j);
            let error = if soft > 0.0 || moved { u.abs() } else { 0.0 };
            t.residual(error);
            sums.most = sums.most.max(error);
            if soft > 0.0 {
                t.soft += soft * gamma * gamma;
                t.bias = None;
                t.cost(Some(0.5 * rigid * rigid / soft), gamma * u - 0.5 * soft * gamma * gamma);
            } else if rigid != 0.0 {
                // No velocity but zero will do where nothing gives.
                t.penalties = None;
            }
        }
    }
    t.c.constraint_violation = t.c.constraint_violation.max(sums.violation);
    t.c.backward_error = t.c.backward_error.max(sums.most);
    t.c.complementarity += sums.work;
    t.multipliers += sums.multipliers;
    t.rhs += sums.bias;
    t.bias = t.bias.map(|sum| sum + sums.bias);
    i
}

/// A general block of one row: its velocity with compliance and without, and its diagonal.
pub(super) fn single(p: &Bodies, block: usize, gamma: f64, v: &[[f64; 6]]) -> [f64; 3] {
    let g = &p.general;
    let row = g.first_row[block] as usize;
    let (j, soft) = (&g.jacobian[row], g.compliance.get(row).copied().unwrap_or(0.0));
    let (mut rigid, mut diagonal) = (g.bias[row], soft);
    for (body, s) in [(g.a[block], 0), (g.b[block], 6)].into_iter().filter(|(body, _)| *body != WORLD) {
        let v = &v[body as usize];
        rigid += (0..6).map(|k| j[s + k] * v[k]).sum::<f64>();
        let turn = [j[s + 3], j[s + 4], j[s + 5]];
        diagonal += p.inv_mass[body as usize] * (j[s] * j[s] + j[s + 1] * j[s + 1] + j[s + 2] * j[s + 2])
            + dot(turn, symmetric(&p.inv_inertia[body as usize], turn));
    }
    [rigid + soft * gamma, soft, diagonal]
}

/// What a run of rows adds up to.
#[derive(Default)]
struct Sums {
    violation: f64,
    most: f64,
    work: f64,
    multipliers: f64,
    bias: f64,
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, gamma: f64, bias: f64, u: f64) {
        self.violation = self.violation.max(u.abs());
        self.work += (gamma * u).abs();
        self.multipliers += gamma * gamma;
        self.bias += bias * gamma;
    }
}

/// Four terms of a row's velocity.
#[inline(always)]
fn along(row: &[f64; 12], v: &[f64; 12], at: usize) -> f64 {
    let two = |k: usize| row[k] * v[k] + row[k + 1] * v[k + 1];
    two(at) + two(at + 2)
}

/// Whether a body gives whatever pushes it, by far: M⁻¹ has no direction that is locked, or nearly so.
#[inline(always)]
fn is_firm(p: &Bodies, body: u32) -> bool {
    if body == WORLD {
        return false;
    }
    let [xx, yy, zz, xy, xz, yz] = p.inv_inertia[body as usize];
    let minor = xx * yy - xy * xy;
    let determinant = zz * minor - yz * (xx * yz - xy * xz) + xz * (xy * yz - yy * xz);
    let clear = |part: f64, whole: f64| part > 1e-9 * whole;
    p.inv_mass[body as usize] > 0.0 && xx > 0.0 && clear(minor, xx * yy) && clear(determinant, xx * yy * zz)
}

/// Whether the row has a diagonal: something gives when it is pushed.
#[inline(always)]
fn moves(p: &Bodies, bodies: [u32; 2], row: &[f64; 12]) -> bool {
    let shifts = |body: u32, s: usize| {
        p.inv_mass[body as usize] * (row[s] * row[s] + row[s + 1] * row[s + 1] + row[s + 2] * row[s + 2])
    };
    let turns = |body: u32, s: usize| {
        let j = [row[s + 3], row[s + 4], row[s + 5]];
        dot(j, symmetric(&p.inv_inertia[body as usize], j))
    };
    let gives = |body: u32, s: usize| body != WORLD && (shifts(body, s) > 0.0 || turns(body, s) > 0.0);
    gives(bodies[0], 0) || gives(bodies[1], 6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::Block;
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
                assert_eq!(judge(p, i, &gamma, &p.v_free, &mut fast), 3);
                for i in i..3 {
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
                }
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
