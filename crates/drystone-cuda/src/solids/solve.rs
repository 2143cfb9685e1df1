//! The iteration on a problem of solids.

use std::time::Instant;

use super::SolidsOnDevice;
use super::layout::{SolidArgs, told};
use crate::engine::Recording;
use crate::error::Error;
use crate::grains::colours::{FEW, PIECE, ROUNDS};
use crate::grains::layout::COLOURS;
use crate::grains::solve::{Ended, LONG, RECORDED, REFRESH};
use crate::grains::{Colours, GrainMethod};
use crate::kernels::Kernel;
use crate::layout::{CHUNK, Control, EVERY, halt, rule};
use crate::pack::CONTROL;

impl SolidsOnDevice {
    fn put_control(&mut self) -> Result<(), Error> {
        self.answer.reserve(CONTROL.max(told::ALL))?;
        crate::solver::write_control(&self.control, self.answer.words());
        self.answer.upload(self.args.posed.control, size_of::<Control>().div_ceil(8), self.stream)
    }

    fn get_control(&mut self) -> Result<(), Error> {
        self.answer.download(self.args.posed.control, size_of::<Control>().div_ceil(8), self.stream)?;
        self.control = crate::solver::read_control(self.answer.words());
        Ok(())
    }

    /// The numbers of the report so far; waits for all that was launched.
    pub(super) fn told(&mut self) -> Result<[f64; told::ALL], Error> {
        self.answer.reserve(CONTROL.max(told::ALL))?;
        self.answer.download(self.args.told, told::ALL, self.stream)?;
        let words = self.answer.words();
        Ok(std::array::from_fn(|k| f64::from_bits(words[k])))
    }

    /// Poses the problem of the contacts that were found, and starts from its guess.
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        let (n, count) = (self.args.solids, self.args.contacts);
        let velocities = self.args.positions == 0;
        let posed = &mut self.args.posed;
        (posed.bodies, posed.points, posed.blocks, posed.width) = (n, count, count, 8);
        posed.free = if velocities { self.memory.free } else { self.args.still };
        let jacobi = match self.method {
            GrainMethod::Jacobi(omega) if velocities => Some(omega),
            _ => None,
        };
        let sweeps = velocities && self.colours.is_some();
        self.control = Control {
            theta: 1.0,
            next_theta: 0.5 * (5f64.sqrt() - 1.0),
            omega: jacobi.unwrap_or(1.0),
            lambda: 1.0,
            rule: match jacobi {
                Some(_) => rule::JACOBI,
                None if sweeps => rule::SWEEPS,
                None => rule::CURVATURE,
            },
            settle_below: f64::INFINITY,
            safeguard: 1,
            before: 1,
            trial: 2,
            best_is_start: 1,
            threshold: -1.0,
            ..Control::default()
        };
        self.put_control()?;
        self.launch(Kernel::SolidsLists, n)?;
        self.launch(Kernel::SolidsPose, count)?;
        self.launch_posed(Kernel::StartMeasure, count)?;
        if sweeps {
            return self.launch(Kernel::SolidsBegin, count);
        }
        self.launch_posed(Kernel::StartScale, count)?;
        self.launch_posed(Kernel::StartBodies, n)?;
        self.launch_posed(Kernel::StartLipschitz, count)
    }

    fn swept(&self) -> Option<&Colours> {
        self.colours.as_ref().filter(|_| self.args.positions == 0)
    }

    /// Iterates from where it stands until the residual is at the threshold, or `limit` iterations are done.
    pub(super) fn advance(&mut self, threshold: f64, limit: u32) -> Result<Ended, Error> {
        let begun = Instant::now();
        self.get_control()?;
        let before = self.control.used;
        self.control.halt = 0;
        self.control.threshold = threshold;
        self.control.limit = limit;
        // Rows are made anew for another look.
        self.control.since = REFRESH;
        self.put_control()?;
        if before == 0 {
            self.look(true)?;
        }
        let mut recording = std::mem::replace(&mut self.recording, Recording::new(self.engine.clone()));
        let played = recording.record(self.stream, || self.iterations()).and_then(|()| {
            self.get_control()?;
            while self.control.halt == 0 && self.control.used < limit {
                let left = (limit - self.control.used) as usize;
                // What has taken long is looked at less often.
                let done = (self.control.used - before) as usize;
                let plays = (self.geometry.batch.max(done / LONG) / RECORDED).max(1);
                for _ in 0..plays.min(left.div_ceil(RECORDED)) {
                    // SAFETY: it was recorded just now, with the addresses of `args`.
                    unsafe { recording.play(self.stream)? };
                }
                self.get_control()?;
            }
            Ok(())
        });
        self.recording = recording;
        played?;
        let (c, done) = (&self.control, u64::from(self.control.used - before));
        let (contacts, bodies) = (u64::from(self.args.contacts), u64::from(self.args.solids));
        self.engine.used(|u| {
            u.iterate_s += begun.elapsed().as_secs_f64();
            u.iterations += done;
            u.block_iterations += done * contacts;
            u.body_iterations += done * bodies;
        });
        Ok(match c.halt {
            state if state & halt::DIVERGED != 0 => Ended::Diverged,
            state if state & halt::LOOK != 0 => Ended::Near,
            _ => Ended::Cap,
        })
    }

    /// The residual of what there is; at the `start` of sweeps velocities are not there yet.
    fn look(&self, start: bool) -> Result<(), Error> {
        if self.swept().is_none() {
            return self.launch_posed(Kernel::Look, self.args.contacts);
        }
        if start {
            self.launch(Kernel::SolidsRefresh, self.args.solids)?;
        }
        self.launch(Kernel::SolidsLook, self.args.contacts)
    }

    /// The launches of [`RECORDED`] iterations.
    fn iterations(&self) -> Result<(), Error> {
        if self.swept().is_some() {
            self.launch(Kernel::SolidsRefresh, self.args.solids)?;
        }
        for step in 1..=RECORDED {
            match self.swept() {
                Some(colours) => self.sweep(colours)?,
                None => {
                    self.launch_posed(Kernel::StepBlocks, self.args.contacts)?;
                    self.launch_posed(Kernel::StepBodies, self.args.solids)?;
                }
            }
            if step.is_multiple_of(EVERY) {
                self.look(false)?;
            }
        }
        Ok(())
    }

    /// The launches of one sweep over the pairs of these colours.
    fn sweep(&self, colours: &Colours) -> Result<(), Error> {
        for k in 0..colours.own {
            let args = SolidArgs { from: colours.first[k], to: colours.first[k + 1], ..self.args };
            // Blocks of one piece each, as far as the device is to have so many.
            let (threads, blocks) = (self.geometry.threads.min(PIECE), self.geometry.blocks.max(1));
            let blocks = (args.to - args.from).div_ceil(PIECE).clamp(1, blocks * (CHUNK as u32 / PIECE));
            // SAFETY: the addresses were made by `SolidMemory` for the counts beside them.
            unsafe { self.engine.launch(Kernel::SolidsSweep, blocks, threads, self.stream, &args)? };
        }
        let rest = SolidArgs { from: colours.own as u32, to: COLOURS as u32, ..self.args };
        // SAFETY: as above.
        unsafe {
            self.engine.launch(Kernel::SolidsSweepLast, 1, self.geometry.threads, self.stream, &rest)?;
        }
        self.launch(Kernel::SolidsTurn, self.args.contacts)
    }

    /// Colours the pairs that were found; None where there are none, or some body has pairs of all colours.
    pub(super) fn colour(&mut self) -> Result<Option<Colours>, Error> {
        let (n, count) = (self.args.solids, self.args.pairs);
        if count == 0 {
            return Ok(None);
        }
        let (owner, other, low) = (self.args.owner, self.args.other, self.args.low);
        (self.cells.owner, self.cells.other, self.cells.low) = (owner, other, low);
        (self.cells.first, self.cells.contacts) = (self.args.first, count);
        // Until there are places, urgencies are there.
        self.cells.slot = self.memory.slot;
        self.launch_cells(Kernel::ColoursClear, n.max(count))?;
        let mut left = count;
        while left > 0 {
            for _ in 0..ROUNDS {
                self.launch_cells(Kernel::ColoursName, n)?;
                self.launch_cells(Kernel::ColoursTake, count)?;
            }
            let now = self.colours_told()?[COLOURS + 1];
            if now == left {
                return Ok(None);
            }
            left = now;
        }
        self.launch_cells(Kernel::ColoursTally, count)?;
        let tallies = COLOURS as u32 * count.div_ceil(CHUNK as u32);
        self.scan(self.cells.tally, self.cells.tally_first, tallies, self.memory.tally_sums)?;
        self.launch_cells(Kernel::ColoursPlace, count)?;
        self.launch(Kernel::SolidsOrder, count)?;
        let told = self.colours_told()?;
        let first: [u32; COLOURS + 1] = std::array::from_fn(|k| told[k]);
        let large = |k: &usize| first[k + 1] - first[*k] > FEW;
        let needed = (0..COLOURS).rev().find(large).map_or(0, |k| k + 1);
        // One more than is needed costs less than another sequence of launches.
        let own = if (needed..needed + 2).contains(&self.launched) { self.launched } else { needed };
        self.launched = own;
        Ok(Some(Colours { first, own }))
    }

    fn colours_told(&mut self) -> Result<[u32; COLOURS + 2], Error> {
        const WORDS: usize = (COLOURS + 2).div_ceil(2);
        self.answer.reserve(WORDS)?;
        self.answer.download(self.cells.colours, WORDS, self.stream)?;
        let words = self.answer.words();
        Ok(std::array::from_fn(|k| (words[k / 2] >> (32 * (k % 2))) as u32))
    }

    /// Velocities of the multipliers, the best or the last ones, and what the judge says of them.
    pub(super) fn judge(&mut self, best: bool) -> Result<[f64; told::ALL], Error> {
        self.args.best = u32::from(best);
        self.launch(Kernel::SolidsMultipliers, self.args.contacts)?;
        self.launch(Kernel::SolidsVelocities, self.args.solids)?;
        self.launch(Kernel::SolidsJudge, self.args.contacts)?;
        self.told()
    }
}
