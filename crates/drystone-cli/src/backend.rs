//! Where problems are solved: `--backend`, and `drystone devices`.

use std::sync::Arc;

use drystone_cuda::{Device, Engine, Error};
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

    /// Says in the report where a run was computed.
    pub fn tell(&self, report: &mut Report) {
        let Some(engine) = &self.engine else { return };
        report.backend = "cuda";
        report.on_cpu = ON_CPU.to_vec();
        if report.bilaterals > 0 {
            report.on_cpu.push("stabilise joints");
        }
        let usage = engine.usage();
        let told = Told { device: engine.device(), usage: &usage, transfer_share: usage.transfer_share() };
        report.device = serde_json::to_value(told).ok();
    }

    /// What went wrong on the device, as an error of the run's surroundings.
    pub fn failure(&self) -> Option<Failure> {
        self.engine.as_ref()?.failure().map(Failure::input)
    }
}

/// A device and what it was used for.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    device: &'a Device,
    usage: &'a drystone_cuda::Usage,
    transfer_share: f64,
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
