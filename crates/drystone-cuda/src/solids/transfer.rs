//! Solids on their way to the device and back.

use drystone::grains::{ARC, GrainContact, GrainMotion, RESOLVED, TURN};
use drystone::{Shape, World};
use glam::{DMat3, DQuat, DVec3};
use rayon::prelude::*;

use super::SolidsOnDevice;
use super::layout::{SOLID_NUMBERS, SolidArgs};
use super::memory::FoundAt;
use crate::error::Error;
use crate::grains::GrainArgs;
use crate::grains::layout::{FIXED, shape};
use crate::grains::transfer::{BUCKETS, NOBODY, numbers, send};

/// xx, yy, zz, xy, xz, yz of a symmetric matrix.
fn six(m: &DMat3) -> [f64; 6] {
    [m.x_axis.x, m.y_axis.y, m.z_axis.z, m.x_axis.y, m.x_axis.z, m.y_axis.z]
}

/// Two numbers of 32 bits in a word.
fn pair(low: u32, high: u32) -> [f64; 1] {
    [f64::from_bits(u64::from(low) | u64::from(high) << 32)]
}

/// A contact of the last step: its bodies (the second may be FIXED), its name, and its impulse on the first.
type Last = ((u32, u32), u32, DVec3);

impl SolidsOnDevice {
    /// Everything of the world goes to the device; nothing is known of its last contacts there.
    pub(super) fn place(&mut self, world: &World) -> Result<(), Error> {
        let (solids, s) = (&self.world.solids, &self.settings);
        let envelope = world.envelope();
        let most_mu = self.world.mu.iter().copied().fold(0.0, f64::max);
        let buckets = (BUCKETS * solids.len()).next_power_of_two() as u32;
        let several = s.max_substeps > 1;
        let whole = |limit: f64| if several { limit } else { f64::INFINITY };
        self.args = SolidArgs {
            h: s.h,
            gx: s.gravity.x,
            gy: s.gravity.y,
            gz: s.gravity.z,
            base: envelope.base,
            share: envelope.share,
            reach_share: self.correction.reach / self.correction.rounds as f64,
            reach_all: self.correction.reach,
            resolved: whole(RESOLVED),
            arcs: whole(ARC),
            turns: TURN,
            tolerance: s.tolerance,
            compliance: s.compliance,
            leash: 0.5,
            solids: solids.len() as u32,
            fixed_count: self.world.fixed.len() as u32,
            surfaces: self.world.surfaces as u32,
            buckets,
            ..SolidArgs::default()
        };
        self.cells = GrainArgs {
            h: s.h,
            base: envelope.base,
            share: envelope.share,
            most_mu,
            run: 1,
            grains: solids.len() as u32,
            surfaces: self.world.surfaces as u32,
            buckets,
            ..GrainArgs::default()
        };
        self.memory.place_bodies(&mut self.args, &mut self.cells)?;
        let (args, stage, stream) = (self.args, &mut self.stage, self.stream);
        send(stage, stream, args.solid, solids.len(), |i| {
            let s = &solids[i];
            let mut out = [0.0; SOLID_NUMBERS];
            (out[0], out[1]) = (1.0 / s.mass, s.mass);
            out[2..8].copy_from_slice(&six(&s.inv_inertia));
            out[8..14].copy_from_slice(&six(&s.inertia));
            out[14] = s.shape.inner_radius();
            match s.shape {
                Shape::Box { half } => {
                    out[15] = shape::BOX;
                    out[16..19].copy_from_slice(&half.to_array());
                }
                Shape::Capsule { radius, half_length } => {
                    out[15] = shape::CAPSULE;
                    (out[16], out[17]) = (radius, half_length);
                }
                _ => (out[15], out[16]) = (shape::SPHERE, s.shape.bounding_radius()),
            }
            out[19] = s.surface as f64;
            out[20] = s.shape.bounding_radius();
            let i = s.inertia.x_axis.x;
            out[21] = f64::from(u8::from(s.inertia == DMat3::from_diagonal(DVec3::splat(i))));
            out
        })?;
        send(stage, stream, args.mu, self.world.mu.len(), |i| [self.world.mu[i]])?;
        let fixed = &self.world.fixed;
        send(stage, stream, args.fixed, fixed.len(), |i| numbers(&fixed[i], &fixed[i].pose, None))?;
        self.send_motion(world)
    }

    /// The world's state goes to the device anew, which is where the world is then.
    pub fn send(&mut self, world: &World) -> Result<(), Error> {
        self.engine.enter()?;
        self.send_motion(world)
    }

    /// Positions and velocities of the world go to the device.
    pub(super) fn send_motion(&mut self, world: &World) -> Result<(), Error> {
        let (solids, state) = (&self.world.solids, world.state());
        self.memory.turn(&mut self.args);
        let (args, stage, stream) = (self.args, &mut self.stage, self.stream);
        let slot = |i: usize| solids[i].slot as usize;
        send(stage, stream, args.place, solids.len(), |i| {
            let x = state.position[slot(i)];
            [x.x, x.y, x.z, solids[i].shape.bounding_radius()]
        })?;
        send(stage, stream, args.turn, solids.len(), |i| state.rotation[slot(i)].to_array())?;
        send(stage, stream, args.motion, solids.len(), |i| {
            let (v, w) = (state.velocity[slot(i)], state.world_omega(slot(i)));
            [v.x, v.y, v.z, 0.0, w.x, w.y, w.z, 0.0]
        })?;
        self.send_multipliers(world)?;
        self.ahead = 0;
        Ok(())
    }

    /// What the world's last step left goes to the device as the contacts of the last step there.
    fn send_multipliers(&mut self, world: &World) -> Result<(), Error> {
        let (kept, n) = (&world.state().multipliers, self.world.solids.len());
        // By collider: its body, or FIXED and its shape.
        let solids = self.world.solids.iter().enumerate().map(|(i, s)| (s.collider, i as u32));
        let fixed = self.world.fixed.iter().enumerate().map(|(k, f)| (f.collider, FIXED | k as u32));
        let mut who = Vec::new();
        for (collider, place) in solids.chain(fixed) {
            let collider = collider as usize;
            if who.len() <= collider {
                who.resize(collider + 1, NOBODY);
            }
            who[collider] = place;
        }
        let at = |collider: u32| who.get(collider as usize).copied().unwrap_or(NOBODY);
        let mut found: Vec<Last> = kept
            .par_iter()
            .filter_map(|m| {
                let ([a, b], name) = (m.key.colliders.map(at), m.key.features());
                match (a & FIXED, b & FIXED) {
                    _ if a == NOBODY || b == NOBODY => None,
                    // On the one whose collider is the lower.
                    (0, 0) if a < b => Some(((a, b), name, m.impulse)),
                    (0, 0) => Some(((b, a), name, -m.impulse)),
                    (0, _) => Some(((a, b), name, m.impulse)),
                    (_, 0) => Some(((b, a), name, m.impulse)),
                    _ => None,
                }
            })
            .collect();
        found.par_sort_unstable_by_key(|c| (c.0, c.1));
        // By pair: where its contacts begin; by body: where its pairs do.
        let mut start: Vec<u32> = (0..found.len())
            .filter(|k| *k == 0 || found[*k].0 != found[*k - 1].0)
            .map(|k| k as u32)
            .collect();
        let pairs: Vec<(u32, u32)> = start.iter().map(|k| found[*k as usize].0).collect();
        start.push(found.len() as u32);
        let mut first = vec![0u32; n + 1];
        pairs.iter().for_each(|p| first[p.0 as usize + 1] += 1);
        for i in 0..n {
            first[i + 1] += first[i];
        }
        let to = self.memory.place_found(self.memory.last, pairs.len(), found.len())?;
        let (stage, stream) = (&mut self.stage, self.stream);
        let words = |stage: &mut _, to: u64, from: &(dyn Fn(usize) -> u32 + Sync), count: usize| {
            send(stage, stream, to, count.div_ceil(2), |i| {
                pair(from(2 * i), if 2 * i + 1 < count { from(2 * i + 1) } else { 0 })
            })
        };
        words(stage, to.first, &|i| first[i], n + 1)?;
        words(stage, to.other, &|i| pairs[i].1, pairs.len())?;
        words(stage, to.start, &|i| start[i], start.len())?;
        words(stage, to.feature, &|i| found[i].1, found.len())?;
        send(stage, stream, to.gamma, found.len(), |i| {
            let x = found[i].2;
            [x.x, x.y, x.z, 0.0]
        })?;
        self.old_at(to);
        // Where these contacts were nobody asks.
        (self.pairs, self.contacts) = (pairs.len(), 0);
        Ok(())
    }

    /// The contacts of the last step.
    pub(super) fn old_at(&mut self, at: FoundAt) {
        let args = &mut self.args;
        (args.old_first, args.old_other, args.old_start) = (at.first, at.other, at.start);
        (args.old_feature, args.old_gamma) = (at.feature, at.gamma);
        (args.old_touch, args.old_arc) = (at.touch, at.arc);
    }

    /// Where the contacts of a search go.
    pub(super) fn found_at(&mut self, at: FoundAt) {
        let args = &mut self.args;
        (args.first, args.owner, args.other, args.low) = (at.first, at.owner, at.other, at.low);
        (args.start, args.holder, args.feature) = (at.start, at.holder, at.feature);
        (args.touch, args.normal, args.arc, args.gamma) = (at.touch, at.normal, at.arc, at.gamma);
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
        let n = self.world.solids.len();
        self.memory.turn(&mut self.args);
        let (x, q) = (self.numbers(self.args.place, 4 * n)?, self.numbers(self.args.turn, 4 * n)?);
        let v = self.numbers(self.args.motion, 8 * n)?;
        let three = |from: &[f64], at: usize| DVec3::new(from[at], from[at + 1], from[at + 2]);
        let moved: Vec<GrainMotion> = (0..n)
            .into_par_iter()
            .map(|i| GrainMotion {
                slot: self.world.solids[i].slot,
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
        let (pairs, count) = (self.pairs, self.contacts);
        if count == 0 {
            return Ok(Vec::new());
        }
        let at = self.memory.found_at(self.memory.last);
        let (owner, other) = (self.halves(at.owner, pairs)?, self.halves(at.other, pairs)?);
        let (holder, feature) = (self.halves(at.holder, count)?, self.halves(at.feature, count)?);
        let (touch, normal) = (self.numbers(at.touch, 4 * count)?, self.numbers(at.normal, 4 * count)?);
        let gamma = self.numbers(at.gamma, 4 * count)?;
        let three = |from: &[f64], c: usize| DVec3::new(from[4 * c], from[4 * c + 1], from[4 * c + 2]);
        let world = &self.world;
        let one = |c: usize| {
            let (a, b) = (owner[holder[c] as usize], other[holder[c] as usize]);
            let second = match b & FIXED {
                0 => world.solids[b as usize].collider,
                _ => world.fixed[(b ^ FIXED) as usize].collider,
            };
            GrainContact {
                colliders: [world.solids[a as usize].collider, second],
                normal: three(&normal, c),
                gap: touch[4 * c + 3],
                point: three(&touch, c),
                impulse: three(&gamma, c),
                feature: feature[c],
            }
        };
        Ok((0..count).into_par_iter().map(one).collect())
    }
}
