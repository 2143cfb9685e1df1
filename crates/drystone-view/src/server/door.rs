//! How many connections there are at a time, and who has to go when one more comes: of those that have asked
//! for nothing the one that has been there longest.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Connections at a time.
const MOST: usize = 64;

/// The connections that there are.
#[derive(Default)]
pub struct Door {
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    open: usize,
    /// Number of the next one.
    next: u64,
    /// Those that have not asked yet, the longest there first.
    waiting: VecDeque<(u64, TcpStream)>,
}

/// A connection's leave to be there, until it is dropped.
pub struct Pass {
    door: Arc<Door>,
    number: u64,
}

impl Door {
    /// Takes in a connection; None if all others have asked for something. One that has not is ended for it
    /// where there are too many: idle ones keep nobody out.
    pub fn enter(door: &Arc<Self>, stream: &TcpStream) -> Option<Pass> {
        let idle = stream.try_clone().ok()?;
        let mut inside = door.lock();
        if inside.open >= MOST {
            let (_, oldest) = inside.waiting.pop_front()?;
            // The thread that reads from it ends with that.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        let number = inside.next;
        inside.next += 1;
        inside.open += 1;
        inside.waiting.push_back((number, idle));
        Some(Pass { door: door.clone(), number })
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    /// It has asked for something, and is not ended for another.
    pub fn asked(&self) {
        self.door.lock().waiting.retain(|(number, _)| *number != self.number);
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.asked();
        self.door.lock().open -= 1;
    }
}
