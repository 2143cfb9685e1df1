//! A world of solids that takes its steps on the device: balls, boxes and capsules that move, among planes
//! and the same shapes that do not.
//!
//! As in [`crate::grains`] the whole step is there, and what the device cannot take as one step is left to
//! the CPU. Bodies have inertia tensors and contacts have arms: the problem is that of the solvers
//! (`kernels/data.h`), made on the device, and solved in double precision by sweeps over colours of pairs or
//! by gradients.

mod layout;
mod memory;
mod solve;
mod step;
mod transfer;

use std::sync::Arc;

use drystone::grains::Solids;
use drystone::{Settings, Stabilisation, World};

use crate::engine::{Engine, HostMemory, Recording};
use crate::error::Error;
use crate::grains::{Colours, Correction, GrainArgs, GrainMethod};
use crate::kernels::Kernel;
use crate::layout::{Args, CHUNK, Control};
use crate::solver::Geometry;
pub(crate) use layout::SolidArgs;
use memory::SolidMemory;

/// A world of solids on a device.
pub struct SolidsOnDevice {
    engine: Arc<Engine>,
    geometry: Geometry,
    stream: usize,
    stage: HostMemory,
    answer: HostMemory,
    memory: SolidMemory,
    args: SolidArgs,
    /// Of the kernels for cells, sums and colours, which are the grains'.
    cells: GrainArgs,
    control: Control,
    recording: Recording,
    world: Solids,
    settings: Settings,
    correction: Correction,
    method: GrainMethod,
    /// The colours of this step's pairs, where sweeps solve its velocity problem.
    colours: Option<Colours>,
    /// Colours with a launch of their own in the last one.
    launched: usize,
    /// How far beyond their reach contacts of the next position problem are looked for, m.
    looked: f64,
    /// Of all bodies, kg.
    mass: f64,
    /// The smallest inner radius, m.
    finest: f64,
    /// Pairs that touched in the last step, and their contacts.
    pairs: usize,
    contacts: usize,
    /// Steps that the world does not know of yet.
    ahead: u64,
    /// Steps that the CPU took.
    pub steps_on_cpu: u64,
}

impl SolidsOnDevice {
    /// Takes a world to the device; the reason, where it is not one of solids.
    pub fn new(
        engine: Arc<Engine>,
        world: &mut World,
        method: GrainMethod,
    ) -> Result<Result<Self, String>, Error> {
        let solids = match world.solids() {
            Ok(solids) if solids.solids.is_empty() => return Ok(Err("no bodies that move".into())),
            Ok(solids) => solids,
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
            memory: SolidMemory::new(&engine),
            args: SolidArgs::default(),
            cells: GrainArgs::default(),
            control: Control::default(),
            recording: Recording::new(engine.clone()),
            mass: solids.solids.iter().map(|s| s.mass).sum(),
            finest: solids.solids.iter().map(|s| s.shape.inner_radius()).fold(f64::INFINITY, f64::min),
            world: solids,
            settings,
            correction: Correction { tolerance, accept, reach, rounds },
            method,
            colours: None,
            launched: 0,
            looked: 0.0,
            pairs: 0,
            contacts: 0,
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

    /// Bytes that one sweep of the last step's problem reads and writes, without what is found in caches.
    pub fn traffic(&self) -> f64 {
        // Normal with bias, arms with friction and step; multipliers now, before and new; two numbers that
        // are measured. Rows now and before, read and written, and inertia.
        const CONTACT: f64 = 3.0 * 32.0 + 3.0 * 32.0 + 16.0;
        const BODY: f64 = 4.0 * 64.0 + 64.0;
        CONTACT * self.contacts as f64 + BODY * f64::from(self.args.solids)
    }

    /// Steps that the world does not know of yet: see [`SolidsOnDevice::fetch`].
    pub fn ahead(&self) -> u64 {
        self.ahead
    }

    fn blocks(&self, items: u32) -> u32 {
        items.div_ceil(CHUNK as u32).clamp(1, self.geometry.blocks.max(1))
    }

    /// A kernel of solids.
    fn launch(&self, kernel: Kernel, items: u32) -> Result<(), Error> {
        // SAFETY: the addresses were made by `SolidMemory` for the counts beside them.
        unsafe {
            self.engine.launch(kernel, self.blocks(items), self.geometry.threads, self.stream, &self.args)
        }
    }

    /// A kernel of cells, sums or colours.
    fn launch_cells(&self, kernel: Kernel, items: u32) -> Result<(), Error> {
        // SAFETY: as above.
        unsafe {
            self.engine.launch(kernel, self.blocks(items), self.geometry.threads, self.stream, &self.cells)
        }
    }

    /// A kernel of the posed problem.
    fn launch_posed(&self, kernel: Kernel, items: u32) -> Result<(), Error> {
        let posed: &Args = &self.args.posed;
        // SAFETY: as above.
        unsafe { self.engine.launch(kernel, self.blocks(items), self.geometry.threads, self.stream, posed) }
    }

    /// Sums of numbers before each one; `sums` has a word for each chunk of them.
    fn scan(&mut self, from: u64, to: u64, count: u32, sums: u64) -> Result<(), Error> {
        (self.cells.scan_from, self.cells.scan_to) = (from, to);
        (self.cells.scan_count, self.cells.scan_sums) = (count, sums);
        self.launch_cells(Kernel::ScanChunks, count)?;
        self.launch_cells(Kernel::ScanTotals, 1)?;
        self.launch_cells(Kernel::ScanEach, count)
    }
}
