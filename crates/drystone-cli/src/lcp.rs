//! Linear complementarity problems: `drystone solve --model lcp`, and the tables of Anitescu2005 by
//! `drystone lcp`.

mod tables;

use std::path::Path;
use std::time::Instant;

use drystone_record::usage;
use drystone_scene::problem::{self, Kind};
use drystone_solve::certificate::certificate;
use drystone_solve::lcp::{Facets, Form, Lcp, LcpSolution, LcpStatus, Polyhedral, lemke, polyhedral, psor};
use drystone_solve::solver::{BadSpec, Param, Spec};
use drystone_solve::{FrictionLaw, Problem};
use serde::Serialize;
use serde_json::json;

use crate::failure::Failure;
use crate::terminal::{say, write};
use crate::{interrupt, progress};

pub use tables::{Args, tables};

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
    pub iterations: Option<usize>,
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
    /// Why it is not solved.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// "pivot" or "sweep".
    unit: &'static str,
    iterations: usize,
    wall_s: f64,
    cpu_s: f64,
    tolerance: f64,
    /// |min(z, w)| / |q|, z and w = M z + q those of the LCP: its natural map, as a contact problem's is |r - P(r - u)| / |q|; null
    /// where q = 0.
    residual_over_q: Option<f64>,
    /// max |min(z, w)|.
    residual: f64,
    /// Largest distance of a contact's r from its round cone; null for a bare LCP, as is all that is known of
    /// contacts alone.
    cone_violation: Option<f64>,
    /// Neither is minimised by an LCP in general: always null, so that readers of any report find them.
    objective: Option<f64>,
    duality_gap_rel: Option<f64>,
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

fn run(lcp: &Lcp, text: &str, tolerance: f64, iterations: Option<usize>) -> Result<LcpSolution, Failure> {
    let spec = Spec::parse(text).map_err(Failure::input)?;
    let solved = match spec.name.as_str() {
        "lemke" => {
            spec.check(&[PIVOTS]).map_err(Failure::input)?;
            if iterations.is_some() && spec.text("pivots").is_some() {
                return Err(Failure::input(
                    "--iterations and lemke:pivots=N are two caps on the same pivots",
                ));
            }
            let usual = iterations.unwrap_or(20 * lcp.size() + 1000);
            let most = match spec.text("pivots") {
                None => usual,
                Some(_) => spec.positive("pivots", usual as f64, 1e12).map_err(Failure::input)? as usize,
            };
            lemke(lcp, most)
        }
        "psor" => {
            spec.check(&[OMEGA]).map_err(Failure::input)?;
            psor(
                lcp,
                spec.number("omega", 1.0).map_err(Failure::input)?,
                tolerance,
                iterations.unwrap_or(100_000),
            )
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
    let kind;
    if asked.bare {
        let lcp = problem::read_lcp(asked.problem)?;
        name = asked.problem.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        (posed, cut) = (None, Polyhedral::from(lcp));
        kind = "lcp";
    } else {
        let file = problem::read(asked.problem, asked.kind)?;
        let law = if form == Form::Convex { FrictionLaw::Ccp } else { FrictionLaw::Coulomb };
        let problem = file.under(law);
        cut = polyhedral(&problem, form, facets).map_err(place)?;
        name = file.name.clone();
        kind = Kind::NAMES.iter().find(|(_, k)| *k == file.kind).map_or("fc", |(name, _)| *name);
        posed = Some(problem);
    }
    let lcp = &cut.lcp;
    let scale = lcp.q.iter().map(|q| q * q).sum::<f64>().sqrt();
    let unfinished = json!({
        "name": name,
        "kind": kind,
        "model": "lcp",
        "solver": asked.solver,
        "size": lcp.size(),
        "status": "interrupted",
    });
    interrupt::leave(&name, unfinished, report.map(Path::to_path_buf));
    let waiting = progress::waiting(format!("{name} by {}", asked.solver));
    let (begun, cpu) = (Instant::now(), usage::cpu_seconds());
    let s = run(lcp, asked.solver, asked.tolerance * scale, asked.iterations)?;
    let (wall_s, cpu_s) = (begun.elapsed().as_secs_f64(), usage::cpu_seconds() - cpu);
    waiting.finish_and_clear();
    let by_sweeps = asked.solver.starts_with("psor");
    let residual = lcp.residual(&s.z);
    let r = cut.multipliers(&s.z);
    let mut u = Vec::new();
    if let Some(p) = &posed {
        p.apply(&r, &mut u);
    }
    let contact = posed.is_some();
    let round = posed.as_ref().map(|p| certificate(p, &r));
    let natural = lcp.natural_map(&s.z);
    let solved = s.status == LcpStatus::Solved && natural <= asked.tolerance.max(1e-12) * scale;
    let over_q = if natural == 0.0 { Some(0.0) } else { Some(natural / scale).filter(|x| x.is_finite()) };
    let out = Report {
        name,
        kind,
        model: "lcp",
        solver: asked.solver.into(),
        size: lcp.size(),
        contacts: posed.as_ref().map(|p| p.blocks()),
        facets: contact.then_some(facets.count),
        form: contact.then(|| asked.form.into()),
        cone: contact.then(|| asked.cone.into()),
        status: if s.status == LcpStatus::Solved && !solved { LcpStatus::Failed } else { s.status },
        reason: reason(lcp, &s, by_sweeps),
        unit: if by_sweeps { "sweep" } else { "pivot" },
        iterations: s.iterations,
        wall_s,
        cpu_s,
        tolerance: asked.tolerance,
        residual_over_q: over_q,
        residual,
        cone_violation: round.as_ref().map(|c| c.cone_violation),
        objective: None,
        duality_gap_rel: None,
        residual_round: round.as_ref().map(|c| c.residual_max),
        z: asked.vectors.then(|| s.z.clone()),
        r: (asked.vectors && contact).then_some(r),
        u: (asked.vectors && contact).then_some(u),
    };
    if let Some(path) = report {
        write(path, &(serde_json::to_string_pretty(&out).map_err(Failure::run)? + "\n"))?;
    }
    if report.is_none_or(|p| p.as_os_str() != "-") {
        let mut text = format!("{} {}: {} unknowns\n", out.name, status_name(out.status), out.size);
        text += &format!(
            "  solver        {}: {} {}s, {:.3} s\n",
            out.solver, out.iterations, out.unit, out.wall_s
        );
        if let Some(reason) = &out.reason {
            text += &format!("  because       {reason}\n");
        }
        let over_q = out.residual_over_q.map_or("undefined, q = 0".into(), |x| format!("{x:.2e}"));
        text += &format!("  residual / q  {over_q} (asked for {:e})\n", out.tolerance);
        text += &format!("  residual      {:.2e}\n", out.residual);
        if let Some(x) = out.residual_round {
            text += &format!("  on the round cone {x:.2e}\n");
        }
        say(&text)?;
    }
    Ok(if solved { 0 } else { 3 })
}

/// Why there is no solution.
fn reason(lcp: &Lcp, s: &LcpSolution, by_sweeps: bool) -> Option<String> {
    let n = lcp.size();
    Some(match s.status {
        LcpStatus::Solved => return None,
        LcpStatus::Failed if by_sweeps => match (0..n).find(|i| lcp.m[i * n + i] <= 0.0) {
            Some(i) => format!(
                "psor divides by the diagonal, and M[{i}][{i}] = {}: contacts with friction have zeros there in the rows of \
                 the slip; lemke solves them",
                lcp.m[i * n + i]
            ),
            None => "z left the range of numbers: psor is sure for symmetric positive M alone".into(),
        },
        LcpStatus::Failed => "rounding spoiled the basis".into(),
        LcpStatus::Ray => {
            "the path ended on a ray: no solution, or none that Lemke's method can reach".into()
        }
        LcpStatus::Pivots => "the cap on pivots came first (--iterations)".into(),
        LcpStatus::Iterations => "the cap on sweeps came first (--iterations)".into(),
    })
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
