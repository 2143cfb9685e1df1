//! A world of grains that takes its steps on the device: balls that move, among shapes that do not, or are
//! led.
//!
//! The whole step is there: prediction, broad phase, narrow phase, warm starts, the cone problem, its
//! certificate, integration and position correction. What crosses the bus in a step are counts, the control
//! block of the iteration and a report of [`told::ALL`](layout::told) numbers. Positions and contacts stay
//! until [`GrainsOnDevice::fetch`] brings them home.
//!
//! A step that the device cannot take as one (an overlap of more than 5 % of a grain that the step itself has
//! made) is left to the CPU, which takes substeps: see [`GrainsOnDevice::step`].

pub(crate) mod colours;
pub(crate) mod layout;
mod memory;
pub(crate) mod solve;
pub(crate) mod step;
pub(crate) mod transfer;

use std::sync::Arc;

use drystone::grains::{GrainMotion, Grains};
use drystone::{Pose, Settings, Stabilisation, StepError, World};

use crate::engine::{Engine, HostMemory, Recording};
use crate::error::Error;
use crate::kernels::Kernel;
use crate::layout::{CHUNK, Control};
use crate::solver::Geometry;
pub(crate) use colours::Colours;
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

/// How the velocity problems of a world of grains are solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GrainMethod {
    /// Sweeps by colour with Nesterov's momentum, `apgs`; where a grain has too many contacts for that, and
    /// in double precision, [`GrainMethod::Gradient`].
    Sweeps,
    /// Accelerated gradients, `apgd`.
    Gradient,
    /// `pgj` with a relaxation factor.
    Jacobi(f64),
}

/// How overlaps are removed: see [`Stabilisation::Post`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Correction {
    pub tolerance: f64,
    pub accept: f64,
    pub reach: f64,
    pub rounds: usize,
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
    /// Bodies that are led, where they are.
    led: Vec<GrainMotion>,
    /// And where they were when the last step began.
    led_before: Vec<GrainMotion>,
    /// By fixed shape: which of them it belongs to, and where it is for that.
    home: Vec<Option<(usize, Pose)>>,
    /// Of the world, s.
    time: f64,
    /// Of all grains, kg.
    mass: f64,
    method: GrainMethod,
    /// The colours of this step's contacts, where sweeps solve its velocity problem.
    colours: Option<Colours>,
    /// Colours with a launch of their own in the last one.
    launched: usize,
    /// eta_n over eta_t of contacts, in gradients and in sweeps.
    kappa: [f64; 2],
    /// The Lipschitz constants that the last velocity problem and the last position problem ended with.
    lipschitz: [f64; 2],
    /// How far beyond their reach contacts of the next position problem are looked for, m.
    looked: f64,
    /// The smallest and the largest grain's, m.
    radii: [f64; 2],
    /// See [`step::MANY`].
    many: u32,
    /// Steps that the world does not know of yet.
    ahead: u64,
    /// Steps that the CPU took.
    pub steps_on_cpu: u64,
}

impl GrainsOnDevice {
    /// Takes a world to the device; the reason, where it is not one of grains.
    pub fn new(
        engine: Arc<Engine>,
        world: &mut World,
        method: GrainMethod,
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
        let led = world.led();
        let home = |f: &drystone::grains::FixedShape| {
            let k = led.iter().position(|m| m.slot == f.slot)?;
            Some((k, transfer::local(&led[k], &f.pose)))
        };
        let home = grains.fixed.iter().map(home).collect();
        let mut out = Self {
            led_before: led.clone(),
            led,
            home,
            time: world.state().time,
            geometry: Geometry::of(&engine),
            stream: engine.stream()?,
            stage: HostMemory::new(engine.clone()),
            answer: HostMemory::new(engine.clone()),
            memory: GrainMemory::new(&engine, method == GrainMethod::Sweeps),
            args: GrainArgs::default(),
            control: Control::default(),
            recording: Recording::new(engine.clone()),
            precision: Precision::Single,
            mass: grains.grains.iter().map(|g| g.mass).sum(),
            looked: 0.0,
            many: step::MANY,
            radii: grains
                .grains
                .iter()
                .fold([f64::INFINITY, 0.0], |[least, most], g| [g.radius.min(least), g.radius.max(most)]),
            world: grains,
            settings,
            correction: Correction { tolerance, accept, reach, rounds },
            method,
            colours: None,
            launched: 0,
            kappa: [1.0; 2],
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

    /// From so many contacts or grains on sums have the shape that is good for many of them. Results depend
    /// on it by rounding.
    #[doc(hidden)]
    pub fn set_many(&mut self, many: u32) {
        self.many = many;
    }

    /// Device memory held, bytes.
    pub fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    /// Bytes that one multiplication of the last step's problem reads and writes in single precision, without
    /// what is found in caches.
    pub fn traffic(&self) -> f64 {
        // Rows, two bodies, multipliers now, before and new; both lists that a contact is in, with multiplier
        // and normal. Velocities free, now, ahead, new and new ahead, masses and lists.
        const CONTACT: f64 = 40.0 + 48.0 + 32.0 + 36.0;
        const GRAIN: f64 = 5.0 * 32.0 + 32.0 + 8.0;
        CONTACT * f64::from(self.args.old_contacts) + GRAIN * f64::from(self.args.grains)
    }

    fn launch(&self, kernel: Kernel, items: u32) -> Result<(), Error> {
        let blocks = items.div_ceil(CHUNK as u32).clamp(1, self.geometry.blocks.max(1));
        // SAFETY: the addresses were made by `GrainMemory` for the counts beside them.
        unsafe { self.engine.launch(kernel, blocks, self.geometry.threads, self.stream, &self.args) }
    }
}
