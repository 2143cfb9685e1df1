//! The middle phase: which parts of two compound shapes, meshes or height fields come near each other.

mod bvh;

pub use bvh::Bvh;
