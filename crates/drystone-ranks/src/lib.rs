//! Steps of one world over many ranks: processes, on one machine or on many, each of which owns the bodies of
//! a part of space.
//!
//! The result does not depend on how many ranks there are, nor on who owns what, to the last bit:
//!
//! - A rank finds *all* contacts of its bodies. For those across a border it has copies of its neighbours'
//!   bodies (ghosts) with the same bits, so that both sides find the same contact, and both carry its
//!   multipliers along.
//! - Impulses on a body are summed by its owner, in the global order of contacts. In every iteration the
//!   velocities of bodies at borders, and nothing else, go from their owners to those who have them as
//!   ghosts.
//! - What is added up over all bodies (lengths, products, objectives) is added up without rounding
//!   ([`exact`]). The largest of numbers is exact anyway.
//!
//! How ranks talk is a [`Comm`]: MPI in `drystone-mpi`, threads in tests ([`threads`]).

mod balls;
mod colours;
pub mod comm;
mod correct;
mod cut;
mod domain;
pub mod exact;
mod figures;
mod flow;
mod island_problem;
mod islands;
mod judge;
mod labels;
mod message;
mod methods;
mod posed;
mod reach;
mod rows;
mod run;
mod settle;
mod shares;
mod step;
mod sweeps;
pub mod threads;
mod touch;
mod walk;

pub use comm::{Alone, Comm, Neighbour, Traffic};
pub use methods::Plan;
pub use run::{Ranks, RanksError, Usage};
