//! Ctrl-C, SIGTERM, and SIGHUP (but under `nohup`): what is at hand is finished in good order, and the status
//! is 130, whatever the command.
//!
//! The signal is taken from the start of the program on. A command that has something to keep says so by
//! [`watch`] or [`leave`]; until then there is nothing to lose, and the program ends as soon as it is clear
//! that nobody will.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::failure::Failure;
use crate::terminal::{INTERRUPTED, write};

/// What the signal does.
enum Plan {
    /// Nothing to keep yet.
    Begin,
    /// Somebody looks at the flag.
    Watched,
    /// This is done, and the program ends.
    Leave(Box<dyn FnOnce() + Send>),
}

static CAME: AtomicBool = AtomicBool::new(false);
static PLAN: Mutex<Plan> = Mutex::new(Plan::Begin);
static PLANNED: Condvar = Condvar::new();
/// How long a command that has just begun may take until it has a plan: it is loading its scene.
const LOADING_TIME: Duration = Duration::from_secs(3);

/// Whether Ctrl-C was pressed.
#[derive(Clone, Copy)]
pub struct Interrupt(());

impl Interrupt {
    /// It was.
    pub fn came(self) -> bool {
        CAME.load(Ordering::Relaxed)
    }

    /// The flag itself.
    pub fn flag(self) -> &'static AtomicBool {
        &CAME
    }
}

/// Takes the signals, from now to the end of the program. The first one does what was planned, the second
/// ends the program at once.
pub fn install() -> Result<(), Failure> {
    let handler = || {
        if CAME.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
        // The second one must not wait for the first.
        std::thread::spawn(obey);
    };
    #[cfg(unix)]
    // SAFETY: a signal's action is set to a default one, before any thread exists.
    let hangup = unsafe { libc::signal(libc::SIGHUP, libc::SIG_DFL) };
    ctrlc::set_handler(handler).map_err(Failure::run)?;
    // `nohup` lets a program go on when its terminal is gone.
    #[cfg(unix)]
    if hangup == libc::SIG_IGN {
        // SAFETY: as above.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    }
    Ok(())
}

fn plan() -> MutexGuard<'static, Plan> {
    PLAN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does what is planned, or was not in time.
fn obey() {
    let begins = |plan: &mut Plan| matches!(plan, Plan::Begin);
    let waited = PLANNED.wait_timeout_while(plan(), LOADING_TIME, begins);
    let mut plan = waited.unwrap_or_else(PoisonError::into_inner).0;
    match std::mem::replace(&mut *plan, Plan::Watched) {
        Plan::Watched => {}
        Plan::Begin => {
            eprintln!("drystone: interrupted before there was anything to keep");
            std::process::exit(INTERRUPTED);
        }
        Plan::Leave(last) => {
            last();
            std::process::exit(INTERRUPTED);
        }
    }
}

fn set(new: Plan) {
    *plan() = new;
    PLANNED.notify_all();
}

/// From now on Ctrl-C is a flag that the command looks at, and ends by itself; it may have come before.
pub fn watch() -> Interrupt {
    set(Plan::Watched);
    Interrupt(())
}

/// From now on Ctrl-C does this and ends the program.
pub fn leave_by(last: impl FnOnce() + Send + 'static) {
    set(Plan::Leave(Box::new(last)));
}

/// From now on Ctrl-C ends the program: what it writes is not begun before it is whole.
pub fn leave_nothing() {
    leave_by(|| eprintln!("drystone: interrupted: nothing was written"));
}

/// From now on Ctrl-C writes what is known of a solve, and how long it took, and ends the program: a solve in
/// one piece has nothing to show before its end.
pub fn leave(name: &str, mut known: Value, report: Option<PathBuf>) {
    let (name, begun) = (name.to_string(), Instant::now());
    leave_by(move || {
        let wall_s = begun.elapsed().as_secs_f64();
        known["wall_s"] = wall_s.into();
        let written = report.as_ref().map(|path| write(path, &format!("{known:#}\n")));
        eprintln!("drystone: {name}: interrupted after {wall_s:.1} s, nothing found yet");
        if let Some(Err(failure)) = written {
            eprintln!("drystone: {}", failure.message);
        }
    });
}
