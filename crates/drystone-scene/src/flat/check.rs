//! What numbers a flat state may hold. Errors name the field; where there is a text, the caller finds its
//! place.

use super::{BodyShape, FlatBody, FlatState, FlatStatic, JointKind, StaticShape};
use crate::SceneError;

/// A quaternion this far from unit length is taken for a slip, not for rounding.
const UNIT: f64 = 1e-3;

fn refuse<T>(field: String, message: impl Into<String>) -> Result<T, SceneError> {
    Err(SceneError { field: Some(field), ..SceneError::new(message) })
}

fn finite(field: &str, all: &[f64]) -> Result<(), SceneError> {
    match all.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(0) if all.len() == 1 => refuse(field.into(), format!("must be finite, got {}", all[0])),
        Some(i) => refuse(format!("{field}[{i}]"), format!("must be finite, got {}", all[i])),
    }
}

fn positive(field: &str, x: f64, unit: &str) -> Result<(), SceneError> {
    finite(field, &[x])?;
    if x > 0.0 { Ok(()) } else { refuse(field.into(), format!("must be above 0 {unit}, got {x}")) }
}

fn extents(field: &str, half: &[f64; 3]) -> Result<(), SceneError> {
    (0..3).try_for_each(|i| positive(&format!("{field}[{i}]"), half[i], "m"))
}

fn unit(field: &str, quat: &[f64; 4]) -> Result<(), SceneError> {
    finite(field, quat)?;
    let length = quat.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length == 0.0 {
        return refuse(field.into(), "a zero quaternion is no orientation; [1, 0, 0, 0] is not turned");
    }
    if (length - 1.0).abs() > UNIT {
        return refuse(
            field.into(),
            format!("must be a unit quaternion [w, x, y, z], its length is {length}"),
        );
    }
    Ok(())
}

impl FlatState {
    /// Says what cannot be: the first field found wrong, and what would be right.
    pub fn check(&self) -> Result<(), SceneError> {
        positive("h", self.h, "s")?;
        positive("T", self.duration, "s")?;
        finite("gravity", &self.gravity)?;
        finite("mu", &[self.mu])?;
        if self.mu < 0.0 {
            return refuse("mu".into(), format!("must not be negative, got {}", self.mu));
        }
        finite("restitution", &[self.restitution])?;
        if !(0.0..=1.0).contains(&self.restitution) {
            return refuse("restitution".into(), format!("must be from 0 to 1, got {}", self.restitution));
        }
        for (i, t) in self.snaps.iter().flatten().enumerate() {
            let field = format!("snaps[{i}]");
            finite(&field, &[*t])?;
            if *t < 0.0 {
                return refuse(field, format!("a snapshot cannot be before the start, got {t} s"));
            }
            if *t > self.duration * (1.0 + 1e-9) {
                let end = self.duration;
                return refuse(field, format!("a snapshot cannot be after the end, T = {end} s, got {t} s"));
            }
        }
        for (i, wall) in self.statics.iter().enumerate() {
            wall.check(&format!("statics[{i}]"))?;
        }
        for (i, body) in self.bodies.iter().enumerate() {
            body.check(i)?;
        }
        for (i, joint) in self.joints.iter().enumerate() {
            let field = |name: &str| format!("joints[{i}].{name}");
            let bodies = self.bodies.len() as i64;
            for (name, body) in [("a", joint.a), ("b", joint.b)] {
                if !(-1..bodies).contains(&body) {
                    return refuse(field(name), format!("there is no body {body}; -1 is the world"));
                }
            }
            if joint.a == joint.b {
                return refuse(field("b"), format!("joins body {} with itself", joint.a));
            }
            finite(&field("anchor"), &joint.anchor)?;
            finite(&field("axis"), &joint.axis)?;
            if joint.axis == [0.0; 3] {
                return refuse(field("axis"), "a zero vector is no direction");
            }
            if let Some(drive) = &joint.drive {
                if matches!(joint.kind, JointKind::Fixed | JointKind::Ball) {
                    return refuse(field("drive"), "only a revolute or prismatic joint has a drive");
                }
                finite(&field("drive.target"), &[drive.target])?;
                finite(&field("drive.fmax"), &[drive.fmax])?;
                if drive.fmax < 0.0 {
                    return refuse(field("drive.fmax"), format!("must not be negative, got {}", drive.fmax));
                }
            }
        }
        Ok(())
    }
}

impl FlatStatic {
    fn check(&self, field: &str) -> Result<(), SceneError> {
        finite(&format!("{field}.pos"), &self.pos)?;
        if let Some(quat) = &self.quat {
            unit(&format!("{field}.quat"), quat)?;
            // Turning about z leaves the half-space as it is; anything else would tilt it.
            if self.shape == StaticShape::Plane && quat[1..3] != [0.0, 0.0] {
                return refuse(
                    format!("{field}.quat"),
                    "a plane is the half-space z <= pos.z and cannot be tilted",
                );
            }
        }
        match (&self.half, self.shape) {
            (Some(half), _) => extents(&format!("{field}.half"), half),
            (None, StaticShape::Plane) => Ok(()),
            (None, StaticShape::Box) => refuse(field.into(), "the field 'half' is missing: a box needs it"),
        }
    }
}

impl FlatBody {
    fn check(&self, index: usize) -> Result<(), SceneError> {
        // The path is spelled out only on the way to an error: there may be a million bodies.
        self.numbers().map_err(|mut e| {
            let inner = e.field.take().unwrap_or_default();
            let dot = if inner.is_empty() { "" } else { "." };
            e.field = Some(format!("bodies[{index}]{dot}{inner}"));
            e
        })
    }

    fn numbers(&self) -> Result<(), SceneError> {
        self.shape_fields()?;
        if let Some(r) = self.r {
            positive("r", r, "m")?;
        }
        if let Some(half) = &self.half {
            extents("half", half)?;
        }
        if let Some(l) = self.half_length {
            finite("half_length", &[l])?;
            if self.shape == BodyShape::Cylinder {
                // A capsule of no length is a ball; a cylinder of none is nothing.
                positive("half_length", l, "m")?;
            }
            if l < 0.0 {
                return refuse("half_length".into(), format!("must not be negative, got {l}"));
            }
        }
        for (i, p) in self.points.iter().flatten().enumerate() {
            finite(&format!("points[{i}]"), p)?;
        }
        positive("m", self.m, "kg")?;
        for (i, x) in self.inertia.iter().enumerate() {
            if !(x.is_finite() && *x > 0.0) {
                return positive(&format!("I[{i}]"), *x, "kg m²");
            }
        }
        for (i, x) in self.inertia.iter().enumerate() {
            let others = self.inertia[(i + 1) % 3] + self.inertia[(i + 2) % 3];
            if *x > others * (1.0 + 1e-9) {
                let text =
                    format!("breaks the triangle inequality: {x} exceeds {others}, the sum of the other two");
                return refuse(format!("I[{i}]"), text);
            }
        }
        finite("pos", &self.pos)?;
        unit("quat", &self.quat)?;
        finite("vel", &self.vel)?;
        finite("omega", &self.omega)
    }

    /// Every dimension the shape needs, and none it has no use for. A body without shape may keep any of
    /// them.
    fn shape_fields(&self) -> Result<(), SceneError> {
        let (name, wanted): (_, &[&str]) = match self.shape {
            BodyShape::Sphere => ("sphere", &["r"]),
            BodyShape::Box => ("box", &["half"]),
            BodyShape::Capsule => ("capsule", &["r", "half_length"]),
            BodyShape::Cylinder => ("cylinder", &["r", "half_length"]),
            BodyShape::Convex => ("convex", &["points"]),
            BodyShape::None => return Ok(()),
        };
        for (field, given) in [
            ("r", self.r.is_some()),
            ("half", self.half.is_some()),
            ("half_length", self.half_length.is_some()),
            ("points", self.points.is_some()),
        ] {
            match (wanted.contains(&field), given) {
                (true, false) => {
                    return refuse(
                        String::new(),
                        format!("the field '{field}' is missing: a {name} needs it"),
                    );
                }
                (false, true) => return refuse(field.into(), format!("a {name} has no '{field}'")),
                _ => {}
            }
        }
        Ok(())
    }
}
