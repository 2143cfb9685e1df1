//! A live run: simulated while one looks, in real time as far as the machine can, driven from the page.

mod governor;
mod link;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use drystone::{BodyId, Stage as Span, StepReport, World};
use drystone_scene::Scene;
use drystone_scene::inputs::{Input, InputLog, MOST_EVENTS, Steering, added};
use serde_json::json;

use crate::command::{Added, Command};
use crate::frames::{Hello, Parameter};
use crate::snapshot::Snapshot;
use crate::stage::Stage;
pub use governor::Governor;
use link::Desk;
pub use link::{Link, Now};

/// Makes a scene and its world of parameters: for the start, and whenever it is begun again.
pub type Make<'a> = Box<dyn Fn(&[(String, String)]) -> Result<(Scene, World), String> + 'a>;

/// How a live run is to be.
pub struct Options {
    /// The scene, as on the command line.
    pub scene: String,
    /// Parameters that are set.
    pub set: Vec<(String, String)>,
    /// Parameters that it has; none: any can be set.
    pub parameters: Vec<Parameter>,
    /// Whether it waits for a page to let it go.
    pub paused: bool,
    /// Speed over real time.
    pub pace: f64,
    /// Whether it may fall behind rather than be solved less well.
    pub exact: bool,
    /// What `drystone check` notes about the scene's file.
    pub notes: Vec<String>,
}

/// Least time between two moments that pages are shown.
const SHOWN_EVERY: Duration = Duration::from_millis(15);
/// Bodies that pages may add to a run, from one start to the next.
pub const MOST_ADDED: usize = 1000;
/// Commands that are obeyed between two steps: more wait for the next.
const AT_ONCE: usize = 256;
/// How far behind the clock a run may be before it gives the lost time up.
const LAG: Duration = Duration::from_millis(250);
/// Share of a step's time that the step itself may take.
const STEP_SHARE: f64 = 0.9;

/// The run itself, on the thread that calls it.
pub struct Live<'a> {
    make: Make<'a>,
    options: Options,
    desk: Desk,
    scene: Scene,
    world: World,
    steering: Steering,
    stage: Stage,
    log: Driven,
    /// Bodies that pages have added.
    added: usize,
    governor: Governor,
    running: bool,
    /// Steps to do while it is stopped.
    owed: u32,
    report: Option<StepReport>,
    clock: Clock,
    shown: Option<Instant>,
    /// Whether something has happened since.
    changed: bool,
    tally: Tally,
}

/// What was driven since the last start, to be read while the run goes on.
pub type Driven = Arc<Mutex<InputLog>>;

fn lock(log: &Driven) -> MutexGuard<'_, InputLog> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a live run has kept up: over all its steps, from the first start on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Steps done.
    pub steps: u64,
    /// Of these, how many reached the tolerance that the scene asks for.
    pub solved: u64,
    /// Real time that they took, s.
    pub took: f64,
    /// The longest, s.
    pub longest: f64,
    /// Largest residual of a step, m/s, and the sum over all.
    pub residual: f64,
    /// Sum of the steps' residuals, m/s: over `steps` the mean.
    pub residual_sum: f64,
    /// Real time given up because steps came too late, s.
    pub lost: f64,
    /// Fewest iterations that the governor allowed a step.
    pub least_allowed: usize,
}

/// A live run that has ended.
pub struct Ended {
    /// What was driven since the last start.
    pub log: InputLog,
    /// How it kept up.
    pub tally: Tally,
}

/// Simulated and real time.
struct Clock {
    start: Instant,
    /// Simulated time at `start`, s.
    from: f64,
    /// Simulated over real time, smoothed.
    factor: f64,
    last: Instant,
}

impl Clock {
    fn new(time: f64) -> Self {
        let now = Instant::now();
        Self { start: now, from: time, factor: 0.0, last: now }
    }

    /// Where the simulation should be, s.
    fn due(&self, pace: f64) -> f64 {
        self.from + pace * self.start.elapsed().as_secs_f64()
    }

    fn again(&mut self, time: f64) {
        (self.start, self.from, self.last) = (Instant::now(), time, Instant::now());
    }

    /// A step of `h` is done.
    fn step(&mut self, h: f64) {
        let took = self.last.elapsed().as_secs_f64().max(1e-9);
        self.last = Instant::now();
        let weight = (took / 0.5).min(1.0);
        self.factor += weight * (h / took - self.factor);
    }
}

impl<'a> Live<'a> {
    /// Makes the scene; pages connect by the link.
    pub fn new(make: Make<'a>, options: Options) -> Result<(Self, Link), String> {
        let (mut scene, world) = make(&options.set)?;
        scene.probe.begin(&world);
        let (desk, link) = Desk::new();
        let steering = Steering::new(scene.controls.clone(), &world);
        let stage = Stage::new(&world, &scene.glass, 1);
        let log = InputLog::new(&options.scene, &options.set, world.settings().h);
        let governor = Governor::new(world.settings().iterations);
        let clock = Clock::new(0.0);
        let running = !options.paused;
        let mut live = Self {
            make,
            options,
            desk,
            scene,
            world,
            steering,
            stage,
            log: Arc::new(Mutex::new(log)),
            added: 0,
            governor,
            running,
            clock,
            owed: 0,
            report: None,
            shown: None,
            changed: true,
            tally: Tally { least_allowed: usize::MAX, ..Tally::default() },
        };
        live.greet();
        live.show();
        Ok((live, link))
    }

    fn greet(&mut self) {
        // What every file has, and need not say.
        let own = |p: &Parameter| match p.name.as_str() {
            "h" if p.value.is_empty() => self.world.settings().h.to_string(),
            "seed" if p.value.is_empty() => self.scene.seed.to_string(),
            _ => p.value.clone(),
        };
        let set = |p: &Parameter| {
            let given = self.options.set.iter().rev().find(|(k, _)| *k == p.name);
            let value = given.map_or_else(|| own(p), |(_, value)| value.clone());
            Parameter { value, ..p.clone() }
        };
        let hello = Hello {
            live: true,
            parameters: self.options.parameters.iter().map(set).collect(),
            controls: self.scene.controls.clone(),
            notes: self.options.notes.clone(),
            ..Hello::of(&self.scene, &self.world)
        };
        self.desk.greet(hello);
    }

    /// What was driven so far: also where a step takes long.
    pub fn driven(&self) -> Driven {
        self.log.clone()
    }

    /// Runs until `stop`: the step under way is the last.
    pub fn run(mut self, stop: &AtomicBool) -> Ended {
        self.clock.again(self.world.state().time);
        while !stop.load(Ordering::Relaxed) {
            self.turn(Duration::from_millis(20));
        }
        let mut log = lock(&self.log).clone();
        log.finish(&self.world);
        Ended { log, tally: self.tally }
    }

    /// Obeys what has come, does a step if one is due, and shows it. One that is stopped waits for a command,
    /// so long at most.
    pub fn turn(&mut self, patience: Duration) {
        let wait = if self.running || self.owed > 0 { Duration::ZERO } else { patience };
        for _ in 0..AT_ONCE {
            let Some(command) = self.desk.next(wait) else { break };
            let is_start = matches!(command, Command::Restart | Command::Set { .. });
            self.obey(command);
            if is_start || wait > Duration::ZERO {
                break;
            }
        }
        if self.owed > 0 {
            self.owed -= 1;
            self.step();
        } else if self.running {
            self.keep_pace();
        }
        self.show_if_due();
    }

    /// Does a step if one is due, or waits a little.
    fn keep_pace(&mut self) {
        let time = self.world.state().time;
        let ahead = time - self.clock.due(self.options.pace);
        if ahead > 0.0 {
            std::thread::sleep(Duration::from_secs_f64((ahead / self.options.pace).min(2e-3)));
            return;
        }
        if -ahead > LAG.as_secs_f64() * self.options.pace {
            self.tally.lost += -ahead / self.options.pace;
            let factor = self.clock.factor;
            self.clock.again(time);
            self.clock.factor = factor;
        }
        let begun = Instant::now();
        if self.step() {
            self.clock.step(self.world.settings().h);
            self.govern(begun.elapsed());
        }
    }

    /// Allows more or fewer iterations, so that steps take no more time than there is.
    fn govern(&mut self, took: Duration) {
        if self.options.exact {
            return;
        }
        let budget = STEP_SHARE * self.world.settings().h / self.options.pace;
        let Some(report) = &self.report else { return };
        let solve = report.spans[Span::Solve as usize].as_secs_f64();
        if let Some(cap) = self.governor.step(took.as_secs_f64(), solve, budget, report.iterations) {
            self.take(Input::Iterations(cap));
        }
    }

    fn step(&mut self) -> bool {
        let begun = Instant::now();
        self.steering.before_step(&mut self.world);
        match self.world.step() {
            Ok(report) => {
                self.scene.probe.observe(&self.world);
                self.count(&report, begun.elapsed().as_secs_f64());
                self.report = Some(report);
                self.changed = true;
                true
            }
            Err(e) => {
                self.running = false;
                self.owed = 0;
                self.world.clear_forces();
                self.tell(Some(format!("stopped: {e}")));
                false
            }
        }
    }

    fn count(&mut self, report: &StepReport, took: f64) {
        let (t, residual) = (&mut self.tally, report.certificate.residual_max);
        t.steps += 1;
        t.solved += u64::from(residual <= 1.0001 * self.world.settings().tolerance);
        t.took += took;
        t.longest = t.longest.max(took);
        t.residual = t.residual.max(residual);
        t.residual_sum += residual;
        t.least_allowed = t.least_allowed.min(self.world.settings().iterations);
    }

    /// Does an input, and notes it.
    fn take(&mut self, input: Input) {
        if lock(&self.log).events.len() >= MOST_EVENTS {
            return;
        }
        let adds = matches!(input, Input::Add { .. });
        match self.has_place(&input).and_then(|()| self.steering.take(&mut self.world, &input)) {
            Ok(()) => {
                self.added += usize::from(adds);
                lock(&self.log).events.push((self.world.state().step, input));
            }
            Err(e) => self.tell(Some(e)),
        }
    }

    /// Whether one body more may be added, and has room where it is to be.
    fn has_place(&self, input: &Input) -> Result<(), String> {
        let Input::Add { cube, size, at, .. } = input else { return Ok(()) };
        if self.added >= MOST_ADDED {
            return Err(format!("{MOST_ADDED} bodies have been added: no more until it is begun again"));
        }
        if !self.world.has_room(&added(*cube, *size, *at)) {
            let what = if *cube { "cube" } else { "ball" };
            return Err(format!("the {what} would overlap other bodies there"));
        }
        Ok(())
    }

    fn obey(&mut self, command: Command) {
        let wide = |v: [f32; 3]| v.map(f64::from);
        match command {
            Command::Run(on) => {
                self.running = on;
                self.clock.again(self.world.state().time);
                self.tell(None);
            }
            Command::Step(n) => {
                (self.running, self.owed) = (false, u32::from(n));
                self.tell(None);
            }
            Command::Pace(pace) => {
                self.options.pace = f64::from(pace);
                self.clock.again(self.world.state().time);
                self.tell(None);
            }
            Command::Restart => self.begin_again(None),
            Command::Set { name, value } => self.begin_again(Some((name, value))),
            Command::Control { number, value } => {
                if usize::from(number) < self.steering.driver().controls().len() {
                    self.take(Input::Control(number.into(), value.into()));
                }
            }
            Command::Drag { body, point, to } => {
                let id = self.stage.slot(body as usize).and_then(|slot| self.world.model().id(slot));
                let same = |id: &BodyId| self.stage.number(id.slot as usize) == Some(body as usize);
                if let Some(id) = id.filter(same) {
                    self.take(Input::Drag(id.slot, id.generation, wide(point), wide(to)));
                }
            }
            Command::Release => self.take(Input::Release),
            Command::Add { what, size, at, velocity } => {
                let cube = what == Added::Cube;
                self.take(Input::Add { cube, size: size.into(), at: wide(at), velocity: wide(velocity) });
            }
            Command::Gravity(g) => self.take(Input::Gravity(wide(g))),
            Command::Inputs => {
                let mut log = lock(&self.log).clone();
                log.finish(&self.world);
                self.desk.inputs(log.json());
            }
            Command::Hello(_) | Command::Want { .. } | Command::Ready { .. } => {}
        }
        (self.shown, self.changed) = (None, true);
    }

    /// From the start, perhaps with another parameter.
    fn begin_again(&mut self, set: Option<(String, String)>) {
        let mut all = self.options.set.clone();
        if let Some((name, value)) = set {
            let known = &self.options.parameters;
            if !known.is_empty() && !known.iter().any(|p| p.name == name && p.open) {
                self.tell(Some(format!("'{name}' cannot be set from a page: start with --set {name}=...")));
                return;
            }
            all.retain(|(k, _)| *k != name);
            all.push((name, value));
        }
        match (self.make)(&all) {
            Err(e) => self.tell(Some(e)),
            Ok((mut scene, world)) => {
                scene.probe.begin(&world);
                self.options.set = all;
                self.steering = Steering::new(scene.controls.clone(), &world);
                self.stage = Stage::new(&world, &scene.glass, self.stage.epoch() + 1);
                *lock(&self.log) = InputLog::new(&self.options.scene, &self.options.set, world.settings().h);
                self.added = 0;
                self.governor = Governor::new(world.settings().iterations);
                (self.scene, self.world, self.report) = (scene, world, None);
                self.clock = Clock::new(0.0);
                self.greet();
                self.tell(None);
            }
        }
    }

    fn tell(&mut self, error: Option<String>) {
        let status = json!({
            "running": self.running,
            "pace": self.options.pace,
            "error": error,
        });
        self.desk.tell(status.to_string());
    }

    fn show_if_due(&mut self) {
        let due = self.changed && self.shown.is_none_or(|t| t.elapsed() >= SHOWN_EVERY);
        if due && self.desk.is_wanted() {
            self.show();
        }
    }

    fn show(&mut self) {
        (self.shown, self.changed) = (Some(Instant::now()), false);
        self.stage.follow(&self.world);
        let mut now = Snapshot::of(&self.stage, &self.world, self.report.as_ref());
        now.numbers[13] = self.tally.lost as f32;
        now.numbers[14] = self.governor.cap() as f32;
        now.numbers[15] = if self.running { self.clock.factor as f32 } else { 0.0 };
        (now.numbers[16], now.numbers[17]) = (self.tally.steps as f32, self.tally.solved as f32);
        now.numbers.extend(self.steering.driver().values().iter().map(|x| *x as f32));
        self.desk.show(&self.stage, now);
    }
}
