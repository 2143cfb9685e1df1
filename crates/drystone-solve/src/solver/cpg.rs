//! Projected conjugate gradients over the faces of the cones, after [RenoufAlart2005]: as long as the same
//! constraints hold the multipliers, conjugate directions along their faces; where a step leaves the cones, a
//! projection.
//!
//! ```text
//!     z = P_T(-S u),   w = P_F(p)                    T the tangent cone at γ, F its face: see `cone::face`
//!     p ← z + β w,     β = max(0, -⟨z, N p⟩ / ⟨p, N p⟩)
//!     γ ← P_K(γ + α p),    α = -⟨u, p⟩ / ⟨p, N p⟩
//! ```
//!
//! N p is one multiplication, and a projection that changes something costs another one. On a round cone it
//! always does where contacts slide: their face is a plane that touches the cone along a line. The method as
//! published has no guarantee; here a step that does not lower f by a share of what the line search promised
//! is replaced by a projected gradient step with a step length that the curvature confirms, and the
//! directions start anew.
//!
//! Declared deviations: the relaxed model has a symmetric N for the frictional problem too, so that the
//! paper's outer iteration on the friction threshold is not needed; S is the metric of `first_order`.

use std::time::Instant;

use crate::certificate::natural_residual;
use crate::cone::AdmissibleSet;
use crate::problem::{Malformed, Problem};

use super::first_order::{self, Notebook, Products, SCALING, Scaling, Spaces, Walk, Watch};
use super::{BadSpec, Info, Solution, Solver, Spec, Stop};

pub(super) static INFO: Info = Info {
    name: "cpg",
    title: "projected conjugate gradients over the cones' faces, with a projected gradient to fall back on",
    use_when: "comparisons; good where few contacts slide (frictionless, bilateral, or all sticking)",
    models: &["ccp"],
    unit: "multiplication",
    citation: "RenoufAlart2005",
    params: &[SCALING],
    make,
};

fn make(spec: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    Ok(Box::new(Cpg {
        scaling: Scaling::parse(spec)?,
        spaces: Spaces::default(),
        place: Place::default(),
        notebook: Notebook::default(),
    }))
}

/// Least decrease, of what the line search promises.
const DECREASE: f64 = 0.1;
/// After so many updates of u from N p, u is computed anew.
const REFRESH: usize = 50;

struct Cpg {
    scaling: Scaling,
    spaces: Spaces,
    place: Place,
    notebook: Notebook,
}

/// All vectors in the problem's rows.
#[derive(Debug, Default)]
struct Place {
    gamma: Vec<f64>,
    /// u = (N + C) γ + r.
    u: Vec<f64>,
    r: Vec<f64>,
    objective: f64,
    /// p, and (N + C) p.
    p: Vec<f64>,
    product: Vec<f64>,
    z: Vec<f64>,
    trial: Vec<f64>,
    u_trial: Vec<f64>,
    best: Vec<f64>,
    /// By block: η of the metric, 1/η, and g.
    scales: Vec<[f64; 3]>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Walk for Place {
    fn residual(&mut self, problem: &Problem) -> f64 {
        (0..problem.blocks()).fold(0.0, |worst, i| {
            let rows = problem.block(i);
            let (gamma, u) = (&self.gamma[rows.clone()], &self.u[rows]);
            let e = natural_residual(problem.set(i), gamma, u, self.scales[i][2]);
            if e <= worst { worst } else { e }
        })
    }

    fn objective(&self) -> f64 {
        self.objective
    }

    fn keep(&mut self) {
        self.best.clone_from(&self.gamma);
    }

    fn rows(&self, _: &Problem, best: bool, out: &mut Vec<f64>) {
        out.clone_from(if best { &self.best } else { &self.gamma });
    }
}

impl Place {
    fn start(&mut self, problem: &Problem, guess: Option<&[f64]>, space: &mut dyn Products) {
        problem.rhs(&mut self.r);
        self.scales.clear();
        self.scales.extend((0..problem.blocks()).map(|i| space.scales(i)));
        self.gamma.clear();
        match guess {
            None => self.gamma.resize(problem.rows(), 0.0),
            Some(g) => self.gamma.extend_from_slice(g),
        }
        project(problem, &mut self.gamma);
        self.u.clone_from(&self.r);
        if guess.is_some() {
            self.velocity_of_gamma(problem, space);
        }
        self.set_objective();
        for x in [&mut self.p, &mut self.product, &mut self.z, &mut self.trial] {
            x.clear();
            x.resize(problem.rows(), 0.0);
        }
    }

    fn set_objective(&mut self) {
        self.objective = 0.5 * (dot(&self.gamma, &self.u) + dot(&self.gamma, &self.r));
    }

    /// u of γ, by a multiplication.
    fn velocity_of_gamma(&mut self, problem: &Problem, space: &mut dyn Products) {
        space.apply(problem, &self.gamma, &mut self.u);
        self.u.iter_mut().zip(&self.r).for_each(|(u, r)| *u += r);
    }

    /// u and f of the trial, by a multiplication.
    fn try_out(&mut self, problem: &Problem, space: &mut dyn Products) -> f64 {
        space.apply(problem, &self.trial, &mut self.u_trial);
        self.u_trial.iter_mut().zip(&self.r).for_each(|(u, r)| *u += r);
        0.5 * (dot(&self.trial, &self.u_trial) + dot(&self.trial, &self.r))
    }

    fn accept(&mut self, objective: f64) {
        std::mem::swap(&mut self.gamma, &mut self.trial);
        std::mem::swap(&mut self.u, &mut self.u_trial);
        self.objective = objective;
    }

    /// z, and p ← z + β w; β = 0 if `restart`. Returns ⟨u, p⟩.
    fn direction(&mut self, problem: &Problem, restart: bool) -> f64 {
        for i in 0..problem.blocks() {
            let (rows, set) = (problem.block(i), problem.set(i));
            let eta = self.scales[i][0];
            let gamma = &self.gamma[rows.clone()];
            let mut push = [0.0; crate::cone::MAX_ROWS];
            let push = &mut push[..rows.len()];
            push.iter_mut().zip(&self.u[rows.clone()]).for_each(|(d, u)| *d = -eta * u);
            let z = &mut self.z[rows.clone()];
            z.copy_from_slice(push);
            set.project_tangent(gamma, z);
            if !restart {
                set.project_face(gamma, push, &mut self.p[rows]);
            }
        }
        let curvature = dot(&self.p, &self.product);
        let beta = match restart || curvature <= 0.0 {
            true => 0.0,
            false => (-dot(&self.z, &self.product) / curvature).max(0.0),
        };
        self.p.iter_mut().zip(&self.z).for_each(|(p, z)| *p = z + if beta > 0.0 { beta * *p } else { 0.0 });
        dot(&self.u, &self.p)
    }

    /// trial = P(γ + α p); true if the projection changed something.
    fn walk(&mut self, problem: &Problem, alpha: f64) -> bool {
        for ((trial, gamma), p) in self.trial.iter_mut().zip(&self.gamma).zip(&self.p) {
            *trial = gamma + alpha * p;
        }
        // u_trial is free until the trial's is known.
        self.u_trial.clone_from(&self.trial);
        project(problem, &mut self.trial);
        self.trial != self.u_trial
    }

    /// trial = P(γ - t S u); returns |trial - γ|² in the metric.
    fn forward_pass(&mut self, problem: &Problem, t: f64) -> f64 {
        let mut length = 0.0;
        for i in 0..problem.blocks() {
            let rows = problem.block(i);
            let [eta, weight, _] = self.scales[i];
            for j in rows.clone() {
                self.trial[j] = self.gamma[j] - t * eta * self.u[j];
            }
            problem.set(i).project(&mut self.trial[rows.clone()]);
            length += weight * rows.map(|j| (self.trial[j] - self.gamma[j]).powi(2)).sum::<f64>();
        }
        length
    }

    /// ⟨d, (N + C) d⟩ and ⟨u, d⟩ for d = trial - γ.
    fn along_trial(&self) -> [f64; 2] {
        let (mut curvature, mut slope) = (0.0, 0.0);
        for j in 0..self.gamma.len() {
            let d = self.trial[j] - self.gamma[j];
            curvature += d * (self.u_trial[j] - self.u[j]);
            slope += d * self.u[j];
        }
        [curvature, slope]
    }
}

fn project(problem: &Problem, x: &mut [f64]) {
    for i in 0..problem.blocks() {
        problem.set(i).project(&mut x[problem.block(i)]);
    }
}

impl Solver for Cpg {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn bytes(&self) -> usize {
        let p = &self.place;
        let vectors = [&p.gamma, &p.u, &p.r, &p.p, &p.product, &p.z, &p.trial, &p.u_trial, &p.best];
        self.spaces.bytes()
            + vectors.iter().map(|v| size_of_val(v.as_slice())).sum::<usize>()
            + size_of_val(p.scales.as_slice())
    }

    fn solve(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        first_order::check(problem, guess)?;
        let begun = Instant::now();
        let (space, place) = (self.spaces.of(problem), &mut self.place);
        space.start(problem, None, self.scaling);
        place.start(problem, guess, space);
        let (mut watch, done) =
            Watch::start(problem, stop, &mut self.notebook, begun, place, guess.is_some() as usize);
        if done || watch.spent() {
            return Ok(watch.finish(place));
        }
        let [mut l, most] = space.lipschitz(problem);
        watch.count();
        if l <= 0.0 {
            l = most;
        }
        let (mut restart, mut updates) = (true, 0);
        'iterations: while !watch.spent() {
            let mut slope = place.direction(problem, restart);
            if slope >= 0.0 && !restart {
                slope = place.direction(problem, true);
            }
            space.apply(problem, &place.p, &mut place.product);
            watch.count();
            let curvature = dot(&place.p, &place.product);
            // Where f falls along a line for ever, or rounding has eaten the curvature, a long step is long
            // enough.
            let alpha = (-slope / curvature.max(1e-3 * l * -slope)).max(0.0);
            let mut value = f64::INFINITY;
            if slope < 0.0 {
                if !place.walk(problem, alpha) && updates < REFRESH {
                    updates += 1;
                    for ((u, old), product) in place.u_trial.iter_mut().zip(&place.u).zip(&place.product) {
                        *u = old + alpha * product;
                    }
                    value = 0.5 * (dot(&place.trial, &place.u_trial) + dot(&place.trial, &place.r));
                } else {
                    if watch.spent() {
                        break;
                    }
                    updates = 0;
                    value = place.try_out(problem, space);
                    watch.count();
                }
            }
            restart = false;
            // The quadratic promises ½ α ⟨u, p⟩ along p.
            let enough = value <= place.objective + DECREASE * 0.5 * alpha * slope;
            if !enough {
                restart = true;
                loop {
                    if watch.spent() {
                        break 'iterations;
                    }
                    let length = place.forward_pass(problem, 1.0 / l);
                    value = place.try_out(problem, space);
                    watch.count();
                    let [curvature, slope] = place.along_trial();
                    if curvature <= l * length || l >= most {
                        // The difference of two nearly equal values says less than the quadratic does.
                        value = value.min(place.objective + slope + 0.5 * curvature);
                        break;
                    }
                    l = (2.0 * l).min(most);
                }
                l *= 0.9;
            }
            if !value.is_finite() {
                watch.diverged();
                break;
            }
            place.accept(value);
            watch.moved();
            let residual = place.residual(problem);
            if watch.assess(place, residual) {
                break;
            }
        }
        Ok(watch.finish(place))
    }
}
