//! What a recording holds: moments of a run, and the bodies, shapes and joints that they are about.

use drystone::joint::WORLD_BODY;
use drystone::{BodyId, Contact, Model, Motion, Pose, Shape, StepReport, World};
use glam::{DQuat, DVec3};
use rayon::prelude::*;

/// Rows that are worth a thread.
const MIN_PARALLEL_ROWS: usize = 8192;

/// The number of a body or joint in a recording, of its slot and generation: no two that ever exist in a run
/// have the same. As long as no slot was given away before, it is the slot.
pub fn number(slot: u32, generation: u32) -> i64 {
    i64::from(generation) << 32 | i64::from(slot)
}

/// The body of a number; see [`number`].
pub fn body_id(number: i64) -> BodyId {
    BodyId { slot: number as u32, generation: (number >> 32) as u32 }
}

/// No body: the world, for a joint.
pub const NOBODY: i64 = -1;

/// The bodies that can move (dynamic and kinematic ones), in the order of their slots; one row each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bodies {
    /// See [`number`].
    pub id: Vec<i64>,
    /// Centre of mass, m.
    pub position: Vec<[f64; 3]>,
    /// Unit quaternion (w, x, y, z), body to world.
    pub orientation: Vec<[f64; 4]>,
    /// Of the centre of mass, m/s.
    pub velocity: Vec<[f64; 3]>,
    /// World axes, rad/s.
    pub angular_velocity: Vec<[f64; 3]>,
}

/// Contacts of the step that led to a frame; one row each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contacts {
    /// Numbers of the two bodies, A and B.
    pub bodies: Vec<[i64; 2]>,
    /// Half-way between the surfaces, m.
    pub point: Vec<[f64; 3]>,
    /// Unit, from B to A.
    pub normal: Vec<[f64; 3]>,
    /// Impulse on A during the step, N s; over h it is the force.
    pub impulse: Vec<[f64; 3]>,
    /// Signed distance at the start of the step, m.
    pub gap: Vec<f64>,
    /// Coefficient of friction.
    pub friction: Vec<f64>,
    /// Numbers of the two materials, A's and B's, among the catalogue's; -1 for none.
    pub materials: Vec<[i64; 2]>,
}

/// What joints did in the step that led to a frame; one row each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Joints {
    /// See [`number`].
    pub id: Vec<i64>,
    /// On the second body, N.
    pub force: Vec<[f64; 3]>,
    /// On the second body about the joint's place, N m.
    pub torque: Vec<[f64; 3]>,
    /// Free coordinates, m or rad; NaN where there are fewer than three.
    pub coordinates: Vec<[f64; 3]>,
    /// Force or torque of their motors, N or N m.
    pub motors: Vec<[f64; 3]>,
}

/// A moment of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Steps done.
    pub step: u64,
    /// s
    pub time: f64,
    /// Who moves.
    pub bodies: Bodies,
    /// Who touches.
    pub contacts: Contacts,
    /// Who is joined.
    pub joints: Joints,
}

/// A shape fixed to a body.
#[derive(Clone, Debug, PartialEq)]
pub struct ColliderInfo {
    /// Number of its body.
    pub body: i64,
    /// Number of its shape.
    pub shape: usize,
    /// Relative to the body's centre of mass and axes.
    pub local: Pose,
    /// Coefficient of friction.
    pub friction: f64,
    /// Number of its material.
    pub material: Option<usize>,
}

/// A body as it was when it was first recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyInfo {
    /// See [`number`].
    pub id: i64,
    /// Empty if it has none.
    pub name: String,
    /// How it moves.
    pub motion: Motion,
    /// kg; 0 if it is not dynamic.
    pub mass: f64,
    /// The first frame's step that has it.
    pub step: u64,
    /// Where it was then: static bodies are in no frame.
    pub pose: Pose,
}

/// A joint as it was when it was first recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct JointInfo {
    /// See [`number`].
    pub id: i64,
    /// Empty if it has none.
    pub name: String,
    /// Such as `revolute`.
    pub kind: String,
    /// Numbers of its bodies; [`NOBODY`] for the world.
    pub bodies: [i64; 2],
    /// Its frame on each of them, relative to centre of mass and axes; recordings of older versions do not
    /// say.
    pub frames: Option<[Pose; 2]>,
}

/// Bodies, shapes, joints and materials of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalogue {
    /// In the order in which they came.
    pub bodies: Vec<BodyInfo>,
    /// Body by body, in the same order.
    pub colliders: Vec<ColliderInfo>,
    /// By number.
    pub shapes: Vec<Shape>,
    /// In the order in which they came.
    pub joints: Vec<JointInfo>,
    /// Names, by number.
    pub materials: Vec<String>,
    /// Static bodies that were removed, and the first frame's step without them.
    pub gone: Vec<(i64, u64)>,
}

/// Numbers of every step, by column.
pub const COLUMNS: [&str; 23] = [
    "step",
    "time_s",
    "bodies",
    "contacts",
    "touching",
    "asleep",
    "iterations",
    "converged",
    "residual_m_s",
    "velocity_error_bound_m_s",
    "kinetic_j",
    "potential_j",
    "overlap_max_m",
    "overlap_mean_m",
    "joint_error_m",
    "broadphase_ms",
    "narrowphase_ms",
    "assemble_ms",
    "solve_ms",
    "integrate_ms",
    "correct_ms",
    "certificate_ms",
    "total_ms",
];

/// A row of [`COLUMNS`]; what is not known is NaN.
pub type StepRow = [f64; COLUMNS.len()];

/// The row of the step that was just done, with the wall seconds that it took.
pub fn step_row(world: &World, r: &StepReport, wall: f64) -> StepRow {
    let figures = r.figures.unwrap_or_else(|| world.figures());
    let energy = figures.energy;
    let ms = r.spans.map(|s| 1e3 * s.as_secs_f64());
    let bound = r.certificate.velocity_error_bound(figures.mass).unwrap_or(f64::NAN);
    [
        r.step as f64,
        figures.time,
        figures.dynamic as f64,
        r.contacts as f64,
        r.touching as f64,
        r.asleep as f64,
        r.iterations as f64,
        f64::from(u8::from(r.status == drystone_solve::Status::Converged)),
        r.certificate.residual_max,
        bound,
        energy.kinetic,
        energy.potential,
        r.penetration_max,
        r.penetration_mean,
        figures.joint_error.position,
        ms[0],
        ms[1],
        ms[2],
        ms[3],
        ms[4],
        ms[5],
        ms[6],
        1e3 * wall,
    ]
}

/// Which parts of a moment are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct What {
    /// Contacts with their impulses.
    pub contacts: bool,
    /// Joints with their reactions.
    pub joints: bool,
}

impl Frame {
    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        8 * (14 * self.bodies.id.len() + 15 * self.contacts.gap.len() + 13 * self.joints.id.len())
    }

    /// Of the world as it is.
    pub fn of(world: &World, what: What) -> Self {
        let (model, s) = (world.model(), world.state());
        let id = |slot: u32| model.bodies.get(slot as usize).map_or(NOBODY, |b| number(slot, b.generation));
        let moving: Vec<usize> =
            model.slots().filter(|&i| model.bodies[i].motion != Motion::Static).collect();
        let bodies = Bodies {
            id: each(&moving, |&i| id(i as u32)),
            position: each(&moving, |&i| s.position[i].to_array()),
            orientation: each(&moving, |&i| wxyz(s.rotation[i])),
            velocity: each(&moving, |&i| s.velocity[i].to_array()),
            angular_velocity: each(&moving, |&i| s.world_omega(i).to_array()),
        };
        let touching = if what.contacts { world.contacts() } else { &[] };
        let materials = |c: &Contact| {
            // Colliders are in the order of their slots, bodies with a dynamic one first.
            let mut colliders = c.key.colliders.map(|k| &model.colliders[k as usize]);
            if colliders[0].body != c.bodies[0] {
                colliders.swap(0, 1);
            }
            colliders.map(|c| c.material.map_or(-1, |m| i64::from(m.0)))
        };
        let contacts = Contacts {
            bodies: each(touching, |c| c.bodies.map(id)),
            point: each(touching, |c| c.point.to_array()),
            normal: each(touching, |c| c.normal.to_array()),
            impulse: each(touching, |c| c.impulse.to_array()),
            gap: each(touching, |c| c.gap),
            friction: each(touching, |c| c.mu),
            materials: each(touching, materials),
        };
        let mut frame = Frame { step: s.step, time: s.time, bodies, contacts, ..Frame::default() };
        for joint in world.joints().filter(|_| what.joints) {
            let (Ok(r), Ok(c)) = (world.joint_reaction(joint), world.joint_coordinates(joint)) else {
                continue;
            };
            let to = &mut frame.joints;
            to.id.push(number(joint.slot, joint.generation));
            to.force.push(r.force.to_array());
            to.torque.push(r.torque.to_array());
            to.coordinates.push([0, 1, 2].map(|k| c.get(k).copied().unwrap_or(f64::NAN)));
            to.motors.push([0, 1, 2].map(|k| if k < c.len() { r.motor[k] } else { f64::NAN }));
        }
        frame
    }
}

/// Something of each, in their order; by all threads where there are many.
fn each<S: Sync, T: Send>(of: &[S], make: impl Fn(&S) -> T + Sync) -> Vec<T> {
    of.par_iter().with_min_len(MIN_PARALLEL_ROWS).map(&make).collect()
}

fn wxyz(q: DQuat) -> [f64; 4] {
    [q.w, q.x, q.y, q.z]
}

impl Bodies {
    /// Placement of a row's centre of mass and axes.
    pub fn pose(&self, row: usize) -> Pose {
        let [w, x, y, z] = self.orientation[row];
        Pose::new(DVec3::from_array(self.position[row]), DQuat::from_xyzw(x, y, z, w).normalize())
    }
}

/// What of a joint is written down.
pub(super) fn joint_info(model: &Model, slot: u32) -> JointInfo {
    let j = &model.joints[slot as usize];
    let body = |b: u32| match b {
        WORLD_BODY => NOBODY,
        b => number(b, model.bodies[b as usize].generation),
    };
    JointInfo {
        id: number(slot, j.generation),
        name: j.name.clone().unwrap_or_default(),
        kind: j.kind.name().into(),
        bodies: j.bodies.map(body),
        frames: Some(j.frames),
    }
}
