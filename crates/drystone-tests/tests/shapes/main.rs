//! Masses, sizes and refusals of every kind of shape.

mod compound;
mod convex;
mod hull;
mod mesh;
mod rounded;
