//! Rebounds from limits within a smooth step.
//!
//! A limit that is met at speed is met at an instant. The step is cut there, the velocities jump, and the
//! rest of the step goes on from there. With n the limit's row and N = J M⁻¹ Jᵀ of the equations,
//!
//! ```text
//!     v⁺ = v + (w - M⁻¹ Jᵀ N⁻¹ J w) p,      w = M⁻¹ nᵀ,      p = -(1 + e) n v / (n w - (J w)ᵀ N⁻¹ (J w))
//! ```
//!
//! takes ½ (1 - e²) (n v)² / (n w - ...) of energy away, and never gives any. A rebound so slow that forces
//! undo it within a step is no matter of one instant: the other scheme takes the step, and lets what comes to
//! rest on its limit rest.

use super::Around;
use super::gather::{Slack, weighted};
use super::mechanism::Mechanism;

/// Gap at which a limit is met, over the size of the mechanism.
const GAP_TOLERANCE: f64 = 1e-11;
/// Trials to find the instant.
const MAX_ITERATIONS: usize = 50;

/// What became of a slack during the step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watched {
    /// Its rate at the last look, m/s.
    rate: f64,
    /// What forces have changed it by since the step began, m/s.
    change: f64,
    /// Whether it was met.
    met: bool,
}

impl Mechanism {
    /// Begins to watch the slacks.
    pub(super) fn watch(&mut self) {
        let new = |rate: f64| Watched { rate, change: 0.0, met: false };
        self.watched.clear();
        self.watched.extend(self.rows.slacks.iter().map(|s| new(s.rate)));
    }

    /// What forces did until now.
    fn observe(&mut self) {
        for (was, s) in self.watched.iter_mut().zip(&self.rows.slacks) {
            was.change += (s.rate - was.rate).abs();
            was.rate = s.rate;
        }
    }

    /// Whether nothing unilateral is about to be rested on at the end of a step of h: each is out of reach of
    /// one step's acceleration, or opens or closes faster than that could change. Otherwise the step is left
    /// to the other scheme: what comes to rest on its limit is not thrown about between the two.
    pub(super) fn stays_slack(&mut self, h: f64) -> bool {
        self.observe();
        self.watched.iter().zip(&self.rows.slacks).all(|(was, s)| {
            let opens = if was.met { s.rate } else { s.rate.abs() };
            s.gap > 0.0 && (opens >= 2.0 * was.change || !was.met && s.gap >= 2.0 * h * was.change)
        })
    }

    /// Goes from `from`, where the last segment began, to the instant before `end` at which a limit is met,
    /// and rebounds from it. None if that is no rebound.
    pub(super) fn impact(&mut self, w: Around, order: u8, from: f64, end: f64) -> Option<f64> {
        let met = GAP_TOLERANCE * self.size;
        // Newton's method, between two instants of which a limit is passed at the later.
        let (mut early, mut late) = (from, end);
        let mut row = self.nearest()?;
        let (met_at, was) = (&self.rows.slacks[row], &self.watched[row]);
        // What cannot be one is not looked for.
        met_at
            .restitution
            .filter(|e| -e * met_at.rate >= 2.0 * (met_at.rate - was.rate).abs() && *e > 0.0)?;
        let mut time = end;
        for _ in 0..MAX_ITERATIONS {
            let Slack { gap, rate, .. } = self.rows.slacks[row];
            if gap.abs() <= met || late - early <= 1e-14 * (end - from) {
                break;
            }
            if gap > 0.0 {
                early = time;
            } else {
                late = time;
            }
            let next = time - gap / rate;
            time = if next > early && next < late { next } else { 0.5 * (early + late) };
            self.go_back(w, from);
            self.segment(w, order, from, time)?;
            row = self.nearest()?;
        }
        self.observe();
        self.rebound(w, row)?;
        Some(time)
    }

    /// The slack with the smallest gap.
    fn nearest(&self) -> Option<usize> {
        let slacks = self.rows.slacks.iter().enumerate();
        Some(slacks.min_by(|(_, x), (_, y)| x.gap.total_cmp(&y.gap))?.0)
    }

    /// The jump; None where it is none of a limit's, or what it is met by does not approach.
    fn rebound(&mut self, w: Around, row: usize) -> Option<()> {
        let s = self.rows.slacks[row];
        let link = self.links[s.joint as usize];
        let joint = &w.model.joints[link.slot as usize];
        let speed = self.now.rate(&link, joint, &s.jacobian);
        let e = s.restitution.filter(|e| *e > 0.0 && speed < 0.0)?;
        let own = weighted(w.model, &self.now, self.count, &link, &s.jacobian);
        let alone: f64 = own.iter().zip(&s.jacobian).map(|(a, b)| a * b).sum();
        // J w and N⁻¹ J w.
        let moved = |k: usize| -> f64 {
            let of = self.links[self.rows.equations[k].joint as usize];
            let shared =
                |side: usize, other: usize| of.ends[side] == link.ends[other] && of.ends[side] < self.count;
            let pairs = [(0, 0), (0, 1), (1, 0), (1, 1)].into_iter().filter(|(i, j)| shared(*i, *j));
            let dot = |(i, j): (usize, usize)| {
                (0..6).map(|m| self.rows.rows[k][6 * i + m] * own[6 * j + m]).sum::<f64>()
            };
            pairs.map(dot).sum()
        };
        let jw: Vec<f64> = (0..self.rows.equations.len()).map(moved).collect();
        let mut held = jw.clone();
        self.direct.solve(&mut held);
        let gives = alone - jw.iter().zip(&held).map(|(a, b)| a * b).sum::<f64>();
        if !(gives > 1e-12 * alone) {
            return None;
        }
        let p = -(1.0 + e) * speed / gives;
        self.strike(w, &s, &own, p, &held);
        self.rows.renew_rates(w.model, &self.links, &self.now);
        for (was, s) in self.watched.iter_mut().zip(&self.rows.slacks) {
            was.rate = s.rate;
        }
        self.watched[row].met = true;
        Some(())
    }
}
