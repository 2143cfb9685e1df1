//! Steps of a run that are taken elsewhere: over the processes of `drystone-mpi`.

use drystone::{StepReport, World};
use drystone_cuda::backend::{Backend, Stepper};
use drystone_record::report::Report;
use serde_json::Value;

use crate::failure::Failure;

/// Who takes the steps of a world in place of this process alone. All errors end the run.
pub trait Elsewhere {
    /// What it is called: the `backend` of the report.
    fn name(&self) -> &'static str;

    /// Threads of this process, if the command line does not say.
    fn threads(&self) -> usize;

    /// Takes a world, which may be some steps old: the next steps are taken elsewhere, by so many threads of
    /// each process. An error says what of it is not possible there.
    fn begin(&mut self, world: &mut World, threads: usize) -> Result<(), String>;

    /// One step. The world stays behind: see [`Elsewhere::fetch`].
    fn step(&mut self) -> Result<StepReport, String>;

    /// Brings the world to where its steps have come.
    fn fetch(&mut self, world: &mut World) -> Result<(), String>;

    /// What the report has to say of it, as its key `ranks`.
    fn told(&mut self) -> Result<Value, String>;
}

/// Who takes the steps of a run.
pub enum Taker {
    /// This process, or a device of its machine.
    Here(Stepper),
    /// Other processes, too.
    Elsewhere(Box<dyn Elsewhere>),
}

impl Taker {
    /// Gives a world to other processes.
    pub fn elsewhere(
        mut elsewhere: Box<dyn Elsewhere>,
        world: &mut World,
        threads: usize,
    ) -> Result<Self, Failure> {
        elsewhere.begin(world, threads).map_err(Failure::input)?;
        Ok(Self::Elsewhere(elsewhere))
    }

    /// One step. The world may stay behind: see [`Taker::fetch`].
    pub fn step(&mut self, world: &mut World) -> Result<StepReport, String> {
        match self {
            Self::Here(stepper) => stepper.step(world),
            Self::Elsewhere(elsewhere) => elsewhere.step(),
        }
    }

    /// Whether the world stays behind, or may.
    pub fn is_away(&self) -> bool {
        match self {
            Self::Here(stepper) => stepper.is_away(),
            Self::Elsewhere(_) => true,
        }
    }

    /// Brings the world to where its steps have come.
    pub fn fetch(&mut self, world: &mut World) -> Result<(), String> {
        match self {
            Self::Here(stepper) => stepper.fetch(world),
            Self::Elsewhere(elsewhere) => elsewhere.fetch(world),
        }
    }

    /// Says in the report where a run was computed.
    pub fn tell(&mut self, backend: &Backend, report: &mut Report) -> Result<(), String> {
        match self {
            Self::Here(stepper) => {
                let computed = backend.told(stepper, report.bilaterals > 0);
                (report.backend, report.on_cpu, report.device) =
                    (computed.backend, computed.on_cpu, computed.device);
            }
            Self::Elsewhere(elsewhere) => {
                report.backend = elsewhere.name();
                report.ranks = Some(elsewhere.told()?);
            }
        }
        Ok(())
    }

    /// What a summary says of `--backend auto`.
    pub fn line(&self, backend: &Backend) -> Option<String> {
        match self {
            Self::Here(stepper) => backend.line(stepper),
            Self::Elsewhere(_) => None,
        }
    }
}
