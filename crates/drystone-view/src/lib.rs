//! The viewer: a page in the browser that shows runs, and steers those that are simulated while one looks.
//!
//! ```text
//!     World ──> Stage (shapes, names, joints: once)          ─┐
//!           └─> Snapshot (poses, values, contacts: a moment) ─┴─> codec ──> Store ──> server ──> page
//!                                                                      └──> one HTML file
//! ```
//!
//! [`Frames`] is what the server shows: encoded frames by number, kept in a [`Store`] while a scene is
//! simulated ([`Recorder`]), read from a snapshot file ([`snapshots`]), or a recording. A [`live`] run has
//! none: each viewer is sent the newest moment when it is ready for it. Messages are described in
//! `docs/guide/viewer.md`.

pub mod codec;
pub mod command;
pub mod export;
mod frames;
mod geometry;
pub mod live;
mod page;
pub mod replay;
pub mod server;
mod snapshot;
pub mod snapshots;
mod stage;

pub use frames::{Frames, Hello, KEY_EVERY, Parameter, Recorder, Store};
pub use snapshot::{CHANNELS, ContactLine, NUMBERS, Snapshot};
pub use stage::{Stage, Told};
