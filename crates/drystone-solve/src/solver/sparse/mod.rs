//! Sparse Cholesky factors of symmetric positive definite matrices made of small dense blocks.
//!
//! Everything works on nodes (a body with six rows, a constraint block with one to five) instead of scalars, which makes
//! the analysis cheap:
//!
//! - [`order`]: a minimum-degree order of the nodes on the quotient graph;
//! - [`symbolic`]: elimination tree, supernodes and their rows;
//! - [`factor`]: the multifrontal factorisation, one dense front after the other, and solves;
//! - [`dense`]: the partial Cholesky of one front, where all the time goes.
//!
//! No threads: the result is the same whatever their number.

mod dense;
mod factor;
mod order;
mod symbolic;

pub(super) use factor::Factor;
pub(super) use symbolic::{Pattern, Symbolic};
