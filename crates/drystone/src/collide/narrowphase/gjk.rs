//! How far apart two cores are: the method of Gilbert, Johnson and Keerthi [GilbertJohnsonKeerthi1988].
//!
//! The distance of A and B is that of the origin from A - B. A simplex of points of A - B walks towards the
//! origin: its nearest point v bounds the distance from above, and the support plane of A - B across v bounds
//! it from below. Cores with finitely many corners are done after a few steps, up to rounding; curved ones
//! come closer with every step, and `refine` does the rest, so that the walk can be taken up again with a
//! smaller tolerance.

use glam::DVec3;

use super::convex::Pair;
use super::simplex::{Added, Simplex};

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
    /// The pieces met last.
    pub(super) hint: [u32; 2],
    steps: usize,
    /// The furthest corner so far from the origin, squared.
    furthest: f64,
}

impl Gjk {
    pub(super) fn new(pair: &Pair) -> Self {
        let normal = pair.middles().try_normalize().unwrap_or(DVec3::Z);
        let first = pair.piece_support(normal, pair.start(normal));
        Self {
            simplex: Simplex::new(first),
            normal,
            lower: normal.dot(first.w),
            hint: first.pieces,
            steps: 0,
            furthest: first.w.length_squared(),
        }
    }

    /// Walks until the two bounds differ by no more than `slack`, or `tolerance` of the distance, or by
    /// rounding.
    pub(super) fn walk(&mut self, pair: &Pair, reach: f64, slack: f64, tolerance: f64) -> End {
        // Where rounding decides, the result does.
        let reach = reach + 8.0 * f64::EPSILON * pair.scale;
        if self.lower - pair.radii > reach {
            return End::BeyondReach;
        }
        while self.steps < STEPS {
            let v = self.simplex.nearest();
            let upper = v.length();
            let rounding = ROUNDING * self.furthest.sqrt();
            if upper <= rounding {
                return End::Overlap;
            }
            self.steps += 1;
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
            let agree = upper - separation <= (tolerance * upper).max(slack) + rounding;
            if !agree || slack > 0.0 {
                if self.simplex.contains(&vertex) {
                    self.steps = STEPS;
                    return End::Apart;
                }
                self.furthest = self.furthest.max(vertex.w.length_squared());
                match self.simplex.add(vertex) {
                    Added::Inside => return End::Overlap,
                    Added::NoNearer => {
                        self.steps = STEPS;
                        return End::Apart;
                    }
                    Added::Nearer => {}
                }
            }
            if agree {
                return End::Apart;
            }
        }
        End::Apart
    }
}
