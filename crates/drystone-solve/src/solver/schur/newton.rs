//! A small island by Newton's method on all of its contacts at once.
//!
//! Relaxed: the natural map Φ = γ - P_K(γ - ρ u). Coulomb: the function of [AlartCurnier1991], see
//! `block/newton.rs`. With u = N' γ + r' and x = γ - ρ u
//!
//! ```text
//!     Φ'(γ) = 1 - P'(x) (1 - ρ N'),      γ ← γ - t Φ'⁻¹ Φ
//! ```
//!
//! Where contacts share a load in many ways, Φ' is singular and Φ'Δ = -Φ has many solutions: with N' + ε g in
//! place of N' the smallest of them is found, and Φ still falls by ε from step to step. Where |Φ| does not
//! fall, nor with half of a step, ε grows as in the method of Levenberg and Marquardt, and falls again with
//! whole steps. Where nothing helps, sweeps go on, with all that they may take: steps that led nowhere do not
//! count. Relaxed they go on from where those ended, which is nearer; under the exact law |Φ| falls on ways
//! that end anywhere, and they go on from the guess.

use crate::cone::{AdmissibleSet, MAX_ROWS, Set};
use crate::friction_law::FrictionLaw;
use crate::simd::F64Lanes;

use super::super::Stop;
use super::super::block::{Matrix, Vector as Few, cone, disc};
use super::f64x8::{F64x8, On, WIDTH};
use super::island::{Block, Island};

/// Most rows: a step is of third order in them, a sweep of second.
const MOST: usize = 96;
/// Most steps, and halvings of each.
const STEPS: usize = 40;
const HALVINGS: usize = 1;
/// ε at first, after the first step that fails, and at most; what it changes by.
const SOFT: f64 = 1e-6;
const SOFTER: f64 = 0.1;
const SOFTEST: f64 = 3.0;
const FACTOR: f64 = 10.0;
/// Pivots of Φ', whose rows are about one, that are rounding.
const NOTHING: f64 = 1e-12;

/// What a few steps need.
#[derive(Default)]
pub(super) struct Slope {
    /// Φ' and, in the column of the right-hand side, -Φ.
    rows: Vec<F64x8>,
    /// Rows, and columns, of blocks that may move.
    live: Vec<usize>,
    /// Column of each row's pivot.
    pivots: Vec<usize>,
    /// Δγ and N' Δγ, and where they start from.
    way: [Vec<f64>; 2],
    from: [Vec<f64>; 2],
    /// γ and u before the first step.
    start: [Vec<f64>; 2],
}

impl Island {
    /// How many steps solved it; None if they did not.
    #[inline(always)]
    pub(super) fn newton<V: F64Lanes>(
        &mut self,
        on: On<V>,
        model: FrictionLaw,
        stop: &Stop,
    ) -> Option<usize> {
        let apt = |b: &Block| !matches!(b.one.set, Set::Rolling5 { .. } | Set::Free);
        if !(stop.tolerance > 0.0) || self.rows > MOST || !self.blocks.iter().all(apt) {
            return None;
        }
        self.slope.start[0].clone_from(&self.gamma);
        self.slope.start[1].clone_from(&self.u);
        let mut soft = SOFT;
        let mut size = self.slope(on, model, soft);
        // What fails must not take longer than sweeps do.
        let most = STEPS.min(stop.iterations / 2);
        for k in 1..=most {
            self.find_way(on);
            self.slope.from[0].clone_from(&self.gamma);
            self.slope.from[1].clone_from(&self.u);
            let mut length = 1.0;
            let mut fell = false;
            for _ in 0..=HALVINGS {
                let Slope { way, from, .. } = &self.slope;
                for i in 0..self.gamma.len() {
                    self.gamma[i] = from[0][i] + length * way[0][i];
                    self.u[i] = from[1][i] + length * way[1][i];
                }
                let new = self.slope(on, model, soft);
                fell = new <= (1.0 - 1e-4 * length) * size;
                if fell {
                    size = new;
                    break;
                }
                length *= 0.5;
            }
            if !fell {
                self.gamma.clone_from(&self.slope.from[0]);
                self.u.clone_from(&self.slope.from[1]);
                soft = (FACTOR * soft).max(SOFTER);
                if soft > SOFTEST {
                    break;
                }
                self.slope(on, model, soft);
                continue;
            }
            // The rows of Φ are speeds of less than this.
            if size <= 2.0 * stop.tolerance {
                self.admit(on);
                if self.residual(model) <= stop.tolerance {
                    return Some(k);
                }
                size = self.slope(on, model, soft);
            } else if length == 1.0 && soft > SOFT {
                soft = (soft / FACTOR).max(SOFT);
                self.slope(on, model, soft);
            }
        }
        match model {
            FrictionLaw::Ccp => self.admit(on),
            FrictionLaw::Coulomb => {
                self.gamma.clone_from(&self.slope.start[0]);
                self.u.clone_from(&self.slope.start[1]);
            }
        }
        None
    }

    /// Φ' and Φ where γ and u are; |Φ| g, m/s.
    #[inline(always)]
    fn slope<V: F64Lanes>(&mut self, on: On<V>, model: FrictionLaw, soft: f64) -> f64 {
        let (panels, column) = (self.panels, self.rows);
        let mut square = 0.0;
        let Slope { rows: to, live, .. } = &mut self.slope;
        to.clear();
        to.resize(self.rows * panels, [0.0; WIDTH]);
        live.clear();
        for b in &self.blocks {
            let (first, rows) = (b.first as usize, b.one.rows);
            if b.holds_still() {
                continue;
            }
            live.extend(first..first + rows);
            let mut gamma: Few = [0.0; MAX_ROWS];
            gamma[..rows].copy_from_slice(&self.gamma[first..first + rows]);
            let (rho, p, d) = projected(b, model, &gamma, &self.u[first..first + rows]);
            for r in 0..rows {
                let row = &mut to[(first + r) * panels..(first + r + 1) * panels];
                row.as_flattened_mut()[first + r] = 1.0;
                for k in 0..rows {
                    row.as_flattened_mut()[first + k] -= (1.0 - soft) * d[r][k];
                    let share = d[r][k] * rho[k];
                    if share != 0.0 {
                        let n = &self.n[(first + k) * panels..(first + k + 1) * panels];
                        row.iter_mut().zip(n).for_each(|(to, n)| on.add_all(to, share, n));
                    }
                }
                let phi = gamma[r] - p[r];
                row.as_flattened_mut()[column] = -phi;
                square += (phi * b.one.g) * (phi * b.one.g);
            }
        }
        square.sqrt()
    }

    /// Φ'Δ = -Φ by elimination with row exchanges, and N'Δ.
    #[inline(always)]
    fn find_way<V: F64Lanes>(&mut self, on: On<V>) {
        let (panels, count) = (self.panels, self.rows);
        let Slope { rows, live, pivots, way, .. } = &mut self.slope;
        pivots.clear();
        for &c in live.iter() {
            let at = |rows: &[F64x8], r: usize| rows[r * panels + c / WIDTH][c % WIDTH];
            let (top, left) = (live[pivots.len()], &live[pivots.len()..]);
            let (mut best, mut largest) = (top, 0.0);
            for &r in left {
                let x = at(rows, r).abs();
                if x > largest {
                    (best, largest) = (r, x);
                }
            }
            if !(largest > NOTHING) {
                continue;
            }
            for k in 0..panels {
                rows.swap(top * panels + k, best * panels + k);
            }
            let over = 1.0 / at(rows, top);
            // What is left of it is to the right.
            for &r in &left[1..] {
                let factor = at(rows, r) * over;
                if factor != 0.0 {
                    for k in c / WIDTH..panels {
                        let from = rows[top * panels + k];
                        on.take_all(&mut rows[r * panels + k], factor, &from);
                    }
                }
            }
            pivots.push(c);
        }
        for way in way.iter_mut() {
            way.clear();
            way.resize(WIDTH * panels, 0.0);
        }
        let (along, speed) = way.split_at_mut(1);
        let (speed, _) = speed[0].as_chunks_mut::<WIDTH>();
        for (r, c) in pivots.iter().enumerate().rev() {
            let row = rows[live[r] * panels..(live[r] + 1) * panels].as_flattened();
            let later = pivots[r + 1..].iter().map(|c| row[*c] * along[0][*c]).sum::<f64>();
            along[0][*c] = (row[count] - later) / row[*c];
            let n = &self.n[c * panels..(c + 1) * panels];
            speed.iter_mut().zip(n).for_each(|(u, n)| on.add_all(u, along[0][*c], n));
        }
    }

    /// γ ← P_K(γ), and u of that.
    #[inline(always)]
    fn admit<V: F64Lanes>(&mut self, on: On<V>) {
        for b in &self.blocks {
            b.one.set.project(&mut self.gamma[b.first as usize..b.first as usize + b.one.rows]);
        }
        self.velocities(on);
    }
}

/// ρ, P(γ - ρ u) and P' of a block.
#[inline(always)]
fn projected(b: &Block, model: FrictionLaw, gamma: &Few, u: &[f64]) -> (Few, Few, Matrix) {
    let (n, w) = (b.one.rows, &b.one.w);
    let tangent = (1..n).map(|k| w[k][k]).fold(f64::MIN_POSITIVE, f64::max);
    let normal = w[0][0].max(f64::MIN_POSITIVE);
    let rho: Few = std::array::from_fn(|k| match (model, k) {
        (FrictionLaw::Ccp, _) => 1.0 / b.one.g,
        (FrictionLaw::Coulomb, 0) => 1.0 / normal,
        (FrictionLaw::Coulomb, _) => 1.0 / tangent,
    });
    let x: Few = std::array::from_fn(|k| if k < n { gamma[k] - rho[k] * u[k] } else { 0.0 });
    let (p, d) = match b.one.set {
        Set::Friction2 { mu } | Set::Friction3 { mu } => match model {
            FrictionLaw::Ccp => cone(n, mu, &x),
            FrictionLaw::Coulomb => disc(n, mu, &x),
        },
        set => {
            let (mut p, mut d) = ([0.0; MAX_ROWS], [[0.0; MAX_ROWS]; MAX_ROWS]);
            p[0] = x[0];
            set.project(&mut p[..1]);
            d[0][0] = f64::from(p[0] == x[0]);
            (p, d)
        }
    };
    (rho, p, d)
}
