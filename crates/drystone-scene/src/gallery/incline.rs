//! A body on a tilted plane, against the closed forms: a block sticks iff μ ≥ tan θ and otherwise slides with
//! g (sin θ - μ cos θ); a ball rolls iff μ ≥ (2/7) tan θ, with (5/7) g sin θ, and otherwise slides like the
//! block.

use drystone::{BodyDef, Shape, World};
use glam::{DQuat, DVec3};
use serde_json::json;

use super::params::{ParamInfo, Params, param};
use super::track::Track;
use super::{Entry, Made, exact, ground};
use crate::probe::Results;
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "incline",
    title: "a block or a ball on a tilted plane, beside its closed form",
    citation: "TasoraAnitescu2011, section 2.7",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("angle_deg", "20", "deg", "tilt of the plane"),
    param("mu", "0.3", "", "coefficient of friction"),
    param("shape", "box", "", "box or sphere; 1 m across"),
    param("h", "0.001", "s", "step"),
    param("T", "1", "s", "duration"),
];

/// A block slower than this at the end has stuck, m/s.
const AT_REST: f64 = 1e-3;

fn build(p: &Params) -> Result<Made, SceneError> {
    let angle = p.number("angle_deg", 0.0, 75.0)?.to_radians();
    let mu = p.number("mu", 0.0, 10.0)?;
    let ball = p.choice("shape", &[("box", false), ("sphere", true)])?;
    let settings = exact();
    let (shape, height) = body(ball);
    let tilt = DQuat::from_rotation_y(angle);
    let (along, normal) = (tilt * DVec3::X, tilt * DVec3::Z);
    let start = height * normal;
    let g = settings.gravity.length();
    let expected = closed_form(g, angle, mu, ball);
    let bodies =
        vec![BodyDef::dynamic(shape, 1.0).at(start).turned(tilt).friction(mu), ground(mu).turned(tilt)];
    Ok(Made {
        settings,
        seed: 1,
        bodies,
        glass: Vec::new(),
        probe: Box::new(Incline { track: Track::new(along, normal, height, start), mu, expected }),
    })
}

/// A ball of 1 m, or a block so flat that it slides before it topples; and how high its centre lies.
pub(super) fn body(ball: bool) -> (Shape, f64) {
    if ball {
        (Shape::Sphere { radius: 0.5 }, 0.5)
    } else {
        (Shape::Box { half: DVec3::new(0.5, 0.5, 0.1) }, 0.1)
    }
}

/// Acceleration from rest, m/s².
fn closed_form(g: f64, angle: f64, mu: f64, ball: bool) -> f64 {
    let (sin, cos) = angle.sin_cos();
    if ball && mu >= 2.0 / 7.0 * angle.tan() {
        return 5.0 / 7.0 * g * sin;
    }
    (g * (sin - mu * cos)).max(0.0)
}

struct Incline {
    track: Track,
    mu: f64,
    expected: f64,
}

impl Probe for Incline {
    fn memory(&mut self, memory: &mut Memory) {
        self.track.memory(memory);
    }

    fn observe(&mut self, world: &World) {
        self.track.observe(world);
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        self.track.report(world, self.mu, &mut results);
        results.insert("sticks".into(), json!(self.track.speed(world).abs() < AT_REST));
        self.track.report_acceleration(self.expected, &mut results);
        results
    }
}
