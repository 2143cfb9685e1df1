//! What a scene file measures by `[[probe]]`: meters with names, over whatever the scene itself measures.
//!
//! A meter keeps totals (mass that has passed, impulses) from step to step. Its values are read now and then:
//! by itself for the report, and by whoever asks for rows of a table. Each reader has a mark of its own, from
//! which rates and mean forces count.

mod force;
mod passing;
mod region;
mod slope;

use drystone::{BodyId, World};
use drystone_record::recording::Every;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Memory;
use crate::measurement::Layer;
use crate::probe::{Results, number};

pub(crate) use force::Force;
pub(crate) use passing::Passing;
pub(crate) use region::Region;
pub(crate) use slope::{Shape as SlopeShape, Slope};

/// What a meter measures.
pub(crate) enum Meter {
    /// Mass through a plane.
    Passing(Passing),
    /// Contact force and torque.
    Force(Force),
    /// How full a box is.
    Region(Region),
    /// Angle of the surface of a heap.
    Slope(Slope),
    /// Motion of a body.
    Body(BodyId),
    /// Of all bodies.
    Energy,
    /// What emitters have added; one of them, or all.
    Emitted(Option<usize>),
    /// What sinks have taken; one of them, or all.
    Sunk(Option<usize>),
}

/// A moment from which rates count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Mark {
    time: f64,
    totals: Vec<f64>,
}

/// Least, greatest and mean of what was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Spread {
    count: u64,
    sum: f64,
    least: f64,
    greatest: f64,
}

impl Spread {
    fn add(&mut self, x: f64) {
        if !x.is_finite() {
            return;
        }
        let first = self.count == 0;
        self.least = if first { x } else { self.least.min(x) };
        self.greatest = if first { x } else { self.greatest.max(x) };
        self.sum += x;
        self.count += 1;
    }
}

impl Meter {
    /// Names of its values, with units.
    fn columns(&self) -> &'static [&'static str] {
        match self {
            Meter::Passing(_) => &["mass_kg", "bodies", "mass_flow_kg_s"],
            Meter::Force(_) => &["fx_n", "fy_n", "fz_n", "tx_nm", "ty_nm", "tz_nm"],
            Meter::Region(_) => &["solid_fraction", "bodies", "number_fraction", "mass_kg"],
            Meter::Slope(_) => &["angle_deg", "height_m"],
            Meter::Body(_) => &[
                "x_m", "y_m", "z_m", "qw", "qx", "qy", "qz", "vx_m_s", "vy_m_s", "vz_m_s", "wx_rad_s",
                "wy_rad_s", "wz_rad_s",
            ],
            Meter::Energy => &["kinetic_j", "potential_j", "total_j"],
            Meter::Emitted(_) | Meter::Sunk(_) => &["bodies", "mass_kg", "mass_flow_kg_s"],
        }
    }

    /// What only grows, and rates are made of.
    fn totals(&self, world: &World) -> Vec<f64> {
        let sum = |which: &Option<usize>, counts: &[u64], masses: &[f64]| match which {
            Some(k) => vec![counts[*k] as f64, masses[*k]],
            None => vec![counts.iter().sum::<u64>() as f64, masses.iter().sum()],
        };
        match self {
            Meter::Passing(p) => vec![p.mass, p.bodies as f64],
            Meter::Force(f) => f.impulse.iter().chain(&f.angular).copied().collect(),
            Meter::Emitted(k) => sum(k, world.emitted(), world.emitted_mass()),
            Meter::Sunk(k) => sum(k, world.sunk(), world.sunk_mass()),
            _ => Vec::new(),
        }
    }

    /// The values now, in the order of the columns; NaN for what is not known. Rates are means since the
    /// mark.
    fn read(&self, world: &World, mark: &mut Mark) -> Vec<f64> {
        let (totals, time) = (self.totals(world), world.state().time);
        let passed = time - mark.time;
        let rate = |k: usize| {
            let before = mark.totals.get(k).copied().unwrap_or(0.0);
            if passed > 0.0 { (totals[k] - before) / passed } else { f64::NAN }
        };
        let values = match self {
            Meter::Passing(_) => vec![totals[0], totals[1], rate(0)],
            Meter::Force(_) => (0..6).map(rate).collect(),
            Meter::Region(r) => r.read(world).to_vec(),
            Meter::Slope(s) => s.read(world).to_vec(),
            Meter::Body(id) => motion(world, *id),
            Meter::Energy => {
                let e = world.energy();
                vec![e.kinetic, e.potential, e.total()]
            }
            Meter::Emitted(_) | Meter::Sunk(_) => vec![totals[0], totals[1], rate(1)],
        };
        *mark = Mark { time, totals };
        values
    }

    fn observe(&mut self, world: &World) {
        match self {
            Meter::Passing(p) => p.observe(world),
            Meter::Force(f) => f.observe(world),
            _ => {}
        }
    }
}

fn motion(world: &World, id: BodyId) -> Vec<f64> {
    let (Ok(x), Ok(q), Ok(v), Ok(w)) =
        (world.position(id), world.rotation(id), world.velocity(id), world.angular_velocity(id))
    else {
        return vec![f64::NAN; 13]; // A sink has taken it.
    };
    vec![x.x, x.y, x.z, q.w, q.x, q.y, q.z, v.x, v.y, v.z, w.x, w.y, w.z]
}

/// A meter with a name.
pub(crate) struct Named {
    pub name: String,
    pub meter: Meter,
    /// When it is read for the report.
    pub every: Every,
    /// From when on, s.
    pub start: f64,
    mark: Mark,
    times: Vec<f64>,
    /// One list for each column.
    series: Vec<Vec<f64>>,
    spreads: Vec<Spread>,
    /// Of whoever asks for rows.
    asked: Mark,
}

impl Named {
    pub fn new(name: &str, meter: Meter, every: Every, start: f64) -> Self {
        let n = meter.columns().len();
        let mark = Mark::default();
        let (series, spreads) = (vec![Vec::new(); n], vec![Spread::default(); n]);
        Self {
            name: name.into(),
            meter,
            every,
            start,
            mark: mark.clone(),
            times: Vec::new(),
            series,
            spreads,
            asked: mark,
        }
    }

    fn take(&mut self, world: &World) {
        let (s, h) = (world.state(), world.settings().h);
        if s.time < self.start - 0.5 * h {
            // Rates of the first reading count from here.
            self.mark = Mark { time: s.time, totals: self.meter.totals(world) };
            return;
        }
        if !self.every.is_due(s.step, s.time, h) {
            return;
        }
        self.times.push(s.time);
        for (k, x) in self.meter.read(world, &mut self.mark).into_iter().enumerate() {
            self.series[k].push(x);
            self.spreads[k].add(x);
        }
    }

    fn memory(&mut self, memory: &mut Memory) {
        match &mut self.meter {
            Meter::Passing(p) => p.memory(memory),
            Meter::Force(f) => f.memory(memory),
            _ => {}
        }
        memory.keep("mark", &mut self.mark);
        memory.keep("times", &mut self.times);
        memory.keep("series", &mut self.series);
        memory.keep("spreads", &mut self.spreads);
        memory.keep("asked", &mut self.asked);
    }

    /// Each value at the end, what it was over time, and all that was read.
    fn results(&mut self, world: &World) -> Value {
        let mut result = serde_json::Map::new();
        // Rates of the end are those of the last reading: the time since then may be no time.
        let last = self.meter.read(world, &mut self.mark.clone());
        let list = |x: &[f64]| Value::Array(x.iter().map(|x| number(*x)).collect());
        let mut series = serde_json::Map::new();
        series.insert("time_s".into(), list(&self.times));
        for (k, column) in self.meter.columns().iter().enumerate() {
            let now = if last[k].is_finite() { Some(last[k]) } else { self.series[k].last().copied() };
            result.insert((*column).into(), number(now.unwrap_or(f64::NAN)));
            series.insert((*column).into(), list(&self.series[k]));
        }
        let of = |f: &dyn Fn(&Spread) -> f64| {
            let pair = |(column, s): (&&str, &Spread)| {
                ((*column).to_string(), if s.count > 0 { number(f(s)) } else { Value::Null })
            };
            Value::Object(self.meter.columns().iter().zip(&self.spreads).map(pair).collect())
        };
        result.insert("mean".into(), of(&|s| s.sum / s.count as f64));
        result.insert("least".into(), of(&|s| s.least));
        result.insert("greatest".into(), of(&|s| s.greatest));
        result.insert("series".into(), Value::Object(series));
        json!(result)
    }
}

/// The meters of a scene file.
pub(crate) struct Meters {
    pub meters: Vec<Named>,
}

impl Layer for Meters {
    fn begin(&mut self, world: &World) {
        for m in &mut self.meters {
            m.meter.observe(world);
            m.take(world);
            m.meter.read(world, &mut m.asked);
        }
    }

    fn observe(&mut self, world: &World) {
        for m in &mut self.meters {
            m.meter.observe(world);
            m.take(world);
        }
    }

    fn memory(&mut self, memory: &mut Memory) {
        self.meters.iter_mut().for_each(|m| m.memory(memory));
    }

    fn columns(&self) -> Vec<String> {
        let own = |m: &Named| m.meter.columns().iter().map(|c| format!("{}.{c}", m.name)).collect::<Vec<_>>();
        self.meters.iter().flat_map(own).collect()
    }

    fn row(&mut self, world: &World) -> Vec<f64> {
        self.meters.iter_mut().flat_map(|m| m.meter.read(world, &mut m.asked)).collect()
    }

    fn results(&mut self, world: &World, results: &mut Results) {
        for m in &mut self.meters {
            results.insert(m.name.clone(), m.results(world));
        }
    }

    fn stop(&self) -> Option<String> {
        None
    }
}

/// Which bodies count: all that are dynamic, or those whose name is this or begins with it and an index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Which(pub Option<String>);

impl Which {
    pub fn has(&self, world: &World, slot: usize) -> bool {
        let Some(wanted) = &self.0 else { return true };
        let name = world.model().bodies[slot].name.as_deref();
        name.is_some_and(|name| is_called(name, wanted))
    }
}

/// Whether a body's name is the one that is meant, or that of a copy of it: `brick[0,0,1]` of `brick`.
pub(crate) fn is_called(name: &str, wanted: &str) -> bool {
    name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
}
