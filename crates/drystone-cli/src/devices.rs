//! `drystone devices`: what GPUs there are.

use drystone_cuda::{Device, Error};
use serde::Serialize;

use crate::catalogue;
use crate::failure::Failure;
use crate::terminal::say;

/// What `drystone devices --json` says.
#[derive(Serialize)]
struct Seen {
    devices: Vec<Device>,
    driver: Option<String>,
    why_none: Option<String>,
}

/// `drystone devices`: what there is, or why there is nothing.
pub fn main(args: catalogue::Args) -> Result<i32, Failure> {
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
