//! Accelerated projected gradient descent with an adaptive step and restarts: Algorithm APGD of [Mazhar2015],
//! steps (1)-(33) numbered as there.
//!
//! Declared deviations:
//! - Velocities are linear in γ, so that u_y of step (8) and the products of step (10) cost nothing: one
//!   multiplication by N for each projection. In step (10) f(γ) - f(y) - ⟨g, γ - y⟩ is ½ ⟨γ - y, N (γ - y)⟩
//!   exactly, and that is what is compared with ½ L |γ - y|². L never exceeds a bound that no eigenvalue
//!   exceeds, whatever rounding says.
//! - The paper (`rule=paper`) doubles L where that comparison fails, throws the step away, and takes a tenth
//!   off L after every step: one multiplication in seven is thrown away, and L is half as large again as it
//!   need be. The comparison says by how much it failed (`rule=curvature`): where that is less than half, the
//!   step is kept, and L is what it should have been from the next one on; where it is more, the step is made
//!   again with a little more than that. L is then let down by a fiftieth a step.
//! - A warm start: γ_0 is the guess, projected; in step (5) γ̂_0 = γ_0 + 1, which is the paper's choice for
//!   γ_0 = 0.
//! - The metric of `first_order`: steps are t_k S g, lengths Σ |d_i|² / η_i. `scaling=none` is the paper's.
//! - The residual of step (18) is what the step itself measures (see `first_order::watch`); the certificate's
//!   natural map decides about convergence.

use std::time::Instant;

use crate::parallel;
use crate::problem::{Checked, Malformed, Problem};

use super::first_order::{self, CONE_SCALING, Notebook, Scaling, Spaces, Trial, Watch};
use super::sphere_contacts::{self, PRECISION};
use super::{BadSpec, Info, Param, Solution, Solver, Spec, Stop};

pub(super) static INFO: Info = Info {
    name: "apgd",
    title: "accelerated projected gradient descent (Nesterov) with adaptive step and restart",
    use_when: "accuracy: large piles, tall stacks, uneven masses; far fewer iterations than sweeps below 1e-3 m/s",
    models: &["ccp"],
    unit: "multiplication",
    citation: "Mazhar2015, Algorithm APGD",
    params: &[CONE_SCALING, PRECISION, RULE],
    make,
};

const RULE: Param = Param {
    name: "rule",
    default: "curvature",
    help: "how L follows the problem; curvature: what each step found; paper: doubled where it is too small, else 0.9 of it",
};

/// Steps (10)-(14) and (30)-(31).
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    Curvature,
    Paper,
}

/// How far the curvature of a step may be above L, times L, before it is made again.
const SLACK: f64 = 1.5;
/// L of a step that is made again, over the curvature that was found.
const MARGIN: f64 = 1.05;
/// What a step leaves of L.
const LET_DOWN: f64 = 0.98;

impl Rule {
    fn parse(spec: &Spec) -> Result<Self, BadSpec> {
        match spec.text("rule") {
            None | Some("curvature") => Ok(Rule::Curvature),
            Some("paper") => Ok(Rule::Paper),
            Some(other) => Err(BadSpec::unknown("rule", other, &["curvature", "paper"])),
        }
    }

    /// The L to make a step again with, if it is to be.
    fn again(self, l: f64, most: f64, trial: &Trial) -> Option<f64> {
        let (slack, next) = match self {
            Rule::Curvature => (SLACK, MARGIN * trial.curvature / trial.length),
            Rule::Paper => (1.0, 2.0 * l),
        };
        (trial.curvature > slack * l * trial.length && l < most).then_some(next.min(most))
    }

    /// L after a step.
    fn after(self, l: f64, most: f64, trial: &Trial) -> f64 {
        match self {
            Rule::Curvature if trial.curvature > l * trial.length => {
                LET_DOWN * (trial.curvature / trial.length).min(most)
            }
            Rule::Curvature => LET_DOWN * l,
            Rule::Paper => 0.9 * l,
        }
    }
}

fn make(spec: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    Ok(Box::new(Apgd {
        scaling: Scaling::parse_cone(spec)?,
        rule: Rule::parse(spec)?,
        spaces: Spaces::new(sphere_contacts::may_be_single(spec)?),
        notebook: Notebook::default(),
        held: 0,
    }))
}

struct Apgd {
    scaling: Scaling,
    rule: Rule,
    spaces: Spaces,
    notebook: Notebook,
    /// What the last problem took, bytes.
    held: usize,
}

impl Solver for Apgd {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn bytes(&self) -> usize {
        self.held
    }

    fn solve(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        if let Some(done) = parallel::as_suits(problem.blocks(), || self.solve(problem, guess, stop)) {
            return done;
        }
        let checked = first_order::check(problem, guess)?;
        self.solve_checked(checked, guess, stop)
    }

    fn solve_checked(
        &mut self,
        problem: Checked,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        first_order::fits(problem, guess);
        let solution = self.forward_pass(&problem, guess, stop);
        self.held = self.spaces.bytes();
        if problem.has_many_bodies() {
            (self.spaces, self.notebook) = (self.spaces.anew(), Notebook::default());
        }
        Ok(solution)
    }
}

impl Apgd {
    fn forward_pass(&mut self, problem: &Problem, guess: Option<&[f64]>, stop: &Stop) -> Solution {
        let begun = Instant::now();
        // (1), (3)
        let (mut space, mut floor) = self.spaces.start(problem, guess, self.scaling);
        let (mut watch, done) =
            Watch::start(problem, stop, &mut self.notebook, begun, space, guess.is_some() as usize);
        if done || watch.spent() {
            return watch.finish(space);
        }
        // (2), (4)-(6)
        let mut theta = 1.0f64;
        let [mut l, most] = space.lipschitz(problem);
        watch.count();
        if l <= 0.0 {
            l = most;
        }
        // (7)
        'iterations: while !watch.spent() {
            // (15)-(16)
            let mut theta_next = 0.5 * theta * ((theta * theta + 4.0).sqrt() - theta);
            let mut beta = theta * (1.0 - theta) / (theta * theta + theta_next);
            space.plan(beta);
            // (8)-(9)
            let mut trial = space.step(problem, 1.0 / l);
            watch.count();
            // (10)-(14)
            while let Some(more) = self.rule.again(l, most, &trial) {
                if watch.spent() {
                    break 'iterations;
                }
                l = more;
                trial = space.step(problem, 1.0 / l);
                watch.count();
            }
            if !trial.is_finite() {
                watch.diverged();
                break;
            }
            // (26)-(29), before (17) because y is made where γ is accepted
            if trial.descent > 0.0 {
                beta = 0.0;
                theta_next = 1.0;
            }
            // (17)
            space.accept(beta);
            watch.moved();
            theta = theta_next;
            // (18)-(25)
            if watch.assess(space, trial.measure) {
                break;
            }
            // (30)-(31)
            l = self.rule.after(l, most, &trial);
            if floor > 0.0 && (trial.measure <= floor || watch.doubts()) {
                space = self.spaces.hand_over(problem, self.scaling, &mut watch);
                (theta, floor) = (1.0, 0.0);
            }
        }
        // (33)
        watch.finish(space)
    }
}
