//! The threads of a process, also of one that was forked: its parent's pool has no threads there.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// How often this process was forked, counted from the one that began.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// The pool of a forked process, from its first use on. No lock: another thread may have held it while the
/// process was forked.
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

/// Calls `f` where parallel loops find threads.
pub fn with_threads<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    if forks() == 0 {
        return f();
    }
    let mut pool = POOL.load(Ordering::Acquire);
    if pool.is_null() {
        let threads = rayon::current_num_threads();
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

/// The same on a thread of the pool: this thread would be one more than there are cores.
pub fn in_pool<R: Send>(py: Python<'_>, f: impl FnOnce() -> R + Send) -> R {
    detached(py, || rayon::scope(|_| f()))
}
