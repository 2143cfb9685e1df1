//! The middle phase: which parts of two compound shapes, meshes or height fields come near each other, and
//! what a convex part makes of a surface of triangles.
//!
//! `bvh` is the tree over the parts of a shape, `expand` goes through the pairs of parts. A convex part
//! (`visitor`) against a surface is `touch`'s business, with edges in `ridge` and balls in `ball`: `surface`
//! is what they know of a mesh or a height field, `skin` how those are folded, `cone` in which directions
//! their edges push, `pieces` how the narrow phase sees them, and `reduce` makes few points of many.
//! [`Finder`] does all of it for two shapes at rest, `query` asks about rays and distances.

mod ball;
mod bvh;
mod cone;
mod convex_mesh;
mod edge_topology;
mod expand;
mod feature_edges;
mod find;
mod pieces;
mod proxy;
pub(crate) mod query;
mod reduce;
mod surface;

pub use bvh::Bvh;
pub use edge_topology::Skin;
pub use find::{Finder, PartContact};

pub(crate) use convex_mesh::{Workspace, touches};
pub(crate) use expand::{Side, part_pairs, relative};
pub(crate) use find::is_ground;
pub(crate) use proxy::Visitor;
pub(crate) use surface::Surface;
