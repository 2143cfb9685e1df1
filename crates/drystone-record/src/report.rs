//! The report of a run: one JSON object, the same names for every scene and solver.

mod warnings;

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use drystone::{Integrator, Settings, Stage, StepReport, World};
use drystone_solve::Status;
use drystone_solve::bound::SharpBound;
use drystone_solve::solver::Attempt;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::usage;
use warnings::{apart, bounce, contradiction, deep, unresolved, unsolved};

/// How many of the last steps the `last100` figures cover.
const LAST: usize = 100;
/// Warnings kept in full; the rest are counted.
const WARNINGS: usize = 100;

/// Something a reader of the report should know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// Step number.
    pub step: u64,
    /// One word.
    pub kind: Cow<'static, str>,
    /// Body slots.
    pub bodies: Vec<u32>,
    /// In words.
    pub text: String,
}

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

/// Milliseconds per step.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Milliseconds {
    /// Everything, hooks and recording included.
    pub total: f64,
    /// Which shapes are near.
    pub broadphase: f64,
    /// Where they touch.
    pub narrowphase: f64,
    /// Building the problem, forces included.
    pub assemble: f64,
    /// The velocity problem.
    pub solve: f64,
    /// The position problem.
    pub correct: f64,
    /// Moving the bodies.
    pub integrate: f64,
    /// The judge.
    pub certificate: f64,
    /// Snapshots, series, progress.
    pub record: f64,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Lap {
    total: f64,
    cpu: f64,
    support: f64,
    spans: [f64; 7],
}

/// What is added up over the steps.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Totals {
    /// Wall and CPU seconds of the run before it was resumed.
    before: [f64; 2],
    all: Lap,
    last: VecDeque<Lap>,
    contacts_sum: f64,
    contacts_max: usize,
    asleep_sum: f64,
    asleep_max: usize,
    smooth_steps: u64,
    iterations_sum: f64,
    iterations_max: usize,
    contact_iterations: f64,
    statuses: BTreeMap<String, u64>,
    contradictions: u64,
    cut_bounces: u64,
    substepped: Substepped,
    used: BTreeMap<Cow<'static, str>, Used>,
    fallbacks: u64,
    rounds_sum: f64,
    residual_max: f64,
    residual_sum: f64,
    penetration_max: f64,
    penetration_sum: f64,
    joint_error: drystone::joint::JointError,
    /// Of every step's largest, m and m/s.
    #[serde(default)]
    joint_error_sum: [f64; 2],
    /// The largest error of a joint that was told, m.
    apart: f64,
    /// The deepest overlap that was told of, m.
    deep: f64,
    steps: u64,
    warnings: Vec<Warning>,
    warnings_left_out: u64,
}

/// Collects step reports and makes the report.
pub struct Recorder {
    identity: Identity,
    started: std::time::Instant,
    cpu_started: f64,
    totals: Totals,
    latest: Option<StepReport>,
    error_bound: Option<SharpBound>,
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

    /// What was added up so far, so that a run that is resumed reports on all of it. The last step's own report is not in it.
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
    fn wall(&self) -> f64 {
        self.totals.before[0] + self.started.elapsed().as_secs_f64()
    }

    fn cpu(&self) -> f64 {
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
        let joints = world.joint_error();
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

    /// Median and least wall time, and mean CPU time, of the last steps, ms; and the means of all steps.
    pub fn laps(&self) -> Laps {
        let mut wall: Vec<f64> = self.totals.last.iter().map(|l| 1e3 * l.total).collect();
        wall.sort_by(f64::total_cmp);
        let n = self.totals.last.len().max(1) as f64;
        let all = self.totals.steps.max(1) as f64;
        Laps {
            mean: wall.iter().sum::<f64>() / n,
            median: wall.get(wall.len() / 2).copied().unwrap_or(0.0),
            least: wall.first().copied().unwrap_or(0.0),
            mean_all: 1e3 * self.totals.all.total / all,
            cpu: 1e3 * self.totals.last.iter().map(|l| l.cpu).sum::<f64>() / n,
            cpu_all: 1e3 * self.totals.all.cpu / all,
        }
    }

    /// The report. `status` is "ok", "failed" or "interrupted"; `reason` says why if not ok.
    pub fn report(
        &self,
        world: &mut World,
        status: &'static str,
        reason: Option<String>,
        scene_results: BTreeMap<String, Value>,
    ) -> Report {
        let steps = self.totals.steps.max(1) as f64;
        let penetration = world.penetration();
        let energy = world.energy();
        let (max_speed, mean_speed) = world.speeds();
        let dynamic = world.model().dynamic().count();
        let last = self.latest.as_ref();
        let certificate = last.map(|r| &r.certificate);
        let settings = world.settings().clone();
        let name = settings.solver.split(':').next().unwrap_or_default().to_string();
        let info = drystone_solve::solver::find(&name);
        let bytes = world.contact_bytes() as f64;
        let (bilaterals, joint_error) = (world.bilaterals(), world.joint_error());
        // Last: it borrows the memory of the problem.
        let redundancy = world.redundancy();
        Report {
            status,
            reason,
            scene: self.identity.scene.clone(),
            version: env!("CARGO_PKG_VERSION"),
            backend: "cpu",
            on_cpu: Vec::new(),
            device: None,
            threads: self.identity.threads,
            seed: self.identity.seed,
            sleep: settings.sleep.is_some(),
            asleep: Asleep {
                mean: self.totals.asleep_sum / steps,
                max: self.totals.asleep_max,
                last: world.asleep(),
            },
            model: settings.model.name(),
            integrator: settings.integrator.text(),
            smooth_steps: self.totals.smooth_steps,
            stabilisation: settings.stabilisation.text(),
            broadphase: world.broadphase().map(|k| k.name()),
            envelope_m: world.least_envelope(),
            bodies: dynamic,
            steps: self.totals.steps,
            time_s: world.state().time,
            step_s: settings.h,
            substeps: settings.substeps,
            substepped: self.totals.substepped,
            wall_s: self.wall(),
            cpu_s: self.cpu(),
            contacts: Contacts {
                mean: self.totals.contacts_sum / steps,
                max: self.totals.contacts_max,
                last: last.map_or(0, |r| r.contacts),
                touching_last: penetration.touching,
                bytes_per_contact: (!world.contacts().is_empty())
                    .then(|| bytes / world.contacts().len() as f64),
            },
            bilaterals,
            redundant_bilaterals: redundancy.rows - redundancy.rank,
            solver: SolverUse {
                name,
                parameters: settings.solver.clone(),
                unit: info.map_or("sweep", |i| i.unit),
                iterations_mean: self.totals.iterations_sum / steps,
                iterations_max: self.totals.iterations_max,
                iterations_cap: settings.iterations,
                omega_last: last.map(|r| r.omega),
                rejected_last: last.map_or(0, |r| r.rejected),
                tolerance: settings.tolerance,
                converged_steps: self.converged(),
                statuses: self.totals.statuses.clone(),
                contradictory_steps: self.totals.contradictions,
                cut_bounces: self.totals.cut_bounces,
                used: self.totals.used.clone(),
                fallbacks: self.totals.fallbacks,
                position_problems_mean: self.totals.rounds_sum / steps,
                ns_per_contact_iteration: (self.totals.contact_iterations > 0.0).then(|| {
                    1e9 * self.totals.all.spans[Stage::Solve as usize] / self.totals.contact_iterations
                }),
            },
            ms_per_step: milliseconds(&self.totals.all, self.totals.steps),
            ms_per_step_last100: milliseconds(&self.sum_of_last(), self.totals.last.len() as u64),
            cpu_ms_per_step_last100: self.laps().cpu,
            solved: self.solved(&settings),
            certificate: Certified {
                residual_max: self.totals.residual_max,
                residual_mean: self.totals.residual_sum / steps,
                residual_last: certificate.map(|c| c.residual_max),
                residual_rms_last: certificate.map(|c| c.residual_rms),
                constraint_violation_last: certificate.map(|c| c.constraint_violation),
                cone_violation_last: certificate.map(|c| c.cone_violation),
                duality_gap_last: certificate.and_then(|c| c.duality_gap),
                least_feasible_speed_last: certificate
                    .and_then(|c| c.least_feasible_speed(world.total_mass())),
                velocity_error_bound_last: self
                    .error_bound
                    .map(|b| b.upper)
                    .or_else(|| certificate.and_then(|c| c.velocity_error_bound(world.total_mass()))),
                velocity_error_reason: self.latest.as_ref().and_then(why_no_bound),
                velocity_error_least_last: self.error_bound.map(|b| b.lower),
                velocity_error_multiplications: self.error_bound.map(|b| b.multiplications),
            },
            penetration_m: PenetrationUse {
                max: self.totals.penetration_max.max(penetration.max),
                mean: self.totals.penetration_sum / steps,
                last_max: penetration.max,
                last_mean: penetration.mean,
            },
            joint_error: JointError {
                position_m: self.totals.joint_error.position.max(joint_error.position),
                velocity_m_s: self.totals.joint_error.velocity.max(joint_error.velocity),
                last_position_m: joint_error.position,
                last_velocity_m_s: joint_error.velocity,
                mean_position_m: self.totals.joint_error_sum[0] / steps,
                mean_velocity_m_s: self.totals.joint_error_sum[1] / steps,
            },
            support_over_weight: Support {
                last: world.support_over_weight(),
                mean_last100: Some(
                    self.totals.last.iter().map(|l| l.support).sum::<f64>() / self.totals.last.len() as f64,
                )
                .filter(|x| x.is_finite()),
            },
            energy_j: EnergyUse {
                kinetic_last: energy.kinetic,
                potential_last: energy.potential,
                kinetic_per_body_last: energy.kinetic / dynamic.max(1) as f64,
            },
            speed_m_s: Speed { max_last: max_speed, mean_last: mean_speed },
            state_hash: format!("{:016x}", world.state().hash()),
            peak_rss_mib: usage::peak_rss_mib(),
            warnings: match self.solved(&settings) {
                Some(false) => {
                    // Where nobody overlooks it.
                    let first = unsolved(self.converged(), self.totals.steps, &settings);
                    std::iter::once(first).chain(self.totals.warnings.iter().cloned()).collect()
                }
                _ => self.totals.warnings.clone(),
            },
            warnings_left_out: self.totals.warnings_left_out,
            emitters: passed(world.emitted(), world.emitted_mass()),
            sinks: passed(world.sunk(), world.sunk_mass()),
            scene_results,
            contact_forces: None,
        }
    }

    /// Steps within the tolerance.
    fn converged(&self) -> u64 {
        self.totals.statuses.get("converged").copied().unwrap_or(0)
    }

    /// Whether at least 99 % of the steps are within the tolerance; None where there is no tolerance to be within.
    fn solved(&self, settings: &Settings) -> Option<bool> {
        (settings.tolerance > 0.0).then(|| 100 * self.converged() >= 99 * self.totals.steps)
    }

    fn sum_of_last(&self) -> Lap {
        let mut sum = Lap { total: 0.0, cpu: 0.0, support: 0.0, spans: [0.0; 7] };
        for l in &self.totals.last {
            sum.total += l.total;
            sum.cpu += l.cpu;
            for k in 0..7 {
                sum.spans[k] += l.spans[k];
            }
        }
        sum
    }
}

/// See [`Recorder::laps`].
#[derive(Clone, Copy, Debug)]
pub struct Laps {
    /// Mean wall ms of the last steps.
    pub mean: f64,
    /// Their median.
    pub median: f64,
    /// Their least.
    pub least: f64,
    /// Mean wall ms of all steps.
    pub mean_all: f64,
    /// Mean CPU ms of the last steps.
    pub cpu: f64,
    /// Mean CPU ms of all steps.
    pub cpu_all: f64,
}

fn status_name(status: Status) -> String {
    serde_json::to_value(status).ok().and_then(|v| v.as_str().map(str::to_string)).unwrap_or_default()
}

fn milliseconds(lap: &Lap, steps: u64) -> Milliseconds {
    let scale = 1e3 / steps.max(1) as f64;
    let of = |stage: Stage| scale * lap.spans[stage as usize];
    Milliseconds {
        total: scale * lap.total,
        broadphase: of(Stage::Broadphase),
        narrowphase: of(Stage::Narrowphase),
        assemble: of(Stage::Assemble),
        solve: of(Stage::Solve),
        correct: of(Stage::Correct),
        integrate: of(Stage::Integrate),
        certificate: of(Stage::Certificate),
        record: scale * (lap.total - lap.spans.iter().sum::<f64>()).max(0.0),
    }
}

/// The report.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Report {
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub scene: String,
    pub version: &'static str,
    pub backend: &'static str,
    /// Stages of the step that stayed on the processor; none of them is named where all did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on_cpu: Vec<&'static str>,
    /// The device of another backend, and what it was used for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<Value>,
    pub threads: usize,
    pub seed: u64,
    pub sleep: bool,
    /// Dynamic bodies asleep; their contacts are in no problem.
    pub asleep: Asleep,
    pub model: &'static str,
    pub integrator: String,
    /// Steps taken by `rattle`; all others by `euler`, or by the integrator that is named.
    pub smooth_steps: u64,
    pub stabilisation: String,
    pub broadphase: Option<&'static str>,
    pub envelope_m: f64,
    pub bodies: usize,
    pub steps: u64,
    pub time_s: f64,
    pub step_s: f64,
    /// Parts that each step was taken in.
    pub substeps: usize,
    pub substepped: Substepped,
    pub wall_s: f64,
    pub cpu_s: f64,
    pub contacts: Contacts,
    /// Scalar equations of joints, and motors that impose positions or speeds.
    pub bilaterals: usize,
    /// How many rigid ones repeat others: their multipliers are not unique.
    pub redundant_bilaterals: usize,
    pub solver: SolverUse,
    pub ms_per_step: Milliseconds,
    pub ms_per_step_last100: Milliseconds,
    pub cpu_ms_per_step_last100: f64,
    /// At least 99 % of the steps are within the tolerance; null where all iterations were asked for.
    pub solved: Option<bool>,
    pub certificate: Certified,
    pub penetration_m: PenetrationUse,
    pub joint_error: JointError,
    /// Force of bodies that are not dynamic on those that are, against gravity, over their weight: 1 at rest.
    pub support_over_weight: Support,
    pub energy_j: EnergyUse,
    pub speed_m_s: Speed,
    pub state_hash: String,
    pub peak_rss_mib: f64,
    pub warnings: Vec<Warning>,
    #[serde(skip_serializing_if = "is_zero")]
    pub warnings_left_out: u64,
    /// What each emitter has added, in the order of the scene.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub emitters: Vec<Passed>,
    /// What each sink has taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sinks: Vec<Passed>,
    pub scene_results: BTreeMap<String, Value>,
    /// Forces of the last step's contacts, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact_forces: Option<ContactForces>,
}

/// The smallest contact forces that give the last step's velocities.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct ContactForces {
    /// Contacts that press, and how many of their forces could not be others.
    pub pressed: usize,
    pub determined: usize,
    /// Contacts of islands too large to tell.
    pub unknown: usize,
    /// Largest change of a velocity by them, m/s.
    pub velocity_off_m_s: f64,
    pub contacts: Vec<ContactForce>,
}

/// One of them.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct ContactForce {
    pub bodies: [u32; 2],
    pub point_m: [f64; 3],
    /// On the first body, world axes.
    pub force_n: [f64; 3],
    /// Whether it could not be another one; null where that is not known.
    pub determined: Option<bool>,
    pub normal_determined: Option<bool>,
}

impl ContactForces {
    /// Of a world whose last solution was kept; None where there is none.
    pub fn of(world: &World) -> Option<Self> {
        let found = world.smallest_forces()?;
        let most = found.force.iter().map(|f| f.length()).fold(0.0, f64::max);
        let mut all =
            Self { pressed: 0, determined: 0, unknown: 0, velocity_off_m_s: found.off, contacts: Vec::new() };
        for (i, c) in world.contacts().iter().enumerate() {
            let (force, determined) = (found.force[i], found.determined[i]);
            // What carries nothing, and could carry nothing, is not worth a line.
            if force.length() <= 1e-9 * most && determined == Some(true) {
                continue;
            }
            all.pressed += 1;
            all.determined += usize::from(determined == Some(true));
            all.unknown += usize::from(determined.is_none());
            all.contacts.push(ContactForce {
                bodies: c.bodies,
                point_m: c.point.to_array(),
                force_n: force.to_array(),
                determined,
                normal_determined: found.normal_determined[i],
            });
        }
        Some(all)
    }
}

/// What came in, or went out.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Passed {
    pub bodies: u64,
    pub mass_kg: f64,
}

fn passed(counts: &[u64], masses: &[f64]) -> Vec<Passed> {
    counts.iter().zip(masses).map(|(bodies, mass_kg)| Passed { bodies: *bodies, mass_kg: *mass_kg }).collect()
}

fn is_zero(x: &u64) -> bool {
    *x == 0
}

#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Asleep {
    pub mean: f64,
    pub max: usize,
    pub last: usize,
}

#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Contacts {
    pub mean: f64,
    pub max: usize,
    pub last: usize,
    pub touching_last: usize,
    /// Detection, both problems, solver and warm start.
    pub bytes_per_contact: Option<f64>,
}

/// Steps that some islands took in substeps, because the step did not resolve their motion.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Substepped {
    /// How many.
    pub steps: u64,
    /// Substeps of one island in one step, at most.
    pub most: usize,
    /// Steps in which even the shortest substeps did not resolve a motion.
    pub unresolved_steps: u64,
}

#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct SolverUse {
    pub name: String,
    pub parameters: String,
    pub unit: &'static str,
    pub iterations_mean: f64,
    pub iterations_max: usize,
    pub iterations_cap: usize,
    /// Relaxation factor in force in the last step, after any halving by the safeguard.
    pub omega_last: Option<f64>,
    pub rejected_last: usize,
    pub tolerance: f64,
    pub converged_steps: u64,
    pub statuses: BTreeMap<String, u64>,
    /// Steps in which a row that asks for a motion missed most of it, because others contradict it.
    pub contradictory_steps: u64,
    /// Steps in which an island took less of its bounces, or of its joints' arcs, than asked for: all of it would have given it energy.
    pub cut_bounces: u64,
    /// By name: which solvers did the velocity problems. One, unless `auto` picked.
    pub used: BTreeMap<Cow<'static, str>, Used>,
    /// How often `auto` went on with another solver because the certificate said no.
    pub fallbacks: u64,
    pub position_problems_mean: f64,
    pub ns_per_contact_iteration: Option<f64>,
}

/// What one solver did in a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Used {
    /// Problems that it was given.
    pub solves: u64,
    /// Of those, solved within the tolerance.
    pub converged: u64,
    /// In all, in its own unit.
    pub iterations: u64,
    /// What one iteration is.
    pub unit: Cow<'static, str>,
}

fn why_no_bound(last: &StepReport) -> Option<String> {
    if last.bounce.is_some() {
        return Some(
            "the last step is a blend of two solutions, because bounces or joints along arcs would have given an island energy"
                .into(),
        );
    }
    (last.velocity_problems > 1).then(|| {
        format!(
            "the last step was taken by {} velocity problems, one after the other (substeps, or restitution by impulses): bounds on \
             them are none on the step",
            last.velocity_problems
        )
    })
}

#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Certified {
    pub residual_max: f64,
    pub residual_mean: f64,
    pub residual_last: Option<f64>,
    pub residual_rms_last: Option<f64>,
    pub constraint_violation_last: Option<f64>,
    pub cone_violation_last: Option<f64>,
    pub duality_gap_last: Option<f64>,
    /// The mass-weighted rms of v - v* in the last step is at most this, m/s.
    pub velocity_error_bound_last: Option<f64>,
    /// Why there can be no bound, where the way in which the step was taken is the reason.
    pub velocity_error_reason: Option<String>,
    /// And at least this, where the bound was sharpened.
    pub velocity_error_least_last: Option<f64>,
    /// What sharpening took, in multiplications by N.
    pub velocity_error_multiplications: Option<usize>,
    pub least_feasible_speed_last: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct PenetrationUse {
    pub max: f64,
    pub mean: f64,
    pub last_max: f64,
    pub last_mean: f64,
}

#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct JointError {
    /// Largest over the run.
    pub position_m: f64,
    pub velocity_m_s: f64,
    pub last_position_m: f64,
    pub last_velocity_m_s: f64,
    /// The mean over the steps of each one's largest.
    pub mean_position_m: f64,
    pub mean_velocity_m_s: f64,
}

#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct EnergyUse {
    pub kinetic_last: f64,
    pub potential_last: f64,
    pub kinetic_per_body_last: f64,
}

#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Support {
    pub last: Option<f64>,
    pub mean_last100: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Speed {
    pub max_last: f64,
    pub mean_last: f64,
}

impl Report {
    /// As JSON, indented.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self)
            .unwrap_or_else(|e| format!("{{\"status\": \"failed\", \"reason\": \"{e}\"}}"))
    }
}
