//! Flat states: bodies, walls and joints in one JSON object that any engine can start from.
//!
//! SI units, z up. Poses are of the centre of mass, which is the centre of the shape; the principal axes of
//! inertia are the axes of the shape, and the points of a convex hull are given in that frame; angular
//! velocities are in world axes. A plane is the half-space z <= pos.z. Bodies of one group other than 0 do
//! not collide with each other. One coefficient of friction holds for all.

mod check;
mod joint;
mod read;
mod world;

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::SceneError;
use crate::text::{At, Format, Source};

pub(crate) use read::FIELDS;
pub use world::of_world;

/// A flat state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlatState {
    /// What it is called.
    pub name: String,
    /// Step, s.
    pub h: f64,
    /// Duration, s.
    #[serde(rename = "T")]
    pub duration: f64,
    /// m/s²
    pub gravity: [f64; 3],
    /// Coefficient of friction of every pair.
    pub mu: f64,
    /// Coefficient of restitution of every pair.
    pub restitution: f64,
    /// Times at which snapshots are wanted, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snaps: Option<Vec<f64>>,
    /// What never moves.
    pub statics: Vec<FlatStatic>,
    /// What moves.
    pub bodies: Vec<FlatBody>,
    /// What connects them.
    pub joints: Vec<FlatJoint>,
    /// For scripts that look at one vehicle of many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bodies_per_vehicle: Option<u32>,
}

/// The shape of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyShape {
    /// Of radius `r`.
    Sphere,
    /// Of half extents `half`.
    Box,
    /// Of radius `r` about a segment of half length `half_length` along z.
    Capsule,
    /// Of radius `r` and half length `half_length` along z.
    Cylinder,
    /// The hull of `points`.
    Convex,
    /// Touches nothing.
    None,
}

/// The shape of a wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StaticShape {
    /// Of half extents `half`.
    Box,
    /// All points with z <= pos.z; `half` is only what a picture shows of it.
    Plane,
}

/// Something that never moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlatStatic {
    /// Its kind.
    pub shape: StaticShape,
    /// Half extents, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half: Option<[f64; 3]>,
    /// Centre of a box, a point of a plane, m.
    pub pos: [f64; 3],
    /// w, x, y, z; none means not turned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quat: Option<[f64; 4]>,
}

/// A body that moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlatBody {
    /// Its kind.
    pub shape: BodyShape,
    /// Radius, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r: Option<f64>,
    /// Half extents, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half: Option<[f64; 3]>,
    /// Half length, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_length: Option<f64>,
    /// Corners in the body's frame, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<[f64; 3]>>,
    /// Mass, kg.
    pub m: f64,
    /// Principal moments of inertia along the body's axes, kg m².
    #[serde(rename = "I")]
    pub inertia: [f64; 3],
    /// Centre of mass, m.
    pub pos: [f64; 3],
    /// Orientation: w, x, y, z.
    pub quat: [f64; 4],
    /// m/s
    pub vel: [f64; 3],
    /// World axes, rad/s.
    pub omega: [f64; 3],
    /// Bodies of one group other than 0 do not collide with each other.
    pub group: u32,
}

/// The kind of a joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JointKind {
    /// Turns about the axis.
    Revolute,
    /// Slides along the axis.
    Prismatic,
    /// Nothing moves.
    Fixed,
    /// Turns about the anchor.
    Ball,
}

/// A joint between two bodies, given by its place at time zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlatJoint {
    /// What it leaves free.
    #[serde(rename = "type")]
    pub kind: JointKind,
    /// Index of the first body; -1 is the world.
    pub a: i64,
    /// Index of the second body; -1 is the world.
    pub b: i64,
    /// World point, m.
    pub anchor: [f64; 3],
    /// World direction.
    pub axis: [f64; 3],
    /// A motor, if it has one.
    pub drive: Option<Drive>,
    /// Whether it closes a loop, for engines with reduced coordinates.
    #[serde(default, rename = "loop", skip_serializing_if = "Option::is_none")]
    pub closes_loop: Option<bool>,
}

/// What a drive holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriveMode {
    /// The speed `target`.
    Velocity,
    /// The angle or displacement `target` from the start pose.
    Position,
}

/// A motor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// What is held.
    pub mode: DriveMode,
    /// rad, m, rad/s or m/s.
    pub target: f64,
    /// Stiffness for engines without a constraint.
    pub kp: f64,
    /// Damping for engines without a constraint.
    pub kd: f64,
    /// Largest force or torque, N or N m.
    pub fmax: f64,
}

/// Reads a `.json` or `.json.gz` file; refuses what is not a flat state or cannot be one, with line and
/// column.
pub fn read(path: impl AsRef<Path>) -> Result<FlatState, SceneError> {
    FlatState::of_source(&Source::open(path.as_ref())?)
}

impl std::str::FromStr for FlatState {
    type Err = SceneError;

    /// Like [`read`], from text.
    fn from_str(text: &str) -> Result<Self, SceneError> {
        Self::of_source(&Source::new(None, text.into(), Format::Json))
    }
}

impl FlatState {
    fn of_source(source: &Source) -> Result<Self, SceneError> {
        let root = source.parse()?;
        let state = read::state(&At::root(&root)).map_err(|fault| source.error(fault))?;
        state.check().map_err(|e| source.locate(&root, e))?;
        Ok(state)
    }

    /// Reads what a file that is known to be a flat state holds, and makes a scene of it.
    pub(crate) fn scene_of(source: &Source, root: &crate::text::Node) -> Result<crate::Scene, SceneError> {
        let state = read::state(&At::root(root)).map_err(|fault| source.error(fault))?;
        state.scene().map_err(|e| source.locate(root, e))
    }

    /// Writes a `.json` file, or `.json.gz` by that ending. The file appears whole or not at all.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), SceneError> {
        let path = path.as_ref();
        let refuse = |message: String| SceneError { file: Some(path.into()), ..SceneError::new(message) };
        let mut bytes = serde_json::to_vec(self).map_err(|e| refuse(e.to_string()))?;
        bytes.push(b'\n');
        let name = path.to_string_lossy();
        if name.ends_with(".gz") {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            bytes =
                packer.write_all(&bytes).and_then(|()| packer.finish()).map_err(|e| refuse(e.to_string()))?;
        } else if !name.ends_with(".json") {
            return Err(refuse("the name of a flat state must end in .json or .json.gz".into()));
        }
        drystone_record::file::write(path, &bytes).map_err(|e| refuse(format!("cannot be written: {e}")))
    }
}
