//! Collision shapes: geometry in the shape's own frame, with volume, inertia, bounds and support.
//!
//! Every shape is centred on its own origin. Lengths in metres.

use glam::{DMat3, DQuat, DVec3};
use serde::{Deserialize, Serialize};

use crate::collide::Aabb;

/// A rigid placement: first rotate, then translate. Maps local to world coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pose {
    /// Origin of the local frame, in world coordinates, m.
    pub position: DVec3,
    /// Orientation of the local frame; unit.
    pub rotation: DQuat,
}

impl Pose {
    /// The world frame.
    pub const IDENTITY: Self = Self { position: DVec3::ZERO, rotation: DQuat::IDENTITY };

    /// A pose from its parts.
    pub fn new(position: DVec3, rotation: DQuat) -> Self {
        Self { position, rotation }
    }

    /// A pose without rotation.
    pub fn at(position: DVec3) -> Self {
        Self { position, rotation: DQuat::IDENTITY }
    }

    /// A local point in world coordinates.
    pub fn point(&self, local: DVec3) -> DVec3 {
        self.position + self.rotation * local
    }

    /// A world point in local coordinates.
    pub fn inverse_point(&self, world: DVec3) -> DVec3 {
        self.rotation.conjugate() * (world - self.position)
    }

    /// `self` after `inner`: places something given in the frame of `inner`'s target.
    pub fn compose(&self, inner: &Pose) -> Pose {
        Pose { position: self.point(inner.position), rotation: self.rotation * inner.rotation }
    }
}

/// A collision shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A ball of the given radius.
    Sphere {
        /// m
        radius: f64,
    },
    /// All points with z <= 0 in the shape's frame: an infinite floor with normal +z. Static only.
    HalfSpace,
    /// A box with the given half extents.
    Box {
        /// m, along the local axes
        half: DVec3,
    },
    /// All points within `radius` of the segment from (0, 0, -half_length) to (0, 0, half_length).
    Capsule {
        /// m
        radius: f64,
        /// Half the length of the core segment, m.
        half_length: f64,
    },
}

impl Shape {
    /// A short name, as scene files spell it.
    pub fn name(&self) -> &'static str {
        match self {
            Shape::Sphere { .. } => "sphere",
            Shape::HalfSpace => "plane",
            Shape::Box { .. } => "box",
            Shape::Capsule { .. } => "capsule",
        }
    }

    /// Says what is wrong with the dimensions, if anything.
    pub fn check(&self) -> Result<(), String> {
        let positive = |name: &str, x: f64| {
            if x.is_finite() && x > 0.0 {
                Ok(())
            } else {
                Err(format!("{name} must be positive and finite, got {x}"))
            }
        };
        match self {
            Shape::Sphere { radius } => positive("radius", *radius),
            Shape::HalfSpace => Ok(()),
            Shape::Box { half } => {
                positive("half[0]", half.x)?;
                positive("half[1]", half.y)?;
                positive("half[2]", half.z)
            }
            Shape::Capsule { radius, half_length } => {
                positive("radius", *radius)?;
                if half_length.is_finite() && *half_length >= 0.0 {
                    Ok(())
                } else {
                    Err(format!("half_length must be finite and not negative, got {half_length}"))
                }
            }
        }
    }

    /// Volume in m³; infinite for a half-space.
    pub fn volume(&self) -> f64 {
        use std::f64::consts::PI;
        match self {
            Shape::Sphere { radius } => 4.0 / 3.0 * PI * radius.powi(3),
            Shape::HalfSpace => f64::INFINITY,
            Shape::Box { half } => 8.0 * half.x * half.y * half.z,
            Shape::Capsule { radius, half_length } => {
                PI * radius * radius * (2.0 * half_length + 4.0 / 3.0 * radius)
            }
        }
    }

    /// Inertia tensor about the shape's origin for a body of this shape with total mass `mass`, kg m².
    pub fn inertia(&self, mass: f64) -> DMat3 {
        let d = match self {
            Shape::Sphere { radius } => DVec3::splat(0.4 * mass * radius * radius),
            Shape::HalfSpace => DVec3::splat(f64::INFINITY),
            Shape::Box { half } => {
                let s = *half * *half;
                mass / 3.0 * DVec3::new(s.y + s.z, s.x + s.z, s.x + s.y)
            }
            Shape::Capsule { radius: r, half_length: l } => {
                // A cylinder of length 2 l and two half balls, each with its own share of the mass.
                let (cylinder, balls) = (2.0 * l, 4.0 / 3.0 * r);
                let m_c = mass * cylinder / (cylinder + balls);
                let m_s = mass * balls / (cylinder + balls);
                let axial = 0.5 * m_c * r * r + 0.4 * m_s * r * r;
                let across = m_c * (r * r / 4.0 + l * l / 3.0) + m_s * (0.4 * r * r + l * l + 0.75 * l * r);
                DVec3::new(across, across, axial)
            }
        };
        DMat3::from_diagonal(d)
    }

    /// Radius of the smallest ball about the shape's origin that holds it, m.
    pub fn bounding_radius(&self) -> f64 {
        match self {
            Shape::Sphere { radius } => *radius,
            Shape::HalfSpace => f64::INFINITY,
            Shape::Box { half } => half.length(),
            Shape::Capsule { radius, half_length } => radius + half_length,
        }
    }

    /// Radius of the largest ball about the shape's origin inside it, m: what a deep overlap is measured by.
    pub fn inner_radius(&self) -> f64 {
        match self {
            Shape::Sphere { radius } | Shape::Capsule { radius, .. } => *radius,
            Shape::HalfSpace => f64::INFINITY,
            Shape::Box { half } => half.min_element(),
        }
    }

    /// World bounds of the shape at `pose`.
    pub fn aabb(&self, pose: &Pose) -> Aabb {
        match self {
            Shape::Sphere { radius } => Aabb::around(pose.position, DVec3::splat(*radius)),
            Shape::HalfSpace => {
                let n = pose.rotation * DVec3::Z;
                let mut all = Aabb { min: DVec3::NEG_INFINITY, max: DVec3::INFINITY };
                for k in 0..3 {
                    if n[k] == 1.0 {
                        all.max[k] = pose.position[k];
                    } else if n[k] == -1.0 {
                        all.min[k] = pose.position[k];
                    }
                }
                all
            }
            Shape::Box { half } => {
                let m = DMat3::from_quat(pose.rotation);
                let reach = m.x_axis.abs() * half.x + m.y_axis.abs() * half.y + m.z_axis.abs() * half.z;
                Aabb::around(pose.position, reach)
            }
            Shape::Capsule { radius, half_length } => {
                let reach = (pose.rotation * DVec3::Z).abs() * *half_length + DVec3::splat(*radius);
                Aabb::around(pose.position, reach)
            }
        }
    }

    /// The point of the shape furthest along `direction` (not zero), all in the shape's frame.
    /// For a half-space, the origin: it has no furthest point except along its normal.
    pub fn support(&self, direction: DVec3) -> DVec3 {
        match self {
            Shape::Sphere { radius } => *radius * direction.normalize_or_zero(),
            Shape::HalfSpace => DVec3::ZERO,
            Shape::Box { half } => DVec3::new(
                half.x.copysign(direction.x),
                half.y.copysign(direction.y),
                half.z.copysign(direction.z),
            ),
            Shape::Capsule { radius, half_length } => {
                DVec3::Z * half_length.copysign(direction.z) + *radius * direction.normalize_or_zero()
            }
        }
    }
}
