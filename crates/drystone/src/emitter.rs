//! Where bodies come from and where they go: emitters and sinks.
//!
//! An emitter puts copies of its bodies into a box, at a rate, wherever there is room; a sink takes out every
//! dynamic body whose centre is in its box, or the lowest of them at a rate: a valve or a feeder below a
//! silo. Both are counted in the state, and places are drawn from the state's own generator, so that a run
//! is the same every time.

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::body::{BodyDef, Motion};

/// How often a place is drawn anew before the emitter waits for the next step.
pub(crate) const TRIES: usize = 16;

/// Adds bodies while the world runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Emitter {
    /// Lower corner of the box in which the origins of new bodies are, m.
    pub min: DVec3,
    /// Upper corner, m.
    pub max: DVec3,
    /// Bodies per second.
    pub rate: f64,
    /// When it begins, s.
    pub start: f64,
    /// How many in all; None: no end.
    pub limit: Option<u64>,
    /// Whether bodies are turned at random.
    pub turned: bool,
    /// What is added, one after the other and again from the first; their positions do not count.
    pub bodies: Vec<BodyDef>,
}

impl Emitter {
    /// Of one kind of body, without end.
    pub fn new(min: DVec3, max: DVec3, rate: f64, body: BodyDef) -> Self {
        Self { min, max, rate, start: 0.0, limit: None, turned: false, bodies: vec![body] }
    }

    /// Says what is wrong, naming the field.
    pub fn check(&self) -> Result<(), String> {
        check_box("emitter", self.min, self.max)?;
        if !(self.rate.is_finite() && self.rate >= 0.0 && self.start.is_finite()) {
            return Err(format!(
                "emitter: rate and start must be finite, got {} and {}",
                self.rate, self.start
            ));
        }
        if self.bodies.is_empty() {
            return Err("emitter: bodies must not be empty".into());
        }
        for (k, body) in self.bodies.iter().enumerate() {
            if body.motion != Motion::Dynamic {
                return Err(format!("emitter: bodies[{k}] must be dynamic"));
            }
            body.check().map_err(|e| format!("emitter: bodies[{k}]: {e}"))?;
        }
        Ok(())
    }

    /// How many bodies there should have been by `t`.
    pub fn due(&self, t: f64) -> u64 {
        let due = (self.rate * (t - self.start).max(0.0)).floor() as u64;
        self.limit.map_or(due, |limit| due.min(limit))
    }
}

/// Removes bodies while the world runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sink {
    /// Lower corner of the box, m; may be infinite.
    pub min: DVec3,
    /// Upper corner, m; may be infinite.
    pub max: DVec3,
    /// Bodies per second, the lowest along gravity first; None: all that are there.
    #[serde(default)]
    pub rate: Option<f64>,
    /// When it begins to take at that rate, s.
    #[serde(default)]
    pub start: f64,
}

impl Sink {
    /// Of all that comes into a box.
    pub fn new(min: DVec3, max: DVec3) -> Self {
        Self { min, max, rate: None, start: 0.0 }
    }

    /// Takes so many bodies a second, the lowest first, from `start` (s) on.
    pub fn paced(self, rate: f64, start: f64) -> Self {
        Self { rate: Some(rate), start, ..self }
    }

    /// Says what is wrong, naming the field.
    pub fn check(&self) -> Result<(), String> {
        let rate = self.rate.unwrap_or(0.0);
        if !(rate.is_finite() && rate >= 0.0 && self.start.is_finite()) {
            let start = self.start;
            return Err(format!(
                "sink: rate and start must be finite, rate not below 0, got {rate} and {start}"
            ));
        }
        if self.min.is_nan() || self.max.is_nan() || !self.min.cmple(self.max).all() {
            return Err(format!("sink: min must not be above max, got {} and {}", self.min, self.max));
        }
        Ok(())
    }

    pub(crate) fn contains(&self, x: DVec3) -> bool {
        self.min.cmple(x).all() && x.cmple(self.max).all()
    }

    /// How many bodies it takes at `t`, having taken `taken`.
    pub(crate) fn due(&self, t: f64, taken: u64) -> usize {
        let Some(rate) = self.rate else { return usize::MAX };
        let due = (rate * (t - self.start).max(0.0)).floor() as u64;
        due.saturating_sub(taken) as usize
    }
}

pub(crate) fn check_box(what: &str, min: DVec3, max: DVec3) -> Result<(), String> {
    if !(min.is_finite() && max.is_finite() && min.cmple(max).all()) {
        return Err(format!("{what}: min must be finite and not above max, got {min} and {max}"));
    }
    Ok(())
}

/// Emitters and sinks of a world.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// In the order of [`crate::World::emitted`].
    pub emitters: Vec<Emitter>,
    /// In the order of [`crate::World::sunk`].
    pub sinks: Vec<Sink>,
}
