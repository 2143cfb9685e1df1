//! Cone complementarity problems, the solvers for them, and the judge of all solvers.
//!
//! One time step of a system of rigid bodies with joints, contacts and dry friction is
//! [TasoraAnitescu2011, eq. 42]
//!
//! ```text
//!     u = N γ + r,      K ∋ γ ⊥ u ∈ K*,      N = Dᵀ M⁻¹ D
//! ```
//!
//! with K a product of small convex sets, one per constraint block: see [`cone`]. This crate knows
//! nothing of shapes or scenes. Three things are kept apart:
//!
//! - a [`Problem`] holds the data, matrix-free or with an explicit sparse N;
//! - a [`solver::Solver`] turns a problem and a guess into a [`Solution`]; not converging is a status;
//! - a [`certificate`] judges any multipliers, whoever computed them.

pub mod bound;
pub mod certificate;
pub mod colour;
pub mod cone;
#[doc(hidden)]
pub mod disjoint;
pub mod friction_law;
pub mod lcp;
#[doc(hidden)]
pub mod memory;
#[doc(hidden)]
pub mod parallel;
pub mod problem;
mod simd;
pub mod solver;

// Problems of tests/ name the crate, and unit tests share some.
#[cfg(test)]
extern crate self as drystone_solve;

pub use certificate::Certificate;
pub use cone::Set;
pub use friction_law::FrictionLaw;
pub use problem::{Checked, Malformed, Problem};
pub use solver::{Solution, Solver, Status, Stop};
