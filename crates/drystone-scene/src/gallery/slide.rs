//! A body set sliding on a level floor, against the closed forms: a block loses μ g and stops after v₀²/(2 μ
//! g); a ball rolls without slip from t = 2 v₀/(7 μ g) on, at (5/7) v₀.

use drystone::{BodyDef, World};
use glam::DVec3;
use serde_json::json;

use super::params::{ParamInfo, Params, param};
use super::track::Track;
use super::{Entry, Made, exact, ground, incline};
use crate::probe::{Results, number, support};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "slide",
    title: "a block or a ball sliding on a floor, beside its closed form",
    citation: "TasoraAnitescu2011, section 2.7",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("v0", "3", "m/s", "speed at the start"),
    param("mu", "0.3", "", "coefficient of friction"),
    param("shape", "box", "", "box or sphere; 1 m across"),
    param("h", "0.001", "s", "step"),
    param("T", "0.5", "s", "duration"),
];

/// A ball whose lowest point is slower than this share of v₀ rolls.
const ROLLS: f64 = 1e-3;

fn build(p: &Params) -> Result<Made, SceneError> {
    let v0 = p.positive("v0", 1e4)?;
    let mu = p.number("mu", 0.0, 10.0)?;
    let ball = p.choice("shape", &[("box", false), ("sphere", true)])?;
    let settings = exact();
    let (shape, height) = incline::body(ball);
    // Set down where the relaxed model lets it slide: from the floor itself it would take off.
    let start = DVec3::Z * (height + mu * p.positive("h", 10.0)? * v0);
    let g = settings.gravity.length();
    let body = BodyDef::dynamic(shape, 1.0).at(start).moving(DVec3::X * v0, DVec3::ZERO).friction(mu);
    Ok(Made {
        settings,
        seed: 1,
        bodies: vec![body, ground(mu)],
        glass: Vec::new(),
        probe: Box::new(Slide {
            track: Track::new(DVec3::X, DVec3::Z, height, start),
            v0,
            mu,
            g,
            ball,
            rolling_from: None,
        }),
    })
}

struct Slide {
    track: Track,
    v0: f64,
    mu: f64,
    g: f64,
    ball: bool,
    rolling_from: Option<f64>,
}

impl Slide {
    /// Speed and distance after `t` seconds.
    fn closed_form(&self, t: f64) -> (f64, f64) {
        let a = self.mu * self.g;
        let until = if self.ball { 2.0 * self.v0 / (7.0 * a) } else { self.v0 / a };
        let s = t.min(until);
        let v = self.v0 - if s == 0.0 { 0.0 } else { a * s };
        let travelled = 0.5 * (self.v0 + v) * s;
        (v, travelled + if self.ball { v * (t - s) } else { 0.0 })
    }
}

impl Probe for Slide {
    fn memory(&mut self, memory: &mut Memory) {
        self.track.memory(memory);
        memory.keep("rolling_from", &mut self.rolling_from);
    }

    fn observe(&mut self, world: &World) {
        self.track.observe(world);
        if self.track.slip(world).abs() > ROLLS * self.v0 {
            self.rolling_from = None;
        } else if self.rolling_from.is_none() {
            self.rolling_from = Some(world.state().time);
        }
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        self.track.report(world, self.mu, &mut results);
        support(world, &mut results);
        let (speed, distance) = self.closed_form(world.state().time);
        results.insert("expected_speed_m_s".into(), number(speed));
        results.insert("expected_distance_m".into(), number(distance));
        if !self.ball {
            self.track.report_acceleration(if speed > 0.0 { -self.mu * self.g } else { 0.0 }, &mut results);
        } else {
            let expected = 2.0 * self.v0 / (7.0 * self.mu * self.g);
            results.insert("rolling_from_s".into(), self.rolling_from.map_or(json!(null), number));
            results.insert("expected_rolling_from_s".into(), number(expected));
        }
        results
    }
}
