//! Sparse factors of matrices made of small dense blocks: Cholesky's where they are symmetric and positive
//! definite, LU where only their pattern is symmetric.
//!
//! Everything works on nodes (a body with six rows, a constraint block with one to five) instead of scalars,
//! which makes the analysis cheap:
//!
//! - [`order`]: a minimum-degree order of the nodes on the quotient graph;
//! - [`symbolic`]: elimination tree, supernodes and their rows;
//! - [`factor`]: the multifrontal factorisation, one dense front after the other, and solves;
//! - [`dense`]: the partial Cholesky of one front, where all the time goes;
//! - [`lu`] and [`lu_front`]: the same two for LU.
//!
//! No threads: the result is the same whatever their number.

mod dense;
mod factor;
mod lu;
mod lu_front;
mod order;
mod symbolic;

pub(super) use factor::Factor;
pub(super) use lu::Lu;
pub(super) use symbolic::{Pattern, Symbolic};
