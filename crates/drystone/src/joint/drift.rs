//! Joints of a world: adding, removing, commanding, reading.

use super::Sort;
use super::equation::Equations;
use super::slot::{JointError, rate};
use crate::error::WorldError;
use crate::model::Model;
use crate::state::State;

pub(crate) fn bad(what: &str, why: impl std::fmt::Display) -> WorldError {
    WorldError::Joint(format!("{what}: {why}"))
}

/// By how much one joint is off: see [`crate::World::joint_error`].
pub(crate) fn error_of(model: &Model, state: &State, j: usize, e: &mut Equations) -> JointError {
    error_at(model, state, j, state.time, e)
}

/// The same for bodies that are where `state` says at another `time`, s.
pub(crate) fn error_at(model: &Model, state: &State, j: usize, time: f64, e: &mut Equations) -> JointError {
    let joint = &model.joints[j];
    let mut worst = JointError::default();
    // A step of no length around now: rates are derivatives.
    let tiny = 1e-6;
    let placed = joint.place(state, &state.joints[j], [time, time + tiny]);
    joint.kind.demands_into(&placed, e);
    let twists = joint.twists(state);
    for row in e.rows().iter().filter(|r| !joint.is_compliant(r.angular)) {
        let rate = rate(&row.jacobian, &twists) + row.rate;
        let (position, velocity) = match row.sort {
            Sort::Holonomic => (row.error.abs(), rate.abs()),
            Sort::Nonholonomic => (0.0, rate.abs()),
            Sort::Unilateral => {
                ((-row.error).max(0.0), if row.error <= 0.0 { (-rate).max(0.0) } else { 0.0 })
            }
            Sort::Elastic { .. } => (0.0, 0.0),
        };
        worst.position = worst.position.max(position);
        worst.velocity = worst.velocity.max(velocity);
    }
    worst
}
