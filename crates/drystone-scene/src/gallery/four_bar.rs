//! N four-bar linkages in a row, of the IFToMM library of benchmarks [Gonzalez2006, A02]: N + 1 upright bars
//! on the ground, joined at the top by N level ones, all of 1 m and 1 kg, moving to the right at 1 m/s. Twice
//! in every turn all bars lie in one line; there the mechanism has N + 1 freedoms for an instant, and
//! equations of joints that repeat each other.
//!
//! It stays a row of parallelograms, and so is a pendulum that turns over: inertia (N + 1)/3 + N, moment of
//! the weight ((N + 1)/2 + N) g. Its closed form is Jacobi's: see `elliptic.rs`.

use drystone::{BodyDef, JointDef, MassProperties, World};
use glam::DVec3;

use super::elliptic::{complete, pendulum};
use super::linkage::{EnergyWatch, Passes, bar, body, pin};
use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, exact};
use crate::probe::{Results, number};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "four-bar",
    title: "N four-bar linkages in a row, through their singular positions",
    citation: "Gonzalez2006, A02",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("n", "2", "", "four-bar linkages"),
    param("speed", "1", "m/s", "of the top at the start"),
    param("h", "0.001", "s", "step"),
    param("T", "10", "s", "duration"),
];

const THICKNESS: f64 = 0.025;

/// A thin uniform bar of 1 m and 1 kg between two points.
fn link(from: DVec3, to: DVec3, layer: f64, velocity: DVec3, turn: DVec3) -> BodyDef {
    let (centre, along) = (0.5 * (from + to), to - from);
    let moments = DVec3::splat(1.0 / 12.0) - along.abs() * (1.0 / 12.0 - 1e-4);
    let mut def = BodyDef::bare(MassProperties::principal(1.0, moments)).at(centre).moving(velocity, turn);
    let aside = DVec3::Y * layer;
    def.colliders.push(bar(from - centre + aside, to - centre + aside, THICKNESS));
    def
}

fn build(p: &Params) -> Result<Made, SceneError> {
    let n = p.whole("n", 1, 1000)? as usize;
    let speed = p.number("speed", 0.01, 100.0)?;
    let settings = exact();
    let ground = |i: usize| DVec3::X * i as f64;
    let top = |i: usize| DVec3::new(i as f64, 0.0, 1.0);
    let mut bodies = Vec::new();
    for i in 0..=n {
        let name = format!("upright {i}");
        let half = DVec3::X * 0.5 * speed;
        bodies.push(link(ground(i), top(i), 0.0, half, DVec3::Y * speed).named(name));
    }
    for i in 0..n {
        let level = link(top(i), top(i + 1), -2.0 * THICKNESS, DVec3::X * speed, DVec3::ZERO);
        bodies.push(level.named(format!("level {i}")));
    }
    for i in 0..=n {
        bodies.push(pin(ground(i), 1.6 * THICKNESS, "pin"));
    }
    let (many, all) = (n as f64, n as f64 + 1.0);
    let (inertia, moment) = (all / 3.0 + many, 0.5 * all + many);
    let g = settings.gravity.length();
    let energy = 0.5 * inertia * speed * speed + moment * g;
    Ok(Made {
        settings,
        seed: 1,
        bodies,
        glass: Vec::new(),
        probe: Box::new(FourBar {
            n,
            k: moment * g / inertia,
            speed,
            turns: Passes::default(),
            energy: EnergyWatch::from(energy),
            error: 0.0,
            off: 0.0,
        }),
    })
}

struct FourBar {
    n: usize,
    /// Of the pendulum that it is: θ̈ = -k sin θ.
    k: f64,
    speed: f64,
    turns: Passes,
    energy: EnergyWatch,
    error: f64,
    off: f64,
}

impl FourBar {
    /// At the lowest place, rad/s.
    fn fastest(&self) -> f64 {
        (self.speed * self.speed + 4.0 * self.k).sqrt()
    }

    fn turn(&self) -> f64 {
        4.0 / self.fastest() * complete(4.0 * self.k / self.fastest().powi(2))
    }

    /// Where the top of the first upright is at time `t`.
    fn at(&self, t: f64) -> (f64, f64) {
        let (sin, cos) = pendulum(self.k, self.fastest(), t + 0.5 * self.turn());
        // The pendulum turns from its lowest place towards -x, over the top towards +x.
        (-sin, -cos)
    }
}

/// The top of the first upright.
fn point(world: &World) -> DVec3 {
    let s = world.state();
    s.position[0] + s.rotation[0] * DVec3::Z * 0.5
}

impl Probe for FourBar {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("turns", &mut self.turns);
        memory.keep("energy", &mut self.energy);
        memory.keep("error", &mut self.error);
        memory.keep("off", &mut self.off);
    }

    fn joints(&self) -> Vec<JointDef> {
        let (ground, top) = (|i: usize| DVec3::X * i as f64, |i: usize| DVec3::new(i as f64, 0.0, 1.0));
        let uprights = self.n + 1;
        let mut joints = Vec::new();
        for i in 0..uprights {
            joints.push(JointDef::revolute(None, body(i), ground(i), DVec3::Y));
        }
        for i in 0..self.n {
            let level = body(uprights + i);
            joints.push(JointDef::revolute(body(i), level, top(i), DVec3::Y));
            joints.push(JointDef::revolute(body(i + 1), level, top(i + 1), DVec3::Y));
        }
        joints
    }

    fn observe(&mut self, world: &World) {
        let s = world.state();
        let b = point(world);
        // Passes its lowest place from right to left.
        if b.z < 0.0 {
            let rate = s.velocity_at(0, b).x;
            self.turns.observe(s.time, -b.x, -rate);
        } else {
            self.turns.observe(s.time, -1.0, 0.0);
        }
        self.energy.observe(world.energy().total());
        self.error = self.error.max(world.joint_error().position);
        let (x, z) = self.at(s.time);
        self.off = self.off.max((b - DVec3::new(x, 0.0, z)).length());
    }

    fn results(&mut self, world: &World) -> Results {
        let b = point(world);
        let (x, z) = self.at(world.state().time);
        let mut results = Results::new();
        results.insert("turn_s".into(), number(self.turns.period()));
        results.insert("expected_turn_s".into(), number(self.turn()));
        results.insert("x_m".into(), number(b.x));
        results.insert("z_m".into(), number(b.z));
        results.insert("expected_x_m".into(), number(x));
        results.insert("expected_z_m".into(), number(z));
        results.insert("largest_error_m".into(), number(self.off));
        results.insert("joint_error_max_m".into(), number(self.error));
        results.insert("energy_change_max_j".into(), number(self.energy.furthest));
        results
    }
}
