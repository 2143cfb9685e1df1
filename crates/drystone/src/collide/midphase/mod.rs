//! The middle phase: which parts of two compound shapes, meshes or height fields come near each other.

mod bvh;
mod skin;

pub use bvh::Bvh;
pub use skin::Skin;
