//! What began and ended in the last steps.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use drystone::{Phase, World};
use pyo3::prelude::*;

use super::PyWorld;
use crate::convert::flag;
use crate::events::{ContactEvent, JointEvent, SensorEvent};

#[pymethods]
impl PyWorld {
    /// Notes from now on what begins, goes on and ends in every step.
    #[pyo3(signature = (on=true))]
    fn record_events(&self, py: Python<'_>, #[pyo3(from_py_with = flag)] on: bool) {
        self.change(py, |w| w.record_events(on));
    }

    /// Keeps velocities from before every step, for accelerations.
    #[pyo3(signature = (on=true))]
    fn record_accelerations(&self, py: Python<'_>, #[pyo3(from_py_with = flag)] on: bool) {
        self.accelerations.store(on, Ordering::Relaxed);
        self.change(py, |w| w.record_accelerations(on));
    }

    /// What touched in the last step, began to, or ceased to; after `step(n)` also what began and ceased in
    /// the steps before the last, in the order of the steps, which each event names (`step`). In a hook:
    /// what the step just taken says alone.
    #[getter]
    fn contact_events(slf: &Bound<'_, Self>) -> Vec<ContactEvent> {
        let told = slf.get().happened(slf.py(), |past| &past.contacts, |w| w.contact_events());
        told.into_iter().map(|e| ContactEvent::of(slf, e)).collect()
    }

    /// What is in sensors, came in, or left: of several steps as `contact_events`.
    #[getter]
    fn sensor_events(slf: &Bound<'_, Self>) -> Vec<SensorEvent> {
        let told = slf.get().happened(slf.py(), |past| &past.sensors, |w| w.sensor_events());
        told.into_iter().map(|e| SensorEvent::of(slf, e)).collect()
    }

    /// Which joints were at their limits, came there, or left: of several steps as `contact_events`.
    #[getter]
    fn joint_events(slf: &Bound<'_, Self>) -> Vec<JointEvent> {
        let told = slf.get().happened(slf.py(), |past| &past.joints, |w| w.joint_events());
        told.into_iter().map(|e| JointEvent::of(slf, e)).collect()
    }

    /// How many of the oldest events of the last `step(n)` were let go, because more than 100,000 of a kind
    /// began or ceased.
    #[getter]
    fn events_lost(&self) -> u64 {
        self.past.lock().unwrap_or_else(PoisonError::into_inner).lost
    }
}

/// Events of one kind that are kept of the steps before the last of `step(n)`.
const MOST: usize = 100_000;

/// What began and ceased in the steps before the last one of a call of `step(n)`, with the numbers of the
/// steps.
#[derive(Default)]
pub struct Past {
    /// A hook runs: it hears of its step alone.
    pub in_hook: bool,
    /// The last step of the call: who steps the world otherwise makes this out of date.
    pub last: u64,
    contacts: Vec<(u64, drystone::ContactEvent)>,
    sensors: Vec<(u64, drystone::SensorEvent)>,
    joints: Vec<(u64, drystone::JointEvent)>,
    lost: u64,
}

impl Past {
    /// Lets go of all: the world is another one's by now, or at another time.
    pub fn forget(&mut self) {
        *self = Self { in_hook: self.in_hook, ..Self::default() };
    }

    /// Takes over what the world says of a step that is not the last.
    pub fn note(&mut self, w: &World) {
        let step = w.state().step;
        let changed = |phase: Phase| phase != Phase::Persist;
        let told = w.contact_events().iter().filter(|e| changed(e.phase));
        keep(&mut self.contacts, told.map(|e| (step, *e)), &mut self.lost);
        let told = w.sensor_events().iter().filter(|e| changed(e.phase));
        keep(&mut self.sensors, told.map(|e| (step, *e)), &mut self.lost);
        let told = w.joint_events().iter().filter(|e| changed(e.phase));
        keep(&mut self.joints, told.map(|e| (step, *e)), &mut self.lost);
    }
}

fn keep<T>(all: &mut Vec<T>, new: impl Iterator<Item = T>, lost: &mut u64) {
    all.extend(new);
    // Seldom, and then many at once.
    if all.len() >= 2 * MOST {
        *lost += (all.len() - MOST) as u64;
        all.drain(..all.len() - MOST);
    }
}

impl PyWorld {
    /// The events of one kind: of the steps before the last where the last call took several, and of the
    /// last.
    fn happened<T: Copy + Send>(
        &self,
        py: Python<'_>,
        past: fn(&Past) -> &Vec<(u64, T)>,
        now: fn(&World) -> &[T],
    ) -> Vec<(u64, T)> {
        self.with(py, |w| {
            let step = w.state().step;
            let kept = self.past.lock().unwrap_or_else(PoisonError::into_inner);
            let mut all = match kept.in_hook || kept.last != step {
                true => Vec::new(),
                false => past(&kept).clone(),
            };
            all.extend(now(w).iter().map(|e| (step, *e)));
            all
        })
    }
}
