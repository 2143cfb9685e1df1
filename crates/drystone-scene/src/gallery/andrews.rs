//! Andrews' squeezing mechanism: seven bodies in a plane, ten pins, one freedom. A torque of 33 mN m drives a
//! crank of 7 mm from rest against a spring of 4530 N/m; after 30 ms the crank has turned by 15.8 rad
//! [MazziaMagherini2008, "Andrews' squeezing mechanism"; Schiehlen1990]. The angles there are known to
//! fifteen digits.
//!
//! The plane is x, z, without gravity; the bodies' angles, and so the positions of their joints, follow the
//! test set, whose names the constants have.

use drystone::{BodyDef, JointDef, MassProperties, Motor, Settings, World};
use glam::{DQuat, DVec3};
use serde_json::json;

use super::linkage::{bar, body, pin};
use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, exact};
use crate::probe::{Results, number};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "andrews",
    title: "Andrews' squeezing mechanism: seven bodies, a spring and a torque",
    citation: "MazziaMagherini2008, Andrews' squeezing mechanism",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("torque", "0.033", "N m", "on the crank"),
    param("h", "0.00005", "s", "step"),
    param("T", "0.03", "s", "duration"),
];

/// β, θ, γ, φ, δ, Ω, ε at the start.
const START: [f64; 7] = [
    -0.061_713_890_014_276_45,
    0.0,
    0.455_279_819_163_070_4,
    0.222_668_390_165_885_88,
    0.487_364_979_543_842_55,
    -0.222_668_390_165_885_88,
    1.230_547_444_549_821_2,
];
/// The same after 30 ms.
const END: [f64; 7] = [
    15.810_771_196_299_04,
    -15.756_371_059_842_98,
    0.040_822_240_130_731_01,
    -0.534_730_116_322_694_8,
    0.524_409_965_880_530_4,
    0.534_730_116_322_694_8,
    1.048_080_741_042_263,
];
const MASSES: [f64; 7] = [0.04325, 0.00365, 0.02373, 0.00706, 0.0705, 0.00706, 0.05498];
const INERTIAS: [f64; 7] = [2.194e-6, 4.41e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5];
const A: [f64; 2] = [-0.06934, -0.00227];
const B: [f64; 2] = [-0.03635, 0.03273];
const C: [f64; 2] = [0.014, 0.072];
const D: f64 = 0.028;
const DA: f64 = 0.0115;
const E: f64 = 0.02;
const EA: f64 = 0.01421;
const RR: f64 = 0.007;
const RA: f64 = 0.00092;
const SA: f64 = 0.01874;
const SB: f64 = 0.01043;
const SC: f64 = 0.018;
const SD: f64 = 0.02;
const TA: f64 = 0.02308;
const TB: f64 = 0.00916;
const U: f64 = 0.04;
const UA: f64 = 0.01228;
const UB: f64 = 0.00449;
const ZF: f64 = 0.02;
const ZT: f64 = 0.04;
const FA: f64 = 0.01421;
/// N/m and m.
const SPRING: [f64; 2] = [4530.0, 0.07785];
const THICKNESS: f64 = 0.0012;

/// A point of the plane, moved by (a, b) along axes that are turned by `angle`.
fn from(origin: [f64; 2], angle: f64, a: f64, b: f64) -> [f64; 2] {
    let (s, c) = angle.sin_cos();
    [origin[0] + a * c - b * s, origin[1] + a * s + b * c]
}

/// Of the world; the layers are for the eye.
fn place(p: [f64; 2]) -> DVec3 {
    DVec3::new(p[0], 0.0, p[1])
}

/// Where everything is for given angles.
struct Plan {
    /// Centres and angles of the bodies.
    bodies: [([f64; 2], f64); 7],
    /// Pins: between crank and rod, where four bodies meet, between 4 and 5, between 6 and 7, and the end of
    /// the spring.
    crank: [f64; 2],
    meet: [f64; 2],
    upper: [f64; 2],
    lower: [f64; 2],
    hook: [f64; 2],
}

impl Plan {
    fn at(q: &[f64; 7]) -> Self {
        let [beta, theta, gamma, phi, delta, omega, epsilon] = *q;
        let crank = from([0.0; 2], beta, RR, 0.0);
        let upper = from(A, delta, ZT, 0.0);
        let lower = from(A, epsilon, 0.0, -U);
        Self {
            bodies: [
                (from([0.0; 2], beta, RA, 0.0), beta),
                (from(crank, beta + theta, -DA, 0.0), beta + theta),
                (from(B, gamma, SB, -SA), gamma),
                (from(upper, phi + delta, 0.0, -(E - EA)), phi + delta),
                (from(A, delta, TA, TB), delta),
                (from(lower, omega + epsilon, ZF - FA, 0.0), omega + epsilon),
                (from(A, epsilon, -UB, -UA), epsilon),
            ],
            crank,
            meet: from(crank, beta + theta, -D, 0.0),
            upper,
            lower,
            hook: from(B, gamma, SD, -SC),
        }
    }

    /// What each body joins, for the eye.
    fn outline(&self) -> [Vec<[f64; 2]>; 7] {
        [
            vec![[0.0; 2], self.crank],
            vec![self.crank, self.meet],
            vec![B, self.meet, self.hook, B],
            vec![self.upper, self.meet],
            vec![A, self.upper, self.bodies[4].0, A],
            vec![self.lower, self.meet],
            vec![A, self.lower, self.bodies[6].0, A],
        ]
    }
}

fn build(p: &Params) -> Result<Made, SceneError> {
    let torque = p.number("torque", -10.0, 10.0)?;
    let plan = Plan::at(&START);
    let mut bodies = Vec::new();
    for (i, outline) in plan.outline().into_iter().enumerate() {
        let (centre, angle) = plan.bodies[i];
        let turn = DQuat::from_axis_angle(-DVec3::Y, angle);
        // Only the inertia about the normal counts; the same about all axes, and no axis is special.
        let mass = MassProperties::principal(MASSES[i], DVec3::splat(INERTIAS[i]));
        let mut def = BodyDef::bare(mass).at(place(centre)).turned(turn).named(format!("K{}", i + 1));
        let layer = DVec3::Y * THICKNESS * [0.0, 1.5, -1.5, 0.0, 1.5, 3.0, -3.0][i];
        let local = |p: [f64; 2]| turn.conjugate() * (place(p) - place(centre) + layer);
        def.colliders.extend(outline.windows(2).map(|w| bar(local(w[0]), local(w[1]), THICKNESS)));
        bodies.push(def);
    }
    for (at, name) in [([0.0; 2], "O"), (A, "A"), (B, "B"), (C, "C")] {
        bodies.push(pin(place(at), 1.8 * THICKNESS, name));
    }
    Ok(Made {
        settings: Settings { gravity: DVec3::ZERO, ..exact() },
        seed: 1,
        bodies,
        glass: Vec::new(),
        probe: Box::new(Andrews { torque, joint_error: 0.0 }),
    })
}

struct Andrews {
    torque: f64,
    joint_error: f64,
}

/// The joints whose coordinates are β, θ, γ, φ, δ, Ω, ε, less their values at the start.
const MEASURED: [usize; 7] = [0, 1, 2, 3, 4, 5, 6];

fn angles(world: &World) -> Option<[f64; 7]> {
    let joints: Vec<_> = world.joints().collect();
    let mut q = START;
    for (q, j) in q.iter_mut().zip(MEASURED) {
        *q += world.joint_coordinates(*joints.get(j)?).ok()?.first()?;
    }
    Some(q)
}

impl Probe for Andrews {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("joint_error", &mut self.joint_error);
    }

    fn joints(&self) -> Vec<JointDef> {
        let plan = Plan::at(&START);
        let hinge = |a: Option<usize>, b: usize, at: [f64; 2]| {
            JointDef::revolute(a.map(body), body(b), place(at), -DVec3::Y)
        };
        let (centre, angle) = plan.bodies[2];
        let hook = DQuat::from_axis_angle(-DVec3::Y, angle).conjugate() * (place(plan.hook) - place(centre));
        vec![
            hinge(None, 0, [0.0; 2]).motor(0, Motor::force(self.torque)),
            hinge(Some(0), 1, plan.crank),
            hinge(None, 2, B),
            hinge(Some(4), 3, plan.upper),
            hinge(None, 4, A),
            hinge(Some(6), 5, plan.lower),
            hinge(None, 6, A),
            hinge(Some(1), 2, plan.meet),
            hinge(Some(1), 3, plan.meet),
            hinge(Some(1), 5, plan.meet),
            JointDef::spring_between((None, place(C)), (Some(body(2)), hook), SPRING[1], SPRING[0], 0.0),
        ]
    }

    fn observe(&mut self, world: &World) {
        self.joint_error = self.joint_error.max(world.joint_error().position);
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        if let Some(q) = angles(world) {
            results.insert("q_rad".into(), json!(q));
            // The known angles are those of this torque at this time.
            if (world.state().time - 0.03).abs() < 1e-9 && self.torque == 0.033 {
                let off = q.iter().zip(END).map(|(q, e)| (q - e).abs()).fold(0.0, f64::max);
                results.insert("expected_q_rad".into(), json!(END));
                results.insert("largest_error_rad".into(), number(off));
            }
        }
        results.insert("joint_error_max_m".into(), number(self.joint_error));
        results
    }
}
