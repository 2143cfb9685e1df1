//! drystone-record

pub mod picture;
pub mod plot;
