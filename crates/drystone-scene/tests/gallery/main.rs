//! The scenes of the gallery.

mod arch;
mod ballast;
mod classic;
mod common;
mod ellipse;
mod laws;
mod machines;
mod mechanisms;
mod palletizer;
mod pbr;
mod wall;
