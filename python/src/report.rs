//! What a step says of itself.

use drystone::{Stage, StepReport};
use drystone_solve::Status;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What one step did.
#[pyclass(frozen, name = "StepReport", module = "drystone")]
pub struct PyReport(pub StepReport);

#[pymethods]
impl PyReport {
    /// Number of the step, from 1.
    #[getter]
    fn step(&self) -> u64 {
        self.0.step
    }

    /// Contacts in the problem.
    #[getter]
    fn contacts(&self) -> usize {
        self.0.contacts
    }

    /// Of those, with a gap that is not positive at the start of the step.
    #[getter]
    fn touching(&self) -> usize {
        self.0.touching
    }

    /// Dynamic bodies that are asleep after the step.
    #[getter]
    fn asleep(&self) -> usize {
        self.0.asleep
    }

    /// How the solve ended: converged, iterations, budget, wedged or diverged.
    #[getter]
    fn status(&self) -> &'static str {
        match self.0.status {
            Status::Converged => "converged",
            Status::Iterations => "iterations",
            Status::Budget => "budget",
            Status::Wedged => "wedged",
            Status::Diverged => "diverged",
        }
    }

    /// Iterations of the velocity problem.
    #[getter]
    fn iterations(&self) -> usize {
        self.0.iterations
    }

    /// Substeps of the island that took the most.
    #[getter]
    fn substeps(&self) -> usize {
        self.0.substeps
    }

    /// Largest natural-map residual of the velocity problem, m/s.
    #[getter]
    fn residual(&self) -> f64 {
        self.0.certificate.residual_max
    }

    /// Deepest overlap at the start of the step, m.
    #[getter]
    fn penetration(&self) -> f64 {
        self.0.penetration_max
    }

    /// The judge's word: residuals, violations (m/s), gap (J), as a dictionary.
    #[getter]
    fn certificate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (c, d) = (&self.0.certificate, PyDict::new(py));
        d.set_item("residual_max", c.residual_max)?;
        d.set_item("residual_rms", c.residual_rms)?;
        d.set_item("cone_violation", c.cone_violation)?;
        d.set_item("duality_gap", c.duality_gap)?;
        d.set_item("constraint_violation", c.constraint_violation)?;
        d.set_item("complementarity", c.complementarity)?;
        d.set_item("backward_error", c.backward_error)?;
        Ok(d)
    }

    /// Time of each stage, ms.
    #[getter]
    fn ms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let d = PyDict::new(py);
        for (stage, span) in Stage::ALL.iter().zip(self.0.spans) {
            d.set_item(stage.name(), 1e3 * span.as_secs_f64())?;
        }
        Ok(d)
    }

    fn __repr__(&self) -> String {
        let r = &self.0;
        format!(
            "<StepReport {}: {} contacts, residual {:.1e} m/s, {} iterations, {}>",
            r.step,
            r.contacts,
            r.certificate.residual_max,
            r.iterations,
            self.status()
        )
    }
}
