//! What began and ended in the last step.

use pyo3::prelude::*;

use super::PyWorld;
use crate::events::{ContactEvent, JointEvent, SensorEvent};

#[pymethods]
impl PyWorld {
    /// Notes from now on what begins, goes on and ends in every step.
    #[pyo3(signature = (on=true))]
    fn record_events(&self, py: Python<'_>, on: bool) {
        self.change(py, |w| w.record_events(on));
    }

    /// Keeps velocities from before every step, for accelerations.
    #[pyo3(signature = (on=true))]
    fn record_accelerations(&self, py: Python<'_>, on: bool) {
        self.change(py, |w| w.record_accelerations(on));
    }

    /// What touched in the last step, began to, or ceased to.
    #[getter]
    fn contact_events(slf: &Bound<'_, Self>) -> Vec<ContactEvent> {
        let told = slf.get().with(slf.py(), |w| w.contact_events().to_vec());
        told.into_iter().map(|e| ContactEvent::of(slf, e)).collect()
    }

    /// What is in sensors, came in, or left.
    #[getter]
    fn sensor_events(slf: &Bound<'_, Self>) -> Vec<SensorEvent> {
        let told = slf.get().with(slf.py(), |w| w.sensor_events().to_vec());
        told.into_iter().map(|e| SensorEvent::of(slf, e)).collect()
    }

    /// Which joints were at their limits, came there, or left.
    #[getter]
    fn joint_events(slf: &Bound<'_, Self>) -> Vec<JointEvent> {
        let told = slf.get().with(slf.py(), |w| w.joint_events().to_vec());
        told.into_iter().map(|e| JointEvent::of(slf, e)).collect()
    }
}
