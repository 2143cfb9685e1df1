//! The comparison of [RenoufAcary2006, section 5]: local solvers of block splitting on a sphere packing, a
//! Brazil nut and a masonry wall on sinking ground. Steps are taken at even distances from one run by `auto`,
//! so that all solvers meet the same problems with the same guesses, from the fall to rest; CPU time is that
//! of the solves.

use drystone_record::usage::cpu_seconds;
use drystone_solve::Problem;
use drystone_solve::certificate::certificate;
use drystone_solve::solver::{self, Status};
use serde::Serialize;

use super::Args;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// The paper's scenes, and the step of those whose own is too long for a comparison: with a tenth of a second
/// the Brazil nut's floor strikes so hard that no sweeps are enough.
const SCENES: [(&str, Option<&str>); 3] = [("packing", None), ("brazil-nut", Some("0.01")), ("wall", None)];
/// Residual that ends a solve, m/s.
pub const GOAL: f64 = 1e-4;

/// One solver on the steps of one scene.
#[derive(Serialize)]
pub struct Row {
    scene: &'static str,
    solver: String,
    steps: usize,
    /// Mean over the steps.
    contacts: f64,
    /// Of all solves, s.
    cpu_s: f64,
    /// In all solves.
    sweeps: usize,
    cpu_us_per_sweep_and_contact: f64,
    /// Steps within 1e-4 m/s, by the certificate.
    converged: usize,
    /// Over the steps, m/s: of the round cone.
    residual_mean: f64,
    residual_max: f64,
}

/// A step's problem, and the guess that the run had for it.
type Posed = (Problem, Vec<f64>);

fn problems(
    scene: &str,
    h: Option<&str>,
    steps: usize,
    until: f64,
    stop: &Interrupt,
) -> Result<Vec<Posed>, Failure> {
    let set: Vec<(String, String)> = h.map(|h| ("h".into(), h.into())).into_iter().collect();
    let scene = drystone_scene::load(scene, &set)?;
    let mut world = scene.world(scene.settings.clone())?;
    let all = (scene.duration.min(until) / world.settings().h).round().max(1.0) as usize;
    let mut found = Vec::new();
    for k in 1..=all {
        if stop.came() {
            break;
        }
        // Step k is one of them where the count of those due goes up.
        if k * steps / all == (k - 1) * steps / all {
            world.step().map_err(Failure::run)?;
            continue;
        }
        let (_, problem, guess) = world.step_keeping_problem().map_err(Failure::run)?;
        if problem.blocks() > 0 {
            found.push((problem, guess));
        }
    }
    Ok(found)
}

/// All scenes.
pub fn table(args: &Args, names: &[String], interrupt: &Interrupt) -> Result<Vec<Row>, Failure> {
    let steps = args.sizes(&[12])[0].max(1);
    let cap = args.iterations.first().copied().unwrap_or(1000);
    let stop = args.stop(GOAL, cap);
    let mut rows = Vec::new();
    for (scene, h) in SCENES {
        let posed = problems(scene, h, steps, args.at_time, interrupt)?;
        if interrupt.came() {
            break;
        }
        let contacts: usize = posed.iter().map(|(p, _)| p.blocks()).sum();
        args.tell(&format!(
            "{scene}: {} steps, {:.0} contacts on average, to {GOAL:e} m/s, at most {cap} sweeps\n{:<12} {:>9} {:>8} {:>9} {:>10} {:>10} {:>10}\n",
            posed.len(),
            contacts as f64 / posed.len().max(1) as f64,
            "solver", "CPU s", "sweeps", "converged", "us/contact", "mean", "max residual"
        ))?;
        for name in names {
            let Some(row) = race(scene, name, &posed, &stop, interrupt)? else { return Ok(rows) };
            args.tell(&format!(
                "{:<12} {:>9.3} {:>8} {:>9} {:>10.3} {:>10.1e} {:>10.1e}\n",
                row.solver,
                row.cpu_s,
                row.sweeps,
                row.converged,
                row.cpu_us_per_sweep_and_contact,
                row.residual_mean,
                row.residual_max
            ))?;
            rows.push(row);
        }
    }
    Ok(rows)
}

/// One solver on all steps; None where Ctrl-C came first.
fn race(
    scene: &'static str,
    name: &str,
    posed: &[Posed],
    stop: &solver::Stop,
    interrupt: &Interrupt,
) -> Result<Option<Row>, Failure> {
    let mut s = solver::make(name).map_err(Failure::input)?;
    let (mut cpu_s, mut sweeps, mut visits, mut converged) = (0.0, 0, 0, 0);
    let (mut sum, mut worst) = (0.0, 0.0f64);
    for (problem, guess) in posed {
        if interrupt.came() {
            return Ok(None);
        }
        let begun = cpu_seconds();
        let out = s.solve(problem, Some(guess), stop).map_err(Failure::run)?;
        cpu_s += cpu_seconds() - begun;
        let c = certificate(problem, &out.gamma);
        sweeps += out.iterations;
        visits += out.iterations * problem.blocks();
        converged += usize::from(out.status == Status::Converged && c.residual_max <= stop.tolerance);
        sum += c.residual_max;
        worst = worst.max(c.residual_max);
    }
    let n = posed.len().max(1) as f64;
    Ok(Some(Row {
        scene,
        solver: name.into(),
        steps: posed.len(),
        contacts: posed.iter().map(|(p, _)| p.blocks()).sum::<usize>() as f64 / n,
        cpu_s,
        sweeps,
        cpu_us_per_sweep_and_contact: 1e6 * cpu_s / visits.max(1) as f64,
        converged,
        residual_mean: sum / n,
        residual_max: worst,
    }))
}
