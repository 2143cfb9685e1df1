//! Everything that changes from step to step, as one value: save it, restore it, and the run goes on bit for
//! bit.

use drystone_solve::parallel;
use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

use crate::body;
use crate::contact::Remembered;
use crate::joint::JointState;
use crate::model::Model;
use crate::random::Random;
use crate::sleep::rest::Rest;
use crate::spatial_order::Order;
use crate::whose::Whose;

/// The complete state of a world, by body slot where not said otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// s
    pub time: f64,
    /// Steps done.
    pub step: u64,
    /// Centre of mass, m, world.
    pub position: Vec<DVec3>,
    /// Unit quaternion, body to world.
    pub rotation: Vec<DQuat>,
    /// Of the centre of mass, m/s, world.
    pub velocity: Vec<DVec3>,
    /// Angular velocity in body axes, rad/s [TasoraAnitescu2011, §2.1].
    pub omega: Vec<DVec3>,
    /// How many periods each body was taken back, along each axis: its way is `position` plus that many
    /// periods. Zero where the world does not repeat.
    #[serde(default)]
    pub crossings: Vec<[i32; 3]>,
    /// Applied force for the next step, N, world.
    pub force: Vec<DVec3>,
    /// Applied torque about the centre of mass for the next step, N m, world.
    pub torque: Vec<DVec3>,
    /// Who sleeps; see [`crate::sleep`].
    #[serde(default)]
    pub rest: Rest,
    /// In which order bodies are worked on.
    #[serde(default)]
    pub order: Order,
    /// The last step's contact multipliers, in the order of the contacts.
    pub multipliers: Vec<Remembered>,
    /// What the joints carry from step to step, by joint slot.
    #[serde(default)]
    pub joints: Vec<JointState>,
    /// Bodies that each emitter has added.
    #[serde(default)]
    pub emitted: Vec<u64>,
    /// Bodies that each sink has taken.
    #[serde(default)]
    pub sunk: Vec<u64>,
    /// Mass that each emitter has added, kg.
    #[serde(default)]
    pub emitted_mass: Vec<f64>,
    /// Mass that each sink has taken, kg.
    #[serde(default)]
    pub sunk_mass: Vec<f64>,
    /// For emitters, noise and users' hooks.
    pub random: Random,
    /// Whose it is: see [`crate::World::restore`].
    #[serde(default)]
    pub(crate) whose: Whose,
}

impl State {
    /// No bodies, time zero.
    pub fn new(seed: u64) -> Self {
        Self {
            time: 0.0,
            step: 0,
            position: Vec::new(),
            rotation: Vec::new(),
            velocity: Vec::new(),
            omega: Vec::new(),
            crossings: Vec::new(),
            force: Vec::new(),
            torque: Vec::new(),
            rest: Rest::default(),
            order: Order::default(),
            multipliers: Vec::new(),
            joints: Vec::new(),
            emitted: Vec::new(),
            sunk: Vec::new(),
            emitted_mass: Vec::new(),
            sunk_mass: Vec::new(),
            random: Random::new(seed),
            whose: Whose::EMPTY,
        }
    }

    /// Makes room for so many more bodies.
    pub(crate) fn reserve(&mut self, bodies: usize) {
        for column in
            [&mut self.position, &mut self.velocity, &mut self.omega, &mut self.force, &mut self.torque]
        {
            column.reserve_exact(bodies);
        }
        self.rotation.reserve_exact(bodies);
        self.crossings.reserve_exact(bodies);
    }

    pub(crate) fn place(&mut self, slot: usize, x: DVec3, q: DQuat, v: DVec3, omega: DVec3) {
        if slot == self.position.len() {
            self.position.push(x);
            self.rotation.push(q);
            self.velocity.push(v);
            self.omega.push(omega);
            self.crossings.push([0; 3]);
            self.force.push(DVec3::ZERO);
            self.torque.push(DVec3::ZERO);
        } else {
            self.position[slot] = x;
            self.rotation[slot] = q;
            self.velocity[slot] = v;
            self.omega[slot] = omega;
            self.crossings[slot] = [0; 3];
            self.force[slot] = DVec3::ZERO;
            self.torque[slot] = DVec3::ZERO;
        }
        self.rest.forget(slot);
    }

    /// Brings the order of the bodies up to date, and with it what is kept in that order. True if it has
    /// changed.
    pub(crate) fn sort(&mut self, model: &Model) -> bool {
        let changed = self.order.renew(model, &self.position);
        if changed {
            let order = &self.order;
            self.multipliers.sort_unstable_by_key(|m| (order.place(model, m.key.colliders), m.key.feature));
        }
        changed
    }

    /// Brings a body that has left a periodic box back into it.
    pub(crate) fn wrap(&mut self, model: &Model, slot: usize) {
        let Some(periodic) = &model.periodic else { return };
        if model.bodies[slot].motion == body::Motion::Static {
            return;
        }
        let taken = periodic.wrap(&mut self.position[slot]);
        for k in 0..3 {
            self.crossings[slot][k] -= taken[k];
        }
    }

    /// Angular velocity in world axes, rad/s.
    pub fn world_omega(&self, slot: usize) -> DVec3 {
        self.rotation[slot] * self.omega[slot]
    }

    /// (v, ω) in world axes, m/s and rad/s.
    pub(crate) fn twist(&self, slot: usize) -> [f64; 6] {
        let (v, w) = (self.velocity[slot], self.world_omega(slot));
        [v.x, v.y, v.z, w.x, w.y, w.z]
    }

    /// Velocity of a world point fixed to the body, m/s.
    pub fn velocity_at(&self, slot: usize, point: DVec3) -> DVec3 {
        self.velocity[slot] + self.world_omega(slot).cross(point - self.position[slot])
    }

    /// A hash (FNV-1a, 64 bit) of time and motion, bit for bit.
    pub fn hash(&self) -> u64 {
        let mut h = 0xcbf2_9ce4_8422_2325u64;
        let mut eat = |x: f64| {
            for byte in x.to_bits().to_le_bytes() {
                h = (h ^ byte as u64).wrapping_mul(0x0000_0100_0000_01b3);
            }
        };
        eat(self.time);
        for i in 0..self.position.len() {
            self.position[i].to_array().into_iter().for_each(&mut eat);
            self.rotation[i].to_array().into_iter().for_each(&mut eat);
            self.velocity[i].to_array().into_iter().for_each(&mut eat);
            self.omega[i].to_array().into_iter().for_each(&mut eat);
        }
        h
    }
}

/// Positions and velocities, for undoing a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Motion {
    position: Vec<DVec3>,
    rotation: Vec<DQuat>,
    velocity: Vec<DVec3>,
    omega: Vec<DVec3>,
    /// Empty if all are zero.
    crossings: Vec<[i32; 3]>,
}

impl State {
    /// Fills up slots that the state does not know yet.
    pub(crate) fn fit(&mut self, bodies: usize, joints: usize) {
        for column in
            [&mut self.position, &mut self.velocity, &mut self.omega, &mut self.force, &mut self.torque]
        {
            column.resize(bodies, DVec3::ZERO);
        }
        self.rotation.resize(bodies, DQuat::IDENTITY);
        self.crossings.resize(bodies, [0; 3]);
        self.joints.resize(joints, JointState::default());
    }
}

impl Motion {
    /// That of a state.
    pub(crate) fn of(state: &State) -> Self {
        let mut motion = Self::default();
        motion.save(state);
        motion
    }

    pub(crate) fn save(&mut self, state: &State) {
        parallel::copy(&mut self.position, &state.position);
        parallel::copy(&mut self.rotation, &state.rotation);
        parallel::copy(&mut self.velocity, &state.velocity);
        parallel::copy(&mut self.omega, &state.omega);
        let none = parallel::all(state.crossings.len(), |i| state.crossings[i] == [0; 3]);
        parallel::copy(&mut self.crossings, if none { &[] } else { &state.crossings });
    }

    pub(crate) fn position(&self, slot: usize) -> DVec3 {
        self.position[slot]
    }

    pub(crate) fn velocity(&self, slot: usize) -> DVec3 {
        self.velocity[slot]
    }

    pub(crate) fn omega(&self, slot: usize) -> DVec3 {
        self.omega[slot]
    }

    pub(crate) fn rotation(&self, slot: usize) -> DQuat {
        self.rotation[slot]
    }

    /// Puts one body back.
    pub(crate) fn put_back(&self, state: &mut State, slot: usize) {
        state.position[slot] = self.position[slot];
        state.rotation[slot] = self.rotation[slot];
        state.velocity[slot] = self.velocity[slot];
        state.omega[slot] = self.omega[slot];
        state.crossings[slot] = self.crossings.get(slot).copied().unwrap_or_default();
    }

    pub(crate) fn restore(&self, state: &mut State) {
        state.position.clone_from(&self.position);
        state.rotation.clone_from(&self.rotation);
        state.velocity.clone_from(&self.velocity);
        state.omega.clone_from(&self.omega);
        state.crossings.fill([0; 3]);
        state.crossings[..self.crossings.len()].copy_from_slice(&self.crossings);
    }
}
