//! The spectral projected gradient method, with Barzilai and Borwein's step and a line search that looks
//! back: Algorithm SPG2 of [Birgin2000].
//!
//! ```text
//!     step 2.1   d = P(x - α S g) - x
//!     step 2.3   f(x + λ d) ≤ max of the last M values of f + γ λ ⟨d, g⟩      γ = 10⁻⁴
//!     step 3     α = |s|² / ⟨s, y⟩ in [α_min, α_max],   s = x_new - x,  y = g_new - g
//! ```
//!
//! f is quadratic: ⟨d, N d⟩ is known once N (x + d) is, so that the line search is free and an iteration is
//! one multiplication. λ follows from quadratic interpolation, which here is exact, kept within [0.1, 0.9] of
//! the last one.
//!
//! Declared deviations: the metric of `first_order` (`scaling=none` is the paper's), and α_0 = 1/L with the
//! estimate of L from [Mazhar2015, step (5)] in place of one over the largest component of the first
//! projected gradient.

use std::time::Instant;

use crate::parallel;
use crate::problem::{Malformed, Problem};

use super::first_order::{self, CONE_SCALING, Notebook, Scaling, Spaces, Watch};
use super::sphere_contacts::{self, PRECISION};
use super::{BadSpec, Info, Param, Solution, Solver, Spec, Stop};

pub(super) static INFO: Info = Info {
    name: "bb",
    title: "spectral projected gradient (Barzilai-Borwein) with non-monotone line search",
    use_when: "a second opinion beside apgd: no momentum, every iterate admissible; erratic but often quick on small problems",
    models: &["ccp"],
    unit: "multiplication",
    citation: "Birgin2000, Algorithm SPG2",
    params: &[
        CONE_SCALING,
        PRECISION,
        Param {
            name: "memory",
            default: "10",
            help: "how many values of the objective the line search looks back on",
        },
    ],
    make,
};

fn make(spec: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    let memory = spec.positive("memory", 10.0, 1000.0)?;
    if memory.fract() != 0.0 {
        return Err(BadSpec(format!("parameter 'memory' of 'bb' must be whole, got {memory}")));
    }
    let scaling = Scaling::parse_cone(spec)?;
    Ok(Box::new(Spectral {
        scaling,
        memory: memory as usize,
        recent: Vec::new(),
        spaces: Spaces::new(sphere_contacts::may_be_single(spec)?),
        notebook: Notebook::default(),
    }))
}

/// Least decrease, of what the slope promises.
const DECREASE: f64 = 1e-4;
/// The spectral step stays within these factors of 1/L.
const STEPS: [f64; 2] = [1e-10, 1e10];

struct Spectral {
    scaling: Scaling,
    memory: usize,
    recent: Vec<f64>,
    spaces: Spaces,
    notebook: Notebook,
}

/// The largest λ of the search for which the objective is at most `most` + γ λ slope; f(λ) = ½ λ² curvature +
/// λ slope + f.
fn line_search(f: f64, slope: f64, curvature: f64, most: f64) -> f64 {
    let value = |lambda: f64| f + lambda * (slope + 0.5 * lambda * curvature);
    let mut lambda = 1.0;
    // Without descent (rounding, at the end) no λ will do: the last one is as good as none.
    for _ in 0..30 {
        if value(lambda) <= most + DECREASE * lambda * slope {
            break;
        }
        let best = -slope / curvature;
        lambda = if (0.1 * lambda..=0.9 * lambda).contains(&best) { best } else { 0.5 * lambda };
    }
    lambda
}

impl Solver for Spectral {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn bytes(&self) -> usize {
        self.spaces.bytes()
    }

    fn solve(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        if let Some(done) = parallel::with_team_for(problem.blocks(), || self.solve(problem, guess, stop)) {
            return done;
        }
        first_order::check(problem, guess)?;
        let begun = Instant::now();
        let (mut space, mut floor) = self.spaces.start(problem, guess, self.scaling);
        let (mut watch, done) =
            Watch::start(problem, stop, &mut self.notebook, begun, space, guess.is_some() as usize);
        if done || watch.spent() {
            return Ok(watch.finish(space));
        }
        let [l, most] = space.lipschitz(problem);
        watch.count();
        let first = 1.0 / if l > 0.0 { l } else { most };
        let mut alpha = first;
        self.recent.clear();
        while !watch.spent() {
            // 2.1
            let trial = space.step(problem, alpha);
            watch.count();
            if !trial.is_finite() {
                watch.diverged();
                break;
            }
            // 1: the step measures x, from where it started; beyond the unit step it understates the
            // residual.
            if watch.assess(space, trial.measure * alpha.max(1.0)) {
                break;
            }
            // 2.2-2.3
            let f = space.objective();
            if self.recent.len() == self.memory {
                self.recent.remove(0);
            }
            self.recent.push(f);
            let highest = self.recent.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let lambda = line_search(f, trial.descent, trial.curvature, highest);
            let value = f + lambda * (trial.descent + 0.5 * lambda * trial.curvature);
            space.blend(lambda, value);
            watch.moved();
            // 3: s and y are λ d and λ N d.
            let spectral = trial.length / trial.curvature;
            alpha = if trial.curvature > 0.0 { spectral } else { f64::INFINITY };
            alpha = alpha.clamp(STEPS[0] * first, STEPS[1] * first);
            if floor > 0.0 && (trial.measure <= floor || watch.doubts()) {
                space = self.spaces.hand_over(problem, self.scaling, &mut watch);
                floor = 0.0;
            }
        }
        Ok(watch.finish(space))
    }
}

#[cfg(test)]
mod tests {
    use super::line_search;

    #[test]
    fn line_search_looks_back() {
        // A step that the quadratic likes is taken whole; one that overshoots is cut to the minimiser.
        assert_eq!(line_search(0.0, -1.0, 1.0, 0.0), 1.0);
        assert_eq!(line_search(0.0, -1.0, 4.0, 0.0), 0.25);
        // Looking back on a higher value lets the overshoot pass.
        assert_eq!(line_search(0.0, -1.0, 4.0, 2.0), 1.0);
        // A minimiser nearer than a tenth is approached by halves.
        assert_eq!(line_search(0.0, -1.0, 40.0, 0.0), 0.025);
    }
}
