//! Dense granular packing [TasoraAnitescu2011, §6.2]: a loose column of bodies falls together in a box.

use std::f64::consts::PI;

use drystone::random::Random;
use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;
use serde_json::json;

use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, arrange, bulk, stones, walls};
use crate::probe::{Results, number, support};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "packing",
    title: "bodies fall together in a box and come to rest as a dense packing",
    citation: "TasoraAnitescu2011, section 6.2",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("n", "220", "", "bodies"),
    param("fraction", "0.4", "", "solid fraction of the column at the start"),
    param(
        "height",
        "",
        "m",
        "height of the column at the start; the section follows from it (20 m x 20 m if not set, or a cube if that is smaller)",
    ),
    param(
        "shape",
        "sphere",
        "",
        "sphere, box, capsule, hull (random stones), or mixed; all of one volume and mass",
    ),
    param("mu", "0.4", "", "coefficient of friction"),
    param("seed", "1", "", "of the positions"),
    param("h", "0.01", "s", "step"),
    param("T", "5", "s", "duration"),
];

/// The paper's bodies and box.
const RADIUS: f64 = 1.6;
const MASS: f64 = 10.0;
const SECTION: f64 = 20.0;
const WALL: f64 = 4.0;

#[derive(Clone, Copy)]
enum Kind {
    Sphere,
    Box,
    Capsule,
    Hull,
    Mixed,
}

fn build(p: &Params) -> Result<Made, SceneError> {
    let n = p.whole("n", 1, 10_000_000)? as usize;
    let fraction = p.number("fraction", 1e-3, 0.55)?;
    let mu = p.number("mu", 0.0, 10.0)?;
    let seed = p.whole("seed", 0, u64::MAX)?;
    let kinds = [
        ("sphere", Kind::Sphere),
        ("box", Kind::Box),
        ("capsule", Kind::Capsule),
        ("hull", Kind::Hull),
        ("mixed", Kind::Mixed),
    ];
    let kind = p.choice("shape", &kinds)?;

    let volume = 4.0 / 3.0 * PI * RADIUS.powi(3);
    let column = n as f64 * volume / fraction;
    let (section, height) = match p.is_set("height") {
        true => {
            let height = p.positive("height", 1e6)?;
            ((column / height).sqrt(), height)
        }
        // Fewer bodies than the paper's get a narrower box: a column is at least as high as it is wide.
        false => {
            let section = column.cbrt().min(SECTION);
            (section, column / (section * section))
        }
    };
    // A generator of its own, so that a seed means the same places whatever the shapes.
    let mut random = Random::new(!seed);
    let shapes: Result<Vec<Shape>, String> = (0..n).map(|i| shape(kind, i, &mut random)).collect();
    let shapes = shapes.map_err(|e| p.refuse("seed", e))?;
    let size = DVec3::new(section, section, height);
    let grains = arrange::strew(shapes, size, &mut Random::new(seed)).map_err(|e| {
        let text = format!("{e} (section {section:.3} m, height {height:.3} m)");
        p.refuse(if text.contains("larger") { "height" } else { "fraction" }, text)
    })?;
    let top = grains.iter().map(|g| g.shape.aabb(&g.pose).max.z).fold(0.0, f64::max);

    let mut bodies: Vec<BodyDef> = grains
        .into_iter()
        .map(|g| BodyDef::dynamic(g.shape, MASS).at(g.pose.position).turned(g.pose.rotation).friction(mu))
        .collect();
    let outer = 0.5 * section + WALL;
    let floor = Shape::Box { half: DVec3::new(outer, outer, 0.5 * WALL) };
    bodies.push(BodyDef::fixed(floor).at(DVec3::new(0.0, 0.0, -0.5 * WALL)).friction(mu).named("floor"));
    bodies.extend(walls(0.5 * section, 0.5 * section, height + 10.0 * RADIUS, WALL, mu));
    Ok(Made {
        settings: Settings::default(),
        seed,
        glass: (n + 1..bodies.len()).collect(),
        bodies,
        probe: Box::new(Packing { section, initial_fraction: n as f64 * volume / (section * section * top) }),
    })
}

/// The `i`-th shape of a kind; every one has the volume of a ball of [`RADIUS`].
fn shape(kind: Kind, i: usize, random: &mut Random) -> Result<Shape, String> {
    Ok(match kind {
        Kind::Sphere => Shape::Sphere { radius: RADIUS },
        Kind::Box => Shape::Box { half: DVec3::splat((PI / 6.0).cbrt() * RADIUS) },
        // A core as long as the capsule is wide: volume (10/3) π r³.
        Kind::Capsule => {
            let radius = 0.4f64.cbrt() * RADIUS;
            Shape::Capsule { radius, half_length: radius }
        }
        Kind::Hull => stones::stone(random, 4.0 / 3.0 * PI * RADIUS.powi(3))?,
        Kind::Mixed => shape([Kind::Sphere, Kind::Box, Kind::Capsule, Kind::Hull][i % 4], i, random)?,
    })
}

struct Packing {
    section: f64,
    initial_fraction: f64,
}

impl Packing {
    /// One diameter off the walls (a quarter of the section where that is less) and the floor, and below the
    /// uppermost bodies: up to one radius under the height that nine of ten centres do not exceed.
    fn inside(&self, world: &World) -> bulk::Region {
        let state = world.state();
        let mut heights: Vec<f64> = world.model().dynamic().map(|i| state.position[i].z).collect();
        heights.sort_by(f64::total_cmp);
        let surface = heights.get(heights.len() * 9 / 10).copied().unwrap_or(0.0);
        let side = 0.5 * self.section - (2.0 * RADIUS).min(0.25 * self.section);
        bulk::Region {
            lo: DVec3::new(-side, -side, 2.0 * RADIUS),
            hi: DVec3::new(side, side, surface - RADIUS),
        }
    }
}

impl Probe for Packing {
    fn memory(&mut self, _: &mut Memory) {}

    fn observes(&self) -> bool {
        false
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        support(world, &mut results);
        let inside = self.inside(world);
        let fraction = bulk::solid_fraction(world, &inside, RADIUS);
        results.insert("packing_fraction".into(), fraction.map_or(json!(null), number));
        let in_bulk = bulk::mean_contacts(world, |x| inside.holds(x));
        let contacts = in_bulk.or_else(|| bulk::mean_contacts(world, |_| true));
        results.insert("mean_contacts".into(), contacts.map_or(json!(null), |(mean, _)| number(mean)));
        results.insert("bulk_bodies".into(), json!(in_bulk.map_or(0, |(_, bodies)| bodies)));
        results.insert("initial_fraction".into(), number(self.initial_fraction));
        results
    }
}
