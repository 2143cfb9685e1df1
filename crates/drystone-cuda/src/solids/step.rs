//! The step of a world of solids, on the device.

use std::time::{Duration, Instant};

use drystone::solve::solver::Status;
use drystone::{Stage, StepError, StepReport, World};

use super::SolidsOnDevice;
use super::layout::told;
use super::memory::POSITIONS;
use crate::error::Error;
use crate::grains::layout::told as told_of;
use crate::grains::solve::Ended;
use crate::grains::step::{AHEAD, SLACK, report};
use crate::grains::{GrainMethod, GrainsError};
use crate::kernels::Kernel;

/// Times that the judge may find what the iteration ended with not good enough.
const ASKED: usize = 8;

/// What a velocity problem came to.
struct Solved {
    status: Status,
    iterations: usize,
    told: [f64; told::ALL],
}

/// What became of positions.
struct Corrected {
    rounds: usize,
    /// The step made an overlap that it should not have.
    unresolved: bool,
}

impl SolidsOnDevice {
    /// One step. The world is where [`SolidsOnDevice::fetch`] last left it, except after a step that the
    /// device could not take as one: that one the world itself takes.
    pub fn step(&mut self, world: &mut World) -> Result<StepReport, GrainsError> {
        self.engine.enter()?;
        if world.has_changed(self.world.revision) {
            let text = "bodies were added or removed while the world was on the device".to_string();
            return Err(StepError::NonFinite { step: world.state().step + 1, text }.into());
        }
        let number = world.state().step + self.ahead + 1;
        match self.attempt(number)? {
            Some(report) => {
                self.ahead += 1;
                Ok(report)
            }
            None => {
                self.fetch(world)?;
                let report = world.step()?;
                self.send_motion(world)?;
                self.steps_on_cpu += 1;
                Ok(report)
            }
        }
    }

    /// One step on the device; None where the CPU has to take it.
    fn attempt(&mut self, number: u64) -> Result<Option<StepReport>, GrainsError> {
        let mut clock = (Instant::now(), [Duration::ZERO; 7]);
        let mut stage = |stage: Stage| {
            let now = Instant::now();
            clock.1[stage as usize] += now - clock.0;
            clock.0 = now;
            clock.1
        };
        self.memory.turn(&mut self.args);
        let now = 1 - self.memory.last;
        let before = self.memory.found_at(self.memory.last);
        self.old_at(before);
        self.args.old_pairs = self.pairs as u32;
        self.launch(Kernel::SolidsPredict, self.args.solids)?;
        let bent = self.search(number, now, true, 0.0)?;
        stage(Stage::Broadphase);
        let solved = self.velocities(bent)?;
        stage(Stage::Solve);
        if solved.status == Status::Diverged || solved.told[told_of::WRONG] != 0.0 {
            let text = "a contact of solids on the device".into();
            return Err(StepError::Diverged { step: number, iterations: solved.iterations, text }.into());
        }
        let coarse = solved.told[told::COARSE] != 0.0 || solved.told[told::THROWN] != 0.0;
        if coarse && self.args.resolved.is_finite() {
            return Ok(None);
        }
        let (pairs, contacts) = (self.args.pairs, self.args.contacts);
        self.launch(Kernel::SolidsIntegrate, self.args.solids)?;
        let corrected = self.correct(number, now)?;
        if corrected.unresolved {
            return Ok(None);
        }
        let spans = stage(Stage::Correct);
        // The step is taken: what was found is what the next one starts from.
        self.memory.last = now;
        (self.pairs, self.contacts) = (pairs as usize, contacts as usize);
        self.memory.turn(&mut self.args);
        let t = &solved.told;
        let mut told =
            report(number, self.contacts, solved.status, solved.iterations, t, corrected.rounds, spans);
        let g = self.settings.gravity.length_squared();
        told.support =
            (g > 0.0 && self.mass > 0.0).then(|| t[told_of::SUPPORT] / (self.settings.h * self.mass * g));
        Ok(Some(told))
    }

    /// Finds the contacts of bodies into a set of their own; whether turns add to some gap.
    fn search(&mut self, number: u64, set: usize, moving: bool, more: f64) -> Result<bool, GrainsError> {
        let (n, buckets) = (self.args.solids, self.args.buckets);
        (self.args.moving, self.args.more) = (u32::from(moving), more);
        (self.cells.moving, self.cells.more) = (u32::from(moving), more);
        self.args.positions = u32::from(!moving);
        self.cells.centres = if moving { self.args.reach } else { self.args.place_after };
        self.launch_cells(Kernel::GrainsBounds, n)?;
        self.launch_cells(Kernel::CellsClear, buckets)?;
        self.launch_cells(Kernel::CellsCount, n)?;
        let sums = self.memory.sums;
        self.scan(self.cells.cell_count, self.cells.cell_first, buckets, sums)?;
        self.launch_cells(Kernel::CellsFill, n)?;
        self.launch_cells(Kernel::CellsSort, buckets)?;
        self.launch(Kernel::SolidsEnclose, n)?;
        self.launch(Kernel::SolidsNearCount, n)?;
        self.scan(self.args.counts, self.args.near_first, 2 * n, sums)?;
        self.launch(Kernel::SolidsNearTold, 1)?;
        let near = self.told()?[told::PAIRS];
        if !(near >= 0.0) {
            let text = "a body has a position or velocity that is not finite".into();
            return Err(StepError::NonFinite { step: number, text }.into());
        }
        self.args.near = near as u32;
        let near_sums = self.memory.place_near(&mut self.args, near as usize)?;
        self.launch(Kernel::SolidsNearWrite, n)?;
        self.launch(Kernel::SolidsNearLink, n)?;
        self.launch(Kernel::SolidsTouch, self.args.near)?;
        if moving {
            self.launch(Kernel::SolidsForetell, self.args.near)?;
        }
        self.launch(Kernel::SolidsTally, n)?;
        self.args.first = self.memory.found_at(set).first;
        self.scan(self.args.counts, self.args.first, 2 * n, sums)?;
        self.scan(self.args.near_count, self.args.near_start, self.args.near, near_sums)?;
        self.scan(self.args.entries, self.args.posed.first_entry, n, sums)?;
        self.launch(Kernel::SolidsTold, 1)?;
        let told = self.told()?;
        let (pairs, contacts) = (told[told::PAIRS] as usize, told[told_of::CONTACTS] as usize);
        (self.args.pairs, self.args.contacts) = (pairs as u32, contacts as u32);
        let at = self.memory.place_found(set, pairs, contacts)?;
        self.memory.place_work(&mut self.args, &mut self.cells, pairs, contacts)?;
        self.found_at(at);
        self.launch(Kernel::SolidsPairs, n)?;
        self.launch(Kernel::SolidsLink, n)?;
        self.launch(Kernel::SolidsContacts, self.args.near)?;
        Ok(told[told::BENT] != 0.0)
    }

    /// Solves the velocity problem of the contacts that were found.
    fn velocities(&mut self, bent: bool) -> Result<Solved, Error> {
        let (tolerance, limit) = (self.settings.tolerance, self.settings.iterations.min(u32::MAX as usize));
        let mut threshold = if tolerance > 0.0 { tolerance } else { -1.0 };
        self.args.posed.guess = if self.settings.warm_start { self.memory.guess } else { 0 };
        self.args.posed.soft = if bent { self.memory.soft } else { 0 };
        self.colours = if self.method == GrainMethod::Sweeps { self.colour()? } else { None };
        self.begin()?;
        let mut asked = 0;
        let (status, told) = loop {
            let ended = self.advance(threshold, limit as u32)?;
            // The last multipliers where they are good, else the best so far.
            let told = self.judge(ended == Ended::Cap && !matches!(self.method, GrainMethod::Jacobi(_)))?;
            let residual = told[told_of::RESIDUAL];
            match ended {
                Ended::Diverged => break (Status::Diverged, told),
                _ if tolerance > 0.0 && residual <= tolerance => break (Status::Converged, told),
                Ended::Near if asked < ASKED => {
                    asked += 1;
                    threshold = self.control.residual * (tolerance / residual).min(0.9);
                }
                _ => break (Status::Iterations, told),
            }
        };
        self.engine.used(|u| u.solves += 1);
        Ok(Solved { status, iterations: self.control.used as usize, told })
    }

    /// Removes overlaps of where bodies have come to: see `stabilise.rs` of drystone, which this follows for
    /// one island that is everywhere. `now` has the contacts that the step began with.
    fn correct(&mut self, number: u64, now: usize) -> Result<Corrected, GrainsError> {
        let (how, set) = (self.correction, POSITIONS);
        // Names of contacts, and gaps before the step, are those of its beginning.
        let before = self.memory.found_at(now);
        self.old_at(before);
        self.args.old_pairs = self.args.pairs;
        let mut more = std::mem::take(&mut self.looked);
        let mut rounds = 0;
        let mut out = Corrected { rounds: 0, unresolved: false };
        self.search(number, set, false, more)?;
        while rounds <= how.rounds {
            self.launch(Kernel::SolidsMeasure, self.args.contacts)?;
            let told = self.told()?;
            if rounds == 0 && told[told_of::UNRESOLVED] != 0.0 {
                out.unresolved = true;
                break;
            }
            let enough = if rounds == 0 { how.tolerance } else { how.accept };
            if told[told_of::WORST] <= enough || rounds == how.rounds {
                break;
            }
            let ahead = AHEAD * told[told_of::DEEPEST];
            if ahead > self.args.base {
                self.looked = self.looked.max(SLACK * ahead);
                if ahead > more {
                    more = self.looked;
                    self.search(number, set, false, more)?;
                }
            }
            // Nobody leaves the distance that contacts were looked for, half of it for each of two.
            self.args.leash = 0.5;
            (self.args.posed.guess, self.args.posed.soft) = (0, 0);
            self.launch(Kernel::SolidsInertia, self.args.solids)?;
            self.begin()?;
            let finest = 0.25 * how.tolerance * self.finest;
            let ended = self.advance(finest, self.settings.position_iterations as u32)?;
            self.args.best = u32::from(ended != Ended::Near);
            self.launch(Kernel::SolidsShift, self.args.solids)?;
            rounds += 1;
            let moved = self.told()?;
            // What the tangent leaves is of second order in the way.
            let done = ended == Ended::Near
                && moved[told_of::CUT] == 0.0
                && told[told_of::WORST] <= self.args.reach_share
                && moved[told_of::WAY].powi(2) <= 0.25 * how.accept;
            if done {
                break;
            }
            self.search(number, set, false, more)?;
        }
        out.rounds = rounds;
        Ok(out)
    }
}
