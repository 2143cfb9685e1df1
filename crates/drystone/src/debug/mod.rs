//! Debug drawing: what a world knows, as lines, points and shapes, for any renderer.
//!
//! A renderer implements [`DebugDraw`]; [`World::debug_draw`] calls it with what [`DebugOptions`] asks for.
//! Only [`DebugDraw::line`] has to be written: points are crosses and shapes are outlines of lines unless the
//! renderer can do better.

mod outline;

use glam::DVec3;

use crate::body::Motion;
use crate::model::Model;
use crate::shape::{Pose, Shape};
use crate::world::World;

pub use outline::outline;

/// Red, green, blue and opacity, each from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Colour(pub [f32; 4]);

impl Colour {
    /// Bodies that move.
    pub const DYNAMIC: Self = Self([0.25, 0.55, 0.95, 1.0]);
    /// Bodies that are led.
    pub const KINEMATIC: Self = Self([0.70, 0.45, 0.90, 1.0]);
    /// Bodies that stay.
    pub const STATIC: Self = Self([0.55, 0.55, 0.55, 1.0]);
    /// Bodies that sleep.
    pub const ASLEEP: Self = Self([0.35, 0.40, 0.45, 1.0]);
    /// Colliders that report and do not push.
    pub const SENSOR: Self = Self([0.95, 0.80, 0.20, 1.0]);
    /// Contact points and normals.
    pub const CONTACT: Self = Self([0.95, 0.30, 0.25, 1.0]);
    /// Forces on bodies.
    pub const FORCE: Self = Self([1.00, 0.60, 0.10, 1.0]);
    /// Joints.
    pub const JOINT: Self = Self([0.20, 0.80, 0.55, 1.0]);
    /// Boxes of the broad phase.
    pub const BOX: Self = Self([0.60, 0.75, 0.30, 1.0]);
    /// Velocities.
    pub const VELOCITY: Self = Self([0.30, 0.85, 0.90, 1.0]);
    /// The axes x, y and z.
    pub const AXES: [Self; 3] =
        [Self([0.9, 0.2, 0.2, 1.0]), Self([0.2, 0.8, 0.2, 1.0]), Self([0.3, 0.4, 1.0, 1.0])];
}

/// What to draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DebugOptions {
    /// Colliders; their colour tells how a body moves and whether it sleeps.
    pub shapes: bool,
    /// Boxes around colliders, as the broad phase sees them; none around half-spaces.
    pub boxes: bool,
    /// Points and normals of the last step's contacts.
    pub contacts: bool,
    /// Contact forces of the last step and reactions of joints: length of 1 N, m. None: not drawn.
    pub forces: Option<f64>,
    /// Joints: from each body to the joint, and the frame on the second body.
    pub joints: bool,
    /// Axes of the bodies' frames: their length, m. None: not drawn.
    pub axes: Option<f64>,
    /// Velocities of centres of mass: length of 1 m/s, m. None: not drawn.
    pub velocities: Option<f64>,
    /// Half width of points and length of contact normals, m.
    pub size: f64,
}

impl Default for DebugOptions {
    /// Shapes, contacts and joints; marks of 5 cm.
    fn default() -> Self {
        Self {
            shapes: true,
            boxes: false,
            contacts: true,
            forces: None,
            joints: true,
            axes: None,
            velocities: None,
            size: 0.05,
        }
    }
}

impl DebugOptions {
    /// Everything: 1 mm for 1 N, 10 cm for 1 m/s, axes and marks of `size` (m).
    pub fn all(size: f64) -> Self {
        Self {
            boxes: true,
            forces: Some(1e-3),
            axes: Some(size),
            velocities: Some(0.1),
            size,
            ..Self::default()
        }
    }
}

/// Something that can draw lines in the world.
///
/// ```
/// use drystone::debug::{Colour, DebugDraw, DebugOptions};
/// use drystone::{BodyDef, Settings, Shape, World};
/// use glam::DVec3;
///
/// #[derive(Default)]
/// struct Lines(Vec<[DVec3; 2]>);
///
/// impl DebugDraw for Lines {
///     fn line(&mut self, from: DVec3, to: DVec3, _colour: Colour) {
///         self.0.push([from, to]);
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut world = World::new(Settings::default())?;
/// world.add_body(BodyDef::dynamic(Shape::cuboid(DVec3::ONE), 1.0))?;
/// let mut lines = Lines::default();
/// world.debug_draw(&mut lines, &DebugOptions::default());
/// assert_eq!(lines.0.len(), 12);
/// # Ok(())
/// # }
/// ```
pub trait DebugDraw {
    /// A line between two points, m, world.
    fn line(&mut self, from: DVec3, to: DVec3, colour: Colour);

    /// A point; by itself a cross of three lines that reach `size` (m) from it.
    fn point(&mut self, at: DVec3, size: f64, colour: Colour) {
        for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
            self.line(at - size * axis, at + size * axis, colour);
        }
    }

    /// A shape at a pose; by itself its [`outline`].
    fn shape(&mut self, shape: &Shape, pose: &Pose, colour: Colour) {
        outline(shape, pose, &mut |a, b| self.line(a, b, colour));
    }
}

impl World {
    /// Draws what `what` asks for: bodies as they are now, contacts and forces of the last step.
    pub fn debug_draw(&self, to: &mut dyn DebugDraw, what: &DebugOptions) {
        self.draw_colliders(to, what);
        self.draw_bodies(to, what);
        self.draw_contacts(to, what);
        if what.joints || what.forces.is_some() {
            self.draw_joints(to, what);
        }
    }

    fn draw_colliders(&self, to: &mut dyn DebugDraw, what: &DebugOptions) {
        if !(what.shapes || what.boxes) {
            return;
        }
        for (k, c) in self.model.colliders.iter().enumerate() {
            let Some(pose) = self.model.collider_pose(&self.state, k) else { continue };
            if what.shapes {
                let colour = match self.model.is_sensor(k as u32) {
                    true => Colour::SENSOR,
                    false => self.colour_of(&self.model, c.body as usize),
                };
                to.shape(&c.shape, &pose, colour);
            }
            let bounds = c.shape.aabb(&pose);
            if what.boxes && bounds.min.is_finite() && bounds.max.is_finite() {
                let half = 0.5 * (bounds.max - bounds.min);
                let at = Pose::at(0.5 * (bounds.max + bounds.min));
                outline(&Shape::Box { half }, &at, &mut |a, b| to.line(a, b, Colour::BOX));
            }
        }
    }

    fn colour_of(&self, model: &Model, body: usize) -> Colour {
        match model.bodies[body].motion {
            Motion::Static => Colour::STATIC,
            Motion::Kinematic => Colour::KINEMATIC,
            Motion::Dynamic if self.state.rest.is_asleep(body) => Colour::ASLEEP,
            Motion::Dynamic => Colour::DYNAMIC,
        }
    }

    fn draw_bodies(&self, to: &mut dyn DebugDraw, what: &DebugOptions) {
        if what.axes.is_none() && what.velocities.is_none() {
            return;
        }
        for i in self.model.slots() {
            let (x, q) = (self.state.position[i], self.state.rotation[i]);
            if let Some(length) = what.axes {
                let origin = x - q * self.model.centre(i);
                draw_axes(to, &Pose::new(origin, q), length);
            }
            let v = self.state.velocity[i];
            if let Some(length) = what.velocities
                && v != DVec3::ZERO
            {
                to.line(x, x + length * v, Colour::VELOCITY);
            }
        }
    }

    fn draw_contacts(&self, to: &mut dyn DebugDraw, what: &DebugOptions) {
        for c in self.contacts() {
            if what.contacts {
                to.point(c.point, 0.2 * what.size, Colour::CONTACT);
                to.line(c.point, c.point + what.size * c.normal, Colour::CONTACT);
            }
            if let Some(length) = what.forces
                && c.impulse != DVec3::ZERO
            {
                to.line(c.point, c.point + length / self.settings.h * c.impulse, Colour::FORCE);
            }
        }
    }

    fn draw_joints(&self, to: &mut dyn DebugDraw, what: &DebugOptions) {
        for id in self.joints() {
            let (Ok(joint), Ok([a, b])) = (self.joint(id), self.joint_frames(id)) else { continue };
            if what.joints {
                for (body, frame) in joint.bodies.iter().zip([&a, &b]) {
                    if let Some(centre) = self.state.position.get(*body as usize) {
                        to.line(*centre, frame.position, Colour::JOINT);
                    }
                }
                to.line(a.position, b.position, Colour::JOINT);
                draw_axes(to, &b, what.size);
            }
            if let Some(length) = what.forces
                && let Ok(reaction) = self.joint_reaction(id)
                && reaction.force != DVec3::ZERO
            {
                to.line(b.position, b.position + length * reaction.force, Colour::FORCE);
            }
        }
    }
}

fn draw_axes(to: &mut dyn DebugDraw, at: &Pose, length: f64) {
    for (axis, colour) in [DVec3::X, DVec3::Y, DVec3::Z].into_iter().zip(Colour::AXES) {
        to.line(at.position, at.point(length * axis), colour);
    }
}
