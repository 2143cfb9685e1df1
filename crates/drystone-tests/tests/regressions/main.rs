//! One module for every bug that was found: each test failed before its fix.

mod far_contact;
mod fly_past;
mod free_body;
mod hover;
mod pushed_into_neighbour;
mod status;
mod tilted_capsule;
