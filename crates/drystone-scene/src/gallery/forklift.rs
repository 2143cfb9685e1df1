//! Forklift trucks [TasoraAnitescu2011, section 6.1, table 1]: each picks up a pallet, turns away with it,
//! sets it down and leaves; or each takes a bend too fast and rolls over.
//!
//! The trucks stand on a grid, each with a pallet of its own, and do the same: how the cost grows with their
//! number is what the paper's table shows. The truck itself is in `truck.rs`.

use std::f64::consts::FRAC_PI_2;
use std::sync::Arc;

use drystone::function::{Beyond, Interpolation, Table};
use drystone::joint::Law;
use drystone::{Function, JointDef, JointId, Settings, World};
use glam::{DQuat, DVec3};
use serde_json::json;

use super::params::{ParamInfo, Params, param};
use super::truck::{self, BODIES, Commands, FRAME, JOINTS, Kind, LIFT, PALLET, Place, WHEELS};
use super::{Entry, Made, ground};
use crate::control::Control;
use crate::probe::{Results, number};
use crate::{Drive, Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "forklift",
    title: "forklift trucks pick up a pallet each, carry it round a bend and set it down",
    citation: "TasoraAnitescu2011, section 6.1",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("count", "1", "", "trucks, each with a pallet"),
    param(
        "truck",
        "counterbalance",
        "",
        "counterbalance, of 2.4 t, or light, of 430 kg: sizes and masses of the program of the paper's first author",
    ),
    param(
        "program",
        "carry",
        "",
        "what they do: carry a pallet, roll-over in a bend taken too fast, or wait for a driver (drive)",
    ),
    param("load", "", "kg", "on the pallet: 500, or none for the light truck"),
    param("height", "0.35", "m", "to which it is lifted"),
    param("mu", "0.6", "", "coefficient of friction"),
    param("h", "0.005", "s", "step"),
    param("T", "19", "s", "duration; the program of carry ends then"),
];

/// Between the tips of the forks and the pallet at the start, m.
const START_DISTANCE: f64 = 0.4;
/// Between the pallet and the forks' backs when it is picked up, m.
const SPARE: f64 = 0.02;
/// Trucks stand this far apart, m.
const PITCH: [f64; 2] = [7.0, 6.0];
/// Angle of the rear wheel in the bend, and by which the truck turns there, rad.
const STEER: f64 = 50.0 * std::f64::consts::PI / 180.0;
const TURN: f64 = FRAC_PI_2;
/// How far the pallet is carried after the bend, m.
const STRAIGHT: f64 = 1.5;
/// By which the mast leans back under way, rad.
const LEAN: f64 = 4.0 * std::f64::consts::PI / 180.0;

/// Runs of the carry: (start, end, way) of the driven wheel, s and m.
fn runs(kind: Kind) -> [(f64, f64, f64); 4] {
    let sizes = kind.sizes();
    let to_pallet = sizes.fork + START_DISTANCE - SPARE;
    let bend = TURN * sizes.wheelbase / STEER.sin();
    [(0.4, 3.4, to_pallet), (7.0, 11.0, -bend), (12.0, 14.4, STRAIGHT), (16.6, 18.8, -STRAIGHT)]
}

/// A speed that rises evenly for a fifth of each run and falls evenly in its last fifth.
fn speeds(runs: &[(f64, f64, f64)]) -> Function {
    let mut points = vec![[0.0, 0.0]];
    for &(start, end, way) in runs {
        let (span, top) = (end - start, way / (0.8 * (end - start)));
        points.extend([[start, 0.0], [start + 0.2 * span, top], [end - 0.2 * span, top], [end, 0.0]]);
    }
    Function::table(points)
}

/// A cubic through points (s, value), the end values held outside.
fn smooth(points: &[[f64; 2]]) -> Function {
    let (interpolation, beyond) = (Interpolation::Cubic, Beyond::Hold);
    Function::Table(Table { points: points.to_vec(), interpolation, beyond })
}

#[derive(Clone, Copy, PartialEq)]
enum Program {
    Carry,
    RollOver,
    Drive,
}

impl Program {
    fn commands(self, kind: Kind, height: f64) -> Commands {
        match self {
            Program::Carry => Commands {
                speed: speeds(&runs(kind)),
                steer: smooth(&[[6.0, 0.0], [7.0, STEER], [11.0, STEER], [12.0, 0.0]]),
                lift: smooth(&[[3.6, 0.0], [5.6, height], [14.8, height], [16.3, 0.0]]),
                tilt: smooth(&[[5.0, 0.0], [6.0, -LEAN], [14.4, -LEAN], [15.2, 0.0]]),
                torque: 700.0,
            },
            Program::RollOver => Commands {
                speed: Function::table([[0.0, 0.0], [3.0, 5.0]]),
                steer: smooth(&[[3.0, 0.0], [3.5, STEER]]),
                lift: smooth(&[[0.0, 0.0], [2.0, 0.2]]),
                tilt: Function::Constant(0.0),
                torque: 2000.0,
            },
            Program::Drive => Commands {
                speed: Function::Constant(0.0),
                steer: Function::Constant(0.0),
                lift: Function::Constant(0.0),
                tilt: Function::Constant(0.0),
                torque: 700.0,
            },
        }
    }

    /// The largest torque of each front wheel's brake at a time, N m.
    fn brake(self, kind: Kind, t: f64) -> f64 {
        let stands = match self {
            Program::Carry => runs(kind).iter().all(|(start, end, _)| t < *start || t >= *end),
            Program::RollOver | Program::Drive => false,
        };
        if stands { 400.0 } else { 0.0 }
    }
}

fn build(p: &Params) -> Result<Made, SceneError> {
    let count = p.whole("count", 1, 10_000)? as usize;
    let programs = [("carry", Program::Carry), ("roll-over", Program::RollOver), ("drive", Program::Drive)];
    let program = p.choice("program", &programs)?;
    let kind = p.choice("truck", &[("counterbalance", Kind::Counterbalance), ("light", Kind::Light)])?;
    let usual = if kind == Kind::Light { 0.0 } else { 500.0 };
    let load = if p.is_set("load") { p.number("load", 0.0, 2000.0)? } else { usual };
    let height = p.number("height", 0.0, 1.4)?;
    let mu = p.number("mu", 0.0, 10.0)?;
    let columns = (count as f64).sqrt().ceil() as usize;
    // Who rolls over needs the way ahead: the pallet waits behind.
    let ahead = if program == Program::RollOver { -8.0 } else { START_DISTANCE };
    let (mut bodies, mut joints) = (Vec::new(), Vec::new());
    for k in 0..count {
        let cell = DVec3::new((k % columns) as f64 * PITCH[0], (k / columns) as f64 * PITCH[1], 0.0);
        let spread = if program == Program::RollOver { 5.0 } else { 1.0 };
        let place = Place { at: spread * cell, heading: 0.0 };
        bodies.extend(truck::bodies(kind, k, place, load, ahead, mu)?);
        joints.extend(truck::joints(kind, k, place, &program.commands(kind, height)));
    }
    bodies.push(ground(mu));
    let probe = Forklift {
        kind,
        program,
        joints,
        command: program.commands(kind, height).lift,
        centres: [FRAME, PALLET].map(|i| bodies[i].mass.centre),
        count,
        way: 0.0,
        before: None,
        starts: (0..count).map(|k| bodies[BODIES * k + PALLET].position).collect(),
        highest: 0.0,
        lift_error: 0.0,
    };
    Ok(Made {
        settings: Settings { tolerance: 1e-5, ..Settings::default() },
        seed: 1,
        bodies,
        glass: Vec::new(),
        probe: Box::new(probe),
    })
}

struct Forklift {
    kind: Kind,
    program: Program,
    joints: Vec<JointDef>,
    /// Of the carriage, m.
    command: Function,
    /// Centres of mass of frame and pallet, in their own axes, m.
    centres: [DVec3; 2],
    count: usize,
    /// Gone by the first truck, m, and where it was last.
    way: f64,
    before: Option<DVec3>,
    /// Of the pallets, m.
    starts: Vec<DVec3>,
    highest: f64,
    /// Largest difference between lift and command, m.
    lift_error: f64,
}

impl Forklift {
    /// Where the origin of a body is, and how it is turned.
    fn pose(&self, world: &World, i: usize, centre: DVec3) -> (DVec3, DQuat) {
        let q = world.state().rotation[i];
        (world.state().position[i] - q * centre, q)
    }

    fn lift(&self, world: &World, k: usize) -> Option<f64> {
        let id = JointId { slot: (JOINTS * k + LIFT) as u32, generation: 0 };
        world.joint_coordinates(id).ok().and_then(|x| x.first().copied())
    }
}

fn lean(q: DQuat) -> f64 {
    (q * DVec3::Z).z.clamp(-1.0, 1.0).acos().to_degrees()
}

impl Probe for Forklift {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("way", &mut self.way);
        memory.keep("before", &mut self.before);
        memory.keep("starts", &mut self.starts);
        memory.keep("highest", &mut self.highest);
        memory.keep("lift_error", &mut self.lift_error);
    }

    fn joints(&self) -> Vec<JointDef> {
        self.joints.clone()
    }

    fn controls(&self) -> Vec<Control> {
        if self.program == Program::Drive { truck::controls(self.kind, self.count) } else { Vec::new() }
    }

    fn drive(&self) -> Option<Drive> {
        if self.program == Program::Drive {
            return None;
        }
        let (kind, program, count) = (self.kind, self.program, self.count);
        Some(Arc::new(move |world| {
            let friction = program.brake(kind, world.state().time);
            for k in 0..count {
                for j in WHEELS {
                    let id = JointId { slot: (JOINTS * k + j) as u32, generation: 0 };
                    let law = world.joint(id).ok().and_then(|j| j.laws.first());
                    if law.is_some_and(|law| law.friction != friction) {
                        // The joint is there, and the torque not negative: there is nothing to refuse.
                        let _ = world.set_law(id, 0, Law { friction, ..Law::default() });
                    }
                }
            }
        }))
    }

    fn observe(&mut self, world: &World) {
        let (at, _) = self.pose(world, FRAME, self.centres[0]);
        self.way += self.before.map_or(0.0, |before| (at - before).length());
        self.before = Some(at);
        self.highest = self.highest.max(self.pose(world, PALLET, self.centres[1]).0.z);
        let command = self.command.value(world.state().time);
        if let Some(x) = self.lift(world, 0) {
            self.lift_error = self.lift_error.max((x - command).abs());
        }
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        let mut delivered = 0;
        let mut upright = 0;
        for k in 0..self.count {
            let (_, q) = self.pose(world, BODIES * k + FRAME, self.centres[0]);
            upright += usize::from(lean(q) < 10.0);
            let (x, q) = self.pose(world, BODIES * k + PALLET, self.centres[1]);
            let moved = (x - self.starts[k]).truncate().length();
            delivered += usize::from(x.z.abs() < 0.005 && lean(q) < 0.5 && moved > 1.0);
        }
        let (x, q) = self.pose(world, PALLET, self.centres[1]);
        let (_, turn) = self.pose(world, FRAME, self.centres[0]);
        let ahead = turn * DVec3::X;
        results.insert("trucks".into(), json!(self.count));
        results.insert("bilaterals_a_truck".into(), json!(world.bilaterals() / self.count));
        results.insert("contacts_a_truck".into(), number(world.contacts().len() as f64 / self.count as f64));
        results.insert("distance_m".into(), number(self.way));
        results.insert("heading_deg".into(), number(ahead.y.atan2(ahead.x).to_degrees()));
        results.insert("truck_tilt_deg".into(), number(lean(turn)));
        results.insert("upright".into(), json!(upright));
        results.insert("delivered".into(), json!(delivered));
        results.insert("pallet_position_m".into(), json!(x.to_array()));
        results.insert("pallet_moved_m".into(), number((x - self.starts[0]).truncate().length()));
        results.insert("pallet_highest_m".into(), number(self.highest));
        results.insert("pallet_tilt_deg".into(), number(lean(q)));
        results.insert("lift_m".into(), self.lift(world, 0).map_or(json!(null), number));
        results.insert("lift_command_m".into(), number(self.command.value(world.state().time)));
        results.insert("lift_error_max_m".into(), number(self.lift_error));
        results
    }
}
