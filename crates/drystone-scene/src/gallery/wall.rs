//! A masonry wall on ground of which one part moves [RenoufAcary2006, fig. 3]: dry bricks in running bond,
//! half bricks at the ends of every other course. The paper gives no sizes; here a brick is 1 m x 0.5 m x 0.5
//! m, as heavy as stone.

use std::sync::Arc;

use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;
use serde_json::json;

use super::motion::{Creep, bring, ramp};
use super::params::{ParamInfo, Params, param};
use super::{Entry, Made};
use crate::probe::{Results, number, support};
use crate::{Drive, Memory, Paint, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "wall",
    title: "a dry masonry wall on ground of which one part sinks or rises",
    citation: "RenoufAcary2006, figure 3",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("width", "12", "", "bricks in a course"),
    param("height", "10", "", "courses"),
    param(
        "settle",
        "0.25",
        "m",
        "how far the moving part of the ground sinks; below 0 it rises; 0 is still ground",
    ),
    param("speed", "0.1", "m/s", "at which it does so"),
    param("part", "0.5", "", "share of the wall, from its right end, that stands on the moving part"),
    param("joint", "0", "m", "width of the vertical joints"),
    param("mu", "0.6", "", "coefficient of friction"),
    param("h", "0.005", "s", "step"),
    param("T", "4", "s", "duration"),
];

/// A whole brick, m.
const LENGTH: f64 = 1.0;
const DEPTH: f64 = 0.5;
const HEIGHT: f64 = 0.5;
/// kg/m³
const DENSITY: f64 = 2000.0;
/// The ground is still for so long first, s.
const STILL: f64 = 0.25;
/// A brick has left its place when it is further from it than this share of its height: of its smallest
/// extent.
const SHARE: f64 = 0.1;

fn build(p: &Params) -> Result<Made, SceneError> {
    let width = p.whole("width", 1, 10_000)? as usize;
    let height = p.whole("height", 1, 10_000)? as usize;
    let settle = p.number("settle", -1e3, 1e3)?;
    let speed = p.positive("speed", 1e3)?;
    let part = p.number("part", 0.0, 1.0)?;
    let joint = p.number("joint", 0.0, 0.25)?;
    let mu = p.number("mu", 0.0, 10.0)?;

    let mut bodies = Vec::new();
    let mut bricks = Vec::new();
    for course in 0..height {
        for (k, (x, length)) in bond(width, joint, course % 2 == 1).into_iter().enumerate() {
            let half = 0.5 * DVec3::new(length, DEPTH, HEIGHT);
            let at = DVec3::new(x, 0.0, (course as f64 + 0.5) * HEIGHT);
            let brick = BodyDef::dynamic(Shape::Box { half }, DENSITY * 8.0 * half.element_product());
            bodies.push(brick.at(at).friction(mu).named(format!("brick {}.{}", course + 1, k + 1)));
            bricks.push(Brick { start: at, length, course });
        }
    }
    let reach = 0.5 * (width as f64 * (LENGTH + joint) - joint);
    let edge = reach * (1.0 - 2.0 * part);
    let beyond = reach + 2.0 * LENGTH;
    let ground = |from: f64, to: f64| {
        let half = DVec3::new(0.5 * (to - from), 4.0 * DEPTH, 0.5 * LENGTH);
        (Shape::Box { half }, DVec3::new(0.5 * (from + to), 0.0, -0.5 * LENGTH))
    };
    let (moving, moving_at) = ground(edge, beyond);
    let (still, still_at) = ground(-beyond, edge);
    bodies.push(BodyDef::kinematic(moving).at(moving_at).friction(mu).named("moving ground"));
    bodies.push(BodyDef::fixed(still).at(still_at).friction(mu).named("ground"));
    Ok(Made {
        // Solved less accurately than this, other joints open with other solvers and stabilisations.
        settings: Settings { tolerance: 1e-6, ..Settings::default() },
        seed: 1,
        bodies,
        glass: Vec::new(),
        probe: Box::new(Wall {
            ground: Ground { slot: bricks.len(), start: moving_at, edge, settle, speed },
            bricks,
            creep: Creep::default(),
        }),
    })
}

/// Middle and length of the bricks of a course, from left to right.
fn bond(width: usize, joint: f64, odd: bool) -> Vec<(f64, f64)> {
    let pitch = LENGTH + joint;
    let whole = |n: usize| (0..n).map(move |i| (pitch * (i as f64 - 0.5 * (n as f64 - 1.0)), LENGTH));
    if !odd {
        return whole(width).collect();
    }
    // The halves end flush with the courses of whole bricks.
    let end = 0.5 * (width as f64 * pitch - joint) - 0.25 * LENGTH;
    let mut course = vec![(-end, 0.5 * LENGTH)];
    course.extend(whole(width - 1));
    course.push((end, 0.5 * LENGTH));
    course
}

struct Brick {
    start: DVec3,
    length: f64,
    course: usize,
}

impl Brick {
    fn ends(&self) -> (f64, f64) {
        (self.start.x - 0.5 * self.length, self.start.x + 0.5 * self.length)
    }

    /// Whether this one lay on that one.
    fn lies_on(&self, other: &Brick) -> bool {
        let ((a, b), (c, d)) = (self.ends(), other.ends());
        self.course == other.course + 1 && a < d && c < b
    }
}

/// The part of the ground that moves.
#[derive(Clone, Copy)]
struct Ground {
    slot: usize,
    start: DVec3,
    /// It begins here, m.
    edge: f64,
    settle: f64,
    speed: f64,
}

impl Ground {
    fn place(&self, t: f64) -> DVec3 {
        self.start - DVec3::Z * self.settle.signum() * ramp(t, STILL, self.speed, self.settle.abs())
    }

    fn moved(&self, world: &World) -> DVec3 {
        world.state().position[self.slot] - self.start
    }
}

struct Wall {
    bricks: Vec<Brick>,
    ground: Ground,
    creep: Creep,
}

impl Wall {
    /// How far a brick is from where the ground below would have taken it, m. One that straddles the edge may
    /// go with either part.
    fn away(&self, world: &World, i: usize) -> f64 {
        let brick = &self.bricks[i];
        let d = world.state().position[i] - brick.start;
        let (left, right) = brick.ends();
        let (with_still, with_moving) = (d.length(), (d - self.ground.moved(world)).length());
        if right <= self.ground.edge {
            with_still
        } else if left >= self.ground.edge {
            with_moving
        } else {
            with_still.min(with_moving)
        }
    }

    /// Bed joints that have opened: pairs of bricks, the second of which lay on the first, that are apart
    /// now.
    fn open_joints(&self, world: &World) -> Vec<[usize; 2]> {
        let id = |i: usize| world.model().id(i as u32);
        let apart = |i: usize, j: usize| match (id(i), id(j)) {
            (Some(a), Some(b)) => world.distance(a, b).unwrap_or(0.0) > SHARE * HEIGHT,
            _ => false,
        };
        let all = (0..self.bricks.len()).flat_map(|j| (j + 1..self.bricks.len()).map(move |i| [j, i]));
        all.filter(|&[j, i]| self.bricks[i].lies_on(&self.bricks[j]) && apart(i, j)).collect()
    }
}

impl Probe for Wall {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("creep", &mut self.creep);
    }

    fn drive(&self) -> Option<Drive> {
        let ground = self.ground;
        Some(Arc::new(move |world| {
            let end = world.state().time + world.settings().h;
            bring(world, ground.slot, ground.place(end));
        }))
    }

    fn observe(&mut self, world: &World) {
        self.creep.observe(world, self.bricks.len());
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        let away: Vec<f64> = (0..self.bricks.len()).map(|i| self.away(world, i)).collect();
        let detached: Vec<usize> = (0..away.len()).filter(|&i| away[i] > SHARE * HEIGHT).collect();
        let aside = |i: usize| (world.state().position[i] - self.bricks[i].start).truncate().length();
        results.insert("standing".into(), json!(detached.is_empty()));
        results.insert("detached_count".into(), json!(detached.len()));
        results.insert("detached".into(), json!(detached));
        results.insert("open_joints".into(), json!(self.open_joints(world)));
        results.insert("largest_displacement_m".into(), number(away.iter().copied().fold(0.0, f64::max)));
        results.insert("lateral_m".into(), number((0..away.len()).map(aside).fold(0.0, f64::max)));
        results.insert("ground_m".into(), number(self.ground.moved(world).z));
        results.insert("creep_m_s".into(), self.creep.speed(world).map_or(json!(null), number));
        support(world, &mut results);
        results
    }

    fn paint(&self, world: &World) -> Option<Paint> {
        let values = (0..self.bricks.len()).map(|i| self.away(world, i)).chain([f64::NAN; 2]).collect();
        Some(Paint { label: "away from its place".into(), unit: "m".into(), values })
    }
}
