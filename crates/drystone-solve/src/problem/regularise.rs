//! Rows that ask for a motion, and the compliance that they get for it.
//!
//! Rest, v = 0, satisfies every row but those that ask for a motion: walls and motors that move, overlaps to
//! be removed, bounces, joints along arcs. Only those can contradict each other. Each of them gets a
//! compliance in proportion to its own diagonal of N,
//!
//! ```text
//!     C_i = ε g_i a_i / (a_i + |r_i|),      u_i + C_i (γ_i - γ̄_i)  in place of  u_i
//! ```
//!
//! with a_i the speed that it asks of bodies at rest and r_i = Dᵢᵀ v_free + b_i. Then the primal problem min
//! ½ |v - v_free|²_M + Σ dist²(Dᵢᵀv + bᵢ, Kᵢ*) / 2 C_i over what is rigid has v = 0 in its feasible set: it
//! always has a solution, one that is unique in v, and
//!
//! ```text
//!     ½ |v|²_M ≤ ½ |v_free|²_M + ½ Σ a_i² / C_i,      |γ_i| ≤ a_i / C_i
//! ```
//!
//! bound the energy that a step can give. C vanishes with a: what hardly moves is hardly softer than what
//! rests, and a row that asks for less than the tolerance is rigid: missing it altogether would be within the
//! tolerance.
//!
//! A load would push such a row back by C γ in every step, and a hit would lose as much. So the compliance is
//! about the multiplier that the row is expected to have,
//!
//! ```text
//!     γ̄_i = σ_i γ_i⁻ + (1 - σ_i) γ_i°,      σ_i = 1 - |Dᵢᵀ v⁻ + b_i| / a_i   within 0 and 1
//! ```
//!
//! that of the last step as far as the row then did what it is asked for now (all of it, if within the
//! tolerance), else that which it would have if it were the only one. Under a steady load the miss dies out,
//! and a motor or a floor keeps its speed to all digits; two bodies that hit each other part at the speed
//! that was asked for; between walls that contradict each other σ is small, and γ (1 - σ) = miss / C says
//! that γ stays below some a/C however long they go on.

use crate::cone::{AdmissibleSet, MAX_ROWS, Set};
use crate::friction_law::FrictionLaw;

use super::Bodies;

/// A row that asks for a motion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ask {
    /// Its block.
    pub block: u32,
    /// Its row.
    pub row: u32,
    /// The speed that it asks of bodies at rest, m/s.
    pub speed: f64,
    /// Its compliance, (m/s)/(N s).
    pub compliance: f64,
    /// The multiplier about which it gives way, N s.
    pub about: f64,
}

impl Ask {
    /// By how much the row misses what it asks for, m/s.
    pub fn missed(&self, gamma: &[f64]) -> f64 {
        self.compliance * (gamma[self.row as usize] - self.about).abs()
    }
}

/// Biases below this share of 1 m/s are rounding.
const DUST: f64 = 1e-12;
/// Steps to a block's own solution, each of which leaves some two thirds of the distance.
const ALONE: usize = 60;
/// Friction beyond which a cone is as wide as a half-space.
const LANES8: f64 = 1e6;

impl Bodies {
    /// The speed that block `i` asks of bodies at rest, m/s: how far its bias is from its dual cone; 0 where
    /// that is rounding.
    pub fn asked(&self, i: usize) -> f64 {
        let mut b = [0.0; MAX_ROWS];
        self.block_bias(i, &mut b);
        let cone = |mu: f64, across: f64| match self.model {
            FrictionLaw::Ccp => {
                let mu = mu.min(LANES8);
                // The nearest point of the dual cone is its apex, or lies on an edge u_n = μ |u_t|.
                if mu * b[0] + across <= 0.0 {
                    b[0].hypot(across)
                } else {
                    (mu * across - b[0]) / (1.0 + mu * mu).sqrt()
                }
            }
            FrictionLaw::Coulomb => -b[0],
        };
        let speed = match self.set(i) {
            Set::Free => b[0].abs(),
            Set::NonNegative => -b[0],
            // What is bounded can refuse.
            Set::Interval { .. } => 0.0,
            Set::Friction2 { mu } => cone(mu, b[1].abs()),
            Set::Friction3 { mu } => cone(mu, b[1].hypot(b[2])),
            Set::Rolling5 { mu, .. } => cone(mu, b[1].hypot(b[2])),
        };
        if speed > DUST * (1.0 + b[0].abs()) { speed } else { 0.0 }
    }

    /// Gives rows that ask for more than `least`, m/s, their compliance: of each block the share of its
    /// diagonal that `epsilon` says, at most. `before` are the multipliers of the last step and `v` its
    /// velocities, by body; `expected` says of a block, its first row and the speed by which the free motion
    /// misses what is asked for which multiplier it is expected to have, where that is known better. `asks`
    /// becomes the list of those rows.
    pub fn regularise(
        &mut self,
        least: f64,
        epsilon: impl Fn(usize) -> f64,
        before: &[f64],
        v: &[[f64; 6]],
        expected: impl Fn(usize, usize, f64) -> Option<f64>,
        asks: &mut Vec<Ask>,
    ) {
        asks.clear();
        let n = self.points.len();
        let still = self.points.drift[0].is_empty();
        for i in 0..n {
            let soft = self.points.compliance[0].get(i).is_some_and(|c| *c > 0.0);
            if !(soft || still && self.points.bias[i] >= -least) {
                asks.extend(self.ask(i, least, epsilon(i), before, v, &expected));
            }
        }
        for i in n..self.blocks() {
            let row = self.general.first_row[i - n] as usize;
            // One that gives way already can be left as it is.
            if self.general.compliance.get(row).is_none_or(|c| *c == 0.0) {
                asks.extend(self.ask(i, least, epsilon(i), before, v, &expected));
            }
        }
        for ask in asks.iter() {
            let (block, shift) = (ask.block as usize, ask.compliance * ask.about);
            match block.checked_sub(n) {
                None => {
                    self.points.compliance.iter_mut().for_each(|c| c.resize(n, 0.0));
                    self.points.compliance[0][block] += ask.compliance;
                    self.points.bias[block] -= shift;
                }
                Some(g) => {
                    let (rows, row) = (self.general.bias.len(), self.general.first_row[g] as usize);
                    self.general.compliance.resize(rows, 0.0);
                    self.general.compliance[row] += ask.compliance;
                    self.general.bias[row] -= shift;
                }
            }
        }
    }

    /// The first multiplier that block `i` would have if it were the only one, N s: projected gradient steps
    /// on its own part of N.
    fn alone(&self, i: usize, r: &[f64; MAX_ROWS]) -> f64 {
        let (set, own, n) = (self.set(i), self.block_matrix(i), self.block(i).len());
        if n == 1 {
            let x = -r[0] / own[0][0];
            return if set == Set::Free { x } else { x.max(0.0) };
        }
        let step = 1.0 / self.block_diagonal(i)[1];
        let mut gamma = [0.0; MAX_ROWS];
        for _ in 0..ALONE {
            let mut u: [f64; MAX_ROWS] =
                std::array::from_fn(|k| r[k] + (0..n).map(|c| own[k][c] * gamma[c]).sum::<f64>());
            self.model.correct(set, &mut u[..n]);
            let before = gamma;
            (0..n).for_each(|k| gamma[k] -= step * u[k]);
            set.project(&mut gamma[..n]);
            if (0..n).all(|k| (gamma[k] - before[k]).abs() <= 1e-14 * gamma[0].abs()) {
                break;
            }
        }
        gamma[0]
    }

    fn ask(
        &self,
        block: usize,
        least: f64,
        epsilon: f64,
        before: &[f64],
        v: &[[f64; 6]],
        expected: impl Fn(usize, usize, f64) -> Option<f64>,
    ) -> Option<Ask> {
        let speed = self.asked(block);
        if !(speed > least && epsilon > 0.0) {
            return None;
        }
        let (mut r, mut u) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
        self.block_relative(block, &self.v_free, &mut r);
        let rows = self.block(block);
        let free = r[..rows.len()].iter().map(|x| x * x).sum::<f64>().sqrt();
        let g = self.block_matrix(block)[0][0];
        if !(g > 0.0) {
            return None;
        }
        let compliance = epsilon * g * (speed / (speed + free));
        let across = match self.set(block) {
            Set::Friction2 { mu } => mu.min(LANES8) * r[1].abs(),
            Set::Friction3 { mu } | Set::Rolling5 { mu, .. } => mu.min(LANES8) * r[1].hypot(r[2]),
            _ => 0.0,
        };
        let needed = if self.model == FrictionLaw::Ccp { across - r[0] } else { -r[0] };
        if let Some(about) = expected(block, rows.start, needed) {
            return Some(Ask { block: block as u32, row: rows.start as u32, speed, compliance, about });
        }
        self.block_relative(block, v, &mut u);
        let did = if u[0].abs() <= least { 1.0 } else { (1.0 - u[0].abs() / speed).clamp(0.0, 1.0) };
        let before = before.get(rows.start).copied().unwrap_or(0.0);
        let about = if did == 1.0 { before } else { did * before + (1.0 - did) * self.alone(block, &r) };
        Some(Ask { block: block as u32, row: rows.start as u32, speed, compliance, about })
    }
}

#[cfg(test)]
mod tests {
    use super::super::WORLD;
    use super::*;
    use crate::colour::Colouring;

    /// A body of 2 kg between two walls along x that close at `speed` each.
    fn squeezed(speed: f64) -> Bodies {
        let mut p = Bodies {
            inv_mass: vec![0.5],
            inv_inertia: vec![[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]],
            ..Bodies::default()
        };
        p.v_free.push([0.0, 0.0, -0.1, 0.0, 0.0, 0.0]);
        let mut c = Colouring::default();
        c.run(1, [(0, WORLD), (0, WORLD)].into_iter());
        for k in &c.order {
            let side = if *k == 0 { 1.0 } else { -1.0 };
            p.points.push(
                (0, WORLD),
                [side, 0.0, 0.0],
                [-0.1 * side, 0.0, 0.0],
                [0.0; 3],
                [-speed * side, 0.0, 0.0],
                0.3,
            );
        }
        p.points.spans = c.spans;
        p
    }

    #[test]
    fn what_asks_for_nothing_stays_rigid() {
        let (mut p, mut asks) = (squeezed(0.0), vec![]);
        p.regularise(0.0, |_| 1e-3, &[], &[[0.0; 6]], |_, _, _| None, &mut asks);
        assert!(asks.is_empty() && p.points.compliance[0].is_empty());
        let mut p = squeezed(1e-9);
        p.regularise(1e-4, |_| 1e-3, &[], &[[0.0; 6]], |_, _, _| None, &mut asks);
        assert!(asks.is_empty(), "less than the tolerance: {asks:?}");
    }

    /// A wall that moves along its normal asks for its speed, however wide the cone; one that slides asks for
    /// μ/√(1 + μ²) of it at most.
    #[test]
    fn what_is_asked_for_is_the_distance_from_the_dual_cone() {
        for mu in [0.0, 0.3, 30.0, 1e3, f64::INFINITY] {
            let mut p = squeezed(1.0);
            p.points.mu.fill(mu);
            assert!((p.asked(0) - 1.0).abs() < 1e-12, "{mu}: {}", p.asked(0));
        }
        let mut p = squeezed(0.0);
        p.points.drift = [vec![0.0; 2], vec![2.0; 2], vec![0.0; 2]];
        for mu in [0.3f64, 30.0] {
            p.points.mu.fill(mu);
            let expected = 2.0 * mu / (1.0 + mu * mu).sqrt();
            assert!((p.asked(0) - expected).abs() < 1e-12, "{mu}: {} {expected}", p.asked(0));
        }
    }
}
