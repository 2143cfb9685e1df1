//! The methods that work across ranks: `apgs`, `pgj`, `apgd` and `bb`, as `drystone-solve` has them, in
//! double precision.

use drystone_solve::FrictionLaw;
use drystone_solve::solver::{Solver, Spec, Status, make};

use crate::colours::seed;
use crate::posed::Posed;
use crate::sweeps::sweep;
use crate::walk::{Trial, Walk};

/// A method and its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Gauss-Seidel sweeps, and `apgd` from where they have come to, or where they cannot work.
    Sweeps {
        /// Whether with momentum \[Nesterov1983\].
        accelerated: bool,
    },
    /// Accelerated projected gradient descent \[Mazhar2015\].
    Apgd,
    /// The spectral projected gradient method \[Birgin2000\]: how many values of the objective it looks back
    /// on.
    Bb {
        /// See there.
        memory: usize,
    },
    /// Projected Gauss-Jacobi \[TasoraAnitescu2011\].
    Pgj {
        /// Relaxation, above 0.
        omega: f64,
        /// Smoothing, up to 1.
        lambda: f64,
    },
}

impl Method {
    /// What works across ranks; None for all other solvers and parameters.
    fn of(spec: &Spec) -> Result<Option<Self>, String> {
        let known: &[&str] = match spec.name.as_str() {
            "auto" | "apgs" | "apgd" => &[],
            "bb" => &["memory"],
            "pgj" => &["omega", "lambda"],
            _ => return Ok(None),
        };
        if spec.params.iter().any(|(name, _)| !known.contains(&name.as_str())) {
            return Ok(None);
        }
        let number = |name: &str, default: f64, most: f64| {
            spec.positive(name, default, most).map_err(|e| e.to_string())
        };
        Ok(Some(match spec.name.as_str() {
            "bb" => Method::Bb { memory: number("memory", 10.0, 1000.0)? as usize },
            "pgj" => Method::Pgj { omega: number("omega", 0.2, 2.0)?, lambda: number("lambda", 1.0, 1.0)? },
            "apgd" => Method::Apgd,
            _ => Method::Sweeps { accelerated: true },
        }))
    }
}

/// Who solves what.
pub struct Plan {
    /// What solves islands that are not one rank's; None: each of them is.
    pub across: Option<Method>,
    /// The same of position problems, which have no friction.
    pub corrects: Option<Method>,
    /// Contacts and rows from which on an island is no longer one rank's, where there is a method for that.
    pub limit: usize,
    /// What solves the islands of one rank.
    pub solver: Option<Box<dyn Solver>>,
    /// Whether it solves islands one by one, whatever it is given.
    pub by_islands: bool,
}

/// From so many contacts on `auto` has all ranks solve an island, as it has all threads in one process.
const LARGE: usize = 8192;

impl Plan {
    /// Reads a solver with its parameters. `auto` solves small islands as anywhere and large ones by `apgs`;
    /// what does not work across ranks has every island solved by one of them, and so has the exact law.
    pub fn parse(text: &str, law: FrictionLaw) -> Result<Self, String> {
        let spec = Spec::parse(text).map_err(|e| e.to_string())?;
        let auto = spec.name == "auto";
        let method = Method::of(&spec)?;
        let across = method.filter(|_| law == FrictionLaw::Ccp);
        // As in one process, whatever solves for velocities: sweeps part neighbours first.
        let corrects = method.map(|_| Method::Sweeps { accelerated: false });
        let limit = if auto { LARGE } else { 0 };
        let is_known = auto || across.is_none();
        let solver = if is_known { Some(make(text).map_err(|e| e.to_string())?) } else { None };
        Ok(Self { across, corrects, limit, solver, by_islands: auto })
    }
}

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// Largest residual, m/s; 0: all iterations.
    pub tolerance: f64,
    pub iterations: usize,
}

/// How a solve ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    pub status: Status,
    pub iterations: usize,
    /// The relaxation at the end.
    pub omega: f64,
    /// Steps that were made again.
    pub rejected: usize,
    /// The largest residual, m/s.
    pub residual: f64,
}

impl Default for Ended {
    /// Nothing was to be solved.
    fn default() -> Self {
        Self { status: Status::Converged, iterations: 0, omega: 1.0, rejected: 0, residual: 0.0 }
    }
}

/// L to begin with: what packed spheres have, about. The first steps correct it.
const FIRST: f64 = 3.0;
/// Rules for L, as in `apgd`: how far the curvature of a step may be above it, L of a step that is made
/// again, and what a step leaves of it.
const SLACK: f64 = 1.5;
const MARGIN: f64 = 1.05;
const LET_DOWN: f64 = 0.98;
/// Least decrease of `bb`, of what the slope promises.
const DECREASE: f64 = 1e-4;
/// The step of `bb` stays within these factors of its first one.
const STEPS: [f64; 2] = [1e-10, 1e10];
/// What rounding may do to an objective, as a share of it.
const ROUNDING: f64 = 1e-13;
/// Multiplications between two looks at which iterate is the best.
const LOOK: usize = 16;

/// Watches over a method: the same on every rank, because all it sees are numbers over all ranks.
struct Watch {
    stop: Stop,
    used: usize,
    rejected: usize,
    /// Below this measure the residual is worth a look.
    threshold: f64,
    best: f64,
    start: f64,
    looks: usize,
}

impl Watch {
    fn is_spent(&self) -> bool {
        self.used >= self.stop.iterations
    }

    /// Told what the last step measured; true if γ is good enough.
    fn assess(&mut self, walk: &mut Walk, measure: f64, objective: f64) -> bool {
        self.looks += 1;
        let near = measure <= 3.0 * self.threshold && self.looks.is_multiple_of(4);
        if self.stop.tolerance > 0.0 && (near || measure <= self.threshold) {
            let residual = walk.residual();
            if residual <= self.stop.tolerance {
                self.best = residual;
                return true;
            }
            if measure <= self.threshold {
                self.threshold = measure * (self.stop.tolerance / residual).min(0.9);
            }
        }
        // Nothing with a higher objective than the start is ever returned.
        if self.looks.is_multiple_of(LOOK) && measure < self.best && objective <= self.start {
            self.best = measure;
            walk.keep();
        }
        false
    }
}

/// Solves the problem of a walk, which is a posed one or a part of it.
pub fn solve(posed: &Posed, walk: &mut Walk, method: Method, stop: Stop) -> Ended {
    let Method::Sweeps { accelerated } = method else { return descend(walk, method, stop) };
    let residual = walk.residual();
    if stop.tolerance > 0.0 && residual <= stop.tolerance {
        return Ended { residual, ..Ended::default() };
    }
    // Without momentum no sweep raises the objective.
    let start = accelerated.then(|| {
        walk.keep();
        walk.objective()
    });
    let key = |i| posed.point_key(posed.staged.order[walk.block(i)] as usize);
    let seeds: Vec<u64> = (0..walk.touches.len()).map(|i| seed(&key(i))).collect();
    let mut used = 0;
    if let Some(sweeps) = sweep(posed, walk, &seeds, &stop, accelerated) {
        used = sweeps;
        let mut out = Ended { iterations: used, residual: walk.residual(), ..Ended::default() };
        if stop.tolerance > 0.0 && out.residual <= stop.tolerance {
            return out;
        }
        if used >= stop.iterations {
            // The last of them, unless momentum has led astray.
            if start.is_some_and(|start| !(walk.objective() <= start + ROUNDING * start.abs())) {
                walk.finish(true);
                out.residual = walk.residual();
            }
            return Ended { status: Status::Iterations, ..out };
        }
    }
    let rest = Stop { iterations: stop.iterations - used, ..stop };
    let out = descend(walk, Method::Apgd, rest);
    Ended { iterations: used + out.iterations, ..out }
}

/// Solves it by a method that goes from step to step down the objective.
fn descend(walk: &mut Walk, method: Method, stop: Stop) -> Ended {
    let residual = walk.residual();
    walk.keep();
    let start = walk.objective();
    let mut watch =
        Watch { stop, used: 0, rejected: 0, threshold: stop.tolerance, best: residual, start, looks: 0 };
    let ended = |status, watch: &Watch, omega, residual| Ended {
        status,
        iterations: watch.used,
        omega,
        rejected: watch.rejected,
        residual,
    };
    if stop.tolerance > 0.0 && residual <= stop.tolerance {
        return ended(Status::Converged, &watch, 1.0, residual);
    }
    walk.set_out();
    let (status, omega) = match method {
        Method::Apgd | Method::Sweeps { .. } => (apgd(walk, &mut watch), 1.0),
        Method::Bb { memory } => (bb(walk, &mut watch, memory), 1.0),
        Method::Pgj { omega, lambda } => pgj(walk, &mut watch, omega, lambda),
    };
    let mut last = watch.best;
    if status == Status::Converged {
        walk.finish(false);
    } else {
        // The last one, or the best so far.
        let residual = walk.residual();
        let good = residual <= watch.best && walk.objective() <= watch.start;
        walk.finish(!good);
        last = walk.residual();
    }
    ended(status, &watch, omega, last)
}

/// Algorithm APGD of \[Mazhar2015\], with the deviations of `drystone-solve` (its `rule=curvature`,
/// `scaling=trace`).
fn apgd(walk: &mut Walk, watch: &mut Watch) -> Status {
    let (mut theta, mut l, most) = (1.0f64, FIRST, walk.bound());
    let again = |l: f64, t: &Trial| t.curvature > SLACK * l * t.length && l < most;
    while !watch.is_spent() {
        let mut trial = walk.step(1.0 / l);
        watch.used += 1;
        while again(l, &trial) {
            if watch.is_spent() {
                return Status::Iterations;
            }
            l = (MARGIN * trial.curvature / trial.length).min(most);
            trial = walk.step(1.0 / l);
            watch.used += 1;
            watch.rejected += 1;
        }
        if !trial.is_finite() {
            return Status::Diverged;
        }
        let mut next = 0.5 * theta * ((theta * theta + 4.0).sqrt() - theta);
        let mut beta = theta * (1.0 - theta) / (theta * theta + next);
        if trial.descent > 0.0 {
            (beta, next) = (0.0, 1.0);
        }
        walk.accept();
        walk.lean(beta);
        theta = next;
        if watch.assess(walk, trial.measure, trial.objective) {
            return Status::Converged;
        }
        l = match trial.curvature > l * trial.length {
            true => LET_DOWN * (trial.curvature / trial.length).min(most),
            false => LET_DOWN * l,
        };
    }
    Status::Iterations
}

/// The largest λ of the search for which the objective is at most `most` + γ λ slope.
fn line_search(f: f64, slope: f64, curvature: f64, most: f64) -> f64 {
    let mut lambda = 1.0;
    for _ in 0..30 {
        if f + lambda * (slope + 0.5 * lambda * curvature) <= most + DECREASE * lambda * slope {
            break;
        }
        let best = -slope / curvature;
        lambda = if (0.1 * lambda..=0.9 * lambda).contains(&best) { best } else { 0.5 * lambda };
    }
    lambda
}

/// Algorithm SPG2 of \[Birgin2000\].
fn bb(walk: &mut Walk, watch: &mut Watch, memory: usize) -> Status {
    let first = 1.0 / FIRST;
    let (mut alpha, mut f) = (first, watch.start);
    let mut recent = Vec::new();
    while !watch.is_spent() {
        let trial = walk.step(alpha);
        watch.used += 1;
        if !trial.is_finite() {
            return Status::Diverged;
        }
        // The step measures γ, from where it started; beyond the unit step it understates the residual.
        if watch.assess(walk, trial.measure * alpha.max(1.0), f) {
            return Status::Converged;
        }
        if recent.len() == memory {
            recent.remove(0);
        }
        recent.push(f);
        let highest = recent.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lambda = line_search(f, trial.descent, trial.curvature, highest);
        f += lambda * (trial.descent + 0.5 * lambda * trial.curvature);
        walk.blend(lambda);
        let spectral = trial.length / trial.curvature;
        alpha = if trial.curvature > 0.0 { spectral } else { f64::INFINITY };
        alpha = alpha.clamp(STEPS[0] * first, STEPS[1] * first);
    }
    Status::Iterations
}

/// Algorithm 1 of \[TasoraAnitescu2011\]; ω is halved where assumption A3 fails. Returns ω at the end.
fn pgj(walk: &mut Walk, watch: &mut Watch, mut omega: f64, lambda: f64) -> (Status, f64) {
    while !watch.is_spent() {
        let trial = walk.step(omega);
        watch.used += 1;
        if !trial.is_finite() {
            return (Status::Diverged, omega);
        }
        if trial.length / (lambda * omega) < 0.5 * trial.curvature {
            omega *= 0.5;
            watch.rejected += 1;
            continue;
        }
        walk.blend(lambda);
        if watch.assess(walk, trial.measure, trial.objective) {
            return (Status::Converged, omega);
        }
    }
    (Status::Iterations, omega)
}
