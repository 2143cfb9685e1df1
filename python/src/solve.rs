//! Bare contact problems.

use std::time::{Duration, Instant};

use drystone_record::usage;
use drystone_scene::problem::{self, ContactProblem, Kind, judge, reach};
use drystone_solve::problem::Csr;
use drystone_solve::solver::Stop;
use drystone_solve::{FrictionLaw, solver};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::convert::{Whole, count, maybe_number, maybe_text, name, number, text};
use crate::errors::{input, scene as refused};
use crate::threads::beside_signals;

/// What a solver found, and the judge's word on it.
#[pyclass(frozen, name = "Solution", module = "drystone")]
pub struct Solution {
    r: Vec<f64>,
    u: Vec<f64>,
    solved: bool,
    status: String,
    iterations: usize,
    residual: Option<f64>,
    /// As it shows itself.
    line: String,
    /// JSON.
    report: String,
}

/// What a pickle holds: r, u, solved, status, iterations, residual, how it shows itself, the report.
type Pickled = (Vec<f64>, Vec<f64>, bool, String, usize, Option<f64>, String, String);

/// The solution of a pickle.
#[pyfunction]
pub fn _solution(pickled: Pickled) -> Solution {
    let (r, u, solved, status, iterations, residual, line, report) = pickled;
    Solution { r, u, solved, status, iterations, residual, line, report }
}

impl Solution {
    fn of(mut report: problem::Report, solved: bool) -> PyResult<Self> {
        let (r, u) = (report.r.take().unwrap_or_default(), report.u.take().unwrap_or_default());
        let residual = report.residual_over_q.map_or("undefined".into(), |x| format!("{x:.1e}"));
        let line = format!(
            "<Solution {}: {} contacts, residual / q {residual}, {} {}s>",
            report.status, report.contacts, report.iterations, report.unit
        );
        Ok(Self {
            r,
            u,
            solved,
            status: report.status.into(),
            iterations: report.iterations,
            residual: report.residual_over_q,
            line,
            report: serde_json::to_string(&report).map_err(input)?,
        })
    }
}

#[pymethods]
impl Solution {
    /// r, normal first.
    #[getter]
    fn r<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.r)
    }

    /// u = W r + q.
    #[getter]
    fn u<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.u)
    }

    /// Whether the tolerance was reached.
    #[getter]
    fn solved(&self) -> bool {
        self.solved
    }

    /// solved, or why not: iterations, budget, wedged, diverged.
    #[getter]
    fn status(&self) -> &str {
        &self.status
    }

    /// Iterations (sweeps, multiplications or factorisations).
    #[getter]
    fn iterations(&self) -> usize {
        self.iterations
    }

    /// |r - P(r - u)| / |q|; None where q = 0.
    #[getter]
    fn residual(&self) -> Option<f64> {
        self.residual
    }

    /// All that `drystone solve` reports: objective, violations, duality gap, times.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (&self.report,))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let make = py.import("drystone._drystone")?.getattr("_solution")?;
        let s = self;
        let (status, line, report) = (s.status.clone(), s.line.clone(), s.report.clone());
        let held: Pickled =
            (s.r.clone(), s.u.clone(), s.solved, status, s.iterations, s.residual, line, report);
        (make, (held,)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        self.line.clone()
    }
}

struct Asked<'a> {
    model: &'a str,
    solver: &'a str,
    tolerance: f64,
    iterations: usize,
    budget_ms: Option<f64>,
}

fn solve(py: Python<'_>, mut file: ContactProblem, asked: &Asked) -> PyResult<Solution> {
    let model = FrictionLaw::parse(asked.model).map_err(input)?;
    let tolerance = asked.tolerance;
    if !(tolerance.is_finite() && tolerance >= 0.0) {
        return Err(input(format!("tolerance must be finite and not negative, got {tolerance}")));
    }
    let budget = match asked.budget_ms {
        Some(ms) if !(0.0..=1e9).contains(&ms) => {
            return Err(input(format!("budget_ms must be finite, not negative and at most 1e9, got {ms}")));
        }
        ms => ms.map(|ms| Duration::from_secs_f64(1e-3 * ms)),
    };
    let mut solver = solver::make(asked.solver).map_err(input)?;
    let stop = Stop { iterations: asked.iterations, budget, ..Stop::default() };
    beside_signals(py, stop, |stop| {
        let unit = file.normalise();
        let posed = file.under(model);
        let (wall, cpu) = (Instant::now(), usage::cpu_seconds());
        let goal = tolerance * file.scale();
        let stop = Stop { tolerance: goal, ..stop };
        let out = reach(&file, &posed, solver.as_mut(), &stop).map_err(input)?;
        let times = [wall.elapsed().as_secs_f64(), usage::cpu_seconds() - cpu];
        let solved = out.natural <= goal;
        let mut report = judge(&file, &posed, tolerance, solver.as_ref(), &out, times);
        report.in_units_of(unit);
        Solution::of(report, solved)
    })
}

/// What a problem is, by name.
fn known(kind: Option<&str>) -> PyResult<Option<Kind>> {
    kind.map(|name| {
        let found = Kind::NAMES.iter().find(|(n, _)| *n == name).map(|(_, k)| *k);
        let names: Vec<&str> = Kind::NAMES.iter().map(|(n, _)| *n).collect();
        found.ok_or_else(|| input(solver::BadSpec::unknown("kind", name, &names)))
    })
    .transpose()
}

/// Refuses a kind that there is not.
#[pyfunction]
pub fn check_kind(#[pyo3(from_py_with = maybe_text)] kind: Option<&str>) -> PyResult<()> {
    known(kind).map(drop)
}

/// A problem from a file.
#[pyfunction]
#[pyo3(signature = (path, kind, model, solver, tolerance, iterations, budget_ms))]
pub fn solve_file(
    py: Python<'_>,
    #[pyo3(from_py_with = name)] path: String,
    #[pyo3(from_py_with = maybe_text)] kind: Option<&str>,
    #[pyo3(from_py_with = text)] model: &str,
    #[pyo3(from_py_with = text)] solver: &str,
    #[pyo3(from_py_with = number)] tolerance: f64,
    iterations: Whole,
    #[pyo3(from_py_with = maybe_number)] budget_ms: Option<f64>,
) -> PyResult<Solution> {
    let kind = known(kind)?;
    let file = problem::read(&path, kind).map_err(refused)?;
    solve(py, file, &Asked { model, solver, tolerance, iterations: iterations.0 as usize, budget_ms })
}

/// Refuses a W that is not its own transpose: solvers take it for one that is. Compares W x and Wᵀ x for one
/// x without a pattern.
fn check_symmetry(w: &Csr) -> PyResult<()> {
    let rows = w.indptr.len() - 1;
    if rows != w.columns {
        return Err(input(format!("W must be square, got {rows} rows and {} columns", w.columns)));
    }
    let x = |i: usize| 1.0 + (0.618_033_988_749_895 * (i + 1) as f64).fract();
    let mut off = vec![[0.0f64; 2]; rows];
    for i in 0..rows {
        for k in w.indptr[i]..w.indptr[i + 1] {
            let (j, a) = (w.indices[k] as usize, w.data[k]);
            off[i][0] += a * x(j);
            off[j][0] -= a * x(i);
            off[i][1] += a.abs();
            off[j][1] += a.abs();
        }
    }
    match off.iter().position(|[off, size]| !(off.abs() <= 1e-9 * size)) {
        Some(row) if w.data.iter().all(|a| a.is_finite()) => {
            Err(input(format!("W must be symmetric; row and column {row} differ")))
        }
        _ => Ok(()),
    }
}

/// A problem from W in compressed sparse rows, q and the coefficients of friction.
#[allow(clippy::too_many_arguments)]
#[pyfunction]
#[pyo3(signature = (indptr, indices, data, columns, q, mu, mu_r, model, solver, tolerance, iterations, budget_ms))]
pub fn solve_matrix(
    py: Python<'_>,
    indptr: PyReadonlyArray1<'_, i64>,
    indices: PyReadonlyArray1<'_, i64>,
    data: PyReadonlyArray1<'_, f64>,
    #[pyo3(from_py_with = count)] columns: usize,
    q: PyReadonlyArray1<'_, f64>,
    mu: PyReadonlyArray1<'_, f64>,
    mu_r: PyReadonlyArray1<'_, f64>,
    #[pyo3(from_py_with = text)] model: &str,
    #[pyo3(from_py_with = text)] solver: &str,
    #[pyo3(from_py_with = number)] tolerance: f64,
    iterations: Whole,
    #[pyo3(from_py_with = maybe_number)] budget_ms: Option<f64>,
) -> PyResult<Solution> {
    let (data, starts, places) = (data.as_array(), indptr.as_array(), indices.as_array());
    let sound = starts.first() == Some(&0)
        && starts.last() == Some(&(data.len() as i64))
        && starts.iter().zip(starts.iter().skip(1)).all(|(a, b)| a <= b)
        && places.len() == data.len()
        && places.iter().all(|j| (0..columns as i64).contains(j));
    if !sound {
        return Err(input("W: indptr and indices are not those of a sparse matrix in compressed rows"));
    }
    let w = Csr {
        columns,
        indptr: starts.iter().map(|x| *x as usize).collect(),
        indices: places.iter().map(|x| *x as u32).collect(),
        data: data.to_vec(),
    };
    check_symmetry(&w)?;
    let list = |a: &PyReadonlyArray1<'_, f64>| a.as_array().to_vec();
    let file = ContactProblem::new(w, list(&q), list(&mu), list(&mu_r)).map_err(refused)?;
    solve(py, file, &Asked { model, solver, tolerance, iterations: iterations.0 as usize, budget_ms })
}
