//! The narrow phase for all pairs of convex shapes.

mod closed_forms;
mod manifolds;
mod oracle;
mod rays;
mod rest;
mod robustness;
