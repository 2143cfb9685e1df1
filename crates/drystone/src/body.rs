//! What a body is: mass, inertia, how it moves, and what it collides with.

use glam::{DMat3, DQuat, DVec3};
use serde::{Deserialize, Serialize};

use crate::limits::{CHARGE, FARTHEST, FASTEST, MASSES, MOMENTS, ROUGHEST, sized, up_to, within};
use crate::material::MaterialId;
use crate::prescribed_motion::Guide;
pub use crate::principal::{principal_frame, principal_moments};
use crate::shape::{Pose, Shape};

/// Names a body for as long as it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BodyId {
    /// Index into the arrays of the model and the state.
    pub slot: u32,
    /// How often the slot was given away before.
    pub generation: u32,
}

/// How a body moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Motion {
    /// By forces and contacts.
    Dynamic,
    /// By its own velocity, whatever touches it.
    Kinematic,
    /// Not at all.
    Static,
}

/// Mass, centre of mass and inertia of a rigid body, in the body's own frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MassProperties {
    /// kg
    pub mass: f64,
    /// Centre of mass in the body's frame, m.
    pub centre: DVec3,
    /// Inertia tensor about the centre of mass, along the body's axes, kg m².
    pub inertia: DMat3,
}

impl MassProperties {
    /// Of a homogeneous shape whose frame is the body's: the centre of mass is its centroid.
    pub fn of_shape(shape: &Shape, mass: f64) -> Self {
        Self { mass, centre: shape.centroid(), inertia: shape.inertia(mass) }
    }

    /// With principal moments along the body's axes.
    pub fn principal(mass: f64, moments: DVec3) -> Self {
        Self { mass, centre: DVec3::ZERO, inertia: DMat3::from_diagonal(moments) }
    }

    /// Says what no real body could have: mass not positive, inertia not symmetric, or moments that break the
    /// triangle inequality (each principal moment is at most the sum of the other two).
    pub fn check(&self) -> Result<(), String> {
        if !(self.mass.is_finite() && self.mass > 0.0) {
            return Err(format!("mass must be positive and finite, got {}", self.mass));
        }
        if !MASSES.contains(&self.mass) {
            return Err(format!(
                "mass must be from 1e-40 to 1e40 kg, or numbers run out, got {:e}",
                self.mass
            ));
        }
        within("centre of mass", self.centre, FARTHEST, "m of the body's origin")?;
        let m = self.inertia.to_cols_array();
        if m.iter().any(|x| !x.is_finite()) {
            return Err("inertia must be finite".into());
        }
        let scale = m.iter().fold(0.0f64, |s, x| s.max(x.abs()));
        let t = self.inertia.transpose().to_cols_array();
        if m.iter().zip(&t).any(|(a, b)| (a - b).abs() > 1e-9 * scale) {
            return Err("inertia must be a symmetric tensor".into());
        }
        let p = principal_moments(&self.inertia);
        if p[0] <= 0.0 {
            return Err(format!("inertia must be positive definite, its principal moments are {p:?}"));
        }
        if !(MOMENTS.contains(&p[0]) && MOMENTS.contains(&p[2])) {
            return Err(format!(
                "inertia must have principal moments from 1e-60 to 1e60 kg m², or numbers run out, got {:e} to {:e}",
                p[0], p[2]
            ));
        }
        if p[2] > (p[0] + p[1]) * (1.0 + 1e-9) {
            return Err(format!(
                "inertia breaks the triangle inequality: principal moment {} exceeds {} + {}",
                p[2], p[0], p[1]
            ));
        }
        Ok(())
    }
}

/// A shape fixed to a body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Collider {
    /// Geometry.
    pub shape: Shape,
    /// Placement in the body's frame.
    pub local: Pose,
    /// Coefficient of friction; see [`crate::Materials`] for what a pair makes of its two, and
    /// [`crate::MOST_FRICTION`] for the largest that counts.
    pub mu: f64,
    /// Its material, if the table of materials is to know it.
    #[serde(default)]
    pub material: Option<MaterialId>,
    /// With what it collides.
    #[serde(default)]
    pub filter: Filter,
    /// How its surface runs over the body, m/s, the body's axes: a belt. Only what is tangential to a contact
    /// counts.
    #[serde(default)]
    pub surface_velocity: DVec3,
    /// It reports what overlaps it and pushes nothing: see [`crate::World::record_events`].
    #[serde(default)]
    pub sensor: bool,
}

impl Collider {
    /// A shape at the body's origin.
    pub fn new(shape: Shape, mu: f64) -> Self {
        let (material, filter) = (None, Filter::default());
        let (surface_velocity, sensor) = (DVec3::ZERO, false);
        Self { shape, local: Pose::IDENTITY, mu, material, filter, surface_velocity, sensor }
    }

    /// A shape at the body's origin that reports what overlaps it and pushes nothing.
    pub fn sensor(shape: Shape) -> Self {
        Self { sensor: true, ..Self::new(shape, 0.0) }
    }

    /// Places it in the body's frame.
    pub fn at(self, local: Pose) -> Self {
        Self { local, ..self }
    }

    /// Says what is wrong with it on a body that moves like this, naming the field.
    pub fn check(&self, motion: Motion) -> Result<(), String> {
        self.shape.check()?;
        within("its place", self.local.position, FARTHEST, "m of the body's origin")?;
        let length = self.local.rotation.length();
        if !(length.is_finite() && (length - 1.0).abs() < 1e-3) {
            return Err(format!("its rotation must be a unit quaternion, its length is {length}"));
        }
        up_to("mu", self.mu, ROUGHEST, "")?;
        within("surface_velocity", self.surface_velocity, FASTEST, "m/s")?;
        match ground_only(&self.shape) {
            Some(why) if motion == Motion::Dynamic => Err(why.into()),
            _ => Ok(()),
        }
    }
}

/// With what a shape collides: two shapes do if each is in a layer that the other's mask has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// The layers that the shape is in, one bit each.
    pub layers: u32,
    /// The layers that it collides with.
    pub mask: u32,
}

impl Default for Filter {
    /// In the first layer, and colliding with all.
    fn default() -> Self {
        Self { layers: 1, mask: u32::MAX }
    }
}

impl Filter {
    /// Whether the two may touch.
    #[inline]
    pub fn meets(self, other: Filter) -> bool {
        self.layers & other.mask != 0 && other.layers & self.mask != 0
    }
}

/// A body as handed to [`crate::World::add_body`].
///
/// ```
/// use drystone::{BodyDef, Shape};
/// use glam::DVec3;
/// let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 4.2).at(DVec3::new(0.0, 0.0, 1.0)).friction(0.4);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BodyDef {
    /// For messages and pictures.
    pub name: Option<String>,
    /// How it moves.
    pub motion: Motion,
    /// Counts while the body is dynamic; one that is not is as heavy as can be, and keeps it for
    /// [`crate::World::set_motion`].
    pub mass: MassProperties,
    /// Origin of the body's frame, m. (The state keeps the centre of mass.)
    pub position: DVec3,
    /// Orientation, unit.
    pub rotation: DQuat,
    /// Velocity of the centre of mass, m/s; zero of a static body.
    pub velocity: DVec3,
    /// Angular velocity in world axes, rad/s; zero of a static body.
    pub angular_velocity: DVec3,
    /// Shapes.
    pub colliders: Vec<Collider>,
    /// Bodies of one group other than 0 do not collide with each other.
    pub group: u32,
    /// A unit normal (world axes): the body moves only in the plane across it and turns only about it. None:
    /// freely.
    #[serde(default)]
    pub planar: Option<DVec3>,
    /// What leads it, if it is kinematic. None: its own velocity.
    #[serde(default)]
    pub guide: Option<Guide>,
    /// Charge, C (or whatever the pair forces are proportional to): see [`crate::field::Pair`].
    #[serde(default)]
    pub charge: f64,
}

impl BodyDef {
    fn new(motion: Motion, mass: MassProperties, colliders: Vec<Collider>) -> Self {
        Self {
            name: None,
            motion,
            mass,
            position: DVec3::ZERO,
            rotation: DQuat::IDENTITY,
            velocity: DVec3::ZERO,
            angular_velocity: DVec3::ZERO,
            colliders,
            group: 0,
            planar: None,
            guide: None,
            charge: 0.0,
        }
    }

    /// A homogeneous body of one shape.
    pub fn dynamic(shape: Shape, mass: f64) -> Self {
        let properties = MassProperties::of_shape(&shape, mass);
        Self::new(Motion::Dynamic, properties, vec![Collider::new(shape, 0.0)])
    }

    /// A homogeneous body of one shape, its mass from the density in kg/m³.
    ///
    /// ```
    /// use drystone::{BodyDef, Shape};
    /// let drum = BodyDef::solid(Shape::cylinder(0.5, 1.0), 1000.0);
    /// assert!((drum.mass.mass - 500.0 * std::f64::consts::PI).abs() < 1e-9);
    /// ```
    pub fn solid(shape: Shape, density: f64) -> Self {
        let mass = density * shape.volume();
        Self::dynamic(shape, mass)
    }

    /// A body that never moves.
    pub fn fixed(shape: Shape) -> Self {
        Self::new(Motion::Static, MassProperties::principal(1.0, DVec3::ONE), vec![Collider::new(shape, 0.0)])
    }

    /// A body that moves with its own velocity, whatever touches it.
    pub fn kinematic(shape: Shape) -> Self {
        Self { motion: Motion::Kinematic, ..Self::fixed(shape) }
    }

    /// A body without shapes.
    pub fn bare(mass: MassProperties) -> Self {
        Self::new(Motion::Dynamic, mass, Vec::new())
    }

    /// Places the origin of the body's frame.
    pub fn at(mut self, position: DVec3) -> Self {
        self.position = position;
        self
    }

    /// Turns the body.
    pub fn turned(mut self, rotation: DQuat) -> Self {
        self.rotation = rotation;
        self
    }

    /// Sets the velocity of the centre of mass and the angular velocity (world axes).
    pub fn moving(mut self, velocity: DVec3, angular_velocity: DVec3) -> Self {
        self.velocity = velocity;
        self.angular_velocity = angular_velocity;
        self
    }

    /// Sets the friction of all shapes.
    pub fn friction(mut self, mu: f64) -> Self {
        self.colliders.iter_mut().for_each(|c| c.mu = mu);
        self
    }

    /// Sets layers and mask of all shapes.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.colliders.iter_mut().for_each(|c| c.filter = filter);
        self
    }

    /// Sets the material of all shapes.
    pub fn material(mut self, material: MaterialId) -> Self {
        self.colliders.iter_mut().for_each(|c| c.material = Some(material));
        self
    }

    /// Lets the surfaces of all shapes run over the body, m/s, the body's axes: a belt.
    pub fn surface_velocity(mut self, velocity: DVec3) -> Self {
        self.colliders.iter_mut().for_each(|c| c.surface_velocity = velocity);
        self
    }

    /// Locks the body to the plane through its centre of mass across `normal` (world axes).
    pub fn planar(mut self, normal: DVec3) -> Self {
        self.planar = Some(normal);
        self
    }

    /// Lets a kinematic body follow functions of time.
    pub fn guided(mut self, guide: Guide) -> Self {
        self.guide = Some(guide);
        self
    }

    /// Charges the body, C.
    pub fn charged(mut self, charge: f64) -> Self {
        self.charge = charge;
        self
    }

    /// Replaces mass, centre of mass and inertia.
    pub fn mass(mut self, mass: MassProperties) -> Self {
        self.mass = mass;
        self
    }

    /// Names the body.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Says what is wrong with the definition, naming the field.
    pub fn check(&self) -> Result<(), String> {
        within("position", self.position, FARTHEST, "m of the origin")?;
        for (field, v, unit) in
            [("velocity", self.velocity, "m/s"), ("angular_velocity", self.angular_velocity, "rad/s")]
        {
            within(field, v, FASTEST, unit)?;
            if self.motion == Motion::Static && v != DVec3::ZERO {
                return Err(format!("{field}: {STANDS}"));
            }
        }
        sized("charge", self.charge, CHARGE, "C")?;
        let length = self.rotation.length();
        if !(length.is_finite() && (length - 1.0).abs() < 1e-3) {
            return Err(format!("rotation must be a unit quaternion, its length is {length}"));
        }
        if let Some(n) = self.planar {
            if self.motion != Motion::Dynamic {
                return Err("planar: only a dynamic body is locked to a plane".into());
            }
            let length = n.length();
            if !(length.is_finite() && (length - 1.0).abs() < 1e-3) {
                return Err(format!("planar: the normal must be a unit vector, its length is {length}"));
            }
        }
        if let Some(guide) = &self.guide {
            if self.motion != Motion::Kinematic {
                return Err("guide: only a kinematic body can be guided".into());
            }
            guide.check()?;
        }
        for (k, c) in self.colliders.iter().enumerate() {
            c.check(self.motion).map_err(|e| format!("collider {k}: {e}"))?;
        }
        // After the shapes: ground has no mass to speak of, and the shape is what to say then.
        if self.motion == Motion::Dynamic {
            self.mass.check()?;
        }
        Ok(())
    }
}

/// What to say of a velocity that a static body is to have.
pub(crate) const STANDS: &str =
    "a static body has none (surface_velocity makes it a belt, motion kinematic lets it move by itself)";

/// What to say of a shape that only static and kinematic bodies can have.
fn ground_only(shape: &Shape) -> Option<&'static str> {
    match shape {
        Shape::HalfSpace => Some("a half-space cannot belong to a dynamic body"),
        Shape::HeightField(_) => Some("a height field cannot belong to a dynamic body"),
        Shape::Mesh(_) => {
            Some("a mesh cannot belong to a dynamic body: decompose it into a compound of hulls")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_inertia_is_refused() {
        let ok = MassProperties::principal(1.0, DVec3::new(1.0, 2.0, 3.0));
        assert!(ok.check().is_ok());
        let bad = MassProperties::principal(1.0, DVec3::new(1.0, 2.0, 3.1));
        assert!(bad.check().unwrap_err().contains("triangle"));
        assert!(MassProperties::principal(0.0, DVec3::ONE).check().unwrap_err().contains("mass"));
        assert!(MassProperties::principal(1.0, DVec3::new(1.0, 1.0, -1.0)).check().is_err());
        for mass in [1e-320, 1e300] {
            assert!(MassProperties::principal(mass, DVec3::ONE).check().unwrap_err().contains("run out"));
            let moments = DVec3::splat(mass);
            assert!(MassProperties::principal(1.0, moments).check().unwrap_err().contains("inertia"));
        }
        let skew = DMat3::from_cols(DVec3::X, DVec3::new(0.1, 1.0, 0.0), DVec3::Z);
        assert!(MassProperties { inertia: skew, ..ok }.check().unwrap_err().contains("symmetric"));
    }
}
