//! `drystone race`: every solver on the same step, and what it has reached after so many iterations.
//!
//! Six tables: the velocity error against iterations on packings, the iterations that a stack takes against
//! its height, the time of first-order methods beside an interior point method at ten thousand multipliers,
//! and the block-splitting solvers on steps of a packing, a Brazil nut and a wall, and over whole runs,
//! and the Brazil nut over time.

mod blocks;
mod runs;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use drystone_record::usage::cpu_seconds;
use drystone_solve::Problem;
use drystone_solve::certificate::certificate;
use drystone_solve::problem::Bodies;
use drystone_solve::solver::{self, REGISTRY, Status, Stop};
use serde::Serialize;

use crate::compare::split;
use crate::failure::Failure;
use crate::interrupt::{self, Interrupt};
use crate::outputs::{self, Output};
use crate::simulation::pool;
use crate::terminal::{INTERRUPTED, say, write};
use drystone_cuda::backend::Backend;

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Table {
    /// Velocity error after 50, 200 and 2000 iterations, 220 and 1,000 spheres.
    Errors,
    /// Iterations to 1e-6 m/s on stacks of 10, 30, 100 and 300 boxes.
    Stacks,
    /// Time to several residuals on a packing with 10,000 multipliers, interior point beside first order.
    Duals,
    /// CPU time of the block-splitting solvers on steps of a packing, a Brazil nut and a wall.
    Blocks,
    /// The same over whole runs of the packing and the Brazil nut, and what becomes of the spheres.
    Runs,
    /// The Brazil nut in steps of 100 ms: time, iterations and contacts over its run.
    Nut,
}

#[derive(clap::Args)]
pub struct Args {
    /// Which table.
    #[arg(value_enum)]
    table: Table,
    /// Solvers with parameters, separated by commas [default: all that solve the exact cone, for duals some].
    #[arg(long, value_name = "LIST")]
    solvers: Option<String>,
    /// Spheres, boxes of a stack, or steps of each scene [default: 220,1000; 10,30,100,300; 1500; 12].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    sizes: Vec<usize>,
    /// Simulated time of the step (packing), or of the end of the runs, s.
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    at_time: f64,
    /// Iteration counts to report, or the cap [default: 50,200,2000; 20000; 1000; 200].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    iterations: Vec<usize>,
    /// Cap on the time of one solve, s.
    #[arg(long, value_name = "S", default_value_t = 20.0)]
    budget: f64,
    /// Threads.
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// Of runs and nut: CPU time, iterations and contacts over time.
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Everything as JSON; - is standard output. Folders on the way are made.
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,
}

/// One solver on one problem.
#[derive(Serialize)]
struct Entry {
    solver: String,
    unit: &'static str,
    /// Spheres or boxes.
    size: usize,
    contacts: usize,
    /// The cap it was given, or the residual it was asked for, m/s.
    asked: f64,
    iterations: usize,
    status: Status,
    wall_ms: f64,
    /// What other programs take meanwhile does not count here.
    cpu_ms: f64,
    /// Mass-weighted rms of v - v*, m/s, where v* was computed.
    velocity_error: Option<f64>,
    residual: f64,
}

/// √(Σ m |Δv|² / Σ m), m/s.
fn velocity_error(p: &Bodies, v: &[[f64; 6]], exact: &[[f64; 6]]) -> f64 {
    let (mut sum, mut mass) = (0.0, 0.0);
    for i in (0..v.len()).filter(|&i| p.inv_mass[i] > 0.0) {
        let m = 1.0 / p.inv_mass[i];
        sum += m * (0..3).map(|k| (v[i][k] - exact[i][k]).powi(2)).sum::<f64>();
        mass += m;
    }
    (sum / mass).sqrt()
}

/// The velocity problem of the step of a gallery scene that ends at `time`; None where Ctrl-C came first.
fn problem(
    scene: &str,
    set: &[(&str, String)],
    time: f64,
    stop: &Interrupt,
) -> Result<Option<Bodies>, Failure> {
    let set: Vec<(String, String)> = set.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    let scene = drystone_scene::load(scene, &set)?;
    let mut world = scene.world(scene.settings.clone())?;
    let before = (time - world.settings().h).max(0.0);
    if !crate::state::advance_until(&mut world, &Backend::default(), before, stop)? {
        return Ok(None);
    }
    match world.step_keeping_problem().map_err(Failure::run)?.1 {
        Problem::Bodies(p) => Ok(Some(p)),
        Problem::Explicit(_) => Err(Failure::run("a step's problem has bodies")),
    }
}

/// Spheres in the papers' kind of column, as high as it takes.
fn packing(n: usize, time: f64, stop: &Interrupt) -> Result<Option<Bodies>, Failure> {
    let mut set = vec![("n", n.to_string())];
    if n > 220 {
        set.push(("height", "25".into()));
    }
    problem("packing", &set, time, stop)
}

/// Runs one solver and judges it.
fn enter(
    p: &Bodies,
    name: &str,
    size: usize,
    asked: f64,
    guess: Option<&[f64]>,
    stop: &Stop,
) -> Result<(Entry, Vec<f64>), Failure> {
    let posed = Problem::Bodies(p.clone());
    let mut s = solver::make(name).map_err(Failure::input)?;
    let (begun, cpu) = (Instant::now(), cpu_seconds());
    let solution = s.solve(&posed, guess, stop).map_err(Failure::run)?;
    let (wall_ms, cpu_ms) = (1e3 * begun.elapsed().as_secs_f64(), 1e3 * (cpu_seconds() - cpu));
    let entry = Entry {
        solver: name.into(),
        unit: s.info().unit,
        size,
        contacts: p.points.len(),
        asked,
        iterations: solution.iterations,
        status: solution.status,
        wall_ms,
        cpu_ms,
        velocity_error: None,
        residual: certificate(&posed, &solution.gamma).residual_max,
    };
    Ok((entry, solution.gamma))
}

pub fn main(args: Args) -> Result<i32, Failure> {
    if !(args.at_time.is_finite() && args.at_time > 0.0) {
        return Err(Failure::input("--at-time must be finite and positive"));
    }
    if !(0.0..=1e6).contains(&args.budget) {
        return Err(Failure::input(format!("--budget must be from 0 to 1e6 s, got {}", args.budget)));
    }
    let files = [Output::report("--report", args.report.as_ref()), Output::svg("--plot", args.plot.as_ref())];
    outputs::check(None, files)?;
    if args.plot.is_some() && ![Table::Runs, Table::Nut].contains(&args.table) {
        return Err(Failure::input("--plot is of the tables runs and nut"));
    }
    let all: Vec<&str> =
        REGISTRY.iter().filter(|i| i.is_exact() && i.name != "auto").map(|i| i.name).collect();
    let default = match args.table {
        Table::Errors => all.join(","),
        Table::Stacks => format!("{},auto", all.join(",")),
        Table::Duals => "ipm,pgs,nncg,apgd,prox".into(),
        Table::Nut => "auto".into(),
        Table::Blocks | Table::Runs => REGISTRY
            .iter()
            .filter(|i| i.name.starts_with("nsgs-"))
            .map(|i| i.name)
            .collect::<Vec<_>>()
            .join(","),
    };
    let names = split(args.solvers.as_deref().unwrap_or(&default));
    for name in &names {
        solver::make(name).map_err(Failure::input)?;
    }
    pool(Some(args.threads))?;
    let stop = interrupt::watch();
    let text = match args.table {
        Table::Errors => serde_json::to_string_pretty(&errors(&args, &names, &stop)?),
        Table::Stacks => serde_json::to_string_pretty(&stacks(&args, &names, &stop)?),
        Table::Duals => serde_json::to_string_pretty(&duals(&args, &names, &stop)?),
        Table::Blocks => serde_json::to_string_pretty(&blocks::table(&args, &names, &stop)?),
        Table::Runs | Table::Nut => {
            let rows = match args.table {
                Table::Nut => runs::nut(&args, &names, &stop)?,
                _ => runs::table(&args, &names, &stop)?,
            };
            if let Some(path) = &args.plot {
                write(path, &runs::chart(&rows).to_svg())?;
            }
            serde_json::to_string_pretty(&rows)
        }
    };
    if let Some(path) = &args.report {
        write(path, &(text.map_err(Failure::run)? + "\n"))?;
    }
    if stop.came() {
        args.tell("\ninterrupted: what is not there was not raced\n")?;
        return Ok(INTERRUPTED);
    }
    Ok(0)
}

impl Args {
    fn quiet(&self) -> bool {
        self.report.as_ref().is_some_and(|p| p.as_os_str() == "-")
    }

    fn tell(&self, text: &str) -> Result<(), Failure> {
        if self.quiet() { Ok(()) } else { say(text) }
    }

    fn sizes(&self, default: &[usize]) -> Vec<usize> {
        if self.sizes.is_empty() { default.to_vec() } else { self.sizes.clone() }
    }

    fn stop(&self, tolerance: f64, iterations: usize) -> Stop {
        let budget = Some(Duration::from_secs_f64(self.budget));
        Stop { tolerance, iterations, budget, ..Stop::default() }
    }
}

/// The best solution at hand: what `apgd` finds, then factorisations from there, whichever the certificate
/// likes best.
fn reference(p: &Bodies, size: usize, args: &Args) -> Result<(Entry, Vec<f64>), Failure> {
    let stop = |iterations| Stop { budget: None, ..args.stop(1e-12, iterations) };
    let mut best = enter(p, "apgd:precision=double", size, 1e-12, None, &stop(200_000))?;
    for name in ["prox", "ipm"] {
        let next = enter(p, name, size, 1e-12, Some(&best.1), &stop(500))?;
        if next.0.residual < best.0.residual {
            best = next;
        }
    }
    Ok(best)
}

fn errors(args: &Args, names: &[String], stop: &Interrupt) -> Result<Vec<Entry>, Failure> {
    let caps = if args.iterations.is_empty() { vec![50, 200, 2000] } else { args.iterations.clone() };
    let mut entries = Vec::new();
    for size in args.sizes(&[220, 1000]) {
        let Some(p) = packing(size, args.at_time, stop)? else { break };
        let (reference, gamma) = reference(&p, size, args)?;
        let (mut exact, mut v) = (Vec::new(), Vec::new());
        p.velocities(&gamma, &mut exact);
        let mut text = format!(
            "{size} spheres, {} contacts, cold start: velocity error, m/s, after so many iterations\n\
             (reference by {} to {:.0e} m/s; in brackets: how many it took to 1e-10 m/s, to a standstill, or to the cap of {} s)\n{:<12}",
            p.points.len(),
            reference.solver,
            reference.residual,
            args.budget,
            "solver"
        );
        text += &caps.iter().map(|c| format!(" {c:>20}")).collect::<String>();
        args.tell(&(text + "\n"))?;
        for name in names {
            let mut row = format!("{name:<12}");
            for &cap in &caps {
                if stop.came() {
                    return Ok(entries);
                }
                let (mut entry, gamma) = enter(&p, name, size, cap as f64, None, &args.stop(1e-10, cap))?;
                p.velocities(&gamma, &mut v);
                let error = velocity_error(&p, &v, &exact);
                entry.velocity_error = Some(error);
                let note = match entry.iterations < cap {
                    true => format!(" ({})", entry.iterations),
                    false => String::new(),
                };
                row += &format!(" {:>20}", format!("{error:.1e}{note}"));
                entries.push(entry);
            }
            args.tell(&(row + "\n"))?;
        }
    }
    Ok(entries)
}

fn stacks(args: &Args, names: &[String], stop: &Interrupt) -> Result<Vec<Entry>, Failure> {
    let cap = args.iterations.first().copied().unwrap_or(20_000);
    let sizes = args.sizes(&[10, 30, 100, 300]);
    let mut problems = Vec::new();
    for n in &sizes {
        let set = [("n", n.to_string()), ("shape", "box".into())];
        problems.extend(problem("stack", &set, 0.0, stop)?);
    }
    let mut text = format!(
        "iterations to a residual of 1e-6 m/s, cold start; where {cap} iterations or {} s were not enough, the residual reached in \
         m/s\n{:<12} {:<14}",
        args.budget, "boxes", "one iteration"
    );
    text += &sizes.iter().map(|n| format!(" {n:>10}")).collect::<String>();
    args.tell(&(text + "\n"))?;
    let mut entries = Vec::new();
    for name in names {
        let mut row = String::new();
        let mut unit = "";
        for (size, p) in sizes.iter().zip(&problems) {
            if stop.came() {
                return Ok(entries);
            }
            let (entry, _) = enter(p, name, *size, 1e-6, None, &args.stop(1e-6, cap))?;
            let cell = match entry.status {
                Status::Converged => entry.iterations.to_string(),
                _ => format!("{:.0e} m/s", entry.residual),
            };
            row += &format!(" {cell:>10}");
            unit = entry.unit;
            entries.push(entry);
        }
        args.tell(&format!("{name:<12} {unit:<14}{row}\n"))?;
    }
    Ok(entries)
}

fn duals(args: &Args, names: &[String], stop: &Interrupt) -> Result<Vec<Entry>, Failure> {
    let goals = [1e-1, 1e-2, 1e-3, 1e-4, 1e-6];
    let mut entries = Vec::new();
    for size in args.sizes(&[1500]) {
        let Some(p) = packing(size, args.at_time, stop)? else { break };
        let mut text = format!(
            "{size} spheres, {} contacts, {} multipliers, cold start: CPU ms (iterations) to a residual in m/s; - where {} s were not \
             enough\n{:<12}",
            p.points.len(),
            3 * p.points.len(),
            args.budget,
            "solver"
        );
        text += &goals.iter().map(|g| format!(" {g:>18e}")).collect::<String>();
        args.tell(&(text + "\n"))?;
        for name in names {
            let mut row = format!("{name:<12}");
            for goal in goals {
                if stop.came() {
                    return Ok(entries);
                }
                let (entry, _) = enter(&p, name, size, goal, None, &args.stop(goal, 1_000_000))?;
                let cell = match entry.status {
                    Status::Converged => format!("{:.1} ({})", entry.cpu_ms, entry.iterations),
                    _ => "-".into(),
                };
                row += &format!(" {cell:>18}");
                entries.push(entry);
            }
            args.tell(&(row + "\n"))?;
        }
    }
    Ok(entries)
}
