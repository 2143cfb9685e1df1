//! Convex parts held together.

use glam::DVec3;
use serde::{Deserialize, Serialize};

use super::{Moments, Pose, Shape};
use crate::collide::Aabb;
use crate::collide::midphase::Bvh;
use crate::limits::{FARTHEST, within};

/// Convex parts, each with its place in the common frame. Compounds within compounds are flattened.
///
/// Where parts overlap, the matter there counts twice in volume, centroid and inertia: give the body its mass
/// properties where that matters.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Compound {
    parts: Vec<(Pose, Shape)>,
    bvh: Bvh,
    moments: Moments,
    bounding_radius: f64,
    inner_radius: f64,
}

/// What a file holds of a compound.
#[derive(Serialize, Deserialize)]
struct Parts {
    parts: Vec<(Pose, Shape)>,
}

impl TryFrom<Parts> for Compound {
    type Error = String;
    fn try_from(data: Parts) -> Result<Self, String> {
        Compound::new(data.parts)
    }
}

impl From<Compound> for Parts {
    fn from(compound: Compound) -> Self {
        Parts { parts: compound.parts }
    }
}

/// The parts are all there is to it.
impl PartialEq for Compound {
    fn eq(&self, other: &Self) -> bool {
        self.parts == other.parts
    }
}

impl Compound {
    /// The compound of the given parts; says which part cannot be one.
    pub fn new(parts: Vec<(Pose, Shape)>) -> Result<Self, String> {
        let mut flat = Vec::with_capacity(parts.len());
        for (k, (pose, shape)) in parts.into_iter().enumerate() {
            let pose = checked(&pose).map_err(|e| format!("part {k}: {e}"))?;
            match shape {
                Shape::Compound(inner) => {
                    flat.extend(inner.parts.iter().map(|(p, s)| (pose.compose(p), s.clone())));
                }
                Shape::HalfSpace => {
                    return Err(format!("part {k}: a half-space cannot be part of a compound"));
                }
                Shape::Mesh(_) | Shape::HeightField(_) => {
                    return Err(format!(
                        "part {k}: a {} cannot be part of a compound, only convex shapes can: decompose it",
                        shape.name()
                    ));
                }
                _ => {
                    shape.check().map_err(|e| format!("part {k}: {e}"))?;
                    flat.push((pose, shape));
                }
            }
        }
        if flat.is_empty() {
            return Err("a compound needs at least one part".into());
        }
        let boxes: Vec<Aabb> = flat.iter().map(|(pose, shape)| shape.aabb(pose)).collect();
        let placed: Vec<Moments> = flat.iter().map(|(pose, shape)| shape.moments().placed(pose)).collect();
        let reach = |(pose, shape): &(Pose, Shape)| furthest(shape, pose.inverse_point(DVec3::ZERO));
        Ok(Self {
            bvh: Bvh::new(&boxes),
            moments: Moments::sum(placed.iter().copied()),
            bounding_radius: flat.iter().map(reach).fold(0.0, f64::max),
            inner_radius: flat.iter().map(|(_, s)| s.inner_radius()).fold(f64::INFINITY, f64::min),
            parts: flat,
        })
    }

    /// The convex parts and where they are.
    pub fn parts(&self) -> &[(Pose, Shape)] {
        &self.parts
    }

    /// The tree over the parts' bounds.
    #[doc(hidden)]
    pub fn bvh(&self) -> &Bvh {
        &self.bvh
    }

    /// Volume, centroid and second moments: the sums of the parts'.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Radius of the smallest ball about the origin that holds all parts, m; a little more where an ellipsoid
    /// decides.
    pub fn bounding_radius(&self) -> f64 {
        self.bounding_radius
    }

    /// The smallest inner radius of a part, m.
    pub fn inner_radius(&self) -> f64 {
        self.inner_radius
    }

    /// World bounds at `pose`: the box around the boxes of the parts.
    pub fn aabb(&self, pose: &Pose) -> Aabb {
        let mut all = Aabb { min: DVec3::INFINITY, max: DVec3::NEG_INFINITY };
        for (local, shape) in &self.parts {
            let one = shape.aabb(&pose.compose(local));
            all = Aabb { min: all.min.min(one.min), max: all.max.max(one.max) };
        }
        all
    }

    /// The point furthest along `direction`.
    pub fn support(&self, direction: DVec3) -> DVec3 {
        let mut best = (f64::NEG_INFINITY, DVec3::ZERO);
        for (pose, shape) in &self.parts {
            let point = pose.point(shape.support(pose.rotation.conjugate() * direction));
            let along = point.dot(direction);
            if along > best.0 {
                best = (along, point);
            }
        }
        best.1
    }
}

/// How far from a point in its frame the furthest point of a convex shape is; for an ellipsoid at most a
/// little less.
fn furthest(shape: &Shape, from: DVec3) -> f64 {
    let axial = |radius: f64, z: f64| (from.truncate().length() + radius).hypot(from.z - z);
    match shape {
        Shape::Box { half } => (from.abs() + *half).length(),
        Shape::Capsule { radius, half_length } => {
            DVec3::new(from.x, from.y, from.z.abs() + half_length).length() + radius
        }
        Shape::Cylinder { radius, half_length } => axial(*radius, -half_length.copysign(from.z)),
        Shape::Cone { radius, height } => axial(0.0, 0.75 * height).max(axial(*radius, -0.25 * height)),
        Shape::Hull(hull) => hull.vertices().iter().map(|v| v.distance(from)).fold(0.0, f64::max),
        Shape::Rounded { core, radius } => furthest(core, from) + radius,
        _ => from.length() + shape.bounding_radius(),
    }
}

/// The pose with its rotation normalised, unless it is a unit quaternion up to rounding: then bit for bit.
fn checked(pose: &Pose) -> Result<Pose, String> {
    within("position", pose.position, FARTHEST, "m")?;
    let length = pose.rotation.length();
    if !(length.is_finite() && (length - 1.0).abs() < 1e-3) {
        return Err(format!("rotation must be a unit quaternion, its length is {length}"));
    }
    let exact = (pose.rotation.length_squared() - 1.0).abs() <= 4.0 * f64::EPSILON;
    Ok(Pose { rotation: if exact { pose.rotation } else { pose.rotation.normalize() }, ..*pose })
}
