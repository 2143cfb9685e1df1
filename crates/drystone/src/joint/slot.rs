//! Joints as the model and the state keep them.

use glam::{DMat3, DQuat, DVec3};
use serde::{Deserialize, Serialize};

use super::equation::{MOST_COORDINATES, MOST_ROWS, Placed};
use super::kind::Kind;
use super::law::Law;
use crate::shape::Pose;

/// In place of a body slot: the world.
pub const WORLD_BODY: u32 = u32::MAX;

/// Rows that act along one coordinate: motor, limits, friction, spring.
pub(crate) const LAW_ROWS: usize = 4;

/// Multipliers kept for a joint: its equations, then [motor, limits, friction, spring] for each coordinate.
pub const ROWS: usize = MOST_ROWS + MOST_COORDINATES * LAW_ROWS;

/// A joint slot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Joint {
    /// Whether the slot holds a joint now.
    pub alive: bool,
    /// See [`super::JointId`].
    pub generation: u32,
    /// For messages.
    pub name: Option<String>,
    /// What it does.
    pub kind: Kind,
    /// Body slots, [`WORLD_BODY`] for the world.
    pub bodies: [u32; 2],
    /// The frames, relative to the bodies' centres of mass and along their axes (of the world, for the
    /// world).
    pub frames: [Pose; 2],
    /// The frames in the world when the joint was made.
    pub reference: Box<[Pose; 2]>,
    /// What acts along the free coordinates.
    pub laws: Vec<Law>,
    /// m/N and rad/(N m).
    pub compliance: [f64; 2],
    /// L, m.
    pub length: f64,
    /// Its own K.
    #[serde(default)]
    pub k: Option<f64>,
    /// Whether adding this joint kept its bodies from colliding, so that removing it lets them again.
    pub parted: bool,
}

impl Joint {
    /// Whether it has limits that bounce.
    pub(crate) fn bounces(&self) -> bool {
        self.laws.iter().filter_map(|law| law.limits.as_ref()).any(|limits| limits.restitution > 0.0)
    }
}

/// What a joint carries from step to step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JointState {
    /// Last values of the angles among the free coordinates, rad, turns included.
    pub angle: [f64; MOST_COORDINATES],
    /// Multipliers of the last step, N s: see [`ROWS`].
    pub impulse: [f64; ROWS],
}

/// What a joint did in the last step, to its second body (the first got the opposite).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reaction {
    /// All of the joint's rows together, motor, limits, friction and springs included, N, world axes.
    pub force: DVec3,
    /// Their torque about the origin of frame B, N m, world axes.
    pub torque: DVec3,
    /// Force or torque of the motors along the free coordinates, N or N m.
    pub motor: [f64; MOST_COORDINATES],
    /// Of the limits.
    pub limit: [f64; MOST_COORDINATES],
    /// Of dry friction.
    pub friction: [f64; MOST_COORDINATES],
    /// Of springs and dampers.
    pub spring: [f64; MOST_COORDINATES],
    /// The rest: what the joint's equations alone do, N (equations about angles: N m).
    pub equations: [f64; MOST_ROWS],
}

impl Reaction {
    /// Adds what the joint did in another part of the step.
    pub(crate) fn add(&mut self, other: &Reaction) {
        self.force += other.force;
        self.torque += other.torque;
        let lists = [
            (&mut self.motor[..], &other.motor[..]),
            (&mut self.limit[..], &other.limit[..]),
            (&mut self.friction[..], &other.friction[..]),
            (&mut self.spring[..], &other.spring[..]),
            (&mut self.equations[..], &other.equations[..]),
        ];
        for (mine, other) in lists {
            mine.iter_mut().zip(other).for_each(|(x, y)| *x += y);
        }
    }
}

/// How far joints are from where they should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JointError {
    /// Largest |Ψ| of any equation, angles multiplied by the joint's length, m.
    pub position: f64,
    /// Largest |Ψ̇|, m/s.
    pub velocity: f64,
}

/// J v for one row and the velocities of both bodies.
#[inline]
pub(crate) fn rate(row: &[f64; 12], twists: &[f64; 12]) -> f64 {
    let two = |k: usize| row[k] * twists[k] + row[k + 1] * twists[k + 1];
    (two(0) + two(2) + two(4)) + (two(6) + two(8) + two(10))
}

impl Joint {
    /// Where the two frames are, of bodies at these poses; `time` is the step from start to end.
    #[inline(always)]
    pub(crate) fn place_at(
        &self,
        mut pose: impl FnMut(usize) -> (DVec3, DQuat),
        memory: &JointState,
        time: [f64; 2],
    ) -> Placed<'_> {
        let a = self.side(0, &mut pose);
        let b = self.side(1, &mut pose);
        Placed {
            origin: [a.0, b.0],
            axes: [a.2, b.2],
            arm: [a.1, b.1],
            length: self.length,
            time,
            reference: &self.reference,
            angle: memory.angle,
        }
    }

    /// Origin, arm and axes of frame `k`.
    #[inline(always)]
    fn side(&self, k: usize, pose: &mut impl FnMut(usize) -> (DVec3, DQuat)) -> (DVec3, DVec3, DMat3) {
        let frame = &self.frames[k];
        if self.bodies[k] == WORLD_BODY {
            return (frame.position, DVec3::ZERO, DMat3::from_quat(frame.rotation));
        }
        let (x, q) = pose(self.bodies[k] as usize);
        let arm = q * frame.position;
        (x + arm, arm, DMat3::from_quat(q * frame.rotation))
    }

    /// Whether its equations are springs and not constraints.
    pub(crate) fn is_compliant(&self, angular: bool) -> bool {
        self.compliance[angular as usize] > 0.0
    }

    /// J v for one row, of whatever moves the bodies.
    pub(crate) fn rate(&self, row: &[f64; 12], velocity: impl Fn(usize) -> [f64; 6]) -> f64 {
        let mut sum = 0.0;
        for k in 0..2 {
            if self.bodies[k] != WORLD_BODY {
                let v = velocity(self.bodies[k] as usize);
                sum += (0..6).map(|m| row[6 * k + m] * v[m]).sum::<f64>();
            }
        }
        sum
    }
}
