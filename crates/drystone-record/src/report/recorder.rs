//! Adds up what steps report.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use drystone::{Integrator, StepReport, World};
use drystone_solve::Status;
use drystone_solve::bound::SharpBound;
use drystone_solve::solver::Attempt;
use serde::{Deserialize, Serialize};

use super::form::{Substepped, Used};
use super::laps::Lap;
use super::warnings::{Warning, apart, bounce, contradiction, deep, unresolved};
use crate::usage;

/// How many of the last steps the `last100` figures cover.
const LAST: usize = 100;
/// Warnings kept in full; the rest are counted.
const WARNINGS: usize = 100;

/// Who ran what.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Scene name.
    pub scene: String,
    /// Seed of the world's generator.
    pub seed: u64,
    /// Threads in the pool.
    pub threads: usize,
}

/// What is added up over the steps.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Totals {
    /// Wall and CPU seconds of the run before it was resumed.
    pub before: [f64; 2],
    pub all: Lap,
    pub last: VecDeque<Lap>,
    pub contacts_sum: f64,
    pub contacts_max: usize,
    pub asleep_sum: f64,
    pub asleep_max: usize,
    pub smooth_steps: u64,
    pub iterations_sum: f64,
    pub iterations_max: usize,
    pub contact_iterations: f64,
    pub statuses: BTreeMap<String, u64>,
    pub contradictions: u64,
    pub cut_bounces: u64,
    pub substepped: Substepped,
    pub used: BTreeMap<Cow<'static, str>, Used>,
    pub fallbacks: u64,
    pub rounds_sum: f64,
    pub residual_max: f64,
    pub residual_sum: f64,
    pub penetration_max: f64,
    pub penetration_sum: f64,
    pub joint_error: drystone::joint::JointError,
    /// Of every step's largest, m and m/s.
    #[serde(default)]
    pub joint_error_sum: [f64; 2],
    /// The largest error of a joint that was told, m.
    pub apart: f64,
    /// The deepest overlap that was told of, m.
    pub deep: f64,
    pub steps: u64,
    pub warnings: Vec<Warning>,
    pub warnings_left_out: u64,
}

/// Collects step reports and makes the report.
pub struct Recorder {
    pub(super) identity: Identity,
    pub(super) started: std::time::Instant,
    pub(super) cpu_started: f64,
    pub(super) totals: Totals,
    pub(super) latest: Option<StepReport>,
    pub(super) error_bound: Option<SharpBound>,
}

impl Recorder {
    /// Starts the clocks.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            started: std::time::Instant::now(),
            cpu_started: usage::cpu_seconds(),
            totals: Totals::default(),
            latest: None,
            error_bound: None,
        }
    }

    /// What was added up so far, so that a run that is resumed reports on all of it. The last step's own
    /// report is not in it.
    ///
    /// # Errors
    /// Naming what cannot be written.
    pub fn save(&self) -> Result<Vec<u8>, String> {
        let before = [self.wall(), self.cpu()];
        rmp_serde::to_vec_named(&Totals { before, ..self.totals.clone() }).map_err(|e| e.to_string())
    }

    /// Goes on with what [`Recorder::save`] kept.
    ///
    /// # Errors
    /// Naming what cannot be read.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.totals = rmp_serde::from_slice(bytes).map_err(|e| e.to_string())?;
        Ok(())
    }

    /// s
    pub(super) fn wall(&self) -> f64 {
        self.totals.before[0] + self.started.elapsed().as_secs_f64()
    }

    /// s
    pub(super) fn cpu(&self) -> f64 {
        self.totals.before[1] + usage::cpu_seconds() - self.cpu_started
    }

    /// Takes one step's report, with the wall and CPU seconds the step took altogether.
    pub fn step(&mut self, world: &World, r: &StepReport, wall: f64, cpu: f64) {
        let support = r.support.or_else(|| world.support_over_weight()).unwrap_or(f64::NAN);
        let lap = Lap { total: wall, cpu, support, spans: r.spans.map(|s| s.as_secs_f64()) };
        self.totals.all.total += lap.total;
        self.totals.all.cpu += lap.cpu;
        for k in 0..lap.spans.len() {
            self.totals.all.spans[k] += lap.spans[k];
        }
        if self.totals.last.len() == LAST {
            self.totals.last.pop_front();
        }
        self.totals.last.push_back(lap);
        self.totals.steps += 1;
        let joints = r.figures.map_or_else(|| world.joint_error(), |f| f.joint_error);
        self.totals.joint_error.position = self.totals.joint_error.position.max(joints.position);
        self.totals.joint_error.velocity = self.totals.joint_error.velocity.max(joints.velocity);
        self.totals.joint_error_sum[0] += joints.position;
        self.totals.joint_error_sum[1] += joints.velocity;
        self.totals.contacts_sum += r.contacts as f64;
        self.totals.contacts_max = self.totals.contacts_max.max(r.contacts);
        self.totals.asleep_sum += r.asleep as f64;
        self.totals.asleep_max = self.totals.asleep_max.max(r.asleep);
        if matches!(r.integrator, Integrator::Rattle { .. }) {
            // Its rounds of Newton's method are not the solver's iterations, and no solver was picked.
            self.totals.smooth_steps += 1;
        } else {
            self.totals.iterations_sum += r.iterations as f64;
            self.totals.iterations_max = self.totals.iterations_max.max(r.iterations);
            self.count(world, r);
        }
        self.totals.contact_iterations += r.contacts as f64 * r.iterations as f64;
        self.totals.rounds_sum += r.position_rounds as f64;
        *self.totals.statuses.entry(status_name(r.status)).or_default() += 1;
        self.totals.residual_max = self.totals.residual_max.max(r.certificate.residual_max);
        self.totals.residual_sum += r.certificate.residual_max;
        self.totals.penetration_max = self.totals.penetration_max.max(r.penetration_max);
        self.totals.penetration_sum += r.penetration_mean;
        if !r.contradiction.is_empty() || matches!(r.status, Status::Wedged | Status::Diverged) {
            self.totals.contradictions += 1;
            self.warn(contradiction(world, r));
        }
        // What is off stays so for many steps: a word again where it has become twice as much.
        if let Some(a) = r.apart.as_ref().filter(|a| a.off >= 2.0 * self.totals.apart) {
            self.totals.apart = a.off;
            self.warn(apart(world, r, a));
        }
        // Overlaps of the start are refused, or asked for: only what comes later is news.
        if let Some(d) = r.deep.as_ref().filter(|d| d.depth >= 2.0 * self.totals.deep) {
            self.totals.deep = d.depth;
            if r.step > 1 {
                self.warn(deep(world, r, d));
            }
        }
        if let Some(share) = r.bounce {
            if self.totals.cut_bounces == 0 {
                self.warn(bounce(r, share));
            }
            self.totals.cut_bounces += 1;
        }
        if r.substeps > 1 {
            self.totals.substepped.steps += 1;
            self.totals.substepped.most = self.totals.substepped.most.max(r.substeps);
        }
        if let Some(bodies) = r.unresolved {
            if self.totals.substepped.unresolved_steps == 0 {
                self.warn(unresolved(world, r, bodies));
            }
            self.totals.substepped.unresolved_steps += 1;
        }
        for id in &r.left {
            let text = format!("{} left the bounds", world.model().describe(id.slot));
            self.warn(Warning { step: r.step, kind: "left".into(), bodies: vec![id.slot], text });
        }
        self.latest = Some(r.clone());
        self.error_bound = None;
    }

    /// What is known of the last step's velocity error beyond its certificate.
    pub fn bound(&mut self, found: Option<SharpBound>) {
        self.error_bound = found;
    }

    /// Who solved, and who took over from whom.
    fn count(&mut self, world: &World, r: &StepReport) {
        let named = world.settings().solver.split(':').next().unwrap_or_default();
        let info = drystone_solve::solver::find(named);
        let alone = info.filter(|_| r.attempts.is_empty()).map(|info| Attempt {
            solver: info.name,
            unit: info.unit,
            iterations: r.iterations,
            status: r.status,
        });
        for a in r.attempts.iter().chain(&alone) {
            let used = self
                .totals
                .used
                .entry(a.solver.into())
                .or_insert(Used { unit: a.unit.into(), ..Used::default() });
            used.solves += 1;
            used.iterations += a.iterations as u64;
            used.converged += (a.status == Status::Converged) as u64;
        }
        let handed_on = |p: &&[Attempt]| !matches!(p[0].status, Status::Converged | Status::Wedged);
        self.totals.fallbacks += r.attempts.windows(2).filter(handed_on).count() as u64;
    }

    /// Adds a warning.
    pub fn warn(&mut self, warning: Warning) {
        // The first of its kind has its place, however many of another there are.
        if self.totals.warnings.len() < WARNINGS
            || self.totals.warnings.iter().all(|w| w.kind != warning.kind)
        {
            self.totals.warnings.push(warning);
        } else {
            self.totals.warnings_left_out += 1;
        }
    }

    /// The last step's report.
    pub fn latest(&self) -> Option<&StepReport> {
        self.latest.as_ref()
    }
}

fn status_name(status: Status) -> String {
    serde_json::to_value(status).ok().and_then(|v| v.as_str().map(str::to_string)).unwrap_or_default()
}
