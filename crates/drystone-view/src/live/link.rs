//! Between the simulation and the connections: the newest moment one way, commands the other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::command::Command;
use crate::frames::Hello;
use crate::snapshot::Snapshot;
use crate::stage::Stage;

/// Commands that may wait: what comes faster is dropped.
const WAITING: usize = 4096;

/// What pages are to know. The numbers rise with every change.
#[derive(Clone, Default)]
pub struct Now {
    /// Of `hello`.
    pub greeting: u64,
    /// What to tell first, and again after a new start.
    pub hello: Arc<Hello>,
    /// Of `snapshot`.
    pub moment: u64,
    /// Shapes, names and joints.
    pub stage: Arc<Stage>,
    /// The newest moment.
    pub snapshot: Option<Arc<Snapshot>>,
    /// News, JSON.
    pub status: (u64, Arc<str>),
    /// What was driven, JSON.
    pub inputs: (u64, Arc<str>),
}

#[derive(Default)]
struct Shared {
    now: Mutex<Now>,
    wanted: AtomicBool,
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end that connections hold.
#[derive(Clone)]
pub struct Link {
    commands: SyncSender<Command>,
    shared: Arc<Shared>,
}

impl Link {
    /// Passes a command on.
    pub fn send(&self, command: Command) {
        let _ = self.commands.try_send(command);
    }

    /// Says that somebody waits for a moment.
    pub fn want(&self) {
        self.shared.wanted.store(true, Ordering::Relaxed);
    }

    /// What there is to know.
    pub fn now(&self) -> Now {
        self.shared.lock().clone()
    }
}

/// The end that the simulation holds.
pub(super) struct Desk {
    commands: Receiver<Command>,
    shared: Arc<Shared>,
}

impl Desk {
    pub fn new() -> (Self, Link) {
        let (sender, commands) = sync_channel(WAITING);
        let shared = Arc::new(Shared::default());
        (Self { commands, shared: shared.clone() }, Link { commands: sender, shared })
    }

    /// The next command, waiting for it so long.
    pub fn next(&self, wait: Duration) -> Option<Command> {
        if wait.is_zero() {
            return self.commands.try_recv().ok();
        }
        match self.commands.recv_timeout(wait) {
            Ok(command) => Some(command),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(wait);
                None
            }
        }
    }

    pub fn is_wanted(&self) -> bool {
        self.shared.wanted.swap(false, Ordering::Relaxed)
    }

    pub fn greet(&self, hello: Hello) {
        let mut now = self.shared.lock();
        now.greeting += 1;
        now.hello = Arc::new(hello);
    }

    pub fn tell(&self, status: String) {
        let mut now = self.shared.lock();
        now.status = (now.status.0 + 1, status.into());
    }

    pub fn inputs(&self, json: String) {
        let mut now = self.shared.lock();
        now.inputs = (now.inputs.0 + 1, json.into());
    }

    pub fn show(&self, stage: &Stage, snapshot: Snapshot) {
        let mut now = self.shared.lock();
        let same = now.stage.epoch() == stage.epoch() && now.stage.bodies() == stage.bodies();
        if !same {
            now.stage = Arc::new(stage.clone());
        }
        now.moment += 1;
        now.snapshot = Some(Arc::new(snapshot));
    }
}
