//! The dense problem of one island, solved: all contacts at once by Newton's method, or one after the other.

use std::time::Instant;

use crate::certificate::Judge;
use crate::cone::MAX_ROWS;
use crate::friction_law::FrictionLaw;
use crate::problem::{Csr, Explicit, Problem};
use crate::simd::F64Lanes;

use super::super::block::{Newton, Vector as Few, local};
use super::super::growth::Growth;
use super::super::{Status, Stop};
use super::f64x8::{On, WIDTH};
use super::island::{Block, Island};

impl Island {
    /// Newton's method and then block splitting on the dense problem; how it ended, and the number of steps
    /// and sweeps. For the relaxed law with the conjugate gradient over sweeps of [SilcowitzHansen2010,
    /// Algorithm 2], as in `nncg`: contacts of one box with one floor share the load in many ways, and sweeps
    /// alone are slow to settle it.
    #[inline(always)]
    pub(super) fn solve<V: F64Lanes>(
        &mut self,
        on: On<V>,
        problem: &Problem,
        stop: &Stop,
        begun: Instant,
    ) -> (Status, usize) {
        let work = self;
        let model = problem.model();
        let within = |residual: f64| residual <= stop.tolerance && (stop.tolerance > 0.0 || residual == 0.0);
        if work.rows == 0 || within(work.residual(model)) {
            return (Status::Converged, 0);
        }
        if let Some(steps) = work.newton(on, model, stop) {
            return (Status::Converged, steps);
        }
        let mut newton = Newton::default();
        let mut growth = Growth::default();
        let (mut last, mut before) = (None, None);
        let mut least = f64::INFINITY;
        let mut worst = f64::INFINITY;
        for k in 1..=stop.iterations {
            if model == FrictionLaw::Ccp {
                work.conjugate(last, before);
            }
            let energy;
            [worst, energy] = work.sweep(on, &mut newton);
            (before, last) = (last, Some(energy));
            if !energy.is_finite() {
                return (Status::Diverged, k);
            }
            // A step may be long and lead nowhere: contacts that share a load pass it to and fro.
            let look = k % 4 == 0 || worst <= 10.0 * stop.tolerance || worst == 0.0;
            if look && within(work.residual(model)) {
                return (Status::Converged, k);
            }
            if worst <= least {
                least = worst;
                work.best.clone_from(&work.gamma);
            }
            // The question is about the whole problem: not one to ask in every island.
            if Growth::due(k) && !problem.rest_is_feasible() {
                let residual = work.residual(model);
                if growth.suspects(&work.gamma[..work.rows], residual)
                    && growth.proves(&work.alone(model), &mut Judge::default())
                {
                    return (Status::Wedged, k);
                }
            }
            if stop.is_late(begun) {
                return (Status::Budget, k);
            }
        }
        if !(worst <= least) {
            work.gamma.clone_from(&work.best);
        }
        (Status::Iterations, stop.iterations)
    }

    /// With Δ = γ - the place marked: γ ← γ + β p, p ← β p + Δ; then marks the place. `u` follows.
    #[inline(always)]
    fn conjugate(&mut self, last: Option<f64>, before: Option<f64>) {
        let beta = match (last, before) {
            (Some(last), Some(before)) if last <= before && before > 0.0 => Some(last / before),
            (Some(_), None) => Some(0.0),
            _ => None,
        };
        let both = [&mut self.gamma, &mut self.u];
        for ((x, marked), p) in both.into_iter().zip(&mut self.marked).zip(&mut self.way) {
            match beta {
                Some(beta) => {
                    for i in 0..x.len() {
                        let (delta, along) = (x[i] - marked[i], beta * p[i]);
                        x[i] += along;
                        p[i] = along + delta;
                    }
                }
                None => {
                    p.clear();
                    p.resize(x.len(), 0.0);
                }
            }
            marked.clone_from(x);
        }
    }

    /// N' and r' of the rows that count as a problem of its own.
    fn alone(&self, model: FrictionLaw) -> Problem {
        let counts = |b: &Block| b.first as usize..b.first as usize + b.one.rows;
        let rows: Vec<usize> = self.blocks.iter().flat_map(counts).collect();
        let row = |i: &usize| {
            let n = self.n[i * self.panels..(i + 1) * self.panels].as_flattened();
            rows.iter().enumerate().map(|(j, from)| (j as u32, n[*from])).collect()
        };
        let w = Csr::from_rows(rows.len(), rows.iter().map(row).collect());
        let rhs = rows.iter().map(|i| self.rhs[*i]).collect();
        let sets = self.blocks.iter().map(|b| b.one.set).collect();
        Problem::Explicit(Explicit { model, ..Explicit::new(w, rhs, sets) })
    }

    /// One sweep: the largest |Δγ| g, m/s, and Σ |Δγ|² g, J.
    #[inline(always)]
    fn sweep<V: F64Lanes>(&mut self, on: On<V>, newton: &mut Newton) -> [f64; 2] {
        let (panels, mut worst, mut energy) = (self.panels, 0.0f64, 0.0);
        for b in &mut self.blocks {
            let (first, rows) = (b.first as usize, b.one.rows);
            if b.holds_still() {
                continue;
            }
            let mut gamma: Few = [0.0; MAX_ROWS];
            gamma[..rows].copy_from_slice(&self.gamma[first..first + rows]);
            for r in 0..rows {
                let own: f64 = (0..rows).map(|c| b.one.w[r][c] * gamma[c]).sum();
                b.one.b[r] = self.u[first + r] - own;
            }
            local(&b.one, newton, &mut gamma);
            for r in 0..rows {
                let d = gamma[r] - self.gamma[first + r];
                worst = if (d * b.g).abs() <= worst { worst } else { (d * b.g).abs() };
                energy += d * d * b.one.g;
                if d != 0.0 {
                    self.gamma[first + r] = gamma[r];
                    let row = &self.n[(first + r) * panels..(first + r + 1) * panels];
                    let (u, _) = self.u.as_chunks_mut::<WIDTH>();
                    u.iter_mut().zip(row).for_each(|(u, n)| on.add_all(u, d, n));
                }
            }
        }
        [worst, energy]
    }
}
