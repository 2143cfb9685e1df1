//! The report of what was added up.

use std::collections::BTreeMap;

use drystone::{Settings, Stage, StepReport, World};
use serde_json::Value;

use super::form::{
    Asleep, Certified, Contacts, EnergyUse, JointError, Passed, PenetrationUse, Report, SolverUse, Speed,
    Support,
};
use super::laps::milliseconds;
use super::recorder::Recorder;
use super::warnings::unsolved;
use crate::usage;

impl Recorder {
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
            ranks: None,
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
            recording: None,
            contact_forces: None,
        }
    }

    /// Steps within the tolerance.
    fn converged(&self) -> u64 {
        self.totals.statuses.get("converged").copied().unwrap_or(0)
    }

    /// Whether at least 99 % of the steps are within the tolerance; None where there is no tolerance to be
    /// within.
    fn solved(&self, settings: &Settings) -> Option<bool> {
        (settings.tolerance > 0.0).then(|| 100 * self.converged() >= 99 * self.totals.steps)
    }
}

fn passed(counts: &[u64], masses: &[f64]) -> Vec<Passed> {
    counts.iter().zip(masses).map(|(bodies, mass_kg)| Passed { bodies: *bodies, mass_kg: *mass_kg }).collect()
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
