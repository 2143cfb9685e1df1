//! Errors as Python sees them: the texts are those of the engine.

use std::ffi::CString;

use drystone::{StepError, WorldError};
use drystone_scene::SceneError;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

mod raised {
    #![allow(missing_docs)]
    pyo3::import_exception!(drystone._errors, ArgumentError);
    pyo3::import_exception!(drystone._errors, InputError);
    pyo3::import_exception!(drystone._errors, StepError);
}

/// Bad input.
pub fn input(text: impl std::fmt::Display) -> PyErr {
    raised::InputError::new_err(spelled(&text.to_string()))
}

/// Options whose value Python writes as a text.
const TEXTS: [&str; 6] = ["backend", "solver", "model", "kind", "integrator", "stabilisation"];

/// A text of the command line with its options as Python's arguments: `--backend cpu` is `backend="cpu"`,
/// `--record-replace` is `record_replace=True`, `--budget-ms` is `budget_ms`.
#[pyfunction(name = "_spelled")]
pub fn spelled(text: &str) -> String {
    const FLAGS: [&str; 2] = ["record-replace", "allow-overlap"];
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("--") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        let end = after.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(after.len());
        let (option, tail) = after.split_at(end);
        let begins = before.chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '-');
        out.push_str(before);
        if !begins || !option.starts_with(|c: char| c.is_ascii_lowercase()) {
            out.push_str("--");
            rest = after;
            continue;
        }
        out.push_str(&option.replace('-', "_"));
        rest = tail;
        if FLAGS.contains(&option) {
            out.push_str("=True");
        } else if let (true, Some(tail)) = (TEXTS.contains(&option), tail.strip_prefix(' ')) {
            let end = tail.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(tail.len());
            if end > 0 {
                out.push_str(&format!("=\"{}\"", &tail[..end]));
                rest = &tail[end..];
            }
        }
    }
    out + rest
}

/// Says something that goes on all the same.
pub fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
    let text = CString::new(text).map_err(|_| input("a text must not have a NUL in it"))?;
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)
}

/// An argument that is not what it must be: PyO3 tells the error its name.
pub fn argument(text: impl std::fmt::Display) -> PyErr {
    raised::ArgumentError::new_err(text.to_string())
}

pub fn world(e: WorldError) -> PyErr {
    input(e)
}

pub fn scene(e: SceneError) -> PyErr {
    input(e)
}

/// A step that failed, in words.
pub fn failed_with(text: String) -> PyErr {
    raised::StepError::new_err(spelled(&text))
}

/// A step that failed.
pub fn step(e: StepError) -> PyErr {
    raised::StepError::new_err(e.to_string())
}
