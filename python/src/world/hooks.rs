//! Functions of Python's that are called around every step.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use super::PyWorld;
use crate::convert::shown;
use crate::errors::argument;

/// Functions of a world, in the order in which they are called.
#[derive(Default)]
pub struct Hooks(Mutex<Vec<Py<PyAny>>>);

impl Hooks {
    fn lock(&self) -> MutexGuard<'_, Vec<Py<PyAny>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn any(&self) -> bool {
        !self.lock().is_empty()
    }

    pub fn all(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        self.lock().iter().map(|hook| hook.clone_ref(py)).collect()
    }

    pub fn add(&self, py: Python<'_>, hook: &Py<PyAny>) -> PyResult<()> {
        let called = hook.bind(py);
        if !called.is_callable() {
            return Err(argument(format!("hook must be a function of the world, got {}", shown(called))));
        }
        self.lock().push(hook.clone_ref(py));
        Ok(())
    }

    pub fn set(&self, hooks: Vec<Py<PyAny>>) {
        let _before = std::mem::replace(&mut *self.lock(), hooks);
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Who holds it has the interpreter, too: nobody does while garbage is collected.
        self.0.try_lock().map_or(Ok(()), |all| all.iter().try_for_each(|hook| visit.call(hook)))
    }

    /// Calls each with the world; a hook may add others, which are called from the next step on.
    pub fn call(&self, world: &Bound<'_, PyWorld>) -> PyResult<()> {
        let py = world.py();
        self.all(py).iter().try_for_each(|hook| hook.call1(py, (world,)).map(drop))
    }
}
