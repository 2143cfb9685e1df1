//! `drystone solve`: a bare contact problem from a file.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use drystone_record::usage;
use drystone_scene::problem::{self, Kind, Report, judge, reach};
use drystone_solve::FrictionLaw;
use drystone_solve::solver::{self, BadSpec, Stop};
use serde_json::json;

use crate::failure::Failure;
use crate::interrupt;
use crate::lcp;
use crate::outputs::{self, Output};
use crate::progress;
use crate::simulation::pool;
use crate::terminal::{say, write};
use drystone_cuda::backend::Backend;

/// Exit status where the tolerance was not reached.
const NOT_SOLVED: i32 = 3;
/// Cap on iterations unless another is given.
const ITERATIONS: usize = 100_000;

#[derive(clap::Args)]
pub struct Args {
    /// A contact problem: the uniform JSON form (.json, .json.gz), Siconos text (.dat) or FCLib (.hdf5, .h5).
    problem: PathBuf,
    /// What a .dat file holds, where its name does not say: fc (W), gfc (M and H), rfc or grfc (with rolling
    /// friction), or lcp (a linear complementarity problem).
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Model: ccp, the convex relaxation (of W's symmetric part), coulomb, the exact law, or lcp, a cone of
    /// facets [default: ccp; lcp for a file that holds one].
    #[arg(long, value_name = "ccp|coulomb|lcp")]
    model: Option<String>,
    /// Solver with parameters (see `drystone solvers`) [default: auto]; for lcp: lemke:pivots=N or
    /// psor:omega=1 [default: lemke].
    #[arg(long, value_name = "NAME[:k=v,...]")]
    solver: Option<String>,
    /// Where to solve: on the processor, or on an NVIDIA GPU (see `drystone devices`) by apgd or pgj [auto:
    /// apgd].
    #[arg(long, value_name = "cpu|cuda", default_value = "cpu")]
    backend: String,
    /// Largest |r - P(r - u)| / |q| to accept, over all contacts; 0 runs all iterations.
    #[arg(long, value_name = "T", default_value_t = 1e-6)]
    tolerance: f64,
    /// Cap on iterations (sweeps, multiplications or factorisations, see `drystone solvers`; pivots of lemke)
    /// [default: 100000; 20 n + 1000 pivots].
    #[arg(long, value_name = "N")]
    iterations: Option<usize>,
    /// Cap on the time, ms.
    #[arg(long, value_name = "MS")]
    budget_ms: Option<f64>,
    /// Threads [default: one per core]; any number gives bitwise the same result.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Facets of every cone, for --model lcp [default: 8].
    #[arg(long, value_name = "N")]
    facets: Option<usize>,
    /// Law on the facets, for --model lcp: stewart (Stewart and Trinkle's, Coulomb's law) or convex
    /// (Anitescu's relaxation) [default: stewart].
    #[arg(long, value_name = "stewart|convex")]
    form: Option<String>,
    /// Where the facets lie, for --model lcp: inner (edges on the round cone) or outer (faces on it)
    /// [default: inner].
    #[arg(long, value_name = "inner|outer")]
    cone: Option<String>,
    /// Put r and u, normal first, into the report.
    #[arg(long)]
    vectors: bool,
    /// Write the report; - is standard output. Folders on the way are made.
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,
}

pub fn main(args: Args) -> Result<i32, Failure> {
    // What is said counts for more than the name.
    let bare_lcp = match args.kind.as_deref() {
        Some(kind) => kind == "lcp",
        None => lcp::is_one(&args.problem),
    };
    let lcp = args.model.as_deref() == Some("lcp") || bare_lcp;
    let model = match args.model.as_deref() {
        None | Some("lcp") => FrictionLaw::Ccp,
        Some(name) => FrictionLaw::parse(name)
            .map_err(|_| Failure::input(BadSpec::unknown("model", name, &["ccp", "coulomb", "lcp"])))?,
    };
    let kind = args.kind.as_deref().filter(|_| !bare_lcp).map(parse_kind).transpose()?;
    refuse_what_does_not_apply(&args, bare_lcp, lcp)?;
    if !(args.tolerance.is_finite() && args.tolerance >= 0.0) {
        return Err(Failure::input(format!(
            "--tolerance must be finite and not negative, got {}",
            args.tolerance
        )));
    }
    let budget = match args.budget_ms {
        Some(ms) if !(0.0..=1e9).contains(&ms) => {
            let text = format!("--budget-ms must be finite, not negative and at most 1e9, got {ms}");
            return Err(Failure::input(text));
        }
        ms => ms.map(|ms| Duration::from_secs_f64(1e-3 * ms)),
    };
    outputs::check(Some(&args.problem), [Output::report("--report", args.report.as_ref())])?;
    if lcp {
        let asked = lcp::Asked {
            problem: &args.problem,
            kind,
            bare: bare_lcp,
            solver: args.solver.as_deref().unwrap_or("lemke"),
            facets: args.facets.unwrap_or(8),
            form: args.form.as_deref().unwrap_or("stewart"),
            cone: args.cone.as_deref().unwrap_or("inner"),
            tolerance: args.tolerance,
            iterations: args.iterations,
            vectors: args.vectors,
        };
        pool(args.threads)?;
        return lcp::solve(&asked, args.report.as_deref());
    }
    let backend = Backend::of_problems(&args.backend)?;
    let name = &backend.solver(args.solver.as_deref().unwrap_or("auto"))?;
    let mut solver = solver::make(name).map_err(Failure::input)?;
    pool(args.threads)?;
    let mut file = problem::read(&args.problem, kind)?;
    let unit = file.normalise();
    let posed = file.under(model);

    let unfinished = json!({
        "name": file.name,
        "kind": file.kind,
        "contacts": file.contacts(),
        "rows": posed.rows(),
        "model": model.name(),
        "solver": name,
        "unit": solver.info().unit,
        "status": "interrupted",
        "tolerance": args.tolerance,
    });
    interrupt::leave(&file.name, unfinished, args.report.clone());
    let waiting = progress::waiting(format!("{} by {name}", file.name));
    let (wall, cpu) = (Instant::now(), usage::cpu_seconds());
    let goal = args.tolerance * file.scale();
    let iterations = args.iterations.unwrap_or(ITERATIONS);
    let stop = Stop { tolerance: goal, iterations, budget, ..Stop::default() };
    let outcome = reach(&file, &posed, solver.as_mut(), &stop).map_err(|e| {
        Failure::input(backend.failure().unwrap_or_else(|| format!("{}: {e}", args.problem.display())))
    })?;
    waiting.finish_and_clear();
    let (wall_s, cpu_s) = (wall.elapsed().as_secs_f64(), usage::cpu_seconds() - cpu);
    let solved = outcome.natural <= goal;
    let mut report = judge(&file, &posed, args.tolerance, solver.as_ref(), &outcome, [wall_s, cpu_s]);
    if let Some(asked) = &args.solver {
        report.solver.clone_from(asked);
    }
    if !args.vectors {
        (report.r, report.u) = (None, None);
    }
    report.in_units_of(unit);
    if let Some(path) = &args.report {
        write(path, &(serde_json::to_string_pretty(&report).map_err(Failure::run)? + "\n"))?;
    }
    if args.report.as_ref().is_none_or(|p| p.as_os_str() != "-") {
        say(&summary(&report))?;
    }
    Ok(if solved || args.tolerance == 0.0 { 0 } else { NOT_SOLVED })
}

/// An option that would change nothing is a misunderstanding.
fn refuse_what_does_not_apply(args: &Args, bare_lcp: bool, lcp: bool) -> Result<(), Failure> {
    let shown = args.problem.display();
    if let Some(model) = args.model.as_deref().filter(|m| bare_lcp && *m != "lcp") {
        let text = format!(
            "--model {model}: {shown} is read as a linear complementarity problem, which has no contacts; --kind fc, gfc, rfc \
             or grfc reads a contact problem"
        );
        return Err(Failure::input(text));
    }
    let facets = [
        ("--facets", args.facets.is_some()),
        ("--form", args.form.is_some()),
        ("--cone", args.cone.is_some()),
    ];
    if let Some((option, _)) = facets.iter().find(|(_, given)| *given && (!lcp || bare_lcp)) {
        let why = if bare_lcp { "a bare LCP has no cones to cut" } else { "only --model lcp has facets" };
        return Err(Failure::input(format!("{option}: {why}")));
    }
    if lcp && args.budget_ms.is_some() {
        return Err(Failure::input("--budget-ms: solvers of LCPs have a cap on --iterations alone"));
    }
    Ok(())
}

fn parse_kind(name: &str) -> Result<Kind, Failure> {
    let names: Vec<&str> = Kind::NAMES.iter().map(|(n, _)| *n).chain(["lcp"]).collect();
    Kind::NAMES
        .iter()
        .find(|(n, _)| *n == name)
        .map(|(_, k)| *k)
        .ok_or_else(|| Failure::input(BadSpec::unknown("kind", name, &names)))
}

fn summary(r: &Report) -> String {
    let mut text = format!("{} {}: {} contacts, {} rows\n", r.name, r.status, r.contacts, r.rows);
    text += &format!("  solver        {}: {} {}s, {:.3} s\n", r.solver, r.iterations, r.unit, r.wall_s);
    if !r.attempts.is_empty() {
        let each = r.attempts.iter().map(|a| format!("{} {}", a.solver, a.iterations));
        text += &format!("  by            {}\n", each.collect::<Vec<_>>().join(", then "));
    }
    if let Some(objective) = r.objective {
        text += &format!("  objective     {objective:e}\n");
    }
    let residual = r.residual_over_q.map_or("undefined, q = 0".into(), |x| format!("{x:.2e}"));
    text += &format!("  residual / q  {residual} (asked for {:e})\n", r.tolerance);
    if r.objective.is_some() {
        text += &match r.duality_gap_rel {
            Some(x) => format!("  duality gap   {x:.2e} of the objective\n"),
            None if r.dual_cone_violation > 0.0 => format!(
                "  duality gap   none: u lies outside the dual cone, by {:.2e}\n",
                r.dual_cone_violation
            ),
            None => "  duality gap   undefined, objective 0\n".into(),
        };
    }
    if let Some(i) = r.cannot_move {
        text += &format!(
            "  note          contact {i} cannot move (W has nothing in its rows), but q asks it to\n"
        );
    }
    if r.asymmetry > 1e-6 && r.objective.is_some() {
        text += &format!(
            "  note          W is not symmetric ({:.1e}): this is the relaxed problem of its symmetric part\n",
            r.asymmetry
        );
    }
    text
}
