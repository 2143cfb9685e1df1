//! The step of a world of grains, on the device.

use std::time::Instant;

use drystone::grains::TURN;
use drystone::solve::certificate::Certificate;
use drystone::solve::solver::Status;
use drystone::{Integrator, Stage, StepError, StepReport, World};

use super::layout::told;
use super::solve::Ended;
use super::transfer::Led;
use super::{GrainMethod, GrainsError, GrainsOnDevice};
use crate::error::Error;
use crate::kernels::Kernel;

/// How far ahead contacts are looked for in a position problem, over the largest error: overlaps add up along
/// a stack.
pub(crate) const AHEAD: f64 = 4.0;
/// How much further than this step had to the next one looks at once.
pub(crate) const SLACK: f64 = 1.25;
/// Times that the judge may find single precision not good enough before double precision goes on.
const ASKED: usize = 2;

/// From so many contacts or grains on the iteration adds up several chunks at a time: there is work for
/// everybody then.
pub(super) const MANY: u32 = 400_000;
/// Chunks that are added up together there.
const RUN: u32 = 4;

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

impl GrainsOnDevice {
    /// One step. The world is where [`GrainsOnDevice::fetch`] last left it, except after a step that the
    /// device could not take as one: that one the world itself takes.
    pub fn step(&mut self, world: &mut World) -> Result<StepReport, GrainsError> {
        self.engine.enter()?;
        if world.grains_changed(&self.world) {
            let text = "bodies were added or removed while the world was on the device".to_string();
            return Err(StepError::NonFinite { step: world.state().step + 1, text }.into());
        }
        let number = world.state().step + self.ahead + 1;
        let led: Vec<Led> = self.led.iter().map(|m| Led { from: *m, to: world.lead(m, self.time) }).collect();
        // Where contacts of what turns far are bent, the engine's own step foretells them.
        let far = led.iter().any(|m| m.to.omega.length() * self.settings.h > TURN);
        let taken = if far { None } else { self.attempt(number, &led)? };
        match taken {
            Some(report) => {
                self.ahead += 1;
                self.time += self.settings.h;
                self.led_before.clone_from(&self.led);
                self.led.iter_mut().zip(led).for_each(|(m, led)| *m = led.to);
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
    fn attempt(&mut self, number: u64, led: &[Led]) -> Result<Option<StepReport>, GrainsError> {
        let mut clock = (Instant::now(), [std::time::Duration::ZERO; 7]);
        let mut stage = |stage: Stage| {
            let now = Instant::now();
            clock.1[stage as usize] += now - clock.0;
            clock.0 = now;
            clock.1
        };
        self.memory.turn(&mut self.args);
        let (last, now) = (self.memory.last, 1 - self.memory.last);
        if !led.is_empty() {
            self.send_led(led)?;
        }
        self.args.fixed = self.args.fixed_before;
        self.launch(Kernel::GrainsPredict, self.args.grains)?;
        self.args.centres = self.args.place;
        self.search(number, now, true, 0.0)?;
        stage(Stage::Broadphase);
        let contacts = self.args.contacts;
        self.args.positions = 0;
        let solved = self.velocities(now)?;
        stage(Stage::Solve);
        if solved.status == Status::Diverged || solved.told[told::WRONG] != 0.0 {
            let text = "a contact of grains on the device".into();
            return Err(StepError::Diverged { step: number, iterations: solved.iterations, text }.into());
        }
        self.launch(Kernel::GrainsIntegrate, self.args.grains)?;
        let corrected = self.correct(number, last)?;
        if corrected.unresolved {
            self.args.old_contacts = 0;
            return Ok(None);
        }
        let spans = stage(Stage::Correct);
        // The step is taken: what was found is what the next one starts from.
        self.memory.last = now;
        self.args.old_contacts = contacts;
        self.memory.turn(&mut self.args);
        let (status, iterations) = (solved.status, solved.iterations);
        let mut told =
            report(number, contacts as usize, status, iterations, &solved.told, corrected.rounds, spans);
        let g = self.settings.gravity.length_squared();
        let mass: f64 = self.mass;
        told.support =
            (g > 0.0 && mass > 0.0).then(|| solved.told[told::SUPPORT] / (self.settings.h * mass * g));
        Ok(Some(told))
    }

    /// Finds the contacts of grains at `centres`, into a set of their own.
    fn search(&mut self, number: u64, set: usize, moving: bool, more: f64) -> Result<(), GrainsError> {
        let (n, buckets) = (self.args.grains, self.args.buckets);
        self.args.moving = u32::from(moving);
        self.args.more = more;
        self.launch(Kernel::GrainsBounds, n)?;
        self.launch(Kernel::CellsClear, buckets)?;
        self.launch(Kernel::CellsCount, n)?;
        self.scan(self.args.cell_count, self.args.cell_first, buckets)?;
        self.launch(Kernel::CellsFill, n)?;
        self.launch(Kernel::CellsSort, buckets)?;
        self.launch(Kernel::NearCount, n)?;
        self.args.first = self.memory.first_of(set);
        self.scan(self.args.counts, self.args.first, 2 * n)?;
        self.launch(Kernel::NearTold, 1)?;
        let found = self.told()?[told::CONTACTS];
        if !(found >= 0.0) {
            let text = "a grain has a position or velocity that is not finite".into();
            return Err(StepError::NonFinite { step: number, text }.into());
        }
        self.args.contacts = found as u32;
        self.args.run = if self.args.contacts.max(n) >= self.many { RUN } else { 1 };
        self.memory.place_contacts(&mut self.args, set, found as usize, self.precision)?;
        self.launch(Kernel::NearWrite, n)?;
        self.launch(Kernel::NearTouch, self.args.contacts)?;
        self.launch(Kernel::NearLink, n)?;
        Ok(())
    }

    /// Sums of numbers before each one.
    pub(super) fn scan(&mut self, from: u64, to: u64, count: u32) -> Result<(), Error> {
        (self.args.scan_from, self.args.scan_to, self.args.scan_count) = (from, to, count);
        self.launch(Kernel::ScanChunks, count)?;
        self.launch(Kernel::ScanTotals, 1)?;
        self.launch(Kernel::ScanEach, count)
    }

    /// Solves the velocity problem of the contacts that were found.
    fn velocities(&mut self, set: usize) -> Result<Solved, Error> {
        let (tolerance, limit) = (self.settings.tolerance, self.settings.iterations.min(u32::MAX as usize));
        let mut threshold = if tolerance > 0.0 { tolerance } else { -1.0 };
        let (keeps, warm) = (self.args.old_contacts, self.settings.warm_start);
        if !warm {
            self.args.old_contacts = 0;
        }
        self.colours = None;
        if self.method == GrainMethod::Sweeps {
            self.colours = self.colour()?;
        }
        self.begin()?;
        let mut asked = 0;
        let (status, told) = loop {
            let ended = self.advance(threshold, limit as u32)?;
            // The last multipliers where they are good, else the best so far.
            let told = self.judge(ended == Ended::Cap && !matches!(self.method, GrainMethod::Jacobi(_)))?;
            let residual = told[told::RESIDUAL];
            match ended {
                Ended::Diverged => break (Status::Diverged, told),
                _ if tolerance > 0.0 && residual <= tolerance => break (Status::Converged, told),
                Ended::Cap => break (Status::Iterations, told),
                Ended::Stalled if self.is_fine() => break (Status::Iterations, told),
                Ended::Near | Ended::Stalled => {
                    asked += 1;
                    threshold = self.control.residual * (tolerance / residual).min(0.9);
                    if !self.is_fine() && (ended == Ended::Stalled || asked == ASKED) {
                        self.refine(set)?;
                        threshold = tolerance;
                    }
                }
            }
        };
        self.coarsen();
        self.args.old_contacts = keeps;
        self.engine.used(|u| u.solves += 1);
        Ok(Solved { status, iterations: self.control.used as usize, told })
    }

    /// Removes overlaps of where grains have come to: see `stabilise.rs` of drystone, which this follows for
    /// one island that is everywhere.
    fn correct(&mut self, number: u64, set: usize) -> Result<Corrected, GrainsError> {
        let how = self.correction;
        (self.args.centres, self.args.fixed) = (self.args.place_after, self.memory.fixed_end);
        // As far as the last step had to look: one search is then enough.
        let mut more = std::mem::take(&mut self.looked);
        let mut rounds = 0;
        let mut out = Corrected { rounds: 0, unresolved: false };
        self.search(number, set, false, more)?;
        let mut travelled = 0.0;
        while rounds <= how.rounds {
            self.launch(Kernel::GrainsMeasure, self.args.contacts)?;
            let told = self.told()?;
            if rounds == 0 && told[told::UNRESOLVED] != 0.0 {
                out.unresolved = true;
                break;
            }
            let enough = if rounds == 0 { how.tolerance } else { how.accept };
            if told[told::WORST] <= enough || rounds == how.rounds {
                break;
            }
            let ahead = AHEAD * told[told::DEEPEST];
            if ahead > self.args.base {
                self.looked = self.looked.max(SLACK * ahead);
                if ahead > more {
                    more = self.looked;
                    self.search(number, set, false, more)?;
                    travelled = 0.0;
                }
            }
            // Nobody leaves the distance that contacts were looked for, half of it for each of two.
            self.args.leash = if travelled > 0.0 { 0.25 } else { 0.5 };
            self.args.positions = 1;
            self.begin()?;
            let ended = self.advance(0.25 * how.tolerance, self.settings.position_iterations as u32)?;
            self.args.best = u32::from(ended != Ended::Near);
            self.launch(Kernel::ShiftSingle, self.args.grains)?;
            self.args.positions = 0;
            rounds += 1;
            let moved = self.told()?;
            // What the tangent leaves is of second order in the way.
            let done = ended == Ended::Near
                && moved[told::CUT] == 0.0
                && told[told::WORST] <= self.args.reach
                && moved[told::WAY].powi(2) <= 0.25 * how.accept;
            if done {
                break;
            }
            travelled += moved[told::WAY] * self.radii[1];
            if travelled <= 0.25 * (self.args.base + self.args.share * self.radii[0] + more) {
                // The same pairs, where they are now.
                self.launch(Kernel::NearTouch, self.args.contacts)?;
            } else {
                self.search(number, set, false, more)?;
                travelled = 0.0;
            }
        }
        out.rounds = rounds;
        Ok(out)
    }
}

/// What a step on the device says of itself.
pub(crate) fn report(
    step: u64,
    contacts: usize,
    status: Status,
    iterations: usize,
    t: &[f64],
    rounds: usize,
    spans: [std::time::Duration; 7],
) -> StepReport {
    let (kinetic, bias) = (t[told::KINETIC], t[told::BIAS]);
    let touching = t[told::TOUCHING] as usize;
    StepReport {
        step,
        integrator: Integrator::Euler,
        smooth_bodies: 0,
        contacts,
        asleep: 0,
        touching,
        penetration_max: t[told::OVERLAP],
        deep: None,
        penetration_mean: if touching > 0 { t[told::DEPTH] / touching as f64 } else { 0.0 },
        status,
        bounce: None,
        contradiction: Vec::new(),
        apart: None,
        iterations,
        omega: 1.0,
        rejected: 0,
        attempts: Vec::new(),
        position_rounds: rounds,
        certificate: Certificate {
            residual_max: t[told::RESIDUAL],
            residual_rms: (t[told::SQUARES] / contacts.max(1) as f64).sqrt(),
            worst_block: None,
            constraint_violation: t[told::VIOLATION],
            cone_violation: 0.0,
            complementarity: t[told::COMPLEMENTARITY],
            dual_objective: 0.5 * kinetic + t[told::RHS] + bias,
            primal_objective: None,
            duality_gap: None,
            backward_error: t[told::BACKWARD],
            least_feasible_norm: Some(if bias < 0.0 { -bias / kinetic.sqrt() } else { 0.0 }),
            multipliers: t[told::MULTIPLIERS].sqrt(),
            curvature: kinetic,
            rest_is_feasible: true,
        },
        velocity_problems: 1,
        substeps: 1,
        unresolved: None,
        worst_contact: None,
        left: Vec::new(),
        support: None,
        figures: None,
        spans,
    }
}
