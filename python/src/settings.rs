//! How a world steps, as keywords: the names and texts are those of scene files, with `step` for h.

use drystone::{Settings, Sleep};
use drystone_solve::solver::nearest;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};

use crate::convert::{V3, flag, is_truth, number, shown, text};
use crate::errors::{argument, input};

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

/// What a setting must be.
fn wanted(key: &str) -> &'static str {
    match key {
        "step" | "tolerance" | "compliance" => "a number",
        "budget_ms" | "envelope" => "a number or None",
        "gravity" => "three numbers",
        "iterations" | "substeps" | "max_substeps" | "position_iterations" => "a whole number",
        "broadphase" => "a text or None",
        "warm_start" => "True or False",
        "sleep" => "True, False or a text",
        _ => "a text",
    }
}

/// Changes what is named.
pub fn apply(s: &mut Settings, given: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    let Some(given) = given else { return Ok(()) };
    let mut table = Map::new();
    for (key, value) in given.iter() {
        let key: String = key.extract()?;
        if !NAMES.contains(&key.as_str()) {
            let hint = nearest(&key, NAMES).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
            let valid = NAMES.join(", ");
            return Err(argument(format!("there is no setting '{key}'{hint} (valid: {valid})")));
        }
        match (key.as_str(), value.is_none()) {
            ("budget_ms", true) => s.budget = None,
            ("envelope", true) => s.envelope = None,
            ("broadphase", true) => s.broadphase = None,
            _ => {
                let name = if key == "step" { "h" } else { &key };
                table.insert(name.into(), written(&key, &value)?);
            }
        }
    }
    if let Some(Value::String(solver)) = table.get("solver")
        && solver.starts_with("cuda-")
    {
        // They are known once a device is open.
        drystone_cuda::install().map_err(|e| input(format!("solver: '{solver}' needs a GPU: {e}")))?;
    }
    let table = Value::Object(table).to_string();
    drystone_scene::change_settings(s, &table).map_err(|mut e| {
        if e.field.as_deref() == Some("h") {
            e.field = Some("step".into());
        }
        input(e)
    })
}

/// A value as a file has it.
fn written(key: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let finite = |x: f64| {
        let wrong = || input(format!("{key}: must be finite, got {x}"));
        serde_json::Number::from_f64(x).map(Value::Number).ok_or_else(wrong)
    };
    let wanted = wanted(key);
    let found = match wanted {
        "a number" | "a number or None" => number(value).ok().map(finite),
        // What is no whole number, or one below zero, is refused with its bounds.
        "a whole number" => number(value).ok().map(finite),
        "three numbers" => value.extract::<V3>().ok().map(|V3(all)| {
            let all = all.into_iter().map(finite).collect::<PyResult<_>>()?;
            Ok(Value::Array(all))
        }),
        "True or False" => flag(value).ok().map(|on| Ok(Value::Bool(on))),
        "True, False or a text" if is_truth(value) => flag(value).ok().map(|on| Ok(Value::Bool(on))),
        _ => text(value).ok().map(|text| Ok(Value::String(text.into()))),
    };
    found.unwrap_or_else(|| Err(argument(format!("{key}: must be {wanted}, got {}", shown(value)))))
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
