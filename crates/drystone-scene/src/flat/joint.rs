//! Joints of flat states: to definitions, and back from a world.

use drystone::joint::{Command, Joint, Kind, Limits, Motor, WORLD_BODY};
use drystone::{BodyId, Function, JointDef, World};
use glam::DVec3;

use super::{Drive, DriveMode, FlatJoint, JointKind};

impl FlatJoint {
    /// The joint between bodies that were added in the order of the state.
    pub(super) fn definition(&self) -> JointDef {
        let body = |i: i64| u32::try_from(i).ok().map(|slot| BodyId { slot, generation: 0 });
        let (a, b) = (body(self.a), body(self.b));
        let (at, axis) = (DVec3::from_array(self.anchor), DVec3::from_array(self.axis));
        let joint = match self.kind {
            JointKind::Revolute => JointDef::revolute(a, b, at, axis),
            JointKind::Prismatic => JointDef::prismatic(a, b, at, axis),
            JointKind::Fixed => JointDef::fixed(a, b, at),
            JointKind::Ball => JointDef::ball(a, b, at),
        };
        match &self.drive {
            None => joint,
            Some(drive) => {
                let motor = match drive.mode {
                    DriveMode::Velocity => Motor::speed(drive.target),
                    DriveMode::Position => Motor::position(drive.target),
                };
                joint.motor(0, motor.limited(drive.fmax))
            }
        }
    }
}

/// Writes a joint down as it is now; the error says what the format cannot express. `index` gives the number
/// of a body in the state, -1 for what never moves.
pub(super) fn of_joint(world: &World, slot: usize, index: impl Fn(u32) -> i64) -> Result<FlatJoint, String> {
    let model = world.model();
    let joint: &Joint = &model.joints[slot];
    let kind = match joint.kind {
        Kind::Revolute => JointKind::Revolute,
        Kind::Prismatic => JointKind::Prismatic,
        Kind::Fixed => JointKind::Fixed,
        Kind::Ball => JointKind::Ball,
        ref other => return Err(format!("flat states have no {} joint", other.name())),
    };
    if joint.compliance != [0.0; 2] {
        return Err("it is compliant".into());
    }
    if joint.k.is_some() {
        return Err("it has a K of its own".into());
    }
    let id = drystone::JointId { slot: slot as u32, generation: joint.generation };
    let error = |e: drystone::WorldError| e.to_string();
    let mut drive = None;
    for (k, law) in joint.laws.iter().enumerate() {
        let limits: &Option<Limits> = &law.limits;
        if limits.is_some() || law.friction != 0.0 || law.spring.is_some() {
            return Err("it has limits, friction or a spring".into());
        }
        let Some(motor) = &law.motor else { continue };
        let (mode, target) = match &motor.command {
            Command::Speed(Function::Constant(x)) => (DriveMode::Velocity, *x),
            Command::Position(Function::Constant(x)) => {
                // From the pose that is written: what is left of the way.
                (DriveMode::Position, x - world.joint_coordinates(id).map_err(error)?[k])
            }
            _ => return Err("its motor does not hold a constant position or speed".into()),
        };
        if !motor.limit.is_finite() {
            return Err("its motor has no limit".into());
        }
        drive = Some(Drive { mode, target, kp: 0.0, kd: 0.0, fmax: motor.limit });
    }
    let at = |body: u32| if body == WORLD_BODY { -1 } else { index(body) };
    let placed = world.joint_frames(id).map_err(error)?;
    Ok(FlatJoint {
        kind,
        a: at(joint.bodies[0]),
        b: at(joint.bodies[1]),
        anchor: placed[1].position.to_array(),
        axis: (placed[0].rotation * DVec3::Z).to_array(),
        drive,
        closes_loop: None,
    })
}
