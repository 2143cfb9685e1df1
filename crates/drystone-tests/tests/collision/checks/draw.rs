//! Shapes and placements out of bytes: all kinds, sizes from a millimetre to a kilometre, and the placements
//! that make trouble more often than chance would.

use std::sync::Arc;

use drystone::random::Random;
use drystone::shape::{Hull, Pose, Shape};
use glam::{DQuat, DVec3};

use super::bytes::Bytes;
use super::solid;

/// Sizes, m.
pub const SMALLEST: f64 = 1e-3;
pub const LARGEST: f64 = 1e3;

/// Two shapes in their places, and how far apart they may be to have contacts.
#[derive(Debug)]
pub struct Case {
    pub a: Shape,
    pub pose_a: Pose,
    pub b: Shape,
    pub pose_b: Pose,
    pub reach: f64,
}

/// The size that the dimensions of one shape are around, m.
fn base(bytes: &mut Bytes) -> f64 {
    match bytes.pick(8) {
        0..=3 => 1.0,
        4 => SMALLEST,
        5 => LARGEST,
        _ => bytes.magnitude(SMALLEST, LARGEST),
    }
}

fn size(bytes: &mut Bytes, base: f64) -> f64 {
    let times = match bytes.pick(8) {
        0..=2 => 1.0,
        3 => 0.5,
        4 => 2.0,
        5 | 6 => bytes.between(0.2, 2.0),
        _ => bytes.magnitude(SMALLEST / LARGEST, LARGEST / SMALLEST),
    };
    (base * times).clamp(SMALLEST, LARGEST)
}

fn sizes(bytes: &mut Bytes, base: f64) -> DVec3 {
    DVec3::new(size(bytes, base), size(bytes, base), size(bytes, base))
}

/// Any bounded convex shape, unless the bytes ask for a hull without volume.
pub fn convex(bytes: &mut Bytes) -> Option<Shape> {
    let base = base(bytes);
    Some(match bytes.pick(8) {
        0 => Shape::Sphere { radius: size(bytes, base) },
        1 => Shape::Box { half: sizes(bytes, base) },
        2 => {
            let radius = size(bytes, base);
            Shape::Capsule { radius, half_length: if bytes.pick(8) == 0 { 0.0 } else { size(bytes, base) } }
        }
        3 => Shape::Cylinder { radius: size(bytes, base), half_length: size(bytes, base) },
        4 => Shape::Cone { radius: size(bytes, base), height: size(bytes, base) },
        5 => Shape::Ellipsoid { half: sizes(bytes, base) },
        6 => hull(bytes, base)?,
        _ => {
            let core = match bytes.pick(4) {
                0 => Shape::Box { half: sizes(bytes, base) },
                1 => Shape::Cylinder { radius: size(bytes, base), half_length: size(bytes, base) },
                2 => Shape::Cone { radius: size(bytes, base), height: size(bytes, base) },
                _ => hull(bytes, base)?,
            };
            Shape::Rounded { core: Arc::new(core), radius: size(bytes, base) }
        }
    })
}

/// A box of points, a prism, points of a lattice, few points anywhere, or many on an ellipsoid.
pub fn hull_points(bytes: &mut Bytes, base: f64) -> Vec<DVec3> {
    let half = sizes(bytes, base);
    let shift = if bytes.pick(2) == 0 { DVec3::ZERO } else { bytes.vector() };
    let mut random = Random::new(u64::from(bytes.byte()));
    let mut points: Vec<DVec3> = match bytes.pick(5) {
        0 => (0..8)
            .map(|k| {
                let side = |bit: u32| if k >> bit & 1 == 0 { -1.0 } else { 1.0 };
                DVec3::new(side(0), side(1), side(2))
            })
            .collect(),
        1 => {
            let n = 3 + u32::from(bytes.pick(40));
            let narrow = bytes.one_of(&[1.0, 0.5, 0.0]);
            (0..2 * n)
                .map(|k| {
                    let (sin, cos) = (std::f64::consts::TAU * f64::from(k / 2) / f64::from(n)).sin_cos();
                    let (r, z) = if k % 2 == 0 { (1.0, -1.0) } else { (narrow, 1.0) };
                    DVec3::new(r * cos, r * sin, z)
                })
                .collect()
        }
        2 => {
            let n = 4 + bytes.pick(16);
            let third = |r: &mut Random| (r.next_u64() % 3) as f64 - 1.0;
            (0..n).map(|_| DVec3::new(third(&mut random), third(&mut random), third(&mut random))).collect()
        }
        3 => (0..4 + bytes.pick(8)).map(|_| random.in_box(DVec3::NEG_ONE, DVec3::ONE)).collect(),
        _ => (0..10 + bytes.pick(90)).map(|_| random.unit_vector()).collect(),
    };
    let noise = bytes.one_of(&[0.0, 0.0, 0.0, 1e-14, 1e-10, 1e-6, 1e-3]);
    for p in &mut points {
        *p = (*p + shift + noise * random.unit_vector()) * half;
    }
    points
}

fn hull(bytes: &mut Bytes, base: f64) -> Option<Shape> {
    Hull::new(&hull_points(bytes, base)).ok().map(Shape::from)
}

/// A place for B next to A: their support planes meet along some direction, more or less.
fn beside(bytes: &mut Bytes, a: &Shape, turn_a: DQuat, b: &Shape, turn_b: DQuat) -> DVec3 {
    let n = if bytes.pick(2) == 0 { bytes.direction() } else { turn_a * bytes.direction() };
    let top = turn_a * solid::support(a, turn_a.conjugate() * n);
    let bottom = turn_b * solid::support(b, turn_b.conjugate() * -n);
    let small = solid::extent(a).min(solid::extent(b)).min(LARGEST);
    let off = match bytes.pick(6) {
        0 | 1 => 0.0,
        2 => small * bytes.magnitude(1e-16, 1e-2),
        3 => -small * bytes.magnitude(1e-16, 1e-2),
        4 => small * bytes.unit(),
        _ => -small * bytes.unit(),
    };
    let mut place = n * (n.dot(top - bottom) + off);
    // Across the direction: centre over centre, the furthest points over each other, or elsewhere.
    let across = |v: DVec3| v - n * n.dot(v);
    match bytes.pick(4) {
        0 => {}
        1 => place += across(top - bottom),
        2 => place += across(bytes.vector()) * small,
        _ => place += across(bytes.vector()) * (solid::extent(a) + solid::extent(b)).min(2.0 * LARGEST),
    }
    place
}

/// Places for A and B.
pub fn poses(bytes: &mut Bytes, a: &Shape, b: &Shape) -> (Pose, Pose) {
    let (turn_a, turn_b) = (bytes.rotation(), bytes.rotation());
    let place = match bytes.pick(8) {
        0 => DVec3::ZERO,
        1 => bytes.vector() * solid::extent(a).max(solid::extent(b)).min(LARGEST),
        2 => bytes.vector() * solid::extent(a).min(solid::extent(b)).min(LARGEST),
        _ => beside(bytes, a, turn_a, b, turn_b),
    };
    // The whole scene somewhere else.
    let frame = match bytes.pick(4) {
        0..=2 => Pose::IDENTITY,
        _ => Pose::new(bytes.vector() * bytes.one_of(&[0.0, 1.0, 1e3]), bytes.rotation()),
    };
    (frame.compose(&Pose::new(DVec3::ZERO, turn_a)), frame.compose(&Pose::new(place, turn_b)))
}

/// How far to look: not at all, a little, or without end.
pub fn reach(bytes: &mut Bytes, size: f64) -> f64 {
    match bytes.pick(4) {
        0 => 0.0,
        1 => f64::INFINITY,
        _ => size * bytes.magnitude(1e-6, 10.0),
    }
}

/// Two convex shapes, of which one may be a half-space.
pub fn convex_pair(bytes: &mut Bytes) -> Option<Case> {
    let kinds = bytes.pick(8);
    let a = if kinds == 0 { Shape::HalfSpace } else { convex(bytes)? };
    let b = match kinds {
        1 => Shape::HalfSpace,
        2 => a.clone(),
        _ => convex(bytes)?,
    };
    let (pose_a, pose_b) = poses(bytes, &a, &b);
    let reach = reach(bytes, solid::extent(&a).min(solid::extent(&b)));
    Some(Case { a, pose_a, b, pose_b, reach })
}

impl Case {
    /// As Rust spells it, short of the shapes' inner workings.
    pub fn describe(&self) -> String {
        let Case { a, pose_a, b, pose_b, reach } = self;
        format!("A {}\n  {pose_a:?}\nB {}\n  {pose_b:?}\nreach {reach:?}", spelled(a), spelled(b))
    }
}

fn spelled(shape: &Shape) -> String {
    match shape {
        Shape::Hull(hull) => format!("Hull {:?}", hull.vertices()),
        Shape::Rounded { core, radius } => {
            format!("Rounded {{ core: {}, radius: {radius:?} }}", spelled(core))
        }
        _ => format!("{shape:?}"),
    }
}
