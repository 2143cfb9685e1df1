//! The comparison of [RenoufAcary2006, section 5] over whole runs: the sphere packing and the Brazil nut from
//! their first step, each with every local solver of block splitting. Each run goes its own way, with its own
//! guesses; what is compared is the CPU time of its solves, the sweeps that they take, how many steps are
//! solved, and what becomes of the spheres.

use std::time::Duration;

use drystone::Stage;
use drystone_record::plot::{Axis, Chart, Grid, Series};
use drystone_record::usage::cpu_seconds;
use drystone_solve::solver::{Status, Stop};
use serde::Serialize;
use serde_json::Value;

use super::Args;
use super::blocks::GOAL;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// A scene, its options, and what the report of a run says of the spheres.
struct Course {
    scene: &'static str,
    set: &'static [(&'static str, &'static str)],
    tells: &'static str,
}

/// The paper's two of spheres. The Brazil nut has steps of 10 ms, as in the other table.
const COURSES: [Course; 2] = [
    Course { scene: "packing", set: &[], tells: "packing_fraction" },
    Course { scene: "brazil-nut", set: &[("n", "801"), ("h", "0.01")], tells: "nut_height_last_m" },
];
/// [Anitescu2005]'s, whose performance it shows over time: 270 balls, steps of 100 ms.
const NUT: [Course; 1] = [Course { scene: "brazil-nut", set: &[], tells: "shakes_to_surface" }];
/// Points of a curve.
const POINTS: usize = 60;

/// One solver on one scene, from its start.
#[derive(Serialize)]
pub struct Row {
    scene: &'static str,
    solver: String,
    steps: usize,
    /// Of the solves, ms a step: mean and largest.
    cpu_ms_mean: f64,
    cpu_ms_max: f64,
    /// A step.
    sweeps_mean: f64,
    contacts_mean: f64,
    cpu_us_per_sweep_and_contact: f64,
    /// Steps that the solver says it has solved on its own cones, and those whose residual on the round cones
    /// is within 1e-4 m/s.
    converged: usize,
    certified: usize,
    /// Of the round cones over the steps, m/s.
    residual_mean: f64,
    /// What the scene measures at the end: `packing_fraction`, `nut_height_last_m`.
    at_the_end: Value,
    /// Time, contacts, sweeps and CPU ms of the solve, of stretches of the run.
    course: Vec<[f64; 4]>,
    /// Why it ended before its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
}

/// Local solvers on the two scenes of spheres.
pub fn table(args: &Args, names: &[String], interrupt: &Interrupt) -> Result<Vec<Row>, Failure> {
    runs(&COURSES, args, args.iterations.first().copied().unwrap_or(200), names, interrupt)
}

/// The Brazil nut of steps of 100 ms.
pub fn nut(args: &Args, names: &[String], interrupt: &Interrupt) -> Result<Vec<Row>, Failure> {
    runs(&NUT, args, args.iterations.first().copied().unwrap_or(20_000), names, interrupt)
}

fn runs(
    courses: &[Course],
    args: &Args,
    cap: usize,
    names: &[String],
    interrupt: &Interrupt,
) -> Result<Vec<Row>, Failure> {
    let stop = args.stop(GOAL, cap);
    let mut rows = Vec::new();
    for course in courses {
        args.tell(&format!(
            "{}, {} s from its start, to {GOAL:e} m/s, at most {cap} sweeps a step\n{:<12} {:>8} {:>8} {:>8} {:>10} {:>10} {:>10} {:>10}  {}\n",
            course.scene, args.at_time, "solver", "ms/step", "most", "sweeps", "us/contact", "solved", "certified", "residual", course.tells
        ))?;
        for name in names {
            let row = run(course, name, args, &stop, interrupt)?;
            if interrupt.came() {
                return Ok(rows);
            }
            args.tell(&format!(
                "{:<12} {:>8.2} {:>8.1} {:>8.1} {:>10.3} {:>10} {:>10} {:>10.1e}  {}{}\n",
                row.solver,
                row.cpu_ms_mean,
                row.cpu_ms_max,
                row.sweeps_mean,
                row.cpu_us_per_sweep_and_contact,
                format!("{}/{}", row.converged, row.steps),
                row.certified,
                row.residual_mean,
                row.at_the_end.as_f64().map_or("none".into(), |x| format!("{x:.3}")),
                row.ended.as_ref().map_or(String::new(), |why| format!("  ended: {why}")),
            ))?;
            rows.push(row);
        }
    }
    Ok(rows)
}

/// One run.
fn run(course: &Course, name: &str, args: &Args, stop: &Stop, interrupt: &Interrupt) -> Result<Row, Failure> {
    let set: Vec<(String, String)> = course.set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let mut scene = drystone_scene::load(course.scene, &set)?;
    let mut settings = scene.settings.clone();
    (settings.solver, settings.tolerance, settings.iterations) =
        (name.into(), stop.tolerance, stop.iterations);
    settings.budget = stop.budget;
    let mut world = scene.world(settings)?;
    let all = (scene.duration.min(args.at_time) / world.settings().h).round().max(1.0) as usize;
    let mut steps: Vec<[f64; 4]> = Vec::with_capacity(all);
    let (mut converged, mut certified, mut residual, mut visits) = (0, 0, 0.0, 0.0);
    let mut ended = None;
    while steps.len() < all && !interrupt.came() {
        let begun = cpu_seconds();
        let report = match world.step() {
            Ok(report) => report,
            Err(e) => {
                ended = Some(e.to_string());
                break;
            }
        };
        let cpu_ms = 1e3 * (cpu_seconds() - begun);
        scene.probe.observe(&world);
        // Stages are timed by the clock, which runs on while other programs have the processor.
        let all: f64 = report.spans.iter().map(Duration::as_secs_f64).sum();
        let solve = cpu_ms * report.spans[Stage::Solve as usize].as_secs_f64() / all.max(1e-12);
        steps.push([world.state().time, report.contacts as f64, report.iterations as f64, solve]);
        converged += usize::from(report.status == Status::Converged);
        certified += usize::from(report.certificate.residual_max <= stop.tolerance);
        residual += report.certificate.residual_max;
        visits += report.iterations as f64 * report.contacts as f64;
    }
    let n = steps.len().max(1) as f64;
    let mean = |k: usize| steps.iter().map(|s| s[k]).sum::<f64>() / n;
    let stretch = steps.len().div_ceil(POINTS).max(1);
    let points = steps.chunks(stretch).map(|part| {
        let of = |k: usize| part.iter().map(|s| s[k]).sum::<f64>() / part.len() as f64;
        [part[part.len() - 1][0], of(1), of(2), of(3)]
    });
    Ok(Row {
        scene: course.scene,
        solver: name.into(),
        steps: steps.len(),
        cpu_ms_mean: mean(3),
        cpu_ms_max: steps.iter().map(|s| s[3]).fold(0.0, f64::max),
        sweeps_mean: mean(2),
        contacts_mean: mean(1),
        cpu_us_per_sweep_and_contact: 1e3 * mean(3) * n / visits.max(1.0),
        converged,
        certified,
        residual_mean: residual / n,
        at_the_end: scene.probe.results(&world).remove(course.tells).unwrap_or_default(),
        course: points.collect(),
        ended,
    })
}

/// CPU time, sweeps and contacts of each solver over each run.
pub fn chart(rows: &[Row]) -> Grid {
    let mut scenes: Vec<&str> = rows.iter().map(|row| row.scene).collect();
    scenes.dedup();
    let charts = scenes.iter().flat_map(|scene| {
        let all = [(3, "CPU ms of a step's solve"), (2, "iterations of a step"), (1, "contacts")];
        all.map(|(k, what)| {
            let title = format!("{scene}: {what}");
            let chart = Chart::new(title, Axis::linear("time, s"), Axis::log(what));
            rows.iter().filter(|row| row.scene == *scene).fold(chart, |chart, row| {
                let points = row.course.iter().map(|p| (p[0], p[k].max(1e-3))).collect();
                chart.with(Series::new(row.solver.clone(), points))
            })
        })
    });
    Grid { charts: charts.collect(), columns: 3 }
}
