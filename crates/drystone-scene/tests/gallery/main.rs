//! The scenes of the gallery.

mod arch;
mod ballast;
mod classic;
mod common;
mod ellipse;
mod laws;
mod machines;
mod palletizer;
mod wall;
