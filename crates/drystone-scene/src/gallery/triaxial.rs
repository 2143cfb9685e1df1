//! Triaxial compression of a cube of grains between six smooth plates, without gravity: all plates press with one
//! pressure first; then the upper one goes down at a constant rate while a servo keeps the pressure of the four lateral
//! ones. The largest ratio of the principal stresses gives the angle of internal friction,
//!
//! ```text
//!     sin φ = (σ₁ - σ₃) / (σ₁ + σ₃)
//! ```

use std::sync::Arc;

use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;
use serde_json::json;

use super::params::{ParamInfo, Params, param};
use super::shaker::column;
use super::{Entry, Made};
use crate::probe::{Results, number};
use crate::{Drive, Probe, SceneError};

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
    param("pressure", "1e4", "Pa", "of the lateral plates"),
    param("rate", "0.2", "1/s", "of axial strain"),
    param("settle", "1", "s", "of pressing from all sides"),
    param("seed", "1", "", "of the positions"),
    param("h", "0.001", "s", "step"),
    param("T", "2", "s", "duration"),
];

/// Half of the plates' thickness, over the radius of a grain.
const THICK: f64 = 1.0;

fn build(p: &Params) -> Result<Made, SceneError> {
    let n = p.whole("n", 50, 100_000)? as usize;
    let r = p.positive("r", 10.0)?;
    let mu = p.number("mu", 0.0, 10.0)?;
    let pressure = p.positive("pressure", 1e9)?;
    let rate = p.positive("rate", 10.0)?;
    let settle = p.number("settle", 0.0, 1e3)?;
    let seed = p.whole("seed", 0, u64::MAX)?;

    let width = 2.3 * r * (n as f64).cbrt().ceil();
    let ball = BodyDef::solid(Shape::Sphere { radius: r }, 2500.0).friction(mu);
    let (mut bodies, top) = column(n, ball, r, width, seed);
    let (half, thick) = (0.5 * width, THICK * r);
    // Plates overlap each other at the edges, so that they can move inwards.
    let big = 2.0 * half.max(0.5 * top);
    let plates = [
        ("plate -x", DVec3::new(thick, big, big), DVec3::new(-half - thick, 0.0, 0.5 * top)),
        ("plate +x", DVec3::new(thick, big, big), DVec3::new(half + thick, 0.0, 0.5 * top)),
        ("plate -y", DVec3::new(big, thick, big), DVec3::new(0.0, -half - thick, 0.5 * top)),
        ("plate +y", DVec3::new(big, thick, big), DVec3::new(0.0, half + thick, 0.5 * top)),
        ("plate +z", DVec3::new(big, big, thick), DVec3::Z * (top + thick)),
    ];
    for (name, half, at) in plates {
        bodies.push(BodyDef::kinematic(Shape::Box { half }).at(at).named(name));
    }
    let base = Shape::Box { half: DVec3::new(big, big, thick) };
    bodies.push(BodyDef::fixed(base).at(DVec3::NEG_Z * thick).named("base"));
    let cell = Cell { first: n, r, pressure, rate, settle };
    Ok(Made {
        settings: Settings { gravity: DVec3::ZERO, iterations: 150, ..Settings::default() },
        seed,
        glass: (n..n + 5).collect(),
        bodies,
        probe: Box::new(Triaxial { cell, course: Vec::new(), start: None }),
    })
}

/// What the plates need to know.
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

    /// Pressure on each plate in the last step, Pa.
    fn pressures(&self, world: &World) -> [f64; 5] {
        let size = self.size(world);
        let areas = [size.y * size.z, size.y * size.z, size.x * size.z, size.x * size.z, size.x * size.y];
        let mut forces = [0.0; 5];
        for c in world.contacts() {
            if let Some(k) = (c.bodies[1] as usize).checked_sub(self.first).filter(|k| *k < 5) {
                forces[k] += c.normal_impulse() / world.settings().h;
            }
        }
        std::array::from_fn(|k| forces[k] / areas[k])
    }

    /// Plates move with a speed that goes with the lack of pressure, but no faster than a fifth of a radius in a step.
    fn servo(&self, world: &mut World) {
        let (pressures, size) = (self.pressures(world), self.size(world));
        let inwards = [DVec3::X, DVec3::NEG_X, DVec3::Y, DVec3::NEG_Y, DVec3::NEG_Z];
        let most = 10.0 * self.r;
        let compress = world.state().time >= self.settle;
        for (k, inwards) in inwards.into_iter().enumerate() {
            let lack = (1.0 - pressures[k] / self.pressure).clamp(-1.0, 1.0);
            let speed = if k == 4 && compress { self.rate * size.z } else { 0.3 * most * lack };
            if let Some(id) = world.model().id((self.first + k) as u32) {
                let _ = world.set_velocity(id, inwards * speed, DVec3::ZERO);
            }
        }
    }
}

struct Triaxial {
    cell: Cell,
    /// (axial strain, σ₁/σ₃, volumetric strain)
    course: Vec<[f64; 3]>,
    /// Extents when the compression began, m.
    start: Option<DVec3>,
}

impl Probe for Triaxial {
    fn drive(&self) -> Option<Drive> {
        let cell = self.cell;
        Some(Arc::new(move |world| cell.servo(world)))
    }

    fn observe(&mut self, world: &World) {
        if world.state().time <= self.cell.settle {
            return;
        }
        let size = self.cell.size(world);
        let start = *self.start.get_or_insert(size);
        let p = self.cell.pressures(world);
        let lateral = 0.25 * (p[0] + p[1] + p[2] + p[3]);
        let volume = |s: DVec3| s.x * s.y * s.z;
        if lateral > 0.0 {
            self.course.push([1.0 - size.z / start.z, p[4] / lateral, volume(size) / volume(start) - 1.0]);
        }
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        let stretch = self.course.len().div_ceil(40).max(1);
        let means: Vec<[f64; 3]> = self
            .course
            .chunks(stretch)
            .map(|part| std::array::from_fn(|k| part.iter().map(|c| c[k]).sum::<f64>() / part.len() as f64))
            .collect();
        let ratio = means.iter().map(|m| m[1]).fold(1.0, f64::max);
        results.insert("peak_stress_ratio".into(), number(ratio));
        let angle = ((ratio - 1.0) / (ratio + 1.0)).asin().to_degrees();
        results.insert("friction_angle_deg".into(), number(angle));
        let size = self.cell.size(world);
        let r = self.cell.r;
        let solid = self.cell.first as f64 * 4.0 / 3.0 * std::f64::consts::PI * r.powi(3);
        results.insert("solid_fraction".into(), number(solid / (size.x * size.y * size.z)));
        results.insert("course".into(), json!(means));
        results
    }
}
