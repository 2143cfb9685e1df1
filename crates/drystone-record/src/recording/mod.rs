//! Recordings: what a run was, moment by moment, in files that other programs open as they are.
//!
//! A recording is a folder. `run.00000.h5`, `run.00001.h5`, ... are its segments: HDF5 files that are written
//! under another name, closed, and renamed, so that whoever reads never sees half of one, and a run that is
//! killed loses the last of them at most. `run-N.vtkhdf` is an index of the first N frames for ParaView and
//! VTK; each has a name of its own, and the newest is the one with the highest number.
//! `checkpoint-N.drystone` are what a run can be resumed from after step N.
//!
//! One process writes at a time ([`Lock`]). Behind each segment stand sums; whoever opens a recording
//! compares them, reads what is whole, and can ask for what is not ([`Recording::losses`]).
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let recording = drystone_record::recording::Recording::open("drum".as_ref())?;
//! for k in 0..recording.len() {
//!     let frame = recording.frame(k)?;
//!     println!("{} s: {} bodies, {} contacts", frame.time, frame.bodies.id.len(), frame.contacts.gap.len());
//! }
//! # Ok(())
//! # }
//! ```

mod catalogue;
mod checkpoint;
mod frame;
mod hdf5;
mod index;
mod lock;
mod publish;
mod read;
mod room;
mod segment;
mod store;
mod sum;
mod survey;
mod worker;
mod write;

use std::path::PathBuf;

pub use checkpoint::{Checkpoint, checkpoints};
pub use frame::{
    Bodies, BodyInfo, COLUMNS, Catalogue, ColliderInfo, Contacts, Frame, JointInfo, Joints, NOBODY, StepRow,
    What, body_id, number, step_row,
};
pub use lock::Lock;
pub use read::{Moment, Recording, begun};
pub use survey::{Fault, Loss};
pub use worker::Written;
pub use write::{Every, Options, Writer, remove};

/// What went wrong with a recording.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecordError {
    /// A file that cannot be read or written.
    #[error("{}: {text}", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// Why.
        text: String,
    },
    /// A file that does not hold what it should.
    #[error("{0}")]
    Form(String),
    /// Writing stopped; what was written before is there.
    #[error("the recording stopped: {why}; {frames} frames in {segments} segments of {} are kept", folder.display())]
    Stopped {
        /// The first thing that went wrong.
        why: String,
        /// Frames that can be read.
        frames: usize,
        /// Segments that they are in.
        segments: usize,
        /// The recording.
        folder: PathBuf,
    },
}
