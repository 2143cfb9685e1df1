//! Grains on their way to the device and back.

use drystone::collide::narrowphase::{Manifold, contacts};
use drystone::grains::{FixedShape, GrainContact, GrainMotion, RESOLVED};
use drystone::{Pose, Shape, World};
use glam::{DQuat, DVec3};

use super::layout::{FIXED, FIXED_NUMBERS, shape};
use super::{GrainArgs, GrainsOnDevice};
use crate::engine::HostMemory;
use crate::error::Error;

/// Buckets of cells for each grain.
const BUCKETS: usize = 2;

/// The numbers of a fixed shape: kind, surface, inner radius, centre, three axes, measures.
fn numbers(f: &FixedShape) -> [f64; FIXED_NUMBERS] {
    let (kind, measures) = match &f.shape {
        Shape::Sphere { radius } => (shape::SPHERE, [*radius, 0.0, 0.0]),
        Shape::Capsule { radius, half_length } => (shape::CAPSULE, [*radius, *half_length, 0.0]),
        Shape::Box { half } => (shape::BOX, half.to_array()),
        _ => (shape::HALF_SPACE, [0.0; 3]),
    };
    let axes = [DVec3::X, DVec3::Y, DVec3::Z].map(|axis| f.pose.rotation * axis);
    let mut out = [0.0; FIXED_NUMBERS];
    out[0] = kind;
    out[1] = f.surface as f64;
    out[2] = f.shape.inner_radius();
    out[3..6].copy_from_slice(&f.pose.position.to_array());
    for (k, axis) in axes.iter().enumerate() {
        out[6 + 3 * k..9 + 3 * k].copy_from_slice(&axis.to_array());
    }
    out[15..18].copy_from_slice(&measures);
    out
}

/// Writes numbers, `width` of them for each of `count` items, and copies them to the device.
fn send<const W: usize>(
    stage: &mut HostMemory,
    stream: usize,
    to: u64,
    count: usize,
    item: impl Fn(usize) -> [f64; W] + Sync,
) -> Result<(), Error> {
    if count == 0 {
        return Ok(());
    }
    stage.reserve(W * count)?;
    crate::pack::fill(&mut stage.words()[..W * count], W, |i, words| {
        words.iter_mut().zip(item(i)).for_each(|(word, x)| *word = x.to_bits());
    });
    stage.upload(to, W * count, stream)
}

impl GrainsOnDevice {
    /// Everything of the world goes to the device; nothing is known of its last contacts there.
    pub(super) fn place(&mut self, world: &World) -> Result<(), Error> {
        let (grains, s) = (&self.world.grains, &self.settings);
        let envelope = world.envelope();
        let light = |i: usize| (1.0 / grains[i].mass, grains[i].radius.powi(2) / grains[i].inertia);
        // Two scales for a cone, where all contacts rub: the least of all pairs.
        let stiffest = (0..grains.len()).map(light).map(|(m, t)| m / (m + t)).fold(0.0, f64::max);
        let rubs = self.world.mu.iter().all(|mu| *mu > 0.0) && self.jacobi.is_none();
        self.args = GrainArgs {
            h: s.h,
            gx: s.gravity.x,
            gy: s.gravity.y,
            gz: s.gravity.z,
            base: envelope.base,
            share: envelope.share,
            most_mu: self.world.mu.iter().copied().fold(0.0, f64::max),
            kappa: if rubs { 1.0 / stiffest } else { 1.0 },
            reach: self.correction.reach / self.correction.rounds as f64,
            resolved: if s.max_substeps > 1 { RESOLVED } else { f64::INFINITY },
            grains: grains.len() as u32,
            fixed_count: self.world.fixed.len() as u32,
            surfaces: self.world.surfaces as u32,
            buckets: (BUCKETS * grains.len()).next_power_of_two() as u32,
            ..GrainArgs::default()
        };
        self.memory.place_grains(&mut self.args)?;
        let (args, stage, stream) = (self.args, &mut self.stage, self.stream);
        send(stage, stream, args.mass, grains.len(), |i| {
            let (mass, turn) = light(i);
            [mass, turn, 1.0 / mass, 1.0 / turn]
        })?;
        let pair = |i: usize| grains.get(i).map_or(0, |g| g.surface as u64);
        send(stage, stream, args.surface, grains.len().div_ceil(2), |i| {
            [f64::from_bits(pair(2 * i) | pair(2 * i + 1) << 32)]
        })?;
        send(stage, stream, args.mu, self.world.mu.len(), |i| [self.world.mu[i]])?;
        send(stage, stream, args.fixed, self.world.fixed.len(), |i| numbers(&self.world.fixed[i]))?;
        self.send_motion(world)
    }

    /// Positions and velocities of the world go to the device.
    pub(super) fn send_motion(&mut self, world: &World) -> Result<(), Error> {
        let (grains, state) = (&self.world.grains, world.state());
        self.memory.turn(&mut self.args);
        let (args, stage, stream) = (self.args, &mut self.stage, self.stream);
        let slot = |i: usize| grains[i].slot as usize;
        send(stage, stream, args.place, grains.len(), |i| {
            let x = state.position[slot(i)];
            [x.x, x.y, x.z, grains[i].radius]
        })?;
        send(stage, stream, args.turn, grains.len(), |i| state.rotation[slot(i)].to_array())?;
        send(stage, stream, args.motion, grains.len(), |i| {
            let (v, w) = (state.velocity[slot(i)], state.world_omega(slot(i)));
            [v.x, v.y, v.z, 0.0, w.x, w.y, w.z, 0.0]
        })?;
        self.args.old_contacts = 0;
        self.ahead = 0;
        Ok(())
    }

    fn numbers(&mut self, from: u64, count: usize) -> Result<Vec<f64>, Error> {
        self.stage.reserve(count)?;
        self.stage.download(from, count, self.stream)?;
        Ok(self.stage.words()[..count].iter().map(|word| f64::from_bits(*word)).collect())
    }

    fn halves(&mut self, from: u64, count: usize) -> Result<Vec<u32>, Error> {
        let words = count.div_ceil(2);
        self.stage.reserve(words)?;
        self.stage.download(from, words, self.stream)?;
        let both = self.stage.words()[..words].iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]);
        Ok(both.take(count).collect())
    }

    /// Brings positions, velocities and the last contacts back to the world they came from.
    pub fn fetch(&mut self, world: &mut World) -> Result<(), Error> {
        if self.ahead == 0 {
            return Ok(());
        }
        self.engine.enter()?;
        let n = self.world.grains.len();
        self.memory.turn(&mut self.args);
        let (x, q) = (self.numbers(self.args.place, 4 * n)?, self.numbers(self.args.turn, 4 * n)?);
        let v = self.numbers(self.args.motion, 8 * n)?;
        let three = |from: &[f64], at: usize| DVec3::new(from[at], from[at + 1], from[at + 2]);
        let moved: Vec<GrainMotion> = (0..n)
            .map(|i| GrainMotion {
                slot: self.world.grains[i].slot,
                position: three(&x, 4 * i),
                rotation: DQuat::from_xyzw(q[4 * i], q[4 * i + 1], q[4 * i + 2], q[4 * i + 3]),
                velocity: three(&v, 8 * i),
                omega: three(&v, 8 * i + 4),
            })
            .collect();
        let contacts = self.contacts()?;
        world.take_grains(self.ahead, &moved, &contacts);
        self.ahead = 0;
        Ok(())
    }

    /// The contacts of the last step, where it began.
    fn contacts(&mut self) -> Result<Vec<GrainContact>, Error> {
        let (n, count) = (self.world.grains.len(), self.args.old_contacts as usize);
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut args = self.args;
        self.memory.contacts_at(&mut args, self.memory.last);
        let first = self.halves(args.first, n + 1)?;
        let other = self.halves(args.other, count)?;
        let gamma = self.numbers(args.gamma, 4 * count)?;
        // Those of before have the other place.
        let x = self.numbers(args.place_after, 4 * n)?;
        let ball = |i: usize| (DVec3::new(x[4 * i], x[4 * i + 1], x[4 * i + 2]), x[4 * i + 3]);
        let mut out = Vec::with_capacity(count);
        for i in 0..n {
            let (a, r) = ball(i);
            for c in first[i] as usize..first[i + 1] as usize {
                let (second, normal, gap) = match other[c] & FIXED {
                    0 => {
                        let (b, s) = ball(other[c] as usize);
                        let apart = a - b;
                        let normal = apart.try_normalize().unwrap_or(DVec3::Z);
                        (self.world.grains[other[c] as usize].collider, normal, apart.length() - (r + s))
                    }
                    _ => {
                        let f = &self.world.fixed[(other[c] ^ FIXED) as usize];
                        let (normal, gap) = world_distance(f, a, r);
                        (f.collider, normal, gap)
                    }
                };
                out.push(GrainContact {
                    colliders: [self.world.grains[i].collider, second],
                    normal,
                    gap,
                    point: a - normal * (r + 0.5 * gap),
                    impulse: DVec3::new(gamma[4 * c], gamma[4 * c + 1], gamma[4 * c + 2]),
                });
            }
        }
        Ok(out)
    }
}

/// Normal and gap of a ball and a fixed shape.
fn world_distance(f: &FixedShape, centre: DVec3, radius: f64) -> (DVec3, f64) {
    let ball = Pose { position: centre, ..Pose::IDENTITY };
    let mut found = Manifold::default();
    contacts(&Shape::Sphere { radius }, &ball, &f.shape, &f.pose, f64::INFINITY, &mut found);
    found.points().first().map_or((DVec3::Z, 0.0), |p| (p.normal, p.gap))
}
