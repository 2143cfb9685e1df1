//! λ of one part: Broyden's method from the factor of J M⁻¹ Jᵀ, in the form that keeps the steps alone
//! [Kelley1995, §7.3].

use super::Around;
use super::gather::{Found, Goal, walk};
use super::mechanism::{Mechanism, Part};
use crate::model::Model;

/// Errors at which Broyden's method stops, over the size of the mechanism, and at which it may where it gets
/// no further.
const TOLERANCE: f64 = 1e-14;
const STALLED_TOLERANCE: f64 = 1e-11;
const MAX_ITERATIONS: usize = 60;
/// Steps of Broyden's method that are remembered.
const MAX_UPDATES: usize = 20;

impl Mechanism {
    /// λ with Ψ(q⁺) = 0; `now` becomes q⁺ and v½⁺. The matrix J(q⁺) M⁻¹ J(q)ᵀ that the factor stands for is
    /// neither symmetric nor, where a mechanism passes a singular position, of the same sign.
    pub(super) fn meet_positions(&mut self, w: Around, part: Part) -> Option<usize> {
        let n = self.rows.equations.len();
        self.lambda.clear();
        self.lambda.resize(n, 0.0);
        self.weights.clear();
        let mobility = |(row, weighted): (&[f64; 12], &[f64; 12])| {
            row.iter().zip(weighted).map(|(a, b)| a * b).sum::<f64>()
        };
        self.weights.extend(self.rows.rows.iter().zip(&self.rows.weighted).map(mobility));
        self.steps.clear();
        let (mut best, mut stuck, mut rounds) = (f64::INFINITY, 0, 0);
        loop {
            self.drift(w.model, part.dt);
            if n == 0 {
                return Some(0);
            }
            self.errors(w.model, part);
            let worst = self
                .error
                .iter()
                .fold(0.0, |a: f64, e| if a.is_nan() || e.is_nan() { f64::NAN } else { a.max(e.abs()) });
            if worst <= TOLERANCE * self.size {
                return Some(rounds);
            }
            // Not monotone: only twice without progress means that rounding, or a singular position, lets no
            // more through.
            stuck = if worst < 0.5 * best { 0 } else { stuck + 1 };
            if worst < best {
                best = worst;
                self.best.clone_from(&self.lambda);
            }
            if (stuck > 1 || rounds == MAX_ITERATIONS) && best <= STALLED_TOLERANCE * self.size {
                self.lambda.clone_from(&self.best);
                self.drift(w.model, part.dt);
                return Some(rounds);
            }
            if !worst.is_finite() || rounds == MAX_ITERATIONS {
                return None;
            }
            rounds += 1;
            if self.steps.len() == MAX_UPDATES * n {
                self.steps.clear();
            }
            self.direct.solve(&mut self.error);
            self.error.iter_mut().for_each(|e| *e /= -part.dt);
            self.improve(n);
            self.lambda.iter_mut().zip(&self.error).for_each(|(l, e)| *l += e);
            self.steps.extend_from_slice(&self.error);
        }
    }

    /// Makes the step in `error`, which the factor gave, Broyden's.
    fn improve(&mut self, n: usize) {
        let Self { error: z, steps, weights, .. } = self;
        let dot =
            |a: &[f64], b: &[f64]| a.iter().zip(b).zip(&*weights).map(|((a, b), w)| w * a * b).sum::<f64>();
        let mut before: Option<&[f64]> = None;
        for step in steps.chunks(n) {
            if let Some(before) = before {
                let much = dot(before, z) / dot(before, before).max(f64::MIN_POSITIVE);
                z.iter_mut().zip(step).for_each(|(z, s)| *z += much * s);
            }
            before = Some(step);
        }
        if let Some(last) = before {
            let left = 1.0 - dot(last, z) / dot(last, last).max(f64::MIN_POSITIVE);
            // A secant that is nearly level says nothing.
            if left.abs() > 0.05 {
                z.iter_mut().for_each(|z| *z /= left);
            }
        }
    }

    /// How far the equations are from being met at the end of the drift, m.
    fn errors(&mut self, model: &Model, part: Part) {
        self.error.clear();
        let Self { now, middle, error, target, memory, links, .. } = self;
        for (j, link) in links.iter().enumerate() {
            let joint = &model.joints[link.slot as usize];
            let e = now.equations(link, joint, &memory[j], part.to);
            let halfway = 0.5 * (part.from + part.to);
            walk(j, joint, &e, part.to, |found| {
                let Found::Equation(e) = found else { return };
                let off = match e.goal {
                    Goal::Rolling => {
                        let there = middle.equations(link, joint, &memory[j], halfway);
                        part.dt * middle.rate(link, joint, &there.rows()[e.place as usize].jacobian)
                    }
                    _ => e.error - target[error.len()],
                };
                error.push(off);
            });
        }
    }
}
