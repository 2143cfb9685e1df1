//! A cam and its follower: an eccentric disc under a flat foot that a spring and the weight press down. The
//! lift is harmonic, s = e (1 - cos θ), so that with m the follower's mass, k the spring's stiffness and F₀
//! its force at the lowest place the contact carries
//!
//! ```text
//!     N = m g + F₀ + k e + e (m ω² - k) cos θ
//! ```
//!
//! at a constant speed ω. For m ω² > k it is least at the top, θ = π, and the follower leaves the cam from
//!
//! ```text
//!     ω² = (m g + F₀ + 2 k e) / (m e)
//! ```
//!
//! on. The motor's speed grows slowly from below to above that; the least force of each turn says where it
//! would vanish.

use std::f64::consts::{FRAC_PI_2, TAU};

use drystone::{BodyDef, Collider, Function, JointDef, MassProperties, Motor, Pose, Settings, Shape, World};
use glam::{DQuat, DVec3};
use serde_json::json;

use super::linkage::{bar, pin};
use super::machine::body_id;
use super::params::{ParamInfo, Params, param};
use super::{Entry, Made};
use crate::probe::{Results, number};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "cam",
    title: "an eccentric cam runs faster and faster until its follower lifts off",
    citation: "TasoraAnitescu2011, section 1; Norton2009, chapter 15",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("e", "0.01", "m", "eccentricity"),
    param("r", "0.04", "m", "radius of the disc"),
    param("mass", "0.5", "kg", "of the follower"),
    param("stiffness", "2000", "N/m", "of the spring"),
    param("preload", "20", "N", "of the spring at the lowest place"),
    param("mu", "0", "", "coefficient of friction between cam and follower; the closed form has none"),
    param("from", "0.9", "", "speed at the start, over that of lifting off"),
    param("to", "1.1", "", "speed at the end"),
    param("h", "0.0001", "s", "step"),
    param("T", "2", "s", "duration"),
];

/// Half of the foot's thickness, m, and of the disc's.
const FOOT: f64 = 0.004;
const WIDTH: f64 = 0.012;

fn build(p: &Params) -> Result<Made, SceneError> {
    let e = p.positive("e", 1.0)?;
    let r = p.positive("r", 10.0)?;
    let mass = p.positive("mass", 1e6)?;
    let stiffness = p.number("stiffness", 0.0, 1e9)?;
    let preload = p.number("preload", 0.0, 1e9)?;
    if preload > 0.0 && stiffness == 0.0 {
        return Err(p.refuse("preload", "a spring of no stiffness has no force: set stiffness"));
    }
    let mu = p.number("mu", 0.0, 10.0)?;
    let (from, to) = (p.positive("from", 10.0)?, p.positive("to", 10.0)?);
    let end = p.positive("T", 1e6)?;
    if e >= r {
        return Err(
            p.refuse("e", format!("must be less than r, {r} m: the axis is inside the disc, got {e}"))
        );
    }
    let settings = Settings { tolerance: 1e-8, ..Settings::default() };
    let weight = mass * settings.gravity.length();
    let critical = ((weight + preload + 2.0 * stiffness * e) / (mass * e)).sqrt();
    if mass * critical * critical <= stiffness {
        return Err(
            p.refuse("stiffness", "the least force is not at the top of the lift: take a softer spring")
        );
    }
    let disc = Collider {
        local: Pose::new(DVec3::NEG_Z * e, DQuat::from_rotation_x(FRAC_PI_2)),
        ..Collider::new(Shape::cylinder(r, WIDTH), mu)
    };
    let inertia = DVec3::splat(0.5 * r * r);
    let mut cam = BodyDef::bare(MassProperties::principal(1.0, inertia)).named("cam");
    cam.colliders.push(disc);
    cam = cam.moving(DVec3::ZERO, DVec3::Y * from * critical);
    let half = DVec3::new(e + 0.5 * r, WIDTH, FOOT);
    let foot = BodyDef::dynamic(Shape::Box { half }, mass).friction(mu);
    let mut foot = foot.at(DVec3::Z * (r - e + FOOT)).named("follower");
    foot.colliders.push(bar(DVec3::Z * FOOT, DVec3::Z * 2.0 * r, 0.12 * r));
    let speed = Function::Ramp { from: from * critical, to: to * critical, start: 0.0, end };
    Ok(Made {
        settings,
        seed: 1,
        bodies: vec![cam, foot, pin(DVec3::NEG_Y * 1.5 * WIDTH, 0.15 * r, "axle")],
        glass: Vec::new(),
        probe: Box::new(Cam {
            speed,
            rest: if stiffness > 0.0 { -preload / stiffness } else { 0.0 },
            e,
            r,
            stiffness,
            turns: Vec::new(),
            least: None,
            turn: 0,
            lifted: None,
            critical,
            highest: 0.0,
        }),
    })
}

struct Cam {
    /// Of the motor.
    speed: Function,
    /// Of the spring, m.
    rest: f64,
    e: f64,
    r: f64,
    stiffness: f64,
    critical: f64,
    /// Of each full turn: the speed at its least force, rad/s, and that force, N.
    turns: Vec<[f64; 2]>,
    /// The same of the turn that is being made.
    least: Option<[f64; 2]>,
    /// Full turns so far.
    turn: u64,
    /// Speed at which the contact was first without force, rad/s.
    lifted: Option<f64>,
    /// Largest gap, m.
    highest: f64,
}

impl Cam {
    /// Where the force would vanish, rad/s: it is linear in ω², by least squares over the turns that have
    /// one.
    fn by_force(&self) -> Option<f64> {
        let turns: Vec<[f64; 2]> =
            self.turns.iter().filter(|t| t[1] > 0.0).map(|t| [t[0] * t[0], t[1]]).collect();
        let n = turns.len() as f64;
        let mean = |k: usize| turns.iter().map(|t| t[k]).sum::<f64>() / n;
        let [x, y] = [mean(0), mean(1)];
        let (over, under) =
            turns.iter().fold((0.0, 0.0), |(a, b), t| (a + (t[0] - x) * (t[1] - y), b + (t[0] - x).powi(2)));
        (turns.len() > 1 && over < 0.0).then(|| (x - y * under / over).sqrt())
    }
}

impl Probe for Cam {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("turns", &mut self.turns);
        memory.keep("least", &mut self.least);
        memory.keep("turn", &mut self.turn);
        memory.keep("lifted", &mut self.lifted);
        memory.keep("highest", &mut self.highest);
    }

    fn joints(&self) -> Vec<JointDef> {
        let (cam, foot) = (body_id(0), body_id(1));
        let top = DVec3::Z * (self.r - self.e + FOOT);
        vec![
            JointDef::revolute(None, cam, DVec3::ZERO, DVec3::Y)
                .motor(0, Motor::speed(self.speed.clone()))
                .named("axle"),
            JointDef::prismatic(None, foot, top, DVec3::Z)
                .spring(0, self.rest, self.stiffness, 0.0)
                .named("guide"),
        ]
    }

    fn observe(&mut self, world: &World) {
        let state = world.state();
        let down = state.rotation[0] * DVec3::NEG_Z * self.e;
        let bottom = state.position[1].z - FOOT;
        let gap = bottom - (state.position[0].z + down.z + self.r);
        self.highest = self.highest.max(gap);
        let force = world.contacts().iter().map(|c| c.normal_impulse()).sum::<f64>() / world.settings().h;
        let speed = self.speed.value(state.time);
        // The angle that the motor has gone, from the integral of its ramp.
        let turned = 0.5 * (self.speed.value(0.0) + speed) * state.time / TAU;
        if turned.floor() as u64 > self.turn {
            self.turn = turned.floor() as u64;
            self.turns.extend(self.least.take());
        }
        if self.turn == 0 && turned < 0.25 {
            return;
        }
        if self.least.is_none_or(|l| force < l[1]) {
            self.least = Some([speed, force]);
        }
        if force <= 0.0 {
            self.lifted.get_or_insert(speed);
        }
    }

    fn results(&mut self, _: &World) -> Results {
        let mut results = Results::new();
        let say = |x: Option<f64>| x.map_or(json!(null), number);
        results.insert("expected_lift_off_rad_s".into(), number(self.critical));
        results.insert("lift_off_rad_s".into(), say(self.lifted));
        results.insert("lift_off_by_force_rad_s".into(), say(self.by_force()));
        results.insert("largest_gap_m".into(), number(self.highest));
        results.insert("least_force_by_turn".into(), json!(self.turns));
        results
    }
}
