//! What the free rotation of a step does to the angular velocity of bodies that are kicked where the step
//! begins.
//!
//! Contacts are posed for the velocities of the step's end, v_free + M⁻¹ D γ, and v_free has the change g of
//! ω that the free rotation makes. But such a body gets its kick M⁻¹ D γ at the step's start and turns freely
//! from there (`integrate.rs`), which keeps its energy: that is the energy of v⁺ - g, and v⁺ - g is what
//! parts after a hit.

use glam::{DQuat, DVec3};

use crate::model::{Body, Model};
use crate::motion::is_ball;
use crate::state::State;
use crate::{body::Motion, settings::Settings};

/// Whether a body's rotation is that of its free motion and what comes on top.
pub(crate) fn turns_freely(body: &Body) -> bool {
    body.alive && body.motion == Motion::Dynamic && body.planar.is_none() && !is_ball(&body.mass.inertia)
}

/// The changes g of a step, by body.
#[derive(Clone, Copy)]
pub(crate) struct Gyration<'a> {
    /// Free rotations (ω after the step, in body axes, and the turn); empty where no body needs them.
    pub turned: &'a [(DVec3, DQuat)],
    /// Who is on a joint: those hold velocities to the end of the step.
    pub jointed: &'a [bool],
    /// Whether there are kicks at the start: not if positions follow the mean of old and new velocities.
    pub kicks: bool,
}

impl<'a> Gyration<'a> {
    pub fn new(settings: &Settings, turned: &'a [(DVec3, DQuat)], jointed: &'a [bool]) -> Self {
        Self { turned, jointed, kicks: settings.integrator.theta() == 1.0 }
    }

    /// The free rotation of a body that is kicked at the start.
    pub fn kicked(&self, body: &Body, i: usize) -> Option<&(DVec3, DQuat)> {
        let free = self.turned.get(i)?;
        (self.kicks && turns_freely(body) && self.jointed.get(i) != Some(&true)).then_some(free)
    }

    /// g of body slot `i`, rad/s, world axes.
    pub fn of(&self, model: &Model, state: &State, i: usize) -> DVec3 {
        match self.kicked(&model.bodies[i], i) {
            Some((after, _)) => state.rotation[i] * (*after - state.omega[i]),
            None => DVec3::ZERO,
        }
    }

    /// Takes g off velocities that are in the order of the problem's bodies.
    pub fn take_off(&self, model: &Model, state: &State, v: &mut [[f64; 6]]) {
        for slot in 0..self.turned.len() {
            let g = self.of(model, state, slot);
            let v = &mut v[state.order.rank(slot as u32) as usize];
            (v[3], v[4], v[5]) = (v[3] - g.x, v[4] - g.y, v[5] - g.z);
        }
    }
}
