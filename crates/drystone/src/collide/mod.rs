//! Collision detection: which shapes are near (broad phase), and where and how they touch (narrow phase).

pub mod broadphase;
mod detect;
mod envelope;
mod manifold_cache;
pub mod midphase;
pub mod narrowphase;
mod pair;
pub(crate) mod periodic;
pub mod query;
mod speed;

pub use periodic::Periodic;

pub use detect::Detector;
pub use envelope::Envelope;
pub use speed::Velocities;
pub(crate) use speed::velocity;

use glam::DVec3;

/// An axis-aligned box in world coordinates; bounds may be infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// Smallest corner, m.
    pub min: DVec3,
    /// Largest corner, m.
    pub max: DVec3,
}

impl Aabb {
    /// The box that reaches `reach` to either side of `centre`.
    pub fn around(centre: DVec3, reach: DVec3) -> Self {
        Self { min: centre - reach, max: centre + reach }
    }

    /// Grown by `margin` on every side.
    pub fn grown(&self, margin: f64) -> Self {
        Self { min: self.min - DVec3::splat(margin), max: self.max + DVec3::splat(margin) }
    }

    /// Whether the other lies inside; an empty one lies in all.
    pub fn encloses(&self, other: &Aabb) -> bool {
        self.min.cmple(other.min).all() && other.max.cmple(self.max).all()
    }

    /// Whether the two share a point (touching counts).
    pub fn overlaps(&self, other: &Aabb) -> bool {
        self.min.cmple(other.max).all() && other.min.cmple(self.max).all()
    }
}
