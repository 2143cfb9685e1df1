//! A rotating drum, half full: the bed climbs with the wall until it slides, and its surface keeps a dynamic
//! angle of repose. The angle is that of the bed's centre of mass from straight below the axis, which is the
//! angle of the surface for a bed that fills a segment.

use std::f64::consts::{PI, TAU};

use drystone::random::Random;
use drystone::{BodyDef, Collider, Function, Guide, Materials, PairLaw, Pose, Settings, Shape, World};
use glam::{DQuat, DVec3};

use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, ground};
use crate::probe::{Results, number};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "drum",
    title: "grains in a rotating drum: dynamic angle of repose",
    citation: "GDRMiDi2004",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("n", "500", "", "grains"),
    param("r", "0.01", "m", "radius of the grains"),
    param("rpm", "8", "1/min", "speed of the drum"),
    param("mu", "0.5", "", "coefficient of friction"),
    param("rolling", "0", "", "arm of rolling resistance over the grains' radius"),
    param("seed", "1", "", "of the positions"),
    param("h", "0.002", "s", "step"),
    param("T", "6", "s", "duration"),
];

/// Plates of the drum's wall.
const PLATES: usize = 48;
/// Depth of the drum in diameters of a grain.
const DEPTH: f64 = 5.0;
/// Share of the drum's volume that the bed fills at a solid fraction of 0.6.
const FILL: f64 = 0.4;

fn build(p: &Params) -> Result<Made, SceneError> {
    let n = p.whole("n", 10, 1_000_000)? as usize;
    let r = p.positive("r", 10.0)?;
    let rpm = p.number("rpm", 0.0, 600.0)?;
    let mu = p.number("mu", 0.0, 10.0)?;
    let rolling = p.number("rolling", 0.0, 0.5)? * r;
    let seed = p.whole("seed", 0, u64::MAX)?;
    let end = p.positive("T", 1e6)?;

    let depth = DEPTH * 2.0 * r;
    let volume = n as f64 * 4.0 / 3.0 * PI * r.powi(3) / 0.6;
    let radius = (volume / (FILL * PI * depth)).sqrt();
    let ball = BodyDef::solid(Shape::Sphere { radius: r }, 2500.0).friction(mu);
    // On a lattice, from the bottom up.
    let (spacing, jitter) = (2.24 * r, 0.1 * r);
    let rows = (depth / spacing).floor().max(1.0) as usize;
    let (across, cell) = ((2.0 * radius / spacing) as usize, depth / rows as f64);
    let mut random = Random::new(seed);
    let mut bodies = Vec::new();
    let mut site = 0;
    while bodies.len() < n && site < rows * across * across {
        let (iy, ix, iz) = (site % rows, site / rows % across, site / (rows * across));
        site += 1;
        let middle = DVec3::new(
            (ix as f64 + 0.5) * spacing - radius,
            (iy as f64 + 0.5) * cell - 0.5 * depth,
            (iz as f64 + 0.5) * spacing - radius,
        );
        let shift = random.in_box(DVec3::splat(-jitter), DVec3::splat(jitter));
        if DVec3::new(middle.x, 0.0, middle.z).length() < radius - 1.2 * r {
            bodies.push(ball.clone().at(middle + shift));
        }
    }
    let count = bodies.len();
    let thickness = 0.08 * radius;
    let width = (radius + thickness) * (PI / PLATES as f64).tan();
    let plate = |k: usize| {
        let angle = TAU * k as f64 / PLATES as f64;
        let turn = DQuat::from_rotation_y(angle);
        let half = DVec3::new(width, 0.5 * depth, 0.5 * thickness);
        let local = Pose::new(turn * DVec3::Z * (radius + 0.5 * thickness), turn);
        Collider { local, ..Collider::new(Shape::Box { half }, mu) }
    };
    let turn = Function::Ramp { from: 0.0, to: TAU * rpm / 60.0 * (end + 1.0), start: 0.0, end: end + 1.0 };
    let mut drum = BodyDef::kinematic(Shape::HalfSpace).guided(Guide::about(DVec3::Y, turn)).named("drum");
    drum.colliders = (0..PLATES).map(plate).collect();
    bodies.push(drum);
    let side = Shape::Box { half: DVec3::new(1.2 * radius, 0.05 * radius, 1.2 * radius) };
    for (name, y) in [("back", 1.0), ("front", -1.0)] {
        let at = DVec3::Y * y * (0.5 * depth + 0.05 * radius);
        // Smooth, so that it is the drum that turns the bed.
        bodies.push(BodyDef::fixed(side.clone()).at(at).named(name));
    }
    let front = bodies.len() - 1;
    bodies.push(ground(mu).at(DVec3::NEG_Z * 1.3 * radius));
    Ok(Made {
        settings: Settings::default(),
        seed,
        bodies,
        glass: vec![front],
        probe: Box::new(Drum { n: count, rolling, half: 0.5 * end, angles: Vec::new() }),
    })
}

struct Drum {
    n: usize,
    rolling: f64,
    /// From when on angles count, s.
    half: f64,
    /// rad
    angles: Vec<f64>,
}

impl Probe for Drum {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("angles", &mut self.angles);
    }

    fn materials(&self) -> Materials {
        let mut materials = Materials::default();
        let _ = materials.set_other(PairLaw { rolling: self.rolling, ..PairLaw::default() });
        materials
    }

    fn observe(&mut self, world: &World) {
        if world.state().time > self.half {
            let middle = world.state().position[..self.n].iter().sum::<DVec3>() / self.n as f64;
            self.angles.push(middle.x.atan2(-middle.z));
        }
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        // A run that ends before angles count has none.
        if !self.angles.is_empty() {
            let count = self.angles.len() as f64;
            let mean = self.angles.iter().sum::<f64>() / count;
            let spread = (self.angles.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / count).sqrt();
            results.insert("repose_angle_deg".into(), number(mean.abs().to_degrees()));
            results.insert("repose_spread_deg".into(), number(spread.to_degrees()));
        }
        let lost = world.state().position[..self.n].iter().filter(|x| !(x.length() < 10.0)).count();
        results.insert("lost".into(), lost.into());
        results
    }
}
