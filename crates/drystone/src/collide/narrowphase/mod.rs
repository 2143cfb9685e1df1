//! Narrow phase: where two shapes touch, or how far apart they are.
//!
//! Convention: the normal points from the second shape (B) to the first (A), as in
//! [TasoraAnitescu2011, §2.4.1], so that a positive normal multiplier pushes A along +n.

use glam::DVec3;

/// One contact point between two shapes, in world coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPoint {
    /// The point on the surface of A, m.
    pub on_a: DVec3,
    /// The point on the surface of B, m. `on_a - on_b = gap * normal` up to rounding for closest-point contacts.
    pub on_b: DVec3,
    /// Unit normal from B to A.
    pub normal: DVec3,
    /// Signed distance along the normal, m; negative when the shapes overlap.
    pub gap: f64,
    /// Which features touch: the same number from step to step while the same features touch.
    pub feature: u32,
}

/// At most this many points describe the contact of two convex shapes.
pub const MAX_POINTS: usize = 4;

/// The contact points of one pair of shapes, without heap allocation.
#[derive(Clone, Copy, Debug)]
pub struct Manifold {
    points: [ContactPoint; MAX_POINTS],
    len: u8,
}

impl Default for Manifold {
    fn default() -> Self {
        let none = ContactPoint { on_a: DVec3::ZERO, on_b: DVec3::ZERO, normal: DVec3::Z, gap: 0.0, feature: 0 };
        Self { points: [none; MAX_POINTS], len: 0 }
    }
}

impl Manifold {
    /// Adds a point.
    ///
    /// # Panics
    /// When there are already [`MAX_POINTS`].
    pub fn push(&mut self, point: ContactPoint) {
        self.points[self.len as usize] = point;
        self.len += 1;
    }

    /// Forgets all points.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// The points.
    pub fn points(&self) -> &[ContactPoint] {
        &self.points[..self.len as usize]
    }
}
