//! What allocates nothing once it has its room.

#[path = "../meshes/mesh_common/mod.rs"]
mod mesh_common;
#[path = "../narrowphase/narrowphase_common/mod.rs"]
mod narrowphase_common;

mod broadphase;
mod counting;
mod mesh;
mod narrowphase;
