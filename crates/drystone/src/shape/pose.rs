//! Where a local frame stands in the world.

use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

/// A rigid placement: first rotate, then translate. Maps local to world coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pose {
    /// Origin of the local frame, in world coordinates, m.
    pub position: DVec3,
    /// Orientation of the local frame; unit.
    pub rotation: DQuat,
}

impl Pose {
    /// The world frame.
    pub const IDENTITY: Self = Self { position: DVec3::ZERO, rotation: DQuat::IDENTITY };

    /// A pose from its parts.
    pub fn new(position: DVec3, rotation: DQuat) -> Self {
        Self { position, rotation }
    }

    /// A pose without rotation.
    pub fn at(position: DVec3) -> Self {
        Self { position, rotation: DQuat::IDENTITY }
    }

    /// A local point in world coordinates.
    pub fn point(&self, local: DVec3) -> DVec3 {
        self.position + self.rotation * local
    }

    /// A world point in local coordinates.
    pub fn inverse_point(&self, world: DVec3) -> DVec3 {
        self.rotation.conjugate() * (world - self.position)
    }

    /// `self` after `inner`: places something given in the frame of `inner`'s target.
    pub fn compose(&self, inner: &Pose) -> Pose {
        Pose { position: self.point(inner.position), rotation: self.rotation * inner.rotation }
    }

    /// The placement of the world as seen from this frame.
    pub fn inverse(&self) -> Pose {
        let back = self.rotation.conjugate();
        Pose { position: back * -self.position, rotation: back }
    }
}
