//! What a step says of itself.

use drystone::{Stage, StepReport};
use drystone_solve::Status;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// What one step did.
#[pyclass(frozen, eq, name = "StepReport", module = "drystone")]
#[derive(Clone, Debug, PartialEq)]
pub struct PyReport {
    /// Number of the step, from 1.
    #[pyo3(get)]
    step: u64,
    /// Contacts in the problem.
    #[pyo3(get)]
    contacts: usize,
    /// Of those, with a gap that is not positive at the start of the step.
    #[pyo3(get)]
    touching: usize,
    /// Dynamic bodies that are asleep after the step.
    #[pyo3(get)]
    asleep: usize,
    /// Place of how the solve ended in [`STATUS`].
    status: usize,
    /// Iterations of the velocity problem.
    #[pyo3(get)]
    iterations: usize,
    /// Substeps of the island that took the most.
    #[pyo3(get)]
    substeps: usize,
    /// Largest natural-map residual of the velocity problem, m/s.
    #[pyo3(get)]
    residual: f64,
    /// Deepest overlap at the start of the step, m.
    #[pyo3(get)]
    penetration: f64,
    certificate: Vec<(String, Option<f64>)>,
    ms: Vec<f64>,
}

const STATUS: [&str; 5] = ["converged", "iterations", "budget", "wedged", "diverged"];

/// The numbers of a pickle: counts, residual and overlap, certificate, times.
type Pickled = ([u64; 7], [f64; 2], Vec<(String, Option<f64>)>, Vec<f64>);

impl PyReport {
    pub fn of(r: &StepReport) -> Self {
        let c = &r.certificate;
        let certificate = [
            ("residual_max", Some(c.residual_max)),
            ("residual_rms", Some(c.residual_rms)),
            ("cone_violation", Some(c.cone_violation)),
            ("duality_gap", c.duality_gap),
            ("constraint_violation", Some(c.constraint_violation)),
            ("complementarity", Some(c.complementarity)),
            ("backward_error", Some(c.backward_error)),
        ];
        Self {
            step: r.step,
            contacts: r.contacts,
            touching: r.touching,
            asleep: r.asleep,
            status: match r.status {
                Status::Converged => 0,
                Status::Iterations => 1,
                Status::Budget => 2,
                Status::Wedged => 3,
                Status::Diverged => 4,
            },
            iterations: r.iterations,
            substeps: r.substeps,
            residual: c.residual_max,
            penetration: r.penetration_max,
            certificate: certificate.map(|(name, x)| (name.to_string(), x)).to_vec(),
            ms: r.spans.iter().map(|span| 1e3 * span.as_secs_f64()).collect(),
        }
    }
}

/// The report of a pickle.
#[pyfunction]
pub fn _report(pickled: Pickled) -> PyReport {
    let ([step, contacts, touching, asleep, status, iterations, substeps], [residual, penetration], c, ms) =
        pickled;
    let [contacts, touching, asleep, status, iterations, substeps] =
        [contacts, touching, asleep, status, iterations, substeps].map(|n| n as usize);
    let status = status.min(STATUS.len() - 1);
    let certificate = c;
    PyReport {
        step,
        contacts,
        touching,
        asleep,
        status,
        iterations,
        substeps,
        residual,
        penetration,
        certificate,
        ms,
    }
}

#[pymethods]
impl PyReport {
    /// How the solve ended: converged, iterations, budget, wedged or diverged.
    #[getter]
    fn status(&self) -> &'static str {
        STATUS[self.status]
    }

    /// The judge's word: residuals, violations (m/s), gap (J), as a dictionary.
    #[getter]
    fn certificate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let d = PyDict::new(py);
        self.certificate.iter().try_for_each(|(name, x)| d.set_item(name, x))?;
        Ok(d)
    }

    /// Time of each stage, ms.
    #[getter]
    fn ms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let d = PyDict::new(py);
        for (stage, ms) in Stage::ALL.iter().zip(&self.ms) {
            d.set_item(stage.name(), ms)?;
        }
        Ok(d)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let make = py.import("drystone._drystone")?.getattr("_report")?;
        let counts = [self.contacts, self.touching, self.asleep, self.status, self.iterations, self.substeps];
        let [a, b, c, d, e, f] = counts.map(|n| n as u64);
        let numbers = ([self.step, a, b, c, d, e, f], [self.residual, self.penetration]);
        (make, ((numbers.0, numbers.1, self.certificate.clone(), self.ms.clone()),)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        format!(
            "<StepReport {}: {} contacts, residual {:.1e} m/s, {} iterations, {}>",
            self.step,
            self.contacts,
            self.residual,
            self.iterations,
            self.status()
        )
    }
}
