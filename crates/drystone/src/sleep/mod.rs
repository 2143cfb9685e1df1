//! Sleep: what has come to rest is left out of the steps until something disturbs it. Only where
//! [`Settings::sleep`] asks.
//!
//! What hangs together by contacts and joints is an island, and an island sleeps as a whole or not at all.
//! Its bodies fall asleep when all of them have been slower than a speed for a time; from then on positions
//! do not change by a bit, velocities are zero, and contacts, with the impulses that warm-start the step in
//! which they wake, are kept as they were.
//!
//! A sleeper wakes, with its island, at the start of the step in which
//!
//! - a body that is awake has a contact with it, however slow,
//! - a kinematic body that moves, however slowly, has a contact or a joint with it,
//! - what a motor or another function of time in one of its joints asks for changes,
//! - force or torque on it, applied or by fields, is not what it was when it fell asleep,
//! - a body it touches or is joined to, a joint, a material, a law or a setting was changed or removed, or a
//!   body that is not dynamic was added anywhere.
//!
//! All of these compare numbers exactly: the two thresholds say when sleep begins, and nothing else is one.
//! Bodies of [`crate::StiffForce`]s, which may depend on time in any way, do not sleep.
//!
//! With nothing asleep a step is bit for bit the one without this option.

mod falling;
mod waking;

use drystone_solve::solver::{BadSpec, Param, Spec};
use serde::{Deserialize, Serialize};

use crate::contact::Contact;
use crate::islands::Islands;
use crate::model::{BodyId, Model, NOBODY};
use crate::settings::Settings;
use crate::world::{World, WorldError};

/// When bodies fall asleep.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sleep {
    /// Slower than this counts as rest, m/s: the centre and every other point of the body. None: a hundredth
    /// of √(g r), r the body's smallest inner radius. That speed takes a body 5e-5 r up; without gravity it
    /// is zero, and nothing sleeps.
    #[serde(default)]
    pub speed: Option<f64>,
    /// For how long, s.
    #[serde(default = "half_a_second")]
    pub time: f64,
}

fn half_a_second() -> f64 {
    0.5
}

impl Default for Sleep {
    fn default() -> Self {
        Self { speed: None, time: half_a_second() }
    }
}

/// The default speed, over √(g r).
const SPEED: f64 = 0.01;

const PARAMETERS: [Param; 2] = [
    Param { name: "speed", default: "0.01 sqrt(g r)", help: "slower is at rest, m/s" },
    Param { name: "time", default: "0.5", help: "at rest for so long before falling asleep, s" },
];

impl Sleep {
    /// Reads `speed=0.01,time=1` and the like; nothing at all means the defaults.
    pub fn parse(text: &str) -> Result<Self, BadSpec> {
        let spec = Spec::parse(&if text.is_empty() { "sleep".into() } else { format!("sleep:{text}") })?;
        spec.check(&PARAMETERS)?;
        let speed = spec.number("speed", f64::NAN)?;
        let given = text.contains("speed");
        let sleep = Self { speed: given.then_some(speed), time: spec.number("time", half_a_second())? };
        sleep.check().map_err(BadSpec)?;
        Ok(sleep)
    }

    /// Says what is wrong, naming the field.
    pub fn check(&self) -> Result<(), String> {
        if let Some(speed) = self.speed
            && !(speed.is_finite() && speed > 0.0)
        {
            return Err(format!("sleep: speed must be positive and finite, got {speed}"));
        }
        if !(self.time.is_finite() && self.time >= 0.0) {
            return Err(format!("sleep: time must be finite and not negative, got {}", self.time));
        }
        Ok(())
    }
}

/// Who sleeps, and how long the others have been at rest: the part of the state that is about sleep. By body
/// slot; empty in worlds without.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rest {
    /// One more than the lowest slot of the island that sleeps, 0 for what is awake.
    island: Vec<u32>,
    /// Steps at rest, up to falling asleep.
    steps: Vec<u32>,
    /// Force and torque of the last step, N and N m.
    load: Vec<[f64; 6]>,
    /// How many sleep.
    asleep: u32,
}

impl Rest {
    /// Whether the body in a slot sleeps.
    #[inline]
    pub fn is_asleep(&self, slot: usize) -> bool {
        self.asleep > 0 && self.island.get(slot).is_some_and(|label| *label != 0)
    }

    /// How many sleep.
    pub fn asleep(&self) -> usize {
        self.asleep as usize
    }

    fn fit(&mut self, bodies: usize) {
        self.island.resize(bodies, 0);
        self.steps.resize(bodies, 0);
        self.load.resize(bodies, [0.0; 6]);
    }

    /// A slot has a new body.
    pub(crate) fn forget(&mut self, slot: usize) {
        if slot < self.island.len() {
            self.asleep -= u32::from(self.island[slot] != 0);
            (self.island[slot], self.steps[slot], self.load[slot]) = (0, 0, [0.0; 6]);
        }
    }

    /// Wakes the island that a body belongs to. False if it was awake.
    fn wake(&mut self, slot: usize) -> bool {
        let label = self.island.get(slot).copied().unwrap_or(0);
        if label == 0 {
            return false;
        }
        for i in 0..self.island.len() {
            if self.island[i] == label {
                (self.island[i], self.steps[i]) = (0, 0);
                self.asleep -= 1;
            }
        }
        true
    }
}

/// What a world keeps about its sleepers beside the state: all of it follows from the state.
#[derive(Default)]
pub(crate) struct Sleepers {
    /// The contacts among sleepers and with bodies that are not dynamic, in the order of all contacts.
    contacts: Vec<Contact>,
    /// By body slot, whether it sleeps and its contacts are among those: nobody has to look for them.
    pub known: Vec<bool>,
    /// By body slot, whether this step's forces, drives or neighbours keep it from rest.
    disturbed: Vec<bool>,
    /// This step's forces and torques, by body slot.
    load: Vec<[f64; 6]>,
    /// The labels of islands to be woken.
    rousing: Vec<bool>,
    /// As it was before the step.
    before: Rest,
    /// Below which speed a body rests, m/s, by body slot, and for which model, gravity and setting that was
    /// worked out.
    speeds: Vec<f64>,
    reach: Vec<f64>,
    speeds_for: Option<(u64, usize, [f64; 4])>,
    islands: Islands,
    merged: Vec<Contact>,
}

impl Sleepers {
    /// The contacts of sleepers.
    pub fn contacts(&self) -> &[Contact] {
        &self.contacts
    }

    /// Nothing is known any more about the contacts of sleepers: they are looked for again in the next step.
    pub fn forget(&mut self) {
        self.contacts.clear();
        self.known.clear();
    }

    /// Brings the lists in line with who is awake.
    fn drop_awake(&mut self, rest: &Rest, model: &Model) {
        for (i, known) in self.known.iter_mut().enumerate() {
            *known &= rest.is_asleep(i);
        }
        let awake = |b: &u32| {
            let b = *b as usize;
            model.bodies[b].inv_mass > 0.0 && !rest.is_asleep(b)
        };
        self.contacts.retain(|c| !c.bodies.iter().any(awake));
    }

    /// The speeds below which bodies rest and the radii about their centres that hold them; `model` says for
    /// which bodies.
    fn measure(&mut self, model: &Model, settings: &Settings, sleep: &Sleep) {
        let asked = [settings.gravity.x, settings.gravity.y, settings.gravity.z, sleep.speed.unwrap_or(-1.0)];
        let now = (model.revision(), model.bodies.len(), asked);
        if model.revision() != 0 && self.speeds_for == Some(now) {
            return;
        }
        self.speeds_for = Some(now);
        let inner = &mut self.speeds;
        inner.clear();
        inner.resize(model.bodies.len(), f64::INFINITY);
        self.reach.clear();
        self.reach.resize(model.bodies.len(), 0.0);
        for c in model.colliders.iter().filter(|c| c.body != NOBODY && c.radius.is_finite()) {
            let i = c.body as usize;
            inner[i] = inner[i].min(c.shape.inner_radius());
            self.reach[i] = self.reach[i].max(c.radius);
        }
        let g = settings.gravity.length();
        for (r, body) in inner.iter_mut().zip(&model.bodies) {
            // A body without a shape is as large as its mass is spread.
            let r_i = if r.is_finite() {
                *r
            } else {
                let [a, b, c] =
                    [body.mass.inertia.x_axis.x, body.mass.inertia.y_axis.y, body.mass.inertia.z_axis.z];
                ((a + b + c) / (2.0 * body.mass.mass)).sqrt()
            };
            *r = sleep.speed.unwrap_or(SPEED * (g * r_i).sqrt());
        }
    }
}

impl World {
    /// How many bodies sleep.
    pub fn asleep(&self) -> usize {
        self.state.rest.asleep()
    }

    /// Whether a body sleeps.
    pub fn is_asleep(&self, id: BodyId) -> Result<bool, WorldError> {
        if !self.model.contains(id) {
            return Err(WorldError::NoBody(id));
        }
        Ok(self.state.rest.is_asleep(id.slot as usize))
    }

    /// Wakes a body and its island: for what a world cannot know by itself, as a contact hook that changes
    /// its mind.
    pub fn wake(&mut self, id: BodyId) -> Result<(), WorldError> {
        if !self.model.contains(id) {
            return Err(WorldError::NoBody(id));
        }
        self.wake_slot(id.slot);
        Ok(())
    }

    /// Wakes everything.
    pub fn wake_all(&mut self) {
        if self.state.rest.asleep > 0 {
            self.state.rest.island.fill(0);
            self.state.rest.steps.fill(0);
            self.state.rest.asleep = 0;
            self.work.collision.sleepers.forget();
        }
    }

    /// Wakes the island of a slot, if it is one's.
    pub(crate) fn wake_slot(&mut self, slot: u32) {
        if self.state.rest.wake(slot as usize) {
            self.work.collision.sleepers.drop_awake(&self.state.rest, &self.model);
        }
    }

    /// Wakes these bodies and all that they touch.
    pub(crate) fn wake_around(&mut self, slots: &[u32]) {
        if self.state.rest.asleep == 0 {
            return;
        }
        let n = self.model.bodies.len();
        self.state.rest.fit(n);
        let (s, rest) = (&mut self.work.collision.sleepers, &mut self.state.rest);
        s.rousing.clear();
        s.rousing.resize(n + 1, false);
        s.disturbed.clear();
        s.disturbed.resize(n, false);
        for &slot in slots {
            s.disturbed[slot as usize] = true;
            s.rousing[rest.island[slot as usize] as usize] = true;
        }
        for m in &self.state.multipliers {
            let [a, b] =
                m.key.colliders.map(|k| self.model.colliders.get(k as usize).map_or(NOBODY, |c| c.body));
            for (one, other) in [(a, b), (b, a)] {
                if other != NOBODY && s.disturbed.get(one as usize) == Some(&true) {
                    s.rousing[rest.island[other as usize] as usize] = true;
                }
            }
        }
        s.wake_rousing(&self.model, rest);
    }
}
