//! Joints of bodies that are somewhere and move.

use super::equation::{Equations, Placed};
use super::slot::{Joint, JointState, WORLD_BODY};
use crate::model::Model;
use crate::state::State;

impl Joint {
    /// Where the two frames are; `time` is the step from start to end.
    #[inline]
    pub(crate) fn place(&self, state: &State, memory: &JointState, time: [f64; 2]) -> Placed<'_> {
        self.place_at(|i| (state.position[i], state.rotation[i]), memory, time)
    }

    pub(crate) fn equations(&self, state: &State, memory: &JointState, time: [f64; 2]) -> Equations {
        self.kind.equations(&self.place(state, memory, time))
    }

    /// Velocities of both bodies, zero for the world.
    pub(crate) fn twists(&self, state: &State) -> [f64; 12] {
        let mut out = [0.0; 12];
        for k in 0..2 {
            if self.bodies[k] != WORLD_BODY {
                out[6 * k..6 * k + 6].copy_from_slice(&state.twist(self.bodies[k] as usize));
            }
        }
        out
    }
}

impl Model {
    /// Whether the id still names a joint.
    pub fn contains_joint(&self, id: super::JointId) -> bool {
        self.joints.get(id.slot as usize).is_some_and(|j| j.alive && j.generation == id.generation)
    }

    /// Slots of the living joints.
    pub fn joint_slots(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.joints.len()).filter(|&j| self.joints[j].alive)
    }

    /// "revolute joint 3 (mast)".
    pub fn describe_joint(&self, slot: u32) -> String {
        match self.joints.get(slot as usize) {
            Some(j) => match &j.name {
                Some(name) => format!("{} joint {slot} ({name})", j.kind.name()),
                None => format!("{} joint {slot}", j.kind.name()),
            },
            None => format!("joint {slot}"),
        }
    }

    /// The radius of gyration of a body, √(tr I / 3m), m; None if it is not dynamic.
    pub(crate) fn gyration(&self, slot: u32) -> Option<f64> {
        let b = self.bodies.get(slot as usize).filter(|b| b.inv_mass > 0.0)?;
        let i = &b.mass.inertia;
        Some(((i.x_axis.x + i.y_axis.y + i.z_axis.z) / (3.0 * b.mass.mass)).sqrt())
    }
}
