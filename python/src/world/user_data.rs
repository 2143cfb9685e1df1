//! Objects of the user's own, left with bodies and joints.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use drystone::user_data::Owner;
use drystone::{BodyId, JointId};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

/// (0 for a body and 1 for a joint, slot, generation), as pickles have it.
pub type Key = (u8, u32, u32);

/// The objects of a world.
#[derive(Default)]
pub struct Objects(Mutex<HashMap<Key, Py<PyAny>>>);

pub fn key(owner: impl Into<Owner>) -> Key {
    match owner.into() {
        Owner::Body(BodyId { slot, generation }) => (0, slot, generation),
        Owner::Joint(JointId { slot, generation }) => (1, slot, generation),
        Owner::Collider(c) => (2, c.slot, c.generation),
    }
}

impl Objects {
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Py<PyAny>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None if there is none.
    pub fn get(&self, py: Python<'_>, owner: impl Into<Owner>) -> Option<Py<PyAny>> {
        self.lock().get(&key(owner)).map(|x| x.clone_ref(py))
    }

    /// Python's None takes it away.
    pub fn set(&self, py: Python<'_>, owner: impl Into<Owner>, object: Py<PyAny>) {
        let none = object.is_none(py);
        let mut all = self.lock();
        // What was there is let go after the lock: it may have something to say.
        let before = if none { all.remove(&key(owner)) } else { all.insert(key(owner), object) };
        drop(all);
        drop(before);
    }

    pub fn all(&self, py: Python<'_>) -> Vec<(Key, Py<PyAny>)> {
        self.lock().iter().map(|(k, x)| (*k, x.clone_ref(py))).collect()
    }

    pub fn replace(&self, all: Vec<(Key, Py<PyAny>)>) {
        let _before = std::mem::replace(&mut *self.lock(), all.into_iter().collect());
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.try_lock().map_or(Ok(()), |all| all.values().try_for_each(|x| visit.call(x)))
    }
}
