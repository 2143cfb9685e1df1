//! Rigid bodies, joints, hard contacts and dry friction.
#![warn(missing_docs)]

pub mod collide;
pub mod shape;
