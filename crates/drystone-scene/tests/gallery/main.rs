//! The scenes of the gallery.

mod classic;
mod common;
mod wall;
