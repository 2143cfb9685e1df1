//! How a world steps: step size, accuracy, stabilisation.

use std::time::Duration;

use drystone_solve::FrictionLaw;
use drystone_solve::solver::{BadSpec, Param, Spec};
use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::bounds::Bounds;
use crate::collide::{Periodic, broadphase};
use crate::limits::{FARTHEST, GRAVITY, STEPS, within};
use crate::sleep::rule::Sleep;

/// How gaps and overlaps enter the step [TasoraAnitescu2011, §5.2]. In every variant a positive gap Φ enters
/// the velocity problem as Φ/h: bodies may approach until they touch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stabilisation {
    /// Overlaps are left alone: the speed along the normal may not be negative, that is all.
    None,
    /// An overlap enters the velocity problem as K Φ/h. (Only overlaps are scaled; the paper scales gaps too,
    /// which would stop bodies before they touch.)
    Scaled {
        /// Share of the overlap to remove in one step, in (0, 1].
        k: f64,
        /// The same of a joint's error. Pairs of materials and joints may have their own K
        /// ([`crate::PairLaw::k`], [`crate::JointDef::k`]), which comes before both.
        joints: f64,
    },
    /// An overlap enters the velocity problem as max(Φ/h, -A), a joint's error as Ψ/h.
    Clamped {
        /// Largest recovery speed A, m/s.
        a: f64,
    },
    /// Overlaps do not enter the velocity problem; after the step a position problem (eq. 55-57) removes
    /// them.
    Post {
        /// Overlap that is left alone, as a share of the smaller body's inner radius.
        tolerance: f64,
        /// Overlap at which a step's corrections end, as a share of the smaller body's inner radius: what is
        /// left between this and `tolerance` is the next step's.
        accept: f64,
        /// Largest correction of one contact in one step, as a share of the smaller body's inner radius.
        reach: f64,
        /// The position problem is repeated with recomputed gaps at most this often.
        rounds: usize,
    },
    /// As `None`, for contacts with Φ ≤ 0 alone: what does not touch where the step begins has no row, as in
    /// Moreau's scheme [Anitescu2005, "defining the active set"]. Bodies overlap by as much as they approach
    /// in a step.
    Moreau,
}

impl Default for Stabilisation {
    fn default() -> Self {
        Stabilisation::Post { tolerance: 1e-4, accept: 1e-4, reach: 0.1, rounds: 3 }
    }
}

const K: [Param; 2] = [
    Param { name: "K", default: "0.2", help: "share of the overlap to remove in one step" },
    Param { name: "joints", default: "K", help: "share of a joint's error to remove in one step" },
];
const A: Param = Param { name: "A", default: "0.1", help: "largest recovery speed, m/s" };
const POST: [Param; 4] = [
    Param { name: "tolerance", default: "1e-4", help: "overlap left alone, over the smaller inner radius" },
    Param {
        name: "accept",
        default: "tolerance",
        help: "overlap at which a step's rounds end, over the smaller inner radius",
    },
    Param { name: "reach", default: "0.1", help: "largest correction a step, over the smaller inner radius" },
    Param { name: "rounds", default: "3", help: "repetitions with recomputed gaps" },
];

impl Stabilisation {
    /// The names.
    pub const NAMES: &'static [&'static str] = &["none", "moreau", "scaled", "clamped", "post"];

    /// Reads `scaled:K=0.3` and the like.
    pub fn parse(text: &str) -> Result<Self, BadSpec> {
        let spec = Spec::parse(text)?;
        match spec.name.as_str() {
            "none" => spec.check(&[]).map(|()| Stabilisation::None),
            "moreau" => spec.check(&[]).map(|()| Stabilisation::Moreau),
            "scaled" => {
                spec.check(&K)?;
                let k = spec.positive("K", 0.2, 1.0)?;
                Ok(Stabilisation::Scaled { k, joints: spec.positive("joints", k, 1.0)? })
            }
            "clamped" => {
                spec.check(&[A])?;
                Ok(Stabilisation::Clamped { a: spec.positive("A", 0.1, f64::INFINITY)? })
            }
            "post" => {
                spec.check(&POST)?;
                let tolerance = spec.positive("tolerance", 1e-4, 1.0)?;
                Ok(Stabilisation::Post {
                    tolerance,
                    accept: spec.positive("accept", tolerance, f64::INFINITY)?.max(tolerance),
                    reach: spec.positive("reach", 0.1, 1.0)?,
                    rounds: match spec.positive("rounds", 3.0, 1000.0)? {
                        n if n.fract() == 0.0 => n as usize,
                        n => {
                            return Err(BadSpec(format!(
                                "parameter 'rounds' of 'post' must be whole, got {n}"
                            )));
                        }
                    },
                })
            }
            other => Err(BadSpec::unknown("stabilisation", other, Self::NAMES)),
        }
    }

    /// The same for one constraint that has a K of its own [TasoraAnitescu2011, §5.2]: it counts for `Scaled`
    /// alone, the others have no K.
    pub(crate) fn with_own(self, k: Option<f64>) -> Self {
        match (self, k) {
            (Stabilisation::Scaled { .. }, Some(k)) => Stabilisation::Scaled { k, joints: k },
            _ => self,
        }
    }

    /// Says that a constraint's own K is impossible.
    pub(crate) fn check_own(k: Option<f64>) -> Result<(), String> {
        match k {
            Some(k) if !(k > 0.0 && k <= 1.0) => Err(format!("K must be above 0 and at most 1, got {k}")),
            _ => Ok(()),
        }
    }

    /// As the command line spells it.
    pub fn text(&self) -> String {
        match self {
            Stabilisation::None => "none".into(),
            Stabilisation::Moreau => "moreau".into(),
            Stabilisation::Scaled { k, joints } if k == joints => format!("scaled:K={k}"),
            Stabilisation::Scaled { k, joints } => format!("scaled:K={k},joints={joints}"),
            Stabilisation::Clamped { a } => format!("clamped:A={a}"),
            Stabilisation::Post { tolerance, accept, reach, rounds } => {
                format!("post:tolerance={tolerance},accept={accept},reach={reach},rounds={rounds}")
            }
        }
    }

    /// The normal bias of the velocity problem for a gap, m/s.
    #[doc(hidden)]
    pub fn bias(&self, gap: f64, h: f64) -> f64 {
        if gap >= 0.0 {
            return gap / h;
        }
        match *self {
            Stabilisation::None | Stabilisation::Moreau | Stabilisation::Post { .. } => 0.0,
            Stabilisation::Scaled { k, .. } => k * gap / h,
            Stabilisation::Clamped { a } => (gap / h).max(-a),
        }
    }
}

/// How positions follow velocities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Integrator {
    /// `Rattle` of fourth order in worlds with joints, `Euler` in all others.
    #[default]
    Auto,
    /// The half-implicit scheme: q ← Λ(q, v⁺, h) [TasoraAnitescu2011, eq. 47].
    Euler,
    /// Moreau's θ-method: q ← Λ(q, θ v⁺ + (1-θ) v, h) [RenoufAcary2006, eq. 2]. Of second order in free
    /// motion for θ = ½.
    Moreau {
        /// From ½ to 1; 1 is `Euler` but for the rotation of bodies that are not balls.
        theta: f64,
    },
    /// Symmetric and nearly symplectic steps, to rounding on the joints' equations \[Andersen1983\], as long
    /// as motion is smooth: joints, motors that impose a position, a speed (both without a limit) or a force,
    /// springs and dampers that the step resolves, slack ropes and limits. Any other step is one of `Euler`:
    /// one with a contact, an active limit or a taut rope, dry friction in a joint, a motor with a limited
    /// force, a spring with (hω)² or a damper with hc/m beyond about ¼.
    Rattle {
        /// 2, or 4 at five times the work.
        order: u8,
    },
}

const ORDER: Param = Param { name: "order", default: "4", help: "order of the error, 2 or 4" };
const THETA: Param =
    Param { name: "theta", default: "0.5", help: "weight of the new velocity, from 0.5 to 1" };

impl Integrator {
    /// The names.
    pub const NAMES: &'static [&'static str] = &["auto", "euler", "moreau", "rattle"];

    /// Reads `moreau:theta=0.5` and the like.
    pub fn parse(text: &str) -> Result<Self, BadSpec> {
        let spec = Spec::parse(text)?;
        match spec.name.as_str() {
            "auto" => spec.check(&[]).map(|()| Integrator::Auto),
            "euler" => spec.check(&[]).map(|()| Integrator::Euler),
            "rattle" => {
                spec.check(&[ORDER])?;
                match spec.positive("order", 4.0, 4.0)? {
                    2.0 => Ok(Integrator::Rattle { order: 2 }),
                    4.0 => Ok(Integrator::Rattle { order: 4 }),
                    n => Err(BadSpec(format!("parameter 'order' of 'rattle' must be 2 or 4, got {n}"))),
                }
            }
            "moreau" => {
                spec.check(&[THETA])?;
                let theta = spec.number("theta", 0.5)?;
                if !(0.5..=1.0).contains(&theta) {
                    return Err(BadSpec(format!(
                        "parameter 'theta' of 'moreau' must be from 0.5 to 1, got {theta}"
                    )));
                }
                Ok(Integrator::Moreau { theta })
            }
            other => Err(BadSpec::unknown("integrator", other, Self::NAMES)),
        }
    }

    /// As the command line spells it.
    pub fn text(&self) -> String {
        match self {
            Integrator::Auto => "auto".into(),
            Integrator::Euler => "euler".into(),
            Integrator::Rattle { order } => format!("rattle:order={order}"),
            Integrator::Moreau { theta } => format!("moreau:theta={theta}"),
        }
    }

    /// Weight of the new velocity, in steps that are not smooth ones.
    pub(crate) fn theta(&self) -> f64 {
        match *self {
            Integrator::Moreau { theta } => theta,
            _ => 1.0,
        }
    }

    /// The order of smooth steps, if it takes any.
    pub(crate) fn smooth(&self, joints: bool) -> Option<u8> {
        match *self {
            Integrator::Auto if joints => Some(4),
            Integrator::Rattle { order } => Some(order),
            _ => None,
        }
    }
}

impl Stabilisation {
    /// The bias of a bilateral row of the velocity problem for an error Ψ in m, m/s.
    #[doc(hidden)]
    pub fn bilateral_bias(&self, error: f64, h: f64) -> f64 {
        match *self {
            Stabilisation::None | Stabilisation::Moreau | Stabilisation::Post { .. } => 0.0,
            Stabilisation::Scaled { joints, .. } => joints * error / h,
            Stabilisation::Clamped { .. } => error / h,
        }
    }

    /// Whether errors of positions are corrected by velocities: the multipliers are loads and corrections
    /// then.
    pub(crate) fn is_in_velocities(&self) -> bool {
        matches!(self, Stabilisation::Scaled { .. } | Stabilisation::Clamped { .. })
    }

    /// Share of the error of a motor that follows a position which a step takes away.
    pub(crate) fn motor_share(&self) -> f64 {
        match *self {
            Stabilisation::Scaled { joints, .. } => joints,
            _ => 1.0,
        }
    }
}

/// More parts than this are a mistake.
const MOST_SUBSTEPS: usize = 1000;
/// And more substeps of an island.
const MOST_HALVES: usize = 1 << 16;

/// How a world steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Step h, s.
    pub h: f64,
    /// m/s².
    pub gravity: DVec3,
    /// The contact law.
    #[serde(default)]
    pub model: FrictionLaw,
    /// A solver by name, with parameters: a [`Method`](crate::Method) becomes one by `into()`; texts are
    /// those of `drystone solvers`.
    pub solver: String,
    /// Largest natural-map residual to accept, m/s; 0 runs all iterations [default: the scene's own, 1e-4].
    pub tolerance: f64,
    /// Cap on iterations of the velocity problem; 0 skips it (the position-based limit).
    pub iterations: usize,
    /// Cap on the time of the velocity problem.
    pub budget: Option<Duration>,
    /// Compliance of rows that ask for a motion (moving walls, motors, bounces, overlaps), at most, as a
    /// share of their own diagonals of N: with it every step has a solution. 0 is the papers' rigid problem,
    /// which may have none.
    #[serde(default = "near_rigid")]
    pub compliance: f64,
    /// In how many parts of equal length a step is taken, each with its own contacts and its share of
    /// `iterations` and `budget`; 1: in one.
    #[serde(default = "one")]
    pub substeps: usize,
    /// In how many substeps an island may take a step that does not resolve its motion (bodies that turn far,
    /// or are thrown at others within it): halves of halves, as many as needed, up to this; 1: never.
    #[serde(default = "many")]
    pub max_substeps: usize,
    /// How positions follow velocities.
    #[serde(default)]
    pub integrator: Integrator,
    /// What happens to overlaps.
    pub stabilisation: Stabilisation,
    /// Cap on iterations of one position problem.
    pub position_iterations: usize,
    /// Distance at which contacts exist before touching, at rest, m. None: |g| h² (what a body falls in one
    /// step) plus 0.2 % of the smaller inner radius of the pair (what a body hit during the step may be
    /// pushed into its neighbours). It grows by what a pair can approach in a step, and by mu h times its
    /// sliding speed.
    pub envelope: Option<f64>,
    /// A broad phase by name; None lets the sizes decide.
    pub broadphase: Option<broadphase::Kind>,
    /// Start from the last step's multipliers.
    pub warm_start: bool,
    /// Where bodies are meant to stay; None: anywhere.
    #[serde(default)]
    pub bounds: Option<Bounds>,
    /// Along which axes the world repeats; None: along none.
    #[serde(default)]
    pub periodic: Option<Periodic>,
    /// Whether bodies at rest are left out of the steps until something disturbs them; None: never.
    #[serde(default)]
    pub sleep: Option<Sleep>,
}

fn near_rigid() -> f64 {
    1e-2
}

fn many() -> usize {
    256
}

fn one() -> usize {
    1
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            h: 0.01,
            gravity: DVec3::new(0.0, 0.0, -9.81),
            model: FrictionLaw::Ccp,
            solver: "auto".into(),
            tolerance: 1e-4,
            iterations: 20_000,
            budget: None,
            compliance: near_rigid(),
            substeps: 1,
            max_substeps: many(),
            integrator: Integrator::default(),
            stabilisation: Stabilisation::default(),
            position_iterations: 50,
            envelope: None,
            broadphase: None,
            warm_start: true,
            bounds: None,
            periodic: None,
            sleep: None,
        }
    }
}

impl Settings {
    /// Says what is wrong, naming the field.
    pub fn check(&self) -> Result<(), String> {
        if !(self.h.is_finite() && self.h > 0.0) {
            return Err(format!("h (the step) must be positive and finite, got {}", self.h));
        }
        if !STEPS.contains(&self.h) {
            return Err(format!(
                "h (the step) must be from {:e} to {:e} s, or numbers run out, got {:e}",
                STEPS.start(),
                STEPS.end(),
                self.h
            ));
        }
        within("gravity", self.gravity, GRAVITY, "m/s²")?;
        if !(self.tolerance.is_finite() && self.tolerance >= 0.0) {
            return Err(format!("tolerance must be finite and not negative, got {}", self.tolerance));
        }
        if !(0.0..=1.0).contains(&self.compliance) {
            return Err(format!("compliance must be from 0 to 1, got {}", self.compliance));
        }
        if !(1..=MOST_SUBSTEPS).contains(&self.substeps) {
            return Err(format!("substeps must be from 1 to {MOST_SUBSTEPS}, got {}", self.substeps));
        }
        if !(1..=MOST_HALVES).contains(&self.max_substeps) {
            return Err(format!("max_substeps must be from 1 to {MOST_HALVES}, got {}", self.max_substeps));
        }
        if !self.max_substeps.is_power_of_two() {
            let text = "max_substeps must be a power of two (an island takes its step in halves)";
            return Err(format!("{text}, got {}", self.max_substeps));
        }
        if !(0.5..=1.0).contains(&self.integrator.theta()) {
            return Err(format!("integrator: theta must be from 0.5 to 1, got {}", self.integrator.theta()));
        }
        if let Integrator::Rattle { order } = self.integrator
            && order != 2
            && order != 4
        {
            return Err(format!("integrator: the order of rattle must be 2 or 4, got {order}"));
        }
        if let (Integrator::Rattle { .. }, 0) = (self.integrator, self.iterations) {
            return Err("iterations = 0 leaves everything to the position problem, which the integrator rattle does not \
                        have: give iterations, or another integrator"
                .into());
        }
        if let Some(e) = self.envelope
            && !(e.is_finite() && e >= 0.0)
        {
            return Err(format!("envelope must be finite and not negative, got {e}"));
        }
        if let Some(e) = self.envelope.filter(|e| *e > FARTHEST) {
            return Err(format!("envelope must be at most {FARTHEST:e} m, or numbers run out, got {e:e}"));
        }
        if let Some(b) = &self.bounds {
            b.check()?;
        }
        if let Some(p) = &self.periodic {
            p.check()?;
        }
        if let Some(sleep) = &self.sleep {
            sleep.check()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_parameters_round_trip() {
        for text in [
            "none",
            "moreau",
            "scaled:K=0.5",
            "clamped:A=2",
            "post:tolerance=0.001,accept=0.002,reach=0.2,rounds=5",
        ] {
            assert_eq!(Stabilisation::parse(text).unwrap().text(), text);
        }
        assert_eq!(Stabilisation::parse("post").unwrap(), Stabilisation::default());
        assert!(Stabilisation::parse("pots").unwrap_err().0.contains("did you mean 'post'"));
        assert!(Stabilisation::parse("scaled:A=1").unwrap_err().0.contains("valid: K"));
        assert!(Stabilisation::parse("scaled:K=2").is_err());
    }

    #[test]
    fn integrators_round_trip() {
        for text in
            ["auto", "euler", "moreau:theta=0.5", "moreau:theta=0.75", "rattle:order=2", "rattle:order=4"]
        {
            assert_eq!(Integrator::parse(text).unwrap().text(), text);
        }
        assert_eq!(Integrator::parse("moreau").unwrap(), Integrator::Moreau { theta: 0.5 });
        assert_eq!(Integrator::parse("rattle").unwrap(), Integrator::Rattle { order: 4 });
        for wrong in [
            "rattle:order=3",
            "rattle:order=6",
            "auto:order=2",
            "moreau:theta=0.4",
            "moreau:theta=1.1",
            "moreau:alpha=1",
            "rk4",
        ] {
            assert!(Integrator::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn biases_are_the_papers() {
        let h = 0.01;
        for s in ["none", "scaled:K=0.5", "clamped:A=0.1", "post"] {
            assert_eq!(Stabilisation::parse(s).unwrap().bias(0.02, h), 2.0);
        }
        assert_eq!(Stabilisation::None.bias(-0.02, h), 0.0);
        assert_eq!(Stabilisation::Scaled { k: 0.5, joints: 0.5 }.bias(-0.02, h), -1.0);
        assert_eq!(Stabilisation::Clamped { a: 0.1 }.bias(-0.02, h), -0.1);
        assert_eq!(Stabilisation::Clamped { a: 0.1 }.bias(-0.0005, h), -0.05);
        assert_eq!(Stabilisation::default().bias(-0.02, h), 0.0);
    }
}
