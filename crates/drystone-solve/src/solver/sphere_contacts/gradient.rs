//! The space of first-order methods over the compact form: see `first_order::BodySpace`, of which this is the
//! f32 twin for spheres. Velocities are never carried on from step to step: v = v_free + M⁻¹ D γ anew each
//! time.

mod kernel;

use crate::colour::{self, Span};
use crate::parallel::{self, PerRun};
use crate::problem::{Bodies, Problem};
use crate::simd::{Packed, Row32, Vectors, dispatch};
use crate::solver::first_order::{Scaling, Space, Trial, Walk};

use super::FLOOR;
use super::metric::{self, Metric};
use super::pack::{Pack, Steps};
use kernel::{CHUNK, DESCENT, LENGTH, MEASURE, Piece, Settle, Sums, Velocities, View, WORK, What, add};

/// Bodies that are worked on at a time.
const PIECE: usize = 8 * CHUNK;

/// Multipliers and the forces they make: F, and torques over radii. In the pack's units.
#[derive(Debug, Default)]
struct Iterate {
    gamma: Vec<Vectors>,
    force: Vec<Row32>,
    /// J.
    objective: f64,
}

/// Which buffer holds the best γ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Best {
    #[default]
    Kept,
    Now,
    Before,
}

/// See the module.
#[derive(Debug, Default)]
pub(in crate::solver) struct SphereSpace {
    pack: Pack,
    now: Iterate,
    before: Iterate,
    trial: Iterate,
    /// The best γ, where neither `now` nor `before` holds it.
    best: Vec<Vectors>,
    best_in: Best,
    beta: f32,
    /// v at y.
    velocity: Vec<Row32>,
    /// β that the trial is to be accepted with, where that is known; that which it will be; and v at the y
    /// that comes of it.
    plan: Option<f32>,
    ahead: Option<f32>,
    next: Vec<Row32>,
    /// v_free and M⁻¹, number by number.
    free: Vec<Row32>,
    inverse: Vec<Row32>,
    /// η_n / η_t.
    kappa: f64,
    /// 1/η of all points.
    weights: Vec<Packed>,
    bound: f64,
    ones: Vec<f64>,
    parts: Vec<Sums>,
    pairs: Vec<[f64; 2]>,
    nothing: Vec<()>,
}

fn bodies(problem: &Problem) -> &Bodies {
    let Problem::Bodies(p) = problem else { unreachable!("chosen by the form of the problem") };
    p
}

impl SphereSpace {
    /// Takes the problem and the guess, as [`Space::start`]; false if it is not of this kind.
    pub fn begin(&mut self, problem: &Problem, guess: Option<&[f64]>, scaling: Scaling) -> bool {
        let Problem::Bodies(p) = problem else { return false };
        let steps =
            Steps { omega: 1.0, lambda: 1.0, safeguard: false, vectors: true, bounded: false, repeats: true };
        if scaling == Scaling::None || !self.pack.fill(p, steps) {
            return false;
        }
        self.kappa = if scaling == Scaling::Cone { self.pack.kappa } else { 1.0 };
        // Multipliers outside the cones may have a lower objective than any inside, which nothing would then
        // better.
        self.pack.read_admissible(p, guess, &mut self.now.gamma);
        self.free.clone_from(&self.pack.free);
        self.inverse.clear();
        for row in &mut self.free {
            let [x, y, z, m, p, q, r, j] = row.0;
            self.inverse.push(Packed([m, m, m, 0.0, j, j, j, 0.0]));
            *row = Packed([m * x, m * y, m * z, 0.0, j * p, j * q, j * r, 0.0]);
        }
        let rows = self.free.len();
        self.trial.gamma.resize(self.pack.groups.len(), Vectors::default());
        self.trial.force.resize(rows, Row32::default());
        // Not what the last problem left: the sign of a zero would depend on it.
        self.before.gamma.clone_from(&self.now.gamma);
        for force in [&mut self.now.force, &mut self.before.force] {
            force.clear();
            force.resize(rows, Row32::default());
        }
        self.best.resize(self.pack.groups.len(), Vectors::default());
        self.velocity.resize(rows, Row32::default());
        self.best_in = Best::Now;
        (self.plan, self.ahead) = (None, None);
        self.weights.clear();
        self.weights.extend(self.pack.groups.iter().map(|g| Packed(g.step.0.map(|eta| 1.0 / eta))));
        self.find_bound();
        self.refresh();
        self.stand_still();
        true
    }

    /// A residual, m/s, below which f32 has nothing more to say.
    pub fn floor(&self) -> f64 {
        FLOOR * (self.pack.speed + self.pack.pressed(&self.now.gamma))
    }

    /// See `BodySpace::measure`: the largest, over bodies, of the sum of η_i tr(J M⁻¹ Jᵀ) over its contacts,
    /// doubled where two bodies move.
    fn find_bound(&mut self) {
        let tangents = self.across() as f32;
        let normal = self.kappa as f32 * tangents;
        let sums = &mut self.trial.force;
        sums.fill(Row32::default());
        for group in &self.pack.groups {
            for k in 0..8 {
                let [a, b] = [group.a.0[k], group.b.0[k]].map(|place| place as usize / size_of::<Row32>());
                let [x, y] = [a, b].map(|i| {
                    let [m, j] = [0, 4].map(|k| self.inverse[i].0[k]);
                    normal * m + 2.0 * tangents * (m + j)
                });
                let both = if y > 0.0 { 2.0 } else { 1.0 };
                sums[a].0[0] += both * group.step.0[k] * x;
                sums[b].0[0] += both * group.step.0[k] * y;
            }
        }
        self.bound = sums.iter().map(|s| f64::from(s.0[0])).fold(0.0, f64::max);
    }

    /// η_t over a contact's step.
    fn across(&self) -> f64 {
        metric::across(self.kappa)
    }

    /// One J in the pack's units.
    fn energy(&self) -> f64 {
        self.pack.mass * self.pack.speed * self.pack.speed
    }

    /// A pass over all points from `now` with momentum `beta`; forces are those of the trial.
    fn pass(&mut self, what: What, t: f64, beta: f32) -> Sums {
        // The residual is the certificate's, whose metric has one number for each contact.
        let kappa = if what == What::Measure { 1.0 } else { self.kappa };
        let Self { pack, now, before, trial, velocity, weights, parts, nothing, .. } = self;
        if matches!(what, What::Step | What::Push) {
            parallel::map_chunks(&mut trial.force, PIECE, nothing, |_, rows| rows.fill(Row32::default()));
        }
        let view = View {
            pack,
            what,
            t: t as f32,
            beta,
            metric: Metric::new(kappa, pack.mu),
            now: &now.gamma,
            before: &before.gamma,
            trial: parallel::Shared(trial.gamma.as_mut_ptr()),
            velocity,
            force: parallel::Shared(trial.force.as_mut_ptr()),
            weights,
        };
        // The problem was checked: no two points of a span share a body, no two regions do, places that are
        // left over have rows of their own, and pieces do not overlap; or the span is one piece, and forces
        // are added one row after the other.
        let visit = |piece: Span| dispatch(Piece { view: &view, piece });
        colour::walk(&pack.spans, &pack.regions, false, parts, visit, add)
    }

    /// Forces and objective of γ.
    fn refresh(&mut self) {
        let work = self.pass(What::Push, 0.0, 0.0)[WORK];
        std::mem::swap(&mut self.now.force, &mut self.trial.force);
        let [_, kinetic] = self.settle(true, 0.0, None);
        self.now.objective = (work + 0.5 * kinetic) * self.energy();
    }

    /// What [`Settle`] says of `now`'s or the trial's forces; `ahead` is the next β.
    fn settle(&mut self, of_now: bool, beta: f32, ahead: Option<f32>) -> [f64; 2] {
        let Self { now, before, trial, free, inverse, pairs, next, .. } = self;
        let force = if of_now { &now.force } else { &trial.force };
        let n = force.len();
        pairs.clear();
        pairs.resize(n.div_ceil(PIECE), [0.0; 2]);
        next.resize(if ahead.is_some() { n } else { 0 }, Row32::default());
        let columns = (PerRun(pairs, 1), ahead.map(|_| &mut next[..]));
        parallel::for_each_run(n, columns, PIECE, |first, (PerRun(sums, _), next)| {
            let range = first..n.min(first + PIECE);
            let [force, now, before, free, inverse] =
                [force, &now.force, &before.force, &*free, &*inverse].map(|rows| &rows[range.clone()]);
            let ahead = ahead.zip(next);
            sums[0] = dispatch(Settle { force, now, before, beta, free, inverse, ahead });
        });
        pairs.iter().fold([0.0; 2], |sum, part| [sum[0] + part[0], sum[1] + part[1]])
    }

    /// v at γ + β (γ - γ_before).
    fn velocities(&mut self, beta: f32) {
        let Self { now, before, free, inverse, velocity, nothing, .. } = self;
        let before = if beta == 0.0 { &now.force } else { &before.force };
        parallel::map_chunks(velocity, PIECE, nothing, |at, to| {
            let range = at..at + to.len();
            let [force, before, free, inverse] =
                [&now.force, before, &*free, &*inverse].map(|rows| &rows[range.clone()]);
            dispatch(Velocities { force, before, beta, free: Some(free), inverse, to });
        });
    }

    /// y = γ.
    fn stand_still(&mut self) {
        self.beta = 0.0;
        self.velocities(0.0);
    }

    /// Σ of the squares of `x`, with the weights of η_t and κ: across the normals, and how much more along
    /// them.
    fn length(&self, x: &[Vectors], weight: impl Fn(f64, f64) -> [f64; 2]) -> f64 {
        let (across, mut sum) = (self.across(), 0.0);
        for (group, x) in self.pack.groups.iter().zip(x) {
            for k in 0..8 {
                let [x, n] = [x, &group.n].map(|v| [0, 1, 2].map(|c| f64::from(v[c].0[k])));
                let along: f64 = (0..3).map(|c| x[c] * n[c]).sum();
                let [tangents, more] = weight(across * f64::from(group.step.0[k]), self.kappa);
                let square: f64 = x.iter().map(|x| x * x).sum();
                sum += tangents * (square + (more - 1.0) * along * along);
            }
        }
        sum
    }

    /// Memory over blocks, bytes.
    pub fn bytes(&self) -> usize {
        let iterates = [&self.now.gamma, &self.before.gamma, &self.trial.gamma, &self.best];
        self.pack.bytes() + iterates.iter().map(|x| size_of_val(x.as_slice())).sum::<usize>()
    }
}

impl Walk for SphereSpace {
    fn residual(&mut self, _: &Problem) -> f64 {
        let moves = self.beta != 0.0;
        if moves {
            self.velocities(0.0);
        }
        let worst = self.pass(What::Measure, 1.0, 0.0)[MEASURE].sqrt() * self.pack.speed;
        if moves {
            self.velocities(self.beta);
        }
        worst
    }

    fn objective(&self) -> f64 {
        self.now.objective
    }

    fn rounding(&self) -> f64 {
        1e-6
    }

    fn keep(&mut self) {
        self.best_in = Best::Now;
    }

    fn rows(&self, problem: &Problem, best: bool, out: &mut Vec<f64>) {
        let gamma = match self.best_in {
            Best::Kept if best => &self.best,
            Best::Before if best => &self.before.gamma,
            _ => &self.now.gamma,
        };
        self.pack.write(bodies(problem), gamma, out);
    }
}

impl Space for SphereSpace {
    fn start(&mut self, problem: &Problem, guess: Option<&[f64]>, scaling: Scaling) {
        let fits = self.begin(problem, guess, scaling);
        debug_assert!(fits, "chosen by the form of the problem");
    }

    fn lipschitz(&mut self, problem: &Problem) -> [f64; 2] {
        // One of the pack's units, so that no scene's leave the range of f32.
        let mut ones = std::mem::take(&mut self.ones);
        ones.clear();
        ones.resize(problem.rows(), self.pack.mass * self.pack.speed);
        // The multipliers of ones take the place of γ for a while, in the trial's memory.
        std::mem::swap(&mut self.now.gamma, &mut self.trial.gamma);
        self.pack.read(bodies(problem), Some(&ones), &mut self.now.gamma);
        self.ones = ones;
        self.pass(What::Push, 0.0, 0.0);
        let bottom = self.length(&self.now.gamma, |eta, kappa| [1.0 / eta, 1.0 / kappa]);
        std::mem::swap(&mut self.now.gamma, &mut self.trial.gamma);
        let Self { trial, inverse, velocity, .. } = self;
        let (force, before) = (&trial.force, &trial.force);
        dispatch(Velocities { force, before, beta: 0.0, free: None, inverse, to: velocity });
        self.pass(What::Product, 0.0, 0.0);
        let top = self.length(&self.trial.gamma, |eta, kappa| [eta, kappa]);
        self.velocities(self.beta);
        [if bottom > 0.0 { (top / bottom).sqrt() } else { 0.0 }, self.bound]
    }

    fn plan(&mut self, beta: f64) {
        self.plan = Some(beta as f32);
    }

    fn step(&mut self, _: &Problem, t: f64) -> Trial {
        let across = self.across();
        let sums = self.pass(What::Step, across * t, self.beta);
        self.ahead = self.plan.map(|beta| if sums[DESCENT] > 0.0 { 0.0 } else { beta });
        let [change, kinetic] = self.settle(false, self.beta, self.ahead);
        let unit = self.energy();
        self.trial.objective = unit * (sums[WORK] + 0.5 * kinetic);
        Trial {
            measure: if t > 0.0 { self.pack.speed * sums[MEASURE].sqrt() / (across * t) } else { 0.0 },
            length: unit * sums[LENGTH] / across,
            descent: unit * sums[DESCENT],
            curvature: unit * change,
            objective: self.trial.objective,
        }
    }

    fn accept(&mut self, beta: f64) {
        std::mem::swap(&mut self.before, &mut self.now);
        std::mem::swap(&mut self.now, &mut self.trial);
        // What was before is the next trial's place now: the best is taken out of it.
        self.best_in = match self.best_in {
            Best::Now => Best::Before,
            Best::Before => {
                std::mem::swap(&mut self.best, &mut self.trial.gamma);
                Best::Kept
            }
            Best::Kept => Best::Kept,
        };
        self.beta = beta as f32;
        match self.ahead.take() == Some(self.beta) {
            true => std::mem::swap(&mut self.velocity, &mut self.next),
            false => self.velocities(self.beta),
        }
    }

    fn blend(&mut self, alpha: f64, objective: f64) {
        if self.best_in == Best::Now {
            self.best.clone_from(&self.now.gamma);
            self.best_in = Best::Kept;
        }
        if alpha == 1.0 {
            std::mem::swap(&mut self.now, &mut self.trial);
        } else {
            let alpha = alpha as f32;
            let (now, trial) = (&mut self.now, &self.trial);
            for (x, z) in now.gamma.as_flattened_mut().iter_mut().zip(trial.gamma.as_flattened()) {
                (0..8).for_each(|k| x.0[k] += alpha * (z.0[k] - x.0[k]));
            }
            for (x, z) in now.force.iter_mut().zip(&trial.force) {
                (0..8).for_each(|k| x.0[k] += alpha * (z.0[k] - x.0[k]));
            }
            now.objective = objective;
        }
        self.stand_still();
    }
}
