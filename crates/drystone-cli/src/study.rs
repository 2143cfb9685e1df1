//! `drystone study`: the same scene with other options again and again, one number of each report, a table
//! and a plot.
//!
//! Every run is a `drystone run` in a process of its own: a run that dies takes no other with it, peak memory
//! is its own, and every option of `run` that changes the simulation is handed on as it was given.

mod course;
mod list;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use drystone_record::plot::{Axis, Chart, Series, Style, number};
use drystone_solve::solver::BadSpec;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::interrupt::{self, Interrupt};
use crate::outputs::{self, Output};
use crate::simulation::Simulation;
use crate::terminal::{INTERRUPTED, write};
use list::{List, SWEEPS, handed_on, options_of, without};

/// What the lists mean, and examples; wrapped here because clap would run the lines together.
const NOTES: &str = "\
NAME in --vary and --for is one of
  step, iterations, position-iterations, tolerance, solver, stabilisation, envelope,
  budget-ms, broadphase, threads
                  an option of `drystone run`
  set.KEY         a parameter of the scene (see `drystone scenes`)
  sweeps          sweeps of a whole step: --iterations and --position-iterations together
  position-share  share of the sweeps, 0 to 1, that the position problem gets [default: 0]

Values are separated by commas. A list with a semicolon anywhere is split at semicolons only,
so that its values may contain commas: solver='pgs:omega=1,lambda=0.9;pgj' (a list of one such
value ends in a semicolon). Names that change together are joined by +, and so are their
values: step+iterations=0.01+50,0.005+25. TEXT@VALUE shows TEXT instead of the value.

Examples:
  drystone study packing --vary set.mu=0,0.2,0.4 --measure scene_results.packing_fraction
  drystone study packing --vary step=0.02,0.01,0.005 --for iterations=10,40 \\
      --measure penetration_m.mean --log-x --log-y --plot penetration.svg
  drystone study packing --vary sweeps=20,40,80 --for position-share=0.25,0.75 \\
      --measure penetration_m.max";

#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub struct Args {
    #[command(flatten)]
    simulation: Simulation,
    /// What varies along the x axis; one run for each value.
    #[arg(long, value_name = "NAME=V1,V2,...")]
    vary: String,
    /// One curve for each value of this option; all runs are done for each.
    #[arg(long = "for", value_name = "NAME=W1,W2,...")]
    curves: Option<String>,
    /// The number to compare, by its path in the report: penetration_m.mean, ms_per_step.solve, ... A list of
    /// pairs (time and value, as scene_results.nut_height_m) is drawn as a curve for each run.
    #[arg(long, value_name = "REPORT.PATH")]
    measure: String,
    /// How long to simulate, s [default: the scene's own].
    #[arg(long, value_name = "S", conflicts_with = "steps")]
    time: Option<f64>,
    /// How many steps to do, instead of --time.
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Logarithmic x axis.
    #[arg(long)]
    log_x: bool,
    /// Logarithmic y axis.
    #[arg(long)]
    log_y: bool,
    /// The plot.
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Heading of the plot [default: the scene and the measure].
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// All numbers and the reports they come from; - is standard output. Folders on the way are made.
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,
    /// No progress bar and no table.
    #[arg(long)]
    quiet: bool,
}

#[derive(Serialize)]
struct Study {
    scene: String,
    /// What every run was given, the lists aside.
    arguments: Vec<String>,
    vary: String,
    #[serde(rename = "for")]
    curves_by: Option<String>,
    measure: String,
    interrupted: bool,
    curves: Vec<Curve>,
}

#[derive(Serialize)]
struct Curve {
    #[serde(rename = "for")]
    name: Option<String>,
    runs: Vec<Run>,
}

#[derive(Serialize)]
struct Run {
    x: String,
    /// None if the run failed, or has no such number (a residual without contacts); the last of a course.
    value: Option<f64>,
    /// Where the measure is a list of pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    course: Option<Vec<[f64; 2]>>,
    /// "ok", "failed", "interrupted", or "died" if it left no report.
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    report: Value,
}

pub fn main(args: Args) -> Result<i32, Failure> {
    let asked = [Output::svg("--plot", args.plot.as_ref()), Output::report("--report", args.report.as_ref())];
    outputs::check(Some(args.simulation.scene.as_ref()), asked)?;
    let parameters = parameters(&args.simulation.scene);
    let vary = List::parse("--vary", &args.vary, &parameters)?;
    let by = args.curves.as_deref().map(|text| List::parse("--for", text, &parameters)).transpose()?;
    if let Some(twice) = by.iter().flat_map(|l| &l.names).find(|n| vary.names.contains(n)) {
        return Err(Failure::input(format!("'{twice}' is in both --vary and --for")));
    }
    let names: Vec<&str> =
        vary.names.iter().chain(by.iter().flat_map(|l| &l.names)).map(String::as_str).collect();
    let given: Vec<String> = std::env::args_os().skip(2).map(|a| a.to_string_lossy().into_owned()).collect();
    let arguments = handed_on(&given, &names);

    // In the order of the curves; every run is rehearsed without a step first, so that a wrong value or name
    // is told before anything is computed.
    let settings = |curve: usize, x: usize| {
        let mut set: Vec<(&str, &str)> = vary.pairs(x);
        set.extend(by.iter().flat_map(|l| l.pairs(curve)));
        options_of(&set)
    };
    let stop = interrupt::watch();
    let curves = by.as_ref().map_or(1, |l| l.values.len());
    let timeless = without(&arguments, &["time", "steps"], &[]);
    for curve in 0..curves {
        for x in 0..vary.values.len() {
            let rehearsal = launch(
                &[&timeless[..], &settings(curve, x)?, &["--steps".into(), "0".into()]].concat(),
                &stop,
            )?;
            if stop.came() {
                eprintln!("drystone: interrupted before the first run: nothing was written");
                return Ok(INTERRUPTED);
            }
            let at = place(&vary, x, by.as_ref(), curve);
            if rehearsal.status != "ok" {
                let reason = rehearsal.reason.unwrap_or(rehearsal.status);
                return Err(Failure::input(format!("{at}: {reason}")));
            }
            if course::find(&rehearsal.report, &args.measure).is_none() {
                find(&rehearsal.report, &args.measure)?;
            }
        }
    }

    let bar = progress(curves * vary.values.len(), args.quiet);
    let mut study = Study {
        scene: args.simulation.scene.clone(),
        vary: vary.names.join("+"),
        curves_by: by.as_ref().map(|l| l.names.join("+")),
        measure: args.measure.clone(),
        interrupted: false,
        curves: Vec::new(),
        arguments,
    };
    'runs: for curve in 0..curves {
        study.curves.push(Curve { name: by.as_ref().map(|l| l.labels[curve].clone()), runs: Vec::new() });
        for x in 0..vary.values.len() {
            bar.set_message(place(&vary, x, by.as_ref(), curve));
            let mut run = launch(&[&study.arguments[..], &settings(curve, x)?].concat(), &stop)?;
            if stop.came() || run.status == "interrupted" {
                study.interrupted = true;
                break 'runs;
            }
            if run.status == "ok" {
                run.course = course::find(&run.report, &args.measure);
                run.value = match &run.course {
                    Some(course) => course::last(course),
                    None => find(&run.report, &args.measure)?,
                };
            }
            run.x = vary.labels[x].clone();
            study.curves[curve].runs.push(run);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    finish(&args, &study)
}

/// Writes and prints what there is; the exit status.
fn finish(args: &Args, study: &Study) -> Result<i32, Failure> {
    if let Some(path) = &args.plot {
        let courses = study.curves.iter().flat_map(|c| &c.runs).any(|r| r.course.is_some());
        let chart = if courses { course::chart(args, study) } else { chart(args, study) };
        write(path, &chart.to_svg())?;
    }
    if let Some(path) = &args.report {
        write(path, &serde_json::to_string_pretty(study).map_err(Failure::run)?)?;
    }
    let to_pipe = args.report.as_ref().is_some_and(|p| p.as_os_str() == "-");
    if !args.quiet && !to_pipe {
        print!("{}", table(study));
    }
    let failed = study.curves.iter().flat_map(|c| &c.runs).filter(|r| r.status != "ok").count();
    if failed > 0 {
        return Err(Failure::run(format!("{failed} run{} failed", if failed == 1 { "" } else { "s" })));
    }
    Ok(if study.interrupted { INTERRUPTED } else { 0 })
}

/// One run, to its end. It gets Ctrl-C from the terminal by itself, and a signal to this process alone is
/// handed on.
fn launch(arguments: &[String], stop: &Interrupt) -> Result<Run, Failure> {
    let program = std::env::current_exe().map_err(Failure::run)?;
    let mut command = Command::new(program);
    command.arg("run").args(arguments).args(["--quiet", "--report", "-"]);
    let failed = |e: std::io::Error| Failure::run(format!("starting a run: {e}"));
    let child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    let id = child.id();
    let waiting = std::thread::spawn(move || child.wait_with_output());
    let mut told = false;
    while !waiting.is_finished() {
        if stop.came() && !told {
            told = true;
            #[cfg(unix)]
            // SAFETY: a signal to our own child, which is still waited for.
            unsafe {
                libc::kill(id as i32, libc::SIGTERM);
            }
            #[cfg(not(unix))]
            let _ = id;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let ended = waiting.join().map_err(|_| Failure::run("waiting for a run"))?;
    let output = ended.map_err(failed)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().trim_start_matches("drystone: ").to_string();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let status = report["status"].as_str().unwrap_or("died").to_string();
    let reason = (status != "ok").then(|| match report["reason"].as_str() {
        Some(reason) => reason.to_string(),
        None if said.is_empty() => output.status.to_string(),
        None => said,
    });
    Ok(Run { x: String::new(), value: None, course: None, status, reason, report })
}

/// The number at a path; None where the report says null.
fn find(report: &Value, path: &str) -> Result<Option<f64>, Failure> {
    match path.split('.').try_fold(report, |at, key| at.as_object()?.get(key)) {
        Some(Value::Null) => Ok(None),
        Some(Value::Number(x)) => Ok(x.as_f64()),
        // A way to end that no step took is not in the report.
        None if path.starts_with("solver.statuses.") => Ok(Some(0.0)),
        _ => {
            let mut valid = Vec::new();
            numbers(report, "", &mut valid);
            let valid: Vec<&str> = valid.iter().map(String::as_str).collect();
            Err(Failure::input(BadSpec::unknown("measure", path, &valid)))
        }
    }
}

/// Paths of all numbers, also of those missing this time.
fn numbers(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                numbers(value, &if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, found);
            }
        }
        Value::Number(_) | Value::Null => found.push(path.to_string()),
        _ => {}
    }
}

/// "step=0.01, iterations=50"
/// What the scene can be set to: parameters of the gallery, or of a file; none of a scene that is not there,
/// which the first run tells.
fn parameters(scene: &str) -> Vec<String> {
    if let Ok(entry) = drystone_scene::gallery::find(scene) {
        return entry.params.iter().map(|p| p.name.to_string()).collect();
    }
    let Ok(declared) = drystone_scene::parameters(scene, &[]) else { return Vec::new() };
    let common = ["h", "T", "mu", "seed"].map(String::from);
    declared.into_iter().map(|p| p.name).chain(common).collect()
}

fn place(vary: &List, x: usize, by: Option<&List>, curve: usize) -> String {
    let pairs = vary.pairs(x).into_iter().chain(by.iter().flat_map(|l| l.pairs(curve)));
    pairs.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
}

fn progress(runs: usize, quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(runs as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} run {pos}/{len}  eta {eta}  {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    bar
}

fn axis(log: bool, label: String) -> Axis {
    if log { Axis::log(label) } else { Axis::linear(label) }
}

fn chart(args: &Args, study: &Study) -> Chart {
    let unit = match study.vary.as_str() {
        "step" => " h, s",
        "tolerance" => ", m/s",
        "envelope" => ", m",
        "budget-ms" => ", ms",
        SWEEPS => " of a step",
        _ => "",
    };
    let mut label = format!("{}{unit}", study.vary.trim_start_matches("set."));
    // Values that are no numbers stand side by side in the order given.
    let texts: Vec<&str> =
        study.curves.first().map_or(Vec::new(), |c| c.runs.iter().map(|r| r.x.as_str()).collect());
    let counted = texts.iter().any(|x| x.parse::<f64>().is_err());
    if counted {
        label += &texts.iter().enumerate().map(|(i, x)| format!("  {}: {x}", i + 1)).collect::<String>();
    }
    let title = args.title.clone().unwrap_or_else(|| format!("{}: {}", study.scene, study.measure));
    let x = axis(args.log_x && !counted, label);
    let mut chart =
        Chart::new(title, x, axis(args.log_y, study.measure.clone())).note(study.arguments.join(" "));
    for curve in &study.curves {
        // A bare number says little in a legend.
        let name = match (&study.curves_by, &curve.name) {
            (Some(by), Some(value)) if value.parse::<f64>().is_ok() => {
                format!("{} {value}", by.trim_start_matches("set."))
            }
            (_, value) => value.clone().unwrap_or_default(),
        };
        let place =
            |i: usize, r: &Run| if counted { (i + 1) as f64 } else { r.x.parse().unwrap_or(f64::NAN) };
        let points = curve.runs.iter().enumerate().map(|(i, r)| (place(i, r), r.value.unwrap_or(f64::NAN)));
        chart = chart.with(Series::new(name, points.collect()).style(Style::Both));
    }
    chart
}

fn table(study: &Study) -> String {
    let cell = |run: Option<&Run>| match run {
        None => String::new(),
        Some(run) if run.status != "ok" => run.status.clone(),
        Some(run) => run.value.map_or("none".into(), number::short),
    };
    let rows = study.curves.iter().map(|c| c.runs.len()).max().unwrap_or(0);
    let first: Vec<&str> =
        study.curves.first().map_or(Vec::new(), |c| c.runs.iter().map(|r| r.x.as_str()).collect());
    let mut columns = vec![(study.vary.clone(), first.iter().map(|x| x.to_string()).collect::<Vec<_>>())];
    for curve in &study.curves {
        let head = curve.name.clone().unwrap_or_else(|| study.measure.clone());
        columns.push((head, (0..rows).map(|i| cell(curve.runs.get(i))).collect()));
    }
    let mut text = match &study.curves_by {
        Some(by) => format!("{}: {}, columns by {by}\n", study.scene, study.measure),
        None => format!("{}: {}\n", study.scene, study.measure),
    };
    let wide =
        |c: &(String, Vec<String>)| c.1.iter().chain([&c.0]).map(|t| t.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = columns.iter().map(wide).collect();
    for row in 0..=rows {
        for ((head, cells), width) in columns.iter().zip(&widths) {
            let shown = if row == 0 { Some(head) } else { cells.get(row - 1) };
            text += &format!("{:>width$}  ", shown.map_or("", String::as_str));
        }
        text = text.trim_end().to_string() + "\n";
    }
    for curve in &study.curves {
        for run in curve.runs.iter().filter(|r| r.status != "ok") {
            let at = curve.name.iter().map(|c| format!(", {c}")).collect::<String>();
            text += &format!(
                "{} at {}{at}: {}\n",
                run.status,
                run.x,
                run.reason.as_deref().unwrap_or("no reason given")
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_path() {
        let report = serde_json::json!({"a": {"b": 2.5, "c": null, "d": "text"}, "solver": {"statuses": {}}});
        assert_eq!(find(&report, "a.b").unwrap(), Some(2.5));
        assert_eq!(find(&report, "a.c").unwrap(), None);
        assert_eq!(find(&report, "solver.statuses.wedged").unwrap(), Some(0.0));
        let text = find(&report, "a.bb").err().map(|e| e.message).unwrap();
        assert!(
            text.contains("did you mean 'a.b'") && text.contains("a.c") && !text.contains("a.d"),
            "{text}"
        );
        assert!(find(&report, "a").is_err() && find(&report, "a.d").is_err());
    }

    #[test]
    fn a_failed_run_keeps_its_place_in_the_table() {
        let run = |x: &str, value, status: &str| Run {
            x: x.into(),
            value,
            course: None,
            status: status.into(),
            reason: (status != "ok").then(|| "step 3: not finite".into()),
            report: Value::Null,
        };
        let study = Study {
            scene: "packing".into(),
            arguments: Vec::new(),
            vary: "step".into(),
            curves_by: Some("iterations".into()),
            measure: "a.b".into(),
            interrupted: false,
            curves: vec![
                Curve {
                    name: Some("10".into()),
                    runs: vec![run("0.1", Some(2.0), "ok"), run("0.2", None, "failed")],
                },
                Curve { name: Some("20".into()), runs: vec![run("0.1", None, "ok")] },
            ],
        };
        let expected = "packing: a.b, columns by iterations\n\
                        step      10    20\n \
                        0.1       2  none\n \
                        0.2  failed\n\
                        failed at 0.2, 10: step 3: not finite\n";
        assert_eq!(table(&study), expected);
    }
}
