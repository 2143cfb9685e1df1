//! The middle phase: which parts of two compound shapes, meshes or height fields come near each other, and what a convex
//! part makes of a surface of triangles.
//!
//! `bvh` is the tree over the parts of a shape, `expand` goes through the pairs of parts. A convex part against a surface
//! is `touch`'s business: `surface` is what it knows of a mesh or a height field, `skin` how those are folded, `cone` in
//! which directions their edges push, `pieces` how the narrow phase sees them, and `reduce` makes few points of many.

mod bvh;
mod cone;
mod expand;
mod pieces;
mod reduce;
mod skin;
mod surface;
mod touch;

pub use bvh::Bvh;
pub use skin::Skin;

pub(crate) use expand::{Side, part_pairs, relative};
pub(crate) use surface::Surface;
pub(crate) use touch::{Visitor, Workspace, touches};
