//! Direct shear: a box of grains is cut in two at mid-height. The upper frame moves along, a loaded plate
//! lies on the grains, and the force that the frame needs over the weight that rests on the cut is the
//! friction of the soil.

use drystone::{BodyDef, Collider, Function, Guide, MassProperties, Pose, Settings, Shape, World};
use glam::DVec3;
use serde_json::json;

use super::params::{ParamInfo, Params, param};
use super::shaker::column;
use super::{Entry, Made, ground, walls};
use crate::probe::{Results, number};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "shear",
    title: "direct shear of a box of grains: shear over normal force",
    citation: "Thornton2000",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("n", "600", "", "grains"),
    param("r", "0.01", "m", "radius of the grains"),
    param("mu", "0.5", "", "coefficient of friction of the grains"),
    param("load", "10", "", "weight of the plate over that of the grains"),
    param("speed", "0.05", "m/s", "of the upper frame"),
    param("settle", "0.6", "s", "before it starts"),
    param("seed", "1", "", "of the positions"),
    param("h", "0.002", "s", "step"),
    param("T", "2", "s", "duration"),
];

fn build(p: &Params) -> Result<Made, SceneError> {
    let n = p.whole("n", 50, 1_000_000)? as usize;
    let r = p.positive("r", 10.0)?;
    let mu = p.number("mu", 0.0, 10.0)?;
    let load = p.number("load", 0.0, 1e3)?;
    let speed = p.positive("speed", 100.0)?;
    let settle = p.number("settle", 0.0, 1e3)?;
    let seed = p.whole("seed", 0, u64::MAX)?;
    let end = p.positive("T", 1e6)?.max(settle + 1e-3);

    // Twice as wide as high when settled.
    let width = 2.0 * r * (n as f64 * 1.7).cbrt().ceil();
    let ball = BodyDef::solid(Shape::Sphere { radius: r }, 2500.0).friction(mu);
    let mass = ball.mass.mass;
    let (mut bodies, top) = column(n, ball, r, width, seed);
    let volume = n as f64 * 4.0 / 3.0 * std::f64::consts::PI * r.powi(3);
    let cut = 0.5 * volume / 0.6 / (width * width);
    let half = 0.5 * width;
    let plate = Shape::Box { half: DVec3::new(half - 0.2 * r, half - 0.2 * r, r) };
    let weight = load.max(1e-3) * n as f64 * mass;
    // Smooth against the frame: it is the frame that shears.
    // And so hard to turn that it stays level.
    let hard = MassProperties::principal(weight, DVec3::splat(1e4 * weight * width * width));
    let plate = BodyDef::dynamic(plate, weight).mass(hard);
    bodies.push(plate.at(DVec3::Z * (top + 2.0 * r)).named("plate"));
    let t = 2.0 * r;
    let up = 0.5 * (top + 8.0 * r - cut);
    let way = Function::Ramp { from: 0.0, to: speed * (end - settle), start: settle, end };
    let mut frame = BodyDef::kinematic(Shape::HalfSpace).guided(Guide::along(DVec3::X, way)).named("frame");
    let side = |size: DVec3, at: DVec3| Collider {
        local: Pose::at(at + DVec3::Z * (cut + up)),
        ..Collider::new(Shape::Box { half: size }, mu)
    };
    let (x, y) = (DVec3::new(0.5 * t, half + t, up), DVec3::new(half, 0.5 * t, up));
    let (at_x, at_y) = (DVec3::X * (half + 0.5 * t), DVec3::Y * (half + 0.5 * t));
    frame.colliders = vec![side(x, at_x), side(x, -at_x), side(y, at_y), side(y, -at_y)];
    let slot = bodies.len();
    bodies.push(frame);
    bodies.push(ground(mu));
    // Thick: what is sheared off the lower half lies on them.
    let below = walls(half, half, cut, 8.0 * r, mu);
    let glass = vec![slot, slot + 2, slot + 3, slot + 4, slot + 5];
    bodies.extend(below);
    Ok(Made {
        settings: Settings::default(),
        seed,
        bodies,
        glass,
        probe: Box::new(Shear { n, frame: slot, settle, weight, mass, cut, ratios: Vec::new(), first: None }),
    })
}

struct Shear {
    n: usize,
    /// Slot.
    frame: usize,
    settle: f64,
    /// Of the plate, and of one grain, kg.
    weight: f64,
    mass: f64,
    cut: f64,
    /// (way, shear force over what rests on the cut)
    ratios: Vec<(f64, f64)>,
    /// Height of the plate when the shearing began, m.
    first: Option<f64>,
}

impl Probe for Shear {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("ratios", &mut self.ratios);
        memory.keep("first", &mut self.first);
    }

    fn observe(&mut self, world: &World) {
        let state = world.state();
        if state.time <= self.settle {
            return;
        }
        self.first.get_or_insert(state.position[self.n].z);
        let force: f64 = world
            .contacts()
            .iter()
            .filter(|c| c.bodies[1] as usize == self.frame)
            .map(|c| c.impulse.x / world.settings().h)
            .sum();
        let above = state.position[..self.n].iter().filter(|x| x.z > self.cut).count();
        let weight = (self.weight + above as f64 * self.mass) * world.settings().gravity.length();
        self.ratios.push((state.position[self.frame].x, force / weight));
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        let stretch = self.ratios.len().div_ceil(40).max(1);
        let means: Vec<(f64, f64)> = self
            .ratios
            .chunks(stretch)
            .map(|part| {
                let count = part.len() as f64;
                (part[part.len() - 1].0, part.iter().map(|r| r.1).sum::<f64>() / count)
            })
            .collect();
        let peak = means.iter().map(|m| m.1).fold(0.0, f64::max);
        let last = &means[means.len() / 2..];
        let steady = last.iter().map(|m| m.1).sum::<f64>() / last.len().max(1) as f64;
        results.insert("peak_ratio".into(), number(peak));
        results.insert("steady_ratio".into(), number(steady));
        results.insert("friction_angle_deg".into(), number(steady.atan().to_degrees()));
        let rise = self.first.map(|z| world.state().position[self.n].z - z);
        results.insert("plate_rise_m".into(), rise.map_or(json!(null), number));
        results.insert("ratio_over_way".into(), json!(means));
        results
    }
}
