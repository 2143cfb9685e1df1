//! Kinematic bodies that follow functions of time: shakers, drums, moving ground.
//!
//! A guide says where the body is, not how fast: in every step it gets the constant velocity that takes it
//! from where it is to where it has to be at the end, so that nothing adds up.

use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

use crate::function::Function;
use crate::limits::FARTHEST;

/// Where a kinematic body is over time, relative to the pose it was added with.
///
/// ```
/// use drystone::{BodyDef, Function, Guide, Shape};
/// use glam::DVec3;
/// let swing = Function::Sine { mean: 0.0, amplitude: 0.01, frequency: 5.0, phase: 0.0 };
/// let table = BodyDef::kinematic(Shape::HalfSpace).guided(Guide::along(DVec3::Z, swing));
/// assert!(table.check().is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Guide {
    /// Displacement: the sum of directions (world axes, any length) times functions, m.
    pub along: Vec<(DVec3, Function)>,
    /// Rotation about a unit axis (world axes) through the origin of the body's frame, rad.
    pub about: Option<(DVec3, Function)>,
}

impl Guide {
    /// Back and forth along a direction.
    pub fn along(direction: DVec3, way: impl Into<Function>) -> Self {
        Self { along: vec![(direction, way.into())], about: None }
    }

    /// Turning about an axis.
    pub fn about(axis: DVec3, angle: impl Into<Function>) -> Self {
        Self { along: Vec::new(), about: Some((axis, angle.into())) }
    }

    /// Adds a displacement along another direction.
    pub fn and_along(mut self, direction: DVec3, way: impl Into<Function>) -> Self {
        self.along.push((direction, way.into()));
        self
    }

    /// Says what is wrong, naming the field.
    pub fn check(&self) -> Result<(), String> {
        for (direction, f) in &self.along {
            if !direction.is_finite() {
                return Err(format!("guide: a direction must be finite, got {direction}"));
            }
            f.check().map_err(|e| format!("guide: {e}"))?;
            f.check_size(FARTHEST, "m").map_err(|e| format!("guide: the way {e}"))?;
        }
        if let Some((axis, f)) = &self.about {
            if !((axis.length() - 1.0).abs() < 1e-3) {
                return Err(format!(
                    "guide: the axis must be a unit vector, its length is {}",
                    axis.length()
                ));
            }
            f.check().map_err(|e| format!("guide: {e}"))?;
            f.check_size(FARTHEST, "rad").map_err(|e| format!("guide: the angle {e}"))?;
        }
        Ok(())
    }

    fn displacement(&self, t: f64) -> DVec3 {
        self.along.iter().map(|(direction, f)| *direction * f.value(t)).sum()
    }

    fn turn(&self, t: f64) -> DQuat {
        self.about
            .as_ref()
            .map_or(DQuat::IDENTITY, |(axis, f)| DQuat::from_axis_angle(axis.normalize(), f.value(t)))
    }
}

/// A guide and the pose it starts from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Guided {
    guide: Guide,
    position: DVec3,
    rotation: DQuat,
}

impl Guided {
    /// From the pose that the functions are relative to.
    pub(crate) fn new(guide: Guide, position: DVec3, rotation: DQuat) -> Self {
        Self { guide, position, rotation }
    }

    /// Such that the body is at the given pose at time `t`.
    pub(crate) fn from_now(guide: Guide, position: DVec3, rotation: DQuat, t: f64) -> Self {
        let (way, turn) = (guide.displacement(t), guide.turn(t));
        Self::new(guide, position - way, turn.conjugate() * rotation)
    }

    /// The functions.
    pub fn guide(&self) -> &Guide {
        &self.guide
    }

    /// The pose at time `t`.
    pub fn pose(&self, t: f64) -> (DVec3, DQuat) {
        (self.position + self.guide.displacement(t), self.guide.turn(t) * self.rotation)
    }

    /// The velocities at time `t`, both in world axes.
    pub(crate) fn twist(&self, t: f64) -> (DVec3, DVec3) {
        let along = self.guide.along.iter().map(|(direction, f)| *direction * f.derivative(t)).sum();
        let about =
            self.guide.about.as_ref().map_or(DVec3::ZERO, |(axis, f)| axis.normalize() * f.derivative(t));
        (along, about)
    }

    /// The velocities, both in world axes, that take a body from a pose to where it has to be at `t`, in `h`.
    pub(crate) fn velocity(&self, position: DVec3, rotation: DQuat, t: f64, h: f64) -> (DVec3, DVec3) {
        let (x, q) = self.pose(t);
        if self.guide.about.is_none() {
            return ((x - position) / h, DVec3::ZERO);
        }
        let turn = q * rotation.conjugate();
        let turn = if turn.w < 0.0 { -turn } else { turn };
        ((x - position) / h, turn.to_scaled_axis() / h)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leads_from_any_pose_to_the_functions() {
        let ramp = Function::Ramp { from: 0.0, to: 8.0, start: 0.0, end: 4.0 };
        let guide = Guide::along(DVec3::X, ramp.clone()).and_along(DVec3::Z, 0.5);
        let guide = Guide { about: Some((DVec3::Y, ramp)), ..guide };
        assert!(guide.check().is_ok());
        let q = DQuat::from_rotation_z(0.4);
        let g = Guided::new(guide.clone(), DVec3::Y, q);
        let (x, turned) = g.pose(1.0);
        assert!((x - DVec3::new(2.0, 1.0, 0.5)).length() < 1e-14);
        assert!(turned.angle_between(DQuat::from_rotation_y(2.0) * q) < 1e-7);
        // From the pose at 1 s to that at 1.1 s.
        let (v, omega) = g.velocity(x, turned, 1.1, 0.1);
        assert!((v - DVec3::X * 2.0).length() < 1e-12 && (omega - DVec3::Y * 2.0).length() < 1e-12);
        let again = Guided::from_now(guide, x, turned, 1.0);
        assert!((again.pose(1.0).0 - x).length() < 1e-14);
        assert!((again.pose(3.0).0 - g.pose(3.0).0).length() < 1e-14);
    }

    #[test]
    fn bad_guides_are_refused() {
        assert!(Guide::along(DVec3::NAN, 0.0).check().unwrap_err().contains("direction"));
        assert!(Guide::about(DVec3::X * 2.0, 0.0).check().unwrap_err().contains("unit"));
        assert!(Guide::along(DVec3::X, f64::INFINITY).check().unwrap_err().contains("finite"));
    }
}
