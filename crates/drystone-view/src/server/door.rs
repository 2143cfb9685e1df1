//! How many connections there are at a time, and who has to go when one more comes: of those that have asked
//! for nothing the one that has been there longest, of WebSockets that are silent only when there is no
//! other. A WebSocket has asked with its first command after the greeting; where all have, the new one is
//! told that there is no room.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Connections at a time.
const MAX_CONNECTIONS: usize = 64;
/// And of those that are told that there is no room.
const TURNED_AWAY: usize = 16;

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
    /// WebSockets that have asked for nothing, the same.
    silent: VecDeque<(u64, TcpStream)>,
}

/// A connection's leave to be there, until it is dropped.
pub struct Pass {
    door: Arc<Door>,
    number: u64,
    /// Whether there is no room for more than an answer that says so.
    pub is_turned_away: bool,
}

impl Door {
    /// Takes in a connection. One that has asked for nothing is ended for it where there are too many: idle
    /// ones keep nobody out. Where all have asked it is to be turned away; None: not even that.
    pub fn enter(door: &Arc<Self>, stream: &TcpStream) -> Option<Pass> {
        let idle = stream.try_clone().ok()?;
        let mut inside = door.lock();
        let mut is_turned_away = false;
        if inside.open >= MAX_CONNECTIONS {
            match inside.waiting.pop_front().or_else(|| inside.silent.pop_front()) {
                // The thread that reads from it ends with that.
                Some((_, oldest)) => drop(oldest.shutdown(Shutdown::Both)),
                None if inside.open >= MAX_CONNECTIONS + TURNED_AWAY => return None,
                None => is_turned_away = true,
            }
        }
        let number = inside.next;
        inside.next += 1;
        inside.open += 1;
        if !is_turned_away {
            inside.waiting.push_back((number, idle));
        }
        Some(Pass { door: door.clone(), number, is_turned_away })
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    /// It has asked for something, and is not ended for another.
    pub fn asked(&self) {
        let mut inside = self.door.lock();
        let Inside { waiting, silent, .. } = &mut *inside;
        [waiting, silent].into_iter().for_each(|list| list.retain(|(number, _)| *number != self.number));
    }

    /// It is a WebSocket.
    pub fn opened(&self) {
        let mut inside = self.door.lock();
        if let Some(k) = inside.waiting.iter().position(|(number, _)| *number == self.number) {
            let one = inside.waiting.remove(k);
            inside.silent.extend(one);
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.asked();
        self.door.lock().open -= 1;
    }
}
