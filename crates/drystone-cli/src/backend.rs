//! Where problems are solved: `--backend`, and `drystone devices`.

use std::sync::Arc;

use drystone::{StepError, StepReport, World};
use drystone_cuda::{Device, Engine, Error, GrainsError, GrainsOnDevice};
use drystone_record::report::Report;
use drystone_solve::solver::{BadSpec, Spec};
use serde::Serialize;

use crate::catalogue;
use crate::failure::Failure;
use crate::run::say;

/// Stages of a step that stay on the CPU.
const ON_CPU: &[&str] = &["predict", "collide", "islands", "formulate", "certify", "integrate"];

/// Solvers that a device has, as the command line spells them.
const ON_DEVICE: &[&str] = &["apgd", "pgj"];

/// The processor, or a device.
#[derive(Clone, Default)]
pub struct Backend {
    engine: Option<Arc<Engine>>,
}

impl Backend {
    /// Reads `cpu` or `cuda`; opens the device.
    pub fn choose(name: &str) -> Result<Self, Failure> {
        let spec = Spec::parse(name).map_err(|e| Failure::input(format!("--backend: {e}")))?;
        spec.check(&[]).map_err(Failure::input)?;
        match spec.name.as_str() {
            "cpu" => Ok(Self::default()),
            "cuda" => Ok(Self { engine: Some(drystone_cuda::install().map_err(Failure::input)?) }),
            other => Err(Failure::input(BadSpec::unknown("backend", other, &["cpu", "cuda"]))),
        }
    }

    /// The solver to make for the one that was asked for.
    pub fn solver(&self, asked: &str) -> Result<String, Failure> {
        if self.engine.is_none() {
            return Ok(asked.into());
        }
        let spec = Spec::parse(asked).map_err(Failure::input)?;
        match spec.name.as_str() {
            // What is picked for one island at a time has no place on a device.
            "auto" => Ok("cuda-apgd".into()),
            name if ON_DEVICE.contains(&name) => Ok(format!("cuda-{asked}")),
            name if name.starts_with("cuda-") => Ok(asked.into()),
            name => Err(Failure::input(format!(
                "--backend cuda: solver '{name}' is not on the device (valid: {}); use --backend cpu",
                ON_DEVICE.join(", ")
            ))),
        }
    }

    /// Takes a world to the device as a whole, where it is one of grains and the solver has no parameters
    /// that only problems know. `whole` is false where somebody has to see problems or contacts of every
    /// step.
    pub fn stepper(&self, world: &mut World, whole: bool) -> Result<Stepper, Failure> {
        let mut out = Stepper { grains: None, why: None };
        let Some(engine) = &self.engine else { return Ok(out) };
        let spec = Spec::parse(&world.settings().solver).map_err(Failure::input)?;
        let jacobi = match (spec.name.as_str(), spec.params.len()) {
            _ if !whole => Err("outputs that need every step's contacts or problem"),
            ("cuda-apgd", 0) => Ok(None),
            ("cuda-pgj", 0) => Ok(Some(0.2)),
            _ => Err("a solver with parameters"),
        };
        let made = match jacobi {
            Ok(jacobi) => GrainsOnDevice::new(engine.clone(), world, jacobi).map_err(Failure::input)?,
            Err(why) => Err(why.into()),
        };
        match made {
            Ok(grains) => out.grains = Some(grains),
            Err(why) => out.why = Some(why),
        }
        Ok(out)
    }

    /// Says in the report where a run was computed.
    pub fn tell(&self, report: &mut Report, stepper: &Stepper) {
        let Some(engine) = &self.engine else { return };
        report.backend = "cuda";
        if stepper.grains.is_none() {
            report.on_cpu = ON_CPU.to_vec();
            if report.bilaterals > 0 {
                report.on_cpu.push("stabilise joints");
            }
        }
        let usage = engine.usage();
        let told = Told {
            device: engine.device(),
            usage: &usage,
            transfer_share: usage.transfer_share(),
            whole_step: stepper.grains.is_some(),
            why_not: stepper.why.as_deref(),
            steps_on_cpu: stepper.grains.as_ref().map(|g| g.steps_on_cpu),
        };
        report.device = serde_json::to_value(told).ok();
    }

    /// What went wrong on the device, as an error of the run's surroundings.
    pub fn failure(&self) -> Option<Failure> {
        self.engine.as_ref()?.failure().map(Failure::input)
    }
}

/// Where a world takes its steps: here, or on a device.
pub struct Stepper {
    grains: Option<GrainsOnDevice>,
    /// Why not there.
    why: Option<String>,
}

impl Stepper {
    /// One step. On a device the world stays behind: see [`Stepper::fetch`].
    pub fn step(&mut self, world: &mut World) -> Result<StepReport, String> {
        match &mut self.grains {
            None => world.step().map_err(|e: StepError| e.to_string()),
            Some(grains) => grains.step(world).map_err(|e: GrainsError| e.to_string()),
        }
    }

    /// Whether the world stays behind.
    pub fn is_away(&self) -> bool {
        self.grains.is_some()
    }

    /// Brings the world to where its steps have come.
    pub fn fetch(&mut self, world: &mut World) -> Result<(), String> {
        self.grains.as_mut().map_or(Ok(()), |g| g.fetch(world)).map_err(|e| e.to_string())
    }
}

/// A device and what it was used for.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    device: &'a Device,
    usage: &'a drystone_cuda::Usage,
    transfer_share: f64,
    /// Whether the whole step was taken there, and why not.
    whole_step: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<&'a str>,
    /// Steps that needed substeps, which the CPU took.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps_on_cpu: Option<u64>,
}

/// What `drystone devices --json` says.
#[derive(Serialize)]
struct Seen {
    devices: Vec<Device>,
    driver: Option<String>,
    why_none: Option<String>,
}

/// `drystone devices`: what there is, or why there is nothing.
pub fn devices(args: catalogue::Args) -> Result<i32, Failure> {
    let found = drystone_cuda::devices();
    if args.json {
        return catalogue::json(&match found {
            Ok((version, devices)) => Seen {
                why_none: devices
                    .is_empty()
                    .then(|| Error::NoDevice { reason: "0 devices".into() }.to_string()),
                devices,
                driver: Some(driver(version)),
            },
            Err(e) => Seen { devices: Vec::new(), driver: None, why_none: Some(e.to_string()) },
        });
    }
    let mut text = String::new();
    match found {
        Ok((_, devices)) if devices.is_empty() => text += "none: the driver sees no device\n",
        Ok((version, devices)) => {
            for d in devices {
                let (major, minor) = d.capability;
                text += &format!(
                    "cuda {}  {}: {} MiB, {} multiprocessors, compute capability {major}.{minor}, {}",
                    d.number,
                    d.name,
                    d.memory >> 20,
                    d.multiprocessors,
                    driver(version)
                );
                text += &d.check().map_or_else(|e| format!("; {e}\n"), |()| "\n".into());
            }
        }
        Err(e) => text += &format!("none: {e}\n"),
    }
    say(&text)?;
    Ok(0)
}

fn driver(version: i32) -> String {
    format!("driver for CUDA {}.{}", version / 1000, version % 1000 / 10)
}
