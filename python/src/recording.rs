//! Recordings as Python reads them.

use std::path::PathBuf;

use drystone::Motion;
use drystone_record::recording::{COLUMNS, Frame, Recording};
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::input;
use crate::world::motion_name;

/// A recording: moments of a run, and numbers of every step. Frames are read from the disk when they are
/// asked for.
#[pyclass(frozen, name = "_Recording", module = "drystone", subclass)]
pub struct PyRecording(Recording);

/// An (n, N) array.
fn rows<'py, T: Element + Copy, const N: usize>(
    py: Python<'py>,
    rows: &[[T; N]],
) -> PyResult<Bound<'py, PyAny>> {
    let flat = PyArray1::from_slice(py, rows.as_flattened());
    Ok(flat.reshape([rows.len(), N])?.into_any())
}

fn list<'py, T: Element + Copy>(py: Python<'py>, all: &[T]) -> Bound<'py, PyAny> {
    PyArray1::from_slice(py, all).into_any()
}

#[pymethods]
impl PyRecording {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| Recording::open(&path)).map(Self).map_err(input)
    }

    /// Its folder.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.0.folder().into()
    }

    /// Name of its scene.
    #[getter]
    fn scene(&self) -> String {
        self.0.scene().into()
    }

    /// The step, s.
    #[getter]
    fn step(&self) -> f64 {
        self.0.step_s()
    }

    /// Whether the run has ended.
    #[getter]
    fn finished(&self) -> bool {
        self.0.is_finished()
    }

    /// What cannot be read, in words; empty if nothing is lost.
    #[getter]
    fn losses(&self) -> Vec<String> {
        self.0.losses().iter().map(ToString::to_string).collect()
    }

    /// Times of the frames, s.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.0.moments().iter().map(|m| m.time))
    }

    /// Steps done at the frames.
    #[getter]
    fn steps<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_iter(py, self.0.moments().iter().map(|m| m.step))
    }

    /// Numbers of every step, by name with unit: kinetic_j, contacts, residual_m_s and so on.
    #[getter]
    fn series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (k, name) in COLUMNS.iter().enumerate() {
            all.set_item(name, PyArray1::from_iter(py, self.0.steps().iter().map(|row| row[k])))?;
        }
        Ok(all)
    }

    /// The bodies: number, name, motion, mass (kg).
    #[getter]
    fn bodies<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let all = PyList::empty(py);
        for b in &self.0.catalogue().bodies {
            let d = PyDict::new(py);
            d.set_item("id", b.id)?;
            d.set_item("name", Some(&b.name).filter(|n| !n.is_empty()))?;
            d.set_item("motion", motion_name(b.motion))?;
            d.set_item("mass", if b.motion == Motion::Dynamic { b.mass } else { f64::INFINITY })?;
            all.append(d)?;
        }
        Ok(all)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// A frame as a dictionary of arrays.
    fn _frame<'py>(&self, py: Python<'py>, k: usize) -> PyResult<Bound<'py, PyDict>> {
        let frame: Frame = py.detach(|| self.0.frame(k)).map_err(input)?;
        let d = PyDict::new(py);
        d.set_item("step", frame.step)?;
        d.set_item("time", frame.time)?;
        let b = &frame.bodies;
        d.set_item("ids", list(py, &b.id))?;
        d.set_item("centres", rows(py, &b.position)?)?;
        d.set_item("rotations", rows(py, &b.orientation)?)?;
        d.set_item("velocities", rows(py, &b.velocity)?)?;
        d.set_item("angular_velocities", rows(py, &b.angular_velocity)?)?;
        let (c, contacts) = (&frame.contacts, PyDict::new(py));
        contacts.set_item("bodies", rows(py, &c.bodies)?)?;
        contacts.set_item("points", rows(py, &c.point)?)?;
        contacts.set_item("normals", rows(py, &c.normal)?)?;
        contacts.set_item("impulses", rows(py, &c.impulse)?)?;
        contacts.set_item("gaps", list(py, &c.gap))?;
        contacts.set_item("friction", list(py, &c.friction))?;
        d.set_item("contacts", contacts)?;
        let (j, joints) = (&frame.joints, PyDict::new(py));
        joints.set_item("ids", list(py, &j.id))?;
        joints.set_item("forces", rows(py, &j.force)?)?;
        joints.set_item("torques", rows(py, &j.torque)?)?;
        joints.set_item("coordinates", rows(py, &j.coordinates)?)?;
        joints.set_item("motors", rows(py, &j.motors)?)?;
        d.set_item("joints", joints)?;
        Ok(d)
    }
}
