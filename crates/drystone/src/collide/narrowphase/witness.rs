//! The witness points of a distance.

use glam::DVec3;

use super::convex::{Pair, Vertex};

/// The signed distance of two cores and where it is reached, in the frame of A.
#[derive(Clone, Copy)]
pub(super) struct Closest {
    /// Unit, from B to A.
    pub(super) normal: DVec3,
    /// Along the normal, negative in overlap.
    pub(super) separation: f64,
    /// Points of the cores; their difference is `separation * normal`.
    pub(super) on_a: DVec3,
    pub(super) on_b: DVec3,
    /// Pieces that are furthest along the normal.
    pub(super) pieces: [u32; 2],
}

impl Closest {
    /// With points that are right but for the last digits: across the normal they give in to each other as
    /// the sizes of the cores are, so that the point of a small core stays on it. `low` is the point of A - B
    /// least along the normal.
    pub(super) fn new(pair: &Pair, normal: DVec3, low: &Vertex, points: (DVec3, DVec3)) -> Self {
        let separation = normal.dot(low.w);
        let apart = points.0 - points.1;
        let (size_a, size_b) = (pair.a.extent(), pair.b.extent());
        let share = if size_a + size_b > 0.0 { size_a / (size_a + size_b) } else { 0.5 };
        let across = share * (apart - normal * normal.dot(apart));
        let rough = points.0 - across;
        let on_a = rough + normal * normal.dot(low.a - rough);
        Self { normal, separation, on_a, on_b: on_a - normal * separation, pieces: low.pieces }
    }
}
