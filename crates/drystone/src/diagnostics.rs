//! Quantities read off a world.

use crate::joint::JointError;

/// Mechanical energy of the dynamic bodies, J. The zero of the potential is at the world's origin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Energy {
    /// ½ m v² + ½ ω I ω
    pub kinetic: f64,
    /// -m g·x, and that of the fields that have one.
    pub potential: f64,
}

impl Energy {
    /// Sum of both.
    pub fn total(&self) -> f64 {
        self.kinetic + self.potential
    }
}

/// Overlap of touching contacts, m.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Penetration {
    /// Deepest.
    pub max: f64,
    /// Mean over touching contacts.
    pub mean: f64,
    /// Contacts with gap ≤ 0.
    pub touching: usize,
}

/// What is told of a world as a whole after a step, beside the step itself.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Simulated time, s.
    pub time: f64,
    /// Number of dynamic bodies.
    pub dynamic: usize,
    /// Their mass, kg.
    pub mass: f64,
    /// Their energy.
    pub energy: Energy,
    /// How far joints are from where they should be.
    pub joint_error: JointError,
}
