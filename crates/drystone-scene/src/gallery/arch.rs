//! A semicircular arch of dry blocks with radial joints.
//!
//! With friction high enough that nothing slides, such an arch stands iff a line of thrust fits into its
//! thickness: iff t/R ≥ 0.1075, R being the radius of the centre line [Milankovitch1907; MakrisAlexakis2013].
//! A thinner one folds at five hinges. Of few blocks the limit is lower, because hinges can only form where
//! there is a joint.

use std::f64::consts::PI;

use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;

use super::motion::Creep;
use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, ground};
use crate::probe::{Places, Results, number, support};
use crate::{Memory, Paint, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "arch",
    title: "a semicircular arch of dry blocks: it stands iff it is thick enough",
    citation: "Milankovitch1907; MakrisAlexakis2013",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("thickness_ratio", "0.12", "", "thickness over the radius of the centre line; the limit is 0.1075"),
    param("blocks", "40", "", "blocks"),
    param("radius", "2", "m", "radius of the centre line"),
    param("mu", "1", "", "coefficient of friction"),
    param("h", "0.005", "s", "step"),
    param("T", "10", "s", "duration"),
];

/// kg/m³
const DENSITY: f64 = 2000.0;
/// Width of the arch, across its plane, over the radius.
const WIDTH: f64 = 0.4;

fn build(p: &Params) -> Result<Made, SceneError> {
    let ratio = p.number("thickness_ratio", 0.01, 1.0)?;
    let blocks = p.whole("blocks", 3, 10_000)? as usize;
    let radius = p.positive("radius", 1e4)?;
    let mu = p.number("mu", 0.0, 10.0)?;
    let thickness = ratio * radius;

    let mut bodies = Vec::with_capacity(blocks + 1);
    for k in 0..blocks {
        let corners = voussoir(radius, thickness, [k, k + 1].map(|i| PI * i as f64 / blocks as f64));
        let centre = hull(p, &corners)?.centroid();
        let local: Vec<DVec3> = corners.iter().map(|x| *x - centre).collect();
        let block = BodyDef::solid(hull(p, &local)?, DENSITY);
        bodies.push(block.at(centre).friction(mu).named(format!("block {}", k + 1)));
    }
    let start: Vec<DVec3> = bodies.iter().map(|b| b.position).collect();
    let smallest = thickness.min(2.0 * (radius - 0.5 * thickness) * (0.5 * PI / blocks as f64).sin());
    bodies.push(ground(mu));
    Ok(Made {
        // Near the limit only an accurate thrust line stays inside.
        settings: Settings { tolerance: 1e-6, ..Settings::default() },
        seed: 1,
        bodies,
        glass: Vec::new(),
        probe: Box::new(Arch {
            places: Places::new(start.clone(), vec![smallest; blocks]),
            start,
            creep: Creep::default(),
        }),
    })
}

fn hull(p: &Params, corners: &[DVec3]) -> Result<Shape, SceneError> {
    Shape::hull(corners).map_err(|e| p.refuse("thickness_ratio", e))
}

/// The corners of the block between two angles from the right springing.
fn voussoir(radius: f64, thickness: f64, angles: [f64; 2]) -> Vec<DVec3> {
    let mut corners = Vec::with_capacity(8);
    for angle in angles {
        for r in [radius - 0.5 * thickness, radius + 0.5 * thickness] {
            for y in [-0.5, 0.5] {
                corners.push(DVec3::new(r * angle.cos(), y * WIDTH * radius, r * angle.sin()));
            }
        }
    }
    corners
}

struct Arch {
    places: Places,
    start: Vec<DVec3>,
    creep: Creep,
}

impl Probe for Arch {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("creep", &mut self.creep);
    }

    fn observe(&mut self, world: &World) {
        self.creep.observe(world, self.start.len());
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        self.places.report(world, &mut results);
        support(world, &mut results);
        // Of an even number the two beside the top.
        let top = (self.start.len() - 1) / 2;
        results.insert("crown_drop_m".into(), number(self.start[top].z - world.state().position[top].z));
        if let Some(speed) = self.creep.speed(world) {
            results.insert("creep_m_s".into(), number(speed));
        }
        results
    }

    fn paint(&self, world: &World) -> Option<Paint> {
        let away = |i: usize| (world.state().position[i] - self.start[i]).length();
        let values = (0..self.start.len()).map(away).chain([f64::NAN]).collect();
        Some(Paint { label: "away from its place".into(), unit: "m".into(), values })
    }
}
