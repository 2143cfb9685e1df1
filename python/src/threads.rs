//! The threads of a process, also of one that was forked: its parent's pools have no threads there.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Once, OnceLock};
use std::thread::{self, ThreadId};
use std::time::Duration;

use drystone_solve::solver::Stop;

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// How often this process was forked, counted from the one that began.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// The pool of threads that are not the main one, and of a forked process, from its first use on. No lock:
/// another thread may have held it while the process was forked.
static POOL: AtomicPtr<ThreadPool> = AtomicPtr::new(ptr::null_mut());

/// How often this process was forked.
pub fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Called in a forked process, before anything else. A pool of its parent's is left as it is: who would end
/// its threads is not there.
#[pyfunction]
pub fn _forked() {
    POOL.store(ptr::null_mut(), Ordering::Release);
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// How many threads were asked for; 0: nobody has.
static ASKED: AtomicUsize = AtomicUsize::new(0);
/// Set once the number of threads can no longer change.
static BEGUN: AtomicBool = AtomicBool::new(false);
/// The process's main thread, if it has imported this module.
static MAIN: OnceLock<ThreadId> = OnceLock::new();
/// Makes the main thread one of its pool.
static JOINED: Once = Once::new();

/// Called when the module is made.
pub fn imported(py: Python<'_>) -> PyResult<()> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    if main.eq(threading.call_method0("get_ident")?)? {
        let _twice = MAIN.set(std::thread::current().id());
    }
    Ok(())
}

/// How many threads there are.
pub fn number() -> usize {
    let asked = ASKED.load(Ordering::Relaxed);
    let given = || std::env::var("RAYON_NUM_THREADS").ok()?.parse::<usize>().ok().filter(|n| *n > 0);
    let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
    if asked > 0 { asked } else { given().unwrap_or_else(cores) }
}

/// Sets it, before anybody has used them: false afterwards.
pub fn set_number(n: usize) -> bool {
    let fresh = !BEGUN.load(Ordering::Relaxed) && ASKED.load(Ordering::Relaxed) == 0;
    if fresh {
        ASKED.store(n, Ordering::Relaxed);
    }
    fresh
}

/// Calls `f` where parallel loops find threads.
///
/// The main thread is one of its pool's own, as in the command: a step of it is handed to nobody and waited
/// for by nobody. Other threads of Python's may end at any time; they have a pool that they hand their work
/// to.
pub fn with_threads<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    BEGUN.store(true, Ordering::Relaxed);
    if forks() == 0 && MAIN.get() == Some(&std::thread::current().id()) {
        JOINED.call_once(|| {
            let threads = number();
            let pool = ThreadPoolBuilder::new().num_threads(threads);
            // A pool of this thread alone would do nothing for others while it is in Python.
            let pool = if threads > 1 { pool.use_current_thread() } else { pool };
            // Where there is one already, it is that.
            let _there = pool.build_global();
        });
        return f();
    }
    let mut pool = POOL.load(Ordering::Acquire);
    if pool.is_null() {
        let threads = number();
        match ThreadPoolBuilder::new().num_threads(threads).build() {
            // It lives as long as the process; one that comes second is not used.
            Ok(new) => pool = Box::into_raw(Box::new(new)),
            Err(e) => panic!("{threads} threads could not be started: {e}"),
        }
        if let Err(first) = POOL.compare_exchange(ptr::null_mut(), pool, Ordering::AcqRel, Ordering::Acquire)
        {
            pool = first;
        }
    }
    // SAFETY: it is that of a box that is never given back.
    unsafe { &*pool }.install(f)
}

/// Calls `f` without the interpreter.
pub fn detached<R: Send>(py: Python<'_>, f: impl FnOnce() -> R + Send) -> R {
    py.detach(|| with_threads(f))
}

/// How long a signal may wait for Python to see it.
const LISTEN: Duration = Duration::from_millis(50);

/// Calls `solve` with `stop` on another thread, while this one listens for signals. The exception that one
/// of them raises, as Ctrl-C does, interrupts the solve and is the error.
pub fn beside_signals<R: Send>(
    py: Python<'_>,
    mut stop: Stop,
    solve: impl FnOnce(Stop) -> PyResult<R> + Send,
) -> PyResult<R> {
    let interrupt = Arc::new(AtomicBool::new(false));
    stop.interrupt = Some(Arc::clone(&interrupt));
    let (done, result) = mpsc::channel();
    let ended = py.detach(move || {
        thread::scope(|scope| {
            scope.spawn(move || {
                // On a thread of the pool: this one would be one more than there are cores.
                let _heard = done.send(with_threads(|| rayon::scope(|_| solve(stop))));
            });
            let mut raised = None;
            loop {
                match result.recv_timeout(LISTEN) {
                    Err(RecvTimeoutError::Timeout) if raised.is_none() => {
                        raised = Python::attach(|py| py.check_signals()).err();
                        interrupt.store(raised.is_some(), Ordering::Relaxed);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    ended => break raised.map_or(ended.ok(), |raised| Some(Err(raised))),
                }
            }
        })
    });
    ended.expect("where it panicked, the scope has passed that on")
}
