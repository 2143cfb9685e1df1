//! The shaker [TasoraAnitescu2008, §3.2]: small spheres fall into a box and flow out of a lateral opening.
//!
//! The paper gives no sizes. Here the box is a cube that the settled spheres would just fill, so that
//! everything scales with the cube root of their number. It stands on a plinth, so that what has flowed out
//! does not dam the opening, which is half as wide as the box.

use std::f64::consts::PI;

use drystone::random::Random;
use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;
use serde_json::json;

use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, ground, walls};
use crate::probe::{Results, number, support};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "shaker",
    title: "spheres fall into a box and flow out of a lateral opening",
    citation: "TasoraAnitescu2008, section 3.2",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("n", "50000", "", "spheres"),
    param("r", "0.05", "m", "radius"),
    param("density", "2500", "kg/m³", "of the spheres"),
    param("mu", "0.3", "", "coefficient of friction"),
    param(
        "opening",
        "",
        "",
        "height of the opening over the width of the box; if not set a quarter, but 6 diameters at least",
    ),
    param("seed", "1", "", "of the positions"),
    param("h", "0.005", "s", "step"),
    param("T", "3", "s", "duration"),
];

/// Solid fraction of a poured bed of spheres, from which the box is sized.
const POURED: f64 = 0.6;
/// Spacing of the lattice they start on, and the largest shift from it along an axis, over the diameter.
/// Neighbours keep SPACING - 2 JITTER > 1 diameters along one axis at least.
const SPACING: f64 = 1.12;
const JITTER: f64 = 0.055;
/// Height of the plinth over the width of the box.
const PLINTH: f64 = 0.3;

fn build(p: &Params) -> Result<Made, SceneError> {
    let n = p.whole("n", 8, 10_000_000)? as usize;
    let r = p.positive("r", 1e3)?;
    let density = p.positive("density", 1e5)?;
    let mu = p.number("mu", 0.0, 10.0)?;
    let seed = p.whole("seed", 0, u64::MAX)?;

    let volume = 4.0 / 3.0 * PI * r.powi(3);
    let width = (n as f64 * volume / POURED).cbrt().max(4.0 * r);
    // Openings of fewer diameters are blocked by arches.
    let opening = match p.is_set("opening") {
        true => p.number("opening", 0.0, 1.0)?,
        false => (12.0 * r / width).clamp(0.25, 1.0),
    };
    let ball = BodyDef::dynamic(Shape::Sphere { radius: r }, density * volume).friction(mu);
    let (mut bodies, top) = column(n, ball, r, width, seed);
    let thickness = 0.1 * width;
    let (half, high) = (0.5 * width, top.max(width) + 2.0 * r);
    let mut around = walls(half, half, high, thickness, mu);
    let right = around.remove(1);
    bodies.append(&mut around);
    bodies.extend(wall_with_opening(right, 0.25 * width, opening * width));
    let lift = PLINTH * width;
    bodies.iter_mut().for_each(|b| b.position.z += lift);
    let glass = (n..bodies.len()).collect();
    let plinth = Shape::Box { half: DVec3::new(half + thickness, half + thickness, 0.5 * lift) };
    bodies.push(BodyDef::fixed(plinth).at(DVec3::Z * (0.5 * lift)).friction(mu).named("plinth"));
    bodies.push(ground(mu));
    bodies.extend(tray(width, half + thickness, mu));
    Ok(Made {
        settings: Settings { stabilisation: super::POURING, ..Settings::default() },
        seed,
        bodies,
        glass,
        probe: Box::new(Shaker { n, r, outside: half + thickness, deepest: 0.0 }),
    })
}

/// Spheres on a jittered lattice over the floor of the box, and how high they reach.
pub(super) fn column(n: usize, ball: BodyDef, r: f64, width: f64, seed: u64) -> (Vec<BodyDef>, f64) {
    let (spacing, jitter) = (2.0 * r * SPACING, 2.0 * r * JITTER);
    let across = ((width / spacing).floor() as usize).max(1);
    let cell = width / across as f64;
    let mut random = Random::new(seed);
    let place = |i: usize| {
        let (ix, iy, iz) = (i % across, i / across % across, i / (across * across));
        let site = DVec3::new(
            (ix as f64 + 0.5) * cell - 0.5 * width,
            (iy as f64 + 0.5) * cell - 0.5 * width,
            (iz as f64 + 0.5) * spacing,
        );
        let shift = random.in_box(DVec3::splat(-jitter), DVec3::splat(jitter));
        ball.clone().at(site + shift)
    };
    let bodies = (0..n).map(place).collect();
    (bodies, n.div_ceil(across * across) as f64 * spacing)
}

/// The wall without the part |y| < `half`, z < `height`: two pieces beside the opening, one above.
fn wall_with_opening(wall: BodyDef, half: f64, height: f64) -> Vec<BodyDef> {
    let Shape::Box { half: whole } = wall.colliders[0].shape else { return vec![wall] };
    if height <= 0.0 {
        return vec![wall];
    }
    let piece = |name: &str, y: f64, z: f64, extent: DVec3| {
        let mut part = wall.clone().at(DVec3::new(wall.position.x, y, z)).named(format!("wall +x, {name}"));
        part.colliders[0].shape = Shape::Box { half: extent };
        part
    };
    let beside = 0.5 * (whole.y - half);
    let above = 0.5 * (2.0 * whole.z - height);
    vec![
        piece("left", -half - beside, whole.z, DVec3::new(whole.x, beside, whole.z)),
        piece("right", half + beside, whole.z, DVec3::new(whole.x, beside, whole.z)),
        piece("above", 0.0, height + above, DVec3::new(whole.x, half, above)),
    ]
}

/// A rim on the floor in front of the opening that keeps what came out.
fn tray(width: f64, from: f64, mu: f64) -> Vec<BodyDef> {
    let t = 0.05 * width;
    let (length, high) = (2.0 * width, 0.15 * width);
    let rim = |name: &str, at: DVec3, half: DVec3| {
        BodyDef::fixed(Shape::Box { half }).at(at).friction(mu).named(name)
    };
    let side = DVec3::new(0.5 * length, t, high);
    vec![
        rim("rim -y", DVec3::new(from + 0.5 * length, -width - t, high), side),
        rim("rim +y", DVec3::new(from + 0.5 * length, width + t, high), side),
        rim("rim +x", DVec3::new(from + length + t, 0.0, high), DVec3::new(t, width + 2.0 * t, high)),
    ]
}

struct Shaker {
    n: usize,
    r: f64,
    /// Beyond this x a centre is out of the box, m.
    outside: f64,
    /// m
    deepest: f64,
}

impl Probe for Shaker {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("deepest", &mut self.deepest);
    }

    fn observe(&mut self, world: &World) {
        self.deepest = world.contacts().iter().fold(self.deepest, |d, c| d.max(-c.gap));
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        support(world, &mut results);
        let out = world.state().position[..self.n].iter().filter(|x| x.x > self.outside).count();
        let last = world.contacts().iter().fold(0.0f64, |d, c| d.max(-c.gap));
        results.insert("flowed_out".into(), json!(out));
        results.insert("flowed_out_share".into(), number(out as f64 / self.n as f64));
        results.insert("max_overlap_over_r".into(), number(self.deepest / self.r));
        results.insert("last_overlap_over_r".into(), number(last / self.r));
        results
    }
}
