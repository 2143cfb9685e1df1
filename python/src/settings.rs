//! How a world steps, as keywords: the names are those of the command line, with `step` for h.

use std::time::Duration;

use drystone::collide::broadphase;
use drystone::{Integrator, Settings, Sleep, Stabilisation};
use drystone_solve::Model;
use drystone_solve::solver::{BadSpec, nearest};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::{V3, vec3};
use crate::errors::input;

/// What [`apply`] knows.
pub const NAMES: &[&str] = &[
    "step",
    "gravity",
    "model",
    "solver",
    "tolerance",
    "iterations",
    "budget_ms",
    "compliance",
    "substeps",
    "max_substeps",
    "integrator",
    "stabilisation",
    "position_iterations",
    "envelope",
    "broadphase",
    "warm_start",
    "sleep",
];

/// Changes what is named.
pub fn apply(s: &mut Settings, given: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    let Some(given) = given else { return Ok(()) };
    for (key, value) in given.iter() {
        let key: String = key.extract()?;
        let text = || -> PyResult<String> {
            value.extract().map_err(|_| input(format!("{key} must be a text, got {value}")))
        };
        let number = || -> PyResult<f64> {
            value.extract().map_err(|_| input(format!("{key} must be a number, got {value}")))
        };
        let count = || -> PyResult<usize> {
            value.extract().map_err(|_| input(format!("{key} must be a whole number from 0, got {value}")))
        };
        let spec = |e: BadSpec| input(format!("{key}: {e}"));
        match key.as_str() {
            "step" => s.h = number()?,
            "gravity" => {
                let g: V3 = value
                    .extract()
                    .map_err(|_| input(format!("gravity must be three numbers, got {value}")))?;
                s.gravity = vec3(g);
            }
            "model" => s.model = Model::parse(&text()?).map_err(input)?,
            "solver" => s.solver = text()?,
            "tolerance" => s.tolerance = number()?,
            "iterations" => s.iterations = count()?,
            "budget_ms" => {
                let ms: Option<f64> = value.extract()?;
                if let Some(ms) = ms.filter(|ms| !(0.0..=1e9).contains(ms)) {
                    let text = "budget_ms must be finite, not negative and at most 1e9";
                    return Err(input(format!("{text}, got {ms}")));
                }
                s.budget = ms.map(|ms| Duration::from_secs_f64(1e-3 * ms));
            }
            "compliance" => s.compliance = number()?,
            "substeps" => s.substeps = count()?,
            "max_substeps" => s.max_substeps = count()?,
            "integrator" => s.integrator = Integrator::parse(&text()?).map_err(spec)?,
            "stabilisation" => s.stabilisation = Stabilisation::parse(&text()?).map_err(spec)?,
            "position_iterations" => s.position_iterations = count()?,
            "envelope" => s.envelope = value.extract()?,
            "broadphase" => {
                let name: Option<String> = value.extract()?;
                s.broadphase = name.map(|name| kind(&name)).transpose()?;
            }
            "warm_start" => s.warm_start = value.extract()?,
            "sleep" => {
                s.sleep = match value.extract::<bool>() {
                    Ok(on) => on.then(Sleep::default),
                    Err(_) => Some(Sleep::parse(&text()?).map_err(spec)?),
                }
            }
            other => {
                let hint =
                    nearest(other, NAMES).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
                let valid = NAMES.join(", ");
                return Err(input(format!("there is no setting '{other}'{hint} (valid: {valid})")));
            }
        }
    }
    s.check().map_err(input)
}

fn kind(name: &str) -> PyResult<broadphase::Kind> {
    broadphase::Kind::from_name(name)
        .ok_or_else(|| input(BadSpec::unknown("broadphase", name, &broadphase::Kind::NAMES)))
}

/// All of them, as [`apply`] takes them.
pub fn told<'py>(py: Python<'py>, s: &Settings) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("step", s.h)?;
    d.set_item("gravity", s.gravity.to_array())?;
    d.set_item("model", s.model.name())?;
    d.set_item("solver", &s.solver)?;
    d.set_item("tolerance", s.tolerance)?;
    d.set_item("iterations", s.iterations)?;
    d.set_item("budget_ms", s.budget.map(|b| 1e3 * b.as_secs_f64()))?;
    d.set_item("compliance", s.compliance)?;
    d.set_item("substeps", s.substeps)?;
    d.set_item("max_substeps", s.max_substeps)?;
    d.set_item("integrator", s.integrator.text())?;
    d.set_item("stabilisation", s.stabilisation.text())?;
    d.set_item("position_iterations", s.position_iterations)?;
    d.set_item("envelope", s.envelope)?;
    d.set_item("broadphase", s.broadphase.map(|k| k.name()))?;
    d.set_item("warm_start", s.warm_start)?;
    match s.sleep {
        None => d.set_item("sleep", false)?,
        Some(Sleep { speed: Some(v), time }) => d.set_item("sleep", format!("speed={v},time={time}"))?,
        Some(Sleep { speed: None, time }) => d.set_item("sleep", format!("time={time}"))?,
    }
    Ok(d)
}
