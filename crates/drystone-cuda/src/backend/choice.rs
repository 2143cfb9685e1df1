//! `--backend auto`: the same steps on the processor and on the device, against the clock.

use std::time::Instant;

use drystone::World;
use serde::Serialize;
use std::sync::Arc;

use crate::world::WorldOnDevice;
use crate::{Engine, GrainMethod, GrainsError};

/// Steps that a trial takes on each.
const STEPS: usize = 3;
/// A step on the processor that takes as many times what one on the device takes needs no second one.
const CLEAR: f64 = 3.0;
/// Another trial is due when there are as many times the contacts of the last one, or as small a share.
const GROWTH: usize = 2;
/// Fewer contacts are as good as none for that.
const FEW: usize = 64;

/// A trial: milliseconds of the quickest of its steps on each.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// The step that came next.
    pub step: u64,
    /// Contacts of the last step on the device.
    pub contacts: usize,
    pub cpu_ms: f64,
    pub cuda_ms: f64,
    pub chosen: &'static str,
}

/// Who takes the steps of a world of grains or solids, by trials.
pub struct Choice {
    engine: Arc<Engine>,
    method: GrainMethod,
    pub trials: Vec<Trial>,
    /// The world has as many contacts since the last trial that another one is due.
    due: bool,
    /// What the device could not do, once: the processor takes the rest.
    pub failed: Option<String>,
}

impl Choice {
    pub fn new(engine: Arc<Engine>, method: GrainMethod) -> Self {
        Self { engine, method, trials: Vec::new(), due: true, failed: None }
    }

    pub fn is_due(&self) -> bool {
        self.due && self.failed.is_none()
    }

    /// Hears of the contacts of a step.
    pub fn note(&mut self, contacts: usize) {
        let last = self.trials.last().map_or(0, |t| t.contacts).max(FEW);
        self.due = contacts > GROWTH * last || contacts.max(FEW) * GROWTH < last;
    }

    /// Steps of the world, which is home, on both; the state is then what it was. The device's world where
    /// that was quicker. An error is one of the processor's steps.
    pub fn hold(&mut self, world: &mut World) -> Result<Option<WorldOnDevice>, String> {
        self.due = false;
        let before = world.state().clone();
        let home = |world: &mut World| world.restore(before.clone()).map_err(|e| e.to_string());
        let tried = self.on_device(world);
        home(world)?;
        let (mut device, cuda_ms, contacts) = match tried {
            Ok(found) => found,
            Err(why) => {
                self.failed = Some(why);
                return Ok(None);
            }
        };
        let mut cpu_ms = f64::INFINITY;
        for _ in 0..STEPS {
            let begun = Instant::now();
            world.step().map_err(|e| e.to_string())?;
            cpu_ms = cpu_ms.min(1e3 * begun.elapsed().as_secs_f64());
            if cpu_ms > CLEAR * cuda_ms {
                break;
            }
        }
        home(world)?;
        let wins = cuda_ms < cpu_ms;
        let chosen = if wins { "cuda" } else { "cpu" };
        self.trials.push(Trial { step: before.step + 1, contacts, cpu_ms, cuda_ms, chosen });
        if !wins {
            return Ok(None);
        }
        match device.send(world) {
            Ok(()) => Ok(Some(device)),
            Err(e) => {
                self.failed = Some(e.to_string());
                Ok(None)
            }
        }
    }

    /// The quickest step there, ms, and the contacts of the last one.
    fn on_device(&self, world: &mut World) -> Result<(WorldOnDevice, f64, usize), String> {
        let mut device = WorldOnDevice::new(self.engine.clone(), world, self.method)
            .map_err(|e| e.to_string())?
            .map_err(|why| format!("not a world for the device: {why}"))?;
        let (mut least, mut contacts) = (f64::INFINITY, 0);
        for _ in 0..STEPS {
            let begun = Instant::now();
            contacts = device.step(world).map_err(|e: GrainsError| e.to_string())?.contacts;
            least = least.min(1e3 * begun.elapsed().as_secs_f64());
        }
        device.forget_steps();
        Ok((device, least, contacts))
    }
}
