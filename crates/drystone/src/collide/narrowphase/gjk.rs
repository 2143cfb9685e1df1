//! How far apart two cores are: the method of Gilbert, Johnson and Keerthi [GilbertJohnsonKeerthi1988].
//!
//! The distance of A and B is that of the origin from A - B. A simplex of points of A - B walks towards the origin: its
//! nearest point v bounds the distance from above, and the support plane of A - B across v bounds it from below. Cores with
//! finitely many corners are done after a few steps, up to rounding; curved ones come closer with every step, and `refine`
//! does the rest, so that the walk can be taken up again with a smaller tolerance.

use glam::DVec3;

use super::convex::Pair;
use super::simplex::Simplex;

/// Steps in all; nearly parallel faces of large hulls take the most, about thirty.
const STEPS: usize = 100;

/// Below this many units in the last place of its corners, the nearest point of a simplex is rounding.
const ROUNDING: f64 = 2.0 * f64::EPSILON;

/// Where the walk stands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum End {
    /// Some plane separates the shapes by more than the reach.
    BeyondReach,
    /// The bounds agree.
    Apart,
    /// The simplex holds the origin, or touches it up to rounding.
    Overlap,
}

pub(super) struct Gjk {
    pub(super) simplex: Simplex,
    /// The unit direction, from B to A, that separates best so far, and by how much.
    pub(super) normal: DVec3,
    pub(super) lower: f64,
    hint: [u32; 2],
    steps: usize,
}

impl Gjk {
    pub(super) fn new(pair: &Pair) -> Self {
        let normal = pair.middles().try_normalize().unwrap_or(DVec3::Z);
        let first = pair.support(normal, [0, 0]);
        Self {
            simplex: Simplex::new(first),
            normal,
            lower: normal.dot(first.w),
            hint: first.pieces,
            steps: 0,
        }
    }

    /// Walks until the two bounds differ by no more than `tolerance` of the distance, or by rounding.
    pub(super) fn walk(&mut self, pair: &Pair, reach: f64, tolerance: f64) -> End {
        if self.lower - pair.radii > reach {
            return End::BeyondReach;
        }
        while self.steps < STEPS {
            self.steps += 1;
            let v = self.simplex.nearest();
            let upper = v.length();
            let size = self.simplex.corners().iter().fold(0.0_f64, |most, c| most.max(c.w.length_squared()));
            let rounding = ROUNDING * size.sqrt();
            if upper <= rounding {
                return End::Overlap;
            }
            let n = v / upper;
            let vertex = pair.support(n, self.hint);
            self.hint = vertex.pieces;
            let separation = n.dot(vertex.w);
            if separation > self.lower {
                (self.lower, self.normal) = (separation, n);
                if separation - pair.radii > reach {
                    return End::BeyondReach;
                }
            }
            if upper - separation <= tolerance * upper + rounding || self.simplex.contains(&vertex) {
                return End::Apart;
            }
            let before = self.simplex;
            if !self.simplex.add(vertex) {
                return End::Overlap;
            }
            let after = self.simplex.nearest().length_squared();
            if after.is_nan() || after >= upper * upper {
                // Rounding has the last word.
                self.simplex = before;
                self.steps = STEPS;
            }
        }
        End::Apart
    }
}
