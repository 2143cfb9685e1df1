//! The edge of the world: a box that bodies are meant to stay in.

use glam::DVec3;
use serde::{Deserialize, Serialize};

/// What happens to a dynamic body whose centre of mass leaves the bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Leaving {
    /// It is reported, once, and moves on.
    #[default]
    Report,
    /// It is reported and taken out of the world.
    Remove,
    /// The step is an error that names it.
    Stop,
}

impl Leaving {
    /// As scene files spell them.
    pub const NAMES: [(&'static str, Leaving); 3] =
        [("report", Leaving::Report), ("remove", Leaving::Remove), ("stop", Leaving::Stop)];
}

/// A box and what happens at its faces.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// Smallest corner, m; components may be -∞.
    pub min: DVec3,
    /// Largest corner, m; components may be ∞.
    pub max: DVec3,
    /// What happens to those who leave.
    pub leaving: Leaving,
}

impl Bounds {
    /// Whether a point is inside (the faces are).
    pub fn contain(&self, x: DVec3) -> bool {
        x.cmpge(self.min).all() && x.cmple(self.max).all()
    }

    /// Says what is wrong with the corners.
    pub fn check(&self) -> Result<(), String> {
        if self.min.cmplt(self.max).all() {
            Ok(())
        } else {
            Err(format!("bounds: min {} must be below max {} in every coordinate", self.min, self.max))
        }
    }
}
