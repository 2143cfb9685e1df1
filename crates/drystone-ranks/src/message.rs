//! Bodies and contacts on their way from rank to rank, as bytes.

use drystone::BodyMotion;
use drystone::contact::{Contact, ContactKey};
use glam::{DQuat, DVec3};

/// Writes numbers one after the other.
#[derive(Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    pub fn word(&mut self, x: u64) {
        self.0.extend_from_slice(&x.to_le_bytes());
    }

    fn numbers(&mut self, x: &[f64]) {
        x.iter().for_each(|x| self.word(x.to_bits()));
    }

    pub fn motion(&mut self, m: &BodyMotion) {
        self.word(u64::from(m.slot));
        self.numbers(&m.position.to_array());
        self.numbers(&m.rotation.to_array());
        self.numbers(&m.velocity.to_array());
        self.numbers(&m.omega.to_array());
    }

    fn key(&mut self, key: &ContactKey) {
        let [a, b] = key.colliders.map(u64::from);
        self.word(a << 32 | b);
        self.word(key.feature);
    }

    pub fn contact(&mut self, c: &Contact) {
        self.key(&c.key);
        let [a, b] = c.bodies.map(u64::from);
        self.word(a << 32 | b);
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

    fn two(&mut self) -> [u32; 2] {
        let word = self.word();
        [(word >> 32) as u32, word as u32]
    }

    fn key(&mut self) -> ContactKey {
        ContactKey { colliders: self.two(), feature: self.word() }
    }

    pub fn contact(&mut self) -> Contact {
        Contact {
            key: self.key(),
            bodies: self.two(),
            point: self.vector(),
            normal: self.vector(),
            gap: self.number(),
            mu: self.number(),
            impulse: self.vector(),
        }
    }
}
