//! Bodies, joints and contacts on their way from rank to rank, as bytes.

use drystone::contact::{Contact, ContactKey};
use drystone::joint::{JointState, Reaction};
use drystone::{BodyMotion, JointMotion};
use drystone_solve::Set;
use glam::{DQuat, DVec3};

use crate::domain::Joined;

/// Writes numbers one after the other.
#[derive(Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    pub fn word(&mut self, x: u64) {
        self.0.extend_from_slice(&x.to_le_bytes());
    }

    pub fn numbers(&mut self, x: &[f64]) {
        x.iter().for_each(|x| self.word(x.to_bits()));
    }

    /// Two numbers of bodies.
    pub fn pair(&mut self, [a, b]: [u32; 2]) {
        self.word(u64::from(a) << 32 | u64::from(b));
    }

    /// The set of a row that is one number.
    pub fn set(&mut self, set: Set) {
        let (kind, ends) = match set {
            Set::Free => (0, [0.0; 2]),
            Set::NonNegative => (1, [0.0; 2]),
            Set::Interval { lo, hi } => (2, [lo, hi]),
            other => unreachable!("{other:?} has more rows than a joint's"),
        };
        self.word(kind);
        self.numbers(&ends);
    }

    pub fn motion(&mut self, m: &BodyMotion) {
        self.word(u64::from(m.slot));
        self.numbers(&m.position.to_array());
        self.numbers(&m.rotation.to_array());
        self.numbers(&m.velocity.to_array());
        self.numbers(&m.omega.to_array());
    }

    fn key(&mut self, key: &ContactKey) {
        self.pair(key.colliders);
        self.word(key.feature);
    }

    pub fn joint(&mut self, j: &JointMotion) {
        self.word(u64::from(j.slot));
        self.numbers(&j.state.angle);
        self.numbers(&j.state.impulse);
        let Reaction { force, torque, motor, limit, friction, spring, equations } = &j.reaction;
        self.numbers(&force.to_array());
        self.numbers(&torque.to_array());
        [motor, limit, friction, spring].into_iter().for_each(|list| self.numbers(list));
        self.numbers(equations);
    }

    pub fn joined(&mut self, j: &Joined) {
        self.joint(&j.motion);
        j.places.iter().for_each(|place| self.numbers(&place.to_array()));
    }

    pub fn contact(&mut self, c: &Contact) {
        self.key(&c.key);
        self.pair(c.bodies);
        self.numbers(&c.point.to_array());
        self.numbers(&c.normal.to_array());
        self.numbers(&[c.gap, c.mu]);
        self.numbers(&c.impulse.to_array());
    }
}

/// Reads them back. What is too short has been cut on its way, which no communicator does.
pub struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn word(&mut self) -> u64 {
        let (word, rest) = self.0.split_first_chunk().expect("a whole word");
        self.0 = rest;
        u64::from_le_bytes(*word)
    }

    fn number(&mut self) -> f64 {
        f64::from_bits(self.word())
    }

    fn vector(&mut self) -> DVec3 {
        DVec3::new(self.number(), self.number(), self.number())
    }

    pub fn motion(&mut self) -> BodyMotion {
        let slot = self.word() as u32;
        let position = self.vector();
        let rotation = DQuat::from_xyzw(self.number(), self.number(), self.number(), self.number());
        BodyMotion { slot, position, rotation, velocity: self.vector(), omega: self.vector() }
    }

    pub fn pair(&mut self) -> [u32; 2] {
        let word = self.word();
        [(word >> 32) as u32, word as u32]
    }

    fn key(&mut self) -> ContactKey {
        ContactKey { colliders: self.pair(), feature: self.word() }
    }

    pub fn joined(&mut self) -> Joined {
        Joined { motion: self.joint(), places: [self.vector(), self.vector()] }
    }

    pub fn list<const N: usize>(&mut self) -> [f64; N] {
        std::array::from_fn(|_| self.number())
    }

    pub fn set(&mut self) -> Set {
        let (kind, [lo, hi]) = (self.word(), self.list());
        match kind {
            0 => Set::Free,
            1 => Set::NonNegative,
            _ => Set::Interval { lo, hi },
        }
    }

    pub fn joint(&mut self) -> JointMotion {
        let slot = self.word() as u32;
        let state = JointState { angle: self.list(), impulse: self.list() };
        let reaction = Reaction {
            force: self.vector(),
            torque: self.vector(),
            motor: self.list(),
            limit: self.list(),
            friction: self.list(),
            spring: self.list(),
            equations: self.list(),
        };
        JointMotion { slot, state, reaction }
    }

    pub fn contact(&mut self) -> Contact {
        Contact {
            key: self.key(),
            bodies: self.pair(),
            point: self.vector(),
            normal: self.vector(),
            gap: self.number(),
            mu: self.number(),
            impulse: self.vector(),
        }
    }
}
