//! Where a world of grains lies on the device.

use std::sync::Arc;

use super::layout::{COLOURS, FIXED_NUMBERS, GRID, GrainArgs, told};
use crate::engine::{DeviceMemory, Engine};
use crate::error::Error;
use crate::layout::{CHUNK, PLACES, SUMS};
use crate::pack::{CONTROL, Places};

/// Bytes of the numbers that an iteration is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Single,
    Double,
}

impl Precision {
    fn words(self, numbers: usize) -> usize {
        match self {
            Self::Single => numbers.div_ceil(2),
            Self::Double => numbers,
        }
    }
}

/// Contacts as one search found them, with their multipliers.
struct Found {
    memory: DeviceMemory,
    capacity: usize,
    first: DeviceMemory,
}

/// Device memory of a world of grains.
pub(crate) struct GrainMemory {
    grains: DeviceMemory,
    /// Two sets of contacts: of the last step, and of this one.
    found: [Found; 2],
    /// What one search needs beside them.
    contacts: (DeviceMemory, usize),
    /// What the iteration works on, by contact and by grain.
    work: (DeviceMemory, usize, Precision),
    /// Which of two sets and places are those of the last step.
    pub last: usize,
    bodies: [usize; 6],
    /// Whether contacts have colours.
    coloured: bool,
    /// Fixed shapes where the step ends.
    pub fixed_end: u64,
    /// Where places in the order of colours are, and sums of tallies.
    pub slot: u64,
    pub tally_sums: u64,
}

impl GrainMemory {
    pub fn new(engine: &Arc<Engine>, coloured: bool) -> Self {
        let memory = || DeviceMemory::new(engine.clone());
        let found = || Found { memory: memory(), capacity: 0, first: memory() };
        Self {
            grains: memory(),
            found: [found(), found()],
            contacts: (memory(), 0),
            work: (memory(), 0, Precision::Single),
            last: 0,
            bodies: [0; 6],
            coloured,
            fixed_end: 0,
            slot: 0,
            tally_sums: 0,
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let found: usize = self.found.iter().map(|f| f.memory.bytes() + f.first.bytes()).sum();
        self.grains.bytes() + found + self.contacts.0.bytes() + self.work.0.bytes()
    }

    /// Makes room for grains; `args` has their number, and gets their addresses.
    pub fn place_grains(&mut self, args: &mut GrainArgs) -> Result<(), Error> {
        let n = args.grains as usize;
        let mut places = Places { next: 0 };
        // Shapes that are led are there twice: where the step begins, and where it ends.
        let shapes = FIXED_NUMBERS * args.fixed_count as usize;
        let ends = if args.led > 0 { shapes } else { 0 };
        let coloured = if self.coloured { n } else { 0 };
        let at: [(fn(&mut GrainArgs) -> &mut u64, usize); 20] = [
            (|a| &mut a.control, places.take(CONTROL)),
            (|a| &mut a.grid, places.take(GRID)),
            (|a| &mut a.told, places.take(told::ALL)),
            (|a| &mut a.free, places.take(8 * n)),
            (|a| &mut a.mass, places.take(4 * n)),
            (|a| &mut a.surface, places.take_halves(n)),
            (|a| &mut a.mu, places.take((args.surfaces * args.surfaces) as usize)),
            (|a| &mut a.fixed_before, places.take(shapes)),
            (|a| &mut a.fixed, places.take(ends)),
            (|a| &mut a.bucket, places.take_halves(n)),
            (|a| &mut a.cell_count, places.take_halves(args.buckets as usize)),
            (|a| &mut a.cell_first, places.take_halves(args.buckets as usize + 1)),
            (|a| &mut a.cell_cursor, places.take_halves(args.buckets as usize)),
            (|a| &mut a.in_cells, places.take_halves(n)),
            (|a| &mut a.counts, places.take_halves(2 * n)),
            (|a| &mut a.scan_sums, places.take_halves((2 * n).max(args.buckets as usize).div_ceil(CHUNK))),
            (|a| &mut a.grain_sums, places.take(told::ALL * n.div_ceil(CHUNK))),
            (|a| &mut a.colours, places.take_halves(COLOURS + 2)),
            (|a| &mut a.taken, places.take(coloured)),
            (|a| &mut a.top, places.take_halves(coloured)),
        ];
        self.bodies = [4, 4, 8, 4, 4, 8].map(|width| places.take(width * n));
        self.grains.reserve(8 * places.next)?;
        for (field, place) in at {
            *field(args) = self.grains.address() + 8 * place as u64;
        }
        self.fixed_end = if args.led > 0 { args.fixed } else { args.fixed_before };
        args.fixed = args.fixed_before;
        for found in &mut self.found {
            found.first.reserve(4 * (2 * n + 1))?;
        }
        self.turn(args);
        Ok(())
    }

    /// Positions and motions of the last step, and those of this one; the contacts of the last step.
    pub fn turn(&self, args: &mut GrainArgs) {
        let at = |k: usize| self.grains.address() + 8 * self.bodies[k] as u64;
        let (old, new) = (3 * self.last, 3 * (1 - self.last));
        (args.place, args.turn, args.motion) = (at(old), at(old + 1), at(old + 2));
        (args.place_after, args.turn_after, args.motion_after) = (at(new), at(new + 1), at(new + 2));
    }

    /// Whether there is room for so many contacts; makes it, where there is not.
    pub fn place_contacts(
        &mut self,
        args: &mut GrainArgs,
        set: usize,
        count: usize,
        precision: Precision,
    ) -> Result<(), Error> {
        let wished = count + count / 8 + 256;
        let found = &mut self.found[set];
        if found.capacity < count {
            found.memory.reserve(8 * (wished.div_ceil(2) + 8 + 4 * wished))?;
            found.capacity = wished;
        }
        if self.contacts.1 < count {
            let mut places = Places { next: 0 };
            places.take_halves(wished);
            places.take_halves(wished);
            places.take(4 * wished);
            places.take(told::ALL * wished.div_ceil(CHUNK));
            places.take(2 * args.led as usize * wished);
            self.take_colours(&mut places, wished);
            self.contacts.0.reserve(8 * places.next)?;
            self.contacts.1 = wished;
        }
        self.place_work(args, count, precision)?;
        self.contacts_at(args, set);
        Ok(())
    }

    /// Makes room for contacts that come from elsewhere, as those of the last step.
    pub fn place_old(&mut self, args: &mut GrainArgs, count: usize) -> Result<(), Error> {
        let found = &mut self.found[self.last];
        if found.capacity < count {
            let wished = count + count / 8 + 256;
            found.memory.reserve(8 * (wished.div_ceil(2) + 8 + 4 * wished))?;
            found.capacity = wished;
        }
        self.contacts_at(args, self.last);
        Ok(())
    }

    /// Makes room for the iteration.
    pub fn place_work(
        &mut self,
        args: &mut GrainArgs,
        count: usize,
        precision: Precision,
    ) -> Result<(), Error> {
        let n = args.grains as usize;
        let led = args.led as usize;
        let (memory, capacity, held) = &mut self.work;
        if *capacity < count || *capacity == 0 || *held != precision {
            *capacity = (*capacity).max(count + count / 8 + 256);
            *held = precision;
            let k = *capacity;
            let words = [4 * k, 2 * k, 4 * led * k, PLACES * 4 * k, PLACES * 8 * n, 16 * n, 8 * n, 4 * n];
            let all: usize = words.iter().map(|w| precision.words(*w).next_multiple_of(8)).sum();
            memory.reserve(8 * all)?;
        }
        let k = *capacity;
        let mut places = Places { next: 0 };
        let mut at = |numbers: usize| memory.address() + 8 * places.take(precision.words(numbers)) as u64;
        args.row = at(4 * k);
        args.rub = at(2 * k);
        args.drift = at(4 * led * k);
        args.places = at(PLACES * 4 * k);
        args.velocity = at(PLACES * 8 * n);
        args.ahead = at(16 * n);
        args.start = at(8 * n);
        args.light = at(4 * n);
        args.stride = 4 * k as u64;
        Ok(())
    }

    /// The addresses of a set of contacts.
    pub fn contacts_at(&mut self, args: &mut GrainArgs, set: usize) {
        let of = |found: &Found| {
            let other = found.memory.address();
            (found.first.address(), other, other + 8 * found.capacity.div_ceil(2).next_multiple_of(8) as u64)
        };
        (args.first, args.other, args.gamma) = of(&self.found[set]);
        (args.old_first, args.old_other, args.old_gamma) = of(&self.found[self.last]);
        let wished = self.contacts.1;
        let mut places = Places { next: 0 };
        let start = self.contacts.0.address();
        args.owner = start + 8 * places.take_halves(wished) as u64;
        args.low = start + 8 * places.take_halves(wished) as u64;
        args.touch = start + 8 * places.take(4 * wished) as u64;
        args.contact_sums = start + 8 * places.take(told::ALL * wished.div_ceil(CHUNK)) as u64;
        args.soft = start + 8 * places.take(2 * args.led as usize * wished) as u64;
        let [colour, slot, sides, tally, tally_first, sums, seen] =
            self.take_colours(&mut places, wished).map(|place| start + 8 * place as u64);
        (args.colour, args.sides, args.tally, args.tally_first, args.seen) =
            (colour, sides, tally, tally_first, seen);
        (self.slot, self.tally_sums) = (slot, sums);
    }

    /// What colours take for so many contacts: by contact its colour, its place, two sides; tallies by colour
    /// and chunk, the sums of these, and sums of sums; what a sweep measures.
    fn take_colours(&self, places: &mut Places, wished: usize) -> [usize; 7] {
        let k = if self.coloured { wished } else { 0 };
        let tallies = COLOURS * k.div_ceil(CHUNK);
        [k, k, 2 * k, tallies, tallies + 1, tallies.div_ceil(CHUNK), 2 * k].map(|n| places.take_halves(n))
    }

    /// Where the sums of counts of a set go.
    pub fn first_of(&self, set: usize) -> u64 {
        self.found[set].first.address()
    }
}

const _: () = assert!(SUMS <= told::ALL, "sums of an iteration have room");
