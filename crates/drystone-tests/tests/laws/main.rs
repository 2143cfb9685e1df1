//! The laws of contact against closed forms: restitution, cohesion, belts, static and kinetic friction,
//! compliance, rolling and spinning resistance, and the integrators they run under.

mod belts;
mod cohesion;
mod common;
mod compliance;
mod flow;
mod guides;
mod integrators;
mod kinetic;
mod restitution;
mod rolling;
