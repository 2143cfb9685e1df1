//! What is wrong with a body, a setting or an id.

use crate::collider::ColliderId;
use crate::joint::JointId;
use crate::model::BodyId;

/// What is wrong with a body, a setting or an id.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// A definition that no body can have.
    #[error("{0}")]
    Body(String),
    /// A setting that makes no sense.
    #[error("{0}")]
    Settings(String),
    /// The id names no living body.
    #[error("body {slot} (generation {generation}) does not exist", slot = .0.slot, generation = .0.generation)]
    NoBody(BodyId),
    /// The id names no living collider.
    #[error("collider {slot} (generation {generation}) does not exist", slot = .0.slot, generation = .0.generation)]
    NoCollider(ColliderId),
    /// A definition that no joint can have, or a joint that does not fit this world.
    #[error("{0}")]
    Joint(String),
    /// The id names no living joint.
    #[error("joint {slot} (generation {generation}) does not exist", slot = .0.slot, generation = .0.generation)]
    NoJoint(JointId),
    /// A force field that makes no sense.
    #[error("{0}")]
    Field(String),
    /// No state of rest was found.
    #[error("{0}")]
    Unsettled(String),
    /// A state that does not fit the bodies of this world.
    #[error("the state has {state} bodies, the world {world}")]
    StateSize {
        /// Of the state.
        state: usize,
        /// Of the world.
        world: usize,
    },
}
