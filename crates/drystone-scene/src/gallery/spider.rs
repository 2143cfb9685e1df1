//! A walking robot [TasoraAnitescu2008, section 3.1]: six legs of six parts each, moved by two servomotors a
//! leg, 37 parts in all.
//!
//! The paper shows the robot but gives no sizes. Here a leg is a coxa that swings about the vertical, and
//! three parallel bars (a femur and two rods) that carry a knee plate and a shin: the bars keep both upright,
//! so that the foot goes up and down as the femur turns.
//!
//! ```text
//!          hip │      femur                              rows of a leg
//!     body ────┼─ F ══════════ P1                        revolutes: hip, F, A, B, P1, P3      6 x 5
//!              │  A ── rod A ── P2  knee plate           pins that slide along their axes:
//!              │  B ── rod B ── S                            P2 (rod A), S (rod B)            2 x 2
//!              coxa             │ shin                   servomotors: hip, F                  2 x 1
//!                               ● foot
//! ```
//!
//! 36 rows for 36 degrees of freedom: loops are closed without repeating an equation, and the motors decide
//! the rest. Three legs stand while the other three step ahead.

use std::f64::consts::{FRAC_PI_2, TAU};

use drystone::function::{Beyond, Interpolation, Table};
use drystone::{BodyDef, Filter, Function, JointDef, MassProperties, Motor, Settings, Shape, World};
use glam::{DQuat, DVec3};
use serde_json::json;

use super::machine::body_id;
use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, ground};
use crate::control::{Control, Quantity};
use crate::probe::{Results, number};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "spider",
    title: "a robot of 37 parts walks on six legs, driven by 12 motors",
    citation: "TasoraAnitescu2008, section 3.1",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("period", "1", "s", "of the gait"),
    param("stride", "0.3", "rad", "by which a leg swings to either side"),
    param("lift", "0.3", "rad", "by which a femur is raised to step ahead"),
    param("limbs", "1", "", "masses of femora, rods, plates and shins, over 50, 30, 40 and 60 g"),
    param("inertia", "1", "", "moments of inertia of all parts but the trunk, over those of their shapes"),
    param("mu", "0.6", "", "coefficient of friction"),
    param("h", "0.01", "s", "step"),
    param("T", "8", "s", "duration"),
];

/// Half extents of the trunk, m, and its mass, kg.
const TRUNK: DVec3 = DVec3::new(0.2, 0.09, 0.03);
const TRUNK_MASS: f64 = 0.8;
/// Where the hips are along the trunk, and how far out, m.
const HIPS: [f64; 3] = [0.15, 0.0, -0.15];
const OUT: f64 = 0.11;
/// Pivots in the leg's plane: out from the hip, and above the middle of the trunk, m.
const F: [f64; 2] = [0.05, 0.03];
const A: [f64; 2] = [0.05, -0.005];
const B: [f64; 2] = [0.05, -0.04];
/// From the inner to the outer end of femur and rods, m.
const BAR: [f64; 2] = [0.1, 0.02];
/// Where plate and shin are hinged together, above the end of rod B, m.
const ANKLE: f64 = 0.018;
/// Radius of the shin and its foot; height of the trunk's middle when all feet stand, m.
const FOOT: f64 = 0.012;
const HEIGHT: f64 = 0.13;

/// Parts of a leg, in their order.
const COXA: usize = 0;
const FEMUR: usize = 1;
const ROD_A: usize = 2;
const ROD_B: usize = 3;
const PLATE: usize = 4;
const SHIN: usize = 5;
const PARTS: usize = 6;

/// One leg: where its hip is and which way it points.
struct Leg {
    number: usize,
    /// 1 on the left, -1 on the right.
    side: f64,
    hip: DVec3,
    /// In the first of the two groups of three that step in turn.
    first: bool,
    /// Way out in the plane of the leg, at the start.
    out: DVec3,
}

impl Leg {
    fn all(stride: f64) -> Vec<Leg> {
        let leg = |number: usize| {
            let (side, row) = (if number < 3 { 1.0 } else { -1.0 }, number % 3);
            let first = (row + usize::from(side < 0.0)).is_multiple_of(2);
            // Ahead or astern, as the gait has it at time zero.
            let ahead = if first { stride } else { -stride };
            let out = DQuat::from_rotation_z(-side * ahead) * DVec3::new(0.0, side, 0.0);
            Leg { number, side, hip: DVec3::new(HIPS[row], side * OUT, HEIGHT), first, out }
        };
        (0..6).map(leg).collect()
    }

    /// A point of the leg's plane in the world.
    fn at(&self, x: [f64; 2]) -> DVec3 {
        self.hip + x[0] * self.out + DVec3::Z * x[1]
    }

    /// About which the bars turn: a positive angle raises them.
    fn axis(&self) -> DVec3 {
        self.out.cross(DVec3::Z)
    }

    /// A box in the leg's plane from one point to another; `half` is half its width across that plane and in
    /// it.
    fn bar(&self, from: [f64; 2], to: [f64; 2], half: [f64; 2], mass: f64, mu: f64) -> BodyDef {
        let (a, b) = (self.at(from), self.at(to));
        let along = b - a;
        let x = along.normalize();
        let y = -self.axis();
        let turn = DQuat::from_mat3(&glam::DMat3::from_cols(x, y, x.cross(y)));
        let shape = Shape::Box { half: DVec3::new(0.5 * along.length(), half[0], half[1]) };
        BodyDef::dynamic(shape, mass).at(0.5 * (a + b)).turned(turn.normalize()).friction(mu)
    }

    /// Its parts; `limbs` multiplies the masses of all but the coxa.
    fn bodies(&self, mu: f64, limbs: f64) -> Vec<BodyDef> {
        let end = |p: [f64; 2]| [p[0] + BAR[0], p[1] + BAR[1]];
        let foot = end([B[0], FOOT - HEIGHT - BAR[1]]);
        let knee = [end(B)[0], end(B)[1] + ANKLE];
        let half_length = 0.5 * (knee[1] - foot[1]);
        let middle = [foot[0], 0.5 * (knee[1] + foot[1])];
        let shin = BodyDef::dynamic(Shape::Capsule { radius: FOOT, half_length }, 0.06 * limbs);
        let mut parts = vec![
            self.bar([0.0, -0.005], [0.06, -0.005], [0.02, 0.045], 0.15, mu),
            self.bar(F, end(F), [0.008; 2], 0.05 * limbs, mu),
            self.bar(A, end(A), [0.005; 2], 0.03 * limbs, mu),
            self.bar(B, end(B), [0.005; 2], 0.03 * limbs, mu),
            self.bar(end(F), [end(F)[0], knee[1]], [0.01; 2], 0.04 * limbs, mu),
            shin.at(self.at(middle)).friction(mu),
        ];
        // Trunk, coxae and shins are what can touch the ground; the bars are above it while those are.
        for i in [FEMUR, ROD_A, ROD_B, PLATE] {
            parts[i] = parts[i].clone().filter(Filter { layers: 0, mask: 0 });
        }
        let names = ["coxa", "femur", "rod A", "rod B", "knee plate", "shin"];
        let name = |i: usize| format!("{} {}", names[i], self.number);
        parts.into_iter().enumerate().map(|(i, b)| BodyDef { group: 1, ..b.named(name(i)) }).collect()
    }

    fn joints(&self, gait: &Gait) -> Vec<JointDef> {
        let id = |i: usize| body_id(1 + PARTS * self.number + i);
        let n = self.axis();
        let inner = |p: [f64; 2]| self.at(p);
        let outer = |p: [f64; 2]| self.at([p[0] + BAR[0], p[1] + BAR[1]]);
        let ankle = outer([B[0], B[1] + ANKLE]);
        vec![
            JointDef::revolute(body_id(0), id(COXA), self.hip, DVec3::Z)
                .motor(0, Motor::position(gait.swing(self)))
                .named(format!("hip {}", self.number)),
            JointDef::revolute(id(COXA), id(FEMUR), inner(F), n)
                .motor(0, Motor::position(gait.raise(self)))
                .named(format!("femur {}", self.number)),
            JointDef::revolute(id(COXA), id(ROD_A), inner(A), n),
            JointDef::revolute(id(COXA), id(ROD_B), inner(B), n),
            JointDef::revolute(id(FEMUR), id(PLATE), outer(F), n),
            JointDef::point_on_line(id(ROD_A), id(PLATE), outer(A), n),
            JointDef::revolute(id(PLATE), id(SHIN), ankle, n),
            JointDef::point_on_line(id(ROD_B), id(SHIN), outer(B), n),
        ]
    }
}

/// How the legs move.
struct Gait {
    period: f64,
    stride: f64,
    lift: f64,
}

impl Gait {
    /// Angle of a hip from where it is at the start: the foot goes from ahead to astern in the first half of
    /// the leg's own period, on the ground, and back in the second.
    fn swing(&self, leg: &Leg) -> Function {
        let start = if leg.first { 1.0 } else { -1.0 };
        // An angle about the vertical takes a left foot astern, a right one ahead.
        let amplitude = -leg.side * start * self.stride;
        Function::Sine { mean: -amplitude, amplitude, frequency: 1.0 / self.period, phase: FRAC_PI_2 }
    }

    /// Angle of a femur: up in the second half of the leg's own period.
    fn raise(&self, leg: &Leg) -> Function {
        let (t, up) = (self.period, self.lift);
        let points = match leg.first {
            true => vec![[0.0, 0.0], [0.5 * t, 0.0], [0.75 * t, up], [t, 0.0]],
            false => vec![[0.0, 0.0], [0.25 * t, up], [0.5 * t, 0.0], [t, 0.0]],
        };
        Function::Table(Table { points, interpolation: Interpolation::Cubic, beyond: Beyond::Repeat })
    }
}

fn build(p: &Params) -> Result<Made, SceneError> {
    let gait = Gait {
        period: p.number("period", 0.1, 100.0)?,
        stride: p.number("stride", 0.0, 0.6)?,
        lift: p.number("lift", 0.0, 0.6)?,
    };
    let mu = p.number("mu", 0.0, 10.0)?;
    let limbs = p.number("limbs", 0.01, 100.0)?;
    let inertia = p.number("inertia", 0.01, 1e6)?;
    let trunk = BodyDef::dynamic(Shape::Box { half: TRUNK }, TRUNK_MASS).at(DVec3::Z * HEIGHT).friction(mu);
    let mut bodies = vec![BodyDef { group: 1, ..trunk.named("trunk") }];
    let mut joints = Vec::new();
    for leg in Leg::all(gait.stride) {
        bodies.extend(leg.bodies(mu, limbs).into_iter().map(|part| {
            let mass = MassProperties { inertia: part.mass.inertia * inertia, ..part.mass };
            part.mass(mass)
        }));
        joints.extend(leg.joints(&gait));
    }
    bodies.push(ground(mu));
    Ok(Made {
        settings: Settings { tolerance: 1e-5, ..Settings::default() },
        seed: 1,
        bodies,
        glass: Vec::new(),
        probe: Box::new(Spider { joints, parts: 1 + 6 * PARTS, tilt: 0.0, lowest: f64::INFINITY }),
    })
}

struct Spider {
    joints: Vec<JointDef>,
    parts: usize,
    /// Largest angle between the trunk's axis and the vertical, rad.
    tilt: f64,
    /// Lowest height of the trunk's middle, m.
    lowest: f64,
}

impl Probe for Spider {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("tilt", &mut self.tilt);
        memory.keep("lowest", &mut self.lowest);
    }

    fn joints(&self) -> Vec<JointDef> {
        self.joints.clone()
    }

    /// Strides of both sides, and of one against the other.
    fn controls(&self) -> Vec<Control> {
        let hips = |control: Control, right: f64| {
            (0..6u32).fold(control, |c, leg| {
                c.commands(8 * leg, Quantity::Gain, if leg < 3 { 1.0 } else { right })
            })
        };
        let stride = Control { start: 1.0, ..Control::new("stride", "", [-1.0, 1.0]) };
        let stride = stride.at_rate(1.0).lever().bound("ArrowUp", "ArrowDown", "-axis 1");
        let turn = Control::new("turn right", "", [-1.0, 1.0]).at_rate(1.0);
        vec![hips(stride, 1.0), hips(turn.bound("ArrowRight", "ArrowLeft", "axis 0"), -1.0)]
    }

    fn observe(&mut self, world: &World) {
        let state = world.state();
        let up = state.rotation[0] * DVec3::Z;
        self.tilt = self.tilt.max(up.z.clamp(-1.0, 1.0).acos());
        self.lowest = self.lowest.min(state.position[0].z);
    }

    fn results(&mut self, world: &World) -> Results {
        let state = world.state();
        let way = state.position[0];
        let ahead = state.rotation[0] * DVec3::X;
        let mut results = Results::new();
        results.insert("parts".into(), json!(self.parts));
        results.insert("distance_m".into(), number(way.x));
        results.insert("body_lengths".into(), number(way.x / (2.0 * TRUNK.x)));
        results.insert("aside_m".into(), number(way.y));
        results.insert("heading_deg".into(), number(ahead.y.atan2(ahead.x).to_degrees()));
        results.insert("tilt_max_deg".into(), number(self.tilt.to_degrees()));
        results.insert("lowest_m".into(), number(self.lowest));
        results.insert("fallen".into(), json!(self.lowest < 0.7 * HEIGHT || self.tilt > TAU / 12.0));
        results
    }
}
