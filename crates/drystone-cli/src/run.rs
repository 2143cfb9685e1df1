//! `drystone run`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use drystone::World;
use drystone_record::file;
use drystone_record::recording::{Checkpoint, Lock};
use drystone_record::report::{ContactForces, Identity, Recorded, Recorder, Report, Warning};
use drystone_record::snapshot::Header;
use drystone_record::usage;

use drystone_scene::Scene;
use drystone_scene::inputs::{InputLog, Replay};
use drystone_scene::problem::ContactProblem;
use drystone_solve::Problem;

use crate::elsewhere::{Elsewhere, Taker};
use crate::failure::Failure;
use crate::files::{Files, Outputs};
use crate::interrupt;
use crate::outputs::{self, Output};
use crate::own;
use crate::portrait::Look;
use crate::progress::Progress;
use crate::record::{self, Keep, Origin, Recording};
use crate::simulation::{Prepared, Simulation};
use crate::terminal::{INTERRUPTED, say, write};

/// Multiplications that a sharp bound may take where a bound is to be had for little.
const BOUND: usize = 500;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    simulation: Simulation,
    /// How long to simulate, s [default: the scene's own].
    #[arg(long, value_name = "S", conflicts_with = "steps")]
    time: Option<f64>,
    /// How many steps to do, instead of --time.
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    keep: Keep,
    /// Write the report; - is standard output. Folders on the way are made.
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,
    /// Draw the last state.
    #[arg(long, value_name = "FILE.png")]
    picture: Option<PathBuf>,
    /// Contact forces of the last step, in the report: unique are the smallest ones that give its velocities,
    /// with a word for each contact whether its force is determined, that is, could not be another one.
    #[arg(long, value_name = "unique")]
    forces: Option<String>,
    /// Write the problem of every N-th step to a folder, as JSON and as FCLib's HDF5, with the multipliers
    /// that it started from and those that were found; steps with limits, motors, joints that rub, spinning
    /// friction, or rolling friction at some contacts only, as JSON alone.
    #[arg(long, value_name = "EVERY:FOLDER")]
    dump_problems: Option<String>,
    /// Multiplications by N that may be spent once, after the last step, on a sharp bound of its velocity
    /// error; 0 leaves the certificate's own [default: 500 where that has one (compliance everywhere), else
    /// 0]. The error is that of the centres of mass, weighted by mass; there is none under coulomb, nor of a
    /// step that was taken by several problems one after the other (--substeps, restitution by impulses).
    #[arg(long, value_name = "N")]
    bound: Option<usize>,
    /// Do again what was driven in a live run (`drystone live --inputs`): the same scene and parameters give
    /// the same bits. Runs as long as that did [default: nothing is driven].
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["time", "steps"])]
    inputs: Option<PathBuf>,
    /// No progress bar and no summary.
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    look: Look,
}

/// A file of inputs, and the run that it belongs to.
struct Driven {
    log: Option<InputLog>,
    simulation: Simulation,
}

impl Driven {
    /// Parameters are those of the file, and those of the command line over them.
    fn read(path: &Path, given: &Simulation) -> Result<Self, Failure> {
        let log = InputLog::read(path)?;
        let mut simulation = given.clone();
        if log.scene != given.scene {
            let shown = path.display();
            return Err(Failure::input(format!(
                "--inputs {shown}: belongs to the scene '{}', not to '{}'",
                log.scene, given.scene
            )));
        }
        if log.is_of_another_file() {
            return Err(Failure::input(format!(
                "--inputs {}: {}, or a file that it includes, is not what it was when this was driven: the run would be another one",
                path.display(),
                log.scene
            )));
        }
        simulation.set = log.set.iter().map(|(k, v)| format!("{k}={v}")).chain(given.set.clone()).collect();
        Ok(Self { log: Some(log), simulation })
    }

    fn replay(&mut self, scene: &Scene, world: &World) -> Result<Replay, Failure> {
        let log = self.log.take().ok_or_else(|| Failure::input("--inputs: read already"))?;
        let h = world.settings().h;
        if log.step_s != h {
            return Err(Failure::input(format!("--inputs: driven with steps of {} s, not {h}", log.step_s)));
        }
        Ok(Replay::new(log, scene.controls.clone(), world))
    }
}

/// A checkpoint of all that a run has in hand.
fn keep_all(
    recording: &mut Recording,
    world: &World,
    scene: &mut drystone_scene::Scene,
    totals: &Recorder,
    out: &mut Outputs,
) -> Result<(), String> {
    let written = out.written()?;
    recording.checkpoint(world, scene, totals, written)
}

impl Args {
    /// Refuses what is looked at in the middle of a step.
    fn check_elsewhere(&self, name: &str) -> Result<(), Failure> {
        let given = [
            ("--dump-problems", self.dump_problems.is_some()),
            ("--forces", self.forces.is_some()),
            ("--bound", self.bound.is_some_and(|n| n > 0)),
            ("--inputs", self.inputs.is_some()),
            ("--backend", self.simulation.backend != "cpu"),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Failure::input(format!("{option} does not work over {name}"))),
            None => Ok(()),
        }
    }

    /// What `drystone resume` may change.
    pub fn resume(
        &mut self,
        folder: PathBuf,
        time: Option<f64>,
        steps: Option<u64>,
        report: Option<PathBuf>,
        threads: Option<usize>,
        quiet: bool,
    ) {
        self.keep.record = Some(folder);
        if time.is_some() || steps.is_some() {
            (self.time, self.steps) = (time, steps);
        }
        self.report = report.or(self.report.take());
        self.simulation.threads = threads.or(self.simulation.threads);
        self.quiet = quiet;
    }
}

pub fn main(args: Args, elsewhere: Option<Box<dyn Elsewhere>>) -> Result<i32, Failure> {
    run(args, None, elsewhere)
}

/// Goes on from a checkpoint, as the one process that writes into its recording.
pub fn go_on(
    args: Args,
    from: Checkpoint,
    lock: Lock,
    elsewhere: Option<Box<dyn Elsewhere>>,
) -> Result<i32, Failure> {
    run(args, Some((from, lock)), elsewhere)
}

fn run(
    mut args: Args,
    from: Option<(Checkpoint, Lock)>,
    elsewhere: Option<Box<dyn Elsewhere>>,
) -> Result<i32, Failure> {
    if let Some(elsewhere) = &elsewhere {
        args.check_elsewhere(elsewhere.name())?;
        args.simulation.threads.get_or_insert(elsewhere.threads());
    }
    let (from, lock) = from.unzip();
    let mut dump = args.dump_problems.as_deref().map(Dump::parse).transpose()?;
    let dumps = dump.is_some();
    let view = args.look.check()?;
    if let Some(other) = args.forces.as_deref().filter(|f| *f != "unique") {
        return Err(Failure::input(format!("--forces: there is no '{other}'; valid: unique")));
    }
    if from.is_some() && args.inputs.is_some() {
        return Err(Failure::input("a run by --inputs cannot be resumed: do it again from its beginning"));
    }
    let mut driven = args.inputs.as_deref().map(|path| Driven::read(path, &args.simulation)).transpose()?;
    let Prepared { mut scene, mut world, threads, backend, labels, assembled } = match (&from, &driven) {
        (None, None) => args.simulation.prepare()?,
        (None, Some(driven)) => driven.simulation.prepare()?,
        (Some(from), _) => {
            if drystone_scene::sum_of_files(&args.simulation.scene) != from.scene_sum {
                return Err(Failure::input(format!(
                    "{}: the scene file is not there, or it or a file that it includes is not what it was when the run was begun",
                    args.simulation.scene
                )));
            }
            args.simulation.resume(&from.world, &from.probe)?
        }
    };
    if from.is_some()
        && let Some(why) = scene.probe.stop()
    {
        let step = world.state().step;
        return Err(Failure::input(format!(
            "the run has stopped by itself after step {step}, for good: {why}"
        )));
    }
    let mut replay = driven.as_mut().map(|d| d.replay(&scene, &world)).transpose()?;
    let mut steps = match replay.as_ref().and_then(|r| r.end()) {
        Some(end) => end.step,
        None => number_of_steps(&args, scene.duration, world.settings().h)?,
    };
    if let Some(from) = &from {
        if args.time.is_none() && args.steps.is_none() {
            steps = from.steps;
        }
        if world.state().step >= steps {
            return Err(Failure::input(format!(
                "the run is complete, {} of {steps} steps are done: give a later --time or more --steps",
                world.state().step
            )));
        }
    }
    // Before any file is begun, too.
    let mut taker = elsewhere.map(|e| Taker::elsewhere(e, &mut world, threads)).transpose()?;
    let header = Header { scene: scene.name.clone(), setting: world.settings().solver.clone(), threads };
    // As snapshots are due: half a step before their time.
    let now = world.state().time + 0.5 * world.settings().h;
    let report = || {
        [Output::report("--report", args.report.as_ref()), Output::png("--picture", args.picture.as_ref())]
    };
    outputs::check(Some(args.simulation.scene.as_ref()), report().into_iter().chain(args.files.outputs()))?;
    let span = (world.settings().h, steps as f64 * world.settings().h);
    args.files.check()?;
    if let Some(dump) = &dump {
        dump.check(&scene.name)?;
    }
    let plan = args.keep.plan(&scene, world.settings().h)?;
    // Before any file is begun: a run that is refused leaves all files as they are.
    let fresh = match (&plan, &from) {
        (Some(plan), None) => {
            outputs::apart("--record", &plan.folder, report().into_iter().chain(args.files.outputs()))?;
            let origin = Origin::here(&args.simulation.scene, steps)?;
            Some(Recording::begin(&args.keep, plan.clone(), args.keep.when(&scene)?, origin, &world)?)
        }
        _ => None,
    };
    let mut out = args.files.open(&scene, labels, header, from.as_ref(), now, span)?;
    let stop = interrupt::watch();
    let identity = Identity { scene: scene.name.clone(), seed: scene.seed, threads };
    let mut recorder = Recorder::new(identity);
    if let Some(moved) = assembled {
        let kind = "assembled".into();
        recorder.warn(Warning { step: 0, kind, bodies: vec![moved.body], text: moved.text });
    }
    let mut recording = match (plan, from.as_ref().zip(lock)) {
        (None, _) | (_, None) => fresh,
        (Some(plan), Some((from, lock))) => {
            recorder.load(&from.totals).map_err(|e| Failure::input(format!("the saved report: {e}")))?;
            let (command, folder) = (from.command.clone(), from.folder.clone());
            let version = record::VERSION.to_string();
            let origin = Origin { command, folder, scene_sum: from.scene_sum, version, steps };
            Some(Recording::resume(lock, plan, args.keep.when(&scene)?, origin, &world)?)
        }
    };
    if let Some(recording) = &mut recording {
        recording.glass(&scene.glass)?;
    }
    let mut progress = Progress::new(steps, args.quiet);
    let mut failed: Option<String> = None;
    let whole = dump.is_none()
        && out.series.is_empty()
        && recording.is_none()
        && replay.is_none()
        && args.forces.is_none()
        && args.bound.is_none_or(|n| n == 0);
    let mut taker = match taker.take() {
        Some(taker) => taker,
        None => Taker::Here(backend.stepper(&mut world, whole)?),
    };
    if from.is_none() {
        scene.probe.begin(&world);
        out.observe(&world, None, &mut scene.probe).map_err(Failure::run)?;
    }
    let begun = world.state().step;
    let mut done = begun;
    while done < steps {
        if stop.came() {
            break;
        }
        let (wall, cpu) = (Instant::now(), usage::cpu_seconds());
        let due = dump.as_mut().filter(|d| (world.state().step + 1).is_multiple_of(d.every));
        let wanted = args.bound != Some(0) || args.forces.is_some();
        let last = wanted && !taker.is_away() && world.state().step + 1 == steps;
        if last || dumps {
            world.keep_solutions(last || due.is_some());
        }
        if let Some(Err(e)) = replay.as_mut().map(|r| r.before_step(&mut world)) {
            failed = Some(e);
            break;
        }
        let stepped = match due {
            None => taker.step(&mut world),
            Some(dump) => {
                world.step_keeping_problem().map_err(|e| e.to_string()).map(|(report, problem, guess)| {
                    // A step that was posed again, or taken in parts, went on with the multipliers of another
                    // problem.
                    let kept = world
                        .kept_solution()
                        .filter(|_| report.bounce.is_none() && report.velocity_problems == 1);
                    let found = kept.map_or(&[][..], |(_, gamma)| gamma);
                    if let Err(e) = dump.save(&scene.name, report.step, &problem, [&guess, found]) {
                        failed = Some(format!("step {}: {}", report.step, e.message));
                    }
                    report
                })
            }
        };
        let report = match stepped {
            Ok(report) => report,
            Err(e) => {
                failed = Some(e);
                break;
            }
        };
        done = report.step;
        let time = match (report.figures, world.state()) {
            (Some(figures), _) => figures.time,
            (None, state) if state.step == report.step => state.time,
            (None, _) => report.step as f64 * world.settings().h,
        };
        let saves = recording.as_ref().is_some_and(|r| r.is_due(report.step));
        let looks = out.looks(report.step, time, &world);
        // Rows of a recording need the world unless the report has its figures.
        let records =
            recording.as_ref().is_some_and(|r| report.figures.is_none() || r.looks(report.step, time));
        let looked_at = scene.probe.observes() || saves || looks || records;
        if looked_at && let Err(e) = taker.fetch(&mut world) {
            failed = Some(e);
            break;
        }
        scene.probe.observe(&world);
        let written = match looks {
            true => out.observe(&world, Some(&report), &mut scene.probe),
            false => Ok(()),
        };
        progress.step(&report);
        let recorded = match &mut recording {
            Some(recording) => recording.step(&world, &report, wall.elapsed().as_secs_f64()),
            None => Ok(()),
        };
        recorder.step(&world, &report, wall.elapsed().as_secs_f64(), usage::cpu_seconds() - cpu);
        if failed.is_some() {
            break;
        }
        let checked = match recording.as_mut().filter(|_| recorded.is_ok() && saves) {
            Some(recording) => keep_all(recording, &world, &mut scene, &recorder, &mut out),
            None => Ok(()),
        };
        if let Err(e) = written.and(recorded.map_err(|e| e.to_string())).and(checked) {
            failed = Some(format!("step {}: {e}", report.step));
            break;
        }
        if scene.probe.stop().is_some() {
            break;
        }
    }
    progress.finish();
    if let Err(e) = taker.fetch(&mut world) {
        failed.get_or_insert(e);
    }
    let again = recording.as_ref().is_some_and(|r| r.unsaved.is_none());
    let mut kept = None;
    if let Some(mut recording) = recording {
        let done = match &failed {
            Some(_) => Ok(()),
            None => keep_all(&mut recording, &world, &mut scene, &recorder, &mut out),
        };
        let halted = recording.halted;
        match done.and(recording.finish().map_err(|e| e.to_string())) {
            Ok(written) => kept = Some(Recorded::of(written, halted)),
            Err(e) => drop(failed.get_or_insert(e)),
        }
    }

    if let Err(e) = out.finish(again) {
        failed.get_or_insert(e);
    }
    if let (Some(path), Some(None)) = (&args.inputs, replay.as_ref().map(|r| r.end())) {
        eprintln!("drystone: {}: does not say how the run ended: nothing was compared", path.display());
    }
    if failed.is_none() && replay.as_ref().and_then(|r| r.agrees(&world)) == Some(false) {
        failed = Some(
            "the inputs were done again, and the state at the end is another one: was it driven with other options (--budget-ms depends on \
             the machine), or by another version?"
                .into(),
        );
    }
    let interrupted = failed.is_none() && world.state().step < steps && scene.probe.stop().is_none();
    let status = match (&failed, interrupted) {
        (Some(_), _) => "failed",
        (None, true) => "interrupted",
        (None, false) => "ok",
    };
    let results = if failed.is_none() { scene.probe.results(&world) } else { Default::default() };
    let bounded = recorder.latest().is_some_and(|r| r.certificate.duality_gap.is_some());
    if failed.is_none() && (args.bound.is_some() || bounded) {
        recorder.bound(world.bound_velocity_error(args.bound.unwrap_or(BOUND)));
    }
    let wished = args.bound.filter(|n| *n > 0);
    let mut report = recorder.report(&mut world, status, failed.clone(), results);
    if let Err(e) = taker.tell(&backend, &mut report) {
        failed.get_or_insert(e);
    }
    report.recording = kept;
    if args.forces.is_some() && failed.is_none() {
        report.contact_forces = ContactForces::of(&world);
    }
    if let Some(n) = wished.filter(|_| report.certificate.velocity_error_bound_last.is_none()) {
        let why = why_no_bound(&report, n);
        report.certificate.velocity_error_reason.get_or_insert(why);
    }
    // The report first: nothing that fails after it can lose it.
    if let Some(path) = &args.report {
        write(path, &(report.json() + "\n"))?;
    }
    if let (Some(path), Some(s)) = (&args.files.snapshots, &mut out.snapshots) {
        s.finish(&world, recorder.laps(), status != "ok")
            .map_err(|e| Failure::run(format!("--snapshots {}: {e}", path.display())))?;
    }
    if let Some(path) = &args.picture
        && failed.is_none()
    {
        view.draw(&world, &scene, path)?;
    }
    let to_pipe = args.report.as_ref().is_some_and(|p| p.as_os_str() == "-") || args.files.to_pipe();
    if !args.quiet && !to_pipe {
        say(&summary(&report, wished, dump.as_ref(), taker.line(&backend)))?;
    }
    match failed {
        // A device that cannot begin is bad surroundings; one that fails on the way is a run that failed.
        Some(reason) => Err(match backend.failure() {
            Some(failure) if done == begun => Failure::input(failure),
            Some(failure) => Failure::run(failure),
            None => Failure::run(reason),
        }),
        None => Ok(if interrupted { INTERRUPTED } else { 0 }),
    }
}

/// `--dump-problems EVERY:FOLDER`.
struct Dump {
    every: u64,
    folder: PathBuf,
    /// Problems written, and how many of them as JSON alone.
    written: usize,
    json_alone: usize,
    /// Because of what.
    beyond: Vec<&'static str>,
}

impl Dump {
    fn parse(text: &str) -> Result<Self, Failure> {
        let wrong =
            || Failure::input(format!("--dump-problems {text}: expected EVERY:FOLDER, such as 10:problems"));
        let (every, folder) = text.split_once(':').filter(|(_, f)| !f.is_empty()).ok_or_else(wrong)?;
        let every = every.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?;
        Ok(Self { every, folder: folder.into(), written: 0, json_alone: 0, beyond: Vec::new() })
    }

    /// Refuses a folder that cannot be made or written to, or that has other files by the problems' names.
    fn check(&self, scene: &str) -> Result<(), Failure> {
        let shown = self.folder.display();
        file::check_writable(&self.folder.join(".drystone"))
            .map_err(|e| Failure::input(format!("--dump-problems {}:{shown}: {e}", self.every)))?;
        let begin = stem(scene) + "-";
        let there = std::fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|f| f.path());
        let ours = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let number = name.strip_prefix(&begin).and_then(|rest| rest.split_once('.'));
            number.is_some_and(|(n, ending)| n.parse::<u64>().is_ok() && ["json", "hdf5"].contains(&ending))
        };
        there
            .filter(ours)
            .try_for_each(|p| outputs::refuse_foreign("--dump-problems", &p, own::Kind::Problem))
    }

    /// A step without contacts and joints leaves no file.
    fn save(&mut self, scene: &str, step: u64, problem: &Problem, r: [&[f64]; 2]) -> Result<(), Failure> {
        if problem.blocks() == 0 {
            return Ok(());
        }
        let problem = ContactProblem::from_step(format!("{}-{step:06}", stem(scene)), problem, r[0], r[1]);
        problem.save(&self.folder)?;
        self.written += 1;
        if let Some(beyond) = problem.beyond_fclib() {
            self.json_alone += 1;
            if !self.beyond.contains(&beyond) {
                self.beyond.push(beyond);
            }
        }
        Ok(())
    }

    /// For the summary.
    fn told(&self) -> String {
        let alone = match self.json_alone {
            0 => String::new(),
            n => format!(", {n} of them as JSON alone: FCLib's form has no {}", self.beyond.join(", no ")),
        };
        format!("  problems      {} in {}{alone}\n", self.written, self.folder.display())
    }
}

/// A scene's name without folders and ending.
fn stem(scene: &str) -> String {
    std::path::Path::new(scene).file_stem().map_or(scene.into(), |s| s.to_string_lossy().into_owned())
}

/// What became of the bound on the velocity error; `wished` multiplications were asked for.
fn bound(r: &Report, wished: Option<usize>) -> Option<String> {
    let c = &r.certificate;
    if let Some(upper) = c.velocity_error_bound_last {
        let lower = c.velocity_error_least_last.map(|x| format!(", at least {x:.2e}")).unwrap_or_default();
        let text = format!("at most {upper:.2e} m/s{lower} (centres of mass, rms by mass, last step)");
        return Some(text);
    }
    wished?;
    c.velocity_error_reason.as_ref().map(|why| format!("no bound: {why}"))
}

/// Why there is none, where the report does not know by itself.
fn why_no_bound(r: &Report, wished: usize) -> String {
    match () {
        () if r.model == "coulomb" => "exact Coulomb friction minimises nothing".into(),
        () if r.steps == r.smooth_steps => "the steps were smooth, without a cone problem".into(),
        () if r.bilaterals > 0 => "rigid joints leave no velocity room to spare".into(),
        () if r.contacts.last == 0 => "nothing touches at the end".into(),
        () => format!("none found with {wished} multiplications: contacts may be jammed, more may help"),
    }
}

fn number_of_steps(args: &Args, duration: f64, h: f64) -> Result<u64, Failure> {
    if let Some(n) = args.steps {
        return Ok(n);
    }
    let time = args.time.unwrap_or(duration);
    if !(time.is_finite() && time >= 0.0) {
        return Err(Failure::input(format!("--time must be finite and not negative, got {time}")));
    }
    let steps = (time / h).round();
    // Whole numbers up to here survive a double.
    if !(steps <= 9e15) {
        return Err(Failure::input(format!(
            "{}: {time} s are {steps:.1e} steps of {h:e} s: more than can be counted",
            args.simulation.scene
        )));
    }
    if time > 0.0 && time < (1.0 - 1e-9) * h {
        let what = &args.simulation.scene;
        return Err(Failure::input(format!(
            "{what}: {time} s are less than a step of {h:e} s: nothing to run"
        )));
    }
    Ok(steps as u64)
}

/// A screenful for people; the report has it all.
fn summary(r: &Report, wished: Option<usize>, dump: Option<&Dump>, backend: Option<String>) -> String {
    let ms = &r.ms_per_step;
    let solved = if r.solved == Some(false) {
        format!(", NOT SOLVED ({} of {} steps; see the warning)", r.solver.converged_steps, r.steps)
    } else {
        String::new()
    };
    let mut text = format!(
        "{} {}{solved}: {} bodies, {} steps of {} s ({} s)\n",
        r.scene,
        r.status,
        r.bodies,
        r.steps,
        r.step_s,
        trim(r.time_s)
    );
    text += &format!(
        "  contacts      {} in the last step's problem, {:.0} on average; {} touch at the end\n",
        r.contacts.last, r.contacts.mean, r.contacts.touching_last
    );
    if r.sleep {
        text += &format!(
            "  asleep        {} bodies at the end, {:.1} on average\n",
            r.asleep.last, r.asleep.mean
        );
    }
    if r.bilaterals > 0 {
        text += &format!(
            "  joints        off by at most {:.1e} m and {:.1e} m/s\n",
            r.joint_error.position_m, r.joint_error.velocity_m_s
        );
    }
    // Smooth steps have no cone problem: what the solver did is said of the others alone.
    let others = r.steps - r.smooth_steps;
    if r.smooth_steps > 0 {
        let rest = if others > 0 { "the others by euler" } else { "which need no solver" };
        text += &format!("  smooth        {} of {} steps by rattle, {rest}\n", r.smooth_steps, r.steps);
    }
    if others > 0 {
        let converged = r.solver.converged_steps.saturating_sub(r.smooth_steps);
        let reached = match r.solver.tolerance {
            0.0 => "no tolerance to reach".into(),
            tolerance => format!("{converged} of {others} steps within {tolerance:e} m/s"),
        };
        text += &format!(
            "  solver        {}: {:.1} {}s a step, {reached}\n",
            r.solver.parameters,
            r.solver.iterations_mean * r.steps as f64 / others as f64,
            r.solver.unit,
        );
    }
    if r.solver.name == "auto" && others > 0 {
        let used = r.solver.used.iter();
        // Islands of a few contacts have no solver of their own.
        let own = |name: &str| if name == "auto" { "small islands".to_string() } else { name.to_string() };
        let each =
            used.map(|(name, u)| format!("{} in {} ({} {}s)", own(name), u.solves, u.iterations, u.unit));
        text += &format!(
            "  picked        {}; {} fall-backs\n",
            each.collect::<Vec<_>>().join(", "),
            r.solver.fallbacks
        );
    }
    let last = r.certificate.residual_last.unwrap_or(0.0);
    text += &format!(
        "  residual      {:.2e} m/s at the end, {:.2e} on average, {:.2e} at worst\n",
        last, r.certificate.residual_mean, r.certificate.residual_max
    );
    if let Some(told) = bound(r, wished) {
        text += &format!("  velocity err. {told}\n");
    }
    if let Some(f) = &r.contact_forces {
        let unknown = if f.unknown > 0 { format!(", {} not examined", f.unknown) } else { String::new() };
        text += &format!(
            "  forces        {} of {} contacts have forces that are determined{unknown}\n",
            f.determined, f.pressed
        );
    }
    text += &format!(
        "  overlap       {:.3e} m at the end, {:.3e} at worst\n",
        r.penetration_m.last_max, r.penetration_m.max
    );
    if r.solver.contradictory_steps > 0 {
        text += &format!(
            "  contradicted  in {} steps rows that ask for a motion missed more than half of it\n",
            r.solver.contradictory_steps
        );
    }
    if r.substepped.steps > 0 {
        text += &format!(
            "  substeps      in {} steps islands took substeps, at most {} each\n",
            r.substepped.steps, r.substepped.most
        );
    }
    text += &format!(
        "  time          {:.3} ms a step (solve {:.3}, correct {:.3}, collision {:.3}), {:.1} s in all, {} threads\n",
        ms.total,
        ms.solve,
        ms.correct,
        ms.broadphase + ms.narrowphase,
        r.wall_s,
        r.threads
    );
    if let Some(backend) = backend {
        text += &format!("  backend auto  {backend}\n");
    }
    if let Some(rec) = &r.recording {
        let rate = if rec.busy_s > 0.0 { 1e-6 * rec.written_bytes as f64 / rec.busy_s } else { 0.0 };
        text += &format!(
            "  recording     {} frames in {} segments; {:.1} MB at {rate:.0} MB/s, the run waited {:.1} s for it\n",
            rec.frames,
            rec.segments,
            1e-6 * rec.written_bytes as f64,
            rec.wait_s
        );
    }
    for (key, value) in &r.scene_results {
        let shown = match value {
            serde_json::Value::Array(_) | serde_json::Value::Object(_) => continue,
            serde_json::Value::Null => "-".into(),
            // Whole numbers are counts.
            serde_json::Value::Number(n) if n.is_f64() => n.as_f64().map_or_else(String::new, short),
            other => other.to_string(),
        };
        text += &format!("  {key:<13} {shown}\n");
    }
    text += &dump.map(Dump::told).unwrap_or_default();
    for (name, all, did) in [("emitters", &r.emitters, "added"), ("sinks", &r.sinks, "took")] {
        if !all.is_empty() {
            let each = all.iter().map(|p| format!("{} bodies, {} kg", p.bodies, short(p.mass_kg)));
            text += &format!("  {name:<13} {did} {}\n", each.collect::<Vec<_>>().join("; "));
        }
    }
    text += &warnings(r);
    text + &format!("  state hash    {}\n", r.state_hash)
}

/// The first warning of each kind, and how many more there are.
fn warnings(r: &Report) -> String {
    let mut kinds: Vec<(&Warning, usize)> = Vec::new();
    for w in &r.warnings {
        match kinds.iter_mut().find(|(first, _)| first.kind == w.kind) {
            Some((_, more)) => *more += 1,
            None => kinds.push((w, 0)),
        }
    }
    let mut text = String::new();
    for (w, more) in kinds {
        let like = if more > 0 { format!(" (and {more} more like it)") } else { String::new() };
        text += &format!("  warning       step {}: {}{like}\n", w.step, w.text);
    }
    if r.warnings_left_out > 0 {
        text += &format!("  and {} more warnings\n", r.warnings_left_out);
    }
    text
}

/// To four digits; the report has them all.
fn short(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || (1e-3..1e5).contains(&size) {
        let digits = if x == 0.0 { 0 } else { (3 - size.log10().floor() as i32).max(0) };
        trim_zeros(&format!("{x:.*}", digits as usize))
    } else {
        format!("{x:.3e}")
    }
}

fn trim(x: f64) -> String {
    trim_zeros(&format!("{x:.6}"))
}

fn trim_zeros(text: &str) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (x, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.9998844548538688, "0.9999"),
            (0.99999999, "1"),
            (1200.0, "1200"),
            (12345.678, "12346"),
            (-0.0123456, "-0.01235"),
            (1.83126e-7, "1.831e-7"),
            (2.5e7, "2.500e7"),
        ] {
            assert_eq!(short(x), text);
        }
        assert_eq!((trim(10.0), trim(0.25)), ("10".into(), "0.25".into()));
    }
}
