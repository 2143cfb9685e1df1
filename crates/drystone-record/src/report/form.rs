//! The fields of a report.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::forces::ContactForces;
use super::laps::Milliseconds;
use super::warnings::Warning;
use crate::recording::Written;

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
    /// The ranks of a run over several processes, and what each of them did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Value>,
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
    /// What became of the recording, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<Recorded>,
    /// Forces of the last step's contacts, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact_forces: Option<ContactForces>,
}

/// What became of the run's recording.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Recorded {
    /// Of the whole recording.
    pub frames: usize,
    pub segments: usize,
    /// Since the run was begun or resumed, checkpoints not included.
    pub written_bytes: u64,
    /// How long the threads that write were busy.
    pub busy_s: f64,
    /// How long the run waited for them.
    pub wait_s: f64,
    /// How many, bytes of the last, and means of how long the run stood still for one and of how long one
    /// then took to be written.
    pub checkpoints: usize,
    pub checkpoint_bytes: u64,
    pub checkpoint_halt_s: f64,
    pub checkpoint_write_s: f64,
}

impl Recorded {
    /// As the writer says; the run stood still for checkpoints for so long in all, s.
    pub fn of(w: Written, halted: f64) -> Self {
        let each = |total: f64| total / w.checkpoints.max(1) as f64;
        Self {
            frames: w.frames,
            segments: w.segments,
            written_bytes: w.bytes,
            busy_s: w.busy_s,
            wait_s: w.wait_s,
            checkpoints: w.checkpoints,
            checkpoint_bytes: w.checkpoint_bytes,
            checkpoint_halt_s: each(halted),
            checkpoint_write_s: each(w.checkpoint_write_s),
        }
    }
}

/// What came in, or went out.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Passed {
    pub bodies: u64,
    pub mass_kg: f64,
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
    /// Steps in which an island took less of its bounces, or of its joints' arcs, than asked for: all of it
    /// would have given it energy.
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
