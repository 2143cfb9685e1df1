//! Runs of many random scenes on several threads, and what they add up to.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::check::{self, Check, Outcome};
use super::{KINDS, Kind, kind_of};

/// Which scenes to run, and how.
#[derive(Clone, Copy)]
pub struct Batch {
    /// The first seed.
    pub seed: u64,
    /// How many seeds.
    pub count: u64,
    /// Only seeds of this kind.
    pub kind: Option<&'static Kind>,
    /// Whether the checks are made.
    pub checks: bool,
    /// Scenes at a time, each of them on one thread.
    pub threads: usize,
}

/// Runs the scenes; `done` is called after each, from any of the threads. Outcomes come in the order of the
/// seeds.
///
/// # Errors
/// Where the system refuses threads.
pub fn run(
    batch: Batch,
    done: impl Fn(&Outcome) + Sync,
    stop: impl Fn() -> bool + Sync,
) -> Result<Vec<Outcome>, String> {
    let (next, outcomes) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let work = |one: &rayon::ThreadPool, two: &rayon::ThreadPool| {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= batch.count || stop() {
                return;
            }
            let seed = batch.seed.wrapping_add(i);
            if batch.kind.is_some_and(|kind| kind.name != kind_of(seed).name) {
                continue;
            }
            let outcome = one.install(|| check::run(seed, batch.checks, Some(two)));
            done(&outcome);
            // A thread that panicked while it held the list left it whole: it only pushes.
            outcomes.lock().unwrap_or_else(|e| e.into_inner()).push((i, outcome));
        }
    };
    let pools = (0..batch.threads.max(1)).map(|_| Ok((pool(1)?, pool(2)?)));
    let pools = pools.collect::<Result<Vec<_>, String>>()?;
    std::thread::scope(|scope| {
        for (one, two) in &pools {
            scope.spawn(|| work(one, two));
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap_or_else(|e| e.into_inner());
    outcomes.sort_by_key(|(i, _)| *i);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

fn pool(threads: usize) -> Result<rayon::ThreadPool, String> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| e.to_string())
}

/// What the scenes of a kind, or of all, came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// How many.
    pub scenes: usize,
    /// Scenes with at least one failure.
    pub failed: usize,
    /// Failures in the order of [`Check::ALL`].
    pub failures: [usize; Check::ALL.len()],
    /// Deepest overlap over an inner radius.
    pub worst_overlap: f64,
    /// m/s
    pub worst_residual: f64,
    /// Steps taken.
    pub steps: usize,
    /// Steps beyond the tolerance.
    pub unsolved: usize,
    /// Steps whose certificate was computed again.
    pub certified: usize,
    /// Time of the steps and their checks, ms.
    pub cpu_ms: f64,
}

impl Summary {
    /// Of all outcomes.
    pub fn of<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Self {
        let mut sum = Self::default();
        outcomes.into_iter().for_each(|o| sum.add(o));
        sum
    }

    /// By kind, in the order of [`KINDS`]; kinds that did not occur are left out.
    pub fn by_kind(outcomes: &[Outcome]) -> Vec<(&'static Kind, Self)> {
        let mut sums: BTreeMap<&str, Self> = BTreeMap::new();
        outcomes.iter().for_each(|o| sums.entry(o.kind).or_default().add(o));
        KINDS.iter().filter_map(|kind| Some((kind, sums.remove(kind.name)?))).collect()
    }

    fn add(&mut self, o: &Outcome) {
        self.scenes += 1;
        self.failed += usize::from(!o.failures.is_empty());
        for failure in &o.failures {
            self.failures[failure.check as usize] += 1;
        }
        self.worst_overlap = self.worst_overlap.max(o.worst_overlap);
        self.worst_residual = self.worst_residual.max(o.worst_residual);
        self.steps += o.done;
        self.unsolved += o.unsolved;
        self.certified += o.certified;
        self.cpu_ms += o.cpu_ms;
    }
}
