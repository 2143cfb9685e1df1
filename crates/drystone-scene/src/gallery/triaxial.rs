//! Triaxial compression of a cube of grains between six smooth plates, without gravity. All plates press
//! with one pressure first; then the axial pressure grows until the sample gives way. The ratio of the
//! principal stresses at failure, here at an axial strain of 5 %, gives the angle of internal friction,
//!
//! ```text
//!     sin φ = (σ₁ - σ₃) / (σ₁ + σ₃)
//! ```
//!
//! The pressure has to grow slowly: at 4/s the sample's own inertia makes 43.9° of what is 29.3° at 1/s
//! (500 grains, μ = 0.5; direct shear of such grains, `shear`, has 31.9°).
//!
//! The plates are bodies that are pushed, not walls that are driven: rigid grains would answer a driven
//! wall with any force.

use std::sync::Arc;

use drystone::{BodyDef, MassProperties, Settings, Shape, World};
use glam::DVec3;
use serde_json::json;

use super::params::{ParamInfo, Params, param};
use super::shaker::column;
use super::{Entry, Made};
use crate::probe::{Results, number};
use crate::{Drive, Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "triaxial",
    title: "triaxial compression of a cube of grains: angle of internal friction",
    citation: "Thornton2000",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("n", "500", "", "grains"),
    param("r", "0.01", "m", "radius of the grains"),
    param("mu", "0.5", "", "coefficient of friction of the grains"),
    param("pressure", "1000", "Pa", "from all sides"),
    param("rate", "1", "1/s", "growth of the axial pressure, over the lateral one"),
    param("settle", "1", "s", "of pressing from all sides"),
    param("seed", "1", "", "of the positions"),
    param("h", "0.001", "s", "step"),
    param("T", "3.4", "s", "duration"),
];

/// Half of the plates' thickness, over the radius of a grain.
const THICK: f64 = 1.0;
/// Mass of a plate over that of all grains.
const PLATE: f64 = 0.2;
/// Axial strain that counts as failure.
const FAILURE: f64 = 0.05;

fn build(p: &Params) -> Result<Made, SceneError> {
    let n = p.whole("n", 50, 100_000)? as usize;
    let r = p.positive("r", 10.0)?;
    let mu = p.number("mu", 0.0, 10.0)?;
    let pressure = p.positive("pressure", 1e9)?;
    let rate = p.positive("rate", 1e3)?;
    let settle = p.number("settle", 0.0, 1e3)?;
    let seed = p.whole("seed", 0, u64::MAX)?;

    let width = 2.3 * r * (n as f64).cbrt().ceil();
    let ball = BodyDef::solid(Shape::Sphere { radius: r }, 2500.0).friction(mu);
    let mass = PLATE * n as f64 * ball.mass.mass;
    let (mut bodies, top) = column(n, ball, r, width, seed);
    let (half, thick) = (0.5 * width, THICK * r);
    // Plates cross each other at the edges, so that they can move inwards: one group, which does not collide.
    let big = 2.0 * half.max(0.5 * top);
    let plates = [
        ("plate -x", DVec3::new(thick, big, big), DVec3::new(-half - thick, 0.0, 0.5 * top)),
        ("plate +x", DVec3::new(thick, big, big), DVec3::new(half + thick, 0.0, 0.5 * top)),
        ("plate -y", DVec3::new(big, thick, big), DVec3::new(0.0, -half - thick, 0.5 * top)),
        ("plate +y", DVec3::new(big, thick, big), DVec3::new(0.0, half + thick, 0.5 * top)),
        ("plate +z", DVec3::new(big, big, thick), DVec3::Z * (top + thick)),
    ];
    for (name, size, at) in plates {
        // So hard to turn that it stays parallel.
        let hard = MassProperties::principal(mass, DVec3::splat(1e4 * mass * width * width));
        let mut plate = BodyDef::dynamic(Shape::Box { half: size }, mass).mass(hard).at(at).named(name);
        plate.group = 1;
        bodies.push(plate);
    }
    let base = Shape::Box { half: DVec3::new(big, big, thick) };
    let mut base = BodyDef::fixed(base).at(DVec3::NEG_Z * thick).named("base");
    base.group = 1;
    bodies.push(base);
    let cell = Cell { first: n, r, pressure, rate, settle };
    Ok(Made {
        settings: Settings { gravity: DVec3::ZERO, ..Settings::default() },
        seed,
        glass: (n..n + 5).collect(),
        bodies,
        probe: Box::new(Triaxial { cell, course: Vec::new(), start: None }),
    })
}

/// What pushes the plates.
#[derive(Clone, Copy)]
struct Cell {
    /// Slot of the first plate.
    first: usize,
    r: f64,
    pressure: f64,
    rate: f64,
    settle: f64,
}

impl Cell {
    /// Extents of the space between the plates, m.
    fn size(&self, world: &World) -> DVec3 {
        let x = |k: usize| world.state().position[self.first + k];
        let thick = 2.0 * THICK * self.r;
        DVec3::new(x(1).x - x(0).x - thick, x(3).y - x(2).y - thick, x(4).z - 0.5 * thick)
    }

    /// Axial over lateral pressure at time `t`.
    fn ratio(&self, t: f64) -> f64 {
        1.0 + self.rate * (t - self.settle).max(0.0)
    }

    fn push(&self, world: &mut World) {
        // A sample that has given way lets plates pass each other: pressure never pulls.
        let size = self.size(world).max(DVec3::ZERO);
        let axial = self.ratio(world.state().time);
        let pushes = [
            DVec3::X * size.y * size.z,
            DVec3::NEG_X * size.y * size.z,
            DVec3::Y * size.x * size.z,
            DVec3::NEG_Y * size.x * size.z,
            DVec3::NEG_Z * (axial * size.x * size.y),
        ];
        for (k, push) in pushes.into_iter().enumerate() {
            if let Some(id) = world.model().id((self.first + k) as u32) {
                // The plates are there for as long as the scene runs.
                let _ = world.apply_force(id, self.pressure * push, None);
            }
        }
    }
}

struct Triaxial {
    cell: Cell,
    /// (axial strain, σ₁/σ₃, volumetric strain)
    course: Vec<[f64; 3]>,
    /// Extents when the axial pressure began to grow, m.
    start: Option<DVec3>,
}

impl Probe for Triaxial {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("course", &mut self.course);
        memory.keep("start", &mut self.start);
    }

    fn drive(&self) -> Option<Drive> {
        let cell = self.cell;
        Some(Arc::new(move |world| cell.push(world)))
    }

    fn observe(&mut self, world: &World) {
        let t = world.state().time;
        if t <= self.cell.settle {
            return;
        }
        let size = self.cell.size(world);
        let start = *self.start.get_or_insert(size);
        let volume = |s: DVec3| s.x * s.y * s.z;
        self.course.push([1.0 - size.z / start.z, self.cell.ratio(t), volume(size) / volume(start) - 1.0]);
    }

    fn results(&mut self, _: &World) -> Results {
        let mut results = Results::new();
        let failed = self.course.iter().find(|c| c[0] > FAILURE).map(|c| c[1]);
        let angle = |ratio: f64| ((ratio - 1.0) / (ratio + 1.0)).asin().to_degrees();
        results.insert("failure_stress_ratio".into(), failed.map_or(json!(null), number));
        results.insert("friction_angle_deg".into(), failed.map_or(json!(null), |x| number(angle(x))));
        if let Some(size) = self.start {
            let solid = self.cell.first as f64 * 4.0 / 3.0 * std::f64::consts::PI * self.cell.r.powi(3);
            results.insert("solid_fraction".into(), number(solid / (size.x * size.y * size.z)));
        }
        let stretch = self.course.len().div_ceil(60).max(1);
        results.insert("course".into(), json!(self.course.iter().step_by(stretch).collect::<Vec<_>>()));
        results
    }
}
