//! What acts along a joint's free coordinate: motor, limits, friction, spring.
//!
//! Each becomes one row of the velocity problem along the coordinate x, with u = ẋ and multiplier γ:
//!
//! ```text
//!     speed motor      u - f(t + h) = 0                        |γ| ≤ h F
//!     position motor   u - (f(t + h) - x)/h = 0                |γ| ≤ h F
//!     force motor      γ = h f(t + h)
//!     limits           u + (x - lo)/h ≥ 0,  -u + (hi - x)/h ≥ 0       γ ≥ 0; after an impact u⁺ ≥ -e u⁻
//!     friction         u = 0                                   |γ| ≤ h F
//!     spring           u + k (x - x₀)/(hk + c) + γ/(h(hk + c)) = 0
//! ```
//!
//! The interval sets make a motor with enough force hold its command exactly and one at its limit push with
//! just that. The spring's row is f = -k (x + h u - x₀) - c u, implicit in position and velocity.
//!
//! A position motor far from its command does not ask for all of the way in one step: it would arrive too
//! fast to stop. Its speed is at most √(F g |f - x| / 4), from which half an eighth of the acceleration F g
//! that its force gives to the two bodies alone (g = J M⁻¹ Jᵀ) brakes in time.

use serde::{Deserialize, Serialize};

use crate::function::Function;
use crate::limits::{FARTHEST, FASTEST, STIFFEST, STRONGEST, sized, up_to};

/// What a motor imposes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// The coordinate, m or rad.
    Position(Function),
    /// Its rate, m/s or rad/s.
    Speed(Function),
    /// The force or torque, N or N m.
    Force(Function),
}

/// A motor along a free coordinate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Motor {
    /// What it imposes.
    pub command: Command,
    /// Largest force or torque, N or N m; infinite if nothing is said.
    #[serde(default = "unlimited", skip_serializing_if = "is_infinite")]
    pub limit: f64,
}

fn unlimited() -> f64 {
    f64::INFINITY
}

fn is_infinite(x: &f64) -> bool {
    *x == f64::INFINITY
}

impl Motor {
    /// Imposes the coordinate, m or rad.
    pub fn position(f: impl Into<Function>) -> Self {
        Self { command: Command::Position(f.into()), limit: f64::INFINITY }
    }

    /// Imposes the rate of the coordinate, m/s or rad/s.
    pub fn speed(f: impl Into<Function>) -> Self {
        Self { command: Command::Speed(f.into()), limit: f64::INFINITY }
    }

    /// Imposes a force or torque, N or N m.
    pub fn force(f: impl Into<Function>) -> Self {
        Self { command: Command::Force(f.into()), limit: f64::INFINITY }
    }

    /// With a largest force or torque.
    pub fn limited(mut self, limit: f64) -> Self {
        self.limit = limit;
        self
    }

    /// Whether it fixes the coordinate whatever it takes.
    pub(crate) fn is_rigid(&self) -> bool {
        self.limit == f64::INFINITY && matches!(self.command, Command::Position(_))
    }

    /// Whether it imposes a position or a speed.
    pub(crate) fn commands_motion(&self) -> bool {
        !matches!(self.command, Command::Force(_))
    }

    fn check(&self) -> Result<(), String> {
        if self.limit.is_nan() || self.limit < 0.0 {
            return Err(format!("motor: limit must not be negative, got {}", self.limit));
        }
        if self.limit.is_finite() {
            up_to("motor: limit", self.limit, STRONGEST, "N or N m")?;
        }
        let (f, name, most, unit) = match &self.command {
            Command::Position(f) => (f, "position", FARTHEST, "m or rad"),
            Command::Speed(f) => (f, "speed", FASTEST, "m/s or rad/s"),
            Command::Force(f) => (f, "force", STRONGEST, "N or N m"),
        };
        f.check().map_err(|e| format!("motor: {name}: {e}"))?;
        f.check_size(most, unit).map_err(|e| format!("motor: {name} {e}"))
    }
}

/// Ends of a free coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Smallest value, m or rad.
    #[serde(default = "minus_infinity")]
    pub lower: f64,
    /// Largest value, m or rad.
    #[serde(default = "unlimited")]
    pub upper: f64,
    /// Coefficient of restitution at the ends.
    #[serde(default)]
    pub restitution: f64,
}

fn minus_infinity() -> f64 {
    f64::NEG_INFINITY
}

/// A spring and damper along a free coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spring {
    /// Where it is without force, m or rad.
    #[serde(default)]
    pub rest: f64,
    /// N/m or N m/rad
    #[serde(default)]
    pub stiffness: f64,
    /// N s/m or N m s/rad
    #[serde(default)]
    pub damping: f64,
}

/// All that acts along one free coordinate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Law {
    /// A motor.
    #[serde(default)]
    pub motor: Option<Motor>,
    /// Ends.
    #[serde(default)]
    pub limits: Option<Limits>,
    /// Dry friction, N or N m.
    #[serde(default)]
    pub friction: f64,
    /// A spring with a damper.
    #[serde(default)]
    pub spring: Option<Spring>,
}

impl Law {
    /// Whether nothing acts.
    pub fn is_empty(&self) -> bool {
        self.motor.is_none() && self.limits.is_none() && self.friction == 0.0 && self.spring.is_none()
    }

    /// Whether anything of it is a matter of where the coordinate is at the end of a step.
    pub(crate) fn is_about_positions(&self) -> bool {
        let led = |m: &Motor| matches!(m.command, Command::Position(_));
        self.limits.is_some() || self.motor.as_ref().is_some_and(led)
    }

    /// Says what is wrong, naming the field.
    pub fn check(&self) -> Result<(), String> {
        if let Some(m) = &self.motor {
            m.check()?;
        }
        if let Some(l) = &self.limits {
            if l.lower.is_nan() || l.upper.is_nan() || l.lower > l.upper {
                return Err(format!("limits: lower must be at most upper, got {} and {}", l.lower, l.upper));
            }
            for (name, x) in [("lower", l.lower), ("upper", l.upper)] {
                if x.is_finite() {
                    sized(&format!("limits: {name}"), x, FARTHEST, "m or rad")?;
                }
            }
            if !(0.0..=1.0).contains(&l.restitution) {
                return Err(format!("limits: restitution must be in [0, 1], got {}", l.restitution));
            }
        }
        if let Some(s) = &self.spring {
            up_to("spring: stiffness", s.stiffness, STIFFEST, "N/m or N m/rad")?;
            up_to("spring: damping", s.damping, STIFFEST, "N s/m or N m s/rad")?;
            sized("spring: rest", s.rest, FARTHEST, "m or rad")?;
        }
        up_to("friction", self.friction, STRONGEST, "N or N m")
    }
}
