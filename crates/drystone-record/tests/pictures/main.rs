//! Pictures, portraits and plots.

mod picture;
mod plot;
mod portrait;
