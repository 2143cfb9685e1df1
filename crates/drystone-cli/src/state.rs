//! `drystone state`.

use std::path::PathBuf;

use drystone::World;

use crate::failure::Failure;
use crate::interrupt::{self, Interrupt};
use crate::outputs::{self, Output};
use crate::own::Kind;
use crate::progress::Progress;
use crate::simulation::{Prepared, Simulation};
use drystone_cuda::backend::Backend;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    simulation: Simulation,
    /// Simulate to this time first, s.
    #[arg(long, value_name = "S", default_value_t = 0.0)]
    at_time: f64,
    /// The flat state; .json or .json.gz.
    #[arg(long, value_name = "FILE.json")]
    to: PathBuf,
}

/// For worlds that flat states have no words for.
const INSTEAD: &str = "; a checkpoint can (run --record FOLDER, then resume FOLDER --time S)";

/// Steps the world to a time, with a progress bar. Ctrl-C and SIGTERM end it after the step: false, and it is
/// said where it was.
pub fn advance(world: &mut World, backend: &Backend, time: f64) -> Result<bool, Failure> {
    let whole = advance_until(world, backend, time, &interrupt::watch())?;
    if !whole {
        eprintln!("drystone: interrupted at {} s of {time} s: nothing was written", world.state().time);
    }
    Ok(whole)
}

/// Steps the world to a time, or until Ctrl-C: false.
pub fn advance_until(
    world: &mut World,
    backend: &Backend,
    time: f64,
    stop: &Interrupt,
) -> Result<bool, Failure> {
    if !(time.is_finite() && time >= 0.0) {
        return Err(Failure::input(format!("--at-time must be finite and not negative, got {time}")));
    }
    let steps = (time / world.settings().h).round() as u64;
    if steps == 0 {
        return Ok(true);
    }
    let mut progress = Progress::new(steps, false);
    let mut stepper = backend.stepper(world, true)?;
    for _ in 0..steps {
        if stop.came() {
            break;
        }
        let report = stepper.step(world).map_err(Failure::run)?;
        progress.step(&report);
    }
    stepper.fetch(world).map_err(Failure::run)?;
    progress.finish();
    Ok(!stop.came())
}

pub fn main(args: Args) -> Result<i32, Failure> {
    outputs::check(Some(args.simulation.scene.as_ref()), [Output::of(Kind::State, "--to", Some(&args.to))])?;
    // Known now, and not after hours.
    let name = args.to.display();
    drystone_record::snapshot::check_name(&args.to)
        .map_err(|e| Failure::input(format!("--to {name}: {e}")))?;
    let Prepared { scene, mut world, backend, .. } = args.simulation.prepare()?;
    if scene.probe.drive().is_some() {
        return Err(Failure::input(format!(
            "{} is driven while it runs (moving parts, joints made at the start, sinks): a flat state cannot hold that{INSTEAD}",
            scene.name
        )));
    }
    if !advance(&mut world, &backend, args.at_time)? {
        return Ok(crate::terminal::INTERRUPTED);
    }
    let flat = drystone_scene::flat::of_world(&world, &scene.name, scene.duration, &scene.snaps)
        .map_err(|e| Failure::input(format!("{e}{INSTEAD}")))?;
    flat.write(&args.to)?;
    Ok(0)
}
