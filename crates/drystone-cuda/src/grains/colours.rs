//! Colours of contacts on the device, which Gauss-Seidel sweeps go by.

use super::GrainsOnDevice;
use super::layout::COLOURS;
use crate::error::Error;
use crate::kernels::Kernel;
use crate::layout::CHUNK;

/// Rounds of naming and taking before the host asks whether any contact is left without a colour.
pub(crate) const ROUNDS: usize = 16;
/// Colours of so many contacts or fewer are swept by one block of threads, one colour after the other.
pub(crate) const FEW: u32 = 1024;

/// Threads of that block, over those of others.
const WIDER: u32 = 4;
/// As in `kernels/grain_sweep.h`: contacts that a block of threads takes.
pub(crate) const PIECE: u32 = 64;

/// Where each colour begins in the order of colours.
#[derive(Clone, Debug)]
pub(crate) struct Colours {
    /// By colour, and the number of contacts.
    pub first: [u32; COLOURS + 1],
    /// Colours that have a launch of their own; the others follow.
    pub own: usize,
}

impl GrainsOnDevice {
    /// Colours the contacts that were found; None where there are none, or some grain has contacts of all
    /// colours.
    pub(super) fn colour(&mut self) -> Result<Option<Colours>, Error> {
        let (n, count) = (self.args.grains, self.args.contacts);
        if count == 0 {
            return Ok(None);
        }
        // Until there are places, urgencies are there.
        self.args.slot = self.memory.slot;
        self.launch(Kernel::ColoursClear, n.max(count))?;
        let mut left = count;
        while left > 0 {
            for _ in 0..ROUNDS {
                self.launch(Kernel::ColoursName, n)?;
                self.launch(Kernel::ColoursTake, count)?;
            }
            let now = self.colours_told()?[COLOURS + 1];
            if now == left {
                self.args.slot = 0;
                return Ok(None);
            }
            left = now;
        }
        self.launch(Kernel::ColoursTally, count)?;
        let sums = std::mem::replace(&mut self.args.scan_sums, self.memory.tally_sums);
        let tallies = COLOURS as u32 * count.div_ceil(CHUNK as u32);
        self.scan(self.args.tally, self.args.tally_first, tallies)?;
        self.launch(Kernel::ColoursPlace, count)?;
        self.args.scan_sums = sums;
        self.args.slot = 0;
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
        self.answer.download(self.args.colours, WORDS, self.stream)?;
        let words = self.answer.words();
        Ok(std::array::from_fn(|k| (words[k / 2] >> (32 * (k % 2))) as u32))
    }

    /// The launches of one sweep over the contacts of these colours.
    pub(super) fn sweep(&self, colours: &Colours) -> Result<(), Error> {
        for k in 0..colours.own {
            let args = super::GrainArgs { from: colours.first[k], to: colours.first[k + 1], ..self.args };
            // Blocks of one piece each, as far as the device is to have so many.
            let (threads, blocks) = (self.geometry.threads.min(PIECE), self.geometry.blocks.max(1));
            let blocks = (args.to - args.from).div_ceil(PIECE).clamp(1, blocks * (CHUNK as u32 / PIECE));
            // SAFETY: the addresses were made by `GrainMemory` for the counts beside them.
            unsafe { self.engine.launch(Kernel::Sweep, blocks, threads, self.stream, &args)? };
        }
        let rest = super::GrainArgs { from: colours.own as u32, to: COLOURS as u32, ..self.args };
        // SAFETY: as above.
        unsafe {
            let threads = WIDER * self.geometry.threads;
            self.engine.launch(Kernel::SweepLast, 1, threads.min(FEW), self.stream, &rest)?;
        }
        self.launch(Kernel::Turn, self.args.contacts)
    }
}
