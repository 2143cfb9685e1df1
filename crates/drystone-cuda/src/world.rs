//! A world that takes its steps on the device, of whatever kind it is.

use std::sync::Arc;

use drystone::{StepReport, World};

use crate::{Engine, Error, GrainMethod, GrainsError, GrainsOnDevice, SolidsOnDevice};

/// A world on a device.
pub(crate) enum WorldOnDevice {
    /// Balls among fixed or led shapes.
    Grains(Box<GrainsOnDevice>),
    /// Balls, boxes and capsules among fixed shapes.
    Solids(Box<SolidsOnDevice>),
}

impl WorldOnDevice {
    /// Takes a world to the device; the reason, where it is none that the device knows.
    pub fn new(
        engine: Arc<Engine>,
        world: &mut World,
        method: GrainMethod,
    ) -> Result<Result<Self, String>, Error> {
        let known = match Self::check(world) {
            Ok(solids) => solids,
            Err(why) => return Ok(Err(why)),
        };
        Ok(if known {
            SolidsOnDevice::new(engine, world, method)?.map(|w| Self::Solids(Box::new(w)))
        } else {
            GrainsOnDevice::new(engine, world, method)?.map(|w| Self::Grains(Box::new(w)))
        })
    }

    /// Whether the world is one of solids, if not of grains; else what it has beside them.
    pub fn check(world: &mut World) -> Result<bool, String> {
        let why = match world.grains() {
            Ok(grains) if grains.grains.is_empty() => return Err("no bodies that move".into()),
            Ok(_) => return Ok(false),
            Err(why) => why,
        };
        match world.solids() {
            Ok(_) => Ok(true),
            // Of what the world has, that which neither knows.
            Err(also) => Err(if why == "bodies that are not balls" { also } else { why }),
        }
    }

    /// One step. The world stays behind.
    pub fn step(&mut self, world: &mut World) -> Result<StepReport, GrainsError> {
        match self {
            Self::Grains(w) => w.step(world),
            Self::Solids(w) => w.step(world),
        }
    }

    /// Brings the world to where its steps have come.
    pub fn fetch(&mut self, world: &mut World) -> Result<(), Error> {
        match self {
            Self::Grains(w) => w.fetch(world),
            Self::Solids(w) => w.fetch(world),
        }
    }

    /// The world's state goes to the device anew.
    pub fn send(&mut self, world: &World) -> Result<(), Error> {
        match self {
            Self::Grains(w) => w.send(world),
            Self::Solids(w) => w.send(world),
        }
    }

    /// Steps that the world does not know of yet.
    pub fn ahead(&self) -> u64 {
        match self {
            Self::Grains(w) => w.ahead(),
            Self::Solids(w) => w.ahead(),
        }
    }

    /// Steps that the CPU took.
    pub fn steps_on_cpu(&self) -> u64 {
        match self {
            Self::Grains(w) => w.steps_on_cpu,
            Self::Solids(w) => w.steps_on_cpu,
        }
    }

    /// Forgets them.
    pub fn forget_steps(&mut self) {
        match self {
            Self::Grains(w) => w.steps_on_cpu = 0,
            Self::Solids(w) => w.steps_on_cpu = 0,
        }
    }

    /// Device memory held, bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Grains(w) => w.bytes(),
            Self::Solids(w) => w.bytes(),
        }
    }

    /// Bytes of one iteration.
    pub fn traffic(&self) -> f64 {
        match self {
            Self::Grains(w) => w.traffic(),
            Self::Solids(w) => w.traffic(),
        }
    }
}
