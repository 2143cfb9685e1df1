//! Any two bounded convex shapes: the signed distance of their cores, then the patch around the closest
//! points.
//!
//! 1. `gjk` finds whether the cores are apart, and by how much. Shapes with a radius are done here even when
//!    they overlap, as long as their cores do not.
//! 2. Otherwise `epa` finds the shortest way apart, and `every` where there are too many about as short.
//! 3. Where a core is curved, `refine` brings the normal to the last digits; flat circular faces are
//!    recognised.
//! 4. `patch` spreads the contact over features that lie along each other.

use glam::DMat3;

use super::convex::{Convex, Pair};
use super::epa::{self, WayOut};
use super::exhaustive_sat;
use super::gjk::{End, Gjk};
use super::patch;
use super::refine::{self, Optimum};
use super::witness::Closest;
use super::{ContactPoint, Manifold, SKEW};
use crate::shape::{Pose, Shape};

/// How closely the bounds of the walk must agree before Newton's method is tried, each time it has not come
/// through: in parts of the scale of the cores and of their distance.
const NEWTON_BRACKETS: [(f64, f64); 4] = [(0.02, 0.03), (1e-3, 1e-3), (0.0, 1e-6), (0.0, 1e-14)];

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
    if Pair::in_order(&a, pose_a, &b, pose_b) {
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

/// Signed distance of two bounded convex shapes, m. Not a number for other shapes, or when a pose is not made
/// of numbers.
pub(crate) fn distance(shape_a: &Shape, pose_a: &Pose, shape_b: &Shape, pose_b: &Pose) -> f64 {
    let (Some(a), Some(b)) = (Convex::of(shape_a), Convex::of(shape_b)) else { return f64::NAN };
    let in_order = Pair::in_order(&a, pose_a, &b, pose_b);
    let pair = if in_order { Pair::new(a, pose_a, b, pose_b) } else { Pair::new(b, pose_b, a, pose_a) };
    closest(&pair, f64::INFINITY).map_or(f64::NAN, |c| c.separation - pair.radii)
}

/// The closest points of two bounded convex shapes, or those that are to be brought apart where they overlap.
/// Nothing for other shapes.
pub(crate) fn closest_points(
    shape_a: &Shape,
    pose_a: &Pose,
    shape_b: &Shape,
    pose_b: &Pose,
) -> Option<ContactPoint> {
    let (a, b) = (Convex::of(shape_a)?, Convex::of(shape_b)?);
    if !Pair::in_order(&a, pose_a, &b, pose_b) {
        let p = ordered_points(b, pose_b, a, pose_a)?;
        return Some(ContactPoint { on_a: p.on_b, on_b: p.on_a, normal: -p.normal, ..p });
    }
    ordered_points(a, pose_a, b, pose_b)
}

fn ordered_points(a: Convex, pose_a: &Pose, b: Convex, pose_b: &Pose) -> Option<ContactPoint> {
    let pair = Pair::new(a, pose_a, b, pose_b);
    let c = closest(&pair, f64::INFINITY)?;
    Some(ContactPoint {
        on_a: pose_a.point(c.on_a - c.normal * a.radius),
        on_b: pose_a.point(c.on_b + c.normal * b.radius),
        normal: pose_a.rotation * c.normal,
        gap: c.separation - pair.radii,
        feature: 0,
    })
}

/// Overlaps deeper than this part of the smaller core may have a way out that is not near the one found.
const DEEP_OVERLAP: f64 = 0.1;

/// A core this many times as large as the other is far larger.
const FAR_LARGER: f64 = 1e3;

/// The points of an overlap must agree with its normal up to this part of the smaller core; there are this
/// many trials.
const AGREE: f64 = 1e-9;
const PUSHES: usize = 8;

/// Nothing when the shapes, with their radii, are further apart than `reach`.
pub(super) fn closest(pair: &Pair, reach: f64) -> Option<Closest> {
    if !(pair.scale.is_finite() && pair.turn.is_finite()) {
        return None;
    }
    let mut gjk = Gjk::new(pair);
    let found =
        if pair.is_polytope() { polytopes(pair, &mut gjk, reach) } else { curved(pair, &mut gjk, reach) };
    let closest = match found {
        Found::BeyondReach => return None,
        Found::Apart(closest) => closest,
        Found::Overlap(seed) => overlapping(pair, &gjk, seed),
    };
    (closest.separation - pair.radii <= reach).then_some(closest)
}

/// The closest points of two cores, if a plane proves that they are apart.
pub(super) fn apart(pair: &Pair) -> Option<Closest> {
    let mut gjk = Gjk::new(pair);
    if !pair.is_polytope() {
        return match curved(pair, &mut gjk, f64::INFINITY) {
            Found::Apart(closest) => Some(closest),
            _ => None,
        };
    }
    let end = gjk.walk(pair, f64::INFINITY, 0.0, 1e-15);
    if end == End::Apart { separated(pair, &gjk) } else { None }
}

/// What is known of two cores before their overlap is looked at.
enum Found {
    BeyondReach,
    Apart(Closest),
    /// They overlap, or no plane could prove that they do not; and a direction nothing nearby is better than.
    Overlap(Option<Optimum>),
}

fn polytopes(pair: &Pair, gjk: &mut Gjk, reach: f64) -> Found {
    match gjk.walk(pair, reach, 0.0, 1e-15) {
        End::BeyondReach => Found::BeyondReach,
        End::Overlap => Found::Overlap(None),
        End::Apart => separated(pair, gjk).map_or(Found::Overlap(None), Found::Apart),
    }
}

fn curved(pair: &Pair, gjk: &mut Gjk, reach: f64) -> Found {
    let mut seed = None;
    for (slack, tolerance) in NEWTON_BRACKETS {
        match gjk.walk(pair, reach, slack * pair.scale, tolerance) {
            End::BeyondReach => return Found::BeyondReach,
            End::Overlap => return Found::Overlap(seed),
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
            let low = pair.support(o.normal, gjk.hint);
            return Found::Apart(Closest::new(pair, o.normal, &low, (o.on_a, o.on_b)));
        }
        seed = Some(o);
    }
    separated(pair, gjk).map_or(Found::Overlap(seed), Found::Apart)
}

/// From the simplex of two cores that are apart. Where three corners span a plane, its normal is good however
/// small the distance; otherwise the nearest point gives the direction. Nothing where the walk ended by
/// rounding before a plane could prove it.
fn separated(pair: &Pair, gjk: &Gjk) -> Option<Closest> {
    if gjk.lower <= 0.0 {
        return None;
    }
    let simplex = &gjk.simplex;
    let mut best = (gjk.lower, gjk.normal, simplex.witnesses());
    if let Some(plane) = simplex.plane() {
        let n = plane * super::sign(plane.dot(gjk.normal));
        let separation = n.dot(pair.support(n, gjk.hint).w);
        if separation >= gjk.lower {
            best = (separation, n, best.2);
        }
    }
    let nearest = simplex.nearest();
    let upper = nearest.length();
    for from in [gjk.normal, nearest / upper] {
        // Squares of distances cannot tell directions apart that differ by less than a root of rounding, and
        // large faces are long levers. Newton's method can.
        if upper - best.0 > 1e-13 * pair.scale
            && let Some(o) = refine::climb(pair, from, simplex.corners(), simplex.weights())
            && o.separation > best.0
        {
            best = (o.separation, o.normal, (o.on_a, o.on_b));
        }
    }
    let found = Closest::new(pair, best.1, &pair.support(best.1, gjk.hint), best.2);
    // Rims of faces that are level but for less than a root of rounding have no curvature for Newton's
    // method, but can be cut to each other. What is found is a distance of points; it must lie between the
    // bounds.
    if upper - best.0 > 1e-13 * pair.scale
        && !pair.is_polytope()
        && let Some((separation, on_a)) = patch::level(pair, &found)
        && separation > best.0
        && separation <= upper
    {
        return Some(Closest { separation, on_a, on_b: on_a - found.normal * separation, ..found });
    }
    Some(found)
}

/// `seed` is a direction nothing nearby is better than.
fn overlapping(pair: &Pair, gjk: &Gjk, seed: Option<Optimum>) -> Closest {
    // Touching along a face, the plane of the simplex is the answer: nothing separates better than by
    // nothing.
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
    if pair.is_polytope() {
        if !way.least {
            way = exhaustive_sat::shorter(pair, &way).unwrap_or(way);
        }
    } else if way.depth > DEEP_OVERLAP * pair.a.extent().min(pair.b.extent()) {
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
    way = agreeing(pair, way);
    let mut low = pair.support(way.normal, gjk.hint);
    if !pair.is_polytope() {
        // Nearly parallel flat faces are all but equally deep: rounding apart, one of their normals is best.
        for n in pair.faces_near(way.normal, low.pieces).into_iter().flatten() {
            let other = pair.support(n, low.pieces);
            let depth = -n.dot(other.w);
            if depth <= way.depth {
                way = agreeing(pair, WayOut { normal: n, depth, ..way });
                low = pair.support(way.normal, other.pieces);
            }
        }
    }
    let (size_a, size_b) = (pair.a.extent(), pair.b.extent());
    let off = (way.on_a - way.on_b + way.normal * way.depth).length();
    if size_a.max(size_b) > FAR_LARGER * size_a.min(size_b) && off > 1e-6 * size_a.min(size_b) {
        // Deep in something far larger, rounding is all that is left of the points of the small one: any of
        // its furthest points will do.
        let apart = way.normal * -way.depth;
        (way.on_a, way.on_b) = if size_a < size_b { (low.a, low.a - apart) } else { (low.b + apart, low.b) };
    }
    Closest::new(pair, way.normal, &low, (way.on_a, way.on_b))
}

/// A way out that is none longer, with points that agree with it.
///
/// Newton's method finds one where surfaces are curved. Otherwise the cores are pushed a little further than
/// apart along the way out: then they have closest points, and the normal there is a way out as well. Let C
/// be A - B, P the length of the push, and d the distance of C from where the origin was pushed to, along the
/// new normal n'. The old way n of depth s leaves d ≥ P - s, and the new one has depth P n·n' - d ≤ s. Where
/// the two normals are one, the points are those of the overlap.
fn agreeing(pair: &Pair, mut way: WayOut) -> WayOut {
    let rounding = 1e-14 * pair.scale;
    let enough = AGREE * pair.a.extent().min(pair.b.extent()) + rounding;
    let off = |way: &WayOut| (way.on_a - way.on_b + way.normal * way.depth).length();
    for _ in 0..PUSHES {
        if way.settled && off(&way) <= enough {
            return way;
        }
        if !pair.is_polytope() {
            let low = pair.support(way.normal, pair.start(way.normal));
            let top = refine::climb(pair, way.normal, &[low], &[1.0]).map(|o| WayOut::by(&o));
            if let Some(found) = top.filter(|w| w.depth <= way.depth + rounding && off(w) <= enough) {
                return WayOut { least: way.least, ..found };
            }
        }
        let push = way.normal * (way.depth + 1e-3 * pair.scale);
        let Some(c) = apart(&pair.with_offset(pair.offset - push)) else { break };
        let depth = -c.normal.dot(pair.support(c.normal, c.pieces).w);
        if depth > way.depth + rounding {
            break;
        }
        way = WayOut { normal: c.normal, depth, on_a: c.on_a, on_b: c.on_b + push, settled: true, ..way };
    }
    way
}
