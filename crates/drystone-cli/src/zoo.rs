//! `drystone zoo`: random scenes by seed, and the invariants that every one of them must keep.

use std::io::IsTerminal;
use std::path::PathBuf;

use drystone_scene::zoo::batch::{self, Batch, Summary};
use drystone_scene::zoo::{Check, KINDS, Outcome, kind_named};
use drystone_solve::solver::BadSpec;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::interrupt;
use crate::outputs::{self, Output};
use crate::terminal::{INTERRUPTED, say, write};

/// Failing scenes that are listed.
const LISTED: usize = 20;

/// Steps random scenes and says what went wrong. Scene number i has the seed N + i, and a seed determines its
/// scene completely: a run can be split over machines, and one scene repeated alone. Exit status 0 if all
/// checks hold, 1 if one does not, 2 on bad usage.
#[derive(clap::Args)]
#[command(after_long_help = after_help())]
pub struct Args {
    /// Seed of the first scene.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Number of seeds.
    #[arg(long, value_name = "K", default_value_t = 100)]
    count: u64,
    /// Check every scene: finite numbers, energy, containment, overlaps, residuals, certificates,
    /// determinism.
    #[arg(long)]
    check: bool,
    /// Only the seeds whose scene is of this kind; --list shows the kinds.
    #[arg(long, value_name = "NAME")]
    kind: Option<String>,
    /// List the kinds and stop.
    #[arg(long)]
    list: bool,
    /// Scenes at a time, each of them on one thread [default: one per core].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Results of every scene as JSON; - is standard output. Folders on the way are made.
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,
}

fn after_help() -> &'static str {
    "Checks:\n  \
       finite       no error of a step, no number that is not finite, no panic\n  \
       energy       kinetic and potential energy never above the start, where nothing puts energy in\n  \
       containment  what starts inside a closed container, or above a floor, stays there\n  \
       overlap      below 5 % of the smaller body's inner radius after every step\n  \
       solved       99 % of the steps within the tolerance\n  \
       certificate  the reported residual is that of the step's problem and multipliers\n  \
       determinism  the same bits on one thread and on two\n  \
       twin         bodies far away, or another description of a mechanism, change nothing\n\
     docs/guide/random-scenes.md has their bounds."
}

pub fn main(args: Args) -> Result<i32, Failure> {
    if args.list {
        let total: u32 = KINDS.iter().map(|k| k.weight).sum();
        for kind in KINDS {
            let share = 100.0 * f64::from(kind.weight) / f64::from(total);
            say(&format!("{:<16} {share:>4.1} %  {}\n", kind.name, kind.title))?;
        }
        return Ok(0);
    }
    let kind = match &args.kind {
        None => None,
        Some(name) => Some(kind_named(name).ok_or_else(|| {
            let names: Vec<&str> = KINDS.iter().map(|k| k.name).collect();
            Failure::input(BadSpec::unknown("kind", name, &names))
        })?),
    };
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = args.threads.unwrap_or(cores);
    if threads == 0 || threads > 512 {
        return Err(Failure::input(format!("--threads must be between 1 and 512, got {threads}")));
    }
    outputs::check(None, [Output::report("--report", args.report.as_ref())])?;
    let interrupt = interrupt::watch();
    let bar = progress(args.count);
    // A panic is an outcome of a scene, told in the table.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let batch = Batch { seed: args.seed, count: args.count, kind, checks: args.check, threads };
    let outcomes = batch::run(batch, |_| bar.inc(1), || interrupt.came());
    std::panic::set_hook(hook);
    bar.finish_and_clear();
    let outcomes = outcomes.map_err(Failure::run)?;
    let to_pipe = args.report.as_ref().is_some_and(|p| p.as_os_str() == "-");
    if !to_pipe {
        say(&table(&outcomes))?;
        say(&failing(&outcomes))?;
    }
    if let Some(path) = &args.report {
        let report = report(&args, threads, &outcomes);
        write(path, &(serde_json::to_string_pretty(&report).map_err(Failure::run)? + "\n"))?;
    }
    if interrupt.came() {
        return Ok(INTERRUPTED);
    }
    Ok(i32::from(outcomes.iter().any(|o| !o.failures.is_empty())))
}

fn progress(count: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(count);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} scenes  {per_sec}  eta {eta}") {
        bar.set_style(style);
    }
    bar
}

fn table(outcomes: &[Outcome]) -> String {
    let mut text = format!("{:<16} {:>7} {:>7}", "kind", "scenes", "failed");
    for check in Check::ALL {
        text += &format!(" {:>7.7}", check.name());
    }
    text += &format!(" {:>9} {:>9} {:>13} {:>9}\n", "overlap", "residual", "unsolved", "CPU ms");
    let mut rows: Vec<(&str, Summary)> =
        Summary::by_kind(outcomes).into_iter().map(|(kind, sum)| (kind.name, sum)).collect();
    rows.push(("all", Summary::of(outcomes)));
    for (name, sum) in rows {
        text += &format!("{name:<16} {:>7} {:>7}", sum.scenes, sum.failed);
        for count in sum.failures {
            text += &if count == 0 { format!(" {:>7}", "-") } else { format!(" {count:>7}") };
        }
        let unsolved = format!("{}/{}", sum.unsolved, sum.steps);
        let mean = sum.cpu_ms / sum.scenes.max(1) as f64;
        text += &format!(
            " {:>9.2e} {:>9.1e} {unsolved:>13} {mean:>9.1}\n",
            sum.worst_overlap, sum.worst_residual
        );
    }
    text + "overlap: deepest over the smaller inner radius; residual: largest, m/s; unsolved: steps beyond\n\
            the tolerance of all steps; CPU ms: mean of a scene\n"
}

fn failing(outcomes: &[Outcome]) -> String {
    let failed: Vec<&Outcome> = outcomes.iter().filter(|o| !o.failures.is_empty()).collect();
    let mut text = String::new();
    for o in failed.iter().take(LISTED) {
        for f in &o.failures {
            let step = f.step;
            text += &format!("seed {} {} {} step {step}: {}\n", o.seed, o.kind, f.check.name(), f.text);
        }
    }
    if failed.len() > LISTED {
        text += &format!("and {} more scenes: --report FILE.json has them all\n", failed.len() - LISTED);
    }
    if let Some(first) = failed.first() {
        text += &format!("one alone: drystone zoo --seed {} --count 1 --check\n", first.seed);
    }
    text
}

fn report(args: &Args, threads: usize, outcomes: &[Outcome]) -> Value {
    let named = |sum: &Summary| {
        let failures: serde_json::Map<String, Value> =
            Check::ALL.iter().map(|c| (c.name().into(), sum.failures[*c as usize].into())).collect();
        let mut value = json!(sum);
        value["failures"] = failures.into();
        value
    };
    let kinds: serde_json::Map<String, Value> =
        Summary::by_kind(outcomes).iter().map(|(kind, sum)| (kind.name.into(), named(sum))).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "seed": args.seed,
        "count": args.count,
        "kind": args.kind,
        "checked": args.check,
        "threads": threads,
        "all": named(&Summary::of(outcomes)),
        "kinds": kinds,
        "scenes": outcomes,
    })
}
