//! A world of grains that takes its steps on the device: balls that move, among shapes that do not.
//!
//! The whole step is there: prediction, broad phase, narrow phase, warm starts, the cone problem, its
//! certificate, integration and position correction. What crosses the bus in a step are counts, the control
//! block of the iteration and a report of [`told::ALL`](layout::told) numbers. Positions and contacts stay
//! until [`GrainsOnDevice::fetch`] brings them home.
//!
//! A step that the device cannot take as one (an overlap of more than 5 % of a grain that the step itself has
//! made) is left to the CPU, which takes substeps: see [`GrainsOnDevice::step`].

mod layout;
mod memory;
mod solve;
mod step;
mod transfer;

use std::sync::Arc;

use drystone::grains::Grains;
use drystone::{Settings, Stabilisation, StepError, World};

use crate::engine::{Engine, HostMemory, Recording};
use crate::error::Error;
use crate::kernels::Kernel;
use crate::layout::{CHUNK, Control};
use crate::solver::Geometry;
pub(crate) use layout::GrainArgs;
use memory::{GrainMemory, Precision};

/// Why a step was not taken.
#[derive(Debug, thiserror::Error)]
pub enum GrainsError {
    /// The step failed; positions are those before it.
    #[error("{0}")]
    Step(StepError),
    /// The device or its driver.
    #[error("{0}")]
    Device(Error),
}

impl From<Error> for GrainsError {
    fn from(error: Error) -> Self {
        Self::Device(error)
    }
}

impl From<StepError> for GrainsError {
    fn from(error: StepError) -> Self {
        Self::Step(error)
    }
}

/// How overlaps are removed: see [`Stabilisation::Post`].
#[derive(Clone, Copy, Debug)]
struct Correction {
    tolerance: f64,
    accept: f64,
    reach: f64,
    rounds: usize,
}

/// A world of grains on a device.
pub struct GrainsOnDevice {
    engine: Arc<Engine>,
    geometry: Geometry,
    stream: usize,
    stage: HostMemory,
    answer: HostMemory,
    memory: GrainMemory,
    args: GrainArgs,
    control: Control,
    recording: Recording,
    precision: Precision,
    world: Grains,
    settings: Settings,
    correction: Correction,
    /// Of all grains, kg.
    mass: f64,
    jacobi: Option<f64>,
    /// The Lipschitz constants that the last velocity problem and the last position problem ended with.
    lipschitz: [f64; 2],
    /// Steps that the world does not know of yet.
    ahead: u64,
    /// Steps that the CPU took.
    pub steps_on_cpu: u64,
}

impl GrainsOnDevice {
    /// Takes a world to the device; the reason, where it is not one of grains. `jacobi` is the relaxation
    /// factor of `pgj`, where that is to iterate and not `apgd`.
    pub fn new(
        engine: Arc<Engine>,
        world: &mut World,
        jacobi: Option<f64>,
    ) -> Result<Result<Self, String>, Error> {
        let grains = match world.grains() {
            Ok(grains) if grains.grains.is_empty() => return Ok(Err("no grains".into())),
            Ok(grains) => grains,
            Err(why) => return Ok(Err(why)),
        };
        let settings = world.settings().clone();
        let Stabilisation::Post { tolerance, accept, reach, rounds } = settings.stabilisation else {
            return Ok(Err("stabilisation inside the velocity problem".into()));
        };
        engine.enter()?;
        let mut out = Self {
            geometry: Geometry::of(&engine),
            stream: engine.stream()?,
            stage: HostMemory::new(engine.clone()),
            answer: HostMemory::new(engine.clone()),
            memory: GrainMemory::new(&engine),
            args: GrainArgs::default(),
            control: Control::default(),
            recording: Recording::new(engine.clone()),
            precision: Precision::Single,
            mass: grains.grains.iter().map(|g| g.mass).sum(),
            world: grains,
            settings,
            correction: Correction { tolerance, accept, reach, rounds },
            jacobi,
            lipschitz: [0.0; 2],
            ahead: 0,
            steps_on_cpu: 0,
            engine,
        };
        out.place(world)?;
        Ok(Ok(out))
    }

    /// Launches kernels in another way from now on. No result depends on it.
    pub fn set_geometry(&mut self, geometry: Geometry) {
        self.geometry = geometry;
    }

    /// Device memory held, bytes.
    pub fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    fn launch(&self, kernel: Kernel, items: u32) -> Result<(), Error> {
        let blocks = items.div_ceil(CHUNK as u32).clamp(1, self.geometry.blocks.max(1));
        // SAFETY: the addresses were made by `GrainMemory` for the counts beside them.
        unsafe { self.engine.launch(kernel, blocks, self.geometry.threads, self.stream, &self.args) }
    }
}
