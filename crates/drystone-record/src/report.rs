//! The report of a run: one JSON object, the same names for every scene and solver.

mod forces;
mod form;
mod laps;
mod make;
mod recorder;
mod warnings;

pub use forces::{ContactForce, ContactForces};
pub use form::{
    Asleep, Certified, Contacts, EnergyUse, JointError, Passed, PenetrationUse, Recorded, Report, SolverUse,
    Speed, Substepped, Support, Used,
};
pub use laps::{Laps, Milliseconds};
pub use recorder::{Identity, Recorder};
pub use warnings::{Warning, apart, contradiction};
