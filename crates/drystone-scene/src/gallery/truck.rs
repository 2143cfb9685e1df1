//! A forklift truck [TasoraAnitescu2011, section 6.1]: frame, two front wheels, steering strut with the driven rear wheel,
//! mast and carriage, in six joints; and a EUR pallet with a load.
//!
//! The paper gives the parts and joints but no sizes. These are of a small three-wheel counterbalance truck (wheelbase
//! 1.25 m, 2.4 t); the pallet is of the size of EN 13698-1, its deck boards drawn together to one slab.
//!
//! Bilateral rows: six joints of five, three rheonomic constraints (tilt, lift, steering) and the drive's: 34, as many as
//! in the paper. The drive asks for a speed and has a largest torque; brakes are dry friction in the front wheels.
//!
//! Truck axes: x ahead, z up, the origin on the ground under the middle of the front axle.

use drystone::{BodyDef, Function, JointDef, Motor};
use glam::{DQuat, DVec3};

use super::machine::{Part, assembly, body_id, slab, wheel};
use crate::SceneError;
use crate::control::{Control, Quantity};

/// Bodies of a truck with its pallet, in their order.
pub(super) const BODIES: usize = 8;
pub(super) const FRAME: usize = 0;
pub(super) const PALLET: usize = 7;
/// Joints of a truck, in their order.
pub(super) const JOINTS: usize = 6;
pub(super) const WHEELS: [usize; 2] = [0, 1];
pub(super) const LIFT: usize = 5;

/// From the front axle to the steered wheel, m.
pub(super) const WHEELBASE: f64 = 1.25;
/// Half the track of the front wheels, their radius, and that of the rear wheel, m.
const TRACK: f64 = 0.44;
const FRONT: f64 = 0.23;
pub(super) const REAR: f64 = 0.2;
/// Half width of all wheels, m.
const TYRE: f64 = 0.08;
/// Where the mast is hinged, m.
const HINGE: DVec3 = DVec3::new(0.12, 0.0, 0.23);
/// The face that a load leans on, and how far the forks reach beyond it, m.
pub(super) const FACE: f64 = 0.31;
pub(super) const FORK: f64 = 1.15;

/// The pallet: length along the forks, width, height, m; its mass, kg.
pub(super) const EUR: DVec3 = DVec3::new(1.2, 0.8, 0.144);
const PALLET_MASS: f64 = 25.0;
/// Thickness of its boards, height and width of its blocks and bottom boards, m.
const BOARD: f64 = 0.022;
const BLOCK: f64 = 0.078;
const SIDE: f64 = 0.1;
const MIDDLE: f64 = 0.145;

/// What a truck is told to do, as functions of time.
pub(super) struct Commands {
    /// Speed of the driven wheel's tread, m/s, ahead positive.
    pub speed: Function,
    /// Angle of the steering strut, rad.
    pub steer: Function,
    /// Height of the carriage, m.
    pub lift: Function,
    /// Angle of the mast, rad: negative leans back.
    pub tilt: Function,
    /// Largest torque of the drive, N m.
    pub torque: f64,
}

/// A placement of truck axes in the world.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub at: DVec3,
    pub heading: f64,
}

impl Place {
    fn turn(&self) -> DQuat {
        DQuat::from_rotation_z(self.heading)
    }

    pub fn point(&self, x: DVec3) -> DVec3 {
        self.at + self.turn() * x
    }
}

fn frame(mu: f64) -> Result<BodyDef, SceneError> {
    let post = |x: f64, y: f64, foot: f64| slab([x - 0.03, y - 0.03, foot], [x + 0.03, y + 0.03, 2.05], 12.0);
    let parts: Vec<Part> = vec![
        slab([-1.0, -0.34, 0.12], [0.1, 0.34, 0.55], 850.0),
        slab([-1.6, -0.5, 0.46], [-0.75, 0.5, 1.0], 950.0),
        slab([-0.95, -0.22, 1.0], [-0.5, 0.22, 1.1], 15.0),
        slab([-0.98, -0.22, 1.1], [-0.88, 0.22, 1.5], 10.0),
        slab([-0.05, -0.3, 0.55], [0.08, 0.3, 1.05], 35.0),
        post(0.03, 0.31, 1.0),
        post(0.03, -0.31, 1.0),
        post(-1.25, 0.42, 1.0),
        post(-1.25, -0.42, 1.0),
        slab([-1.32, -0.46, 2.05], [0.1, 0.46, 2.1], 40.0),
    ];
    assembly(parts, mu)
}

fn strut(mu: f64) -> Result<BodyDef, SceneError> {
    let x = -WHEELBASE;
    assembly(
        vec![
            slab([x - 0.08, -0.13, 0.41], [x + 0.08, 0.13, 0.45], 15.0),
            slab([x - 0.05, 0.1, 0.16], [x + 0.05, 0.13, 0.41], 5.0),
            slab([x - 0.05, -0.13, 0.16], [x + 0.05, -0.1, 0.41], 5.0),
        ],
        mu,
    )
}

fn mast(mu: f64) -> Result<BodyDef, SceneError> {
    assembly(
        vec![
            slab([0.16, 0.22, 0.1], [0.26, 0.32, 1.95], 90.0),
            slab([0.16, -0.32, 0.1], [0.26, -0.22, 1.95], 90.0),
            slab([0.17, -0.22, 1.85], [0.21, 0.22, 1.95], 20.0),
            slab([0.17, -0.22, 0.3], [0.21, 0.22, 0.4], 20.0),
        ],
        mu,
    )
}

/// Distance of the forks' middles from the truck's: the middle of a pallet's openings.
const APART: f64 = 0.25 * (EUR.y - 2.0 * SIDE + MIDDLE);

fn carriage(mu: f64) -> Result<BodyDef, SceneError> {
    let fork = |y: f64| slab([FACE, y - 0.05, 0.04], [FACE + FORK, y + 0.05, 0.08], 30.0);
    let bar = |y: f64| slab([0.28, y - 0.015, 0.45], [FACE, y + 0.015, 1.0], 4.0);
    assembly(
        vec![
            slab([0.27, -0.45, 0.04], [FACE, 0.45, 0.14], 25.0),
            slab([0.27, -0.45, 0.35], [FACE, 0.45, 0.45], 25.0),
            slab([0.28, -0.45, 1.0], [FACE, 0.45, 1.03], 6.0),
            slab([0.27, -0.1, 0.14], [FACE, 0.1, 0.35], 12.0),
            bar(-0.43),
            bar(-0.15),
            bar(0.15),
            bar(0.43),
            fork(-APART),
            fork(APART),
        ],
        mu,
    )
}

/// A pallet whose origin is the middle of its bottom, with a crate of this mass on it.
fn pallet(load: f64, mu: f64) -> Result<BodyDef, SceneError> {
    let half = 0.5 * EUR;
    let rows = [(-half.y, -half.y + SIDE), (-0.5 * MIDDLE, 0.5 * MIDDLE), (half.y - SIDE, half.y)];
    let deck = BOARD + BLOCK;
    // Volumes say how the pallet's mass is shared out.
    let mut parts: Vec<Part> = vec![slab([-half.x, -half.y, deck], [half.x, half.y, EUR.z], 1.0)];
    for (left, right) in rows {
        parts.push(slab([-half.x, left, 0.0], [half.x, right, BOARD], 1.0));
        for x in [-half.x + 0.5 * MIDDLE, 0.0, half.x - 0.5 * MIDDLE] {
            let (back, front) = (x - 0.5 * MIDDLE, x + 0.5 * MIDDLE);
            parts.push(slab([back, left, BOARD], [front, right, deck], 1.0));
        }
    }
    let volume: f64 = parts.iter().map(|(_, shape, _)| shape.volume()).sum();
    parts.iter_mut().for_each(|(_, shape, m)| *m = PALLET_MASS * shape.volume() / volume);
    if load > 0.0 {
        parts.push(slab(
            [-half.x + 0.05, -half.y + 0.05, EUR.z],
            [half.x - 0.05, half.y - 0.05, EUR.z + 0.6],
            load,
        ));
    }
    assembly(parts, mu)
}

/// The bodies of truck number `k`, its pallet (`ahead` in front of the forks' tips) the last.
pub(super) fn bodies(
    k: usize,
    place: Place,
    load: f64,
    ahead: f64,
    mu: f64,
) -> Result<Vec<BodyDef>, SceneError> {
    let group = k as u32 + 1;
    let put = |body: BodyDef, at: DVec3, name: &str, group: u32| BodyDef {
        group,
        ..body.at(place.point(at)).turned(place.turn()).friction(mu).named(name)
    };
    let front = || wheel(FRONT, TYRE, 35.0);
    let waits = DVec3::new(FACE + FORK + ahead + 0.5 * EUR.x, 0.0, 0.0);
    Ok(vec![
        put(frame(mu)?, DVec3::ZERO, "frame", group),
        put(front(), DVec3::new(0.0, TRACK, FRONT), "left wheel", group),
        put(front(), DVec3::new(0.0, -TRACK, FRONT), "right wheel", group),
        put(strut(mu)?, DVec3::ZERO, "strut", group),
        put(wheel(REAR, TYRE, 30.0), DVec3::new(-WHEELBASE, 0.0, REAR), "rear wheel", group),
        put(mast(mu)?, DVec3::ZERO, "mast", group),
        put(carriage(mu)?, DVec3::ZERO, "carriage", group),
        put(pallet(load, mu)?, waits, "pallet", 0),
    ])
}

/// The joints of truck number `k`.
pub(super) fn joints(k: usize, place: Place, commands: &Commands) -> Vec<JointDef> {
    let id = |i: usize| body_id(BODIES * k + i);
    let axis = |v: DVec3| place.turn() * v;
    let speed = match &commands.speed {
        Function::Table(table) => {
            let mut turns = table.clone();
            turns.points.iter_mut().for_each(|p| p[1] /= REAR);
            Function::Table(turns)
        }
        other => other.clone(),
    };
    let at = |x: f64, y: f64, z: f64| place.point(DVec3::new(x, y, z));
    let rear = at(-WHEELBASE, 0.0, REAR);
    vec![
        JointDef::revolute(id(0), id(1), at(0.0, TRACK, FRONT), axis(DVec3::Y)).named("left wheel"),
        JointDef::revolute(id(0), id(2), at(0.0, -TRACK, FRONT), axis(DVec3::Y)).named("right wheel"),
        JointDef::revolute(id(0), id(3), at(-WHEELBASE, 0.0, 0.45), axis(DVec3::Z))
            .motor(0, Motor::position(commands.steer.clone()))
            .named("steering"),
        JointDef::revolute(id(3), id(4), rear, axis(DVec3::Y))
            .motor(0, Motor::speed(speed).limited(commands.torque))
            .named("drive"),
        JointDef::revolute(id(0), id(5), place.point(HINGE), axis(DVec3::Y))
            .motor(0, Motor::position(commands.tilt.clone()))
            .named("tilt"),
        JointDef::prismatic(id(5), id(6), at(FACE, 0.0, 0.5), axis(DVec3::Z))
            .motor(0, Motor::position(commands.lift.clone()))
            .named("lift"),
    ]
}

/// What the driver of `count` trucks moves: all of them do the same.
pub(super) fn controls(count: usize) -> Vec<Control> {
    let [steering, drive, tilt, lift] = [2, 3, 4, LIFT];
    let degrees = std::f64::consts::PI / 180.0;
    let all = |control: Control, joints: &[usize], quantity: Quantity, scale: f64| {
        let slots = (0..count).flat_map(|k| joints.iter().map(move |j| (JOINTS * k + j) as u32));
        slots.fold(control, |c, slot| c.commands(slot, quantity, scale))
    };
    // The rear wheel steers: turned to the left it takes the truck to the right.
    let steer = Control::new("steering", "deg", [-50.0, 50.0]).at_rate(60.0);
    let throttle = Control::new("throttle", "m/s", [-2.0, 2.0]).at_rate(1.5);
    let brake = Control::new("brake", "N m", [0.0, 400.0]).at_rate(2000.0);
    let lifts = Control::new("lift", "m", [0.0, 1.4]).at_rate(0.25).lever();
    let tilts = Control::new("tilt back", "deg", [-4.0, 6.0]).at_rate(5.0).lever();
    vec![
        all(throttle.bound("ArrowUp", "ArrowDown", "buttons 7 6"), &[drive], Quantity::Speed, 1.0 / REAR),
        all(steer.bound("ArrowLeft", "ArrowRight", "-axis 0"), &[steering], Quantity::Position, -degrees),
        all(brake.bound("Space", "", "button 0"), &WHEELS, Quantity::Friction, 1.0),
        all(lifts.bound("KeyR", "KeyF", "-axis 3"), &[lift], Quantity::Position, 1.0),
        all(tilts.bound("KeyT", "KeyG", "buttons 5 4"), &[tilt], Quantity::Position, -degrees),
    ]
}
