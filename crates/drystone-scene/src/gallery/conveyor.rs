//! A belt conveyor: boxes fall on a running belt, are carried along and dropped at its end. Each is dragged
//! with μ g until it runs with the belt.

use drystone::{BodyDef, Emitter, Flow, Settings, Shape, Sink, World};
use glam::DVec3;
use serde_json::json;

use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, ground};
use crate::probe::{Results, number};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "conveyor",
    title: "boxes on a belt conveyor, from an emitter to a sink",
    citation: "TasoraAnitescu2011, section 1",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("speed", "1", "m/s", "of the belt"),
    param("rate", "1.5", "1/s", "boxes"),
    param("mu", "0.4", "", "coefficient of friction"),
    param("seed", "1", "", "of the places on which they fall"),
    param("h", "0.005", "s", "step"),
    param("T", "12", "s", "duration"),
];

/// Half of the belt's length, width and thickness, m.
const BELT: DVec3 = DVec3::new(3.0, 0.4, 0.05);
/// Height of the belt's surface, m.
const HEIGHT: f64 = 1.0;
const BOX: DVec3 = DVec3::new(0.15, 0.1, 0.1);

fn build(p: &Params) -> Result<Made, SceneError> {
    let speed = p.number("speed", -10.0, 10.0)?;
    let rate = p.number("rate", 0.0, 100.0)?;
    let mu = p.number("mu", 0.0, 10.0)?;
    let seed = p.whole("seed", 0, u64::MAX)?;
    let belt = BodyDef::fixed(Shape::Box { half: BELT })
        .at(DVec3::Z * (HEIGHT - BELT.z))
        .friction(mu)
        .surface_velocity(DVec3::X * speed)
        .named("belt");
    let guard = |y: f64| {
        let half = DVec3::new(BELT.x, 0.02, 0.1);
        BodyDef::fixed(Shape::Box { half }).at(DVec3::new(0.0, y, HEIGHT)).named("guard")
    };
    // One stands there from the start, so that there is something to see at once.
    let first = BodyDef::solid(Shape::Box { half: BOX }, 400.0).friction(mu);
    let start = -0.8 * BELT.x * speed.signum();
    let bodies = vec![
        first.clone().at(DVec3::new(start, 0.0, HEIGHT + BOX.z)).named("box"),
        belt,
        guard(-BELT.y - 0.02),
        guard(BELT.y + 0.02),
        ground(mu),
    ];
    let probe = Conveyor { speed, rate, start, first, late: None, reached: None, carried: (0.0, 0) };
    Ok(Made {
        settings: Settings { tolerance: 1e-5, ..Settings::default() },
        seed,
        bodies,
        glass: Vec::new(),
        probe: Box::new(probe),
    })
}

struct Conveyor {
    speed: f64,
    rate: f64,
    /// Where boxes fall on the belt, m along it.
    start: f64,
    first: BodyDef,
    /// Time at which the first box had nine tenths of the belt's speed, s.
    late: Option<f64>,
    /// Time at which it ran with the belt, s.
    reached: Option<f64>,
    /// Sum and number of speeds along the belt of boxes in its second half.
    carried: (f64, usize),
}

impl Probe for Conveyor {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("late", &mut self.late);
        memory.keep("reached", &mut self.reached);
        memory.keep("carried", &mut self.carried);
    }

    fn flow(&self) -> Flow {
        let middle = DVec3::new(self.start, 0.0, HEIGHT + 0.35);
        let spread = DVec3::new(0.1, 0.15, 0.05);
        let mut emitter = Emitter::new(middle - spread, middle + spread, self.rate, self.first.clone());
        emitter.start = 1.0;
        let far = f64::INFINITY;
        let sink = Sink::new(DVec3::splat(-far), DVec3::new(far, far, 0.5 * HEIGHT));
        Flow { emitters: vec![emitter], sinks: vec![sink] }
    }

    fn observe(&mut self, world: &World) {
        let (state, forward) = (world.state(), self.speed.signum());
        let along = |i: usize| state.velocity[i].x * forward;
        if world.sunk()[0] == 0 {
            let v = along(0);
            if v > 0.9 * self.speed.abs() {
                self.late.get_or_insert(state.time);
            }
            if v > 0.999 * self.speed.abs() {
                self.reached.get_or_insert(state.time);
            }
        }
        for i in world.model().dynamic() {
            let x = state.position[i];
            if x.x * forward > 0.0 && x.x * forward < BELT.x - 0.3 && x.z > HEIGHT {
                self.carried.0 += along(i);
                self.carried.1 += 1;
            }
        }
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        let say = |x: Option<f64>| x.map_or(json!(null), number);
        results.insert("emitted".into(), json!(world.emitted()[0]));
        results.insert("delivered".into(), json!(world.sunk()[0]));
        results.insert("on_belt".into(), json!(world.model().dynamic().count()));
        results.insert("runs_with_belt_at_s".into(), say(self.reached));
        results.insert("nine_tenths_at_s".into(), say(self.late));
        let mean = (self.carried.1 > 0).then(|| self.carried.0 / self.carried.1 as f64);
        results.insert("mean_speed_m_s".into(), say(mean));
        results
    }
}
