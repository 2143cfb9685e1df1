//! Memory for what waits to be written: the run goes on as long as there is some.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that may wait, and two things of any size.
const WAITING: usize = 256 << 20;

/// How much of it is taken.
#[derive(Default)]
pub(super) struct Room {
    taken: Mutex<Taken>,
    changed: Condvar,
}

#[derive(Default)]
struct Taken {
    bytes: usize,
    /// Nobody writes any more.
    closed: bool,
}

impl Room {
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes so many bytes; how long that had to be waited for.
    pub fn take(&self, bytes: usize) -> Duration {
        let most = WAITING.max(2 * bytes);
        let full = |taken: &mut Taken| !taken.closed && taken.bytes > 0 && taken.bytes + bytes > most;
        let mut taken = self.lock();
        let begun = Instant::now();
        let mut waited = Duration::ZERO;
        if full(&mut taken) {
            taken = self.changed.wait_while(taken, full).unwrap_or_else(PoisonError::into_inner);
            waited = begun.elapsed();
        }
        taken.bytes += bytes;
        waited
    }

    /// Gives so many bytes back.
    pub fn give(&self, bytes: usize) {
        let mut taken = self.lock();
        taken.bytes = taken.bytes.saturating_sub(bytes);
        self.changed.notify_all();
    }
}

/// While it lives there is somebody who writes; then nobody has to wait any more, and what is handed over is
/// lost.
pub(super) struct Closing(pub Arc<Room>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_finds_no_room_waits_until_there_is_some() {
        let room = Arc::new(Room::default());
        let large = WAITING;
        assert_eq!(room.take(large), Duration::ZERO);
        assert_eq!(room.take(large), Duration::ZERO, "two of any size");
        let other = room.clone();
        let third = std::thread::spawn(move || other.take(large));
        std::thread::sleep(Duration::from_millis(20));
        assert!(!third.is_finished());
        room.give(large);
        assert!(third.join().unwrap() > Duration::ZERO);
        let other = room.clone();
        let fourth = std::thread::spawn(move || other.take(1));
        drop(Closing(room));
        fourth.join().unwrap();
    }
}
