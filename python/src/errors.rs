//! Errors as Python sees them: the texts are those of the engine.

use drystone::{StepError, WorldError};
use drystone_scene::SceneError;
use pyo3::PyErr;

mod raised {
    #![allow(missing_docs)]
    pyo3::import_exception!(drystone._errors, ArgumentError);
    pyo3::import_exception!(drystone._errors, InputError);
    pyo3::import_exception!(drystone._errors, StepError);
}

/// Bad input.
pub fn input(text: impl std::fmt::Display) -> PyErr {
    raised::InputError::new_err(text.to_string())
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

/// A step that failed.
pub fn step(e: StepError) -> PyErr {
    raised::StepError::new_err(e.to_string())
}
