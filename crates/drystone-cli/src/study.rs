//! `drystone study`: the same scene with other options again and again, one number of each report, a table and a plot.
//!
//! Every run is a `drystone run` in a process of its own: a run that dies takes no other with it, peak memory is its
//! own, and every option of `run` that changes the simulation is handed on as it was given.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use drystone_record::plot::{Axis, Chart, Series, Style, number};
use drystone_solve::solver::BadSpec;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::run::{INTERRUPTED, write};
use crate::simulation::Simulation;

/// Options of a run that can be varied, besides `set.KEY`.
const OPTIONS: &[&str] = &[
    "step",
    "iterations",
    "position-iterations",
    "tolerance",
    "solver",
    "stabilisation",
    "envelope",
    "budget-ms",
    "broadphase",
    "threads",
];
/// Two more that together stand for `iterations` and `position-iterations`.
const SWEEPS: &str = "sweeps";
const POSITION_SHARE: &str = "position-share";
/// What is not handed on to the runs: options with a value, and flags.
const OWN_OPTIONS: &[&str] = &["vary", "for", "measure", "plot", "title", "report"];
const OWN_FLAGS: &[&str] = &["log-x", "log-y", "quiet"];

/// What the lists mean, and examples; wrapped here because clap would run the lines together.
const NOTES: &str = "\
NAME in --vary and --for is one of
  step, iterations, position-iterations, tolerance, solver, stabilisation, envelope, budget-ms, broadphase, threads
                  an option of `drystone run`
  set.KEY         a parameter of the scene (see `drystone scenes`)
  sweeps          sweeps of a whole step; iterations and position-iterations follow from it and position-share
  position-share  the share of the sweeps, 0 to 1, that the position problem gets [default: 0]

Values are separated by commas. A list with a semicolon anywhere is split at semicolons only, so that its values may
contain commas: solver='pgs:omega=1,lambda=0.9;pgj' (a list of one such value ends in a semicolon). Names that change
together are joined by +, and so are their values: step+iterations=0.01+50,0.005+25.

Examples:
  drystone study packing --vary set.mu=0,0.2,0.4 --measure scene_results.packing_fraction
  drystone study packing --vary step=0.02,0.01,0.005 --for iterations=10,40 --measure penetration_m.mean \\
      --log-x --log-y --plot penetration.svg
  drystone study packing --vary sweeps=20,40,80 --for position-share=0.25,0.75 --measure penetration_m.max";

#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub struct Args {
    #[command(flatten)]
    simulation: Simulation,
    /// What varies along the x axis; one run for each value.
    #[arg(long, value_name = "NAME=V1,V2,...")]
    vary: String,
    /// What tells the curves apart; all runs are done for each value.
    #[arg(long = "for", value_name = "NAME=W1,W2,...")]
    curves: Option<String>,
    /// The number to compare, by its path in the report: penetration_m.mean, ms_per_step.solve, ...
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
    /// All numbers and the reports they come from; - is standard output.
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,
    /// No progress bar and no table.
    #[arg(long)]
    quiet: bool,
}

/// What `--vary` or `--for` says: names, and for each point a value of every name.
struct List {
    names: Vec<String>,
    values: Vec<Vec<String>>,
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
    /// None if the run failed, or has no such number (a residual without contacts).
    value: Option<f64>,
    /// "ok", "failed", "interrupted", or "died" if it left no report.
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    report: Value,
}

pub fn main(args: Args) -> Result<i32, Failure> {
    let vary = List::parse("--vary", &args.vary)?;
    let by = args.curves.as_deref().map(|text| List::parse("--for", text)).transpose()?;
    if let Some(twice) = by.iter().flat_map(|l| &l.names).find(|n| vary.names.contains(n)) {
        return Err(Failure::input(format!("'{twice}' is in both --vary and --for")));
    }
    let names: Vec<&str> = vary.names.iter().chain(by.iter().flat_map(|l| &l.names)).map(String::as_str).collect();
    let given: Vec<String> = std::env::args().skip(2).collect();
    let arguments = handed_on(&given, &names);

    // In the order of the curves; every run is rehearsed without a step first, so that a wrong value or name is told
    // before anything is computed.
    let settings = |curve: usize, x: usize| {
        let mut set: Vec<(&str, &str)> = vary.pairs(x);
        set.extend(by.iter().flat_map(|l| l.pairs(curve)));
        options_of(&set)
    };
    let curves = by.as_ref().map_or(1, |l| l.values.len());
    let timeless = without(&arguments, &["time", "steps"], &[]);
    for curve in 0..curves {
        for x in 0..vary.values.len() {
            let rehearsal = launch(&[&timeless[..], &settings(curve, x)?, &["--steps".into(), "0".into()]].concat())?;
            let at = place(&vary, x, by.as_ref(), curve);
            if rehearsal.status != "ok" {
                let reason = rehearsal.reason.unwrap_or(rehearsal.status);
                return Err(Failure::input(format!("{at}: {reason}")));
            }
            find(&rehearsal.report, &args.measure)?;
        }
    }

    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed)).map_err(Failure::run)?;
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
        study.curves.push(Curve { name: by.as_ref().map(|l| l.label(curve)), runs: Vec::new() });
        for x in 0..vary.values.len() {
            bar.set_message(place(&vary, x, by.as_ref(), curve));
            let mut run = launch(&[&study.arguments[..], &settings(curve, x)?].concat())?;
            // The runs get the same Ctrl-C from the terminal and end in good order by themselves.
            if stop.load(Ordering::Relaxed) {
                study.interrupted = true;
                break 'runs;
            }
            if run.status == "ok" {
                run.value = find(&run.report, &args.measure)?;
            }
            run.x = vary.label(x);
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
        write(path, &chart(args, study).to_svg())?;
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

impl List {
    fn parse(option: &str, text: &str) -> Result<Self, Failure> {
        let wrong = |what: String| Failure::input(format!("{option} {text}: {what}"));
        let (names, values) = text.split_once('=').ok_or_else(|| wrong("expected NAME=V1,V2,...".into()))?;
        let names: Vec<String> = names.split('+').map(|n| n.trim().to_string()).collect();
        for (i, name) in names.iter().enumerate() {
            let known = OPTIONS.contains(&name.as_str()) || [SWEEPS, POSITION_SHARE].contains(&name.as_str());
            if !known && name.strip_prefix("set.").is_none_or(str::is_empty) {
                let valid = [OPTIONS, &[SWEEPS, POSITION_SHARE, "set.KEY"]].concat();
                return Err(wrong(BadSpec::unknown("name", name, &valid).0));
            }
            if names[..i].contains(name) {
                return Err(wrong(format!("'{name}' is there twice")));
            }
        }
        let separator = if values.contains(';') { ';' } else { ',' };
        let parts = values.split(separator).map(str::trim).filter(|v| !v.is_empty());
        let values: Vec<Vec<String>> = match names.len() {
            1 => parts.map(|v| vec![v.to_string()]).collect(),
            _ => parts.map(|v| v.split('+').map(|v| v.trim().to_string()).collect()).collect(),
        };
        if values.is_empty() {
            return Err(wrong("there are no values".into()));
        }
        if let Some(v) = values.iter().find(|v| v.len() != names.len()) {
            let text = format!("'{}' has {} values for {} names joined by +", v.join("+"), v.len(), names.len());
            return Err(wrong(text));
        }
        Ok(Self { names, values })
    }

    fn pairs(&self, point: usize) -> Vec<(&str, &str)> {
        self.names.iter().map(String::as_str).zip(self.values[point].iter().map(String::as_str)).collect()
    }

    fn label(&self, point: usize) -> String {
        self.values[point].join(" + ")
    }
}

/// The run's options for values of the names.
fn options_of(set: &[(&str, &str)]) -> Result<Vec<String>, Failure> {
    let value = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
    let mut options = Vec::new();
    for (name, value) in set.iter().filter(|(n, _)| ![SWEEPS, POSITION_SHARE].contains(n)) {
        match name.strip_prefix("set.") {
            Some(key) => options.extend(["--set".to_string(), format!("{key}={value}")]),
            None => options.push(format!("--{name}={value}")),
        }
    }
    match (value(SWEEPS), value(POSITION_SHARE)) {
        (None, None) => {}
        (None, Some(_)) => return Err(Failure::input("position-share is a share of sweeps: vary those too")),
        (Some(sweeps), share) => {
            if let Some((twice, _)) = set.iter().find(|(n, _)| ["iterations", "position-iterations"].contains(n)) {
                return Err(Failure::input(format!("sweeps decide '{twice}': give one or the other")));
            }
            let total: usize =
                sweeps.parse().map_err(|_| Failure::input(format!("sweeps={sweeps}: must be a whole number")))?;
            let share = share.unwrap_or("0");
            let part = share.parse::<f64>().ok().filter(|s| (0.0..=1.0).contains(s));
            let part =
                part.ok_or_else(|| Failure::input(format!("position-share={share}: must be from 0 to 1")))?;
            let position = (part * total as f64).round() as usize;
            options.push(format!("--iterations={}", total - position));
            options.push(format!("--position-iterations={position}"));
        }
    }
    Ok(options)
}

/// The arguments of this command that its runs get too: not its own, nor options that it varies.
fn handed_on(given: &[String], varied: &[&str]) -> Vec<String> {
    let mut drop = OWN_OPTIONS.to_vec();
    drop.extend(varied);
    if varied.contains(&SWEEPS) {
        drop.extend(["iterations", "position-iterations"]);
    }
    without(given, &drop, OWN_FLAGS)
}

/// `arguments` without some options (with their values) and flags.
fn without(arguments: &[String], options: &[&str], flags: &[&str]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let name = argument.strip_prefix("--").unwrap_or("");
        if options.contains(&name) {
            rest.next();
            continue;
        }
        let with_value = name.split_once('=').is_some_and(|(name, _)| options.contains(&name));
        if !with_value && !flags.contains(&name) {
            kept.push(argument.clone());
        }
    }
    kept
}

/// One run, to its end.
fn launch(arguments: &[String]) -> Result<Run, Failure> {
    let program = std::env::current_exe().map_err(Failure::run)?;
    let mut command = Command::new(program);
    command.arg("run").args(arguments).args(["--quiet", "--report", "-"]);
    let output = command.output().map_err(|e| Failure::run(format!("starting a run: {e}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().trim_start_matches("drystone: ").to_string();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let status = report["status"].as_str().unwrap_or("died").to_string();
    let reason = (status != "ok").then(|| match report["reason"].as_str() {
        Some(reason) => reason.to_string(),
        None if said.is_empty() => output.status.to_string(),
        None => said,
    });
    Ok(Run { x: String::new(), value: None, status, reason, report })
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
    let texts: Vec<&str> = study.curves.first().map_or(Vec::new(), |c| c.runs.iter().map(|r| r.x.as_str()).collect());
    let counted = texts.iter().any(|x| x.parse::<f64>().is_err());
    if counted {
        label += &texts.iter().enumerate().map(|(i, x)| format!("  {}: {x}", i + 1)).collect::<String>();
    }
    let title = args.title.clone().unwrap_or_else(|| format!("{}: {}", study.scene, study.measure));
    let x = axis(args.log_x && !counted, label);
    let mut chart = Chart::new(title, x, axis(args.log_y, study.measure.clone())).note(study.arguments.join(" "));
    for curve in &study.curves {
        let name = match (&study.curves_by, &curve.name) {
            (Some(by), Some(value)) if !by.contains('+') => format!("{} {value}", by.trim_start_matches("set.")),
            (_, value) => value.clone().unwrap_or_default(),
        };
        let place = |i: usize, r: &Run| if counted { (i + 1) as f64 } else { r.x.parse().unwrap_or(f64::NAN) };
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
    let first: Vec<&str> = study.curves.first().map_or(Vec::new(), |c| c.runs.iter().map(|r| r.x.as_str()).collect());
    let mut columns = vec![(study.vary.clone(), first.iter().map(|x| x.to_string()).collect::<Vec<_>>())];
    for curve in &study.curves {
        let head = curve.name.clone().unwrap_or_else(|| study.measure.clone());
        columns.push((head, (0..rows).map(|i| cell(curve.runs.get(i))).collect()));
    }
    let mut text = match &study.curves_by {
        Some(by) => format!("{}: {}, columns by {by}\n", study.scene, study.measure),
        None => format!("{}: {}\n", study.scene, study.measure),
    };
    let wide = |c: &(String, Vec<String>)| c.1.iter().chain([&c.0]).map(|t| t.chars().count()).max().unwrap_or(0);
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
            text += &format!("{} at {}{at}: {}\n", run.status, run.x, run.reason.as_deref().unwrap_or("no reason given"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(list: &[&str]) -> Vec<String> {
        list.iter().map(|t| t.to_string()).collect()
    }

    #[test]
    fn lists_are_split_at_commas_or_semicolons() {
        let list = List::parse("--vary", "iterations=10, 20,40").unwrap();
        assert_eq!(list.values.concat(), ["10", "20", "40"]);
        let list = List::parse("--for", "solver=pgs:omega=1,lambda=0.9;pgj").unwrap();
        assert_eq!(list.values.concat(), ["pgs:omega=1,lambda=0.9", "pgj"]);
        let list = List::parse("--for", "stabilisation=post:reach=0.2,rounds=1;").unwrap();
        assert_eq!(list.values.concat(), ["post:reach=0.2,rounds=1"]);
        let list = List::parse("--for", "step+set.mu=0.01+0.3,0.02+0.4").unwrap();
        assert_eq!(list.pairs(1), [("step", "0.02"), ("set.mu", "0.4")]);
    }

    #[test]
    fn wrong_lists_are_refused_with_the_nearest_name() {
        let message = |text: &str| List::parse("--vary", text).err().map(|e| (e.code, e.message)).unwrap();
        let (code, text) = message("iteration=1,2");
        assert!(code == 2 && text.contains("did you mean 'iterations'") && text.contains("set.KEY"), "{text}");
        assert!(message("step").1.contains("NAME=V1"));
        assert!(message("step=,").1.contains("no values"));
        assert!(message("set.=1").1.contains("unknown name"));
        assert!(message("step+iterations=0.1,0.2+3").1.contains("1 values for 2 names"));
        assert!(message("step+step=1+1").1.contains("twice"));
    }

    #[test]
    fn sweeps_are_divided_by_the_share() {
        let all = options_of(&[("sweeps", "40"), ("position-share", "0.25"), ("set.mu", "0.3")]).unwrap();
        assert_eq!(all, ["--set", "mu=0.3", "--iterations=30", "--position-iterations=10"]);
        assert_eq!(options_of(&[("sweeps", "9")]).unwrap(), ["--iterations=9", "--position-iterations=0"]);
        for wrong in [
            &[("position-share", "0.5")][..],
            &[("sweeps", "9"), ("position-share", "1.5")],
            &[("sweeps", "x")],
            &[("sweeps", "9"), ("iterations", "3")],
        ] {
            assert_eq!(options_of(wrong).err().map(|e| e.code), Some(2), "{wrong:?}");
        }
    }

    #[test]
    fn runs_get_what_is_neither_varied_nor_the_studys_own() {
        let given = texts(&[
            "packing", "--vary", "step=1,2", "--step=0.1", "--log-x", "--set", "n=3", "--plot=a.svg", "--tolerance", "0",
        ]);
        assert_eq!(handed_on(&given, &["step"]), ["packing", "--set", "n=3", "--tolerance", "0"]);
        let given = texts(&["packing", "--iterations", "5", "--steps", "7"]);
        assert_eq!(handed_on(&given, &["sweeps"]), ["packing", "--steps", "7"]);
    }

    #[test]
    fn numbers_are_found_by_path() {
        let report = serde_json::json!({"a": {"b": 2.5, "c": null, "d": "text"}, "solver": {"statuses": {}}});
        assert_eq!(find(&report, "a.b").unwrap(), Some(2.5));
        assert_eq!(find(&report, "a.c").unwrap(), None);
        assert_eq!(find(&report, "solver.statuses.wedged").unwrap(), Some(0.0));
        let text = find(&report, "a.bb").err().map(|e| e.message).unwrap();
        assert!(text.contains("did you mean 'a.b'") && text.contains("a.c") && !text.contains("a.d"), "{text}");
        assert!(find(&report, "a").is_err() && find(&report, "a.d").is_err());
    }

    #[test]
    fn a_failed_run_keeps_its_place_in_the_table() {
        let run = |x: &str, value, status: &str| Run {
            x: x.into(),
            value,
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
                Curve { name: Some("10".into()), runs: vec![run("0.1", Some(2.0), "ok"), run("0.2", None, "failed")] },
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
