//! A forklift truck [TasoraAnitescu2011, section 6.1]: frame, two front wheels, steering strut with the
//! driven rear wheel, mast and carriage, in six joints; and a EUR pallet with a load.
//!
//! The paper gives the parts and joints but no sizes. There are two trucks. [`Kind::Counterbalance`] has the
//! sizes of a small three-wheel counterbalance truck (wheelbase 1.25 m, 2.4 t). [`Kind::Light`] has the
//! sizes, masses and moments of inertia of the program that the paper's first author published with his
//! engine [TasoraForklift]: 430 kg, a mast of 100 kg, parts with moments of inertia like large balls. It has
//! the paper's 34 rows, 20 iterations and 5 ms, so that the paper's figures are most likely its. The pallet
//! is of the size of EN 13698-1, its deck boards drawn together to one slab; the light truck enters it from
//! its long side.
//!
//! Bilateral rows: six joints of five, three rheonomic constraints (tilt, lift, steering) and the drive's:
//! 34, as many as in the paper. The drive asks for a speed and has a largest torque; brakes are dry friction
//! in the front wheels.
//!
//! Truck axes: x ahead, z up, the origin on the ground under the middle of the front axle.

use std::f64::consts::FRAC_PI_2;

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

/// Which of the two trucks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Counterbalance,
    Light,
}

/// Lengths of a truck, m, in its axes.
pub(super) struct Sizes {
    /// From the front axle to the steered wheel.
    pub wheelbase: f64,
    /// Half the track of the front wheels, their radius, and that of the rear wheel.
    track: f64,
    front: f64,
    pub rear: f64,
    /// Half width of all wheels.
    tyre: f64,
    /// Height of the steering joint.
    steering: f64,
    /// Where the mast is hinged, and where the carriage is guided.
    hinge: DVec3,
    guide: DVec3,
    /// The face that a load leans on, and how far the forks reach beyond it.
    pub face: f64,
    pub fork: f64,
    /// Length of the pallet along the forks.
    pub pallet: f64,
}

impl Kind {
    pub fn sizes(self) -> Sizes {
        match self {
            Kind::Counterbalance => Sizes {
                wheelbase: WHEELBASE,
                track: 0.44,
                front: 0.23,
                rear: 0.2,
                tyre: 0.08,
                steering: 0.45,
                hinge: DVec3::new(0.12, 0.0, 0.23),
                guide: DVec3::new(FACE, 0.0, 0.5),
                face: FACE,
                fork: FORK,
                pallet: EUR.x,
            },
            Kind::Light => Sizes {
                wheelbase: light::WHEELBASE,
                track: 0.566,
                front: light::WHEEL,
                rear: light::WHEEL,
                tyre: 0.1,
                steering: light::WHEEL,
                hinge: light::PIVOT,
                guide: light::PIVOT,
                face: light::FACE,
                fork: light::FORK,
                pallet: EUR.y,
            },
        }
    }
}

/// The face that a load leans on, and how far the forks reach beyond it, m.
const FACE: f64 = 0.31;
const FORK: f64 = 1.15;
/// From the front axle to the steered wheel, m.
const WHEELBASE: f64 = 1.25;

/// The pallet: length, width, height, m; its mass, kg.
const EUR: DVec3 = DVec3::new(1.2, 0.8, 0.144);
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
const FORK_DISTANCE: f64 = 0.25 * (EUR.y - 2.0 * SIDE + MIDDLE);

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
            fork(-FORK_DISTANCE),
            fork(FORK_DISTANCE),
        ],
        mu,
    )
}

/// The truck of [TasoraForklift], in our axes: its z is our x, its y our z, both counted from our origin.
mod light {
    use super::{Part, assembly, slab, wheel};
    use crate::SceneError;
    use drystone::{BodyDef, MassProperties};
    use glam::{DMat3, DVec3};

    pub const WHEELBASE: f64 = 1.605;
    /// Radius of all wheels, m.
    pub const WHEEL: f64 = 0.28;
    /// Where the mast is hinged and the carriage guided, m.
    pub const PIVOT: DVec3 = DVec3::new(0.247, 0.0, 0.148);
    /// Of the forks' back, and their length, m.
    pub const FACE: f64 = 0.5335;
    pub const FORK: f64 = 1.088;
    /// Centres of mass of frame, mast and carriage, m.
    const FRAME: DVec3 = DVec3::new(-1.108, 0.0, 0.398);
    const MAST: DVec3 = DVec3::new(0.247, 0.0, 1.298);
    const CARRIAGE: DVec3 = DVec3::new(0.492, 0.0, 0.36);

    /// The same moment of inertia about every axis, kg m².
    fn ball(mass: f64, centre: DVec3, inertia: f64) -> MassProperties {
        MassProperties { mass, centre, inertia: DMat3::from_diagonal(DVec3::splat(inertia)) }
    }

    /// A box about a place relative to a centre of mass.
    fn part(centre: DVec3, at: [f64; 3], sides: [f64; 3]) -> Part {
        let (at, half) = (centre + DVec3::from_array(at), 0.5 * DVec3::from_array(sides));
        slab((at - half).to_array(), (at + half).to_array(), 1.0)
    }

    fn body(parts: Vec<Part>, mass: MassProperties, mu: f64) -> Result<BodyDef, SceneError> {
        Ok(BodyDef { mass, ..assembly(parts, mu)? })
    }

    pub fn frame(mu: f64) -> Result<BodyDef, SceneError> {
        let side = |y: f64| part(FRAME, [-0.047, y, 0.153], [1.201, 0.187, 0.773]);
        let parts =
            vec![part(FRAME, [0.192, -0.003, 1.019], [1.864, 1.227, 1.621]), side(0.486), side(-0.486)];
        body(parts, ball(200.0, FRAME, 100.0), mu)
    }

    pub fn wheel_of(half_width: f64) -> BodyDef {
        BodyDef { mass: ball(20.0, DVec3::ZERO, 2.0), ..wheel(WHEEL, half_width, 20.0) }
    }

    /// Spindle and mast touch nothing.
    pub fn strut() -> BodyDef {
        BodyDef::bare(ball(10.0, DVec3::new(-WHEELBASE, 0.0, WHEEL), 1.0))
    }

    pub fn mast() -> BodyDef {
        BodyDef::bare(ball(100.0, MAST, 30.0))
    }

    pub fn carriage(mu: f64) -> Result<BodyDef, SceneError> {
        let fork = |y: f64| part(CARRIAGE, [0.613, y, -0.312], [1.033, 0.1, 0.032]);
        let back = part(CARRIAGE, [-0.009, 0.0, 0.321], [0.101, 0.344, 1.134]);
        body(vec![fork(-0.352), fork(0.352), back], ball(60.0, CARRIAGE, 15.0), mu)
    }

    /// An empty pallet.
    pub fn pallet(centre: DVec3) -> MassProperties {
        ball(15.0, centre, 3.0)
    }
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
    kind: Kind,
    k: usize,
    place: Place,
    load: f64,
    ahead: f64,
    mu: f64,
) -> Result<Vec<BodyDef>, SceneError> {
    let group = k as u32 + 1;
    let put = |body: BodyDef, at: DVec3, name: &str, group: u32| BodyDef {
        group,
        rotation: place.turn() * body.rotation,
        ..body.at(place.point(at)).friction(mu).named(name)
    };
    let s = kind.sizes();
    let waits = DVec3::new(s.face + s.fork + ahead + 0.5 * s.pallet, 0.0, 0.0);
    let rear = DVec3::new(-s.wheelbase, 0.0, s.rear);
    let mut pallet = pallet(load, mu)?;
    let (parts, wheels) = match kind {
        Kind::Counterbalance => {
            let wheels = [wheel(s.front, s.tyre, 35.0), wheel(s.rear, s.tyre, 30.0)];
            ([frame(mu)?, strut(mu)?, mast(mu)?, carriage(mu)?], wheels)
        }
        Kind::Light => {
            if load == 0.0 {
                pallet.mass = light::pallet(pallet.mass.centre);
            }
            pallet.rotation = DQuat::from_rotation_z(FRAC_PI_2);
            let wheels = [light::wheel_of(s.tyre), light::wheel_of(s.tyre)];
            ([light::frame(mu)?, light::strut(), light::mast(), light::carriage(mu)?], wheels)
        }
    };
    let ([frame, strut, mast, carriage], [front, back]) = (parts, wheels);
    Ok(vec![
        put(frame, DVec3::ZERO, "frame", group),
        put(front.clone(), DVec3::new(0.0, s.track, s.front), "left wheel", group),
        put(front, DVec3::new(0.0, -s.track, s.front), "right wheel", group),
        put(strut, DVec3::ZERO, "strut", group),
        put(back, rear, "rear wheel", group),
        put(mast, DVec3::ZERO, "mast", group),
        put(carriage, DVec3::ZERO, "carriage", group),
        put(pallet, waits, "pallet", 0),
    ])
}

/// The joints of truck number `k`.
pub(super) fn joints(kind: Kind, k: usize, place: Place, commands: &Commands) -> Vec<JointDef> {
    let s = kind.sizes();
    let id = |i: usize| body_id(BODIES * k + i);
    let axis = |v: DVec3| place.turn() * v;
    let speed = match &commands.speed {
        Function::Table(table) => {
            let mut turns = table.clone();
            turns.points.iter_mut().for_each(|p| p[1] /= s.rear);
            Function::Table(turns)
        }
        other => other.clone(),
    };
    let at = |x: f64, y: f64, z: f64| place.point(DVec3::new(x, y, z));
    let rear = at(-s.wheelbase, 0.0, s.rear);
    vec![
        JointDef::revolute(id(0), id(1), at(0.0, s.track, s.front), axis(DVec3::Y)).named("left wheel"),
        JointDef::revolute(id(0), id(2), at(0.0, -s.track, s.front), axis(DVec3::Y)).named("right wheel"),
        JointDef::revolute(id(0), id(3), at(-s.wheelbase, 0.0, s.steering), axis(DVec3::Z))
            .motor(0, Motor::position(commands.steer.clone()))
            .named("steering"),
        JointDef::revolute(id(3), id(4), rear, axis(DVec3::Y))
            .motor(0, Motor::speed(speed).limited(commands.torque))
            .named("drive"),
        JointDef::revolute(id(0), id(5), place.point(s.hinge), axis(DVec3::Y))
            .motor(0, Motor::position(commands.tilt.clone()))
            .named("tilt"),
        JointDef::prismatic(id(5), id(6), place.point(s.guide), axis(DVec3::Z))
            .motor(0, Motor::position(commands.lift.clone()))
            .named("lift"),
    ]
}

/// What the driver of `count` trucks moves: all of them do the same.
pub(super) fn controls(kind: Kind, count: usize) -> Vec<Control> {
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
        all(
            throttle.bound("ArrowUp", "ArrowDown", "buttons 7 6"),
            &[drive],
            Quantity::Speed,
            1.0 / kind.sizes().rear,
        ),
        all(steer.bound("ArrowLeft", "ArrowRight", "-axis 0"), &[steering], Quantity::Position, -degrees),
        all(brake.bound("Space", "", "button 0"), &WHEELS, Quantity::Friction, 1.0),
        all(lifts.bound("KeyR", "KeyF", "-axis 3"), &[lift], Quantity::Position, 1.0),
        all(tilts.bound("KeyT", "KeyG", "buttons 5 4"), &[tilt], Quantity::Position, -degrees),
    ]
}
