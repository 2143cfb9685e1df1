//! The simple pendulum of the IFToMM library of benchmarks: 1 kg on a massless rod of 1 m, released level
//! [Gonzalez2006, A01]. Its motion in closed form is Jacobi's: see `elliptic.rs`. The rods behind it show
//! where it is after equal times.

use drystone::{BodyDef, JointDef, Shape, World};
use glam::DVec3;

use super::elliptic::{complete, pendulum};
use super::linkage::{EnergyWatch, Passes, bar, body, pin, seen};
use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, exact};
use crate::probe::{Results, number};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "pendulum",
    title: "a mass on a rod, against Jacobi's elliptic functions",
    citation: "Gonzalez2006, A01",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("angle_deg", "90", "deg", "from the lowest place, where it is released"),
    param("length", "1", "m", "of the rod"),
    param("h", "0.001", "s", "step"),
    param("T", "10", "s", "duration"),
];

fn build(p: &Params) -> Result<Made, SceneError> {
    let angle = p.number("angle_deg", 1.0, 175.0)?.to_radians();
    let length = p.positive("length", 100.0)?;
    let settings = exact();
    let g = settings.gravity.length();
    // Like the benchmark's: released on the left, x = -l.
    let start = length * DVec3::new(-angle.sin(), 0.0, -angle.cos());
    let radius = 0.05 * length;
    let mut bodies = vec![seen(BodyDef::dynamic(Shape::Sphere { radius }, 1.0)).at(start).named("mass")];
    bodies.push(pin(DVec3::ZERO, 0.5 * radius, "pin"));
    let swing = Swing { k: g / length, angle, length };
    for i in 0..=12 {
        let (x, z) = swing.at(swing.period() * i as f64 / 24.0);
        let at = DVec3::new(x, 0.0, z);
        let mut mark = pin(at, 0.2 * radius, "mark");
        mark.colliders.push(bar(DVec3::ZERO, -at, 0.06 * radius));
        bodies.push(mark);
    }
    let first = g * start.z;
    Ok(Made {
        settings,
        seed: 1,
        bodies,
        glass: Vec::new(),
        probe: Box::new(Pendulum {
            swing,
            passes: Passes::default(),
            energy: EnergyWatch::from(first),
            off: 0.0,
        }),
    })
}

/// The closed form.
#[derive(Clone, Copy)]
struct Swing {
    /// g / l.
    k: f64,
    angle: f64,
    length: f64,
}

impl Swing {
    fn period(&self) -> f64 {
        4.0 * complete((0.5 * self.angle).sin().powi(2)) / self.k.sqrt()
    }

    /// Where it is, t after its release.
    fn at(&self, t: f64) -> (f64, f64) {
        let fastest = 2.0 * self.k.sqrt() * (0.5 * self.angle).sin();
        let (sin, cos) = pendulum(self.k, fastest, t - 0.25 * self.period());
        (self.length * sin, -self.length * cos)
    }
}

struct Pendulum {
    swing: Swing,
    passes: Passes,
    energy: EnergyWatch,
    /// Largest distance from the closed form, m.
    off: f64,
}

impl Probe for Pendulum {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("passes", &mut self.passes);
        memory.keep("energy", &mut self.energy);
        memory.keep("off", &mut self.off);
    }

    fn joints(&self) -> Vec<JointDef> {
        vec![JointDef::distance((None, DVec3::ZERO), (Some(body(0)), DVec3::ZERO), self.swing.length)]
    }

    fn observe(&mut self, world: &World) {
        let s = world.state();
        self.passes.observe(s.time, s.position[0].x, s.velocity[0].x);
        // One kilogram: energies of the mass alone.
        let g = world.settings().gravity;
        self.energy.observe(0.5 * s.velocity[0].length_squared() - g.dot(s.position[0]));
        let (x, z) = self.swing.at(s.time);
        self.off = self.off.max((s.position[0] - DVec3::new(x, 0.0, z)).length());
    }

    fn results(&mut self, world: &World) -> Results {
        let s = world.state();
        let (x, z) = self.swing.at(s.time);
        let mut results = Results::new();
        results.insert("period_s".into(), number(self.passes.period()));
        results.insert("expected_period_s".into(), number(self.swing.period()));
        results.insert("x_m".into(), number(s.position[0].x));
        results.insert("z_m".into(), number(s.position[0].z));
        results.insert("expected_x_m".into(), number(x));
        results.insert("expected_z_m".into(), number(z));
        results.insert("largest_error_m".into(), number(self.off));
        results.insert("energy_change_max_j".into(), number(self.energy.furthest));
        results
    }
}
