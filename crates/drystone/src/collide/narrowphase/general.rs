//! Any two bounded convex shapes: the signed distance of their cores, then the patch around the closest points.
//!
//! 1. `gjk` finds whether the cores are apart, and by how much. Shapes with a radius are done here even when they overlap,
//!    as long as their cores do not.
//! 2. Otherwise `epa` finds the shortest way apart.
//! 3. Where a core is curved, `refine` brings the normal to the last digits; flat circular faces are recognised.
//! 4. `patch` spreads the contact over features that lie along each other.

use glam::DVec3;

use super::convex::{Convex, Pair};
use super::epa;
use super::gjk::{End, Gjk};
use super::patch;
use super::refine;
use super::{Manifold, SKEW};
use crate::shape::{Pose, Shape};

/// How closely the bounds of the walk must agree before Newton's method is tried, each time it has not come through.
const TRIALS: [f64; 4] = [3e-2, 1e-4, 1e-7, 1e-14];

/// The signed distance of two cores and where it is reached, in the frame of A.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closest {
    /// Unit, from B to A.
    pub(super) normal: DVec3,
    /// Along the normal, negative in overlap.
    pub(super) separation: f64,
    /// Points of the cores; their difference is `separation * normal`.
    pub(super) on_a: DVec3,
    pub(super) on_b: DVec3,
}

impl Closest {
    /// Makes up for the last digits: the points keep their middle across the normal.
    fn settled(mut self, pair: &Pair) -> Self {
        let n = self.normal;
        let apart = self.on_a - self.on_b;
        let across = 0.5 * (apart - n * n.dot(apart));
        let height = n.dot(pair.support(n, [0, 0]).a);
        self.on_a -= across;
        self.on_a += n * (height - n.dot(self.on_a));
        self.on_b = self.on_a - n * self.separation;
        self
    }
}

/// The contacts of two bounded convex shapes; nothing for other shapes.
pub(super) fn contacts(
    shape_a: &Shape,
    pose_a: &Pose,
    shape_b: &Shape,
    pose_b: &Pose,
    reach: f64,
    out: &mut Manifold,
) {
    let (Some(a), Some(b)) = (Convex::of(shape_a), Convex::of(shape_b)) else { return };
    let b_to_a = pose_a.position - pose_b.position;
    let beyond = a.extent() + a.radius + b.extent() + b.radius + reach;
    // Written so that a place that is not a number is beyond any reach.
    if !(b_to_a.length_squared() <= beyond * beyond) {
        return;
    }
    if Pair::in_order(&a, &b, b_to_a) {
        ordered(a, pose_a, b, pose_b, reach, out);
    } else {
        ordered(b, pose_b, a, pose_a, reach, out);
        out.flip();
    }
}

fn ordered(a: Convex, pose_a: &Pose, b: Convex, pose_b: &Pose, reach: f64, out: &mut Manifold) {
    let pair = Pair::new(a, pose_a, b, pose_b);
    let Some(closest) = closest(&pair, reach) else { return };
    let skew = pose_a.rotation.conjugate() * SKEW;
    patch::fill(&pair, &closest, skew, reach, out);
    for p in out.points_mut() {
        p.on_a = pose_a.point(p.on_a);
        p.on_b = pose_a.point(p.on_b);
        p.normal = pose_a.rotation * p.normal;
    }
}

/// Signed distance of two bounded convex shapes, m. Not a number for other shapes, or when a pose is not made of numbers.
pub(crate) fn distance(shape_a: &Shape, pose_a: &Pose, shape_b: &Shape, pose_b: &Pose) -> f64 {
    let (Some(a), Some(b)) = (Convex::of(shape_a), Convex::of(shape_b)) else { return f64::NAN };
    let in_order = Pair::in_order(&a, &b, pose_a.position - pose_b.position);
    let pair = if in_order { Pair::new(a, pose_a, b, pose_b) } else { Pair::new(b, pose_b, a, pose_a) };
    closest(&pair, f64::INFINITY).map_or(f64::NAN, |c| c.separation - pair.radii)
}

/// Nothing when the shapes, with their radii, are further apart than `reach`.
pub(super) fn closest(pair: &Pair, reach: f64) -> Option<Closest> {
    if !(pair.scale.is_finite() && pair.turn.is_finite()) {
        return None;
    }
    let mut gjk = Gjk::new(pair);
    let found =
        if pair.is_polytope() { polytopes(pair, &mut gjk, reach) } else { curved(pair, &mut gjk, reach) };
    found.filter(|c| c.separation - pair.radii <= reach)
}

fn polytopes(pair: &Pair, gjk: &mut Gjk, reach: f64) -> Option<Closest> {
    match gjk.walk(pair, reach, 1e-15) {
        End::BeyondReach => None,
        End::Overlap => Some(overlapping(pair, gjk)),
        End::Apart => Some(separated(pair, gjk)),
    }
}

/// From the simplex of two cores that are apart. Where three corners span a plane, its normal is good however small the
/// distance; otherwise the nearest point gives the direction.
fn separated(pair: &Pair, gjk: &Gjk) -> Closest {
    let (on_a, on_b) = gjk.simplex.witnesses();
    let mut best = (gjk.lower, gjk.normal);
    if let Some(plane) = gjk.simplex.plane() {
        let n = plane * super::sign(plane.dot(gjk.normal));
        let separation = n.dot(pair.support(n, gjk.simplex.corners()[0].pieces).w);
        if separation >= best.0 {
            best = (separation, n);
        }
    }
    Closest { normal: best.1, separation: best.0, on_a, on_b }.settled(pair)
}

fn overlapping(pair: &Pair, gjk: &Gjk) -> Closest {
    // Touching along a face, the plane of the simplex is the answer: nothing separates better than by nothing.
    if let Some(plane) = gjk.simplex.plane() {
        for n in [plane, -plane] {
            let separation = n.dot(pair.support(n, gjk.simplex.corners()[0].pieces).w);
            if separation >= -4.0 * f64::EPSILON * pair.scale {
                let (on_a, on_b) = gjk.simplex.witnesses();
                return Closest { normal: n, separation, on_a, on_b }.settled(pair);
            }
        }
    }
    match epa::way_out(pair, &gjk.simplex) {
        Some(way) => Closest { normal: way.normal, separation: -way.depth, on_a: way.on_a, on_b: way.on_b }
            .settled(pair),
        None => {
            let (on_a, on_b) = gjk.simplex.witnesses();
            Closest { normal: gjk.normal, separation: gjk.lower, on_a, on_b }.settled(pair)
        }
    }
}

fn curved(pair: &Pair, gjk: &mut Gjk, reach: f64) -> Option<Closest> {
    for tolerance in TRIALS {
        match gjk.walk(pair, reach, tolerance) {
            End::BeyondReach => return None,
            End::Overlap => return Some(overlapping(pair, gjk)),
            End::Apart => {}
        }
        let simplex = &gjk.simplex;
        let cap = refine::cap(pair, gjk.normal, gjk.lower, simplex.witnesses());
        let Some(o) = cap.or_else(|| refine::climb(pair, gjk.normal, simplex.corners(), simplex.weights()))
        else {
            continue;
        };
        let error = (o.on_a - o.on_b - o.normal * o.separation).length();
        if o.separation >= gjk.lower - 1e-14 * pair.scale && error <= 1e-12 * pair.scale {
            let (normal, separation) = (o.normal, o.separation);
            return Some(Closest { normal, separation, on_a: o.on_a, on_b: o.on_b }.settled(pair));
        }
    }
    Some(separated(pair, gjk))
}
