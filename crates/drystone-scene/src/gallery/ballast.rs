//! Ballast: random convex stones poured onto uneven ground, as the assemblies of complex shapes that
//! [RenoufAcary2006, §1] names as an aim. The ground is a height field: a shallow bowl with waves in it.

use drystone::random::Random;
use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;
use serde_json::json;

use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, stones};
use crate::probe::{Results, number, support};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "ballast",
    title: "random convex stones poured onto a height field",
    citation: "RenoufAcary2006, section 1",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("n", "200", "", "stones"),
    param("size", "0.05", "m", "diameter of a ball as large as a stone"),
    param("density", "2600", "kg/m³", "of the stones"),
    param("mu", "0.7", "", "coefficient of friction"),
    param("seed", "1", "", "of shapes, places and ground"),
    param("h", "0.002", "s", "step"),
    param("T", "2", "s", "duration"),
];

/// Stones start on a lattice of this spacing, over their diameter; the longest stone is shorter than that.
const SPACING: f64 = 1.8;
/// Points of the grid along a side, and how far apart they are over the diameter.
const GRID: usize = 45;
const CELL: f64 = 0.7;

fn build(p: &Params) -> Result<Made, SceneError> {
    let n = p.whole("n", 1, 1_000_000)? as usize;
    let size = p.positive("size", 1e3)?;
    let density = p.positive("density", 1e5)?;
    let mu = p.number("mu", 0.0, 10.0)?;
    let seed = p.whole("seed", 0, u64::MAX)?;
    let mut random = Random::new(seed);

    // The bowl grows with the heap.
    let scale = (n as f64 / 200.0).cbrt().max(1.0);
    let ground = Ground {
        half: 0.5 * scale * CELL * size * (GRID - 1) as f64,
        depth: 4.0 * scale * size,
        wave: 0.4 * size,
        length: 8.0 * size,
        phase: [random.range(0.0, 6.0), random.range(0.0, 6.0)],
    };
    let spacing = SPACING * size;
    let across = ((0.35 * n as f64).cbrt().ceil() as usize).max(1);
    let volume = std::f64::consts::PI / 6.0 * size.powi(3);
    let edge = 0.5 * spacing * across as f64;
    let bottom = ground.height(edge, edge) + 2.0 * ground.wave + 0.5 * spacing;
    let mut bodies = Vec::with_capacity(n + 1);
    for i in 0..n {
        let shape = stones::stone(&mut random, volume).map_err(|e| p.refuse("seed", e))?;
        let cell =
            DVec3::new((i % across) as f64, (i / across % across) as f64, (i / (across * across)) as f64);
        let middle = 0.5 * (across - 1) as f64;
        let at = spacing * (cell - DVec3::new(middle, middle, 0.0)) + DVec3::Z * bottom;
        bodies.push(BodyDef::solid(shape, density).at(at).turned(random.rotation()).friction(mu));
    }
    let field = ground.field().map_err(|e| p.refuse("size", e))?;
    bodies.push(BodyDef::fixed(field).friction(mu).named("ground"));
    Ok(Made {
        settings: Settings::default(),
        seed,
        bodies,
        glass: Vec::new(),
        probe: Box::new(Ballast { n, size, ground, overlap: 0.0 }),
    })
}

struct Ground {
    /// Half the side of the square it covers, m.
    half: f64,
    /// Height of the rim of the bowl in the middle of a side, m.
    depth: f64,
    /// Height and length of the waves, m.
    wave: f64,
    length: f64,
    phase: [f64; 2],
}

impl Ground {
    fn height(&self, x: f64, y: f64) -> f64 {
        let k = std::f64::consts::TAU / self.length;
        let waves = (k * x + self.phase[0]).sin() * (k * y + self.phase[1]).sin();
        self.depth * (x * x + y * y) / (self.half * self.half) + self.wave * waves
    }

    fn field(&self) -> Result<Shape, String> {
        let cell = 2.0 * self.half / (GRID - 1) as f64;
        let at = |k: usize| cell * k as f64 - self.half;
        let heights = (0..GRID * GRID).map(|k| self.height(at(k % GRID), at(k / GRID))).collect();
        Shape::height_field(GRID, GRID, [cell, cell], heights)
    }
}

struct Ballast {
    n: usize,
    size: f64,
    ground: Ground,
    overlap: f64,
}

impl Probe for Ballast {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("overlap", &mut self.overlap);
    }

    fn observe(&mut self, world: &World) {
        self.overlap = world.contacts().iter().fold(self.overlap, |d, c| d.max(-c.gap));
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        let places = &world.state().position[..self.n];
        let over = |x: &DVec3| x.z - self.ground.height(x.x, x.y);
        let lost = |x: &&DVec3| x.x.abs().max(x.y.abs()) > self.ground.half || over(x) < 0.0;
        let aside = |x: &DVec3| x.truncate().length();
        results.insert("lost".into(), json!(places.iter().filter(lost).count()));
        results.insert("heap_height_m".into(), number(places.iter().map(over).fold(0.0, f64::max)));
        results.insert("heap_radius_m".into(), number(places.iter().map(aside).fold(0.0, f64::max)));
        results.insert("mean_speed_m_s".into(), number(world.speeds().1));
        results.insert("max_overlap_over_size".into(), number(self.overlap / self.size));
        support(world, &mut results);
        results
    }
}
