//! Steps a random scene and checks what has to hold in every scene.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use drystone::{BodyId, StepReport, World};
use drystone_solve::certificate::certificate;
use drystone_solve::solver::Status;
use serde::Serialize;

use super::energy::{Watch, inner_radius};
use super::{RandomScene, Twin, scene};

/// Overlaps beyond this share of the smaller body's inner radius are failures.
pub const MAX_OVERLAP: f64 = 0.05;
/// At least this share of the steps has to be within the tolerance.
pub const LEAST_SOLVED: f64 = 0.99;

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The scene can be built and stepped: no number that is not finite, no error of a step, no panic.
    Finite,
    /// Energy never exceeds that of the start, where nothing puts energy in.
    Energy,
    /// What starts inside a closed container stays inside.
    Containment,
    /// No overlap beyond [`MAX_OVERLAP`] after any step.
    Overlap,
    /// At least [`LEAST_SOLVED`] of the steps within the tolerance.
    Solved,
    /// The certificate that a step reports is that of its problem and its multipliers.
    Certificate,
    /// One thread and two, with the checks and without: the same bits.
    Determinism,
    /// Bodies far away, or another description of the same mechanism, do not change the motion.
    Twin,
}

impl Check {
    /// In the order of tables.
    pub const ALL: [Check; 8] = [
        Check::Finite,
        Check::Energy,
        Check::Containment,
        Check::Overlap,
        Check::Solved,
        Check::Certificate,
        Check::Determinism,
        Check::Twin,
    ];

    /// As tables and reports spell it.
    pub fn name(self) -> &'static str {
        ["finite", "energy", "containment", "overlap", "solved", "certificate", "determinism", "twin"]
            [self as usize]
    }
}

/// A check that did not hold: where it was first seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    /// Which.
    pub check: Check,
    /// After which step; 0 before the first.
    pub step: u64,
    /// Bodies and numbers.
    pub text: String,
}

/// What became of a scene.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// What it was made from.
    pub seed: u64,
    /// Its kind's name.
    pub kind: &'static str,
    /// Dynamic bodies at the end.
    pub bodies: usize,
    /// Steps that were asked for.
    pub steps: usize,
    /// Steps taken.
    pub done: usize,
    /// The checks that did not hold, at most once each, in the order of [`Check::ALL`].
    pub failures: Vec<Failure>,
    /// Deepest overlap after a step over the smaller body's inner radius.
    pub worst_overlap: f64,
    /// Largest residual that a step reported, m/s.
    pub worst_residual: f64,
    /// Largest energy beyond that of the start over what is allowed: above 1 is a failure, below 0 only
    /// losses; none where energy is put in.
    pub worst_energy: Option<f64>,
    /// Steps beyond the tolerance.
    pub unsolved: usize,
    /// Steps whose certificate was computed again.
    pub certified: usize,
    /// Hash of the last state, hexadecimal.
    pub hash: String,
    /// Time of the steps and their checks, ms: of the processor where the system tells, else of the clock.
    pub cpu_ms: f64,
}

impl Outcome {
    /// Whether a check did not hold.
    pub fn failed(&self, check: Check) -> bool {
        self.failures.iter().any(|f| f.check == check)
    }

    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            kind: super::kind_of(seed).name,
            bodies: 0,
            steps: 0,
            done: 0,
            failures: Vec::new(),
            worst_overlap: 0.0,
            worst_residual: 0.0,
            worst_energy: None,
            unsolved: 0,
            certified: 0,
            hash: String::new(),
            cpu_ms: 0.0,
        }
    }

    fn fail(&mut self, check: Check, step: u64, text: impl Into<String>) {
        if !self.failed(check) {
            self.failures.push(Failure { check, step, text: text.into() });
        }
    }
}

/// Builds and steps the scene of a seed, with its checks or without. `again` runs a piece of work in a pool
/// of two threads: the comparison of one thread with two is left out without it.
pub fn run(seed: u64, checks: bool, again: Option<&rayon::ThreadPool>) -> Outcome {
    let mut outcome = Outcome::new(seed);
    let (started, used) = (Instant::now(), thread_ns());
    let stepped = catch_unwind(AssertUnwindSafe(|| step_all(seed, checks, &mut outcome)));
    if let Err(panic) = stepped {
        let text = format!("panic: {}", message(panic.as_ref()));
        outcome.fail(Check::Finite, outcome.done as u64 + 1, text);
    }
    let spent = used.zip(thread_ns()).map(|(a, b)| b.saturating_sub(a) as f64 * 1e-6);
    outcome.cpu_ms = spent.unwrap_or(1e3 * started.elapsed().as_secs_f64());
    if checks
        && !outcome.failed(Check::Finite)
        && let Some(pool) = again
    {
        let hash = pool.install(|| catch_unwind(|| hash_of(seed)).unwrap_or_else(|_| "panic".into()));
        if hash != outcome.hash {
            let text = format!("one thread ends in {}, two in {hash}", outcome.hash);
            outcome.fail(Check::Determinism, outcome.done as u64, text);
        }
    }
    outcome.failures.sort_by_key(|f| f.check);
    outcome
}

/// The last state of a scene that is stepped without checks.
fn hash_of(seed: u64) -> String {
    let Ok(RandomScene { mut world, steps, .. }) = scene(seed) else { return "not built".into() };
    for _ in 0..steps {
        if let Err(e) = world.step() {
            return e.to_string();
        }
    }
    format!("{:016x}", world.state().hash())
}

fn step_all(seed: u64, checks: bool, outcome: &mut Outcome) {
    let RandomScene { mut world, steps, region, passive, overlap, solved, mut twin, .. } = match scene(seed) {
        Ok(scene) => scene,
        Err(e) => return outcome.fail(Check::Finite, 0, format!("cannot be built: {e}")),
    };
    outcome.steps = steps;
    world.keep_solutions(checks);
    let mut watches: Vec<Watch> = passive.iter().map(|group| Watch::new(&world, group)).collect();
    let inside: Vec<BodyId> = region.iter().flat_map(|r| contained(&world, |p| r.contains(p))).collect();
    for _ in 0..steps {
        let report = match world.step() {
            Ok(report) => report,
            Err(e) => {
                outcome.fail(Check::Finite, outcome.done as u64 + 1, e.to_string());
                break;
            }
        };
        outcome.done += 1;
        outcome.unsolved += usize::from(report.status != Status::Converged);
        outcome.worst_residual = worse(outcome.worst_residual, report.certificate.residual_max);
        if !checks {
            continue;
        }
        let step = report.step;
        if !is_finite(&world) {
            outcome.fail(Check::Finite, step, "a position or velocity is not finite");
            break;
        }
        for watch in &mut watches {
            if let Some(text) = watch.observe(&world) {
                outcome.fail(Check::Energy, step, text);
            }
        }
        if let Some(region) = &region
            && let Some((id, p)) = first_outside(&world, &inside, |p| region.contains(p))
        {
            outcome.fail(Check::Containment, step, format!("body {} is at {p:.4}", id.slot));
        }
        check_overlaps(&mut world, overlap, step, outcome);
        check_certificate(&world, &report, outcome);
        if let Some(twin) = &mut twin
            && !outcome.failed(Check::Twin)
            && let Err(text) = keeps_up(&world, twin)
        {
            outcome.fail(Check::Twin, step, text);
        }
    }
    if checks && solved && (outcome.unsolved as f64) > (1.0 - LEAST_SOLVED) * outcome.done as f64 {
        let text = format!("{} of {} steps beyond the tolerance", outcome.unsolved, outcome.done);
        outcome.fail(Check::Solved, outcome.done as u64, text);
    }
    outcome.worst_energy = watches.iter().map(Watch::worst).reduce(f64::max);
    outcome.bodies = world.model().dynamic().count();
    outcome.hash = format!("{:016x}", world.state().hash());
}

/// The larger of two numbers, or what is not a number.
fn worse(a: f64, b: f64) -> f64 {
    if b <= a { a } else { b }
}

fn is_finite(world: &World) -> bool {
    let (model, s) = (world.model(), world.state());
    model.dynamic().all(|i| {
        s.position[i].is_finite()
            && s.rotation[i].is_finite()
            && s.velocity[i].is_finite()
            && s.omega[i].is_finite()
    })
}

fn contained(world: &World, inside: impl Fn(glam::DVec3) -> bool) -> Vec<BodyId> {
    let at = |id: &BodyId| inside(world.state().position[id.slot as usize]);
    super::place::dynamic(world).into_iter().filter(at).collect()
}

pub(super) fn first_outside(
    world: &World,
    bodies: &[BodyId],
    inside: impl Fn(glam::DVec3) -> bool,
) -> Option<(BodyId, glam::DVec3)> {
    let there = bodies.iter().filter(|id| world.model().contains(**id));
    there.map(|id| (*id, world.state().position[id.slot as usize])).find(|(_, p)| !inside(*p))
}

/// Looks for overlaps where the bodies are now, by a query of its own.
pub(super) fn check_overlaps(world: &mut World, wanted: bool, step: u64, outcome: &mut Outcome) {
    for (a, b, depth) in world.deep_overlaps(0.0) {
        let size = inner_radius(world, a.slot).min(inner_radius(world, b.slot));
        let share = depth / size;
        outcome.worst_overlap = worse(outcome.worst_overlap, share);
        if wanted && !(share <= MAX_OVERLAP) {
            let text = format!(
                "bodies {} and {} overlap by {depth:.3e} m, {share:.3} of {size:.3e} m",
                a.slot, b.slot
            );
            outcome.fail(Check::Overlap, step, text);
        }
    }
}

/// Judges the step's multipliers again, and compares with what the step said of itself.
pub(super) fn check_certificate(world: &World, report: &StepReport, outcome: &mut Outcome) {
    // Of several substeps, the last is kept and the worst is told.
    let Some((problem, gamma)) = world.kept_solution().filter(|_| report.substeps == 1) else { return };
    outcome.certified += 1;
    let (told, found) = (report.certificate.residual_max, certificate(problem, gamma).residual_max);
    let rounding = 1e-12 + 1e-6 * found;
    // A step of which mechanisms took a part by themselves reports the larger of two residuals.
    let same = (told - found).abs() <= rounding || (report.smooth_bodies > 0 && told >= found);
    let tolerance = world.settings().tolerance;
    let within = report.status != Status::Converged || tolerance == 0.0 || found <= tolerance + rounding;
    if !same || !within {
        let text = format!("reported {told:.3e} m/s ({:?}), is {found:.3e} m/s", report.status);
        outcome.fail(Check::Certificate, report.step, text);
    }
}

/// Steps the twin, and compares.
pub(super) fn keeps_up(world: &World, twin: &mut Twin) -> Result<(), String> {
    twin.world.step().map_err(|e| format!("the twin: {e}"))?;
    for (a, b) in &twin.bodies {
        let (here, there) = (a.slot as usize, b.slot as usize);
        let (s, t) = (world.state(), twin.world.state());
        let apart = (s.position[here] - t.position[there]).length();
        if !(apart <= twin.tolerance) || (twin.tolerance == 0.0 && s.rotation[here] != t.rotation[there]) {
            return Err(format!("body {here} is {apart:.3e} m from where its twin is"));
        }
    }
    Ok(())
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("without a message").into()
}

/// Processor time of this thread, ns, where the system tells.
fn thread_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}
