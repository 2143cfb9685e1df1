//! The linear systems of the interior point: factors, and what takes off their rounding.

use crate::cone::MAX_ROWS;
use crate::solver::system::dot;
use crate::solver::system::small::{self, ZERO};

use super::{HAIR, Ipm};

/// Solves of one refinement.
const REFINEMENTS: usize = 5;

impl Ipm {
    /// False where `more` cut it short.
    pub(super) fn factorise(&mut self, more: &dyn Fn() -> bool) -> bool {
        let blocks = self.system.blocks();
        self.barrier.clear();
        self.barrier.resize(blocks, ZERO);
        self.clean.clear();
        self.t.clear();
        self.right.clear();
        let mut next = 0;
        for i in 0..blocks {
            let rows = self.system.block(i);
            let n = rows.len();
            let mut fixed = [false; MAX_ROWS];
            fixed[..n].copy_from_slice(&self.fixed[rows.clone()]);
            let begin = next;
            while next < self.cones.len() && self.cones[next].block == i {
                next += 1;
            }
            let rigid = rows.clone().all(|j| self.system.compliance[j] == 0.0);
            let clean = rigid && next == begin + 1 && self.cones[begin].covers(n, &fixed);
            let (mut t, mut right) = (ZERO, ZERO);
            if clean {
                self.cones[begin].root(rows.start, &mut t);
                self.cones[begin].root_exact(rows.start, &mut right);
            } else {
                for c in &self.cones[begin..next] {
                    match self.exact {
                        true => c.hessian_exact(rows.start, &mut self.barrier[i]),
                        false => c.hessian(rows.start, &mut self.barrier[i]),
                    }
                }
                let mut soft = self.barrier[i];
                for (k, j) in rows.enumerate() {
                    soft[k][k] += self.system.compliance[j];
                    if soft[k][k] == 0.0 {
                        soft[k][k] = HAIR * self.system.diagonal[i];
                    }
                }
                if self.exact {
                    t = small::general_inverse_of(n, &soft, &fixed);
                    (0..n).for_each(|k| right[k][k] = 1.0);
                } else {
                    t = small::root(n, &small::inverse(n, &soft, &fixed));
                }
            }
            self.clean.push(clean);
            self.t.push(t);
            self.right.push(right);
        }
        match self.exact {
            true => self.system.factorise_general(&self.t, &self.right, more),
            false => self.system.factorise(&self.t, more),
        }
    }

    /// step = (N + C + B W⁻² G)⁻¹ rhs over the rows that are not fixed: the factor, and what refinement takes
    /// off.
    fn solve_exact(&mut self) {
        let Self { system, cg, rhs, step, fixed, barrier, cones, clean, .. } = self;
        step.fill(0.0);
        cg.ap.clear();
        cg.ap.resize(rhs.len(), 0.0);
        let mut before = f64::INFINITY;
        for _ in 0..REFINEMENTS {
            cg.r.clear();
            cg.r.extend((0..rhs.len()).map(|j| if fixed[j] { 0.0 } else { rhs[j] - cg.ap[j] }));
            let now = dot(&cg.r, &cg.r);
            if !(now < 0.25 * before) {
                // No better: the last correction goes back, unless it was the first.
                if now > before {
                    step.iter_mut().zip(&cg.y).for_each(|(x, y)| *x -= y);
                }
                break;
            }
            before = now;
            if now <= 1e-28 * dot(rhs, rhs) {
                break;
            }
            system.solve_general(&cg.r, &mut cg.y);
            step.iter_mut().zip(&cg.y).for_each(|(x, y)| *x += y);
            system.apply_whole(step, &mut cg.ap);
            for i in 0..system.blocks() {
                let rows = system.block(i);
                small::multiply(rows.len(), &barrier[i], &step[rows.clone()], &mut cg.ap[rows]);
            }
            for c in cones.iter().filter(|c| clean[c.block]) {
                c.transpose(&c.over_w(&c.over_w(&c.image(step, false))), &mut cg.ap);
            }
        }
    }

    /// step = (N + C + Gᵀ W⁻² G)⁻¹ rhs over the rows that are not fixed, by conjugate gradients whose
    /// preconditioner is the factor.
    pub(super) fn solve(&mut self) {
        if self.exact {
            return self.solve_exact();
        }
        let Self { system, cg, rhs, step, fixed, barrier, cones, clean, .. } = self;
        let mask = |x: &mut [f64]| {
            x.iter_mut().zip(fixed.iter()).for_each(|(x, f)| {
                if *f {
                    *x = 0.0
                }
            })
        };
        cg.r.clone_from(rhs);
        mask(&mut cg.r);
        step.fill(0.0);
        let goal = 1e-24 * dot(&cg.r, &cg.r);
        cg.ap.resize(cg.r.len(), 0.0);
        let mut before = 0.0;
        for k in 0..12 {
            system.solve(&cg.r, &mut cg.y);
            let ry = dot(&cg.r, &cg.y);
            if !(ry > 0.0) {
                break;
            }
            if k == 0 {
                cg.p.clone_from(&cg.y);
            } else {
                let beta = ry / before;
                cg.p.iter_mut().zip(&cg.y).for_each(|(p, y)| *p = y + beta * *p);
            }
            before = ry;
            system.apply(&cg.p, &mut cg.ap);
            for i in 0..system.blocks() {
                let rows = system.block(i);
                small::multiply(rows.len(), &barrier[i], &cg.p[rows.clone()], &mut cg.ap[rows]);
            }
            for c in cones.iter().filter(|c| clean[c.block]) {
                c.transpose(&c.over_w(&c.over_w(&c.image(&cg.p, false))), &mut cg.ap);
            }
            mask(&mut cg.ap);
            let curvature = dot(&cg.p, &cg.ap);
            if !(curvature > 0.0) {
                break;
            }
            let much = ry / curvature;
            step.iter_mut().zip(&cg.p).for_each(|(x, p)| *x += much * p);
            cg.r.iter_mut().zip(&cg.ap).for_each(|(r, a)| *r -= much * a);
            if dot(&cg.r, &cg.r) <= goal {
                break;
            }
        }
    }
}
