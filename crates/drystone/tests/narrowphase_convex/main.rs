//! The narrow phase for all pairs of convex shapes.

#[path = "../narrowphase_common/mod.rs"]
mod narrowphase_common;

mod closed_forms;
mod manifolds;
mod oracle;
mod rays;
mod rest;
mod robustness;
