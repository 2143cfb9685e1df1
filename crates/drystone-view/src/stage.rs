//! What stays as it is while a run goes on: shapes, names, joints. Bodies get numbers in the order in which
//! they come, and keep them: a slot that is given away again is another number.
//!
//! ```text
//!     stage     2  epoch:u32
//!               first body:u32  n:u32, n x motion:u8          1 dynamic, 2 kinematic, 3 static; 4 added: glass
//!               first geometry:u32  n:u32, n x geometry
//!               n:u32 runs of plain balls: first body:u32  count:u32  radius:f32
//!               n:u32 other colliders: body:u32  geometry:u32  flags:u8  [size: f32 | 3 x f32]  [pose: 7 x f32]
//!               n:u32 names: body:u32  text
//!               n:u32 joints: a:i32  b:i32  kind: text  name: text  a's frame, b's frame: 3 x f32 each  axis: 3 x f32
//! ```

mod recorded;

use std::collections::HashMap;

use drystone::joint::{Kind, WORLD_BODY};
use drystone::{Motion, Shape, World};
use glam::{DQuat, DVec3};

use crate::codec::{Put, STAGE};
use crate::geometry::{Geometry, Piece, pieces};

/// A piece of a body.
#[derive(Clone, Debug)]
struct Instance {
    body: u32,
    geometry: u32,
    size: DVec3,
    position: DVec3,
    rotation: DQuat,
}

impl Instance {
    /// Whether it lies elsewhere than its body.
    fn placed(&self) -> bool {
        self.position != DVec3::ZERO || self.rotation != DQuat::IDENTITY
    }
}

/// Two bodies (none: the world) and the joint's frame on each, relative to their centres.
#[derive(Clone, Debug)]
struct Link {
    bodies: [i32; 2],
    kind: String,
    name: String,
    at: [DVec3; 2],
    /// On the first body; zero where the joint has none to show.
    axis: DVec3,
}

/// Shapes, names and joints, with numbers that stay.
#[derive(Clone, Debug, Default)]
pub struct Stage {
    epoch: u32,
    quantum: f64,
    /// By slot: generation and number.
    numbers: Vec<Option<(u32, u32)>>,
    motions: Vec<u8>,
    balls: Vec<bool>,
    slots: Vec<u32>,
    /// By the number that a recording gives a body: the one here.
    recorded: HashMap<i64, u32>,
    instances: Vec<Instance>,
    geometries: Vec<Geometry>,
    known: HashMap<String, u32>,
    names: Vec<(u32, String)>,
    links: Vec<Link>,
    seen_joints: usize,
    glass: Vec<usize>,
}

/// How much of a stage somebody has been told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    epoch: u32,
    bodies: usize,
    instances: usize,
    geometries: usize,
    names: usize,
    links: usize,
}

impl Stage {
    /// The stage of a world; `glass` are the slots of bodies that are not to hide others. `epoch` tells it
    /// from others.
    pub fn new(world: &World, glass: &[usize], epoch: u32) -> Self {
        let mut stage = Self { epoch, quantum: quantum(world), glass: glass.to_vec(), ..Self::default() };
        stage.follow(world);
        stage
    }

    /// Which one it is.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Positions are sent as multiples of this, m: about a thousandth of the smallest moving shape.
    pub fn quantum(&self) -> f64 {
        self.quantum
    }

    /// Bodies so far.
    pub fn bodies(&self) -> usize {
        self.motions.len()
    }

    /// By number: whether its rotation cannot be seen.
    pub fn balls(&self) -> &[bool] {
        &self.balls
    }

    /// The number of the body in a slot.
    pub fn number(&self, slot: usize) -> Option<usize> {
        self.numbers.get(slot).copied().flatten().map(|(_, number)| number as usize)
    }

    /// The slot that a body was in when it came.
    pub fn slot(&self, number: usize) -> Option<u32> {
        self.slots.get(number).copied()
    }

    /// Takes up the bodies and joints that have come since.
    pub fn follow(&mut self, world: &World) {
        let model = world.model();
        self.numbers.resize(model.bodies.len(), None);
        let before = self.bodies();
        for (slot, body) in model.bodies.iter().enumerate() {
            let known = self.numbers[slot].is_some_and(|(generation, _)| generation == body.generation);
            if !body.alive || known {
                continue;
            }
            self.numbers[slot] = Some((body.generation, self.bodies() as u32));
            self.add_body(slot, body.motion, body.name.as_deref());
        }
        if self.bodies() > before {
            self.shapes(world, before);
        }
        self.joints(world);
    }

    fn add_body(&mut self, slot: usize, motion: Motion, name: Option<&str>) {
        let number = self.bodies() as u32;
        let motion = match motion {
            Motion::Dynamic => 1,
            Motion::Kinematic => 2,
            Motion::Static => 3,
        };
        self.motions.push(motion | if self.glass.contains(&slot) { 4 } else { 0 });
        self.balls.push(true);
        self.slots.push(slot as u32);
        if let Some(name) = name.filter(|n| !n.is_empty()) {
            self.names.push((number, name.into()));
        }
    }

    fn shapes(&mut self, world: &World, first: usize) {
        let model = world.model();
        for c in &model.colliders {
            let number = self.number(c.body as usize).filter(|n| *n >= first);
            if let Some(number) = number {
                self.add_shape(number, &c.shape, &c.place());
            }
        }
        self.shapeless(first);
    }

    fn add_shape(&mut self, number: usize, shape: &Shape, place: &drystone::Pose) {
        let bare = matches!(shape, Shape::Sphere { .. }) && place.position == DVec3::ZERO;
        self.balls[number] &= bare;
        for (geometry, pose, size) in self.pieces_of(shape) {
            let pose = place.compose(&pose);
            let body = number as u32;
            let (position, rotation) = (pose.position, pose.rotation);
            self.instances.push(Instance { body, geometry, size, position, rotation });
        }
    }

    fn shapeless(&mut self, first: usize) {
        // What has no shape is not drawn, but turns its joints.
        let mut shaped = vec![false; self.bodies()];
        self.instances.iter().for_each(|i| shaped[i.body as usize] = true);
        (first..self.bodies()).filter(|&i| !shaped[i]).for_each(|i| self.balls[i] = false);
    }

    /// The pieces of a shape with the numbers of their geometries; large ones are kept once for each shape in
    /// memory.
    fn pieces_of(&mut self, shape: &Shape) -> Vec<(u32, drystone::Pose, DVec3)> {
        if let Shape::Sphere { radius } = shape {
            let ball = self.geometry("ball".into(), || Geometry::Ball);
            return vec![(ball, drystone::Pose::IDENTITY, DVec3::splat(*radius))];
        }
        let whole = address(shape);
        let number = |stage: &mut Self, k: usize, (g, pose, size): Piece| {
            let key = match (&g, &whole) {
                (Geometry::Mesh { .. }, Some(address)) => format!("{address} {k}"),
                (Geometry::Mesh { vertices, .. }, None) => format!("{vertices:?}"),
                (other, _) => format!("{other:?}"),
            };
            (stage.geometry(key, || g), pose, size)
        };
        pieces(shape).into_iter().enumerate().map(|(k, p)| number(self, k, p)).collect()
    }

    fn geometry(&mut self, key: String, make: impl FnOnce() -> Geometry) -> u32 {
        let next = self.geometries.len() as u32;
        let number = *self.known.entry(key).or_insert(next);
        if number == next {
            self.geometries.push(make());
        }
        number
    }

    fn joints(&mut self, world: &World) {
        let model = world.model();
        for j in self.seen_joints..model.joints.len() {
            let joint = &model.joints[j];
            let side = |k: usize| match joint.bodies[k] {
                WORLD_BODY => Some(-1),
                slot => self.number(slot as usize).map(|n| n as i32),
            };
            let (Some(a), Some(b)) = (side(0), side(1)) else { continue };
            let has_axis = !matches!(
                joint.kind,
                Kind::Fixed | Kind::Ball | Kind::Distance { .. } | Kind::Rope { .. } | Kind::Spring { .. }
            );
            let z = joint.frames[0].rotation * DVec3::Z;
            self.links.push(Link {
                bodies: [a, b],
                kind: joint.kind.name().into(),
                name: joint.name.clone().unwrap_or_default(),
                at: [joint.frames[0].position, joint.frames[1].position],
                axis: if has_axis { z } else { DVec3::ZERO },
            });
        }
        self.seen_joints = model.joints.len();
    }

    /// The message with what somebody does not know yet, if there is anything.
    pub fn news(&self, told: &mut Told) -> Option<Vec<u8>> {
        if told.epoch != self.epoch {
            *told = Told { epoch: self.epoch, ..Told::default() };
        }
        let now = Told {
            epoch: self.epoch,
            bodies: self.bodies(),
            instances: self.instances.len(),
            geometries: self.geometries.len(),
            names: self.names.len(),
            links: self.links.len(),
        };
        if now == *told {
            return None;
        }
        let before = std::mem::replace(told, now);
        Some(self.message(before))
    }

    fn message(&self, from: Told) -> Vec<u8> {
        let mut out = Vec::new();
        out.u8(STAGE);
        out.u32(self.epoch);
        out.u32(from.bodies as u32);
        out.u32((self.bodies() - from.bodies) as u32);
        out.extend(&self.motions[from.bodies..]);
        out.u32(from.geometries as u32);
        out.u32((self.geometries.len() - from.geometries) as u32);
        self.geometries[from.geometries..].iter().for_each(|g| g.write(&mut out));
        let instances = &self.instances[from.instances..];
        let plain =
            |i: &Instance| matches!(self.geometries[i.geometry as usize], Geometry::Ball) && !i.placed();
        let mut runs: Vec<(u32, u32, f32)> = Vec::new();
        for i in instances.iter().filter(|i| plain(i)) {
            let radius = i.size.x as f32;
            match runs.last_mut() {
                Some((first, count, r)) if *first + *count == i.body && *r == radius => *count += 1,
                _ => runs.push((i.body, 1, radius)),
            }
        }
        out.u32(runs.len() as u32);
        for (first, count, radius) in runs {
            out.u32(first);
            out.u32(count);
            out.f32(radius);
        }
        out.u32(instances.iter().filter(|i| !plain(i)).count() as u32);
        for i in instances.iter().filter(|i| !plain(i)) {
            let even = i.size.x == i.size.y && i.size.y == i.size.z;
            let placed = i.placed();
            out.u32(i.body);
            out.u32(i.geometry);
            out.u8(u8::from(even) | u8::from(placed) << 1);
            let sizes = i.size.to_array();
            sizes[..if even { 1 } else { 3 }].iter().for_each(|x| out.f32(*x as f32));
            if placed {
                let q = i.rotation.to_array();
                i.position.to_array().iter().chain(&q).for_each(|x| out.f32(*x as f32));
            }
        }
        let names = &self.names[from.names..];
        out.u32(names.len() as u32);
        for (body, name) in names {
            out.u32(*body);
            out.text(name);
        }
        let links = &self.links[from.links..];
        out.u32(links.len() as u32);
        for l in links {
            l.bodies.iter().for_each(|b| out.u32(*b as u32));
            out.text(&l.kind);
            out.text(&l.name);
            let all = l.at.iter().chain([&l.axis]);
            all.flat_map(|v| v.to_array()).for_each(|x| out.f32(x as f32));
        }
        out
    }
}

/// One name for all uses of a shape that is kept once in memory.
fn address(shape: &Shape) -> Option<String> {
    use std::sync::Arc;
    Some(match shape {
        Shape::Hull(x) => format!("{:p}", Arc::as_ptr(x)),
        Shape::Mesh(x) => format!("{:p}", Arc::as_ptr(x)),
        Shape::HeightField(x) => format!("{:p}", Arc::as_ptr(x)),
        Shape::Compound(x) => format!("{:p}", Arc::as_ptr(x)),
        _ => return None,
    })
}

fn quantum(world: &World) -> f64 {
    let model = world.model();
    let moves = |body: u32| model.bodies.get(body as usize).is_some_and(|b| b.motion != Motion::Static);
    let sizes = model.colliders.iter().filter(|c| moves(c.body)).map(|c| c.shape.inner_radius());
    quantum_of(sizes, world.state().position.iter().copied())
}

/// Of the inner radii of moving shapes and the places of all bodies: a power of two, so that multiples of it
/// are exact.
fn quantum_of(sizes: impl Iterator<Item = f64>, places: impl Iterator<Item = DVec3>) -> f64 {
    let least = sizes.filter(|x| x.is_finite() && *x > 0.0).fold(f64::INFINITY, f64::min);
    let least = if least.is_finite() { least } else { 1.0 };
    // Coarser where the world is so wide that numbers of 32 bits would run out.
    let far = places.map(|x| x.abs().max_element()).filter(|x| x.is_finite());
    let wide = far.fold(0.0, f64::max) / f64::from(1 << 24);
    (1e-3 * least).max(wide).log2().floor().exp2()
}
