//! The few points of a cloud that can be furthest in some direction: its bounds and support cost what those
//! cost.

use glam::{DMat3, DVec3};

use crate::collide::Aabb;
use crate::shape::{Hull, Pose};

/// The corners of the convex hull, ready to be searched; all points where there is none.
#[derive(Clone, Debug)]
pub(super) enum Extremes {
    Hull(Hull),
    Flat(Vec<DVec3>),
}

impl Extremes {
    pub fn new(points: &[DVec3]) -> Self {
        match Hull::new(points) {
            Ok(hull) => Extremes::Hull(hull),
            Err(_) => Extremes::Flat(corners_of_flat(points).unwrap_or_else(|| points.to_vec())),
        }
    }

    pub fn support(&self, direction: DVec3) -> DVec3 {
        match self {
            Extremes::Hull(hull) => hull.vertices()[hull.support(direction) as usize],
            Extremes::Flat(points) => furthest(points, direction),
        }
    }

    pub fn aabb(&self, pose: &Pose) -> Aabb {
        match self {
            Extremes::Hull(hull) => hull.aabb(pose),
            Extremes::Flat(points) => around(points, pose),
        }
    }
}

fn furthest(points: &[DVec3], direction: DVec3) -> DVec3 {
    let mut best = points[0];
    for p in points {
        if p.dot(direction) > best.dot(direction) {
            best = *p;
        }
    }
    best
}

fn around(points: &[DVec3], pose: &Pose) -> Aabb {
    let m = DMat3::from_quat(pose.rotation);
    let mut bounds = Aabb { min: DVec3::INFINITY, max: DVec3::NEG_INFINITY };
    for p in points {
        let at = m * *p;
        bounds = Aabb { min: bounds.min.min(at), max: bounds.max.max(at) };
    }
    Aabb { min: pose.position + bounds.min, max: pose.position + bounds.max }
}

/// Points in one plane become the base of a pyramid, whose hull has no doubt about its corners.
fn corners_of_flat(points: &[DVec3]) -> Option<Vec<DVec3>> {
    let a = points[0];
    let far = |from: &dyn Fn(DVec3) -> f64| {
        points.iter().copied().max_by(|p, q| from(*p).total_cmp(&from(*q))).unwrap_or(a)
    };
    let b = far(&|p| (p - a).length_squared());
    let c = far(&|p| (p - a).cross(b - a).length_squared());
    let normal = (b - a).cross(c - a).try_normalize()?;
    let apex = (a + b + c) / 3.0 + normal * (b - a).length();
    let mut with_apex = points.to_vec();
    with_apex.push(apex);
    let hull = Hull::new(&with_apex).ok()?;
    Some(hull.vertices().iter().copied().filter(|v| *v != apex).collect())
}
