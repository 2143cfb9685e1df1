//! `mpirun -n N drystone-mpi run SCENE ...`: one run over N ranks. Without `mpirun` it runs on one.

mod args;
mod comm;

use std::path::Path;
use std::time::Instant;

use args::{Command, Run, What};
use clap::Parser;
use comm::Processes;
use drystone::World;
use drystone_ranks::{Comm, Ranks, RanksError, Usage};
use drystone_record::report::{Identity, Recorder};
use drystone_record::{file, usage};
use drystone_scene::Scene;
use mpi::Threading;
use mpi::traits::*;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// An error with its exit status: 1 a simulation that failed, 2 bad input.
struct Failure(i32, String);

impl Failure {
    fn input(text: impl ToString) -> Self {
        Self(2, text.to_string())
    }

    fn run(text: impl ToString) -> Self {
        Self(1, text.to_string())
    }
}

fn main() {
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
        eprintln!("drystone-mpi: MPI was initialised already");
        std::process::exit(2);
    };
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    // One rank that panics ends them all, and says which it was.
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        eprintln!("drystone-mpi: rank {rank} of {size} has failed");
        say(info);
        mpi::topology::SimpleCommunicator::world().abort(101);
    }));
    let status = match start(Processes::new(world)) {
        Ok(status) => status,
        Err(Failure(status, text)) => {
            // All ranks have the same to say.
            if rank == 0 {
                eprintln!("drystone-mpi: {text}");
            }
            status
        }
    };
    drop(universe);
    std::process::exit(status);
}

fn start(comm: Processes) -> Result<i32, Failure> {
    let given: Vec<String> = std::env::args().collect();
    if let Some(option) = args::refused(&given[1..]) {
        let told = format!("{option} does not work over ranks yet (docs/guide/mpi.md says what does)");
        return Err(Failure::input(told));
    }
    let command = match Command::try_parse() {
        Ok(command) => command,
        Err(e) => {
            if comm.rank() == 0 {
                e.print().map_err(Failure::run)?;
            }
            return Ok(e.exit_code());
        }
    };
    let What::Run(run) = command.what;
    simulate(&comm, &run)
}

/// The scene, and its world at the start or where a checkpoint has it.
fn prepare(run: &Run) -> Result<(Scene, World), Failure> {
    let mut scene = drystone_scene::load(&run.scene, &run.parameters().map_err(Failure::input)?)
        .map_err(Failure::input)?;
    let settings = run.settings(scene.settings.clone()).map_err(Failure::input)?;
    if let Some(path) = &run.from {
        let bytes = std::fs::read(path).map_err(|e| Failure::input(format!("{}: {e}", path.display())))?;
        let mut world =
            World::load(&bytes).map_err(|e| Failure::input(format!("{}: {e}", path.display())))?;
        if world.model().bodies.len() != scene.bodies.len() {
            let told = format!("{}: a checkpoint of another scene than {}", path.display(), run.scene);
            return Err(Failure::input(told));
        }
        world.set_settings(settings).map_err(Failure::input)?;
        return Ok((scene, world));
    }
    let mut world =
        scene.take_world(settings).map_err(|e| Failure::input(drystone_scene::placed(&run.scene, e)))?;
    match drystone_scene::overlaps(&mut world) {
        Some(refusal) if !run.allow_overlap => {
            return Err(Failure::input(format!("{}: {refusal}", run.scene)));
        }
        _ => {}
    }
    Ok((scene, world))
}

/// Writes a checkpoint beside its place, and moves it there: whoever dies meanwhile leaves the last one.
fn keep(world: &World, path: &Path) -> Result<(), String> {
    let shown = |e: &dyn std::fmt::Display| format!("--checkpoint {}: {e}", path.display());
    let bytes = world.save().map_err(|e| shown(&e))?;
    let beside = path.with_extension("part");
    std::fs::write(&beside, bytes).map_err(|e| shown(&e))?;
    std::fs::rename(&beside, path).map_err(|e| shown(&e))
}

/// What rank 0 alone has done, known to all of them.
fn agreed(comm: &Processes, done: Result<(), String>) -> Result<(), String> {
    let mut failed = [f64::from(u8::from(done.is_err()))];
    comm.most(&mut failed);
    if failed[0] == 0.0 { Ok(()) } else { done.and(Err("another rank could not write".into())) }
}

fn simulate(comm: &Processes, run: &Run) -> Result<i32, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = run.threads.unwrap_or((cores / comm.size()).max(1));
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread();
    builder.build_global().map_err(Failure::run)?;
    let (mut scene, world) = prepare(run)?;
    let h = world.settings().h;
    let steps = run.steps(scene.duration, h).map_err(Failure::input)?;
    if world.state().step >= steps && run.from.is_some() {
        return Err(Failure::input(format!("{} of {steps} steps are done: give more", world.state().step)));
    }
    let mut done = world.state().step;
    let mut ranks = Ranks::new(comm, world).map_err(Failure::input)?;
    let identity = Identity { scene: scene.name.clone(), seed: scene.seed, threads };
    let mut recorder = Recorder::new(identity);
    let first = comm.rank() == 0;
    if first {
        scene.probe.begin(ranks.world());
    }
    let mut failed: Option<String> = None;
    while done < steps {
        let (wall, cpu) = (Instant::now(), usage::cpu_seconds());
        let told = match drystone_solve::parallel::with_team(|| ranks.step()) {
            Ok(told) => told,
            Err(RanksError::Step(e)) => {
                failed = Some(e.to_string());
                break;
            }
            Err(e) => return Err(Failure::input(e)),
        };
        done = told.step;
        let due = run.checkpoint_every.is_some_and(|n| n > 0 && done.is_multiple_of(n));
        if scene.probe.observes() || due {
            ranks.fetch();
        }
        if first {
            scene.probe.observe(ranks.world());
            recorder.step(ranks.world(), &told, wall.elapsed().as_secs_f64(), usage::cpu_seconds() - cpu);
        }
        if let Some(path) = run.checkpoint.as_ref().filter(|_| due) {
            let kept = if first { keep(ranks.world(), path) } else { Ok(()) };
            if let Err(e) = agreed(comm, kept) {
                failed = Some(e);
                break;
            }
        }
    }
    ranks.fetch();
    if let Some(path) = run.checkpoint.as_ref().filter(|_| failed.is_none()) {
        let kept = if first { keep(ranks.world(), path) } else { Ok(()) };
        failed = agreed(comm, kept).err();
    }
    let mine = ranks.usage();
    let all = comm.gather(serde_json::to_vec(&mine).map_err(Failure::run)?);
    let mut told = Ok(());
    if first {
        let each: Vec<serde_json::Value> =
            all.iter().filter_map(|bytes| serde_json::from_slice(bytes).ok()).collect();
        told = tell(run, &mut scene, &recorder, ranks.world(), &each, &mine, failed.as_deref());
    }
    agreed(comm, told).map_err(Failure::input)?;
    match failed {
        Some(reason) => Err(Failure::run(reason)),
        None => Ok(0),
    }
}

/// The report and the summary.
fn tell(
    run: &Run,
    scene: &mut Scene,
    recorder: &Recorder,
    world: &mut World,
    each: &[serde_json::Value],
    mine: &Usage,
    failed: Option<&str>,
) -> Result<(), String> {
    let results = if failed.is_none() { scene.probe.results(world) } else { Default::default() };
    let status = if failed.is_some() { "failed" } else { "ok" };
    let mut report = recorder.report(world, status, failed.map(str::to_string), results);
    report.backend = "mpi";
    let number = |u: &serde_json::Value, key: &str| u[key].as_f64().unwrap_or(0.0);
    let busy: Vec<f64> = each.iter().map(|u| number(u, "busy_s_per_step")).collect();
    let (most, mean) =
        (busy.iter().copied().fold(0.0, f64::max), busy.iter().sum::<f64>() / busy.len() as f64);
    let mut json: serde_json::Value = serde_json::from_str(&report.json()).map_err(|e| e.to_string())?;
    json["ranks"] = serde_json::json!({
        "count": each.len(),
        "largest_over_mean_busy": if mean > 0.0 { most / mean } else { 1.0 },
        "each": each,
    });
    if let Some(path) = &run.report {
        let text = serde_json::to_string_pretty(&json).map_err(|e| e.to_string())? + "\n";
        file::write(path, text.as_bytes()).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let piped = run.report.as_ref().is_some_and(|p| p.as_os_str() == "-");
    if !run.quiet && !piped {
        println!(
            "{} {}: {} bodies on {} ranks, {} steps of {} s\n  contacts      {} at the end, {:.0} on average\n  \
             solver        {}: {:.1} {}s a step, {} of {} steps within {:e} m/s\n  residual      {:.2e} m/s at worst\n  \
             time          {:.3} ms a step, {:.1} s in all; rank 0 waits for {:.0} %, sends {:.0} kB a step\n  state hash    {}",
            report.scene,
            report.status,
            report.bodies,
            each.len(),
            report.steps,
            report.step_s,
            report.contacts.last,
            report.contacts.mean,
            report.solver.parameters,
            report.solver.iterations_mean,
            report.solver.unit,
            report.solver.converged_steps,
            report.steps,
            report.solver.tolerance,
            report.certificate.residual_max,
            report.ms_per_step.total,
            report.wall_s,
            100.0 * mine.waiting_s_per_step / (mine.waiting_s_per_step + mine.busy_s_per_step).max(1e-12),
            1e-3 * mine.bytes_per_step,
            report.state_hash,
        );
    }
    Ok(())
}
