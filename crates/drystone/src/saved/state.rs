//! The state as it is saved: by columns, since there may be millions of bodies and contacts.

use serde::{Deserialize, Serialize};

use super::column::Column;
use crate::contact::{ContactKey, Remembered};
use crate::joint::JointState;
use crate::random::Random;
use crate::sleep::rest::Rest;
use crate::spatial_order::Order;
use crate::state::State;
use crate::whose::Whose;

/// A [`State`] as it is saved.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedState {
    time: f64,
    step: u64,
    position: Column,
    rotation: Column,
    velocity: Column,
    omega: Column,
    crossings: Column,
    force: Column,
    torque: Column,
    rest: Rest,
    order: Order,
    /// Of the multipliers of contacts: colliders, features, impulses.
    colliders: Column,
    features: Column,
    impulses: Column,
    joints: Vec<JointState>,
    emitted: Vec<u64>,
    sunk: Vec<u64>,
    #[serde(default)]
    emitted_mass: Vec<f64>,
    #[serde(default)]
    sunk_mass: Vec<f64>,
    random: Random,
    #[serde(default)]
    whose: Whose,
}

impl SavedState {
    pub fn of(s: &State) -> Self {
        Self {
            time: s.time,
            step: s.step,
            position: Column::of(s.position.iter().copied()),
            rotation: Column::of(s.rotation.iter().copied()),
            velocity: Column::of(s.velocity.iter().copied()),
            omega: Column::of(s.omega.iter().copied()),
            crossings: Column::of(s.crossings.iter().copied()),
            force: Column::of(s.force.iter().copied()),
            torque: Column::of(s.torque.iter().copied()),
            rest: s.rest.clone(),
            order: s.order.clone(),
            colliders: Column::of(s.multipliers.iter().map(|m| m.key.colliders)),
            features: Column::of(s.multipliers.iter().map(|m| m.key.feature)),
            impulses: Column::of(s.multipliers.iter().map(|m| m.impulse)),
            joints: s.joints.clone(),
            emitted: s.emitted.clone(),
            sunk: s.sunk.clone(),
            emitted_mass: s.emitted_mass.clone(),
            sunk_mass: s.sunk_mass.clone(),
            random: s.random.clone(),
            whose: s.whose,
        }
    }

    /// The state; the error names a list that has another length than the others.
    pub fn state(self) -> Result<State, String> {
        let keys: Vec<[u32; 2]> = self.colliders.values("colliders")?;
        let features: Vec<u64> = self.features.values("features")?;
        let impulses: Vec<glam::DVec3> = self.impulses.values("impulses")?;
        let one_each = |name: &str, found: usize, wanted: usize| {
            let text = || format!("state.{name} has {found} values instead of {wanted}");
            (found == wanted).then_some(()).ok_or_else(text)
        };
        one_each("features", features.len(), keys.len())?;
        one_each("impulses", impulses.len(), keys.len())?;
        let multipliers =
            keys.into_iter().zip(features).zip(impulses).map(|((colliders, feature), impulse)| Remembered {
                key: ContactKey { colliders, feature },
                impulse,
            });
        let state = State {
            time: self.time,
            step: self.step,
            position: self.position.values("position")?,
            rotation: self.rotation.values("rotation")?,
            velocity: self.velocity.values("velocity")?,
            omega: self.omega.values("omega")?,
            crossings: self.crossings.values("crossings")?,
            force: self.force.values("force")?,
            torque: self.torque.values("torque")?,
            rest: self.rest,
            order: self.order,
            multipliers: multipliers.collect(),
            joints: self.joints,
            emitted: self.emitted,
            sunk: self.sunk,
            emitted_mass: self.emitted_mass,
            sunk_mass: self.sunk_mass,
            random: self.random,
            whose: self.whose,
        };
        let n = state.position.len();
        one_each("rotation", state.rotation.len(), n)?;
        one_each("velocity", state.velocity.len(), n)?;
        one_each("omega", state.omega.len(), n)?;
        one_each("crossings", state.crossings.len(), n)?;
        one_each("force", state.force.len(), n)?;
        one_each("torque", state.torque.len(), n)?;
        Ok(state)
    }
}
