//! A cone penetration test: a cone is pushed into a settled bed at constant speed, and its resistance is
//! measured over the depth.

use drystone::{BodyDef, Function, Guide, Settings, Shape, World};
use glam::{DQuat, DVec3};
use serde_json::json;

use super::params::{ParamInfo, Params, param};
use super::shaker::column;
use super::{Entry, Made, ground, walls};
use crate::probe::{Results, number, support};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "penetrometer",
    title: "a cone is pushed into a bed of grains: resistance over depth",
    citation: "LunneRobertsonPowell1997",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("n", "1200", "", "grains"),
    param("r", "0.01", "m", "radius of the grains"),
    param("mu", "0.5", "", "coefficient of friction"),
    param("speed", "0.1", "m/s", "of the cone"),
    param("settle", "0.6", "s", "before it starts"),
    param("seed", "1", "", "of the positions"),
    param("h", "0.002", "s", "step"),
    param("T", "1.6", "s", "duration"),
];

fn build(p: &Params) -> Result<Made, SceneError> {
    let n = p.whole("n", 10, 1_000_000)? as usize;
    let r = p.positive("r", 10.0)?;
    let mu = p.number("mu", 0.0, 10.0)?;
    let speed = p.positive("speed", 100.0)?;
    let settle = p.positive("settle", 1e3)?;
    let seed = p.whole("seed", 0, u64::MAX)?;
    let end = p.positive("T", 1e6)?.max(settle + 1e-3);

    let width = 2.0 * r * (n as f64).cbrt().ceil();
    let ball = BodyDef::solid(Shape::Sphere { radius: r }, 2500.0).friction(mu);
    let (mut bodies, top) = column(n, ball, r, width, seed);
    // A cone of 60°, apex down: its base reaches 3/4 of the height above its centroid.
    let radius = 3.0 * r;
    let height = radius * 3f64.sqrt();
    let cone = Shape::cone(radius, height);
    let start = top + height;
    // Down to the settled bed while that comes to rest, then at its speed.
    let bed = n as f64 * 4.0 / 3.0 * std::f64::consts::PI * r.powi(3) / 0.57 / (width * width);
    let near = (start - 0.75 * height - bed - r).max(0.0);
    let last = -near - speed * (end - settle);
    let way = Function::table(vec![[0.0, 0.0], [0.5 * settle, 0.0], [settle, -near], [end, last]]);
    let push = BodyDef::kinematic(cone)
        .turned(DQuat::from_rotation_x(std::f64::consts::PI))
        .at(DVec3::Z * start)
        .guided(Guide::along(DVec3::Z, way))
        .friction(mu)
        .named("cone");
    bodies.push(push);
    bodies.push(ground(mu));
    bodies.extend(walls(0.5 * width, 0.5 * width, top + 2.0 * r, 2.0 * r, mu));
    let apex = start - 0.75 * height;
    Ok(Made {
        settings: Settings::default(),
        seed,
        glass: (n + 2..bodies.len()).collect(),
        bodies,
        probe: Box::new(Cone { n, r, apex, start, surface: None, forces: Vec::new() }),
    })
}

struct Cone {
    n: usize,
    r: f64,
    /// Heights of the apex and of the cone's origin at the start, m.
    apex: f64,
    start: f64,
    /// Height of the bed when the cone met it, m.
    surface: Option<f64>,
    /// (depth of the apex under the bed's surface, resistance in N)
    forces: Vec<(f64, f64)>,
}

impl Probe for Cone {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("surface", &mut self.surface);
        memory.keep("forces", &mut self.forces);
    }

    fn observe(&mut self, world: &World) {
        let state = world.state();
        let apex = self.apex + state.position[self.n].z - self.start;
        let force: f64 = world
            .contacts()
            .iter()
            .filter(|c| c.bodies[1] as usize == self.n)
            .map(|c| -c.impulse.z / world.settings().h)
            .sum();
        if force > 0.0 && self.surface.is_none() {
            let bed = state.position[..self.n].iter().map(|x| x.z).fold(0.0, f64::max);
            self.surface = Some(bed + self.r);
        }
        if let Some(surface) = self.surface {
            self.forces.push((surface - apex, force));
        }
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        let deepest = self.forces.iter().map(|f| f.0).fold(0.0, f64::max);
        // Means over stretches of depth: single steps see single grains.
        let parts = 10;
        let mean = |k: usize| {
            let (lo, hi) = (deepest * k as f64 / parts as f64, deepest * (k + 1) as f64 / parts as f64);
            let part: Vec<f64> = self.forces.iter().filter(|f| f.0 >= lo && f.0 < hi).map(|f| f.1).collect();
            (0.5 * (lo + hi), part.iter().sum::<f64>() / part.len().max(1) as f64)
        };
        let means: Vec<(f64, f64)> = (0..parts).map(mean).collect();
        results.insert("depth_m".into(), number(deepest));
        results.insert("resistance_n".into(), number(means[parts - 1].1));
        results.insert("resistance_first_n".into(), number(means[0].1));
        results.insert("resistance_over_depth".into(), json!(means));
        support(world, &mut results);
        results
    }
}
