//! A rigid wheel on sand, as in a single-wheel test rig: a carriage moves along the bin at one speed, a fork
//! on it carries the load and is free to move up and down, and the wheel is turned at the speed that gives
//! the slip asked for,
//!
//! ```text
//!     s = 1 - v / (ω R)
//! ```
//!
//! What the sand pushes the wheel ahead with, less what it resists, is the drawbar pull. It is negative at no
//! slip, grows with slip, and cannot exceed the weight times the tangent of the sand's angle of friction
//! [Wong2008, chapter 2].

use drystone::random::Random;
use drystone::{BodyDef, Filter, Function, Guide, JointDef, MassProperties, Motor, Settings, Shape, World};
use glam::DVec3;
use serde_json::json;

use super::machine::{body_id, wheel};
use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, ground, walls};
use crate::probe::{Results, number};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "wheel",
    title: "a driven wheel on sand: drawbar pull at a given slip",
    citation: "TasoraAnitescu2011, section 7; Wong2008, chapter 2",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("n", "3000", "", "grains"),
    param("r", "0.01", "m", "radius of the grains"),
    param("mu", "0.5", "", "coefficient of friction, of grains and wheel"),
    param("radius", "0.1", "m", "of the wheel"),
    param("width", "0.1", "m", "of the wheel"),
    param("load", "8", "kg", "on the sand: wheel, fork and what it carries"),
    param("torque", "5", "", "the most that the drive gives, over load and radius"),
    param("slip", "0.3", "", "1 - speed over that of the tread; 0: it rolls, below: it is braked"),
    param("speed", "0.2", "m/s", "of the carriage"),
    param("settle", "0.6", "s", "before it starts"),
    param("seed", "1", "", "of the positions"),
    param("h", "0.002", "s", "step"),
    param("T", "3", "s", "duration"),
];

/// Of a grain, kg/m³.
const DENSITY: f64 = 2500.0;
/// Spacing of the lattice that grains start on and the largest shift from it, over their diameter.
const SPACING: f64 = 1.08;
const JITTER: f64 = 0.03;
/// Share of the load that is the wheel's own mass.
const WHEEL: f64 = 0.2;
/// From the wheel to the walls at either end of its way, over its radius; beside it, over its width. Where
/// walls are two or three grains away, these jam between them and the wheel.
const ENDS: f64 = 1.6;
const BESIDE: f64 = 1.0;

fn build(p: &Params) -> Result<Made, SceneError> {
    let n = p.whole("n", 100, 1_000_000)? as usize;
    let r = p.positive("r", 10.0)?;
    let mu = p.number("mu", 0.0, 10.0)?;
    let radius = p.positive("radius", 100.0)?;
    let width = p.positive("width", 100.0)?;
    let load = p.positive("load", 1e6)?;
    let torque = p.positive("torque", 1e6)? * load * radius * Settings::default().gravity.length();
    let slip = p.number("slip", -10.0, 0.95)?;
    let speed = p.positive("speed", 100.0)?;
    let settle = p.positive("settle", 1e3)?;
    let seed = p.whole("seed", 0, u64::MAX)?;
    let end = p.positive("T", 1e6)?.max(settle + 1e-3);

    let way = speed * (end - settle);
    let half = [0.5 * way + ENDS * radius, (0.5 + BESIDE) * width];
    let (mut bodies, top) = bed(n, r, half, mu, seed);
    let start = DVec3::new(-0.5 * way, 0.0, top + radius);
    let alone = Filter { layers: 0, mask: 0 };
    let ride = Function::Ramp { from: 0.0, to: way, start: settle, end };
    let carriage = BodyDef::kinematic(Shape::Box { half: 0.1 * DVec3::new(radius, width, radius) })
        .guided(Guide::along(DVec3::X, ride))
        .at(start + DVec3::Z * 1.5 * radius)
        .filter(alone)
        .named("carriage");
    let carried = (1.0 - WHEEL) * load;
    let fork = MassProperties::principal(carried, DVec3::splat(carried * radius * radius));
    let tyre = wheel(radius, 0.5 * width, WHEEL * load).at(start).friction(mu).named("wheel");
    let slots = [n, n + 1, n + 2];
    bodies.extend([carriage, BodyDef::bare(fork).at(start).named("fork"), tyre]);
    let turn = speed / (radius * (1.0 - slip));
    // From rest to its speed as the carriage starts.
    let spin = Function::table([[0.0, 0.0], [settle, 0.0], [settle + 1e-6, turn]]);
    let joints = vec![
        JointDef::prismatic(body_id(slots[0]), body_id(slots[1]), start, DVec3::Z).named("guide"),
        JointDef::revolute(body_id(slots[1]), body_id(slots[2]), start, DVec3::Y)
            .motor(0, Motor::speed(spin).limited(torque))
            .named("axle"),
    ];
    bodies.push(ground(mu));
    let first = bodies.len();
    bodies.extend(walls(half[0], half[1], top + 4.0 * r, 4.0 * r, mu));
    let test = Wheel {
        n,
        r,
        wheel: slots[2],
        radius,
        load,
        slip,
        speed,
        turn,
        settle,
        end,
        joints,
        ..Wheel::default()
    };
    Ok(Made {
        settings: Settings::default(),
        seed,
        glass: (first..bodies.len()).collect(),
        bodies,
        probe: Box::new(test),
    })
}

/// Grains on a lattice over the floor of the bin, and how high they reach.
fn bed(n: usize, r: f64, half: [f64; 2], mu: f64, seed: u64) -> (Vec<BodyDef>, f64) {
    let spacing = 2.0 * r * SPACING;
    let across = half.map(|x| ((2.0 * x / spacing).floor() as usize).max(1));
    let layer = across[0] * across[1];
    let shift = DVec3::splat(2.0 * r * JITTER);
    let grain = BodyDef::solid(Shape::Sphere { radius: r }, DENSITY).friction(mu);
    let mut random = Random::new(seed);
    let place = |i: usize| {
        let along = |k: usize, i: usize| (2.0 * (i as f64 + 0.5) / across[k] as f64 - 1.0) * half[k];
        let (x, y) = (along(0, i % across[0]), along(1, i / across[0] % across[1]));
        let z = ((i / layer) as f64 + 0.5) * spacing;
        grain.clone().at(DVec3::new(x, y, z) + random.in_box(-shift, shift))
    };
    ((0..n).map(place).collect(), n.div_ceil(layer) as f64 * spacing)
}

#[derive(Default)]
struct Wheel {
    n: usize,
    r: f64,
    /// Slot.
    wheel: usize,
    radius: f64,
    load: f64,
    slip: f64,
    speed: f64,
    /// rad/s
    turn: f64,
    settle: f64,
    end: f64,
    joints: Vec<JointDef>,
    /// Height of the sand's surface when the carriage starts, m.
    surface: Option<f64>,
    /// (way, pull ahead, push up, torque of the sand about the axle, height of the axle), N, N m, m
    course: Vec<[f64; 5]>,
}

impl Probe for Wheel {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("surface", &mut self.surface);
        memory.keep("course", &mut self.course);
    }

    fn joints(&self) -> Vec<JointDef> {
        self.joints.clone()
    }

    fn observe(&mut self, world: &World) {
        let (state, h) = (world.state(), world.settings().h);
        if state.time <= self.settle {
            return;
        }
        if self.surface.is_none() {
            let mut z: Vec<f64> = state.position[..self.n].iter().map(|x| x.z).collect();
            z.sort_by(f64::total_cmp);
            self.surface = Some(z[self.n * 19 / 20] + self.r);
        }
        let axle = state.position[self.wheel];
        let (mut force, mut torque) = (DVec3::ZERO, 0.0);
        for c in world.contacts() {
            let push = match c.bodies.map(|b| b as usize == self.wheel) {
                [true, _] => c.impulse / h,
                [_, true] => -c.impulse / h,
                _ => continue,
            };
            force += push;
            torque += (c.point - axle).cross(push).y;
        }
        self.course.push([axle.x, force.x, force.z, torque, axle.z]);
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        // Once it has gone half of its way.
        let steady = &self.course[self.course.len() / 2..];
        let mean = |k: usize| steady.iter().map(|c| c[k]).sum::<f64>() / steady.len().max(1) as f64;
        let weight = self.load * world.settings().gravity.length();
        let (pull, torque) = (mean(1), -mean(3));
        results.insert("slip".into(), number(self.slip));
        results.insert("drawbar_pull_n".into(), number(pull));
        results.insert("drawbar_over_weight".into(), number(pull / weight));
        results.insert("push_up_over_weight".into(), number(mean(2) / weight));
        results.insert("torque_over_weight_radius".into(), number(torque / (weight * self.radius)));
        results.insert("efficiency".into(), number(pull * self.speed / (torque * self.turn)));
        let sinkage = self.surface.map(|z| z - (mean(4) - self.radius));
        results.insert("sinkage_m".into(), sinkage.map_or(json!(null), number));
        let stretch = self.course.len().div_ceil(60).max(1);
        let parts = self.course.chunks(stretch).map(|part| {
            let count = part.len() as f64;
            [part[part.len() - 1][0], part.iter().map(|c| c[1]).sum::<f64>() / count / weight]
        });
        results.insert("drawbar_over_way".into(), json!(parts.collect::<Vec<_>>()));
        results.insert("way_m".into(), number(self.speed * (self.end - self.settle)));
        results
    }
}
