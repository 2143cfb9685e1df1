//! `drystone live`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use drystone_record::{file, usage};
use drystone_scene::gallery;
use drystone_view::Parameter;
use drystone_view::live::{Driven, Ended, Live, Options, Tally};
use drystone_view::server::Show;

use crate::failure::Failure;
use crate::interrupt::{self, Interrupt};
use crate::outputs::{self, Output};
use crate::own::Kind;
use crate::simulation::{Simulation, pairs, pool};
use crate::terminal::INTERRUPTED;
use crate::view::{Serve, all_errors, notes};
use drystone_cuda::backend::Backend;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    simulation: Simulation,
    /// Write all inputs when the program ends; `drystone run SCENE --inputs FILE` repeats the run bit for
    /// bit.
    #[arg(long, value_name = "FILE.json")]
    inputs: Option<PathBuf>,
    /// Start paused.
    #[arg(long)]
    paused: bool,
    /// Speed over real time.
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pace: f64,
    /// Never cap iterations; fall behind real time instead.
    #[arg(long)]
    exact: bool,
    /// End after so many seconds of real time, with the step under way [default: runs until Ctrl-C].
    #[arg(long, value_name = "S")]
    wall: Option<f64>,
    #[command(flatten)]
    serve: Serve,
}

pub fn main(args: Args) -> Result<i32, Failure> {
    outputs::check(
        Some(args.simulation.scene.as_ref()),
        [Output::of(Kind::Inputs, "--inputs", args.inputs.as_ref())],
    )?;
    if !(1e-3..=1e3).contains(&args.pace) {
        return Err(Failure::input(format!("--pace must be from 0.001 to 1000, got {}", args.pace)));
    }
    if args.wall.is_some_and(|s| !(s > 0.0 && s <= 1e6)) {
        return Err(Failure::input("--wall must be above 0 and at most 1e6 s"));
    }
    let backend = Backend::choose(&args.simulation.backend)?;
    pool(args.simulation.threads)?;
    let name = args.simulation.scene.clone();
    let mut set: Vec<(String, String)> =
        gallery::live_defaults(&name).iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    set.extend(pairs(&args.simulation.set)?);
    let make = |set: &[(String, String)]| {
        let (scene, mut world) = args.simulation.build(&backend, set).map_err(|f| f.message)?;
        world.keep_solutions(true);
        Ok((scene, world))
    };
    let stop = interrupt::watch();
    let options = Options {
        parameters: parameters(&name),
        scene: name,
        set,
        paused: args.paused,
        pace: args.pace,
        exact: args.exact,
        notes: notes(&args.simulation.scene),
    };
    let (live, link) = Live::new(Box::new(make), options)
        .map_err(|e| all_errors(&args.simulation.scene, Failure::input(e)))?;
    args.serve.start(Show::Live(link))?;
    let (begun, cpu) = (Instant::now(), usage::cpu_seconds());
    let over = Arc::new(AtomicBool::new(false));
    if let Some(time) = args.wall {
        let (end, over) = (Duration::from_secs_f64(time), over.clone());
        std::thread::spawn(move || {
            std::thread::sleep(end);
            over.store(!stop.came(), Ordering::Relaxed);
            stop.flag().store(true, Ordering::Relaxed);
        });
    }
    let kept = Arc::new(Mutex::new(false));
    if let Some(to) = args.inputs.clone() {
        let (driven, kept) = (live.driven(), kept.clone());
        std::thread::spawn(move || keep(&to, stop, &driven, &kept));
    }
    let Ended { log, tally } = live.run(stop.flag());
    eprintln!("drystone: {}", kept_up(&tally, begun.elapsed().as_secs_f64(), usage::cpu_seconds() - cpu));
    if let Some(to) = &args.inputs {
        let place = |e: std::io::Error| Failure::input(format!("{}: {e}", to.display()));
        let mut done = kept.lock().unwrap_or_else(PoisonError::into_inner);
        *done = true;
        file::write(to, log.json().as_bytes()).map_err(place)?;
    }
    // Without --wall nothing but a signal ends it.
    Ok(if over.load(Ordering::Relaxed) { 0 } else { INTERRUPTED })
}

/// Writes what was driven when the run is to end and its step does not: who waits no longer than this loses
/// nothing. The run writes it again at its end, and says then where that was.
fn keep(to: &Path, stop: Interrupt, driven: &Driven, done: &Mutex<bool>) {
    while !stop.came() {
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_millis(250));
    let log = driven.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let done = done.lock().unwrap_or_else(PoisonError::into_inner);
    if !*done {
        match file::write(to, log.json().as_bytes()) {
            Ok(()) => eprintln!("drystone: {}: written; the step under way goes on", to.display()),
            Err(e) => eprintln!("drystone: {}: {e}", to.display()),
        }
    }
}

/// How a live run has kept up, in a line.
fn kept_up(t: &Tally, wall: f64, cpu: f64) -> String {
    let n = t.steps.max(1) as f64;
    let allowed = match t.least_allowed {
        usize::MAX => String::new(),
        k => format!(", at least {k} iterations allowed"),
    };
    format!(
        "{} steps in {wall:.1} s, {:.2} s of real time lost; a step took {:.2} ms on average ({:.2} ms of processor time), {:.1} ms \
         at most; {} of them solved ({:.0} %), residual {:.1e} m/s on average, {:.1e} at most{allowed}",
        t.steps,
        t.lost,
        1e3 * t.took / n,
        1e3 * cpu / n,
        1e3 * t.longest,
        t.solved,
        100.0 * t.solved as f64 / n,
        t.residual_sum / n,
        t.residual
    )
}

/// What a scene declares: the gallery's own parameters, or those that every file has.
fn parameters(scene: &str) -> Vec<Parameter> {
    if let Ok(entry) = gallery::find(scene) {
        let info =
            |p: &gallery::ParamInfo| Parameter { open: true, ..parameter(p.name, p.default, p.unit, p.help) };
        return entry.params.iter().map(info).collect();
    }
    let declared = drystone_scene::parameters(scene, &[]).unwrap_or_default();
    let common = [
        ("mu", "", "coefficient of friction of all shapes"),
        ("h", "s", "step"),
        ("seed", "", "of random numbers"),
    ];
    let common = common.into_iter().filter(|c| declared.iter().all(|p| p.name != c.0));
    let common = common.map(|(name, unit, about)| Parameter {
        open: true,
        whole: name == "seed",
        ..parameter(name, "", unit, about)
    });
    let info = |p: &drystone_scene::Parameter| Parameter {
        range: p.range,
        choices: p.choices.clone(),
        whole: p.whole,
        open: p.default.parse::<f64>().is_ok() || !p.choices.is_empty(),
        ..parameter(&p.name, &p.default, &p.unit, &p.about)
    };
    declared.iter().map(info).chain(common).collect()
}

fn parameter(name: &str, value: &str, unit: &str, about: &str) -> Parameter {
    let [name, value, unit, about] = [name, value, unit, about].map(String::from);
    Parameter { name, value, unit, about, ..Parameter::default() }
}
