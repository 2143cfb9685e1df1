//! What a run leaves behind: recordings with checkpoints, reports, snapshots, force series, pictures and
//! plots.

pub mod course;
pub mod export;
pub mod file;
pub mod labels;
pub mod parquet;
pub mod picture;
pub mod plot;
pub mod portrait;
pub mod recording;
pub mod report;
pub mod series;
pub mod snapshot;
pub mod surface;
pub mod table;
pub mod usage;
