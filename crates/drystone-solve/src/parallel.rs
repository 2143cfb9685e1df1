//! Threads that stay together for the length of a step.
//!
//! A sweep over a hundred thousand contacts takes sixteen threads less than a tenth of a millisecond and has
//! a dozen points at which all must have come along. Sending work to a pool costs about as much each time. A
//! team is called once: its members keep looking for the next job, take its tasks, and go home when the step,
//! or a solve by itself, is done. Who has waited in vain for a while lends a hand with what else the pool has
//! to do: work that was sent to it in the midst of a step is not done by one thread alone.
//!
//! Nobody is waited for who has not taken a task: where the pool's threads are busy elsewhere the leader does
//! everything alone, so that no two teams can block each other. A member begins with the tasks that were its
//! own the last time, whose data it has in its cache, and takes what is left of the others' after that. Which
//! thread does a task must not matter for its result: tasks write to places of their own, and sums over tasks
//! are made by the leader in their order.

use std::cell::Cell;
use std::hint::spin_loop;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::yield_now;

use rayon::prelude::*;

use crate::memory;

/// The most tasks a job is cut into; longer ones are cut into runs of tasks.
const MOST_TASKS: usize = 1024;
/// The most phases a job has.
const PHASES: usize = 64;
/// Looks at a number that another thread will change before the processor is offered to somebody else.
const SPINS: u32 = 400;

/// A job is published under a new number, and over when every task has been done.
struct Team {
    /// Of the job; odd while it is being written.
    number: AtomicU64,
    over: AtomicBool,
    failed: AtomicBool,
    data: AtomicPtr<()>,
    call: AtomicPtr<()>,
    /// The first task of each phase, and after them the number of all tasks.
    starts: [AtomicUsize; PHASES + 1],
    phases: AtomicUsize,
    /// The number of the last job for which somebody took task `k`.
    taken: [Line<AtomicU64>; MOST_TASKS],
    /// Members that have come.
    present: AtomicUsize,
    done: Line<AtomicUsize>,
    members: usize,
}

/// On a cache line of its own.
#[repr(align(64))]
struct Line<T>(T);

thread_local! {
    /// The team that this thread leads.
    static LED: Cell<*const Team> = const { Cell::new(ptr::null()) };
    /// Whether this thread does all by itself.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Fewer blocks of a problem are not worth calling a team for: their colours are too short to share.
const LEAST_BLOCKS: usize = 8192;

/// Runs `work`, a solve of so many blocks, with a team; None, and nothing done, where one is at hand or not
/// worth it.
pub fn with_team_for<R>(blocks: usize, work: impl FnOnce() -> R) -> Option<R> {
    let alone = blocks < LEAST_BLOCKS || rayon::current_num_threads() == 1 || !LED.get().is_null();
    if alone { None } else { Some(with_team(work)) }
}

/// Runs `work`, a solve of so many blocks by one method, with a team, or, where that is not worth it, by this
/// thread alone: its sweeps are over before others are awake, and 2,600 contacts took three times as long on
/// 16 threads as on one. None, and nothing done, where that is settled already.
pub fn as_suits<R>(blocks: usize, work: impl FnOnce() -> R) -> Option<R> {
    if rayon::current_num_threads() == 1 || ALONE.get() || !LED.get().is_null() {
        return None;
    }
    if blocks >= LEAST_BLOCKS {
        return Some(with_team(work));
    }
    ALONE.set(true);
    let _again = Together;
    Some(work())
}

/// Ends [`as_suits`] for few blocks, however the work ended.
struct Together;

impl Drop for Together {
    fn drop(&mut self) {
        ALONE.set(false);
    }
}

/// Runs `work` with a team of the pool's threads at hand for [`for_each`].
pub fn with_team<R>(work: impl FnOnce() -> R) -> R {
    let members = rayon::current_num_threads();
    if members == 1 || ALONE.get() || !LED.get().is_null() {
        return work();
    }
    let team = Team::new(members);
    rayon::in_place_scope(|scope| {
        for _ in 1..members {
            scope.spawn(|_| team.help());
        }
        let _dismissed = Dismissal(&team);
        LED.set(&team);
        work()
    })
}

/// Sends the team home, however the work ended.
struct Dismissal<'a>(&'a Team);

impl Drop for Dismissal<'_> {
    fn drop(&mut self) {
        LED.set(ptr::null());
        self.0.over.store(true, Ordering::Release);
    }
}

/// Whether there is no other thread to share work with.
fn is_alone() -> bool {
    ALONE.get() || (LED.get().is_null() && rayon::current_num_threads() == 1)
}

/// Calls `visit` once for every number below `count`, by all threads at hand.
pub fn for_each(count: usize, visit: impl Fn(usize) + Sync) {
    let led = LED.get();
    if count < 2 || is_alone() {
        return (0..count).for_each(visit);
    }
    if led.is_null() {
        return (0..count).into_par_iter().with_max_len(1).for_each(&visit);
    }
    let run = count.div_ceil(MOST_TASKS);
    lead(&[0, count.div_ceil(run)], &|task: usize| {
        (task * run..count.min((task + 1) * run)).for_each(&visit);
    });
}

/// Has the team that this thread leads do a job.
fn lead<F: Fn(usize) + Sync>(starts: &[usize], job: &F) {
    // A task that asks for more tasks does them itself.
    let restore = Restore(LED.replace(ptr::null()));
    // SAFETY: null, or a team, which outlives the work it was called for: this thread is in the midst of it.
    let led = unsafe { restore.0.as_ref() };
    led.expect("callers have looked whether there is one").lead(starts, job);
}

/// Calls `visit` once for every number below the last of `starts`, all of those below a number of `starts`
/// before the others.
pub fn for_each_phase(starts: &[usize], visit: impl Fn(usize) + Sync) {
    let (led, count) = (LED.get(), starts.last().copied().unwrap_or_default());
    if led.is_null() || starts.len() > PHASES + 1 || count > MOST_TASKS {
        return starts.windows(2).for_each(|w| for_each(w[1] - w[0], |k| visit(w[0] + k)));
    }
    lead(starts, &visit);
}

struct Restore(*const Team);

impl Drop for Restore {
    fn drop(&mut self) {
        LED.set(self.0);
    }
}

/// Calls `visit` with each run of `length` numbers below `count` (the last may be shorter), and puts what it
/// returns in `parts`, one for each: sums over these in their order do not depend on the number of threads.
pub fn map_ranges<R: Send + Default>(
    count: usize,
    length: usize,
    parts: &mut Vec<R>,
    visit: impl Fn(Range<usize>) -> R + Sync,
) {
    let runs = count.div_ceil(length);
    parts.clear();
    parts.resize_with(runs, R::default);
    let to = Shared(parts.as_mut_ptr());
    // SAFETY: every task is done once, and has a part of its own.
    for_each(runs, |k| unsafe { *to.at(k) = visit(k * length..count.min((k + 1) * length)) });
}

/// Whether `holds` of every number below `count`, of which many are asked at a time.
pub fn all(count: usize, holds: impl Fn(usize) -> bool + Sync) -> bool {
    all_tasks(count.div_ceil(RUN), |k| (k * RUN..count.min((k + 1) * RUN)).all(&holds))
}

/// The same of few numbers, each of which is much work.
pub fn all_tasks(count: usize, holds: impl Fn(usize) -> bool + Sync) -> bool {
    let doubted = AtomicBool::new(false);
    for_each(count, |k| {
        if !holds(k) {
            doubted.store(true, Ordering::Relaxed);
        }
    });
    !doubted.into_inner()
}

/// Calls `visit` once for every number below `count`, of which many are done at a time.
pub fn for_each_small(count: usize, visit: impl Fn(usize) + Sync) {
    for_each(count.div_ceil(RUN), |k| (k * RUN..count.min((k + 1) * RUN)).for_each(&visit));
}

/// Makes `to` a list of so many of `nothing`.
pub fn fill<T: Copy + Send + Sync>(to: &mut Vec<T>, count: usize, nothing: T) {
    to.clear();
    resize(to, count, nothing);
}

/// Like [`memory::resize`], with what is new written by many threads: of memory that was never touched each
/// page costs some time.
pub fn resize<T: Copy + Send + Sync>(to: &mut Vec<T>, count: usize, value: T) {
    if is_alone() {
        return memory::resize(to, count, value);
    }
    to.truncate(count);
    let known = to.len();
    extend(to, count - known, |_| value);
}

/// `to` = `from`.
pub fn copy<T: Copy + Send + Sync>(to: &mut Vec<T>, from: &[T]) {
    to.clear();
    if is_alone() {
        memory::reserve(to, from.len());
        return to.extend_from_slice(from);
    }
    extend(to, from.len(), |k| from[k]);
}

/// Appends what `make` says of every number below `count`: no place is written before.
pub fn extend<T: Send>(to: &mut Vec<T>, count: usize, make: impl Fn(usize) -> T + Sync) {
    let known = to.len();
    memory::reserve(to, count);
    for_each_run(count, &mut to.spare_capacity_mut()[..count], RUN, |first, run| {
        for (k, item) in (first..).zip(run) {
            item.write(make(k));
        }
    });
    // SAFETY: there is room for all, and each of them was written.
    unsafe { to.set_len(known + count) };
}

/// Appends `counts[k]` items that `items` says of every number k, in their order. Panics unless they are as
/// many.
pub fn append<T: Send, I: Iterator<Item = T>>(
    to: &mut Vec<T>,
    counts: &[usize],
    items: impl Fn(usize) -> I + Sync,
) {
    let (known, all) = (to.len(), counts.iter().sum::<usize>());
    memory::reserve(to, all);
    let mut end = 0;
    let ends: Vec<usize> = counts.iter().map(|count| (end += count, end).1).collect();
    for_each_part(ends.into_iter(), &mut to.spare_capacity_mut()[..all], |k, part| {
        let (count, mut written) = (part.len(), 0);
        for (to, item) in part.iter_mut().zip(items(k)) {
            to.write(item);
            written += 1;
        }
        assert_eq!(written, count, "items of part {k}");
    });
    // SAFETY: there is room for all, and each part has written all of its own.
    unsafe { to.set_len(known + all) };
}

/// Lists of one length of which threads take a run each: slices, and tuples, arrays and options of them. No
/// list at all is as long as the others.
pub trait Columns: Send + Sized {
    /// Whether there are `count` items.
    fn has(&self, count: usize) -> bool;
    /// Takes the first `count` items off.
    fn take_first(&mut self, count: usize) -> Self;
}

impl<T: Send> Columns for &mut [T] {
    fn has(&self, count: usize) -> bool {
        self.len() == count
    }
    fn take_first(&mut self, count: usize) -> Self {
        let (first, rest) = std::mem::take(self).split_at_mut(count);
        *self = rest;
        first
    }
}

impl<C: Columns> Columns for Option<C> {
    fn has(&self, count: usize) -> bool {
        self.as_ref().is_none_or(|columns| columns.has(count))
    }
    fn take_first(&mut self, count: usize) -> Self {
        self.as_mut().map(|columns| columns.take_first(count))
    }
}

impl<C: Columns, const N: usize> Columns for [C; N] {
    fn has(&self, count: usize) -> bool {
        self.iter().all(|columns| columns.has(count))
    }
    fn take_first(&mut self, count: usize) -> Self {
        self.each_mut().map(|columns| columns.take_first(count))
    }
}

/// A list of which each run takes so many items, however long it is.
pub struct PerRun<'a, T>(pub &'a mut [T], pub usize);

impl<T: Send> Columns for PerRun<'_, T> {
    fn has(&self, _: usize) -> bool {
        true
    }
    fn take_first(&mut self, _: usize) -> Self {
        let (first, rest) = std::mem::take(&mut self.0).split_at_mut(self.1);
        self.0 = rest;
        Self(first, self.1)
    }
}

macro_rules! tuples {
    ($($name:ident $place:tt),*) => {
        impl<$($name: Columns),*> Columns for ($($name,)*) {
            fn has(&self, count: usize) -> bool {
                $(self.$place.has(count))&&*
            }
            fn take_first(&mut self, count: usize) -> Self {
                ($(self.$place.take_first(count),)*)
            }
        }
    };
}
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);

/// Calls `visit` with the number of its first item and each run of `length` of the `count` items of
/// `columns`. Panics unless the lists have as many.
pub fn for_each_run<C: Columns>(count: usize, columns: C, length: usize, visit: impl Fn(usize, C) + Sync) {
    let cut = |k: usize| count.min((k + 1) * length);
    for_each_part((0..count.div_ceil(length)).map(cut), columns, |k, run| visit(k * length, run));
}

/// Calls `visit` with the number of each of these [`parts`] and the part.
pub fn for_each_part<C: Columns>(
    cuts: impl ExactSizeIterator<Item = usize>,
    columns: C,
    visit: impl Fn(usize, C) + Sync,
) {
    for_each_of(parts(cuts, columns), visit);
}

/// Runs of items that end at `cuts`, which do not decrease; the last one is the number of items.
pub fn parts<C: Columns>(
    cuts: impl ExactSizeIterator<Item = usize>,
    mut columns: C,
) -> impl ExactSizeIterator<Item = C> {
    let (count, mut first) = (cuts.len(), 0);
    cuts.enumerate().map(move |(k, cut)| {
        assert!(k + 1 < count || columns.has(cut - first), "lists of one length");
        let part = columns.take_first(cut - first);
        first = cut;
        part
    })
}

/// Calls `visit` with the number of each part, which is its own, and the part.
pub fn for_each_of<C: Send>(parts: impl ExactSizeIterator<Item = C>, visit: impl Fn(usize, C) + Sync) {
    if parts.len() < 2 || is_alone() {
        return parts.enumerate().for_each(|(k, part)| visit(k, part));
    }
    let parts: Vec<_> = parts.map(|part| Mutex::new(Some(part))).collect();
    for_each(parts.len(), |k| {
        let part = parts[k].lock().unwrap_or_else(PoisonError::into_inner).take();
        part.into_iter().for_each(|part| visit(k, part));
    });
}

/// Things that one thread does in a row where each is little work.
const RUN: usize = 2048;

/// Calls `visit` with each run of `length` items and the number of its first; what it returns goes where
/// [`map_ranges`] puts it.
pub fn map_chunks<T: Send, R: Send + Default>(
    items: &mut [T],
    length: usize,
    parts: &mut Vec<R>,
    visit: impl Fn(usize, &mut [T]) -> R + Sync,
) {
    let n = items.len();
    let items = Shared(items.as_mut_ptr());
    map_ranges(n, length, parts, |range| {
        // SAFETY: runs do not overlap.
        let run = unsafe { items.slice(range.start, range.len()) };
        visit(range.start, run)
    });
}

/// A pointer to items of which every task has its own.
#[derive(Clone, Copy)]
pub struct Shared<T>(pub *mut T);

// SAFETY: whoever uses the pointer has to see to it that no two tasks touch the same item.
unsafe impl<T: Send> Sync for Shared<T> {}
unsafe impl<T: Send> Send for Shared<T> {}

impl<T> Shared<T> {
    /// Where item `k` is, if there is one.
    pub fn at(&self, k: usize) -> *mut T {
        self.0.wrapping_add(k)
    }

    /// Items `first .. first + count`.
    ///
    /// # Safety
    /// There are such items, and no other task uses them as long as the result is.
    pub unsafe fn slice<'a>(&self, first: usize, count: usize) -> &'a mut [T] {
        // SAFETY: as the caller promises.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(first), count) }
    }
}

unsafe fn do_task<F: Fn(usize)>(data: *const (), task: usize) {
    unsafe { (*data.cast::<F>())(task) }
}

impl Team {
    fn new(members: usize) -> Self {
        Self {
            number: AtomicU64::new(0),
            over: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            data: AtomicPtr::new(ptr::null_mut()),
            call: AtomicPtr::new(ptr::null_mut()),
            starts: [const { AtomicUsize::new(0) }; PHASES + 1],
            phases: AtomicUsize::new(0),
            taken: [const { Line(AtomicU64::new(0)) }; MOST_TASKS],
            present: AtomicUsize::new(0),
            done: Line(AtomicUsize::new(0)),
            members,
        }
    }

    /// Does a job with whoever is there: all tasks before each of `starts` before those from it on.
    fn lead<F: Fn(usize) + Sync>(&self, starts: &[usize], job: &F) {
        let (tasks, phases) = (starts[starts.len() - 1], starts.len() - 1);
        let number = self.number.load(Ordering::Relaxed) + 2;
        self.number.store(number - 1, Ordering::Relaxed);
        // Whoever sees one of the numbers below sees that they are being written.
        std::sync::atomic::fence(Ordering::Release);
        self.data.store(ptr::from_ref(job).cast_mut().cast(), Ordering::Relaxed);
        self.call.store(do_task::<F> as *mut (), Ordering::Relaxed);
        self.starts.iter().zip(starts).for_each(|(to, start)| to.store(*start, Ordering::Relaxed));
        self.phases.store(phases, Ordering::Relaxed);
        self.done.0.store(0, Ordering::Relaxed);
        self.number.store(number, Ordering::Release);
        let end = End { team: self, number, tasks };
        self.take(number, starts, ptr::from_ref(job).cast(), do_task::<F>);
        drop(end);
        assert!(!self.failed.load(Ordering::Relaxed), "a task of another thread panicked");
    }

    /// Takes part in one job after the other.
    fn help(&self) {
        let (mut last, mut looks) = (0, 0);
        self.present.fetch_add(1, Ordering::Relaxed);
        while !self.over.load(Ordering::Acquire) {
            let number = self.number.load(Ordering::Acquire);
            if number == last || number % 2 == 1 {
                // Not before all have come: what is to be done for the pool may be another's part in this
                // team.
                let complete = looks == SPINS && self.present.load(Ordering::Relaxed) + 1 == self.members;
                if !(complete && rayon::yield_now() == Some(rayon::Yield::Executed)) {
                    wait(&mut looks);
                }
                continue;
            }
            let (data, to_call) = (self.data.load(Ordering::Relaxed), self.call.load(Ordering::Relaxed));
            let phases = self.phases.load(Ordering::Relaxed).min(PHASES);
            let mut starts = [0; PHASES + 1];
            for (start, from) in starts[..=phases].iter_mut().zip(&self.starts) {
                *start = from.load(Ordering::Relaxed);
            }
            std::sync::atomic::fence(Ordering::Acquire);
            if self.number.load(Ordering::Relaxed) == number {
                (last, looks) = (number, 0);
                // SAFETY: what was read is of one job, whose leader wrote a function of this kind there.
                let to_call: unsafe fn(*const (), usize) = unsafe { std::mem::transmute(to_call) };
                self.take(number, &starts[..=phases], data, to_call);
            }
        }
    }

    /// Whether task `task` of job `number` falls to whoever asks.
    fn claim(&self, number: u64, task: usize) -> bool {
        let taken = &self.taken[task].0;
        let before = taken.load(Ordering::Relaxed);
        before < number
            && taken.compare_exchange(before, number, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Takes tasks of job `number` as long as there are any.
    fn take(&self, number: u64, starts: &[usize], data: *const (), call: unsafe fn(*const (), usize)) {
        let me = rayon::current_thread_index().unwrap_or(0) % self.members;
        for phase in starts.windows(2) {
            if !self.wait_for(number, phase[0]) {
                return;
            }
            let tasks = phase[1] - phase[0];
            let mut count = Count { team: self, tasks: 0 };
            for k in 0..self.members {
                let whose = (me + k) % self.members;
                let (first, end) = (whose * tasks / self.members, (whose + 1) * tasks / self.members);
                for j in 0..end - first {
                    // Others' from behind, where their owners have not come to yet.
                    let task = phase[0] + if k == 0 { first + j } else { end - 1 - j };
                    if self.claim(number, task) {
                        // Before it is done, so that a task that panics is not waited for.
                        count.tasks += 1;
                        // SAFETY: the job is not over before this task is: its data are still there.
                        unsafe { call(data, task) };
                    }
                }
            }
        }
    }

    /// Waits until the first `tasks` tasks of job `number` are done; false if all of them are, and the next
    /// job has come.
    fn wait_for(&self, number: u64, tasks: usize) -> bool {
        let mut looks = 0;
        while self.done.0.load(Ordering::Acquire) < tasks {
            if self.number.load(Ordering::Relaxed) != number {
                return false;
            }
            wait(&mut looks);
        }
        true
    }
}

/// The end of a job, which its data must last until, even if the leader fails.
struct End<'a> {
    team: &'a Team,
    number: u64,
    tasks: usize,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        let Self { team, number, tasks } = *self;
        if std::thread::panicking() {
            let left = (0..tasks).filter(|task| team.claim(number, *task)).count();
            team.done.0.fetch_add(left, Ordering::Release);
        }
        let mut looks = 0;
        while team.done.0.load(Ordering::Acquire) < tasks {
            wait(&mut looks);
        }
    }
}

/// Tasks that a member has done, told when it finds no more, or fails.
struct Count<'a> {
    team: &'a Team,
    tasks: usize,
}

impl Drop for Count<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.team.failed.store(true, Ordering::Relaxed);
        }
        if self.tasks > 0 {
            self.team.done.0.fetch_add(self.tasks, Ordering::Release);
        }
    }
}

fn wait(looks: &mut u32) {
    if *looks < SPINS {
        *looks += 1;
        spin_loop();
    } else {
        yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
    }

    /// Jobs of many lengths, one after the other, each of which needs what the one before has written.
    fn chain() -> Vec<u64> {
        let mut x: Vec<u64> = (0..2000).collect();
        for round in 0..300 {
            let length = 1 + 7 * round % 600;
            let before = x.clone();
            let mut sums = Vec::new();
            map_chunks(&mut x, length, &mut sums, |first, run| {
                for (k, x) in (first..).zip(run) {
                    *x = x.wrapping_mul(3) ^ before[(7 * k + 1) % 2000];
                }
                first
            });
            assert_eq!(sums, (0..2000).step_by(length).collect::<Vec<_>>());
        }
        x
    }

    #[test]
    fn every_task_is_done_once_and_before_the_next_job() {
        let alone = chain();
        for threads in [2, 3, 8] {
            assert_eq!(pool(threads).install(|| with_team(chain)), alone, "{threads} threads");
            assert_eq!(pool(threads).install(chain), alone, "no team, {threads} threads");
        }
    }

    #[test]
    fn few_blocks_are_for_one_thread() {
        let who = || {
            let mut who = Vec::new();
            map_ranges(64, 1, &mut who, |_| Some(std::thread::current().id()));
            who
        };
        pool(4).install(|| {
            let me = Some(std::thread::current().id());
            let here = as_suits(LEAST_BLOCKS - 1, || {
                assert!(as_suits(1_000_000, || ()).is_none(), "settled already");
                who()
            });
            assert!(here.unwrap().iter().all(|id| *id == me));
            assert_eq!(as_suits(LEAST_BLOCKS, who).map(|who| who.len()), Some(64));
            assert!(!ALONE.get());
        });
    }

    #[test]
    fn every_run_has_its_own_items_of_every_list() {
        let work = || {
            let n = 5000;
            let (mut x, mut y, mut few, mut list) = (vec![0; n], vec![0; n], [[0usize; 2]; 10], Vec::new());
            let lists = ([&mut x[..], &mut y[..]], Some(PerRun(few.as_flattened_mut(), 2)));
            for_each_run(n, lists, 500, |first, ([x, y], few)| {
                (x[0], y[499]) = (first + 1, first + 2);
                few.unwrap().0.copy_from_slice(&[first, x.len()]);
            });
            assert!(few.iter().enumerate().all(|(k, few)| *few == [500 * k, 500]));
            for_each_part([2, 2, n].into_iter(), (&mut x[..], None::<&mut [u8]>), |k, (x, _)| x.fill(k));
            extend(&mut list, n, |k| k);
            append(&mut list, &[3, 0, n], |k| std::iter::repeat_n(k, [3, 0, n][k]));
            (x, y, list)
        };
        let alone = work();
        assert_eq!((alone.0[1], alone.0[2], alone.1[999]), (0, 2, 502));
        assert_eq!((alone.2.len(), alone.2[4999], alone.2[5000 + 3]), (10_003, 4999, 2));
        for threads in [2, 5] {
            assert_eq!(pool(threads).install(|| with_team(work)), alone, "{threads} threads");
            assert_eq!(pool(threads).install(work), alone, "no team, {threads} threads");
        }
    }

    #[test]
    fn lists_that_differ_in_length_are_refused() {
        let short = |n: usize| {
            let (mut x, mut y) = ([0; 30], [0; 31]);
            for_each_run(n, (&mut x[..], &mut y[..]), 8, |_, _| ());
        };
        let few = || append(&mut Vec::new(), &[2, 2], |k| std::iter::repeat_n(k, 2 - k));
        assert!(std::panic::catch_unwind(|| short(30)).is_err());
        assert!(std::panic::catch_unwind(|| short(31)).is_err());
        assert!(std::panic::catch_unwind(few).is_err());
    }

    /// Jobs in phases, each of which needs all that the one before has written.
    fn stairs() -> Vec<u64> {
        let mut x: Vec<u64> = (0..64).collect();
        for round in 0..200 {
            let length = 1 + round % 9;
            let starts: Vec<usize> = (0..=length)
                .scan(0, |at, k| Some(std::mem::replace(at, *at + (5 * k + round) % 17)))
                .collect();
            let count = starts[length];
            let seen: Vec<AtomicU64> = (0..count).map(|_| AtomicU64::default()).collect();
            for_each_phase(&starts, |task| {
                let first = starts[starts.partition_point(|start| *start <= task) - 1];
                // Tasks before `first` are done.
                let known = seen[..first].iter().map(|y| y.load(Ordering::Relaxed));
                let before = known.fold(1u64, u64::wrapping_add);
                seen[task].store(before.wrapping_mul(3) ^ x[task % 64], Ordering::Relaxed);
            });
            seen.into_iter().enumerate().for_each(|(k, y)| x[k % 64] ^= y.into_inner());
        }
        x
    }

    #[test]
    fn a_phase_waits_for_the_one_before() {
        let alone = stairs();
        for threads in [2, 3, 8] {
            for _ in 0..20 {
                assert_eq!(pool(threads).install(|| with_team(stairs)), alone, "{threads} threads");
            }
            assert_eq!(pool(threads).install(stairs), alone, "no team, {threads} threads");
        }
        let visits: Vec<AtomicU32> = (0..3 * MOST_TASKS).map(|_| AtomicU32::default()).collect();
        let count = |k: usize| {
            visits[k].fetch_add(1, Ordering::Relaxed);
        };
        pool(2).install(|| with_team(|| for_each_phase(&[0, MOST_TASKS, 3 * MOST_TASKS], count)));
        assert!(visits.into_iter().all(|v| v.into_inner() == 1));
    }

    #[test]
    fn work_for_the_pool_is_not_held_up_by_a_team() {
        let sum = |n: u64| (0..n).into_par_iter().map(|x| x * x).sum::<u64>();
        let alone = sum(100_000);
        let work = || {
            (0..50).all(|_| {
                for_each(4, |_| ());
                sum(100_000) == alone
            })
        };
        assert!(pool(3).install(|| with_team(work)));
        // And where the leader is none of the pool's own.
        let pool = pool(2);
        let outside = std::thread::scope(|s| s.spawn(|| pool.install(|| with_team(work))).join());
        assert!(outside.unwrap());
    }

    #[test]
    fn teams_that_meet_on_one_pool_do_not_wait_for_each_other() {
        let alone = chain();
        pool(3).install(|| {
            (0..8).into_par_iter().for_each(|_| assert_eq!(with_team(|| with_team(chain)), alone))
        });
    }

    #[test]
    fn a_task_may_ask_for_tasks() {
        let count = AtomicU32::new(0);
        let visit = |_| {
            for_each(10, |_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        };
        pool(2).install(|| with_team(|| for_each(10, visit)));
        assert_eq!(count.into_inner(), 100);
    }

    #[test]
    fn a_panic_in_a_task_ends_the_job() {
        for bad in [0, 99] {
            let caught = std::panic::catch_unwind(|| {
                pool(2).install(|| with_team(|| for_each(100, |k| assert!(k != bad, "task {k}"))));
            });
            assert!(caught.is_err());
            let caught = std::panic::catch_unwind(|| {
                pool(2).install(|| {
                    with_team(|| for_each_phase(&[0, 50, 100], |k| assert!(k != bad, "task {k}")))
                });
            });
            assert!(caught.is_err());
        }
        pool(2).install(|| with_team(|| for_each(100, |_| ())));
    }
}
