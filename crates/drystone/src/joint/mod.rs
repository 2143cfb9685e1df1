//! Joints: what relates the motion of two bodies, or of one body and the world.
//!
//! A joint has a frame on each of its bodies and a [`Kind`] that says which scalar equations hold between the
//! frames: see [`equation`]. The coordinates that it leaves free may have motors, limits, friction and
//! springs: see [`law`]. Each equation is one row of the step's cone complementarity problem
//! [TasoraAnitescu2011, eq. 31-34], with all of R as its admissible set; `formulation/rows.rs` puts them
//! there.
//!
//! Coordinates and reactions are about the second body relative to the first: a revolute joint's angle rises
//! when B turns about the axis, seen from A; its reaction is what A (through the joint) does to B.

mod ball;
mod bushing;
pub(crate) mod consistent;
mod coupled_bushing;
pub(crate) mod custom;
mod cylindrical;
mod distance;
pub(crate) mod drift;
pub mod equation;
mod fixed;
mod gear;
pub(crate) mod kind;
mod knife_edge;
pub mod law;
mod placed;
mod planar;
mod point_on_line;
mod point_on_plane;
mod prismatic;
mod pulley;
mod rack_and_pinion;
pub(crate) mod redundancy;
mod revolute;
mod rolling_disc;
mod screw;
pub(crate) mod slot;
mod trajectory;
mod universal;

pub use bushing::Bushing;
pub use coupled_bushing::CoupledBushing;
pub use custom::{Custom, Equation};
pub(crate) use drift::{error_at, error_of};
pub use equation::{Coordinate, Equations, Placed, Row, Sort};
pub use kind::Kind;
pub use law::{Command, Law, Limits, Motor, Spring};
pub use redundancy::Redundancy;
pub use slot::{Joint, JointError, JointState, ROWS, Reaction, WORLD_BODY};
pub use trajectory::Trajectory;

use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

use crate::limits::{FARTHEST, STIFFEST, up_to, within};
use crate::model::BodyId;
use crate::settings::Stabilisation;
use crate::shape::Pose;

/// Names a joint for as long as it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JointId {
    /// Index into the arrays of the model and the state.
    pub slot: u32,
    /// How often the slot was given away before.
    pub generation: u32,
}

/// Where the frames of a new joint are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Frames {
    /// Both are this frame of the world at the time when the joint is added.
    World(Pose),
    /// Each is a frame of the world at the time when the joint is added.
    Worlds(Pose, Pose),
    /// Frame A in the frame of the first body and frame B in that of the second (of the world, where there is
    /// no body).
    Local(Pose, Pose),
}

/// A joint as handed to [`crate::World::add_joint`].
///
/// ```
/// use drystone::{BodyDef, JointDef, MassProperties, Motor, Settings, World};
/// use glam::DVec3;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut world = World::new(Settings::default())?;
/// let rod = MassProperties::principal(1.0, DVec3::new(0.01, 0.1, 0.1));
/// let rod = world.add_body(BodyDef::bare(rod).at(DVec3::new(0.5, 0.0, 0.0)))?;
/// let hinge = world.add_joint(JointDef::revolute(None, rod, DVec3::ZERO, DVec3::Y))?;
/// world.set_motor(hinge, 0, Some(Motor::speed(2.0).limited(100.0)))?;
/// world.step()?;
/// assert!((world.joint_rates(hinge)?[0] - 2.0).abs() < 1e-3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct JointDef {
    /// For messages.
    pub name: Option<String>,
    /// What it does.
    pub kind: Kind,
    /// The first body; None is the world.
    pub a: Option<BodyId>,
    /// The second body; None is the world.
    pub b: Option<BodyId>,
    /// Where it is.
    pub frames: Frames,
    /// What acts along the free coordinates, in their order.
    pub laws: Vec<Law>,
    /// Compliance of the joint's equations, m/N and rad/(N m): zero is rigid.
    pub compliance: [f64; 2],
    /// Whether the two bodies collide with each other.
    pub collide: bool,
    /// The length L that makes speeds of rotation m/s, m; None: the smaller radius of gyration of its bodies.
    pub length: Option<f64>,
    /// Share K of its errors that a step takes away, in (0, 1]: where the world's stabilisation is
    /// [`crate::Stabilisation::Scaled`], in place of its K [TasoraAnitescu2011, §5.2]. None: that one.
    pub k: Option<f64>,
}

/// A rotation that takes z to `axis` by the shortest way.
fn along(axis: DVec3) -> DQuat {
    match axis.try_normalize() {
        Some(z) => DQuat::from_rotation_arc(DVec3::Z, z),
        // `check` refuses it: here it only has to be visible.
        None => DQuat::from_xyzw(f64::NAN, f64::NAN, f64::NAN, f64::NAN),
    }
}

/// A frame at `position` whose z axis is `axis`, turned there by the shortest way. A zero axis makes a frame
/// that every joint refuses.
pub fn frame(position: DVec3, axis: DVec3) -> Pose {
    Pose::new(position, along(axis))
}

impl JointDef {
    /// Between two bodies (None: the world), with both frames at one frame of the world.
    pub fn new(
        kind: Kind,
        a: impl Into<Option<BodyId>>,
        b: impl Into<Option<BodyId>>,
        position: DVec3,
        rotation: DQuat,
    ) -> Self {
        Self {
            name: None,
            kind,
            a: a.into(),
            b: b.into(),
            frames: Frames::World(Pose::new(position, rotation)),
            laws: Vec::new(),
            compliance: [0.0; 2],
            collide: false,
            length: None,
            k: None,
        }
    }

    /// Welds B to A.
    pub fn fixed(a: impl Into<Option<BodyId>>, b: impl Into<Option<BodyId>>, at: DVec3) -> Self {
        Self::new(Kind::Fixed, a, b, at, DQuat::IDENTITY)
    }

    /// B turns about `axis` through `at`.
    pub fn revolute(
        a: impl Into<Option<BodyId>>,
        b: impl Into<Option<BodyId>>,
        at: DVec3,
        axis: DVec3,
    ) -> Self {
        Self::new(Kind::Revolute, a, b, at, along(axis))
    }

    /// B slides along `axis`.
    pub fn prismatic(
        a: impl Into<Option<BodyId>>,
        b: impl Into<Option<BodyId>>,
        at: DVec3,
        axis: DVec3,
    ) -> Self {
        Self::new(Kind::Prismatic, a, b, at, along(axis))
    }

    /// B slides along `axis` through `at` and turns about it.
    pub fn cylindrical(
        a: impl Into<Option<BodyId>>,
        b: impl Into<Option<BodyId>>,
        at: DVec3,
        axis: DVec3,
    ) -> Self {
        Self::new(Kind::Cylindrical, a, b, at, along(axis))
    }

    /// B turns about `at`.
    pub fn ball(a: impl Into<Option<BodyId>>, b: impl Into<Option<BodyId>>, at: DVec3) -> Self {
        Self::new(Kind::Ball, a, b, at, DQuat::IDENTITY)
    }

    /// A cross at `at` that turns about the axis `x` of A and carries B on the axis `y`, which is taken
    /// across x.
    pub fn universal(
        a: impl Into<Option<BodyId>>,
        b: impl Into<Option<BodyId>>,
        at: DVec3,
        x: DVec3,
        y: DVec3,
    ) -> Self {
        let z = x.cross(y);
        let rotation = match (x.try_normalize(), z.try_normalize()) {
            (Some(x), Some(z)) => DQuat::from_mat3(&glam::DMat3::from_cols(x, z.cross(x), z)),
            _ => along(DVec3::ZERO),
        };
        Self::new(Kind::Universal, a, b, at, rotation)
    }

    /// B slides in the plane through `at` across `normal` and turns about the normal.
    pub fn planar(
        a: impl Into<Option<BodyId>>,
        b: impl Into<Option<BodyId>>,
        at: DVec3,
        normal: DVec3,
    ) -> Self {
        Self::new(Kind::Planar, a, b, at, along(normal))
    }

    /// The point of B that is now at `at` stays on the line of A through it along `axis`.
    pub fn point_on_line(
        a: impl Into<Option<BodyId>>,
        b: impl Into<Option<BodyId>>,
        at: DVec3,
        axis: DVec3,
    ) -> Self {
        Self::new(Kind::PointOnLine, a, b, at, along(axis))
    }

    /// The point of B that is now at `at` stays in the plane of A through it across `normal`.
    pub fn point_on_plane(
        a: impl Into<Option<BodyId>>,
        b: impl Into<Option<BodyId>>,
        at: DVec3,
        normal: DVec3,
    ) -> Self {
        Self::new(Kind::PointOnPlane, a, b, at, along(normal))
    }

    /// B turns about `axis` through `at` and advances along it by `pitch` in every turn.
    pub fn screw(
        a: impl Into<Option<BodyId>>,
        b: impl Into<Option<BodyId>>,
        at: DVec3,
        axis: DVec3,
        pitch: f64,
    ) -> Self {
        Self::new(Kind::Screw { pitch }, a, b, at, along(axis))
    }

    fn two_axes(
        kind: Kind,
        (a, axis_a): (BodyId, DVec3),
        (b, axis_b): (BodyId, DVec3),
        at: [DVec3; 2],
    ) -> Self {
        let mut def = Self::new(kind, a, b, DVec3::ZERO, DQuat::IDENTITY);
        def.frames = Frames::Worlds(Pose::new(at[0], along(axis_a)), Pose::new(at[1], along(axis_b)));
        def
    }

    /// B turns `ratio` times as fast as A, each about its axis (world, now).
    pub fn gear(a: (BodyId, DVec3), b: (BodyId, DVec3), ratio: f64) -> Self {
        Self::two_axes(Kind::Gear { ratio }, a, b, [DVec3::ZERO; 2])
    }

    /// The rack moves along its axis by `radius` times the angle of the pinion about its own.
    pub fn rack_and_pinion(pinion: (BodyId, DVec3), rack: (BodyId, DVec3), radius: f64) -> Self {
        Self::two_axes(Kind::RackAndPinion { radius }, pinion, rack, [DVec3::ZERO; 2])
    }

    /// A rope from a point of A (world, now) over two points of the world to a point of B; taut as it is now.
    pub fn pulley(a: (BodyId, DVec3), b: (BodyId, DVec3), points: [DVec3; 2], ratio: f64) -> Self {
        let length = (a.1 - points[0]).length() + ratio * (b.1 - points[1]).length();
        let kind = Kind::Pulley { points, ratio, length };
        Self::two_axes(kind, (a.0, DVec3::Z), (b.0, DVec3::Z), [a.1, b.1])
    }

    /// Springs and dampers between B and A, without force as they are now.
    pub fn bushing(
        a: impl Into<Option<BodyId>>,
        b: impl Into<Option<BodyId>>,
        at: DVec3,
        bushing: Bushing,
    ) -> Self {
        Self::new(Kind::Bushing(Box::new(bushing)), a, b, at, DQuat::IDENTITY)
    }

    /// Springs and dampers that couple all axes, those of the world now, without force as the bodies are now.
    pub fn coupled_bushing(
        a: impl Into<Option<BodyId>>,
        b: impl Into<Option<BodyId>>,
        at: DVec3,
        bushing: CoupledBushing,
    ) -> Self {
        Self::new(Kind::CoupledBushing(Box::new(bushing)), a, b, at, DQuat::IDENTITY)
    }

    /// The point of B (in its own frame) follows functions of time along the axes of A (of the world, without
    /// A).
    pub fn trajectory(
        a: Option<BodyId>,
        (b, point): (BodyId, DVec3),
        position: [crate::Function; 3],
        rotation: Option<[crate::Function; 3]>,
    ) -> Self {
        Self::points(
            Kind::Trajectory(Box::new(Trajectory { position, rotation })),
            (a, DVec3::ZERO),
            (Some(b), point),
        )
    }

    /// Equations of one's own between a frame of A and a frame of B, each in its body's frame (the world's,
    /// where there is no body). Their gradients are compared with differences of their values when the joint
    /// is added.
    pub fn custom(
        a: impl Into<Option<BodyId>>,
        b: impl Into<Option<BodyId>>,
        frame_a: Pose,
        frame_b: Pose,
        equations: Custom,
    ) -> Self {
        let mut def = Self::new(Kind::Custom(equations), a, b, DVec3::ZERO, DQuat::IDENTITY);
        def.frames = Frames::Local(frame_a, frame_b);
        def.collide = true;
        def
    }

    /// A blade at `at`, along `blade`, that does not slip sideways on A; `up` shows which way is sideways.
    pub fn knife_edge(
        a: impl Into<Option<BodyId>>,
        b: impl Into<Option<BodyId>>,
        at: DVec3,
        blade: DVec3,
        up: DVec3,
    ) -> Self {
        let side = up.cross(blade);
        let rotation = match (blade.try_normalize(), side.try_normalize()) {
            (Some(x), Some(y)) => DQuat::from_mat3(&glam::DMat3::from_cols(x, y, x.cross(y))),
            _ => along(DVec3::ZERO),
        };
        Self::new(Kind::KnifeEdge, a, b, at, rotation)
    }

    /// The disc B about `axis` through its `centre` rolls on the plane of A through `ground` with this
    /// normal.
    pub fn rolling_disc(
        a: impl Into<Option<BodyId>>,
        (ground, normal): (DVec3, DVec3),
        b: BodyId,
        (centre, axis): (DVec3, DVec3),
        radius: f64,
    ) -> Self {
        let mut def = Self::new(Kind::RollingDisc { radius }, a, b, DVec3::ZERO, DQuat::IDENTITY);
        def.frames = Frames::Worlds(Pose::new(ground, along(normal)), Pose::new(centre, along(axis)));
        def
    }

    /// A joint of this kind with frames given in the bodies' own frames.
    pub fn local(
        kind: Kind,
        (a, frame_a): (Option<BodyId>, Pose),
        (b, frame_b): (Option<BodyId>, Pose),
    ) -> Self {
        let mut def = Self::new(kind, a, b, DVec3::ZERO, DQuat::IDENTITY);
        def.frames = Frames::Local(frame_a, frame_b);
        def
    }

    /// Frames given by points in the bodies' own frames (of the world, where there is no body).
    fn points(kind: Kind, (a, pa): (Option<BodyId>, DVec3), (b, pb): (Option<BodyId>, DVec3)) -> Self {
        Self::local(kind, (a, Pose::new(pa, DQuat::IDENTITY)), (b, Pose::new(pb, DQuat::IDENTITY)))
    }

    /// A rod of this length between two points, each given in its body's own frame (of the world, where there
    /// is no body).
    pub fn distance(a: (Option<BodyId>, DVec3), b: (Option<BodyId>, DVec3), length: f64) -> Self {
        Self::points(Kind::Distance { length }, a, b)
    }

    /// A rope between two points, each given in its body's own frame.
    pub fn rope(a: (Option<BodyId>, DVec3), b: (Option<BodyId>, DVec3), length: f64) -> Self {
        Self::points(Kind::Rope { length }, a, b)
    }

    /// A spring with a damper between two points, each given in its body's own frame.
    pub fn spring_between(
        a: (Option<BodyId>, DVec3),
        b: (Option<BodyId>, DVec3),
        length: f64,
        stiffness: f64,
        damping: f64,
    ) -> Self {
        Self::points(Kind::Spring { length, stiffness, damping }, a, b)
    }

    /// Names the joint.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Puts a motor on free coordinate `k`.
    pub fn motor(mut self, k: usize, motor: Motor) -> Self {
        self.law_mut(k).motor = Some(motor);
        self
    }

    /// Ends free coordinate `k` at `lower` and `upper`.
    pub fn limits(mut self, k: usize, lower: f64, upper: f64, restitution: f64) -> Self {
        self.law_mut(k).limits = Some(Limits { lower, upper, restitution });
        self
    }

    /// Puts dry friction of this force or torque on free coordinate `k`.
    pub fn friction(mut self, k: usize, force: f64) -> Self {
        self.law_mut(k).friction = force;
        self
    }

    /// Puts a spring with a damper on free coordinate `k`.
    pub fn spring(mut self, k: usize, rest: f64, stiffness: f64, damping: f64) -> Self {
        self.law_mut(k).spring = Some(Spring { rest, stiffness, damping });
        self
    }

    /// Makes the joint compliant, m/N and rad/(N m).
    pub fn compliant(mut self, linear: f64, angular: f64) -> Self {
        self.compliance = [linear, angular];
        self
    }

    /// Lets the two bodies collide.
    pub fn colliding(mut self) -> Self {
        self.collide = true;
        self
    }

    fn law_mut(&mut self, k: usize) -> &mut Law {
        if self.laws.len() <= k {
            self.laws.resize(k + 1, Law::default());
        }
        &mut self.laws[k]
    }

    /// "revolute joint (mast)" or "revolute joint".
    pub(crate) fn describe(&self) -> String {
        match &self.name {
            Some(name) => format!("{} joint ({name})", self.kind.name()),
            None => format!("{} joint", self.kind.name()),
        }
    }

    /// Says what is wrong with the definition, naming the field.
    pub fn check(&self) -> Result<(), String> {
        self.kind.check()?;
        let poses = match self.frames {
            Frames::World(p) => [p, p],
            Frames::Local(a, b) | Frames::Worlds(a, b) => [a, b],
        };
        for p in poses {
            within("anchor", p.position, FARTHEST, "m of the origin")?;
            let length = p.rotation.length();
            if !(length.is_finite() && (length - 1.0).abs() < 1e-3) {
                return Err("axis must be a finite vector that is not zero".into());
            }
        }
        let free = self.kind.coordinates().len();
        for (k, law) in self.laws.iter().enumerate() {
            if k >= free && !law.is_empty() {
                return Err(format!(
                    "there is no free coordinate {k}: a {} joint has {free}",
                    self.kind.name()
                ));
            }
            law.check().map_err(|e| format!("coordinate {k}: {e}"))?;
        }
        if self.compliance.iter().any(|c| !(c.is_finite() && *c >= 0.0)) {
            return Err(format!("compliance must be finite and not negative, got {:?}", self.compliance));
        }
        self.compliance.iter().try_for_each(|c| up_to("compliance", *c, STIFFEST, "m/N or rad/(N m)"))?;
        Stabilisation::check_own(self.k)?;
        match self.length {
            Some(l) if !(l.is_finite() && l > 0.0) => Err(format!("length must be positive, got {l}")),
            _ => Ok(()),
        }
    }
}
