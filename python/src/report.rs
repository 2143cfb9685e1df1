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
    contradiction: Vec<Party>,
    apart: Option<Apart>,
}

/// The joint, if it is one, and the rows of its bodies.
type Party = (Option<u32>, Vec<u32>);
/// Who, by how much, m, and what to do about it.
type Apart = (Party, f64, String);

const STATUS: [&str; 5] = ["converged", "iterations", "budget", "wedged", "diverged"];

/// What a pickle holds: counts, residual and overlap, certificate, times, who contradicts whom, what is
/// apart.
type Pickled = ([u64; 7], [f64; 2], Vec<(String, Option<f64>)>, Vec<f64>, Vec<Party>, Option<Apart>);

/// A contact or a joint as a dictionary.
fn party<'py>(py: Python<'py>, (joint, bodies): &Party) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("joint", joint)?;
    d.set_item("bodies", bodies)?;
    Ok(d)
}

impl PyReport {
    pub fn of(r: &StepReport) -> Self {
        let c = &r.certificate;
        let party = |p: &drystone::Party| (p.joint, p.bodies.clone());
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
            contradiction: r.contradiction.iter().map(party).collect(),
            apart: r.apart.as_ref().map(|a| (party(&a.joint), a.off, a.advice())),
        }
    }
}

/// The report of a pickle.
#[pyfunction]
pub fn _report(pickled: Pickled) -> PyReport {
    let (counts, [residual, penetration], certificate, ms, contradiction, apart) = pickled;
    let [step, contacts, touching, asleep, status, iterations, substeps] = counts;
    let [contacts, touching, asleep, status, iterations, substeps] =
        [contacts, touching, asleep, status, iterations, substeps].map(|n| n as usize);
    let status = status.min(STATUS.len() - 1);
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
        contradiction,
        apart,
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

    /// Contacts and joints that asked for a motion and missed most of it, because others contradict them,
    /// those that press hardest first: each the number of its joint (None for a contact) and the rows of its
    /// bodies, as a dictionary.
    #[getter]
    fn contradiction<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.contradiction.iter().map(|p| party(py, p)).collect()
    }

    /// The joint that is off by most, where that is more than a tenth of its length: its number, the rows of
    /// its bodies, by how much (m) and what helps, as a dictionary. None if all hold.
    #[getter]
    fn apart<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some((joint, off, advice)) = &self.apart else { return Ok(None) };
        let d = party(py, joint)?;
        d.set_item("off", off)?;
        d.set_item("advice", advice)?;
        Ok(Some(d))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let make = py.import("drystone._drystone")?.getattr("_report")?;
        let counts = [self.contacts, self.touching, self.asleep, self.status, self.iterations, self.substeps];
        let [a, b, c, d, e, f] = counts.map(|n| n as u64);
        let held: Pickled = (
            [self.step, a, b, c, d, e, f],
            [self.residual, self.penetration],
            self.certificate.clone(),
            self.ms.clone(),
            self.contradiction.clone(),
            self.apart.clone(),
        );
        (make, (held,)).into_pyobject(py)
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
