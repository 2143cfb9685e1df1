//! When bodies fall asleep: the setting.

use drystone_solve::solver::{BadSpec, Param, Spec};
use serde::{Deserialize, Serialize};

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

pub(crate) fn half_a_second() -> f64 {
    0.5
}

impl Default for Sleep {
    fn default() -> Self {
        Self { speed: None, time: half_a_second() }
    }
}

pub(crate) const PARAMETERS: [Param; 2] = [
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
