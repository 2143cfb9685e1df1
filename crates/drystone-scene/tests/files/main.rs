//! Scene files, flat states, meshes and problem files: what they say, and what is said of bad ones.

mod controls;
mod fields;
mod flat_errors;
mod flat_round_trip;
mod joints;
mod mesh_files;
mod mesh_parts;
mod problem_files;
mod resume;
mod scene_files;
mod scene_rules;
mod scene_shapes;
mod slips;
mod solids;
