//! Steps of a run that are taken elsewhere: over the processes of `drystone-mpi`.

use drystone::{StepReport, World};
use serde_json::Value;

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
