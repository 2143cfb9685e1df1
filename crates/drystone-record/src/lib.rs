//! drystone-record
