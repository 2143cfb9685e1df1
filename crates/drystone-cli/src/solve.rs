//! `drystone solve`: a bare contact problem from a file.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use drystone_record::usage;
use drystone_scene::problem::{self, ContactProblem, Kind};
use drystone_solve::certificate::certificate;
use drystone_solve::cone::{AdmissibleSet, MAX_ROWS};
use drystone_solve::model::slip_term;
use drystone_solve::solver::{self, Attempt, BadSpec, Solver, Status, Stop};
use drystone_solve::{Malformed, Model, Problem};
use serde::Serialize;
use serde_json::json;

use crate::backend::Backend;
use crate::failure::Failure;
use crate::interrupt;
use crate::lcp;
use crate::outputs::{self, Output};
use crate::progress;
use crate::run::{say, write};
use crate::simulation::pool;

/// Exit status where the tolerance was not reached.
const NOT_SOLVED: i32 = 3;
/// Cap on iterations unless another is given.
const ITERATIONS: usize = 100_000;
/// u this far outside the dual cone, over |q|, counts as inside where less was asked for.
const FEASIBLE: f64 = 1e-6;

#[derive(clap::Args)]
pub struct Args {
    /// A contact problem: the uniform JSON form (.json, .json.gz), Siconos text (.dat) or FCLib (.hdf5, .h5).
    problem: PathBuf,
    /// What a .dat file holds, where its name does not say: fc (W), gfc (M and H), rfc or grfc (with rolling friction), or
    /// lcp (a linear complementarity problem).
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Model: ccp, the convex relaxation (of W's symmetric part), coulomb, the exact law, or lcp, a cone of facets [default:
    /// ccp; lcp for a file that holds one].
    #[arg(long, value_name = "ccp|coulomb|lcp")]
    model: Option<String>,
    /// Solver with parameters (see `drystone solvers`) [default: auto]; for lcp: lemke:pivots=N or psor:omega=1 [default:
    /// lemke].
    #[arg(long, value_name = "NAME[:k=v,...]")]
    solver: Option<String>,
    /// Where to solve: on the processor, or on an NVIDIA GPU (see `drystone devices`) by apgd or pgj [auto: apgd].
    #[arg(long, value_name = "cpu|cuda", default_value = "cpu")]
    backend: String,
    /// Largest |r - P(r - u)| / |q| to accept, over all contacts; 0 runs all iterations.
    #[arg(long, value_name = "T", default_value_t = 1e-6)]
    tolerance: f64,
    /// Cap on iterations (sweeps, multiplications or factorisations, see `drystone solvers`; pivots of lemke) [default: 100000;
    /// 20 n + 1000 pivots].
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
    /// Law on the facets, for --model lcp: stewart (Stewart and Trinkle's, Coulomb's law) or convex (Anitescu's relaxation)
    /// [default: stewart].
    #[arg(long, value_name = "stewart|convex")]
    form: Option<String>,
    /// Where the facets lie, for --model lcp: inner (edges on the round cone) or outer (faces on it) [default: inner].
    #[arg(long, value_name = "inner|outer")]
    cone: Option<String>,
    /// Put r and u, normal first, into the report.
    #[arg(long)]
    vectors: bool,
    /// Write the report; - is standard output. Folders on the way are made.
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,
}

#[derive(Serialize)]
struct Report {
    name: String,
    kind: Kind,
    contacts: usize,
    rows: usize,
    model: &'static str,
    solver: String,
    unit: &'static str,
    /// "solved", or why not.
    status: &'static str,
    tolerance: f64,
    iterations: usize,
    /// Who did it, in order, where auto picked.
    attempts: Vec<Attempt>,
    wall_s: f64,
    cpu_s: f64,
    /// ½ rᵀWr + qᵀr with the symmetric part of W; null for Coulomb's law, which minimises nothing.
    objective: Option<f64>,
    /// |r - P(r - u)| / |q|, with u + mu |u_T| e_N for u under Coulomb's law; null where q = 0.
    residual_over_q: Option<f64>,
    /// max |r_i - P_i(r_i - η_i u_i)| / η_i, in the units of u.
    residual_scaled: f64,
    /// Largest distance of a contact's r from its cone.
    cone_violation: f64,
    /// Largest distance of a contact's u (corrected, under Coulomb's law) from the dual cone. A motor with a limit to either side
    /// allows every u.
    dual_cone_violation: f64,
    /// |rᵀu + Σ σ_i(-u_i)| / |objective| with the support function σ_i of each set: 0 for cones, the limits' share for motors.
    /// Null where u is not dual feasible (to the tolerance, or 1e-6 |q|), where the objective is 0 and the gap is not, and under
    /// Coulomb's law.
    duality_gap_rel: Option<f64>,
    /// |W - Wᵀ| / |W|: above rounding, the relaxed problem is that of the symmetric part.
    asymmetry: f64,
    /// The first contact that W lets nothing move, where q asks for it: then there is no solution.
    #[serde(skip_serializing_if = "Option::is_none")]
    cannot_move: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    u: Option<Vec<f64>>,
}

impl Report {
    /// From a problem whose q was divided by `unit` to that of the file.
    fn in_units_of(&mut self, unit: f64) {
        let vectors = self.r.iter_mut().chain(&mut self.u).flatten();
        let numbers = [&mut self.residual_scaled, &mut self.cone_violation, &mut self.dual_cone_violation];
        vectors.chain(numbers).for_each(|x| *x *= unit);
        self.objective = self.objective.map(|x| x * unit * unit).filter(|x| x.is_finite());
    }
}

/// What came out, whoever counts.
pub struct Outcome {
    r: Vec<f64>,
    u: Vec<f64>,
    pub status: Status,
    pub iterations: usize,
    attempts: Vec<Attempt>,
    /// |r - P(r - u)|.
    pub natural: f64,
}

pub fn main(args: Args) -> Result<i32, Failure> {
    // What is said counts for more than the name.
    let bare_lcp = match args.kind.as_deref() {
        Some(kind) => kind == "lcp",
        None => lcp::is_one(&args.problem),
    };
    let lcp = args.model.as_deref() == Some("lcp") || bare_lcp;
    let model = match args.model.as_deref() {
        None | Some("lcp") => Model::Ccp,
        Some(name) => Model::parse(name)
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
    outputs::check(Some(&args.problem), [Output::text("--report", args.report.as_ref())])?;
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
    let backend = Backend::choose(&args.backend)?;
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
    interrupt::leave(&file.name, unfinished, args.report.clone())?;
    let waiting = progress::waiting(format!("{} by {name}", file.name));
    let (wall, cpu) = (Instant::now(), usage::cpu_seconds());
    let goal = args.tolerance * file.scale();
    let outcome = reach(&file, &posed, solver.as_mut(), goal, args.iterations.unwrap_or(ITERATIONS), budget)
        .map_err(|e| {
            backend.failure().unwrap_or_else(|| Failure::input(format!("{}: {e}", args.problem.display())))
        })?;
    waiting.finish_and_clear();
    let (wall_s, cpu_s) = (wall.elapsed().as_secs_f64(), usage::cpu_seconds() - cpu);
    let solved = outcome.natural <= goal;
    let mut report = judge(&file, &posed, &args, solver.as_ref(), &outcome, solved, [wall_s, cpu_s]);
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

/// Solves until |r - P(r - u)| is at most `goal`. A solver stops by the certificate's residual, which has another scale
/// for each contact: where it stopped too early it goes on from there with a smaller tolerance.
pub fn reach(
    file: &ContactProblem,
    problem: &Problem,
    solver: &mut dyn Solver,
    goal: f64,
    iterations: usize,
    budget: Option<Duration>,
) -> Result<Outcome, Malformed> {
    let begun = Instant::now();
    let mut out = Outcome {
        r: vec![0.0; problem.rows()],
        u: Vec::new(),
        status: Status::Iterations,
        iterations: 0,
        attempts: Vec::new(),
        natural: f64::INFINITY,
    };
    // Nothing to do: zero is the solution.
    problem.rhs(&mut out.u);
    out.natural = file.natural_map(problem.model(), &out.r, &out.u);
    if out.natural == 0.0 {
        return Ok(out);
    }
    if file.cannot_move(problem.model()).is_some() {
        out.status = Status::Wedged;
        return Ok(out);
    }
    let mut tolerance = goal;
    loop {
        let left = budget.map(|b| b.saturating_sub(begun.elapsed()));
        let stop = Stop { tolerance, iterations: iterations - out.iterations, budget: left, history: false };
        let guess = (out.iterations > 0).then_some(out.r.as_slice());
        let s = solver.solve(problem, guess, &stop)?;
        out.iterations += s.iterations;
        out.attempts.extend(s.attempts);
        out.status = s.status;
        out.r = s.gamma;
        problem.apply(&out.r, &mut out.u);
        out.natural = file.natural_map(problem.model(), &out.r, &out.u);
        // Below the smallest positive number there is nothing to ask for.
        let next = tolerance * (0.3 * goal / out.natural).min(0.3);
        if s.status != Status::Converged || out.natural <= goal || out.iterations >= iterations || next <= 0.0
        {
            return Ok(out);
        }
        tolerance = next;
    }
}

fn judge(
    file: &ContactProblem,
    problem: &Problem,
    args: &Args,
    solver: &dyn Solver,
    out: &Outcome,
    solved: bool,
    [wall_s, cpu_s]: [f64; 2],
) -> Report {
    let c = certificate(problem, &out.r);
    let convex = problem.model() == Model::Ccp;
    let held = file.cannot_move(problem.model());
    let (gap, outside) = duality_gap(problem, &out.r, &out.u);
    // It is a gap only where u belongs to a feasible velocity. A solution to the tolerance is as close as that.
    let feasible = outside <= args.tolerance.max(FEASIBLE) * file.scale();
    let ratio = |x: f64, y: f64| if x == 0.0 { Some(0.0) } else { Some(x / y).filter(|z| z.is_finite()) };
    Report {
        name: file.name.clone(),
        kind: file.kind,
        contacts: file.contacts(),
        rows: problem.rows(),
        model: problem.model().name(),
        solver: args.solver.clone().unwrap_or_else(|| solver.info().name.into()),
        unit: solver.info().unit,
        status: match out.status {
            _ if solved => "solved",
            Status::Converged | Status::Iterations => "iterations",
            Status::Budget => "budget",
            Status::Wedged => "wedged",
            Status::Diverged => "diverged",
        },
        tolerance: args.tolerance,
        iterations: out.iterations,
        attempts: out.attempts.clone(),
        wall_s,
        cpu_s,
        objective: convex.then_some(c.dual_objective),
        residual_over_q: ratio(out.natural, file.scale()),
        residual_scaled: c.residual_max,
        cone_violation: c.cone_violation,
        dual_cone_violation: outside,
        duality_gap_rel: ratio(gap, c.dual_objective.abs()).filter(|_| convex && feasible && held.is_none()),
        asymmetry: file.asymmetry(),
        cannot_move: held,
        r: args.vectors.then(|| out.r.clone()),
        u: args.vectors.then(|| out.u.clone()),
    }
}

/// |Σ ⟨r_i, u_i⟩ + σ_i(-u_i)|, the difference of both objectives where u is dual feasible, and how far it is from that.
fn duality_gap(problem: &Problem, r: &[f64], u: &[f64]) -> (f64, f64) {
    let (mut gap, mut outside) = (0.0, 0.0f64);
    for i in 0..problem.blocks() {
        let (set, rows) = (problem.set(i), problem.block(i));
        let (r, u) = (&r[rows.clone()], &u[rows]);
        let mut law = [0.0; MAX_ROWS];
        let law = &mut law[..u.len()];
        law.copy_from_slice(u);
        if problem.model() == Model::Coulomb {
            law[0] += slip_term(set, u);
        }
        // The nearest u that costs no infinite amount.
        let mut near = [0.0; MAX_ROWS];
        let near = &mut near[..u.len()];
        near.copy_from_slice(law);
        set.project_dual(near);
        outside = outside.max(law.iter().zip(near.iter()).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt());
        gap += r.iter().zip(u).map(|(r, u)| r * u).sum::<f64>();
        if !set.is_cone() {
            near.iter_mut().for_each(|x| *x = -*x);
            gap += set.support(near);
        }
    }
    (gap.abs(), outside)
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
