//! From the tree of values to a [`FlatState`]: every field by name and type, none unknown, none missing.

use super::{
    BodyShape, Drive, DriveMode, FlatBody, FlatJoint, FlatState, FlatStatic, JointKind, StaticShape,
};
use crate::text::{At, Fault, Value};

pub(crate) const FIELDS: &[&str] = &[
    "name",
    "h",
    "T",
    "gravity",
    "mu",
    "restitution",
    "snaps",
    "statics",
    "bodies",
    "joints",
    "bodies_per_vehicle",
];

const BODY_FIELDS: &[&str] =
    &["shape", "r", "half", "half_length", "points", "m", "I", "pos", "quat", "vel", "omega", "group"];

pub(super) fn state(at: &At) -> Result<FlatState, Fault> {
    at.only(FIELDS)?;
    Ok(FlatState {
        name: at.need("name")?.text()?.into(),
        h: at.need("h")?.number()?,
        duration: at.need("T")?.number()?,
        gravity: at.need("gravity")?.numbers()?,
        mu: at.need("mu")?.number()?,
        restitution: at.need("restitution")?.number()?,
        snaps: at.get("snaps").map(|s| list(&s, |t| t.number())).transpose()?,
        statics: list(&at.need("statics")?, wall)?,
        joints: list(&at.need("joints")?, joint)?,
        bodies: list(&at.need("bodies")?, body)?,
        bodies_per_vehicle: at
            .get("bodies_per_vehicle")
            .map(|n| n.whole(1, u32::MAX as i64))
            .transpose()?
            .map(|n| n as u32),
    })
}

fn list<T>(at: &At, item: impl Fn(&At) -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
    at.items()?.map(|i| item(&i)).collect()
}

fn wall(at: &At) -> Result<FlatStatic, Fault> {
    at.only(&["shape", "half", "pos", "quat"])?;
    Ok(FlatStatic {
        shape: at.need("shape")?.choice(&[("box", StaticShape::Box), ("plane", StaticShape::Plane)])?,
        half: at.get("half").map(|a| a.numbers()).transpose()?,
        pos: at.need("pos")?.numbers()?,
        quat: at.get("quat").map(|a| a.numbers()).transpose()?,
    })
}

const SHAPES: &[(&str, BodyShape)] = &[
    ("sphere", BodyShape::Sphere),
    ("box", BodyShape::Box),
    ("capsule", BodyShape::Capsule),
    ("cylinder", BodyShape::Cylinder),
    ("convex", BodyShape::Convex),
    ("none", BodyShape::None),
];

fn body(at: &At) -> Result<FlatBody, Fault> {
    at.only(BODY_FIELDS)?;
    Ok(FlatBody {
        shape: at.need("shape")?.choice(SHAPES)?,
        r: at.get("r").map(|a| a.number()).transpose()?,
        half: at.get("half").map(|a| a.numbers()).transpose()?,
        half_length: at.get("half_length").map(|a| a.number()).transpose()?,
        points: at.get("points").map(|a| list(&a, |p| p.numbers())).transpose()?,
        m: at.need("m")?.number()?,
        inertia: at.need("I")?.numbers()?,
        pos: at.need("pos")?.numbers()?,
        quat: at.need("quat")?.numbers()?,
        vel: at.need("vel")?.numbers()?,
        omega: at.need("omega")?.numbers()?,
        group: at.need("group")?.whole(0, u32::MAX as i64)? as u32,
    })
}

fn joint(at: &At) -> Result<FlatJoint, Fault> {
    at.only(&["type", "a", "b", "anchor", "axis", "drive", "loop"])?;
    let kinds = [
        ("revolute", JointKind::Revolute),
        ("prismatic", JointKind::Prismatic),
        ("fixed", JointKind::Fixed),
        ("ball", JointKind::Ball),
    ];
    let drive_at = at.need("drive")?;
    Ok(FlatJoint {
        kind: at.need("type")?.choice(&kinds)?,
        a: at.need("a")?.whole(-1, u32::MAX as i64)?,
        b: at.need("b")?.whole(-1, u32::MAX as i64)?,
        anchor: at.need("anchor")?.numbers()?,
        axis: at.need("axis")?.numbers()?,
        drive: if matches!(drive_at.node.value, Value::Null) { None } else { Some(drive(&drive_at)?) },
        closes_loop: at.get("loop").map(|a| a.boolean()).transpose()?,
    })
}

fn drive(at: &At) -> Result<Drive, Fault> {
    at.only(&["mode", "target", "kp", "kd", "fmax"])?;
    Ok(Drive {
        mode: at
            .need("mode")?
            .choice(&[("velocity", DriveMode::Velocity), ("position", DriveMode::Position)])?,
        target: at.need("target")?.number()?,
        kp: at.need("kp")?.number()?,
        kd: at.need("kd")?.number()?,
        fmax: at.need("fmax")?.number()?,
    })
}
