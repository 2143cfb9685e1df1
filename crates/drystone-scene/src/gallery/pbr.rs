//! The pebble-bed reactor [TasoraAnitescu2011, §6.3]: a silo with a conical bottom full of pebbles, a column
//! of graphite in the middle and fuel around it. Once filled, pebbles are taken out below and put in above.
//!
//! The paper's vessel holds 170,000 pebbles; with fewer, radius and height go with the cube root of their
//! number, the pebbles stay. The vessel is filled all at once: pebbles are strewn at random, without
//! overlaps, at a solid fraction just below that of the bed, in the vessel and above it, and settle. The
//! uppermost then fall by a sixth of the height only, and a filled vessel takes hundreds of steps, where one
//! pouring after the other would take thousands.

use std::f64::consts::PI;

use drystone::random::Random;
use drystone::{BodyDef, BodyId, Emitter, Flow, Settings, Shape, Sink, World};
use glam::DVec3;
use serde_json::json;

use super::params::{ParamInfo, Params, param};
use super::radial::Rings;
use super::vessel::Vessel;
use super::{Entry, Made, POURING, arrange, bulk};
use crate::probe::{Results, number, support};
use crate::{Memory, Paint, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "pbr",
    title: "a pebble-bed reactor: a column of graphite in an annulus of fuel, filled, then taken out below and put in above",
    citation: "TasoraAnitescu2011, section 6.3",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("n", "170000", "", "pebbles; 5000 take a minute or two"),
    param("radius", "", "m", "of the vessel; if not set 1.25 for 170000 pebbles, and as the cube root of n"),
    param(
        "outlet",
        "",
        "m",
        "radius of the outlet; if not set a fifth of the vessel's, but 2.5 diameters at least",
    ),
    param("core", "0.5", "", "radius of the graphite column over that of the vessel"),
    param("phase", "circulate", "", "fill, or circulate after filling"),
    param(
        "fill",
        "",
        "s",
        "time to settle before pebbles are taken out; if not set, three falls of the uppermost and 0.5 s",
    ),
    param(
        "rate",
        "",
        "1/s",
        "pebbles taken out and put in; if not set half of what would flow freely [Beverloo1961]",
    ),
    param("fraction", "0.5", "", "solid fraction of the pebbles at the start"),
    param("mu", "0.5", "", "coefficient of friction"),
    param("seed", "1", "", "of the positions"),
    param("h", "0.003", "s", "step"),
    param("T", "4", "s", "duration"),
];

/// Of a pebble, m.
const R: f64 = 0.03;
const D: f64 = 2.0 * R;
/// Of a pebble, m³.
const VOLUME: f64 = 4.0 / 3.0 * PI * R * R * R;
/// kg
const GRAPHITE: f64 = 0.197;
/// kg
const FUEL: f64 = 0.210;
/// The paper's.
const PEBBLES: f64 = 170_000.0;
const RADIUS: f64 = 1.25;
const SLOPE: f64 = PI / 6.0;
/// Solid fraction that the bed will have, roughly.
const SETTLED: f64 = 0.6;
/// Between pebbles and walls at the start, m.
const CLEARANCE: f64 = 0.01 * R;
/// Places where fuel is put in.
const CHUTES: usize = 8;
/// Mean speed below which the vessel counts as filled, m/s.
const STILL: f64 = 0.01;
/// Where profiles begin above the cone and end below the surface, m.
const MARGIN: f64 = 2.0 * D;
/// Descent after which the dispersion of pebbles is taken, m.
const DESCENT: f64 = 20.0 * D;
/// Rings of the profiles of speed and kind.
const RINGS: usize = 10;

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Fill,
    Circulate,
}

fn build(p: &Params) -> Result<Made, SceneError> {
    let n = p.whole("n", 200, 10_000_000)? as usize;
    let scale = (n as f64 / PEBBLES).cbrt();
    let radius = if p.is_set("radius") { p.number("radius", 3.0 * D, 1e3)? } else { RADIUS * scale };
    if radius < 3.0 * D {
        return Err(
            p.refuse("n", format!("the vessel would be {:.1} pebbles wide: set 'radius'", radius / R))
        );
    }
    let outlet = match p.is_set("outlet") {
        true => p.number("outlet", D, 0.9 * radius)?,
        false => (0.2 * radius).max(2.5 * D).min(0.9 * radius),
    };
    let core = p.number("core", 0.0, 1.0)? * radius;
    let phase = p.choice("phase", &[("fill", Phase::Fill), ("circulate", Phase::Circulate)])?;
    let fraction = p.number("fraction", 0.05, 0.55)?;
    let mu = p.number("mu", 0.0, 10.0)?;
    let seed = p.whole("seed", 0, u64::MAX)?;

    let mut vessel = Vessel { radius, top: 0.0, slope: SLOPE, outlet, pipe: 3.0 * D };
    if n as f64 * VOLUME / SETTLED < 1.2 * vessel.below() {
        let least = (1.2 * vessel.below() * SETTLED / VOLUME).ceil();
        return Err(
            p.refuse("radius", format!("{n} pebbles hardly fill the cone: at least {least} are needed"))
        );
    }
    let centres = strew(&vessel, n, fraction, seed).map_err(|e| p.refuse("fraction", e))?;
    let highest = centres.iter().map(|c| c.z).fold(0.0, f64::max);
    let surface = (n as f64 * VOLUME / SETTLED - vessel.below()) / vessel.section();
    let fall = (2.0 * (highest - surface).max(0.0) / 9.81).sqrt();
    let start = if p.is_set("fill") { p.number("fill", 0.0, 1e6)? } else { 3.0 * fall + 0.5 };
    // W = C ρ √g (2a - k d)^{5/2} with C = 0.58 and k = 1.4, over the mass of a pebble.
    let free = 0.58 * SETTLED / VOLUME * 9.81f64.sqrt() * (2.0 * outlet - 1.4 * D).max(0.0).powf(2.5);
    let rate = match phase {
        Phase::Fill => 0.0,
        Phase::Circulate if p.is_set("rate") => p.number("rate", 0.0, 1e6)?,
        Phase::Circulate => 0.5 * free,
    };
    vessel.top = highest.max(surface + 12.0 * D) + R;

    let pebble = |mass: f64| BodyDef::dynamic(Shape::Sphere { radius: R }, mass).friction(mu);
    let (graphite, fuel) = (pebble(GRAPHITE), pebble(FUEL));
    let of = |at: DVec3| if at.x.hypot(at.y) < core { &graphite } else { &fuel };
    let mut bodies: Vec<BodyDef> = centres.iter().map(|c| of(*c).clone().at(*c)).collect();
    bodies.extend(vessel.bodies(D, mu));
    let flow = match rate > 0.0 {
        true => chutes(&vessel, core, surface, start, rate, [graphite, fuel]),
        false => Flow::default(),
    };
    Ok(Made {
        settings: Settings { stabilisation: POURING, ..Settings::default() },
        seed,
        bodies,
        glass: Vec::new(),
        probe: Box::new(Reactor {
            vessel,
            core,
            start,
            rate,
            flow,
            filled: None,
            begun: None,
            sinking: Vec::new(),
            sunk: Vec::new(),
            deepest: 0.0,
        }),
    })
}

/// Places of `n` pebbles in the vessel, from the plug up: a box around it is strewn, and what is not inside
/// is left out.
fn strew(vessel: &Vessel, n: usize, fraction: f64, seed: u64) -> Result<Vec<DVec3>, String> {
    let below = vessel.below() * fraction / VOLUME;
    let inner = PI * (vessel.radius - R).powi(2);
    let mut height =
        ((n as f64 - 0.7 * below).max(0.0) * VOLUME / (fraction * inner) - vessel.floor()).max(4.0 * D);
    loop {
        let size = DVec3::new(2.0 * vessel.radius, 2.0 * vessel.radius, height);
        let count = (size.x * size.y * size.z * fraction / VOLUME) as usize;
        let shapes = vec![Shape::Sphere { radius: R }; count];
        let grains = arrange::strew(shapes, size, &mut Random::new(seed))?;
        let place = |g: arrange::Grain| g.pose.position + DVec3::Z * vessel.floor();
        let inside = |c: &DVec3| vessel.clearance(*c) > R + CLEARANCE;
        let mut centres: Vec<DVec3> = grains.into_iter().map(place).filter(inside).collect();
        if centres.len() >= n {
            centres.sort_by(|a, b| a.z.total_cmp(&b.z));
            centres.truncate(n);
            return Ok(centres);
        }
        height *= 1.02 * n as f64 / centres.len().max(1) as f64;
    }
}

/// One chute for graphite over the core, several for fuel around it, a little above the bed.
fn chutes(vessel: &Vessel, core: f64, surface: f64, start: f64, rate: f64, kinds: [BodyDef; 2]) -> Flow {
    let share = (core / vessel.radius).powi(2);
    let low = surface + 5.0 * D;
    let chute = |middle: DVec3, half: f64, rate: f64, kind: &BodyDef| {
        let side = DVec3::new(half, half, 0.0);
        let (min, max) = (middle - side + DVec3::Z * low, middle + side + DVec3::Z * (low + 5.0 * D));
        Emitter { start, ..Emitter::new(min, max, rate, kind.clone()) }
    };
    let mut emitters = Vec::new();
    let room = |width: f64| (width - R).max(0.0) * 0.5f64.sqrt();
    if share > 0.0 {
        emitters.push(chute(DVec3::ZERO, room(core.min(vessel.radius - R)), share * rate, &kinds[0]));
    }
    if share < 1.0 {
        let middle = 0.5 * (core + vessel.radius);
        for k in 0..CHUTES {
            let (sin, cos) = (std::f64::consts::TAU * k as f64 / CHUTES as f64).sin_cos();
            let at = middle * DVec3::new(cos, sin, 0.0);
            let each = (1.0 - share) * rate / CHUTES as f64;
            emitters.push(chute(at, room(vessel.radius - middle), each, &kinds[1]));
        }
    }
    // For each that is due to come in by a chute the lowest is taken out.
    let out = |e: &Emitter| Sink::new(DVec3::NEG_INFINITY, DVec3::INFINITY).paced(e.rate, e.start);
    let sinks = emitters.iter().map(out).collect();
    Flow { emitters, sinks }
}

/// As it was when circulation began.
#[derive(serde::Serialize, serde::Deserialize)]
struct Begun {
    time: f64,
    places: Vec<(BodyId, DVec3)>,
    mixed: f64,
}

struct Reactor {
    vessel: Vessel,
    /// Radius of the graphite column, m.
    core: f64,
    /// When circulation begins, s.
    start: f64,
    /// 1/s
    rate: f64,
    flow: Flow,
    /// s
    filled: Option<f64>,
    begun: Option<Begun>,
    /// Pebbles above the cone that have not sunk by [`DESCENT`] since circulation began, and where they were
    /// then.
    sinking: Vec<(BodyId, DVec3)>,
    /// Of those that have: by how much their distance from the axis had changed as they did, m.
    sunk: Vec<f64>,
    /// Overlap, m.
    deepest: f64,
}

fn is_fuel(world: &World, slot: usize) -> bool {
    world.model().bodies[slot].mass.mass > 0.5 * (GRAPHITE + FUEL)
}

impl Reactor {
    /// The bed above the cone and below the surface, which nine of ten pebbles do not reach.
    fn rings(&self, world: &World, count: usize) -> Rings {
        let state = world.state();
        let mut heights: Vec<f64> = world.model().dynamic().map(|i| state.position[i].z).collect();
        heights.sort_by(f64::total_cmp);
        let surface = heights.get(heights.len() * 9 / 10).copied().unwrap_or(0.0);
        Rings { radius: self.vessel.radius, count, low: MARGIN, high: surface - R }
    }

    /// Share of pebbles in the rings that are on the other kind's side of the core's radius.
    fn mixed(&self, world: &World, rings: &Rings) -> f64 {
        let (mut all, mut wrong) = (0.0, 0.0);
        for i in world.model().dynamic() {
            let at = world.state().position[i];
            if rings.of(at).is_some() {
                all += 1.0;
                wrong += f64::from((at.x.hypot(at.y) < self.core) == is_fuel(world, i));
            }
        }
        wrong / all
    }

    fn circulation(&self, world: &World, results: &mut Results) {
        let Some(begun) = &self.begun else { return };
        let rings = self.rings(world, RINGS);
        let time = world.state().time - begun.time;
        // Those that were in the rings and still are in the vessel.
        let ways: Vec<(DVec3, DVec3)> = begun
            .places
            .iter()
            .filter(|(id, at)| rings.of(*at).is_some() && world.model().contains(*id))
            .map(|(id, at)| (*at, world.state().position[id.slot as usize] - *at))
            .collect();
        let count = ways.len() as f64;
        let descent = -ways.iter().map(|(_, way)| way.z).sum::<f64>() / count;
        let radial = |(at, way): &(DVec3, DVec3)| (*at + *way).truncate().length() - at.truncate().length();
        let spread = (ways.iter().map(|w| radial(w).powi(2)).sum::<f64>() / count).sqrt();
        let out: u64 = world.sunk().iter().sum();
        results.insert("rate_per_s".into(), number(self.rate));
        results.insert("taken_out".into(), json!(out));
        results.insert("put_in".into(), json!(world.emitted().iter().sum::<u64>()));
        results.insert("descent_over_d".into(), number(descent / D));
        results.insert("radial_spread_over_d".into(), number(spread / D));
        results.insert("mixed_share_first".into(), number(begun.mixed));
        // Of those that sank by twenty diameters, each as it did.
        let all = self.sunk.len() as f64;
        let drift = self.sunk.iter().sum::<f64>() / all;
        let scatter = (self.sunk.iter().map(|x| (x - drift).powi(2)).sum::<f64>() / all).sqrt();
        results.insert("sunk_by_20_d".into(), json!(self.sunk.len()));
        results.insert("radial_drift_at_20_d_over_d".into(), number(drift / D));
        results.insert("radial_scatter_at_20_d_over_d".into(), number(scatter / D));
        if time > 0.0 {
            results.insert("mean_downward_speed_m_s".into(), number(descent / time));
            let speeds = rings.means(ways.iter().map(|(at, way)| (*at, -way.z / time)));
            results.insert("downward_speed_by_radius_m_s".into(), list(&speeds));
        }
    }
}

fn list(values: &[f64]) -> serde_json::Value {
    values.iter().map(|x| number(*x)).collect()
}

impl Probe for Reactor {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("filled", &mut self.filled);
        memory.keep("begun", &mut self.begun);
        memory.keep("sinking", &mut self.sinking);
        memory.keep("sunk", &mut self.sunk);
        memory.keep("deepest", &mut self.deepest);
    }

    fn flow(&self) -> Flow {
        self.flow.clone()
    }

    fn observe(&mut self, world: &World) {
        let state = world.state();
        self.deepest = world.contacts().iter().fold(self.deepest, |d, c| d.max(-c.gap));
        if self.filled.is_none() {
            let (count, sum) = world
                .model()
                .dynamic()
                .fold((0.0, 0.0), |(c, s), i| (c + 1.0, s + state.velocity[i].length()));
            // Not before they have begun to fall.
            self.filled = (state.time > 0.1 && sum < STILL * count).then_some(state.time);
        }
        if self.begun.is_none() && self.rate > 0.0 && state.time >= self.start - 1e-9 {
            let place = |i: usize| world.model().id(i as u32).map(|id| (id, state.position[i]));
            let places: Vec<(BodyId, DVec3)> = world.model().dynamic().filter_map(place).collect();
            self.sinking.clone_from(&places);
            let mixed = self.mixed(world, &self.rings(world, RINGS));
            self.begun = Some(Begun { time: state.time, places, mixed });
        }
        let sunk = &mut self.sunk;
        self.sinking.retain(|(id, from)| {
            if !world.model().contains(*id) {
                return false;
            }
            let at = state.position[id.slot as usize];
            // In the cone all go to the axis.
            if at.z < MARGIN {
                return false;
            }
            let deep = from.z - at.z >= DESCENT;
            if deep {
                sunk.push(at.truncate().length() - from.truncate().length());
            }
            !deep
        });
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        support(world, &mut results);
        let (state, model) = (world.state(), world.model());
        let centres: Vec<DVec3> = model.dynamic().map(|i| state.position[i]).collect();
        let fine = self.rings(world, (self.vessel.radius / (0.25 * D)).round() as usize);
        let fractions = fine.solid_fractions(&centres, R);
        let core = fine.inner_fraction(&fractions, self.vessel.radius - MARGIN);
        results.insert("packing_fraction".into(), core.map_or(json!(null), number));
        results.insert("packing_radius_m".into(), list(&fine.middles()));
        results.insert("packing_fraction_by_radius".into(), list(&fractions));
        let inside = |x: DVec3| fine.of(x).is_some() && x.truncate().length() < self.vessel.radius - MARGIN;
        let contacts = bulk::mean_contacts(world, inside);
        results.insert("mean_contacts".into(), contacts.map_or(json!(null), |(mean, _)| number(mean)));
        let rings = self.rings(world, RINGS);
        results.insert("radius_m".into(), list(&rings.middles()));
        let fuel = |i: usize| f64::from(is_fuel(world, i));
        let graphite = rings.means(model.dynamic().map(|i| (state.position[i], 1.0 - fuel(i))));
        results.insert("graphite_share_by_radius".into(), list(&graphite));
        results.insert("mixed_share".into(), number(self.mixed(world, &rings)));
        results.insert("vessel_radius_m".into(), number(self.vessel.radius));
        results.insert("bed_height_m".into(), number(fine.high + R));
        results.insert("pebbles".into(), json!(centres.len()));
        let outside = centres.iter().filter(|c| !(self.vessel.clearance(**c) > 0.0)).count();
        results.insert("outside".into(), json!(outside));
        results.insert("filled_s".into(), self.filled.map_or(json!(null), number));
        results.insert("max_overlap_over_r".into(), number(self.deepest / R));
        let last = world.contacts().iter().fold(0.0f64, |d, c| d.max(-c.gap));
        results.insert("last_overlap_over_r".into(), number(last / R));
        self.circulation(world, &mut results);
        results
    }

    fn paint(&self, world: &World) -> Option<Paint> {
        let kind = |i: usize| {
            if world.model().bodies[i].inv_mass > 0.0 { f64::from(is_fuel(world, i)) } else { f64::NAN }
        };
        let values = (0..world.model().bodies.len()).map(kind).collect();
        Some(Paint { label: "0 graphite, 1 fuel".into(), unit: String::new(), values })
    }
}
