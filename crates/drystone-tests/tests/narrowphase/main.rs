//! Distances, contacts and manifolds of pairs of shapes.

mod closed_forms;
mod convex;
mod narrowphase_common;
mod oracle;
mod query;
mod robustness;
mod stacks;
