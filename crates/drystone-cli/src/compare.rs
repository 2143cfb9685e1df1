//! `drystone compare`: the problem of one step, or problems from files, solved by several solvers and judged
//! by one certificate.

mod profile;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use drystone_record::plot::{Axis, Chart, Series};
use drystone_scene::problem;
use drystone_solve::FrictionLaw;
use drystone_solve::certificate::certificate;
use drystone_solve::solver::{self, BadSpec, Record, Status, Stop};
use serde::Serialize;

use crate::failure::Failure;
use crate::interrupt;
use crate::outputs::{self, Output};
use crate::simulation::{Prepared, Simulation, pool};
use crate::terminal::{INTERRUPTED, say, write};
use drystone_cuda::backend::Backend;

const STEP_SOLVERS: &str = "pgj,pgs,pssor";
/// Caps on one solve of a problem, unless others are given.
const PROBLEM_BUDGET_MS: f64 = 5000.0;
const PROBLEM_ITERATIONS: usize = 100_000;
const PROBLEM_SOLVERS: &str = "auto,prox,ipm,admm,apgd,nncg,pgs,nsgs-ac";
/// With --backend cuda: the device's own beside the processor's.
const DEVICE_SOLVERS: &str = "cuda-apgd,cuda-pgj,apgd,auto";

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    simulation: Simulation,
    /// More contact problems, or folders of them: where the first one is no scene but a problem (.json, .dat,
    /// .hdf5) or a folder, solvers are compared by performance profiles. --tolerance is then relative to |q|
    /// [default: 1e-8], and a solve ends after --budget-ms [default: 5000, wall time: on a machine
    /// with less load more may be solved] or --iterations [default: 100000].
    #[arg(value_name = "PROBLEM")]
    more: Vec<PathBuf>,
    /// Solvers with parameters, separated by commas: pgs,pgj:omega=0.3,pssor (a part with = and no :
    /// continues the one before). [default: pgj,pgs,pssor; for problems
    /// auto,prox,ipm,admm,apgd,nncg,pgs,nsgs-ac; with --backend cuda cuda-apgd,cuda-pgj,apgd,auto, of which
    /// the first two are the device's]
    #[arg(long, value_name = "LIST")]
    solvers: Option<String>,
    /// Take the problem of the step at this time, s [default: the scene's whole duration].
    #[arg(long, value_name = "S")]
    at_time: Option<f64>,
    /// Iterations for every solver compared [default: --iterations, or 200]. --tolerance, --iterations and
    /// --budget-ms hold for the run up to the step and for the solvers compared; without --tolerance those do
    /// all their iterations (`auto` has the scene's tolerance).
    #[arg(long, value_name = "N")]
    sweeps: Option<usize>,
    /// Start from the last step's multipliers instead of zero.
    #[arg(long)]
    warm: bool,
    /// What to plot against iterations: residual, violation, delta or objective [default: residual].
    #[arg(long, value_name = "NAME")]
    quantity: Option<String>,
    /// The plot.
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Everything as JSON; - is standard output. Folders on the way are made.
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,
}

#[derive(Serialize)]
struct Entry {
    solver: String,
    unit: &'static str,
    status: Status,
    iterations: usize,
    omega: f64,
    rejected: usize,
    /// Without history: the solver's own time.
    wall_ms: f64,
    residual: f64,
    constraint_violation: f64,
    cone_violation: f64,
    complementarity: f64,
    objective: f64,
    history: Vec<Record>,
}

#[derive(Serialize)]
struct Comparison {
    scene: String,
    time_s: f64,
    bodies: usize,
    contacts: usize,
    rows: usize,
    warm: bool,
    /// Ctrl-C came before all solvers had their turn.
    interrupted: bool,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy)]
enum Quantity {
    Residual,
    Violation,
    Delta,
    Objective,
}

impl Quantity {
    const NAMES: &'static [&'static str] = &["residual", "violation", "delta", "objective"];

    fn parse(name: &str) -> Result<Self, Failure> {
        Ok(match name {
            "residual" => Quantity::Residual,
            "violation" => Quantity::Violation,
            "delta" => Quantity::Delta,
            "objective" => Quantity::Objective,
            other => return Err(Failure::input(BadSpec::unknown("quantity", other, Self::NAMES))),
        })
    }

    fn label(self) -> &'static str {
        match self {
            Quantity::Residual => "natural-map residual, m/s",
            Quantity::Violation => "constraint violation ε_v, m/s",
            Quantity::Delta => "|Δγ|, N s",
            Quantity::Objective => "objective above the best one found, J",
        }
    }
}

/// Splits `pgs:omega=1,lambda=0.9,pgj` at the commas before a new solver: a part with `=` and no `:` is a
/// parameter.
pub fn split(list: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for part in list.split(',').filter(|p| !p.is_empty()) {
        match found.last_mut() {
            Some(last) if part.contains('=') && !part.contains(':') => {
                last.push(',');
                last.push_str(part);
            }
            _ => found.push(part.to_string()),
        }
    }
    found
}

pub fn main(args: Args) -> Result<i32, Failure> {
    let quantity = Quantity::parse(args.quantity.as_deref().unwrap_or("residual"))?;
    let first = PathBuf::from(&args.simulation.scene);
    let problems = first.is_dir() || problem::is_one(&first);
    let backend = match problems {
        true => Backend::of_problems(&args.simulation.backend)?,
        false => Backend::choose(&args.simulation.backend)?,
    };
    let default = match () {
        () if backend.is_device() => DEVICE_SOLVERS,
        () if problems => PROBLEM_SOLVERS,
        () => STEP_SOLVERS,
    };
    let specs = split(args.solvers.as_deref().unwrap_or(default));
    if specs.is_empty() {
        return Err(Failure::input("--solvers names no solver"));
    }
    if args.at_time.is_some_and(|t| !(t.is_finite() && t >= 0.0)) {
        return Err(Failure::input("--at-time must be finite and not negative"));
    }
    for spec in &specs {
        solver::make(spec).map_err(Failure::input)?;
    }
    let asked = [Output::svg("--plot", args.plot.as_ref()), Output::report("--report", args.report.as_ref())];
    outputs::check(Some(args.simulation.scene.as_ref()), asked)?;
    if problems {
        refuse_what_scenes_have(&args)?;
        return compare_problems(&args, first, &specs);
    }
    if let Some(path) = args.more.first() {
        let text = format!("{}: a scene is compared alone; only problems can be many", path.display());
        return Err(Failure::input(text));
    }
    let Prepared { scene, mut world, .. } = args.simulation.prepare()?;
    let time = args.at_time.unwrap_or(scene.duration).max(world.settings().h);
    // The problem of the step that ends at `time`.
    let steps_before = time - world.settings().h;
    let interrupt = interrupt::watch();
    if !crate::state::advance_until(&mut world, &backend, steps_before, &interrupt)? {
        let time = world.state().time;
        say(&format!("interrupted at {time:.3} s, before the step to compare: no solver had its turn\n"))?;
        return Ok(INTERRUPTED);
    }
    let (_, problem, guess) = world.step_keeping_problem().map_err(Failure::run)?;
    let problem = &problem;
    let contacts = world.contacts().len();
    if contacts == 0 {
        return Err(Failure::input(format!(
            "{} has no contacts at {time} s: nothing to compare",
            scene.name
        )));
    }

    let asked = &args.simulation;
    let stop = Stop {
        tolerance: asked.tolerance.unwrap_or(0.0),
        iterations: args.sweeps.or(asked.iterations).unwrap_or(200),
        budget: asked.budget_ms.map(|ms| Duration::from_secs_f64(1e-3 * ms)),
        ..Stop::default()
    };
    let guess = args.warm.then_some(guess.as_slice());
    let mut entries = Vec::new();
    for spec in &specs {
        if interrupt.came() {
            break;
        }
        let mut s = solver::make(spec).map_err(Failure::input)?;
        // Who picks by the tolerance gets the scene's.
        let tolerance = if s.info().name == "auto" { world.settings().tolerance } else { stop.tolerance };
        let stop = Stop { tolerance, ..stop.clone() };
        let begun = Instant::now();
        let solution = s.solve(problem, guess, &stop).map_err(Failure::run)?;
        let wall_ms = 1e3 * begun.elapsed().as_secs_f64();
        let with_history =
            s.solve(problem, guess, &Stop { history: true, ..stop.clone() }).map_err(Failure::run)?;
        let c = certificate(problem, &solution.gamma);
        entries.push(Entry {
            solver: spec.clone(),
            unit: s.info().unit,
            status: solution.status,
            iterations: solution.iterations,
            omega: solution.omega,
            rejected: solution.rejected,
            wall_ms,
            residual: c.residual_max,
            constraint_violation: c.constraint_violation,
            cone_violation: c.cone_violation,
            complementarity: c.complementarity,
            objective: c.dual_objective,
            history: with_history.history,
        });
    }

    let comparison = Comparison {
        scene: scene.name.clone(),
        time_s: world.state().time,
        bodies: world.model().dynamic().count(),
        contacts,
        rows: problem.rows(),
        warm: args.warm,
        interrupted: entries.len() < specs.len(),
        entries,
    };
    if let Some(path) = &args.plot {
        write(path, &chart(&comparison, quantity).to_svg())?;
    }
    if let Some(path) = &args.report {
        write(path, &(serde_json::to_string_pretty(&comparison).map_err(Failure::run)? + "\n"))?;
    }
    if args.report.as_ref().is_none_or(|p| p.as_os_str() != "-") {
        say(&table(&comparison))?;
        if comparison.interrupted {
            say(&format!("interrupted: {} of {} solvers done\n", comparison.entries.len(), specs.len()))?;
        }
    }
    Ok(if comparison.interrupted { INTERRUPTED } else { 0 })
}

/// Problems have no scene: what is said of one is refused, not dropped.
fn refuse_what_scenes_have(args: &Args) -> Result<(), Failure> {
    let s = &args.simulation;
    let given = [
        ("--set", !s.set.is_empty()),
        ("--step", s.step.is_some()),
        ("--integrator", s.integrator.is_some()),
        ("--cold", s.cold),
        ("--substeps", s.substeps.is_some()),
        ("--max-substeps", s.max_substeps.is_some()),
        ("--position-iterations", s.position_iterations.is_some()),
        ("--stabilisation", s.stabilisation.is_some()),
        ("--broadphase", s.broadphase.is_some()),
        ("--envelope", s.envelope.is_some()),
        ("--allow-overlap", s.allow_overlap),
        ("--settle", s.settle),
        ("--sleep", s.sleep.is_some()),
        ("--at-time", args.at_time.is_some()),
        ("--warm", args.warm),
        ("--quantity", args.quantity.is_some()),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        return Err(Failure::input(format!("{option} is of scenes; {} holds contact problems", s.scene)));
    }
    if s.solver.is_some() {
        return Err(Failure::input("--solver: problems are solved by all of --solvers"));
    }
    if args.sweeps.is_some() {
        return Err(Failure::input("--sweeps is of scenes; the cap for problems is --iterations"));
    }
    Ok(())
}

/// Every solver on every problem.
fn compare_problems(args: &Args, first: PathBuf, specs: &[String]) -> Result<i32, Failure> {
    let s = &args.simulation;
    let (tolerance, ms) = (s.tolerance.unwrap_or(1e-8), s.budget_ms.unwrap_or(PROBLEM_BUDGET_MS));
    if !(tolerance.is_finite() && tolerance > 0.0) {
        return Err(Failure::input(format!("--tolerance must be finite and positive, got {tolerance}")));
    }
    if !(0.0..=1e9).contains(&ms) {
        return Err(Failure::input(format!("--budget-ms must be from 0 to 1e9, got {ms}")));
    }
    let model = s.model.as_deref().map(FrictionLaw::parse).transpose().map_err(Failure::input)?;
    // Times are compared: one thread, unless said otherwise.
    pool(s.threads.or(Some(1)))?;
    let mut paths = vec![first];
    paths.extend_from_slice(&args.more);
    profile::main(&profile::Asked {
        paths: &paths,
        solvers: specs,
        model: model.unwrap_or_default(),
        tolerance,
        iterations: s.iterations.unwrap_or(PROBLEM_ITERATIONS),
        budget: Duration::from_secs_f64(1e-3 * ms),
        plot: args.plot.as_deref(),
        report: args.report.as_deref(),
    })
}

fn chart(c: &Comparison, quantity: Quantity) -> Chart {
    let all = || c.entries.iter().flat_map(|e| &e.history);
    let best = all().map(|r| r.objective).filter(|x| x.is_finite()).fold(f64::INFINITY, f64::min);
    let value = |r: &Record| match quantity {
        Quantity::Residual => r.residual,
        Quantity::Violation => r.constraint_violation,
        Quantity::Delta => r.delta_gamma,
        Quantity::Objective => r.objective - best,
    };
    let title = format!("{}, t = {:.2} s, {} contacts", c.scene, c.time_s, c.contacts);
    let mut chart = Chart::new(title, Axis::linear("iterations"), Axis::log(quantity.label()));
    for e in &c.entries {
        let points = e.history.iter().enumerate().map(|(k, r)| ((k + 1) as f64, value(r))).collect();
        chart = chart.with(Series::new(e.solver.clone(), points));
    }
    chart
}

fn table(c: &Comparison) -> String {
    let mut text = format!(
        "{} at {:.3} s: {} bodies, {} contacts, {} rows, {} start\n",
        c.scene,
        c.time_s,
        c.bodies,
        c.contacts,
        c.rows,
        if c.warm { "warm" } else { "cold" }
    );
    let width = c.entries.iter().map(|e| e.solver.len()).max().unwrap_or(6).max(6);
    text += &format!(
        "{:<width$} {:>10} {:>10} {:>9} {:>12} {:>12} {:>14} {:>9} {:>8}\n",
        "solver", "status", "iterations", "ms", "residual", "violation", "objective", "omega", "rejected"
    );
    for e in &c.entries {
        let status = serde_json::to_value(e.status).ok();
        let status = status.as_ref().and_then(|s| s.as_str()).unwrap_or("");
        text += &format!(
            "{:<width$} {:>10} {:>10} {:>9.2} {:>12.3e} {:>12.3e} {:>14.6e} {:>9.4} {:>8}\n",
            e.solver,
            status,
            e.iterations,
            e.wall_ms,
            e.residual,
            e.constraint_violation,
            e.objective,
            e.omega,
            e.rejected
        );
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn lists_of_solvers_keep_their_parameters() {
        let list = super::split("pgs:omega=1,lambda=0.9,pgj,pssor:omega=1.2");
        assert_eq!(list, ["pgs:omega=1,lambda=0.9", "pgj", "pssor:omega=1.2"]);
    }
}
