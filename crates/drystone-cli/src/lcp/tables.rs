//! `drystone lcp`: the tables of \[Anitescu2005\]. Pyramids of balls by Lemke beside solvers on round cones,
//! and what the relaxed law differs from the exact one by as the step is halved.

use std::path::PathBuf;
use std::time::Duration;

use drystone::World;
use drystone_record::usage::cpu_seconds;
use drystone_solve::certificate::certificate;
use drystone_solve::lcp::{Facets, Form, LcpStatus, lemke, polyhedral};
use drystone_solve::solver::{self, Status, Stop};
use drystone_solve::{FrictionLaw, Problem};
use serde::Serialize;

use super::{parse_facets, parse_form, status_name};
use crate::compare::split;
use crate::failure::Failure;
use crate::interrupt;
use crate::outputs::{self, Output};
use crate::simulation::pool;
use crate::terminal::{INTERRUPTED, say, write};

#[derive(clap::Args)]
pub struct Args {
    /// Layers of the pyramids: 4, 6, 8, 10 and 20 are the published ones of 10, 21, 36, 55 and 210 bodies.
    #[arg(long, value_name = "LIST", default_value = "4,6,8,10,20", value_delimiter = ',')]
    layers: Vec<u32>,
    /// Coefficients of friction.
    #[arg(long, value_name = "LIST", default_value = "0,0.2,0.8", value_delimiter = ',')]
    mu: Vec<f64>,
    /// Facets of every cone.
    #[arg(long, value_name = "N", default_value_t = 4)]
    facets: usize,
    /// Law on the facets: stewart or convex.
    #[arg(long, value_name = "stewart|convex", default_value = "stewart")]
    form: String,
    /// Cap on pivots.
    #[arg(long, value_name = "N", default_value_t = 3000)]
    pivots: usize,
    /// Solvers on the round cones to show beside, separated by commas; the quickest that reaches 1e-8 m/s is
    /// named.
    #[arg(long, value_name = "LIST", default_value = "auto,prox,apgd,nncg,nsgs-ac,ipm")]
    solvers: String,
    /// Halvings of h = 0.1 s in the second table, relaxed law against exact; 0 leaves it out.
    #[arg(long, value_name = "K", default_value_t = 7)]
    halvings: u32,
    /// Everything as JSON; - is standard output. Folders on the way are made.
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,
}

/// One solver on the round cones.
#[derive(Serialize)]
struct Cone {
    solver: String,
    /// Whose law: the one that the facets approximate, or its relaxation.
    model: &'static str,
    status: Status,
    cpu_ms: f64,
    residual: f64,
}

#[derive(Serialize)]
struct Pyramid {
    bodies: usize,
    contacts: usize,
    mu: f64,
    unknowns: usize,
    /// Solved only where max |min(z, w)| says so.
    status: LcpStatus,
    pivots: usize,
    lemke_ms: f64,
    residual: f64,
    cones: Vec<Cone>,
    /// The quickest of `cones` within 1e-8 m/s under the law of the facets: its place there.
    best: Option<usize>,
    /// And under the relaxed law.
    best_relaxed: Option<usize>,
}

#[derive(Serialize)]
struct Difference {
    mu: f64,
    h_s: f64,
    /// |y_ccp - y_coulomb| over the positions of all bodies, m.
    difference_m: f64,
    order: Option<f64>,
}

#[derive(Serialize)]
struct Tables {
    facets: usize,
    form: String,
    pyramids: Vec<Pyramid>,
    differences: Vec<Difference>,
}

/// Asked of the solvers on round cones, m/s.
const GOAL: f64 = 1e-8;

/// Both tables.
pub fn tables(args: Args) -> Result<i32, Failure> {
    let (form, facets) = (parse_form(&args.form)?, parse_facets(args.facets, "inner")?);
    if let Some(layers) = args.layers.iter().find(|l| !(1..=30).contains(*l)) {
        return Err(Failure::input(format!("--layers must be between 1 and 30, got {layers}")));
    }
    if args.halvings > 12 {
        return Err(Failure::input(format!("--halvings must be at most 12, got {}", args.halvings)));
    }
    let solvers = split(&args.solvers);
    for name in &solvers {
        solver::make(name).map_err(Failure::input)?;
    }
    outputs::check(None, [Output::report("--report", args.report.as_ref())])?;
    // Refused before the first line of a table.
    for (&layers, &mu) in args.layers.iter().flat_map(|l| args.mu.iter().map(move |mu| (l, mu))) {
        drystone_scene::load("pyramid", &settings(layers, mu))?;
    }
    pool(Some(1))?;
    let stop = interrupt::watch();
    let mut all = Tables {
        facets: args.facets,
        form: args.form.clone(),
        pyramids: Vec::new(),
        differences: Vec::new(),
    };
    let quiet = args.report.as_ref().is_some_and(|p| p.as_os_str() == "-");
    let tell = |text: String| if quiet { Ok(()) } else { say(&text) };
    tell(format!(
        "{:>6} {:>8} {:>5} {:>8} {:>7} {:>7} {:>10} {:>9}  {:<17} {:>8} {:<17}\n",
        "bodies",
        "contacts",
        "mu",
        "unknowns",
        "status",
        "pivots",
        "Lemke ms",
        "residual",
        "round cones, ms",
        "by auto",
        "relaxed, ms",
    ))?;
    'pyramids: for &layers in &args.layers {
        for &mu in &args.mu {
            if stop.came() {
                break 'pyramids;
            }
            let p = pyramid(layers, mu, form, facets, args.pivots, &solvers)?;
            let cell = |k: Option<usize>| match k.map(|k| &p.cones[k]) {
                Some(c) => format!("{:.2} {}", c.cpu_ms, c.solver),
                None => "not reached".into(),
            };
            // The first of a model is that of the facets' law.
            let by_auto = match p.cones.iter().find(|c| c.solver == "auto") {
                Some(c) if c.residual <= GOAL => format!("{:.2}", c.cpu_ms),
                Some(_) => "not".into(),
                None => "-".into(),
            };
            tell(format!(
                "{:>6} {:>8} {:>5} {:>8} {:>7} {:>7} {:>10.1} {:>9.1e}  {:<17} {:>8} {:<17}\n",
                p.bodies,
                p.contacts,
                p.mu,
                p.unknowns,
                status_name(p.status),
                p.pivots,
                p.lemke_ms,
                p.residual,
                cell(p.best),
                by_auto,
                cell(p.best_relaxed),
            ))?;
            all.pyramids.push(p);
        }
    }
    if args.halvings > 0 && !stop.came() {
        tell(format!("\n{:>5} {:>12} {:>14} {:>6}\n", "mu", "h, s", "difference, m", "order"))?;
        for mu in [0.3, 0.75] {
            if stop.came() {
                break;
            }
            for d in differences(mu, args.halvings)? {
                let order = d.order.map_or("-".into(), |x| format!("{x:.2}"));
                tell(format!("{:>5} {:>12.5e} {:>14.6e} {:>6}\n", d.mu, d.h_s, d.difference_m, order))?;
                all.differences.push(d);
            }
        }
    }
    if let Some(path) = &args.report {
        write(path, &(serde_json::to_string_pretty(&all).map_err(Failure::run)? + "\n"))?;
    }
    if stop.came() {
        tell("\ninterrupted: what is not there was not done\n".into())?;
        return Ok(INTERRUPTED);
    }
    Ok(0)
}

/// What the scene of a pyramid is made with.
fn settings(layers: u32, mu: f64) -> Vec<(String, String)> {
    let set = [("layers", layers.to_string()), ("mu", mu.to_string()), ("h", "0.05".into())];
    set.into_iter().map(|(k, v)| (k.into(), v)).collect()
}

/// The least CPU time of a few tries, ms: the first one of a solver meets cold caches.
const TRIES: usize = 3;

fn pyramid(
    layers: u32,
    mu: f64,
    form: Form,
    facets: Facets,
    pivots: usize,
    solvers: &[String],
) -> Result<Pyramid, Failure> {
    let scene = drystone_scene::load("pyramid", &settings(layers, mu))?;
    let mut world: World = scene.world(scene.settings.clone())?;
    let (_, mut problem, _) = world.step_keeping_problem().map_err(Failure::run)?;
    problem.set_model(if form == Form::Convex { FrictionLaw::Ccp } else { FrictionLaw::Coulomb });
    let cut = polyhedral(&problem, form, facets).map_err(Failure::run)?;
    let begun = cpu_seconds();
    let s = lemke(&cut.lcp, pivots).map_err(Failure::run)?;
    let lemke_ms = 1e3 * (cpu_seconds() - begun);
    let mut cones = Vec::new();
    for model in [problem.model(), FrictionLaw::Ccp] {
        if cones.iter().any(|c: &Cone| c.model == model.name()) {
            break;
        }
        problem.set_model(model);
        for name in solvers {
            cones.push(round(&problem, name)?);
        }
    }
    let quickest = |model: FrictionLaw| {
        let good = |k: &usize| cones[*k].residual <= GOAL && cones[*k].model == model.name();
        (0..cones.len()).filter(good).min_by(|&a, &b| cones[a].cpu_ms.total_cmp(&cones[b].cpu_ms))
    };
    Ok(Pyramid {
        bodies: world.model().dynamic().count(),
        contacts: world.contacts().len(),
        mu,
        unknowns: cut.lcp.size(),
        status: s.status,
        pivots: s.iterations,
        lemke_ms,
        residual: cut.lcp.residual(&s.z),
        best: quickest(if form == Form::Convex { FrictionLaw::Ccp } else { FrictionLaw::Coulomb }),
        best_relaxed: quickest(FrictionLaw::Ccp),
        cones,
    })
}

/// One solver on the round cones, judged by the certificate.
fn round(problem: &Problem, name: &str) -> Result<Cone, Failure> {
    let budget = Some(Duration::from_secs(2));
    let stop = Stop { tolerance: GOAL, iterations: 100_000, budget, ..Stop::default() };
    let mut best: Option<Cone> = None;
    for _ in 0..TRIES {
        let mut solver = solver::make(name).map_err(Failure::input)?;
        let begun = cpu_seconds();
        let s = solver.solve(problem, None, &stop).map_err(Failure::run)?;
        let cpu_ms = 1e3 * (cpu_seconds() - begun);
        if best.as_ref().is_none_or(|b| cpu_ms < b.cpu_ms) {
            let residual = certificate(problem, &s.gamma).residual_max;
            let model = problem.model().name();
            best = Some(Cone { solver: name.into(), model, status: s.status, cpu_ms, residual });
        }
        if cpu_ms > 100.0 {
            break;
        }
    }
    best.ok_or_else(|| Failure::run("no solve was tried"))
}

/// The block of the `slide` scene for 0.4 s under both laws.
fn differences(mu: f64, halvings: u32) -> Result<Vec<Difference>, Failure> {
    let mut rows: Vec<Difference> = Vec::new();
    for k in 0..=halvings {
        let h = 0.1 / f64::from(1u32 << k);
        let end = |model: FrictionLaw| -> Result<Vec<[f64; 3]>, Failure> {
            let set =
                [("v0", "3".to_string()), ("mu", mu.to_string()), ("h", h.to_string()), ("T", "0.4".into())];
            let set: Vec<(String, String)> = set.into_iter().map(|(k, v)| (k.into(), v)).collect();
            let scene = drystone_scene::load("slide", &set)?;
            let mut settings = scene.settings.clone();
            settings.model = model;
            let mut world = scene.world(settings)?;
            for _ in 0..(0.4 / h).round() as u64 {
                world.step().map_err(Failure::run)?;
            }
            Ok(world.state().position.iter().map(|p| p.to_array()).collect())
        };
        let (a, b) = (end(FrictionLaw::Ccp)?, end(FrictionLaw::Coulomb)?);
        let square: f64 = a.iter().flatten().zip(b.iter().flatten()).map(|(x, y)| (x - y).powi(2)).sum();
        let difference_m = square.sqrt();
        let order =
            rows.last().map(|last| (last.difference_m / difference_m).log2()).filter(|x| x.is_finite());
        rows.push(Difference { mu, h_s: h, difference_m, order });
    }
    Ok(rows)
}
