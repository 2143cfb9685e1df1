//! One call after the other takes a world's steps, whichever threads they come from.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pyo3::prelude::*;

use crate::errors::input;

/// Who waits looks for Ctrl-C so often.
const LOOK: Duration = Duration::from_millis(50);

/// Whose turn it is.
#[derive(Default)]
pub struct Turns {
    who: Mutex<Option<ThreadId>>,
    over: Condvar,
}

/// The turn of a thread, until this goes.
pub struct Turn<'a>(&'a Turns);

impl Turns {
    fn lock(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.who.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the turn. Another thread's is waited for, while Python goes on; within this thread's own one
    /// there is none to be had.
    pub fn take(&self, py: Python<'_>) -> PyResult<Turn<'_>> {
        let me = thread::current().id();
        loop {
            let mut who = self.lock();
            match *who {
                None => {
                    *who = Some(me);
                    return Ok(Turn(self));
                }
                Some(holder) if holder == me => {
                    return Err(input("a step is under way: its hooks cannot take another"));
                }
                Some(_) => drop(who),
            }
            py.detach(|| {
                let who = self.lock();
                if who.is_some() {
                    let _waited = self.over.wait_timeout(who, LOOK);
                }
            });
            py.check_signals()?;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
        self.0.over.notify_one();
    }
}
