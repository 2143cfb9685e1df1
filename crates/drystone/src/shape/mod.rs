//! Collision shapes: geometry in the shape's own frame, with volume, inertia, bounds and support. Lengths in
//! metres.
//!
//! The simple solids are centred on their own origin; a hull, a mesh or a compound lies where its points say,
//! and [`Shape::centroid`] tells where that is. Shapes with much data hold it behind an [`Arc`]: copies are
//! cheap.

mod build;
mod compound;
mod equal;
mod height_field;
mod hull;
mod mesh;
mod moments;
mod pose;
mod revolve;
mod round;
mod rounded;

use std::sync::Arc;

use glam::{DMat3, DVec3};
use serde::{Deserialize, Serialize};

pub use compound::Compound;
pub use height_field::HeightField;
pub use hull::{Edge, Face, Hull};
pub use mesh::TriMesh;
pub use moments::Moments;
pub use pose::Pose;

use crate::collide::Aabb;

/// Coordinates beyond this, and extents below its inverse, are refused in hulls and meshes: their moments
/// would leave the range of numbers. m
const FARTHEST: f64 = 1e60;
/// Lengths of shapes, m: their moments go by the fifth power.
const LARGEST: f64 = crate::limits::FARTHEST;

/// A contact names the triangle of a mesh or height field, or the part of a compound, with 20 bits.
pub const MOST_PARTS: usize = 1 << 20;

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
    /// A solid cylinder about the z axis with flat caps at z = ±half_length.
    Cylinder {
        /// m
        radius: f64,
        /// Half the distance of the caps, m.
        half_length: f64,
    },
    /// A solid cone about the z axis: base disc at z = -height/4, apex at z = 3/4 height, so that the
    /// centroid is the origin.
    Cone {
        /// Of the base, m.
        radius: f64,
        /// From base to apex, m.
        height: f64,
    },
    /// A solid ellipsoid.
    Ellipsoid {
        /// Semi-axes, m, along the local axes.
        half: DVec3,
    },
    /// The convex hull of points. Its centroid need not be the origin.
    Hull(Arc<Hull>),
    /// All points within `radius` of the core: a box, cylinder, cone or hull with round edges.
    Rounded {
        /// A box, cylinder, cone or hull.
        core: Arc<Shape>,
        /// m
        radius: f64,
    },
    /// A surface of triangles. Static or kinematic bodies only.
    Mesh(Arc<TriMesh>),
    /// Heights over a grid, solid below. Static or kinematic bodies only.
    HeightField(Arc<HeightField>),
    /// Convex parts, each with its place.
    Compound(Arc<Compound>),
}

impl Shape {
    /// A short name, as scene files spell it.
    pub fn name(&self) -> &'static str {
        match self {
            Shape::Sphere { .. } => "sphere",
            Shape::HalfSpace => "plane",
            Shape::Box { .. } => "box",
            Shape::Capsule { .. } => "capsule",
            Shape::Cylinder { .. } => "cylinder",
            Shape::Cone { .. } => "cone",
            Shape::Ellipsoid { .. } => "ellipsoid",
            Shape::Hull(_) => "convex",
            Shape::Rounded { .. } => "rounded",
            Shape::Mesh(_) => "mesh",
            Shape::HeightField(_) => "height_field",
            Shape::Compound(_) => "compound",
        }
    }

    /// Says what is wrong with the dimensions, if anything. (What cannot be built wrong is not looked at
    /// again.)
    pub fn check(&self) -> Result<(), String> {
        let positive = |name: &str, x: f64| {
            if !(x.is_finite() && x > 0.0) {
                Err(format!("{name} must be positive and finite, got {x}"))
            } else if x < crate::limits::SMALLEST {
                Err(format!(
                    "{name} must be at least {:e} m, or numbers run out, got {x:e}",
                    crate::limits::SMALLEST
                ))
            } else if x > LARGEST {
                Err(format!("{name} must be at most {LARGEST:e} m, or numbers run out, got {x:e}"))
            } else {
                Ok(())
            }
        };
        let inside = |name: &str, radius: f64| {
            let text = || format!("{name} must be within {LARGEST:e} m of the origin, got {radius:e}");
            if radius <= LARGEST { Ok(()) } else { Err(text()) }
        };
        let parts = |count: usize, what: &str| {
            if count <= MOST_PARTS {
                Ok(())
            } else {
                Err(format!("{count} {what} are too many for one shape: at most {MOST_PARTS}, split it"))
            }
        };
        match self {
            Shape::Sphere { radius } => positive("radius", *radius),
            Shape::HalfSpace => Ok(()),
            Shape::Hull(hull) => inside("points", hull.bounding_radius()),
            Shape::Box { half } | Shape::Ellipsoid { half } => {
                positive("half[0]", half.x)?;
                positive("half[1]", half.y)?;
                positive("half[2]", half.z)
            }
            Shape::Capsule { radius, half_length } => {
                positive("radius", *radius)?;
                if *half_length == 0.0 {
                    Ok(())
                } else if *half_length > 0.0 {
                    positive("half_length", *half_length)
                } else {
                    Err(format!("half_length must be finite and not negative, got {half_length}"))
                }
            }
            Shape::Cylinder { radius, half_length } => {
                positive("radius", *radius)?;
                positive("half_length", *half_length)
            }
            Shape::Cone { radius, height } => {
                positive("radius", *radius)?;
                positive("height", *height)
            }
            Shape::Rounded { core, radius } => {
                positive("radius", *radius)?;
                match **core {
                    Shape::Box { .. } | Shape::Cylinder { .. } | Shape::Cone { .. } | Shape::Hull(_) => {
                        core.check().map_err(|e| format!("core: {e}"))
                    }
                    _ => Err(format!("core must be a box, cylinder, cone or hull, not a {}", core.name())),
                }
            }
            Shape::Mesh(mesh) => {
                inside("vertices", mesh.bounding_radius())?;
                parts(mesh.triangles().len(), "triangles")
            }
            Shape::HeightField(field) => parts(field.triangle_count(), "triangles"),
            Shape::Compound(compound) => parts(compound.parts().len(), "parts"),
        }
    }

    /// Volume, centroid and second moments. Infinite volume for what has no bottom (half-space, height
    /// field), and not a number for a mesh that encloses nothing: [`TriMesh::mass_properties`] says why.
    pub fn moments(&self) -> Moments {
        use std::f64::consts::PI;
        match self {
            Shape::Sphere { radius } => {
                let volume = 4.0 / 3.0 * PI * radius.powi(3);
                Moments::centred(volume, DVec3::splat(0.2 * volume * radius * radius))
            }
            Shape::Box { half } => {
                let volume = 8.0 * half.x * half.y * half.z;
                Moments::centred(volume, volume / 3.0 * *half * *half)
            }
            Shape::Capsule { radius, half_length } => round::capsule(*radius, *half_length),
            Shape::Cylinder { radius, half_length } => round::cylinder(*radius, *half_length),
            Shape::Cone { radius, height } => round::cone(*radius, *height),
            Shape::Ellipsoid { half } => round::ellipsoid(*half),
            Shape::Hull(hull) => *hull.moments(),
            Shape::Rounded { core, radius } => rounded::moments(core, *radius),
            Shape::Mesh(mesh) => mesh.enclosed().unwrap_or(Moments::centred(f64::NAN, DVec3::NAN)),
            Shape::Compound(compound) => *compound.moments(),
            Shape::HalfSpace | Shape::HeightField(_) => {
                Moments::centred(f64::INFINITY, DVec3::splat(f64::INFINITY))
            }
        }
    }

    /// Volume in m³; infinite for a half-space or a height field, not a number for a mesh that encloses none.
    pub fn volume(&self) -> f64 {
        self.moments().volume
    }

    /// Centroid in the shape's frame, m; the origin for a half-space or a height field.
    pub fn centroid(&self) -> DVec3 {
        self.moments().centroid
    }

    /// Inertia tensor about the centroid for a homogeneous body of this shape with total mass `mass`, kg m².
    pub fn inertia(&self, mass: f64) -> DMat3 {
        let d = match self {
            Shape::Sphere { radius } => DVec3::splat(0.4 * mass * radius * radius),
            Shape::HalfSpace | Shape::HeightField(_) => DVec3::splat(f64::INFINITY),
            Shape::Box { half } => {
                let s = *half * *half;
                mass / 3.0 * DVec3::new(s.y + s.z, s.x + s.z, s.x + s.y)
            }
            Shape::Capsule { radius, half_length } => round::capsule_inertia(*radius, *half_length, mass),
            _ => return self.moments().inertia(mass),
        };
        DMat3::from_diagonal(d)
    }

    /// Radius of the smallest ball about the shape's origin that holds it, m. (A little more for a compound
    /// where an ellipsoid decides.)
    pub fn bounding_radius(&self) -> f64 {
        match self {
            Shape::Sphere { radius } => *radius,
            Shape::HalfSpace | Shape::HeightField(_) => f64::INFINITY,
            Shape::Box { half } => half.length(),
            Shape::Capsule { radius, half_length } => radius + half_length,
            Shape::Cylinder { radius, half_length } => radius.hypot(*half_length),
            Shape::Cone { radius, height } => (0.75 * height).max(radius.hypot(0.25 * height)),
            Shape::Ellipsoid { half } => half.max_element(),
            Shape::Hull(hull) => hull.bounding_radius(),
            Shape::Rounded { core, radius } => core.bounding_radius() + radius,
            Shape::Mesh(mesh) => mesh.bounding_radius(),
            Shape::Compound(compound) => compound.bounding_radius(),
        }
    }

    /// Radius of the largest ball about the centroid inside the shape, m: what a deep overlap is measured by.
    ///
    /// Of a rounded shape, about the centroid of its core. A compound or a mesh can be thin or hollow at its
    /// centroid: for a compound it is the smallest inner radius among the parts, for a mesh it is infinite,
    /// like the half-space that it may be ground for: the other shape of a pair decides.
    pub fn inner_radius(&self) -> f64 {
        match self {
            Shape::Sphere { radius } | Shape::Capsule { radius, .. } => *radius,
            Shape::HalfSpace | Shape::Mesh(_) | Shape::HeightField(_) => f64::INFINITY,
            Shape::Box { half } | Shape::Ellipsoid { half } => half.min_element(),
            Shape::Cylinder { radius, half_length } => radius.min(*half_length),
            Shape::Cone { radius, height } => round::cone_inner_radius(*radius, *height),
            Shape::Hull(hull) => hull.inner_radius(),
            Shape::Rounded { core, radius } => core.inner_radius() + radius,
            Shape::Compound(compound) => compound.inner_radius(),
        }
    }

    /// World bounds of the shape at `pose`: the smallest box, except for a height field that is turned.
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
            Shape::Cylinder { radius, half_length } => {
                let axis = pose.rotation * DVec3::Z;
                Aabb::around(pose.position, axis.abs() * *half_length + round::disc_reach(axis, *radius))
            }
            Shape::Cone { radius, height } => {
                let axis = pose.rotation * DVec3::Z;
                let (apex, base) = (0.75 * height * axis, -0.25 * height * axis);
                let reach = round::disc_reach(axis, *radius);
                Aabb {
                    min: pose.position + apex.min(base - reach),
                    max: pose.position + apex.max(base + reach),
                }
            }
            Shape::Ellipsoid { half } => {
                let m = DMat3::from_quat(pose.rotation);
                let (x, y, z) = (m.x_axis * half.x, m.y_axis * half.y, m.z_axis * half.z);
                let squares = x * x + y * y + z * z;
                Aabb::around(pose.position, squares.map(f64::sqrt))
            }
            Shape::Hull(hull) => hull.aabb(pose),
            Shape::Rounded { core, radius } => core.aabb(pose).grown(*radius),
            Shape::Mesh(mesh) => mesh.aabb(pose),
            Shape::HeightField(field) => field.aabb(pose),
            Shape::Compound(compound) => compound.aabb(pose),
        }
    }

    /// The point of the shape furthest along `direction` (not zero), all in the shape's frame. For a
    /// half-space, the origin: it has no furthest point except along its normal. For a height field, the
    /// furthest point of its surface.
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
            Shape::Cylinder { radius, half_length } => {
                round::rim(*radius, direction).with_z(half_length.copysign(direction.z))
            }
            Shape::Cone { radius, height } => {
                if direction.z * height >= radius * direction.truncate().length() {
                    DVec3::Z * (0.75 * height)
                } else {
                    round::rim(*radius, direction).with_z(-0.25 * height)
                }
            }
            Shape::Ellipsoid { half } => *half * (*half * direction.normalize_or_zero()).normalize_or_zero(),
            Shape::Hull(hull) => hull.vertices()[hull.support(direction) as usize],
            Shape::Rounded { core, radius } => {
                core.support(direction) + *radius * direction.normalize_or_zero()
            }
            Shape::Mesh(mesh) => mesh.support(direction),
            Shape::HeightField(field) => field.support(direction),
            Shape::Compound(compound) => compound.support(direction),
        }
    }

    /// Whether the shape is one convex piece, as the narrow phase takes them. A compound is not, even of one
    /// part.
    pub fn is_convex(&self) -> bool {
        !matches!(self, Shape::Mesh(_) | Shape::HeightField(_) | Shape::Compound(_))
    }
}
