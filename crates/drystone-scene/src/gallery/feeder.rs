//! A vibratory feeder: a part on a level track that swings along a line, ψ over the track. While the track
//! pushes up the part is heavy and sticks; while it falls away the part is light and slides, so that it
//! goes forward. Where the track falls faster than g, it hops.
//!
//! ```text
//!     track     x = a cos ψ sin ωt,   z = a sin ψ sin ωt
//!     on it     N = m (g + z̈), friction up to μ N
//!     off it    flight, and a landing without rebound, whose impulse J brings friction up to μ J
//! ```
//!
//! The mean speed has no closed form; beside it is that of a point mass, integrated with 20,000 steps in
//! each period.

use std::f64::consts::TAU;

use drystone::{BodyDef, Function, Guide, Settings, Shape, World};
use drystone_solve::FrictionLaw;
use glam::DVec3;

use super::params::{ParamInfo, Params, param};
use super::{Entry, Made};
use crate::probe::{Results, number};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "feeder",
    title: "a part goes forward on a vibrating track",
    citation: "TasoraAnitescu2011, section 1; Boothroyd2005, chapter 3",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("amplitude", "0.0005", "m", "of the track, along its line"),
    param("frequency", "25", "Hz", "of the track"),
    param("angle_deg", "30", "deg", "of its line over the track"),
    param("mu", "0.4", "", "coefficient of friction"),
    param("h", "0.0001", "s", "step"),
    param("T", "2", "s", "duration"),
];

/// Of the part: half of its length, width and height, m.
const PART: DVec3 = DVec3::new(0.01, 0.01, 0.004);
/// Periods before the mean is taken, and steps of the reference in each.
const SETTLES: f64 = 5.0;
const FINE: usize = 20_000;

fn build(p: &Params) -> Result<Made, SceneError> {
    let amplitude = p.positive("amplitude", 1.0)?;
    let frequency = p.positive("frequency", 1e4)?;
    let angle = p.number("angle_deg", 0.0, 90.0)?.to_radians();
    let mu = p.number("mu", 0.0, 10.0)?;
    let line = DVec3::new(angle.cos(), 0.0, angle.sin());
    let half = DVec3::new(0.5, 0.03, 0.01);
    let swing = Function::Sine { mean: 0.0, amplitude, frequency, phase: 0.0 };
    let track = BodyDef::kinematic(Shape::Box { half }).guided(Guide::along(line, swing)).friction(mu);
    let part = BodyDef::solid(Shape::Box { half: PART }, 7800.0).planar(DVec3::Y).friction(mu);
    // It starts with the track.
    let start = TAU * frequency * amplitude * line;
    let settings = Settings { tolerance: 1e-8, model: FrictionLaw::Coulomb, ..Settings::default() };
    let g = settings.gravity.length();
    let wave = Wave { amplitude, omega: TAU * frequency, line: [line.x, line.z], mu, g };
    Ok(Made {
        settings,
        seed: 1,
        bodies: vec![
            part.at(DVec3::new(-0.4, 0.0, PART.z)).moving(start, DVec3::ZERO).named("part"),
            track.at(DVec3::NEG_Z * half.z).named("track"),
        ],
        glass: Vec::new(),
        probe: Box::new(Feeder { wave, first: None, last: [0.0; 2], highest: 0.0 }),
    })
}

/// The motion of the track, and what a point mass does on it.
struct Wave {
    amplitude: f64,
    omega: f64,
    line: [f64; 2],
    mu: f64,
    g: f64,
}

impl Wave {
    /// Mean speed of a point mass over `periods`, after as many as `SETTLES`, m/s.
    fn point_mass(&self, periods: f64) -> f64 {
        let Wave { amplitude: a, omega, line: [c, s], mu, g } = *self;
        let dt = TAU / omega / FINE as f64;
        let (mut x, mut v, mut above, mut climb) = (0.0, omega * a * c, 0.0, 0.0);
        let begin = (SETTLES * FINE as f64) as usize;
        let end = begin + (periods * FINE as f64) as usize;
        let (mut first, mut flies) = (0.0, false);
        for k in 0..end {
            if k == begin {
                first = x;
            }
            let phase = omega * (k as f64 + 0.5) * dt;
            let (swing, push) =
                (omega * a * (omega * (k + 1) as f64 * dt).cos(), -omega * omega * a * phase.sin());
            if flies {
                // Over the track: its own height and speed relative to it.
                climb -= (g + push * s) * dt;
                above += climb * dt;
                if above <= 0.0 {
                    let hit = -climb;
                    (above, climb, flies) = (0.0, 0.0, false);
                    let slip = v - swing * c;
                    v -= slip.signum() * slip.abs().min(mu * hit);
                }
            } else if g + push * s <= 0.0 {
                flies = true;
            } else {
                let most = mu * (g + push * s) * dt;
                v += (swing * c - v).clamp(-most, most);
            }
            x += v * dt;
        }
        (x - first) / ((end - begin) as f64 * dt)
    }
}

struct Feeder {
    wave: Wave,
    /// Time and place from which the mean is taken, and the last ones of a full period.
    first: Option<[f64; 2]>,
    last: [f64; 2],
    /// Largest gap, m.
    highest: f64,
}

impl Probe for Feeder {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("first", &mut self.first);
        memory.keep("last", &mut self.last);
        memory.keep("highest", &mut self.highest);
    }

    fn observe(&mut self, world: &World) {
        let (state, h) = (world.state(), world.settings().h);
        let track = state.position[1].z + 0.01;
        self.highest = self.highest.max(state.position[0].z - PART.z - track);
        let periods = state.time * self.wave.omega / TAU;
        let near = (periods - periods.round()).abs() <= 0.5 * h * self.wave.omega / TAU;
        if near && periods > SETTLES - 0.5 {
            let now = [state.time, state.position[0].x];
            self.first.get_or_insert(now);
            self.last = now;
        }
    }

    fn results(&mut self, _: &World) -> Results {
        let mut results = Results::new();
        if let Some([t, x]) = self.first.filter(|first| self.last[0] > first[0]) {
            let [until, end] = self.last;
            let periods = ((until - t) * self.wave.omega / TAU).round();
            results.insert("speed_m_s".into(), number((end - x) / (until - t)));
            results.insert("point_mass_speed_m_s".into(), number(self.wave.point_mass(periods)));
        }
        let peak = self.wave.amplitude * self.wave.omega * self.wave.omega;
        results.insert("normal_acceleration_over_g".into(), number(peak * self.wave.line[1] / self.wave.g));
        results.insert(
            "speed_over_track_speed".into(),
            match results.get("speed_m_s").and_then(|v| v.as_f64()) {
                Some(v) => number(v / (self.wave.amplitude * self.wave.omega * self.wave.line[0])),
                None => serde_json::Value::Null,
            },
        );
        results.insert("largest_gap_m".into(), number(self.highest));
        results
    }
}
