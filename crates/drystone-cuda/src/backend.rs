//! Where steps are taken and problems solved: `--backend` of the command line, `backend=` of Python.

mod choice;

use std::sync::Arc;

use choice::{Choice, Trial};
use drystone::{StepError, StepReport, World};
use drystone_solve::solver::{BadSpec, Spec};
use serde::Serialize;
use serde_json::{Value, json};

use crate::world::WorldOnDevice;
use crate::{Device, Engine, Error, GrainMethod, GrainsError};

/// A backend that cannot be had, or does not have what was asked for: bad input.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct BackendError(pub String);

impl From<BadSpec> for BackendError {
    fn from(e: BadSpec) -> Self {
        Self(e.to_string())
    }
}

impl From<Error> for BackendError {
    fn from(e: Error) -> Self {
        Self(e.to_string())
    }
}

/// Stages of a step that stay on the CPU.
const ON_CPU: &[&str] = &["predict", "collide", "islands", "formulate", "certify", "integrate"];

/// Solvers that a device has, as the command line spells them.
const ON_DEVICE: &[&str] = &["apgd", "pgj"];

/// Where a step may be taken.
const BACKENDS: &[&str] = &["cpu", "cuda", "auto"];

/// The processor, or a device.
#[derive(Clone, Default)]
pub struct Backend {
    engine: Option<Arc<Engine>>,
    /// Who is quicker takes the steps.
    auto: bool,
    /// Why there is no device to choose.
    absent: Option<String>,
}

impl Backend {
    /// Reads `cpu`, `cuda` or `auto`; opens the device. Without one `auto` is the processor.
    pub fn choose(name: &str) -> Result<Self, BackendError> {
        let spec = Spec::parse(name).map_err(|e| BackendError(format!("--backend: {e}")))?;
        spec.check(&[])?;
        match spec.name.as_str() {
            "cpu" => Ok(Self::default()),
            "cuda" => {
                let engine = Some(crate::install()?);
                Ok(Self { engine, ..Self::default() })
            }
            "auto" => {
                let (engine, absent) = match crate::install() {
                    Ok(engine) => (Some(engine), None),
                    Err(e) => (None, Some(e.to_string())),
                };
                Ok(Self { engine, auto: true, absent })
            }
            other => Err(BadSpec::unknown("backend", other, BACKENDS).into()),
        }
    }

    /// The same for commands that take no steps: there is nothing to try both with.
    pub fn of_problems(name: &str) -> Result<Self, BackendError> {
        if name == "auto" {
            let text = "--backend auto compares steps of a world; a problem from a file takes cpu or cuda";
            return Err(BackendError(text.into()));
        }
        Self::choose(name)
    }

    /// Whether steps or problems are meant to be solved on a device.
    pub fn is_device(&self) -> bool {
        self.engine.is_some() && !self.auto
    }

    /// The solver to make for the one that was asked for.
    pub fn solver(&self, asked: &str) -> Result<String, BackendError> {
        if !self.is_device() {
            return Ok(asked.into());
        }
        let spec = Spec::parse(asked)?;
        match spec.name.as_str() {
            // What is picked for one island at a time has no place on a device.
            "auto" => Ok("cuda-auto".into()),
            name if ON_DEVICE.contains(&name) => Ok(format!("cuda-{asked}")),
            name if name.starts_with("cuda-") => Ok(asked.into()),
            name => Err(BackendError(format!(
                "--backend cuda: solver '{name}' is not on the device (valid: {}); use --backend cpu",
                ON_DEVICE.join(", ")
            ))),
        }
    }

    /// Takes a world to the device as a whole, where it is one of grains or solids and the solver has no
    /// parameters that only problems know. `whole` is false where somebody has to see problems or contacts of
    /// every step. With `auto` the first step will say who takes them.
    pub fn stepper(&self, world: &mut World, whole: bool) -> Result<Stepper, BackendError> {
        let mut out = Stepper { device: None, why: None, choice: None, on_cpu: 0, lost: None };
        let Some(engine) = &self.engine else { return Ok(out) };
        let spec = Spec::parse(&world.settings().solver)?;
        let method = match (spec.name.as_str(), spec.params.len()) {
            _ if !whole => Err("outputs that need every step's contacts or problem".to_string()),
            ("cuda-auto", 0) => Ok(GrainMethod::Sweeps),
            ("cuda-apgd", 0) => Ok(GrainMethod::Gradient),
            ("cuda-pgj", 0) => Ok(GrainMethod::Jacobi(0.2)),
            ("auto", 0) if self.auto => Ok(GrainMethod::Sweeps),
            ("apgd", 0) if self.auto => Ok(GrainMethod::Gradient),
            ("pgj", 0) if self.auto => Ok(GrainMethod::Jacobi(0.2)),
            (name, 0) if self.auto => Err(format!("the solver {name}, which is not on the device")),
            _ => Err("a solver with parameters".into()),
        };
        let method = match method {
            Ok(method) => method,
            Err(why) => {
                out.why = Some(why);
                return Ok(out);
            }
        };
        if self.auto {
            match WorldOnDevice::check(world) {
                Ok(_) => out.choice = Some(Choice::new(engine.clone(), method)),
                Err(why) => out.why = Some(why),
            }
            return Ok(out);
        }
        match WorldOnDevice::new(engine.clone(), world, method)? {
            Ok(device) => out.device = Some(device),
            Err(why) => out.why = Some(why),
        }
        Ok(out)
    }

    /// Where a run was computed, for its report; `joints`: whether there were some.
    pub fn told(&self, stepper: &Stepper, joints: bool) -> Computed {
        let mut out = Computed { backend: "cpu", on_cpu: Vec::new(), device: None };
        let Some(engine) = &self.engine else {
            // Who asked for nothing but the processor hears of nothing else.
            out.device = self.absent.as_ref().map(|why| json!({"auto": "cpu", "why_not": why}));
            return out;
        };
        let usage = engine.usage();
        let trials = stepper.choice.as_ref().map_or(&[][..], |c| &c.trials);
        let used = !self.auto || trials.iter().any(|t| t.chosen == "cuda");
        if used {
            out.backend = "cuda";
        }
        if stepper.device.is_none() && !self.auto {
            out.on_cpu = ON_CPU.to_vec();
            if joints {
                out.on_cpu.push("stabilise joints");
            }
        }
        let failed = stepper.choice.as_ref().and_then(|c| c.failed.as_deref());
        let told = Told {
            device: engine.device(),
            usage: &usage,
            transfer_share: usage.transfer_share(),
            whole_step: stepper.device.is_some(),
            why_not: stepper.why.as_deref().or(failed),
            steps_on_cpu: stepper.device.as_ref().map(|w| w.steps_on_cpu() + stepper.on_cpu),
            steps_lost: stepper.lost,
            auto: self.auto.then(|| stepper.who()),
            trials,
        };
        out.device = serde_json::to_value(told).ok();
        out
    }

    /// What a summary says of `auto`.
    pub fn line(&self, stepper: &Stepper) -> Option<String> {
        if !self.auto {
            return None;
        }
        let why = stepper.choice.as_ref().and_then(|c| c.failed.as_ref());
        let why = self.absent.as_ref().or(stepper.why.as_ref()).or(why);
        Some(match stepper.choice.as_ref().map(|c| c.trials.as_slice()) {
            None | Some([]) => format!("cpu: {}", why.map_or("no step was taken", |w| w)),
            Some([.., last]) => {
                let Trial { step, cpu_ms, cuda_ms, chosen, .. } = last;
                let ended = why.map_or(String::new(), |w| format!("; then cpu: {w}"));
                format!(
                    "{chosen} from step {step} on ({cuda_ms:.2} ms a step on the device, {cpu_ms:.2} on the processor){ended}"
                )
            }
        })
    }

    /// What went wrong on the device: an error of the run's surroundings.
    pub fn failure(&self) -> Option<String> {
        self.engine.as_ref()?.failure().map(|e| e.to_string())
    }
}

/// Where a run was computed.
pub struct Computed {
    /// cpu or cuda.
    pub backend: &'static str,
    /// Stages of the step that stayed on the CPU of a run on a device.
    pub on_cpu: Vec<&'static str>,
    /// The device and what it was used for, or why there was none for `auto`.
    pub device: Option<Value>,
}

/// Where a world takes its steps: here, or on a device.
pub struct Stepper {
    device: Option<WorldOnDevice>,
    /// Why not there.
    why: Option<String>,
    /// Who takes them is found out by trials.
    choice: Option<Choice>,
    /// Steps that the processor took by choice.
    on_cpu: u64,
    /// Steps that did not come back from a device that failed.
    lost: Option<u64>,
}

impl Stepper {
    /// One step. On a device the world stays behind: see [`Stepper::fetch`].
    pub fn step(&mut self, world: &mut World) -> Result<StepReport, String> {
        if self.choice.as_ref().is_some_and(Choice::is_due) {
            self.fetch(world)?;
            self.device = None;
            self.device = self.choice.as_mut().map_or(Ok(None), |c| c.hold(world))?;
        }
        let report = match &mut self.device {
            None => {
                self.on_cpu += 1;
                world.step().map_err(|e: StepError| e.to_string())
            }
            Some(device) => device.step(world).map_err(|e: GrainsError| e.to_string()),
        }?;
        if let Some(choice) = &mut self.choice {
            choice.note(report.contacts);
        }
        Ok(report)
    }

    /// Whether the world stays behind, or may.
    pub fn is_away(&self) -> bool {
        self.device.is_some() || self.choice.is_some()
    }

    /// Who takes the steps.
    fn who(&self) -> &'static str {
        if self.device.is_some() { "cuda" } else { "cpu" }
    }

    /// What the last step's iteration moves on a device, and what that holds; none on the processor.
    pub fn on_device(&self, backend: &Backend) -> Option<OnDevice> {
        let engine = backend.engine.as_ref()?;
        let peak = engine.device().gb_per_s;
        Some(OnDevice {
            whole_step: self.device.is_some(),
            why_not: self.why.clone(),
            steps_on_cpu: self.device.as_ref().map_or(0, WorldOnDevice::steps_on_cpu) + self.on_cpu,
            bytes: self.device.as_ref().map(WorldOnDevice::bytes),
            traffic: self.device.as_ref().map(WorldOnDevice::traffic),
            peak_gb_per_s: (peak > 0.0).then_some(peak),
        })
    }

    /// Brings the world to where its steps have come. It is then that bodies are told of which have gone
    /// further than steps may come to.
    pub fn fetch(&mut self, world: &mut World) -> Result<(), String> {
        let Some(device) = &mut self.device else { return Ok(()) };
        device.fetch(world).map_err(|e| {
            self.lost = Some(device.ahead());
            e.to_string()
        })?;
        world.check_limits().map_err(|e| e.to_string())
    }
}

/// What a bench says of a device.
pub struct OnDevice {
    /// Whether whole steps are taken there.
    pub whole_step: bool,
    /// And why not.
    pub why_not: Option<String>,
    /// Steps that the processor took.
    pub steps_on_cpu: u64,
    /// Device memory held.
    pub bytes: Option<usize>,
    /// Bytes of one multiplication.
    pub traffic: Option<f64>,
    /// What the device's memory can move, where the driver says it.
    pub peak_gb_per_s: Option<f64>,
}

/// A device and what it was used for.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    device: &'a Device,
    usage: &'a crate::Usage,
    transfer_share: f64,
    /// Whether the whole step was taken there, and why not.
    whole_step: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<&'a str>,
    /// Steps that the CPU took: those that needed substeps, and those for which it was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps_on_cpu: Option<u64>,
    /// Steps that did not come back from a device that failed: the state in the report is that before them.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps_lost: Option<u64>,
    /// With `--backend auto`: who took the last step.
    #[serde(skip_serializing_if = "Option::is_none")]
    auto: Option<&'static str>,
    #[serde(skip_serializing_if = "<[Trial]>::is_empty")]
    trials: &'a [Trial],
}
