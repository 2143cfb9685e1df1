//! The engine against closed forms: friction, relaxation, impact, energy, stacks, stabilisation, free motion.
//! Everything here uses the relaxed contact model (the cone complementarity problem) and inelastic contacts.

mod common;
mod energy;
mod fast;
mod free_body;
mod incline;
mod relaxation;
mod rolling;
mod spinning;
mod squeeze;
mod stabilisation;
mod stacks;
mod walls;
