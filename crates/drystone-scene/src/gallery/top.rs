//! A heavy symmetric top: a cone that spins on its apex, released without precession. Its axis nods between
//! two angles and goes round [Goldstein2002, §5.7]. With u = cos θ, a = I₃ω₃/I₁, b = 2mgl/I₁, p = a²/2b:
//!
//! ```text
//!     u̇² = b (u₀ - u)(u - u₁)(u₂ - u),     u₁,₂ = p ∓ √(p² - 2p u₀ + 1)
//!     T = 4 K((u₀ - u₁)/(u₂ - u₁)) / √(b (u₂ - u₁))          of one nod
//!     φ̇ = a (u₀ - u)/(1 - u²)                                precession, integrated over a nod
//! ```

use drystone::{BodyDef, JointDef, Shape, World};
use glam::{DQuat, DVec3};

use super::elliptic::complete;
use super::linkage::{EnergyWatch, Passes, body, pin, seen};
use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, exact};
use crate::probe::{Results, number};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "top",
    title: "a heavy top that nods and precesses, against the closed form",
    citation: "Goldstein2002, §5.7",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("spin", "150", "rad/s", "about the axis of the top"),
    param("tilt_deg", "30", "deg", "of the axis at the start"),
    param("h", "0.001", "s", "step"),
    param("T", "5", "s", "duration"),
];

const RADIUS: f64 = 0.1;
const HEIGHT: f64 = 0.2;
const DENSITY: f64 = 1000.0;

fn build(p: &Params) -> Result<Made, SceneError> {
    let spin = p.number("spin", 1.0, 1000.0)?;
    let tilt = p.number("tilt_deg", 1.0, 120.0)?.to_radians();
    let settings = exact();
    // The shape's apex points up: the body's z axis is from the base to the apex, the top's own axis the
    // opposite.
    let up = DVec3::new(tilt.sin(), 0.0, tilt.cos());
    let turn = DQuat::from_rotation_y(tilt) * DQuat::from_rotation_x(std::f64::consts::PI);
    let def = seen(BodyDef::solid(Shape::Cone { radius: RADIUS, height: HEIGHT }, DENSITY));
    let mass = def.mass.mass;
    let arm = 0.75 * HEIGHT;
    let (across, along) = (def.mass.inertia.x_axis.x + mass * arm * arm, def.mass.inertia.z_axis.z);
    let def = def.at(arm * up).turned(turn).moving(DVec3::ZERO, spin * up).named("top");
    let g = settings.gravity.length();
    let energy = 0.5 * along * spin * spin + mass * g * arm * up.z;
    let form = Form { a: along * spin / across, b: 2.0 * mass * g * arm / across, start: up.z };
    Ok(Made {
        settings,
        seed: 1,
        bodies: vec![def, pin(DVec3::Z * -0.02, 0.02, "pin")],
        glass: Vec::new(),
        probe: Box::new(Top {
            form,
            energy: EnergyWatch::from(energy),
            nods: Passes::default(),
            lowest: up.z,
            angle: 0.0,
            at_nods: Vec::new(),
        }),
    })
}

/// The closed form.
struct Form {
    a: f64,
    b: f64,
    /// u₀.
    start: f64,
}

impl Form {
    fn roots(&self) -> [f64; 2] {
        let p = 0.5 * self.a * self.a / self.b;
        let root = (p * p - 2.0 * p * self.start + 1.0).sqrt();
        // u₁ u₂ = 2p u₀ - 1, without the cancellation of p - root.
        [(2.0 * p * self.start - 1.0) / (p + root), p + root]
    }

    fn period(&self) -> f64 {
        let [low, high] = self.roots();
        4.0 * complete((self.start - low) / (high - low)) / (self.b * (high - low)).sqrt()
    }

    /// Angle of precession in one nod, by the trapezoidal rule over ψ with u = u₁ + (u₀ - u₁) sin² ψ:
    /// periodic, so that it converges faster than any power.
    fn precession(&self) -> f64 {
        let [low, high] = self.roots();
        let n = 400;
        let step = std::f64::consts::PI / n as f64;
        let rate = |k: usize| {
            let u = low + (self.start - low) * (k as f64 * step).sin().powi(2);
            self.a * (self.start - u) / (1.0 - u * u) * 2.0 / (self.b * (high - u)).sqrt()
        };
        (0..n).map(rate).sum::<f64>() * step
    }
}

struct Top {
    form: Form,
    energy: EnergyWatch,
    /// Of the axis, from falling to rising: the lowest point of each nod.
    nods: Passes,
    lowest: f64,
    /// Of precession so far, rad, and at each nod.
    angle: f64,
    at_nods: Vec<f64>,
}

impl Probe for Top {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("energy", &mut self.energy);
        memory.keep("nods", &mut self.nods);
        memory.keep("lowest", &mut self.lowest);
        memory.keep("angle", &mut self.angle);
        memory.keep("at_nods", &mut self.at_nods);
    }

    fn joints(&self) -> Vec<JointDef> {
        vec![JointDef::ball(None, body(0), DVec3::ZERO)]
    }

    fn observe(&mut self, world: &World) {
        let s = world.state();
        let axis = s.rotation[0] * -DVec3::Z;
        let turn = s.world_omega(0);
        let moves = turn.cross(axis);
        // ü from the closed form: u̇² = f(u) gives ü = f'(u)/2.
        let ([low, high], u) = (self.form.roots(), axis.z);
        let (x, y, z) = (self.form.start - u, u - low, high - u);
        let bend = 0.5 * self.form.b * (x * z - y * z - x * y);
        let before = self.nods.times.len();
        self.nods.observe(s.time, moves.z, bend);
        self.lowest = self.lowest.min(axis.z);
        let now = axis.y.atan2(axis.x);
        self.angle += (now - self.angle + std::f64::consts::PI).rem_euclid(std::f64::consts::TAU)
            - std::f64::consts::PI;
        if self.nods.times.len() > before
            && let Some(t) = self.nods.times.last()
        {
            // Back to the moment of the nod, where precession is steady.
            let rate = (axis.x * moves.y - axis.y * moves.x) / (axis.x * axis.x + axis.y * axis.y);
            self.at_nods.push(self.angle - rate * (s.time - t));
        }
        self.energy.observe(world.energy().total());
    }

    fn results(&mut self, _: &World) -> Results {
        let mut results = Results::new();
        let precession = match self.at_nods[..] {
            [first, .., last] => (last - first) / (self.at_nods.len() - 1) as f64,
            _ => f64::NAN,
        };
        results.insert("nutation_period_s".into(), number(self.nods.period()));
        results.insert("expected_nutation_period_s".into(), number(self.form.period()));
        results.insert("precession_per_nod_rad".into(), number(precession));
        results.insert("expected_precession_per_nod_rad".into(), number(self.form.precession()));
        results.insert("largest_tilt_deg".into(), number(self.lowest.acos().to_degrees()));
        results.insert("expected_largest_tilt_deg".into(), number(self.form.roots()[0].acos().to_degrees()));
        results.insert("energy_change_max_j".into(), number(self.energy.furthest));
        results
    }
}
