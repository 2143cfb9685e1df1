//! Grains on their way to the device and back.

use drystone::collide::narrowphase::{Manifold, contacts};
use drystone::grains::{FixedShape, GrainContact, GrainMotion, RESOLVED};
use drystone::{Pose, Shape, World};
use glam::{DQuat, DVec3};
use rayon::prelude::*;

use super::layout::{FIXED, FIXED_LED, FIXED_NUMBERS, FIXED_SPEED, FIXED_SPIN, shape};
use super::{GrainArgs, GrainMethod, GrainsOnDevice};
use crate::engine::HostMemory;
use crate::error::Error;

/// No grain and no shape.
pub(crate) const NOBODY: u32 = u32::MAX;

/// Buckets of cells for each grain.
pub(crate) const BUCKETS: usize = 2;

/// A body that is led through a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Led {
    /// Where it begins.
    pub from: GrainMotion,
    /// Where it ends; its velocities are those of the step.
    pub to: GrainMotion,
}

/// The numbers of a fixed shape: kind, surface, inner radius, centre, three axes, measures, and how it is
/// led.
pub(crate) fn numbers(f: &FixedShape, pose: &Pose, led: Option<&GrainMotion>) -> [f64; FIXED_NUMBERS] {
    let (kind, measures) = match &f.shape {
        Shape::Sphere { radius } => (shape::SPHERE, [*radius, 0.0, 0.0]),
        Shape::Capsule { radius, half_length } => (shape::CAPSULE, [*radius, *half_length, 0.0]),
        Shape::Box { half } => (shape::BOX, half.to_array()),
        _ => (shape::HALF_SPACE, [0.0; 3]),
    };
    let axes = [DVec3::X, DVec3::Y, DVec3::Z].map(|axis| pose.rotation * axis);
    let mut out = [0.0; FIXED_NUMBERS];
    out[0] = kind;
    out[1] = f.surface as f64;
    out[2] = f.shape.inner_radius();
    out[3..6].copy_from_slice(&pose.position.to_array());
    for (k, axis) in axes.iter().enumerate() {
        out[6 + 3 * k..9 + 3 * k].copy_from_slice(&axis.to_array());
    }
    out[15..18].copy_from_slice(&measures);
    if let Some(m) = led {
        let v = m.velocity + m.omega.cross(pose.position - m.position);
        out[FIXED_SPEED..FIXED_SPEED + 3].copy_from_slice(&v.to_array());
        out[FIXED_SPIN..FIXED_SPIN + 3].copy_from_slice(&m.omega.to_array());
        out[FIXED_LED] = 1.0;
    }
    out
}

/// Writes numbers, `width` of them for each of `count` items, and copies them to the device.
pub(crate) fn send<const W: usize>(
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
        let rubs = self.world.mu.iter().all(|mu| *mu > 0.0);
        let two_scales = rubs && !matches!(self.method, GrainMethod::Jacobi(_));
        self.kappa = [if two_scales { 1.0 / stiffest } else { 1.0 }, 1.0 / stiffest];
        self.args = GrainArgs {
            h: s.h,
            gx: s.gravity.x,
            gy: s.gravity.y,
            gz: s.gravity.z,
            base: envelope.base,
            share: envelope.share,
            most_mu: self.world.mu.iter().copied().fold(0.0, f64::max),
            kappa: 1.0,
            reach: self.correction.reach / self.correction.rounds as f64,
            leash: 0.5,
            run: 1,
            tolerance: s.tolerance,
            compliance: s.compliance,
            led: u32::from(!self.led.is_empty()),
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
        let fixed = &self.world.fixed;
        send(stage, stream, args.fixed_before, fixed.len(), |i| numbers(&fixed[i], &fixed[i].pose, None))?;
        self.send_motion(world)
    }

    /// Shapes of led bodies go to the device, where a step begins and where it ends.
    pub(super) fn send_led(&mut self, led: &[Led]) -> Result<(), Error> {
        let (fixed, home) = (&self.world.fixed, &self.home);
        let (args, stage, stream, end) = (self.args, &mut self.stage, self.stream, self.memory.fixed_end);
        let own = |i: usize| home[i].map(|(k, local)| (&led[k], local));
        send(stage, stream, args.fixed_before, fixed.len(), |i| match own(i) {
            None => numbers(&fixed[i], &fixed[i].pose, None),
            // Where it begins, with the velocities of the step.
            Some((m, local)) => {
                let motion = GrainMotion { position: m.from.position, ..m.to };
                numbers(&fixed[i], &placed(&m.from, &local), Some(&motion))
            }
        })?;
        send(stage, stream, end, fixed.len(), |i| match own(i) {
            None => numbers(&fixed[i], &fixed[i].pose, None),
            Some((m, local)) => numbers(&fixed[i], &placed(&m.to, &local), Some(&m.to)),
        })
    }

    /// The world's state goes to the device anew, which is where the world is then.
    pub fn send(&mut self, world: &World) -> Result<(), Error> {
        self.engine.enter()?;
        self.send_motion(world)
    }

    /// Steps that the world does not know of yet: see [`GrainsOnDevice::fetch`].
    pub fn ahead(&self) -> u64 {
        self.ahead
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
        self.send_multipliers(world)?;
        self.ahead = 0;
        self.time = world.state().time;
        self.led = world.led();
        self.led_before.clone_from(&self.led);
        Ok(())
    }

    /// What the world's last step left goes to the device as the contacts of the last step there.
    fn send_multipliers(&mut self, world: &World) -> Result<(), Error> {
        self.args.old_contacts = 0;
        let (kept, n) = (&world.state().multipliers, self.world.grains.len());
        if kept.is_empty() {
            return Ok(());
        }
        // By collider: its grain, or FIXED and its shape.
        let grains = self.world.grains.iter().enumerate().map(|(i, g)| (g.collider, i as u32));
        let fixed = self.world.fixed.iter().enumerate().map(|(k, f)| (f.collider, FIXED | k as u32));
        let mut who = Vec::new();
        for (collider, place) in grains.chain(fixed) {
            let collider = collider as usize;
            if who.len() <= collider {
                who.resize(collider + 1, NOBODY);
            }
            who[collider] = place;
        }
        let at = |collider: u32| who.get(collider as usize).copied().unwrap_or(NOBODY);
        let mut found: Vec<(u32, u32, DVec3)> = kept
            .par_iter()
            .filter_map(|m| {
                let [a, b] = m.key.colliders.map(at);
                match (a & FIXED, b & FIXED) {
                    _ if a == NOBODY || b == NOBODY => None,
                    // On the one whose collider is the lower.
                    (0, 0) if a < b => Some((a, b, m.impulse)),
                    (0, 0) => Some((b, a, -m.impulse)),
                    (0, _) => Some((a, b, m.impulse)),
                    (_, 0) => Some((b, a, m.impulse)),
                    _ => None,
                }
            })
            .collect();
        found.par_sort_unstable_by_key(|c| (c.0, c.1));
        let mut first = vec![0u32; n + 1];
        found.iter().for_each(|c| first[c.0 as usize + 1] += 1);
        for i in 0..n {
            first[i + 1] += first[i];
        }
        self.memory.place_old(&mut self.args, found.len())?;
        let (args, stage, stream) = (self.args, &mut self.stage, self.stream);
        let pair = |low: u32, high: u32| [f64::from_bits(u64::from(low) | u64::from(high) << 32)];
        let second = |k: usize| found.get(k).map_or(0, |c| c.1);
        let start = |i: usize| first.get(i).copied().unwrap_or(0);
        send(stage, stream, args.old_first, (n + 1).div_ceil(2), |i| pair(start(2 * i), start(2 * i + 1)))?;
        send(stage, stream, args.old_other, found.len().div_ceil(2), |i| {
            pair(second(2 * i), second(2 * i + 1))
        })?;
        send(stage, stream, args.old_gamma, found.len(), |i| {
            let x = found[i].2;
            [x.x, x.y, x.z, 0.0]
        })?;
        self.args.old_contacts = found.len() as u32;
        Ok(())
    }

    fn numbers(&mut self, from: u64, count: usize) -> Result<Vec<f64>, Error> {
        self.stage.reserve(count)?;
        self.stage.download(from, count, self.stream)?;
        Ok(self.stage.words()[..count].par_iter().map(|word| f64::from_bits(*word)).collect())
    }

    fn halves(&mut self, from: u64, count: usize) -> Result<Vec<u32>, Error> {
        let words = count.div_ceil(2);
        self.stage.reserve(words)?;
        self.stage.download(from, words, self.stream)?;
        let both = self.stage.words()[..words].par_iter();
        let mut out: Vec<u32> = both.flat_map_iter(|word| [*word as u32, (*word >> 32) as u32]).collect();
        out.truncate(count);
        Ok(out)
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
        let mut moved: Vec<GrainMotion> = (0..n)
            .into_par_iter()
            .map(|i| GrainMotion {
                slot: self.world.grains[i].slot,
                position: three(&x, 4 * i),
                rotation: DQuat::from_xyzw(q[4 * i], q[4 * i + 1], q[4 * i + 2], q[4 * i + 3]),
                velocity: three(&v, 8 * i),
                omega: three(&v, 8 * i + 4),
            })
            .collect();
        moved.extend_from_slice(&self.led);
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
        let before: Vec<Pose> = (0..self.world.fixed.len())
            .map(|i| match self.home[i] {
                Some((k, local)) => placed(&self.led_before[k], &local),
                None => self.world.fixed[i].pose,
            })
            .collect();
        let world = &self.world;
        let found = |i: usize, c: usize| {
            let (a, r) = ball(i);
            let (second, normal, gap) = match other[c] & FIXED {
                0 => {
                    let (b, s) = ball(other[c] as usize);
                    let apart = a - b;
                    let normal = apart.try_normalize().unwrap_or(DVec3::Z);
                    (world.grains[other[c] as usize].collider, normal, apart.length() - (r + s))
                }
                _ => {
                    let k = (other[c] ^ FIXED) as usize;
                    let (normal, gap) = world_distance(&world.fixed[k].shape, &before[k], a, r);
                    (world.fixed[k].collider, normal, gap)
                }
            };
            GrainContact {
                colliders: [world.grains[i].collider, second],
                normal,
                gap,
                point: a - normal * (r + 0.5 * gap),
                impulse: DVec3::new(gamma[4 * c], gamma[4 * c + 1], gamma[4 * c + 2]),
                feature: 0,
            }
        };
        let of = |i: usize| (first[i] as usize..first[i + 1] as usize).map(move |c| (i, c));
        Ok((0..n).into_par_iter().flat_map_iter(of).map(|(i, c)| found(i, c)).collect())
    }
}

/// Where a shape of a body is.
fn placed(body: &GrainMotion, local: &Pose) -> Pose {
    Pose {
        position: body.position + body.rotation * local.position,
        rotation: body.rotation * local.rotation,
    }
}

/// Where a shape is for its body.
pub(super) fn local(body: &GrainMotion, shape: &Pose) -> Pose {
    let back = body.rotation.conjugate();
    Pose { position: back * (shape.position - body.position), rotation: back * shape.rotation }
}

/// Normal and gap of a ball and a fixed shape.
fn world_distance(shape: &Shape, pose: &Pose, centre: DVec3, radius: f64) -> (DVec3, f64) {
    let ball = Pose { position: centre, ..Pose::IDENTITY };
    let mut found = Manifold::default();
    contacts(&Shape::Sphere { radius }, &ball, shape, pose, f64::INFINITY, &mut found);
    found.points().first().map_or((DVec3::Z, 0.0), |p| (p.normal, p.gap))
}
