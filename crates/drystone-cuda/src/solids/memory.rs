//! Where a world of solids lies on the device.

use std::sync::Arc;

use super::layout::{FOUND_NUMBERS, MOST_CONTACTS, SOLID_NUMBERS, SolidArgs, told};
use crate::engine::{DeviceMemory, Engine};
use crate::error::Error;
use crate::grains::GrainArgs;
use crate::grains::layout::{COLOURS, FIXED_NUMBERS, GRID};
use crate::layout::{CHUNK, PLACES, SUMS};
use crate::pack::{CONTROL, Places};

/// Pairs and contacts as one search found them, with multipliers.
struct Found {
    memory: DeviceMemory,
    pairs: usize,
    contacts: usize,
    first: DeviceMemory,
}

/// Addresses of a set of contacts.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundAt {
    pub first: u64,
    pub owner: u64,
    pub other: u64,
    pub low: u64,
    pub start: u64,
    pub holder: u64,
    pub feature: u64,
    pub touch: u64,
    pub normal: u64,
    pub arc: u64,
    pub gamma: u64,
}

/// Device memory of a world of solids.
pub(super) struct SolidMemory {
    bodies: DeviceMemory,
    /// Bodies that are near each other, as the last search found them.
    near: (DeviceMemory, usize),
    near_sums: u64,
    /// Sets of contacts: of the last step, of this one, and [`POSITIONS`].
    found: [Found; 3],
    /// What colours and iterations take, for so many pairs and contacts.
    work: (DeviceMemory, usize, usize),
    /// Which of two sets and places are those of the last step.
    pub last: usize,
    moving: [usize; 6],
    /// Where places in the order of colours are, sums of tallies, guesses and compliances.
    pub slot: u64,
    pub tally_sums: u64,
    pub guess: u64,
    pub soft: u64,
    /// Sums over bodies.
    pub sums: u64,
    /// Of the velocity problem.
    pub free: u64,
}

/// The set of contacts of position problems.
pub(super) const POSITIONS: usize = 2;

/// A little more than was asked for, so that a growing heap does not ask in every step.
fn wished(count: usize) -> usize {
    count + count / 8 + 256
}

impl SolidMemory {
    pub fn new(engine: &Arc<Engine>) -> Self {
        let memory = || DeviceMemory::new(engine.clone());
        let found = || Found { memory: memory(), pairs: 0, contacts: 0, first: memory() };
        Self {
            bodies: memory(),
            near: (memory(), 0),
            near_sums: 0,
            found: [found(), found(), found()],
            work: (memory(), 0, 0),
            last: 0,
            moving: [0; 6],
            slot: 0,
            tally_sums: 0,
            guess: 0,
            soft: 0,
            sums: 0,
            free: 0,
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let found: usize = self.found.iter().map(|f| f.memory.bytes() + f.first.bytes()).sum();
        self.bodies.bytes() + self.near.0.bytes() + found + self.work.0.bytes()
    }

    /// Makes room for bodies; `args` has their number, and both get their addresses.
    pub fn place_bodies(&mut self, args: &mut SolidArgs, cells: &mut GrainArgs) -> Result<(), Error> {
        let n = args.solids as usize;
        let (buckets, chunks) = (args.buckets as usize, n.div_ceil(CHUNK));
        let mut places = Places { next: 0 };
        let [control, grid, told] = [CONTROL, GRID, told::ALL].map(|words| places.take(words));
        let [solid, mu, fixed] = [
            SOLID_NUMBERS * n,
            (args.surfaces * args.surfaces) as usize,
            FIXED_NUMBERS * args.fixed_count as usize,
        ]
        .map(|words| places.take(words));
        self.moving = [4, 4, 8, 4, 4, 8].map(|width| places.take(width * n));
        let [free, ahead, reach, extent, still, mass] =
            [8, 4, 4, 4, 8, 8].map(|width| places.take(width * n));
        let [velocity, force, forward] = [PLACES * 8 * n, PLACES * 8 * n, 16 * n].map(|w| places.take(w));
        let [body_sums, posed_sums] = [told::ALL * chunks, SUMS * chunks].map(|w| places.take(w));
        let taken = places.take(n);
        let [touched, bucket, in_cells, entries, first_general, top] =
            [n; 6].map(|count| places.take_halves(count));
        let [cell_count, cell_first, cell_cursor] =
            [buckets, buckets + 1, buckets].map(|count| places.take_halves(count));
        let [counts, near_first, first_entry] =
            [2 * n, 2 * n + 1, n + 1].map(|count| places.take_halves(count));
        let sums = places.take_halves((2 * n).max(buckets).div_ceil(CHUNK));
        let colours = places.take_halves(COLOURS + 2);
        self.bodies.reserve(8 * places.next)?;
        let start = self.bodies.address();
        let at = |place: usize| start + 8 * place as u64;
        (args.grid, args.told, args.solid, args.mu, args.fixed) =
            (at(grid), at(told), at(solid), at(mu), at(fixed));
        (args.free, args.ahead, args.reach) = (at(free), at(ahead), at(reach));
        (args.extent, args.still) = (at(extent), at(still));
        (args.touched, args.entries, args.body_sums) = (at(touched), at(entries), at(body_sums));
        (args.cell_first, args.in_cells, args.colours) = (at(cell_first), at(in_cells), at(colours));
        (args.counts, args.near_first) = (at(counts), at(near_first));
        let posed = &mut args.posed;
        (posed.control, posed.mass, posed.free) = (at(control), at(mass), at(free));
        (posed.velocity, posed.force, posed.ahead) = (at(velocity), at(force), at(forward));
        (posed.first_entry, posed.first_general) = (at(first_entry), at(first_general));
        posed.body_sums = at(posed_sums);
        (cells.control, cells.grid, cells.told) = (at(control), at(grid), at(told));
        (cells.free, cells.bucket, cells.in_cells) = (at(free), at(bucket), at(in_cells));
        (cells.cell_count, cells.cell_first, cells.cell_cursor) =
            (at(cell_count), at(cell_first), at(cell_cursor));
        (cells.counts, cells.colours) = (at(counts), at(colours));
        (cells.taken, cells.top, cells.grain_sums) = (at(taken), at(top), at(body_sums));
        (self.sums, self.free) = (at(sums), at(free));
        for found in &mut self.found {
            found.first.reserve(4 * (2 * n + 1))?;
        }
        self.turn(args);
        Ok(())
    }

    /// Positions and motions of the last step, and those of this one.
    pub fn turn(&self, args: &mut SolidArgs) {
        let at = |k: usize| self.bodies.address() + 8 * self.moving[k] as u64;
        let (old, new) = (3 * self.last, 3 * (1 - self.last));
        (args.place, args.turn, args.motion) = (at(old), at(old + 1), at(old + 2));
        (args.place_after, args.turn_after, args.motion_after) = (at(new), at(new + 1), at(new + 2));
    }

    /// Makes room for near pairs; where sums over them go.
    pub fn place_near(&mut self, args: &mut SolidArgs, count: usize) -> Result<u64, Error> {
        let fits = self.near.1 >= count && self.near.1 > 0;
        let capacity = if fits { self.near.1 } else { wished(count) };
        let mut places = Places { next: 0 };
        let [owner, other, low, counts, pair] = [capacity; 5].map(|count| places.take_halves(count));
        let [start, sums] = [capacity + 1, capacity.div_ceil(CHUNK)].map(|count| places.take_halves(count));
        let found = places.take(MOST_CONTACTS * FOUND_NUMBERS * capacity);
        if !fits {
            self.near.0.reserve(8 * places.next)?;
            self.near.1 = capacity;
        }
        let at = |place: usize| self.near.0.address() + 8 * place as u64;
        (args.near_owner, args.near_other, args.near_low) = (at(owner), at(other), at(low));
        (args.near_count, args.near_pair, args.near_start) = (at(counts), at(pair), at(start));
        (args.found, self.near_sums) = (at(found), at(sums));
        Ok(self.near_sums)
    }

    /// Makes room for the pairs and contacts of a set.
    pub fn place_found(&mut self, set: usize, pairs: usize, contacts: usize) -> Result<FoundAt, Error> {
        let found = &mut self.found[set];
        if found.pairs < pairs || found.contacts < contacts || found.contacts == 0 {
            (found.pairs, found.contacts) =
                (found.pairs.max(wished(pairs)), found.contacts.max(wished(contacts)));
            let words = Self::places_of(found).1;
            found.memory.reserve(8 * words)?;
        }
        Ok(self.found_at(set))
    }

    /// Where the arrays of a set begin, and how many words they take.
    fn places_of(found: &Found) -> ([usize; 10], usize) {
        let (pairs, contacts) = (found.pairs, found.contacts);
        let mut places = Places { next: 0 };
        let [owner, other, low, start, holder, feature] =
            [pairs, pairs, pairs, pairs + 1, contacts, contacts].map(|count| places.take_halves(count));
        let [touch, normal, gamma, arc] = [4, 4, 4, 2].map(|width| places.take(width * contacts));
        ([owner, other, low, start, holder, feature, touch, normal, gamma, arc], places.next)
    }

    /// The addresses of a set.
    pub fn found_at(&self, set: usize) -> FoundAt {
        let found = &self.found[set];
        let base = found.memory.address();
        let [owner, other, low, start, holder, feature, touch, normal, gamma, arc] =
            Self::places_of(found).0.map(|place| base + 8 * place as u64);
        let first = found.first.address();
        FoundAt { first, owner, other, low, start, holder, feature, touch, normal, arc, gamma }
    }

    /// Makes room for colours and iterations over so many pairs and contacts.
    pub fn place_work(
        &mut self,
        args: &mut SolidArgs,
        cells: &mut GrainArgs,
        pairs: usize,
        contacts: usize,
    ) -> Result<(), Error> {
        let fits = self.work.1 >= pairs && self.work.2 >= contacts && self.work.2 > 0;
        let (p, k) = if fits {
            (self.work.1, self.work.2)
        } else {
            (self.work.1.max(wished(pairs)), self.work.2.max(wished(contacts)))
        };
        let (tallies, chunks) = (COLOURS * p.div_ceil(CHUNK), k.div_ceil(CHUNK));
        let mut places = Places { next: 0 };
        let [colour, slot, sides, pair_at] = [p, p, 2 * p, p].map(|count| places.take_halves(count));
        let [tally, tally_first, tally_sums] =
            [tallies, tallies + 1, tallies.div_ceil(CHUNK)].map(|count| places.take_halves(count));
        let [bodies, entry] = [2 * k; 2].map(|count| places.take_halves(count));
        let [normal, arm_a, arm_b, guess, soft, seen, scale, share, gamma] =
            [4 * k, 4 * k, 4 * k, 3 * k, 2 * k, 2 * k, 4 * k, 2 * k, PLACES * 4 * k].map(|w| places.take(w));
        let [contact_sums, block_sums] = [told::ALL * chunks, SUMS * chunks].map(|w| places.take(w));
        if !fits {
            self.work.0.reserve(8 * places.next)?;
            (self.work.1, self.work.2) = (p, k);
        }
        let start = self.work.0.address();
        let at = |place: usize| start + 8 * place as u64;
        (cells.colour, cells.sides, cells.tally, cells.tally_first) =
            (at(colour), at(sides), at(tally), at(tally_first));
        (args.slot, args.sides, args.pair_at) = (at(slot), at(sides), at(pair_at));
        (args.seen, args.contact_sums) = (at(seen), at(contact_sums));
        let posed = &mut args.posed;
        (posed.sides, posed.entry) = (at(bodies), at(entry));
        (posed.normal, posed.arm_a, posed.arm_b) = (at(normal), at(arm_a), at(arm_b));
        (posed.scale, posed.share, posed.gamma) = (at(scale), at(share), at(gamma));
        (posed.block_sums, posed.gamma_stride) = (at(block_sums), 4 * k as u64);
        (self.slot, self.tally_sums, self.guess, self.soft) = (at(slot), at(tally_sums), at(guess), at(soft));
        Ok(())
    }
}
