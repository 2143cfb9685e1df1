//! One `[[body]]` of a scene file.

use std::cell::RefCell;

use drystone::{BodyDef, MassProperties, Materials, Motion};
use glam::{DQuat, DVec3};

use super::library::Library;
use super::shape::Surface;
use super::{copies, function, mass, shape};
use crate::text::{At, Fault, Value};

pub(super) const FIELDS: &[&str] = &[
    "name",
    "motion",
    "shape",
    "mu",
    "material",
    "layers",
    "mask",
    "surface_velocity",
    "planar",
    "mass",
    "density",
    "inertia",
    "centre",
    "position",
    "rotation",
    "velocity",
    "angular_velocity",
    "guide",
    "charge",
    "group",
    "glass",
    "count",
    "spacing",
    "copies",
];

pub(super) struct Read {
    pub def: BodyDef,
    pub glass: bool,
}

/// Reads a body and its copies.
pub(super) fn read(
    at: &At,
    library: &Library,
    materials: &RefCell<Materials>,
    into: &mut Vec<Read>,
) -> Result<(), Fault> {
    at.only(FIELDS)?;
    let motions =
        [("dynamic", Motion::Dynamic), ("kinematic", Motion::Kinematic), ("static", Motion::Static)];
    let motion = at.get("motion").map_or(Ok(Motion::Dynamic), |m| m.choice(&motions))?;
    let surface = Surface::new(materials).over(at)?;
    let (mut colliders, mut matter) = (Vec::new(), Vec::new());
    for read in shape::read(at, &surface, motion, library)? {
        let fault = |e: String| at.get("shape").map_or_else(|| at.fault(e.clone()), |s| s.fault(e.clone()));
        read.collider.shape.check().map_err(fault)?;
        colliders.push(read.collider);
        matter.extend(read.matter);
    }
    let mass = if motion == Motion::Dynamic {
        mass::read(at, &matter)?
    } else {
        for field in ["mass", "density", "inertia", "centre"] {
            if let Some(given) = at.get(field) {
                return Err(given.fault("only a dynamic body has mass"));
            }
        }
        MassProperties::principal(1.0, DVec3::ONE)
    };
    let mut def = BodyDef::bare(mass);
    def.motion = motion;
    def.colliders = colliders;
    def.name = at.get("name").map(|n| n.text()).transpose()?.map(Into::into);
    if def.name.is_none() && at.get("count").is_none() && at.get("copies").is_none() {
        // Bodies are numbered with those that move first: messages should find their way back into the file.
        def.name = Some(at.field());
    }
    let vector = |key: &str| at.get(key).map_or(Ok(DVec3::ZERO), |v| v.vector());
    def.position = vector("position")?;
    def.rotation = at.get("rotation").map_or(Ok(DQuat::IDENTITY), |r| rotation(&r))?;
    def.velocity = vector("velocity")?;
    def.angular_velocity = vector("angular_velocity")?;
    for field in ["velocity", "angular_velocity"] {
        if let (Motion::Static, Some(given)) = (motion, at.get(field)) {
            return Err(given.fault("a static body does not move; motion = \"kinematic\" does"));
        }
    }
    def.group = at.get("group").map_or(Ok(0), |g| g.whole(0, u32::MAX as i64))? as u32;
    if let Some(normal) = at.get("planar") {
        let direction = normal.vector()?.try_normalize();
        def.planar = Some(direction.ok_or_else(|| normal.fault("a zero vector is no direction"))?);
    }
    if let Some(guide) = at.get("guide") {
        def.guide = Some(function::guide(&guide, library)?);
    }
    def.charge = at.get("charge").map_or(Ok(0.0), |c| c.number())?;
    let glass = at.get("glass").map_or(Ok(false), |g| g.boolean())?;
    // Whatever the engine would refuse, it says here, where the place is known.
    def.check().map_err(|e| at.fault(e))?;
    copy(at, def, glass, library, into)
}

/// `copies` by a rule, or `count` and `spacing`: a grid of them, the given position being the first.
fn copy(at: &At, def: BodyDef, glass: bool, library: &Library, into: &mut Vec<Read>) -> Result<(), Fault> {
    let read = |def: BodyDef| Read { def, glass };
    if let Some(rule) = at.get("copies") {
        if let Some(count) = at.get("count") {
            return Err(count.fault("give count or copies, not both"));
        }
        into.extend(copies::read(&rule, &def, library)?.into_iter().map(read));
        return Ok(());
    }
    if at.get("count").is_some() {
        for (number, by) in copies::grid(at)? {
            let mut copy = def.clone();
            copy.position += by;
            copy.name = def.name.as_ref().map(|n| format!("{n}[{number}]"));
            into.push(read(copy));
        }
        return Ok(());
    }
    if let Some(spacing) = at.get("spacing") {
        return Err(spacing.fault("needs 'count' beside it"));
    }
    into.push(read(def));
    Ok(())
}

/// `[w, x, y, z]`, or `{ axis, angle_deg }`.
pub(super) fn rotation(at: &At) -> Result<DQuat, Fault> {
    if let Value::Table(_) = at.node.value {
        at.only(&["axis", "angle_deg"])?;
        let axis_at = at.need("axis")?;
        let axis = axis_at.vector()?.try_normalize();
        let axis = axis.ok_or_else(|| axis_at.fault("a zero vector is no direction"))?;
        return Ok(DQuat::from_axis_angle(axis, at.need("angle_deg")?.number()?.to_radians()));
    }
    let [w, x, y, z] = at.numbers()?;
    let q = DQuat::from_xyzw(x, y, z, w);
    let length = q.length();
    if length == 0.0 {
        return Err(at.fault("a zero quaternion is no orientation; [1, 0, 0, 0] is not turned"));
    }
    if (length - 1.0).abs() > 1e-3 {
        return Err(at.fault(format!("must be a unit quaternion [w, x, y, z], its length is {length}")));
    }
    Ok(q.normalize())
}
