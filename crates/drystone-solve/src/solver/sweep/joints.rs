//! The part of a pass that goes over joints: runs of bilateral rows as one block each (see `groups`), other
//! rows on their own.
//!
//! A run reads its Jacobian once for u = J v and once for the impulses Jᵀ Δγ, which M⁻¹ then turns into
//! velocities of its two bodies: M⁻¹Jᵀ as a matrix would be as long as J again, and a sweep over many joints
//! waits for memory.

use crate::cone::{AdmissibleSet, MAX_ROWS};
use crate::problem::{Bodies, General, WORLD};
use crate::simd::{Kernel, Simd, dispatch};

use super::super::fixed_point::{Pass, PassStats};
use super::BodySweeper;
use super::groups::{Group, MOST};

struct Joints<'a> {
    sweeper: &'a mut BodySweeper,
    p: &'a Bodies,
    pass: Pass,
    lambda: f64,
}

impl Kernel for Joints<'_> {
    type Out = PassStats;

    #[inline(always)]
    fn run<S: Simd>(self) -> PassStats {
        let Self { sweeper, p, pass, lambda } = self;
        let mut stats = PassStats::default();
        let count = sweeper.groups.list.len();
        for i in 0..count {
            let group = sweeper.groups.list[if pass == Pass::Backward { count - 1 - i } else { i }];
            stats.add(match group.count {
                1 => sweeper.general_block(p, group.first as usize, pass, lambda),
                _ => sweeper.group(p, group, pass, lambda),
            });
        }
        stats
    }
}

impl BodySweeper {
    /// All joints, in order or, in a backward pass, in the opposite one.
    pub(super) fn joints(&mut self, p: &Bodies, pass: Pass, lambda: f64) -> PassStats {
        dispatch(Joints { sweeper: self, p, pass, lambda })
    }

    fn general_block(&mut self, p: &Bodies, i: usize, pass: Pass, lambda: f64) -> PassStats {
        let g: &General = &p.general;
        let (first, end) = (g.first_row[i] as usize, g.first_row[i + 1] as usize);
        let step = self.step[p.points.len() + i];
        if step == 0.0 {
            return PassStats::default();
        }
        let weight = 1.0 / (lambda * step);
        let jacobi = pass == Pass::Jacobi;
        let rows = if jacobi { &self.rows_before } else { &self.rows };
        let seen = if jacobi { &self.general_before } else { &self.general };
        let mut x = [0.0; MAX_ROWS];
        for (k, j) in (first..end).enumerate() {
            let row = &g.jacobian[j];
            let mut u = g.bias[j] + g.compliance.get(j).copied().unwrap_or(0.0) * seen[j];
            for (body, part) in [(g.a[i], 0), (g.b[i], 6)] {
                if body != WORLD {
                    let (v, w) = rows[body as usize].parts();
                    for m in 0..3 {
                        u += row[part + m] * v[m] + row[part + 3 + m] * w[m];
                    }
                }
            }
            x[k] = u;
        }
        p.model.correct(g.set[i], &mut x[..end - first]);
        for (k, j) in (first..end).enumerate() {
            x[k] = seen[j] - step * x[k];
        }
        g.set[i].project(&mut x[..end - first]);
        let mut sq = 0.0;
        for (k, j) in (first..end).enumerate() {
            let old = self.general[j];
            let new = lambda * x[k] + (1.0 - lambda) * old;
            let d = new - old;
            sq += d * d;
            if pass == Pass::Measure {
                continue;
            }
            self.general[j] = new;
            let row = &g.jacobian[j];
            for (body, part) in [(g.a[i], 0), (g.b[i], 6)] {
                if body != WORLD {
                    let force = [row[part] * d, row[part + 1] * d, row[part + 2] * d];
                    let torque = [row[part + 3] * d, row[part + 4] * d, row[part + 5] * d];
                    self.rows[body as usize].push(&p.inv_inertia[body as usize], force, torque);
                }
            }
        }
        PassStats {
            residual: sq.sqrt() * weight,
            delta_sq: sq,
            weighted: sq * weight,
            ..PassStats::default()
        }
    }

    /// A run of bilateral rows at once.
    #[inline(always)]
    fn group(&mut self, p: &Bodies, group: Group, pass: Pass, lambda: f64) -> PassStats {
        let g: &General = &p.general;
        let (first, n) = (group.first as usize, group.count as usize);
        let row = g.first_row[first] as usize;
        let jacobi = pass == Pass::Jacobi;
        let (rows, seen) =
            if jacobi { (&self.rows_before, &self.general_before) } else { (&self.rows, &self.general) };
        let (a, b) = (g.a[first] as usize, g.b[first]);
        // Both bodies' velocities as one vector; the world's is zero.
        let mut v = [0.0; 12];
        let (x, w) = rows[a].parts();
        v[..3].copy_from_slice(&x);
        v[3..6].copy_from_slice(&w);
        if b != WORLD {
            let (x, w) = rows[b as usize].parts();
            v[6..9].copy_from_slice(&x);
            v[9..].copy_from_slice(&w);
        }
        let jacobian = &g.jacobian[row..row + n];
        let mut u = [0.0; MOST];
        for k in 0..n {
            let j = &jacobian[k];
            let mut four = [0.0; 4];
            for m in 0..4 {
                four[m] = j[m] * v[m] + j[4 + m] * v[4 + m] + j[8 + m] * v[8 + m];
            }
            u[k] = g.bias[row + k] + ((four[0] + four[1]) + (four[2] + four[3]));
        }
        if !g.compliance.is_empty() {
            for k in 0..n {
                u[k] += g.compliance[row + k] * seen[row + k];
            }
        }
        let inverse = &self.groups.inverse[group.inverse as usize];
        let mut d = [0.0; MOST];
        for m in 0..n {
            for k in 0..MOST {
                d[k] -= inverse[m * MOST + k] * u[m];
            }
        }
        let mut stats = PassStats::default();
        let mut push = [0.0; 12];
        for k in 0..n {
            let d = lambda * d[k];
            let size = u[k].abs();
            stats.residual = if size <= stats.residual { stats.residual } else { size };
            stats.delta_sq += d * d;
            stats.weighted -= d * u[k];
            if pass == Pass::Measure {
                continue;
            }
            self.general[row + k] += d;
            let j = &jacobian[k];
            for m in 0..12 {
                push[m] += j[m] * d;
            }
        }
        if pass != Pass::Measure {
            let three = |at: usize| [push[at], push[at + 1], push[at + 2]];
            self.rows[a].push(&p.inv_inertia[a], three(0), three(3));
            if b != WORLD {
                let b = b as usize;
                self.rows[b].push(&p.inv_inertia[b], three(6), three(9));
            }
        }
        stats
    }
}
