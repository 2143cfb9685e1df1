//! `drystone compare` on problems from files: every solver on every problem, and performance profiles
//! \[DolanMore2002\].
//!
//! With t_ps the time that solver s takes on problem p, and the ratio r_ps = t_ps / min over s of t_ps, the
//! profile of s is
//!
//! ```text
//!     ρ_s(τ) = share of the problems with r_ps ≤ τ
//! ```
//!
//! ρ_s(1) is how often s was the fastest, and ρ_s for large τ how much it solves at all. A problem is solved
//! when
//! |r - P(r - u)| ≤ tolerance |q|, whatever the solver says of itself.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use drystone_record::plot::{Axis, Chart, Series, Style};
use drystone_scene::problem::{self, ContactProblem};
use drystone_solve::FrictionLaw;
use drystone_solve::solver::{self, Status, Stop};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::failure::Failure;
use crate::interrupt::{self, Interrupt};
use crate::lcp;
use crate::terminal::{INTERRUPTED, say, write};
use drystone_scene::problem::reach;

/// Short solves are repeated this often, and the least time counts.
const LAPS: usize = 5;
/// Beyond this a solve is not repeated.
const LONG: Duration = Duration::from_millis(100);

/// What is asked for.
pub struct Asked<'a> {
    pub paths: &'a [PathBuf],
    pub solvers: &'a [String],
    pub model: FrictionLaw,
    /// Over |q|.
    pub tolerance: f64,
    pub iterations: usize,
    pub budget: Duration,
    pub plot: Option<&'a Path>,
    pub report: Option<&'a Path>,
}

#[derive(Serialize)]
struct Result {
    /// Least time of several, s.
    wall_s: f64,
    iterations: usize,
    residual_over_q: f64,
    solved: bool,
    /// How the solver says that it ended; "budget" where the cap on time came first.
    status: Status,
}

#[derive(Serialize)]
struct Line {
    problem: String,
    contacts: usize,
    /// In the order of the solvers.
    results: Vec<Result>,
}

#[derive(Serialize)]
struct Profiles<'a> {
    model: &'static str,
    tolerance: f64,
    /// Caps on each solve.
    iterations: usize,
    budget_ms: f64,
    solvers: &'a [String],
    /// Ctrl-C came before all problems were done.
    interrupted: bool,
    /// Problems that were asked for.
    asked: usize,
    /// Files left out because the same problem is there in another format.
    twice: usize,
    /// Linear complementarity problems left out of folders.
    lcps: usize,
    /// Problems with q = 0: zero solves them, and there is no |q| to measure by.
    nothing_to_solve: Vec<String>,
    /// Files in folders that are no problems.
    others: usize,
    problems: Vec<Line>,
    /// By solver: problems solved, and those it was the fastest on.
    solved: Vec<usize>,
    fastest: Vec<usize>,
}

/// The files that a list of paths means.
pub struct Files {
    paths: Vec<PathBuf>,
    /// Left out because the same problem (the same name but for its ending, in the same folder) came before:
    /// JSON first, as `--dump-problems` writes each twice.
    twice: usize,
    /// Linear complementarity problems, left out of folders.
    lcps: usize,
    /// Files in folders that are no problems.
    others: usize,
}

/// Takes a folder for all contact problems in it.
pub fn files(paths: &[PathBuf]) -> std::result::Result<Files, Failure> {
    let (mut found, mut lcps, mut others) = (Vec::new(), 0, 0);
    for path in paths {
        if !path.is_dir() {
            if lcp::is_one(path) {
                let text = format!(
                    "{}: linear complementarity problems are not compared, but `drystone solve` does them",
                    path.display()
                );
                return Err(Failure::input(text));
            }
            found.push(path.clone());
            continue;
        }
        let refuse = |e: std::io::Error| Failure::input(format!("{}: {e}", path.display()));
        let mut inside = Vec::new();
        for entry in std::fs::read_dir(path).map_err(refuse)? {
            let file = entry.map_err(refuse)?.path();
            if file.is_file() && lcp::is_one(&file) {
                lcps += 1;
            } else if file.is_file() && problem::is_one(&file) {
                inside.push(file);
            } else if file.is_file() {
                others += 1;
            }
        }
        if inside.is_empty() {
            return Err(Failure::input(format!("{}: no contact problems in it", path.display())));
        }
        inside.sort();
        found.extend(inside);
    }
    let all = found.len();
    let mut order: Vec<usize> = (0..all).collect();
    order.sort_by_key(|&k| found[k].extension().is_none_or(|e| e != "json"));
    let mut seen = BTreeSet::new();
    let mut kept: Vec<usize> =
        order.into_iter().filter(|&k| seen.insert(found[k].with_extension(""))).collect();
    kept.sort_unstable();
    let paths: Vec<PathBuf> = kept.into_iter().map(|k| found[k].clone()).collect();
    let twice = all - paths.len();
    Ok(Files { paths, twice, lcps, others })
}

/// On a terminal; nothing in a pipe.
fn bar(problems: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(problems as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} problems  eta {eta}  {msg}") {
        bar.set_style(style);
    }
    bar
}

/// Solves, judges, writes and prints.
pub fn main(asked: &Asked) -> std::result::Result<i32, Failure> {
    let (mut lines, mut nothing_to_solve) = (Vec::new(), Vec::new());
    let Files { paths, twice, lcps, others } = files(asked.paths)?;
    let stop = interrupt::watch();
    let bar = bar(paths.len());
    let mut interrupted = false;
    for path in &paths {
        let file = problem::read(path, None)?;
        if file.scale() == 0.0 {
            nothing_to_solve.push(file.name.clone());
        } else {
            let done = line(&file, asked, &bar, &stop);
            lines.extend(done.map_err(|e| Failure::input(format!("{}: {e}", path.display())))?);
        }
        if stop.came() {
            interrupted = true;
            break;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let n = asked.solvers.len();
    let count = |f: &dyn Fn(&Line, usize) -> bool| {
        (0..n).map(|s| lines.iter().filter(|l| f(l, s)).count()).collect::<Vec<_>>()
    };
    let (solved, fastest) = (count(&|l, s| l.results[s].solved), count(&|l, s| ratio(l, s) == Some(1.0)));
    let all = Profiles {
        model: asked.model.name(),
        tolerance: asked.tolerance,
        iterations: asked.iterations,
        budget_ms: 1e3 * asked.budget.as_secs_f64(),
        solvers: asked.solvers,
        interrupted,
        asked: paths.len(),
        twice,
        lcps,
        others,
        nothing_to_solve,
        problems: lines,
        solved,
        fastest,
    };
    if let Some(path) = asked.plot {
        write(path, &chart(&all).to_svg())?;
    }
    if let Some(path) = asked.report {
        write(path, &(serde_json::to_string_pretty(&all).map_err(Failure::run)? + "\n"))?;
    }
    if asked.report.is_none_or(|p| p.as_os_str() != "-") {
        say(&table(&all))?;
    }
    Ok(if interrupted { INTERRUPTED } else { 0 })
}

/// Every solver on one problem; None where Ctrl-C came before they were done.
fn line(
    file: &ContactProblem,
    asked: &Asked,
    bar: &ProgressBar,
    signal: &Interrupt,
) -> std::result::Result<Option<Line>, String> {
    let posed = file.under(asked.model);
    let goal = asked.tolerance * file.scale();
    let (iterations, budget) = (asked.iterations, Some(asked.budget));
    let stop = Stop { tolerance: goal, iterations, budget, ..Stop::default() };
    let mut results = Vec::new();
    for name in asked.solvers {
        bar.set_message(format!("{} by {name}", file.name));
        let mut best: Option<Result> = None;
        for _ in 0..LAPS {
            let mut solver = solver::make(name).map_err(|e| e.0)?;
            let begun = Instant::now();
            let out = reach(file, &posed, solver.as_mut(), &stop).map_err(|e| e.to_string())?;
            let took = begun.elapsed();
            let lap = Result {
                wall_s: took.as_secs_f64(),
                iterations: out.iterations,
                residual_over_q: out.natural / file.scale(),
                solved: out.natural <= goal,
                status: out.status,
            };
            if best.as_ref().is_none_or(|b| lap.wall_s < b.wall_s) {
                best = Some(lap);
            }
            if signal.came() {
                return Ok(None);
            }
            if took > LONG {
                break;
            }
        }
        results.extend(best);
    }
    Ok(Some(Line { problem: file.name.clone(), contacts: file.contacts(), results }))
}

/// r_ps; None where s did not solve p.
fn ratio(line: &Line, s: usize) -> Option<f64> {
    let solved = line.results.iter().filter(|r| r.solved);
    let least = solved.map(|r| r.wall_s).fold(f64::INFINITY, f64::min);
    line.results[s].solved.then(|| line.results[s].wall_s / least)
}

/// ρ_s as steps: every ratio with the share of the problems up to it.
fn profile(lines: &[Line], s: usize, last: f64) -> Vec<(f64, f64)> {
    let mut ratios: Vec<f64> = lines.iter().filter_map(|l| ratio(l, s)).collect();
    ratios.sort_by(f64::total_cmp);
    let share = |k: usize| k as f64 / lines.len().max(1) as f64;
    let mut points = vec![(1.0, share(ratios.iter().filter(|r| **r <= 1.0).count()))];
    points.extend(ratios.iter().enumerate().filter(|(_, r)| **r > 1.0).map(|(k, r)| (*r, share(k + 1))));
    points.push((last, share(ratios.len())));
    points
}

fn chart(p: &Profiles) -> Chart {
    let ratios = p.problems.iter().flat_map(|l| (0..p.solvers.len()).filter_map(|s| ratio(l, s)));
    let last = 1.2 * ratios.fold(1.0, f64::max);
    let title = format!(
        "{} problems, {}, residual at most {:e} |q|: performance profiles",
        p.problems.len(),
        p.model,
        p.tolerance
    );
    let x = Axis::log("time over that of the fastest").range(1.0, last);
    let y = Axis::linear("share of the problems solved within that").range(0.0, 1.02);
    let mut chart = Chart::new(title, x, y);
    for (s, name) in p.solvers.iter().enumerate() {
        chart = chart.with(Series::new(name.clone(), profile(&p.problems, s, last)).style(Style::Steps));
    }
    chart
}

fn table(p: &Profiles) -> String {
    let first = p.problems.iter().map(|l| l.problem.len()).max().unwrap_or(7).max(8);
    let widths: Vec<usize> = p.solvers.iter().map(|s| s.len().max(10)).collect();
    let row = |head: &str, contacts: &str, cells: Vec<String>| {
        let mut text = format!("{head:<first$} {contacts:>8}");
        for (cell, width) in cells.iter().zip(&widths) {
            text += &format!(" {cell:>width$}");
        }
        text + "\n"
    };
    let mut text = format!(
        "{} problems under {}, ms to |r - P(r - u)| <= {:e} |q|\n\
         at most {} ms (--budget-ms) and {} iterations (--iterations) a solve; 'time' where the first came first, - where it was not \
         reached otherwise\n",
        p.problems.len(),
        p.model,
        p.tolerance,
        p.budget_ms,
        p.iterations
    );
    if p.twice > 0 {
        text += &format!("{} files left out: the same problems in another format\n", p.twice);
    }
    if p.lcps > 0 {
        text += &format!("{} linear complementarity problems left out: `drystone solve` does them\n", p.lcps);
    }
    if p.others > 0 {
        text += &format!("{} other files in the folders are no contact problems\n", p.others);
    }
    if !p.nothing_to_solve.is_empty() {
        let names = p.nothing_to_solve.join(", ");
        text += &format!("left out because q = 0, so that there is nothing to solve: {names}\n");
    }
    text += &row("problem", "contacts", p.solvers.to_vec());
    for l in &p.problems {
        let cell = |r: &Result| match r.solved {
            true => format!("{:.3}", 1e3 * r.wall_s),
            false if r.status == Status::Budget => "time".into(),
            false => "-".into(),
        };
        text += &row(&l.problem, &l.contacts.to_string(), l.results.iter().map(cell).collect());
    }
    text += &row("solved", "", p.solved.iter().map(usize::to_string).collect());
    text += &row("fastest", "", p.fastest.iter().map(usize::to_string).collect());
    if p.interrupted {
        text += &format!("interrupted: {} of {} problems done\n", p.problems.len(), p.asked);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(times: &[Option<f64>]) -> Line {
        let results = times.iter().map(|t| Result {
            wall_s: t.unwrap_or(9.0),
            iterations: 1,
            residual_over_q: 0.0,
            solved: t.is_some(),
            status: Status::Iterations,
        });
        Line { problem: "p".into(), contacts: 1, results: results.collect() }
    }

    #[test]
    fn profiles_count_problems_within_a_ratio() {
        let lines = [
            line(&[Some(1.0), Some(2.0)]),
            line(&[Some(3.0), None]),
            line(&[Some(4.0), Some(1.0)]),
            line(&[None, None]),
        ];
        assert_eq!(profile(&lines, 0, 10.0), [(1.0, 0.5), (4.0, 0.75), (10.0, 0.75)]);
        assert_eq!(profile(&lines, 1, 10.0), [(1.0, 0.25), (2.0, 0.5), (10.0, 0.5)]);
    }
}
