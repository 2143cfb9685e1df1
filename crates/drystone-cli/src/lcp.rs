//! Linear complementarity problems: `drystone solve --model lcp`, and the tables of Anitescu2005 by `drystone lcp`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use drystone::World;
use drystone_scene::problem::{self, Kind};
use drystone_solve::certificate::certificate;
use drystone_solve::lcp::{Facets, Form, Lcp, LcpSolution, LcpStatus, Polyhedral, lemke, polyhedral, psor};
use drystone_solve::solver::{self, BadSpec, Param, Spec, Stop};
use drystone_solve::{Model, Problem};
use serde::Serialize;

use crate::failure::Failure;
use crate::run::{say, write};

const PIVOTS: Param = Param { name: "pivots", default: "20 n + 1000", help: "cap on pivots" };
const OMEGA: Param = Param { name: "omega", default: "1", help: "relaxation factor, between 0 and 2" };

/// Whether a file is one by its published name.
pub fn is_one(path: &Path) -> bool {
    let name = path.file_name().map(|n| n.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    name.starts_with("lcp_") && name.ends_with(".dat")
}

/// What `drystone solve` was asked for.
pub struct Asked<'a> {
    pub problem: &'a Path,
    pub kind: Option<Kind>,
    pub bare: bool,
    pub solver: &'a str,
    pub facets: usize,
    pub form: &'a str,
    pub cone: &'a str,
    pub tolerance: f64,
    pub iterations: usize,
    pub vectors: bool,
}

#[derive(Serialize)]
struct Report {
    name: String,
    kind: &'static str,
    model: &'static str,
    solver: String,
    /// Unknowns of the LCP.
    size: usize,
    contacts: Option<usize>,
    facets: Option<usize>,
    form: Option<String>,
    cone: Option<String>,
    status: LcpStatus,
    /// Pivots or sweeps.
    iterations: usize,
    wall_s: f64,
    /// max |min(z, w)|.
    residual: f64,
    /// Of the round cone and the law that the form approximates, in the units of u; null for a bare LCP.
    residual_round: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    z: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    u: Option<Vec<f64>>,
}

fn parse_form(name: &str) -> Result<Form, Failure> {
    match name {
        "stewart" => Ok(Form::StewartTrinkle),
        "convex" => Ok(Form::Convex),
        other => Err(Failure::input(BadSpec::unknown("form", other, &["stewart", "convex"]))),
    }
}

fn parse_facets(count: usize, cone: &str) -> Result<Facets, Failure> {
    if !(3..=64).contains(&count) {
        return Err(Failure::input(format!("--facets must be between 3 and 64, got {count}")));
    }
    match cone {
        "inner" => Ok(Facets { count, outer: false }),
        "outer" => Ok(Facets { count, outer: true }),
        other => Err(Failure::input(BadSpec::unknown("cone", other, &["inner", "outer"]))),
    }
}

fn run(lcp: &Lcp, text: &str, tolerance: f64, iterations: usize) -> Result<LcpSolution, Failure> {
    let spec = Spec::parse(text).map_err(Failure::input)?;
    let solved = match spec.name.as_str() {
        "lemke" => {
            spec.check(&[PIVOTS]).map_err(Failure::input)?;
            let most =
                spec.positive("pivots", (20 * lcp.size() + 1000) as f64, 1e12).map_err(Failure::input)?;
            lemke(lcp, most as usize)
        }
        "psor" => {
            spec.check(&[OMEGA]).map_err(Failure::input)?;
            psor(lcp, spec.number("omega", 1.0).map_err(Failure::input)?, tolerance, iterations)
        }
        other => return Err(Failure::input(BadSpec::unknown("solver of an lcp", other, &["lemke", "psor"]))),
    };
    solved.map_err(Failure::input)
}

/// `drystone solve` for an LCP.
pub fn solve(asked: &Asked, report: Option<&Path>) -> Result<i32, Failure> {
    let (form, facets) = (parse_form(asked.form)?, parse_facets(asked.facets, asked.cone)?);
    let place = |e: drystone_solve::Malformed| Failure::input(format!("{}: {e}", asked.problem.display()));
    let (name, posed, cut): (String, Option<Problem>, Polyhedral);
    if asked.bare {
        let lcp = problem::read_lcp(asked.problem)?;
        name = asked.problem.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        (posed, cut) = (None, Polyhedral::from(lcp));
    } else {
        let file = problem::read(asked.problem, asked.kind)?;
        let law = if form == Form::Convex { Model::Ccp } else { Model::Coulomb };
        let problem = file.under(law);
        cut = polyhedral(&problem, form, facets).map_err(place)?;
        name = file.name.clone();
        posed = Some(problem);
    }
    let lcp = &cut.lcp;
    let scale = lcp.q.iter().map(|q| q * q).sum::<f64>().sqrt();
    let begun = Instant::now();
    let s = run(lcp, asked.solver, asked.tolerance * scale, asked.iterations)?;
    let wall_s = begun.elapsed().as_secs_f64();
    let residual = lcp.residual(&s.z);
    let solved = s.status == LcpStatus::Solved && residual <= asked.tolerance.max(1e-12) * scale.max(1.0);
    let r = cut.multipliers(&s.z);
    let mut u = Vec::new();
    if let Some(p) = &posed {
        p.apply(&r, &mut u);
    }
    let contact = posed.is_some();
    let out = Report {
        name,
        kind: if asked.bare { "lcp" } else { "fc" },
        model: "lcp",
        solver: asked.solver.into(),
        size: lcp.size(),
        contacts: posed.as_ref().map(|p| p.blocks()),
        facets: contact.then_some(facets.count),
        form: contact.then(|| asked.form.into()),
        cone: contact.then(|| asked.cone.into()),
        status: s.status,
        iterations: s.iterations,
        wall_s,
        residual,
        residual_round: posed.as_ref().map(|p| certificate(p, &r).residual_max),
        z: asked.vectors.then(|| s.z.clone()),
        r: (asked.vectors && contact).then_some(r),
        u: (asked.vectors && contact).then_some(u),
    };
    if let Some(path) = report {
        write(path, &(serde_json::to_string_pretty(&out).map_err(Failure::run)? + "\n"))?;
    }
    if report.is_none_or(|p| p.as_os_str() != "-") {
        let mut text = format!("{} {}: {} unknowns\n", out.name, status_name(out.status), out.size);
        text += &format!("  solver        {}: {} steps, {:.3} s\n", out.solver, out.iterations, out.wall_s);
        text += &format!("  residual      {:.2e}\n", out.residual);
        if let Some(x) = out.residual_round {
            text += &format!("  on the round cone {x:.2e}\n");
        }
        say(&text)?;
    }
    Ok(if solved { 0 } else { 3 })
}

fn status_name(status: LcpStatus) -> &'static str {
    match status {
        LcpStatus::Solved => "solved",
        LcpStatus::Ray => "ray",
        LcpStatus::Pivots => "pivots",
        LcpStatus::Iterations => "iterations",
        LcpStatus::Failed => "failed",
    }
}

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
    /// Halvings of h = 0.1 s in the second table, relaxed law against exact; 0 leaves it out.
    #[arg(long, value_name = "K", default_value_t = 7)]
    halvings: u32,
    /// Everything as JSON; - is standard output.
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,
}

#[derive(Serialize)]
struct Pyramid {
    bodies: usize,
    contacts: usize,
    mu: f64,
    unknowns: usize,
    status: LcpStatus,
    pivots: usize,
    lemke_ms: f64,
    residual: f64,
    /// The same contacts with round cones, by a cone solver to 1e-8 m/s.
    cone_solver: &'static str,
    cone_ms: f64,
    cone_residual: f64,
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

/// The cone solver shown beside Lemke.
const BESIDE: &str = "apgd";

/// Both tables.
pub fn tables(args: Args) -> Result<i32, Failure> {
    let (form, facets) = (parse_form(&args.form)?, parse_facets(args.facets, "inner")?);
    if let Some(layers) = args.layers.iter().find(|l| !(1..=30).contains(*l)) {
        return Err(Failure::input(format!("--layers must be between 1 and 30, got {layers}")));
    }
    if args.halvings > 12 {
        return Err(Failure::input(format!("--halvings must be at most 12, got {}", args.halvings)));
    }
    let mut all = Tables {
        facets: args.facets,
        form: args.form.clone(),
        pyramids: Vec::new(),
        differences: Vec::new(),
    };
    let quiet = args.report.as_ref().is_some_and(|p| p.as_os_str() == "-");
    let tell = |text: String| if quiet { Ok(()) } else { say(&text) };
    tell(format!(
        "{:>6} {:>8} {:>5} {:>8} {:>7} {:>7} {:>10} {:>9} {:>10} {:>9}\n",
        "bodies",
        "contacts",
        "mu",
        "unknowns",
        "status",
        "pivots",
        "Lemke ms",
        "residual",
        "cone ms",
        "residual"
    ))?;
    for &layers in &args.layers {
        for &mu in &args.mu {
            let p = pyramid(layers, mu, form, facets, args.pivots)?;
            tell(format!(
                "{:>6} {:>8} {:>5} {:>8} {:>7} {:>7} {:>10.1} {:>9.1e} {:>10.2} {:>9.1e}\n",
                p.bodies,
                p.contacts,
                p.mu,
                p.unknowns,
                status_name(p.status),
                p.pivots,
                p.lemke_ms,
                p.residual,
                p.cone_ms,
                p.cone_residual
            ))?;
            all.pyramids.push(p);
        }
    }
    if args.halvings > 0 {
        tell(format!("\n{:>5} {:>12} {:>14} {:>6}\n", "mu", "h, s", "difference, m", "order"))?;
        for mu in [0.3, 0.75] {
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
    Ok(0)
}

fn pyramid(layers: u32, mu: f64, form: Form, facets: Facets, pivots: usize) -> Result<Pyramid, Failure> {
    let set = [("layers", layers.to_string()), ("mu", mu.to_string()), ("h", "0.05".into())];
    let set: Vec<(String, String)> = set.into_iter().map(|(k, v)| (k.into(), v)).collect();
    let scene = drystone_scene::load("pyramid", &set)?;
    let mut world: World = scene.world(scene.settings.clone())?;
    let (_, mut problem, _) = world.step_keeping_problem().map_err(Failure::run)?;
    problem.set_model(if form == Form::Convex { Model::Ccp } else { Model::Coulomb });
    let cut = polyhedral(&problem, form, facets).map_err(Failure::run)?;
    let begun = Instant::now();
    let s = lemke(&cut.lcp, pivots).map_err(Failure::run)?;
    let lemke_ms = 1e3 * begun.elapsed().as_secs_f64();
    let mut cone = solver::make(BESIDE).map_err(Failure::run)?;
    let begun = Instant::now();
    let stop = Stop { tolerance: 1e-8, iterations: 200_000, ..Stop::default() };
    let round = cone.solve(&problem, None, &stop).map_err(Failure::run)?;
    Ok(Pyramid {
        bodies: world.model().dynamic().count(),
        contacts: world.contacts().len(),
        mu,
        unknowns: cut.lcp.size(),
        status: s.status,
        pivots: s.iterations,
        lemke_ms,
        residual: cut.lcp.residual(&s.z),
        cone_solver: BESIDE,
        cone_ms: 1e3 * begun.elapsed().as_secs_f64(),
        cone_residual: certificate(&problem, &round.gamma).residual_max,
    })
}

/// The block of the `slide` scene for 0.4 s under both laws.
fn differences(mu: f64, halvings: u32) -> Result<Vec<Difference>, Failure> {
    let mut rows: Vec<Difference> = Vec::new();
    for k in 0..=halvings {
        let h = 0.1 / f64::from(1u32 << k);
        let end = |model: Model| -> Result<Vec<[f64; 3]>, Failure> {
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
        let (a, b) = (end(Model::Ccp)?, end(Model::Coulomb)?);
        let square: f64 = a.iter().flatten().zip(b.iter().flatten()).map(|(x, y)| (x - y).powi(2)).sum();
        let difference_m = square.sqrt();
        let order =
            rows.last().map(|last| (last.difference_m / difference_m).log2()).filter(|x| x.is_finite());
        rows.push(Difference { mu, h_s: h, difference_m, order });
    }
    Ok(rows)
}
