//! The iteration on a problem of grains.

use std::time::Instant;

use super::colours::Colours;
use super::memory::Precision;
use super::{GrainMethod, GrainsOnDevice, layout::told};
use crate::engine::Recording;
use crate::error::Error;
use crate::kernels::Kernel;
use crate::layout::{Control, EVERY, halt, rule};
use crate::pack::CONTROL;

/// The kernels of one precision.
struct Kernels {
    pose: Kernel,
    start: Kernel,
    contacts: Kernel,
    bodies: Kernel,
    look: Kernel,
    multipliers: Kernel,
}

const SINGLE: Kernels = Kernels {
    pose: Kernel::PoseSingle,
    start: Kernel::StartSingle,
    contacts: Kernel::ContactsSingle,
    bodies: Kernel::BodiesSingle,
    look: Kernel::LookSingle,
    multipliers: Kernel::MultipliersSingle,
};

const DOUBLE: Kernels = Kernels {
    pose: Kernel::PoseDouble,
    start: Kernel::StartDouble,
    contacts: Kernel::ContactsDouble,
    bodies: Kernel::BodiesDouble,
    look: Kernel::LookDouble,
    multipliers: Kernel::MultipliersDouble,
};

/// Iterations that are recorded together.
pub(crate) const RECORDED: usize = 2 * EVERY;

/// As in `kernels/grain_sweep.h`: rows are made anew after so many sweeps.
pub(crate) const REFRESH: u32 = 64;

/// The host looks again after this part of what was done.
pub(crate) const LONG: usize = 8;

/// How an iteration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// At the threshold.
    Near,
    /// Where rounding leaves nothing to gain.
    Stalled,
    /// At the cap.
    Cap,
    /// With numbers that are none.
    Diverged,
}

impl GrainsOnDevice {
    fn kernels(&self) -> &'static Kernels {
        match self.precision {
            Precision::Single => &SINGLE,
            Precision::Double => &DOUBLE,
        }
    }

    fn put_control(&mut self) -> Result<(), Error> {
        self.answer.reserve(CONTROL.max(told::ALL))?;
        crate::solver::write_control(&self.control, self.answer.words());
        self.answer.upload(self.args.control, size_of::<Control>().div_ceil(8), self.stream)
    }

    fn get_control(&mut self) -> Result<(), Error> {
        self.answer.download(self.args.control, size_of::<Control>().div_ceil(8), self.stream)?;
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
        let velocities = self.args.positions == 0;
        let jacobi = match self.method {
            GrainMethod::Jacobi(omega) if velocities => Some(omega),
            _ => None,
        };
        let sweeps = velocities && self.colours.is_some() && self.precision == Precision::Single;
        self.args.slot = if sweeps { self.memory.slot } else { 0 };
        self.args.kappa = if velocities { self.kappa[usize::from(sweeps)] } else { 1.0 };
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
            lipschitz: self.lipschitz[self.args.positions as usize],
            threshold: -1.0,
            ..Control::default()
        };
        self.put_control()?;
        let kernels = self.kernels();
        self.launch(kernels.pose, self.args.contacts)?;
        self.launch(kernels.start, self.args.grains)
    }

    /// Whether sweeps are at work, and their colours.
    fn swept(&self) -> Option<&Colours> {
        self.colours.as_ref().filter(|_| self.args.slot != 0)
    }

    /// Iterates from where it stands until the residual is at the threshold, or `limit` iterations are done.
    pub(super) fn advance(&mut self, threshold: f64, limit: u32) -> Result<Ended, Error> {
        let begun = Instant::now();
        let kernels = self.kernels();
        self.get_control()?;
        let before = self.control.used;
        self.control.halt = 0;
        self.control.threshold = threshold;
        self.control.limit = limit;
        // Rows are made anew for another look.
        self.control.since = REFRESH;
        self.put_control()?;
        if before == 0 && self.swept().is_some() {
            self.launch(Kernel::Refresh, self.args.grains)?;
        }
        if before == 0 {
            self.launch(kernels.look, self.args.contacts)?;
        }
        let mut recording = std::mem::replace(&mut self.recording, Recording::new(self.engine.clone()));
        let played = recording.record(self.stream, || self.iterations()).and_then(|()| {
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
        if c.rule != rule::SWEEPS {
            self.lipschitz[self.args.positions as usize] = c.lipschitz;
        }
        let (contacts, grains) = (u64::from(self.args.contacts), u64::from(self.args.grains));
        self.engine.used(|u| {
            u.iterate_s += begun.elapsed().as_secs_f64();
            u.iterations += done;
            u.block_iterations += done * contacts;
            u.body_iterations += done * grains;
        });
        Ok(match c.halt {
            state if state & halt::DIVERGED != 0 => Ended::Diverged,
            state if state & halt::LOOK != 0 => Ended::Near,
            state if state & halt::STALLED != 0 => Ended::Stalled,
            _ => Ended::Cap,
        })
    }

    /// The launches of [`RECORDED`] iterations.
    fn iterations(&self) -> Result<(), Error> {
        let kernels = self.kernels();
        if self.swept().is_some() {
            self.launch(Kernel::Refresh, self.args.grains)?;
        }
        for step in 1..=RECORDED {
            match self.swept() {
                Some(colours) => self.sweep(colours)?,
                None => {
                    self.launch(kernels.contacts, self.args.contacts)?;
                    self.launch(kernels.bodies, self.args.grains)?;
                }
            }
            if step.is_multiple_of(EVERY) {
                self.launch(kernels.look, self.args.contacts)?;
            }
        }
        Ok(())
    }

    /// Velocities of the multipliers, the best or the last ones, and what the judge says of them.
    pub(super) fn judge(&mut self, best: bool) -> Result<[f64; told::ALL], Error> {
        self.args.best = u32::from(best);
        self.launch(self.kernels().multipliers, self.args.contacts)?;
        self.launch(Kernel::GrainsVelocities, self.args.grains)?;
        self.launch(Kernel::GrainsJudge, self.args.contacts)?;
        self.told()
    }

    /// Goes on in double precision, from the multipliers that were judged last.
    pub(super) fn refine(&mut self, set: usize) -> Result<(), Error> {
        self.precision = Precision::Double;
        let count = self.args.contacts;
        let old = (self.args.old_first, self.args.old_other, self.args.old_gamma, self.args.old_contacts);
        self.memory.place_contacts(&mut self.args, set, count as usize, self.precision)?;
        (self.args.old_first, self.args.old_other, self.args.old_gamma) =
            (self.args.first, self.args.other, self.args.gamma);
        self.args.old_contacts = count;
        let used = self.control.used;
        self.args.again = 1;
        self.begin()?;
        self.args.again = 0;
        self.get_control()?;
        self.control.used = used;
        self.put_control()?;
        (self.args.old_first, self.args.old_other, self.args.old_gamma, self.args.old_contacts) = old;
        Ok(())
    }

    /// Whether double precision is at work.
    pub(super) fn is_fine(&self) -> bool {
        self.precision == Precision::Double
    }

    /// Single precision from now on.
    pub(super) fn coarsen(&mut self) {
        self.precision = Precision::Single;
    }
}
