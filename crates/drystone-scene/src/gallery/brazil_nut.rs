//! The Brazil nut effect: a large ball under small ones rises while the floor is shaken.
//!
//! [Anitescu2005]: 270 bodies, steps of 100 ms for 50 s, friction and restitution 0.5; the large ball is at
//! the top after about 40 shakes. [RenoufAcary2006, §5]: 800 balls of radius 1 on one of radius 2 in a box, a
//! periodic displacement of the floor. Neither gives box or motion: here the bed at rest is less than half as
//! high as the box is wide, and the floor swings by 1.5 m about its middle, 40 times in 50 s, with 3.9 g at
//! its turning points. In a box as wide as its bed is high (`across` = 5 for 270 balls) the walls hold the
//! balls back, the large ball is half-way up after 40 shakes, and balls between opposite walls have nowhere
//! to go in steps of 100 ms, in which the floor moves by up to 0.75 m.

use std::f64::consts::FRAC_PI_2;

use drystone::random::Random;
use drystone::{BodyDef, Function, Guide, Materials, PairLaw, Settings, Shape, World};
use glam::DVec3;
use serde_json::json;

use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, walls};
use crate::probe::{Results, number};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "brazil-nut",
    title: "a large ball rises through small ones on a shaken floor",
    citation: "Anitescu2005, slide 'Brazil nut effect simulation'; RenoufAcary2006, section 5",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("n", "270", "", "balls, the large one included (the papers: 270 and 801)"),
    param(
        "across",
        "",
        "",
        "small balls side by side in the box; not set: as many as make the bed 0.4 as high as wide",
    ),
    param("ratio", "2", "", "radius of the large ball over that of the small ones, which is 1 m"),
    param("mu", "0.5", "", "coefficient of friction"),
    param("e", "0.5", "", "coefficient of restitution"),
    param("amplitude", "1.5", "m", "of the floor"),
    param("frequency", "0.8", "Hz", "of the floor"),
    param("seed", "1", "", "of the positions"),
    param("h", "0.1", "s", "step"),
    param("T", "50", "s", "duration"),
];

/// kg/m³
const DENSITY: f64 = 1000.0;
/// Spacing of the lattice they start on and the largest shift from it, m.
const SPACING: f64 = 2.15;
const JITTER: f64 = 0.07;
/// Half of the floor's thickness, and the walls', m.
const THICK: f64 = 6.0;
/// Height of the bed over the width of the box.
const FLATNESS: f64 = 0.4;
/// Share of the bed's height above which the large ball counts as at the surface.
const SURFACE: f64 = 0.8;

fn build(p: &Params) -> Result<Made, SceneError> {
    let n = p.whole("n", 10, 100_000)? as usize;
    let ratio = p.number("ratio", 1.0, 6.0)?;
    let mu = p.number("mu", 0.0, 10.0)?;
    let e = p.number("e", 0.0, 1.0)?;
    let amplitude = p.number("amplitude", 0.0, 10.0)?;
    let frequency = p.number("frequency", 0.0, 10.0)?;
    let seed = p.whole("seed", 0, u64::MAX)?;

    let ball = |r: f64| BodyDef::solid(Shape::Sphere { radius: r }, DENSITY).friction(mu);
    // A bed of solid fraction 0.6 in a square box.
    let wide = ((n as f64 * 7.0 / FLATNESS).cbrt() / SPACING).round().max(2.0 * ratio) as u64;
    let across = if p.is_set("across") { p.whole("across", 2, 1000)? } else { wide } as usize;
    let half = 0.5 * across as f64 * SPACING;
    let nut = DVec3::Z * ratio;
    let mut bodies = vec![ball(ratio).at(nut).named("nut")];
    let mut random = Random::new(seed);
    let mut site = 0;
    while bodies.len() < n {
        let (ix, iy, iz) = (site % across, site / across % across, site / (across * across));
        site += 1;
        let corner = DVec3::new(ix as f64, iy as f64, iz as f64) + 0.5;
        let shift = random.in_box(DVec3::splat(-JITTER), DVec3::splat(JITTER));
        let at = SPACING * corner - DVec3::new(half, half, 0.0) + shift;
        if at.distance(nut) > ratio + 1.0 + JITTER {
            bodies.push(ball(1.0).at(at));
        }
    }
    let top = bodies.iter().map(|b| b.position.z).fold(0.0, f64::max);
    // Thick and wide: a ball that a long step pushes deep into it still finds its upper face nearest.
    let plate = Shape::Box { half: DVec3::new(half + 4.0, half + 4.0, THICK) };
    // From its lowest place, at rest.
    let swing = Function::Sine { mean: amplitude, amplitude, frequency, phase: -FRAC_PI_2 };
    let floor = BodyDef::kinematic(plate).at(DVec3::NEG_Z * THICK).guided(Guide::along(DVec3::Z, swing));
    let slot = bodies.len();
    bodies.push(floor.friction(mu).named("floor"));
    let around = walls(half, half, top + 30.0, THICK, mu);
    bodies.extend(around.into_iter().map(|mut w| {
        w.position.z -= 8.0;
        w
    }));
    Ok(Made {
        settings: Settings::default(),
        seed,
        glass: (slot + 1..bodies.len()).collect(),
        bodies,
        probe: Box::new(Nut { e, frequency, floor: slot, heights: Vec::new(), surface: None }),
    })
}

struct Nut {
    e: f64,
    frequency: f64,
    /// Slot.
    floor: usize,
    /// (time, centre of the large ball over the floor, top of the bed over the floor)
    heights: Vec<[f64; 3]>,
    /// When it came to the surface, s.
    surface: Option<f64>,
}

impl Probe for Nut {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("heights", &mut self.heights);
        memory.keep("surface", &mut self.surface);
    }

    fn materials(&self) -> Materials {
        let mut materials = Materials::default();
        // A number that was checked above is never refused.
        let _ = materials.set_other(PairLaw { restitution: self.e, ..PairLaw::default() });
        materials
    }

    fn observe(&mut self, world: &World) {
        let state = world.state();
        let floor = state.position[self.floor].z + THICK;
        // What flies is not the bed: the height below which nine tenths of the small balls are.
        let mut all: Vec<f64> = state.position[1..self.floor].iter().map(|x| x.z - floor).collect();
        all.sort_by(f64::total_cmp);
        let bed = all[all.len() * 9 / 10];
        let nut = state.position[0].z - floor;
        self.heights.push([state.time, nut, bed]);
        if nut > SURFACE * bed && self.surface.is_none() {
            self.surface = Some(state.time);
        }
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        let stride = self.heights.len().div_ceil(200).max(1);
        let series: Vec<_> = self.heights.iter().step_by(stride).map(|h| json!([h[0], h[1]])).collect();
        results.insert("nut_height_m".into(), json!(series));
        if let (Some(first), Some(last)) = (self.heights.first(), self.heights.last()) {
            results.insert("nut_height_first_m".into(), number(first[1]));
            results.insert("nut_height_last_m".into(), number(last[1]));
            results.insert("bed_height_last_m".into(), number(last[2]));
        }
        let shakes = self.surface.map_or(json!(null), |t| number(t * self.frequency));
        results.insert("shakes_to_surface".into(), shakes);
        let lost = world.state().position[..self.floor].iter().filter(|x| x.z < -2.0 * THICK).count();
        results.insert("lost".into(), json!(lost));
        results
    }
}
