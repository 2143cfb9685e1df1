//! Any two bounded convex shapes: the signed distance of their cores, then the patch around the closest points.
//!
//! 1. `gjk` finds whether the cores are apart, and by how much. Shapes with a radius are done here even when they overlap,
//!    as long as their cores do not.
//! 2. Otherwise `epa` finds the shortest way apart.
//! 3. Where a core is curved, `refine` brings the normal to the last digits; flat circular faces are recognised.
//! 4. `patch` spreads the contact over features that lie along each other.

use glam::{DMat3, DVec3};

use super::convex::{Convex, Pair, Vertex};
use super::epa::{self, WayOut};
use super::gjk::{End, Gjk};
use super::patch;
use super::refine::{self, Optimum};
use super::{Manifold, SKEW};
use crate::shape::{Pose, Shape};

/// How closely the bounds of the walk must agree before Newton's method is tried, each time it has not come through: in
/// parts of the scale of the cores and of their distance.
const TRIALS: [(f64, f64); 4] = [(0.02, 0.03), (1e-3, 1e-3), (0.0, 1e-6), (0.0, 1e-14)];

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
    /// With points that are right but for the last digits: across the normal they give in to each other as the sizes of
    /// the cores are, so that the point of a small core stays on it. `low` is the point of A - B least along the normal.
    fn new(pair: &Pair, normal: DVec3, low: &Vertex, points: (DVec3, DVec3)) -> Self {
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
    let squared = b_to_a.length_squared();
    if squared.is_nan() || squared > beyond * beyond {
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

/// Overlaps deeper than this part of the smaller core may have a way out that is not near the one found.
const DEEP: f64 = 0.1;

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

/// The closest points of two cores with finitely many corners, if a plane proves that they are apart.
pub(super) fn apart(pair: &Pair) -> Option<Closest> {
    let mut gjk = Gjk::new(pair);
    let end = gjk.walk(pair, f64::INFINITY, 0.0, 1e-15);
    (end == End::Apart && gjk.lower > 0.0).then(|| separated(pair, &gjk, None))
}

fn polytopes(pair: &Pair, gjk: &mut Gjk, reach: f64) -> Option<Closest> {
    match gjk.walk(pair, reach, 0.0, 1e-15) {
        End::BeyondReach => None,
        End::Overlap => Some(overlapping(pair, gjk, None)),
        End::Apart => Some(separated(pair, gjk, None)),
    }
}

/// From the simplex of two cores that are apart. Where three corners span a plane, its normal is good however small the
/// distance; otherwise the nearest point gives the direction.
fn separated(pair: &Pair, gjk: &Gjk, seed: Option<Optimum>) -> Closest {
    if gjk.lower <= 0.0 {
        // The walk ended by rounding before a plane could prove it.
        return overlapping(pair, gjk, seed);
    }
    let points = gjk.simplex.witnesses();
    if let Some(plane) = gjk.simplex.plane() {
        let n = plane * super::sign(plane.dot(gjk.normal));
        let low = pair.support(n, gjk.hint);
        if n.dot(low.w) >= gjk.lower {
            return Closest::new(pair, n, &low, points);
        }
    }
    Closest::new(pair, gjk.normal, &pair.support(gjk.normal, gjk.hint), points)
}

/// `seed` is a direction nothing nearby is better than.
fn overlapping(pair: &Pair, gjk: &Gjk, seed: Option<Optimum>) -> Closest {
    // Touching along a face, the plane of the simplex is the answer: nothing separates better than by nothing.
    if let Some(plane) = gjk.simplex.plane() {
        for n in [plane, -plane] {
            let low = pair.support(n, gjk.hint);
            if n.dot(low.w) >= -4.0 * f64::EPSILON * pair.scale {
                return Closest::new(pair, n, &low, gjk.simplex.witnesses());
            }
        }
    }
    let Some(mut way) = epa::way_out(pair, &gjk.simplex, seed) else {
        return Closest::new(pair, gjk.normal, &pair.support(gjk.normal, gjk.hint), gjk.simplex.witnesses());
    };
    if !pair.is_polytope() && way.depth > DEEP * pair.a.extent().min(pair.b.extent()) {
        // Around a common axis of round shapes all ways out are alike, and none leads on to the one along it.
        for n in [DMat3::IDENTITY, pair.turn].into_iter().flat_map(|m| [m.x_axis, m.y_axis, m.z_axis]) {
            for normal in [n, -n] {
                let depth = -normal.dot(pair.support(normal, gjk.hint).w);
                if depth < way.depth - 1e-12 * pair.scale {
                    way = WayOut { normal, depth, settled: false, ..way };
                }
            }
        }
    }
    let points = if way.settled { (way.on_a, way.on_b) } else { pushed_apart(pair, &way) };
    let mut best = (way.normal, pair.support(way.normal, gjk.hint));
    if !pair.is_polytope() {
        // Nearly parallel flat faces are all but equally deep: rounding apart, one of their normals is best.
        for n in pair.faces_near(best.0, best.1.pieces).into_iter().flatten() {
            let low = pair.support(n, best.1.pieces);
            if n.dot(low.w) >= best.0.dot(best.1.w) {
                best = (n, low);
            }
        }
    }
    Closest::new(pair, best.0, &best.1, points)
}

/// Where two cores touch that were pushed apart along a way out: the closest points a little further on.
fn pushed_apart(pair: &Pair, way: &WayOut) -> (DVec3, DVec3) {
    let push = way.normal * (way.depth + 1e-3 * pair.scale);
    let moved = pair.with_offset(pair.offset - push);
    let mut gjk = Gjk::new(&moved);
    match gjk.walk(&moved, f64::INFINITY, 0.0, 1e-12) {
        End::Apart => {
            let (on_a, on_b) = gjk.simplex.witnesses();
            (on_a, on_b + push)
        }
        _ => (way.on_a, way.on_b),
    }
}

fn curved(pair: &Pair, gjk: &mut Gjk, reach: f64) -> Option<Closest> {
    let mut seed = None;
    for (slack, tolerance) in TRIALS {
        match gjk.walk(pair, reach, slack * pair.scale, tolerance) {
            End::BeyondReach => return None,
            End::Overlap => return Some(overlapping(pair, gjk, seed)),
            End::Apart => {}
        }
        let simplex = &gjk.simplex;
        let cap = refine::cap(pair, gjk.normal, gjk.lower, simplex.witnesses());
        let top = cap.or_else(|| refine::climb(pair, gjk.normal, simplex.corners(), simplex.weights()));
        let Some(o) = top else { continue };
        let error = (o.on_a - o.on_b - o.normal * o.separation).length();
        if o.separation < gjk.lower - 1e-14 * pair.scale || error > 1e-12 * pair.scale {
            continue;
        }
        if o.separation > 0.0 {
            // Points and plane agree: this is the distance.
            return Some(Closest::new(pair, o.normal, &pair.support(o.normal, gjk.hint), (o.on_a, o.on_b)));
        }
        seed = Some(o);
    }
    Some(separated(pair, gjk, seed))
}
