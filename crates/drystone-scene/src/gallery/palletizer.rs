//! A palletizing device [TasoraAnitescu2011, fig. 1]: rollers bring boxes against a stop; when a row is
//! complete a pusher slides it onto a pallet, and when a layer is complete the pallet goes down by the height
//! of a box.
//!
//! The paper shows the device but gives no sizes. Here boxes are 0.4 m x 0.26 m x 0.25 m. The rollers turn in
//! their places; they, the pusher and the pallet are kinematic and follow a timetable, so whatever goes wrong
//! with the boxes shows.

use std::sync::Arc;

use drystone::{BodyDef, Settings, Shape, World};
use glam::{DQuat, DVec3};
use serde_json::json;

use super::motion::{bring, ease, spin};
use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, ground};
use crate::probe::{Results, number, support};
use crate::{Drive, Memory, Paint, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "palletizer",
    title: "rollers bring boxes, a pusher slides them onto a pallet row by row, the pallet goes down layer by layer",
    citation: "TasoraAnitescu2011, figure 1",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("columns", "3", "", "boxes in a row"),
    param("rows", "3", "", "rows in a layer"),
    param("layers", "3", "", "layers"),
    param("mu", "0.4", "", "coefficient of friction"),
    param("h", "0.005", "s", "step"),
    param("T", "47", "s", "duration; a row takes 5 s, the last one 2 s more"),
];

/// Extents of a box (along the rollers' way, across it, up), m, and its mass, kg.
const BOX: DVec3 = DVec3::new(0.4, 0.26, 0.25);
const MASS: f64 = 12.0;
/// Boxes arrive this far apart, m.
const PITCH: f64 = 0.42;

/// Rollers: radius, half of the straight part, and distance from one to the next, m. Their tops are at z = 0.
const ROLLER: f64 = 0.03;
const ROLLER_HALF: f64 = 0.15;
const SPACING: f64 = 0.1;
/// From the first roller's place to where a row ends against the stop there is so much more than a row, m.
const SLACK: f64 = 0.03;

/// A plate fills the gap between rollers and pallet. Each surface lies lower than the one before, so that
/// nothing catches.
const PLATE: [f64; 2] = [0.185, 0.235];
const STEP_DOWN: f64 = 0.002;
/// The pallet begins here, and the last row of a layer a little further, m.
const PALLET: f64 = 0.24;
const FIRST_ROW: f64 = 0.25;
/// Between rows on the pallet, m.
const JOINT: f64 = 0.002;
/// Half the thickness of pusher and pallet, m.
const THIN: f64 = 0.02;
const DECK: f64 = 0.07;

/// The timetable of a row: all times from when its boxes start to move, s.
const PERIOD: f64 = 5.0;
const FEED: f64 = 2.0;
const ROW_STOPS: f64 = 2.8;
/// Speed of the rollers that press a row against the stop, m/s.
const ROW_SPEED: f64 = 1.0;
const PUSH: [f64; 2] = [3.0, 1.8];
const LIFT: [f64; 2] = [5.0, 0.4];
const BACK: [f64; 2] = [5.4, 0.8];
const LOWER: [f64; 2] = [6.2, 0.4];
const SINK: [f64; 2] = [5.2, 1.0];

/// How far a box may be from its place, over its smallest extent. Pushed boxes end 21 to 27 mm away, by how
/// the micrometres of overlap that a step leaves fall out.
const SHARE: f64 = 0.12;

fn build(p: &Params) -> Result<Made, SceneError> {
    let columns = p.whole("columns", 1, 100)? as usize;
    let rows = p.whole("rows", 1, 100)? as usize;
    let layers = p.whole("layers", 1, 100)? as usize;
    let mu = p.number("mu", 0.0, 10.0)?;
    let n = columns * rows * layers;
    let row = columns as f64 * BOX.x;
    let half = 0.5 * BOX;

    let boxed = |half: DVec3| Shape::Box { half };
    let mut bodies: Vec<BodyDef> = (0..n)
        .map(|i| {
            let x = -0.5 * SLACK - half.x - i as f64 * PITCH;
            BodyDef::dynamic(boxed(half), MASS).at(DVec3::new(x, 0.0, half.z)).friction(mu)
        })
        .collect();
    let roller = Shape::Capsule { radius: ROLLER, half_length: ROLLER_HALF };
    let across = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
    let mut roll = |x: f64| {
        let at = DVec3::new(x, 0.0, -ROLLER);
        bodies.push(BodyDef::kinematic(roller.clone()).at(at).turned(across).friction(mu).named("roller"));
    };
    let feeding = (n as f64 * PITCH / SPACING).ceil() as usize + 1;
    (0..feeding).for_each(|k| roll(-SPACING * (k as f64 + 0.5)));
    let forming = ((row + SLACK) / SPACING).ceil() as usize;
    (0..forming).for_each(|k| roll(SPACING * (k as f64 + 0.5)));

    let depth = rows as f64 * (BOX.y + JOINT) - JOINT;
    let middle = 0.5 * row + SLACK;
    let plan = Plan {
        columns,
        rows,
        layers,
        feed: n..n + feeding,
        form: n + feeding..n + feeding + forming,
        pusher: bodies.len(),
        pusher_home: DVec3::new(middle, -half.y - 0.05 - THIN, half.z),
        pallet: bodies.len() + 1,
        pallet_home: DVec3::new(middle, FIRST_ROW + 0.5 * depth, -2.0 * STEP_DOWN - DECK),
    };
    let pusher = BodyDef::kinematic(boxed(DVec3::new(0.5 * row - 0.01, THIN, 0.4 * BOX.z)));
    // Pusher and stop are smooth: in the relaxed model a rough surface would kick off what slides along it.
    bodies.push(pusher.at(plan.pusher_home).named("pusher"));
    let reach = FIRST_ROW - PALLET;
    let pallet = BodyDef::kinematic(boxed(DVec3::new(0.5 * row + reach, 0.5 * depth + reach, DECK)));
    bodies.push(pallet.at(plan.pallet_home).friction(mu).named("pallet"));
    let plate = DVec3::new(0.5 * row + SLACK, 0.5 * (PLATE[1] - PLATE[0]), THIN);
    let plate_at = DVec3::new(middle, 0.5 * (PLATE[0] + PLATE[1]), -STEP_DOWN - THIN);
    bodies.push(BodyDef::fixed(boxed(plate)).at(plate_at).friction(mu).named("plate"));
    let stop = DVec3::new(row + SLACK + THIN, 0.0, 0.5 * half.z);
    bodies.push(BodyDef::fixed(boxed(DVec3::new(THIN, ROLLER_HALF, half.z))).at(stop).named("stop"));
    let below = plan.pallet_home.z - layers as f64 * BOX.z - 2.0 * DECK;
    bodies.push(ground(mu).at(DVec3::Z * below));
    Ok(Made {
        settings: Settings::default(),
        seed: 1,
        bodies,
        glass: Vec::new(),
        probe: Box::new(Palletizer { plan, overlap: 0.0 }),
    })
}

/// Who is who, and when they are where.
#[derive(Clone)]
struct Plan {
    columns: usize,
    rows: usize,
    layers: usize,
    /// Slots of the rollers that bring boxes, and of those that press a row together.
    feed: std::ops::Range<usize>,
    form: std::ops::Range<usize>,
    pusher: usize,
    pusher_home: DVec3,
    pallet: usize,
    pallet_home: DVec3,
}

impl Plan {
    fn boxes(&self) -> usize {
        self.columns * self.rows * self.layers
    }

    /// Number and own time of the row whose boxes are moving at time `t`; the last row's goes on.
    fn row_at(&self, t: f64) -> (usize, f64) {
        let row = ((t / PERIOD).max(0.0) as usize).min(self.rows * self.layers - 1);
        (row, t - row as f64 * PERIOD)
    }

    /// How far the boxes that wait have been brought, m.
    fn fed(&self, t: f64) -> f64 {
        let (row, s) = self.row_at(t);
        self.columns as f64 * PITCH * (row as f64 + ease(s, 0.0, FEED))
    }

    /// Where the middle of a row comes to lie across, m.
    fn lies_at(&self, row: usize) -> f64 {
        let left = (self.rows - 1 - row % self.rows) as f64;
        FIRST_ROW + 0.5 * BOX.y + left * (BOX.y + JOINT)
    }

    fn pusher_at(&self, t: f64) -> DVec3 {
        // A row's push begins in its own period, and the way back ends in the next one's.
        let (row, s) = self.row_at(t);
        let (row, s) = if s < PUSH[0] && row > 0 { (row - 1, s + PERIOD) } else { (row, s) };
        let stroke = self.lies_at(row) - 0.5 * BOX.y - THIN - self.pusher_home.y;
        let forth = ease(s, PUSH[0], PUSH[1]) - ease(s, BACK[0], BACK[1]);
        let up = ease(s, LIFT[0], LIFT[1]) - ease(s, LOWER[0], LOWER[1]);
        self.pusher_home + DVec3::new(0.0, stroke * forth, 1.5 * BOX.z * up)
    }

    fn pallet_at(&self, t: f64) -> DVec3 {
        let sunk = |layer: usize| ease(t - ((layer + 1) * self.rows - 1) as f64 * PERIOD, SINK[0], SINK[1]);
        // It stays up for the last layer.
        let down: f64 = (0..self.layers - 1).map(sunk).sum();
        self.pallet_home - DVec3::Z * (BOX.z * down)
    }

    /// Boxes that the pusher has let go of by time `t`.
    fn pushed(&self, t: f64) -> usize {
        let rows = ((t - PUSH[0] - PUSH[1]) / PERIOD + 1.0).floor().max(0.0) as usize;
        self.columns * rows.min(self.rows * self.layers)
    }

    /// Where box `i` belongs, relative to the pallet's home.
    fn place(&self, i: usize) -> DVec3 {
        let (row, column) = (i / self.columns, i % self.columns);
        let x = SLACK + (self.columns - column) as f64 * BOX.x - 0.5 * BOX.x;
        let z = DECK + ((row / self.rows) as f64 + 0.5) * BOX.z;
        DVec3::new(x, self.lies_at(row), self.pallet_home.z + z) - self.pallet_home
    }

    fn drive(&self, world: &mut World) {
        let (t, h) = (world.state().time, world.settings().h);
        let end = t + h;
        let feed = (self.fed(end) - self.fed(t)) / h;
        let form = if self.row_at(t).1 < ROW_STOPS { ROW_SPEED } else { 0.0 };
        for (rollers, speed) in [(&self.feed, feed), (&self.form, form)] {
            rollers.clone().for_each(|k| spin(world, k, DVec3::Y * (speed / ROLLER)));
        }
        bring(world, self.pusher, self.pusher_at(end));
        bring(world, self.pallet, self.pallet_at(end));
    }
}

struct Palletizer {
    plan: Plan,
    overlap: f64,
}

impl Palletizer {
    /// How far box `i` is from its place on the pallet, m.
    fn away(&self, world: &World, i: usize) -> f64 {
        let state = world.state();
        (state.position[i] - state.position[self.plan.pallet] - self.plan.place(i)).length()
    }

    /// Whether box `i` is carried by the pallet: over it, and not fallen below its deck.
    fn is_on(&self, world: &World, i: usize) -> bool {
        let state = world.state();
        let d = state.position[i] - state.position[self.plan.pallet];
        let (x, y) = (0.5 * self.plan.columns as f64 * BOX.x, 0.5 * self.plan.rows as f64 * (BOX.y + JOINT));
        d.x.abs() < x && d.y.abs() < y && d.z > DECK
    }
}

impl Probe for Palletizer {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("overlap", &mut self.overlap);
    }

    fn drive(&self) -> Option<Drive> {
        let plan = self.plan.clone();
        Some(Arc::new(move |world| plan.drive(world)))
    }

    fn observe(&mut self, world: &World) {
        self.overlap = world.contacts().iter().fold(self.overlap, |d, c| d.max(-c.gap));
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        let pushed = self.plan.pushed(world.state().time);
        let furthest = (0..pushed).map(|i| self.away(world, i)).fold(0.0, f64::max);
        let placed = (0..self.plan.boxes()).filter(|&i| self.is_on(world, i)).count();
        results.insert("boxes".into(), json!(self.plan.boxes()));
        results.insert("pushed".into(), json!(pushed));
        results.insert("placed".into(), json!(placed));
        results.insert("standing".into(), json!(placed >= pushed && furthest <= SHARE * BOX.min_element()));
        results.insert("largest_displacement_m".into(), number(furthest));
        results.insert("largest_overlap_m".into(), number(self.overlap));
        support(world, &mut results);
        results
    }

    fn paint(&self, world: &World) -> Option<Paint> {
        let pushed = self.plan.pushed(world.state().time);
        let mut values = vec![f64::NAN; world.model().bodies.len()];
        (0..pushed).for_each(|i| values[i] = self.away(world, i));
        Some(Paint { label: "away from its place".into(), unit: "m".into(), values })
    }
}
