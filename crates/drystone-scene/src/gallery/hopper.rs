//! A wedge hopper that empties through a slot: the rate does not depend on how full it is [Beverloo1961], and
//! goes with the width D of the slot as (D - 1.4 d)^{3/2}, d being the diameter of the grains. For a slot of
//! length L
//!
//! ```text
//!     W = 1.03 ρ √g (L - 1.4 d) (D - 1.4 d)^{3/2}
//! ```
//!
//! with ρ the bulk density [BrownRichards1970]; walls in front and behind that are part of the bin do not
//! shorten L.

use std::f64::consts::PI;

use drystone::{BodyDef, Flow, Settings, Shape, Sink, World};
use glam::{DQuat, DVec3};
use serde_json::json;

use super::params::{ParamInfo, Params, param};
use super::shaker::column;
use super::{Entry, Made, ground};
use crate::probe::{Results, number};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "hopper",
    title: "grains flow out of a wedge hopper at a rate that does not depend on the fill",
    citation: "Beverloo1961; BrownRichards1970",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("n", "1500", "", "grains"),
    param("r", "0.01", "m", "radius of the grains"),
    param("slot", "8", "", "width of the slot over the diameter of the grains"),
    param("angle_deg", "55", "deg", "of the inclined walls over the horizontal"),
    param("mu", "0.4", "", "coefficient of friction"),
    param("seed", "1", "", "of the positions"),
    param("h", "0.002", "s", "step"),
    param("T", "3", "s", "duration"),
];

const DENSITY: f64 = 2500.0;
/// Depth of the bin in diameters.
const DEPTH: f64 = 6.0;
/// Solid fraction of the bed, for its bulk density.
const FRACTION: f64 = 0.6;

fn build(p: &Params) -> Result<Made, SceneError> {
    let n = p.whole("n", 50, 1_000_000)? as usize;
    let r = p.positive("r", 10.0)?;
    let slot = p.number("slot", 1.0, 100.0)? * 2.0 * r;
    let angle = p.number("angle_deg", 10.0, 85.0)?.to_radians();
    let mu = p.number("mu", 0.0, 10.0)?;
    let seed = p.whole("seed", 0, u64::MAX)?;

    let depth = DEPTH * 2.0 * r;
    // Columns of the depth's own square section, side by side over the bin.
    let columns = ((n as f64).sqrt() / 8.0).ceil().max((slot / depth).ceil() + 1.0) as usize;
    let width = columns as f64 * depth;
    let high = 0.5 * (width - slot) * angle.tan();
    let ball = BodyDef::solid(Shape::Sphere { radius: r }, DENSITY).friction(mu);
    let mut bodies = Vec::new();
    let mut top = high;
    for k in 0..columns {
        let share = n / columns + usize::from(k < n % columns);
        let (grains, up) = column(share, ball.clone(), r, depth, seed.wrapping_add(k as u64));
        let shift = DVec3::new((k as f64 - 0.5 * (columns as f64 - 1.0)) * depth, 0.0, high);
        top = top.max(high + up);
        bodies.extend(grains.into_iter().map(|g| {
            let at = g.position + shift;
            g.at(at)
        }));
    }
    let t = 2.0 * r;
    let fixed = |half: DVec3, at: DVec3, name: &str| {
        BodyDef::fixed(Shape::Box { half }).at(at).friction(mu).named(name)
    };
    let length = 0.5 * (width - slot) / angle.cos();
    for (name, side) in [("slope +x", 1.0), ("slope -x", -1.0)] {
        // Along the slope from the slot's edge; its upper face is the wall.
        let along = DVec3::new(side * angle.cos(), 0.0, angle.sin());
        let normal = DVec3::new(-side * angle.sin(), 0.0, angle.cos());
        let at = DVec3::X * (side * 0.5 * slot) + 0.5 * length * along - 0.5 * t * normal;
        let plate = fixed(DVec3::new(0.5 * length, 0.5 * depth, 0.5 * t), at, name);
        bodies.push(plate.turned(DQuat::from_rotation_y(-side * angle)));
        let up = DVec3::new(0.5 * t, 0.5 * depth, 0.5 * (top - high) + r);
        let at = DVec3::new(side * 0.5 * (width + t), 0.0, high + up.z);
        bodies.push(fixed(up, at, if side > 0.0 { "wall +x" } else { "wall -x" }));
    }
    let face = DVec3::new(0.5 * width + t, 0.5 * t, 0.5 * top + 4.0 * r);
    for (name, side) in [("back", 1.0), ("front", -1.0)] {
        bodies.push(fixed(face, DVec3::new(0.0, side * 0.5 * (depth + t), 0.5 * top), name));
    }
    let front = bodies.len() - 1;
    bodies.push(ground(mu).at(DVec3::NEG_Z * (30.0 * r)));
    let d = 2.0 * r;
    let rate = 1.03 * FRACTION * DENSITY * 9.81f64.sqrt() * depth * (slot - 1.4 * d).max(0.0).powf(1.5);
    let mass = DENSITY * 4.0 / 3.0 * PI * r.powi(3);
    Ok(Made {
        settings: Settings::default(),
        seed,
        bodies,
        glass: vec![front],
        probe: Box::new(Hopper { n, r, mass, beverloo: rate, out: Vec::new() }),
    })
}

struct Hopper {
    n: usize,
    r: f64,
    /// Of a grain, kg.
    mass: f64,
    /// kg/s
    beverloo: f64,
    /// (s, grains out)
    out: Vec<(f64, u64)>,
}

impl Hopper {
    /// Between two shares of the content, kg/s.
    fn rate(&self, from: f64, to: f64) -> Option<f64> {
        let at = |share: f64| self.out.iter().find(|o| o.1 as f64 >= share * self.n as f64);
        let (a, b) = (at(from)?, at(to)?);
        (b.0 > a.0).then(|| (b.1 - a.1) as f64 * self.mass / (b.0 - a.0))
    }
}

impl Probe for Hopper {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("out", &mut self.out);
    }

    fn flow(&self) -> Flow {
        let far = f64::INFINITY;
        let sink = Sink::new(DVec3::splat(-far), DVec3::new(far, far, -28.0 * self.r));
        Flow { sinks: vec![sink], ..Flow::default() }
    }

    fn observe(&mut self, world: &World) {
        self.out.push((world.state().time, world.sunk()[0]));
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        let say = |x: Option<f64>| x.map_or(json!(null), number);
        results.insert("flowed_out".into(), json!(world.sunk()[0]));
        results.insert("rate_kg_s".into(), say(self.rate(0.15, 0.7)));
        results.insert("rate_first_half_kg_s".into(), say(self.rate(0.15, 0.42)));
        results.insert("rate_second_half_kg_s".into(), say(self.rate(0.42, 0.7)));
        results.insert("beverloo_kg_s".into(), number(self.beverloo));
        results
    }
}
