//! How a scene wants to be recorded.

use std::path::PathBuf;

use drystone_record::recording::{Every, What};

/// What the `[record]` of a scene file says; None where it says nothing. Options of the command line count
/// more.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Where to: a run is recorded whether or not the command line asks for it.
    pub folder: Option<PathBuf>,
    /// How often there is a frame.
    pub every: Option<Every>,
    /// Frames also where bodies come or go, or two begin to push each other.
    pub events: Option<bool>,
    /// What a frame has beside the bodies.
    pub what: Option<What>,
    /// Numbers of frames in double precision.
    pub double: Option<bool>,
    /// Whether long tables are compressed.
    pub compress: Option<bool>,
    /// How often there is a checkpoint: steps, or seconds of wall time.
    pub checkpoint: Option<Every>,
}
