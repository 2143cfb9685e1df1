//! A shape on a straight way, without turning: where it first touches another.

use glam::DVec3;

use super::{closest_points, distance};
use crate::shape::{Pose, Shape};

/// Where a moving shape first touches another, in world coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CastHit {
    /// How far it has moved, m.
    pub distance: f64,
    /// Where the two touch, m.
    pub point: DVec3,
    /// Unit outward normal of the shape that is hit.
    pub normal: DVec3,
}

/// Steps of the search; nearly tangential ways past curved shapes take the most.
const STEPS: usize = 256;
/// Nearer than this part of the moving shape's size counts as touching.
const TOUCHING: f64 = 1e-9;

/// Where `shape`, moved from `pose` along the unit vector `direction` by at most `max_distance`, first
/// touches `target`. One that touches at the start hits at distance 0.
///
/// The distance of two convex shapes is a convex function of the way, so that Newton's method comes up to its
/// first zero and never beyond. Against meshes, height fields and compounds the shape moves on by the
/// distance itself, which is safe for any shape.
pub fn cast(
    shape: &Shape,
    pose: &Pose,
    direction: DVec3,
    max_distance: f64,
    target: &Shape,
    target_pose: &Pose,
) -> Option<CastHit> {
    let convex = shape.is_convex() && target.is_convex();
    let size = shape.inner_radius().min(target.inner_radius());
    let touching = TOUCHING * if size.is_finite() { size } else { 1.0 };
    let mut gone = 0.0;
    for _ in 0..STEPS {
        let here = Pose { position: pose.position + gone * direction, ..*pose };
        let at = if convex { closest_points(shape, &here, target, target_pose) } else { None };
        let gap = match &at {
            Some(p) => p.distance,
            None if convex => return None,
            None => distance(shape, &here, target, target_pose),
        };
        if !(gap > touching) {
            let p = at.or_else(|| closest_points(shape, &here, target, target_pose))?;
            let (point, normal) = (0.5 * (p.on_a + p.on_b), p.normal);
            return (gap.is_finite()).then_some(CastHit { distance: gone, point, normal });
        }
        let way = match &at {
            Some(p) => {
                let closing = -p.normal.dot(direction);
                if !(closing > 0.0) {
                    return None;
                }
                gap / closing
            }
            None => gap,
        };
        // A way of rounding does not move any more.
        if gone + way == gone {
            return None;
        }
        gone += way;
        if !(gone <= max_distance) {
            return None;
        }
    }
    None
}
