//! Solvers, cones, certificates and bounds on contact problems that are made here.

mod auto;
mod bound;
mod common;
mod cones;
mod coulomb;
mod first_order;
mod lcp;
mod mechanisms;
mod second_order;
mod solvers;
mod sphere_contacts;
mod walls;
